//! Embedders: from examples to an [`Embedding`] of the labels.

mod basis;
mod cost;
mod diagnostics;
mod explained_variance;
mod few_pass;
mod method;
mod operator;
mod params;
mod pca;
mod plst;
mod principal;
mod projection;
mod random_projection;
mod regression;
mod rembrandt;
mod report;

pub use explained_variance::{energy_dimension, energy_memory};
pub use method::{Embedder, Means, Method, Placed};
pub use params::{Preconditioner, Preset, ProjectionParams, Rembrandt, RidgeConvention, Solver};
pub use report::{Embedding, Report};
