//! The fit of a ranker on divided examples.
//!
//! Some examples are held out. The association table and the embedding come from the others; so do the scorers, which
//! then say what they think of the candidates of held-out examples. After that the held-out examples join, and a few more
//! passes finish the scorers. So the combination is fitted to scores of examples that the scorers did not know, and
//! nothing is trained twice. C is chosen before, on a sample of the labels.
//!
//! Every stage divides by rows or by labels, and no result depends on how: candidates belong to rows, scorers to labels.

use std::ops::Range;

use rayon::prelude::*;

use super::association::association_table;
use super::candidates::{Candidate, Proposer, RankerMemory};
use super::combination::HeldOutRow;
use super::neighbors::Neighbors;
use super::one_vs_rest::{Descent, Dual};
use super::{Combination, FeatureMatrix, Proposals, Ranker, Views, damp, log_counts, unit_values};
use crate::io::checkpoint::Json;
use crate::linalg::csr::{Columns, Csr, CsrRef};
use crate::linalg::matrix::Matrix;
use crate::linalg::table::Table;
use crate::linalg::topk::TopK;
use crate::score::head::{Loss, STRIP};
use crate::{Result, Run};

/// Passes over the examples of a label, and over all of them once the held-out ones have joined.
const PASSES: usize = 6;
const MORE_PASSES: usize = 2;
/// C of the squared hinge loss: the values to choose from, ascending, and the one where nothing is held out.
const COSTS: [f64; 4] = [0.1, 0.3, 1.0, 3.0];
const USUAL_COST: f64 = 0.3;
/// Passes for each C but the first, which begins where the one before it ended.
const WARM_PASSES: usize = 2;
/// The least C where an example has one label. Only the first place counts then, and telling likely labels apart matters
/// more than pushing the others down, which is what most pairs of the sample are about.
const LEAST_SOFTMAX_COST: f64 = 1.0;
/// C is chosen on a sample of labels with one part in so many of the work.
const SAMPLE: usize = 12;
/// Weights below this are dropped. Rows have length 1, and the margin between an example and a negative is 2.
const LEAST: f32 = 0.05;
/// Labels of a block, after which progress is told and a checkpoint kept.
const LABELS: usize = 4096;
/// Tasks that these labels make, at most: each has room for all features.
const TASKS: usize = 256;
/// Neighbors vote where the mean precision at 1, 3 and 5 gains at least so much, and more than so many standard errors of it.
/// Less is not worth keeping all examples and looking through them for each prediction.
const WORTH: f64 = 0.005;
const ERRORS: f64 = 2.0;
/// Rows of a block.
const ROWS: usize = 1 << 14;
const STAGE: &str = "ranker";

/// Examples that a ranker is fitted to.
#[derive(Clone, Copy)]
pub(crate) struct RankerData<'a> {
    /// Rows of length 1, or empty.
    pub x: CsrRef<'a>,
    pub y: CsrRef<'a>,
    pub weights: Option<&'a [f32]>,
    pub d: usize,
    pub c: usize,
}

/// The same but for the features.
#[derive(Clone, Copy)]
pub(crate) struct RankerTargets<'a> {
    pub y: CsrRef<'a>,
    pub weights: Option<&'a [f32]>,
    pub d: usize,
    pub c: usize,
}

impl<'a> RankerTargets<'a> {
    fn with<'b>(&self, x: CsrRef<'b>) -> RankerData<'b>
    where
        'a: 'b,
    {
        RankerData { x, y: self.y, weights: self.weights, d: self.d, c: self.c }
    }
}

impl RankerData<'_> {
    pub fn weight(&self, i: usize) -> f64 {
        self.weights.map_or(1.0, |weights| weights[i].into())
    }
}

/// How a ranker is fitted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RankerFit<'a> {
    pub proposals: Proposals,
    /// C; absent: chosen on held-out examples.
    pub cost: Option<f64>,
    pub loss: Loss,
    /// Whether each example is held out.
    pub held_out: &'a [bool],
    /// E and h of all examples, from those that are not held out.
    pub labels: &'a Table,
    pub h: &'a Matrix,
    /// m.
    pub names: &'a FeatureMatrix,
}

/// Held-out examples with the views of their candidates, as scorers saw them that did not know them.
pub(crate) struct HeldOutViews {
    pub rows: Vec<u32>,
    pub candidates: Vec<Vec<(u32, Views)>>,
}

/// A ranker, and how it was found.
pub(crate) struct FittedRanker {
    pub ranker: Ranker,
    pub held_out: HeldOutViews,
    /// C.
    pub cost: f64,
    /// Share of the labels of held-out examples that are candidates.
    pub recall: f64,
}

