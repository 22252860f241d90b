//! The training itself, once the settings are chosen.

use std::time::Instant;

use super::params::{HeadKind, TrainParams, Tuning};
use super::report::{EvidenceReport, TrainReport};
use super::search::search;
use super::search_outcome::Chosen;
use super::shortlist::Deciding;
use super::validation::{MOST_EXAMPLES, MOST_SCORES, Scored, Setting};
use crate::data::{Dataset, Examples, Side, near_duplicates};
use crate::embed::Method;
use crate::linalg::matrix::{MatRef, Matrix};
use crate::linalg::orth;
use crate::metrics::Propensities;
use crate::model::{ModelParts, Preprocessing, TrainingStats};
use crate::score::head::{
    Calibration, Decoder, Descent, Folds, Head, Inputs, Logistic, LogisticParams, LogisticReport, Part, RandomFeatures,
    Sampled, Targets, add_intercept, one_fold, out_of_fold,
};
use crate::score::ranker::Evidence;
use crate::score::shortlist::Shortlist;
use crate::{Embedding, Error, Result, Run};

/// One in so many examples is kept from the head, to find out which blend and which calibration suit it; when there are
/// many examples, no more than a few thousand are.
const SETTLING: usize = 10;
const MOST_SETTLING: usize = 5000;
/// Seed of the parts for cross-fitting.
const CROSS: u64 = 0xc405;

/// What a training makes.
#[derive(Clone, Debug)]
pub struct Trained {
    /// Embedding and projection of all examples.
    pub embedding: Embedding,
    /// The head.
    pub head: Head,
    /// Lists of likely labels, where labels are many.
    pub shortlist: Option<Shortlist>,
    /// What single features say of labels, where that helps.
    pub evidence: Option<Evidence>,
    /// How scores become probabilities.
    pub calibration: Calibration,
    /// The probability from which predicting a label makes its F1 largest.
    pub thresholds: Vec<f32>,
    /// Training examples of each label.
    pub counts: Vec<u64>,
    /// Mean of h over the examples.
    pub mean: Vec<f32>,
    /// Covariance of h over the examples, k×k.
    pub covariance: Matrix,
    /// The parameters, with what was chosen put in.
    pub params: TrainParams,
    /// How it went.
    pub report: TrainReport,
    /// Seconds of each stage, in order.
    pub seconds: Vec<(&'static str, f64)>,
}

impl TrainParams {
    /// Trains on `data`.
    ///
    /// The result is the same to the last bit for any number of threads, unless the time for tuning cut it short.
    pub fn fit(&self, data: &Dataset, tuning: &Tuning, run: &mut Run<'_>) -> Result<Trained> {
        self.check(data)?;
        // What a method settles by itself is not tried.
        let sensed = self.sensed(data).filter(|_| self.k.is_none());
        let decided = TrainParams { k: self.k.or(sensed), ..self.decided(data.shape()) };
        let evidence = tuning.evidence && self.method == Method::Rembrandt && TrainParams::can_listen(data);
        let tuning = Tuning { k: tuning.k && sensed.is_none(), evidence, ..*tuning };
        decided.fit_decided(data, &tuning, run)
    }

