//! The cost of a prediction, the gain of proposing labels, and the loss.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use rembrandt::linalg::csr::{Csr, CsrRef};
use rembrandt::model::{Model, PredictOptions, Predictions, Predictor};
use rembrandt::tree::Trees;
use rembrandt::{Error, Result};
use serde_json::{Value, json};

use crate::clock::thread_seconds;
use crate::text::{count, table};

/// Parameters of the measurement.
#[derive(Clone, Debug)]
pub struct PredictionBench {
    /// The model file.
    pub model: PathBuf,
    /// Labelled examples.
    pub test: PathBuf,
    /// Examples to predict.
    pub rows: usize,
    /// Of these, examples to predict one at a time.
    pub singles: usize,
}

/// Ranks that count.
const TOP: usize = 5;

/// Time to measure a way to predict: examples are predicted again and again until it has passed.
const LONG_ENOUGH: Duration = Duration::from_millis(500);

/// A way to predict, and what came of it.
struct Timing {
    exact: bool,
    /// Microseconds for an example among many, and alone.
    batch: f64,
    single: f64,
    /// Labels scored for an example, or scorers that it meets in a label tree; absent for all labels and other trees.
    scored: Option<f64>,
    /// The part of the five best of all labels that were scored.
    recall: f64,
    p1: f64,
    p5: f64,
    /// Mean difference of the probabilities that both ways give the best of all labels.
    difference: f64,
}

impl PredictionBench {
    /// Predicts the same examples in all ways, on one thread. `read` reads them for the model: features that are ready for
    /// the projection, and labels.
    pub fn measure(&self, read: impl FnOnce(&Model) -> Result<(Csr, Csr)>) -> Result<PredictionMeasured> {
        let model = Model::open(&self.model)?;
        if self.rows == 0 || self.singles == 0 {
            return Err(Error::parameter("rows", "at least one example must be predicted"));
        }
        let (x, y) = first(read(&model)?, self.rows);
        if x.rows() == 0 {
            return Err(Error::file(&self.test, "no example has a label and a known feature: nothing to compare"));
        }
        // Whatever was asked for: what counts is the work of one thread.
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
        let pool = pool.map_err(|e| Error::Data(format!("a thread cannot be started: {e}")))?;
        let outcomes = pool.install(|| compare(&model, x.view(), y.view(), self.singles))?;
        Ok(PredictionMeasured { model, outcomes, rows: x.rows() })
    }
}

/// The results of all ways to predict.
pub struct PredictionMeasured {
    model: Model,
    /// The scan of all labels first.
    outcomes: Vec<Timing>,
    rows: usize,
}

impl PredictionMeasured {
    /// The table for people.
    pub fn table(&self) -> String {
        let PredictionMeasured { model, outcomes, rows } = self;
        let names =
            ["labels", "µs/example", "µs alone", "scored", "recall of best 5", "P@1", "P@5", "of the scan's", "Δp"];
        let mut lines = vec![names.map(str::to_owned)];
        let scan = &outcomes[0];
        for outcome in outcomes {
            let name = match outcome.exact {
                _ if model.trees().is_some() => "trees",
                true => "all",
                false => "candidates",
            };
            let part = |part: f64, whole: f64| if whole > 0.0 { 100.0 * part / whole } else { 100.0 };
            lines.push([
                name.to_owned(),
                digits(outcome.batch),
                digits(outcome.single),
                outcome.scored.map_or_else(
                    || if model.trees().is_some() { "–" } else { "all" }.to_owned(),
                    |scored| format!("{scored:.0}"),
                ),
                format!("{:.4}", outcome.recall),
                format!("{:.4}", outcome.p1),
                format!("{:.4}", outcome.p5),
                format!("{:.1} %, {:.1} %", part(outcome.p1, scan.p1), part(outcome.p5, scan.p5)),
                format!("{:.5}", outcome.difference),
            ]);
        }
        format!("{}, one thread\n{}", count(*rows as u64, "example"), table(&lines))
    }

    /// All that was measured.
    pub fn json(&self) -> Value {
        let PredictionMeasured { model, outcomes, rows } = self;
        let shape = model.shape();
        let result = |outcome: &Timing| {
            json!({
                "exact": outcome.exact && model.trees().is_none(), "microseconds": outcome.batch,
                "microseconds_alone": outcome.single, "scored": outcome.scored,
                "recall": outcome.recall, "p@1": outcome.p1, "p@5": outcome.p5,
                "probability_difference": outcome.difference,
            })
        };
        json!({
            "c": shape.c, "d": shape.d, "k": shape.k, "rows": rows, "threads": 1,
            "results": outcomes.iter().map(result).collect::<Vec<_>>(),
        })
    }
}

