//! Binary trees with a hyperplane at every inner node, as flat arrays: the way from an example to a leaf.
//!
//! The nodes of all trees are numbered through, tree by tree and in each tree level by level. So the first inner node of
//! a tree has the second and third node as its children, the next inner node the two after those, and so on: children come
//! after their parents, side by side, and every node but a root has one parent. That is easily checked and leaves no room
//! for a damaged file to send an example in circles.

use std::collections::VecDeque;
use std::io;

use serde::{Deserialize, Serialize};

use super::lookup::Lookup;
use super::{Array, ArraySource, Arrays};
use crate::io::checkpoint::{Load, Reader, Store, Writer};
use crate::linalg::csr::Csr;

/// Says that a node has no children; a root is nobody's child.
const NONE: u32 = 0;

/// Trees and their hyperplanes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Routes {
    /// First node of each tree, and the number of nodes.
    roots: Vec<u32>,
    /// The left child of each node, before the right one; [`NONE`] for leaves.
    children: Vec<u32>,
    /// Added to the product with the weights; 0 for leaves.
    bias: Vec<f32>,
    /// Weights of each node; none for leaves.
    weights: Csr,
}

impl Store for Routes {
    fn store(&self, out: &mut Writer<'_>) -> io::Result<()> {
        (&self.roots, &self.children, &self.bias, &self.weights).store(out)
    }
}

impl Load for Routes {
    fn load(from: &mut Reader) -> io::Result<Routes> {
        let (roots, children, bias, weights) = Load::load(from)?;
        Ok(Routes { roots, children, bias, weights })
    }
}

/// One side of a hyperplane is where weights·x + bias > 0.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Hyperplane {
    /// Added to the product.
    pub bias: f32,
    /// Features, ascending, and their weights.
    pub weights: Vec<(u32, f32)>,
}

/// The size of fitted trees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TreeSummary {
    /// Number of trees.
    pub trees: usize,
    /// Nodes of all trees, leaves included.
    pub nodes: usize,
    /// Leaves of all trees.
    pub leaves: usize,
    /// Hyperplanes on the longest way from a root to a leaf.
    pub greatest_depth: usize,
    /// Hyperplanes on the way to a leaf, on average over the leaves.
    pub mean_depth: f64,
    /// Weights of all hyperplanes that are not zero.
    pub weights: usize,
}

impl Routes {
    /// No trees.
    pub fn new() -> Routes {
        Routes { roots: vec![0], children: Vec::new(), bias: Vec::new(), weights: Csr::new(false) }
    }

    /// Number of trees.
    pub fn trees(&self) -> usize {
        self.roots.len() - 1
    }

    /// Number of nodes of all trees.
    pub fn nodes(&self) -> usize {
        self.children.len()
    }

    /// Whether a node has no children.
    pub fn is_leaf(&self, node: usize) -> bool {
        self.children[node] == NONE
    }

    /// The leaf of a tree that an example comes to.
    pub fn leaf(&self, tree: usize, x: &Lookup<'_>) -> usize {
        let mut node = self.roots[tree] as usize;
        while !self.is_leaf(node) {
            let (ids, weights) = self.weights.view().row(node);
            let margin = x.dot(ids, weights.unwrap_or_default()) + f64::from(self.bias[node]);
            node = self.children[node] as usize + usize::from(margin > 0.0);
        }
        node
    }

    /// Adds the trees of another. Fails when there are too many nodes or weights to number.
    pub fn append(&mut self, other: &Routes) -> Result<(), TooMany> {
        let (nodes, weights) = (self.nodes() + other.nodes(), self.weights.nnz() + other.weights.nnz());
        if nodes.max(weights) >= u32::MAX as usize {
            return Err(TooMany);
        }
        let base = self.nodes() as u32;
        self.roots.extend(other.roots[1..].iter().map(|root| root + base));
        self.children.extend(other.children.iter().map(|child| if *child == NONE { NONE } else { child + base }));
        self.bias.extend_from_slice(&other.bias);
        self.weights.extend_rows(other.weights.view(), 0, other.weights.rows());
        Ok(())
    }

    /// The size of the trees.
    pub fn summary(&self) -> TreeSummary {
        let mut depths = vec![0usize; self.nodes()];
        for node in 0..self.nodes() {
            if !self.is_leaf(node) {
                let child = self.children[node] as usize;
                let below = depths[node] + 1;
                depths[child..child + 2].fill(below);
            }
        }
        let leaves: Vec<usize> =
            (0..self.nodes()).filter(|node| self.is_leaf(*node)).map(|node| depths[node]).collect();
        TreeSummary {
            trees: self.trees(),
            nodes: self.nodes(),
            leaves: leaves.len(),
            greatest_depth: leaves.iter().copied().max().unwrap_or(0),
            mean_depth: leaves.iter().sum::<usize>() as f64 / leaves.len().max(1) as f64,
            weights: self.weights.nnz(),
        }
    }

