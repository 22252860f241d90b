//! [`Trainer`]: from data to a [`Model`] in one expression.

use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::params::{HeadChoice, HeadKind, TrainParams};
use super::ranker::RankerParams;
use crate::data::featurizer::{FeaturizerParams, SparseCounts};
use crate::data::{Dataset, Examples, Texts};
use crate::embed::Method;
use crate::metrics::Propensity;
use crate::model::{Model, Preprocessing};
use crate::run::Watch;
use crate::tree::TreeParams;
use crate::{Checkpoints, Progress, Result, Run};

/// Builds a model.
///
/// ```no_run
/// use rembrandt::{Dataset, Trainer};
///
/// let data = Dataset::read("train.txt.gz")?;
/// let model = Trainer::new().tfidf().normalize().fit(&data)?;
/// let wider = Trainer::new().k(300).fit(&data)?;
/// # Ok::<(), rembrandt::Error>(())
/// ```
#[derive(Default)]
pub struct Trainer<'a> {
    method: Method,
    trees: Option<TreeParams>,
    head: HeadChoice,
    k: Option<usize>,
    ridge: Option<f64>,
    seed: Option<u64>,
    group_duplicates: bool,
    propensity: Option<Propensity>,
    features: FeatureOptions,
    checkpoint: Option<PathBuf>,
    watch: Option<Watch<'a>>,
}

/// How features are made of texts, or weighted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct FeatureOptions {
    /// Multiply sparse features by their idf.
    pub tfidf: bool,
    /// Scale rows of sparse features to length 1.
    pub normalize: bool,
    /// How texts become features.
    pub featurizer: FeaturizerParams,
}

setter!(FeatureOptions);

/// Examples that are ready to learn from.
pub enum Prepared<'a> {
    /// As they are.
    Borrowed(&'a Dataset),
    /// With other features.
    Owned(Box<Dataset>),
}

impl Deref for Prepared<'_> {
    type Target = Dataset;

    fn deref(&self) -> &Dataset {
        match self {
            Prepared::Borrowed(data) => data,
            Prepared::Owned(data) => data,
        }
    }
}

/// Labelled examples that a [`Trainer`] can learn from.
pub trait TrainingData {
    /// The examples as features and labels, and the preprocessing that made them, which the model keeps.
    ///
    /// # Errors
    /// If the examples cannot be read, or no feature is left.
    fn prepare(&self, options: &FeatureOptions) -> Result<(Prepared<'_>, Preprocessing)>;
}

impl TrainingData for Dataset {
    fn prepare(&self, options: &FeatureOptions) -> Result<(Prepared<'_>, Preprocessing)> {
        if !options.tfidf && !options.normalize {
            return Ok((Prepared::Borrowed(self), Preprocessing::AsIs));
        }
        let mut counts = SparseCounts::default();
        counts.add(self.features()?.view());
        let transform = counts.finish(self.shape().d, options.tfidf, options.normalize);
        let data = self.map_features(|x| transform.apply(x))?;
        Ok((Prepared::Owned(Box::new(data)), Preprocessing::Sparse(transform)))
    }
}

impl TrainingData for Texts {
    fn prepare(&self, options: &FeatureOptions) -> Result<(Prepared<'_>, Preprocessing)> {
        let (data, featurizer) = self.clone().into_dataset(options.featurizer.clone())?;
        Ok((Prepared::Owned(Box::new(data)), Preprocessing::Text(Arc::new(featurizer))))
    }
}

impl<'a> Trainer<'a> {
    /// The defaults.
    pub fn new() -> Trainer<'a> {
        Trainer::default()
    }

    /// How labels are embedded.
    #[must_use]
    pub fn method(mut self, method: Method) -> Self {
        self.method = method;
        self
    }

    /// Trees in place of an embedding.
    #[must_use]
    pub fn trees(mut self, params: TreeParams) -> Self {
        self.trees = Some(params);
        self
    }

    /// A head on the embedding. By default there is none: a ranker scores candidates, or, with a method other than
    /// Rembrandt, a head that suits the data.
    #[must_use]
    pub fn head(mut self, head: HeadKind) -> Self {
        self.head = HeadChoice::Kind(head);
        self
    }

