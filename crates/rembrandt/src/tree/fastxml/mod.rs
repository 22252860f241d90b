//! FastXML: an ensemble of trees whose nodes are learnt by optimising a ranking of labels.
//!
//! Y. Prabhu and M. Varma, *FastXML: a fast, accurate and stable tree-classifier for extreme multi-label learning*, KDD
//! 2014. A node sends its examples left or right so that one ranking of labels on either side is as good as possible for
//! the examples there (`assign.rs`), and then finds a sparse hyperplane that tells the sides apart (`linalg/l1.rs`); examples
//! go where the hyperplane says (`grow.rs`). A leaf predicts the share of its examples that have a label, and the forest
//! the mean over its trees.
//!
//! The paper's other constant, C_r, weighs the ranking against the hyperplane while both are optimised in turns. Like its
//! authors we find the hyperplane once, after the sides, where C_r cancels out; so there is none here. One more turn, with
//! the loss of the hyperplane in the choice of sides, was worse on held-out rows.
//!
//! Unlike in the paper both sides of a node count the same in the logistic regression, however many examples each has.
//! With the plain sum of losses more nodes get a hyperplane that sends all examples to the larger side, and become leaves
//! of more examples than a leaf should have.

mod assign;
mod columns;
mod grow;
mod params;
#[cfg(test)]
mod tests;

use super::hyperplane_tree::Routes;
use super::lookup::Lookup;
use super::{Array, ArraySource, Arrays, TreeSummary, Wanted, check_entries};
use crate::data::{Dataset, Examples, RowScale};
use crate::linalg::csr::Csr;
use crate::{Result, Run};

use grow::Forest;
pub use params::FastXmlParams;

impl FastXmlParams {
    /// Grows a forest. The result is the same to the last bit for any number of threads.
    ///
    /// Weights of examples count everywhere; an example of weight 0 is not there.
    pub fn fit(&self, data: &Dataset, run: &mut Run<'_>) -> Result<FastXml> {
        self.check(data.shape())?;
        check_entries(data)?;
        Forest::new(self, data)?.grow(run)
    }
}

/// A fitted forest.
#[derive(Clone, Debug, PartialEq)]
pub struct FastXml {
    row_scale: RowScale,
    routes: Routes,
    /// For every node, its labels and the shares of its examples that have them; none for inner nodes.
    labels: Csr,
}

impl FastXml {
    /// The best labels of an example with features `ids`, ascending, and `values`, which when absent are all 1: best
    /// first, with the share of training examples like it that have the label.
    pub fn rank(&self, ids: &[u32], values: Option<&[f32]>, wanted: Wanted<'_>) -> Vec<(u32, f32)> {
        let x = Lookup::new(ids, values, self.row_scale);
        let trees = self.routes.trees();
        // Label and place in `shares` in one number: sorted, the shares of a label stand in the order of the trees.
        let (mut places, mut shares): (Vec<u64>, Vec<f32>) = Default::default();
        for tree in 0..trees {
            let (labels, held) = self.labels.view().row(self.routes.leaf(tree, &x));
            places.extend(labels.iter().zip(shares.len() as u64..).map(|(label, at)| u64::from(*label) << 32 | at));
            shares.extend_from_slice(held.unwrap_or_default());
        }
        places.sort_unstable();
        let share = |place: &u64| f64::from(shares[*place as u32 as usize]);
        let mean = |of: &[u64]| ((of[0] >> 32) as u32, (of.iter().map(share).sum::<f64>() / trees as f64) as f32);
        wanted.best(places.chunk_by(|a, b| a >> 32 == b >> 32).map(mean))
    }

    /// The size of the trees.
    pub fn summary(&self) -> TreeSummary {
        self.routes.summary()
    }

    /// Everything, as arrays.
    pub fn arrays(&self) -> Arrays<'_> {
        let labels = self.labels.view();
        let mut arrays = vec![("fastxml.row_scale", Array::U32(vec![self.row_scale.code()].into()))];
        arrays.extend(self.routes.arrays());
        arrays.extend([
            ("leaf.starts", Array::U32(labels.ptr.into())),
            ("leaf.labels", Array::U32(labels.ids.into())),
            ("leaf.shares", Array::F32(labels.values.unwrap_or_default().into())),
        ]);
        arrays
    }

    /// From arrays, for `d` features and `c` labels. Checks everything.
    pub(crate) fn from_arrays(source: &dyn ArraySource, (d, c): (usize, usize)) -> Result<FastXml, String> {
        let row_scale = RowScale::from_code(&source.u32s("fastxml.row_scale")?);
        let row_scale = row_scale.ok_or("tensor fastxml.row_scale names no way to divide rows")?;
        let routes = Routes::from_arrays(source, d)?;
        if routes.trees() == 0 {
            return Err("a forest without trees".into());
        }
        let shares = source.f32s("leaf.shares")?;
        if shares.iter().any(|share| !(0.0..=1.0).contains(share)) {
            return Err("tensor leaf.shares holds numbers that are no shares".into());
        }
        let (starts, ids) = (source.u32s("leaf.starts")?, source.u32s("leaf.labels")?);
        let labels = Csr::checked(starts, ids, Some(shares), routes.nodes(), c)
            .map_err(|reason| format!("the labels of the leaves have {reason}"))?;
        Ok(FastXml { row_scale, routes, labels })
    }
}
