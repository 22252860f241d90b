//! Gradients of logistic heads, estimated on some of the labels.
//!
//! The functions are those of `objective.rs` without smoothing. Some rows of one region look at a [`Subset`] of the labels,
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

use super::inputs::Inputs;
use super::objective::{Loss, Targets, scores};
use super::subset::Subset;
use crate::kernel::elementwise::{sigmoid_minus, softmax_minus};
use crate::matrix::Matrix;

/// What gradients are estimated of.
pub(crate) struct Estimate<'a> {
    pub inputs: Inputs<'a>,
    pub targets: Targets<'a>,
    pub loss: Loss,
    /// What rows of inputs are multiplied with: weights belong to the result.
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

    /// How much every label adds to the gradient at some rows: the root of the mean square of its probabilities.
    pub fn sizes(&self, weights: &Matrix, rows: &[u32]) -> Vec<f32> {
        let count = weights.rows();
        let mut probabilities = vec![0f32; rows.len() * count];
        scores(&self.rows(rows), weights, &mut probabilities);
        let (zeros, ones) = (vec![0f32; count], vec![1f32; count]);
        let mut sizes = vec![0f32; count];
        for row in probabilities.chunks_mut(count.max(1)) {
            match self.loss {
                Loss::Independent => sigmoid_minus(row, &zeros, &ones),
                Loss::Softmax => softmax_minus(row, &zeros, 1.0),
            }
            sizes.iter_mut().zip(row).for_each(|(size, p)| *size += *p * *p);
        }
        sizes.iter_mut().for_each(|size| *size = (*size / rows.len().max(1) as f32).sqrt());
        sizes
    }

    /// The gradient of some rows by the weights of the labels of a subset, one row for each of them. One thread.
    pub fn gradient(&self, weights: &Matrix, rows: &[u32], subset: &Subset) -> Vec<f32> {
        let (count, width) = (subset.labels.len(), weights.cols());
        let mut block = Matrix::zeros(count, width);
        for (to, from) in subset.labels.iter().enumerate() {
            block.row_mut(to).copy_from_slice(weights.row(*from as usize));
        }
        let z = self.rows(rows);
        let mut residuals = vec![0f32; rows.len() * count];
        scores(&z, &block, &mut residuals);
        let scope = Scope::new(self, subset);
        residuals.chunks_mut(count.max(1)).zip(rows).for_each(|(row, i)| scope.residual(*i as usize, row));
        let mut gradient = vec![0f32; count * width];
        let residuals = faer::MatRef::from_row_major_slice(&residuals, rows.len(), count);
        multiply_into(residuals.transpose(), faer::MatRef::from_row_major_slice(&z, rows.len(), width), &mut gradient);
        gradient
    }
}

/// What is the same for every row while a subset is looked at.
struct Scope<'a> {
    estimate: &'a Estimate<'a>,
    subset: &'a Subset,
    zeros: Vec<f32>,
    /// Independent labels: what the probability of each counts. Softmax: what is added to its score.
    counts: Vec<f32>,
}

impl<'a> Scope<'a> {
    fn new(estimate: &'a Estimate<'a>, subset: &'a Subset) -> Scope<'a> {
        let pairs = subset.labels.iter().zip(&subset.factors);
        let counts = match estimate.loss {
            Loss::Independent => pairs.map(|(l, f)| f * estimate.targets.label_weight(*l as usize)).collect(),
            Loss::Softmax => pairs.map(|(_, f)| f.ln()).collect(),
        };
        Scope { estimate, subset, zeros: vec![0.0; subset.labels.len()], counts }
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
