//! Gradients of logistic heads, estimated on some of the labels.
//!
//! The functions are those of `objective.rs` without smoothing. Some rows of one region look at a [`LabelSample`] of the labels,
//! whose members stand for 1/π labels each:
//!
//! ```text
//! independent:  Σᵢ wᵢ Σₗ vₗ ((1/πₗ) log(1 + exp sᵢₗ) − yᵢₗ sᵢₗ)
//! softmax:      Σᵢ wᵢ (Tᵢ log Σₗ (1/πₗ) exp sᵢₗ − Σₗ yᵢₗ sᵢₗ)
//! ```
//!
//! Labels that the rows have are in the subset and stand for themselves. The gradient is right on average for independent
//! labels; under softmax the sum inside the logarithm is, and its gradient nearly so when likely labels were drawn.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, Par};
use rayon::prelude::*;

use super::inputs::Inputs;
use super::label_sample::LabelSample;
use super::objective::{Loss, Targets, scores};
use crate::linalg::kernels::elementwise::{exp_sum, sigmoid_minus, softmax_minus};
use crate::linalg::matrix::Matrix;

/// Labels of one task.
const BLOCK: usize = 512;

/// The objective whose gradients are estimated.
pub(crate) struct Estimate<'a> {
    pub inputs: Inputs<'a>,
    pub targets: Targets<'a>,
    pub loss: Loss,
    /// The factor of rows of inputs: weights belong to the result.
    pub coordinates: Mat<f32>,
}

impl Estimate<'_> {
    /// Some rows of the inputs, in the coordinates of the weights.
    pub fn rows(&self, rows: &[u32]) -> Vec<f32> {
        let width = self.inputs.width();
        let mut z = vec![0f32; rows.len() * width];
        z.chunks_mut(width).zip(rows).for_each(|(z, row)| self.inputs.write(*row as usize, z));
        let mut out = vec![0f32; z.len()];
        multiply(&z, self.coordinates.as_ref(), &mut out);
        out
    }

    /// How much every label adds to the gradient at the rows of each of some parts: the root of the mean square of its
    /// probabilities there. The weights of all labels are read once for all parts.
    pub fn sizes(&self, weights: &Matrix, parts: &[&[u32]]) -> Vec<Vec<f32>> {
        let (count, width) = (weights.rows(), weights.cols());
        let rows = parts.concat();
        let z = self.rows(&rows);
        // Labels in blocks, and in each of them a row for every example.
        let mut scores = vec![0f32; rows.len() * count];
        let block = (BLOCK * rows.len()).max(1);
        scores.par_chunks_mut(block).zip(weights.as_slice().par_chunks(BLOCK * width)).for_each(|(out, some)| {
            let some = faer::MatRef::from_row_major_slice(some, some.len() / width, width);
            multiply(&z, some.transpose(), out);
        });
        self.to_probabilities(&mut scores, rows.len());
        let starts = parts.iter().scan(0, |end, part| Some(std::mem::replace(end, *end + part.len())));
        let places: Vec<(usize, usize)> = starts.zip(parts.iter().map(|part| part.len())).collect();
        let of = |(start, len): &(usize, usize)| {
            let mut sizes = vec![0f32; count];
            for (sizes, scores) in sizes.chunks_mut(BLOCK).zip(scores.chunks(block)) {
                for row in scores.chunks(sizes.len()).skip(*start).take(*len) {
                    sizes.iter_mut().zip(row).for_each(|(size, p)| *size += *p * *p);
                }
            }
            sizes.iter_mut().for_each(|size| *size = (*size / (*len).max(1) as f32).sqrt());
            sizes
        };
        places.par_iter().map(of).collect()
    }

    /// Scores of `rows` examples for all labels, in blocks of labels, become probabilities.
    fn to_probabilities(&self, scores: &mut [f32], rows: usize) {
        let blocks = || scores.par_chunks((BLOCK * rows).max(1));
        // Of softmax, what each block has of the sum over all labels.
        let shares: Vec<Vec<f32>> = match self.loss {
            Loss::Independent => Vec::new(),
            Loss::Softmax => {
                let sums: Vec<Vec<(f32, f64)>> =
                    blocks().map(|block| block.chunks(block.len() / rows).map(exp_sum).collect()).collect();
                let largest = |row: usize| sums.iter().map(|sums| sums[row].0).fold(f32::NEG_INFINITY, f32::max);
                let tops: Vec<f32> = (0..rows).map(largest).collect();
                let part = |row: usize, (top, sum): (f32, f64)| f64::from(top - tops[row]).exp() * sum;
                let total = |row: usize| sums.iter().map(|sums| part(row, sums[row])).sum::<f64>();
                let totals: Vec<f64> = (0..rows).map(total).collect();
                let share = |row: usize, sum: (f32, f64)| (part(row, sum) / totals[row]) as f32;
                sums.iter().map(|sums| sums.iter().enumerate().map(|(row, sum)| share(row, *sum)).collect()).collect()
            }
        };
        scores.par_chunks_mut((BLOCK * rows).max(1)).enumerate().for_each(|(at, block)| {
            let labels = block.len() / rows;
            let (zeros, ones) = (vec![0f32; labels], vec![1f32; labels]);
            for (row, scores) in block.chunks_mut(labels).enumerate() {
                match self.loss {
                    Loss::Independent => sigmoid_minus(scores, &zeros, &ones),
                    Loss::Softmax => softmax_minus(scores, &zeros, shares[at][row]),
                }
            }
        });
    }

    /// The gradient of some rows by the weights of the labels of a subset, one row for each of them. One thread.
    pub fn gradient(&self, weights: &Matrix, rows: &[u32], subset: &LabelSample) -> Vec<f32> {
        let (count, width) = (subset.labels.len(), weights.cols());
        let mut block = Matrix::zeros(count, width);
        for (to, from) in subset.labels.iter().enumerate() {
            block.row_mut(to).copy_from_slice(weights.row(*from as usize));
        }
        let z = self.rows(rows);
        let mut residuals = vec![0f32; rows.len() * count];
        scores(&z, &block, &mut residuals);
        let scope = SubsetTerms::new(self, subset);
        residuals.chunks_mut(count.max(1)).zip(rows).for_each(|(row, i)| scope.residual(*i as usize, row));
        let mut gradient = vec![0f32; count * width];
        let residuals = faer::MatRef::from_row_major_slice(&residuals, rows.len(), count);
        multiply_into(residuals.transpose(), faer::MatRef::from_row_major_slice(&z, rows.len(), width), &mut gradient);
        gradient
    }
}

