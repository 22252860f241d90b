//! [`Proposer`]: the labels that an example could have.

use super::neighbors::{BY_VOTES, Neighbors};
use super::sums::{SparseSums, largest_scores};
use super::{FeatureMatrix, Proposals, Views, unit_values};
use crate::linalg::csr::CsrRef;
use crate::linalg::matrix::Matrix;
use crate::linalg::table::Table;

/// Candidates whose names have words of the example, at most.
pub(crate) const BY_NAMES: usize = 20;

/// A label that an example could have, with the views that proposed it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Candidate {
    pub label: u32,
    /// (x·T)ₗ.
    pub association: f32,
    /// eₗ·h(x).
    pub embedding: f32,
    /// x·mₗ.
    pub name: f32,
    /// Votes of the nearest examples.
    pub neighbors: f32,
    pub nearest: f32,
    /// Whether nothing but these votes proposed it.
    pub by_votes: bool,
}

/// Where sums are made, to be used again.
#[derive(Debug)]
pub(crate) struct RankerMemory {
    /// For labels.
    pub sums: SparseSums,
    /// For examples.
    examples: SparseSums,
    votes: [SparseSums; 2],
}

impl RankerMemory {
    /// For `c` labels and the examples among which neighbors are looked for.
    pub fn new(c: usize, neighbors: Option<&Neighbors>) -> RankerMemory {
        let votes = if neighbors.is_some() { c } else { 0 };
        RankerMemory {
            sums: SparseSums::new(c),
            examples: SparseSums::new(neighbors.map_or(0, Neighbors::count)),
            votes: [SparseSums::new(votes), SparseSums::new(votes)],
        }
    }

    fn clear_votes(&mut self) {
        self.votes.iter_mut().for_each(SparseSums::clear);
    }
}

impl Candidate {
    /// All views of the label.
    pub fn views(&self, one_vs_rest: f32, log_count: f32) -> Views {
        let Candidate { association, embedding, name, neighbors, nearest, .. } = *self;
        Views { one_vs_rest, association, embedding, name, log_count, neighbors, nearest }
    }
}

/// Finds the labels that examples could have: the best by words, by names, by the embedding and by votes of neighbors.
pub(crate) struct Proposer<'a> {
    pub proposals: Proposals,
    pub associations: &'a FeatureMatrix,
    /// m.
    pub names: &'a FeatureMatrix,
    /// E.
    pub labels: &'a Table,
    /// Rows of E that may be proposed: those that were trained.
    pub count: usize,
    /// Examples that vote, but for those that are held out.
    pub neighbors: Option<&'a Neighbors>,
    pub held_out: Option<&'a [bool]>,
}

