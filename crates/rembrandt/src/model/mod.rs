//! [`Model`]: a trained model as a value, and the files that results are kept in.
//!
//! A model comes from [`train`](crate::train) or from [`Model::open`], and is the same either way: it predicts, explains,
//! evaluates, finds neighbors of labels, takes new labels, and is saved. Its large parts are owned or mapped, and a copy
//! shares them.
//!
//! | file | holds |
//! |---|---|
//! | `contents` | all parts of a model, and what must hold for them |
//! | `layout`, `save`, `open` | the model file: its tensors and metadata, writing and reading |
//! | `project` | from examples to h |
//! | `predict` | [`Predictor`]: the most probable labels of examples |
//! | `evaluate` | [`Evaluation`]: how good predictions are on labelled examples |
//! | `written` | [`Truth`]: the same for predictions that another program wrote |
//! | `input` | examples for a model, batch by batch, from files |
//! | `explain` | [`Explanation`]: which features made a label probable |
//! | `add_label` | a label more, from a few examples, without training |
//! | `names`, `neighbors` | labels by name; labels that features treat alike |
//! | `embedding` | [`EmbeddingFile`]: labels, projection, report |
//! | `container` | safetensors, written and checked: both files lie in it |
//! | `export` | embeddings for numpy, gensim and the TensorBoard projector |

mod add_label;
mod container;
pub(crate) mod contents;
mod embedding;
mod evaluate;
mod explain;
mod export;
mod input;
mod layout;
mod names;
mod neighbors;
mod open;
mod predict;
mod project;
mod save;
#[cfg(test)]
mod tests;
mod written;

use std::sync::Arc;

use serde_json::Value;

use crate::data::Dataset;
use crate::linalg::table::{NumberFormat, Table};
use crate::score::head::{Calibration, Head};
use crate::tree::Trees;
use crate::{Error, Result};
use contents::Contents;

pub use crate::io::atomic_file::{NewFile, check_target, remove_unfinished, write_file};
pub use contents::{Preprocessing, TrainingStats};
pub use embedding::EmbeddingFile;
pub use evaluate::{Evaluation, EvaluationOptions};
pub use explain::{Contribution, Explanation};
pub use export::Export;
pub use input::{Batch, InputOptions};
pub use names::ModelNames;
pub use neighbors::Neighbor;
pub use predict::{PredictOptions, Prediction, Predictions, Predictor, Threshold};
pub use written::Truth;

/// The size of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelShape {
    /// Number of features.
    pub d: usize,
    /// Number of labels, those added later among them.
    pub c: usize,
    /// Dimension of the embedding.
    pub k: usize,
}

/// A trained model. A copy shares all of it, and may be used on other threads.
///
/// ```
/// use rembrandt::{Dataset, Model, Trainer};
/// use rembrandt::linalg::csr::Csr;
///
/// // Feature i tells label i.
/// let unit = |n: u32| Csr::from_parts((0..=n).collect(), (0..n).map(|i| i % 4).collect(), None, 4);
/// let (x, y) = (unit(200)?, unit(200)?);
/// let model = Trainer::new().fit(&Dataset::from_csr(x.view(), 4, y.view(), 4, None)?)?;
/// let top = model.predict(&unit(4)?, 1)?;
/// assert_eq!(top.labels(2), [2]);
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("tags.model");
/// model.save(&path)?;
/// assert_eq!(Model::open(&path)?.predict(&unit(4)?, 1)?, top);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Model {
    contents: Arc<Contents>,
}

impl Model {
    /// A model of parts that fit together.
    pub(crate) fn new(contents: Contents) -> Result<Model> {
        contents.check()?;
        Ok(Model::from_checked(contents))
    }

    /// A model of parts that are known to fit together.
    fn from_checked(contents: Contents) -> Model {
        Model { contents: Arc::new(contents) }
    }

    /// A model of trees that were fitted to `data`, with the parameters and the report that it shall keep.
    ///
    /// # Errors
    /// If the labels of the data cannot be read, or a name has more than one line.
    pub fn from_trees(
        trees: Trees,
        data: &Dataset,
        preprocessing: Preprocessing,
        params: Value,
        report: Value,
    ) -> Result<Model> {
        Model::new(Contents { params, report, ..Contents::of_trees(trees, data, preprocessing)? })
    }

