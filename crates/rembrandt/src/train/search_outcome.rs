//! The result of a search for settings, and how it is kept as a checkpoint.

use std::io;

use super::params::TrainParams;
use super::report::{HeldOut, Tried};
use super::validation::Setting;
use crate::io::checkpoint::{Json, Load, Reader, Store, Writer};
use crate::linalg::matrix::Matrix;
use crate::score::head::Calibration;

/// What the search found.
pub(super) struct SearchOutcome {
    pub setting: Setting,
    pub least_squares_weight: f32,
    pub held_out: HeldOut,
    pub calibration: Calibration,
    pub thresholds: Vec<f32>,
    /// The basis of a part of the examples, a good start for that of all; absent when nothing was tried.
    pub start: Option<Matrix>,
    pub tried: Vec<Tried>,
    pub cut_short: bool,
    /// Whether heads were trained on as large a part of the examples as the final one is. If not, they are weaker than
    /// it, and what least_squares_weight and calibration suit them need not suit it.
    pub faithful: bool,
}

impl SearchOutcome {
    /// A setting that was taken as it is.
    pub fn untried(setting: Setting, params: &TrainParams, c: usize) -> SearchOutcome {
        SearchOutcome {
            setting,
            least_squares_weight: params.least_squares_weight,
            held_out: HeldOut::default(),
            calibration: Calibration::identity(params.head.loss()),
            thresholds: vec![0.5; c],
            start: None,
            tried: Vec::new(),
            cut_short: false,
            faithful: false,
        }
    }
}

impl Store for SearchOutcome {
    fn store(&self, out: &mut Writer<'_>) -> io::Result<()> {
        let SearchOutcome { setting, least_squares_weight, held_out, calibration, tried, cut_short, faithful, .. } =
            self;
        let small = Json((setting, least_squares_weight, held_out, calibration, tried, cut_short, faithful));
        (small, &self.thresholds, &self.start).store(out)
    }
}

impl Load for SearchOutcome {
    fn load(from: &mut Reader) -> io::Result<SearchOutcome> {
        let (Json(small), thresholds, start) = Load::load(from)?;
        let (setting, least_squares_weight, held_out, calibration, tried, cut_short, faithful) = small;
        Ok(SearchOutcome {
            setting,
            least_squares_weight,
            held_out,
            calibration,
            thresholds,
            start,
            tried,
            cut_short,
            faithful,
        })
    }
}
