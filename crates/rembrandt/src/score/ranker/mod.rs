//! [`Ranker`]: the embedding and the words propose labels, a sparse linear scorer of each label ranks them, and a few
//! weights make a probability of it.
//!
//! In the words of the field: a matcher generates candidates, one-vs-rest classifiers are trained on the hard negatives
//! that it leaves, and a logistic model, stacked on held-out examples, combines the scores. These scores of a label for an
//! example are called its views.
//!
//! ```text
//! proposed(x)     the best labels by x·T, by x·m and, where a scan of all labels is cheap, by E·h(x)
//! candidates(x)   the best of these by a first combination, without the scorers, and the best by votes
//! log-odds(l)  =  Σ f(view), over  wₗ·x′,  ln (x·T)ₗ,  eₗ·h(x),  x·mₗ,  ln (1 + nₗ),  votes of similar examples
//! ```
//!
//! Rows x have length 1, and so have x′, whose values are damped: |x|^¾, so that a word that is said often does not drown
//! the others. T is the association table, T[f, l] the share of the weight of a feature f that lies in examples of the
//! label l; wₗ is trained on the examples of l against those that propose it without having it; mₗ are the words of its
//! own name, where names are words; nₗ is the number of training examples. The functions f are fitted on examples that had
//! no part in T, E and w, so that what comes out is a probability. Every label has these log-odds: candidates only say
//! which of them are worth computing.
//!
//! | file | holds |
//! |---|---|
//! | `packed_matrix` | T, m and w: sparse rows in two or three bytes an entry |
//! | `one_vs_rest_weights` | w, by labels or by features |
//! | `inverted_index` | training examples by features |
//! | `sparse_accumulator` | sums of rows of these |
//! | `data` | the examples of a fit, and how rows are scaled |
//! | `association` | the fit of T |
//! | `names` | m: features that are words of the names of labels |
//! | `candidates` | the matcher: the labels that an example could have |
//! | `similar_examples` | votes of the nearest neighbors among the training examples |
//! | `dual_descent` | the fit of w for a label: dual coordinate descent |
//! | `label_problems`, `cost` | that of all labels, and the choice of C |
//! | `held_out` | held-out examples, by which combinations are judged |
//! | `combination` | the stacked model: functions of the views, and their fit |
//! | `fit` | all of it, on divided examples |

pub(crate) mod association;
pub(crate) mod candidates;
pub(crate) mod combination;
mod cost;
pub(crate) mod data;
mod dual_descent;
pub(crate) mod fit;
pub(crate) mod held_out;
pub(crate) mod inverted_index;
mod label_problems;
pub(crate) mod names;
pub(crate) mod one_vs_rest_weights;
pub(crate) mod packed_matrix;
pub(crate) mod similar_examples;
mod sparse_accumulator;

pub use candidates::Proposals;
pub(crate) use candidates::{Candidate, RankerMemory};
pub use combination::{Combination, LabelViews};

use crate::linalg::csr::CsrRef;
use crate::linalg::matrix::Matrix;
use crate::linalg::table::Table;
use candidates::Matcher;
use data::{damp, unit_values};
use one_vs_rest_weights::OneVsRestWeights;
use packed_matrix::PackedMatrix;
use similar_examples::SimilarExamples;
use sparse_accumulator::SparseAccumulator;

/// The scorers of all labels, and how candidates are found.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranker {
    /// How many labels are proposed.
    pub proposals: Proposals,
    /// From the views that need no scorer to log-odds: what the shortlist is made by.
    pub first: Combination,
    /// From all views to log-odds.
    pub combination: Combination,
    /// From the view of the name to log-odds, for labels that have no examples.
    pub unseen: Combination,
    /// T: a row for each feature.
    pub(crate) associations: PackedMatrix,
    /// w.
    pub(crate) one_vs_rest: OneVsRestWeights,
    /// m: a row for each feature; without entries where names are no words.
    pub(crate) names: PackedMatrix,
    /// The training examples, where their votes are worth the room.
    pub(crate) similar: Option<SimilarExamples>,
    /// ln (1 + nₗ) of each label.
    pub(crate) log_counts: Vec<f32>,
    /// Added to the log-odds of each label: ln of the inverse propensity; empty where labels are taken as they come.
    pub(crate) offsets: Vec<f32>,
}

/// Labels to score for an example.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Scope<'a> {
    /// The candidates of each.
    Candidates,
    /// These, ascending.
    Labels(&'a [u32]),
}

