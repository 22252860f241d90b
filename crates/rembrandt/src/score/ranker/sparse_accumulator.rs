//! [`SparseAccumulator`]: sums with a place for every column, of which few are touched.

use super::inverted_index::InvertedIndex;
use super::packed_matrix::PackedMatrix;
use crate::linalg::kernels::dots::Number;

/// Scores whose largest stands for them while the best of all are looked for, at most.
const BLOCK: usize = 64;

/// Sums with a place for every label, or every example.
#[derive(Debug)]
pub(crate) struct SparseAccumulator {
    sums: Vec<f32>,
    /// Columns whose sum may not be 0; some of them twice.
    touched: Vec<u32>,
}

impl SparseAccumulator {
    pub fn new(columns: usize) -> SparseAccumulator {
        SparseAccumulator { sums: vec![0.0; columns], touched: Vec::new() }
    }

    /// Adds the product of an example, given by its features and their values, with a matrix whose rows are features.
    pub fn add(&mut self, matrix: &PackedMatrix, ids: &[u32], values: &[f32]) {
        for (feature, value) in ids.iter().zip(values) {
            matrix.for_each(*feature as usize, |column, weight| self.add_to(column, value * weight));
        }
    }

    /// Adds a multiple of the values of a feature, in the examples that `keep` lets pass.
    #[inline(always)]
    pub fn add_examples(&mut self, index: &InvertedIndex, feature: u32, value: f32, keep: impl Fn(u32) -> bool) {
        let places = index.places(feature as usize);
        for (example, other) in index.examples[places.clone()].iter().zip(&index.values[places]) {
            if keep(*example) {
                self.add_to(*example, value * other.widen());
            }
        }
    }

    #[inline(always)]
    pub fn add_to(&mut self, column: u32, value: f32) {
        let sum = &mut self.sums[column as usize];
        if *sum == 0.0 {
            self.touched.push(column);
        }
        *sum += value;
    }

    pub fn of(&self, column: u32) -> f32 {
        self.sums[column as usize]
    }

    /// 0 where there are no places at all.
    pub fn of_some(&self, column: u32) -> f32 {
        self.sums.get(column as usize).copied().unwrap_or_default()
    }

    pub fn clear(&mut self) {
        self.touched.drain(..).for_each(|column| self.sums[column as usize] = 0.0);
    }

    /// Adds the product of an example with all others, where features are in many of them. Only
    /// [`take_largest_of_all`](SparseAccumulator::take_largest_of_all) finds these sums.
    pub fn add_all_examples(&mut self, index: &InvertedIndex, ids: &[u32], values: &[f32]) {
        for (feature, value) in ids.iter().zip(values) {
            let places = index.places(*feature as usize);
            for (example, other) in index.examples[places.clone()].iter().zip(&index.values[places]) {
                self.sums[*example as usize] += value * other.widen();
            }
        }
    }

    /// Takes all sums out, and returns the `most` largest of columns that `keep` lets pass, in any order.
    pub fn take_largest_of_all(&mut self, most: usize, keep: impl Fn(u32) -> bool) -> Vec<(u32, f32)> {
        (0u32..).zip(&mut self.sums).filter(|(column, _)| !keep(*column)).for_each(|(_, sum)| *sum = 0.0);
        let mut list = largest_scores(&self.sums, most);
        list.retain(|(_, sum)| *sum > 0.0);
        self.sums.fill(0.0);
        list
    }

    /// Takes all sums out, and returns the `most` largest of those that are at least `part` of the largest, in any order.
    pub fn take_largest(&mut self, most: usize, part: f32) -> Vec<(u32, f32)> {
        let (mut list, mut largest) = (Vec::new(), 0f32);
        for column in self.touched.drain(..) {
            // A column that is there twice is taken once: its sum is 0 the second time.
            let sum = std::mem::take(&mut self.sums[column as usize]);
            if sum > 0.0 && sum >= part * largest {
                largest = largest.max(sum);
                list.push((column, sum));
            }
        }
        list.retain(|(_, sum)| *sum >= part * largest);
        keep_largest(&mut list, most);
        list
    }

    /// The `most` largest sums above 0 of columns that `keep` lets pass, in any order. A column whose sum came back to 0 on
    /// the way may be there twice.
    pub fn largest(&self, most: usize, keep: impl Fn(u32) -> bool) -> Vec<(u32, f32)> {
        let sums = self.touched.iter().map(|column| (*column, self.sums[*column as usize]));
        let mut list: Vec<(u32, f32)> = sums.filter(|(column, sum)| *sum > 0.0 && keep(*column)).collect();
        keep_largest(&mut list, most);
        list
    }
}

/// The `most` largest scores, in any order; of equals the lower column.
pub(super) fn largest_scores(scores: &[f32], most: usize) -> Vec<(u32, f32)> {
    // The least of the `most` largest block maxima is a bar that the `most` largest scores reach.
    let block = (scores.len() / most.max(1)).clamp(1, BLOCK);
    let mut maxima: Vec<f32> =
        scores.chunks(block).map(|chunk| chunk.iter().copied().fold(f32::NEG_INFINITY, f32::max)).collect();
    let bar = match maxima.len() > most {
        true => *maxima.select_nth_unstable_by(most - 1, |a, b| b.total_cmp(a)).1,
        false => f32::NEG_INFINITY,
    };
    // NaN is kept, so that numbers that overflow lose no column.
    let high = scores.iter().enumerate().filter(|(_, score)| score.is_nan() || **score >= bar);
    let mut list: Vec<(u32, f32)> = high.map(|(column, score)| (column as u32, *score)).collect();
    keep_largest(&mut list, most);
    list
}

/// Keeps the `most` largest numbers, in any order; of equals those of the lower column.
pub(super) fn keep_largest(list: &mut Vec<(u32, f32)>, most: usize) {
    if list.len() > most {
        list.select_nth_unstable_by(most, |a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        list.truncate(most);
    }
}
