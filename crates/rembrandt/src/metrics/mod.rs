//! How good ranked predictions are.

mod rank;

pub use rank::{rank, rank_candidates};
