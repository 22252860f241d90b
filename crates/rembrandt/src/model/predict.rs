//! The most probable labels of examples.
//!
//! From a score s the [`Calibration`](crate::score::head::Calibration) of the model makes a probability: σ(scale·s + shift)
//! when labels are independent, softmax(scale·s) when an example has one label of all. An example without any feature
//! that the model knows gets the frequencies of the labels in training.
//!
//! Labels [added](Model::add_label) after training have a probability of their own, whatever the head, and are ranked
//! among the others by it.
//!
//! The same examples get the same bytes for any number of threads and however they are cut into batches.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::Model;
use crate::linalg::csr::CsrRef;
use crate::linalg::matrix::Matrix;
use crate::linalg::topk::TopK;
use crate::score::head::{Loss, STRIP};
use crate::score::scorer::{Scored, Scorer};
use crate::tree::{TreeMemory, Trees, Wanted};
use crate::{Error, Result};

/// Labels of an example that there is room for from the beginning.
const FEW: usize = 16;

/// From which probability on a label is predicted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Threshold {
    /// The same for all labels.
    Fixed(f32),
    /// That of each label, [for F1](Model::thresholds).
    Stored,
}

/// How many labels are predicted, from which probability on, and which.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct PredictOptions {
    /// Labels for each example at most.
    pub top: usize,
    /// Labels less probable than this are left out.
    pub threshold: Option<Threshold>,
    /// Only these labels; the others take no time. Under softmax probabilities are then those given that it is one of them.
    pub labels: Option<Vec<u32>>,
    /// Score all labels also where the model proposes some for each example.
    pub exact: bool,
}

setter!(PredictOptions);

impl Default for PredictOptions {
    /// The five most probable of all labels.
    fn default() -> PredictOptions {
        PredictOptions::top(5)
    }
}

impl PredictOptions {
    /// The `top` most probable of all labels.
    pub fn top(top: usize) -> PredictOptions {
        PredictOptions { top, threshold: None, labels: None, exact: false }
    }
}

/// A label and its probability.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Prediction {
    /// The label.
    pub label: u32,
    /// Its probability.
    pub probability: f32,
}

/// Labels and probabilities, a row for each example, best first.
///
/// It serialises as a list of lists of `{"label": …, "probability": …}`.
#[derive(Clone, Debug, PartialEq)]
pub struct Predictions {
    ends: Vec<usize>,
    labels: Vec<u32>,
    probabilities: Vec<f32>,
}

impl Serialize for Predictions {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter().map(|row| row.collect::<Vec<_>>()))
    }
}

impl Predictions {
    /// Number of examples.
    pub fn rows(&self) -> usize {
        self.ends.len()
    }

    /// Labels of example `i`, best first.
    ///
    /// # Panics
    /// If there is no such example.
    pub fn labels(&self, i: usize) -> &[u32] {
        &self.labels[self.range(i)]
    }

    /// Their probabilities.
    ///
    /// # Panics
    /// If there is no such example.
    pub fn probabilities(&self, i: usize) -> &[f32] {
        &self.probabilities[self.range(i)]
    }