    /// Dimensions of the embedding. More of them keep more labels apart, and cost as much more.
    #[must_use]
    pub fn k(mut self, k: usize) -> Self {
        self.k = Some(k);
        self
    }

    /// Relative ridge λ of the embedding: larger where examples are few and features many.
    #[must_use]
    pub fn ridge(mut self, ridge: f64) -> Self {
        self.ridge = Some(ridge);
        self
    }

    /// Seed of all random numbers.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Hold near duplicates out together: for data whose new examples will have no near copy in training.
    #[must_use]
    pub fn group_duplicates(mut self) -> Self {
        self.group_duplicates = true;
        self
    }

    /// Rank labels that tend to be forgotten higher.
    #[must_use]
    pub fn propensity(mut self, propensity: Propensity) -> Self {
        self.propensity = Some(propensity);
        self
    }

    /// Multiply sparse features by their idf, which the model then does to new examples as well.
    #[must_use]
    pub fn tfidf(mut self) -> Self {
        self.features.tfidf = true;
        self
    }

    /// Scale rows of sparse features to length 1, which the model then does to new examples as well.
    #[must_use]
    pub fn normalize(mut self) -> Self {
        self.features.normalize = true;
        self
    }

    /// How texts become features.
    #[must_use]
    pub fn featurizer(mut self, params: FeaturizerParams) -> Self {
        self.features.featurizer = params;
        self
    }

    /// Keep finished work in a folder, and go on from what is there: after a kill, the same training loses little and
    /// gives the same bytes. Other data or parameters are refused. The folder is removed in the end.
    #[must_use]
    pub fn checkpoint(mut self, folder: impl Into<PathBuf>) -> Self {
        self.checkpoint = Some(folder.into());
        self
    }

    /// Calls `watch` after every step of work; when it returns `false` the training ends with
    /// [`Error::Cancelled`](crate::Error::Cancelled).
    #[must_use]
    pub fn progress(mut self, watch: impl FnMut(&Progress) -> bool + 'a) -> Self {
        self.watch = Some(Box::new(watch));
        self
    }

    /// Trains a model.
    ///
    /// # Errors
    /// If the data cannot be learned from, a parameter does not fit them, or the training was told to stop.
    pub fn fit(mut self, data: &impl TrainingData) -> Result<Model> {
        let (data, preprocessing) = data.prepare(&self.features)?;
        let run = match self.watch.take() {
            Some(watch) => Run::watched(watch),
            None => Run::default(),
        };
        let Some(folder) = self.checkpoint.take() else { return self.fit_prepared(&data, preprocessing, run) };
        let identity = json!({
            "data": format!("{:016x}", data.fingerprint()),
            "method": self.method, "trees": self.trees, "head": self.head, "k": self.k, "ridge": self.ridge,
            "seed": self.seed, "group_duplicates": self.group_duplicates,
            "propensity": self.propensity,
        });
        let checkpoints = Checkpoints::open(&folder, &identity)?;
        let model = self.fit_prepared(&data, preprocessing, run.with_checkpoints(Some(&checkpoints)))?;
        checkpoints.remove()?;
        Ok(model)
    }

    fn fit_prepared(&self, data: &Dataset, preprocessing: Preprocessing, mut run: Run<'_>) -> Result<Model> {
        if let Some(params) = &self.trees {
            let trees = params.fit(data, &mut run)?;
            let report = json!({"trees": trees.summary()});
            return Model::from_trees(trees, data, preprocessing, json!(params), report);
        }
        if self.head.is_default_training(self.method) {
            let mut params = RankerParams {
                k: self.k,
                ridge: self.ridge,
                group_duplicates: self.group_duplicates,
                propensity: self.propensity,
                ..RankerParams::default()
            };
            params.embedding.seed = self.seed.unwrap_or(params.embedding.seed);
            return params.fit(data, preprocessing, &mut run);
        }
        let head = match self.head.kind(self.method) {
            Some(head) => head,
            None => HeadKind::suited(data)?,
        };
        let mut params = TrainParams::for_method(self.method, head);
        (params.k, params.ridge) = (self.k, self.ridge);
        params.group_duplicates = self.group_duplicates;
        params.propensity = self.propensity;
        if let Some(seed) = self.seed {
            params.embedding.seed = seed;
            params.descent.seed = seed;
        }
        params.fit(data, preprocessing, &mut run)
    }
}
