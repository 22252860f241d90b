//! [`HeadTrainParams`]: all settings of an embedding with a head.

use serde::{Deserialize, Serialize};

use super::shared::{check_learnable, check_propensity, resolved_ridge, suited_loss};
use crate::data::{Dataset, Examples, Shape, Side};
use crate::embed::{Embedder, Method};
use crate::metrics::Propensity;
use crate::score::head::{DescentParams, FeatureParams, Kernel, LogisticParams, Loss, SampledParams};
use crate::{Error, Rembrandt, Result};

/// Dimensions by default.
const DEFAULT_K: usize = 256;
/// Measurements of compressed sensing for each label of an example and each unit of ln c.
const MEASUREMENTS: f64 = 5.0;
/// Examples that validation divides, at most.
pub(super) const MOST_EXAMPLES: usize = 200_000;
/// Examples that it holds out, at most.
pub(super) const MOST_VALIDATED: usize = 20_000;
/// Scores of the held-out examples, at most.
pub(super) const MOST_SCORES: usize = 1 << 27;

/// Full gradients that a head on h itself takes, about.
const GRADIENTS: f64 = 30.0;
/// Operations a second that heads are trained with, about: decides what is out of reach.
const SPEED: f64 = 1e11;
/// A head on h itself looks at some of the labels at a time where all of them would take this many seconds or more.
const MOST_SECONDS: f64 = 600.0;
/// A head is out of reach when it takes this many seconds or more even so.
const OUT_OF_REACH: f64 = 7200.0;

/// The kind of head.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HeadKind {
    /// Least squares, or the pursuit of [`Method::CsOmp`]: nothing to train beyond the embedding.
    LeastSquares,
    /// Softmax (LR): one label per example.
    Softmax,
    /// Independent logistic regressions (ILR): any number of labels per example.
    Independent,
}

impl HeadKind {
    /// Softmax for data in which every example has one label, independent labels for all others; least squares when
    /// there are so many examples that training a head would take hours, even on some of the labels at a time.
    pub fn suited(data: &Dataset) -> Result<HeadKind> {
        let kind = match suited_loss(data.labels()?.view()) {
            Loss::Softmax => HeadKind::Softmax,
            Loss::Independent => HeadKind::Independent,
        };
        let shape = data.shape();
        let params = HeadTrainParams::new(kind).with_defaults(shape);
        let seconds = params.head_work(shape, params.resolved_k(shape), None) / SPEED;
        Ok(if seconds < OUT_OF_REACH { kind } else { HeadKind::LeastSquares })
    }

    /// The kind of probabilities of its labels.
    pub fn loss(self) -> Loss {
        if self == HeadKind::Softmax { Loss::Softmax } else { Loss::Independent }
    }
}

/// Which head is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HeadChoice {
    /// One that suits the method and the data.
    Suited,
    /// This kind.
    Kind(HeadKind),
}

impl HeadChoice {
    /// The kind of head, given or that of a method which decodes by itself; absent: [whichever suits](HeadKind::suited)
    /// the data.
    pub fn kind(self, method: Method) -> Option<HeadKind> {
        match self {
            HeadChoice::Kind(kind) => Some(kind),
            HeadChoice::Suited => method.decodes().then_some(HeadKind::LeastSquares),
        }
    }
}

/// How an embedding and a head on it are trained. Plain data; checked before any work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct HeadTrainParams {
    /// How labels are embedded.
    #[serde(default)]
    pub method: Method,
    /// The kind of head.
    pub head: HeadKind,
    /// Dimensions of the embedding; absent: 256, or as many as there are labels or features.
    pub k: Option<usize>,
    /// Relative ridge λ of the embedding; absent: what makes the real ridge four squared lengths of a mean example.
    pub ridge: Option<f64>,
    /// The other parameters of the embedding; `k` and `ridge` here do not count.
    pub embedding: Rembrandt,
    /// How the head is trained on h itself; the kind of probabilities follows from the head, here and below.
    pub logistic: LogisticParams,
    /// How the head is trained on h itself, with the ridge above, by looking at some of the labels at a time; absent: at
    /// all of them, unless the examples and labels are so many that this would take ten minutes or more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampled: Option<SampledParams>,
    /// How the head is trained on random features.
    pub descent: DescentParams,
    /// Labels that the pursuit of [`Method::CsOmp`] takes at most; absent: as many as a mean example has; 0: there is no
    /// pursuit, and labels are ranked by the inner products of their rows with h.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub atoms: Option<usize>,
    /// How much of the least-squares score to add to the logistic one.
    #[serde(alias = "blend")]
    pub least_squares_weight: f32,
    /// Random features between the embedding and the head; absent: none.
    pub features: Option<FeatureParams>,
    /// Parts for cross-fitting: h of each part comes from a projection fitted to the others. 0 trains the head on
    /// the h that the examples have themselves, which is only good when there are far more examples than features.
    pub folds: usize,
    /// Keep examples that are nearly the same in the same part, when examples are held out. For data in which what is to
    /// be predicted will have no near copy among the training examples, though these have many among themselves: all
    /// choices are then made for examples that are really new.
    #[serde(alias = "together")]
    pub group_duplicates: bool,
    /// Rank as if every label had been given as often as it applies: those that tend to be forgotten move up.
    pub propensity: Option<Propensity>,
    /// The cost of a mistake on each label; absent: 1. For independent labels.
    pub label_weights: Option<Vec<f32>>,
}