/// The first examples that have features and labels.
fn first((x, y): (Csr, Csr), rows: usize) -> (Csr, Csr) {
    let (mut some_x, mut some_y) = (Csr::new(false), Csr::new(true));
    let (all_x, all_y) = (x.view(), y.view());
    let useful = |i: &usize| !all_x.row(*i).0.is_empty() && !all_y.row(*i).0.is_empty();
    for i in (0..x.rows()).filter(useful).take(rows) {
        some_x.extend_rows(all_x, i, i + 1);
        some_y.extend_rows(all_y, i, i + 1);
    }
    (some_x, some_y)
}

/// The scan of all labels, or what trees do, and then that of candidates where the model proposes some.
fn compare(model: &Model, x: CsrRef<'_>, y: CsrRef<'_>, singles: usize) -> Result<Vec<Timing>> {
    let ways: &[bool] = if model.has_ranker() { &[true, false] } else { &[true] };
    let mut scan: Option<Predictions> = None;
    let mut outcomes = Vec::new();
    for exact in ways.iter().copied() {
        let predictor = model.predictor(PredictOptions::top(TOP).with(|options| options.exact = exact))?;
        let found = predictor.predict_prepared(x);
        let batch = mean_microseconds(x.rows(), || {
            std::hint::black_box(predictor.predict_prepared(x));
        });
        let count = singles.min(x.rows());
        let single = mean_microseconds(count, || {
            for i in 0..count {
                std::hint::black_box(predictor.predict_prepared(CsrRef { ptr: &x.ptr[i..=i + 1], ..x }));
            }
        });
        let scan = scan.get_or_insert_with(|| found.clone());
        let scored = match model.trees() {
            Some(Trees::LabelTree(tree)) => {
                let met = |i: usize| tree.scorers_met(x.row(i).0, x.row(i).1, TOP);
                Some((0..x.rows()).map(met).sum::<usize>() as f64 / x.rows() as f64)
            }
            _ => None,
        };
        let outcome = outcome(&predictor, x, y, &found, scan, [batch, single]);
        outcomes.push(Timing { scored: outcome.scored.or(scored), ..outcome });
    }
    Ok(outcomes)
}

/// Microseconds for each of the `count` examples that `round` predicts. Again and again, because others are at work and
/// systems count time in ticks.
fn mean_microseconds(count: usize, mut round: impl FnMut()) -> f64 {
    let (clock, mut rounds) = (Stopwatch::start(), 0);
    while rounds == 0 || clock.began.elapsed() < LONG_ENOUGH {
        round();
        rounds += 1;
    }
    clock.microseconds() / (rounds * count) as f64
}

/// Counts what this thread computes or, where the system does not say, what passes: others may be at work as well.
struct Stopwatch {
    computed: Option<f64>,
    began: Instant,
}

impl Stopwatch {
    fn start() -> Stopwatch {
        Stopwatch { computed: thread_seconds(), began: Instant::now() }
    }

    fn microseconds(&self) -> f64 {
        let computed = thread_seconds().zip(self.computed).map(|(now, then)| now - then);
        1e6 * computed.unwrap_or_else(|| self.began.elapsed().as_secs_f64())
    }
}

fn outcome(
    predictor: &Predictor<'_>,
    x: CsrRef<'_>,
    y: CsrRef<'_>,
    found: &Predictions,
    scan: &Predictions,
    [batch, single]: [f64; 2],
) -> Timing {
    let n = x.rows() as f64;
    let (mut scored, mut listed, mut wanted, mut hits) = (0, 0, 0, [0; 2]);
    let (mut difference, mut compared) = (0.0, 0.0);
    let candidates = predictor.candidates(x);
    for i in 0..x.rows() {
        let best = scan.labels(i);
        wanted += best.len();
        match candidates.as_ref().map(|all| &all[i]) {
            Some(labels) => {
                scored += labels.len();
                listed += best.iter().filter(|label| labels.binary_search(label).is_ok()).count();
            }
            None => listed += best.len(),
        }
        let truth = y.row(i).0;
        for (hits, top) in hits.iter_mut().zip([1, TOP]) {
            *hits += found.labels(i).iter().take(top).filter(|label| truth.contains(label)).count();
        }
        if let Some((label, p)) = scan.row(i).next()
            && let Some((_, other)) = found.row(i).find(|(other, _)| *other == label)
        {
            difference += f64::from((p - other).abs());
            compared += 1.0;
        }
    }
    Timing {
        exact: candidates.is_none(),
        batch,
        single,
        scored: candidates.map(|_| scored as f64 / n),
        recall: listed as f64 / wanted.max(1) as f64,
        p1: hits[0] as f64 / n,
        p5: hits[1] as f64 / (TOP as f64 * n),
        difference: difference / f64::max(compared, 1.0),
    }
}

/// Microseconds in as many digits as mean something.
fn digits(microseconds: f64) -> String {
    let places = if microseconds < 10.0 { 2 } else { usize::from(microseconds < 100.0) };
    format!("{microseconds:.places$}")
}
