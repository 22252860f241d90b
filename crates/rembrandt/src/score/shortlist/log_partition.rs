//! The log-partition function under softmax: what the labels that are left out add to the sum.
//!
//! A probability is exp(score) divided by the sum of that over all labels. For the shortlist it is known exactly. Without
//! any feature, labels have the probabilities p that follow from their offsets, and log Σ exp(score) begins, around h = 0,
//!
//! ```text
//! constant + v̄·h + ½ hᵀCh + …,     v̄ = Σ p v,  C the covariance of v under p
//! ```
//!
//! The labels that are left out are many and none of them matters by itself, so their sum keeps to such a law. Where
//! labels have nothing in common C is about a multiple of the identity, so the law that is fitted to examples, by least
//! squares, is
//!
//! ```text
//! log rest = a + b (v̄·h) + c |h|² + e log(sum over the shortlist)
//! ```

use serde::{Deserialize, Serialize};

use super::Linear;
use crate::score::head::Calibration;

/// A rest that is a smaller part of the whole changes no probability, and its logarithm is noise.
const SMALLEST: f64 = 1e-4;

/// How to estimate what is left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LogPartition {
    /// v̄.
    pub direction: Vec<f32>,
    /// a, b, c and e.
    pub coefficients: [f64; TERMS],
}

const TERMS: usize = 4;

/// What is known of an example.
pub(crate) struct Observed<'a> {
    pub h: &'a [f32],
    /// log Σ exp over the shortlist.
    pub shortlist: f64,
    /// log Σ exp over all labels.
    pub all: f64,
}

impl LogPartition {
    /// Fits the law to examples.
    pub(crate) fn fit<'a>(
        linear: &Linear<'_>,
        offsets: &[f32],
        calibration: Calibration,
        examples: impl Iterator<Item = Observed<'a>>,
    ) -> LogPartition {
        let mut rest =
            LogPartition { direction: mean_vector(linear, offsets, calibration), coefficients: [0.0; TERMS] };
        // XᵀX and Xᵀy of the regression.
        let (mut square, mut right, mut count) = ([[0f64; TERMS]; TERMS], [0f64; TERMS], 0.0);
        for known in examples {
            let share = 1.0 - (known.shortlist - known.all).exp();
            if share.is_nan() || share <= SMALLEST {
                continue;
            }
            let (terms, log) = (rest.terms(known.h, known.shortlist), known.all + share.ln());
            count += 1.0;
            for i in 0..TERMS {
                right[i] += terms[i] * log;
                (0..TERMS).for_each(|j| square[i][j] += terms[i] * terms[j]);
            }
        }
        // Nothing is left out anywhere: nothing is added.
        rest.coefficients[0] = f64::from(f32::MIN);
        if count > 0.0 {
            rest.coefficients = solve(square, right);
        }
        rest
    }

    /// The logarithm of what is left out of an example with this h and this log Σ exp over its shortlist.
    pub fn log_rest(&self, h: &[f32], shortlist: f64) -> f64 {
        self.terms(h, shortlist).iter().zip(&self.coefficients).map(|(t, c)| t * c).sum()
    }

    fn terms(&self, h: &[f32], shortlist: f64) -> [f64; TERMS] {
        let product = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
        [1.0, product(&self.direction, h), product(h, h), shortlist]
    }

    /// Whether all numbers are finite and there are as many as dimensions.
    pub(crate) fn is_sound(&self, k: usize) -> bool {
        self.direction.len() == k
            && self.direction.iter().all(|v| v.is_finite())
            && self.coefficients.iter().all(|v| v.is_finite())
    }
}

/// v̄: the mean of the label vectors, each as often as it is likely without any feature.
fn mean_vector(linear: &Linear<'_>, offsets: &[f32], calibration: Calibration) -> Vec<f32> {
    let largest = offsets.iter().fold(f32::MIN, |max, v| max.max(*v));
    let (mut sum, mut total) = (vec![0f64; linear.k()], 0.0);
    for (label, offset) in offsets.iter().enumerate() {
        let weight = f64::from(calibration.scale * (offset - largest)).exp();
        total += weight;
        sum.iter_mut().zip(linear.vectors.row(label)).for_each(|(s, v)| *s += weight * f64::from(*v));
    }
    sum.into_iter().map(|s| (f64::from(calibration.scale) * s / total) as f32).collect()
}

/// Solves a small symmetric system, with a ridge that makes it solvable.
fn solve(mut square: [[f64; TERMS]; TERMS], mut right: [f64; TERMS]) -> [f64; TERMS] {
    (0..TERMS).for_each(|i| square[i][i] += 1e-9 * square[i][i] + f64::MIN_POSITIVE);
    for i in 0..TERMS {
        for j in i + 1..TERMS {
            let factor = square[j][i] / square[i][i];
            (i..TERMS).for_each(|l| square[j][l] -= factor * square[i][l]);
            right[j] -= factor * right[i];
        }
    }
    for i in (0..TERMS).rev() {
        let known: f64 = (i + 1..TERMS).map(|j| square[i][j] * right[j]).sum();
        right[i] = (right[i] - known) / square[i][i];
    }
    if right.iter().all(|v| v.is_finite()) { right } else { [f64::from(f32::MIN), 0.0, 0.0, 0.0] }
}
