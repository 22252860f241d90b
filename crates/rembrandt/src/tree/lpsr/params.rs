//! The parameters of LPSR-NB.

use serde::{Deserialize, Serialize};

use super::Lpsr;
use super::fit::Fit;
use crate::data::{Dataset, Examples, Side, check_not_empty};
use crate::tree::{check_entries, in_range};
use crate::{Result, Run, Shape};

/// How the counts that every label has beforehand are spread over the features.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Smoothing {
    /// Every feature has the same (Laplace's correction).
    #[default]
    Uniform,
    /// Features have them in proportion to their frequency in all examples.
    Background,
}

/// LPSR-NB: how to part the examples and choose the labels of each part.
///
/// Plain data: change fields, call `fit`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LpsrParams {
    /// Count a feature of an example once, whatever its value; otherwise values are taken for counts, which is right for
    /// numbers of words and wrong for values of another scale.
    pub presence: bool,
    /// What is added to the count of every pair of a label and a feature, on average over the features.
    pub laplace: f64,
    /// How that is spread over the features.
    pub smoothing: Smoothing,
    /// Examples of a leaf at most: a node with more is split.
    pub leaf_examples: usize,
    /// Labels of a leaf at most, the most frequent; a prediction scores as many.
    pub leaf_labels: usize,
    /// The k of the precision at k for which examples are weighted and the labels of a leaf are chosen.
    pub precision_at: usize,
    /// Features that a hyperplane between two centres keeps at most, those of the largest weights.
    pub weights: usize,
    /// Rounds of 2-means at most.
    pub steps: usize,
    /// Hyperplanes between the root and a leaf at most; nodes further down become leaves whatever their size.
    pub depth: usize,
    /// Nodes of the tree at most; those that could not be split become leaves.
    pub nodes: usize,
    /// Seed of the first centres.
    pub seed: u64,
}

impl Default for LpsrParams {
    fn default() -> LpsrParams {
        LpsrParams {
            presence: true,
            laplace: 1.0,
            smoothing: Smoothing::Uniform,
            leaf_examples: 1000,
            leaf_labels: 100,
            precision_at: 3,
            weights: 1000,
            steps: 20,
            depth: 60,
            nodes: 1 << 24,
            seed: 1,
        }
    }
}

impl LpsrParams {
    /// Checks every parameter by itself and the size of the data, before any work.
    pub fn check(&self, shape: Shape) -> Result<()> {
        check_not_empty(shape)?;
        in_range("laplace", self.laplace, 1e-6, 1e6)?;
        in_range("leaf_examples", self.leaf_examples, 1, u32::MAX as usize)?;
        in_range("leaf_labels", self.leaf_labels, 1, 100_000)?;
        in_range("precision_at", self.precision_at, 1, 1000)?;
        in_range("weights", self.weights, 1, u32::MAX as usize)?;
        in_range("steps", self.steps, 1, 10_000)?;
        in_range("depth", self.depth, 0, 1000)?;
        in_range("nodes", self.nodes, 1, u32::MAX as usize - 1)
    }

    /// Bytes that a fit takes besides the data, at its peak: an estimate.
    pub fn memory(&self, data: &Dataset) -> u64 {
        // In floating point, which cannot wrap.
        let (shape, threads) = (data.shape(), rayon::current_num_threads() as f64);
        let [x, y] = [Side::X, Side::Y].map(|side| data.nnz(side) as f64);
        let (n, d, c) = (shape.n as f64, shape.d as f64, shape.c as f64);
        // Pairs of a label and a feature of the same example; many of them are met again and again.
        let pairs = (x * y / n.max(1.0)).min(c * d) * PAIRS_MET_ONCE;
        let copy = 8.0 * x + 8.0 * y + 40.0 * n;
        // The scorer by labels and by features, and what is held twice while it is built.
        let scorer = 20.0 * pairs + 16.0 * (c + 2.0 * d);
        let leaf = (CHOOSING as f64).min(n) * 4.0 * (self.leaf_labels as f64).min(c) + 8.0 * c;
        (copy + scorer + threads * leaf) as u64
    }

    /// Fits scorer, partition and label sets. The result is the same to the last bit for any number of threads.
    ///
    /// Features must not be negative. Weights of examples count everywhere.
    pub fn fit(&self, data: &Dataset, run: &mut Run<'_>) -> Result<Lpsr> {
        self.check(data.shape())?;
        check_entries(data)?;
        Fit::new(self, data)?.fit(run)
    }
}

/// How many pairs of a label and a feature are left when those of all examples are put together, as seen on text.
const PAIRS_MET_ONCE: f64 = 0.6;
/// Examples of a leaf that its labels are chosen for, at most.
pub(super) const CHOOSING: usize = 2000;
