//! Moments of the columns: the means, the intercept of a regression on centred data, and whether the features are of a
//! size that single precision can square.

use crate::data::bias_center::weighted_sum;
use crate::data::{Examples, Moments, Side};
use crate::linalg::matrix::Matrix;
use crate::{Error, Result};

/// Sums of squares of a feature must lie between this and its inverse.
const LARGEST_SQUARE: f64 = 1e30;

/// The mean of every column of one side, weighted as the examples are.
pub(super) fn mean(data: &dyn Examples, side: Side) -> Result<Vec<f64>> {
    let moments = data.moments(side)?;
    let weight = moments.weight;
    Ok(moments.sum.into_iter().map(|s| if weight > 0.0 { s / weight } else { 0.0 }).collect())
}

/// Eᵀȳ − Pᵀx̄: makes h(x) an estimate of the embedded labels themselves, not of their difference from the mean.
pub(super) fn centred_intercept(data: &dyn Examples, labels: &Matrix, projection: &Matrix) -> Result<Vec<f32>> {
    let y = weighted_sum(&mean(data, Side::Y)?, labels.view());
    let x = weighted_sum(&mean(data, Side::X)?, projection.view());
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
