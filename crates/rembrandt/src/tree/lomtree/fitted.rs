//! A grown tree: ranking, and the way into files and out of them.

use serde::{Deserialize, Serialize};

use super::weights::{ExampleRow, WeightLayout, margin};
use crate::tree::unit_row::{RowBuffer, unit_row};
use crate::tree::{Array, ArraySource, Arrays, Wanted};

/// A LomTree, as flat arrays.
///
/// Inner nodes are numbered from 0, parents before children; leaves come after them.
#[derive(Clone, Debug, PartialEq)]
pub struct LomTree {
    pub(super) d: usize,
    /// Left and right child of each inner node.
    pub(super) children: Vec<u32>,
    /// Where the classes of each leaf begin, and where the last ones end.
    pub(super) leaf_starts: Vec<u32>,
    /// Classes of the leaves, ascending within a leaf.
    pub(super) leaf_classes: Vec<u32>,
    /// Weight of the training examples of each.
    pub(super) leaf_weights: Vec<f32>,
    /// The numbers of the regressors.
    pub(super) weights: Vec<f32>,
    /// Hashed regressors: which one each inner node has. Empty when they lie side by side.
    pub(super) regressors: Vec<u32>,
}

/// The size and shape of a tree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LomTreeSummary {
    /// Inner nodes.
    pub nodes: usize,
    /// Leaves.
    pub leaves: usize,
    /// Inner nodes on the longest way to a leaf.
    pub greatest_depth: usize,
    /// Inner nodes on the way of a training example, on average.
    pub mean_depth: f64,
    /// Classes that some leaf would predict.
    pub predicted_classes: usize,
    /// Share of the training examples that are of the most frequent class of their leaf.
    pub purity: f64,
    /// Whether regressors share numbers.
    pub hashed: bool,
    /// Numbers of all regressors.
    pub numbers: usize,
}

impl LomTree {
    /// A tree without anything, to be filled.
    pub(super) fn empty(d: usize) -> LomTree {
        LomTree {
            d,
            children: Vec::new(),
            leaf_starts: vec![0],
            leaf_classes: Vec::new(),
            leaf_weights: Vec::new(),
            weights: Vec::new(),
            regressors: Vec::new(),
        }
    }

    fn inner(&self) -> usize {
        self.children.len() / 2
    }

    fn layout(&self) -> WeightLayout {
        match self.regressors.is_empty() {
            true => WeightLayout::Side { width: self.d + 1 },
            false => WeightLayout::Hashed { bits: self.weights.len().ilog2() },
        }
    }

    /// The best labels of an example, best first, with the share of each among the training examples of its leaf. Without
    /// values, every feature is 1; features that the tree does not know are passed over.
    pub fn rank(&self, ids: &[u32], values: Option<&[f32]>, wanted: Wanted<'_>) -> Vec<(u32, f32)> {
        let mut buffer = RowBuffer::default();
        let (ids, values) = unit_row(ids, values, self.d, &mut buffer);
        let row = ExampleRow { ids, values, constant: self.d as u32 };
        let (inner, layout) = (self.inner(), self.layout());
        let mut at = 0;
        while at < inner {
            let regressor = self.regressors.get(at).map_or(at as u32, |regressor| *regressor);
            let margin = margin(layout.node(regressor), row, |place| self.weights[place]);
            at = self.children[2 * at + usize::from(margin > 0.0)] as usize;
        }
        let (classes, weights) = self.leaf(at - inner);
        let total: f64 = weights.iter().map(|w| f64::from(*w)).sum();
        let shares = classes.iter().zip(weights).map(|(class, w)| (*class, (f64::from(*w) / total) as f32));
        wanted.best(shares)
    }

    fn leaf(&self, leaf: usize) -> (&[u32], &[f32]) {
        let range = self.leaf_starts[leaf] as usize..self.leaf_starts[leaf + 1] as usize;
        (&self.leaf_classes[range.clone()], &self.leaf_weights[range])
    }

