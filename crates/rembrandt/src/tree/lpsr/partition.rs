//! Where examples are: 2-means, again and again, until leaves are small.
//!
//! The points are rows of features of length 1. An example counts as much as the base scorer is precise on it: labels of
//! a leaf can only be ranked well where the scorer ranks well, so the partition should serve those examples. Of two
//! centres the nearer one is on one side of a hyperplane, which keeps only its largest weights.

use rand_chacha::rand_core::Rng;

use super::LpsrParams;
use crate::data::RowScale;
use crate::linalg::csr::CsrRef;
use crate::tree::hyperplane_tree::{Growing, Hyperplane, Open, Routes};
use crate::tree::lookup::factor;
use crate::tree::parallel::TaskProgress;

/// The smaller side of a split has at least one in so many examples: depth is then logarithmic, outliers or not.
const LEAST_SIDE: usize = 10;

/// The examples, and how much each of them counts.
pub(super) struct TreeSplitter<'a> {
    pub params: &'a LpsrParams,
    /// Examples of a leaf at most.
    pub leaf_examples: usize,
    pub x: CsrRef<'a>,
    pub weights: &'a [f64],
    pub d: usize,
}

/// A tree, and the examples of each node.
pub(super) struct Parted {
    pub routes: Routes,
    /// The examples; those of a leaf lie together.
    pub examples: Vec<u32>,
    /// The leaves and where their examples are, in the order of the nodes.
    pub leaves: Vec<Open>,
}

