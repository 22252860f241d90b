//! A trained model in memory, as training makes it, and on its way into a file.

use std::borrow::Cow;
use std::path::Path;

use serde_json::Value;

use super::evidence::EvidenceKind;
use super::layout::{Description, HeadKind, Layout, PreprocessingKind};
use super::names;
use super::precision::Precision;
use super::shortlist::{ShortlistKind, direction};
use crate::data::Dataset;
use crate::data::featurizer::{Featurizer, SparseTransform};
use crate::linalg::matrix::Matrix;
use crate::metrics::DEFAULT_THRESHOLD;
use crate::score::head::{Calibration, Head, Loss};
use crate::score::ranker::Evidence;
use crate::score::shortlist::Shortlist;
use crate::tree::{TreeMethod, Trees};
use crate::{Error, Examples, Result, Side};

/// What happens to an example before the projection.
#[derive(Clone, Debug)]
pub enum Preprocessing {
    /// Nothing: features are numbers already.
    AsIs,
    /// Features that are numbers already are weighed.
    Sparse(SparseTransform),
    /// Texts become features.
    Text(Box<Featurizer>),
}

impl Preprocessing {
    /// The names of features that a model must keep: those of the data, unless the featurizer has them.
    pub(crate) fn feature_names(&self, data: &Dataset) -> Option<Vec<String>> {
        match self {
            Preprocessing::Text(_) => None,
            _ => data.feature_names().map(<[String]>::to_vec),
        }
    }
}

/// What training knew of the data: for priors, evaluation and new labels.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainingStats {
    /// Number of training examples.
    pub examples: u64,
    /// Training examples of each label (c).
    pub counts: Vec<u64>,
    /// Mean of h over the training examples (k).
    pub mean: Vec<f32>,
    /// Covariance of h (k×k).
    pub covariance: Matrix,
    /// Whether the training file wrote features and labels as words, not as numbers.
    pub words: [bool; 2],
}

/// All that a model consists of.
#[derive(Clone, Debug)]
pub struct ModelParts {
    /// What happens to an example before the projection.
    pub preprocessing: Preprocessing,
    /// E, the embedding of the labels, c×k.
    pub labels: Matrix,
    /// P, from features into the embedding, d×k.
    pub projection: Matrix,
    /// Added to Pᵀx.
    pub intercept: Vec<f32>,
    /// Eigenvalues of M.
    pub spectrum: Vec<f64>,
    /// From h to scores.
    pub head: Head,
    /// Lists of likely labels, for prediction that does not touch every label.
    pub shortlist: Option<Shortlist>,
    /// What single features say of labels, added to the scores of a logistic head.
    pub evidence: Option<Evidence>,
    /// Trees in place of embedding and head, which are then empty: see [`of_trees`](ModelParts::of_trees).
    pub trees: Option<Trees>,
    /// From scores to probabilities.
    pub calibration: Calibration,
    /// Probability of each label from which it is predicted, for F1.
    pub thresholds: Vec<f32>,
    /// What training knew of the data.
    pub background: TrainingStats,
    /// Names of the labels, by id.
    pub label_names: Option<Vec<String>>,
    /// Names of the features, by id; none for text models, whose featurizer has them.
    pub feature_names: Option<Vec<String>>,
    /// How the model was made.
    pub params: Value,
    /// How that went.
    pub report: Value,
}

impl ModelParts {
    /// A model of trees that were fitted to `data`. Their probabilities are taken as they are, and a label is predicted
    /// when it is more likely than not.
    ///
    /// # Errors
    /// If the labels of the data cannot be read.
    pub fn of_trees(
        trees: Trees,
        data: &Dataset,
        preprocessing: Preprocessing,
        params: Value,
        report: Value,
    ) -> Result<ModelParts> {
        let shape = data.shape();
        let loss = match trees.method() {
            TreeMethod::Lomtree | TreeMethod::LabelTree => Loss::Softmax,
            TreeMethod::Fastxml | TreeMethod::Lpsr => Loss::Independent,
        };
        let (counts, feature_names) = (data.labels()?.counts(shape.c), preprocessing.feature_names(data));
        Ok(ModelParts {
            preprocessing,
            labels: Matrix::zeros(shape.c, 0),
            projection: Matrix::zeros(shape.d, 0),
            intercept: Vec::new(),
            spectrum: Vec::new(),
            head: Head::LeastSquares,
            shortlist: None,
            evidence: None,
            trees: Some(trees),
            calibration: Calibration::identity(loss),
            thresholds: vec![DEFAULT_THRESHOLD; shape.c],
            background: TrainingStats {
                examples: shape.n as u64,
                counts,
                mean: Vec::new(),
                covariance: Matrix::zeros(0, 0),
                words: [Side::X, Side::Y].map(|side| data.has_words(side)),
            },
            label_names: data.label_names().map(<[String]>::to_vec),
            feature_names,
            params,
            report,
        })
    }

