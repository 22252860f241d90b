//! [`Proposer`]: the labels that an example could have.

use super::{FeatureLabelMatrix, Proposals, Views, unit_values};
use crate::linalg::csr::CsrRef;
use crate::linalg::kernels::dots::Number;
use crate::linalg::matrix::Matrix;
use crate::linalg::table::Table;

/// Labels whose largest score stands for them while the best of all are looked for, at most.
const BLOCK: usize = 64;
/// Candidates whose names have words of the example, at most.
const BY_NAMES: usize = 20;

/// Sums over the features of an example, with a place for every label.
pub(crate) struct LabelSums {
    sums: Vec<f32>,
    /// Labels whose sum may not be 0; some of them twice.
    touched: Vec<u32>,
}

impl LabelSums {
    pub fn new(c: usize) -> LabelSums {
        LabelSums { sums: vec![0.0; c], touched: Vec::new() }
    }

    /// Adds the product of an example, given by its features and their values, with a matrix.
    pub fn add(&mut self, matrix: &FeatureLabelMatrix, ids: &[u32], values: &[f32]) {
        for (feature, value) in ids.iter().zip(values) {
            let places = matrix.places(*feature as usize);
            for (label, weight) in matrix.labels[places.clone()].iter().zip(&matrix.weights[places]) {
                let sum = &mut self.sums[*label as usize];
                if *sum == 0.0 {
                    self.touched.push(*label);
                }
                *sum += value * weight.widen();
            }
        }
    }

    pub fn of(&self, label: u32) -> f32 {
        self.sums[label as usize]
    }

    pub fn clear(&mut self) {
        self.touched.drain(..).for_each(|label| self.sums[label as usize] = 0.0);
    }

    /// The `most` largest sums above 0, in any order. A label whose sum came back to 0 on the way may be there twice.
    fn largest(&self, most: usize) -> Vec<(u32, f32)> {
        let sums = self.touched.iter().map(|label| (*label, self.sums[*label as usize]));
        let mut list: Vec<(u32, f32)> = sums.filter(|(_, sum)| *sum > 0.0).collect();
        keep_largest(&mut list, most);
        list
    }
}

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
}

impl Candidate {
    /// All views of the label.
    pub fn views(&self, one_vs_rest: f32, log_count: f32) -> Views {
        Views { one_vs_rest, association: self.association, embedding: self.embedding, name: self.name, log_count }
    }
}

/// Finds the labels that examples could have: the best by words, by names and by the embedding.
pub(crate) struct Proposer<'a> {
    pub proposals: Proposals,
    pub associations: &'a FeatureLabelMatrix,
    /// m.
    pub names: &'a FeatureLabelMatrix,
    /// E.
    pub labels: &'a Table,
    /// Rows of E that may be proposed: those that were trained.
    pub count: usize,
}

