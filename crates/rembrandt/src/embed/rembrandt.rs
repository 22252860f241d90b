//! Rembrandt: response embedding via randomized techniques.
//!
//! The embedding of the labels is the space of the top k eigenvectors of the c×c operator
//!
//! ```text
//! M = YᵀWX (XᵀWX + ρI)⁻¹ XᵀWY
//! ```
//!
//! which is never written down: a product M·Q is a regression of the c-dimensional labels, squeezed into the few
//! columns of Y·Q, on the features. A randomized range finder [1] finds the space. This is Algorithm 1 of [2] with
//! its line 9 mended: F there multiplies matrices whose shapes do not fit, where one more regression belongs.
//!
//! 1. N. Halko, P.-G. Martinsson, J. A. Tropp: Finding structure with randomness. SIAM Review 53(2), 2011.
//! 2. P. Mineiro, N. Karampatziakis: Fast label embeddings for extremely large output spaces. ICLR workshop, 2015.

use faer::Mat;

use super::params::Rembrandt;
use super::regression::{Cost, Gram, Regression, may_write_gram, prefers_direct};
use super::report::{Embedding, Report};
use crate::data::adapt::{Adapted, Change, weighted_sum};
use crate::data::{Examples, Moments, Shape, Side};
use crate::kernel::columns::dot;
use crate::matrix::{MatRef, Matrix};
use crate::solve::cg::Stop;
use crate::solve::{orth, random};
use crate::{Error, Result, Run};

/// Directions whose singular value is below this fraction of the largest carry no energy, only rounding.
const NO_ENERGY: f64 = 1e-6;
/// Columns to a cache line.
const LINE: usize = 16;
/// Sums of squares of a feature must lie between this and its inverse.
const LARGEST_SQUARE: f64 = 1e30;
/// Random directions from which the energy outside of the embedding is estimated.
const TRACE_SAMPLES: usize = LINE;
/// Keeps them apart from the random start.
const TRACE: u64 = 0xd1b5_4a32_d192_ed03;
/// Keeps the random completion apart from the random start.
const COMPLETION: u64 = 0x9e37_79b9_7f4a_7c15;

impl Rembrandt {
    /// Finds the embedding of the labels and the projection of the features into it.
    ///
    /// The result depends on the data and the parameters alone, to the last bit: not on the number of threads, the
    /// panel width or where the data are stored. What happens in the corners:
    ///
    /// - k larger than the number of labels is an error; k + p is cut to it.
    /// - When the labels that the features can express have a rank below k, the remaining columns are an arbitrary
    ///   orthonormal completion with eigenvalue and projection 0, and [`Report::rank`] says so.
    /// - A feature that never occurs has a zero row in the projection; a label that never occurs has a zero row in
    ///   every column up to the rank.
    ///
    /// ```
    /// use rembrandt::data::{Dataset, Rows};
    /// use rembrandt::{Rembrandt, Run};
    ///
    /// // Feature i goes with label i.
    /// let mut rows = Rows::new();
    /// for i in 0..100 {
    ///     rows.x.push(i % 4, 1.0);
    ///     rows.x.end_row();
    ///     rows.y.push(i % 4, 1.0);
    ///     rows.y.end_row();
    /// }
    /// let data = Dataset::from_rows(&rows, 4, 4)?;
    /// let embedding = Rembrandt { ridge: 0.0, ..Rembrandt::new(3) }.fit(&data, &mut Run::default())?;
    /// // Each label is as well explained as the others: 25 of 100 examples.
    /// assert!(embedding.spectrum.iter().all(|mu| (mu - 25.0).abs() < 1e-3));
    /// # Ok::<(), rembrandt::Error>(())
    /// ```
    pub fn fit(&self, data: &dyn Examples, run: &mut Run<'_>) -> Result<Embedding> {
        self.check(data.shape())?;
        match &adapt(self, data)? {
            Some(adapted) => self.fit_adapted(adapted, data, run),
            None => self.fit_adapted(data, data, run),
        }
    }

