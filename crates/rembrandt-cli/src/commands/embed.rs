//! `rembrandt embed`: from training data to an embedding file.

use std::time::{Duration, Instant};

use indicatif::{BinaryBytes, HumanCount};
use rembrandt::data::Dataset;
use rembrandt::{EmbeddingFile, Error, Examples, Rembrandt, Run, Shape, Side};
use serde_json::{Value, json};

use crate::args::EmbedArgs;
use crate::memory;
use crate::output::{count, facts, print, print_json, short};
use crate::progress::Display;
use crate::source;

/// Where the time went.
#[derive(Default)]
struct Seconds {
    read: f64,
    embed: f64,
    projection: f64,
    total: f64,
}

pub fn run(args: &EmbedArgs) -> anyhow::Result<()> {
    let began = Instant::now();
    let params = args.params.params();
    // What cannot be right for any data is refused before reading them.
    params.check(Shape { n: 1, d: 1, c: usize::MAX })?;
    let mut exports = Vec::new();
    for export in &args.export {
        if !exports.contains(export) {
            exports.push(*export);
        }
    }
    let mut outputs = vec![args.output.clone()];
    outputs.extend(exports.iter().flat_map(|e| e.paths(&args.output)));
    source::check_outputs(&outputs, &args.train, &args.read)?;
    let limit = args.max_memory.or_else(memory::available);

    let mut display = Display::new(args.quiet);
    let mut seconds = Seconds::default();
    let opened = source::open(&args.train, &args.read, limit, &mut display);
    display.clear();
    let data = opened?;
    params.check(data.shape())?;
    check_memory(&params, &data, limit)?;
    seconds.read = began.elapsed().as_secs_f64();

    let fitted = fit(&params, &data, &mut display, &mut seconds);
    display.clear();
    let embedding = fitted?;
    if embedding.report.rank < params.k {
        display.note(&format!(
            "the features tell only {} of {} directions apart: the rest are arbitrary and count for nothing",
            embedding.report.rank, params.k
        ));
    }
    let file = EmbeddingFile {
        embedding,
        params,
        label_names: data.label_names().map(<[String]>::to_vec),
        feature_names: data.feature_names().map(<[String]>::to_vec),
    };
    file.save(&args.output)?;
    for export in &exports {
        export.write(&file, &args.output)?;
    }
    seconds.total = began.elapsed().as_secs_f64();
    if args.json {
        print_json(&json_result(&file, &data, &seconds, &outputs))
    } else if args.quiet {
        Ok(())
    } else {
        print(&summary(&file, &data, &seconds, &outputs))
    }
}

/// Fits and keeps the time: work is reported after it is done, so the time since the last report belongs to the stage
/// of this one.
fn fit(
    params: &Rembrandt,
    data: &Dataset,
    display: &mut Display,
    seconds: &mut Seconds,
) -> rembrandt::Result<rembrandt::Embedding> {
    let began = Instant::now();
    let mut last = began;
    let mut after = Duration::ZERO;
    let mut run = Run::watched(|progress| {
        let now = Instant::now();
        if ["projection", "measuring"].contains(&progress.stage) {
            after += now - last;
        }
        last = now;
        display.work(progress);
        true
    });
    let embedding = params.fit(data, &mut run);
    drop(run);
    seconds.projection = after.as_secs_f64();
    seconds.embed = (began.elapsed() - after).as_secs_f64();
    embedding
}

/// Refuses work that will not fit. A mapped file need not be in memory, what was read from text is.
fn check_memory(params: &Rembrandt, data: &Dataset, limit: Option<u64>) -> rembrandt::Result<()> {
    let mapped = data.is_mapped();
    let held = if mapped { 0 } else { data.bytes() };
    let fit = params.memory(data.shape());
    let Some(limit) = limit.filter(|limit| held.saturating_add(fit) > *limit) else { return Ok(()) };
    let mut advice = Vec::new();
    if !mapped {
        advice.push("turn the data into a cache file with `rembrandt convert`");
    }
    if params.panel > 8 {
        advice.push("use a smaller --panel");
    }
    advice.push("use a smaller -k");
    Err(Error::Data(format!(
        "this needs {} of memory ({} of data, {} to work) but only {} may be used: {}, or raise --max-memory",
        BinaryBytes(held.saturating_add(fit)),
        BinaryBytes(held),
        BinaryBytes(fit),
        BinaryBytes(limit),
        advice.join(", "),
    )))
}

fn json_result(file: &EmbeddingFile, data: &Dataset, seconds: &Seconds, outputs: &[std::path::PathBuf]) -> Value {
    let (report, params) = (&file.embedding.report, &file.params);
    json!({
        "n": report.shape.n, "d": report.shape.d, "c": report.shape.c,
        "nnz": data.nnz(Side::X), "label_nnz": data.nnz(Side::Y),
        "k": report.k, "rank": report.rank,
        "passes": params.passes, "cg_steps": params.cg_steps, "ridge": params.ridge, "seed": params.seed,
        "rho": report.rho, "solver": report.solver,
        "half_passes": report.half_passes, "projection_half_passes": report.projection_half_passes,
        "energy": report.energy, "trace_estimate": report.trace_estimate,
        "energy_fraction": report.energy_fraction, "max_residual": report.max_residual,
        "seconds": {
            "read": seconds.read, "embed": seconds.embed, "projection": seconds.projection, "total": seconds.total,
        },
        "peak_memory_mb": memory::peak().map(|bytes| bytes as f64 / f64::from(1 << 20)),
        "output": outputs[0], "exports": outputs[1..],
    })
}

fn summary(file: &EmbeddingFile, data: &Dataset, seconds: &Seconds, outputs: &[std::path::PathBuf]) -> String {
    let report = &file.embedding.report;
    let (n, d, c) = (report.shape.n as u64, report.shape.d as u64, report.shape.c as u64);
    let mut time = format!(
        "{:.2} s: reading {:.2}, embedding {:.2}, projection {:.2}",
        seconds.total, seconds.read, seconds.embed, seconds.projection
    );
    if let Some(bytes) = memory::peak() {
        time.push_str(&format!("; at most {} of memory", BinaryBytes(bytes)));
    }
    let written: Vec<String> = outputs.iter().map(|path| path.display().to_string()).collect();
    facts(&[
        ("data", format!("{}, {}, {}", count(n, "example"), count(d, "feature"), count(c, "label"))),
        (
            "entries",
            format!("{} of features, {} of labels", HumanCount(data.nnz(Side::X)), HumanCount(data.nnz(Side::Y))),
        ),
        ("embedding", format!("{}, rank {}", count(report.k as u64, "dimension"), report.rank)),
        ("energy", format!("{} of about {}", short(report.energy), short(report.trace_estimate))),
        ("captured", format!("about {:.1}%", 100.0 * report.energy_fraction)),
        ("residual", format!("at most {}", short(report.max_residual))),
        ("solver", format!("{}, {} half passes over the features", report.solver, short(report.half_passes))),
        ("time", time),
        ("wrote", written.join(", ")),
    ])
}
