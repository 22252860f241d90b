//! The parts of a model, and what must hold for them.

use std::sync::Arc;

use serde_json::Value;

use super::names::ModelNames;
use crate::data::Dataset;
use crate::data::featurizer::{Featurizer, SparseTransform};
use crate::linalg::matrix::Matrix;
use crate::linalg::table::Table;
use crate::metrics::DEFAULT_THRESHOLD;
use crate::score::head::{Calibration, Head, Loss};
use crate::score::ranker::Ranker;
use crate::score::scorer::ScoreParts;
use crate::tree::{TreeMethod, Trees};
use crate::{Error, Examples, Result, Side};

/// From an example as it comes to the features that the projection takes.
#[derive(Clone, Debug)]
pub enum Preprocessing {
    /// Nothing: features are numbers already.
    AsIs,
    /// Features that are numbers already are weighted.
    Sparse(SparseTransform),
    /// Texts become features.
    Text(Arc<Featurizer>),
}

impl Preprocessing {
    /// The inverse document frequency of a feature, where features are multiplied with it.
    pub(super) fn idf(&self, feature: usize) -> Option<f32> {
        match self {
            Preprocessing::AsIs => None,
            Preprocessing::Sparse(transform) => transform.tfidf.as_ref()?.get(feature).copied(),
            Preprocessing::Text(featurizer) => featurizer.idf().get(feature).copied(),
        }
    }

    /// The names of features that a model must keep: those of the data, unless the featurizer has them.
    pub(crate) fn feature_names(&self, data: &Dataset) -> Option<ModelNames> {
        match self {
            Preprocessing::Text(featurizer) if featurizer.params().hashing.is_some() => None,
            Preprocessing::Text(featurizer) => Some(ModelNames::from_iter(featurizer.names())),
            _ => data.feature_names().map(|names| ModelNames::from_iter(names.iter())),
        }
    }
}

/// Statistics of the training data: for priors, evaluation and new labels.
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

/// All that a model consists of. Copies share the large parts.
#[derive(Clone, Debug)]
pub(crate) struct Contents {
    pub preprocessing: Preprocessing,
    /// E, the embedding of the labels, c×k; those added after training last.
    pub labels: Table,
    /// P, from features into the embedding, d×k.
    pub projection: Table,
    /// Added to Pᵀx.
    pub intercept: Vec<f32>,
    /// Eigenvalues of M.
    pub spectrum: Vec<f64>,
    pub head: Head,
    pub ranker: Option<Ranker>,
    /// Trees in place of embedding and head, which are then empty.
    pub trees: Option<Arc<Trees>>,
    pub calibration: Calibration,
    /// Probability of each label from which it is predicted, for F1.
    pub thresholds: Vec<f32>,
    pub stats: TrainingStats,
    /// Weights of labels added after training, the constant last.
    pub added_weights: Matrix,
    pub label_names: Option<ModelNames>,
    /// Those of the featurizer for text models.
    pub feature_names: Option<ModelNames>,
    /// How the model was made, and how that went.
    pub params: Value,
    pub report: Value,
}

impl Contents {
    /// A model of `data` with an embedding that is still to be filled in.
    pub fn of(data: &Dataset, preprocessing: Preprocessing, calibration: Calibration) -> Result<Contents> {
        let shape = data.shape();
        let feature_names = preprocessing.feature_names(data);
        Ok(Contents {
            preprocessing,
            labels: Matrix::zeros(shape.c, 0).into(),
            projection: Matrix::zeros(shape.d, 0).into(),
            intercept: Vec::new(),
            spectrum: Vec::new(),
            head: Head::LeastSquares,
            ranker: None,
            trees: None,
            calibration,
            thresholds: vec![DEFAULT_THRESHOLD; shape.c],
            stats: TrainingStats {
                examples: shape.n as u64,
                counts: data.labels()?.counts(shape.c),
                mean: Vec::new(),
                covariance: Matrix::zeros(0, 0),
                words: [Side::X, Side::Y].map(|side| data.has_words(side)),
            },
            added_weights: Matrix::zeros(0, 1),
            label_names: data.label_names().map(|names| ModelNames::from_iter(names.iter())),
            feature_names,
            params: Value::Null,
            report: Value::Null,
        })
    }

    /// A model of trees that were fitted to `data`. Their probabilities are taken as they are, and a label is predicted
    /// when it is more likely than not.
    pub fn of_trees(trees: Trees, data: &Dataset, preprocessing: Preprocessing) -> Result<Contents> {
        let loss = match trees.method() {
            TreeMethod::Lomtree | TreeMethod::LabelTree => Loss::Softmax,
            TreeMethod::Fastxml | TreeMethod::Lpsr => Loss::Independent,
        };
        let contents = Contents::of(data, preprocessing, Calibration::identity(loss))?;
        Ok(Contents { trees: Some(Arc::new(trees)), ..contents })
    }

    /// Number of labels that were trained.
    pub fn trained(&self) -> usize {
        self.labels.rows() - self.added_weights.rows()
    }