    fn fit_adapted(&self, data: &dyn Examples, original: &dyn Examples, run: &mut Run<'_>) -> Result<Embedding> {
        let shape = data.shape();
        let x = data.moments(Side::X)?;
        check_range(&x)?;
        let width = self.columns(shape);
        let direct = prefers_direct(self, shape, x.entries);
        run.begin(self.work(shape, direct));
        let gram = if direct { Some(Gram::new(data, run)?) } else { None };
        let constant = shape.d > original.shape().d;
        let regression = |lambda, stop| Regression::new(self, (lambda, stop), data, (&x, constant), gram.as_ref());
        let stop = Stop { steps: self.cg_steps, tolerance: self.tolerance };
        let inner = regression(self.ridge, stop);
        // A factorisation solves all columns at once, so that their grouping cannot show in the result.
        let panel = if direct { usize::MAX } else { self.panel };
        let operator = Operator { data, regression: &inner, panel };

        // Q ← randn(c, k+p)
        let mut q = Matrix::zeros(shape.c, width);
        random::fill_normal(&mut q, 0, self.seed);
        let mut tally = Tally::default();
        for pass in 0..self.passes {
            // Q ← orthogonalize(M Q)
            operator.apply(&mut q, &mut tally, run)?;
            let rank = orth::orthonormalize(&mut q);
            orth::complete(&mut q, rank, self.seed ^ COMPLETION.wrapping_mul(pass as u64 + 1));
        }
        // T ← M Q, one more regression; E ← the top left singular vectors of T, half a power step better than Q's own.
        operator.apply(&mut q, &mut tally, run)?;
        let (labels, rank) = top_left(q, self.k, self.seed);

        let mut fitted = self.project(&operator, &regression, &labels, rank, run)?;
        if self.center {
            fitted.intercept = centred_intercept(original, &labels, &fitted.projection)?;
        }
        let gram_passes = if direct { 2.0 * shape.d as f64 / width as f64 } else { 0.0 };
        let energy = fitted.spectrum.iter().sum();
        let (rest, trace_error) = operator.rest(&labels, self.seed, run)?;
        let trace_estimate = energy + rest;
        let report = Report {
            shape: original.shape(),
            k: self.k,
            rank,
            solver: if direct { "direct" } else { "iterative" }.into(),
            rho: inner.rho,
            projection_rho: fitted.rho,
            half_passes: gram_passes + tally.half_passes / width as f64,
            projection_half_passes: fitted.cost.half_passes / self.k as f64,
            energy,
            trace_estimate,
            trace_error,
            energy_fraction: if trace_estimate > 0.0 { energy / trace_estimate } else { 0.0 },
            max_residual: fitted.residuals.iter().fold(0.0, |max, r| r.max(max)),
            residuals: fitted.residuals,
            guarded_columns: tally.guarded + fitted.cost.guarded,
        };
        Ok(Embedding {
            labels,
            projection: fitted.projection,
            intercept: fitted.intercept,
            spectrum: fitted.spectrum,
            report,
        })
    }

