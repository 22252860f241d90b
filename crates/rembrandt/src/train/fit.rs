//! The fit with chosen settings: embedding, cross-fitted projection, head, combination.

use std::sync::Arc;

use serde_json::json;

use super::calibrated::Calibrated;
use super::params::{HeadKind, TrainParams, Tuning};
use super::report::TrainReport;
use super::search::search;
use super::search_outcome::SearchOutcome;
use super::validation::{Components, MOST_EXAMPLES, MOST_SCORES, Setting};
use crate::data::{Dataset, Examples, near_duplicates};
use crate::embed::{Embedder, Means};
use crate::linalg::csr::Csr;
use crate::linalg::matrix::{MatRef, Matrix};
use crate::linalg::orth;
use crate::metrics::Propensities;
use crate::model::contents::Contents;
use crate::model::{Model, Preprocessing};
use crate::score::head::{
    Calibration, Decoder, Descent, Folds, Head, Inputs, Logistic, LogisticParams, LogisticReport, RandomFeatures,
    RowSubset, Sampled, Targets, add_intercept, out_of_fold,
};
use crate::score::scorer::head_scores;
use crate::{Embedding, Error, Result, Run};

/// One in so many examples is held out from the head, to fit the combination and its calibration; when there are many
/// examples, no more than a few thousand are.
pub(super) const HELD_OUT: usize = 10;
pub(super) const MOST_HELD_OUT: usize = 5000;
/// Seed of the folds for cross-fitting.
pub(super) const CROSS: u64 = 0xc405;

impl TrainParams {
    /// Trains on `data`, whose features `preprocessing` made.
    ///
    /// The result is the same to the last bit for any number of threads, unless the time for tuning cut it short.
    ///
    /// # Errors
    /// If the parameters do not fit the data, or `run` was told to stop.
    pub fn fit(
        &self,
        data: &Dataset,
        preprocessing: Preprocessing,
        tuning: &Tuning,
        run: &mut Run<'_>,
    ) -> Result<Model> {
        self.check(data)?;
        // A method that knows its dimensions has none to try.
        let sensed = self.sensed(data).filter(|_| self.k.is_none());
        let params = TrainParams { k: self.k.or(sensed), ..self.with_defaults(data.shape()) };
        let tuning = Tuning { k: tuning.k && sensed.is_none(), ..*tuning };
        params.fit_with_defaults(data, preprocessing, &tuning, run)
    }

    fn fit_with_defaults(
        &self,
        data: &Dataset,
        preprocessing: Preprocessing,
        tuning: &Tuning,
        run: &mut Run<'_>,
    ) -> Result<Model> {
        let groups = match self.group_duplicates {
            true => run.checkpoint("groups", |_| near_duplicates::groups(data))?,
            false => (0..data.shape().n as u32).collect(),
        };
        run.end_stage("near duplicates");
        let outcome = run.checkpoint("search", |run| search(data, &groups, self, tuning, run))?;
        run.end_stage("tuning");
        let fit = Fit { params: self, data, tuning, groups: &groups, setting: outcome.setting };
        fit.run(outcome, preprocessing, run)
    }

    /// Trains the head of a setting, on h itself or on random features. Validation may stop earlier than `logistic` says.
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
            // Validation has few examples, and moving the weights of all labels is most of its work.
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

/// A training whose setting is known.
struct Fit<'a> {
    params: &'a TrainParams,
    data: &'a Dataset,
    tuning: &'a Tuning,
    /// The group of near duplicates of each example.
    groups: &'a [u32],
    setting: Setting,
}

/// A head, fitted, with the combination that suits it.
struct FittedHead {
    head: Head,
    report: Option<LogisticReport>,
    calibrated: Calibrated,
}

