//! The sums that scores are made of.

use std::collections::HashSet;

use super::{ECE_BINS, Scores};

/// The sums over one example, or many.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sums {
    pub weight: f64,
    pub precision: [f64; 3],
    pub recall: [f64; 3],
    pub ndcg: [f64; 3],
    /// Σ 1/p of the true labels that were found, and of those that could have been.
    pub gain: [f64; 3],
    pub best: [f64; 3],
    /// Labels predicted and true, predicted, true.
    pub common: f64,
    pub predicted: f64,
    pub actual: f64,
}

impl Sums {
    fn add(&mut self, other: &Sums, weight: f64) {
        self.weight += weight * other.weight;
        for i in 0..3 {
            self.precision[i] += weight * other.precision[i];
            self.recall[i] += weight * other.recall[i];
            self.ndcg[i] += weight * other.ndcg[i];
            self.gain[i] += weight * other.gain[i];
            self.best[i] += weight * other.best[i];
        }
        self.common += weight * other.common;
        self.predicted += weight * other.predicted;
        self.actual += weight * other.actual;
    }
}

/// One bin of the calibration error: examples, their probabilities, and how many of them were right.
#[derive(Clone, Copy, Debug, Default)]
struct Bin {
    weight: f64,
    probability: f64,
    right: f64,
}

/// Decisions about each label.
#[derive(Clone, Debug)]
struct Labels {
    /// Examples for which the label is predicted and true.
    common: Vec<u32>,
    /// Examples for which it is predicted plus those for which it is true.
    total: Vec<u32>,
    /// True labels beyond those of the model. They cannot be predicted, so that they occurred says all.
    beyond: HashSet<u32>,
}

impl Labels {
    fn new(c: usize) -> Labels {
        Labels { common: vec![0; c], total: vec![0; c], beyond: HashSet::new() }
    }

    fn add(&mut self, truth: &[u32], positive: &[u32], weight: u32) {
        for &label in truth {
            match self.total.get_mut(label as usize) {
                Some(total) => *total += weight,
                None => {
                    self.beyond.insert(label);
                }
            }
        }
        for &label in positive {
            self.total[label as usize] += weight;
            if truth.binary_search(&label).is_ok() {
                self.common[label as usize] += weight;
            }
        }
    }

    fn merge(&mut self, other: Labels) {
        for (mine, theirs) in [(&mut self.common, other.common), (&mut self.total, other.total)] {
            mine.iter_mut().zip(theirs).for_each(|(a, b)| *a += b);
        }
        self.beyond.extend(other.beyond);
    }

    fn macro_f1(&self) -> Option<f64> {
        let decided = self.common.iter().zip(&self.total).filter(|(_, total)| **total > 0);
        let (mut sum, mut count) = (0.0, self.beyond.len() as f64);
        for (common, total) in decided {
            sum += 2.0 * f64::from(*common) / f64::from(*total);
            count += 1.0;
        }
        ratio(sum, count)
    }
}

/// The contribution of one example.
pub(super) struct ExampleTally<'a> {
    pub sums: Sums,
    /// Probability of the first label, and whether it is true.
    pub top: Option<(f64, bool)>,
    /// True labels and those predicted positive.
    pub decisions: Option<(&'a [u32], &'a [u32])>,
}

/// Which scores apply.
pub(super) struct Applicable {
    pub n: u64,
    pub c: usize,
    pub beyond_first: bool,
    pub multiclass: bool,
    pub decisions: bool,
}

/// All sums over one set of examples: the data or a replicate of them.
#[derive(Clone, Debug)]
pub(super) struct Tally {
    sums: Sums,
    bins: [Bin; ECE_BINS],
    /// Absent when macro-F1 is not wanted.
    labels: Option<Labels>,
}

impl Tally {
    /// Nothing yet; with a number of labels if decisions about each of them are to be counted.
    pub(super) fn new(labels: Option<usize>) -> Tally {
        Tally { sums: Sums::default(), bins: Default::default(), labels: labels.map(Labels::new) }
    }

    pub(super) fn add(&mut self, row: &ExampleTally<'_>, weight: u32) {
        self.sums.add(&row.sums, weight.into());
        if let Some((probability, right)) = row.top {
            let bin = &mut self.bins[((probability * ECE_BINS as f64) as usize).min(ECE_BINS - 1)];
            bin.weight += f64::from(weight);
            bin.probability += f64::from(weight) * probability;
            bin.right += f64::from(weight) * f64::from(u8::from(right));
        }
        if let (Some(labels), Some((truth, positive))) = (&mut self.labels, row.decisions) {
            labels.add(truth, positive, weight);
        }
    }

    pub(super) fn merge(&mut self, other: Tally) {
        self.sums.add(&other.sums, 1.0);
        for (mine, theirs) in self.bins.iter_mut().zip(other.bins) {
            mine.weight += theirs.weight;
            mine.probability += theirs.probability;
            mine.right += theirs.right;
        }
        if let (Some(mine), Some(theirs)) = (&mut self.labels, other.labels) {
            mine.merge(theirs);
        }
    }

    pub(super) fn scores(&self, applicable: &Applicable) -> Scores {
        let s = &self.sums;
        let mean = |sums: [f64; 3]| triple(sums, [s.weight; 3], applicable.beyond_first);
        let [p1, p3, p5] = mean(s.precision);
        let [r1, r3, r5] = mean(s.recall);
        let [ndcg1, ndcg3, ndcg5] = mean(s.ndcg);
        let [psp1, psp3, psp5] = triple(s.gain, s.best, applicable.beyond_first);
        let decided = s.predicted + s.actual;
        let cells = s.weight * applicable.c as f64;
        let gap: f64 = self.bins.iter().map(|bin| (bin.right - bin.probability).abs()).sum();
        let when = |applies: bool, score: Option<f64>| score.filter(|_| applies);
        Scores {
            error: when(applicable.multiclass, p1.map(|p| 1.0 - p)),
            hamming: when(applicable.decisions, ratio(decided - 2.0 * s.common, cells)),
            micro_f1: when(applicable.decisions, ratio(2.0 * s.common, decided)),
            macro_f1: when(applicable.decisions, self.labels.as_ref().and_then(Labels::macro_f1)),
            ece: ratio(gap, self.bins.iter().map(|bin| bin.weight).sum()),
            n: applicable.n,
            ..Scores { p1, p3, p5, r1, r3, r5, ndcg1, ndcg3, ndcg5, psp1, psp3, psp5, ..Scores::default() }
        }
    }
}

fn ratio(above: f64, below: f64) -> Option<f64> {
    (below > 0.0).then(|| above / below)
}

/// The ratios at each of the three ranks; only the first if no list goes beyond it.
fn triple(above: [f64; 3], below: [f64; 3], beyond_first: bool) -> [Option<f64>; 3] {
    [0, 1, 2].map(|i| ratio(above[i], below[i]).filter(|_| i == 0 || beyond_first))
}
