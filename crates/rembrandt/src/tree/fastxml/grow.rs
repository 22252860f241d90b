//! How a forest grows: every tree by itself, from its root down, level by level.

use rand_chacha::rand_core::Rng;

use super::assign::{NodeLabels, assign, inverse_ideal};
use super::columns::{ABSENT, NodeColumns};
use super::{FastXml, FastXmlParams};
use crate::data::{Dataset, Examples};
use crate::linalg::csr::Csr;
use crate::linalg::l1::{L1Limits, L1Problem};
use crate::linalg::topk::TopK;
use crate::tree::hyperplane_tree::{Growing, Hyperplane, Open, Routes};
use crate::tree::lookup::factor;
use crate::tree::parallel::{self, TaskProgress};
use crate::tree::{part, rng};
use crate::{Error, Result, Run, Shape};

/// The data and parameters that all trees share.
pub(super) struct Forest<'a> {
    params: &'a FastXmlParams,
    shape: Shape,
    x: Csr,
    y: Csr,
    /// The factor of the values of each row.
    factors: Vec<f64>,
    /// One over the root mean square of the values that are stored, after that: the logistic regressions see values in
    /// this unit, so that a cost means the same on features of any scale.
    unit: f64,
    weights: Option<Vec<f32>>,
    /// I(y) of every example.
    ideal: Vec<f64>,
}

impl<'a> Forest<'a> {
    /// Reads the data.
    pub fn new(params: &'a FastXmlParams, data: &Dataset) -> Result<Forest<'a>> {
        let (x, y) = (data.features()?, data.labels()?);
        let rows = || 0..x.rows();
        let factors: Vec<f64> =
            rows().map(|i| x.view().row(i)).map(|(ids, v)| factor(params.row_scale, ids.len(), v)).collect();
        let square = |i: usize| x.view().entries(i).map(|(_, v)| (factors[i] * f64::from(v)).powi(2)).sum::<f64>();
        let mean = rows().map(square).sum::<f64>() / x.nnz().max(1) as f64;
        let unit = if mean > 0.0 { mean.sqrt().recip() } else { 1.0 };
        let ideal = rows().map(|i| inverse_ideal(y.view().row(i).0.len())).collect();
        Ok(Forest { params, shape: data.shape(), x, y, factors, unit, weights: data.weights()?, ideal })
    }

    fn weight(&self, example: u32) -> f64 {
        self.weights.as_ref().map_or(1.0, |w| f64::from(w[example as usize]))
    }

    /// Grows all trees.
    pub fn grow(&self, run: &mut Run<'_>) -> Result<FastXml> {
        let trees = self.params.trees;
        let examples: Vec<u32> = (0..self.shape.n as u32).filter(|i| self.weight(*i) > 0.0).collect();
        if examples.is_empty() {
            return Err(Error::Data("every example has the weight 0".into()));
        }
        // Work is counted in examples that pass a node; a tree is about as deep as if nodes were split in the middle.
        let levels = (examples.len() as f64 / self.params.leaf_examples as f64).max(1.0).log2().ceil() as u64 + 1;
        let budget = levels * examples.len() as u64;
        run.begin(budget * trees as u64);
        let kept = run.shared("tree");
        let grown = parallel::each(trees, "growing trees", run, |tree, work| {
            let Some((checkpoints, name)) = &kept else {
                return GrowingTree::new(self, tree, examples.clone()).grow(work, budget).map(Ok);
            };
            let name = format!("{name}-{tree}");
            match checkpoints.find(&name, 0) {
                Ok(Some((grown, _))) => work.tick(budget).then_some(Ok(grown)),
                Ok(None) => {
                    checkpoints.count();
                    let grown = GrowingTree::new(self, tree, examples.clone()).grow(work, budget)?;
                    Some(checkpoints.keep(&name, 0, 0, &grown).map(|()| grown))
                }
                Err(e) => Some(Err(e)),
            }
        })?;
        let (mut routes, mut labels) = (Routes::new(), Csr::new(false));
        for grown in grown {
            let (tree_routes, tree_labels) = grown?;
            let fits = labels.nnz() + tree_labels.nnz() < u32::MAX as usize;
            if !fits || routes.append(&tree_routes).is_err() {
                let reason = "the trees have too many weights or labels to be numbered; grow fewer, or larger leaves";
                return Err(Error::parameter("trees", reason));
            }
            labels.extend_rows(tree_labels.view(), 0, tree_labels.rows());
        }
        Ok(FastXml { row_scale: self.params.row_scale, routes, labels })
    }
}

/// A tree as it grows.
struct GrowingTree<'a> {
    forest: &'a Forest<'a>,
    number: usize,
    /// The examples; those of a node lie together.
    examples: Vec<u32>,
    /// Numbers that features and labels have in the node at hand, [`ABSENT`] between nodes.
    features: Vec<u32>,
    labels: Vec<u32>,
    growing: Growing,
    shares: Csr,
}

