//! Common to the trainings of a ranker and of a head.

use crate::data::{Dataset, Examples, Shape, Side};
use crate::linalg::csr::CsrRef;
use crate::linalg::matrix::{MatRef, Matrix};
use crate::linalg::orth;
use crate::metrics::Propensity;
use crate::score::head::Loss;
use crate::{Error, Result};

/// One in so many examples is held out from what decides, to calibrate it; when there are many examples, no more than a few
/// thousand are.
pub(super) const HELD_OUT: usize = 10;
pub(super) const MOST_HELD_OUT: usize = 5000;
/// Seed of the folds for that and for cross-fitting.
pub(super) const CROSS: u64 = 0xc405;
/// The real ridge in squared lengths of a mean example, by default. A ridge of that size makes the projection believe its
/// examples as much as this many examples at the origin.
const DEFAULT_RIDGE: f64 = 4.0;

/// Features of a larger size leave the range of single precision as soon as their products are added up.
const LARGEST: f32 = 1e15;

/// The relative ridge of the embedding: the one given, or the usual one.
pub(super) fn resolved_ridge(given: Option<f64>, shape: Shape) -> f64 {
    given.unwrap_or(DEFAULT_RIDGE * shape.d as f64 / shape.n.max(1) as f64)
}

/// Refuses data that no training can learn from.
pub(super) fn check_learnable(data: &Dataset) -> Result<()> {
    if data.nnz(Side::Y) == 0 {
        return Err(Error::Data("no example has a label: there is nothing to learn".into()));
    }
    if data.weighted() && data.moments(Side::Y)?.weight == 0.0 {
        return Err(Error::Data("all weights are 0: there is nothing to learn".into()));
    }
    if data.nnz(Side::X) == 0 {
        return Err(Error::Data("no example has a feature: there is nothing to learn from".into()));
    }
    match data.find_feature(|value| value.abs() > LARGEST)? {
        Some((example, feature, value)) => Err(Error::Data(format!(
            "example {}, counted from 1, has the value {value:e} for feature {feature}, which is too large to be squared; \
             scale the features down",
            example + 1
        ))),
        None => Ok(()),
    }
}

/// The probabilities that suit labels: softmax where every example has one, independent ones for all others.
pub(super) fn suited_loss(labels: CsrRef<'_>) -> Loss {
    match (0..labels.rows()).all(|i| labels.row(i).0.len() == 1) {
        true => Loss::Softmax,
        false => Loss::Independent,
    }
}

/// Refuses propensities that could not be used once the training is done.
pub(super) fn check_propensity(propensity: Propensity, loss: Loss) -> Result<()> {
    if loss == Loss::Softmax {
        let reason = "is for independent labels: where there is one, none is forgotten";
        return Err(Error::parameter("propensity", reason));
    }
    propensity.check()
}

/// The probability whose odds are so many times larger.
pub(super) fn lifted(probability: f32, factor: f64) -> f32 {
    let odds = factor * f64::from(probability) / (1.0 - f64::from(probability)).max(f64::MIN_POSITIVE);
    (odds / (1.0 + odds)).min(1.0) as f32
}

/// Mean and covariance of the rows of `h`.
pub(super) fn moments(h: MatRef<'_>) -> (Vec<f32>, Matrix) {
    let (n, k) = (h.rows().max(1) as f64, h.cols());
    let ones = Matrix::from_fn(h.rows(), 1, |_, _| 1.0);
    let (square, sum) = (orth::inner(h, h), orth::inner(ones.view(), h));
    let mean: Vec<f64> = (0..k).map(|j| sum[(0, j)] / n).collect();
    let covariance = Matrix::from_fn(k, k, |i, j| (square[(i, j)] / n - mean[i] * mean[j]) as f32);
    (mean.into_iter().map(|v| v as f32).collect(), covariance)
}
