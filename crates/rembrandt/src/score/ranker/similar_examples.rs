//! [`SimilarExamples`]: votes of the training examples that are most similar to an example.
//!
//! ```text
//! similar(l)    =  Σᵢ sᵢ⁶ yᵢₗ / (1 + Σᵢ sᵢ⁶)                                   the 100 nearest examples i, with cosines sᵢ
//! nearest(l)  =  s₁ Σᵢ rᵢ yᵢₗ / Σᵢ rᵢ,    rᵢ = ((1.01 − s₁) / (1.01 − sᵢ))⁴      the 10 nearest
//! ```
//!
//! A linear scorer of single features knows no phrases, and where features are no words single ones say little. Examples
//! that are nearly the same know both. The two votes are for the two kinds of data: titles and names have many relatives at
//! middle distance; images have few that count, at distances which only compare with that of the nearest.
//!
//! The search goes through the lists of the features with the largest values, until the others together have a length of no
//! more than [`REST`]: an example that none of them leads to has a lower cosine than that. The cosines of the best by these
//! features are then completed. Where features are few every list is long, and all examples are compared in full.

use half::bf16;

use super::data::RankerData;
use super::inverted_index::InvertedIndex;
use super::sparse_accumulator::SparseAccumulator;
use crate::linalg::buffer::Buffer;
use crate::linalg::csr::{Columns, CsrRef};
use crate::linalg::kernels::dots::narrow;

/// Examples that vote, and those of them that are nearest.
const BROAD: usize = 100;
const NEAREST: usize = 10;
/// The length of what the search leaves out of an example of length 1.
const REST: f32 = 0.5;
/// The share of values that are not 0 above which all examples are compared in full.
const DENSE: f64 = 0.01;
/// An example whose cosine, as far as it was searched, is less than this part of the largest would count a 64th or less.
const FAR: f32 = 0.5;
/// Added to distances, so that equal examples are not infinitely near.
const NEAR: f32 = 0.01;
/// Examples that a search may come across on average; where it would be more examples do not vote.
const MOST_SEEN: f64 = 4e6;
/// Labels with the largest votes of each kind that become candidates.
pub(super) const BY_VOTES: usize = 20;

/// The training examples by their features, and their labels.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SimilarExamples {
    /// Values of examples of length 1.
    pub index: InvertedIndex,
    /// Where the labels of each example begin, and the end: n + 1.
    pub starts: Buffer<u64>,
    /// Labels of each example.
    pub labels: Buffer<u32>,
    /// Weights of the examples; empty where all are 1.
    pub weights: Buffer<f32>,
}

/// A training example, its cosine with another, and what it counts in the two votes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SimilarExample {
    pub example: u32,
    pub cosine: f32,
    pub similar: f32,
    pub nearest: f32,
}

impl SimilarExamples {
    /// The examples of `data` with weights above 0, whose rows have length 1.
    ///
    /// Nothing where a search would come across too many of them: a feature that df of n examples have leads a random one of
    /// these to df²/n others.
    pub fn new(data: RankerData<'_>) -> Option<SimilarExamples> {
        let columns = Columns::new(data.x, data.d);
        let seen: f64 = (0..data.d).map(|f| (columns.rows(f).len() as f64).powi(2)).sum();
        if seen > MOST_SEEN * data.x.rows() as f64 {
            return None;
        }
        let list = |f: usize| {
            let weighted = columns.entries(f).filter(|(i, _)| data.weight(*i) > 0.0);
            weighted.map(|(i, value)| (i as u32, narrow(value))).collect::<Vec<(u32, bf16)>>()
        };
        let index = InvertedIndex::new((0..data.d).map(list).collect());
        let (mut starts, mut labels) = (vec![0], Vec::with_capacity(data.y.nnz()));
        for i in 0..data.y.rows() {
            labels.extend_from_slice(data.y.row(i).0);
            starts.push(labels.len() as u64);
        }
        let weights = data.weights.map_or_else(Vec::new, <[f32]>::to_vec);
        Some(SimilarExamples { index, starts: starts.into(), labels: labels.into(), weights: weights.into() })
    }

    /// Number of examples.
    pub fn count(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Checks examples from a file, for `d` features and `c` labels.
    pub fn check(&self, d: usize, c: usize) -> Result<(), &'static str> {
        self.index.check(d, self.count())?;
        let ends = (self.starts.first(), self.starts.last());
        let fits = ends == (Some(&0), Some(&(self.labels.len() as u64))) && self.starts.is_sorted();
        if !fits || ![0, self.count()].contains(&self.weights.len()) {
            return Err("its ranker contradicts itself");
        }
        if self.labels.iter().any(|label| *label as usize >= c) {
            return Err("its ranker names labels or examples that it does not have, or one twice");
        }
        if self.weights.iter().any(|weight| !(weight.is_finite() && *weight >= 0.0)) {
            return Err("its ranker holds numbers that are not finite");
        }
        Ok(())
    }

    /// Whether features are so few that their lists are no help in leaving examples out: then all are compared in full.
    fn is_dense(&self) -> bool {
        let pairs = self.count() as f64 * (self.index.starts.len() - 1) as f64;
        self.index.examples.len() as f64 > DENSE * pairs
    }

