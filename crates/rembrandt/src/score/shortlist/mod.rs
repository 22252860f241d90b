//! Prediction that does not touch every label.
//!
//! A score is linear in the features: with h = Pᵀx + i and the vector (v, b) of a label,
//!
//! ```text
//! score = v·h + b = Σ over features f of x_f (P_f·v)  +  (v·i + b)
//!                                          share          offset
//! ```
//!
//! So every feature has a list of labels: of those that it occurred with in training, the ones with the largest shares.
//! An example reads the first `probes` labels of the lists of its features and adds up what they say. The `labels` best
//! sums make the shortlist, and only these labels are scored, exactly as a scan of all would score them. Labels with
//! the largest offsets are looked at for every example, so that there are always enough. The candidates of the
//! [ranker](crate::score::ranker) are scored as well.
//!
//! An example has a few dozen features and d is large, so this reads some thousand numbers and some hundred rows of
//! weights, whatever the number of labels. Dividing label vectors or examples into cells does far worse: h has hundreds of
//! dimensions, in all of which it varies about as much, and nothing is near anything there; features are
//! what is alike in examples that are. Left out are labels that never occurred with any feature of the example, and
//! those beyond the width of the search. A scan of all labels ranks some of them high, and is seldom right then.
//!
//! | file | holds |
//! |---|---|
//! | `build` | the lists, from a model and its training examples |
//! | `search` | from an example to its shortlist |
//! | `measure` | how much a shortlist misses, and how long it must be |
//! | `log_partition` | under softmax, what the labels that are left out add to the sum |

mod build;
mod log_partition;
mod measure;
mod search;
#[cfg(test)]
mod tests;

use half::bf16;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::linalg::buffer::Buffer;
use crate::linalg::kernels::dots::dots;
use crate::linalg::matrix::MatRef;

pub(crate) use build::Postings;
pub use log_partition::LogPartition;
pub(crate) use measure::{DECIDING, Trial, choose};
pub use measure::{Measured, ShortlistReport};

/// With fewer labels than this a scan takes no longer than the lists would.
pub const FROM_LABELS: usize = 10_000;

/// How much of the lists to read, and how many labels to score.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Width {
    /// Labels that are read from the list of each feature, at most.
    pub probes: usize,
    /// Labels that are taken from the lists to be scored, at most.
    pub labels: usize,
}

/// The lists of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Shortlist {
    /// How wide a search is unless asked otherwise.
    pub width: Width,
    /// What the other labels add under softmax.
    pub log_partition: Option<LogPartition>,
    /// Where the list of each feature begins, then that of every example, then the end: d + 2.
    pub(crate) starts: Buffer<u64>,
    /// The labels of all lists, the best first.
    pub(crate) labels: Buffer<u32>,
    /// What a feature of value 1 adds to the score of each: the bits of a bfloat16.
    pub(crate) shares: Buffer<bf16>,
    /// The score that each label has without any feature (c).
    pub(crate) offsets: Buffer<f32>,
}

impl Shortlist {
    /// Number of labels in all lists.
    pub fn entries(&self) -> usize {
        self.labels.len()
    }

    /// What is wrong with lists from a file, for `d` features and `c` labels.
    pub(crate) fn check(&self, d: usize, c: usize) -> Result<(), &'static str> {
        // Work of one task.
        const CHUNK: usize = 1 << 16;
        let ends = (self.starts.first(), self.starts.last());
        if self.starts.len() != d + 2 || ends != (Some(&0), Some(&(self.labels.len() as u64))) {
            return Err("its lists of labels do not fit its features");
        }
        if !self.starts.is_sorted() || self.shares.len() != self.labels.len() || self.offsets.len() != c {
            return Err("its lists of labels contradict each other");
        }
        if self.labels.par_iter().with_min_len(CHUNK).any(|label| *label as usize >= c) {
            return Err("its lists name labels that it does not have");
        }
        let infinite = |share: &bf16| !share.is_finite();
        if self.shares.par_iter().with_min_len(CHUNK).any(infinite) || !self.offsets.iter().all(|v| v.is_finite()) {
            return Err("its lists hold numbers that are not finite");
        }
        Ok(())
    }
}

/// What makes a score: the projection, what is added to it, and a vector for each label, with or without a constant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Linear<'a> {
    pub projection: MatRef<'a>,
    pub intercept: &'a [f32],
    pub vectors: MatRef<'a>,
}

impl Linear<'_> {
    /// Dimensions of h.
    fn k(&self) -> usize {
        self.projection.cols()
    }

    /// Number of labels.
    fn c(&self) -> usize {
        self.vectors.rows()
    }

    /// What a feature of value 1 adds to the score of a label.
    fn share(&self, feature: usize, label: usize) -> f32 {
        let mut share = [0.0];
        dots(self.projection.row(feature), &self.vectors.row(label)[..self.k()], self.k(), &mut share);
        share[0]
    }

    /// The score of a label without any feature.
    fn offset(&self, label: usize) -> f32 {
        let (mut dot, vector) = ([0.0], self.vectors.row(label));
        dots(self.intercept, &vector[..self.k()], self.k(), &mut dot);
        dot[0] + vector.get(self.k()).copied().unwrap_or(0.0)
    }
}
