//! The parameters of FastXML.

use serde::{Deserialize, Serialize};

use crate::data::{Dataset, Examples, RowScale, Side, check_not_empty};
use crate::tree::in_range;
use crate::{Result, Shape};

/// FastXML: how to grow the forest. The defaults are the settings of the paper; that sides of a node are weighed against
/// each other is not in it.
///
/// Plain data: change fields by `with`, call `fit`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct FastXmlParams {
    /// Number of trees. More are a little better; time, memory and the size of the model are linear in it.
    pub trees: usize,
    /// Examples of a leaf at most: a node with more is split.
    pub leaf_examples: usize,
    /// Labels that a leaf keeps at most, the most frequent.
    pub leaf_labels: usize,
    /// C of the logistic regression at a node: what a mistake costs on average, relative to the size of the weights; on
    /// the smaller side it costs more than on the other, so that both sides count the same. More makes hyperplanes less
    /// sparse. It holds for features whose stored values have a root mean square of 1, and others are taken in that unit:
    /// otherwise rows of length 1 would be split no more where values of 1 still are.
    pub cost: f64,
    /// The divisor of the features of an example, in training and prediction alike.
    pub row_scale: RowScale,
    /// Hyperplanes between a root and a leaf at most; nodes further down become leaves whatever their size.
    pub depth: usize,
    /// Nodes of all trees at most, shared equally among the trees; those of a tree that could not be split become leaves.
    pub nodes: usize,
    /// Rounds of the logistic regression at most.
    pub steps: usize,
    /// The logistic regression is done when its optimality conditions are violated by this fraction of what they are
    /// at the start.
    pub tolerance: f64,
    /// Seed of the sides on which examples start at each node.
    pub seed: u64,
}

impl Default for FastXmlParams {
    fn default() -> FastXmlParams {
        FastXmlParams {
            trees: 50,
            leaf_examples: 10,
            leaf_labels: 100,
            cost: 1.0,
            row_scale: RowScale::None,
            depth: 60,
            nodes: 1 << 27,
            steps: 20,
            tolerance: 0.01,
            seed: 1,
        }
    }
}

setter!(FastXmlParams);

impl FastXmlParams {
    /// Checks every parameter by itself and the size of the data, before any work.
    pub fn check(&self, shape: Shape) -> Result<()> {
        check_not_empty(shape)?;
        in_range("trees", self.trees, 1, 100_000)?;
        in_range("leaf_examples", self.leaf_examples, 1, u32::MAX as usize)?;
        in_range("leaf_labels", self.leaf_labels, 1, u32::MAX as usize)?;
        in_range("cost", self.cost, 1e-6, 1e6)?;
        in_range("depth", self.depth, 0, 1000)?;
        in_range("nodes", self.nodes, self.trees, u32::MAX as usize - 1)?;
        in_range("steps", self.steps, 1, 10_000)?;
        in_range("tolerance", self.tolerance, 0.0, 1.0)
    }

    /// Bytes that a fit takes besides the data, at its peak: an estimate.
    pub fn memory(&self, data: &Dataset) -> u64 {
        // In floating point, which cannot wrap.
        let (shape, threads) = (data.shape(), rayon::current_num_threads() as f64);
        let [x, y] = [Side::X, Side::Y].map(|side| data.nnz(side) as f64);
        let n = shape.n as f64;
        // Both sides once more, I(y), weights and factors; for each thread a root: its examples by columns, its labels,
        // numbers for each of its rows, where features and labels are.
        let copy = 8.0 * x + 8.0 * y + 24.0 * n;
        let root = 8.0 * x + 4.0 * y + 70.0 * n + 30.0 * (shape.d + shape.c) as f64;
        // The size of a tree per example varies; hyperplanes seldom have more than a few weights for each.
        let nodes = (2.0 * n / self.leaf_examples as f64).min(self.nodes as f64 / self.trees as f64) + 1.0;
        let shares = (y / n.max(1.0) * self.leaf_examples as f64).min(self.leaf_labels as f64);
        let tree = 8.0 * (WEIGHTS_PER_EXAMPLE * n + nodes * (2.0 + shares));
        // Trees are grown one by one, and then put together.
        (copy + root * threads.min(self.trees as f64) + 2.0 * tree * self.trees as f64) as u64
    }
}

/// Weights of all hyperplanes of a tree for each training example, as seen on text.
const WEIGHTS_PER_EXAMPLE: f64 = 4.0;
