//! The account of a model file.

use bytesize::ByteSize;
use rembrandt::data::featurizer::{FeaturizerParams, Weighting};
use rembrandt::embed::Method;
use rembrandt::linalg::table::NumberFormat;
use rembrandt::model::{Model, ModelNames, Preprocessing};
use rembrandt::score::head::{Head, Loss};
use rembrandt::train::{HeadReport, HeadTrainParams, RankerReport};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{HEAD, listed, parameters};
use crate::commands::train::report;
use crate::output::{count, facts, short};

/// All that the file tells, for programs and for people; `bytes` is its length.
pub fn model(model: &Model, bytes: u64) -> (Value, String) {
    (json_result(model, bytes), text(model, bytes))
}

fn json_result(model: &Model, bytes: u64) -> Value {
    let (shape, background) = (model.shape(), model.training_stats());
    let [feature_words, label_words] = background.words;
    json!({
        "kind": "model",
        "n": background.examples, "d": shape.d, "c": shape.c, "k": shape.k, "added": model.added(),
        "head": head_json(model), "preprocessing": preprocessing_json(model.preprocessing()),
        "calibration": model.calibration(), "precision": model.number_format(),
        "label_names": model.label_names().is_some(), "feature_names": model.feature_names().is_some(),
        "label_words": label_words, "feature_words": feature_words,
        "spectrum": model.spectrum(), "bytes": bytes,
        "params": model.params(), "report": model.report(), "verified": true,
    })
}

fn preprocessing_json(preprocessing: &Preprocessing) -> Value {
    match preprocessing {
        Preprocessing::AsIs => json!({"kind": "as-is"}),
        Preprocessing::Sparse(transform) => {
            json!({"kind": "sparse", "tfidf": transform.tfidf.is_some(), "normalize": transform.l2})
        }
        Preprocessing::Text(featurizer) => {
            json!({"kind": "text", "texts": featurizer.texts(), "params": featurizer.params(), "records": featurizer.records()})
        }
    }
}

fn text(model: &Model, bytes: u64) -> String {
    let (shape, added) = (model.shape(), model.added());
    let mut size = [(shape.d, "feature"), (shape.c, "label"), (shape.k, "dimension")]
        .map(|(n, what)| count(n as u64, what))
        .join(", ");
    if added > 0 {
        size.push_str(&format!("; {} added after training", count(added as u64, "label")));
    }
    let spectrum: Vec<String> = model.spectrum().iter().map(|v| short(*v)).collect();
    // A model need not come from `train`, and then tells of itself what its maker liked.
    let (params, report) = (HeadTrainParams::deserialize(model.params()), HeadReport::deserialize(model.report()));
    let method = params.as_ref().ok().map(|params| params.method.name());
    let method = if model.has_ranker() { Some(Method::Rembrandt.name()) } else { method };
    let head = params.map_or_else(|_| head(model), |params| report::head(&params));
    let mut rows = vec![
        ("kind", "model".to_owned()),
        ("size", size),
        ("trained on", count(model.training_stats().examples, "example")),
        ("input", input(model.preprocessing())),
    ];
    rows.extend(method.map(|method| ("method", method.to_owned())));
    rows.extend((!model.has_ranker()).then_some(("head", head)));
    rows.extend([
        ("probabilities", probabilities(model)),
        ("numbers", format!("{}, {} in all", number_format(model.number_format()), ByteSize(bytes))),
        ("label names", names(model.label_names())),
        ("feature names", names(model.feature_names())),
    ]);
    if !spectrum.is_empty() {
        rows.push(("spectrum", listed(spectrum.iter().map(String::as_str))));
    }
    if let Ok(report) = RankerReport::deserialize(model.report()) {
        rows.extend(report::ranker(&report));
    }
    if let Ok(report) = report {
        rows.push(("held out", report::estimate(&report.held_out)));
    }
    rows.push(("parameters", parameters(model.params())));
    facts(&rows)
}