    fn labels(&self, example: u32) -> &[u32] {
        let at = example as usize;
        &self.labels[self.starts[at] as usize..self.starts[at + 1] as usize]
    }

    /// The nearest of the examples that `keep` lets pass, best first, for an example of length 1. `sums` are empty, and have
    /// a place for each example. Cosines are completed from the examples by rows, where there are some.
    pub fn search(
        &self,
        ids: &[u32],
        values: &[f32],
        rows: Option<CsrRef<'_>>,
        sums: &mut SparseAccumulator,
        keep: impl Fn(u32) -> bool,
    ) -> Vec<SimilarExample> {
        let mut order: Vec<usize> = (0..ids.len()).collect();
        order.sort_unstable_by(|a, b| values[*b].abs().total_cmp(&values[*a].abs()).then(a.cmp(b)));
        let mut rest = 1.0;
        let mut used = 0;
        let mut found = if self.is_dense() {
            used = order.len();
            sums.add_all_examples(&self.index, ids, values);
            sums.take_largest_of_all(BROAD, &keep)
        } else {
            while used < order.len() && rest > REST * REST {
                let value = values[order[used]];
                sums.add_examples(&self.index, ids[order[used]], value, &keep);
                rest -= value * value;
                used += 1;
            }
            sums.take_largest(BROAD, FAR)
        };
        let mut rest: Vec<(u32, f32)> = order[used..].iter().map(|at| (ids[*at], values[*at])).collect();
        rest.sort_unstable_by_key(|(feature, _)| *feature);
        for (example, cosine) in &mut found {
            *cosine += match rows {
                Some(rows) => inner_product(&rest, rows.row(*example as usize)),
                None => rest.iter().map(|(feature, value)| value * self.index.value(*feature as usize, *example)).sum(),
            };
        }
        found.retain(|(_, cosine)| *cosine > 0.0);
        found.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        self.weigh(&found)
    }

    /// How much each of some examples counts.
    fn weigh(&self, found: &[(u32, f32)]) -> Vec<SimilarExample> {
        // Products and no powers: those may round otherwise on another machine.
        let square = |v: f32| v * v;
        // Rounded lengths may make a cosine a little larger than 1.
        let cosine = |cosine: f32| cosine.min(1.0);
        let weight = |example: u32| self.weights.get(example as usize).copied().unwrap_or(1.0);
        let first = found.first().map_or(0.0, |(_, first)| cosine(*first));
        let similar = |(example, s): &(u32, f32)| weight(*example) * square(cosine(*s) * square(cosine(*s)));
        let nearest = |(example, s): &(u32, f32)| {
            weight(*example) * square(square((1.0 + NEAR - first) / (1.0 + NEAR - cosine(*s))))
        };
        let all = 1.0 + found.iter().map(similar).sum::<f32>();
        let near = found.iter().take(NEAREST).map(nearest).sum::<f32>();
        let of = |(at, pair): (usize, &(u32, f32))| SimilarExample {
            example: pair.0,
            cosine: pair.1,
            similar: similar(pair) / all,
            nearest: if at < NEAREST && near > 0.0 { first * nearest(pair) / near } else { 0.0 },
        };
        found.iter().enumerate().map(of).collect()
    }

    /// Adds the votes for each label up.
    pub fn vote(&self, found: &[SimilarExample], similar: &mut SparseAccumulator, nearest: &mut SparseAccumulator) {
        for found in found {
            for label in self.labels(found.example) {
                similar.add_to(*label, found.similar);
                nearest.add_to(*label, found.nearest);
            }
        }
    }

    /// The part that each feature of an example has in the two votes for a label.
    pub fn shares(&self, found: &[SimilarExample], label: u32, ids: &[u32], values: &[f32]) -> Vec<[f32; 2]> {
        let mut shares = vec![[0.0; 2]; ids.len()];
        for found in found.iter().filter(|s| self.labels(s.example).contains(&label)) {
            for ((id, value), [similar, nearest]) in ids.iter().zip(values).zip(&mut shares) {
                let share = value * self.index.value(*id as usize, found.example) / found.cosine;
                *similar += share * found.similar;
                *nearest += share * found.nearest;
            }
        }
        shares
    }

    /// Bytes of `nnz` values and `labels` labels of n examples.
    pub fn bytes(n: u64, nnz: u64, labels: u64) -> u64 {
        6 * nnz + 8 * n + 4 * labels
    }
}

