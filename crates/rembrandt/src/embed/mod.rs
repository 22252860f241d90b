//! From examples to an [`Embedding`] of the labels: Rembrandt, and other linear methods to compare it with.
//!
//! | file | holds |
//! |---|---|
//! | `params` | the parameters of [`Rembrandt`], their defaults, checks and presets |
//! | `rembrandt` | a fit from beginning to end |
//! | `setup` | from examples and parameters to regressions |
//! | `few_pass`, `paper` | the two ways to find the embedding |
//! | `range_finder` | what these two and `principal` share |
//! | `operator`, `regression`, `panel` | products with M, the regressions inside, groups of columns |
//! | `projection` | features into an embedding that is already known |
//! | `diagnostics`, `report` | how good an embedding is, and what is said of it |
//! | `cost` | which solver is cheaper; work and memory |
//! | `moments` | what follows from means and sums of squares of columns |
//! | `method`, `embedder` | all methods by one interface |
//! | `principal`, `pca`, `plst`, `random_projection` | the other methods |
//! | `explained_variance` | a dimension from the spectrum of the labels |
//!
//! No two files use each other, directly or through others.

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

pub use embedder::{Embedder, FittedProjection, Means};
pub use explained_variance::{energy_dimension, energy_memory};
pub use method::Method;
pub use params::{Preconditioner, Preset, ProjectionParams, Rembrandt, RidgeConvention, Solver};
pub use report::{Embedding, Report};