impl Proposer<'_> {
    /// The candidates of some examples, whose projections are the rows of `h`; ascending.
    pub fn propose(&self, x: CsrRef<'_>, h: &Matrix, sums: &mut LabelSums) -> Vec<Vec<Candidate>> {
        let by_embedding = (self.proposals.by_embedding as usize).min(self.count);
        let mut scan = vec![0.0; if by_embedding > 0 { h.rows() * self.count } else { 0 }];
        if by_embedding > 0 && h.rows() > 0 {
            self.labels.dots(h.as_slice(), 0..self.count, &mut scan);
        }
        let mut found = Vec::with_capacity(x.rows());
        let mut values = Vec::new();
        for i in 0..x.rows() {
            let ids = x.row(i).0;
            unit_values(x.row(i), |value| value, &mut values);
            sums.add(self.names, ids, &values);
            let named = sums.largest(BY_NAMES);
            sums.clear();
            sums.add(self.associations, ids, &values);
            let by_words = sums.largest(self.proposals.by_words as usize);
            let mut labels: Vec<u32> = named.iter().chain(&by_words).map(|(label, _)| *label).collect();
            let scanned = (by_embedding > 0).then(|| &scan[i * self.count..(i + 1) * self.count]);
            if let Some(scores) = scanned {
                labels.extend(largest_scores(scores, by_embedding).into_iter().map(|(label, _)| label));
            }
            labels.sort_unstable();
            labels.dedup();
            let embedding = |label: u32| scanned.map_or_else(|| self.dot(h.row(i), label), |s| s[label as usize]);
            let candidate =
                |label| Candidate { label, association: sums.of(label), embedding: embedding(label), name: 0.0 };
            let mut candidates: Vec<Candidate> = labels.into_iter().map(candidate).collect();
            sums.clear();
            self.add_names(ids, &values, &mut candidates, sums);
            found.push(candidates);
        }
        found
    }

    /// The same views of given labels.
    pub fn look_up(&self, x: CsrRef<'_>, h: &Matrix, ids: &[u32], sums: &mut LabelSums) -> Vec<Vec<Candidate>> {
        let mut values = Vec::new();
        let of_row = |i: usize| {
            let features = x.row(i).0;
            unit_values(x.row(i), |value| value, &mut values);
            sums.add(self.associations, features, &values);
            let candidate = |label: &u32| Candidate {
                label: *label,
                association: sums.of(*label),
                embedding: self.dot(h.row(i), *label),
                name: 0.0,
            };
            let mut found: Vec<Candidate> = ids.iter().map(candidate).collect();
            sums.clear();
            self.add_names(features, &values, &mut found, sums);
            found
        };
        (0..x.rows()).map(of_row).collect()
    }

    fn add_names(&self, features: &[u32], values: &[f32], candidates: &mut [Candidate], sums: &mut LabelSums) {
        if !self.names.labels.is_empty() {
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

/// The `most` largest scores, in any order; of equals the lower label.
fn largest_scores(scores: &[f32], most: usize) -> Vec<(u32, f32)> {
    // The least of the `most` largest block maxima is a bar that the `most` largest scores reach.
    let block = (scores.len() / most.max(1)).clamp(1, BLOCK);
    let mut maxima: Vec<f32> =
        scores.chunks(block).map(|chunk| chunk.iter().copied().fold(f32::NEG_INFINITY, f32::max)).collect();
    let bar = match maxima.len() > most {
        true => *maxima.select_nth_unstable_by(most - 1, |a, b| b.total_cmp(a)).1,
        false => f32::NEG_INFINITY,
    };
    // What is no number is kept, so that numbers that overflow lose no label.
    let high = scores.iter().enumerate().filter(|(_, score)| score.is_nan() || **score >= bar);
    let mut list: Vec<(u32, f32)> = high.map(|(label, score)| (label as u32, *score)).collect();
    keep_largest(&mut list, most);
    list
}

fn keep_largest(list: &mut Vec<(u32, f32)>, most: usize) {
    if list.len() > most {
        list.select_nth_unstable_by(most, |a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        list.truncate(most);
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
        let associations = FeatureLabelMatrix::from_lists(lists.map(Iterator::collect).collect());
        let labels: Table = Matrix::from_fn(c, k, |i, j| number(i, j) - 0.5).into();
        let h = Matrix::from_fn(n, k, |i, j| number(j, i) - 0.5);
        let ptr: Vec<u32> = (0..=n as u32).map(|i| 3 * i).collect();
        let ids: Vec<u32> = (0..n as u32).flat_map(|i| [i % 6, 6 + i % 7, 13 + i % 7]).collect();
        let x = CsrRef { ptr: &ptr, ids: &ids, values: None };
        let proposals = Proposals { by_words: 9, by_embedding: 6 };
        let names = FeatureLabelMatrix::empty(d);
        let proposer = Proposer { proposals, associations: &associations, names: &names, labels: &labels, count: c };
        let found = proposer.propose(x, &h, &mut LabelSums::new(c));
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