    /// The size and shape of the tree.
    pub fn summary(&self) -> LomTreeSummary {
        let inner = self.inner();
        let mut depths = vec![0usize; 2 * inner + 1];
        for (i, child) in self.children.iter().enumerate() {
            // Parents come before their children.
            depths[*child as usize] = depths[i / 2] + 1;
        }
        let (mut total, mut deep, mut pure, mut predicted) = (0.0, 0.0, 0.0, Vec::new());
        for (leaf, depth) in depths[inner..].iter().enumerate() {
            let (classes, weights) = self.leaf(leaf);
            let best = (0..weights.len()).fold(0, |best, i| if weights[i] > weights[best] { i } else { best });
            let weight: f64 = weights.iter().map(|w| f64::from(*w)).sum();
            (total, deep) = (total + weight, deep + weight * *depth as f64);
            pure += f64::from(weights[best]);
            predicted.push(classes[best]);
        }
        predicted.sort_unstable();
        predicted.dedup();
        LomTreeSummary {
            nodes: inner,
            leaves: inner + 1,
            greatest_depth: depths.iter().copied().max().unwrap_or(0),
            mean_depth: deep / total,
            predicted_classes: predicted.len(),
            purity: pure / total,
            hashed: !self.regressors.is_empty(),
            numbers: self.weights.len(),
        }
    }

    /// All of it, for a file.
    pub fn arrays(&self) -> Arrays<'_> {
        vec![
            ("lomtree.children", Array::U32((&self.children).into())),
            ("lomtree.leaf_starts", Array::U32((&self.leaf_starts).into())),
            ("lomtree.leaf_classes", Array::U32((&self.leaf_classes).into())),
            ("lomtree.leaf_weights", Array::F32((&self.leaf_weights).into())),
            ("lomtree.weights", Array::F32((&self.weights).into())),
            ("lomtree.regressors", Array::U32((&self.regressors).into())),
        ]
    }

    /// The tree for `d` features and `c` labels that the arrays of a file hold. Everything that ranking relies on is
    /// checked, so that no damaged file makes it panic or go round in circles.
    pub(crate) fn from_arrays(source: &dyn ArraySource, (d, c): (usize, usize)) -> Result<LomTree, String> {
        let tree = LomTree {
            d,
            children: source.u32s("lomtree.children")?,
            leaf_starts: source.u32s("lomtree.leaf_starts")?,
            leaf_classes: source.u32s("lomtree.leaf_classes")?,
            leaf_weights: source.f32s("lomtree.leaf_weights")?,
            weights: source.f32s("lomtree.weights")?,
            regressors: source.u32s("lomtree.regressors")?,
        };
        tree.check_nodes()?;
        tree.check_leaves(c)?;
        tree.check_weights()?;
        Ok(tree)
    }

    /// Every node but the root must be the child of one node, which comes before it.
    fn check_nodes(&self) -> Result<(), String> {
        let inner = self.inner();
        if !self.children.len().is_multiple_of(2) || self.d >= u32::MAX as usize {
            return Err("tensor lomtree.children has a wrong length".into());
        }
        let mut parents = vec![0u8; 2 * inner + 1];
        for (i, child) in self.children.iter().enumerate() {
            let child = *child as usize;
            if child <= i / 2 || child > 2 * inner || parents[child] == 1 {
                return Err(format!("tensor lomtree.children makes no tree at node {}", i / 2));
            }
            parents[child] = 1;
        }
        Ok(())
    }

    fn check_leaves(&self, c: usize) -> Result<(), String> {
        let starts = &self.leaf_starts;
        let sound = starts.len() == self.inner() + 2
            && starts.first() == Some(&0)
            && starts.last().is_some_and(|last| *last as usize == self.leaf_classes.len())
            && starts.is_sorted_by(|a, b| a < b);
        if !sound {
            return Err("tensor lomtree.leaf_starts does not fit the tree".into());
        }
        if self.leaf_weights.len() != self.leaf_classes.len() || self.leaf_weights.iter().any(|w| *w <= 0.0) {
            return Err("tensor lomtree.leaf_weights holds other than a positive number for each class".into());
        }
        let ascending = |leaf| self.leaf(leaf).0.is_sorted_by(|a, b| a < b);
        if self.leaf_classes.iter().any(|class| *class as usize >= c) || !(0..=self.inner()).all(ascending) {
            return Err("tensor lomtree.leaf_classes holds labels out of range or out of order".into());
        }
        Ok(())
    }

    fn check_weights(&self) -> Result<(), String> {
        let sound = if self.regressors.is_empty() {
            self.inner().checked_mul(self.d + 1) == Some(self.weights.len())
        } else {
            // Two places at least: none at all or all bits of a hash cannot be taken.
            self.regressors.len() == self.inner() && self.weights.len().is_power_of_two() && self.weights.len() > 1
        };
        if sound { Ok(()) } else { Err("tensors weights and regressors do not fit the tree".into()) }
    }
}