    /// Writes the model. The same content gives the same bytes, and an interrupted write leaves what was there before.
    ///
    /// # Errors
    /// If the parts contradict each other, a number is not finite, a name has more than one line, or the file cannot be
    /// written.
    pub fn save(&self, path: impl AsRef<Path>, precision: Precision) -> Result<()> {
        self.check_sizes()?;
        self.check_numbers()?;
        let (c, d, k) = (self.labels.rows(), self.projection.rows(), self.labels.cols());
        let (head, weights, directions) = match &self.head {
            Head::Pursuit { atoms } => (HeadKind::Pursuit { atoms: *atoms }, None, None),
            Head::LeastSquares => {
                let trees = self.trees.as_ref().map(|trees| HeadKind::Trees { method: trees.method() });
                (trees.unwrap_or(HeadKind::LeastSquares), None, None)
            }
            Head::Logistic { features: None, .. } => (HeadKind::Linear, self.head.vectors(&self.labels), None),
            Head::Logistic { features: Some(features), model, blend } => {
                let directions = bytemuck::cast_slice(features.directions.as_slice());
                let kind = HeadKind::RandomFeatures { blend: *blend };
                (kind, Some(Cow::Borrowed(&model.weights)), Some((Cow::Borrowed(directions), &features.phases[..])))
            }
        };
        if weights.as_ref().is_some_and(|weights| !finite(weights.as_slice())) {
            return Err(Error::Data("the weights of the model are not finite: train it with a stronger ridge".into()));
        }
        let (preprocessing, idf, feature_names) = self.preprocessing()?;
        let label_names = self.label_names.as_deref().map(|names| Cow::Owned(names::lines(names.iter())));
        let description = Description {
            preprocessing,
            head,
            calibration: self.calibration,
            precision,
            examples: self.background.examples,
            words: self.background.words,
            added: 0,
            shortlist: self.shortlist.as_ref().map(ShortlistKind::of),
            evidence: self.evidence.as_ref().map(|evidence| EvidenceKind::of(evidence.view())),
        };
        let layout = Layout {
            description,
            params: &self.params,
            report: &self.report,
            size: (c, d, k),
            background: &self.background,
            spectrum: &self.spectrum,
            intercept: &self.intercept,
            thresholds: &self.thresholds,
            idf,
            directions,
            added_weights: &[],
            labels: precision.encode(self.labels.as_slice()),
            projection: precision.encode(self.projection.as_slice()),
            weights: weights.as_ref().map(|weights| precision.encode(weights.as_slice())),
            shortlist: self.shortlist.as_ref().map(|shortlist| (shortlist.lists(), direction(shortlist))),
            evidence: self.evidence.as_ref().map(Evidence::view),
            trees: self.trees.as_ref().map_or_else(Vec::new, Trees::arrays),
            label_names,
            feature_names,
        };
        layout.write(path.as_ref())
    }

    /// How examples are preprocessed, with the weights and names for it.
    #[allow(clippy::type_complexity)]
    fn preprocessing(&self) -> Result<(PreprocessingKind, Option<&[f32]>, Option<Cow<'_, str>>)> {
        let names = self.feature_names.as_deref().map(|names| Cow::Owned(names::lines(names.iter())));
        Ok(match &self.preprocessing {
            Preprocessing::AsIs => (PreprocessingKind::AsIs, None, names),
            Preprocessing::Sparse(SparseTransform { tfidf, l2 }) => {
                (PreprocessingKind::Sparse { tfidf: tfidf.is_some(), l2: *l2 }, tfidf.as_deref(), names)
            }
            Preprocessing::Text(featurizer) => {
                let params = featurizer.params().clone();
                let idf = Some(featurizer.idf()).filter(|idf| !idf.is_empty());
                names::check("feature_names", featurizer.names())?;
                let names = params.hashing.is_none().then(|| Cow::Owned(names::lines(featurizer.names())));
                (PreprocessingKind::Text { params, texts: featurizer.texts() }, idf, names)
            }
        })
    }

