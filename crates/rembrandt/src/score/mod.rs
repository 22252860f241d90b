//! From an example to scores of labels.

pub mod head;
pub mod ranker;
pub mod shortlist;
