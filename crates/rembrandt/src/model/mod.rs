//! What is kept after a fit: the embedding file, the model file, exports to other tools, and questions asked of them.
//!
//! | file | holds |
//! |---|---|
//! | `container` | safetensors, written and checked: what both files lie in |
//! | `embedding` | [`EmbeddingFile`]: labels, projection, report |
//! | `parts` | [`ModelParts`]: all that a trained model consists of, in memory, and how to save it |
//! | `layout` | the tensors and metadata of a model file |
//! | `open` | [`Model`]: a model file, mapped and checked |
//! | `place` | from examples to h |
//! | `precision` | large matrices in `f32` or bfloat16, used in place |
//! | `predict`, `score` | [`Predictor`]: the most probable labels of examples |
//! | `evidence` | what single features say of labels, in a file |
//! | `shortlist` | lists of likely labels in a file, and [`ShortlistUpdate`]: a model that gets them |
//! | `pursuit` | the rows that a matching pursuit chooses from |
//! | `explain` | [`Explanation`]: which features made a label probable |
//! | `add_label` | [`ModelUpdate`]: a label more, from a few examples, without training |
//! | `names`, `neighbors` | labels by name; labels that features treat alike |
//! | `export` | embeddings for numpy, gensim and the TensorBoard projector |
//!
//! # Example
//!
//! ```
//! use rembrandt::linalg::csr::Csr;
//! use rembrandt::score::head::{Calibration, Head, Loss};
//! use rembrandt::model::{Background, Model, ModelParts, PredictOptions, Precision, Preprocessing};
//! use rembrandt::Matrix;
//!
//! // Two features, two labels, one for each: as simple as a model can be.
//! let unit = || Matrix::from_fn(2, 2, |i, j| if i == j { 4.0 } else { 0.0 });
//! let parts = ModelParts {
//!     preprocessing: Preprocessing::AsIs,
//!     labels: unit(),
//!     projection: unit(),
//!     intercept: vec![-1.0; 2],
//!     spectrum: vec![1.0; 2],
//!     head: Head::LeastSquares,
//!     shortlist: None,
//!     evidence: None,
//!     trees: None,
//!     calibration: Calibration::identity(Loss::Independent),
//!     thresholds: vec![0.5; 2],
//!     background: Background {
//!         examples: 10,
//!         counts: vec![3, 7],
//!         mean: vec![0.0; 2],
//!         covariance: unit(),
//!         words: [false, true],
//!     },
//!     label_names: Some(vec!["tea".into(), "coffee".into()]),
//!     feature_names: None,
//!     params: serde_json::json!({}),
//!     report: serde_json::json!({}),
//! };
//! let dir = tempfile::tempdir()?;
//! let path = dir.path().join("drinks.model");
//! parts.save(&path, Precision::F32)?;
//!
//! let model = Model::open(&path)?;
//! let mut x = Csr::new(true);
//! x.push(1, 1.0);
//! x.end_row();
//! let predicted = model.predictor(PredictOptions::top(1))?.predict(x.view())?;
//! assert_eq!(model.label_name(predicted.labels(0)[0] as usize), "coffee");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod add_label;
mod container;
mod embedding;
mod evidence;
mod explain;
mod export;
mod layout;
mod names;
mod neighbors;
mod open;
mod parts;
mod precision;
mod predict;
mod project;
mod pursuit;
mod score;
mod shortlist;
#[cfg(test)]
mod tests;

pub use crate::io::atomic_file::{check_target, write_file};
pub use add_label::ModelUpdate;
pub use embedding::EmbeddingFile;
pub use explain::Explanation;
pub use export::Export;
pub use layout::HeadKind;
pub use names::Names;
pub use neighbors::Neighbor;
pub use open::{Model, ModelShape};
pub use parts::{ModelParts, Preprocessing, TrainingStats};
pub use precision::{Precision, Table};
pub use predict::{PredictOptions, Predictions, Predictor, Search, Threshold};
pub use shortlist::ShortlistUpdate;
