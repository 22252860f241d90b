//! How good a model is on labelled examples.

use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::time::{Duration, Instant};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{Batch, InputOptions, Model, ModelNames, PredictOptions, Predictions, Predictor, Threshold};
use crate::data::{Dataset, Examples};
use crate::linalg::csr::{Csr, CsrRef};
use crate::metrics::{
    Band, Bootstrap, Confusion, Difference, Evaluator, Example, Intervals, LEVEL, LabelScores, Propensity, RANKS,
    ReliabilityBin, Scores, Settings,
};
use crate::{Error, Result, Run, Side};

/// Labels of an example that are predicted, at most.
const MOST_PREDICTED: usize = 200;
/// Examples whose scores one task adds up.
const EXAMPLES_PER_TASK: usize = 256;
/// With more labels than this, counts of every label for every task, or every replicate, would take too much memory.
const MANY_LABELS: usize = 10_000;
/// Examples that are predicted at a time.
const BATCH: usize = 4096;
/// Pairs of labels that are told, those that are mixed up most often: as JSON and as text.
const CONFUSIONS: usize = 20;
const FEW_CONFUSIONS: usize = 5;

/// How to evaluate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct EvaluationOptions {
    /// The ranks that are scored, ascending.
    pub ranks: Vec<usize>,
    /// From which probability on a label is predicted, for Hamming loss and F1.
    pub threshold: Threshold,
    /// Replicates of the bootstrap behind the intervals; 0 for none.
    pub bootstrap: usize,
    /// The confidence of the intervals.
    pub level: f64,
    /// Constants of the propensity model behind PSP.
    pub propensity: Propensity,
    /// Score all labels also where the model proposes some for each example.
    pub exact: bool,
}

impl Default for EvaluationOptions {
    fn default() -> EvaluationOptions {
        EvaluationOptions {
            ranks: RANKS.to_vec(),
            threshold: Threshold::Stored,
            bootstrap: 100,
            level: LEVEL,
            propensity: Propensity::default(),
            exact: false,
        }
    }
}

setter!(EvaluationOptions);

impl EvaluationOptions {
    /// The settings of an evaluator for so many labels.
    pub(super) fn settings(&self, c: usize, probabilities: bool) -> Settings {
        let bootstrap = (self.bootstrap > 0).then(|| {
            let usual = Bootstrap::default();
            Bootstrap { replicates: self.bootstrap, level: self.level, macro_f1: c <= MANY_LABELS, ..usual }
        });
        Settings { ranks: self.ranks.clone(), propensity: self.propensity, probabilities, bootstrap }
    }
}

/// The scores of a model on labelled examples. It prints as a table, and serialises under stable names.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Evaluation {
    /// The scores.
    pub scores: Scores,
    /// Where they lie, if asked for.
    pub intervals: Option<Intervals>,
    /// Number of examples, those without labels among them.
    pub examples: u64,
    /// Seconds that predicting took; absent where predictions were there.
    pub seconds: Option<f64>,
    pub(super) evaluator: Evaluator,
    pub(super) about: LabelFacts,
}

/// Facts about labels besides how well they are predicted.
#[derive(Clone, Debug, Default)]
pub(super) struct LabelFacts {
    /// Training examples of each; empty where they are not known.
    pub counts: Vec<u64>,
    pub names: Option<ModelNames>,
    /// The probability from which each is predicted, or one for all; empty where nothing is.
    pub thresholds: Vec<f32>,
}

impl Evaluation {
    /// Adds the evaluation of another model of the same labels on other examples.
    pub(crate) fn merge(&mut self, other: Evaluation) {
        self.evaluator.merge(other.evaluator);
        (self.scores, self.intervals) = (self.evaluator.scores(), self.evaluator.intervals());
        self.examples += other.examples;
        self.seconds = self.seconds.zip(other.seconds).map(|(a, b)| a + b);
    }

    /// The same with other numbers of training examples of the labels.
    pub(crate) fn counted(mut self, counts: Vec<u64>) -> Evaluation {
        self.about.counts = counts;
        self
    }

    /// Examples predicted in a second.
    pub fn rows_per_second(&self) -> Option<f64> {
        self.seconds.map(|seconds| self.examples as f64 / seconds.max(f64::MIN_POSITIVE))
    }

    /// Name and value of each score that applies, and its interval.
    pub fn iter(&self) -> impl Iterator<Item = (&str, f64, Option<[f64; 2]>)> {
        self.scores.entries().filter_map(|(name, value)| {
            let interval = self.intervals.as_ref().and_then(|all| all.of(name));
            Some((name, value?, interval.map(|interval| [interval.low, interval.high])))
        })
    }

