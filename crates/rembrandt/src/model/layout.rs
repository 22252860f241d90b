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
//! | `association_…`, `name_…`, `one_vs_rest_…` | | | the ranker, if there is one: [packed](#packed-matrices) matrices with a row for each feature; the last one may have one for each label |
//! | `index_starts` | u64 | d+1 | where the examples of each feature begin, if similar examples vote |
//! | `index_examples`, `index_values` | u32, bf16 | | which they are, and the values of the feature |
//! | `example_label_starts`, `example_labels` | u64, u32 | n+1 | where the labels of each example begin, and the labels |
//! | `example_weights` | f32 | n | weights of the examples, if they have some |
//! | `ranker_offsets` | f32 | c−a | logarithms of inverse propensities, if rare labels are lifted |
//! | arrays of trees | u32 or f32 | | in place of an embedding, see [`tree`](crate::tree) |
//! | `label_names`, `feature_names` | u8 | | one per line, when known |
//!
//! A model of trees has an embedding of no dimensions: k = 0, and all tensors that depend on it are empty.
//!
//! The metadata hold `format`, `format_version`, `model` (what kinds of parts there are), `params` and `report`, the
//! last three JSON. Version 2 adds the pursuit, a head without weights, and trees; version 7 adds stop words, stems and
//! folding of texts, and the ranker, which versions 3 to 6 had in other forms that are read no more. All other files remain
//! version 1, which every reader opens. Without
//! random features the weights contain the share of E that the head blends in, so that a score is one inner product.
//!
//! # Packed matrices
//!
//! Entries of row r are those from `…_starts[r]` (u32) on, and before `…_starts[r + 1]`. The column of an entry is the sum of
//! `…_gaps` (u8 or u16) from the first entry of the row to this one, and its number is the product of its `…_weights` (i8)
//! and `…_units[r]` (f32). Entries of weight 0 only lengthen a gap.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::container::FileKind;
use super::contents::{Contents, Preprocessing};
use crate::data::featurizer::FeaturizerParams;
use crate::data::records::RecordOptions;
use crate::linalg::table::NumberFormat;
use crate::score::head::{Calibration, Head};
use crate::score::ranker::one_vs_rest_weights::OneVsRestWeights;
use crate::score::ranker::{Combination, Proposals, Ranker};
use crate::tree::TreeMethod;

/// Files say the oldest version that knows all that is in them.
pub(super) const FORMAT: FileKind =
    FileKind { name: "rembrandt-model", version: 7, foreign: "is not a model", blocks: true };

/// The head of a model; its numbers lie in tensors.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", tag = "kind")]
pub(super) enum HeadDescription {
    LeastSquares,
    /// Since version 2.
    Pursuit {
        atoms: usize,
    },
    Linear,
    RandomFeatures {
        #[serde(rename = "blend")]
        least_squares: f32,
    },
    /// No embedding, but trees. Since version 2.
    Trees {
        method: TreeMethod,
    },
}

/// The preprocessing of a model; its numbers lie in tensors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub(super) enum PreprocessingDescription {
    AsIs,
    Sparse { tfidf: bool, l2: bool },
    Text(Box<TextDescription>),
}

/// Texts and what became of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct TextDescription {
    pub params: FeaturizerParams,
    pub texts: u64,
    #[serde(default, skip_serializing_if = "RecordOptions::are_usual")]
    pub records: RecordOptions,
}

/// The tensors of a packed matrix.
#[derive(Clone, Copy)]
pub(super) struct PackedNames {
    pub starts: &'static str,
    pub units: &'static str,
    pub gaps: &'static str,
    pub weights: &'static str,
}

macro_rules! packed_names {
    ($name:literal) => {
        PackedNames {
            starts: concat!($name, "_starts"),
            units: concat!($name, "_units"),
            gaps: concat!($name, "_gaps"),
            weights: concat!($name, "_weights"),
        }
    };
}

