//! The functions that logistic heads minimise, and their gradients.
//!
//! With scores s = Wz for the inputs z of an example of weight w,
//!
//! ```text
//! independent:  Σᵢ wᵢ Σₗ vₗ (log(1 + exp sᵢₗ) − tᵢₗ sᵢₗ)             + ½ρ Σ‖W without its constant‖²
//! softmax:      Σᵢ wᵢ (Tᵢ log Σₗ exp sᵢₗ − Σₗ tᵢₗ sᵢₗ),  Tᵢ = Σₗ tᵢₗ   + the same
//! ```
//!
//! where v are weights of the labels and the targets t = keep·y + offset are the labels, smoothed. Under softmax an example
//! with several labels counts once for each of them, with the weight of the label, and one without labels does not count.
//!
//! Rows go through in blocks. Scores and residuals of a block are computed strip by strip, and then every tile of the
//! gradient adds its share of the block to its `f64` sum: no two tasks write the same number, and each number is
//! added up in the order of the blocks, so that the bytes do not depend on threads.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, Par};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::inputs::{Inputs, STRIP};
use crate::linalg::csr::CsrRef;
use crate::linalg::kernels::elementwise::{sigmoid_minus, softmax_minus};
use crate::linalg::matrix::Matrix;
use crate::{Error, Result};

/// Rows of a block.
const BLOCK: usize = 16 * STRIP;
/// Labels of a tile of the gradient. Fewer would be more often copied than multiplied.
const TILE_ROWS: usize = 256;
/// Inputs of a tile of the gradient.
const TILE_COLS: usize = 512;
/// Marks a label that is not among those looked at.
const ABSENT: u32 = u32::MAX;

/// The kind of probabilities that a logistic head predicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Loss {
    /// One label of all (LR): probabilities sum to 1.
    Softmax,
    /// Each label by itself (ILR): an example may have any number of labels.
    Independent,
}

/// The labels that a head learns, and what each of them counts.
#[derive(Clone, Copy, Debug)]
pub struct Targets<'a> {
    /// Labels of each example.
    pub labels: CsrRef<'a>,
    /// Number of labels (c).
    pub count: usize,
    /// Weight of each example; absent when all are 1.
    pub example_weights: Option<&'a [f32]>,
    /// Weight of each label; absent when all are 1.
    pub label_weights: Option<&'a [f32]>,
}

impl Targets<'_> {
    /// Refuses what does not fit `n` rows of inputs, or is not a weight.
    pub(crate) fn check(&self, n: usize) -> Result<()> {
        if n == 0 {
            return Err(Error::Data("the data have no examples".into()));
        }
        if self.labels.rows() != n || self.example_weights.is_some_and(|w| w.len() != n) {
            return Err(Error::Data("inputs, labels and weights have different numbers of rows".into()));
        }
        let bad = |w: &[f32]| w.iter().any(|w| !w.is_finite() || *w < 0.0);
        if self.label_weights.is_some_and(|v| v.len() != self.count || bad(v)) {
            return Err(Error::Data("each label needs a weight that is finite and not negative".into()));
        }
        if self.example_weights.is_some_and(bad) {
            return Err(Error::Data("weights of examples must be finite and not negative".into()));
        }
        Ok(())
    }

    pub(crate) fn example_weight(&self, i: usize) -> f32 {
        self.example_weights.map_or(1.0, |w| w[i])
    }

    pub(crate) fn label_weight(&self, label: usize) -> f32 {
        self.label_weights.map_or(1.0, |v| v[label])
    }

    /// The weight of the probabilities of an example.
    pub(crate) fn mass(&self, i: usize, loss: Loss) -> f32 {
        let weight = self.example_weight(i);
        match loss {
            Loss::Independent => weight,
            Loss::Softmax => weight * self.labels.entries(i).map(|(l, v)| v * self.label_weight(l)).sum::<f32>(),
        }
    }

    /// Σw of the examples, and of each label Σw over the examples that have it.
    pub(crate) fn totals(&self) -> (f64, Vec<f64>) {
        let mut totals = vec![0.0; self.count];
        let mut all = 0.0;
        for i in 0..self.labels.rows() {
            let weight = f64::from(self.example_weight(i));
            all += weight;
            self.labels.entries(i).for_each(|(label, value)| totals[label] += weight * f64::from(value));
        }
        (all, totals)
    }
}

