//! Embedders: from examples to an [`Embedding`] of the labels.

mod cost;
mod diagnostics;
mod embedder;
mod explained_variance;
mod few_pass;
mod method;
mod moments;
mod operator;
mod panel;
mod paper;
mod params;
mod pca;
mod plst;
mod principal;
mod projection;
mod random_projection;
mod range_finder;
mod regression;
mod rembrandt;
mod report;
mod setup;

pub use embedder::{Embedder, Means, Projected};
pub use explained_variance::{energy_dimension, energy_memory};
pub use method::Method;
pub use params::{Preconditioner, Preset, ProjectionParams, Rembrandt, RidgeConvention, Solver};
pub use report::{Embedding, Report};
