//! How good ranked predictions are.
//!
//! An [`Evaluator`] takes one [`Example`] at a time and keeps sums, so its memory does not grow with the number of
//! examples. It answers with [`Scores`] and, on request, with bootstrap [`Intervals`]; with the scores of each label, of
//! frequent and of rare ones, and the pairs that are mixed up; and it [compares](Evaluator::compare) two predictors.
//!
//! | key | score | value of n examples |
//! |---|---|---|
//! | `p@k` | precision | mean share of true labels among the first k ranked |
//! | `r@k` | recall | mean share of the true labels that is found among the first k |
//! | `ndcg@k` | normalised discounted cumulative gain | mean of [`ndcg_at`] |
//! | `psp@k` | propensity-scored precision | Σ 1/p of the true labels among the first k, over the best achievable |
//! | `error` | multiclass error | 1 − `p@1`, when no example has more than one label |
//! | `hamming` | Hamming loss | labels wrongly predicted or wrongly not, over n·c |
//! | `micro_f1` | F1 of all decisions together | 2·common / (predicted + true) |
//! | `macro_f1` | F1 of each label, averaged | mean of 2·common / (predicted + true) over labels |
//! | `ece` | expected calibration error | mean gap between probability and frequency, see below |
//!
//! The conventions, which are where implementations differ:
//!
//! - Ties are broken by the lower label id: rank with [`rank`].
//! - A list shorter than k misses in the places that it leaves open. When no example has more than one ranked label,
//!   as with a predictor of single classes, only k = 1 is scored.
//! - An example without a true label counts in n and scores 0, also in `error`.
//! - A true label that training never saw counts: nothing can rank it, so it is missed. Its id may lie beyond the c
//!   labels of the model; in `hamming` it is a mistake, but not one of the c.
//! - `macro_f1` leaves out labels that are neither true nor predicted in any example. Their F1 is 0/0; as 0 it would
//!   make the score fall with every label that the test data happen not to contain, which with very many labels is
//!   most of them; as 1 it would make it rise. A label that is true but never predicted, or the reverse, counts as 0.
//! - `ece` looks at the probability of the first label of each list, in [`ECE_BINS`] bins of equal width over [0, 1],
//!   each with its lower end and the last with both: the mean, weighted by examples, of |frequency with which these
//!   labels are true − mean of their probabilities|. Examples with an empty list are left out.
//! - A score without anything to divide by is absent, not 0.
//!
//! ```
//! use rembrandt::metrics::{Bootstrap, Evaluator, Example, Settings, rank};
//!
//! // Three labels, of which 100 training examples had 60, 30 and 10.
//! let settings = Settings::default().with(|s| s.bootstrap = Some(Bootstrap::default()));
//! let mut evaluator = Evaluator::new(3, settings)?.trained_on(&[60, 30, 10], 100)?;
//! for (truth, scores) in [([0], [0.9, 0.3, 0.0]), ([2], [0.5, 0.1, 0.4])] {
//!     evaluator.push(&Example { truth: &truth, ranked: &rank(&scores, 5), ..Example::default() })?;
//! }
//! let scores = evaluator.scores();
//! assert_eq!((scores.of("p@1"), scores.of("r@3"), scores.of("error")), (Some(0.5), Some(1.0), Some(0.5)));
//! assert_eq!(scores.of("hamming"), None); // no example said which labels it predicts
//! let interval = evaluator.intervals().and_then(|all| all.of("p@1")).expect("asked for");
//! assert!(interval.low <= 0.5 && interval.high >= 0.5);
//! # Ok::<(), rembrandt::Error>(())
//! ```

mod at;
mod bootstrap;
mod comparison;
mod evaluator;
mod labels;
mod propensity;
mod scores;
mod tally;
#[cfg(test)]
mod tests;
mod threshold;

pub use crate::linalg::topk::{rank, rank_candidates};
pub use at::{ndcg_at, precision_at, recall_at};
pub use bootstrap::{Bootstrap, LEVEL};
pub use comparison::Difference;
pub use evaluator::{Evaluator, Example, ReliabilityBin, Settings};
pub use labels::{Band, Confusion, LabelScores};
pub use propensity::{Propensities, Propensity};
pub use scores::{Interval, Intervals, Measures, Scores};
pub use threshold::{DEFAULT_THRESHOLD, best_f1_thresholds, best_f1_thresholds_on, predicted_positive};

/// The ranks down to which lists are scored where none are asked for.
pub const RANKS: [usize; 3] = [1, 3, 5];

/// Bins of the expected calibration error.
pub const ECE_BINS: usize = 15;
