//! The report of a training. It holds no times, so that the same training gives the same bytes.

use serde::{Deserialize, Serialize};

use crate::embed;
use crate::score::head::{FeatureParams, LogisticReport};

/// How a training went.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrainReport {
    /// How good the chosen settings were on held-out examples. A little optimistic when there was a choice.
    pub held_out: HeldOut,
    /// Everything that was tried, in order.
    pub tried: Vec<Tried>,
    /// Whether the time for tuning was over before the search was: then another machine may choose otherwise.
    pub cut_short: bool,
    /// The embedding of all examples.
    pub embedding: embed::Report,
    /// The head on h itself; absent for least squares, random features and sampled labels.
    pub head: Option<LogisticReport>,
}

/// Quality on examples that had no part in the fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HeldOut {
    /// Number of examples that decided.
    pub examples: u64,
    /// Precision at 1.
    #[serde(rename = "p@1")]
    pub p1: f64,
    /// Precision at 3.
    #[serde(rename = "p@3")]
    pub p3: f64,
    /// Precision at 5.
    #[serde(rename = "p@5")]
    pub p5: f64,
}

impl HeldOut {
    /// The mean over all examples of several parts.
    pub(super) fn mean(parts: &[HeldOut]) -> HeldOut {
        let examples = parts.iter().map(|p| p.examples).sum();
        let mean = |f: fn(&HeldOut) -> f64| {
            parts.iter().map(|p| f(p) * p.examples as f64).sum::<f64>() / (examples as f64).max(f64::MIN_POSITIVE)
        };
        HeldOut { examples, p1: mean(|p| p.p1), p3: mean(|p| p.p3), p5: mean(|p| p.p5) }
    }

    /// What tuning makes large: precision at 1 where examples have one label, else the mean over 1, 3 and 5.
    pub fn quality(&self, single: bool) -> f64 {
        if single { self.p1 } else { (self.p1 + self.p3 + self.p5) / 3.0 }
    }
}

/// Settings, and how good they were.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tried {
    /// Dimensions of the embedding.
    pub k: usize,
    /// Relative ridge of the embedding, as it would be for all examples.
    pub ridge: f64,
    /// Share of the dimensions that are random.
    #[serde(default, alias = "spread")]
    pub random_fraction: f64,
    /// Ridge of the head; absent for least squares.
    pub head_ridge: Option<f64>,
    /// The part of the least-squares score that was best with these.
    #[serde(alias = "blend")]
    pub least_squares_weight: f32,
    /// The random features that the head saw, if any.
    pub random_features: Option<FeatureParams>,
    /// How good that was.
    pub held_out: HeldOut,
}
