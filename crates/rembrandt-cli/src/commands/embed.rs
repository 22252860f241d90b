//! `rembrandt embed`: from training data to an embedding file.

use std::time::{Duration, Instant};

use bytesize::ByteSize;
use rembrandt::data::{Dataset, RowScale};
use rembrandt::embed::{Preconditioner, Solver, energy_dimension, energy_memory};
use rembrandt::{Checkpoints, EmbeddingFile, Error, Examples, Rembrandt, Run, Shape, Side};
use serde_json::{Value, json};

use crate::args::EmbedArgs;
use crate::memory::{self, Limit};
use crate::output::{about, count, divided, facts, print, print_json, short};
use crate::progress::Display;
use crate::resume::Resume;
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
    let mut params = args.params.params();
    // Parameters that are wrong for any data are refused before reading.
    params.check(Shape { n: 1, d: 1, c: usize::MAX })?;
    let exports = args.exports();
    let mut outputs = vec![args.output.clone()];
    outputs.extend(exports.iter().flat_map(|e| e.paths(&args.output)));
    source::check_outputs(&outputs, &args.train, &args.data.read)?;
    let limit = Limit::new(args.max_memory);

    let mut display = Display::new(args.quiet);
    let mut seconds = Seconds::default();
    let opened = source::open(&args.train, &args.data, limit, &mut display);
    display.clear();
    let data = opened?;
    seconds.read = began.elapsed().as_secs_f64();
    // A mapping takes address space and no memory, so what is left for work is known once the file is open.
    let limit = if data.is_mapped() { Limit::new(args.max_memory) } else { limit };
    if args.params.preset_chose_k() {
        params.k = preset_dimension(&params, args.params.energy_share(), &data, limit, &display)?;
    }
    params.check(data.shape())?;
    let row_scale = args.params.row_scale();
    let estimate = fit_memory(&mut params, !args.params.has_panel(), row_scale, &data, limit)?;
    let examples = data.view().scale_rows(row_scale)?;
    note_plan(args, &params, estimate, &display);
    // A k from the labels and the sizes of rows are part of the work.
    seconds.embed = began.elapsed().as_secs_f64() - seconds.read;

    let mut parameters = json!(params);
    parameters["scale_rows"] = json!(row_scale);
    let resume = Resume::open(args.resume, &args.output, ("embed", &data, parameters), &display)?;
    let fitted = fit(&params, &examples, resume.checkpoints(), &mut display, &mut seconds);
    display.clear();
    let (embedding, resume) = resume.check(fitted, &display)?;
    note_rank(embedding.report.rank, params.k, &display);
    let file = EmbeddingFile {
        embedding,
        params,
        row_scale,
        label_names: data.label_names().map(<[String]>::to_vec),
        feature_names: data.feature_names().map(<[String]>::to_vec),
    };
    file.save(&args.output)?;
    for export in &exports {
        export.write(&file, &args.output)?;
    }
    resume.finish(&display);
    // A path need not be text, and JSON must be.
    let written: Vec<String> = outputs.iter().map(|path| path.display().to_string()).collect();
    seconds.total = began.elapsed().as_secs_f64();
    if args.json {
        print_json(&json_result(&file, &data, estimate, &seconds, &written))
    } else if args.quiet {
        Ok(())
    } else {
        print(&summary(&file, &data, &seconds, &written))
    }
}

/// Says how much memory will be needed, and what the preset does to the data.
fn note_plan(args: &EmbedArgs, params: &Rembrandt, estimate: u64, display: &Display) {
    let asked = args.params.params().panel;
    let narrow =
        if params.panel < asked { format!(", with {} columns at a time", params.panel) } else { String::new() };
    display.note(&format!("about {} of memory will be needed{narrow}", ByteSize(estimate)));
    if args.params.preset_divides_rows() {
        let divided = divided(args.params.row_scale());
        display.note(&format!("the preset has rows {divided}: --scale-rows none keeps them as they are"));
    }
}

/// Says so where the features tell fewer directions apart than were asked for.
fn note_rank(rank: usize, k: usize, display: &Display) {
    if rank < k {
        let rest = "the rest are arbitrary and count for nothing";
        display.note(&format!("the features tell only {rank} of {k} directions apart: {rest}"));
    }
}

/// The k of a preset for the data at hand, with a note that says which.
fn preset_dimension(
    params: &Rembrandt,
    energy_share: Option<f64>,
    data: &Dataset,
    limit: Option<Limit>,
    display: &Display,
) -> rembrandt::Result<usize> {
    let labels = data.shape().c;
    if let Some(share) = energy_share {
        let held = if data.is_mapped() { 0 } else { data.bytes() };
        let needed = held.saturating_add(energy_memory(labels));
        if let Some(limit) = limit.filter(|limit| needed > limit.bytes) {
            let [needed, bytes] = [needed, limit.bytes].map(ByteSize);
            let reason = format!(
                "choosing it by the energy of {labels} labels needs {needed} of memory but only {bytes} may be used: \
                 give the number of dimensions, or {}",
                limit.remedy
            );
            return Err(Error::parameter("k", reason));
        }
        let k = energy_dimension(data, share)?;
        let dimensions = count(k as u64, "dimension");
        display
            .note(&format!("k is {k}: {dimensions} hold more than {:.0}% of the energy of the labels", 100.0 * share));
        return Ok(k);
    }
    if params.k > labels {
        display.note(&format!("the preset's k of {} is cut to the {}", params.k, count(labels as u64, "label")));
    }
    Ok(params.k.min(labels))
}

