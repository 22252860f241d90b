//! The steps of a fit: scorer, precision of every example, partition, labels of the leaves, calibration.

use super::bayes::{Bayes, ByFeature};
use super::choose::{LeafExample, choose};
use super::count::{Counted, Counts, Seen};
use super::params::{CHOOSING, Smoothing};
use super::partition::{Parted, TreeSplitter};
use super::{Lpsr, LpsrParams, compared_with, per_feature};
use crate::data::{Dataset, Examples, RowScale};
use crate::linalg::csr::{Csr, CsrRef};
use crate::linalg::topk::rank_candidates;
use crate::score::head::platt;
use crate::tree::hyperplane_tree::Open;
use crate::tree::lookup::Lookup;
use crate::tree::parallel::{self, TaskProgress};
use crate::{Error, Result, Run, Shape};

/// Examples that one task scores.
const BLOCK: usize = 1024;
/// Best labels of an example that probabilities are fitted to.
const CALIBRATED: usize = 20;
/// Examples that probabilities are fitted to, about.
const CALIBRATING: usize = 20_000;

/// The data and parameters that all steps share.
pub(super) struct LpsrFit<'a> {
    params: &'a LpsrParams,
    shape: Shape,
    x: Csr,
    y: Csr,
    weights: Option<Vec<f32>>,
}

/// The scorer in both orientations, and what it was made of.
struct TrainingScorer {
    counts: Counts,
    alphas: Vec<f64>,
    /// Their sum.
    mass: f64,
    bayes: Bayes,
    by_feature: ByFeature,
}

/// The result of a leaf: its labels, and scores with their truth.
type Leaf = (Vec<u32>, Vec<(f64, bool)>);

impl<'a> LpsrFit<'a> {
    /// Reads the data and refuses what cannot be counted.
    pub fn new(params: &'a LpsrParams, data: &Dataset) -> Result<LpsrFit<'a>> {
        let (x, y, weights) = (data.features()?, data.labels()?, data.weights()?);
        if x.view().values.is_some_and(|values| values.iter().any(|v| *v < 0.0)) {
            return Err(Error::Data(
                "naive Bayes counts features, so none may be negative; shift or drop those that are".into(),
            ));
        }
        if weights.as_ref().is_some_and(|w| w.iter().all(|w| *w == 0.0)) {
            return Err(Error::Data("every example has the weight 0".into()));
        }
        Ok(LpsrFit { params, shape: data.shape(), x, y, weights })
    }

    fn weight(&self, i: usize) -> f64 {
        self.weights.as_ref().map_or(1.0, |w| f64::from(w[i]))
    }

    /// The features as the scorer counts them.
    fn counts(&self) -> CsrRef<'_> {
        let x = self.x.view();
        CsrRef { values: x.values.filter(|_| !self.params.presence), ..x }
    }

    /// All of it.
    pub fn fit(&self, run: &mut Run<'_>) -> Result<Lpsr> {
        let n = self.shape.n as u64;
        run.begin(4 * n);
        let scorer = self.scorer()?;
        run.advance("counting", n)?;
        let precision = self.precision(&scorer, run)?;
        let partition = TreeSplitter {
            params: self.params,
            leaf_examples: self.params.leaf(self.shape).0,
            x: self.x.view(),
            weights: &precision,
            d: self.shape.d,
        };
        let parted = parallel::each(1, "parting examples", run, |_, work| partition.grow(work, n))?;
        let [parted] = <[Parted; 1]>::try_from(parted).ok().expect("one task has one result");
        let leaves = parallel::each(parted.leaves.len(), "choosing labels", run, |leaf, work| {
            self.leaf(&scorer, &parted, &parted.leaves[leaf], work)
        })?;
        let pairs: Vec<(f64, bool)> = leaves.iter().flat_map(|(_, pairs)| pairs.iter().copied()).collect();
        let (scale, shift) = platt(&pairs);
        let labels = self.leaf_labels(&parted, &leaves)?;
        let TrainingScorer { bayes, .. } = scorer;
        let bayes = only(bayes, &labels);
        let calibration = [scale as f32, shift as f32];
        Ok(Lpsr { presence: self.params.presence, routes: parted.routes, labels, bayes, calibration })
    }