impl Proposer<'_> {
    /// The candidates of some examples, whose projections are the rows of `h`; ascending.
    pub fn propose(&self, x: CsrRef<'_>, h: &Matrix, memory: &mut RankerMemory) -> Vec<Vec<Candidate>> {
        let by_embedding = (self.proposals.by_embedding as usize).min(self.count);
        let mut scan = vec![0.0; if by_embedding > 0 { h.rows() * self.count } else { 0 }];
        if by_embedding > 0 && h.rows() > 0 {
            self.labels.dots(h.as_slice(), 0..self.count, &mut scan);
        }
        let mut found = Vec::with_capacity(x.rows());
        let (mut values, mut labels) = (Vec::new(), Vec::new());
        for i in 0..x.rows() {
            let ids = x.row(i).0;
            unit_values(x.row(i), |value| value, &mut values);
            self.vote(ids, &values, memory);
            let sums = &mut memory.sums;
            labels.clear();
            sums.add(self.names, ids, &values);
            labels.extend(sums.largest(BY_NAMES, |_| true).into_iter().map(|(label, _)| label));
            sums.clear();
            sums.add(self.associations, ids, &values);
            let by_words = sums.largest(self.proposals.by_words as usize, |_| true);
            labels.extend(by_words.into_iter().map(|(label, _)| label));
            let scanned = (by_embedding > 0).then(|| &scan[i * self.count..(i + 1) * self.count]);
            if let Some(scores) = scanned {
                labels.extend(largest_scores(scores, by_embedding).into_iter().map(|(label, _)| label));
            }
            labels.sort_unstable();
            labels.dedup();
            let others = labels.len();
            for votes in &memory.votes {
                let voted = votes.largest(BY_VOTES, |label| labels[..others].binary_search(&label).is_err());
                labels.extend(voted.into_iter().map(|(label, _)| label));
            }
            let embedding = |label: u32| scanned.map_or_else(|| self.dot(h.row(i), label), |s| s[label as usize]);
            let candidate = |(at, label): (usize, &u32)| Candidate {
                label: *label,
                association: memory.sums.of(*label),
                embedding: embedding(*label),
                name: 0.0,
                neighbors: memory.votes[0].of_some(*label),
                nearest: memory.votes[1].of_some(*label),
                by_votes: at >= others,
            };
            let mut candidates: Vec<Candidate> = labels.iter().enumerate().map(candidate).collect();
            candidates.sort_unstable_by_key(|candidate| candidate.label);
            candidates.dedup_by_key(|candidate| candidate.label);
            memory.sums.clear();
            memory.clear_votes();
            self.add_names(ids, &values, &mut candidates, &mut memory.sums);
            found.push(candidates);
        }
        found
    }

    /// The same views of given labels.
    pub fn look_up(&self, x: CsrRef<'_>, h: &Matrix, ids: &[u32], memory: &mut RankerMemory) -> Vec<Vec<Candidate>> {
        let mut values = Vec::new();
        let of_row = |i: usize| {
            let features = x.row(i).0;
            unit_values(x.row(i), |value| value, &mut values);
            self.vote(features, &values, memory);
            memory.sums.add(self.associations, features, &values);
            let candidate = |label: &u32| Candidate {
                label: *label,
                association: memory.sums.of(*label),
                embedding: self.dot(h.row(i), *label),
                name: 0.0,
                neighbors: memory.votes[0].of_some(*label),
                nearest: memory.votes[1].of_some(*label),
                by_votes: false,
            };
            let mut found: Vec<Candidate> = ids.iter().map(candidate).collect();
            memory.sums.clear();
            memory.clear_votes();
            self.add_names(features, &values, &mut found, &mut memory.sums);
            found
        };
        (0..x.rows()).map(of_row).collect()
    }

    /// Adds the votes of the neighbors of an example up.
    fn vote(&self, ids: &[u32], values: &[f32], memory: &mut RankerMemory) {
        let Some(neighbors) = self.neighbors else { return };
        let keep = |example: u32| self.held_out.is_none_or(|held_out| !held_out[example as usize]);
        let found = neighbors.search(ids, values, &mut memory.examples, keep);
        let [broad, nearest] = &mut memory.votes;
        neighbors.vote(&found, broad, nearest);
    }

    fn add_names(&self, features: &[u32], values: &[f32], candidates: &mut [Candidate], sums: &mut SparseSums) {
        if !self.names.columns.is_empty() {
            sums.add(self.names, features, values);
            candidates.iter_mut().for_each(|candidate| candidate.name = sums.of(candidate.label));
            sums.clear();
        }
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
    use half::bf16;

    #[test]
    fn candidates_are_those_of_brute_force() {
        let (d, c, k, n) = (20, 300, 7, 40);
        let number = |i: usize, j: usize| ((i * 7919 + j * 104_729 + i * j) % 1009) as f32 / 1009.0;
        let lists = (0..d).map(|f| {
            let labels = (0..c as u32).filter(move |l| (f * 31 + *l as usize).is_multiple_of(5));
            labels.map(move |l| (l, bf16::from_f32(number(f, l as usize))))
        });
        let associations = FeatureMatrix::from_lists(lists.map(Iterator::collect).collect());
        let labels: Table = Matrix::from_fn(c, k, |i, j| number(i, j) - 0.5).into();
        let h = Matrix::from_fn(n, k, |i, j| number(j, i) - 0.5);
        let ptr: Vec<u32> = (0..=n as u32).map(|i| 3 * i).collect();
        let ids: Vec<u32> = (0..n as u32).flat_map(|i| [i % 6, 6 + i % 7, 13 + i % 7]).collect();
        let x = CsrRef { ptr: &ptr, ids: &ids, values: None };
        let proposals = Proposals { by_words: 9, by_embedding: 6 };
        let names = FeatureMatrix::empty(d);
        let proposer = Proposer {
            proposals,
            associations: &associations,
            names: &names,
            labels: &labels,
            count: c,
            neighbors: None,
            held_out: None,
        };
        let found = proposer.propose(x, &h, &mut RankerMemory::new(c, None));
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
                assert!((c.association - words[c.label as usize].1).abs() < 1e-5);
                assert!((c.embedding - dots[c.label as usize].1).abs() < 1e-5);
            }
        }
    }
}