    /// The parts that scores are made of.
    pub fn score_parts(&self) -> ScoreParts<'_> {
        ScoreParts {
            labels: &self.labels,
            trained: self.trained(),
            head: &self.head,
            ranker: self.ranker.as_ref(),
            calibration: self.calibration,
        }
    }

    /// The idf weights of the features, if there are any.
    pub fn idf(&self) -> Option<&[f32]> {
        match &self.preprocessing {
            Preprocessing::AsIs => None,
            Preprocessing::Sparse(transform) => transform.tfidf.as_deref(),
            Preprocessing::Text(featurizer) => Some(featurizer.idf()).filter(|idf| !idf.is_empty()),
        }
    }

    /// Refuses parts that contradict each other, numbers that are not finite, and names of more than one line.
    pub fn check(&self) -> Result<()> {
        self.check_sizes()?;
        self.check_numbers()?;
        for (key, names) in [("label_names", &self.label_names), ("feature_names", &self.feature_names)] {
            names.as_ref().map_or(Ok(()), |names| names.check(key))?;
        }
        Ok(())
    }

    fn check_sizes(&self) -> Result<()> {
        let (c, d, k) = (self.labels.rows(), self.projection.rows(), self.labels.cols());
        let (added, most) = (self.added_weights.rows(), u32::MAX as usize);
        if c == 0 || d == 0 || (k == 0) != self.trees.is_some() || added >= c || c > most || d > most {
            return Err(Error::Data(format!("{c} labels, {d} features and {k} dimensions do not make a model")));
        }
        // A file has one format for all of them.
        let format = self.labels.number_format();
        let mut tables = [Some(&self.projection), self.head.weights()].into_iter().flatten();
        if tables.any(|table| table.number_format() != format) {
            return Err(Error::Data("the large matrices of a model must all have the same format".into()));
        }
        let covariance = &self.stats.covariance;
        let named = |names: &Option<ModelNames>, count: usize| names.as_ref().is_none_or(|names| names.len() == count);
        let checks = [
            ("projection", self.projection.cols() == k),
            ("intercept", self.intercept.len() == k),
            ("spectrum", self.spectrum.len() == k),
            ("head", self.head_fits(k)),
            ("ranker", self.ranker_fits(d)),
            ("thresholds", self.thresholds.len() == c),
            ("counts", self.stats.counts.len() == c),
            ("mean", self.stats.mean.len() == k),
            ("covariance", (covariance.rows(), covariance.cols()) == (k, k)),
            ("added_weights", added == 0 || self.added_weights.cols() == k + 1),
            ("label_names", named(&self.label_names, c)),
            ("feature_names", named(&self.feature_names, d)),
            (
                "preprocessing",
                match &self.preprocessing {
                    Preprocessing::Text(featurizer) => featurizer.features() == d,
                    _ => true,
                },
            ),
        ];
        match checks.iter().find(|(_, fits)| !fits) {
            Some((name, _)) => {
                let reason = format!("does not fit {c} labels, {d} features and {k} dimensions");
                Err(Error::Parameter { name, reason })
            }
            None => Ok(()),
        }
    }

    fn head_fits(&self, k: usize) -> bool {
        let trained = self.trained();
        match &self.head {
            Head::LeastSquares => true,
            Head::Pursuit { atoms } => *atoms > 0,
            Head::Linear { weights } => (weights.rows(), weights.cols()) == (trained, k + 1),
            Head::RandomFeatures { features, weights, .. } => {
                let (rows, width) = (features.directions.rows(), features.directions.cols());
                let drawn = rows == k && features.count() == width && width > 0;
                drawn && (weights.rows(), weights.cols()) == (trained, width + 1)
            }
        }
    }

    /// A ranker is alone, and its log-odds need no calibration.
    fn ranker_fits(&self, d: usize) -> bool {
        self.ranker.as_ref().is_none_or(|ranker| {
            let alone = matches!(self.head, Head::LeastSquares) && self.trees.is_none();
            let identity = self.calibration == Calibration::identity(self.calibration.loss);
            alone && identity && ranker.check(d, self.trained()).is_ok()
        })
    }

    fn check_numbers(&self) -> Result<()> {
        if let Preprocessing::Sparse(transform) = &self.preprocessing {
            transform.check()?;
        }
        if self.head.weights().is_some_and(|weights| !weights.is_finite()) {
            return Err(Error::Data("the weights of the model are not finite: train it with a stronger ridge".into()));
        }
        for (name, table) in [("labels", &self.labels), ("projection", &self.projection)] {
            if !table.is_finite() {
                return Err(Error::parameter(name, "holds numbers that are not finite"));
            }
        }
        self.check_small()
    }

    /// Checks all numbers but those of the large matrices.
    pub fn check_small(&self) -> Result<()> {
        let Calibration { scale, shift, .. } = self.calibration;
        if !(scale.is_finite() && scale > 0.0 && shift.is_finite()) {
            return Err(Error::parameter("calibration", "needs a scale above 0 and a shift, both finite"));
        }
        let random = match &self.head {
            Head::RandomFeatures { features, least_squares, .. } => {
                finite(features.directions.as_slice()) && finite(&features.phases) && least_squares.is_finite()
            }
            _ => true,
        };
        let checks = [
            ("intercept", finite(&self.intercept)),
            ("spectrum", self.spectrum.iter().all(|v| v.is_finite())),
            ("head", random),
            ("thresholds", finite(&self.thresholds)),
            ("mean", finite(&self.stats.mean)),
            ("covariance", finite(self.stats.covariance.as_slice())),
            ("added_weights", finite(self.added_weights.as_slice())),
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
