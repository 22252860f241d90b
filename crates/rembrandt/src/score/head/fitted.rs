//! [`Logistic`]: a trained logistic head.

use rayon::prelude::*;

use super::inputs::{Inputs, STRIP};
use super::objective::{Loss, scores};
use crate::linalg::matrix::Matrix;

/// A trained logistic head: scores are W(z, 1).
#[derive(Clone, Debug, PartialEq)]
pub struct Logistic {
    /// The kind of probabilities that the scores stand for.
    pub loss: Loss,
    /// W, one row per label; the last column belongs to the constant.
    pub weights: Matrix,
}

impl Logistic {
    /// Scores of every label, one row for each example.
    pub fn scores(&self, inputs: Inputs<'_>) -> Matrix {
        let (count, width) = (self.weights.rows(), self.weights.cols());
        assert_eq!(inputs.width(), width, "inputs of another head");
        let mut out = Matrix::zeros(inputs.rows(), count);
        if count > 0 {
            out.as_mut_slice().par_chunks_mut(STRIP * count).enumerate().for_each(|(strip, out)| {
                let mut z = vec![0f32; out.len() / count * width];
                inputs.write(strip * STRIP, &mut z);
                scores(&z, &self.weights, out);
            });
        }
        out
    }
}