    /// P ← solve (XᵀWX + ρₚI) P = XᵀWY E, and how good E is.
    fn project<'a>(
        &self,
        operator: &Operator<'a>,
        regression: &dyn Fn(f64, Stop) -> Regression<'a>,
        labels: &Matrix,
        rank: usize,
        run: &mut Run<'_>,
    ) -> Result<Fitted> {
        let params = &self.projection;
        let (lambda, steps) = (params.ridge.unwrap_or(self.ridge), params.cg_steps.unwrap_or(self.cg_steps));
        let stop = Stop { steps, tolerance: params.tolerance.unwrap_or(self.tolerance) };
        // With a ridge of its own, the projection does not tell the energy: that takes the embedding's regression.
        let own = (lambda != self.ridge || stop != (Stop { steps: self.cg_steps, tolerance: self.tolerance }))
            .then(|| regression(lambda, stop));
        let final_regression = own.as_ref().unwrap_or(operator.regression);

        let shape = operator.data.shape();
        let constant = usize::from(self.bias && !self.center);
        let mut fitted = Fitted {
            projection: Matrix::zeros(shape.d - constant, self.k),
            intercept: vec![0.0; self.k],
            spectrum: vec![0.0; self.k],
            residuals: vec![0.0; self.k],
            rho: final_regression.rho,
            cost: Cost::default(),
        };
        for (from, to) in operator.panels(rank) {
            let e = padded(labels.columns(from, to));
            let b = operator.right_side(&e, to - from, run, "projection")?;
            let (p, cost) = final_regression.solve(&b, to - from, run, "projection")?;
            let proper = MatRef::new(shape.d - constant, to - from, p.cols(), p.as_slice());
            fitted.projection.columns_mut(from, to).copy_from(proper);
            if constant == 1 {
                fitted.intercept[from..to].copy_from_slice(&p.row(shape.d - 1)[..to - from]);
            }
            fitted.cost.half_passes += cost.half_passes + (to - from) as f64;
            fitted.cost.guarded += cost.guarded;
            let z = match &own {
                Some(_) => operator.regression.solve(&b, to - from, run, "measuring")?.0,
                None => p,
            };
            // μ = eᵀMe = (XᵀWY e)ᵀ z, and the residual ‖Me − μe‖/μ from one more product.
            let mu = dot(b.view(), z.view());
            let mut me = Matrix::zeros(shape.c, e.cols());
            operator.data.cross(Side::Y, Side::X, z.view(), me.view_mut())?;
            run.advance("measuring", (to - from) as u64)?;
            let (mm, em) = (dot(me.view(), me.view()), dot(e.view(), me.view()));
            for (j, mu) in mu.into_iter().take(to - from).enumerate() {
                fitted.spectrum[from + j] = mu;
                let square = mm[j] - 2.0 * mu * em[j] + mu * mu;
                fitted.residuals[from + j] = if mu > 0.0 { square.max(0.0).sqrt() / mu } else { 0.0 };
            }
        }
        Ok(fitted)
    }

    /// Columns multiplied by the data in all, for progress.
    fn work(&self, shape: Shape, direct: bool) -> u64 {
        let (width, k) = (self.columns(shape), self.k);
        let solve = if direct { 0 } else { 2 * self.cg_steps };
        let steps = self.projection.cg_steps.unwrap_or(self.cg_steps);
        let own = self.projection != Default::default();
        let project = if direct { 0 } else { 2 * steps + if own { solve } else { 0 } };
        let gram = if direct { 2 * shape.d } else { 0 };
        let rest = if k < shape.c { TRACE_SAMPLES * (solve + 1) } else { 0 };
        (gram + (self.passes + 1) * width * (solve + 2) + k * (project + 2) + rest) as u64
    }

    /// Bytes that a fit takes besides the data, at its peak.
    pub fn memory(&self, shape: Shape) -> u64 {
        let (d, c) = (shape.d as u64 + 1, shape.c as u64);
        let width = self.columns(shape) as u64;
        let panel = width.min(self.panel as u64).next_multiple_of(LINE as u64);
        // Regression: b, z, r, p, q. Range finder: Q, its copy, and T. Result: E and P.
        let regression = 5 * d * panel;
        let range = 3 * c * width;
        let result = (c + d) * self.k as u64;
        let dense = 2 * 16 * width * width;
        let gram = if may_write_gram(self, shape) { 6 * d * d } else { 0 };
        4 * (regression.max(c * width) + range + result + dense + gram) + (32 << 20)
    }
}

/// M as something that multiplies.
struct Operator<'a> {
    data: &'a dyn Examples,
    regression: &'a Regression<'a>,
    panel: usize,
}

/// What the products with M cost and told on the way.
#[derive(Default)]
struct Tally {
    half_passes: f64,
    guarded: usize,
}

impl Operator<'_> {
    /// Q ← M Q, panel by panel.
    fn apply(&self, q: &mut Matrix, tally: &mut Tally, run: &mut Run<'_>) -> Result<()> {
        let stage = "range finder";
        for (from, to) in self.panels(q.cols()) {
            let width = to - from;
            let mut panel = padded(q.columns(from, to));
            let b = self.right_side(&panel, width, run, stage)?;
            let (z, cost) = self.regression.solve(&b, width, run, stage)?;
            drop(b);
            self.data.cross(Side::Y, Side::X, z.view(), panel.view_mut())?;
            q.columns_mut(from, to).copy_from(panel.columns(0, width));
            run.advance(stage, width as u64)?;
            tally.half_passes += cost.half_passes + 2.0 * width as f64;
            tally.guarded += cost.guarded;
        }
        Ok(())
    }

    /// trace(M) − trace(EᵀME): what the embedding E leaves out, estimated from random directions orthogonal to it
    /// (Hutchinson), with its standard error. E holds the large eigenvalues, so a few directions are enough.
    fn rest(&self, e: &Matrix, seed: u64, run: &mut Run<'_>) -> Result<(f64, f64)> {
        let (shape, stage) = (self.data.shape(), "measuring");
        if e.cols() == shape.c {
            return Ok((0.0, 0.0));
        }
        let mut g = Matrix::zeros(shape.c, TRACE_SAMPLES);
        random::fill_normal(&mut g, 0, seed ^ TRACE);
        let inside = orth::multiply(e.view(), &orth::inner(e.view(), g.view()));
        g.as_mut_slice().iter_mut().zip(inside.as_slice()).for_each(|(g, inside)| *g -= inside);
        let b = self.right_side(&g, TRACE_SAMPLES, run, stage)?;
        let (z, _) = self.regression.solve(&b, TRACE_SAMPLES, run, stage)?;
        let samples = dot(b.view(), z.view());
        let n = TRACE_SAMPLES as f64;
        let mean = samples.iter().sum::<f64>() / n;
        let variance = samples.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / (n - 1.0);
        Ok((mean, (variance / n).sqrt()))
    }

    /// XᵀW Y Q, the right side of a regression, for a padded panel that holds `width` columns.
    fn right_side(&self, q: &Matrix, width: usize, run: &mut Run<'_>, stage: &'static str) -> Result<Matrix> {
        let mut b = Matrix::zeros(self.data.shape().d, q.cols());
        self.data.cross(Side::X, Side::Y, q.view(), b.view_mut())?;
        run.advance(stage, width as u64)?;
        Ok(b)
    }

    fn panels(&self, columns: usize) -> impl Iterator<Item = (usize, usize)> + use<> {
        let panel = self.panel.min(columns).max(1);
        (0..columns).step_by(panel).map(move |from| (from, columns.min(from + panel)))
    }
}

