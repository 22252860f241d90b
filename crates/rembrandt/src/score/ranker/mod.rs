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
use crate::linalg::csr::CsrRef;
use crate::linalg::sparse_accumulator::SparseAccumulator;

pub(crate) use feature_label_matrix::{Said, SaidRef};
pub(crate) use one_vs_rest::rivals;

/// Examples that evidence is drawn from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen<'a> {
    /// Features and labels.
    pub x: CsrRef<'a>,
    pub y: CsrRef<'a>,
    /// What each counts; 0: it is not looked at.
    pub weights: Option<&'a [f32]>,
    pub d: usize,
    pub c: usize,
}

impl Seen<'_> {
    fn weight(&self, i: usize) -> f64 {
        self.weights.map_or(1.0, |weights| f64::from(weights[i]))
    }
}

/// Examples of one task that nominates.
const GRAIN: usize = 8;

/// What features say of labels, in memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Evidence {
    /// What it is multiplied with before it is added to scores.
    pub gain: f32,
    /// Labels that an example nominates, at most.
    pub(crate) most: u32,
    /// What sums count beside separators.
    pub(crate) share: f32,
    /// e(f, l), which nominate.
    pub(crate) sums: Said,
    /// w of each label.
    pub(crate) separators: Said,
    /// b of each label.
    pub(crate) constants: Vec<f32>,
}

impl Evidence {
    /// Number of pairs of a feature and a label, in both matrices.
    pub fn pairs(&self) -> usize {
        self.sums.labels.len() + self.separators.labels.len()
    }

    pub(crate) fn view(&self) -> EvidenceRef<'_> {
        EvidenceRef {
            gain: self.gain,
            most: self.most,
            share: self.share,
            sums: self.sums.view(),
            separators: self.separators.view(),
            constants: &self.constants,
        }
    }
}

impl Store for Evidence {
    fn store(&self, out: &mut Writer<'_>) -> io::Result<()> {
        (self.gain, self.most, self.share).store(out)?;
        (&self.sums, &self.separators, &self.constants).store(out)
    }
}

impl Load for Evidence {
    fn load(from: &mut Reader) -> io::Result<Evidence> {
        let (gain, most, share) = Load::load(from)?;
        let (sums, separators, constants) = Load::load(from)?;
        Ok(Evidence { gain, most, share, sums, separators, constants })
    }
}

/// Labels that an example nominates, ascending, with what is added to their scores.
pub(crate) type Nominated = Vec<(u32, f32)>;

/// Labels, and those that are nominated beside them: ascending, each once.
pub(crate) fn with_nominated(mut labels: Vec<u32>, nominated: &[(u32, f32)]) -> Vec<u32> {
    labels.extend(nominated.iter().map(|(label, _)| *label));
    labels.sort_unstable();
    labels.dedup();
    labels
}

/// What features say of labels, wherever it lies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EvidenceRef<'a> {
    pub gain: f32,
    pub most: u32,
    pub share: f32,
    pub sums: SaidRef<'a>,
    pub separators: SaidRef<'a>,
    pub constants: &'a [f32],
}

impl EvidenceRef<'_> {
    /// The same, with another share of the sums.
    pub fn with_share(self, share: f32) -> Self {
        EvidenceRef { share, ..self }
    }

    /// What is wrong with evidence from a file, for `d` features and `c` labels.
    pub fn check(&self, d: usize, c: usize) -> Result<(), &'static str> {
        self.sums.check(d, c)?;
        self.separators.check(d, c)?;
        if self.constants.len() != c {
            return Err("its evidence does not fit its labels");
        }
        if !self.gain.is_finite() || !self.share.is_finite() || self.constants.iter().any(|b| !b.is_finite()) {
            return Err("its evidence holds numbers that are not finite");
        }
        Ok(())
    }

    /// The labels that an example nominates, and what evidence adds to their scores.
    pub fn nominate(&self, x: (&[u32], Option<&[f32]>), sums: &mut SparseAccumulator) -> Nominated {
        let leading = self.sums.leading(x, self.most as usize, &[], sums);
        let separated = self.separators.sums(x, &leading, sums);
        let score = |((label, sum), separated): ((u32, f32), f32)| {
            (label, self.gain * (1.0 + separated + self.constants[label as usize] + self.share * sum))
        };
        leading.into_iter().zip(separated).map(score).collect()
    }

    /// What a label has for being nominated at all.
    pub fn start(&self, label: u32) -> f32 {
        self.gain * (1.0 + self.constants[label as usize])
    }

    /// What a feature of value 1 adds to that.
    pub fn weight(&self, feature: usize, label: u32) -> f32 {
        self.gain * (self.separators.weight(feature, label) + self.share * self.sums.weight(feature, label))
    }

    /// What each of some examples nominates.
    pub fn nominations(&self, x: CsrRef<'_>) -> Vec<Nominated> {
        let one = |sums: &mut SparseAccumulator, i: usize| self.nominate(x.row(i), sums);
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
