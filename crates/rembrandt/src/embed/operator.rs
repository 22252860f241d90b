//! The operator M = YᵀWX (XᵀWX + ρI)⁻¹ XᵀWY: products with it, panel by panel, and an estimate of its trace.

use super::panel::{LINE, panel_name};
use super::regression::Regression;
use crate::data::{Examples, Side};
use crate::linalg::kernels::columns::{add_multiple, copy, dot, sweep};
use crate::linalg::matrix::{MatRef, Matrix, Spare};
use crate::linalg::{orth, random};
use crate::{Result, Run};

/// Random directions from which the energy outside of the embedding is estimated.
pub(super) const TRACE_SAMPLES: usize = LINE;
/// Keeps them apart from the random start.
const TRACE: u64 = 0xd1b5_4a32_d192_ed03;

/// M, which multiplies.
pub(super) struct Operator<'a> {
    pub data: &'a dyn Examples,
    pub regression: &'a Regression<'a>,
    /// Columns solved together.
    pub panel: usize,
    /// Where the matrices of a panel come from and go to.
    pub spare: &'a Spare,
}

/// Costs of the products with M, and columns that were guarded.
#[derive(Clone, Copy, Default)]
pub(super) struct ProductCost {
    pub half_passes: f64,
    pub guarded: usize,
}

impl Operator<'_> {
    /// Q ← M Q, panel by panel.
    pub fn apply(&self, q: &mut Matrix, tally: &mut ProductCost, run: &mut Run<'_>) -> Result<()> {
        let (stage, spare) = ("range finder", self.spare);
        for (from, to) in self.panels(q.cols()) {
            let width = to - from;
            let (panel, half_passes, guarded) = run.checkpoint(&panel_name("panel", from, to), |run| {
                let mut panel = self.padded(q.columns(from, to));
                let b = self.right_side(&panel, width, run, stage)?;
                let (z, cost) = self.regression.solve(b, width, spare, run, stage)?;
                self.data.cross(Side::Y, Side::X, z.view(), panel.view_mut())?;
                spare.give(z);
                run.advance(stage, width as u64)?;
                Ok((panel, cost.half_passes + 2.0 * width as f64, cost.guarded))
            })?;
            copy(q.columns_mut(from, to), panel.columns(0, width));
            spare.give(panel);
            tally.half_passes += half_passes;
            tally.guarded += guarded;
        }
        Ok(())
    }

    /// trace(M) − trace(EᵀME): what the embedding E leaves out, estimated from random directions orthogonal to it
    /// (Hutchinson), with its standard error. E holds the large eigenvalues, so a few directions are enough.
    pub fn rest(&self, e: &Matrix, seed: u64, run: &mut Run<'_>) -> Result<(f64, f64)> {
        match e.cols() == self.data.shape().c {
            true => Ok((0.0, 0.0)),
            false => run.checkpoint("rest", |run| self.measure_rest(e, seed, run)),
        }
    }

    fn measure_rest(&self, e: &Matrix, seed: u64, run: &mut Run<'_>) -> Result<(f64, f64)> {
        let (shape, stage) = (self.data.shape(), "measuring");
        let mut g = Matrix::zeros(shape.c, TRACE_SAMPLES);
        random::fill_normal(&mut g, 0, seed ^ TRACE);
        let inside = orth::multiply(e.view(), &orth::inner(e.view(), g.view()));
        sweep([g.view_mut()], [inside.view()], 0, |_, [g], [inside], _| {
            add_multiple(g, &[-1.0; TRACE_SAMPLES], inside)
        });
        drop(inside);
        let b = self.right_side(&g, TRACE_SAMPLES, run, stage)?;
        let (z, _) = self.regression.solve(self.copied(&b), TRACE_SAMPLES, self.spare, run, stage)?;
        let samples = dot(b.view(), z.view());
        let n = TRACE_SAMPLES as f64;
        let mean = samples.iter().sum::<f64>() / n;
        let variance = samples.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / (n - 1.0);
        Ok((mean, (variance / n).sqrt()))
    }

    /// XᵀW Y Q, the right side of a regression, for a padded panel that holds `width` columns.
    pub fn right_side(&self, q: &Matrix, width: usize, run: &mut Run<'_>, stage: &'static str) -> Result<Matrix> {
        let mut b = self.spare.take(self.data.shape().d, q.cols());
        self.data.cross(Side::X, Side::Y, q.view(), b.view_mut())?;
        run.advance(stage, width as u64)?;
        Ok(b)
    }

    /// A copy with columns of zeros up to a whole number of cache lines: the kernels then never touch a line in vain.
    pub fn padded(&self, a: MatRef<'_>) -> Matrix {
        let (width, padding) = (a.cols(), a.cols().next_multiple_of(LINE));
        let mut m = self.spare.take(a.rows(), padding);
        copy(m.columns_mut(0, width), a);
        sweep([m.columns_mut(width, padding)], [], 0, |_, [mut m], [], _| m.fill(0.0));
        m
    }

    /// A copy of a right side, as solving for it overwrites it.
    pub fn copied(&self, b: &Matrix) -> Matrix {
        let mut m = self.spare.take(b.rows(), b.cols());
        copy(m.view_mut(), b.view());
        m
    }

    pub fn panels(&self, columns: usize) -> impl Iterator<Item = (usize, usize)> + use<> {
        let panel = self.panel.min(columns).max(1);
        (0..columns).step_by(panel).map(move |from| (from, columns.min(from + panel)))
    }
}
