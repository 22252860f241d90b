//! Principal components of the features.
//!
//! The examples are projected on the k directions V in which the features vary most, whatever their labels: h(x) =
//! Vᵀ(x − x̄). The features are shifted to mean 0, as the word wants it: otherwise the first direction of data
//! without negative numbers, such as counts of words, is little but their mean, and says the same of every example. The
//! directions are not scaled to equal variance, because the ridge of a head then does what it should: directions
//! in which examples hardly differ need large weights to matter, and get small ones.
//!
//! The embedding of the labels is the ridge regression of Y − ȳ on h, that is of the labels on the features within the
//! space of V, so that a least-squares score is at hand as for all other methods.
//!
//! As nothing of h was fitted to labels, training examples are as new to it as any others.

use faer::Mat;

use super::moments::{check_range, mean};
use super::params::Rembrandt;
use super::principal::{Principal, principal};
use super::report::{Embedding, Report};
use crate::data::bias_center::weighted_sum;
use crate::data::{BiasCenter, Examples, Side};
use crate::linalg::kernels::columns::dot;
use crate::linalg::matrix::Matrix;
use crate::linalg::orth;
use crate::{Error, Result, Run};

/// Variances below this fraction of the largest are rounding.
const NO_VARIANCE: f64 = 1e-6;

/// The principal directions, and all that the data say of them.
pub(super) struct Components {
    pub labels: Matrix,
    pub projection: Matrix,
    pub intercept: Vec<f32>,
    /// Sums of squares along each direction.
    spectrum: Vec<f64>,
    /// ‖Cv − μv‖/μ with C = XᵀWX of the shifted features.
    residuals: Vec<f64>,
    rho: f64,
    /// All the variance there is.
    trace: f64,
}

/// V, the principal directions of the features.
pub(super) fn find(
    params: &Rembrandt,
    start: Option<&Matrix>,
    data: &dyn Examples,
    run: &mut Run<'_>,
) -> Result<Principal> {
    check_range(&data.moments(Side::X)?)?;
    principal(params, Side::X, start, data, run)
}

/// The regression of the labels on h = Vᵀ(x − x̄).
pub(super) fn regress(
    params: &Rembrandt,
    directions: &Matrix,
    data: &dyn Examples,
    run: &mut Run<'_>,
) -> Result<Components> {
    let centred = BiasCenter::centered(data)?;
    let (shape, k) = (centred.shape(), directions.cols());
    run.begin(4 * k as u64);
    let product = run.checkpoint("product", |run| {
        let mut product = Matrix::zeros(shape.d, k);
        centred.cross(Side::X, Side::X, directions.view(), product.view_mut())?;
        run.advance("projection", 2 * k as u64)?;
        Ok(product)
    })?;
    let gram = orth::inner(directions.view(), product.view());
    let spectrum: Vec<f64> = (0..k).map(|j| gram[(j, j)]).collect();
    let largest = spectrum.iter().fold(0.0, |max: f64, v| max.max(*v));
    let projection =
        Matrix::from_fn(
            shape.d,
            k,
            |i, j| {
                if spectrum[j] > NO_VARIANCE * largest { directions.row(i)[j] } else { 0.0 }
            },
        );
    let intercept = weighted_sum(&mean(data, Side::X)?, projection.view()).iter().map(|v| -v as f32).collect();
    let trace: f64 = centred.moments(Side::X)?.square.iter().sum();
    let rho = params.ridge * trace / shape.d as f64;
    if !(rho as f32).is_finite() {
        let reason =
            format!("{:e} makes a real ridge of {rho:e}, beyond single precision; choose a smaller one", params.ridge);
        return Err(Error::parameter("ridge", reason));
    }
    // E = YᵀWH (HᵀWH + ρI)⁻¹ on shifted data; directions without variance, if there is no ridge, count for nothing.
    let shares = run.checkpoint("shares", |run| {
        let mut shares = Matrix::zeros(shape.c, k);
        centred.cross(Side::Y, Side::X, projection.view(), shares.view_mut())?;
        run.advance("projection", 2 * k as u64)?;
        Ok(shares)
    })?;
    let labels = orth::multiply(shares.view(), &ridge_inverse(&gram, rho, NO_VARIANCE * largest));
    let residuals = residuals(directions, &product, &spectrum, NO_VARIANCE * largest);
    Ok(Components { labels, projection, intercept, spectrum, residuals, rho, trace })
}

/// (G + ρI)⁻¹ within the directions whose variance exceeds `floor`.
fn ridge_inverse(gram: &Mat<f64>, rho: f64, floor: f64) -> Mat<f64> {
    let (values, u) = orth::eigen(gram);
    let inverse = |v: f64| if v > floor { (v + rho).recip() } else { 0.0 };
    let weighed = Mat::from_fn(u.nrows(), u.ncols(), |i, j| u[(i, j)] * inverse(values[j]));
    &weighed * u.transpose()
}

/// ‖Cv − μv‖/μ of each direction v, with `product` = C·V; 0 where μ is below `floor`.
fn residuals(directions: &Matrix, product: &Matrix, spectrum: &[f64], floor: f64) -> Vec<f64> {
    let (squares, along) = (dot(product.view(), product.view()), dot(directions.view(), product.view()));
    let residual = |(j, mu): (usize, &f64)| {
        let square = squares[j] - 2.0 * mu * along[j] + mu * mu;
        if *mu > floor { square.max(0.0).sqrt() / mu } else { 0.0 }
    };
    spectrum.iter().enumerate().map(residual).collect()
}

/// Directions and regression, with a report in which the variance of the features is the energy.
pub(super) fn fit(
    params: &Rembrandt,
    start: Option<&Matrix>,
    data: &dyn Examples,
    run: &mut Run<'_>,
) -> Result<Embedding> {
    let found = find(params, start, data, run)?;
    let components = regress(params, &found.directions, data, run)?;
    let energy: f64 = components.spectrum.iter().sum();
    let report = Report {
        shape: data.shape(),
        k: params.k,
        rank: found.rank,
        solver: "direct".into(),
        rho: components.rho,
        projection_rho: components.rho,
        half_passes: found.half_passes,
        projection_half_passes: 3.0,
        energy,
        trace_estimate: components.trace,
        trace_error: 0.0,
        energy_fraction: if components.trace > 0.0 { energy / components.trace } else { 0.0 },
        max_residual: components.residuals.iter().fold(0.0, |max, r| r.max(max)),
        residuals: components.residuals,
        guarded_columns: 0,
    };
    Ok(Embedding {
        labels: components.labels,
        projection: components.projection,
        intercept: components.intercept,
        spectrum: components.spectrum,
        report,
    })
}
