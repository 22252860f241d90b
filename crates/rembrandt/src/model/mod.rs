//! What is kept after a fit: the embedding file, exports to other tools, and questions asked of it.

mod container;
mod embedding;
mod export;
mod neighbors;

pub use crate::atomic::check_target;
pub use embedding::EmbeddingFile;
pub use export::Export;
pub use neighbors::Neighbor;
