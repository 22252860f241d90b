//! LomTree: a binary tree of linear cuts that grows while examples go by, for one label of very many.
//!
//! Every inner node has a regressor; an example goes left or right by the sign of its margin, and ends in a leaf, which
//! knows how often it has seen which class. So learning and predicting take time of the order of log c. A cut h is good
//! if it halves the examples but not the classes, that is if
//!
//! ```text
//! J(h) = 2 Σᵢ πᵢ |P(h > 0) − P(h > 0 | class i)|
//! ```
//!
//! is large. Online, each node keeps the mean margin of every class and of all examples; an example of a class that is on
//! the right of the mean teaches "right", another "left". A leaf with mistakes is split. When there are as many nodes as
//! there may be, the lightest leaf is given up for one that makes many more mistakes than that has seen examples. It is the
//! algorithm of A. Choromanska and J. Langford, *Logarithmic Time Online Multiclass Prediction* (NIPS 2015).
//!
//! Different from theirs: steps of logistic regression are scaled by past gradients (AdaGrad), and margins enter the
//! means clipped to ±1; on held-out examples of ALOI the first made far fewer errors, the second a few less. Rows are
//! divided by their length, which made no fewer, so that a step means the same on all data. A leaf is split after a
//! few mistakes instead of at once, which mattered little with many nodes. In the end the cuts are fixed, all examples are
//! sent down once more to be counted, and what none of them reaches is cut off.

mod classes;
mod fitted;
mod flatten;
mod grow;
mod node;
mod params;
#[cfg(test)]
mod tests;
mod weights;

pub use fitted::{LomTree, LomTreeSummary};
pub use params::LomTreeParams;

use grow::Grower;
use weights::ExampleRow;

use super::multiclass::{all_features, relative_weights, shuffled, single_labels};
use super::unit_row::{RowBuffer, unit_row};
use crate::data::Dataset;
use crate::linalg::csr::Csr;
use crate::{Examples, Result, Run, Shape};

/// Examples between two reports of progress.
const REPORT: usize = 8192;

impl LomTreeParams {
    /// Grows a tree. The result is the same to the last bit for any number of threads: examples are learnt one by one.
    ///
    /// Weights of examples count relative to their mean; an example of weight 2 teaches twice as much.
    pub fn fit(&self, data: &Dataset, run: &mut Run<'_>) -> Result<LomTree> {
        let shape = data.shape();
        self.check(shape)?;
        let table = TrainingSet::new(data)?;
        run.begin((self.passes as u64 + 1) * shape.n as u64);
        let mut grower = Grower::new(self, shape);
        let mut buffer = RowBuffer::default();
        for pass in 0..self.passes {
            for part in shuffled(shape.n, self.seed, pass).chunks(REPORT) {
                for i in part.iter().map(|i| *i as usize).filter(|i| table.weight(*i) > 0.0) {
                    grower.learn(table.row(i, &mut buffer), table.classes[i], table.weight(i));
                }
                run.advance("growing", part.len() as u64)?;
            }
        }
        flatten::finish(grower, &table, run)
    }
}

/// All examples, in memory.
struct TrainingSet {
    shape: Shape,
    features: Csr,
    classes: Vec<u32>,
    weights: Option<Vec<f32>>,
}

impl TrainingSet {
    fn new(data: &Dataset) -> Result<TrainingSet> {
        let classes = single_labels(data, "a LomTree")?;
        let weights = relative_weights(data)?;
        Ok(TrainingSet { shape: data.shape(), features: all_features(data)?, classes, weights })
    }

    fn weight(&self, i: usize) -> f32 {
        self.weights.as_ref().map_or(1.0, |w| w[i])
    }

    fn row<'a>(&'a self, i: usize, buffer: &'a mut RowBuffer) -> ExampleRow<'a> {
        let (ids, values) = self.features.view().row(i);
        let (ids, values) = unit_row(ids, values, self.shape.d, buffer);
        ExampleRow { ids, values, constant: self.shape.d as u32 }
    }
}