    /// How well each label is predicted that is true or predicted somewhere, those with most examples first; empty where
    /// nothing is predicted but only ranked.
    pub fn labels(&self) -> Vec<LabelScores> {
        let mut labels = self.evaluator.labels().unwrap_or_default();
        labels.sort_by_key(|label| std::cmp::Reverse(label.support));
        labels
    }

    /// The same for frequent labels, rarer and rare ones; empty where that is not known.
    pub fn bands(&self) -> Vec<Band> {
        if self.about.counts.is_empty() {
            Vec::new()
        } else {
            self.evaluator.bands(&self.about.counts).unwrap_or_default()
        }
    }

    /// Pairs of labels of which one is missed and the other given, those of most examples first.
    pub fn confusions(&self) -> Vec<Confusion> {
        self.evaluator.confusions()
    }

    /// How often labels are right that are given with some probability; empty where scores are no probabilities.
    pub fn reliability(&self) -> Vec<ReliabilityBin> {
        self.evaluator.reliability()
    }

    /// Each score beside that of other predictions for the same examples, and whether they differ by more than chance.
    ///
    /// # Errors
    /// Without a bootstrap, or if the examples or the options were others.
    pub fn compare(&self, other: &Evaluation) -> Result<Vec<Difference>> {
        self.evaluator.compare(&other.evaluator)
    }

    /// The name of a label, or its id.
    pub fn label_name(&self, label: u32) -> String {
        let name = self.about.names.as_ref().filter(|names| names.len() > label as usize);
        name.map_or_else(|| label.to_string(), |names| names.name(label as usize).to_owned())
    }

    /// Training examples of a label, where known.
    pub fn training_examples(&self, label: u32) -> Option<u64> {
        self.about.counts.get(label as usize).copied()
    }

    /// The probability from which a label is predicted, where any is.
    pub fn threshold(&self, label: u32) -> Option<f32> {
        self.about.thresholds.get(label as usize).or(self.about.thresholds.first()).copied()
    }

    /// The confidence of the intervals.
    pub fn level(&self) -> Option<f64> {
        self.evaluator.bootstrap().map(|bootstrap| bootstrap.level)
    }
}

impl Serialize for Evaluation {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let Value::Object(mut object) = json!(self.scores) else { unreachable!("scores are a map") };
        if let Some(level) = self.level() {
            let known = self.iter().filter_map(|(name, _, interval)| Some((name.to_owned(), json!(interval?))));
            object.insert("intervals".to_owned(), Value::Object(known.collect::<Map<_, _>>()));
            object.insert("level".to_owned(), json!(level));
        }
        let pair = |pair: &Confusion| {
            let [missed, given] = [pair.missed, pair.given].map(|label| self.label_name(label));
            json!({"missed": missed, "given": given, "examples": pair.examples})
        };
        let confusions: Vec<Value> = self.confusions().iter().take(CONFUSIONS).map(pair).collect();
        object.insert("bands".to_owned(), json!(self.bands()));
        object.insert("confusions".to_owned(), json!(confusions));
        object.insert("reliability".to_owned(), json!(self.reliability()));
        object.insert("seconds".to_owned(), json!(self.seconds));
        object.insert("rows_per_second".to_owned(), json!(self.rows_per_second()));
        object.serialize(serializer)
    }
}

impl fmt::Display for Evaluation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value, interval) in self.iter() {
            write!(f, "{name:<9} {value:.4}")?;
            if let Some([low, high]) = interval {
                write!(f, "  [{low:.4}, {high:.4}]")?;
            }
            writeln!(f)?;
        }
        if let Some(bootstrap) = self.evaluator.bootstrap() {
            let percent = (1000.0 * bootstrap.level).round() / 10.0;
            writeln!(f, "{:<9} {percent} %, by {} bootstrap replicates", "intervals", bootstrap.replicates)?;
        }
        for band in self.bands() {
            let score = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |value| format!("{value:.4}"));
            let [fewest, most] = band.training_examples;
            writeln!(
                f,
                "{:<9} precision {}, recall {}, micro_f1 {}, macro_f1 {}: {} labels of {fewest} to {most} training examples",
                band.name,
                score(band.precision),
                score(band.recall),
                score(band.micro_f1),
                score(band.macro_f1),
                band.labels,
            )?;
        }
        for pair in self.confusions().iter().take(FEW_CONFUSIONS) {
            let [missed, given] = [pair.missed, pair.given].map(|label| self.label_name(label));
            writeln!(f, "{:<9} {missed} missed, {given} given, {} times", "confused", pair.examples)?;
        }
        writeln!(f, "{:<9} {}", "examples", self.examples)?;
        match self.seconds.zip(self.rows_per_second()) {
            Some((seconds, rate)) => writeln!(f, "{:<9} {rate:.0} examples per second, {seconds:.2} s", "speed"),
            None => Ok(()),
        }
    }
}

