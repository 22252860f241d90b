//! Training of trees.

use std::time::Instant;

use bytesize::ByteSize;
use indicatif::HumanCount;
use rembrandt::Examples;
use rembrandt::model::Model;
use rembrandt::tree::TreeParams;
use serde_json::{Value, json};

use super::{MethodSummary, Task, check_memory};
use crate::progress::Display;
use crate::resume::Resume;

/// Grows trees and writes a model of them.
pub(super) fn grow(params: &TreeParams, task: Task<'_>, display: &mut Display) -> anyhow::Result<MethodSummary> {
    let Task { args, data, preprocessing, limit } = task;
    params.check(data.shape())?;
    let estimate = check_memory(params.memory(data), data, limit, "lower --nodes or train on fewer examples")?;
    display.note(&format!("about {} of memory will be needed", ByteSize(estimate)));
    let began = Instant::now();
    let resume = Resume::open(args.resume, &args.output, ("train", data, json!(params)), display)?;
    let mut watch = display.run().with_checkpoints(resume.checkpoints());
    let grown = params.fit(data, &mut watch);
    drop(watch);
    display.clear();
    let (grown, resume) = resume.check(grown, display)?;
    let seconds = vec![("growing", began.elapsed().as_secs_f64())];
    let (summary, method) = (grown.summary(), json!(grown.method()));
    let written = json!({"trees": summary});
    Model::from_trees(grown, data, preprocessing, json!(params), written)?.save(&args.output)?;
    resume.finish(display);
    let Value::Object(json) = json!({"method": method, "params": params, "trees": summary}) else {
        unreachable!("it was written as an object")
    };
    let name = method.as_str().unwrap_or_default().to_owned();
    Ok(MethodSummary { json, rows: vec![("method", name), ("trees", words(&summary))], seconds })
}

/// A summary in words: `nodes 1,234, leaves 617, depth 14`.
pub(in crate::commands) fn words(summary: &Value) -> String {
    let number = |value: &Value| match (value.as_u64(), value.as_f64()) {
        (Some(whole), _) => HumanCount(whole).to_string(),
        (_, Some(number)) => crate::output::short(number),
        _ => value.to_string(),
    };
    let fields = summary.as_object().into_iter().flatten();
    let known = fields.filter(|(_, value)| !value.is_null());
    known.map(|(name, value)| format!("{} {}", name.replace('_', " "), number(value))).collect::<Vec<_>>().join(", ")
}