struct Fitted {
    projection: Matrix,
    intercept: Vec<f32>,
    spectrum: Vec<f64>,
    residuals: Vec<f64>,
    rho: f64,
    cost: Cost,
}

/// The examples as the parameters want them seen, when that is not as they are.
pub(super) fn adapt<'a>(params: &Rembrandt, data: &'a dyn Examples) -> Result<Option<Adapted<'a>>> {
    Ok(match (params.center, params.bias) {
        // Centred data have no use for a constant feature: it would be 0.
        (true, _) => Some(Adapted::new(data, Change::Center)?),
        (false, true) => Some(Adapted::new(data, Change::Constant)?),
        (false, false) => None,
    })
}

/// A copy with columns of zeros up to a whole number of cache lines: the kernels then never touch a line in vain.
pub(super) fn padded(a: MatRef<'_>) -> Matrix {
    let mut m = Matrix::zeros(a.rows(), a.cols().next_multiple_of(LINE));
    m.columns_mut(0, a.cols()).copy_from(a);
    m
}

/// The top k left singular vectors of T, as E = Q·U with T = Q R and R = U Σ Vᵀ. It equals T V Σ⁻¹ from the
/// eigenvectors V of TᵀT, but does not lose the small singular values to the squaring.
fn top_left(t: Matrix, k: usize, seed: u64) -> (Matrix, usize) {
    let mut q = t.clone();
    orth::orthonormalize(&mut q);
    let r = orth::inner(q.view(), t.view());
    drop(t);
    let rr = &r * r.transpose();
    let (values, u) = orth::eigen(&rr);
    let floor = NO_ENERGY * NO_ENERGY * values[0];
    let rank = values.iter().take(k).take_while(|v| **v > floor && **v > 0.0).count();
    let u = Mat::from_fn(u.nrows(), k, |i, j| if j < rank { u[(i, j)] } else { 0.0 });
    let mut labels = orth::multiply(q.view(), &u);
    orth::complete(&mut labels, rank, seed ^ COMPLETION);
    orth::fix_signs(&mut labels);
    (labels, rank)
}

/// Eᵀȳ − Pᵀx̄: makes h(x) an estimate of the embedded labels themselves, not of their difference from the mean.
pub(super) fn centred_intercept(data: &dyn Examples, labels: &Matrix, projection: &Matrix) -> Result<Vec<f32>> {
    let mean = |side| -> Result<Vec<f64>> {
        let Moments { weight, sum, .. } = data.moments(side)?;
        Ok(sum.into_iter().map(|s| if weight > 0.0 { s / weight } else { 0.0 }).collect())
    };
    let y = weighted_sum(&mean(Side::Y)?, labels.view());
    let x = weighted_sum(&mean(Side::X)?, projection.view());
    Ok(y.iter().zip(x).map(|(y, x)| (y - x) as f32).collect())
}

/// Products are kept in `f32`: features whose squares leave its range by their sheer size are refused.
pub(super) fn check_range(x: &Moments) -> Result<()> {
    let largest = x.square.iter().fold(0.0, |max: f64, s| max.max(*s));
    let wrong = match largest {
        v if v > LARGEST_SQUARE => "too large to be squared; scale the features down",
        v if v > 0.0 && v < 1.0 / LARGEST_SQUARE => "too small to be squared; scale the features up",
        _ => return Ok(()),
    };
    Err(Error::Data(format!("the numbers in the data are {wrong}")))
}
