//! How good ranked predictions are.

mod at;
mod propensity;
mod rank;
mod threshold;

pub use at::{ndcg_at, precision_at, recall_at};
pub use propensity::{Propensities, Propensity};
pub use rank::{rank, rank_candidates};
pub use threshold::{DEFAULT_THRESHOLD, best_f1_thresholds, best_f1_thresholds_on, predicted_positive};