    /// As arrays.
    pub fn arrays(&self) -> Arrays<'_> {
        let weights = self.weights.view();
        vec![
            ("tree.roots", Array::U32((&self.roots).into())),
            ("tree.children", Array::U32((&self.children).into())),
            ("tree.bias", Array::F32((&self.bias).into())),
            ("tree.starts", Array::U32(weights.ptr.into())),
            ("tree.features", Array::U32(weights.ids.into())),
            ("tree.weights", Array::F32(weights.values.unwrap_or_default().into())),
        ]
    }

    /// From arrays, for `d` features. Checks everything: afterwards every example comes to a leaf.
    pub fn from_arrays(source: &dyn ArraySource, d: usize) -> Result<Routes, String> {
        let (roots, children) = (source.u32s("tree.roots")?, source.u32s("tree.children")?);
        let bias = source.f32s("tree.bias")?;
        check_children(&roots, &children)?;
        if bias.len() != children.len() {
            return Err("tensor tree.bias has another length than there are nodes".into());
        }
        let entries = (source.u32s("tree.starts")?, source.u32s("tree.features")?, source.f32s("tree.weights")?);
        let weights = Csr::checked(entries.0, entries.1, Some(entries.2), children.len(), d)
            .map_err(|reason| format!("the weights of the trees have {reason}"))?;
        Ok(Routes { roots, children, bias, weights })
    }
}

/// There are too many nodes or weights for 32 bits.
#[derive(Debug)]
pub(super) struct TooMany;

/// Whether nodes are numbered as they should be.
fn check_children(roots: &[u32], children: &[u32]) -> Result<(), String> {
    if roots.first() != Some(&0) || roots.last().map(|end| *end as usize) != Some(children.len()) {
        return Err("tensor tree.roots does not fit the nodes".into());
    }
    if !roots.is_sorted_by(|a, b| a < b) {
        return Err("tensor tree.roots is not ascending".into());
    }
    for tree in roots.windows(2) {
        let mut next = u64::from(tree[0]) + 1;
        for node in tree[0]..tree[1] {
            let child = children[node as usize];
            if child != NONE && u64::from(child) != next || u64::from(node) >= next {
                return Err("tensor tree.children does not number the nodes level by level".into());
            }
            next += if child == NONE { 0 } else { 2 };
        }
        if next != u64::from(tree[1]) {
            return Err("tensor tree.children points outside of its tree".into());
        }
    }
    Ok(())
}

/// A node that waits to become a leaf or to be split: its number, depth and place in the list of examples.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Open {
    /// Number of the node in its tree.
    pub node: usize,
    /// Hyperplanes above it.
    pub depth: usize,
    /// Its examples, in the list that the tree keeps.
    pub examples: std::ops::Range<usize>,
}

/// A tree as it grows, level by level.
pub(super) struct Growing {
    routes: Routes,
    open: VecDeque<Open>,
    /// Nodes that were numbered so far.
    numbered: usize,
}

impl Growing {
    /// A root with so many examples.
    pub fn new(examples: usize) -> Growing {
        let root = Open { node: 0, depth: 0, examples: 0..examples };
        Growing { routes: Routes::new(), open: [root].into(), numbered: 1 }
    }

    /// Nodes so far, open ones included.
    pub fn nodes(&self) -> usize {
        self.numbered
    }

    /// Weights of the hyperplanes so far.
    pub fn weights(&self) -> usize {
        self.routes.weights.nnz()
    }

    /// The next node. [`leaf`](Growing::leaf) or [`split`](Growing::split) must be called before asking for another.
    pub fn next(&mut self) -> Option<Open> {
        self.open.pop_front()
    }

    /// The node that was asked for last has no children.
    pub fn leaf(&mut self) {
        self.push(NONE, 0.0);
    }

    /// The node that was asked for last has two, and examples from `middle` on go right.
    pub fn split(&mut self, node: &Open, middle: usize, by: Hyperplane) {
        let sides = [node.examples.start..middle, middle..node.examples.end];
        for (side, examples) in sides.into_iter().enumerate() {
            self.open.push_back(Open { node: self.numbered + side, depth: node.depth + 1, examples });
        }
        by.weights.iter().for_each(|(id, w)| self.routes.weights.push(*id, *w));
        self.push(self.numbered as u32, by.bias);
        self.numbered += 2;
    }

    fn push(&mut self, child: u32, bias: f32) {
        self.routes.children.push(child);
        self.routes.bias.push(bias);
        self.routes.weights.end_row();
    }

    /// The tree, when no node is open.
    pub fn finish(mut self) -> Routes {
        self.routes.roots.push(self.routes.children.len() as u32);
        self.routes
    }
}
