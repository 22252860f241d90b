//! Calibration and thresholds of a head, on held-out examples.

use rayon::prelude::*;

use super::report::HeldOut;
use super::thresholds;
use crate::Result;
use crate::linalg::csr::CsrRef;
use crate::linalg::matrix::Matrix;
use crate::metrics::{DEFAULT_THRESHOLD, precision_at, rank};
use crate::score::head::{Calibration, Loss};

/// How the scores of a head become probabilities.
pub(super) struct Calibrated {
    /// How good the scores are.
    pub held_out: HeldOut,
    pub calibration: Calibration,
    pub thresholds: Vec<f32>,
}

impl Calibrated {
    /// Where nothing is held out.
    pub fn identity(loss: Loss, c: usize) -> Calibrated {
        Calibrated {
            held_out: HeldOut::default(),
            calibration: Calibration::identity(loss),
            thresholds: vec![DEFAULT_THRESHOLD; c],
        }
    }

    /// Fits both to the scores of held-out examples and their labels.
    pub fn fit(loss: Loss, scores: Matrix, labels: CsrRef<'_>, weights: Option<&[f32]>) -> Result<Calibrated> {
        let held_out = precision(&scores, labels, weights);
        let calibration = Calibration::fit(loss, &scores, labels);
        let thresholds = thresholds::of_scores(&calibration, scores, labels)?;
        Ok(Calibrated { held_out, calibration, thresholds })
    }
}

/// Precision of scores, as a mean weighted by examples.
fn precision(scores: &Matrix, labels: CsrRef<'_>, weights: Option<&[f32]>) -> HeldOut {
    let n = scores.rows();
    let each = |i: usize| {
        let weight = weights.map_or(1.0, |w| f64::from(w[i]));
        let ranked = rank(scores.row(i), 5);
        [1, 3, 5].map(|k| weight * precision_at(labels.row(i).0, &ranked, k))
    };
    let each: Vec<[f64; 3]> = (0..n).into_par_iter().map(each).collect();
    let total = weights.map_or(n as f64, |w| w.iter().map(|w| f64::from(*w)).sum());
    let [p1, p3, p5] = [0, 1, 2].map(|j| each.iter().map(|row| row[j]).sum::<f64>() / total.max(f64::MIN_POSITIVE));
    HeldOut { examples: n as u64, p1, p3, p5 }
}