impl RankerFit<'_> {
    /// Fits a ranker to all examples, with an association table of all of them in the end. Rows of `x` have length 1.
    pub fn fit(&self, mut x: Csr, examples: RankerTargets<'_>, run: &mut Run<'_>) -> Result<FittedRanker> {
        run.begin(2 * x.rows() as u64);
        let data = examples.with(x.view());
        let kept = association_table(data, |i| !self.held_out[i]);
        let neighbors = Neighbors::new(data);
        let negatives = self.negatives(data, &kept, neighbors.as_ref(), run)?;
        drop(kept);
        let associations = association_table(data, |_| true);
        damp_rows(&mut x);
        let problem = Problem::new(examples.with(x.view()), self.held_out, negatives);
        let cost = match self.cost {
            Some(cost) => cost,
            None => {
                let found = run.checkpoint("cost", |_| Ok(Json(problem.choose_cost())))?.0;
                if self.loss == Loss::Softmax { found.max(LEAST_SOFTMAX_COST) } else { found }
            }
        };
        let (weights, scores) = problem.fit_all(cost, run)?;
        let one_vs_rest = FeatureMatrix::of_labels(weights, examples.d);
        let log_counts = log_counts(&label_counts(examples.with(x.view())));
        let combine = |votes: bool| {
            let held_out = problem.views(&scores, &log_counts, votes);
            let combination = Combination::fit(&held_out.with_truth(problem.data), self.loss, votes);
            (combination, held_out)
        };
        let without = combine(false);
        let with = neighbors.is_some().then(|| combine(true));
        let with = with.filter(|with| gains((&with.0, &with.1), (&without.0, &without.1), problem.data));
        let votes = with.is_some();
        let (combination, held_out) = with.unwrap_or(without);
        let recall = held_out.recall(problem.data);
        let ranker = Ranker {
            proposals: self.proposals,
            combination,
            associations,
            one_vs_rest,
            names: self.names.clone(),
            neighbors: neighbors.filter(|_| votes),
            log_counts,
            offsets: Vec::new(),
        };
        Ok(FittedRanker { ranker, held_out, cost, recall })
    }

    /// The hard negatives of all labels, and the candidates of held-out examples.
    fn negatives(
        &self,
        data: RankerData<'_>,
        associations: &FeatureMatrix,
        neighbors: Option<&Neighbors>,
        run: &mut Run<'_>,
    ) -> Result<Negatives> {
        let RankerFit { proposals, names, labels, held_out, .. } = *self;
        let proposer =
            Proposer { proposals, associations, names, labels, count: data.c, neighbors: None, held_out: None };
        let voting = Proposer { neighbors, held_out: Some(held_out), ..proposer };
        let (n, k) = (data.x.rows(), self.h.cols());
        let mut negatives = Csr::new(true);
        let (mut rows, mut held) = (Vec::new(), Vec::new());
        for from in (0..n).step_by(ROWS) {
            let block = from..n.min(from + ROWS);
            let strips: Vec<Vec<Vec<Candidate>>> = (block.start..block.end)
                .step_by(STRIP)
                .collect::<Vec<usize>>()
                .into_par_iter()
                .map_init(
                    || RankerMemory::new(data.c, neighbors),
                    |memory, from| {
                        let strip = from..block.end.min(from + STRIP);
                        let mut propose = |rows: Range<usize>, proposer: &Proposer<'_>| {
                            let h = self.h.as_slice()[rows.start * k..rows.end * k].to_vec();
                            proposer.propose(data.x.range(rows.clone()), &Matrix::from_vec(rows.len(), k, h), memory)
                        };
                        let mut found = propose(strip.clone(), &proposer);
                        for i in strip.clone().filter(|i| held_out[*i] && data.weight(*i) > 0.0) {
                            found[i - strip.start] = propose(i..i + 1, &voting).swap_remove(0);
                        }
                        found
                    },
                )
                .collect();
            for (i, candidates) in block.clone().zip(strips.into_iter().flatten()) {
                if data.weight(i) > 0.0 {
                    let own = data.y.row(i).0;
                    let others = candidates.iter().filter(|c| own.binary_search(&c.label).is_err());
                    others.filter(|c| !c.by_votes).for_each(|c| negatives.push(c.label, 1.0));
                    if self.held_out[i] {
                        rows.push(i as u32);
                        held.push(candidates);
                    }
                }
                negatives.end_row();
            }
            run.advance(STAGE, block.len() as u64)?;
        }
        Ok(Negatives { negatives: Columns::new(negatives.view(), data.c), rows, candidates: held })
    }
}

