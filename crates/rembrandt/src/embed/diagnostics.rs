//! How good an embedding is: the projection of the features into it, the energy that it captures, and its residuals.

use super::cost::{Procedure, procedure};
use super::moments::centred_intercept;
use super::operator::{Operator, ProductCost};
use super::panel::panel_name;
use super::params::Rembrandt;
use super::range_finder::LabelRange;
use super::regression::{Cost, Regression, RegressionSetup};
use super::report::{Embedding, Report};
use crate::data::{Examples, Side};
use crate::linalg::kernels::columns::{copy, dot};
use crate::linalg::matrix::{MatRef, Matrix};
use crate::{Result, Run};

impl Rembrandt {
    /// The projection for an embedding with orthonormal columns that was found otherwise, and how good it is.
    pub(super) fn fit_around(
        &self,
        labels: Matrix,
        rank: usize,
        data: &dyn Examples,
        run: &mut Run<'_>,
    ) -> Result<Embedding> {
        let own = (self.ridge, self.stop());
        let found = LabelRange { labels, rank, tally: ProductCost::default() };
        self.prepared(
            data,
            own,
            |direct, shape| self.projection_work(shape, direct),
            run,
            |problem, operator, run| self.diagnose(problem, operator, data, found, run),
        )
    }

    /// The projection, and how good the embedding is.
    pub(super) fn diagnose(
        &self,
        problem: &RegressionSetup<'_>,
        operator: &Operator<'_>,
        original: &dyn Examples,
        found: LabelRange,
        run: &mut Run<'_>,
    ) -> Result<Embedding> {
        let mut fitted = self.project(problem, operator, &found.labels, found.rank, run)?;
        if self.center {
            fitted.intercept = centred_intercept(original, &found.labels, &fitted.projection)?;
        }
        let rest = operator.rest(&found.labels, self.seed, run)?;
        let report = Report { shape: original.shape(), ..self.report(problem, operator, &found, &fitted, rest) };
        let Fitted { projection, intercept, spectrum, .. } = fitted;
        Ok(Embedding { labels: found.labels, projection, intercept, spectrum, report })
    }

    /// The report, given the energy that the embedding leaves out and its standard error.
    fn report(
        &self,
        problem: &RegressionSetup<'_>,
        operator: &Operator<'_>,
        found: &LabelRange,
        fitted: &Fitted,
        (rest, trace_error): (f64, f64),
    ) -> Report {
        let (shape, regression, tally) = (operator.data.shape(), operator.regression, &found.tally);
        let direct = problem.gram.is_some();
        let width = match self.columns(shape) {
            0 => self.k,
            columns => columns,
        };
        let solver = match procedure(self, direct) {
            Procedure::FewPass if tally.half_passes > 0.0 => "few-pass",
            // Of an embedding that was not searched for, such as a random one, only the regressions are told.
            _ => regression.name(),
        };
        let gram_passes = if direct { 2.0 * shape.d as f64 / width as f64 } else { 0.0 };
        let energy: f64 = fitted.spectrum.iter().sum();
        let trace_estimate = energy + rest;
        Report {
            shape,
            k: self.k,
            rank: found.rank,
            solver: solver.into(),
            rho: regression.rho,
            projection_rho: fitted.rho,
            half_passes: gram_passes + tally.half_passes / width as f64,
            projection_half_passes: fitted.cost.half_passes / self.k as f64,
            energy,
            trace_estimate,
            trace_error,
            energy_fraction: if trace_estimate > 0.0 { energy / trace_estimate } else { 0.0 },
            max_residual: fitted.residuals.iter().fold(0.0, |max, r| r.max(max)),
            residuals: fitted.residuals.clone(),
            guarded_columns: tally.guarded + fitted.cost.guarded,
        }
    }