    fn scorer(&self) -> Result<TrainingScorer> {
        let Shape { d, c, .. } = self.shape;
        let data = Counted { x: self.counts(), y: self.y.view(), weights: self.weights.as_deref(), shape: (d, c) };
        let counts = data.count().ok_or_else(|| {
            Error::Data("there are too many pairs of a label and a feature; train on a part of the examples".into())
        })?;
        let alphas = self.alphas(&counts);
        let bayes = Bayes::new(&counts, &alphas, counts.importance());
        Ok(TrainingScorer { by_feature: bayes.by_feature(), counts, mass: alphas.iter().sum(), alphas, bayes })
    }

    /// The counts that features have beforehand: all the same or, with the same sum, as frequent as they are.
    fn alphas(&self, counts: &Counts) -> Vec<f64> {
        let (laplace, d) = (self.params.laplace, self.shape.d);
        match self.params.smoothing {
            Smoothing::Uniform => vec![laplace; d],
            Smoothing::Background => {
                // Each once beforehand: a feature without examples must not be impossible.
                let total = counts.features.iter().sum::<f64>() + d as f64;
                counts.features.iter().map(|count| laplace * d as f64 * (count + 1.0) / total).collect()
            }
        }
    }

    /// The scores of all labels of example `i`, its own as if they had not seen it, and the weighted sum of its features.
    fn scores(&self, scorer: &TrainingScorer, i: usize, scores: &mut [f64]) -> f64 {
        let (ids, values) = self.counts().row(i);
        let x = Lookup::new(ids, values, RowScale::None);
        let (sum, weighted) = (x.entries().map(|(_, v)| f64::from(v)).sum(), scorer.bayes.weighted_sum(&x));
        scorer.by_feature.scores(&scorer.bayes, &x, weighted, scores);
        let seen = Seen { x: &x, sums: [sum, weighted], weight: self.weight(i) };
        for label in self.y.view().row(i).0.iter().map(|label| *label as usize) {
            if seen.weight > 0.0 {
                let alphas = (&scorer.alphas[..], scorer.mass);
                scores[label] -= scorer.counts.owed(label, &seen, alphas, &scorer.bayes.importance);
            }
        }
        weighted
    }

    /// How much each example counts: its weight times the precision at k of the scorer of all labels.
    fn precision(&self, scorer: &TrainingScorer, run: &mut Run<'_>) -> Result<Vec<f64>> {
        let (n, k) = (self.shape.n, self.params.precision_at);
        let blocks = parallel::each(n.div_ceil(BLOCK), "scoring", run, |block, work| {
            let mut scores = vec![0.0; self.shape.c];
            let rows = block * BLOCK..n.min((block + 1) * BLOCK);
            let precision = |i: usize| {
                let truth = self.y.view().row(i).0;
                if truth.is_empty() {
                    return 0.0;
                }
                self.scores(scorer, i, &mut scores);
                let best = rank_candidates((0..).zip(scores.iter().map(|s| *s as f32)), k);
                let hits = best.iter().filter(|label| truth.binary_search(label).is_ok()).count();
                self.weight(i) * hits as f64 / k.min(truth.len()) as f64
            };
            let found: Vec<f64> = rows.clone().map(precision).collect();
            work.tick(rows.len() as u64).then_some(found)
        })?;
        Ok(blocks.concat())
    }