/// Rows that had length 1, damped, and of length 1 again.
fn damp_rows(x: &mut Csr) {
    let mut damped = Vec::new();
    for i in 0..x.rows() {
        unit_values(x.view().row(i), damp, &mut damped);
        x.row_values_mut(i).copy_from_slice(&damped);
    }
}

impl HeldOutViews {
    /// Share of the labels of the examples that are among their candidates.
    fn recall(&self, data: RankerData<'_>) -> f64 {
        let (mut found, mut all) = (0, 0);
        for (i, candidates) in self.rows.iter().zip(&self.candidates) {
            let own = data.y.row(*i as usize).0;
            all += own.len();
            found += own.iter().filter(|l| candidates.binary_search_by_key(*l, |(label, _)| *label).is_ok()).count();
        }
        found as f64 / all.max(1) as f64
    }

    /// The mean of the precision at 1, 3 and 5 for each example, in the order of a combination.
    fn precision(&self, combination: &Combination, data: RankerData<'_>) -> Vec<f64> {
        let of = |(i, candidates): (&u32, &Vec<(u32, Views)>)| {
            let mut best = TopK::new(5);
            candidates.iter().for_each(|(label, views)| best.offer(*label, combination.score(views)));
            let ranked: Vec<u32> = best.into_ranked().map(|(label, _)| label).collect();
            let truth = data.y.row(*i as usize).0;
            let hits = |k: usize| ranked.iter().take(k).filter(|label| truth.binary_search(label).is_ok()).count();
            [1, 3, 5].into_iter().map(|k| hits(k) as f64 / k as f64).sum::<f64>() / 3.0
        };
        self.rows.iter().zip(&self.candidates).map(of).collect()
    }

    /// The views with the truth, to fit a combination to.
    fn with_truth(&self, data: RankerData<'_>) -> Vec<HeldOutRow> {
        let row = |(i, candidates): (&u32, &Vec<(u32, Views)>)| {
            let own = data.y.row(*i as usize).0;
            HeldOutRow {
                candidates: candidates.iter().map(|(l, views)| (*views, own.binary_search(l).is_ok())).collect(),
                weight: data.weight(*i as usize),
            }
        };
        self.rows.iter().zip(&self.candidates).map(row).collect()
    }
}

/// Whether held-out examples show that a combination is better than another by more than chance.
fn gains(
    (one, one_views): (&Combination, &HeldOutViews),
    (other, other_views): (&Combination, &HeldOutViews),
    data: RankerData<'_>,
) -> bool {
    let weights = one_views.rows.iter().map(|i| data.weight(*i as usize));
    let gains = one_views.precision(one, data).into_iter().zip(other_views.precision(other, data)).map(|(a, b)| a - b);
    let (mut total, mut sum, mut squares) = (0.0, 0.0, 0.0);
    for (gain, weight) in gains.zip(weights) {
        total += weight;
        sum += weight * gain;
        squares += (weight * gain).powi(2);
    }
    total > 0.0 && sum >= WORTH * total && sum > ERRORS * squares.sqrt()
}

/// Training examples of each label.
fn label_counts(data: RankerData<'_>) -> Vec<u64> {
    let mut counts = vec![0; data.c];
    (0..data.y.rows()).for_each(|i| data.y.row(i).0.iter().for_each(|label| counts[*label as usize] += 1));
    counts
}

/// Hard negatives by labels, and held-out examples with their candidates.
struct Negatives {
    negatives: Columns,
    rows: Vec<u32>,
    candidates: Vec<Vec<Candidate>>,
}

/// The examples of each label.
struct Problem<'a> {
    data: RankerData<'a>,
    held_out: &'a [bool],
    /// Examples of each label, those with each as a candidate that do not have it, and held-out ones, by their place
    /// among these, with each as a candidate.
    positives: Columns,
    negatives: Columns,
    asked: Columns,
    /// Where the candidates of each held-out example begin among all, and the end.
    starts: Vec<usize>,
    rows: Vec<u32>,
    candidates: Vec<Vec<Candidate>>,
}

/// Features of a label, ascending, with their weights.
type WeightList = Vec<(u32, f32)>;

/// The scorer of a label.
struct LabelFit {
    weights: WeightList,
    /// Scores of the held-out examples that have it as a candidate.
    scores: Vec<f32>,
}

/// The scorers of some labels, as a checkpoint keeps them: ends of the lists, features, weights, and all scores.
type BlockFit = (Vec<u32>, Vec<u32>, Vec<f32>, Vec<f32>);