impl TreeSplitter<'_> {
    /// Grows the tree, unless stopped; counts `budget` units of work.
    pub fn grow(&self, work: &TaskProgress, mut budget: u64) -> Option<Parted> {
        let mut examples: Vec<u32> = (0..self.x.rows() as u32).collect();
        let (mut growing, mut leaves) = (Growing::new(examples.len()), Vec::new());
        let mut difference = vec![0.0; self.d];
        while let Some(node) = growing.next() {
            let wide = node.examples.len() > self.leaf_examples && node.depth < self.params.depth;
            let here = &mut examples[node.examples.clone()];
            let split = (wide && growing.nodes() + 2 <= self.params.nodes)
                .then(|| self.split(here, node.node, &mut difference))
                .flatten();
            match split {
                Some((middle, by)) => growing.split(&node, node.examples.start + middle, by),
                None => {
                    growing.leaf();
                    leaves.push(node.clone());
                }
            }
            let done = budget.min(node.examples.len() as u64);
            budget -= done;
            if !work.tick(done) {
                return None;
            }
        }
        work.tick(budget);
        Some(Parted { routes: growing.finish(), examples, leaves })
    }

    /// Moves the examples of the right side behind the others: where they begin, and the hyperplane.
    fn split(&self, examples: &mut [u32], node: usize, difference: &mut [f64]) -> Option<(usize, Hyperplane)> {
        let mut by = self.two_points(examples, node, difference)?;
        let mut right: Vec<bool> = self.sides(examples, &by, difference);
        for _ in 0..self.params.steps {
            by = self.centres(examples, &right, difference);
            let now = self.sides(examples, &by, difference);
            if now == right {
                break;
            }
            right = now;
        }
        by = self.largest(by);
        let margins = self.margins(examples, &by, difference);
        by.bias = threshold(&margins, by.bias)?;
        let right: Vec<bool> = margins.iter().map(|margin| margin + f64::from(by.bias) > 0.0).collect();
        let ends = right.iter().filter(|right| !**right).count();
        if ends == 0 || ends == examples.len() {
            return None;
        }
        Some((crate::tree::part(examples, &right), by))
    }

    /// The weight of an example; when no example of a node counts, all do.
    fn weight_of(&self, examples: &[u32]) -> impl Fn(u32) -> f64 + '_ {
        let any = examples.iter().any(|i| self.weights[*i as usize] > 0.0);
        move |i| if any { self.weights[i as usize] } else { 1.0 }
    }

    fn point(&self, i: u32) -> impl Iterator<Item = (usize, f64)> + '_ {
        let (ids, values) = self.x.row(i as usize);
        let factor = factor(RowScale::Length, ids.len(), values);
        self.x.entries(i as usize).map(move |(id, v)| (id, factor * f64::from(v)))
    }

    /// The first centres: an example that counts, drawn at random, and of a few others the one least like it.
    fn two_points(&self, examples: &[u32], node: usize, difference: &mut [f64]) -> Option<Hyperplane> {
        let weight = self.weight_of(examples);
        let counting: Vec<u32> = examples.iter().copied().filter(|i| weight(*i) > 0.0).collect();
        let mut rng = crate::tree::rng(self.params.seed, 0, node);
        let mut draw = || counting[rng.next_u64() as usize % counting.len()];
        let first = draw();
        self.point(first).for_each(|(id, v)| difference[id] = v);
        let others = (0..32).map(|_| draw()).map(|i| (self.point(i).map(|(id, v)| v * difference[id]).sum::<f64>(), i));
        let (_, second) = others.min_by(|a, b| a.0.total_cmp(&b.0))?;
        self.point(first).for_each(|(id, _)| difference[id] = 0.0);
        Some(self.between(&[(first, 1.0)], &[(second, 1.0)], difference))
    }

    /// The hyperplane between the centres of both sides.
    fn centres(&self, examples: &[u32], right: &[bool], difference: &mut [f64]) -> Hyperplane {
        let weight = self.weight_of(examples);
        let side = |wanted: bool| -> Vec<(u32, f64)> {
            let on_side = examples.iter().zip(right).filter(|(_, r)| **r == wanted);
            on_side.map(|(i, _)| (*i, weight(*i))).filter(|(_, w)| *w > 0.0).collect()
        };
        self.between(&side(false), &side(true), difference)
    }

    /// The hyperplane between the centres of two weighted sets. `difference` is zero before and after.
    fn between(&self, left: &[(u32, f64)], right: &[(u32, f64)], difference: &mut [f64]) -> Hyperplane {
        let mut weights: Vec<(u32, f64)> = Vec::new();
        let mut bias = 0.0;
        for (of, sign) in [(left, -1.0), (right, 1.0)] {
            let total: f64 = of.iter().map(|(_, w)| w).sum();
            let mut touched = Vec::new();
            for (i, w) in of {
                for (id, v) in self.point(*i) {
                    if difference[id] == 0.0 {
                        touched.push(id as u32);
                    }
                    difference[id] += v * w / total;
                }
            }
            touched.sort_unstable();
            touched.dedup();
            for id in touched {
                let v = std::mem::take(&mut difference[id as usize]);
                bias -= sign * v * v / 2.0;
                weights.push((id, sign * v));
            }
        }
        weights.sort_by_key(|(id, _)| *id);
        let sum = |of: &[(u32, f64)]| (of[0].0, of.iter().map(|(_, v)| v).sum::<f64>() as f32);
        let weights = weights.chunk_by(|a, b| a.0 == b.0).map(sum).filter(|(_, w)| *w != 0.0).collect();
        Hyperplane { bias: bias as f32, weights }
    }

    /// The hyperplane with its largest weights only.
    fn largest(&self, mut by: Hyperplane) -> Hyperplane {
        by.weights.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()).then(a.0.cmp(&b.0)));
        by.weights.truncate(self.params.weights);
        by.weights.sort_unstable_by_key(|(id, _)| *id);
        by
    }

    /// The products of the examples with the weights of a hyperplane, as in a prediction.
    fn margins(&self, examples: &[u32], by: &Hyperplane, dense: &mut [f64]) -> Vec<f64> {
        by.weights.iter().for_each(|(id, w)| dense[*id as usize] = f64::from(*w));
        let margin = |i: &u32| {
            let (ids, values) = self.x.row(*i as usize);
            let terms = self.x.entries(*i as usize).map(|(id, v)| dense[id] * f64::from(v));
            factor(RowScale::Length, ids.len(), values) * terms.sum::<f64>()
        };
        let margins = examples.iter().map(margin).collect();
        by.weights.iter().for_each(|(id, _)| dense[*id as usize] = 0.0);
        margins
    }

    fn sides(&self, examples: &[u32], by: &Hyperplane, dense: &mut [f64]) -> Vec<bool> {
        self.margins(examples, by, dense).into_iter().map(|margin| margin + f64::from(by.bias) > 0.0).collect()
    }
}

/// The bias nearest to `bias` that leaves neither side too few examples.
fn threshold(margins: &[f64], bias: f32) -> Option<f32> {
    let mut sorted = margins.to_vec();
    sorted.sort_by(f64::total_cmp);
    let least = (sorted.len() / LEAST_SIDE).max(1);
    // Half way between neighbours, so that rounding does not matter.
    let between = |i: usize| Some((sorted.get(i - 1)? + sorted.get(i)?) / 2.0);
    let [low, high] = [between(least)?, between(sorted.len().checked_sub(least).filter(|i| *i > 0)?)?];
    Some(-(-f64::from(bias)).clamp(low, high) as f32)
}
