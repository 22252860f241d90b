//! How good ranked predictions are.

mod at;
mod propensity;
mod rank;

pub use at::{ndcg_at, precision_at, recall_at};
pub use propensity::{Propensities, Propensity};
pub use rank::{rank, rank_candidates};
