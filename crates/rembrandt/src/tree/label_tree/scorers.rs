//! The scorers of the nodes, and how they learn.
//!
//! Those of the children of one node are a table with a row for each input and a column for each child, so that an
//! input is one sweep along its row. The last row belongs to the constant.

use super::tree::Tree;
use crate::metrics::Best;

/// Squared gradients that a number is taken to have seen before the first: without them a first step would be as long
/// for a gradient next to nothing as for any other.
const BEFORE: f32 = 1e-3;
/// Gradients of scores that are not larger are passed over: nearly all candidates are hopeless, and rightly so.
const NEGLIGIBLE: f32 = 1e-3;

/// What an example looks like to the scorers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Input<'a> {
    pub ids: &'a [u32],
    pub values: &'a [f32],
}

/// Scores of the children of some nodes.
#[derive(Debug, Default)]
pub(super) struct Candidates {
    /// The nodes.
    parents: Vec<u32>,
    /// Scores of the children of each, one after the other.
    pub scores: Vec<f32>,
}

impl Candidates {
    /// The children in the order of their scores.
    pub fn nodes<'a>(&'a self, tree: &'a Tree) -> impl Iterator<Item = u32> + 'a {
        self.parents.iter().flat_map(|parent| tree.children(*parent))
    }
}

/// Begins at the root.
pub(super) fn look_at_root(tree: &Tree, weights: &[f32], width: usize, input: Input<'_>, found: &mut Candidates) {
    found.parents.clear();
    found.parents.push(0);
    look(tree, weights, width, input, found);
}

/// Goes on to the children of the best candidates, and of `also`, which may be 0 for none.
pub(super) fn look_below(
    tree: &Tree,
    weights: &[f32],
    width: usize,
    input: Input<'_>,
    (beam, also): (usize, u32),
    found: &mut Candidates,
) {
    let mut best = Best::new(beam);
    found.nodes(tree).zip(&found.scores).for_each(|(node, score)| best.offer(node, *score));
    let mut parents: Vec<u32> = best.into_ranked().map(|(node, _)| node).collect();
    if also != 0 && !parents.contains(&also) {
        parents.push(also);
    }
    found.parents = parents;
    look(tree, weights, width, input, found);
}

/// Computes the scores.
fn look(tree: &Tree, weights: &[f32], width: usize, input: Input<'_>, found: &mut Candidates) {
    found.scores.clear();
    for parent in &found.parents {
        let (table, count) = table(tree, *parent, width);
        let table = &weights[table];
        let from = found.scores.len();
        found.scores.extend_from_slice(&table[(width - 1) * count..]);
        let scores = &mut found.scores[from..];
        for (id, value) in input.ids.iter().zip(input.values) {
            let row = &table[*id as usize * count..][..count];
            scores.iter_mut().zip(row).for_each(|(s, w)| *s += value * w);
        }
    }
}

/// Where the table of a node's children is, and how many there are.
fn table(tree: &Tree, parent: u32, width: usize) -> (std::ops::Range<usize>, usize) {
    let children = tree.children(parent);
    let (from, to) = (children.start as usize - 1, children.end as usize - 1);
    (from * width..to * width, to - from)
}

/// Scorers that learn.
pub(super) struct Learner<'a> {
    tree: &'a Tree,
    width: usize,
    beam: usize,
    step: f32,
    pub weights: Vec<f32>,
    squares: Vec<f32>,
    found: Candidates,
    gradient: Vec<f32>,
    /// Columns that are worth a step, with their gradients.
    active: Vec<(usize, f32)>,
}

impl<'a> Learner<'a> {
    pub fn new(tree: &'a Tree, width: usize, beam: usize, step: f32) -> Learner<'a> {
        let numbers = (tree.len() - 1) * width;
        Learner {
            tree,
            width,
            beam,
            step,
            weights: vec![0.0; numbers],
            squares: vec![BEFORE; numbers],
            found: Candidates::default(),
            gradient: Vec::new(),
            active: Vec::new(),
        }
    }

    /// One step of all scorers that an example meets on its way, at each level towards the node of `path`. The search
    /// is that of a prediction, except that it never loses the path.
    pub fn learn(&mut self, input: Input<'_>, path: &[u32], weight: f32) {
        let (tree, width) = (self.tree, self.width);
        look_at_root(tree, &self.weights, width, input, &mut self.found);
        for (level, right) in path.iter().enumerate() {
            self.gradient.clone_from(&self.found.scores);
            soften(&mut self.gradient);
            let place = self.found.nodes(tree).position(|node| node == *right);
            self.gradient[place.expect("the search never loses the path")] -= 1.0;
            let parents = std::mem::take(&mut self.found.parents);
            let mut from = 0;
            for parent in &parents {
                let gradient = from..from + tree.children(*parent).len();
                from = gradient.end;
                self.descend(*parent, gradient, input, weight);
            }
            self.found.parents = parents;
            if level + 1 < path.len() {
                look_below(tree, &self.weights, width, input, (self.beam, *right), &mut self.found);
            }
        }
    }

    /// One step of the scorers of a node's children, those whose gradient is not next to nothing.
    fn descend(&mut self, parent: u32, gradient: std::ops::Range<usize>, input: Input<'_>, weight: f32) {
        let gradient = self.gradient[gradient].iter().enumerate();
        self.active.clear();
        self.active.extend(gradient.filter(|(_, g)| g.abs() > NEGLIGIBLE).map(|(column, g)| (column, weight * g)));
        if self.active.is_empty() {
            return;
        }
        let (table, count) = table(self.tree, parent, self.width);
        let (weights, squares) = (&mut self.weights[table.clone()], &mut self.squares[table]);
        let constant = [(self.width as u32 - 1, 1.0)];
        let inputs = input.ids.iter().copied().zip(input.values.iter().copied()).chain(constant);
        for (id, value) in inputs {
            let row = id as usize * count..(id as usize + 1) * count;
            let (weights, squares) = (&mut weights[row.clone()], &mut squares[row]);
            for (column, g) in &self.active {
                let g = value * g;
                squares[*column] += g * g;
                weights[*column] -= self.step * g / squares[*column].sqrt();
            }
        }
    }
}

/// Turns scores into probabilities.
pub(super) fn soften(scores: &mut [f32]) {
    let most = scores.iter().fold(f32::NEG_INFINITY, |a, b| a.max(*b));
    scores.iter_mut().for_each(|s| *s = (*s - most).exp());
    let total: f64 = scores.iter().map(|s| f64::from(*s)).sum();
    scores.iter_mut().for_each(|s| *s = (f64::from(*s) / total) as f32);
}
