//! The fit of an embedding with a head: validation, embedding, cross-fitted projection, head.

use std::sync::Arc;

use serde_json::json;

use super::calibrated::Calibrated;
use super::head_params::{HeadKind, HeadTrainParams, MOST_EXAMPLES, MOST_SCORES};
use super::report::HeadReport;
use super::shared::{CROSS, HELD_OUT, MOST_HELD_OUT, lifted, moments, resolved_ridge};
use super::validation::{Validated, validate};
use crate::data::{Dataset, Examples, near_duplicates};
use crate::embed::{Embedder, Means};
use crate::linalg::csr::Csr;
use crate::linalg::matrix::Matrix;
use crate::metrics::Propensities;
use crate::model::contents::Contents;
use crate::model::{Model, Preprocessing};
use crate::score::head::{
    Calibration, Decoder, DescentParams, Folds, Head, Inputs, Logistic, LogisticParams, LogisticReport, RandomFeatures,
    RowSubset, SampledParams, Targets, add_intercept, out_of_fold,
};
use crate::score::scorer::head_scores;
use crate::{Embedding, Error, Result, Run};

impl HeadTrainParams {
    /// Trains on `data`, whose features `preprocessing` made.
    ///
    /// The result is the same to the last bit for any number of threads.
    ///
    /// # Errors
    /// If the parameters do not fit the data, or `run` was told to stop.
    pub fn fit(&self, data: &Dataset, preprocessing: Preprocessing, run: &mut Run<'_>) -> Result<Model> {
        self.check(data)?;
        let params = self.resolved(data);
        let groups = match params.group_duplicates {
            true => run.checkpoint("groups", |_| near_duplicates::groups(data))?,
            false => (0..data.shape().n as u32).collect(),
        };
        run.end_stage("near duplicates");
        Fit { params: &params, data, groups: &groups }.run(preprocessing, run)
    }

    /// These parameters with nothing left open.
    fn resolved(&self, data: &Dataset) -> HeadTrainParams {
        let (shape, loss, atoms) = (data.shape(), self.head.loss(), self.pursuit_atoms(data));
        let params = HeadTrainParams { k: self.k.or(self.sensing_k(data)), ..self.with_defaults(shape) };
        let sampled = params.sampled.filter(|_| params.features.is_none());
        HeadTrainParams {
            k: Some(params.resolved_k(shape)),
            ridge: Some(resolved_ridge(params.ridge, shape)),
            atoms: params.atoms.or((atoms > 0).then_some(atoms)),
            logistic: LogisticParams { loss, ..params.logistic },
            sampled: sampled.map(|sampled| SampledParams { ridge: params.logistic.ridge, loss, ..sampled }),
            descent: DescentParams { loss, ..params.descent },
            ..params
        }
    }

    /// Trains the head, on h itself or on random features. Validation may stop earlier than `logistic` says.
    pub(super) fn fit_head(
        &self,
        tolerance: Option<f64>,
        inputs: Inputs<'_>,
        targets: Targets<'_>,
        run: &mut Run<'_>,
    ) -> Result<(Logistic, Option<LogisticReport>)> {
        // The head has a ridge of its own.
        let named = |error: Error| match error {
            Error::Parameter { name: "ridge", reason } if self.features.is_some() => {
                Error::parameter("descent.ridge", reason)
            }
            Error::Parameter { name: "ridge", reason } => Error::parameter("logistic.ridge", reason),
            other => other,
        };
        if self.features.is_some() {
            let fitted = run.within("head", |run| self.descent.fit(inputs, targets, run));
            return Ok((fitted.map_err(named)?, None));
        }
        if let Some(mut sampled) = self.sampled {
            // Validation has few examples, and moving the weights of all labels is most of its work.
            sampled.steps = if tolerance.is_some() { sampled.steps.div_ceil(2) } else { sampled.steps };
            let fitted = run.within("head", |run| sampled.fit(inputs, targets, run));
            return Ok((fitted.map_err(named)?, None));
        }
        let mut params = self.logistic;
        params.tolerance = params.tolerance.max(tolerance.unwrap_or(0.0));
        let (model, report) = run.within("head", |run| params.fit(inputs, targets, run)).map_err(named)?;
        Ok((model, Some(report)))
    }
}

/// A training whose parameters leave nothing open.
struct Fit<'a> {
    params: &'a HeadTrainParams,
    data: &'a Dataset,
    /// The group of near duplicates of each example.
    groups: &'a [u32],
}

