//! The result of an embedder: the embedding, and a report of how it was found and how good it is.

use serde::{Deserialize, Serialize};

use crate::{Matrix, Shape};

/// An embedding of the labels, and the regression of features into it.
///
/// An example with features x lands at h(x) = Pᵀx + intercept; the score of a label is the inner product of h(x)
/// with its row of `labels`. Here it is described as Rembrandt makes it; other [methods](super::Method) say how theirs
/// differs: random rows are not orthonormal, and principal components of the features have the variance of these for an
/// energy. Where it was fitted to
/// [divided](crate::data::View::scale_rows) rows, x is a row divided likewise.
#[derive(Clone, Debug)]
pub struct Embedding {
    /// E, c×k: one row per label; the columns are orthonormal, the most important first, each with its entry of
    /// largest magnitude positive.
    pub labels: Matrix,
    /// P, d×k: one row per feature.
    pub projection: Matrix,
    /// The share of the constant feature and the mean shift in h, added to Pᵀx; zeros without them. Length k.
    pub intercept: Vec<f32>,
    /// Eigenvalues μ of M = YᵀWX(XᵀWX + ρI)⁻¹XᵀWY along each direction: eᵀMe. They are the squared singular
    /// values of the projected labels Π_X Y. Length k.
    pub spectrum: Vec<f64>,
    /// How the embedding came about and how good it is. The same for any number of threads and any panel width.
    pub report: Report,
}

/// How an embedding was found and how good it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Report {
    /// Size of the data.
    pub shape: Shape,
    /// Dimension of the embedding.
    pub k: usize,
    /// Directions that carry any energy; those beyond are an arbitrary orthonormal completion with eigenvalue 0. All of
    /// them where random ones were asked for.
    pub rank: usize,
    /// How the embedding was found: `few-pass`, or by Algorithm 1 with regressions that were solved `iterative` with the
    /// data, `direct` with a factorisation, or by iterating with the written XᵀWX, `gram`.
    pub solver: String,
    /// The real ridge ρ of the embedding.
    pub rho: f64,
    /// The real ridge of the projection.
    pub projection_rho: f64,
    /// Products with X or Xᵀ that the embedding took, per column: one gather or one scatter each.
    pub half_passes: f64,
    /// The same for the projection.
    pub projection_half_passes: f64,
    /// Captured energy trace(EᵀME). Regressions that stop early make it a little too small, never too large.
    pub energy: f64,
    /// Estimate of trace(M), all the energy there is: the captured energy, and the rest estimated from a few random
    /// directions.
    pub trace_estimate: f64,
    /// Standard error of `trace_estimate`.
    pub trace_error: f64,
    /// energy / trace_estimate.
    pub energy_fraction: f64,
    /// ‖Me − μe‖/μ of each direction, 0 for those beyond the rank.
    pub residuals: Vec<f64>,
    /// The largest of `residuals`.
    pub max_residual: f64,
    /// Columns of regressions that the guard of the conjugate gradients ended early because rounding made further
    /// steps worse.
    pub guarded_columns: usize,
}