    /// Label and probability of each prediction for example `i`.
    ///
    /// # Panics
    /// If there is no such example.
    pub fn row(&self, i: usize) -> impl ExactSizeIterator<Item = (u32, f32)> + '_ {
        self.labels(i).iter().copied().zip(self.probabilities(i).iter().copied())
    }

    /// The predictions for each example in turn.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = impl ExactSizeIterator<Item = Prediction> + '_> + '_ {
        (0..self.rows()).map(|i| self.row(i).map(|(label, probability)| Prediction { label, probability }))
    }

    /// Some of the examples, with the labels whose probability will do.
    pub(super) fn part(&self, rows: std::ops::Range<usize>, keep: impl Fn(f32) -> bool) -> Predictions {
        let mut part = Predictions::with_capacity(rows.len(), 0);
        for i in rows {
            self.row(i).filter(|(_, p)| keep(*p)).for_each(|(label, p)| part.push(label, p));
            part.end_row();
        }
        part
    }

    /// No examples yet, with room for so many and their labels.
    pub(super) fn with_capacity(rows: usize, labels: usize) -> Predictions {
        Predictions {
            ends: Vec::with_capacity(rows),
            labels: Vec::with_capacity(labels),
            probabilities: Vec::with_capacity(labels),
        }
    }

    /// Adds a label to the example that is not ended yet.
    pub(super) fn push(&mut self, label: u32, probability: f32) {
        self.labels.push(label);
        self.probabilities.push(probability);
    }

    /// Ends an example.
    pub(super) fn end_row(&mut self) {
        self.ends.push(self.labels.len());
    }

    /// Adds the examples of another.
    fn append(&mut self, other: &Predictions) {
        let before = self.labels.len();
        self.ends.extend(other.ends.iter().map(|end| before + end));
        self.labels.extend_from_slice(&other.labels);
        self.probabilities.extend_from_slice(&other.probabilities);
    }

    fn range(&self, i: usize) -> std::ops::Range<usize> {
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        start..self.ends[i]
    }
}

/// A model made ready to predict.
#[derive(Debug)]
pub struct Predictor<'m> {
    model: &'m Model,
    scorer: Scorer<'m>,
    /// The labels asked for, where not all are.
    labels: Option<Vec<u32>>,
    /// Labels added after training that are asked for.
    added: Vec<u32>,
    top: usize,
    threshold: Option<Threshold>,
    /// The labels of an example without known features: the most frequent ones.
    prior: Vec<(u32, f32)>,
    /// Memory that trees need for a search, of as many threads as have asked at a time.
    memories: Mutex<Vec<TreeMemory>>,
}

impl Model {
    /// The `top` most probable labels of examples, given by their features; those that the model does not know are left
    /// out.
    ///
    /// # Errors
    /// If the model was trained on texts, or a value is not finite.
    pub fn predict<'a>(&self, x: impl Into<CsrRef<'a>>, top: usize) -> Result<Predictions> {
        self.predictor(PredictOptions::top(top))?.predict(x.into())
    }

    /// The `top` most probable labels of texts.
    ///
    /// # Errors
    /// If the model was not trained on texts.
    pub fn predict_texts<T: AsRef<str> + Sync>(&self, texts: &[T], top: usize) -> Result<Predictions> {
        self.predictor(PredictOptions::top(top))?.predict_texts(texts)
    }

    /// Scores of all trained labels, before they become probabilities, a row for each example.
    ///
    /// # Errors
    /// If the model was trained on texts or is one of trees, or a value is not finite.
    pub fn scores<'a>(&self, x: impl Into<CsrRef<'a>>) -> Result<Matrix> {
        self.check_embedding()?;
        let x = self.prepare(x.into())?;
        Ok(self.scorer(None, true).scores(x.view(), &self.project(x.view())))
    }

    /// Makes the model ready to predict.
    ///
    /// # Errors
    /// If an option is out of range.
    pub fn predictor(&self, options: PredictOptions) -> Result<Predictor<'_>> {
        let PredictOptions { top, threshold, labels, exact } = options;
        let c = self.shape().c;
        if top == 0 {
            return Err(Error::parameter("top", "ask for at least one label"));
        }
        if let Some(Threshold::Fixed(value)) = threshold.filter(|t| !in_range(t)) {
            return Err(Error::parameter("threshold", format!("{value} is not a probability from 0 to 1")));
        }
        if let Some(id) = labels.iter().flatten().find(|id| **id as usize >= c) {
            return Err(Error::parameter("labels", format!("{id} is not a label: the last one is {}", c - 1)));
        }
        let first_added = (c - self.added()) as u32;
        let (trained, added) = match labels {
            None => (None, (first_added..c as u32).collect()),
            Some(mut ids) => {
                ids.sort_unstable();
                ids.dedup();
                let added = ids.split_off(ids.partition_point(|id| *id < first_added));
                (Some(ids), added)
            }
        };
        let prior = self.prior(trained.as_deref(), &added, top);
        let scorer = self.scorer(trained.clone(), exact);
        let mut predictor = Predictor {
            model: self,
            scorer,
            labels: trained,
            added,
            top,
            threshold,
            prior: Vec::new(),
            memories: Mutex::default(),
        };
        predictor.prior = prior.into_iter().filter(|(label, p)| predictor.reaches(*label, *p)).collect();
        Ok(predictor)
    }

    /// Scores `ids`, ascending, or all labels that were trained, or for each example those that the model proposes.
    pub(super) fn scorer(&self, ids: Option<Vec<u32>>, exact: bool) -> Scorer<'_> {
        let scorer = Scorer::new(self.contents().score_parts(), ids);
        if exact { scorer.exact() } else { scorer }
    }

    /// The frequencies of labels in training, best first.
    fn prior(&self, trained: Option<&[u32]>, added: &[u32], top: usize) -> Vec<(u32, f32)> {
        let background = self.training_stats();
        let counts = &background.counts;
        let of_all = |count: u64, all: u64| if all == 0 { 0.0 } else { (count as f64 / all as f64).min(1.0) as f32 };
        let mut best = TopK::new(top);
        match trained {
            None => (0..self.shape().c - self.added()).for_each(|label| {
                best.offer(label as u32, of_all(counts[label], background.examples));
            }),
            Some(ids) => {
                let all = match self.calibration().loss {
                    Loss::Independent => background.examples,
                    Loss::Softmax => ids.iter().fold(0, |sum: u64, id| sum.saturating_add(counts[*id as usize])),
                };
                ids.iter().for_each(|id| best.offer(*id, of_all(counts[*id as usize], all)));
            }
        }
        for label in added {
            let count = counts[*label as usize];
            best.offer(*label, of_all(count, background.examples.saturating_add(count)));
        }
        best.into_ranked().collect()
    }
}

