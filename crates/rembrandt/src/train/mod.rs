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
//! ```
//! use rembrandt::data::{Dataset, Rows};
//! use rembrandt::train::{HeadKind, TrainParams, Tuning};
//! use rembrandt::Run;
//!
//! // Feature i tells label i.
//! let mut rows = Rows::new();
//! for i in 0..200 {
//!     rows.x.push(i % 4, 1.0);
//!     rows.x.end_row();
//!     rows.y.push(i % 4, 1.0);
//!     rows.y.end_row();
//! }
//! let data = Dataset::from_rows(&rows, 4, 4)?;
//! let params = TrainParams::new(HeadKind::suited(&data)?);
//! let trained = params.fit(&data, &Tuning::off(), &mut Run::default())?;
//! assert_eq!(trained.report.held_out.p1, 1.0);
//! # Ok::<(), rembrandt::Error>(())
//! ```

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
mod validation;

pub use params::{HeadKind, TrainParams, Tuning};
pub use report::{HeldOut, RankerReport, TrainReport, Tried};
