//! Training: from examples to a [`Model`](crate::Model).
//!
//! ```text
//! divide       hold some examples out; near duplicates together where that is asked for
//! embed        E and P from the others
//! propose      candidates of all examples, by words and by the embedding
//! rank         a sparse linear scorer of each label, on its examples and those that propose it without having it
//! combine      weights of the views, which make a probability; thresholds: on held-out examples
//! ```
//!
//! That is the default, [`RankerParams`]. [`HeadTrainParams`] has the paper's systems, an embedding with a head. They divide the
//! examples in three: the embedding and its projection are fitted to the first part, the head to the second, and the third
//! calibrates. So what is held out has influenced nothing, and the head learns from examples that are as new to the
//! projection as those it will meet. With at most 20,000 examples the first two are the same part, cross-fitted.
//!
//! [`Training`] is any of them, or of trees, and [`Trainer`] the way in.

mod calibrated;
mod cross_validation;
mod head;
mod head_params;
mod ranker;
mod report;
mod shared;
#[cfg(test)]
mod tests;
mod thresholds;
mod trainer;
mod training;
mod tuning;
mod validation;

pub use head_params::{HeadChoice, HeadKind, HeadTrainParams};
pub use ranker::{RankerParams, RankerReport};
pub use report::{HeadReport, HeldOut, Trial};
pub use trainer::{FeatureOptions, Prepared, Trainer, TrainingData};
pub use training::Training;