impl Fit<'_> {
    fn run(&self, outcome: SearchOutcome, preprocessing: Preprocessing, run: &mut Run<'_>) -> Result<Model> {
        let SearchOutcome { start, tried, cut_short, faithful, .. } = outcome;
        let calibrated = Calibrated {
            least_squares: outcome.least_squares_weight,
            held_out: outcome.held_out,
            calibration: outcome.calibration,
            thresholds: outcome.thresholds,
        };
        let mut params = self.chosen_params();
        let (embedding, means, embedder) = self.embed(&params, start, run)?;
        run.end_stage("embedding");

        let mut h = self.data.gather_features(embedding.projection.view())?;
        add_intercept(&mut h, &embedding.intercept);
        let (mean, covariance) = moments(h.view());
        let fitted = self.head(&embedding, means.as_ref(), &embedder, (h, calibrated, faithful), run)?;
        let FittedHead { head, report, calibrated } = fitted;
        params.least_squares_weight = calibrated.least_squares;
        run.end_stage("head");

        let report = TrainReport {
            held_out: calibrated.held_out,
            tried,
            cut_short,
            embedding: embedding.report.clone(),
            head: report,
        };
        let mut contents = Contents::of(self.data, preprocessing, calibrated.calibration)?;
        contents.stats.mean = mean;
        contents.stats.covariance = covariance;
        Model::new(Contents {
            labels: embedding.labels.into(),
            projection: embedding.projection.into(),
            intercept: embedding.intercept,
            spectrum: embedding.spectrum,
            head,
            thresholds: calibrated.thresholds,
            params: json!(params),
            report: json!(report),
            ..contents
        })
    }

    /// The parameters with the setting put in.
    fn chosen_params(&self) -> TrainParams {
        let (params, setting) = (self.params, &self.setting);
        let atoms = params.pursued(self.data);
        let mut chosen = TrainParams {
            k: Some(setting.k),
            atoms: params.atoms.or((atoms > 0).then_some(atoms)),
            ridge: Some(setting.ridge),
            logistic: params.logistic(setting),
            sampled: params.sampled(setting),
            descent: params.descent(setting),
            features: setting.features,
            ..params.clone()
        };
        chosen.embedding.random_fraction = setting.random_fraction;
        chosen
    }

    /// The embedding of all examples, from that of a part of them if there is one.
    fn embed(
        &self,
        params: &TrainParams,
        start: Option<Matrix>,
        run: &mut Run<'_>,
    ) -> Result<(Embedding, Option<Means>, Embedder)> {
        let mut embedder = params.embedder(self.data.shape());
        if start.is_some() && params.method.regresses_to_find() && self.data.shape().n <= MOST_EXAMPLES {
            // The start is nearly as good as one pass would make it, unless it comes from a sample: that misses most of
            // the rare labels.
            embedder.params.passes = embedder.params.passes.saturating_sub(1);
        }
        let fitted = run.within("embedding", |run| embedder.fit_from(start.as_ref(), self.data, run));
        let (embedding, means) = fitted?;
        Ok((embedding, means, embedder))
    }

    /// The head on cross-fitted h, and its combination with the other scores.
    fn head(
        &self,
        embedding: &Embedding,
        means: Option<&Means>,
        embedder: &Embedder,
        (h, mut calibrated, faithful): (Matrix, Calibrated, bool),
        run: &mut Run<'_>,
    ) -> Result<FittedHead> {
        let (params, shape) = (self.params, self.data.shape());
        let decoder = Decoder { labels: &embedding.labels, means, atoms: params.pursued(self.data) };
        if params.head == HeadKind::LeastSquares {
            return Ok(FittedHead { head: decoder.head(), report: None, calibrated });
        }
        let held_out = self.held_out_folds();
        let cross_fitted = params.folds > 0 && params.method.fits_labels();
        let h = if cross_fitted { self.cross_fit(h, embedding, embedder, run)? } else { h };
        run.end_stage("cross-fitting");
        let features = self.setting.features.map(|f| RandomFeatures::draw(&f, h.view())).transpose()?;
        let (labels, weights) = (self.data.labels()?, self.data.weights()?);
        let targets = self.targets(&labels, weights.as_deref());
        let (mut model, report) = if faithful || params.folds == 0 {
            let inputs = Inputs::new(h.view(), features.as_ref());
            params.fit_head(&self.setting, None, inputs, targets, run)?
        } else {
            let (out, kept): (Vec<usize>, Vec<usize>) = (0..shape.n).partition(|i| held_out.of(*i) == 0);
            let out = RowSubset::new(h.view(), &targets, &out);
            let kept = RowSubset::keep(h, &targets, &kept);
            let inputs = Inputs::new(kept.h.view(), features.as_ref());
            let kept_targets = self.targets(&kept.labels, kept.weights.as_deref());
            let fitted = params.fit_head(&self.setting, None, inputs, kept_targets, run)?;
            let labels = Arc::new(embedding.labels.clone());
            let components = Components {
                logistic: Some(fitted.0.scores(Inputs::new(out.h.view(), features.as_ref()))),
                squares: head_scores(&labels.into(), &decoder.head(), &out.h),
            };
            let with_weight = TrainParams { least_squares_weight: calibrated.least_squares, ..params.clone() };
            let found = with_weight.calibrate(self.tuning, &components, &out)?;
            // Of few examples none may have been held out.
            calibrated = match found.held_out.examples > 0 {
                true => found,
                false => Calibrated { least_squares: found.least_squares, ..calibrated },
            };
            fitted
        };
        decoder.add_constants(&mut model, calibrated.least_squares);
        if let Some(propensity) = params.propensity {
            let propensities = Propensities::new(propensity, &labels.counts(shape.c), shape.n as u64)?;
            lift(&mut model.weights, &mut calibrated.thresholds, &propensities, calibrated.calibration);
        }
        let head = Head::logistic(features, model, &embedding.labels, calibrated.least_squares);
        Ok(FittedHead { head, report, calibrated })
    }

    /// h of the examples from projections that have not seen them.
    fn cross_fit(&self, h: Matrix, embedding: &Embedding, embedder: &Embedder, run: &mut Run<'_>) -> Result<Matrix> {
        let (labels, params) = (&embedding.labels, &embedder.params);
        drop(h);
        run.within("cross", |run| out_of_fold(params, self.data, labels, self.folds(self.params.folds), run))
    }

    fn folds(&self, count: usize) -> Folds<'_> {
        Folds { count, seed: CROSS, groups: Some(self.groups) }
    }

    /// Folds of which the first is held out from the head.
    fn held_out_folds(&self) -> Folds<'_> {
        let shape = self.data.shape();
        let most = MOST_HELD_OUT.min(MOST_SCORES / shape.c.max(1)).max(1);
        self.folds(HELD_OUT.max(shape.n.div_ceil(most)))
    }

    fn targets<'b>(&'b self, labels: &'b Csr, example_weights: Option<&'b [f32]>) -> Targets<'b> {
        let label_weights = self.params.label_weights.as_deref();
        Targets { labels: labels.view(), count: self.data.shape().c, example_weights, label_weights }
    }
}

