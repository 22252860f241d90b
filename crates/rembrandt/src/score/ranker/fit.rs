//! The fit of a ranker on divided examples.
//!
//! Some examples are held out. The association table and the embedding come from the others, and what these say about
//! held-out examples makes the first combination, by which shortlists are made. The one-vs-rest scorers come from the
//! others as well, and then say what they think of the candidates of held-out examples. After that the held-out examples
//! join, and a few more passes finish the scorers. So both combinations are fitted to views of examples that these did not
//! know, and nothing is trained twice. C is chosen before, on a sample of the labels.
//!
//! Every stage divides by rows or by labels, and no result depends on how: candidates belong to rows, scorers to labels.

use std::ops::Range;

use rayon::prelude::*;

use super::association::association_table;
use super::candidates::{Candidate, Matcher, RankerMemory, Tier};
use super::data::{RankerData, RankerTargets, damp_rows, log_counts};
use super::held_out::{HeldOutViews, with_truth};
use super::label_problems::{LabelProblems, Negatives, STAGE};
use super::one_vs_rest_weights::OneVsRestWeights;
use super::packed_matrix::PackedMatrix;
use super::similar_examples::SimilarExamples;
use super::{Combination, LabelViews, Proposals, Ranker};
use crate::io::checkpoint::Json;
use crate::linalg::csr::{Columns, Csr};
use crate::linalg::matrix::Matrix;
use crate::linalg::table::Table;
use crate::score::head::{Loss, STRIP};
use crate::{Error, Result, Run};

/// The least C where an example has one label. Only the first place counts then, and telling likely labels apart matters
/// more than pushing the others down, which is what most pairs of the sample are about.
const LEAST_SOFTMAX_COST: f64 = 1.0;
/// The share of the true labels that are proposed for held-out examples which the shortlist keeps, and its least length.
/// Where an example has one label, most of those that are proposed are ranked first in the end, so that each loss counts.
const KEPT: f64 = 0.98;
const KEPT_SOFTMAX: f64 = 0.995;
const FEWEST: u32 = 20;
/// Held-out examples that the first combination is fitted to, at most: enough for few weights.
const FIRST: usize = 1000;
/// Copies of the candidates of held-out examples.
const COPIES: u64 = 4;
/// Of the unlikely candidates one in so many is a hard negative.
const SAMPLED: u64 = 2;
/// Rows of a block.
const ROWS: usize = 1 << 14;

/// How a ranker is fitted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RankerFit<'a> {
    pub proposals: Proposals,
    /// Whether shortlists are shortened to what held-out examples need.
    pub shortened: bool,
    /// C; absent: chosen on held-out examples.
    pub cost: Option<f64>,
    pub loss: Loss,
    /// Whether each example is held out.
    pub held_out: &'a [bool],
    /// E and h of all examples, from those that are not held out.
    pub labels: &'a Table,
    pub h: &'a Matrix,
    /// m.
    pub names: &'a PackedMatrix,
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

/// Candidates of all examples, before there are scorers.
struct Matched {
    proposals: Proposals,
    first: Combination,
    negatives: Negatives,
}