    pub(crate) fn contents(&self) -> &Contents {
        &self.contents
    }

    /// The same model with its large matrices in half the space (bfloat16), at the price of two or three digits.
    pub fn compact(&self) -> Model {
        let mut contents = Contents::clone(&self.contents);
        let narrow = |table: &mut Table| *table = table.to_format(NumberFormat::Bf16);
        narrow(&mut contents.labels);
        narrow(&mut contents.projection);
        if let Head::Linear { weights } | Head::RandomFeatures { weights, .. } = &mut contents.head {
            narrow(weights);
        }
        Model::from_checked(contents)
    }

    /// Numbers of features, labels and dimensions.
    pub fn shape(&self) -> ModelShape {
        let Contents { labels, projection, .. } = self.contents();
        ModelShape { d: projection.rows(), c: labels.rows(), k: labels.cols() }
    }

    /// Number of labels added after training: the last ones.
    pub fn added(&self) -> usize {
        self.contents.added_weights.rows()
    }

    /// How the large matrices are stored.
    pub fn number_format(&self) -> NumberFormat {
        self.contents.labels.number_format()
    }

    /// From an example as it comes to the features that the projection takes.
    pub fn preprocessing(&self) -> &Preprocessing {
        &self.contents.preprocessing
    }

    /// The embedding of the labels, c×k.
    pub fn labels(&self) -> &Table {
        &self.contents.labels
    }

    /// From features into the embedding, d×k.
    pub fn projection(&self) -> &Table {
        &self.contents.projection
    }

    /// Whether words and the embedding propose labels, and a ranker decides.
    pub fn has_ranker(&self) -> bool {
        self.contents.ranker.is_some()
    }

    /// From h to scores; of no use in a model of trees.
    pub fn head(&self) -> &Head {
        &self.contents.head
    }

    /// The trees, of a model that has them instead of an embedding.
    pub fn trees(&self) -> Option<&Trees> {
        self.contents.trees.as_deref()
    }

    /// Refuses what only an embedding can answer.
    fn check_embedding(&self) -> Result<()> {
        match self.trees() {
            None => Ok(()),
            Some(_) => {
                let reason = "the model is a model of trees, and this takes an embedding: train one with the method \
                              rembrandt";
                Err(Error::Data(reason.into()))
            }
        }
    }

    /// Added to Pᵀx.
    pub fn intercept(&self) -> &[f32] {
        &self.contents.intercept
    }

    /// Eigenvalues of M.
    pub fn spectrum(&self) -> &[f64] {
        &self.contents.spectrum
    }

    /// From scores to probabilities.
    pub fn calibration(&self) -> Calibration {
        self.contents.calibration
    }

    /// Probability of each label from which it is predicted, for F1.
    pub fn thresholds(&self) -> &[f32] {
        &self.contents.thresholds
    }

    /// Statistics of the training data.
    pub fn training_stats(&self) -> &TrainingStats {
        &self.contents.stats
    }

    /// The parameters that the model was made with.
    pub fn params(&self) -> &Value {
        &self.contents.params
    }

    /// The report of its training.
    pub fn report(&self) -> &Value {
        &self.contents.report
    }

    /// Names of the labels, by id.
    pub fn label_names(&self) -> Option<&ModelNames> {
        self.contents.label_names.as_ref()
    }

    /// Names of the features, by id; those of the featurizer for text models.
    pub fn feature_names(&self) -> Option<&ModelNames> {
        self.contents.feature_names.as_ref()
    }

    /// The name of a label or, without names, its id.
    ///
    /// # Panics
    /// If there is no such label.
    pub fn label_name(&self, label: u32) -> String {
        self.label_names().map_or_else(|| label.to_string(), |names| names.name(label as usize).to_owned())
    }

    /// The name of a feature or, without names, its id.
    ///
    /// # Panics
    /// If there is no such feature.
    pub fn feature_name(&self, feature: u32) -> String {
        self.feature_names().map_or_else(|| feature.to_string(), |names| names.name(feature as usize).to_owned())
    }

    /// The id of a label given by its exact name or, if no label is named so, by its id.
    ///
    /// # Errors
    /// If there is no such label; the message offers similar names.
    pub fn find_label(&self, text: &str) -> Result<u32> {
        names::find_label(text, self.shape().c, self.label_names().map(|names| |id: usize| names.name(id)))
    }
}
