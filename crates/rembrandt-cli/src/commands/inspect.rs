//! `rembrandt inspect`: what is in a file.

mod model;

use std::fs;
use std::path::Path;

use bytesize::ByteSize;
use rembrandt::data::Dataset;
use rembrandt::model::Model;
use rembrandt::{EmbeddingFile, Error, Examples, Shape, Side};
use serde_json::{Value, json};

use crate::args::InspectArgs;
use crate::memory::Limit;
use crate::output::{about, count, divided, facts, print, print_json, short, size};
use crate::progress::Display;
use crate::source;

/// Labels and eigenvalues shown of many.
const HEAD: usize = 10;

pub fn run(args: &InspectArgs) -> anyhow::Result<()> {
    let (json, text) = if EmbeddingFile::is_embedding(&args.file) {
        refuse_options(args, "an embedding file")?;
        embedding(&EmbeddingFile::open(&args.file)?)
    } else if Model::is_model(&args.file) {
        refuse_options(args, "a model")?;
        let bytes = fs::metadata(&args.file).map_err(Error::io(&args.file))?.len();
        model::model(&Model::open(&args.file)?, bytes)
    } else {
        let mut display = Display::new(args.quiet);
        let opened = source::open(&args.file, &args.data, Limit::new(None), &mut display);
        display.clear();
        let data = opened?;
        let cache = data.is_mapped();
        check_memory(&args.file, data.shape())?;
        if args.verify {
            data.verify()?;
        }
        // Text is checked as it is read.
        dataset(&data, if cache { "cache" } else { "text" }, args.verify || !cache)?
    };
    if args.json { print_json(&json) } else { print(&text) }
}

/// Refuses options that only text has a use for.
fn refuse_options(args: &InspectArgs, what: &str) -> rembrandt::Result<()> {
    let texts = if args.data.are_texts()?.is_some() { Some("text") } else { None };
    match args.data.read.given().or(args.data.columns.given()).or(texts) {
        Some(name) => Err(Error::parameter(name, format!("is for text, and {what} is not: leave it out"))),
        None => Ok(()),
    }
}

/// Refuses to count in more columns than there is memory for: a file of a few bytes may claim any number of them.
fn check_memory(path: &Path, shape: Shape) -> rembrandt::Result<()> {
    // Sum and sum of squares of every column, and as much again while they are added up.
    let needed = (shape.d as u64).saturating_add(shape.c as u64).saturating_mul(32);
    match Limit::new(None) {
        Some(limit) if needed > limit.bytes => Err(Error::file(
            path,
            format!(
                "has {}, and counting in all these columns needs {} of memory, but only {} may be used: {}",
                size(shape),
                ByteSize(needed),
                ByteSize(limit.bytes),
                limit.remedy
            ),
        )),
        _ => Ok(()),
    }
}

fn dataset(data: &Dataset, kind: &str, verified: bool) -> rembrandt::Result<(Value, String)> {
    let shape = data.shape();
    let (x, y) = (data.nnz(Side::X), data.nnz(Side::Y));
    let per_example = |nnz: u64| nnz as f64 / shape.n.max(1) as f64;
    let (features, labels) = (data.moments(Side::X)?, data.moments(Side::Y)?);
    let unused = |squares: &[f64]| squares.iter().filter(|v| **v == 0.0).count();
    let mut order: Vec<usize> = (0..shape.c).filter(|id| labels.sum[*id] > 0.0).collect();
    order.sort_by(|a, b| labels.sum[*b].total_cmp(&labels.sum[*a]).then(a.cmp(b)));
    order.truncate(HEAD);
    let name = |id: usize| data.label_names().map(|names| names[id].as_str());
    let frequent: Vec<Value> =
        order.iter().map(|&id| json!({"id": id, "name": name(id), "weight": labels.sum[id]})).collect();
    let value = json!({
        "kind": kind,
        "n": shape.n, "d": shape.d, "c": shape.c,
        "nnz": x, "label_nnz": y,
        "features_per_example": per_example(x), "labels_per_example": per_example(y),
        "unused_features": unused(&features.square), "unused_labels": unused(&labels.square),
        "weighted": data.weighted(), "total_weight": labels.weight,
        "label_names": data.label_names().is_some(), "feature_names": data.feature_names().is_some(),
        "bytes": data.bytes(), "chunks": data.chunks(),
        "frequent_labels": frequent, "verified": verified,
    });
    let words = |given: bool| if given { "known" } else { "none" };
    let [shape, entries] = about(data);
    let mut size = format!("{}, {}", ByteSize(data.bytes()), count(data.chunks() as u64, "chunk"));
    if kind == "cache" && verified {
        size.push_str(", all checksums match");
    }
    let frequent: Vec<String> = order
        .iter()
        .map(|&id| format!("{} ({})", name(id).map_or_else(|| id.to_string(), str::to_owned), short(labels.sum[id])))
        .collect();
    let text = facts(&[
        ("kind", format!("data, {kind}")),
        shape,
        entries,
        ("per example", format!("{} features, {} labels", short(per_example(x)), short(per_example(y)))),
        ("unused", format!("{} features, {} labels", unused(&features.square), unused(&labels.square))),
        ("weights", if data.weighted() { format!("{} in all", short(labels.weight)) } else { "all 1".to_owned() }),
        ("label names", words(data.label_names().is_some()).to_owned()),
        ("feature names", words(data.feature_names().is_some()).to_owned()),
        ("size", size),
        ("frequent", frequent.join(", ")),
    ]);
    Ok((value, text))
}

fn embedding(file: &EmbeddingFile) -> (Value, String) {
    let report = &file.embedding.report;
    let spectrum = &file.embedding.spectrum;
    let value = json!({
        "kind": "embedding",
        "n": report.shape.n, "d": report.shape.d, "c": report.shape.c, "k": report.k,
        "label_names": file.label_names.is_some(), "feature_names": file.feature_names.is_some(),
        "scale_rows": file.row_scale, "spectrum": spectrum, "params": file.params, "report": report, "verified": true,
    });
    let numbers: Vec<String> = spectrum.iter().map(|v| short(*v)).collect();
    let names = |names: &Option<Vec<String>>| match names {
        Some(names) => listed(names.iter().map(String::as_str)),
        None => "none".to_owned(),
    };
    let text = facts(&[
        ("kind", "embedding".to_owned()),
        ("data", size(report.shape)),
        ("embedding", format!("{}, rank {}", count(report.k as u64, "dimension"), report.rank)),
        (
            "captured",
            format!("about {:.1}% of the energy {}", 100.0 * report.energy_fraction, short(report.trace_estimate)),
        ),
        ("residual", format!("at most {}", short(report.max_residual))),
        ("solver", format!("{}, real ridge {}", report.solver, short(report.rho))),
        ("spectrum", listed(numbers.iter().map(String::as_str))),
        ("label names", names(&file.label_names)),
        ("feature names", names(&file.feature_names)),
        ("rows", divided(file.row_scale).to_owned()),
        ("parameters", parameters(&json!(file.params))),
    ]);
    (value, text)
}

/// The first few of many.
fn listed<'a>(all: impl Iterator<Item = &'a str>) -> String {
    let mut shown: Vec<&str> = all.take(HEAD + 1).collect();
    if shown.len() > HEAD {
        shown[HEAD] = "…";
    }
    shown.join(", ")
}

/// Parameters as they are called in the library.
fn parameters(params: &Value) -> String {
    match params {
        Value::Object(map) => map.iter().map(|(key, value)| format!("{key} {value}")).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}
