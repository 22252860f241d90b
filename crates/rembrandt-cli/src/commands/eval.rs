//! `rembrandt eval`: how good a model is on labelled examples.

use std::time::{Duration, Instant};

use rayon::prelude::*;
use rembrandt::metrics::{Bootstrap, Evaluator, Example, Settings};
use rembrandt::model::{Model, PredictOptions, Predictor};
use rembrandt::{Error, Result};
use serde_json::{Map, Value, json};

use super::stream::{Batch, stream};
use crate::args::EvalArgs;
use crate::memory;
use crate::output::{count, facts, print, print_json};
use crate::progress::Display;

/// Ranks that are scored.
const TOP: usize = 5;
/// Labels of an example that are predicted, at most.
const MOST_PREDICTED: usize = 200;
/// Examples whose scores one task adds up.
const EXAMPLES_PER_TASK: usize = 256;
/// With more labels than this, counts of every label for every task, or every replicate, would take too much memory.
const MANY_LABELS: usize = 10_000;

pub fn run(args: &EvalArgs) -> anyhow::Result<()> {
    let model = Model::open(&args.model)?;
    let shape = model.shape();
    let bootstrap = (args.bootstrap > 0).then(|| Bootstrap {
        replicates: args.bootstrap,
        macro_f1: shape.c <= MANY_LABELS,
        ..Bootstrap::default()
    });
    let settings = Settings { propensity: args.propensity, probabilities: true, bootstrap };
    let background = model.training_stats();
    let mut evaluator = Evaluator::new(shape.c, settings)?.trained_on(&background.counts, background.examples)?;
    // Two questions: which five labels are best, and which are probable enough to be predicted.
    let search = super::predict::search(args.exact);
    let best = model.predictor(PredictOptions { search, ..PredictOptions::top(TOP) })?;
    let threshold = Some(args.threshold);
    let probable = model.predictor(PredictOptions { threshold, search, ..PredictOptions::top(MOST_PREDICTED) })?;
    let mut display = Display::new(args.quiet);
    let (mut predicting, mut labelled) = (Duration::ZERO, 0);
    let read = stream(&model, &args.test, &args.input_args, &mut display, |batch: &Batch<'_>| {
        let (time, with_labels) = score(batch, &best, &probable, &mut evaluator, shape.c > MANY_LABELS)?;
        predicting += time;
        labelled += with_labels;
        Ok(())
    });
    display.clear();
    let n = read?;
    if labelled == 0 {
        return Err(Error::file(&args.test, "no example has a label: there is nothing to compare with").into());
    }
    let seconds = predicting.as_secs_f64();
    let rate = n as f64 / seconds.max(f64::MIN_POSITIVE);
    if args.json {
        return print_json(&json_result(&evaluator, seconds, rate));
    }
    print(&table(&evaluator, n, seconds, rate))
}

/// Adds a batch to the evaluation, all at once where there are many labels; returns the time that predicting took, and how many examples have labels.
fn score(
    batch: &Batch<'_>,
    best: &Predictor<'_>,
    probable: &Predictor<'_>,
    evaluator: &mut Evaluator,
    many: bool,
) -> Result<(Duration, u64)> {
    let began = Instant::now();
    let ranked = batch.predict(best)?;
    let time = began.elapsed();
    let decided = batch.predict(probable)?;
    let truth = batch.input.labels();
    let per_task = if many { ranked.rows().max(1) } else { EXAMPLES_PER_TASK };
    let starts: Vec<usize> = (0..ranked.rows()).step_by(per_task).collect();
    let parts: Vec<Evaluator> = starts
        .into_par_iter()
        .map(|start| {
            let mut part = evaluator.part(batch.first + start as u64);
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
    parts.into_iter().for_each(|part| evaluator.merge(part));
    Ok((time, (0..truth.rows()).filter(|i| !truth.row(*i).0.is_empty()).count() as u64))
}

/// All scores under their stable names, with their intervals, and what it took.
fn json_result(evaluator: &Evaluator, seconds: f64, rate: f64) -> Value {
    let Value::Object(mut object) = json!(evaluator.scores()) else { unreachable!("scores are a struct") };
    if let Some(intervals) = evaluator.intervals() {
        let pairs = intervals.entries().into_iter().filter_map(|(key, value)| Some((key, value?)));
        let intervals: Map<String, Value> =
            pairs.map(|(key, interval)| (key.to_owned(), json!([interval.low, interval.high]))).collect();
        object.insert("intervals".to_owned(), Value::Object(intervals));
    }
    object.insert("seconds".to_owned(), json!(seconds));
    object.insert("rows_per_second".to_owned(), json!(rate));
    object.insert("peak_memory_mb".to_owned(), json!(memory::peak().map(|bytes| bytes as f64 / 1e6)));
    Value::Object(object)
}

fn table(evaluator: &Evaluator, n: u64, seconds: f64, rate: f64) -> String {
    let intervals = evaluator.intervals();
    let interval = |key: &str| {
        let found = intervals.as_ref()?.entries().into_iter().find(|(name, _)| *name == key)?.1?;
        Some(format!("  [{:.4}, {:.4}]", found.low, found.high))
    };
    let mut rows: Vec<(&str, String)> = Vec::new();
    for (key, value) in evaluator.scores().entries() {
        if let Some(value) = value {
            rows.push((key, format!("{value:.4}{}", interval(key).unwrap_or_default())));
        }
    }
    rows.push(("examples", count(n, "example")));
    rows.push(("speed", format!("{rate:.0} examples per second, {seconds:.2} s")));
    facts(&rows)
}
