//! The scorers of the nodes, the search that they guide, and how they learn.
//!
//! Those of the children of one node are a table with a row for each input and a column for each child, so that an
//! input is one sweep along its row. The last row belongs to the constant.

use super::tables::Tables;
use super::tree::Tree;
use crate::linalg::kernels::scores::{Place, write_scores};
use crate::linalg::kernels::select::{among_largest, near_largest};
use crate::linalg::topk::TopK;
use crate::tree::Wanted;

/// Squared gradients that a number is taken to have seen before the first: without them a first step would be as long
/// for a gradient next to nothing as for any other.
const BEFORE: f32 = 1e-3;
/// Gradients of scores that are not larger are passed over: nearly all candidates are hopeless, and rightly so.
const NEGLIGIBLE: f32 = 1e-3;

/// An example as the scorers see it.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScorerInput<'a> {
    pub ids: &'a [u32],
    pub values: &'a [f32],
}

/// Which candidates of a level are followed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reach {
    /// So many at most.
    pub beam: usize,
    /// None whose score is lower than the best by more than this.
    pub margin: f32,
    /// But so many that there are this many candidates below.
    pub least: usize,
    /// And this one, which may be 0 for none.
    pub also: u32,
}

/// Scores of the children of some nodes. Memory for a search, kept from example to example.
#[derive(Debug, Default)]
pub(super) struct Candidates {
    /// The nodes.
    parents: Vec<u32>,
    /// Those of the level before.
    followed: Vec<u32>,
    /// The tables of each.
    places: Vec<Place>,
    /// Scores of the children of each, one after the other, each with its padding, which has −∞.
    pub scores: Vec<f32>,
    /// Places of scores that are high.
    high: Vec<u32>,
    best: TopK,
}

impl Candidates {
    /// The children and their scores.
    pub fn nodes<'a>(&'a self, tree: &'a Tree) -> impl Iterator<Item = (u32, f32)> + 'a {
        let mut from = 0;
        self.parents.iter().zip(&self.places).flat_map(move |(parent, place)| {
            let scores = &self.scores[from..from + place.stride];
            from += place.stride;
            tree.children(*parent).zip(scores.iter().copied())
        })
    }

    /// Begins at the root.
    pub fn look_at_root(&mut self, tables: &Tables, input: ScorerInput<'_>) {
        self.parents.clear();
        self.parents.push(0);
        self.look(tables, input);
    }

    /// Goes on to the children of the candidates within reach.
    pub fn look_below(&mut self, tree: &Tree, tables: &Tables, input: ScorerInput<'_>, reach: Reach) {
        if !self.follow_high(tree, reach) {
            self.follow_ranked(tree, reach);
        }
        if reach.also != 0 && !self.parents.contains(&reach.also) {
            self.parents.push(reach.also);
        }
        self.look(tables, input);
    }

    /// Follows the candidates within the margin, the best of them if they are more than the beam: most examples have few,
    /// which a first look at all scores tells. Says whether there are enough candidates below them.
    fn follow_high(&mut self, tree: &Tree, reach: Reach) -> bool {
        let Some(count) = near_largest(&self.scores, reach.margin, &mut self.high) else { return false };
        std::mem::swap(&mut self.parents, &mut self.followed);
        self.parents.clear();
        let (above, high) = ((&self.followed[..], &self.places[..]), &self.high[..count]);
        let (parents, best) = (&mut self.parents, &mut self.best);
        if count <= reach.beam {
            each_high(tree, above, high, |node, _| parents.push(node));
        } else {
            best.restart(reach.beam);
            each_high(tree, above, high, |node, place| best.offer(node, self.scores[place]));
            parents.extend(best.ranked().map(|(node, _)| node));
        }
        let enough = parents.iter().map(|node| tree.children(*node).len()).sum::<usize>() >= reach.least;
        if !enough {
            std::mem::swap(&mut self.parents, &mut self.followed);
        }
        enough
    }

    /// Follows the best candidates, until none is within reach.
    fn follow_ranked(&mut self, tree: &Tree, reach: Reach) {
        let mut best = std::mem::take(&mut self.best);
        best.restart(reach.beam);
        self.nodes(tree).for_each(|(node, score)| best.offer(node, score));
        self.parents.clear();
        let (mut below, mut bar) = (0, f32::NEG_INFINITY);
        for (node, score) in best.ranked() {
            if self.parents.is_empty() {
                bar = score - reach.margin;
            }
            if below >= reach.least && score < bar {
                break;
            }
            below += tree.children(node).len();
            self.parents.push(node);
        }
        self.best = best;
    }

