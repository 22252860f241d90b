//! How good a model is on labelled examples.

use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::time::{Duration, Instant};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{Batch, InputOptions, Model, PredictOptions, Predictor, Threshold};
use crate::data::{Dataset, Examples};
use crate::linalg::csr::{Csr, CsrRef};
use crate::metrics::{Bootstrap, Evaluator, Example, Intervals, Propensity, Scores, Settings};
use crate::{Error, Result, Run, Side};

/// Ranks that are scored.
const TOP: usize = 5;
/// Labels of an example that are predicted, at most.
const MOST_PREDICTED: usize = 200;
/// Examples whose scores one task adds up.
const EXAMPLES_PER_TASK: usize = 256;
/// With more labels than this, counts of every label for every task, or every replicate, would take too much memory.
const MANY_LABELS: usize = 10_000;
/// Examples that are predicted at a time.
const BATCH: usize = 4096;

/// How to evaluate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct EvaluationOptions {
    /// From which probability on a label is predicted, for Hamming loss and F1.
    pub threshold: Threshold,
    /// Replicates of the bootstrap behind the intervals; 0 for none.
    pub bootstrap: usize,
    /// Constants of the propensity model behind PSP.
    pub propensity: Propensity,
    /// Score all labels also where the model proposes some for each example.
    pub exact: bool,
}

impl Default for EvaluationOptions {
    fn default() -> EvaluationOptions {
        EvaluationOptions {
            threshold: Threshold::Stored,
            bootstrap: 100,
            propensity: Propensity::default(),
            exact: false,
        }
    }
}

setter!(EvaluationOptions);

/// The scores of a model on labelled examples. It prints as a table, and serialises under stable names.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Evaluation {
    /// The scores.
    pub scores: Scores,
    /// Where they lie with a confidence of 90 %, if asked for.
    pub intervals: Option<Intervals>,
    /// Number of examples, those without labels among them.
    pub examples: u64,
    /// Seconds that predicting took.
    pub seconds: f64,
}

impl Evaluation {
    /// Examples predicted in a second.
    pub fn rows_per_second(&self) -> f64 {
        self.examples as f64 / self.seconds.max(f64::MIN_POSITIVE)
    }

    /// Name and value of each score that applies, and its interval.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, f64, Option<[f64; 2]>)> {
        let intervals = self.intervals.as_ref().map(Intervals::entries);
        let scores = self.scores.entries().into_iter().enumerate();
        scores.filter_map(move |(i, (name, value))| {
            let interval = intervals.as_ref().and_then(|all| all[i].1).map(|interval| [interval.low, interval.high]);
            Some((name, value?, interval))
        })
    }
}

impl Serialize for Evaluation {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let Value::Object(mut object) = json!(self.scores) else { unreachable!("scores are a struct") };
        if self.intervals.is_some() {
            let known = self.iter().filter_map(|(name, _, interval)| Some((name.to_owned(), json!(interval?))));
            object.insert("intervals".to_owned(), Value::Object(known.collect::<Map<_, _>>()));
        }
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
        writeln!(f, "{:<9} {}", "examples", self.examples)?;
        writeln!(f, "{:<9} {:.0} examples per second, {:.2} s", "speed", self.rows_per_second(), self.seconds)
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

/// An evaluation, batch by batch.
struct RunningEvaluation<'m> {
    evaluator: Evaluator,
    /// Two questions: which five labels are best, and which are probable enough to be predicted.
    best: Predictor<'m>,
    probable: Predictor<'m>,
    /// Whether there are so many labels that a batch is added up by one task.
    many: bool,
    predicting: Duration,
    examples: u64,
    labelled: u64,
}

impl<'m> RunningEvaluation<'m> {
    fn new(model: &'m Model, options: &EvaluationOptions) -> Result<RunningEvaluation<'m>> {
        let EvaluationOptions { threshold, bootstrap, propensity, exact } = *options;
        let c = model.shape().c;
        let bootstrap = (bootstrap > 0).then(|| Bootstrap {
            replicates: bootstrap,
            macro_f1: c <= MANY_LABELS,
            ..Bootstrap::default()
        });
        let settings = Settings { propensity, probabilities: true, bootstrap };
        let stats = model.training_stats();
        let threshold = Some(threshold);
        Ok(RunningEvaluation {
            evaluator: Evaluator::new(c, settings)?.trained_on(&stats.counts, stats.examples)?,
            best: model.predictor(PredictOptions { exact, ..PredictOptions::top(TOP) })?,
            probable: model.predictor(PredictOptions { threshold, exact, ..PredictOptions::top(MOST_PREDICTED) })?,
            many: c > MANY_LABELS,
            predicting: Duration::ZERO,
            examples: 0,
            labelled: 0,
        })
    }

    /// Adds some prepared examples; `first` is the number of the first of them.
    fn add(&mut self, x: CsrRef<'_>, truth: CsrRef<'_>, first: u64) -> Result<()> {
        let began = Instant::now();
        let ranked = self.best.predict_prepared(x);
        self.predicting += began.elapsed();
        let decided = self.probable.predict_prepared(x);
        let per_task = if self.many { ranked.rows().max(1) } else { EXAMPLES_PER_TASK };
        let starts: Vec<usize> = (0..ranked.rows()).step_by(per_task).collect();
        let parts: Vec<Evaluator> = starts
            .into_par_iter()
            .map(|start| {
                let mut part = self.evaluator.part(first + start as u64);
                for i in start..ranked.rows().min(start + per_task) {
                    let mut positive = decided.labels(i).to_vec();
                    positive.sort_unstable();
                    part.push(&Example {
                        truth: truth.row(i).0,
                        ranked: ranked.labels(i),
                        scores: Some(ranked.probabilities(i)),
                        positive: Some(&positive),
                    })?;
                }
                Ok(part)
            })
            .collect::<Result<_>>()?;
        parts.into_iter().for_each(|part| self.evaluator.merge(part));
        self.examples += truth.rows() as u64;
        self.labelled += (0..truth.rows()).filter(|i| !truth.row(*i).0.is_empty()).count() as u64;
        Ok(())
    }

    fn finish(self) -> Result<Evaluation> {
        if self.labelled == 0 {
            return Err(Error::Data("no example has a label: there is nothing to compare with".into()));
        }
        Ok(Evaluation {
            scores: self.evaluator.scores(),
            intervals: self.evaluator.intervals(),
            examples: self.examples,
            seconds: self.predicting.as_secs_f64(),
        })
    }
}
