//! The parameters of LPSR-NB.

use serde::{Deserialize, Serialize};

use crate::data::{Dataset, Examples, Side, check_not_empty};
use crate::tree::in_range;
use crate::{Result, Shape};

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
/// Plain data: change fields by `with`, call `fit`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct LpsrParams {
    /// Count a feature of an example once, whatever its value; otherwise values are taken for counts, which is right for
    /// numbers of words and wrong for values of another scale.
    pub presence: bool,
    /// The count added to every pair of a label and a feature, on average over the features.
    pub laplace: f64,
    /// How that is spread over the features.
    pub smoothing: Smoothing,
    /// Examples of a leaf at most: a node with more is split. Absent: 1000, or two for each of its labels.
    pub leaf_examples: Option<usize>,
    /// Labels of a leaf at most, the most frequent; a prediction scores as many. Absent: 100, or c^¾ where that is more.
    /// Labels that a leaf does not have cannot be predicted there, and where there are thousands, few of which are
    /// frequent, 100 leave most of them out.
    pub leaf_labels: Option<usize>,
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
            leaf_examples: None,
            leaf_labels: None,
            precision_at: 3,
            weights: 1000,
            steps: 20,
            depth: 60,
            nodes: 1 << 24,
            seed: 1,
        }
    }
}

setter!(LpsrParams);

impl LpsrParams {
    /// Checks every parameter by itself and the size of the data, before any work.
    pub fn check(&self, shape: Shape) -> Result<()> {
        check_not_empty(shape)?;
        in_range("laplace", self.laplace, 1e-6, 1e6)?;
        let (leaf_examples, leaf_labels) = self.leaf(shape);
        in_range("leaf_examples", leaf_examples, 1, u32::MAX as usize)?;
        in_range("leaf_labels", leaf_labels, 1, MOST_LABELS)?;
        in_range("precision_at", self.precision_at, 1, 1000)?;
        in_range("weights", self.weights, 1, u32::MAX as usize)?;
        in_range("steps", self.steps, 1, 10_000)?;
        in_range("depth", self.depth, 0, 1000)?;
        in_range("nodes", self.nodes, 1, u32::MAX as usize - 1)
    }

    /// Examples and labels of a leaf at most, for data of this shape.
    pub(super) fn leaf(&self, shape: Shape) -> (usize, usize) {
        let grown = (shape.c as f64).powf(0.75).round() as usize;
        let labels = self.leaf_labels.unwrap_or(grown.clamp(100, MOST_LABELS));
        (self.leaf_examples.unwrap_or(labels.saturating_mul(2).max(1000)), labels)
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
        // Counts and gains by labels, in lists that double as they grow, and gains by features.
        let scorer = 40.0 * pairs + 48.0 * c + 64.0 * d;
        // Scores, order and truth of the labels for each example that they are chosen for; and the scores of all labels.
        let (examples, labels) = self.leaf(shape);
        let (examples, labels) = ((CHOOSING.min(examples) as f64).min(n), (labels as f64).min(c));
        let leaf = examples * (16.0 * labels + 100.0) + 8.0 * c;
        (copy + scorer + threads * leaf) as u64
    }
}

/// Labels of a leaf, at most.
const MOST_LABELS: usize = 100_000;
/// How many pairs of a label and a feature are left when those of all examples are put together, as seen on text.
const PAIRS_MET_ONCE: f64 = 0.6;
/// Examples of a leaf that its labels are chosen for, at most.
pub(super) const CHOOSING: usize = 2000;
