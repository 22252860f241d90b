//! The ranker: one sparse linear scorer per label, asked about the candidates of an example.
//!
//! A few hundred dimensions cannot keep tens of thousands of labels apart where each is told by words of its own, as in
//! titles of books. So the embedding is complemented by two sparse feature × label matrices.
//!
//! The *association table* proposes candidates. With X and Y of the training examples,
//!
//! ```text
//! a(f, l) = ( Σᵢ xᵢf yᵢl / (Σᵢ xᵢf² + ρ) )^p        a(x, l) = Σ over the features f of x_f a(f, l)
//! ```
//!
//! In brackets is the regression of the label on this feature alone; ρ, the mean over features of Σᵢ xᵢf², shrinks rare
//! features. The exponent p is ½ for short texts and larger for long ones (`exponent.rs`). Every feature keeps its
//! strongest labels, and the candidates of an example are the labels with the largest a(x, l).
//!
//! *One-vs-rest* scorers w·x + b rank the candidates. Each label is trained on its own examples against hard negatives:
//! the examples that propose it without having it (`one_vs_rest.rs`). A scorer has seen no other examples, so it is
//! asked about candidates only:
//!
//! ```text
//! score(l) ← score(l) + weight · (1 + w·x + b + association_weight · a(x, l))        for candidates l
//! ```
//!
//! The hinge loss puts rejected labels at −1, so the 1 makes a rejected candidate equal to a label that is no candidate.
//! Both weights are fitted on held-out examples and may be 0.
//!
//! | file | holds |
//! |---|---|
//! | `feature_label_matrix` | a sparse feature × label matrix, and the labels that it scores highest for an example |
//! | `association` | the association table, and the fit of both matrices |
//! | `exponent` | the choice of p |
//! | `one_vs_rest` | the scorers, by dual coordinate descent |

mod association;
mod exponent;
mod feature_label_matrix;
mod one_vs_rest;
#[cfg(test)]
mod tests;

use std::io;

use rayon::prelude::*;

use crate::io::checkpoint::{Load, Reader, Store, Writer};
use crate::linalg::buffer::Buffer;
use crate::linalg::csr::CsrRef;
use crate::linalg::sparse_accumulator::SparseAccumulator;

pub(crate) use feature_label_matrix::FeatureLabelMatrix;
pub(crate) use one_vs_rest::negatives_per_example;

/// Examples that a ranker is fitted to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RankerData<'a> {
    /// Features and labels.
    pub x: CsrRef<'a>,
    pub y: CsrRef<'a>,
    /// Weights of the examples; those of weight 0 are left out.
    pub weights: Option<&'a [f32]>,
    pub d: usize,
    pub c: usize,
}

impl RankerData<'_> {
    fn weight(&self, i: usize) -> f64 {
        self.weights.map_or(1.0, |weights| f64::from(weights[i]))
    }
}

/// Examples of one task that proposes candidates.
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
    /// a(f, l): which labels an example could have.
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

/// Candidates of an example, ascending, with what the ranker adds to their scores.
pub(crate) type Candidates = Vec<(u32, f32)>;

/// Labels and candidates together: ascending, each once.
pub(crate) fn with_candidates(mut labels: Vec<u32>, candidates: &[(u32, f32)]) -> Vec<u32> {
    labels.extend(candidates.iter().map(|(label, _)| *label));
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

    /// Checks a ranker from a file, for `d` features and `c` labels.
    pub(crate) fn check(&self, d: usize, c: usize) -> Result<(), &'static str> {
        self.associations.check(d, c)?;
        self.one_vs_rest.check(d, c)?;
        if self.constants.len() != c {
            return Err("its ranker does not fit its labels");
        }
        if !self.weight.is_finite()
            || !self.association_weight.is_finite()
            || self.constants.iter().any(|b| !b.is_finite())
        {
            return Err("its ranker holds numbers that are not finite");
        }
        Ok(())
    }

    /// The candidates of an example, and what the ranker adds to their scores.
    pub(crate) fn propose(&self, x: (&[u32], Option<&[f32]>), sums: &mut SparseAccumulator) -> Candidates {
        let leading = self.associations.leading(x, self.most as usize, &[], sums);
        let one_vs_rest = self.one_vs_rest.sums(x, &leading, sums);
        let score = |((label, sum), one_vs_rest): ((u32, f32), f32)| {
            (label, self.weight * (1.0 + one_vs_rest + self.constants[label as usize] + self.association_weight * sum))
        };
        leading.into_iter().zip(one_vs_rest).map(score).collect()
    }

    /// The constant that a candidate starts from.
    pub(crate) fn start(&self, label: u32) -> f32 {
        self.weight * (1.0 + self.constants[label as usize])
    }

    /// The share of a feature of value 1 in the score of a candidate.
    pub(crate) fn contribution(&self, feature: usize, label: u32) -> f32 {
        self.weight
            * (self.one_vs_rest.weight(feature, label)
                + self.association_weight * self.associations.weight(feature, label))
    }

    /// The candidates of each of some examples.
    pub(crate) fn propose_all(&self, x: CsrRef<'_>) -> Vec<Candidates> {
        let one = |sums: &mut SparseAccumulator, i: usize| self.propose(x.row(i), sums);
        (0..x.rows()).into_par_iter().with_min_len(GRAIN).map_init(SparseAccumulator::default, one).collect()
    }
}