    /// P ← solve (XᵀWX + ρₚI) P = XᵀWY E, and how good E is.
    fn project(
        &self,
        problem: &RegressionSetup<'_>,
        operator: &Operator<'_>,
        labels: &Matrix,
        rank: usize,
        run: &mut Run<'_>,
    ) -> Result<Fitted> {
        // With a rule of its own, the projection does not tell the energy: that takes the embedding's regression.
        let own = self.own_projection().map(|(lambda, stop)| Regression::new(problem, lambda, stop)).transpose()?;
        let final_regression = own.as_ref().unwrap_or(operator.regression);

        let shape = operator.data.shape();
        let constant = usize::from(problem.constant);
        let mut fitted = Fitted {
            projection: Matrix::zeros(shape.d - constant, self.k),
            intercept: vec![0.0; self.k],
            spectrum: vec![0.0; self.k],
            residuals: vec![0.0; self.k],
            rho: final_regression.rho,
            cost: Cost::default(),
        };
        for (from, to) in operator.panels(rank) {
            let panel = run.checkpoint(&panel_name("diagnostics", from, to), |run| {
                project_panel(operator, final_regression, own.is_some(), labels.columns(from, to), run)
            })?;
            let (p, spectrum, residuals, half_passes, guarded) = panel;
            let proper = MatRef::new(shape.d - constant, to - from, p.cols(), p.as_slice());
            copy(fitted.projection.columns_mut(from, to), proper);
            if constant == 1 {
                fitted.intercept[from..to].copy_from_slice(&p.row(shape.d - 1)[..to - from]);
            }
            operator.spare.give(p);
            fitted.spectrum[from..to].copy_from_slice(&spectrum);
            fitted.residuals[from..to].copy_from_slice(&residuals);
            fitted.cost.half_passes += half_passes;
            fitted.cost.guarded += guarded;
        }
        Ok(fitted)
    }
}

/// The projection, and what its regressions tell of each direction.
struct Fitted {
    projection: Matrix,
    intercept: Vec<f32>,
    spectrum: Vec<f64>,
    residuals: Vec<f64>,
    rho: f64,
    cost: Cost,
}

/// A panel of the projection: P, the spectrum and residuals of E, half passes and guarded columns.
type Panel = (Matrix, Vec<f64>, Vec<f64>, f64, usize);

/// P for the columns `e` of E, by `regression`, and what the embedding's own regression says of E, if that is
/// another.
fn project_panel(
    operator: &Operator<'_>,
    regression: &Regression<'_>,
    is_other: bool,
    e: MatRef<'_>,
    run: &mut Run<'_>,
) -> Result<Panel> {
    let (width, spare, stage) = (e.cols(), operator.spare, "projection");
    let e = operator.padded(e);
    let b = operator.right_side(&e, width, run, stage)?;
    let mut solve = |regression: &Regression<'_>| regression.solve(operator.copied(&b), width, spare, run, stage);
    let (p, cost) = solve(regression)?;
    let other = if is_other { Some(solve(operator.regression)?.0) } else { None };
    let z = other.as_ref().unwrap_or(&p);
    // μ = eᵀMe = (XᵀWY e)ᵀ z, and the residual ‖Me − μe‖/μ from one more product.
    let mut spectrum = dot(b.view(), z.view());
    spectrum.truncate(width);
    let mut me = spare.take(e.rows(), e.cols());
    operator.data.cross(Side::Y, Side::X, z.view(), me.view_mut())?;
    run.advance(stage, width as u64)?;
    let (mm, em) = (dot(me.view(), me.view()), dot(e.view(), me.view()));
    [b, e, me].into_iter().chain(other).for_each(|done| spare.give(done));
    let residual = |(j, mu): (usize, &f64)| {
        let square = mm[j] - 2.0 * mu * em[j] + mu * mu;
        if *mu > 0.0 { square.max(0.0).sqrt() / mu } else { 0.0 }
    };
    let residuals = spectrum.iter().enumerate().map(residual).collect();
    Ok((p, spectrum, residuals, cost.half_passes + width as f64, cost.guarded))
}