    fn fit_decided(&self, data: &Dataset, tuning: &Tuning, run: &mut Run<'_>) -> Result<Trained> {
        let mut clock = Clock { last: Instant::now(), seconds: Vec::new() };
        let groups = match self.together {
            true => run.checkpoint("groups", |_| near_duplicates::groups(data))?,
            false => (0..data.shape().n as u32).collect(),
        };
        clock.stage("comparing");
        let Chosen {
            setting,
            mut blend,
            mut held_out,
            mut calibration,
            mut thresholds,
            start,
            tried,
            cut_short,
            faithful,
        } = run.checkpoint("search", |run| search(data, &groups, self, tuning, run))?;
        clock.stage("tuning");

        let atoms = self.pursued(data);
        let mut params = TrainParams {
            k: Some(setting.k),
            atoms: self.atoms.or((atoms > 0).then_some(atoms)),
            ridge: Some(setting.ridge),
            logistic: self.logistic(&setting),
            sampled: self.sampled(&setting),
            descent: self.descent(&setting),
            blend,
            features: setting.features,
            ..self.clone()
        };
        params.embedding.random_fraction = setting.spread;
        let shape = data.shape();
        let mut embedder = params.embedder(shape);
        if start.is_some() && self.method.regresses_to_find() && shape.n <= MOST_EXAMPLES {
            // The start is nearly as good as one pass would make it, unless it comes from a sample: that misses most of
            // the rare labels.
            embedder.params.passes = embedder.params.passes.saturating_sub(1);
        }
        let (embedding, means) = run.within("embedding", |run| embedder.fit_from(start.as_ref(), data, run))?;
        drop(start);
        clock.stage("embedding");

        let mut h = data.gather_features(embedding.projection.view())?;
        add_intercept(&mut h, &embedding.intercept);
        let (mean, covariance) = moments(h.view());
        let labels = data.labels()?;
        let counts = labels.counts(shape.c);
        let mut deciding = self.shortens(shape.c).then(|| Deciding::all(h.view(), false));
        let mut evidence = None;
        let decoder = Decoder { labels: &embedding.labels, means: means.as_ref(), atoms };
        let (head, report) = match self.head {
            HeadKind::LeastSquares if !self.settles_squares(shape, tuning) => (decoder.head(), None),
            _ => {
                let folds = Folds { count: self.folds, seed: CROSS, groups: Some(&groups) };
                let most = MOST_SETTLING.min(MOST_SCORES / shape.c.max(1)).max(1);
                let few = Folds { count: SETTLING.max(shape.n.div_ceil(most)), ..folds };
                let squares = self.head == HeadKind::LeastSquares;
                if self.folds > 0 && self.method.fits_labels() {
                    let (labels, params) = (&embedding.labels, &embedder.params);
                    h = run.within("cross", |run| match squares {
                        // Nothing is trained on h, so only those that settle the rest need one that does not know them.
                        true => one_fold(h, (params, data, labels), few, run),
                        false => {
                            drop(h);
                            out_of_fold(params, data, labels, folds, run)
                        }
                    })?;
                    deciding = self.shortens(shape.c).then(|| Deciding::all(h.view(), true));
                }
                clock.stage("cross-fitting");
                let features = params.features.map(|f| RandomFeatures::draw(&f, h.view())).transpose()?;
                let weights = data.weights()?;
                let targets = Targets {
                    labels: labels.view(),
                    count: shape.c,
                    example_weights: weights.as_deref(),
                    label_weights: self.label_weights.as_deref(),
                };
                // A gain that was given needs calibration with it, whatever the search has found.
                let settled = faithful && self.evidence == 0.0;
                let (mut model, report) = if settled || self.folds == 0 {
                    self.fit_head(&setting, None, Inputs::new(h.view(), features.as_ref()), targets, run)?
                } else {
                    let (out, kept): (Vec<usize>, Vec<usize>) = (0..shape.n).partition(|i| few.of(*i) == 0);
                    deciding = self.shortens(shape.c).then(|| Deciding::some(h.view(), &out, true));
                    let out = Part::new(h.view(), &targets, &out);
                    let fitted = if squares {
                        drop(h);
                        let weights = Matrix::zeros(shape.c, embedding.labels.cols() + 1);
                        (Logistic { loss: self.head.loss(), weights }, None)
                    } else {
                        let kept = Part::keep(h, &targets, &kept);
                        let some =
                            Targets { labels: kept.labels.view(), example_weights: kept.weights.as_deref(), ..targets };
                        let inputs = Inputs::new(kept.h.view(), features.as_ref());
                        self.fit_head(&setting, None, inputs, some, run)?
                    };
                    let logistic = fitted.0.scores(Inputs::new(out.h.view(), features.as_ref()));
                    let squares = decoder.scores(out.h.view());
                    let scored = Scored { logistic: Some(logistic), squares };
                    let choice = TrainParams { blend, ..self.clone() };
                    let settled = choice.settle(tuning, data, |i| few.of(i) == 0, (scored, &out), run)?;
                    (blend, evidence) = (settled.blend, settled.evidence);
                    // Of few examples none may have been kept.
                    if settled.held_out.examples > 0 {
                        held_out = settled.held_out;
                        (calibration, thresholds) = (settled.calibration, settled.thresholds);
                    }
                    fitted
                };
                params.blend = blend;
                params.evidence = evidence.as_ref().map_or(0.0, |evidence| evidence.gain);
                decoder.add_constants(&mut model, blend);
                if let Some(propensity) = self.propensity {
                    let propensities = Propensities::new(propensity, &counts, shape.n as u64)?;
                    lift(&mut model.weights, &mut thresholds, &propensities, calibration.scale);
                }
                (Head::Logistic { features, model, blend }, report)
            }
        };
        clock.stage("head");
        let linear = deciding
            .map(|deciding| deciding.shortlist(data, &embedding, &head, evidence.as_ref(), calibration))
            .transpose()?;
        let (shortlist, shortened) = linear.flatten().unzip();
        clock.stage("shortlist");
        let report = TrainReport {
            held_out,
            tried,
            cut_short,
            embedding: embedding.report.clone(),
            head: report,
            evidence: evidence.as_ref().map(EvidenceReport::new),
            shortlist: shortened,
        };
        let seconds = clock.seconds;
        let shortlist = shortlist.flatten();
        Ok(Trained {
            embedding,
            head,
            shortlist,
            evidence,
            calibration,
            thresholds,
            counts,
            mean,
            covariance,
            params,
            report,
            seconds,
        })
    }
}

impl TrainParams {
    /// Trains the head of a setting, on h itself or on random features. Trials may stop earlier than `logistic` says.
    pub(super) fn fit_head(
        &self,
        setting: &Setting,
        tolerance: Option<f64>,
        inputs: Inputs<'_>,
        targets: Targets<'_>,
        run: &mut Run<'_>,
    ) -> Result<(Logistic, Option<LogisticReport>)> {
        // The head has a ridge of its own.
        let named = |error: Error| match error {
            Error::Parameter { name: "ridge", reason } => Error::parameter("head_ridge", reason),
            other => other,
        };
        if setting.features.is_some() {
            let fitted = run.within("head", |run| self.descent(setting).fit(inputs, targets, run));
            return Ok((fitted.map_err(named)?, None));
        }
        if let Some(mut sampled) = self.sampled(setting) {
            // A trial has few examples, and moving the weights of all labels is most of its work.
            sampled.steps = if tolerance.is_some() { sampled.steps.div_ceil(2) } else { sampled.steps };
            let fitted = run.within("head", |run| sampled.fit(inputs, targets, run));
            return Ok((fitted.map_err(named)?, None));
        }
        let mut params = self.logistic(setting);
        params.tolerance = params.tolerance.max(tolerance.unwrap_or(0.0));
        let (model, report) = run.within("head", |run| params.fit(inputs, targets, run)).map_err(named)?;
        Ok((model, Some(report)))
    }