impl Ranker {
    /// Number of pairs of a feature and a label, in all matrices of labels.
    pub fn pairs(&self) -> usize {
        self.matrices().map(PackedMatrix::len).iter().sum()
    }

    /// The same with a label more, without examples, whose name has these features.
    pub(crate) fn with_name(&self, name: &[(usize, f32)]) -> Ranker {
        let label = self.log_counts.len() as u32;
        let mut names = self.names.to_rows();
        name.iter().for_each(|(feature, weight)| names[*feature].push((label, *weight)));
        let mut ranker = self.clone();
        ranker.names = PackedMatrix::new(&names).expect("a feature has few labels");
        ranker.one_vs_rest = self.one_vs_rest.with_label();
        ranker.log_counts.push(0.0);
        if let Some(largest) = self.offsets.iter().copied().max_by(f32::total_cmp) {
            // Of all labels one without examples tends to be forgotten most.
            ranker.offsets.push(largest);
        }
        ranker
    }

    /// T, m and w.
    pub(crate) fn matrices(&self) -> [&PackedMatrix; 3] {
        [&self.associations, &self.names, self.one_vs_rest.matrix()]
    }

    /// Checks a ranker from a file, for `d` features and `c` labels.
    pub(crate) fn check(&self, d: usize, c: usize) -> Result<(), &'static str> {
        self.associations.check(d, c)?;
        self.one_vs_rest.check(d, c)?;
        self.names.check(d, c)?;
        self.similar.as_ref().map_or(Ok(()), |similar| similar.check(d, c))?;
        let Proposals { by_words, by_embedding, shortlist } = self.proposals;
        if (by_words == 0 && by_embedding == 0) || shortlist == 0 {
            return Err("its ranker proposes no labels");
        }
        if ![&self.combination, &self.first, &self.unseen].into_iter().all(Combination::is_finite) {
            return Err("its ranker holds numbers that are not finite");
        }
        if self.offsets.iter().any(|offset| !offset.is_finite()) {
            return Err("its ranker holds numbers that are not finite");
        }
        if self.log_counts.len() != c || ![0, c].contains(&self.offsets.len()) {
            return Err("its ranker does not fit its labels");
        }
        Ok(())
    }

    /// The log-odds of a label.
    pub(crate) fn score(&self, label: u32, views: &LabelViews) -> f32 {
        self.combination_for(views).score(views) + self.offset(label)
    }

    /// The combination for a label with these views.
    pub(crate) fn combination_for(&self, views: &LabelViews) -> &Combination {
        if views.is_of_unseen() { &self.unseen } else { &self.combination }
    }

    pub(crate) fn offset(&self, label: u32) -> f32 {
        self.offsets.get(label as usize).copied().unwrap_or_default()
    }

    /// The part that each feature of an example of length 1 has in the two votes for a label.
    pub(crate) fn vote_shares(&self, ids: &[u32], values: &[f32], label: u32) -> Vec<[f32; 2]> {
        let Some(similar) = &self.similar else { return vec![[0.0; 2]; ids.len()] };
        let found = similar.search(ids, values, None, &mut SparseAccumulator::new(similar.count()), |_| true);
        similar.shares(&found, label, ids, values)
    }

    fn matcher<'a>(&'a self, labels: &'a Table) -> Matcher<'a> {
        let Ranker { proposals, associations, names, log_counts, .. } = self;
        let (first, similar) = (Some(&self.first), self.similar.as_ref());
        Matcher {
            proposals: *proposals,
            first,
            associations,
            names,
            labels,
            log_counts,
            similar,
            rows: None,
            held_out: None,
        }
    }

    /// Room for the sums of one thread.
    pub(crate) fn memory(&self) -> RankerMemory {
        RankerMemory::new(self.associations.rows(), self.log_counts.len(), self.similar.as_ref())
    }

    /// The views of labels of some examples, whose projections are the rows of `h`: ascending labels for each.
    pub(crate) fn views(
        &self,
        x: CsrRef<'_>,
        h: &Matrix,
        labels: &Table,
        scope: Scope<'_>,
        memory: &mut RankerMemory,
    ) -> Vec<Vec<Candidate>> {
        let matcher = self.matcher(labels);
        let mut found = match scope {
            Scope::Candidates => matcher.propose(x, h, memory),
            Scope::Labels(ids) => matcher.look_up(x, h, ids, memory),
        };
        let mut values = Vec::new();
        for (i, candidates) in found.iter_mut().enumerate() {
            unit_values(x.row(i), damp, &mut values);
            self.one_vs_rest.score(x.row(i).0, &values, candidates, memory);
        }
        found
    }
}
