//! Random features: h ↦ √(2/f)·cos(hR + b), a finite map whose inner products approximate a kernel [1].
//!
//! The distribution of R decides on the kernel. The columns of R are drawn from (0, 1) by a counter-based generator,
//! or spread over it evenly in every dimension (a Latin hypercube), and then go through the inverse of the
//! distribution function.
//!
//! 1. A. Rahimi, B. Recht: Random features for large-scale kernel machines. NIPS 2007.

use faer::{Accum, Par, linalg::matmul::matmul};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::linalg::kernels::elementwise::cos_turns;
use crate::linalg::matrix::{MatRef, Matrix};
use crate::{Error, Result};

/// Rows whose distances tell the bandwidth.
const SAMPLE: usize = 1000;
/// Streams of the generator beyond those of the dimensions.
const PHASES: u64 = 1 << 40;
const SCALES: u64 = 1 << 41;
const SHUFFLES: u64 = 1 << 42;

/// The distribution of the directions, and with it the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kernel {
    /// Normal entries: the kernel exp(−‖δ‖²/2σ²).
    Gaussian,
    /// Student's t with 1 degree of freedom: the kernel exp(−‖δ‖/σ), the Matérn kernel of order 1/2.
    Cauchy,
    /// Student's t with 3 degrees of freedom: the Matérn kernel of order 3/2.
    Matern3,
    /// Student's t with 5 degrees of freedom: the Matérn kernel of order 5/2.
    Matern5,
}

/// Which random features to use.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct FeatureParams {
    /// The distribution of the directions.
    pub kernel: Kernel,
    /// Spread the draws evenly in every dimension, which lowers the error of the approximation.
    pub quasi: bool,
    /// Number of features (f). The error of the approximation falls with its root.
    pub count: usize,
    /// σ² is the median squared distance of two examples times this. Smaller is more local.
    pub bandwidth: f64,
    /// Seed of the draws.
    pub seed: u64,
}

impl Default for FeatureParams {
    fn default() -> FeatureParams {
        FeatureParams { kernel: Kernel::Gaussian, quasi: false, count: 1000, bandwidth: 1.0, seed: 1 }
    }
}

setter!(FeatureParams);

/// The map h ↦ √(2/f)·cos(hR + b).
#[derive(Clone, Debug, PartialEq)]
pub struct RandomFeatures {
    /// R/2π, k×f: angles are in turns.
    pub directions: Matrix,
    /// b/2π.
    pub phases: Vec<f32>,
}

impl RandomFeatures {
    /// Draws a map for examples like the rows of `h`.
    pub fn draw(params: &FeatureParams, h: MatRef<'_>) -> Result<RandomFeatures> {
        if params.count == 0 {
            return Err(Error::parameter("count", "at least one random feature is needed"));
        }
        if !(params.bandwidth.is_finite() && params.bandwidth > 0.0) {
            return Err(Error::parameter("bandwidth", "must be a finite number above zero"));
        }
        let median = median_distance(h, params.seed);
        // Examples that are all the same have no scale of their own.
        let sigma = if median > 0.0 { (median * params.bandwidth).sqrt() } else { 1.0 };
        let degrees = match params.kernel {
            Kernel::Cauchy => 1,
            Kernel::Matern3 => 3,
            Kernel::Matern5 => 5,
            Kernel::Gaussian => 0,
        };
        let scales: Vec<f64> = (0..params.count).map(|i| student(params.seed, i, degrees)).collect();
        let mut directions = Matrix::zeros(h.cols(), params.count);
        for dimension in 0..h.cols() {
            let uniform = uniforms(params, dimension as u64);
            for ((to, u), scale) in directions.row_mut(dimension).iter_mut().zip(uniform).zip(&scales) {
                let draw = normal_quantile(u) * scale;
                *to = (draw / (sigma * std::f64::consts::TAU)) as f32;
            }
        }
        let phases = uniforms(params, PHASES).into_iter().map(|u| u as f32).collect();
        Ok(RandomFeatures { directions, phases })
    }

    /// Number of features that an example has after the map.
    pub fn count(&self) -> usize {
        self.phases.len()
    }

    /// Writes the features of some rows of `h` into rows of `stride` entries. One thread.
    pub(crate) fn map(&self, h: MatRef<'_>, out: &mut [f32], stride: usize) {
        let (rows, k, f) = (h.rows(), h.cols(), self.count());
        let gathered: Vec<f32> = (0..rows).flat_map(|i| h.row(i)).copied().collect();
        let from = faer::MatRef::from_row_major_slice(&gathered, rows, k);
        let r = faer::MatRef::from_row_major_slice(self.directions.as_slice(), k, f);
        // As columns of the transpose: the strided row-major view of faer 0.24 for writing swaps its strides.
        let to = faer::MatMut::from_column_major_slice_with_stride_mut(out, f, rows, stride).transpose_mut();
        matmul(to, Accum::Replace, from, r, 1.0, Par::Seq);
        let scale = (2.0 / f as f64).sqrt() as f32;
        out.chunks_mut(stride).for_each(|row| cos_turns(&mut row[..f], &self.phases, scale));
    }
}

