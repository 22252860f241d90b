//! The time for an embedding as each size of the data doubles.

use std::time::Instant;

use rembrandt::data::Dataset;
use rembrandt::embed::Solver;
use rembrandt::{Error, Rembrandt, Result, Shape, Side};
use serde_json::{Value, json};

use crate::clock::cpu_seconds;
use crate::generate::{Generator, Part};
use crate::plot::{Curve, curves, standing_alone};
use crate::text::{short, table};
use crate::watch::{Watcher, watched};

/// Parameters of the measurement.
#[derive(Clone, Debug)]
pub struct ScalingBench {
    /// The data to begin with.
    pub data: Generator,
    /// The dimensions to begin with.
    pub k: usize,
    /// The sizes to double, of [`ScalingBench::SIZES`].
    pub only: Vec<String>,
    /// How often each is doubled.
    pub doublings: u32,
    /// Times that each is measured; the shortest counts.
    pub repeats: u32,
}

/// A size to double: its name, its color, and how.
type Size = (&'static str, &'static str, fn(&mut Generator, &mut usize, usize));

/// The sizes that a fit has. Features are as many for all, so that the projection takes its part whatever is doubled.
const SIZES: [Size; 5] = [
    ("n", "#4a6fa5", |data, _, times| data.shape.n *= times),
    ("nnz", "#b8860b", |data, _, times| data.nnz *= times as f64),
    ("labels per example", "#5b8c5a", |data, _, times| data.labels *= times as f64),
    ("k", "#a0522d", |_, k, times| *k *= times),
    ("c", "#7b5ea7", |data, _, times| data.shape.c *= times),
];

/// One fit.
struct ScaledFit {
    size: usize,
    times: usize,
    data: Generator,
    k: usize,
    entries: [u64; 2],
    seconds: f64,
    cpu_seconds: Option<f64>,
}

impl ScalingBench {
    /// Names of what can be doubled.
    pub const SIZES: [&str; 5] = ["n", "nnz", "labels", "k", "c"];

    /// Fits embeddings of data of all sizes.
    pub fn measure(&self, watcher: &mut dyn Watcher) -> Result<ScalingMeasured> {
        let mut points = Vec::new();
        let asked = |name: &str| self.only.iter().any(|only| only == name.split(' ').next().unwrap_or_default());
        for (size, (name, _, grow)) in SIZES.iter().enumerate().filter(|(_, (name, _, _))| asked(name)) {
            for doubling in 0..=self.doublings {
                let (mut data, mut k, times) = (self.data, self.k, 1 << doubling);
                grow(&mut data, &mut k, times);
                // Labels on an example cannot be doubled for ever, nor dimensions beyond the labels.
                if doubling > 0 && (data.check().is_err() || k > data.shape.c) {
                    break;
                }
                data.check()?;
                parameters(k).check(data.shape)?;
                points.push((size, *name, times, data, k));
            }
        }
        let mut outcomes = Vec::new();
        for (size, name, times, data, k) in points {
            watcher.note(&format!("{name} × {times}"));
            let measured = measure(data, k, self.repeats, watcher);
            watcher.clear();
            let (entries, seconds, cpu_seconds) = measured?;
            outcomes.push(ScaledFit { size, times, data, k, entries, seconds, cpu_seconds });
        }
        Ok(ScalingMeasured { outcomes })
    }
}

/// How long the fits took.
pub struct ScalingMeasured {
    outcomes: Vec<ScaledFit>,
}

impl ScalingMeasured {
    /// The table for people.
    pub fn table(&self) -> String {
        let outcomes = &self.outcomes;
        let mut rows =
            vec![["doubled", "times", "n", "c", "nnz(X)", "nnz(Y)", "k", "seconds", "ratio", "cpu"].map(str::to_owned)];
        for outcome in outcomes {
            rows.push([
                SIZES[outcome.size].0.to_owned(),
                outcome.times.to_string(),
                outcome.data.shape.n.to_string(),
                outcome.data.shape.c.to_string(),
                outcome.entries[0].to_string(),
                outcome.entries[1].to_string(),
                outcome.k.to_string(),
                format!("{:.3}", outcome.seconds),
                format!("{:.2}", outcome.seconds / first(outcomes, outcome).seconds),
                outcome.cpu_seconds.map_or_else(|| "-".to_owned(), |s| format!("{s:.2}")),
            ]);
        }
        table(&rows)
    }

