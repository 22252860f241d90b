//! `rembrandt train`: from training data to a model file.

pub(super) mod trees;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use bytesize::ByteSize;
use rembrandt::data::records::RecordFormat;
use rembrandt::data::{Dataset, RowScale, Texts};
use rembrandt::embed::Method;
use rembrandt::model::Preprocessing;
use rembrandt::score::ranker::Proposals;
use rembrandt::train::{HeadKind, HeldOut, Prepared, RankerReport, TrainParams, TrainReport, TrainingData};
use rembrandt::{Error, Examples, Rembrandt, Side};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::args::{MethodChoice, TrainArgs};
use crate::memory::{self, Limit};
use crate::output::{about, count, facts, print, print_json, short};
use crate::progress::Display;
use crate::resume::Resume;
use crate::source;

pub fn run(args: &TrainArgs) -> anyhow::Result<()> {
    let began = Instant::now();
    source::check_outputs(std::slice::from_ref(&args.output), &args.train, &args.read)?;
    source::check_apart(&args.output, &args.head.label_weights)?;
    refuse_options(args)?;
    // Before any reading: bad parameters need no data to be refused.
    let trees = match args.method {
        MethodChoice::Trees(method) => Some(args.tree_params(method)?),
        MethodChoice::Embedding(_) => None,
    };
    if args.resume && trees.as_ref().is_some_and(|trees| !trees.keeps_checkpoints()) {
        let reason = "keeps nothing of this method, whose one tree is finished all at once: leave it out";
        return Err(Error::parameter("resume", reason).into());
    }
    let limit = Limit::new(args.max_memory);
    let mut display = Display::new(args.quiet);
    let opened = open(args, limit, &mut display);
    display.clear();
    let (data, preprocessing) = opened?;
    let read = began.elapsed().as_secs_f64();
    check_data(&args.train, &data)?;
    let task = Task { args, data: &data, preprocessing, limit };
    let told = match (args.method, trees) {
        (MethodChoice::Embedding(method), _) if args.is_default(method) => train_ranker(task, &mut display)?,
        (MethodChoice::Embedding(method), _) => train_embedding(method, task, &mut display)?,
        (MethodChoice::Trees(_), Some(params)) => trees::grow(&params, task, &mut display)?,
        (MethodChoice::Trees(_), None) => unreachable!("trees have parameters"),
    };
    let mut seconds = vec![("read", read)];
    seconds.extend(told.seconds);
    seconds.push(("total", began.elapsed().as_secs_f64()));
    let bytes = fs::metadata(&args.output).map_err(Error::io(&args.output))?.len();
    if args.json {
        print_json(&json_result(told.json, &data, &seconds, bytes, args))
    } else if args.quiet {
        Ok(())
    } else {
        print(&summary(told.rows, &data, &seconds, bytes, args))
    }
}

/// The training data and the settings.
struct Task<'a> {
    args: &'a TrainArgs,
    data: &'a Dataset,
    preprocessing: Preprocessing,
    limit: Option<Limit>,
}