    fn check_sizes(&self) -> Result<()> {
        let (c, d, k) = (self.labels.rows(), self.projection.rows(), self.labels.cols());
        if c == 0 || d == 0 || (k == 0) != self.trees.is_some() || c > u32::MAX as usize || d > u32::MAX as usize {
            return Err(Error::Data(format!("{c} labels, {d} features and {k} dimensions do not make a model")));
        }
        let covariance = &self.background.covariance;
        let head = match &self.head {
            Head::LeastSquares | Head::Pursuit { .. } => true,
            Head::Logistic { features, model, .. } => {
                let (rows, width) = features.as_ref().map_or((k, k), |f| (f.directions.rows(), f.directions.cols()));
                let phases = features.as_ref().is_none_or(|f| f.count() == width && width > 0);
                rows == k && phases && (model.weights.rows(), model.weights.cols()) == (c, width + 1)
            }
        };
        let lists = |shortlist: &Shortlist| {
            let sound = shortlist.lists().check(d, c).is_ok() && shortlist.rest.iter().all(|rest| rest.is_sound(k));
            sound && self.head.is_linear() && self.trees.is_none()
        };
        let said =
            |evidence: &Evidence| matches!(self.head, Head::Logistic { .. }) && evidence.view().check(d, c).is_ok();
        let (names, features) = (&self.label_names, &self.feature_names);
        let checks = [
            ("projection", self.projection.cols() == k),
            ("intercept", self.intercept.len() == k),
            ("spectrum", self.spectrum.len() == k),
            ("head", head),
            ("shortlist", self.shortlist.as_ref().is_none_or(lists)),
            ("evidence", self.evidence.as_ref().is_none_or(said)),
            ("thresholds", self.thresholds.len() == c),
            ("counts", self.background.counts.len() == c),
            ("mean", self.background.mean.len() == k),
            ("covariance", (covariance.rows(), covariance.cols()) == (k, k)),
            ("label_names", names.as_ref().is_none_or(|names| names.len() == c)),
            ("feature_names", features.as_ref().is_none_or(|names| names.len() == d)),
            (
                "preprocessing",
                match &self.preprocessing {
                    Preprocessing::Text(featurizer) => featurizer.features() == d && features.is_none(),
                    _ => true,
                },
            ),
        ];
        if let Some((name, _)) = checks.iter().find(|(_, fits)| !fits) {
            let reason = format!("does not fit {c} labels, {d} features and {k} dimensions");
            return Err(Error::Parameter { name, reason });
        }
        names::check("label_names", names.iter().flatten())?;
        names::check("feature_names", features.iter().flatten())
    }

    fn check_numbers(&self) -> Result<()> {
        let Calibration { scale, shift, .. } = self.calibration;
        if !(scale.is_finite() && scale > 0.0 && shift.is_finite()) {
            return Err(Error::parameter("calibration", "needs a scale above 0 and a shift, both finite"));
        }
        if let Preprocessing::Sparse(transform) = &self.preprocessing {
            transform.check()?;
        }
        let head = match &self.head {
            Head::Logistic { features, blend, .. } => {
                let random = features.as_ref().is_none_or(|f| finite(f.directions.as_slice()) && finite(&f.phases));
                blend.is_finite() && random
            }
            Head::LeastSquares | Head::Pursuit { .. } => true,
        };
        let checks = [
            ("labels", finite(self.labels.as_slice())),
            ("projection", finite(self.projection.as_slice())),
            ("intercept", finite(&self.intercept)),
            ("spectrum", self.spectrum.iter().all(|v| v.is_finite())),
            ("head", head),
            ("thresholds", finite(&self.thresholds)),
            ("mean", finite(&self.background.mean)),
            ("covariance", finite(self.background.covariance.as_slice())),
        ];
        match checks.iter().find(|(_, finite)| !finite) {
            Some((name, _)) => Err(Error::Parameter { name, reason: "holds numbers that are not finite".into() }),
            None => Ok(()),
        }
    }
}

pub(super) fn finite(numbers: &[f32]) -> bool {
    numbers.iter().all(|v| v.is_finite())
}
