//! Label embeddings for classification with very many labels.
//!
//! A million tags or classes are too many for a classifier each, but they are not a million independent things:
//! what the features can tell about them fits into a few hundred dimensions. Rembrandt finds that space. For examples
//! X (n×d, sparse), their labels Y (n×c, sparse) and weights W, it computes the top eigenvectors E (c×k) of
//!
//! ```text
//! M = YᵀWX (XᵀWX + ρI)⁻¹ XᵀWY
//! ```
//!
//! a c×c operator that is never written down, and the regression P (d×k) from features into the space. An example x
//! lands at h(x) = Pᵀx, and label l scores E_l·h(x). It is the algorithm of P. Mineiro and N. Karampatziakis, *Fast
//! Label Embeddings for Extremely Large Output Spaces* (ICLR workshop, 2015); time is linear in the entries of X and in
//! k, and hardly depends on the number of labels.
//!
//! # Example
//!
//! ```
//! use rembrandt::{Model, Texts, Trainer};
//!
//! let about = |subject: &str, i: usize| (format!("{subject} number {i}"), vec![subject.to_owned()]);
//! let texts = Texts::new((0..200).map(|i| about(["chess", "go", "poker"][i % 3], i)));
//! let model = Trainer::new().fit(&texts)?;
//! let top = model.predict_texts(&["a game of chess"], 1)?;
//! assert_eq!(model.label_name(top.labels(0)[0]), "chess");
//! # let path = std::env::temp_dir().join(format!("rembrandt-front-page-{}.model", std::process::id()));
//! model.save(&path)?;
//! let model = Model::open(&path)?;
//! # std::fs::remove_file(&path).unwrap();
//! # Ok::<(), rembrandt::Error>(())
//! ```
//!
//! Sparse features come from [`Dataset::read`] (text formats and caches), [`Dataset::from_csr`] (matrices in memory) or
//! [`data::convert`], which writes a cache that is mapped instead of read. [`Trainer`] trains a model with the defaults;
//! [`train::Training`] has every setting of them, of the paper's systems and of trees. [`Rembrandt`] finds the embedding
//! alone, for which [`EmbeddingFile`] is the file.
//!
//! # Map
//!
//! A module uses what stands above it, never what comes after.
//!
//! | module | holds |
//! |---|---|
//! | [`linalg`] | dense and sparse matrices, the sparse × dense kernels, solvers |
//! | `io` | files that appear whole or not at all, mapped files, checkpoints |
//! | [`data`] | readers, chunks, the cache file, views, and [`Examples`], the trait through which algorithms see data |
//! | [`embed`] | [`Rembrandt`]: parameters, algorithm, report; and other linear methods to compare it with |
//! | [`score`] | from an example to scores of labels, and from scores to probabilities |
//! | [`tree`] | classifiers that go down trees: systems that the paper compares with |
//! | [`model`] | [`Model`]: predict, explain, evaluate, neighbors, new labels, files |
//! | [`train`] | [`Trainer`]: from data to a model |
//! | [`metrics`] | how good ranked predictions are, with intervals; thresholds |
//!
//! The library never prints, exits, or installs a thread pool or logger. It runs on rayon's current pool; results
//! are the same to the last bit for any number of threads.

/// Gives parameters a setter: `Params::default().with(|p| p.seed = 2)`. They may grow fields, so other crates cannot write
/// them out.
macro_rules! setter {
    ($params:ident) => {
        impl $params {
            /// The same with some settings changed.
            #[must_use]
            pub fn with(mut self, change: impl FnOnce(&mut $params)) -> $params {
                change(&mut self);
                self
            }
        }
    };
}

pub mod data;
pub mod embed;
mod error;
mod io;
pub mod linalg;
pub mod metrics;
pub mod model;
mod run;
pub mod score;
pub mod train;
pub mod tree;

pub use data::{Dataset, Examples, Moments, Shape, Side, Texts, View};
pub use embed::{Embedding, Rembrandt};
pub use error::{Error, Result};
pub use io::checkpoint::Checkpoints;
pub use linalg::matrix::{MatMut, MatRef, Matrix};
pub use model::{EmbeddingFile, Model};
pub use run::{Progress, Run, Unit};
pub use train::Trainer;

/// The Rust in the README and the guide is compiled with the other examples.
#[cfg(doctest)]
mod documents {
    #[doc = include_str!("../../../README.md")]
    struct Readme;
    #[doc = include_str!("../../../docs/guide.md")]
    struct Guide;
}