/// A head, fitted, and how its scores become probabilities.
struct FittedHead {
    head: Head,
    report: Option<LogisticReport>,
    calibrated: Calibrated,
}

impl Fit<'_> {
    fn run(&self, preprocessing: Preprocessing, run: &mut Run<'_>) -> Result<Model> {
        let validated = run.checkpoint("validation", |run| validate(self.data, self.params, self.groups, run))?;
        let Validated { calibrated, start, calibration_holds } = validated;
        run.end_stage("validation");
        let (embedding, means, embedder) = self.embed(start, run)?;
        run.end_stage("embedding");

        let mut h = self.data.gather_features(embedding.projection.view())?;
        add_intercept(&mut h, &embedding.intercept);
        let (mean, covariance) = moments(h.view());
        let fitted = self.head(&embedding, means.as_ref(), &embedder, (h, calibrated, calibration_holds), run)?;
        let FittedHead { head, report, calibrated } = fitted;
        run.end_stage("head");

        let report = HeadReport { held_out: calibrated.held_out, embedding: embedding.report.clone(), head: report };
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
            params: json!(self.params),
            report: json!(report),
            ..contents
        })
    }

    /// The embedding of all examples, from that of a part of them if there is one.
    fn embed(&self, start: Option<Matrix>, run: &mut Run<'_>) -> Result<(Embedding, Option<Means>, Embedder)> {
        let mut embedder = self.params.embedder(self.data.shape());
        if start.is_some() && self.params.method.regresses_to_find() && self.data.shape().n <= MOST_EXAMPLES {
            // The start is nearly as good as one pass would make it, unless it comes from a sample: that misses most of
            // the rare labels.
            embedder.params.passes = embedder.params.passes.saturating_sub(1);
        }
        let fitted = run.within("embedding", |run| embedder.fit_from(start.as_ref(), self.data, run));
        let (embedding, means) = fitted?;
        Ok((embedding, means, embedder))
    }

    /// The head on cross-fitted h, and how its scores become probabilities.
    fn head(
        &self,
        embedding: &Embedding,
        means: Option<&Means>,
        embedder: &Embedder,
        (h, mut calibrated, calibration_holds): (Matrix, Calibrated, bool),
        run: &mut Run<'_>,
    ) -> Result<FittedHead> {
        let (params, shape) = (self.params, self.data.shape());
        let decoder = Decoder { labels: &embedding.labels, means, atoms: params.pursuit_atoms(self.data) };
        if params.head == HeadKind::LeastSquares {
            return Ok(FittedHead { head: decoder.head(), report: None, calibrated });
        }
        let held_out = self.held_out_folds();
        let cross_fitted = params.folds > 0 && params.method.fits_labels();
        let h = if cross_fitted { self.cross_fit(h, embedding, embedder, run)? } else { h };
        run.end_stage("cross-fitting");
        let features = params.features.map(|f| RandomFeatures::draw(&f, h.view())).transpose()?;
        let (labels, weights) = (self.data.labels()?, self.data.weights()?);
        let targets = self.targets(&labels, weights.as_deref());
        let (mut model, report) = if calibration_holds || params.folds == 0 {
            let inputs = Inputs::new(h.view(), features.as_ref());
            params.fit_head(None, inputs, targets, run)?
        } else {
            let (out, kept): (Vec<usize>, Vec<usize>) = (0..shape.n).partition(|i| held_out.of(*i) == 0);
            let out = RowSubset::new(h.view(), &targets, &out);
            let kept = RowSubset::keep(h, &targets, &kept);
            let inputs = Inputs::new(kept.h.view(), features.as_ref());
            let kept_targets = self.targets(&kept.labels, kept.weights.as_deref());
            let fitted = params.fit_head(None, inputs, kept_targets, run)?;
            let labels = Arc::new(embedding.labels.clone());
            let head = decoder.logistic(features.clone(), fitted.0.clone(), params.least_squares_weight);
            let scores = head_scores(&labels.into(), &head, &out.h);
            // Of few examples none may have been held out.
            if scores.rows() > 0 {
                let weights = out.weights.as_deref();
                calibrated = Calibrated::fit(params.head.loss(), scores, out.labels.view(), weights)?;
            }
            fitted
        };
        if let Some(propensity) = params.propensity {
            let propensities = Propensities::new(propensity, &labels.counts(shape.c), shape.n as u64)?;
            lift(&mut model.weights, &mut calibrated.thresholds, &propensities, calibrated.calibration);
        }
        let head = decoder.logistic(features, model, params.least_squares_weight);
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