impl Model {
    /// Scores the model on labelled examples with the features and labels of its training data.
    ///
    /// # Errors
    /// If the model was trained on texts, a value is not finite, or no example has a label.
    pub fn evaluate(&self, data: &Dataset) -> Result<Evaluation> {
        self.evaluate_with(data, &EvaluationOptions::default())
    }

    /// The same with other options.
    ///
    /// # Errors
    /// Likewise, and if an option is out of range.
    pub fn evaluate_with(&self, data: &Dataset, options: &EvaluationOptions) -> Result<Evaluation> {
        self.check_numbering(data)?;
        let (x, y) = (data.features()?, data.labels()?);
        self.evaluate_batches((data.shape().n, y.view()), options, |rows| self.prepare(x.view().range(rows)))
    }

    /// The same for texts with the labels of each.
    ///
    /// # Errors
    /// If the model was not trained on texts, there is not a row of labels for each text, no example has a label, or an
    /// option is out of range.
    pub fn evaluate_texts<T: AsRef<str> + Sync>(
        &self,
        texts: &[T],
        labels: CsrRef<'_>,
        options: &EvaluationOptions,
    ) -> Result<Evaluation> {
        if texts.len() != labels.rows() {
            return Err(Error::Data(format!("{} rows of labels for {} texts", labels.rows(), texts.len())));
        }
        self.evaluate_batches((texts.len(), labels), options, |rows| self.prepare_texts(&texts[rows]))
    }

    fn evaluate_batches(
        &self,
        (n, y): (usize, CsrRef<'_>),
        options: &EvaluationOptions,
        prepare: impl Fn(Range<usize>) -> Result<Csr>,
    ) -> Result<Evaluation> {
        let mut running = RunningEvaluation::new(self, options)?;
        for first in (0..n).step_by(BATCH) {
            let rows = first..n.min(first + BATCH);
            running.add(prepare(rows.clone())?.view(), y.range(rows), first as u64)?;
        }
        running.finish()
    }

    /// The same for examples that are prepared already, of which the first is number `first` of all in an evaluation.
    pub(crate) fn evaluate_prepared(
        &self,
        data: &Dataset,
        options: &EvaluationOptions,
        first: u64,
    ) -> Result<Evaluation> {
        let (x, y) = (data.features()?, data.labels()?);
        let mut running = RunningEvaluation::new(self, options)?;
        for start in (0..data.shape().n).step_by(BATCH) {
            let rows = start..data.shape().n.min(start + BATCH);
            running.add(x.view().range(rows.clone()), y.view().range(rows), first + start as u64)?;
        }
        running.finish()
    }

    /// Refuses data whose words have other numbers than those of the model: each file numbers them as they appear.
    fn check_numbering(&self, data: &Dataset) -> Result<()> {
        let sides =
            [(Side::X, data.feature_names(), self.feature_names()), (Side::Y, data.label_names(), self.label_names())];
        for (side, ours, theirs) in sides {
            let (Some(ours), Some(theirs)) = (ours.filter(|_| data.has_words(side)), theirs) else { continue };
            if ours.iter().zip(theirs.iter()).any(|(ours, theirs)| ours != theirs) {
                let reason =
                    "the data have words for ids and number them otherwise than the model: evaluate their file";
                return Err(Error::Data(reason.into()));
            }
        }
        Ok(())
    }

    /// The same for the examples of a file, `-` for standard input, a batch at a time.
    ///
    /// # Errors
    /// Likewise, and if the file cannot be read or is not what the model was trained on.
    pub fn evaluate_file(
        &self,
        path: impl AsRef<Path>,
        input: &InputOptions,
        options: &EvaluationOptions,
        run: &mut Run<'_>,
    ) -> Result<Evaluation> {
        let mut running = RunningEvaluation::new(self, options)?;
        self.read(path.as_ref(), input, run, |batch: &Batch<'_>| {
            running.add(batch.prepare()?.view(), batch.labels(), batch.first)
        })?;
        running.finish().map_err(|error| match error {
            Error::Data(reason) => Error::file(path.as_ref(), reason),
            other => other,
        })
    }
}

