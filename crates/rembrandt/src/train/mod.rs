//! Training: from examples to all that a model consists of.
//!
//! ```text
//! tune    choose k, ridge and head strength on examples that neither the embedding nor the head has seen
//! embed   E and P from all examples, beginning with the embedding of the tuning
//! cross   h of every example from a projection that has not seen it
//! head    logistic regression on these h
//! ```
//!
//! Tuning divides the examples in three: the embedding and its projection are fitted to the first part, the head to
//! the second, and the third decides. So what decides has influenced nothing, and the head learns from examples that
//! are as new to the projection as those it will meet. Without tuning one such division is still made, with the given
//! parameters: it tells how to turn scores into probabilities, where to put thresholds, and how good the model is.
//!
//! [`Trainer`] is the way in; [`TrainParams`] has all settings of an embedding with a head.

mod combination;
mod fit;
mod params;
mod report;
mod search;
mod search_clock;
mod search_outcome;
mod shortlist;
#[cfg(test)]
mod tests;
mod thresholds;
mod trainer;
mod validation;

pub use params::{HeadKind, TrainParams, Tuning};
pub use report::{HeldOut, RankerReport, TrainReport, Tried};
pub use trainer::{FeatureOptions, Prepared, Trainer, TrainingData};
