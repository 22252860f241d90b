//! The published figures, reproduced.
//!
//! P. Mineiro and N. Karampatziakis, *Fast Label Embeddings for Extremely Large Output Spaces* (ICLR workshop, 2015),
//! published their code with the logs of its runs on four public data sets: ALOI (multiclass), and bibtex, corel5k and
//! yeast from the Mulan collection (multilabel). An [`Experiment`] holds the settings that they printed and the figures
//! that they got on test data, and does the same here: their embedding, then on h(x) a linear head or their random
//! features trained by [`DescentParams`].
//!
//! ```no_run
//! use rembrandt::data::Dataset;
//! use rembrandt_bench::reproduce::Experiment;
//! use rembrandt::Run;
//!
//! let (train, test) = (Dataset::read("yeast/train.txt.zst")?, Dataset::read("yeast/test.txt.zst")?);
//! let run = &mut Run::default();
//! let placed = Experiment::Yeast.place(&train, &test, 1, run)?;
//! for trial in Experiment::Yeast.trials() {
//!     for figure in trial.measure(&placed, 1, run)? {
//!         println!("{:?}: {} here, {} published", figure.metric, figure.ours, figure.authors);
//!     }
//! }
//! # Ok::<(), rembrandt::Error>(())
//! ```
//!
//! Theirs and ours: predictions of single labels, for Hamming loss and micro-F1, are those with a
//! probability above ½; for macro-F1 the threshold of each label is chosen on the probabilities (not the labels) of the
//! test examples. Their random numbers cannot be repeated, ours depend on the seed. Their linear head on ALOI was trained
//! in another way, and is compared with our softmax regression.

mod report;
mod settings;

use serde::{Deserialize, Serialize};

pub use report::ExperimentReport;
pub use settings::{Published, Trial};

use rembrandt::data::Dataset;
use rembrandt::embed::energy_dimension;
use rembrandt::linalg::csr::Csr;
use rembrandt::linalg::matrix::Matrix;
use rembrandt::metrics::{Bootstrap, Evaluator, Example, Settings, best_f1_thresholds, predicted_positive, rank};
use rembrandt::score::head::{
    DescentParams, FeatureParams, Inputs, Logistic, LogisticParams, Loss, RandomFeatures, Targets, project,
};
use rembrandt::{Error, Examples, Rembrandt, Result, Run};

/// On the multilabel data, k is the smallest dimension that keeps more than this part of the trace of YᵀY.
const ENERGY: f64 = 0.9;
/// A batch has at most this many probabilities or inputs.
const BATCH_ENTRIES: usize = 1_000_000_000;
/// Random features for each example, at most: the kernel that they approximate has no more directions than examples.
const FEATURES_PER_EXAMPLE: usize = 4;

/// A data set on which the authors published figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Experiment {
    /// Photographs of 1000 objects, by colour histogram; multiclass.
    Aloi,
    /// Publications and their tags, by words.
    Bibtex,
    /// Photographs and their keywords, by visual words.
    Corel5k,
    /// Genes and their functions, by expression.
    Yeast,
}

/// The measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Share of examples whose class is not the one predicted.
    Error,
    /// Hamming loss.
    Hamming,
    /// Micro-F1.
    MicroF1,
    /// Macro-F1.
    MacroF1,
}

/// The input of the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Setting {
    /// h(x).
    Linear,
    /// Random features of h(x).
    RandomFeatures,
}

/// One figure beside the published one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// The data set.
    pub data: Experiment,
    /// The input of the head.
    pub setting: Setting,
    /// The measurements.
    pub metric: Metric,
    /// The figure on all test examples.
    pub ours: f64,
    /// Lower end of its bootstrap interval, see [`LEVEL`](rembrandt::metrics::LEVEL).
    pub low: f64,
    /// Upper end of its bootstrap interval.
    pub high: f64,
    /// Second lowest of the authors' 16 replicates.
    pub authors_low: f64,
    /// The middle of the authors' replicates.
    pub authors: f64,
    /// Second highest of the authors' replicates.
    pub authors_high: f64,
}

/// The examples of an experiment in its embedding.
#[derive(Clone, Debug)]
pub struct Placed {
    experiment: Experiment,
    /// h of the training examples.
    train: Matrix,
    train_labels: Csr,
    /// h of the test examples.
    test: Matrix,
    test_labels: Csr,
    /// Number of labels.
    count: usize,
}

impl Experiment {
    /// All of them.
    pub const ALL: [Experiment; 4] = [Experiment::Aloi, Experiment::Bibtex, Experiment::Corel5k, Experiment::Yeast];

    /// The name, which is also that of the folder of the data.
    pub fn name(self) -> &'static str {
        match self {
            Experiment::Aloi => "aloi",
            Experiment::Bibtex => "bibtex",
            Experiment::Corel5k => "corel5k",
            Experiment::Yeast => "yeast",
        }
    }

    /// Embeds the labels with the authors' settings, and places all examples.
    pub fn place(self, train: &Dataset, test: &Dataset, seed: u64, run: &mut Run<'_>) -> Result<Placed> {
        let (shape, tested) = (train.shape(), test.shape());
        if shape.d != tested.d {
            let reason = format!("the training data have {} features, but the test data {}", shape.d, tested.d);
            return Err(Error::Data(reason));
        }
        let (train_labels, test_labels) = (train.labels()?, test.labels()?);
        let mut params = Rembrandt::preset(self.preset()).with(|p| p.seed = seed);
        params.k = match self {
            Experiment::Aloi => params.k.min(shape.c),
            _ => energy_dimension(train, ENERGY)?,
        };
        let embedding = params.fit(train, run)?;
        Ok(Placed {
            experiment: self,
            train: project(&embedding, train.features()?.view()),
            train_labels,
            test: project(&embedding, test.features()?.view()),
            test_labels,
            count: shape.c,
        })
    }

    fn loss(self) -> Loss {
        match self {
            Experiment::Aloi => Loss::Softmax,
            _ => Loss::Independent,
        }
    }
}

