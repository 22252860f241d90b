//! [`Trainer`]: from data to a [`Model`] in one expression.

use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::head_params::{HeadChoice, HeadKind};
use super::training::Training;
use crate::data::featurizer::{FeaturizerParams, SparseCounts};
use crate::data::{Dataset, Examples, Texts};
use crate::embed::Method;
use crate::metrics::Propensity;
use crate::model::{Model, Preprocessing};
use crate::run::Watch;
use crate::{Checkpoints, Error, Progress, Result, Run};

/// Builds a model.
///
/// ```no_run
/// use rembrandt::tree::{TreeMethod, TreeParams};
/// use rembrandt::{Dataset, Trainer};
///
/// let data = Dataset::read("train.txt.gz")?;
/// let model = Trainer::new().tfidf().normalize().fit(&data)?;
/// let wider = Trainer::new().k(300).fit(&data)?;
/// let forest = Trainer::new().training(TreeParams::new(TreeMethod::Fastxml)).fit(&data)?;
/// # Ok::<(), rembrandt::Error>(())
/// ```
#[derive(Default)]
pub struct Trainer<'a> {
    training: Option<Training>,
    choices: Choices,
    features: FeatureOptions,
    checkpoint: Option<PathBuf>,
    watch: Option<Watch<'a>>,
}

/// The choices for a training of which not all parameters are given.
#[derive(Default)]
struct Choices {
    method: Option<Method>,
    head: Option<HeadKind>,
    k: Option<usize>,
    ridge: Option<f64>,
    seed: Option<u64>,
    group_duplicates: bool,
    propensity: Option<Propensity>,
}

impl Choices {
    /// The first that is made.
    fn first(&self) -> Option<&'static str> {
        let made = [
            ("method", self.method.is_some()),
            ("head", self.head.is_some()),
            ("k", self.k.is_some()),
            ("ridge", self.ridge.is_some()),
            ("seed", self.seed.is_some()),
            ("group_duplicates", self.group_duplicates),
            ("propensity", self.propensity.is_some()),
        ];
        made.into_iter().find_map(|(name, made)| made.then_some(name))
    }

    /// The training with all its parameters.
    fn training(&self, data: &Dataset) -> Result<Training> {
        let mut training = Training::new(self.method.unwrap_or_default(), self.head.map(HeadChoice::Kind), data)?;
        match &mut training {
            Training::Ranker(params) => {
                (params.k, params.ridge) = (self.k, self.ridge);
                (params.group_duplicates, params.propensity) = (self.group_duplicates, self.propensity);
                params.embedding.seed = self.seed.unwrap_or(params.embedding.seed);
            }
            Training::Head(params) => {
                (params.k, params.ridge) = (self.k, self.ridge);
                (params.group_duplicates, params.propensity) = (self.group_duplicates, self.propensity);
                params.embedding.seed = self.seed.unwrap_or(params.embedding.seed);
                params.descent.seed = self.seed.unwrap_or(params.descent.seed);
            }
            Training::Trees(_) => {}
        }
        Ok(training)
    }
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
        if options.featurizer != FeaturizerParams::default() {
            return Err(Error::parameter("featurizer", "is for texts, and these are features: leave it out"));
        }
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
        for (name, wanted) in [("tfidf", options.tfidf), ("normalize", options.normalize)] {
            if wanted {
                return Err(Error::parameter(
                    name,
                    "is for sparse features: the featurizer says how texts are weighted",
                ));
            }
        }
        let (data, featurizer) = self.clone().into_dataset(options.featurizer.clone())?;
        Ok((Prepared::Owned(Box::new(data)), Preprocessing::Text(Arc::new(featurizer))))
    }
}

