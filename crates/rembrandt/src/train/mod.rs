//! Training: from examples to a [`Model`](crate::Model).
//!
//! ```text
//! search       compare settings on held-out examples; one split with the given settings unless a search is asked for
//! embed        E and P from all examples, beginning with the embedding of the search
//! cross-fit    h of examples from a projection that has not seen them
//! head         logistic regression on these h; by default, with more than 20,000 examples, least squares instead
//! combination  weights of least squares and of the ranker, calibration and thresholds, on held-out examples
//! shortlist    where labels are many
//! ```
//!
//! A search divides the examples in three: the embedding and its projection are fitted to the first part, the head to
//! the second, and the third decides. So what decides has influenced nothing, and the head learns from examples that
//! are as new to the projection as those it will meet. With at most 20,000 examples the first two are the same part,
//! cross-fitted, and there is no ranker unless it is asked for.
//!
//! [`Trainer`] is the way in; [`TrainParams`] has all settings of an embedding with a head.

mod combination;
mod fit;
mod params;
mod report;
mod search;
mod search_clock;
mod search_outcome;
mod shortlist;
#[cfg(test)]
mod tests;
mod thresholds;
mod trainer;
mod validation;

pub use params::{HeadKind, TrainParams, Tuning};
pub use report::{HeldOut, RankerReport, TrainReport, Tried};
pub use trainer::{FeatureOptions, Prepared, Trainer, TrainingData};
