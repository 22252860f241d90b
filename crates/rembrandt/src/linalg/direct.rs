//! Solving with one Cholesky factorisation: for matrices small enough to be written down.

use faer::Mat;
use faer::linalg::solvers::{Llt, Solve};
use rayon::prelude::*;

use crate::Matrix;

/// Columns solved by one task: fixed, so that results do not depend on threads.
const GROUP: usize = 32;

/// A factorised symmetric positive matrix.
pub(crate) struct Cholesky {
    factor: Llt<f64>,
}

impl Cholesky {
    /// Factorises A + diag(ridge); nothing when that is not positive definite.
    pub fn new(a: &Matrix, ridge: &[f64]) -> Option<Cholesky> {
        // Rounding makes the product's two halves differ in the last bit; their mean is symmetric.
        let entry = |i: usize, j: usize| 0.5 * (f64::from(a.row(i)[j]) + f64::from(a.row(j)[i]));
        let full = Mat::from_fn(a.rows(), a.rows(), |i, j| entry(i, j) + if i == j { ridge[i] } else { 0.0 });
        let factor = full.llt(faer::Side::Lower).ok()?;
        let l = factor.L();
        let healthy = (0..a.rows()).all(|i| {
            let (pivot, diagonal) = (l[(i, i)] * l[(i, i)], full[(i, i)]);
            // A pivot of the size of the rounding errors of the entries says nothing.
            pivot.is_finite() && pivot > 1e-6 * diagonal
        });
        healthy.then_some(Cholesky { factor })
    }

    /// The solution of A X = B.
    pub fn solve(&self, b: &Matrix) -> Matrix {
        let (rows, width) = (b.rows(), b.cols());
        let groups: Vec<Mat<f64>> = (0..width.div_ceil(GROUP))
            .into_par_iter()
            .map(|group| {
                let from = group * GROUP;
                let part = Mat::from_fn(rows, GROUP.min(width - from), |i, j| f64::from(b.row(i)[from + j]));
                self.factor.solve(&part)
            })
            .collect();
        Matrix::from_fn(rows, width, |i, j| groups[j / GROUP][(i, j % GROUP)] as f32)
    }
}
