//! Label embeddings for classification with very many labels.

mod atomic;
pub mod csr;
pub mod data;
pub mod embed;
mod error;
pub mod head;
pub mod kernel;
mod mapped;
pub mod matrix;
pub mod model;
mod run;
pub mod solve;

pub use data::{Examples, Moments, Shape, Side};
pub use embed::{Embedding, Rembrandt};
pub use error::{Error, Result};
pub use matrix::{MatMut, MatRef, Matrix};
pub use model::EmbeddingFile;
pub use run::{Progress, Run};
