//! `rembrandt shortlist`: a model that need not score all labels, without training it again.

use std::fs;

use indicatif::{BinaryBytes, HumanCount};
use rembrandt::Error;
use rembrandt::model::Model;
use serde_json::json;

use super::stream::prepared;
use super::train;
use crate::args::ShortlistArgs;
use crate::output::{facts, print, print_json};
use crate::progress::Display;
use crate::source;

pub fn run(args: &ShortlistArgs) -> anyhow::Result<()> {
    source::check_output(&args.output, [&args.train].into_iter().chain(&args.held_out))?;
    if args.train.as_os_str() == "-" && args.held_out.as_ref().is_some_and(|path| path.as_os_str() == "-") {
        return Err(Error::parameter("held_out", "standard input can be read once: name a file").into());
    }
    let model = Model::open(&args.model)?;
    let mut display = Display::new(args.quiet);
    let read = prepared(&model, &args.train, &args.input_args, &mut display).and_then(|train| {
        let other = |path| prepared(&model, path, &args.input_args, &mut display);
        Ok((train, args.held_out.as_deref().map(other).transpose()?))
    });
    display.clear();
    let ((x, y), held_out) = read?;
    let held_out = held_out.as_ref().map(|(x, y)| (x.view(), y.view()));
    let (model, report) = model.with_shortlist((x.view(), y.view()), held_out)?;
    model.save(&args.output)?;
    let entries = model.shortlist_entries();
    let bytes = fs::metadata(&args.output).map_err(Error::io(&args.output))?.len();
    let output = args.output.display().to_string();
    if args.json {
        return print_json(&json!({"shortlist": report, "entries": entries, "model_bytes": bytes, "output": output}));
    }
    if args.quiet {
        return Ok(());
    }
    print(&facts(&[
        train::shortlist(&report),
        ("lists", format!("{} entries", HumanCount(entries as u64))),
        ("wrote", format!("{output} ({})", BinaryBytes(bytes))),
    ]))
}
