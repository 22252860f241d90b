//! [`Matcher`]: the labels that an example could have.
//!
//! Words, names, the embedding and similar examples propose labels. All but the last are cheap to ask about any label, so
//! a first combination of them leaves few of the proposed labels, the shortlist, which the one-vs-rest scorers are trained
//! on and asked about. Labels that similar examples vote for are candidates in any case.

use serde::{Deserialize, Serialize};

use super::combination::{Combination, LabelViews};
use super::data::unit_values;
use super::packed_matrix::PackedMatrix;
use super::similar_examples::{BY_VOTES, SimilarExamples};
use super::sparse_accumulator::{SparseAccumulator, keep_largest, largest_scores};
use crate::linalg::csr::CsrRef;
use crate::linalg::matrix::Matrix;
use crate::linalg::table::Table;

/// Candidates whose names have words of the example, at most.
const BY_NAMES: usize = 20;
/// The likely candidates of an example, all of which are hard negatives of it where they are not its labels.
const LIKELY: usize = 32;

/// How many labels are proposed for an example, and how many of them are candidates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proposals {
    /// By the association table.
    pub by_words: u32,
    /// By the embedding, for which all labels are scanned; 0: by words alone.
    pub by_embedding: u32,
    /// How many are left by the first combination.
    pub shortlist: u32,
}

/// A label that an example could have, with its views; that of the one-vs-rest scorer is 0 until the scorer is asked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Candidate {
    pub label: u32,
    pub views: LabelViews,
    pub tier: Tier,
}

/// How likely a candidate is at first sight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tier {
    /// Among those that the first combination puts highest.
    Likely,
    Unlikely,
    /// Nothing but votes of similar examples proposed it.
    ByVotes,
}

/// Where sums are made, to be used again.
#[derive(Debug)]
pub(crate) struct RankerMemory {
    /// x·T and x·m, for labels.
    associations: SparseAccumulator,
    names: SparseAccumulator,
    /// For examples.
    examples: SparseAccumulator,
    votes: [SparseAccumulator; 2],
    /// x′, with a place for every feature, and scores, with a place for every label.
    pub damped: Vec<f32>,
    pub scores: Vec<f32>,
}

impl RankerMemory {
    /// For `d` features, `c` labels and the examples among which similar ones are looked for.
    pub fn new(d: usize, c: usize, similar: Option<&SimilarExamples>) -> RankerMemory {
        let votes = if similar.is_some() { c } else { 0 };
        RankerMemory {
            associations: SparseAccumulator::new(c),
            names: SparseAccumulator::new(c),
            examples: SparseAccumulator::new(similar.map_or(0, SimilarExamples::count)),
            votes: [SparseAccumulator::new(votes), SparseAccumulator::new(votes)],
            damped: vec![0.0; d],
            scores: vec![0.0; c],
        }
    }

    fn clear(&mut self) {
        self.associations.clear();
        self.names.clear();
        self.votes.iter_mut().for_each(SparseAccumulator::clear);
    }
}

/// Finds the labels that examples could have.
#[derive(Clone, Copy)]
pub(crate) struct Matcher<'a> {
    pub proposals: Proposals,
    /// What the shortlist is made by; absent: all that are proposed are on it.
    pub first: Option<&'a Combination>,
    pub associations: &'a PackedMatrix,
    /// m.
    pub names: &'a PackedMatrix,
    /// E. As many of its rows may be proposed as there are counts.
    pub labels: &'a Table,
    /// ln (1 + nₗ) of each label.
    pub log_counts: &'a [f32],
    /// Examples that vote, by rows as well where there are some, but for those that are held out.
    pub similar: Option<&'a SimilarExamples>,
    pub rows: Option<CsrRef<'a>>,
    pub held_out: Option<&'a [bool]>,
}

