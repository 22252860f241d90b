//! Orthogonal matching pursuit: a few rows of the embedding whose weighted sum is h.
//!
//! An example with labels S lands, if the regression is perfect, at the sum of their rows, h = Σₗ eₗ over S. The pursuit
//! [1, 2] goes the other way. Of all labels it takes the one whose row has the largest inner product with what is left of
//! h, finds the weights with which the rows taken so far come closest to h, subtracts that, and goes on with the rest.
//! When the rows are random and long enough, that finds S exactly. Labels are there or not, and never less than not, so a
//! row that only a negative weight would make useful is not taken.
//!
//! A label that was taken scores its weight. The others are ranked below these, by the inner product of their rows with
//! the rest: whoever asks for more labels than were taken shall get the next best.
//!
//! 1. Y. C. Pati, R. Rezaiifar, P. S. Krishnaprasad: Orthogonal matching pursuit. Asilomar Conference on Signals, Systems
//!    and Computers, 1993.
//! 2. D. Hsu, S. M. Kakade, J. Langford, T. Zhang: Multi-label prediction via compressed sensing. Advances in Neural
//!    Information Processing Systems 22, 2009.

use std::borrow::Cow;
use std::ops::Range;

use rayon::prelude::*;

use crate::linalg::kernels::dots::dots;
use crate::linalg::matrix::Matrix;

/// Rows of the embedding multiplied at a time.
const TILE: usize = 256;
/// The least inner product of the residual of h with a row, relative to h and the row.
const NOTHING: f64 = 1e-5;
/// A row counts as a combination of others when less than this fraction of its square is its own.
const DEPENDENT: f64 = 1e-6;
/// How far below the labels that were taken the others begin, relative to their scores.
const GAP: f32 = 1e-4;

/// The rows to choose from.
pub(crate) trait Dictionary: Sync {
    /// How many there are.
    fn count(&self) -> usize;
    /// One of them.
    fn row(&self, label: usize) -> Cow<'_, [f32]>;
    /// out ← A·Bᵀ, where B are some of the rows.
    fn multiply(&self, a: &[f32], labels: Range<usize>, out: &mut [f32]);
}

impl Dictionary for Matrix {
    fn count(&self) -> usize {
        self.rows()
    }

    fn row(&self, label: usize) -> Cow<'_, [f32]> {
        self.row(label).into()
    }

    fn multiply(&self, a: &[f32], labels: Range<usize>, out: &mut [f32]) {
        let rows = &self.as_slice()[labels.start * self.cols()..labels.end * self.cols()];
        dots(a, rows, self.cols(), out);
    }
}

/// The result of a pursuit for some examples.
#[derive(Debug)]
pub(crate) struct Pursuit {
    examples: Vec<ActiveSet>,
    /// The residuals of h, a row for each example.
    pub rest: Matrix,
}

impl Pursuit {
    /// Goes after the rows of `h`, with at most `atoms` labels for each.
    pub fn new(rows: &dyn Dictionary, h: &Matrix, atoms: usize) -> Pursuit {
        let square = |row: &[f32]| row.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>();
        let mut examples: Vec<ActiveSet> = (0..h.rows())
            .map(|i| ActiveSet { floor: NOTHING * square(h.row(i)).sqrt(), ..ActiveSet::default() })
            .collect();
        let mut rest = h.clone();
        for _ in 0..atoms.min(h.cols()).min(rows.count()) {
            let best = best(rows, &rest, &examples);
            let width = h.cols();
            let each = examples.par_iter_mut().zip(best).zip(rest.as_mut_slice().par_chunks_mut(width)).enumerate();
            each.for_each(|(i, ((example, best), rest))| example.take(rows, best, h.row(i), rest));
            if examples.iter().all(|example| example.done) {
                break;
            }
        }
        let next = best(rows, &rest, &examples);
        examples.iter_mut().zip(next).for_each(|(example, next)| example.shift_others(next));
        Pursuit { examples, rest }
    }

    /// The score of a label of an example, given the inner product of its row with what is left.
    pub fn score(&self, example: usize, label: u32, product: f32) -> f32 {
        let example = &self.examples[example];
        match example.labels.iter().position(|taken| *taken == label) {
            Some(at) => example.weights[at] as f32,
            None => product + example.shift,
        }
    }
}