fn head_json(model: &Model) -> Value {
    match (model.trees(), model.head()) {
        (Some(trees), _) => json!({"kind": "trees", "method": trees.method()}),
        (None, _) if model.has_ranker() => json!({"kind": "ranker"}),
        (None, Head::LeastSquares) => json!({"kind": "least-squares"}),
        (None, Head::Pursuit { atoms }) => json!({"kind": "pursuit", "atoms": atoms}),
        (None, Head::Linear { .. }) => json!({"kind": "linear"}),
        (None, Head::RandomFeatures { least_squares, .. }) => {
            json!({"kind": "random-features", "least_squares": least_squares})
        }
    }
}

fn head(model: &Model) -> String {
    if let Some(trees) = model.trees() {
        let summary = report::words(&trees.summary());
        return format!("none: {} ({summary})", json!(trees.method()).as_str().unwrap_or("trees"));
    }
    match model.head() {
        Head::LeastSquares => "least squares".to_owned(),
        Head::Pursuit { .. } => "matching pursuit".to_owned(),
        Head::Linear { .. } => "linear".to_owned(),
        Head::RandomFeatures { .. } => "on random features".to_owned(),
    }
}

fn number_format(format: NumberFormat) -> &'static str {
    match format {
        NumberFormat::F32 => "f32",
        NumberFormat::Bf16 => "bf16",
    }
}

fn probabilities(model: &Model) -> String {
    let calibration = model.calibration();
    let (scale, shift) = (short(calibration.scale.into()), short(calibration.shift.abs().into()));
    let sign = if calibration.shift < 0.0 { '−' } else { '+' };
    match calibration.loss {
        // The weights of its views make them already.
        Loss::Softmax if model.has_ranker() => "one label of all".to_owned(),
        Loss::Independent if model.has_ranker() => "each label by itself".to_owned(),
        Loss::Softmax => format!("one label of all, score × {scale}"),
        Loss::Independent => format!("each label by itself, score × {scale} {sign} {shift}"),
    }
}

/// The input of the model, and its preprocessing.
fn input(preprocessing: &Preprocessing) -> String {
    match preprocessing {
        Preprocessing::AsIs => "sparse rows as they are".to_owned(),
        Preprocessing::Sparse(transform) => {
            let done = [(transform.tfidf.is_some(), "times idf"), (transform.l2, "scaled to length 1")];
            let done: Vec<&str> = done.into_iter().filter_map(|(done, what)| done.then_some(what)).collect();
            format!("sparse rows, {}", done.join(", "))
        }
        Preprocessing::Text(featurizer) => texts(featurizer.params(), featurizer.texts()),
    }
}

/// The rules of a featurizer, those that are not as usual.
fn texts(params: &FeaturizerParams, texts: u64) -> String {
    let mut rules = vec![format!("texts, fitted to {}", count(texts, "text"))];
    rules.extend(params.words.map(|range| format!("word n-grams {range}")));
    rules.extend(params.characters.map(|range| format!("char n-grams {range}")));
    rules.push(match params.weighting {
        Weighting::TfIdf => "tf-idf".to_owned(),
        Weighting::Tf => "tf".to_owned(),
        Weighting::Binary => "binary".to_owned(),
    });
    rules.extend(params.sublinear.then(|| "sublinear".to_owned()));
    rules.extend(params.fold.then(|| "without accents".to_owned()));
    rules.extend((!params.stop_words.is_empty()).then(|| count(params.stop_words.len() as u64, "stop word")));
    rules.extend(params.stem.map(|language| format!("stems of {language}")));
    rules.extend((!params.lowercase).then(|| "capital letters apart".to_owned()));
    rules.extend(params.hashing.map(|hashing| format!("hash of {} bits", hashing.bits)));
    rules.join(", ")
}

fn names(names: Option<&ModelNames>) -> String {
    names.map_or_else(|| "none".to_owned(), |names| listed(names.iter().take(HEAD + 1)))
}