impl Matcher<'_> {
    /// The candidates of some examples, whose projections are the rows of `h`; ascending.
    pub fn propose(&self, x: CsrRef<'_>, h: &Matrix, memory: &mut RankerMemory) -> Vec<Vec<Candidate>> {
        let count = self.log_counts.len();
        let by_embedding = (self.proposals.by_embedding as usize).min(count);
        let mut scan = vec![0.0; if by_embedding > 0 { h.rows() * count } else { 0 }];
        if by_embedding > 0 && h.rows() > 0 {
            self.labels.dots(h.as_slice(), 0..count, &mut scan);
        }
        let mut found = Vec::with_capacity(x.rows());
        let (mut values, mut labels) = (Vec::new(), Vec::new());
        for i in 0..x.rows() {
            unit_values(x.row(i), |value| value, &mut values);
            self.add_up(x.row(i).0, &values, memory);
            labels.clear();
            let by_names = memory.names.largest(BY_NAMES, |_| true).into_iter();
            let by_words = memory.associations.largest(self.proposals.by_words as usize, |_| true).into_iter();
            labels.extend(by_names.chain(by_words).map(|(label, _)| label));
            let scanned = (by_embedding > 0).then(|| &scan[i * count..(i + 1) * count]);
            if let Some(scores) = scanned {
                labels.extend(largest_scores(scores, by_embedding).into_iter().map(|(label, _)| label));
            }
            labels.sort_unstable();
            labels.dedup();
            let embedding = |label: u32| scanned.map_or_else(|| self.dot(h.row(i), label), |s| s[label as usize]);
            let candidate = |label: u32, tier| self.candidate(label, embedding(label), memory, tier);
            let mut candidates: Vec<Candidate> = labels.iter().map(|label| candidate(*label, Tier::Likely)).collect();
            self.shorten(&mut candidates);
            let others = candidates.len();
            for votes in &memory.votes {
                let new = |label: u32| candidates[..others].binary_search_by_key(&label, |c| c.label).is_err();
                let voted = votes.largest(BY_VOTES, new);
                candidates.extend(voted.into_iter().map(|(label, _)| candidate(label, Tier::ByVotes)));
            }
            candidates.sort_unstable_by_key(|candidate| candidate.label);
            candidates.dedup_by_key(|candidate| candidate.label);
            memory.clear();
            found.push(candidates);
        }
        found
    }

    /// The same views of given labels.
    pub fn look_up(&self, x: CsrRef<'_>, h: &Matrix, ids: &[u32], memory: &mut RankerMemory) -> Vec<Vec<Candidate>> {
        let mut values = Vec::new();
        let of_row = |i: usize| {
            unit_values(x.row(i), |value| value, &mut values);
            self.add_up(x.row(i).0, &values, memory);
            let candidate = |label: &u32| self.candidate(*label, self.dot(h.row(i), *label), memory, Tier::Likely);
            let found = ids.iter().map(candidate).collect();
            memory.clear();
            found
        };
        (0..x.rows()).map(of_row).collect()
    }

    /// Adds up what words, names and similar examples say about all labels.
    fn add_up(&self, ids: &[u32], values: &[f32], memory: &mut RankerMemory) {
        memory.associations.add(self.associations, ids, values);
        memory.names.add(self.names, ids, values);
        if let Some(similar) = self.similar {
            let keep = |example: u32| self.held_out.is_none_or(|held_out| !held_out[example as usize]);
            let found = similar.search(ids, values, self.rows, &mut memory.examples, keep);
            let [votes, nearest] = &mut memory.votes;
            similar.vote(&found, votes, nearest);
        }
    }

    /// A label with the views that were added up.
    fn candidate(&self, label: u32, embedding: f32, memory: &RankerMemory, tier: Tier) -> Candidate {
        let views = LabelViews {
            one_vs_rest: 0.0,
            association: memory.associations.of(label),
            embedding,
            name: memory.names.of(label),
            log_count: self.log_counts[label as usize],
            similar: memory.votes[0].of_some(label),
            nearest: memory.votes[1].of_some(label),
        };
        Candidate { label, views, tier }
    }

    /// Leaves the candidates that the first combination puts highest, and labels without examples, of which it knows nothing.
    fn shorten(&self, candidates: &mut Vec<Candidate>) {
        let most = self.proposals.shortlist as usize;
        let Some(first) = self.first.filter(|_| candidates.len() > most.min(LIKELY)) else { return };
        let scores: Vec<(u32, f32)> = (0..).zip(candidates.iter()).map(|(at, c)| (at, first.score(&c.views))).collect();
        let (unseen, mut scores): (Vec<_>, Vec<_>) =
            scores.into_iter().partition(|(at, _)| candidates[*at as usize].views.is_of_unseen());
        keep_largest(&mut scores, most);
        let mut likely = scores.clone();
        keep_largest(&mut likely, LIKELY);
        scores.iter().for_each(|(at, _)| candidates[*at as usize].tier = Tier::Unlikely);
        likely.iter().for_each(|(at, _)| candidates[*at as usize].tier = Tier::Likely);
        scores.extend(unseen);
        scores.sort_unstable_by_key(|(at, _)| *at);
        *candidates = scores.into_iter().map(|(at, _)| candidates[at as usize]).collect();
    }

    fn dot(&self, h: &[f32], label: u32) -> f32 {
        let mut out = [0.0];
        self.labels.dots(h, label as usize..label as usize + 1, &mut out);
        out[0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_are_those_of_brute_force() {
        let (d, c, k, n) = (20, 300, 7, 40);
        let number = |i: usize, j: usize| ((i * 7919 + j * 104_729 + i * j) % 1009) as f32 / 1009.0;
        let lists = (0..d).map(|f| {
            let labels = (0..c as u32).filter(move |l| (f * 31 + *l as usize).is_multiple_of(5));
            labels.map(move |l| (l, number(f, l as usize)))
        });
        let associations = PackedMatrix::new(&lists.map(Iterator::collect).collect::<Vec<_>>()).unwrap();
        let labels: Table = Matrix::from_fn(c, k, |i, j| number(i, j) - 0.5).into();
        let h = Matrix::from_fn(n, k, |i, j| number(j, i) - 0.5);
        let ptr: Vec<u32> = (0..=n as u32).map(|i| 3 * i).collect();
        let ids: Vec<u32> = (0..n as u32).flat_map(|i| [i % 6, 6 + i % 7, 13 + i % 7]).collect();
        let x = CsrRef { ptr: &ptr, ids: &ids, values: None };
        let proposals = Proposals { by_words: 9, by_embedding: 6, shortlist: 5 };
        let names = PackedMatrix::empty(d);
        let log_counts = vec![1.0; c];
        let matcher = Matcher {
            proposals,
            first: None,
            associations: &associations,
            names: &names,
            labels: &labels,
            log_counts: &log_counts,
            similar: None,
            rows: None,
            held_out: None,
        };
        let first = Combination::linear([-1.0, 0.0, 0.7, 1.0, 0.0, 0.0, 0.0, 0.0]);
        let shortened = Matcher { first: Some(&first), ..matcher }.propose(x, &h, &mut RankerMemory::new(d, c, None));
        let found = matcher.propose(x, &h, &mut RankerMemory::new(d, c, None));
        for (all, some) in found.iter().zip(&shortened) {
            let mut scores: Vec<(u32, f32)> = all.iter().map(|c| (c.label, first.score(&c.views))).collect();
            scores.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            let mut best: Vec<u32> = scores.into_iter().take(5).map(|(label, _)| label).collect();
            best.sort_unstable();
            assert_eq!(some.iter().map(|c| c.label).collect::<Vec<_>>(), best);
            assert!(some.iter().all(|c| c.tier == Tier::Likely), "fewer than the likely ones are left");
        }
        for (i, found) in found.iter().enumerate() {
            let words: Vec<(u32, f32)> = (0..c as u32)
                .map(|l| (l, x.entries(i).map(|(f, _)| associations.weight(f, l) / 3f32.sqrt()).sum()))
                .collect();
            let dots: Vec<(u32, f32)> = (0..c as u32)
                .map(|l| (l, labels.row(l as usize).iter().zip(h.row(i)).map(|(a, b)| a * b).sum()))
                .collect();
            let best = |mut all: Vec<(u32, f32)>, most: usize| {
                all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
                all.into_iter().take(most).map(|(l, _)| l).collect::<Vec<u32>>()
            };
            let mut expected = [best(words.clone(), 9), best(dots.clone(), 6)].concat();
            expected.sort_unstable();
            expected.dedup();
            assert_eq!(found.iter().map(|c| c.label).collect::<Vec<_>>(), expected, "row {i}");
            for c in found {
                assert!((c.views.association - words[c.label as usize].1).abs() < 1e-5);
                assert!((c.views.embedding - dots[c.label as usize].1).abs() < 1e-5);
            }
        }
    }
}