    /// The ridge of the head to begin with.
    pub(super) fn head_ridge(&self, features: bool) -> f64 {
        if features { self.descent.ridge } else { self.logistic.ridge }
    }

    fn logistic(&self, setting: &Setting) -> LogisticParams {
        let ridge = if setting.features.is_none() { setting.head_ridge } else { self.logistic.ridge };
        LogisticParams { ridge, loss: self.head.loss(), ..self.logistic }
    }

    /// How labels are sampled with a setting, if they are.
    fn sampled(&self, setting: &Setting) -> Option<Sampled> {
        let sampled = self.sampled.filter(|_| setting.features.is_none())?;
        Some(Sampled { ridge: setting.head_ridge, loss: self.head.loss(), ..sampled })
    }

    fn descent(&self, setting: &Setting) -> Descent {
        let ridge = if setting.features.is_some() { setting.head_ridge } else { self.descent.ridge };
        Descent { ridge, loss: self.head.loss(), ..self.descent }
    }
}

impl Trained {
    /// All that a model file holds, and what remains to be told: parameters, report and seconds.
    pub fn into_parts(
        self,
        data: &Dataset,
        preprocessing: Preprocessing,
    ) -> (ModelParts, TrainParams, TrainReport, Vec<(&'static str, f64)>) {
        let feature_names = preprocessing.feature_names(data);
        let parts = ModelParts {
            preprocessing,
            labels: self.embedding.labels,
            projection: self.embedding.projection,
            intercept: self.embedding.intercept,
            spectrum: self.embedding.spectrum,
            head: self.head,
            shortlist: self.shortlist,
            evidence: self.evidence,
            trees: None,
            calibration: self.calibration,
            thresholds: self.thresholds,
            background: TrainingStats {
                examples: data.shape().n as u64,
                counts: self.counts,
                mean: self.mean,
                covariance: self.covariance,
                words: [Side::X, Side::Y].map(|side| data.has_words(side)),
            },
            label_names: data.label_names().map(<[String]>::to_vec),
            feature_names,
            params: serde_json::json!(self.params),
            report: serde_json::json!(self.report),
        };
        (parts, self.params, self.report, self.seconds)
    }
}

/// Adds the logarithm of the inverse propensity to the log-odds of each label: what is predicted is then, in the
/// propensity model, how likely a label applies and not how likely it was given. Thresholds move along, so that the same
/// labels are predicted as before.
fn lift(weights: &mut Matrix, thresholds: &mut [f32], propensities: &Propensities, scale: f32) {
    let constant = weights.cols() - 1;
    for (label, threshold) in thresholds.iter_mut().enumerate() {
        let inverse = propensities.inverse(label as u32);
        weights.row_mut(label)[constant] += inverse.ln() as f32 / scale;
        let odds = inverse * f64::from(*threshold) / (1.0 - f64::from(*threshold)).max(f64::MIN_POSITIVE);
        *threshold = (odds / (1.0 + odds)).min(1.0) as f32;
    }
}

/// Mean and covariance of the rows of `h`.
fn moments(h: MatRef<'_>) -> (Vec<f32>, Matrix) {
    let (n, k) = (h.rows().max(1) as f64, h.cols());
    let ones = Matrix::from_fn(h.rows(), 1, |_, _| 1.0);
    let (square, sum) = (orth::inner(h, h), orth::inner(ones.view(), h));
    let mean: Vec<f64> = (0..k).map(|j| sum[(0, j)] / n).collect();
    let covariance = Matrix::from_fn(k, k, |i, j| (square[(i, j)] / n - mean[i] * mean[j]) as f32);
    (mean.into_iter().map(|v| v as f32).collect(), covariance)
}

struct Clock {
    last: Instant,
    seconds: Vec<(&'static str, f64)>,
}

impl Clock {
    fn stage(&mut self, name: &'static str) {
        self.seconds.push((name, self.last.elapsed().as_secs_f64()));
        self.last = Instant::now();
    }
}