setter!(HeadTrainParams);

impl HeadTrainParams {
    /// Usual random features.
    pub const FEATURES: FeatureParams =
        FeatureParams { kernel: Kernel::Gaussian, quasi: true, count: 1000, bandwidth: 4.0, seed: 1 };

    /// The defaults of Rembrandt for a kind of head.
    pub fn new(head: HeadKind) -> HeadTrainParams {
        // Under softmax labels depend on each other, and the way to the optimum is longer.
        let (step, epochs) = if head == HeadKind::Softmax { (3.0, 10) } else { (1.0, 3) };
        HeadTrainParams {
            method: Method::default(),
            head,
            k: None,
            ridge: None,
            embedding: Rembrandt { cg_steps: 7, ..Rembrandt::default() },
            logistic: LogisticParams { ridge: 16.0, ..LogisticParams::new(head.loss()) },
            sampled: None,
            descent: DescentParams {
                loss: head.loss(),
                epochs,
                step,
                momentum: 0.5,
                shrink: 0.001,
                ..DescentParams::default()
            },
            atoms: None,
            least_squares_weight: match head {
                HeadKind::Independent => 4.0,
                HeadKind::Softmax => 0.0,
                HeadKind::LeastSquares => 1.0,
            },
            features: None,
            folds: 3,
            group_duplicates: false,
            propensity: None,
            label_weights: None,
        }
    }

    /// The defaults for a method and a kind of head. A pursuit has no constants that would tell how frequent labels are,
    /// as all other heads or regressions do, so its regression gets one. For principal components one pass is enough.
    pub fn for_method(method: Method, head: HeadKind) -> HeadTrainParams {
        let defaults = HeadTrainParams::new(head);
        let passes = if matches!(method, Method::Pca | Method::Plst) { 1 } else { defaults.embedding.passes };
        let embedding = Rembrandt { bias: method == Method::CsOmp, passes, ..defaults.embedding };
        HeadTrainParams { method, embedding, ..defaults }
    }

    /// Checks everything against the data, before any work.
    pub fn check(&self, data: &Dataset) -> Result<()> {
        let shape = data.shape();
        self.embedder(shape).check(shape)?;
        self.check_pursuit(shape)?;
        if self.folds == 1 {
            return Err(Error::parameter("folds", "one part leaves nothing to fit to: use 0, or 2 or more"));
        }
        if !self.least_squares_weight.is_finite() || self.least_squares_weight < 0.0 {
            return Err(Error::parameter("least_squares_weight", "must be a finite number, zero or more"));
        }
        let least_squares = self.head == HeadKind::LeastSquares;
        if least_squares && (self.propensity.is_some() || self.features.is_some() || self.label_weights.is_some()) {
            let reason = "least squares has no head that could use propensities, random features or label weights";
            return Err(Error::parameter("head", reason));
        }
        check_learnable(data)?;
        if self.head == HeadKind::Softmax && self.label_weights.is_some() {
            return Err(Error::parameter("label_weights", "is for independent labels, and softmax takes all together"));
        }
        self.propensity.map_or(Ok(()), |propensity| check_propensity(propensity, self.head.loss()))?;
        if self.label_weights.as_ref().is_some_and(|weights| weights.len() != shape.c) {
            return Err(Error::parameter("label_weights", format!("give one for each of the {} labels", shape.c)));
        }
        Ok(())
    }

    fn check_pursuit(&self, shape: Shape) -> Result<()> {
        let pursuit = self.method == Method::CsOmp;
        if pursuit && self.head != HeadKind::LeastSquares {
            let reason = "cs-omp finds labels by pursuit, without a head to train: use cs for a head on random rows";
            return Err(Error::parameter("head", reason));
        }
        match self.atoms {
            Some(_) if !pursuit => Err(Error::parameter("atoms", "is for cs-omp, the other methods pursue no labels")),
            Some(atoms) if atoms > self.resolved_k(shape) && self.k.is_some() => {
                let reason = format!("{atoms} labels cannot be told apart in {} dimensions", self.resolved_k(shape));
                Err(Error::parameter("atoms", reason))
            }
            _ => Ok(()),
        }
    }

