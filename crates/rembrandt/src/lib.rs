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
//! use rembrandt::data::{Dataset, Rows};
//! use rembrandt::{Rembrandt, Run};
//!
//! // Five documents about two subjects, with three tags; words 0 and 1 belong to the first subject, 2 and 3 to the other.
//! let mut rows = Rows::new();
//! for (words, tags) in [([0, 1], [0, 1]), ([0, 1], [0, 1]), ([0, 2], [0, 1]), ([2, 3], [1, 2]), ([2, 3], [1, 2])] {
//!     words.into_iter().for_each(|word| rows.x.push(word, 1.0));
//!     tags.into_iter().for_each(|tag| rows.y.push(tag, 1.0));
//!     rows.x.end_row();
//!     rows.y.end_row();
//! }
//! let data = Dataset::from_rows(&rows, 4, 3)?;
//!
//! let embedding = Rembrandt { ridge: 0.1, ..Rembrandt::new(2) }.fit(&data, &mut Run::default())?;
//! assert_eq!((embedding.labels.rows(), embedding.labels.cols()), (3, 2));
//!
//! // The document with words 2 and 3 is closer to tag 2 than to tag 0.
//! let h: Vec<f32> = (0..2).map(|j| embedding.projection.row(2)[j] + embedding.projection.row(3)[j]).collect();
//! let score = |tag| embedding.labels.row(tag).iter().zip(&h).map(|(e, h)| e * h).sum::<f32>();
//! assert!(score(2) > score(0));
//! # Ok::<(), rembrandt::Error>(())
//! ```
//!
//! From files it is [`Dataset::read`](data::Dataset::read) for sparse rows, [`data::read_texts`] for raw text,
//! [`data::convert`] and [`Dataset::open`](data::Dataset::open) for a cache that is mapped instead of read, and
//! [`EmbeddingFile`] for the result. [`TrainParams`](train::TrainParams) trains a classifier on top of the embedding,
//! with settings chosen on held-out examples; as a [`Model`] file it predicts labels with calibrated probabilities.
//!
//! # Map
//!
//! | module | holds |
//! |---|---|
//! | [`data`] | readers, chunks, the cache file, and [`Examples`], the trait through which algorithms see data |
//! | [`embed`] | [`Rembrandt`]: parameters, algorithm, report; and other linear methods to compare it with |
//! | [`head`] | from the embedding to scores and probabilities: least squares, logistic regression, cross-fitting |
//! | [`shortlist`] | prediction that does not touch every label |
//! | [`train`] | all of training: the search for settings, embedding, head, calibration, thresholds |
//! | [`tree`] | classifiers that go down trees: the systems that the paper compares with |
//! | [`model`] | files of results, prediction, explanation, labels added later, exports, nearest labels |
//! | [`metrics`] | how good ranked predictions are, with intervals; thresholds |
//! | [`solve`] | orthonormal bases; inside, conjugate gradients and random numbers |
//! | [`kernel`] | sparse × dense products, the inner loop of everything |
//! | [`matrix`], [`csr`] | dense and sparse matrices |
//!
//! The library never prints, exits, or installs a thread pool or logger. It runs on rayon's current pool; results
//! are the same to the last bit for any number of threads, unless the time for tuning cuts a search short.

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

pub use data::{Examples, Moments, Shape, Side};
pub use embed::{Embedding, Rembrandt};
pub use error::{Error, Result};
pub use io::checkpoint::Checkpoints;
pub use linalg::matrix::{MatMut, MatRef, Matrix};
pub use model::{EmbeddingFile, Model};
pub use run::{Progress, Run};
