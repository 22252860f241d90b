//! The weight of the least-squares score beside a head, calibration and thresholds, on held-out examples.

use super::params::TrainParams;
use super::params::Tuning;
use super::report::HeldOut;
use super::search::LEAST_SQUARES_WEIGHTS;
use super::validation::Components;
use crate::Result;
use crate::score::head::{Calibration, RowSubset};

/// How the scores of a head become probabilities.
pub(super) struct Calibrated {
    /// Weight of the least-squares score.
    pub least_squares: f32,
    /// How good that is.
    pub held_out: HeldOut,
    pub calibration: Calibration,
    pub thresholds: Vec<f32>,
}

impl TrainParams {
    /// Fits what `scored` leaves open, for the examples `out`.
    pub(super) fn calibrate(&self, tuning: &Tuning, scored: &Components, out: &RowSubset) -> Result<Calibrated> {
        let weights = match tuning.least_squares_weight {
            true => &LEAST_SQUARES_WEIGHTS[..],
            false => std::slice::from_ref(&self.least_squares_weight),
        };
        let tried = scored.precision(out.labels.view(), out.weights.as_deref(), weights);
        let single = self.head == super::HeadKind::Softmax;
        let better = |best: (f32, HeldOut), other: (f32, HeldOut)| {
            if other.1.quality(single) > best.1.quality(single) { other } else { best }
        };
        let tried = weights.iter().copied().zip(tried);
        let (least_squares, held_out) = tried.reduce(better).expect("something was tried");
        let scores = scored.combined(least_squares);
        let calibration = Calibration::fit(self.head.loss(), &scores, out.labels.view());
        let thresholds = super::thresholds::of_scores(&calibration, scores, out.labels.view())?;
        Ok(Calibrated { least_squares, held_out, calibration, thresholds })
    }
}
