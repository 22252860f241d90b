//! [`HeldOutViews`]: held-out examples with the views of their candidates, by which combinations are fitted and judged.

use super::candidates::Candidate;
use super::combination::{Combination, Halves, HeldOutRow};
use super::data::RankerData;
use crate::linalg::csr::CsrRef;
use crate::linalg::topk::TopK;
use crate::score::head::Loss;

/// Labels that are looked at.
const BEST: usize = 5;
/// A combination is preferred where nDCG@5 gains at least so much, and more than so many standard errors of it. Less is not worth keeping all examples and looking through them for each prediction.
const WORTH: f64 = 0.005;
const ERRORS: f64 = 2.0;

/// Held-out examples with the views of their candidates, as scorers saw them that did not know them.
pub(crate) struct HeldOutViews {
    pub rows: Vec<u32>,
    pub candidates: Vec<Vec<Candidate>>,
    /// How the halves of the examples are judged by combinations that they had no part in.
    pub halves: Halves,
}

impl HeldOutViews {
    /// The examples in `rows`, and a combination that is fitted to all of them.
    pub fn new(
        rows: Vec<u32>,
        candidates: Vec<Vec<Candidate>>,
        (data, loss, votes): (RankerData<'_>, Loss, bool),
    ) -> (HeldOutViews, Combination) {
        let truth = with_truth(&rows, &candidates, data);
        let combination = Combination::fit(&truth, loss, votes);
        let halves = Halves::fit(&truth, loss, votes, &combination);
        (HeldOutViews { rows, candidates, halves }, combination)
    }

    /// Share of the labels of the examples that are among their candidates.
    pub fn recall(&self, data: RankerData<'_>) -> f64 {
        let (mut found, mut all) = (0, 0);
        for (i, candidates) in self.rows.iter().zip(&self.candidates) {
            let own = data.y.row(*i as usize).0;
            all += own.len();
            found += own.iter().filter(|l| candidates.binary_search_by_key(*l, |c| c.label).is_ok()).count();
        }
        found as f64 / all.max(1) as f64
    }

    /// The best labels of an example in the order of a score.
    pub fn ranked(&self, place: usize, score: impl Fn(&Candidate) -> f32) -> Vec<u32> {
        let mut best = TopK::new(BEST);
        self.candidates[place].iter().for_each(|candidate| best.offer(candidate.label, score(candidate)));
        best.into_ranked().map(|(label, _)| label).collect()
    }

    /// The normalized discounted cumulative gain at 5 of each example.
    pub fn ndcg(&self, y: CsrRef<'_>) -> Vec<f64> {
        let gain = |at: usize| 1.0 / (2.0 + at as f64).log2();
        let of = |(place, i): (usize, &u32)| {
            let ranked = self.ranked(place, |c| self.halves.of(place).score(&c.views));
            let truth = y.row(*i as usize).0;
            let hits = (0..ranked.len()).filter(|at| truth.binary_search(&ranked[*at]).is_ok());
            let most: f64 = (0..truth.len().clamp(1, BEST)).map(gain).sum();
            hits.map(gain).sum::<f64>() / most
        };
        self.rows.iter().enumerate().map(of).collect()
    }

    /// Whether the same examples show that these views are better than others by more than chance.
    pub fn gains_on(&self, other: &HeldOutViews, data: RankerData<'_>) -> bool {
        let weights = self.rows.iter().map(|i| data.weight(*i as usize));
        let gains = self.ndcg(data.y).into_iter().zip(other.ndcg(data.y)).map(|(a, b)| a - b);
        let (mut total, mut sum, mut squares) = (0.0, 0.0, 0.0);
        for (gain, weight) in gains.zip(weights) {
            total += weight;
            sum += weight * gain;
            squares += (weight * gain).powi(2);
        }
        total > 0.0 && sum >= WORTH * total && sum > ERRORS * squares.sqrt()
    }
}

/// The views of candidates with the truth, to fit a combination to.
pub(super) fn with_truth(rows: &[u32], candidates: &[Vec<Candidate>], data: RankerData<'_>) -> Vec<HeldOutRow> {
    let row = |(i, candidates): (&u32, &Vec<Candidate>)| {
        let own = data.y.row(*i as usize).0;
        // Labels without examples are never right here, which says nothing about them.
        let seen = candidates.iter().filter(|c| !c.views.is_of_unseen());
        HeldOutRow {
            candidates: seen.map(|c| (c.views, own.binary_search(&c.label).is_ok())).collect(),
            weight: data.weight(*i as usize),
        }
    };
    rows.iter().zip(candidates).map(row).collect()
}
