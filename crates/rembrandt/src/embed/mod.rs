//! Embedders: from examples to an [`Embedding`] of the labels.

mod cost;
mod energy;
mod operator;
mod params;
mod projection;
mod regression;
mod rembrandt;
mod report;

pub use energy::{energy_dimension, energy_memory};
pub use params::{Preconditioner, Preset, ProjectionParams, Rembrandt, RidgeConvention, Solver};
pub use report::{Embedding, Report};
