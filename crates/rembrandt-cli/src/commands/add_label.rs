//! `rembrandt add-label`: a model with one label more, without training it again.

use std::collections::BTreeSet;
use std::path::Path;

use rembrandt::data::formats::read_rows;
use rembrandt::data::records::read_records;
use rembrandt::model::{Model, Preprocessing};
use rembrandt::{Error, Run};
use serde_json::json;

use super::stream::prepared;
use crate::args::AddLabelArgs;
use crate::output::{count, facts, print, print_json};
use crate::progress::Display;
use crate::source;

pub fn run(args: &AddLabelArgs) -> anyhow::Result<()> {
    source::check_output(&args.output, args.examples.as_ref())?;
    let model = Model::open(&args.model)?;
    let (name, larger) = match (&args.name, &args.examples) {
        (Some(name), None) => (name.clone(), model.add_label_by_name(name)?),
        (name, Some(examples)) => {
            let mut display = Display::new(args.quiet);
            let read = prepared(&model, examples, &args.input_args, &mut display);
            display.clear();
            let name = match name {
                Some(name) => name.clone(),
                None => name_in(&model, examples, args)?,
            };
            let larger = model.add_label_prepared(&name, read?.0.view())?;
            (name, larger)
        }
        (None, None) => return Err(Error::parameter("name", "is needed where there are no examples").into()),
    };
    larger.save(&args.output)?;
    let id = model.shape().c;
    let (examples, output) = (larger.training_stats().counts[id], args.output.display().to_string());
    if args.json {
        return print_json(&json!({"label": name, "id": id, "examples": examples, "output": output}));
    }
    if args.quiet {
        return Ok(());
    }
    let label = format!("{name}, number {id}, from {}", count(examples, "example"));
    print(&facts(&[("added", label), ("wrote", output)]))
}

/// The one label that the examples have.
fn name_in(model: &Model, path: &Path, args: &AddLabelArgs) -> rembrandt::Result<String> {
    if path.as_os_str() == "-" {
        return Err(Error::parameter("name", "standard input is read once: say what the new label is called"));
    }
    let mut names = BTreeSet::new();
    let run = &mut Run::default();
    if let Preprocessing::Text(_) = model.preprocessing() {
        read_records(
            path,
            &args.input_args.records(model.records()).unwrap_or_else(|| model.records()),
            run,
            &mut |records| {
                (0..records.len()).for_each(|i| names.extend(records.labels(i).map(str::to_owned)));
                Ok(())
            },
        )?;
    } else {
        let mut ids = BTreeSet::new();
        let found = read_rows(path, &args.input_args.rows(), run, &mut |rows| {
            ids.extend(rows.y.view().ids.iter().copied());
            Ok(())
        })?;
        let words = found.label_names.filter(|_| found.label_words);
        names.extend(ids.iter().map(|id| match &words {
            Some(words) => words[*id as usize].clone(),
            None => id.to_string(),
        }));
    }
    match names.len() {
        1 => Ok(names.pop_first().unwrap_or_default()),
        0 => Err(Error::parameter("name", "the examples have no label: say what the new one is called")),
        _ => Err(Error::parameter("name", "the examples have several labels: say what the new one is called")),
    }
}