/// One of the functions above.
pub(crate) struct Objective<'a> {
    pub inputs: Inputs<'a>,
    pub targets: Targets<'a>,
    pub loss: Loss,
    /// ρ.
    pub rho: f64,
    /// The target of a label is this if an example has it, plus the label's offset.
    pub keep: f32,
    /// The part of the target of each label that does not depend on the example.
    pub offset: &'a [f32],
}

impl Objective<'_> {
    /// The gradient for some labels, whose weights are the rows of `weights`: a column for each of them. Softmax needs
    /// all labels.
    pub fn gradient(&self, labels: &[u32], weights: &Matrix) -> Mat<f64> {
        let (width, count) = (self.inputs.width(), labels.len());
        assert_eq!((weights.rows(), weights.cols()), (count, width), "sizes do not fit");
        let mut sum = tiles(count, width);
        let scope = LabelTerms::new(self, labels);
        let rows = BLOCK.min(self.inputs.rows());
        let (mut z, mut residuals) = (vec![0f32; rows * width], vec![0f32; rows * count]);
        for start in (0..self.inputs.rows()).step_by(BLOCK) {
            let rows = BLOCK.min(self.inputs.rows() - start);
            let (z, residuals) = (&mut z[..rows * width], &mut residuals[..rows * count]);
            let strips = z.par_chunks_mut(STRIP * width).zip(residuals.par_chunks_mut(STRIP * count));
            strips.enumerate().for_each(|(strip, (z, residuals))| {
                let from = start + strip * STRIP;
                self.inputs.write(from, z);
                scores(z, weights, residuals);
                residuals.chunks_mut(count).enumerate().for_each(|(i, row)| scope.residual(from + i, row));
            });
            accumulate(&mut sum, residuals, count, z, width);
        }
        let mut gradient = assemble(&sum, count, width);
        for i in 0..count {
            for (j, weight) in weights.row(i)[..width - 1].iter().enumerate() {
                gradient[(j, i)] += self.rho * f64::from(*weight);
            }
        }
        gradient
    }

    /// Σᵢ wᵢ tᵢₗ zᵢ of each label, times its weight, in columns: the part of the gradient that does not depend on the
    /// weights, with its sign changed.
    pub fn statistic(&self, labels: &[u32]) -> Mat<f64> {
        let (width, count) = (self.inputs.width(), labels.len());
        let mut sum = tiles(count, width);
        let scope = LabelTerms::new(self, labels);
        let mut all = vec![0.0; width];
        let rows = BLOCK.min(self.inputs.rows());
        let mut z = vec![0f32; rows * width];
        for start in (0..self.inputs.rows()).step_by(BLOCK) {
            let rows = BLOCK.min(self.inputs.rows() - start);
            let z = &mut z[..rows * width];
            z.par_chunks_mut(STRIP * width)
                .enumerate()
                .for_each(|(strip, z)| self.inputs.write(start + strip * STRIP, z));
            sum.par_iter_mut().for_each(|tile| scope.add_labels(start, z, width, tile));
            for (i, z) in z.chunks(width).enumerate() {
                let mass = f64::from(self.targets.mass(start + i, self.loss));
                all.iter_mut().zip(z).for_each(|(sum, z)| *sum += mass * f64::from(*z));
            }
        }
        let mut statistic = assemble(&sum, count, width);
        for i in 0..count {
            let share = scope.share(i);
            all.iter().enumerate().for_each(|(j, all)| statistic[(j, i)] += share * all);
        }
        statistic
    }

    /// The value for each of some labels or, under softmax, of all together. Slow and exact: for tests and reports.
    #[cfg(test)]
    pub fn value(&self, labels: &[u32], weights: &Matrix) -> f64 {
        let width = self.inputs.width();
        let mut total = 0.0;
        for i in 0..labels.len() {
            total += 0.5 * self.rho * weights.row(i)[..width - 1].iter().map(|v| f64::from(*v).powi(2)).sum::<f64>();
        }
        let mut z = vec![0f32; width];
        for i in 0..self.inputs.rows() {
            self.inputs.write(i, &mut z);
            let dot = |w: &[f32]| w.iter().zip(&z).map(|(w, z)| f64::from(*w) * f64::from(*z)).sum::<f64>();
            let scores: Vec<f64> = (0..labels.len()).map(|l| dot(weights.row(l))).collect();
            let weight = f64::from(self.targets.example_weight(i));
            let label = |l: u32| {
                let held = self.targets.labels.entries(i).find(|(id, _)| *id == l as usize).map_or(0.0, |(_, v)| v);
                f64::from(held)
            };
            let value = |l: u32| f64::from(self.targets.label_weight(l as usize));
            let keep = f64::from(self.keep);
            let offset = |l: u32| f64::from(self.offset[l as usize]);
            match self.loss {
                Loss::Independent => {
                    for (l, s) in labels.iter().zip(&scores) {
                        let target = keep * label(*l) + offset(*l);
                        let softplus = s.max(0.0) + (-s.abs()).exp().ln_1p();
                        total += weight * value(*l) * (softplus - target * s);
                    }
                }
                Loss::Softmax => {
                    let mass: f64 = labels.iter().map(|l| value(*l) * label(*l)).sum();
                    let max = scores.iter().fold(f64::NEG_INFINITY, |a, b| a.max(*b));
                    let log = max + scores.iter().map(|s| (s - max).exp()).sum::<f64>().ln();
                    total += weight * mass * log;
                    for (l, s) in labels.iter().zip(&scores) {
                        let target = keep * value(*l) * label(*l) + mass * offset(*l);
                        total -= weight * target * s;
                    }
                }
            }
        }
        total
    }
}

