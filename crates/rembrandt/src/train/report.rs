//! The report of a training. It holds no times, so that the same training gives the same bytes.

use serde::{Deserialize, Serialize};

use crate::embed;
use crate::score::head::LogisticReport;
use crate::score::ranker::Proposals;

/// How a training went.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct HeadReport {
    /// How good the head was on held-out examples.
    pub held_out: HeldOut,
    /// The embedding of all examples.
    pub embedding: embed::Report,
    /// The head on h itself; absent for least squares, random features and sampled labels.
    pub head: Option<LogisticReport>,
}

/// Quality on examples that were held out: the scorers and the head did not see them. Calibration, and the few weights of a
/// combination, were fitted to them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct HeldOut {
    /// Number of these examples.
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

/// The settings of a training, chosen or given, and how well it ranks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Trial {
    /// Dimensions of the embedding.
    pub k: usize,
    /// C.
    pub cost: f64,
    /// Candidates of an example.
    pub proposals: Proposals,
    /// nDCG@5 on held-out examples.
    #[serde(rename = "ndcg@5")]
    pub ndcg: f64,
}
