//! What single features say of labels, without an embedding in between.
//!
//! An embedding has a few hundred dimensions for tens of thousands of labels. Where each label is told by words of its
//! own, as in the titles of books, no such space can keep the labels apart, and what a word says of a label is lost on
//! the way through it. So it is kept beside the embedding, as two sparse matrices. The first *nominates*: with X and Y of
//! the training examples,
//!
//! ```text
//! e(f, l) = ( Σᵢ xᵢf yᵢl / (Σᵢ xᵢf² + ρ) )^p          and         e(l) = Σ over the features f of an example of x_f e(f, l)
//! ```
//!
//! In brackets stands what a regression of the label on this feature alone would give; ρ, the mean of the sums of squares,
//! keeps rare features from saying too much. The power p is a root for short texts, and higher for long ones (`power.rs`).
//! A feature keeps the labels of which it says most. An example nominates the labels with the largest sums.
//!
//! Such sums know nothing of each other. The second matrix *decides* among the nominated: weights w and a constant b for
//! each label, which tell its examples from those that nominate it without having it (`separate.rs`). They have learned
//! nothing of examples that do not nominate their label, and say nothing there:
//!
//! ```text
//! score ← score + gain · (1 + w·x + b + share · e(l))      for the labels l that the example nominates, and for no other
//! ```
//!
//! A separator says −1 to what it rejects, so that is what a label is taken to be rejected with that was not nominated,
//! and the 1 makes it the zero. For labels that were never mistaken the sums stand alone. Share and gain are chosen on
//! held-out examples, and may be 0.
//!
//! It takes a few passes over the examples, and memory for what features and labels met and for what is mistaken.
//!
//! | file | holds |
//! |---|---|
//! | `said` | a sparse matrix of features and labels, and the labels that lead in it |
//! | `build` | both matrices, from the examples |
//! | `power` | how much strong words count beside weak ones |
//! | `separate` | weights that tell a label from those that it is mistaken for |

mod association;
mod exponent;
mod feature_label_matrix;
mod one_vs_rest;
#[cfg(test)]
mod tests;

use std::io;
use std::ops::Range;

use rayon::prelude::*;

use crate::io::checkpoint::{Load, Reader, Store, Writer};
use crate::linalg::buffer::Buffer;
use crate::linalg::csr::CsrRef;
use crate::linalg::sparse_accumulator::SparseAccumulator;

pub(crate) use feature_label_matrix::FeatureLabelMatrix;
pub(crate) use one_vs_rest::negatives_per_example;

/// Examples that evidence is drawn from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RankerData<'a> {
    /// Features and labels.
    pub x: CsrRef<'a>,
    pub y: CsrRef<'a>,
    /// What each counts; 0: it is not looked at.
    pub weights: Option<&'a [f32]>,
    pub d: usize,
    pub c: usize,
}

impl RankerData<'_> {
    fn weight(&self, i: usize) -> f64 {
        self.weights.map_or(1.0, |weights| f64::from(weights[i]))
    }
}

/// Examples of one task that nominates.
const GRAIN: usize = 8;

/// Sparse scorers of the labels that an example could have.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranker {
    /// Its weight in the sum of scores.
    pub weight: f32,
    /// Candidates of an example, at most.
    pub(crate) most: u32,
    /// Weight of the associations beside the one-vs-rest scorers.
    pub(crate) association_weight: f32,
    /// e(f, l): which labels an example could have.
    pub(crate) associations: FeatureLabelMatrix,
    /// w of each label.
    pub(crate) one_vs_rest: FeatureLabelMatrix,
    /// b of each label.
    pub(crate) constants: Buffer<f32>,
}

impl Store for Ranker {
    fn store(&self, out: &mut Writer<'_>) -> io::Result<()> {
        (self.weight, self.most, self.association_weight).store(out)?;
        (&self.associations, &self.one_vs_rest, &self.constants[..]).store(out)
    }
}