/// The terms of a label sample that are the same for every row.
struct SubsetTerms<'a> {
    estimate: &'a Estimate<'a>,
    subset: &'a LabelSample,
    zeros: Vec<f32>,
    /// Independent labels: what the probability of each counts. Softmax: what is added to its score.
    counts: Vec<f32>,
}

impl<'a> SubsetTerms<'a> {
    fn new(estimate: &'a Estimate<'a>, subset: &'a LabelSample) -> SubsetTerms<'a> {
        let pairs = subset.labels.iter().zip(&subset.factors);
        let counts = match estimate.loss {
            Loss::Independent => pairs.map(|(l, f)| f * estimate.targets.label_weight(*l as usize)).collect(),
            Loss::Softmax => pairs.map(|(_, f)| f.ln()).collect(),
        };
        SubsetTerms { estimate, subset, zeros: vec![0.0; subset.labels.len()], counts }
    }

    /// Turns the scores of an example into the derivative of the function by them.
    fn residual(&self, i: usize, row: &mut [f32]) {
        let Estimate { targets, loss, .. } = self.estimate;
        let (weight, mass) = (targets.example_weight(i), targets.mass(i, *loss));
        match loss {
            Loss::Independent => {
                sigmoid_minus(row, &self.zeros, &self.counts);
                if mass != 1.0 {
                    row.iter_mut().for_each(|v| *v *= mass);
                }
            }
            Loss::Softmax => {
                row.iter_mut().zip(&self.counts).for_each(|(score, log)| *score += log);
                softmax_minus(row, &self.zeros, mass);
            }
        }
        for (label, value) in targets.labels.entries(i) {
            // Only labels that are not trained are missing.
            if let Ok(place) = self.subset.labels.binary_search(&(label as u32)) {
                row[place] -= weight * targets.label_weight(label) * value;
            }
        }
    }
}

/// out ← rows·b for rows that are as long as b is high. One thread.
pub(crate) fn multiply(rows: &[f32], b: faer::MatRef<'_, f32>, out: &mut [f32]) {
    multiply_into(faer::MatRef::from_row_major_slice(rows, rows.len() / b.nrows(), b.nrows()), b, out);
}

fn multiply_into(a: faer::MatRef<'_, f32>, b: faer::MatRef<'_, f32>, out: &mut [f32]) {
    let out = faer::MatMut::from_row_major_slice_mut(out, a.nrows(), b.ncols());
    matmul(out, Accum::Replace, a, b, 1.0, Par::Seq);
}
