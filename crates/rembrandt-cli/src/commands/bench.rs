//! `rembrandt bench`: parts of this program, measured against each other.

pub mod predict;
pub mod scaling;

use std::io::Write;
use std::path::Path;
use std::time::Instant;

use rembrandt::data::Dataset;
use rembrandt::embed::Solver;
use rembrandt::model::write_file;
use rembrandt::{Error, Examples, Rembrandt, Run, Shape};
use serde_json::{Value, json};

use super::compare::plot::{Point, scatter};
use crate::args::SolversArgs;
use crate::memory::{Limit, cpu_seconds};
use crate::output::{print, print_json, short, size, table};
use crate::progress::Display;
use crate::source;

/// A way to the embedding, and what it came to.
struct Outcome {
    options: String,
    k: usize,
    half_passes: f64,
    seconds: f64,
    cpu_seconds: Option<f64>,
    energy: f64,
}

/// The paper's procedure first, then the others, as options of `embed`.
fn variants(k: usize, brief: bool) -> Vec<(String, Rembrandt)> {
    let few = |passes| Rembrandt { solver: Solver::FewPass, passes, ..Rembrandt::new(k) };
    let named = |params: Rembrandt, word: &str| {
        let steps = if word == "few-pass" { String::new() } else { format!(" --cg-steps {}", params.cg_steps) };
        (format!("--solver {word} --passes {}{steps}", params.passes), params)
    };
    let paper = Rembrandt { solver: Solver::Iterative, ..Rembrandt::paper(k) };
    if brief {
        return vec![named(paper, "iterative"), named(few(Rembrandt::default().passes), "few-pass")];
    }
    vec![
        named(paper.clone(), "iterative"),
        named(Rembrandt { cg_steps: 3, ..paper }, "iterative"),
        named(few(1), "few-pass"),
        named(few(2), "few-pass"),
        named(few(3), "few-pass"),
    ]
}

pub fn solvers(args: &SolversArgs) -> anyhow::Result<()> {
    if let Some(plot) = &args.plot {
        source::check_outputs(std::slice::from_ref(plot), &args.train, &args.read)?;
        if args.k.len() > 1 {
            return Err(Error::parameter("plot", "shows one k: leave it out, or give one number to -k").into());
        }
    }
    for k in &args.k {
        Rembrandt { ridge: args.ridge, ..Rembrandt::new(*k) }.check(Shape { n: 1, d: 1, c: usize::MAX })?;
    }
    let mut display = Display::new(args.quiet);
    let opened = source::open(&args.train, &args.read, Limit::new(None), &mut display);
    display.clear();
    let data = opened?;
    for k in &args.k {
        Rembrandt::new(*k).check(data.shape())?;
    }
    let mut outcomes = Vec::new();
    for k in &args.k {
        for (options, params) in variants(*k, args.brief) {
            display.note(&format!("k {k}: {options}"));
            let params = Rembrandt { ridge: args.ridge, seed: args.seed, ..params };
            let measured = measure(options, &params, &data, &mut display);
            display.clear();
            outcomes.push(measured?);
        }
    }
    if let Some(path) = &args.plot {
        write_plot(path, &outcomes)?;
    }
    if args.json { print_json(&json_of(args, &data, &outcomes)) } else { print(&table_of(&data, &outcomes)) }
}

/// Finds an embedding, with the time that it takes, and then its energy, without.
fn measure(options: String, params: &Rembrandt, data: &Dataset, display: &mut Display) -> rembrandt::Result<Outcome> {
    params.check(data.shape())?;
    let mut done = 0;
    let mut watch = Run::watched(|progress| {
        done = progress.done;
        display.work(progress);
        true
    });
    let (began, cpu) = (Instant::now(), cpu_seconds());
    let labels = params.fit_labels(None, data, &mut watch);
    let seconds = began.elapsed().as_secs_f64();
    let cpu_seconds = cpu_seconds().zip(cpu).map(|(now, then)| now - then);
    drop(watch);
    let half_passes = done as f64 / params.columns(data.shape()) as f64;
    let mut watch = Run::watched(|progress| {
        display.work(progress);
        true
    });
    let energy = params.captured(data, &labels?, &mut watch)?;
    Ok(Outcome { options, k: params.k, half_passes, seconds, cpu_seconds, energy })
}

/// The paper's outcome for the same k.
fn paper<'a>(outcomes: &'a [Outcome], of: &Outcome) -> &'a Outcome {
    outcomes.iter().find(|outcome| outcome.k == of.k).unwrap_or(&outcomes[0])
}

fn table_of(data: &Dataset, outcomes: &[Outcome]) -> String {
    let mut rows = vec![
        ["k", "solver", "half-passes", "seconds", "cpu", "energy", "time ratio", "energy ratio"].map(str::to_owned),
    ];
    for outcome in outcomes {
        let paper = paper(outcomes, outcome);
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
    format!("{}\n{}", size(data.shape()), table(&rows))
}

fn json_of(args: &SolversArgs, data: &Dataset, outcomes: &[Outcome]) -> Value {
    let shape = data.shape();
    let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    let result = |outcome: &Outcome| {
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
        "data": name(&args.train), "n": shape.n, "d": shape.d, "c": shape.c, "ridge": args.ridge, "seed": args.seed,
        "threads": rayon::current_num_threads(), "results": outcomes.iter().map(result).collect::<Vec<_>>(),
    })
}

/// Two pictures below each other: energy against half-passes, and against seconds.
fn write_plot(path: &Path, outcomes: &[Outcome]) -> rembrandt::Result<()> {
    let points = |x: fn(&Outcome) -> f64| -> Vec<Point> {
        let point = |outcome: &Outcome| Point {
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
    write_pictures(path, &[halves, seconds])
}

/// Pictures below each other, as one that stands alone.
fn write_pictures(path: &Path, pictures: &[String]) -> rembrandt::Result<()> {
    let height = 400 * pictures.len();
    let mut svg = format!(
        "<svg viewBox=\"0 0 640 {height}\" xmlns=\"http://www.w3.org/2000/svg\"><style>{STYLE}</style>\
         <rect width=\"640\" height=\"{height}\" fill=\"#fff\"/>"
    );
    for (i, picture) in pictures.iter().enumerate() {
        svg.push_str(&format!("<svg y=\"{}\" width=\"640\" height=\"400\">{picture}</svg>", 400 * i));
    }
    svg.push_str("</svg>\n");
    write_file(path, |out| out.write_all(svg.as_bytes()).map_err(Error::io(path)))
}

/// What a report's style sheet says of plots, for a picture that stands alone.
const STYLE: &str = "text{fill:#1b1d22;font:12px sans-serif}.tick,.axis{fill:#667080}.axis{font-size:13px}\
                     .name{font-weight:600;paint-order:stroke;stroke:#fff;stroke-width:3px}.grid{stroke:#e4e1d9}\
                     .frontier{fill:none;stroke:#667080;stroke-width:1.5;stroke-dasharray:5 4;opacity:.7}";
