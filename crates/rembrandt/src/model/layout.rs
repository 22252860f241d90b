//! The model file: a safetensors file with all that prediction needs.
//!
//! | tensor | numbers | shape | |
//! |---|---|---|---|
//! | `counts` | u64 | c | training examples of each label |
//! | `spectrum` | f64 | k | eigenvalues of M |
//! | `intercept`, `mean` | f32 | k | added to Pᵀx; mean of h |
//! | `covariance` | f32 | k×k | covariance of h |
//! | `thresholds` | f32 | c | probability from which a label is predicted |
//! | `idf` | f32 | | weights of the features, if there are any |
//! | `directions`, `phases` | f32 | k×f, f | random features, if the head has them |
//! | `added_weights` | f32 | a×(k+1) | labels added after training, if any: the last a of c |
//! | `labels` | f32 or bf16 | c×k | one row per label |
//! | `projection` | f32 or bf16 | d×k | one row per feature |
//! | `weights` | f32 or bf16 | (c−a)×(k+1) or (c−a)×(f+1) | logistic head, if it is one; the constant last |
//! | `shortlist_starts` | u64 | d+2 | lists of likely labels, if there are any: where that of each feature begins |
//! | `shortlist_labels`, `shortlist_shares` | u32, bf16 | | the labels on them, and what a feature says for each |
//! | `shortlist_offsets`, `shortlist_direction` | f32 | c−a, k | see [`shortlist`](crate::score::shortlist) |
//! | `evidence_starts`, `separator_starts` | u64 | d+1 | evidence, if there is any: where the labels of each feature begin |
//! | `evidence_labels`, `evidence_weights`, … | u32, bf16 | | see [`evidence`](crate::score::ranker) |
//! | `evidence_constants` | f32 | c−a | the constants of its separators |
//! | arrays of trees | u32 or f32 | | in place of an embedding, see [`tree`](crate::tree) |
//! | `label_names`, `feature_names` | u8 | | one per line, when known |
//!
//! A model of trees has an embedding of no dimensions: k = 0, and all tensors that depend on it are empty.
//!
//! The metadata hold `format`, `format_version`, `model` (what kinds of parts there are), `params` and `report`, the
//! last three JSON. Version 2 adds the pursuit, a head without weights, and trees; version 4 adds evidence, which version 3
//! had in another form. All other files remain version 1, which every reader opens, also with lists, which older ones do not
//! look at. Without random features the weights contain the share of E that the head blends in, so that a score is one
//! inner product.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::container::{self, Format, Tensor};
use super::evidence::EvidenceKind;
use super::parts::TrainingStats;
use super::precision::Precision;
use super::shortlist::ShortlistKind;
use crate::Result;
use crate::data::featurizer::FeaturizerParams;
use crate::score::head::Calibration;
use crate::score::ranker::EvidenceRef;
use crate::score::shortlist::Lists;
use crate::tree::{Array, Arrays, TreeMethod};

/// Files say the oldest version that knows all that is in them.
pub(super) const FORMAT: Format = Format {
    name: "rembrandt-model",
    version: 4,
    foreign: "is not a model: make one with `rembrandt train`",
    blocks: true,
};

/// The head of a model file.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", tag = "kind")]
pub enum HeadKind {
    /// score = E·h.
    LeastSquares,
    /// The weights of the rows of E that make up h, found by matching pursuit. Since version 2.
    Pursuit {
        /// Labels that are taken at most.
        atoms: usize,
    },
    /// score = W(h, 1), with the share of E in W.
    Linear,
    /// score = W(features of h, 1) + blend·E·h.
    RandomFeatures {
        /// How much of the least-squares score to add.
        blend: f32,
    },
    /// No embedding, but trees.
    Trees {
        /// The method that they were fitted by.
        method: TreeMethod,
    },
}

/// What becomes of examples first; the weights lie in tensors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub(super) enum PreprocessingKind {
    AsIs,
    Sparse { tfidf: bool, l2: bool },
    Text { params: FeaturizerParams, texts: u64 },
}

/// What kinds of parts a model has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Description {
    pub preprocessing: PreprocessingKind,
    pub head: HeadKind,
    pub calibration: Calibration,
    pub precision: Precision,
    pub examples: u64,
    pub words: [bool; 2],
    pub added: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shortlist: Option<ShortlistKind>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<EvidenceKind>,
}

/// All that goes into a model file, the large matrices as bytes already.
pub(super) struct Layout<'a> {
    pub description: Description,
    pub params: &'a Value,
    pub report: &'a Value,
    /// c, d, k.
    pub size: (usize, usize, usize),
    pub background: &'a TrainingStats,
    pub spectrum: &'a [f64],
    pub intercept: &'a [f32],
    pub thresholds: &'a [f32],
    pub idf: Option<&'a [f32]>,
    pub directions: Option<(Cow<'a, [u8]>, &'a [f32])>,
    pub added_weights: &'a [f32],
    pub labels: Cow<'a, [u8]>,
    pub projection: Cow<'a, [u8]>,
    pub weights: Option<Cow<'a, [u8]>>,
    /// Lists of likely labels, and the direction of the rest.
    pub shortlist: Option<(Lists<'a>, &'a [f32])>,
    pub evidence: Option<EvidenceRef<'a>>,
    pub trees: Arrays<'a>,
    pub label_names: Option<Cow<'a, str>>,
    pub feature_names: Option<Cow<'a, str>>,
}