/// A method's own part of the report of its training.
struct MethodSummary {
    json: Map<String, Value>,
    rows: Vec<(&'static str, String)>,
    seconds: Vec<(&'static str, f64)>,
}

/// Trains a model with an embedding and writes it.
fn train_embedding(method: Method, task: Task<'_>, display: &mut Display) -> anyhow::Result<MethodSummary> {
    let Task { args, data, preprocessing, limit } = task;
    let kind = match args.head_kind(method) {
        Some(kind) => kind,
        None => HeadKind::suited(data)?,
    };
    if let Some((name, reason)) = args.useless_head(kind) {
        return Err(Error::parameter(name, reason).into());
    }
    let mut params = args.params(method, kind);
    params.k = params.k.map(|k| if args.params.preset_chose_k() { k.min(data.shape().c) } else { k });
    if let Some(path) = &args.head.label_weights {
        if kind == HeadKind::Softmax {
            let reason = "is for independent labels, and softmax takes all together: leave it out, or add --head ilr";
            return Err(Error::parameter("label_weights", reason).into());
        }
        params.label_weights = Some(read_weights(path)?);
    }
    params.check(data)?;
    if let Some(limit) = limit.filter(|_| !args.params.has_panel()) {
        let held = held(data);
        let needed = |embedding: &Rembrandt| {
            held.saturating_add(params.clone().with(|p| p.embedding = embedding.clone()).memory(data))
        };
        params.embedding = params.embedding.narrowed(limit.bytes, needed);
    }
    let estimate = check_memory(params.memory(data), data, limit, "lower -k")?;
    display.note(&format!("about {} of memory will be needed", ByteSize(estimate)));

    let resume = Resume::open(args.resume, &args.output, ("train", data, json!(params)), display)?;
    let mut watch = display.run().with_checkpoints(resume.checkpoints());
    let trained = params.fit(data, preprocessing, &mut watch);
    let seconds = watch.seconds().to_vec();
    drop(watch);
    display.clear();
    let (model, resume) = resume.check(trained, display)?;
    let (params, report) = (TrainParams::deserialize(model.params())?, TrainReport::deserialize(model.report())?);
    let model = if args.compact { model.compact() } else { model };
    model.save(&args.output)?;
    resume.finish(display);
    Ok(MethodSummary { json: json_of(&params, &report), rows: rows_of(&params, &report), seconds })
}

/// Trains the default model and writes it.
fn train_ranker(task: Task<'_>, display: &mut Display) -> anyhow::Result<MethodSummary> {
    let Task { args, data, preprocessing, limit } = task;
    let mut params = args.ranker_params();
    params.k = params.k.map(|k| if args.params.preset_chose_k() { k.min(data.shape().c) } else { k });
    params.check(data)?;
    if let Some(limit) = limit.filter(|_| !args.params.has_panel()) {
        let held = held(data);
        let needed = |embedding: &Rembrandt| {
            held.saturating_add(params.clone().with(|p| p.embedding = embedding.clone()).memory(data))
        };
        params.embedding = params.embedding.narrowed(limit.bytes, needed);
    }
    let estimate = check_memory(params.memory(data), data, limit, "lower -k")?;
    display.note(&format!("about {} of memory will be needed", ByteSize(estimate)));
    let resume = Resume::open(args.resume, &args.output, ("train", data, json!(params)), display)?;
    let mut watch = display.run().with_checkpoints(resume.checkpoints());
    let trained = params.fit(data, preprocessing, &mut watch);
    let seconds = watch.seconds().to_vec();
    drop(watch);
    display.clear();
    let (model, resume) = resume.check(trained, display)?;
    let report = RankerReport::deserialize(model.report())?;
    model.save(&args.output)?;
    resume.finish(display);
    let Value::Object(json) = json!({
        "method": "rembrandt", "k": model.shape().k, "rho": report.embedding.rho, "cost": report.cost, "held_out": report.held_out,
        "views": report.views, "recall": report.recall, "proposals": report.proposals,
        "combination": report.combination, "pairs": report.pairs, "energy_fraction": report.embedding.energy_fraction,
    }) else {
        unreachable!("it was written as an object")
    };
    let mut rows = vec![("method", "rembrandt".to_owned())];
    rows.push(("embedding", count(model.shape().k as u64, "dimension")));
    rows.extend(ranker(&report));
    Ok(MethodSummary { json, rows, seconds })
}

/// Refuses options that would have no effect.
fn refuse_options(args: &TrainArgs) -> rembrandt::Result<()> {
    if let MethodChoice::Embedding(method) = args.method {
        if let Some((name, reason)) = args.useless(method) {
            return Err(Error::parameter(name, reason));
        }
        if let Some(typed) = args.for_trees() {
            let reason =
                format!("--{} is for trees, and the method is {}", typed.name.replace('_', "-"), method.name());
            return Err(Error::Data(format!("{reason}: leave it out")));
        }
        if args.params.preset_divides_rows() {
            let reason =
                "divides rows, which train does not: add --scale-rows none and, for rows of length 1, --normalize";
            return Err(Error::parameter("preset", reason));
        }
        if args.params.row_scale() != RowScale::None {
            let reason = "is for embed: train keeps how rows are scaled in the model, ask for it with --normalize";
            return Err(Error::parameter("scale_rows", reason));
        }
    }
    match (args.read.given(), args.columns.given()) {
        (Some(name), _) if args.text => {
            Err(Error::parameter(name, "is for sparse rows: leave it out, or leave out --text"))
        }
        (_, Some(name)) if !args.text => Err(Error::parameter(name, "is for texts: leave it out, or add --text")),
        _ => Ok(()),
    }
}

/// Reads the data as the options ask for, and says what was done to them.
fn open(args: &TrainArgs, limit: Option<Limit>, display: &mut Display) -> rembrandt::Result<(Dataset, Preprocessing)> {
    let options = args.features.options();
    if args.text {
        let records = args.columns.options(RecordFormat::Auto);
        let texts = Texts::read_with(&args.train, &records, &mut display.run())?;
        let (data, featurizer) = texts.into_dataset(options.featurizer)?;
        return Ok((data, Preprocessing::Text(Arc::new(featurizer))));
    }
    let data = source::open(&args.train, &args.read, limit, display)?;
    let (prepared, preprocessing) = data.prepare(&options)?;
    Ok(match prepared {
        Prepared::Owned(other) => (*other, preprocessing),
        Prepared::Borrowed(_) => (data, preprocessing),
    })
}

/// Refuses data that no model can be made of, before any work.
fn check_data(path: &Path, data: &Dataset) -> rembrandt::Result<()> {
    if data.nnz(Side::Y) == 0 {
        return Err(Error::file(path, "no example has a label: there is nothing to learn"));
    }
    if data.nnz(Side::X) == 0 {
        return Err(Error::file(path, "no example has a feature: there is nothing to learn from"));
    }
    match data.label_names().into_iter().flatten().find(|name| name.contains('\n')) {
        Some(name) => Err(Error::file(path, format!("the label {name:?} contains the end of a line: rename it"))),
        None => Ok(()),
    }
}

/// One number per line.
fn read_weights(path: &Path) -> rembrandt::Result<Vec<f32>> {
    let text = fs::read_to_string(path).map_err(Error::io(path))?;
    let number = |(i, line): (usize, &str)| match line.trim().parse::<f32>() {
        Ok(weight) if weight.is_finite() && weight >= 0.0 => Ok(weight),
        _ => Err(Error::line(path, i as u64 + 1, "is not a weight: write a number, zero or more")),
    };
    text.lines().enumerate().map(number).collect()
}

/// The memory that training will need besides the data, or an error when that is too much.
fn check_memory(needed: u64, data: &Dataset, limit: Option<Limit>, advice: &str) -> rembrandt::Result<u64> {
    let estimate = held(data).saturating_add(needed);
    match limit {
        Some(Limit { bytes, remedy }) if estimate > bytes => {
            let reason = format!(
                "the training needs about {} of memory but only {} may be used: {advice}, or {remedy}",
                ByteSize(estimate),
                ByteSize(bytes)
            );
            Err(Error::parameter("max_memory", reason))
        }
        _ => Ok(estimate),
    }
}

/// Memory that the data take: a mapped file need not be in it.
fn held(data: &Dataset) -> u64 {
    if data.is_mapped() { 0 } else { data.bytes() }
}

/// The ridge that counts.
fn head_ridge(params: &TrainParams) -> f64 {
    if params.features.is_some() { params.descent.ridge } else { params.logistic.ridge }
}

/// The result for programs.
fn json_result(
    told: Map<String, Value>,
    data: &Dataset,
    seconds: &[(&str, f64)],
    bytes: u64,
    args: &TrainArgs,
) -> Value {
    let shape = data.shape();
    let mut object = told;
    let all = [
        ("n", json!(shape.n)),
        ("d", json!(shape.d)),
        ("c", json!(shape.c)),
        ("nnz", json!(data.nnz(Side::X))),
        ("seconds", seconds.iter().map(|(stage, s)| ((*stage).to_owned(), json!(s))).collect::<Map<_, _>>().into()),
        ("peak_memory_mb", json!(memory::peak().map(|bytes| bytes as f64 / 1e6))),
        ("model_bytes", json!(bytes)),
        ("output", json!(args.output.display().to_string())),
    ];
    object.extend(all.map(|(key, value)| (key.to_owned(), value)));
    Value::Object(object)
}

/// The report of an embedding, for programs.
fn json_of(params: &TrainParams, report: &TrainReport) -> Map<String, Value> {
    let logistic = params.head != HeadKind::LeastSquares;
    let object = json!({
        "method": params.method, "atoms": params.atoms, "head": params.head, "k": params.k, "ridge": params.ridge,
        "head_ridge": logistic.then(|| head_ridge(params)), "least_squares_weight": logistic.then_some(params.least_squares_weight),
        "random_features": params.features, "sampled": params.sampled, "folds": params.folds,
        "held_out": report.held_out,
        "energy_fraction": report.embedding.energy_fraction,
    });
    let Value::Object(object) = object else { unreachable!("it was written as an object") };
    object
}

/// The result for people.
fn summary(
    told: Vec<(&'static str, String)>,
    data: &Dataset,
    seconds: &[(&str, f64)],
    bytes: u64,
    args: &TrainArgs,
) -> String {
    let mut rows: Vec<(&str, String)> = about(data).into();
    rows.extend(told);
    let time: Vec<String> = seconds.iter().map(|(stage, s)| format!("{stage} {s:.1}")).collect();
    rows.push(("seconds", time.join(", ")));
    rows.push(("wrote", format!("{} ({})", args.output.display(), ByteSize(bytes))));
    facts(&rows)
}

/// The report of an embedding, for people.
fn rows_of(params: &TrainParams, report: &TrainReport) -> Vec<(&'static str, String)> {
    let k = params.k.unwrap_or_default() as u64;
    let ridge = params.ridge.map_or_else(String::new, |ridge| format!(", ridge {}", short(ridge)));
    vec![
        ("method", params.method.name().to_owned()),
        ("embedding", format!("{}{ridge}{}", count(k, "dimension"), random(params.embedding.random_fraction))),
        ("head", head(params)),
        ("held out", estimate(&report.held_out)),
    ]
}

/// The ranker and how good it is, in a few lines.
pub(super) fn ranker(report: &RankerReport) -> Vec<(&'static str, String)> {
    let Proposals { by_words, by_embedding, shortlist } = report.proposals;
    let percent = |v: f64| format!("{:.1}", 100.0 * v);
    let mut rows = vec![
        (
            "candidates",
            format!(
                "{shortlist} of {by_words} by words and {by_embedding} by the embedding; {} % of the held-out labels are among them",
                percent(report.recall)
            ),
        ),
        (
            "ranker",
            format!("C {}, {} of a feature and a label", short(report.cost), count(report.pairs as u64, "weight")),
        ),
        ("held out", estimate(&report.held_out)),
    ];
    for (view, held_out) in &report.views {
        let [p1, p3, p5] = [held_out.p1, held_out.p3, held_out.p5].map(percent);
        rows.push(("alone", format!("P@1 {p1}  P@3 {p3}  P@5 {p5}  by {view}")));
    }
    rows
}

/// How many dimensions are random, if any.
fn random(share: f64) -> String {
    if share > 0.0 { format!(", {} % of them random", short(100.0 * share)) } else { String::new() }
}

/// The head in words.
pub(super) fn head(params: &TrainParams) -> String {
    let mut head = match params.head {
        HeadKind::LeastSquares => match params.atoms.filter(|atoms| *atoms > 0) {
            Some(atoms) => format!("matching pursuit of at most {}", count(atoms as u64, "label")),
            None => "least squares".to_owned(),
        },
        HeadKind::Softmax => format!("softmax, ridge {}", short(head_ridge(params))),
        HeadKind::Independent => format!("independent labels, ridge {}", short(head_ridge(params))),
    };
    if let Some(sampled) = &params.sampled {
        head.push_str(&format!(", on {} sampled labels at a time", sampled.labels));
    }
    if params.head != HeadKind::LeastSquares && params.least_squares_weight > 0.0 {
        head.push_str(&format!(", plus {} × least squares", short(params.least_squares_weight.into())));
    }
    if let Some(features) = &params.features {
        head.push_str(&format!(", on {} random features of bandwidth {}", features.count, short(features.bandwidth)));
    }
    head
}

/// How good the model is likely to be.
pub(super) fn estimate(held: &HeldOut) -> String {
    let percent = |v: f64| format!("{:.1}", 100.0 * v);
    format!(
        "P@1 {}  P@3 {}  P@5 {}  on {} held out",
        percent(held.p1),
        percent(held.p3),
        percent(held.p5),
        count(held.examples, "example")
    )
}
