//! Label trees: labels in groups that are hard to tell apart, and scorers that find the way to one of them.
//!
//! An example goes down from the root. Each node j has a linear scorer f_j(x) = φ(j)ᵀVx; the best `beam` nodes of a level
//! are kept, their children are scored, and the labels at the end get the softmax of their scores for probabilities. With
//! three levels a prediction looks at about ten times ∛c scorers instead of c. Nodes whose score is far below the best of their
//! level are passed over, even if the beam has room for them: most examples have few likely groups.
//!
//! It follows S. Bengio, J. Weston and D. Grangier, *Label Embedding Trees for Large Multi-Class Tasks* (NIPS 2010), with
//! these choices:
//!
//! - **Groups** of equal size are found by halving labels again and again around two centres, in the vectors of the Rembrandt
//!   embedding or, as in the paper, in those of the affinity of labels that one-vs-rest regressions confuse.
//! - **V** is the identity for few features, and else the projection into the embedding, fixed before the φ are trained.
//! - **Loss.** At each level, the cross entropy of the softmax over all candidates of the search and the right node,
//!   instead of a hinge over siblings. Scores of scorers that were trained on siblings alone cannot be compared between
//!   groups, and a beam over them gains little.
//! - **Steps** are scaled by past gradients (AdaGrad), on rows divided by their length; one example at a time.

mod cluster;
mod fitted;
mod params;
mod scorers;
mod tables;
#[cfg(test)]
mod tests;
mod tree;
mod vectors;

pub(crate) use fitted::Memory;
pub use fitted::{LabelTree, LabelTreeSummary};
pub use params::{Affinity, LabelTreeParams};

use fitted::Projection;
use scorers::Learner;
use tables::Tables;
use tree::Tree;

use super::multiclass::{all_features, relative_weights, shuffled, single_labels};
use super::unit_row::unit_rows;
use crate::data::Dataset;
use crate::linalg::csr::CsrRef;
use crate::{Embedding, Examples, Result, Run, Shape};

/// Examples between two reports of progress.
const REPORT: usize = 4096;

impl LabelTreeParams {
    /// Trains a tree. The result is the same to the last bit for any number of threads: examples are learnt one by one.
    ///
    /// Labels without examples are not in the tree. Weights of examples count relative to their mean.
    pub fn fit(&self, data: &Dataset, run: &mut Run<'_>) -> Result<LabelTree> {
        let shape = data.shape();
        self.check(shape)?;
        let classes = single_labels(data, "a label tree")?;
        let weights = relative_weights(data)?;
        let features = all_features(data)?;
        let divided = data.map_features(|x| Ok(unit_rows(x, shape.d)))?;
        let embedding = self.embedding(shape).fit(&divided, run)?;
        let tree = self.grow(&divided, &classes, &embedding, run)?;
        drop(divided);
        let projection = self.projected(shape).map(|_| Projection::new(&embedding, features.view()));
        drop(embedding);
        let weights =
            self.train(&tree, projection.as_ref(), features.view(), (&classes, weights.as_deref()), shape, run)?;
        let mut counts = vec![0u32; tree.len()];
        let paths = tree.paths(shape.c);
        classes.iter().for_each(|class| counts[paths[*class as usize * tree.depth + tree.depth - 1] as usize] += 1);
        Ok(LabelTree { d: shape.d, beam: self.beam, margin: self.margin, tree, counts, projection, weights })
    }

    /// The tree of all labels that have examples.
    fn grow(&self, data: &Dataset, classes: &[u32], embedding: &Embedding, run: &mut Run<'_>) -> Result<Tree> {
        let vectors = vectors::vectors(self, data, classes, embedding, run)?;
        let mut labels = classes.to_vec();
        labels.sort_unstable();
        labels.dedup();
        let branching = self.branching(labels.len());
        Ok(Tree::grow(labels, self.depth, |group| cluster::divide(&vectors, group, branching)))
    }

    /// The numbers of all scorers.
    fn train(
        &self,
        tree: &Tree,
        projection: Option<&Projection>,
        features: CsrRef<'_>,
        (classes, weights): (&[u32], Option<&[f32]>),
        shape: Shape,
        run: &mut Run<'_>,
    ) -> Result<Tables> {
        run.begin(self.epochs as u64 * shape.n as u64);
        let width = projection.map_or(shape.d, Projection::rank) + 1;
        let paths = tree.paths(shape.c);
        let mut learner = Learner::new(tree, width, self.beam, self.step);
        let mut buffers = Default::default();
        for epoch in 0..self.epochs {
            for part in shuffled(shape.n, self.seed, epoch).chunks(REPORT) {
                for i in part.iter().map(|i| *i as usize) {
                    let weight = weights.map_or(1.0, |w| w[i]);
                    if weight > 0.0 {
                        let input = fitted::input(projection, features.row(i), shape.d, &mut buffers);
                        learner.learn(input, &paths[classes[i] as usize * tree.depth..][..tree.depth], weight);
                    }
                }
                run.advance("scorers", part.len() as u64)?;
            }
        }
        Ok(learner.weights)
    }
}