    /// Labels that a pursuit takes, 0 where there is none. It should take as many as there are.
    pub(super) fn pursuit_atoms(&self, data: &Dataset) -> usize {
        let mean = data.nnz(Side::Y).div_ceil(data.shape().n.max(1) as u64).max(1) as usize;
        if self.method == Method::CsOmp { self.atoms.unwrap_or(mean) } else { 0 }
    }

    /// Bytes that a training takes besides the data, at its peak: an estimate.
    pub fn memory(&self, data: &Dataset) -> u64 {
        let shape = data.shape();
        let (n, c) = (shape.n as f64, shape.c as f64);
        let k = self.resolved_k(shape).min(self.most_k(shape)) as f64;
        let width = k.max(self.features.map_or(0.0, |f| f.count as f64));
        let params = Rembrandt { k: k as usize, ..self.embedding.clone() };
        let embedding = Embedder::new(self.method, params).memory(shape) as f64;
        // The parts of a division are copies, twice where a head is cross-fitted.
        let division = data.bytes() as f64 * (MOST_EXAMPLES as f64 / n.max(1.0)).min(1.0) * 1.8;
        let scores = 4.0 * (c * (n / 5.0).min(MOST_VALIDATED as f64)).min(MOST_SCORES as f64);
        let head =
            if self.head == HeadKind::LeastSquares { 0.0 } else { c * (6.0 * width + 160.0) + 3.0 * width * width };
        let product = data.label_feature_product_memory() as f64;
        let finding = embedding + product + division + 4.0 * (scores + head);
        // The final one: E and P; a projection of other examples while h is cross-fitted, weights and what moves them
        // while the head is trained.
        let d = shape.d as f64;
        let crossing = 4.0 * 2.0 * n * k + 4.0 * d * (k + 6.0 * self.embedding.panel as f64) + data.bytes() as f64;
        let heading = 4.0 * (2.0 * n * k + scores + head);
        finding.max(4.0 * (c + d) * k + crossing.max(heading)) as u64
    }

    /// Operations that training the head takes, roughly.
    pub(super) fn head_work(&self, shape: Shape, k: usize, features: Option<&FeatureParams>) -> f64 {
        let (width, labels, sweeps) = match (features, &self.sampled) {
            (Some(features), _) => (features.count, shape.c, self.descent.epochs as f64),
            (None, Some(sampled)) => (k, sampled.labels.min(shape.c), sampled.epochs as f64),
            (None, None) => (k, shape.c, GRADIENTS),
        };
        4.0 * shape.n as f64 * labels as f64 * width as f64 * sweeps
    }

    /// These parameters, with labels to sample where all of them would take too long.
    pub(super) fn with_defaults(&self, shape: Shape) -> HeadTrainParams {
        let long = || self.head_work(shape, self.resolved_k(shape), None) / SPEED >= MOST_SECONDS;
        let sampled = match self.head {
            HeadKind::LeastSquares => None,
            _ => self.sampled.or_else(|| long().then(|| SampledParams::new(self.head.loss()))),
        };
        HeadTrainParams { sampled, ..self.clone() }
    }

    /// The dimensions: those given, or as many as are usual.
    pub(super) fn resolved_k(&self, shape: Shape) -> usize {
        self.k.unwrap_or_else(|| DEFAULT_K.min(self.most_k(shape)).max(1))
    }

    /// Dimensions that are of use.
    pub(super) fn most_k(&self, shape: Shape) -> usize {
        let most = match self.method {
            // With as many dimensions as labels nothing is compressed: what is left is a regression for every label.
            Method::Plst | Method::Cplst => (2 * shape.c).div_ceil(3),
            _ => self.method.most(shape).0,
        };
        most.min(shape.d)
    }

    /// The dimensions that compressed sensing needs if none are given: a multiple of s·ln c for s labels on an example
    /// (Hsu et al. 2009). More would always be better, up to one for every label, and not be compressed sensing any more.
    pub(super) fn sensing_k(&self, data: &Dataset) -> Option<usize> {
        let shape = data.shape();
        let labels = data.nnz(Side::Y) as f64 / shape.n.max(1) as f64;
        let needed = (MEASUREMENTS * labels * (shape.c as f64).ln()).ceil().max(1.0) as usize;
        (self.method == Method::CsOmp).then(|| needed.max(self.pursuit_atoms(data)).min(self.most_k(shape)))
    }

    /// The embedding.
    pub(super) fn embedder(&self, shape: Shape) -> Embedder {
        let (k, ridge) = (self.resolved_k(shape), resolved_ridge(self.ridge, shape));
        Embedder::new(self.method, Rembrandt { k, ridge, ..self.embedding.clone() })
    }
}