    /// The best of the candidates, which are labels, by score.
    pub fn best_labels(&mut self, tree: &Tree, wanted: Wanted<'_>) -> impl Iterator<Item = (u32, f32)> + '_ {
        let mut best = std::mem::take(&mut self.best);
        best.restart(wanted.top);
        let few = if wanted.labels.is_some() { None } else { among_largest(&self.scores, wanted.top, &mut self.high) };
        if let Some(count) = few {
            each_high(tree, (&self.parents, &self.places), &self.high[..count], |node, place| {
                best.offer(tree.labels[node as usize], self.scores[place]);
            });
        } else {
            let labels = self.nodes(tree).map(|(node, score)| (tree.labels[node as usize], score));
            labels.filter(|(label, _)| wanted.allows(*label)).for_each(|(label, score)| best.offer(label, score));
        }
        self.best = best;
        self.best.ranked()
    }

    /// Computes the scores.
    fn look(&mut self, tables: &Tables, input: ScorerInput<'_>) {
        self.places.clear();
        self.places.extend(self.parents.iter().map(|parent| tables.place(*parent)));
        write_scores((input.ids, input.values), tables.numbers(), tables.width, &self.places, &mut self.scores);
    }
}

/// Hands on the node of each of some places of scores, ascending, and the place itself.
fn each_high(tree: &Tree, (parents, tables): (&[u32], &[Place]), high: &[u32], mut take: impl FnMut(u32, usize)) {
    let mut tables = parents.iter().zip(tables);
    let (mut from, mut end, mut first) = (0, 0, 0);
    for place in high {
        while *place >= end {
            let Some((parent, table)) = tables.next() else { return };
            (from, end, first) = (end, end + table.stride as u32, tree.children(*parent).start);
        }
        take(first + (place - from), *place as usize);
    }
}

/// Scorers that learn.
pub(super) struct Learner<'a> {
    tree: &'a Tree,
    beam: usize,
    step: f32,
    pub weights: Tables,
    squares: Vec<f32>,
    found: Candidates,
    gradient: Vec<f32>,
    /// Columns that are worth a step, with their gradients.
    active: Vec<(usize, f32)>,
}

impl<'a> Learner<'a> {
    pub fn new(tree: &'a Tree, width: usize, beam: usize, step: f32) -> Learner<'a> {
        let weights = Tables::new(tree, width);
        Learner {
            tree,
            beam,
            step,
            squares: vec![BEFORE; weights.numbers().len()],
            weights,
            found: Candidates::default(),
            gradient: Vec::new(),
            active: Vec::new(),
        }
    }

    /// One step of all scorers that an example meets on its way, at each level towards the node of `path`. The search
    /// is that of a prediction, except that it never loses the path.
    pub fn learn(&mut self, input: ScorerInput<'_>, path: &[u32], weight: f32) {
        let tree = self.tree;
        self.found.look_at_root(&self.weights, input);
        for (level, right) in path.iter().enumerate() {
            self.gradient.clone_from(&self.found.scores);
            soften(&mut self.gradient);
            let mut from = 0;
            for parent in 0..self.found.parents.len() {
                let (node, place) = (self.found.parents[parent], self.found.places[parent]);
                let children = tree.children(node);
                if children.contains(right) {
                    self.gradient[from + (right - children.start) as usize] -= 1.0;
                }
                self.descend(place, from..from + children.len(), input, weight);
                from += place.stride;
            }
            if level + 1 < path.len() {
                // All of the beam: it is what lies far behind that must learn to stay there.
                let reach = Reach { beam: self.beam, margin: f32::INFINITY, least: 0, also: *right };
                self.found.look_below(tree, &self.weights, input, reach);
            }
        }
    }

    /// One step of the scorers of a node's children, those whose gradient is not next to nothing.
    fn descend(&mut self, table: Place, gradient: std::ops::Range<usize>, input: ScorerInput<'_>, weight: f32) {
        let gradient = self.gradient[gradient].iter().enumerate();
        self.active.clear();
        self.active.extend(gradient.filter(|(_, g)| g.abs() > NEGLIGIBLE).map(|(column, g)| (column, weight * g)));
        if self.active.is_empty() {
            return;
        }
        let constant = [(self.weights.width as u32 - 1, 1.0)];
        let (weights, squares) = (&mut self.weights.numbers_mut()[table.start..], &mut self.squares[table.start..]);
        let inputs = input.ids.iter().copied().zip(input.values.iter().copied()).chain(constant);
        for (id, value) in inputs {
            let row = id as usize * table.stride..(id as usize + 1) * table.stride;
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