/// Those of a ranker, in the order of [`Ranker::matrices`].
pub(super) const RANKER_MATRICES: [PackedNames; 3] =
    [packed_names!("association"), packed_names!("name"), packed_names!("one_vs_rest")];

/// The ranker of a model.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct RankerDescription {
    pub proposals: Proposals,
    /// Before the one-vs-rest scorers are asked, and after.
    pub first: Combination,
    pub combination: Combination,
    pub unseen: Combination,
    /// Whether the one-vs-rest weights have a row for each feature, and not for each label.
    pub weights_by_feature: bool,
    /// Whether rare labels are lifted by their propensities.
    pub lifted: bool,
    /// Whether similar examples vote.
    pub similar_examples: bool,
}

/// The kinds of parts that a model has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Description {
    pub preprocessing: PreprocessingDescription,
    pub head: HeadDescription,
    pub calibration: Calibration,
    #[serde(rename = "precision")]
    pub number_format: NumberFormat,
    pub examples: u64,
    pub words: [bool; 2],
    pub added: usize,
    #[serde(default, rename = "additive_ranker", skip_serializing_if = "Option::is_none")]
    pub ranker: Option<RankerDescription>,
    /// The rankers of versions 3 to 6, and lists of likely labels: all are refused.
    #[serde(default, skip_serializing)]
    pub evidence: Option<Value>,
    #[serde(default, skip_serializing, rename = "ranker", alias = "candidate_ranker")]
    pub earlier_ranker: Option<Value>,
    #[serde(default, skip_serializing)]
    pub shortlist: Option<Value>,
}

impl Description {
    pub fn of(contents: &Contents) -> Description {
        let head = match (&contents.trees, &contents.head) {
            (Some(trees), _) => HeadDescription::Trees { method: trees.method() },
            (None, Head::LeastSquares) => HeadDescription::LeastSquares,
            (None, Head::Pursuit { atoms }) => HeadDescription::Pursuit { atoms: *atoms },
            (None, Head::Linear { .. }) => HeadDescription::Linear,
            (None, Head::RandomFeatures { least_squares, .. }) => {
                HeadDescription::RandomFeatures { least_squares: *least_squares }
            }
        };
        let preprocessing = match &contents.preprocessing {
            Preprocessing::AsIs => PreprocessingDescription::AsIs,
            Preprocessing::Sparse(transform) => {
                PreprocessingDescription::Sparse { tfidf: transform.tfidf.is_some(), l2: transform.l2 }
            }
            Preprocessing::Text(featurizer) => {
                let (params, records) = (featurizer.params().clone(), featurizer.records());
                PreprocessingDescription::Text(Box::new(TextDescription { params, texts: featurizer.texts(), records }))
            }
        };
        let ranker = |r: &Ranker| RankerDescription {
            proposals: r.proposals,
            first: r.first,
            combination: r.combination,
            unseen: r.unseen,
            weights_by_feature: matches!(r.one_vs_rest, OneVsRestWeights::ByFeature(_)),
            lifted: !r.offsets.is_empty(),
            similar_examples: r.similar.is_some(),
        };
        Description {
            preprocessing,
            head,
            calibration: contents.calibration,
            number_format: contents.labels.number_format(),
            examples: contents.stats.examples,
            words: contents.stats.words,
            added: contents.added_weights.rows(),
            ranker: contents.ranker.as_ref().map(ranker),
            evidence: None,
            earlier_ranker: None,
            shortlist: None,
        }
    }

    /// The oldest version whose readers understand all of the file.
    pub fn version(&self) -> u32 {
        let of_language = |FeaturizerParams { fold, stem, stop_words, .. }: &FeaturizerParams| {
            *fold || stem.is_some() || !stop_words.is_empty()
        };
        match self.head {
            _ if matches!(&self.preprocessing, PreprocessingDescription::Text(text) if of_language(&text.params)) => 7,
            _ if self.ranker.is_some() => 7,
            HeadDescription::Pursuit { .. } | HeadDescription::Trees { .. } => 2,
            _ => 1,
        }
    }
}
