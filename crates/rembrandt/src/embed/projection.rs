//! The projection by itself: the regression from features into a given embedding, and the energy that it captures.

use super::moments::centred_intercept;
use super::panel::panel_name;
use super::params::{Rembrandt, Solver};
use crate::data::Examples;
use crate::linalg::cg::CgLimits;
use crate::linalg::kernels::columns::{copy, dot};
use crate::linalg::matrix::{MatRef, Matrix};
use crate::{Error, Result, Run, Shape};

/// When a regression has told the energy: its error is the square of the residual.
const SETTLED: CgLimits = CgLimits { steps: 100, tolerance: 1e-3 };

impl Rembrandt {
    /// Finds the projection P and the intercept for `labels`, an embedding of the labels: the last step of
    /// [`fit`](Rembrandt::fit), for other examples than those that the embedding was found with.
    pub fn fit_projection(
        &self,
        data: &dyn Examples,
        labels: &Matrix,
        run: &mut Run<'_>,
    ) -> Result<(Matrix, Vec<f32>)> {
        let original = data;
        let params = self.around(labels, original.shape())?;
        let own = self.own_projection().unwrap_or((self.ridge, self.stop()));
        let steps = own.1.steps;
        let work = |direct: bool, shape: Shape| {
            (if direct { 2 * shape.d } else { labels.cols().saturating_mul(steps.saturating_mul(2)) }) as u64
        };
        let (projection, mut intercept) = params.prepared(original, own, work, run, |problem, operator, run| {
            let (d, constant) = (original.shape().d, problem.constant);
            let mut projection = Matrix::zeros(d, params.k);
            let mut intercept = vec![0.0; params.k];
            for (from, to) in operator.panels(params.k) {
                let p = run.checkpoint(&panel_name("projection", from, to), |run| {
                    let e = operator.padded(labels.columns(from, to));
                    let b = operator.right_side(&e, to - from, run, "projection")?;
                    operator.spare.give(e);
                    Ok(operator.regression.solve(b, to - from, operator.spare, run, "projection")?.0)
                })?;
                let proper = MatRef::new(d, to - from, p.cols(), p.as_slice());
                copy(projection.columns_mut(from, to), proper);
                if constant {
                    intercept[from..to].copy_from_slice(&p.row(d)[..to - from]);
                }
                operator.spare.give(p);
            }
            Ok((projection, intercept))
        })?;
        if self.center {
            intercept = centred_intercept(original, labels, &projection)?;
        }
        Ok((projection, intercept))
    }

    /// Captured energy trace(EᵀME) of `labels`, an embedding with orthonormal columns, from regressions that are solved
    /// until nothing changes: for comparing embeddings, whatever the steps that were taken to find them.
    pub fn captured(&self, data: &dyn Examples, labels: &Matrix, run: &mut Run<'_>) -> Result<f64> {
        let params = Rembrandt { solver: Solver::Iterative, ..self.around(labels, data.shape())? };
        let work = |_, _: Shape| labels.cols().saturating_mul(2 * SETTLED.steps) as u64;
        params.prepared(data, (self.ridge, SETTLED), work, run, |_, operator, run| {
            let mut energy = 0.0;
            for (from, to) in operator.panels(params.k) {
                let e = operator.padded(labels.columns(from, to));
                let b = operator.right_side(&e, to - from, run, "measuring")?;
                let (z, _) =
                    operator.regression.solve(operator.copied(&b), to - from, operator.spare, run, "measuring")?;
                // Column by column, so that the width of panels does not show.
                dot(b.view(), z.view()).into_iter().take(to - from).for_each(|mu| energy += mu);
                [e, b, z].into_iter().for_each(|done| operator.spare.give(done));
            }
            Ok(energy)
        })
    }

    /// These parameters for an embedding that is there, if it fits the data.
    fn around(&self, labels: &Matrix, shape: Shape) -> Result<Rembrandt> {
        let params = Rembrandt { k: labels.cols(), ..self.clone() };
        params.check(shape)?;
        if labels.rows() != shape.c {
            let reason = format!("{} rows for the {} labels of the data", labels.rows(), shape.c);
            return Err(Error::parameter("labels", reason));
        }
        Ok(params)
    }
}