/// A number in (0, 1) for each feature.
fn uniforms(params: &FeatureParams, stream: u64) -> Vec<f64> {
    let mut draw = generator(params.seed, stream);
    if !params.quasi {
        return (0..params.count).map(|_| unit(&mut draw)).collect();
    }
    // One draw in each of f equal intervals, in random order.
    let mut order: Vec<usize> = (0..params.count).collect();
    let mut shuffle = generator(params.seed, SHUFFLES + stream);
    for i in (1..order.len()).rev() {
        order.swap(i, (unit(&mut shuffle) * (i + 1) as f64) as usize);
    }
    order.into_iter().map(|place| (place as f64 + unit(&mut draw)) / params.count as f64).collect()
}

fn generator(seed: u64, stream: u64) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(stream);
    rng
}

fn unit(rng: &mut ChaCha8Rng) -> f64 {
    (f64::from(rng.next_u32()) + 0.5) / 4_294_967_296.0
}

/// 1/√(χ²/ν) of feature `i`, which makes a normal vector one of Student's t; 1 for ν = 0.
fn student(seed: u64, i: usize, degrees: usize) -> f64 {
    if degrees == 0 {
        return 1.0;
    }
    let mut rng = generator(seed, SCALES + i as u64);
    let square: f64 = (0..degrees).map(|_| normal_quantile(unit(&mut rng)).powi(2)).sum();
    (degrees as f64 / square).sqrt()
}

/// The median squared distance of pairs of at most 1000 rows.
fn median_distance(h: MatRef<'_>, seed: u64) -> f64 {
    let mut rng = generator(seed, SCALES - 1);
    let sample: Vec<usize> = if h.rows() <= SAMPLE {
        (0..h.rows()).collect()
    } else {
        (0..SAMPLE).map(|_| (unit(&mut rng) * h.rows() as f64) as usize).collect()
    };
    let before = |at: usize| {
        let i = sample[at];
        let others = sample[..at].iter().filter(move |j| **j != i);
        others.map(move |j| squared_distance(h.row(i), h.row(*j)))
    };
    let mut distances: Vec<f64> = (0..sample.len()).into_par_iter().flat_map_iter(before).collect();
    if distances.is_empty() {
        return 0.0;
    }
    let middle = distances.len() / 2;
    *distances.select_nth_unstable_by(middle, f64::total_cmp).1
}

/// ‖a − b‖², in lanes that the compiler can add side by side.
fn squared_distance(a: &[f32], b: &[f32]) -> f64 {
    const LANES: usize = 16;
    let mut sums = [0f32; LANES];
    let (whole, rest) = a.as_chunks::<LANES>();
    let (other, last) = b.as_chunks::<LANES>();
    for (a, b) in whole.iter().zip(other) {
        for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
            *sum += (a - b) * (a - b);
        }
    }
    let tail: f64 = rest.iter().zip(last).map(|(a, b)| f64::from((a - b) * (a - b))).sum();
    tail + sums.iter().map(|sum| f64::from(*sum)).sum::<f64>()
}

/// The inverse of the normal distribution function: Acklam's rational approximation, to nine digits.
fn normal_quantile(u: f64) -> f64 {
    const A: [f64; 6] = [
        -3.969683028665376e1,
        2.209460984245205e2,
        -2.759285104469687e2,
        1.38357751867269e2,
        -3.066479806614716e1,
        2.506628277459239,
    ];
    const B: [f64; 6] = [
        -5.447609879822406e1,
        1.615858368580409e2,
        -1.556989798598866e2,
        6.680131188771972e1,
        -1.328068155288572e1,
        1.0,
    ];
    const C: [f64; 6] = [
        -7.784894002430293e-3,
        -3.223964580411365e-1,
        -2.400758277161838,
        -2.549732539343734,
        4.374664141464968,
        2.938163982698783,
    ];
    const D: [f64; 5] = [7.784695709041462e-3, 3.224671290700398e-1, 2.445134137142996, 3.754408661907416, 1.0];
    let horner = |c: &[f64], x: f64| c.iter().fold(0.0, |p, c| p * x + c);
    let tail = |u: f64| {
        let q = (-2.0 * u.ln()).sqrt();
        horner(&C, q) / horner(&D, q)
    };
    const EDGE: f64 = 0.02425;
    if u < EDGE {
        tail(u)
    } else if u > 1.0 - EDGE {
        -tail(1.0 - u)
    } else {
        let q = u - 0.5;
        q * horner(&A, q * q) / horner(&B, q * q)
    }
}

#[cfg(test)]
mod tests;