/// The label whose row has the largest inner product with what is left of each example, of those not taken; of equals
/// the lower one.
fn best(rows: &dyn Dictionary, rest: &Matrix, examples: &[ActiveSet]) -> Vec<Option<(u32, f32)>> {
    let count = rows.count();
    let tile = |tile: usize| {
        let labels = tile * TILE..count.min((tile + 1) * TILE);
        let mut products = vec![0.0; rest.rows() * labels.len()];
        rows.multiply(rest.as_slice(), labels.clone(), &mut products);
        let of = |(row, example): (&[f32], &ActiveSet)| {
            let free = labels.clone().map(|label| label as u32).zip(row.iter().copied());
            larger(free.filter(|(label, v)| v.is_finite() && !example.labels.contains(label)))
        };
        products.chunks(labels.len()).zip(examples).map(of).collect::<Vec<_>>()
    };
    let tiles: Vec<Vec<Option<(u32, f32)>>> = (0..count.div_ceil(TILE)).into_par_iter().map(tile).collect();
    (0..rest.rows()).map(|i| larger(tiles.iter().filter_map(|tile| tile[i]))).collect()
}

/// The first of the largest.
fn larger(pairs: impl Iterator<Item = (u32, f32)>) -> Option<(u32, f32)> {
    pairs.reduce(|best, pair| if pair.1 > best.1 { pair } else { best })
}

/// The labels taken for one example, and the Cholesky factor of the inner products of their rows.
#[derive(Clone, Debug, Default)]
struct ActiveSet {
    labels: Vec<u32>,
    rows: Vec<Vec<f32>>,
    /// Lower triangle, row by row.
    factor: Vec<Vec<f64>>,
    /// Inner products of the rows with h.
    products: Vec<f64>,
    weights: Vec<f64>,
    /// The least inner product with what is left, for a row of length 1, that is worth while.
    floor: f64,
    /// Added to the inner products of labels that were not taken.
    shift: f32,
    done: bool,
}

impl ActiveSet {
    /// Takes a label, unless nothing is to be gained, and leaves in `rest` what remains of `h`.
    fn take(&mut self, rows: &dyn Dictionary, best: Option<(u32, f32)>, h: &[f32], rest: &mut [f32]) {
        let Some((label, product)) = best.filter(|_| !self.done) else {
            self.done = true;
            return;
        };
        let row = rows.row(label as usize).into_owned();
        let square = inner(&row, &row);
        // L w = (inner products with the rows before), by substitution.
        let mut factor: Vec<f64> = Vec::with_capacity(self.rows.len() + 1);
        for (known, before) in self.rows.iter().zip(&self.factor) {
            let (diagonal, left) = before.split_last().expect("every row has a diagonal");
            let sum: f64 = left.iter().zip(&factor).map(|(a, b)| a * b).sum();
            factor.push((inner(known, &row) - sum) / diagonal);
        }
        let own = square - factor.iter().map(|v| v * v).sum::<f64>();
        let worth = f64::from(product) > self.floor * square.sqrt() && own > DEPENDENT * square;
        if !worth {
            self.done = true;
            return;
        }
        factor.push(own.sqrt());
        self.factor.push(factor);
        self.products.push(inner(&row, h));
        self.labels.push(label);
        self.rows.push(row);
        self.weights = self.solved();
        for (j, rest) in rest.iter_mut().enumerate() {
            let sum: f64 = self.rows.iter().zip(&self.weights).map(|(row, w)| w * f64::from(row[j])).sum();
            *rest = (f64::from(h[j]) - sum) as f32;
        }
    }

    /// The weights with which the rows come closest to h.
    fn solved(&self) -> Vec<f64> {
        let mut x = self.products.clone();
        for i in 0..x.len() {
            let sum: f64 = (0..i).map(|j| self.factor[i][j] * x[j]).sum();
            x[i] = (x[i] - sum) / self.factor[i][i];
        }
        for i in (0..x.len()).rev() {
            let sum: f64 = (i + 1..x.len()).map(|j| self.factor[j][i] * x[j]).sum();
            x[i] = (x[i] - sum) / self.factor[i][i];
        }
        x
    }

    /// Puts the others below those that were taken, given the best of the others.
    fn shift_others(&mut self, next: Option<(u32, f32)>) {
        let least = self.weights.iter().fold(f64::INFINITY, |least, w| least.min(*w)) as f32;
        if let Some((_, next)) = next.filter(|_| !self.weights.is_empty()) {
            let gap = GAP * (least.abs() + next.abs()) + f32::MIN_POSITIVE;
            self.shift = (least - next - gap).min(0.0);
        }
    }
}

fn inner(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
}

#[cfg(test)]
mod tests;