impl RankerFit<'_> {
    /// Bytes of candidates with their views, at a time: those of a block of examples, and of held-out examples, which several
    /// combinations are fitted to. About three quarters of a shortlist are left on average.
    pub fn bytes_of_candidates(n: u64, held_out: u64, shortlist: u64) -> u64 {
        let rows = n.min(ROWS as u64) + COPIES * held_out;
        rows * shortlist * 3 / 4 * size_of::<Candidate>() as u64
    }

    /// Fits a ranker to all examples, with an association table of all of them in the end. Rows of `x` have length 1.
    pub fn fit(&self, mut x: Csr, examples: RankerTargets<'_>, run: &mut Run<'_>) -> Result<FittedRanker> {
        run.begin(2 * x.rows() as u64);
        let data = examples.with(x.view());
        let log_counts = log_counts(&data.label_counts());
        let similar = SimilarExamples::new(data);
        let Matched { proposals, first, negatives } = self.match_all(similar.as_ref(), &log_counts, data, run)?;
        let associations = association_table(data, |_| true).ok_or_else(too_large)?;
        damp_rows(&mut x);
        let problems = LabelProblems::new(examples.with(x.view()), self.held_out, negatives);
        let cost = self.choose_cost(&problems, run)?;
        let (weights, scores) = problems.fit_all(cost, run)?;
        let (rows, candidates) = problems.with_scores(&scores);
        let features = rows.iter().map(|row| problems.data.x.row(*row as usize).0);
        let pairs = features.zip(candidates.iter().map(Vec::as_slice));
        let one_vs_rest = OneVsRestWeights::new(&weights, problems.data.d, pairs).ok_or_else(too_large)?;
        drop(weights);
        let (held_out, combination, votes) = self.combine(problems.data, rows, candidates, similar.is_some());
        let recall = held_out.recall(problems.data);
        let unseen = if self.names.len() > 0 { self.of_names(&held_out, problems.data) } else { combination };
        let ranker = Ranker {
            proposals,
            first,
            combination,
            unseen,
            associations,
            one_vs_rest,
            names: self.names.clone(),
            similar: similar.filter(|_| votes),
            log_counts,
            offsets: Vec::new(),
        };
        Ok(FittedRanker { ranker, held_out, cost, recall })
    }

    /// The candidates of all examples, by an association table that held-out examples have no part in.
    fn match_all(
        &self,
        similar: Option<&SimilarExamples>,
        log_counts: &[f32],
        data: RankerData<'_>,
        run: &mut Run<'_>,
    ) -> Result<Matched> {
        let associations = association_table(data, |i| !self.held_out[i]).ok_or_else(too_large)?;
        let matcher = Matcher {
            proposals: self.proposals,
            first: None,
            associations: &associations,
            names: self.names,
            labels: self.labels,
            log_counts,
            similar: None,
            rows: Some(data.x),
            held_out: Some(self.held_out),
        };
        let (first, shortlist) = self.first_combination(matcher, data);
        let proposals = Proposals { shortlist, ..self.proposals };
        let negatives = self.candidates(Matcher { proposals, first: Some(&first), ..matcher }, similar, data, run)?;
        Ok(Matched { proposals, first, negatives })
    }

    fn choose_cost(&self, problems: &LabelProblems<'_>, run: &mut Run<'_>) -> Result<f64> {
        if let Some(cost) = self.cost {
            return Ok(cost);
        }
        let found = run.checkpoint("cost", |_| Ok(Json(problems.choose_cost())))?.0;
        Ok(if self.loss == Loss::Softmax { found.max(LEAST_SOFTMAX_COST) } else { found })
    }

    /// The combination of all views, with those of votes where held-out examples show that they are worth their cost.
    fn combine(
        &self,
        data: RankerData<'_>,
        rows: Vec<u32>,
        candidates: Vec<Vec<Candidate>>,
        votes: bool,
    ) -> (HeldOutViews, Combination, bool) {
        let fit = |rows, candidates, votes| HeldOutViews::new(rows, candidates, (data, self.loss, votes));
        if !votes {
            let (held_out, combination) = fit(rows, candidates, false);
            return (held_out, combination, false);
        }
        let (with, combination) = fit(rows.clone(), candidates.clone(), true);
        let (without, other) = fit(rows, without_votes(candidates), false);
        match with.gains_on(&without, data) {
            true => (with, combination, true),
            false => (without, other, false),
        }
    }

    /// The combination of names alone, fitted to labels with examples as if these had none.
    fn of_names(&self, held_out: &HeldOutViews, data: RankerData<'_>) -> Combination {
        let mut rows = with_truth(&held_out.rows, &held_out.candidates, data);
        rows.iter_mut().flat_map(|row| &mut row.candidates).for_each(|(views, _)| *views = views.name_alone());
        Combination::fit(&rows, self.loss, false)
    }

    /// The combination of the views that need no scorer, on some of the held-out examples, and the length that a shortlist
    /// made by it needs.
    fn first_combination(&self, matcher: Matcher<'_>, data: RankerData<'_>) -> (Combination, u32) {
        let rows: Vec<u32> = spread(self.held_out_rows(data).collect(), FIRST);
        let memory = || RankerMemory::new(data.d, data.c, None);
        let propose =
            |memory: &mut RankerMemory, i: &u32| self.propose(matcher, data, *i as usize..*i as usize + 1, memory);
        let candidates: Vec<Vec<Candidate>> =
            rows.par_iter().map_init(memory, propose).map(|mut found| found.swap_remove(0)).collect();
        let examples = with_truth(&rows, &candidates, data);
        let first = Combination::fit(&examples, self.loss, false);
        let mut ranks: Vec<usize> = examples.iter().flat_map(|row| ranks_of_truth(&first, &row.candidates)).collect();
        ranks.sort_unstable();
        let most = self.proposals.shortlist;
        let kept = match self.loss {
            _ if !self.shortened => 1.0,
            Loss::Softmax => KEPT_SOFTMAX,
            Loss::Independent => KEPT,
        };
        let enough = ranks.get((kept * ranks.len() as f64) as usize).map_or(most, |rank| *rank as u32);
        (first, enough.clamp(FEWEST.min(most), most))
    }

    /// Held-out examples that count.
    fn held_out_rows(&self, data: RankerData<'_>) -> impl Iterator<Item = u32> {
        let rows = (0u32..).zip(self.held_out).filter(|(_, held_out)| **held_out).map(|(i, _)| i);
        rows.filter(move |i| data.weight(*i as usize) > 0.0)
    }

    fn propose(
        &self,
        matcher: Matcher<'_>,
        data: RankerData<'_>,
        rows: Range<usize>,
        memory: &mut RankerMemory,
    ) -> Vec<Vec<Candidate>> {
        let k = self.h.cols();
        let h = self.h.as_slice()[rows.start * k..rows.end * k].to_vec();
        matcher.propose(data.x.range(rows.clone()), &Matrix::from_vec(rows.len(), k, h), memory)
    }

    /// The hard negatives of all labels with the candidates of held-out examples, which look for similar examples as well.
    fn candidates(
        &self,
        matcher: Matcher<'_>,
        similar: Option<&SimilarExamples>,
        data: RankerData<'_>,
        run: &mut Run<'_>,
    ) -> Result<Negatives> {
        let voting = Matcher { similar, ..matcher };
        let n = data.x.rows();
        let mut negatives = Csr::new(false);
        let (mut held_out_rows, mut held) = (Vec::new(), Vec::new());
        for from in (0..n).step_by(ROWS) {
            let block = from..n.min(from + ROWS);
            let strips: Vec<Vec<Vec<Candidate>>> = (block.start..block.end)
                .step_by(STRIP)
                .collect::<Vec<usize>>()
                .into_par_iter()
                .map_init(
                    || RankerMemory::new(data.d, data.c, similar),
                    |memory, from| {
                        let strip = from..block.end.min(from + STRIP);
                        let mut found = self.propose(matcher, data, strip.clone(), memory);
                        for i in strip.clone().filter(|i| similar.is_some() && self.held_out[*i]) {
                            found[i - strip.start] = self.propose(voting, data, i..i + 1, memory).swap_remove(0);
                        }
                        found
                    },
                )
                .collect();
            for (i, candidates) in block.clone().zip(strips.into_iter().flatten()) {
                if data.weight(i) > 0.0 {
                    let own = data.y.row(i).0;
                    let others = candidates.iter().filter(|c| own.binary_search(&c.label).is_err());
                    others.for_each(|c| match c.tier {
                        Tier::Likely => negatives.push(c.label, 1.0),
                        Tier::Unlikely if sampled(i, c.label) => negatives.push(c.label, SAMPLED as f32),
                        Tier::Unlikely | Tier::ByVotes => {}
                    });
                    if self.held_out[i] {
                        held_out_rows.push(i as u32);
                        held.push(candidates);
                    }
                }
                negatives.end_row();
            }
            run.advance(STAGE, block.len() as u64)?;
        }
        let negatives = Columns::new(negatives.view(), data.c);
        Ok(Negatives { negatives, held_out_rows, candidates: held })
    }
}