/// Σ over the features that both have.
fn inner_product(a: &[(u32, f32)], (ids, values): (&[u32], Option<&[f32]>)) -> f32 {
    let (mut sum, mut at) = (0.0, 0);
    for (feature, value) in a {
        while ids.get(at).is_some_and(|id| id < feature) {
            at += 1;
        }
        if ids.get(at) == Some(feature) {
            sum += value * values.map_or(1.0, |values| values[at]);
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::csr::Csr;
    use crate::score::ranker::data::unit_values;

    /// Rows in which two of `modulus` features occur.
    fn rows(n: usize, d: usize, modulus: usize) -> Csr {
        let mut x = Csr::new(false);
        let mut values = Vec::new();
        for i in 0..n {
            let ids: Vec<u32> = (0..d as u32)
                .filter(|f| (i % 97 * 31 + *f as usize * 17 + i % 7 * *f as usize) % modulus < 2)
                .collect();
            let raw: Vec<f32> = ids.iter().map(|f| ((i * 7 + *f as usize * 3) % 11) as f32 / 11.0 + 0.05).collect();
            unit_values((&ids, Some(&raw)), |v| v, &mut values);
            x.push_row(&ids, &values);
        }
        x
    }

    /// All cosines, by brute force, and the votes by the formulas of the head of this file.
    #[test]
    fn votes_are_those_of_brute_force() {
        // Few features, so that all examples are compared, and many, so that lists lead to some.
        for (d, modulus) in [(24, 5), (2000, 400)] {
            check_votes(d, modulus);
        }
    }

    fn check_votes(d: usize, modulus: usize) {
        let (n, c) = (300, 9);
        let x = rows(n, d, modulus);
        let mut y = Csr::new(true);
        for i in 0..n as u32 {
            y.push(i % c, 1.0);
            y.end_row();
        }
        let weights: Vec<f32> = (0..n).map(|i| [1.0, 0.5, 2.0, 0.0][i % 4]).collect();
        let data = RankerData { x: x.view(), y: y.view(), weights: Some(&weights), d, c: c as usize };
        let examples = SimilarExamples::new(data).unwrap();
        examples.check(d, c as usize).unwrap();
        assert_eq!(examples.is_dense(), d == 24);
        let mut with_similar = 0;
        let (mut sums, mut similar, mut nearest) =
            (SparseAccumulator::new(n), SparseAccumulator::new(c as usize), SparseAccumulator::new(c as usize));
        for i in 0..20 {
            let (ids, values) = x.view().row(i);
            let others = |e: u32| e as usize != i;
            let by_rows = examples.search(ids, values.unwrap(), Some(x.view()), &mut sums, others);
            let found = examples.search(ids, values.unwrap(), None, &mut sums, others);
            for (one, other) in by_rows.iter().zip(&found) {
                assert!((one.cosine - other.cosine).abs() < 0.01, "{i}: {one:?} {other:?}");
            }
            let dense = |i: usize| -> Vec<f64> {
                let mut out = vec![0.0; d];
                x.view().entries(i).for_each(|(f, v)| out[f] = f64::from(v));
                out
            };
            let own = dense(i);
            let mut all: Vec<(usize, f64)> = (0..n)
                .filter(|e| *e != i && weights[*e] > 0.0)
                .map(|e| (e, dense(e).iter().zip(&own).map(|(a, b)| a * b).sum()))
                .collect();
            all.sort_by(|a, b| b.1.total_cmp(&a.1));
            // The nearest are found for certain, and their cosines are whole but for the rounding of stored values.
            let certain = if examples.is_dense() { NEAREST } else { 1 };
            for (found, (_, cosine)) in found.iter().zip(&all).take(certain).filter(|(_, (_, s))| *s > 0.6) {
                assert!((f64::from(found.cosine) - cosine).abs() < 0.01, "{i}: {} for {cosine}", found.cosine);
            }
            let power = |s: f32, w: f32| f64::from(w) * f64::from(s.min(1.0)).powi(6);
            let total: f64 = 1.0 + found.iter().map(|f| power(f.cosine, weights[f.example as usize])).sum::<f64>();
            examples.vote(&found, &mut similar, &mut nearest);
            for label in 0..c {
                let of: f64 = found
                    .iter()
                    .filter(|f| f.example % c == label)
                    .map(|f| power(f.cosine, weights[f.example as usize]))
                    .sum();
                assert!((f64::from(similar.of(label)) - of / total).abs() < 1e-5);
            }
            if found.is_empty() {
                assert!(all.first().is_none_or(|(_, cosine)| *cosine < 0.6), "{i}");
                continue;
            }
            with_similar += 1;
            let votes: f32 = (0..c).map(|l| nearest.of(l)).sum();
            assert!((votes - found[0].cosine.min(1.0)).abs() < 1e-5);
            let label = found[0].example % c;
            let shares = examples.shares(&found, label, ids, values.unwrap());
            let sum = |at: usize| shares.iter().map(|share| share[at]).sum::<f32>();
            assert!((sum(0) - similar.of(label)).abs() < 1e-4 && (sum(1) - nearest.of(label)).abs() < 1e-4);
            similar.clear();
            nearest.clear();
        }
        assert!(with_similar > 15, "{with_similar}");
    }

    #[test]
    fn an_example_without_features_has_no_similar_ones() {
        let x = rows(10, 6, 5);
        let mut y = Csr::new(true);
        (0..10).for_each(|_| y.end_row());
        let data = RankerData { x: x.view(), y: y.view(), weights: None, d: 6, c: 1 };
        assert!(
            SimilarExamples::new(data)
                .unwrap()
                .search(&[], &[], None, &mut SparseAccumulator::new(10), |_| true)
                .is_empty()
        );
    }
}
