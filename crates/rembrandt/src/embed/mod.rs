//! Embedders: from examples to an [`Embedding`] of the labels.

mod cost;
mod operator;
mod params;
mod projection;
mod regression;
mod rembrandt;
mod report;

pub use params::{Preconditioner, Preset, ProjectionParams, Rembrandt, RidgeConvention, Solver};
pub use report::{Embedding, Report};