/// From 1 on, the ranks of the true ones of some candidates in the order of a combination.
fn ranks_of_truth(first: &Combination, candidates: &[(LabelViews, bool)]) -> Vec<usize> {
    let scores: Vec<f32> = candidates.iter().map(|(views, _)| first.score(views)).collect();
    let above = |score: f32| 1 + scores.iter().filter(|other| **other > score).count();
    candidates.iter().zip(&scores).filter(|((_, hit), _)| *hit).map(|(_, score)| above(*score)).collect()
}

/// Whether an unlikely candidate of an example is a hard negative: one in [`SAMPLED`] is, and counts for all.
fn sampled(example: usize, label: u32) -> bool {
    let mixed = ((example as u64) << 32 | u64::from(label)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 32 < (1 << 32) / SAMPLED
}

fn too_large() -> Error {
    Error::Data("more than 4,294,967,295 pairs of a feature and a label: train one of the heads".into())
}

/// At most so many of some rows, evenly spread.
fn spread(rows: Vec<u32>, most: usize) -> Vec<u32> {
    let count = rows.len();
    if count <= most { rows } else { (0..most).map(|at| rows[at * count / most]).collect() }
}

/// Candidates as if no similar examples had been looked for.
fn without_votes(mut all: Vec<Vec<Candidate>>) -> Vec<Vec<Candidate>> {
    for candidates in &mut all {
        candidates.retain(|c| c.tier != Tier::ByVotes);
        candidates.iter_mut().for_each(|c| (c.views.similar, c.views.nearest) = (0.0, 0.0));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of any example and of any label about one candidate in [`SAMPLED`], however numbers follow each other.
    #[test]
    fn the_sample_of_unlikely_candidates_is_even() {
        let near = |count: usize| (count as f64 * SAMPLED as f64 / 10_000.0 - 1.0).abs() < 0.1;
        for fixed in [0, 1, 77, 1_000_000] {
            assert!(near((0..10_000).filter(|label| sampled(fixed, *label)).count()), "example {fixed}");
            assert!(near((0..10_000).filter(|example| sampled(*example, fixed as u32)).count()), "label {fixed}");
        }
    }
}