impl Layout<'_> {
    /// Writes the file, all or nothing.
    pub fn write(&self, path: &Path) -> Result<()> {
        let (c, d, k) = self.size;
        let trained = c - self.description.added;
        let dtype = self.description.precision.dtype_name();
        let background = self.background;
        let tensor = |name, dtype, shape, bytes| Tensor { name, dtype, shape, bytes };
        let small = |name, shape, numbers| tensor(name, "F32", shape, bytemuck::cast_slice::<f32, u8>(numbers));
        let mut tensors = vec![tensor("counts", "U64", vec![c], bytemuck::cast_slice(&background.counts))];
        if let Some((lists, _)) = &self.shortlist {
            tensors.push(tensor("shortlist_starts", "U64", vec![d + 2], bytemuck::cast_slice(lists.starts)));
        }
        if let Some(evidence) = &self.evidence {
            for (name, said) in [("evidence_starts", evidence.sums), ("separator_starts", evidence.separators)] {
                tensors.push(tensor(name, "U64", vec![d + 1], bytemuck::cast_slice(said.starts)));
            }
        }
        tensors.extend([
            tensor("spectrum", "F64", vec![k], bytemuck::cast_slice(self.spectrum)),
            small("intercept", vec![k], self.intercept),
            small("mean", vec![k], &background.mean),
            small("covariance", vec![k, k], background.covariance.as_slice()),
            small("thresholds", vec![c], self.thresholds),
        ]);
        if let Some((lists, direction)) = &self.shortlist {
            let labels = bytemuck::cast_slice(lists.labels);
            tensors.push(tensor("shortlist_labels", "U32", vec![lists.labels.len()], labels));
            tensors.push(small("shortlist_offsets", vec![trained], lists.offsets));
            tensors.push(small("shortlist_direction", vec![direction.len()], direction));
        }
        if let Some(evidence) = &self.evidence {
            tensors.push(small("evidence_constants", vec![trained], evidence.constants));
            for (name, said) in [("evidence_labels", evidence.sums), ("separator_labels", evidence.separators)] {
                tensors.push(tensor(name, "U32", vec![said.labels.len()], bytemuck::cast_slice(said.labels)));
            }
        }
        if let Some(idf) = self.idf {
            tensors.push(small("idf", vec![idf.len()], idf));
        }
        let mut width = k + 1;
        if let Some((directions, phases)) = &self.directions {
            width = phases.len() + 1;
            tensors.push(tensor("directions", "F32", vec![k, phases.len()], directions));
            tensors.push(small("phases", vec![phases.len()], phases));
        }
        if self.description.added > 0 {
            tensors.push(small("added_weights", vec![self.description.added, k + 1], self.added_weights));
        }
        for (name, array) in &self.trees {
            let (dtype, len, bytes) = match array {
                Array::U32(numbers) => ("U32", numbers.len(), bytemuck::cast_slice(numbers)),
                Array::F32(numbers) => ("F32", numbers.len(), bytemuck::cast_slice(numbers)),
            };
            tensors.push(tensor(name, dtype, vec![len], bytes));
        }
        tensors.push(tensor("labels", dtype, vec![c, k], &self.labels));
        tensors.push(tensor("projection", dtype, vec![d, k], &self.projection));
        if let Some(weights) = &self.weights {
            tensors.push(tensor("weights", dtype, vec![trained, width], weights));
        }
        if let Some((lists, _)) = &self.shortlist {
            let shares = bytemuck::cast_slice(lists.shares);
            tensors.push(tensor("shortlist_shares", "BF16", vec![lists.shares.len()], shares));
        }
        if let Some(evidence) = &self.evidence {
            for (name, said) in [("evidence_weights", evidence.sums), ("separator_weights", evidence.separators)] {
                tensors.push(tensor(name, "BF16", vec![said.weights.len()], bytemuck::cast_slice(said.weights)));
            }
        }
        for (name, text) in [("label_names", &self.label_names), ("feature_names", &self.feature_names)] {
            if let Some(text) = text {
                tensors.push(tensor(name, "U8", vec![text.len()], text.as_bytes()));
            }
        }
        let metadata = BTreeMap::from([
            ("model".to_owned(), container::json_text(&self.description)),
            ("params".to_owned(), container::json_text(self.params)),
            ("report".to_owned(), container::json_text(self.report)),
        ]);
        container::write(path, &FORMAT, self.version(), &tensors, metadata)
    }

    /// The oldest version whose readers understand all of the file.
    fn version(&self) -> u32 {
        match self.description.head {
            _ if self.evidence.is_some() => 4,
            HeadKind::Pursuit { .. } | HeadKind::Trees { .. } => 2,
            _ => 1,
        }
    }
}
