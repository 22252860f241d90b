//! The ridge regression that every product with M contains: Z = argmin ‖Y Q − X Z‖² + ridge, that is (XᵀWX + R) Z = XᵀW Y Q.
//!
//! R is diagonal: the real ridge ρ for every feature and, in the default convention, 0 for the constant one.

use std::cell::RefCell;

use super::panel::panel_name;
use super::params::{Preconditioner, Rembrandt, RidgeConvention};
use crate::data::{Examples, Moments, Side};
use crate::linalg::cg::{self, CgLimits, System};
use crate::linalg::csr::CsrRef;
use crate::linalg::direct::Cholesky;
use crate::linalg::kernels;
use crate::linalg::kernels::columns::{dot, multiply_rows, sweep};
use crate::linalg::matrix::{MatMut, MatRef, Matrix, Spare};
use crate::{Error, Result, Run};

/// The Gram matrix is summed in `f32`. With a condition number above this, its factorisation would be mostly
/// rounding, and what regularises is the number of steps: then it is iterated on instead.
const MAX_CONDITION: f64 = 1e6;

/// XᵀWX, written down. Stored as sparse rows that happen to be full, for the kernel that multiplies those.
pub(crate) struct Gram {
    matrix: Matrix,
    ptr: Vec<u32>,
    ids: Vec<u32>,
}

impl Gram {
    /// Asks the data for XᵀWX, a panel of unit vectors at a time.
    pub fn new(data: &dyn Examples, run: &mut Run<'_>) -> Result<Gram> {
        let d = data.shape().d;
        let mut matrix = Matrix::zeros(d, d);
        for from in (0..d).step_by(64) {
            let to = d.min(from + 64);
            let panel = run.checkpoint(&panel_name("gram", from, to), |run| {
                let units = Matrix::from_fn(d, to - from, |i, j| f32::from(u8::from(i == from + j)));
                let mut panel = Matrix::zeros(d, to - from);
                data.cross(Side::X, Side::X, units.view(), panel.view_mut())?;
                run.advance("gram matrix", 2 * (to - from) as u64)?;
                Ok(panel)
            })?;
            matrix.columns_mut(from, to).copy_from(panel.view());
        }
        let ptr = (0..=d).map(|i| (i * d) as u32).collect();
        let ids = (0..d).flat_map(|_| 0..d as u32).collect();
        Ok(Gram { matrix, ptr, ids })
    }

    fn multiply(&self, z: MatRef<'_>, out: MatMut<'_>) {
        let full = CsrRef { ptr: &self.ptr, ids: &self.ids, values: Some(self.matrix.as_slice()) };
        kernels::gather(full, None, z, out);
    }
}

/// How one regression is solved.
pub(crate) struct Regression<'a> {
    data: &'a dyn Examples,
    gram: Option<&'a Gram>,
    cholesky: Option<Cholesky>,
    /// R.
    ridge: Vec<f32>,
    /// The preconditioner.
    inverse: Vec<f32>,
    stop: CgLimits,
    /// The real ridge.
    pub rho: f64,
}

/// The cost of a solve.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cost {
    /// Products with X or Xᵀ, summed over columns.
    pub half_passes: f64,
    /// Columns that the guard ended early.
    pub guarded: usize,
}

/// The setting that all regressions of a fit share.
pub(crate) struct RegressionSetup<'a> {
    pub params: &'a Rembrandt,
    pub data: &'a dyn Examples,
    /// Moments of the features.
    pub x: &'a Moments,
    /// Whether the last feature is the appended constant one.
    pub constant: bool,
    /// XᵀWX, if it was written down.
    pub gram: Option<&'a Gram>,
}

