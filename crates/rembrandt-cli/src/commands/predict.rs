//! `rembrandt predict`: the most probable labels of examples, as they come.

use std::fmt::Write as _;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;

use rembrandt::data::formats::read_names;
use rembrandt::model::{
    Batch, InputOptions, Model, PredictOptions, Predictions, Preprocessing, check_target, write_file,
};
use rembrandt::{Error, Result};
use serde_json::json;

use super::stream::{noting, options};
use crate::args::{IdSource, OutputFormat, PredictArgs};
use crate::output::visible;
use crate::progress::Display;
use crate::source;

pub fn run(args: &PredictArgs) -> anyhow::Result<()> {
    if args.top == 0 {
        return Err(Error::parameter("top", "at least one label must be asked for").into());
    }
    let output = args.output.as_ref().filter(|path| path.as_os_str() != "-");
    if let Some(output) = output {
        source::check_apart(output, [&args.model, &args.input].into_iter().chain(&args.labels))?;
        check_target(output)?;
    }
    let model = Model::open(&args.model)?;
    check_names(&model, args.format)?;
    let input = options(&model, &args.input_args)?;
    let input = with_ids(input, &model, args)?;
    let labels = args.labels.as_deref().map(|path| read_labels(&model, path)).transpose()?;
    let predictor = model.predictor(PredictOptions::top(args.top).with(|options| {
        (options.threshold, options.labels, options.exact) = (args.threshold, labels, args.exact);
    }))?;
    let mut display = Display::new(args.quiet);
    let terminal = output.is_none() && io::stdout().is_terminal();
    let mut work = |out: &mut dyn Write, name: &Path| -> Result<()> {
        // Whoever writes into a pipe may wait for the answer before the next example.
        noting(&mut display, |run| {
            model.read(&args.input, &input, run.live(), |batch| {
                let text = lines(&model, args, batch, &batch.predict(&predictor)?)?;
                let text = if terminal { visible(&text) } else { text };
                out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(Error::io(name))
            })
        })?;
        Ok(())
    };
    let done = match output {
        Some(path) => write_file(path, |out| work(out, path)).map_err(anyhow::Error::from),
        None => to_standard_output(work),
    };
    display.clear();
    done
}

/// A reader of the output that goes away is no failure, and keeps its own kind of error.
fn to_standard_output(work: impl FnOnce(&mut dyn Write, &Path) -> Result<()>) -> anyhow::Result<()> {
    let name = Path::new("standard output");
    match work(&mut BufWriter::new(io::stdout().lock()), name) {
        Err(Error::Io { source, path }) if path == name => Err(source.into()),
        other => Ok(other?),
    }
}

/// Reads the column of ids too, where one is asked for.
fn with_ids(input: InputOptions, model: &Model, args: &PredictArgs) -> Result<InputOptions> {
    let refused = |reason: &str| Err(Error::parameter("id", reason));
    match &args.id_column {
        Some(_) if args.format == OutputFormat::Xmc => refused("xmc has no place for it: choose tsv or jsonl"),
        Some(IdSource::Column(_)) if !matches!(model.preprocessing(), Preprocessing::Text(_)) => {
            refused("sparse rows have no columns: write # for the number of the example")
        }
        Some(IdSource::Column(column)) => Ok(input.with(|input| {
            input.records.get_or_insert_with(|| model.records()).id = Some(column.clone());
        })),
        Some(IdSource::Number) | None => Ok(input),
    }
}

/// The labels to choose from, by name or id.
fn read_labels(model: &Model, path: &Path) -> Result<Vec<u32>> {
    let names = read_names(path)?;
    let mut labels = Vec::new();
    for (i, line) in names.iter().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let label = model.find_label(line.trim()).map_err(|e| Error::line(path, i as u64 + 1, reason(&e)))?;
        labels.push(label);
    }
    if labels.is_empty() {
        return Err(Error::file(path, "names no label: write one name or id per line"));
    }
    labels.sort_unstable();
    labels.dedup();
    Ok(labels)
}

/// The message, without the name of a parameter that nobody typed.
fn reason(error: &Error) -> String {
    match error {
        Error::Parameter { reason, .. } => reason.clone(),
        other => other.to_string(),
    }
}

/// Refuses names that nobody could tell from what stands between them.
fn check_names(model: &Model, format: OutputFormat) -> Result<()> {
    let (between, reason) = match format {
        OutputFormat::Tsv => ('\t', "has a tab, which separates the fields of tsv: choose jsonl"),
        OutputFormat::Xmc => (' ', "has a space, which separates the labels of xmc: choose tsv or jsonl"),
        OutputFormat::Jsonl => return Ok(()),
    };
    let written = (0..model.shape().c as u32).filter(|id| format == OutputFormat::Tsv || goes_by_name(model, *id));
    match written.map(|id| model.label_name(id)).find(|name| name.contains(between)) {
        Some(name) => Err(Error::parameter("format", format!("the label {name:?} {reason}"))),
        None => Ok(()),
    }
}

/// Whether the training data wrote a label as a word, or it has nothing but its name.
fn goes_by_name(model: &Model, label: u32) -> bool {
    model.training_stats().words[1] || label as usize >= model.shape().c - model.added()
}

/// One line for each example.
fn lines(model: &Model, args: &PredictArgs, batch: &Batch<'_>, predictions: &Predictions) -> Result<String> {
    let mut text = String::new();
    let as_in_data = |label: u32| match goes_by_name(model, label) {
        true => model.label_name(label),
        false => label.to_string(),
    };
    for i in 0..predictions.rows() {
        let mut row = predictions.row(i).peekable();
        let id = match &args.id_column {
            Some(IdSource::Number) => Some((batch.first + i as u64 + 1).to_string()),
            Some(IdSource::Column(_)) => batch.id(i).map(str::to_owned),
            None => None,
        };
        match args.format {
            OutputFormat::Xmc => {
                while let Some((label, p)) = row.next() {
                    let space = if row.peek().is_some() { " " } else { "" };
                    let _ = write!(text, "{}:{p:.6}{space}", as_in_data(label));
                }
            }
            OutputFormat::Tsv => {
                if let Some(id) = &id {
                    check_field(id)?;
                    let tab = if row.peek().is_some() { "\t" } else { "" };
                    let _ = write!(text, "{id}{tab}");
                }
                while let Some((label, p)) = row.next() {
                    let tab = if row.peek().is_some() { "\t" } else { "" };
                    let _ = write!(text, "{}\t{p:.6}{tab}", model.label_name(label));
                }
            }
            OutputFormat::Jsonl => {
                let labels: Vec<_> = row
                    .map(|(label, p)| json!({"id": label, "label": model.label_name(label), "probability": p}))
                    .collect();
                let mut line = json!({"labels": labels});
                id.into_iter().for_each(|id| line["id"] = json!(id));
                let _ = write!(text, "{line}");
            }
        }
        text.push('\n');
    }
    Ok(text)
}

/// Refuses an id that would not be one field.
fn check_field(id: &str) -> Result<()> {
    match id.contains(['\t', '\n', '\r']) {
        true => {
            let reason = format!("{id:?} has a tab or the end of a line, which tsv cannot hold: choose jsonl");
            Err(Error::parameter("id", reason))
        }
        false => Ok(()),
    }
}