impl<'a> Problem<'a> {
    fn new(data: RankerData<'a>, held_out: &'a [bool], negatives: Negatives) -> Problem<'a> {
        let Negatives { negatives, rows, candidates } = negatives;
        let mut asked = Csr::new(true);
        for candidates in &candidates {
            candidates.iter().for_each(|c| asked.push(c.label, 1.0));
            asked.end_row();
        }
        let starts = std::iter::once(0).chain(candidates.iter().scan(0, |sum, candidates| {
            *sum += candidates.len();
            Some(*sum)
        }));
        Problem {
            data,
            held_out,
            positives: Columns::new(data.y, data.c),
            negatives,
            asked: Columns::new(asked.view(), data.c),
            starts: starts.collect(),
            rows,
            candidates,
        }
    }

    /// Where a label stands among the candidates of a held-out example.
    fn position(&self, place: u32, label: usize) -> usize {
        self.candidates[place as usize].partition_point(|c| (c.label as usize) < label)
    }

    fn candidate(&self, place: u32, label: usize) -> &Candidate {
        &self.candidates[place as usize][self.position(place, label)]
    }

    fn examples(&self, label: usize) -> usize {
        self.positives.rows(label).len() + self.negatives.rows(label).len()
    }

    /// The examples of a label, held out or not.
    fn duals(&self, label: usize, held_out: bool) -> impl Iterator<Item = Dual> {
        let weight = |i: usize| self.data.weight(i);
        let with = self.positives.entries(label).map(move |(i, value)| (i, 1.0, weight(i) * f64::from(value)));
        let against = self.negatives.entries(label).map(move |(i, _)| (i, -1.0, weight(i)));
        with.chain(against)
            .filter(move |(i, _, weight)| *weight > 0.0 && self.held_out[*i] == held_out)
            .map(move |(i, sign, weight)| Dual::new(i as u32, sign, weight))
    }

    /// Fits a label to the examples that are not held out, asks it about the others, and then fits it to all.
    fn fit(&self, descent: &mut Descent<'_>, label: usize, cost: f64) -> LabelFit {
        descent.begin(label);
        descent.duals.extend(self.duals(label, false));
        descent.descend(cost, PASSES);
        let scores = self.scores(descent, label);
        let before = descent.duals.len();
        descent.duals.extend(self.duals(label, true));
        if descent.duals.len() > before {
            descent.descend(cost, MORE_PASSES);
        }
        let weights = descent.weights(LEAST);
        descent.end();
        LabelFit { weights, scores }
    }

    /// Scores of the held-out examples that have the label as a candidate.
    fn scores(&self, descent: &Descent<'_>, label: usize) -> Vec<f32> {
        self.asked.rows(label).iter().map(|place| descent.score(self.rows[*place as usize])).collect()
    }

    /// The C with the largest average precision over all pairs of a held-out example and a candidate among a sample of the
    /// labels. It looks at the pairs that score highest, as a prediction does, and a sample of labels estimates it.
    fn choose_cost(&self) -> f64 {
        if self.rows.is_empty() {
            return USUAL_COST;
        }
        let labels = self.sample_of_labels();
        let path = |descent: &mut Descent<'_>, label: &usize| -> Vec<Vec<f32>> {
            descent.begin(*label);
            descent.duals.extend(self.duals(*label, false));
            let score = |(at, cost): (usize, f64)| {
                descent.descend(cost, if at == 0 { PASSES } else { WARM_PASSES });
                self.scores(descent, *label)
            };
            let scores = COSTS.into_iter().enumerate().map(score).collect();
            descent.end();
            scores
        };
        let tasks = labels.par_iter().with_min_len(labels.len().div_ceil(TASKS));
        let scores: Vec<Vec<Vec<f32>>> = tasks.map_init(|| self.descent(), path).collect();
        let precision = |at: usize| {
            let mut pairs = Vec::new();
            for (label, scores) in labels.iter().zip(&scores) {
                for (place, score) in self.asked.rows(*label).iter().zip(&scores[at]) {
                    // Most negatives of a label do not come from votes, and neither should those that C is chosen by.
                    if self.candidate(*place, *label).by_votes {
                        continue;
                    }
                    let i = self.rows[*place as usize] as usize;
                    let hit = self.data.y.row(i).0.binary_search(&(*label as u32)).is_ok();
                    pairs.push((*score, hit, self.data.weight(i)));
                }
            }
            average_precision(pairs)
        };
        let found: Vec<f64> = (0..COSTS.len()).map(precision).collect();
        let best = (0..COSTS.len()).max_by(|a, b| found[*a].total_cmp(&found[*b]).then(b.cmp(a)));
        best.map_or(USUAL_COST, |at| COSTS[at])
    }

    /// Labels that held-out examples have as candidates, with a part of the work of all.
    fn sample_of_labels(&self) -> Vec<usize> {
        let mut labels: Vec<usize> = (0..self.data.c).filter(|label| !self.asked.rows(*label).is_empty()).collect();
        // In an order that has nothing to do with that of the data.
        labels.sort_unstable_by_key(|label| (*label as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29));
        let all: usize = labels.iter().map(|label| self.examples(*label)).sum();
        let mut work = 0;
        let enough = labels.iter().position(|label| {
            work += self.examples(*label);
            work * SAMPLE >= all
        });
        labels.truncate(enough.map_or(labels.len(), |at| at + 1));
        labels
    }

    /// The views of the candidates of held-out examples, with votes of neighbors or as if there were none.
    fn views(&self, scores: &[f32], log_counts: &[f32], votes: bool) -> HeldOutViews {
        let row = |(place, candidates): (usize, &Vec<Candidate>)| {
            let scores = &scores[self.starts[place]..];
            let pairs = candidates.iter().zip(scores).filter(|(c, _)| votes || !c.by_votes);
            let view = |(c, score): (&Candidate, &f32)| {
                let mut views = c.views(*score, log_counts[c.label as usize]);
                if !votes {
                    (views.neighbors, views.nearest) = (0.0, 0.0);
                }
                (c.label, views)
            };
            pairs.map(view).collect()
        };
        HeldOutViews { rows: self.rows.clone(), candidates: self.candidates.iter().enumerate().map(row).collect() }
    }

    fn descent(&self) -> Descent<'_> {
        Descent::new(self.data.x, self.data.d)
    }

    /// The weights of all labels, and the scores of all candidates of held-out examples.
    fn fit_all(&self, cost: f64, run: &mut Run<'_>) -> Result<(Vec<WeightList>, Vec<f32>)> {
        let (n, c) = (self.data.x.rows(), self.data.c);
        let all = (0..c).map(|label| self.examples(label)).sum::<usize>().max(1) as f64;
        let mut weights = Vec::with_capacity(c);
        let mut scores = vec![0.0; *self.starts.last().unwrap_or(&0)];
        for from in (0..c).step_by(LABELS) {
            let labels = from..c.min(from + LABELS);
            let fitted = run.checkpoint(&format!("labels-{from}"), |_| {
                let tasks = labels.clone().into_par_iter().with_min_len(LABELS / TASKS);
                let fits = tasks.map_init(|| self.descent(), |descent, label| self.fit(descent, label, cost));
                Ok(together(fits.collect()))
            })?;
            let mut found = fitted.3.iter();
            for label in labels.clone() {
                for place in self.asked.rows(label) {
                    let at = self.position(*place, label);
                    scores[self.starts[*place as usize] + at] = *found.next().expect("a score for each");
                }
            }
            weights.extend(lists(&fitted));
            let part = labels.map(|label| self.examples(label)).sum::<usize>() as f64 / all;
            run.advance(STAGE, (n as f64 * part) as u64)?;
        }
        Ok((weights, scores))
    }
}