    /// All that was measured.
    pub fn json(&self) -> Value {
        let outcomes = &self.outcomes;
        let result = |outcome: &ScaledFit| {
            let Shape { n, d, c } = outcome.data.shape;
            json!({
                "doubled": SIZES[outcome.size].0, "times": outcome.times, "n": n, "d": d, "c": c,
                "nnz": outcome.entries[0], "label_nnz": outcome.entries[1], "k": outcome.k,
                "seconds": outcome.seconds, "cpu_seconds": outcome.cpu_seconds,
                "ratio": outcome.seconds / first(outcomes, outcome).seconds,
            })
        };
        let seed = outcomes.first().map(|outcome| outcome.data.seed);
        json!({
            "seed": seed, "threads": rayon::current_num_threads(),
            "results": outcomes.iter().map(result).collect::<Vec<_>>(),
        })
    }

    /// Time against size, both as multiples of where they began, and what is linear for comparison.
    pub fn picture(&self) -> String {
        let outcomes = &self.outcomes;
        let most = outcomes.iter().map(|outcome| outcome.times).max().unwrap_or(1) as f64;
        let mut lines =
            vec![Curve { label: "linear".into(), color: "#c9c4b8", points: vec![(1.0, 1.0), (most, most)] }];
        for (size, (name, color, _)) in SIZES.iter().enumerate() {
            let of = outcomes.iter().filter(|outcome| outcome.size == size);
            let points: Vec<_> = of.map(|o| (o.times as f64, o.seconds / first(outcomes, o).seconds)).collect();
            if !points.is_empty() {
                lines.push(Curve { label: (*name).to_owned(), color, points });
            }
        }
        let picture = curves(
            &lines,
            "size, as a multiple",
            &format!("seconds, as a multiple ({} to begin with)", {
                outcomes.first().map_or_else(String::new, |outcome| short(outcome.seconds))
            }),
        );
        standing_alone(&[picture])
    }
}

/// Always the same procedure: which one is chosen may depend on the sizes.
fn parameters(k: usize) -> Rembrandt {
    Rembrandt::new(k).with(|p| p.solver = Solver::FewPass)
}

/// The shortest of some fits of made-up data, embedding and projection.
fn measure(
    generator: Generator,
    k: usize,
    repeats: u32,
    watcher: &mut dyn Watcher,
) -> Result<([u64; 2], f64, Option<f64>)> {
    let Shape { n, d, c } = generator.shape;
    let (rows, _) = generator.rows(Part::Train, 0, n);
    let data = Dataset::from_rows(&rows, d, c)?;
    drop(rows);
    let (mut shortest, mut cpu) = (f64::INFINITY, None);
    for _ in 0..repeats {
        let mut watch = watched(watcher);
        let (began, before) = (Instant::now(), cpu_seconds());
        parameters(k).fit(&data, &mut watch)?;
        let seconds = began.elapsed().as_secs_f64();
        if seconds < shortest {
            (shortest, cpu) = (seconds, cpu_seconds().zip(before).map(|(now, then)| now - then));
        }
    }
    if !shortest.is_finite() {
        return Err(Error::parameter("repeats", "measure at least once"));
    }
    Ok(([Side::X, Side::Y].map(|side| data.nnz(side)), shortest, cpu))
}

/// The fit that a size began with.
fn first<'a>(outcomes: &'a [ScaledFit], of: &ScaledFit) -> &'a ScaledFit {
    outcomes.iter().find(|outcome| outcome.size == of.size).unwrap_or(&outcomes[0])
}
