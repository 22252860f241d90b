//! The report of a training, for programs and for people.

use bytesize::ByteSize;
use indicatif::HumanCount;
use rembrandt::data::Dataset;
use rembrandt::model::{Evaluation, Model};
use rembrandt::score::ranker::Proposals;
use rembrandt::train::{HeadKind, HeadReport, HeadTrainParams, HeldOut, RankerReport, Training};
use rembrandt::{Examples, Side};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::args::TrainArgs;
use crate::memory;
use crate::output::{about, count, facts, short};

/// The part that depends on the training: an object for programs, rows for people.
pub(super) struct Told {
    pub json: Value,
    pub rows: Vec<(&'static str, String)>,
}

impl Told {
    /// Adds the figures of cross-validation, where there are any.
    pub(super) fn extend(&mut self, evaluation: Option<&Evaluation>, parts: Option<usize>) {
        let Some((evaluation, parts)) = evaluation.zip(parts) else { return };
        let figure = |(name, value, interval): (&str, f64, Option<[f64; 2]>)| {
            let shown = ["p@1", "p@5", "ndcg@5", "micro_f1", "macro_f1"].contains(&name);
            let interval = interval.map_or_else(String::new, |[low, high]| format!(" [{low:.4}, {high:.4}]"));
            shown.then(|| format!("{name} {value:.4}{interval}"))
        };
        let figures: Vec<String> = evaluation.iter().filter_map(figure).collect();
        let level = evaluation.level().map_or_else(String::new, |level| format!(", {:.0} % intervals", 100.0 * level));
        self.rows.push(("validated", format!("{} in {parts} parts{level}", figures.join(", "))));
        self.json["cross_validation"] = json!(evaluation);
    }
}

/// That part, as the model tells it.
pub(super) fn told(training: &Training, model: &Model) -> serde_json::Result<Told> {
    Ok(match training {
        Training::Ranker(_) => ranker_told(model, &RankerReport::deserialize(model.report())?),
        Training::Head(_) => {
            let (params, report) =
                (HeadTrainParams::deserialize(model.params())?, HeadReport::deserialize(model.report())?);
            Told { json: head_json(&params, &report), rows: head_rows(&params, &report) }
        }
        Training::Trees(params) => {
            let summary = &model.report()["trees"];
            let method = json!(params)["method"].clone();
            let name = method.as_str().unwrap_or_default().to_owned();
            let json = json!({"method": method, "params": params, "trees": summary});
            Told { json, rows: vec![("method", name), ("trees", words(summary))] }
        }
    })
}

/// A ranker and how it was trained.
fn ranker_told(model: &Model, report: &RankerReport) -> Told {
    let json = json!({
        "method": "rembrandt", "k": model.shape().k, "rho": report.embedding.rho, "cost": report.cost,
        "held_out": report.held_out, "views": report.views, "recall": report.recall, "proposals": report.proposals,
        "combination": report.combination, "pairs": report.pairs, "trials": report.trials, "energy_fraction": report.embedding.energy_fraction,
    });
    let mut rows = vec![("method", "rembrandt".to_owned())];
    rows.push(("embedding", count(model.shape().k as u64, "dimension")));
    rows.extend(ranker(report));
    Told { json, rows }
}

/// The result for programs.
pub(super) fn json(told: Value, data: &Dataset, seconds: &[(&str, f64)], bytes: u64, args: &TrainArgs) -> Value {
    let shape = data.shape();
    let Value::Object(mut object) = told else { unreachable!("it was written as an object") };
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

/// The result for people.
pub(super) fn text(
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

/// A head and how it was trained, for programs.
fn head_json(params: &HeadTrainParams, report: &HeadReport) -> Value {
    let logistic = params.head != HeadKind::LeastSquares;
    json!({
        "method": params.method, "atoms": params.atoms, "head": params.head, "k": params.k, "ridge": params.ridge,
        "head_ridge": logistic.then(|| head_ridge(params)), "least_squares_weight": logistic.then_some(params.least_squares_weight),
        "random_features": params.features, "sampled": params.sampled, "folds": params.folds,
        "held_out": report.held_out,
        "energy_fraction": report.embedding.energy_fraction,
    })
}

/// A head and how it was trained, for people.
fn head_rows(params: &HeadTrainParams, report: &HeadReport) -> Vec<(&'static str, String)> {
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
pub(in crate::commands) fn ranker(report: &RankerReport) -> Vec<(&'static str, String)> {
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
    if let Some(first) = report.trials.first() {
        let best = report.trials.iter().map(|trial| trial.ndcg).fold(first.ndcg, f64::max);
        let gain = format!("nDCG@5 {} by default, {} at best", percent(first.ndcg), percent(best));
        rows.push(("tuning", format!("{} tried: {gain}", count(report.trials.len() as u64, "setting"))));
    }
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
pub(in crate::commands) fn head(params: &HeadTrainParams) -> String {
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
pub(in crate::commands) fn estimate(held: &HeldOut) -> String {
    let percent = |v: f64| format!("{:.1}", 100.0 * v);
    format!(
        "P@1 {}  P@3 {}  P@5 {}  on {} held out",
        percent(held.p1),
        percent(held.p3),
        percent(held.p5),
        count(held.examples, "example")
    )
}

/// The ridge that counts.
fn head_ridge(params: &HeadTrainParams) -> f64 {
    if params.features.is_some() { params.descent.ridge } else { params.logistic.ridge }
}

/// A summary in words: `nodes 1,234, leaves 617, depth 14`.
pub(in crate::commands) fn words(summary: &Value) -> String {
    let number = |value: &Value| match (value.as_u64(), value.as_f64()) {
        (Some(whole), _) => HumanCount(whole).to_string(),
        (_, Some(number)) => short(number),
        _ => value.to_string(),
    };
    let fields = summary.as_object().into_iter().flatten();
    let known = fields.filter(|(_, value)| !value.is_null());
    known.map(|(name, value)| format!("{} {}", name.replace('_', " "), number(value))).collect::<Vec<_>>().join(", ")
}