/// The terms of a set of labels that are the same for every row.
struct LabelTerms<'a> {
    objective: &'a Objective<'a>,
    /// Where a label stands among those looked at.
    place: Vec<u32>,
    /// The part of the target that does not depend on the example.
    offset: Vec<f32>,
    label_weights: Vec<f32>,
}

impl<'a> LabelTerms<'a> {
    fn new(objective: &'a Objective<'a>, labels: &[u32]) -> LabelTerms<'a> {
        let mut place = vec![ABSENT; objective.targets.count];
        labels.iter().enumerate().for_each(|(i, label)| place[*label as usize] = i as u32);
        let offset = labels.iter().map(|l| objective.offset[*l as usize]).collect();
        let label_weights = labels.iter().map(|l| objective.targets.label_weight(*l as usize)).collect();
        LabelTerms { objective, place, offset, label_weights }
    }

    /// The share of a label's offset in the target, for each unit of mass.
    fn share(&self, place: usize) -> f64 {
        let weight = match self.objective.loss {
            Loss::Independent => self.label_weights[place],
            Loss::Softmax => 1.0,
        };
        f64::from(weight * self.offset[place])
    }

    /// Adds the inputs of rows from `start` on to the sums of their labels, as far as these are in the tile.
    fn add_labels(&self, start: usize, z: &[f32], width: usize, tile: &mut Tile) {
        let Objective { targets, keep, .. } = self.objective;
        for (i, z) in z.chunks(width).enumerate() {
            let weight = targets.example_weight(start + i);
            for (label, value) in targets.labels.entries(start + i) {
                let row = (self.place[label] as usize).wrapping_sub(tile.row);
                if let Some(sum) = tile.sum.chunks_mut(tile.cols).nth(row) {
                    let factor = f64::from(weight * self.label_weights[tile.row + row] * keep * value);
                    let z = &z[tile.col..tile.col + tile.cols];
                    sum.iter_mut().zip(z).for_each(|(sum, z)| *sum += factor * f64::from(*z));
                }
            }
        }
    }

    /// Turns the scores of an example into the derivative of the function by them.
    fn residual(&self, i: usize, row: &mut [f32]) {
        let Objective { targets, loss, keep, .. } = self.objective;
        let (weight, mass) = (targets.example_weight(i), targets.mass(i, *loss));
        match loss {
            Loss::Independent => {
                sigmoid_minus(row, &self.offset, &self.label_weights);
                if mass != 1.0 {
                    row.iter_mut().for_each(|v| *v *= mass);
                }
            }
            Loss::Softmax => softmax_minus(row, &self.offset, mass),
        }
        for (label, value) in targets.labels.entries(i) {
            let place = self.place[label];
            if place != ABSENT {
                let place = place as usize;
                row[place] -= weight * self.label_weights[place] * keep * value;
            }
        }
    }
}