/// Fits and keeps the time: work is reported after it is done, so the time since the last report belongs to the stage
/// of this one.
fn fit(
    params: &Rembrandt,
    data: &dyn Examples,
    checkpoints: Option<&Checkpoints>,
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
        display.progress(progress);
        true
    })
    .with_checkpoints(checkpoints);
    let embedding = params.fit(data, &mut run);
    drop(run);
    seconds.projection = after.as_secs_f64();
    seconds.embed += (began.elapsed() - after).as_secs_f64();
    embedding
}

/// Estimates the memory needed, solves fewer columns together if that makes it fit and may be done, and refuses work that
/// will not fit. A mapped file need not be in memory, what was read from text is.
fn fit_memory(
    params: &mut Rembrandt,
    may_narrow: bool,
    row_scale: RowScale,
    data: &Dataset,
    limit: Option<Limit>,
) -> rembrandt::Result<u64> {
    let stored = if data.is_mapped() { 0 } else { data.bytes() };
    let held = stored.saturating_add(row_scale.memory(data.shape().n));
    let needed = |params: &Rembrandt| held.saturating_add(working(params, data));
    if let Some(limit) = limit.filter(|_| may_narrow) {
        // Every panel reads a mapped file several times, from the disk unless there is room for it too.
        let mapped = if data.is_mapped() { data.bytes() } else { 0 };
        let roomy = params.narrowed(limit.bytes, |params| needed(params).saturating_add(mapped));
        *params = roomy.narrowed(limit.bytes, needed);
    }
    match limit {
        Some(limit) if needed(params) > limit.bytes => Err(too_much(params, may_narrow, data, held, limit)),
        _ => Ok(needed(params)),
    }
}

/// Memory that the work takes besides the data.
fn working(params: &Rembrandt, data: &Dataset) -> u64 {
    let few_pass = matches!(params.solver, Solver::Auto | Solver::FewPass);
    params.memory(data.shape()).saturating_add(if few_pass { data.label_feature_product_memory() } else { 0 })
}

/// The refusal, with advice that would help.
fn too_much(params: &Rembrandt, may_narrow: bool, data: &Dataset, held: u64, limit: Limit) -> Error {
    let fit = working(params, data);
    let mut advice = Vec::new();
    // A cache file saves the memory of the data and nothing else.
    if held > fit / 4 {
        advice.push("turn the data into a cache file with `rembrandt convert`");
    }
    let (lean, word) = match params.solver {
        Solver::Auto if params.preconditioner == Preconditioner::Diagonal => (Solver::FewPass, "use --solver few-pass"),
        _ => (Solver::Iterative, "use --solver iterative"),
    };
    if working(&params.clone().with(|p| p.solver = lean), data) < fit / 2 {
        advice.push(word);
    }
    if !may_narrow {
        advice.push("leave out --panel");
    }
    advice.push("use a smaller -k");
    Error::Data(format!(
        "this needs {} of memory ({} of data, {} to work) but only {} may be used: {}, or {}",
        ByteSize(held.saturating_add(fit)),
        ByteSize(held),
        ByteSize(fit),
        ByteSize(limit.bytes),
        advice.join(", "),
        limit.remedy,
    ))
}

fn json_result(file: &EmbeddingFile, data: &Dataset, estimate: u64, seconds: &Seconds, written: &[String]) -> Value {
    let mb = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    let (report, params) = (&file.embedding.report, &file.params);
    json!({
        "n": report.shape.n, "d": report.shape.d, "c": report.shape.c,
        "nnz": data.nnz(Side::X), "label_nnz": data.nnz(Side::Y),
        "k": report.k, "rank": report.rank,
        "passes": params.passes, "cg_steps": params.cg_steps, "ridge": params.ridge, "seed": params.seed,
        "scale_rows": file.row_scale, "rho": report.rho, "solver": report.solver,
        "half_passes": report.half_passes, "projection_half_passes": report.projection_half_passes,
        "energy": report.energy, "trace_estimate": report.trace_estimate,
        "energy_fraction": report.energy_fraction, "max_residual": report.max_residual,
        "seconds": {
            "read": seconds.read, "embed": seconds.embed, "projection": seconds.projection, "total": seconds.total,
        },
        "memory_estimate_mb": mb(estimate), "peak_memory_mb": memory::peak().map(mb),
        "output": written[0], "exports": written[1..],
    })
}

fn summary(file: &EmbeddingFile, data: &Dataset, seconds: &Seconds, written: &[String]) -> String {
    let report = &file.embedding.report;
    let mut time = format!(
        "{:.2} s: reading {:.2}, embedding {:.2}, projection {:.2}",
        seconds.total, seconds.read, seconds.embed, seconds.projection
    );
    if let Some(bytes) = memory::peak() {
        time.push_str(&format!("; at most {} of memory", ByteSize(bytes)));
    }
    let [size, entries] = about(data);
    facts(&[
        size,
        entries,
        ("embedding", format!("{}, rank {}", count(report.k as u64, "dimension"), report.rank)),
        ("energy", format!("{} of about {}", short(report.energy), short(report.trace_estimate))),
        ("captured", format!("about {:.1}%", 100.0 * report.energy_fraction)),
        ("residual", format!("at most {}", short(report.max_residual))),
        ("solver", format!("{}, {} half passes over the features", report.solver, short(report.half_passes))),
        ("time", time),
        ("wrote", written.join(", ")),
    ])
}