impl Trial {
    /// The input of the head.
    pub fn setting(&self) -> Setting {
        if self.head.is_some() { Setting::RandomFeatures } else { Setting::Linear }
    }

    /// Trains the head and measures it on the test examples.
    pub fn measure(&self, placed: &Placed, seed: u64, run: &mut Run<'_>) -> Result<Vec<Figure>> {
        let (features, model) = self.train(placed, seed, run)?;
        let scores = model.scores(Inputs::new(placed.test.view(), features.as_ref()));
        let each = self.published.iter().map(|published| {
            let (score, interval) = placed.evaluate(&scores, published.metric, seed)?;
            Ok(Figure {
                data: placed.experiment,
                setting: self.setting(),
                metric: published.metric,
                ours: score,
                low: interval.0,
                high: interval.1,
                authors_low: published.low,
                authors: published.middle,
                authors_high: published.high,
            })
        });
        each.collect()
    }

    fn train(&self, placed: &Placed, seed: u64, run: &mut Run<'_>) -> Result<(Option<RandomFeatures>, Logistic)> {
        let loss = placed.experiment.loss();
        let h = placed.train.view();
        let labels = placed.train_labels.view();
        let targets = Targets { labels, count: placed.count, example_weights: None, label_weights: None };
        let Some(head) = &self.head else {
            let (model, _) = LogisticParams::new(loss).fit(Inputs::new(h, None), targets, run)?;
            return Ok((None, model));
        };
        let count = head.f.min(FEATURES_PER_EXAMPLE * h.rows());
        let params = FeatureParams::default().with(|p| {
            (p.kernel, p.quasi, p.count) = (head.kernel, true, count);
            (p.bandwidth, p.seed) = (head.bandwidth(), seed);
        });
        let features = RandomFeatures::draw(&params, h)?;
        let batch = h.rows().div_ceil(10).min(BATCH_ENTRIES.div_ceil(count.max(placed.count)));
        let descent = DescentParams::default().with(|p| {
            p.loss = loss;
            p.ridge = head.lambda;
            p.shrink = 1.0 - head.shrink;
            p.epochs = head.iters;
            p.batch = Some(batch);
            p.step = head.eta;
            p.momentum = head.alpha;
            p.decay = head.decay.min(1.0);
            p.seed = seed;
        });
        let model = descent.fit(Inputs::new(h, Some(&features)), targets, run)?;
        Ok((Some(features), model))
    }
}

impl Placed {
    /// A score of the test examples, and its interval.
    fn evaluate(&self, scores: &Matrix, metric: Metric, seed: u64) -> Result<(f64, (f64, f64))> {
        let bootstrap = Bootstrap::default().with(|b| (b.seed, b.macro_f1) = (seed, metric == Metric::MacroF1));
        let mut evaluator = Evaluator::new(self.count, Settings::default().with(|s| s.bootstrap = Some(bootstrap)))?;
        let decisions = match metric {
            Metric::Error => None,
            Metric::Hamming | Metric::MicroF1 => Some(more_likely_than_not(scores)),
            Metric::MacroF1 => Some(self.most_f1(scores)?),
        };
        for i in 0..scores.rows() {
            let (truth, _) = self.test_labels.view().row(i);
            let ranked = rank(scores.row(i), 1);
            let positive = decisions.as_ref().map(|d| &*d[i]);
            evaluator.push(&Example { truth, ranked: &ranked, positive, ..Example::default() })?;
        }
        let key = match metric {
            Metric::Error => "error",
            Metric::Hamming => "hamming",
            Metric::MicroF1 => "micro_f1",
            Metric::MacroF1 => "macro_f1",
        };
        let found = evaluator.scores().of(key).zip(evaluator.intervals().and_then(|intervals| intervals.of(key)));
        let (score, interval) = found.ok_or_else(|| {
            let kind = if metric == Metric::Error { "one label each" } else { "labels" };
            Error::Data(format!("the test data of {} need examples with {kind}", self.experiment.name()))
        })?;
        Ok((score, (interval.low, interval.high)))
    }

    /// The labels of each example that reach the threshold which makes the expected F1 of the label largest.
    fn most_f1(&self, scores: &Matrix) -> Result<Vec<Vec<u32>>> {
        let n = self.train_labels.rows() as f64;
        let mut prior = vec![0.0; self.count];
        self.train_labels.view().ids.iter().for_each(|label| prior[*label as usize] += 1.0 / n);
        let mut probabilities = Csr::new(false);
        for i in 0..scores.rows() {
            let row = scores.row(i).iter().enumerate();
            row.for_each(|(label, score)| probabilities.push(label as u32, 1.0 / (1.0 + (-score).exp())));
            probabilities.end_row();
        }
        let prior: Vec<f64> = prior.into_iter().map(|share: f64| share.min(1.0)).collect();
        let thresholds = best_f1_thresholds(probabilities.view(), &prior)?;
        let row = |i: usize| {
            let (labels, values) = probabilities.view().row(i);
            predicted_positive(labels, values.unwrap_or_default(), &thresholds)
        };
        Ok((0..scores.rows()).map(row).collect())
    }
}

/// The labels of each example with a probability above ½.
fn more_likely_than_not(scores: &Matrix) -> Vec<Vec<u32>> {
    let row =
        |i: usize| (0u32..).zip(scores.row(i)).filter(|(_, score)| **score > 0.0).map(|(label, _)| label).collect();
    (0..scores.rows()).map(row).collect()
}
