//! The sums that scores are made of.

use super::ECE_BINS;
use super::labels::Labels;

/// The sums over one example, or many.
#[derive(Clone, Debug)]
pub(super) struct Sums {
    pub weight: f64,
    /// Examples whose first label is true.
    pub first: f64,
    /// Labels predicted and true, predicted, true.
    pub common: f64,
    pub predicted: f64,
    pub actual: f64,
    /// For each rank that is scored.
    pub ranks: Vec<RankSums>,
}

/// The sums of what is scored down to one rank.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RankSums {
    pub precision: f64,
    pub recall: f64,
    pub ndcg: f64,
    /// Σ 1/p of the true labels that were found, and of those that could have been.
    pub gain: f64,
    pub best: f64,
}

impl Sums {
    fn zero(ranks: usize) -> Sums {
        let ranks = vec![RankSums::default(); ranks];
        Sums { weight: 0.0, first: 0.0, common: 0.0, predicted: 0.0, actual: 0.0, ranks }
    }

    fn add(&mut self, other: &Sums, weight: f64) {
        self.weight += weight * other.weight;
        self.first += weight * other.first;
        self.common += weight * other.common;
        self.predicted += weight * other.predicted;
        self.actual += weight * other.actual;
        for (mine, theirs) in self.ranks.iter_mut().zip(&other.ranks) {
            mine.precision += weight * theirs.precision;
            mine.recall += weight * theirs.recall;
            mine.ndcg += weight * theirs.ndcg;
            mine.gain += weight * theirs.gain;
            mine.best += weight * theirs.best;
        }
    }
}

/// One bin of the calibration error: examples, their probabilities, and how many of them were right.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bin {
    pub weight: f64,
    pub probability: f64,
    pub right: f64,
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
pub(super) struct Applicable<'a> {
    pub c: usize,
    pub ranks: &'a [usize],
    pub beyond_first: bool,
    pub multiclass: bool,
    pub decisions: bool,
}

/// All sums over one set of examples: the data or a replicate of them.
#[derive(Clone, Debug)]
pub(super) struct Tally {
    sums: Sums,
    pub bins: [Bin; ECE_BINS],
    /// Absent when macro-F1 is not wanted.
    pub labels: Option<Labels>,
}

impl Tally {
    /// Nothing yet, for so many ranks; with a number of labels if decisions about each of them are to be counted.
    pub(super) fn new(ranks: usize, labels: Option<usize>) -> Tally {
        Tally { sums: Sums::zero(ranks), bins: Default::default(), labels: labels.map(Labels::new) }
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

    /// The scores, in the order of their names.
    pub(super) fn scores(&self, applicable: &Applicable<'_>) -> Vec<Option<f64>> {
        let s = &self.sums;
        let at = |values: fn(&RankSums, f64) -> (f64, f64)| {
            let scored = s.ranks.iter().zip(applicable.ranks);
            scored.map(move |(sums, k)| {
                let (above, below) = values(sums, s.weight);
                // No list goes beyond the first rank where none has more than one label.
                ratio(above, below).filter(|_| *k == 1 || applicable.beyond_first)
            })
        };
        let decided = s.predicted + s.actual;
        let cells = s.weight * applicable.c as f64;
        let gap: f64 = self.bins.iter().map(|bin| (bin.right - bin.probability).abs()).sum();
        let when = |applies: bool, score: Option<f64>| score.filter(|_| applies);
        let ranked = at(|sums, weight| (sums.precision, weight))
            .chain(at(|sums, weight| (sums.recall, weight)))
            .chain(at(|sums, weight| (sums.ndcg, weight)))
            .chain(at(|sums, _| (sums.gain, sums.best)));
        let others = [
            when(applicable.multiclass, ratio(s.first, s.weight).map(|right| 1.0 - right)),
            when(applicable.decisions, ratio(decided - 2.0 * s.common, cells)),
            when(applicable.decisions, ratio(2.0 * s.common, decided)),
            when(applicable.decisions, self.labels.as_ref().and_then(Labels::macro_f1)),
            ratio(gap, self.bins.iter().map(|bin| bin.weight).sum()),
        ];
        ranked.chain(others).collect()
    }
}

fn ratio(above: f64, below: f64) -> Option<f64> {
    (below > 0.0).then(|| above / below)
}