impl Load for Ranker {
    fn load(from: &mut Reader) -> io::Result<Ranker> {
        let (weight, most, association_weight) = Load::load(from)?;
        let (associations, one_vs_rest, constants): (_, _, Vec<f32>) = Load::load(from)?;
        Ok(Ranker { weight, most, association_weight, associations, one_vs_rest, constants: constants.into() })
    }
}

/// Labels that an example nominates, ascending, with what is added to their scores.
pub(crate) type Candidates = Vec<(u32, f32)>;

/// Labels, and those that are nominated beside them: ascending, each once.
pub(crate) fn with_candidates(mut labels: Vec<u32>, nominated: &[(u32, f32)]) -> Vec<u32> {
    labels.extend(nominated.iter().map(|(label, _)| *label));
    labels.sort_unstable();
    labels.dedup();
    labels
}

impl Ranker {
    /// The same, with another weight of the associations.
    pub(crate) fn with_association_weight(&self, association_weight: f32) -> Ranker {
        Ranker { association_weight, ..self.clone() }
    }

    /// Number of pairs of a feature and a label, in both matrices.
    pub fn pairs(&self) -> usize {
        self.associations.labels.len() + self.one_vs_rest.labels.len()
    }

    /// What is wrong with evidence from a file, for `d` features and `c` labels.
    pub(crate) fn check(&self, d: usize, c: usize) -> Result<(), &'static str> {
        self.associations.check(d, c)?;
        self.one_vs_rest.check(d, c)?;
        if self.constants.len() != c {
            return Err("its evidence does not fit its labels");
        }
        if !self.weight.is_finite()
            || !self.association_weight.is_finite()
            || self.constants.iter().any(|b| !b.is_finite())
        {
            return Err("its evidence holds numbers that are not finite");
        }
        Ok(())
    }

    /// The labels that an example nominates, and what evidence adds to their scores.
    pub(crate) fn propose(&self, x: (&[u32], Option<&[f32]>), sums: &mut SparseAccumulator) -> Candidates {
        let leading = self.associations.leading(x, self.most as usize, &[], sums);
        let separated = self.one_vs_rest.sums(x, &leading, sums);
        let score = |((label, sum), separated): ((u32, f32), f32)| {
            (label, self.weight * (1.0 + separated + self.constants[label as usize] + self.association_weight * sum))
        };
        leading.into_iter().zip(separated).map(score).collect()
    }

    /// What a label has for being nominated at all.
    pub(crate) fn start(&self, label: u32) -> f32 {
        self.weight * (1.0 + self.constants[label as usize])
    }

    /// What a feature of value 1 adds to that.
    pub(crate) fn contribution(&self, feature: usize, label: u32) -> f32 {
        self.weight
            * (self.one_vs_rest.weight(feature, label)
                + self.association_weight * self.associations.weight(feature, label))
    }

    /// What each of some examples nominates.
    pub(crate) fn propose_all(&self, x: CsrRef<'_>) -> Vec<Candidates> {
        let one = |sums: &mut SparseAccumulator, i: usize| self.propose(x.row(i), sums);
        (0..x.rows()).into_par_iter().with_min_len(GRAIN).map_init(SparseAccumulator::default, one).collect()
    }
}

/// Labels that are scored.
#[derive(Clone, Debug)]
pub(crate) enum Labels<'a> {
    Range(Range<u32>),
    /// Ascending.
    Some(&'a [u32]),
}

impl Labels<'_> {
    /// Adds what is nominated to the scores of these labels.
    pub fn add(&self, nominated: &[(u32, f32)], scores: &mut [f32]) {
        match self {
            Labels::Range(range) => {
                let from = nominated.partition_point(|(label, _)| *label < range.start);
                let within = nominated[from..].iter().take_while(|(label, _)| *label < range.end);
                within.for_each(|(label, value)| scores[(label - range.start) as usize] += value);
            }
            Labels::Some(labels) => {
                for (label, value) in nominated {
                    if let Ok(at) = labels.binary_search(label) {
                        scores[at] += value;
                    }
                }
            }
        }
    }
}