/// A part of a large product that one task adds to.
pub(crate) struct Tile {
    pub row: usize,
    pub col: usize,
    pub cols: usize,
    pub sum: Vec<f64>,
}

/// Zeros, as tiles of a matrix of `rows` rows and `cols` columns.
pub(crate) fn tiles(rows: usize, cols: usize) -> Vec<Tile> {
    let corners = (0..rows).step_by(TILE_ROWS).flat_map(|row| (0..cols).step_by(TILE_COLS).map(move |col| (row, col)));
    corners
        .map(|(row, col)| {
            let (height, cols) = (TILE_ROWS.min(rows - row), TILE_COLS.min(cols - col));
            Tile { row, col, cols, sum: vec![0.0; height * cols] }
        })
        .collect()
}

/// The transpose of the matrix that the tiles are parts of.
pub(crate) fn assemble(tiles: &[Tile], rows: usize, cols: usize) -> Mat<f64> {
    let mut whole = Mat::zeros(cols, rows);
    for tile in tiles {
        for (i, row) in tile.sum.chunks(tile.cols).enumerate() {
            let column = whole.col_as_slice_mut(tile.row + i);
            column[tile.col..tile.col + tile.cols].copy_from_slice(row);
        }
    }
    whole
}

/// Adds aᵀb, where a and b are some rows, to the tiles. Sums of one block are taken in `f32`.
pub(crate) fn accumulate(tiles: &mut [Tile], a: &[f32], a_cols: usize, b: &[f32], b_cols: usize) {
    let rows = a.len() / a_cols.max(1);
    let a = faer::MatRef::from_row_major_slice(a, rows, a_cols);
    let b = faer::MatRef::from_row_major_slice(b, rows, b_cols);
    tiles.par_iter_mut().for_each(|tile| {
        let height = tile.sum.len() / tile.cols;
        let mut product = vec![0f32; tile.sum.len()];
        let left = a.subcols(tile.row, height).transpose();
        let right = b.subcols(tile.col, tile.cols);
        let to = faer::MatMut::from_row_major_slice_mut(&mut product, height, tile.cols);
        matmul(to, Accum::Replace, left, right, 1.0, Par::Seq);
        tile.sum.iter_mut().zip(&product).for_each(|(sum, p)| *sum += f64::from(*p));
    });
}

/// out ← z·weightsᵀ for some rows. One thread.
pub(crate) fn scores(z: &[f32], weights: &Matrix, out: &mut [f32]) {
    let (count, width) = (weights.rows(), weights.cols());
    let rows = z.len() / width;
    let z = faer::MatRef::from_row_major_slice(z, rows, width);
    let w = faer::MatRef::from_row_major_slice(weights.as_slice(), count, width);
    let out = faer::MatMut::from_row_major_slice_mut(out, rows, count);
    matmul(out, Accum::Replace, z, w.transpose(), 1.0, Par::Seq);
}