/// Adds the logarithm of the inverse propensity to the log-odds of each label: what is predicted is then, in the
/// propensity model, how likely a label applies and not how likely it was given. Thresholds move along, so that the same
/// labels are predicted as before.
fn lift(weights: &mut Matrix, thresholds: &mut [f32], propensities: &Propensities, calibration: Calibration) {
    let constant = weights.cols() - 1;
    for (label, threshold) in thresholds.iter_mut().enumerate() {
        let inverse = propensities.inverse(label as u32);
        weights.row_mut(label)[constant] += inverse.ln() as f32 / calibration.scale;
        *threshold = lifted(*threshold, inverse);
    }
}

/// The probability whose odds are so many times larger.
pub(super) fn lifted(probability: f32, factor: f64) -> f32 {
    let odds = factor * f64::from(probability) / (1.0 - f64::from(probability)).max(f64::MIN_POSITIVE);
    (odds / (1.0 + odds)).min(1.0) as f32
}

/// Mean and covariance of the rows of `h`.
pub(super) fn moments(h: MatRef<'_>) -> (Vec<f32>, Matrix) {
    let (n, k) = (h.rows().max(1) as f64, h.cols());
    let ones = Matrix::from_fn(h.rows(), 1, |_, _| 1.0);
    let (square, sum) = (orth::inner(h, h), orth::inner(ones.view(), h));
    let mean: Vec<f64> = (0..k).map(|j| sum[(0, j)] / n).collect();
    let covariance = Matrix::from_fn(k, k, |i, j| (square[(i, j)] / n - mean[i] * mean[j]) as f32);
    (mean.into_iter().map(|v| v as f32).collect(), covariance)
}
