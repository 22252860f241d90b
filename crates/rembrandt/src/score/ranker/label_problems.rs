//! [`LabelProblems`]: the one-vs-rest problem of each label.

use rayon::prelude::*;

use super::candidates::Candidate;
use super::data::RankerData;
use super::dual_descent::{Dual, DualDescent};
use crate::linalg::csr::{Columns, Csr};
use crate::{Result, Run};

/// Passes over the examples of a label, and over all of them once the held-out ones have joined.
const PASSES: usize = 6;
const MORE_PASSES: usize = 2;
/// Weights below this are dropped. Rows have length 1, and the margin between an example and a negative is 2.
const LEAST: f32 = 0.1;
/// Labels of a block, after which progress is told and a checkpoint kept.
const LABELS: usize = 4096;
/// Tasks that these labels make, at most: each has room for all features.
const TASKS: usize = 256;

/// The stage of the progress.
pub(super) const STAGE: &str = "ranker";

/// Hard negatives by labels, and held-out examples with their candidates.
pub(super) struct Negatives {
    pub negatives: Columns,
    pub held_out_rows: Vec<u32>,
    pub candidates: Vec<Vec<Candidate>>,
}

/// The examples of each label.
pub(super) struct LabelProblems<'a> {
    pub data: RankerData<'a>,
    held_out: &'a [bool],
    /// Examples of each label, those with each as a candidate that do not have it, and held-out ones, by their place
    /// among these, with each as a candidate.
    positives: Columns,
    negatives: Columns,
    pub held_out_pairs: Columns,
    /// Where the candidates of each held-out example begin among all, and the end.
    starts: Vec<usize>,
    pub held_out_rows: Vec<u32>,
    pub candidates: Vec<Vec<Candidate>>,
}

/// Features of a label, ascending, with their weights.
pub(super) type WeightList = Vec<(u32, f32)>;

/// The scorer of a label.
struct LabelFit {
    weights: WeightList,
    /// Scores of the held-out examples that have it as a candidate.
    scores: Vec<f32>,
}

/// The scorers of some labels, as a checkpoint keeps them: ends of the lists, features, weights, and all scores.
type BlockFit = (Vec<u32>, Vec<u32>, Vec<f32>, Vec<f32>);

impl<'a> LabelProblems<'a> {
    pub fn new(data: RankerData<'a>, held_out: &'a [bool], negatives: Negatives) -> LabelProblems<'a> {
        let Negatives { negatives, held_out_rows, candidates } = negatives;
        let mut held_out_pairs = Csr::new(true);
        for candidates in &candidates {
            candidates.iter().for_each(|c| held_out_pairs.push(c.label, 1.0));
            held_out_pairs.end_row();
        }
        let starts = std::iter::once(0).chain(candidates.iter().scan(0, |sum, candidates| {
            *sum += candidates.len();
            Some(*sum)
        }));
        LabelProblems {
            data,
            held_out,
            positives: Columns::new(data.y, data.c),
            negatives,
            held_out_pairs: Columns::new(held_out_pairs.view(), data.c),
            starts: starts.collect(),
            held_out_rows,
            candidates,
        }
    }

    /// Where a label stands among the candidates of a held-out example.
    fn position(&self, place: u32, label: usize) -> usize {
        self.candidates[place as usize].partition_point(|c| (c.label as usize) < label)
    }

    pub fn candidate(&self, place: u32, label: usize) -> &Candidate {
        &self.candidates[place as usize][self.position(place, label)]
    }

    pub fn examples(&self, label: usize) -> usize {
        self.positives.rows(label).len() + self.negatives.rows(label).len()
    }

    /// The examples of a label, held out or not.
    pub fn duals(&self, label: usize, held_out: bool) -> impl Iterator<Item = Dual> {
        let weight = |i: usize| self.data.weight(i);
        let with = self.positives.entries(label).map(move |(i, value)| (i, 1.0, weight(i) * f64::from(value)));
        let against = self.negatives.entries(label).map(move |(i, value)| (i, -1.0, weight(i) * f64::from(value)));
        with.chain(against)
            .filter(move |(i, _, weight)| *weight > 0.0 && self.held_out[*i] == held_out)
            .map(move |(i, sign, weight)| Dual::new(i as u32, sign, weight))
    }

    /// Fits a label to the examples that are not held out, asks it about the others as it would be stored, and then fits it to all.
    fn fit(&self, descent: &mut DualDescent<'_>, label: usize, cost: f64) -> LabelFit {
        descent.begin(label);
        descent.duals.extend(self.duals(label, false));
        descent.descend(cost, PASSES);
        let dropped = descent.drop_small(LEAST);
        let scores = self.scores(descent, label);
        descent.take_back(dropped);
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
    pub fn scores(&self, descent: &DualDescent<'_>, label: usize) -> Vec<f32> {
        self.held_out_pairs.rows(label).iter().map(|place| descent.score(self.held_out_rows[*place as usize])).collect()
    }

    /// The held-out examples and their candidates, with the scores that [`fit_all`](LabelProblems::fit_all) found.
    pub fn with_scores(&self, scores: &[f32]) -> (Vec<u32>, Vec<Vec<Candidate>>) {
        let row = |(start, candidates): (&usize, &Vec<Candidate>)| {
            let scored = candidates.iter().zip(&scores[*start..]);
            scored
                .map(|(candidate, score)| {
                    let mut candidate = *candidate;
                    candidate.views.one_vs_rest = *score;
                    candidate
                })
                .collect()
        };
        (self.held_out_rows.clone(), self.starts.iter().zip(&self.candidates).map(row).collect())
    }

    pub fn descent(&self) -> DualDescent<'_> {
        DualDescent::new(self.data.x, self.data.d)
    }

    /// The weights of all labels, and the scores of all candidates of held-out examples.
    pub fn fit_all(&self, cost: f64, run: &mut Run<'_>) -> Result<(Vec<WeightList>, Vec<f32>)> {
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
                for place in self.held_out_pairs.rows(label) {
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