/// An evaluation of a model, batch by batch.
struct RunningEvaluation<'m> {
    model: &'m Model,
    tally: RunningTally,
    /// Two questions: which labels are best, and which are probable enough to be predicted.
    best: Predictor<'m>,
    probable: Predictor<'m>,
    threshold: Threshold,
    predicting: Duration,
}

impl<'m> RunningEvaluation<'m> {
    fn new(model: &'m Model, options: &EvaluationOptions) -> Result<RunningEvaluation<'m>> {
        let (c, exact, stats) = (model.shape().c, options.exact, model.training_stats());
        let evaluator = Evaluator::new(c, options.settings(c, true))?.trained_on(&stats.counts, stats.examples)?;
        let threshold = Some(options.threshold);
        let deepest = options.ranks.last().copied().unwrap_or(1);
        Ok(RunningEvaluation {
            model,
            tally: RunningTally::new(evaluator, c),
            best: model.predictor(PredictOptions { exact, ..PredictOptions::top(deepest) })?,
            probable: model.predictor(PredictOptions { threshold, exact, ..PredictOptions::top(MOST_PREDICTED) })?,
            threshold: options.threshold,
            predicting: Duration::ZERO,
        })
    }

    /// Adds some prepared examples; `first` is the number of the first of them.
    fn add(&mut self, x: CsrRef<'_>, truth: CsrRef<'_>, first: u64) -> Result<()> {
        let began = Instant::now();
        let ranked = self.best.predict_prepared(x);
        self.predicting += began.elapsed();
        self.tally.add(&ranked, Some(&self.probable.predict_prepared(x)), truth, first)
    }

    fn finish(self) -> Result<Evaluation> {
        let about = LabelFacts {
            counts: self.model.training_stats().counts.clone(),
            names: self.model.label_names().cloned(),
            thresholds: match self.threshold {
                Threshold::Fixed(threshold) => vec![threshold],
                Threshold::Stored => self.model.thresholds().to_vec(),
            },
        };
        self.tally.finish(about, Some(self.predicting.as_secs_f64()))
    }
}

/// The sums of an evaluation, batch by batch.
pub(super) struct RunningTally {
    evaluator: Evaluator,
    /// Whether there are so many labels that a batch is added up by one task.
    many: bool,
    labelled: u64,
}

impl RunningTally {
    pub(super) fn new(evaluator: Evaluator, c: usize) -> RunningTally {
        RunningTally { evaluator, many: c > MANY_LABELS, labelled: 0 }
    }

    /// Adds some examples: their labels in the order of scores, those that are predicted, if any are, and the true ones.
    pub(super) fn add(
        &mut self,
        ranked: &Predictions,
        decided: Option<&Predictions>,
        truth: CsrRef<'_>,
        first: u64,
    ) -> Result<()> {
        let per_task = if self.many { ranked.rows().max(1) } else { EXAMPLES_PER_TASK };
        let starts: Vec<usize> = (0..ranked.rows()).step_by(per_task).collect();
        let parts: Vec<Evaluator> = starts
            .into_par_iter()
            .map(|start| {
                let mut part = self.evaluator.part(first + start as u64);
                for i in start..ranked.rows().min(start + per_task) {
                    let mut positive = decided.map(|decided| decided.labels(i).to_vec());
                    positive.iter_mut().for_each(|labels| labels.sort_unstable());
                    part.push(&Example {
                        truth: truth.row(i).0,
                        ranked: ranked.labels(i),
                        scores: Some(ranked.probabilities(i)),
                        positive: positive.as_deref(),
                    })?;
                }
                Ok(part)
            })
            .collect::<Result<_>>()?;
        parts.into_iter().for_each(|part| self.evaluator.merge(part));
        self.labelled += (0..truth.rows()).filter(|i| !truth.row(*i).0.is_empty()).count() as u64;
        Ok(())
    }

    pub(super) fn finish(self, about: LabelFacts, seconds: Option<f64>) -> Result<Evaluation> {
        if self.labelled == 0 {
            return Err(Error::Data("no example has a label: there is nothing to compare with".into()));
        }
        Ok(Evaluation {
            scores: self.evaluator.scores(),
            intervals: self.evaluator.intervals(),
            examples: self.evaluator.n(),
            seconds,
            evaluator: self.evaluator,
            about,
        })
    }
}