impl<'a> GrowingTree<'a> {
    fn new(forest: &'a Forest<'a>, number: usize, examples: Vec<u32>) -> GrowingTree<'a> {
        let Shape { d, c, .. } = forest.shape;
        let growing = Growing::new(examples.len());
        let [features, labels] = [d, c].map(|width| vec![ABSENT; width]);
        GrowingTree { forest, number, examples, features, labels, growing, shares: Csr::new(false) }
    }

    /// Grows it to the end, unless stopped; counts `budget` units of work.
    fn grow(mut self, work: &TaskProgress, mut budget: u64) -> Option<(Routes, Csr)> {
        while let Some(node) = self.growing.next() {
            match self.split(&node) {
                Some((middle, by)) => self.growing.split(&node, middle, by),
                None => {
                    self.leaf(&node);
                    self.growing.leaf();
                }
            }
            self.shares.end_row();
            let done = budget.min(node.examples.len() as u64);
            budget -= done;
            if !work.tick(done) {
                return None;
            }
        }
        work.tick(budget);
        Some((self.growing.finish(), self.shares))
    }

    /// Parts the examples of a node, if that can be done: the place where those that go right begin, and the hyperplane.
    fn split(&mut self, node: &Open) -> Option<(usize, Hyperplane)> {
        let params = self.forest.params;
        let enough = node.examples.len() > params.leaf_examples && node.depth < params.depth;
        if !enough || self.growing.nodes() + 2 > params.nodes / params.trees {
            return None;
        }
        let labels = self.node_labels(node);
        if labels.all_alike() {
            return None;
        }
        let examples = &self.examples[node.examples.clone()];
        let gains =
            examples.iter().map(|i| self.forest.weight(*i) * self.forest.ideal[*i as usize]).collect::<Vec<_>>();
        let mut right = self.coins(node);
        assign(&labels, &gains, &mut right);
        let one_sided = |right: &[bool]| right.iter().all(|r| *r == right[0]);
        if one_sided(&right) {
            return None;
        }
        let by = self.hyperplane(node, &right)?;
        let examples = &mut self.examples[node.examples.clone()];
        let right: Vec<bool> = examples.iter().map(|i| self.forest.margin(&by, &self.features, *i) > 0.0).collect();
        by.weights.iter().for_each(|(id, _)| self.features[*id as usize] = ABSENT);
        if one_sided(&right) {
            return None;
        }
        let middle = part(examples, &right);
        Some((node.examples.start + middle, by))
    }

    /// The labels of the examples of a node, renumbered.
    fn node_labels(&mut self, node: &Open) -> NodeLabels {
        let y = self.forest.y.view();
        let mut labels = NodeLabels { ptr: vec![0], ..NodeLabels::default() };
        for i in &self.examples[node.examples.clone()] {
            labels.ids.extend_from_slice(y.row(*i as usize).0);
            labels.ptr.push(labels.ids.len() as u32);
        }
        let mut present = Vec::new();
        for label in &labels.ids {
            if self.labels[*label as usize] == ABSENT {
                self.labels[*label as usize] = 0;
                present.push(*label);
            }
        }
        present.sort_unstable();
        (0..).zip(&present).for_each(|(number, label)| self.labels[*label as usize] = number);
        labels.ids.iter_mut().for_each(|label| *label = self.labels[*label as usize]);
        labels.count = present.len();
        present.iter().for_each(|label| self.labels[*label as usize] = ABSENT);
        labels
    }

    /// Where the examples of a node are at first: a function of seed, tree and node.
    fn coins(&self, node: &Open) -> Vec<bool> {
        let mut rng = rng(self.forest.params.seed, self.number, node.node);
        let mut coins = Vec::with_capacity(node.examples.len());
        while coins.len() < node.examples.len() {
            let word = rng.next_u32();
            coins.extend((0..32.min(node.examples.len() - coins.len())).map(|bit| word >> bit & 1 == 1));
        }
        coins
    }

    /// The hyperplane that tells the sides apart. Leaves the places of its weights in `features`.
    fn hyperplane(&mut self, node: &Open, right: &[bool]) -> Option<Hyperplane> {
        let examples = &self.examples[node.examples.clone()];
        let value = |i: u32, v: f32| (self.forest.unit * (self.forest.factors[i as usize] * f64::from(v))) as f32;
        let (columns, present) = NodeColumns::of(examples, self.forest.x.view(), value, &mut self.features);
        if self.growing.weights() + present.len() >= u32::MAX as usize {
            return None;
        }
        let costs = self.costs(node, right);
        let limits = L1Limits { steps: self.forest.params.steps, tolerance: self.forest.params.tolerance };
        let NodeColumns { ptr, rows, values } = &columns;
        let mut solution = L1Problem { ptr, rows, values, positive: right, costs: &costs }.solve(limits);
        let bias = solution.pop().unwrap_or(0.0) as f32;
        let found =
            present.iter().zip(solution).map(|(id, w)| (*id, finite(w * self.forest.unit))).filter(|(_, w)| *w != 0.0);
        let mut weights: Vec<(u32, f32)> = found.collect();
        weights.sort_unstable_by_key(|(id, _)| *id);
        (0..).zip(&weights).for_each(|(place, (id, _))| self.features[*id as usize] = place);
        Some(Hyperplane { bias, weights })
    }

    /// The cost of a mistake on each example of a node. Both sides are worth the same, however many examples they have,
    /// and together what the examples would be: otherwise a small side is not worth the weights that would tell it from
    /// the other, all examples go where most are, and the node is left whole.
    fn costs(&self, node: &Open, right: &[bool]) -> Vec<f32> {
        let examples = || self.examples[node.examples.clone()].iter().map(|i| self.forest.weight(*i)).zip(right);
        let mut sides = [0.0; 2];
        examples().for_each(|(weight, right)| sides[usize::from(*right)] += weight);
        let half = self.forest.params.cost * (sides[0] + sides[1]) / 2.0;
        examples().map(|(weight, right)| (half * weight / sides[usize::from(*right)]) as f32).collect()
    }

    /// The shares of the examples of a leaf that have a label, of the most frequent labels.
    fn leaf(&mut self, node: &Open) {
        let examples = &self.examples[node.examples.clone()];
        let total: f64 = examples.iter().map(|i| self.forest.weight(*i)).sum();
        let mut held: Vec<(u32, f64)> = Vec::new();
        for i in examples {
            let labels = self.forest.y.view().row(*i as usize).0;
            held.extend(labels.iter().map(|label| (*label, self.forest.weight(*i))));
        }
        held.sort_by_key(|(label, _)| *label);
        let mut best = TopK::new(self.forest.params.leaf_labels);
        for of in held.chunk_by(|a, b| a.0 == b.0) {
            let share = of.iter().map(|(_, weight)| weight).sum::<f64>() / total;
            best.offer(of[0].0, share.min(1.0) as f32);
        }
        let mut kept: Vec<(u32, f32)> = best.into_ranked().collect();
        kept.sort_unstable_by_key(|(label, _)| *label);
        kept.into_iter().for_each(|(label, share)| self.shares.push(label, share));
    }
}

impl Forest<'_> {
    /// The side of an example, computed exactly as for a prediction. `places` says which weight a feature has.
    fn margin(&self, by: &Hyperplane, places: &[u32], example: u32) -> f64 {
        let (ids, values) = self.x.view().row(example as usize);
        let mut sum = 0.0;
        for (j, id) in ids.iter().enumerate() {
            if let Some((_, w)) = by.weights.get(places[*id as usize] as usize) {
                sum += f64::from(*w) * values.map_or(1.0, |v| f64::from(v[j]));
            }
        }
        self.factors[example as usize] * sum + f64::from(by.bias)
    }
}

/// A number as `f32`, the largest when it is beyond: features may be so small that their weights are.
fn finite(v: f64) -> f32 {
    (v as f32).clamp(f32::MIN, f32::MAX)
}