    /// The labels of a leaf, and how the scorer does with them.
    fn leaf(&self, scorer: &TrainingScorer, parted: &Parted, leaf: &Open, work: &TaskProgress) -> Option<Leaf> {
        let examples = &parted.examples[leaf.examples.clone()];
        let labels = self.frequent(examples, &scorer.counts.held);
        // Evenly spread over the leaf.
        let few = examples.len().min(CHOOSING);
        let chosen = (0..few).map(|j| examples[j * examples.len() / few] as usize);
        let mut all = vec![0.0; self.shape.c];
        let mut ranked = Vec::with_capacity(few);
        let mut scored = Vec::with_capacity(few);
        for i in chosen {
            let sum = self.scores(scorer, i, &mut all);
            let score = |label: &u32| per_feature(all[*label as usize], sum) as f32;
            let scores: Vec<(u32, f32)> = (0..).zip(labels.iter().map(score)).collect();
            // A label that no other example has cannot be known here: it is neither right nor wrong.
            let known = || scores.iter().copied().filter(|(_, score)| score.is_finite());
            let held = self.y.view().row(i).0;
            let is_true = |label: &u32| held.binary_search(&labels[*label as usize]).is_ok();
            let truth = known().map(|(label, _)| label).filter(is_true).collect();
            let order = rank_candidates(known(), usize::MAX / 2);
            ranked.push(LeafExample { order, truth, weight: self.weight(i) });
            scored.push(scores);
            if !work.tick(0) {
                return None;
            }
        }
        let kept = choose(labels.len(), &ranked, self.params.precision_at);
        let mut pairs = Vec::new();
        let some = ranked.iter().zip(&scored).step_by(self.shape.n.div_ceil(CALIBRATING));
        for (example, scores) in some.filter(|(example, _)| example.weight > 0.0) {
            let left = scores.iter().copied().filter(|(label, s)| kept[*label as usize] && s.is_finite());
            let compared = compared_with(left);
            let best = example.order.iter().filter(|label| kept[**label as usize]).take(CALIBRATED);
            let pair = |label: &u32| {
                (f64::from(scores[*label as usize].1) - compared, example.truth.binary_search(label).is_ok())
            };
            pairs.extend(best.map(pair).filter(|(score, _)| score.is_finite()));
        }
        let labels = labels.into_iter().zip(kept).filter(|(_, kept)| *kept).map(|(label, _)| label).collect();
        work.tick(examples.len() as u64).then_some((labels, pairs))
    }

    /// The most frequent labels of some examples, ascending; of all examples when those have none.
    fn frequent(&self, examples: &[u32], of_all: &[f64]) -> Vec<u32> {
        let mut held: Vec<(u32, f64)> = Vec::new();
        for i in examples.iter().map(|i| *i as usize) {
            held.extend(self.y.view().row(i).0.iter().map(|label| (*label, self.weight(i))));
        }
        held.sort_by_key(|(label, _)| *label);
        let sum = |of: &[(u32, f64)]| (of[0].0, of.iter().map(|(_, weight)| weight).sum::<f64>() as f32);
        let sums = held.chunk_by(|a, b| a.0 == b.0).map(sum).filter(|(_, weight)| *weight > 0.0);
        let mut labels = rank_candidates(sums, self.params.leaf(self.shape).1);
        if labels.is_empty() {
            let all =
                (0..).zip(of_all).filter(|(_, weight)| **weight > 0.0).map(|(label, weight)| (label, *weight as f32));
            labels = rank_candidates(all, self.params.leaf(self.shape).1);
        }
        labels.sort_unstable();
        labels
    }

    /// The labels of all nodes.
    fn leaf_labels(&self, parted: &Parted, leaves: &[Leaf]) -> Result<Csr> {
        let (mut labels, mut at) = (Csr::new(true), leaves.iter());
        if leaves.iter().map(|(labels, _)| labels.len()).sum::<usize>() >= u32::MAX as usize {
            return Err(Error::parameter("leaf_labels", "the leaves have too many labels to be numbered; take fewer"));
        }
        for node in 0..parted.routes.nodes() {
            if parted.routes.is_leaf(node) {
                at.next().into_iter().flat_map(|(chosen, _)| chosen).for_each(|label| labels.push(*label, 1.0));
            }
            labels.end_row();
        }
        Ok(labels)
    }
}

/// The scorer without what it knows of labels that no leaf has.
fn only(bayes: Bayes, labels: &Csr) -> Bayes {
    let mut used = vec![false; bayes.prior.len()];
    labels.view().ids.iter().for_each(|label| used[*label as usize] = true);
    let mut gains = Csr::new(false);
    for (label, used) in used.into_iter().enumerate() {
        if used {
            gains.extend_rows(bayes.gains.view(), label, label + 1);
        } else {
            gains.end_row();
        }
    }
    Bayes { gains, ..bayes }
}