/// The mean, over pairs that are right, of the share of right ones among those that score at least as much. Of equal scores
/// wrong ones count first.
fn average_precision(mut pairs: Vec<(f32, bool, f64)>) -> f64 {
    pairs.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)).then(a.2.total_cmp(&b.2)));
    let (mut right, mut all, mut sum) = (0.0, 0.0, 0.0);
    for (_, hit, weight) in pairs {
        all += weight;
        if hit && all > 0.0 {
            right += weight;
            sum += weight * right / all;
        }
    }
    if right > 0.0 { sum / right } else { 0.0 }
}

/// The fits of some labels, one after the other.
fn together(fits: Vec<LabelFit>) -> BlockFit {
    let (mut ends, mut features, mut weights, mut scores) = BlockFit::default();
    for fit in fits {
        features.extend(fit.weights.iter().map(|(feature, _)| *feature));
        weights.extend(fit.weights.iter().map(|(_, weight)| *weight));
        ends.push(features.len() as u32);
        scores.extend(fit.scores);
    }
    (ends, features, weights, scores)
}

/// The features of each label with their weights.
fn lists((ends, features, weights, _): &BlockFit) -> Vec<WeightList> {
    let mut from = 0;
    let list = |end: &u32| {
        let places = from..*end as usize;
        from = places.end;
        features[places.clone()].iter().copied().zip(weights[places].iter().copied()).collect()
    };
    ends.iter().map(list).collect()
}