impl<'a> Trainer<'a> {
    /// The defaults.
    pub fn new() -> Trainer<'a> {
        Trainer::default()
    }

    /// A training with all its parameters: [`RankerParams`](super::RankerParams),
    /// [`HeadTrainParams`](super::HeadTrainParams) or [`TreeParams`](crate::tree::TreeParams). They say all that
    /// [`method`](Trainer::method), [`head`](Trainer::head), [`k`](Trainer::k), [`ridge`](Trainer::ridge),
    /// [`seed`](Trainer::seed), [`group_duplicates`](Trainer::group_duplicates) and [`propensity`](Trainer::propensity) would,
    /// and are refused beside one of these.
    #[must_use]
    pub fn training(mut self, training: impl Into<Training>) -> Self {
        self.training = Some(training.into());
        self
    }

    /// How labels are embedded.
    #[must_use]
    pub fn method(mut self, method: Method) -> Self {
        self.choices.method = Some(method);
        self
    }

    /// A head on the embedding. By default there is none: a ranker scores candidates, or, with a method other than
    /// Rembrandt, a head that suits the data.
    #[must_use]
    pub fn head(mut self, head: HeadKind) -> Self {
        self.choices.head = Some(head);
        self
    }

    /// Dimensions of the embedding. More of them keep more labels apart, and cost as much more.
    #[must_use]
    pub fn k(mut self, k: usize) -> Self {
        self.choices.k = Some(k);
        self
    }

    /// Relative ridge λ of the embedding: larger where examples are few and features many.
    #[must_use]
    pub fn ridge(mut self, ridge: f64) -> Self {
        self.choices.ridge = Some(ridge);
        self
    }

    /// Seed of all random numbers.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.choices.seed = Some(seed);
        self
    }

    /// Hold near duplicates out together: for data whose new examples will have no near copy in training.
    #[must_use]
    pub fn group_duplicates(mut self) -> Self {
        self.choices.group_duplicates = true;
        self
    }

    /// Rank labels that tend to be forgotten higher.
    #[must_use]
    pub fn propensity(mut self, propensity: Propensity) -> Self {
        self.choices.propensity = Some(propensity);
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
        if let Some(name) = self.choices.first().filter(|_| self.training.is_some()) {
            let reason = "has no effect beside a training with all its parameters: set it among these";
            return Err(Error::parameter(name, reason));
        }
        let (data, preprocessing) = data.prepare(&self.features)?;
        let training = match self.training.take() {
            Some(training) => training,
            None => self.choices.training(&data)?,
        };
        let mut run = match self.watch.take() {
            Some(watch) => Run::watched(watch),
            None => Run::default(),
        };
        let Some(folder) = self.checkpoint.take() else { return training.fit(&data, preprocessing, &mut run) };
        let identity = json!({"data": format!("{:016x}", data.fingerprint()), "training": training});
        let checkpoints = Checkpoints::open(&folder, &identity)?;
        let model = training.fit(&data, preprocessing, &mut run.with_checkpoints(Some(&checkpoints)))?;
        checkpoints.remove()?;
        Ok(model)
    }
}

#[cfg(test)]
mod tests {
    use super::super::RankerParams;
    use super::super::tests::data;
    use super::*;
    use crate::tree::{TreeMethod, TreeParams};

    #[test]
    fn all_parameters_of_a_training_are_within_reach() {
        let data = data(200);
        let params = RankerParams::default().with(|p| (p.k, p.cost) = (Some(3), Some(0.5)));
        let model = Trainer::new().training(params).fit(&data).unwrap();
        assert_eq!((&model.params()["cost"], model.shape().k), (&json!(0.5), 3));
        let forest = TreeParams::new(TreeMethod::Fastxml);
        assert!(Trainer::new().training(forest).fit(&data).unwrap().trees().is_some());
    }

    #[test]
    fn settings_without_effect_are_refused() {
        let trees = || Trainer::new().training(TreeParams::new(TreeMethod::Fastxml));
        let refused = |trainer: Trainer<'_>| trainer.fit(&data(50)).unwrap_err().to_string();
        for (name, trainer) in [
            ("k", trees().k(3)),
            ("head", trees().head(HeadKind::Softmax)),
            ("propensity", trees().propensity(Propensity::default())),
            ("seed", Trainer::new().seed(2).training(RankerParams::default())),
        ] {
            assert_eq!(
                refused(trainer),
                format!("{name}: has no effect beside a training with all its parameters: set it among these")
            );
        }
        let words = Trainer::new().featurizer(FeaturizerParams::default().with(|p| p.min_df = 7));
        assert!(refused(words).starts_with("featurizer: is for texts"));
        let texts = Texts::new((0..9).map(|i| (format!("number {i}"), vec!["a"])));
        assert!(Trainer::new().tfidf().fit(&texts).unwrap_err().to_string().starts_with("tfidf: is for sparse"));
    }
}