fn in_range(threshold: &Threshold) -> bool {
    match threshold {
        Threshold::Fixed(value) => (0.0..=1.0).contains(value),
        Threshold::Stored => true,
    }
}

impl Predictor<'_> {
    /// Labels that are scored for each of some prepared examples, where the model proposes them; absent: all.
    ///
    /// # Panics
    /// If there is a feature that the model does not know.
    pub fn candidates(&self, x: CsrRef<'_>) -> Option<Vec<Vec<u32>>> {
        self.scorer.candidates(x, || self.model.project(x))
    }

    /// Predicts labels of examples as they come from a reader. Features that the model does not know are dropped.
    ///
    /// # Errors
    /// If the model was trained on texts, or a value is not finite.
    pub fn predict(&self, x: CsrRef<'_>) -> Result<Predictions> {
        Ok(self.predict_prepared(self.model.prepare(x)?.view()))
    }

    /// Predicts labels of texts.
    ///
    /// # Errors
    /// If the model was not trained on texts.
    pub fn predict_texts<T: AsRef<str> + Sync>(&self, texts: &[T]) -> Result<Predictions> {
        Ok(self.predict_prepared(self.model.prepare_texts(texts)?.view()))
    }

    /// Predicts labels of examples that [`Model::prepare`] has made ready.
    ///
    /// # Panics
    /// If there is a feature that the model does not know.
    pub fn predict_prepared(&self, x: CsrRef<'_>) -> Predictions {
        if x.rows() <= STRIP {
            // Nothing to share with other threads: a small tree takes less time than handing it over.
            return self.strip(x);
        }
        let strips: Vec<Predictions> = (0..x.rows().div_ceil(STRIP))
            .into_par_iter()
            .map(|strip| {
                let rows = strip * STRIP..x.rows().min((strip + 1) * STRIP);
                self.strip(x.range(rows))
            })
            .collect();
        let mut all = Predictions::with_capacity(x.rows(), strips.iter().map(|strip| strip.labels.len()).sum());
        strips.iter().for_each(|strip| all.append(strip));
        all
    }

    /// Predictions for a few examples.
    fn strip(&self, x: CsrRef<'_>) -> Predictions {
        let mut found = Predictions::with_capacity(x.rows(), x.rows() * self.top.min(FEW));
        if let Some(trees) = self.model.trees() {
            let mut memory = self.memories().pop().unwrap_or_default();
            (0..x.rows()).for_each(|i| self.descend(trees, x.row(i), &mut memory, &mut found));
            self.memories().push(memory);
            return found;
        }
        let h = self.model.project(x);
        for (i, scored) in self.scorer.top(x, &h, self.top).into_iter().enumerate() {
            if x.row(i).0.is_empty() {
                self.prior.iter().for_each(|(label, probability)| found.push(*label, *probability));
            } else {
                let mut ranked = self.probabilities(scored);
                self.rank_added(h.row(i), &mut ranked);
                ranked.truncate(self.top);
                let reached = ranked.iter().filter(|r| self.reaches(r.label, r.probability));
                reached.for_each(|r| found.push(r.label, r.probability));
            }
            found.end_row();
        }
        found
    }

    fn memories(&self) -> MutexGuard<'_, Vec<TreeMemory>> {
        // Whoever panicked has left whole elements behind.
        self.memories.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Predictions of trees for one example.
    fn descend(&self, trees: &Trees, row: (&[u32], Option<&[f32]>), memory: &mut TreeMemory, found: &mut Predictions) {
        if row.0.is_empty() {
            self.prior.iter().for_each(|(label, probability)| found.push(*label, *probability));
        } else {
            let wanted = Wanted { top: self.top, labels: self.labels.as_deref() };
            trees.rank_into(row, wanted, memory, |label, probability| {
                if self.reaches(label, probability) {
                    found.push(label, probability);
                }
            });
        }
        found.end_row();
    }

    /// The best of the trained labels, with what they are ranked by.
    fn probabilities(&self, scored: Scored) -> Vec<Ranked> {
        let sum = scored.log_partition.value();
        let ranked = |(label, score): (u32, f32)| match self.model.calibration().loss {
            Loss::Independent => Ranked { label, key: score, probability: sigmoid(f64::from(score)) as f32 },
            Loss::Softmax => {
                let log = f64::from(score) - sum;
                Ranked { label, key: log as f32, probability: log.exp().min(1.0) as f32 }
            }
        };
        scored.best.into_ranked().map(ranked).collect()
    }

    /// Puts the labels added after training where they belong. The order of the others stays.
    fn rank_added(&self, h: &[f32], ranked: &mut Vec<Ranked>) {
        if self.added.is_empty() {
            return;
        }
        for label in &self.added {
            let t = self.model.added_log_odds(*label as usize, h);
            let key = match self.model.calibration().loss {
                Loss::Independent => t,
                // log σ(t), without overflow.
                Loss::Softmax => t.min(0.0) - (-t.abs()).exp().ln_1p(),
            };
            ranked.push(Ranked { label: *label, key: key as f32, probability: sigmoid(t) as f32 });
        }
        // Stable, and added labels come after all others: of equals the lower label is first. −0 counts as 0.
        ranked.sort_by(|a, b| (b.key + 0.0).total_cmp(&(a.key + 0.0)));
    }

    fn reaches(&self, label: u32, probability: f32) -> bool {
        match self.threshold {
            None => true,
            Some(Threshold::Fixed(value)) => probability >= value,
            Some(Threshold::Stored) => probability >= self.model.thresholds()[label as usize],
        }
    }
}

/// A label, what it is ranked by (log-odds or, under softmax, log-probability) and its probability.
struct Ranked {
    label: u32,
    key: f32,
    probability: f32,
}

pub(super) fn sigmoid(t: f64) -> f64 {
    1.0 / (1.0 + (-t).exp())
}
