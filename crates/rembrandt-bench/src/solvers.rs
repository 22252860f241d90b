//! The paper's procedure and the few-pass solver, side by side.

use std::path::Path;
use std::time::Instant;

use rembrandt::data::Dataset;
use rembrandt::embed::Solver;
use rembrandt::{Examples, Rembrandt, Result, Run, Shape};
use serde_json::{Value, json};

use crate::clock::cpu_seconds;
use crate::plot::{Point, scatter, standing_alone};
use crate::text::{short, size, table};
use crate::watch::{Watcher, watched};

/// Parameters of the measurement.
#[derive(Clone, Debug)]
pub struct SolverBench {
    /// Dimensions, one after the other.
    pub k: Vec<usize>,
    /// Relative ridge.
    pub ridge: f64,
    /// Seed of the random start.
    pub seed: u64,
    /// Only the two procedures, without variants of them.
    pub brief: bool,
}

/// A way to the embedding, and what it came to.
struct SolverRun {
    options: String,
    k: usize,
    half_passes: f64,
    seconds: f64,
    cpu_seconds: Option<f64>,
    energy: f64,
}

/// The paper's procedure first, then the others, as options of `embed`.
fn variants(k: usize, brief: bool) -> Vec<(String, Rembrandt)> {
    let few = |passes| {
        Rembrandt::new(k).with(|p| {
            p.solver = Solver::FewPass;
            p.passes = passes
        })
    };
    let named = |params: Rembrandt, word: &str| {
        let steps = if word == "few-pass" { String::new() } else { format!(" --cg-steps {}", params.cg_steps) };
        (format!("--solver {word} --passes {}{steps}", params.passes), params)
    };
    let paper = Rembrandt::paper(k).with(|p| p.solver = Solver::Iterative);
    if brief {
        return vec![named(paper, "iterative"), named(few(Rembrandt::default().passes), "few-pass")];
    }
    vec![
        named(paper.clone(), "iterative"),
        named(paper.with(|p| p.cg_steps = 3), "iterative"),
        named(few(1), "few-pass"),
        named(few(2), "few-pass"),
        named(few(3), "few-pass"),
    ]
}

impl SolverBench {
    /// Checks what can be checked before any data are read.
    pub fn check(&self) -> Result<()> {
        let unknown = Shape { n: 1, d: 1, c: usize::MAX };
        self.k.iter().try_for_each(|k| Rembrandt::new(*k).with(|p| p.ridge = self.ridge).check(unknown))
    }

    /// Finds all embeddings.
    pub fn measure<'a>(&'a self, data: &Dataset, watcher: &mut dyn Watcher) -> Result<SolversMeasured<'a>> {
        self.check()?;
        let shape = data.shape();
        self.k.iter().try_for_each(|k| Rembrandt::new(*k).check(shape))?;
        let mut outcomes = Vec::new();
        for k in &self.k {
            for (options, params) in variants(*k, self.brief) {
                watcher.note(&format!("k {k}: {options}"));
                let params = params.with(|p| {
                    p.ridge = self.ridge;
                    p.seed = self.seed
                });
                let measured = measure(options, &params, data, watcher);
                watcher.clear();
                outcomes.push(measured?);
            }
        }
        Ok(SolversMeasured { of: self, shape, outcomes })
    }
}

/// The results of the solvers.
pub struct SolversMeasured<'a> {
    of: &'a SolverBench,
    shape: Shape,
    outcomes: Vec<SolverRun>,
}

impl SolversMeasured<'_> {
    /// The table for people.
    pub fn table(&self) -> String {
        let mut rows = vec![
            ["k", "solver", "half-passes", "seconds", "cpu", "energy", "time ratio", "energy ratio"].map(str::to_owned),
        ];
        for outcome in &self.outcomes {
            let paper = paper(&self.outcomes, outcome);
            rows.push([
                outcome.k.to_string(),
                outcome.options.clone(),
                short(outcome.half_passes),
                format!("{:.2}", outcome.seconds),
                outcome.cpu_seconds.map_or_else(|| "-".to_owned(), |s| format!("{s:.2}")),
                format!("{:.2}", outcome.energy),
                format!("{:.3}", outcome.seconds / paper.seconds),
                format!("{:.5}", outcome.energy / paper.energy),
            ]);
        }
        format!("{}\n{}", size(self.shape), table(&rows))
    }

    /// All that was measured on data of this name.
    pub fn json(&self, train: &Path) -> Value {
        let (shape, outcomes) = (self.shape, &self.outcomes);
        let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
        let result = |outcome: &SolverRun| {
            let paper = paper(outcomes, outcome);
            json!({
                "k": outcome.k, "options": outcome.options, "half_passes": outcome.half_passes,
                "seconds": outcome.seconds, "cpu_seconds": outcome.cpu_seconds, "energy": outcome.energy,
                "time_ratio": outcome.seconds / paper.seconds,
                "cpu_ratio": outcome.cpu_seconds.zip(paper.cpu_seconds).map(|(a, b)| a / b),
                "energy_ratio": outcome.energy / paper.energy,
            })
        };
        json!({
            "data": name(train), "n": shape.n, "d": shape.d, "c": shape.c, "ridge": self.of.ridge, "seed": self.of.seed,
            "threads": rayon::current_num_threads(), "results": outcomes.iter().map(result).collect::<Vec<_>>(),
        })
    }

    /// Two pictures below each other: energy against half-passes, and against seconds.
    pub fn picture(&self) -> String {
        let outcomes = &self.outcomes;
        let points = |x: fn(&SolverRun) -> f64| -> Vec<Point> {
            let point = |outcome: &SolverRun| Point {
                label: outcome.options.replace("--solver ", "").replace("--passes ", "q=").replace("--cg-steps ", "s="),
                color: if outcome.options.contains("few-pass") { "#b8860b" } else { "#4a6fa5" },
                x: x(outcome),
                y: outcome.energy / paper(outcomes, outcome).energy,
                interval: None,
            };
            outcomes.iter().map(point).collect()
        };
        let title = "energy, of the paper's";
        let halves = scatter(&points(|o| o.half_passes), "half-passes over the features", short, title, true);
        let seconds = scatter(&points(|o| o.seconds), "seconds", short, title, true);
        standing_alone(&[halves, seconds])
    }
}

/// Finds an embedding, with the time that it takes, and then its energy, without.
fn measure(options: String, params: &Rembrandt, data: &Dataset, watcher: &mut dyn Watcher) -> Result<SolverRun> {
    params.check(data.shape())?;
    let mut done = 0;
    let mut watch = Run::watched(|progress| {
        done = progress.done;
        watcher.progress(progress);
        true
    });
    let (began, cpu) = (Instant::now(), cpu_seconds());
    let labels = params.fit_labels(None, data, &mut watch);
    let seconds = began.elapsed().as_secs_f64();
    let cpu_seconds = cpu_seconds().zip(cpu).map(|(now, then)| now - then);
    drop(watch);
    let half_passes = done as f64 / params.columns(data.shape()) as f64;
    let energy = params.captured(data, &labels?, &mut watched(watcher))?;
    Ok(SolverRun { options, k: params.k, half_passes, seconds, cpu_seconds, energy })
}

/// The paper's outcome for the same k.
fn paper<'a>(outcomes: &'a [SolverRun], of: &SolverRun) -> &'a SolverRun {
    outcomes.iter().find(|outcome| outcome.k == of.k).unwrap_or(&outcomes[0])
}