impl<'a> Regression<'a> {
    /// With the relative ridge `lambda`.
    pub fn new(problem: &RegressionSetup<'a>, lambda: f64, stop: CgLimits) -> Result<Regression<'a>> {
        let RegressionSetup { params, data, x, constant, gram } = *problem;
        let d = x.square.len();
        let proper = match params.ridge_convention {
            RidgeConvention::Features if constant => d - 1,
            _ => d,
        };
        let trace: f64 = x.square[..proper].iter().sum();
        let rho = lambda * trace / proper.max(1) as f64;
        if !(rho as f32).is_finite() {
            let reason =
                format!("{lambda:e} makes a real ridge of {rho:e}, beyond single precision; choose a smaller one");
            return Err(Error::parameter("ridge", reason));
        }
        let ridge: Vec<f64> = (0..d).map(|j| if j < proper { rho } else { 0.0 }).collect();
        let inverse = match params.preconditioner {
            Preconditioner::None => vec![1.0; d],
            // A feature that never occurs has nothing to solve for.
            Preconditioner::Diagonal => x
                .square
                .iter()
                .zip(&ridge)
                .map(|(a, r)| if a + r > 0.0 { (a + r).recip() as f32 } else { 0.0 })
                .collect(),
        };
        // The trace bounds the largest eigenvalue.
        let sound = rho > 0.0 && x.square.iter().sum::<f64>() <= MAX_CONDITION * rho;
        let cholesky = gram.filter(|_| sound).and_then(|gram| Cholesky::new(&gram.matrix, &ridge));
        let ridge = ridge.iter().map(|r| *r as f32).collect();
        Ok(Regression { data, gram, cholesky, ridge, inverse, stop, rho })
    }

    /// `iterative`, `direct` or `gram`, as the report says it.
    pub fn name(&self) -> &'static str {
        match (&self.cholesky, self.gram) {
            (Some(_), _) => "direct",
            (None, Some(_)) => "gram",
            (None, None) => "iterative",
        }
    }

    /// Solves (XᵀWX + R) Z = B; with no steps at all, the preconditioner alone stands for the inverse. Only the first
    /// `width` columns of B are not padding, and count as work.
    pub fn solve(
        &self,
        mut b: Matrix,
        width: usize,
        spare: &Spare,
        run: &mut Run<'_>,
        stage: &'static str,
    ) -> Result<(Matrix, Cost)> {
        if let Some(cholesky) = &self.cholesky {
            return Ok((cholesky.solve(&b), Cost::default()));
        }
        if self.stop.steps == 0 {
            let inverse = &self.inverse;
            sweep([b.view_mut()], [], 0, |rows, [b], [], _| multiply_rows(b, &inverse[rows]));
            return Ok((b, Cost::default()));
        }
        self.iterate(b, width, spare, run, stage)
    }

    /// Conjugate gradients, with XᵀWX where it is written down and with the data otherwise.
    fn iterate(
        &self,
        b: Matrix,
        width: usize,
        spare: &Spare,
        run: &mut Run<'_>,
        stage: &'static str,
    ) -> Result<(Matrix, Cost)> {
        let run = RefCell::new(run);
        let mut product = |p: MatRef<'_>, q: MatMut<'_>| match self.gram {
            Some(gram) => {
                gram.multiply(p, q);
                Ok(())
            }
            None => {
                self.data.cross(Side::X, Side::X, p, q)?;
                run.borrow_mut().advance(stage, 2 * width as u64)
            }
        };
        let mut squares = |p: MatRef<'_>| match self.gram {
            Some(gram) => {
                let mut q = Matrix::zeros(p.rows(), p.cols());
                gram.multiply(p, q.view_mut());
                Ok(dot(p, q.view()))
            }
            None => {
                let squares = self.data.squares(p)?;
                run.borrow_mut().advance(stage, width as u64)?;
                Ok(squares)
            }
        };
        let (ridge, inverse) = (&self.ridge[..], &self.inverse[..]);
        let system = System { product: &mut product, squares: &mut squares, ridge, inverse };
        let (z, outcome) = cg::solve(system, b, self.stop, spare)?;
        // Two for each step of a column, but one for the last step of all, which only asks for the curvature.
        let of_column = |steps: &usize| 2 * steps - usize::from(*steps == self.stop.steps);
        let half_passes = if self.gram.is_some() { 0 } else { outcome.steps.iter().map(of_column).sum() };
        Ok((z, Cost { half_passes: half_passes as f64, guarded: outcome.guarded }))
    }
}
