//! `rembrandt eval`: how good a model, or a file of predictions, is on labelled examples.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use rembrandt::data::records::RecordOptions;
use rembrandt::data::{Dataset, Texts};
use rembrandt::metrics::Difference;
use rembrandt::model::{Evaluation, EvaluationOptions, Model, Truth};
use rembrandt::{Error, Result};
use rembrandt_bench::evaluation::{Page, comparison, write_labels};
use rembrandt_bench::text;
use serde_json::{Value, json};

use super::stream::{noting, options};
use crate::args::{EvalArgs, InputFormat};
use crate::memory;
use crate::output::{print, print_json};
use crate::progress::Display;
use crate::source;

pub fn run(args: &EvalArgs) -> anyhow::Result<()> {
    check(args)?;
    let mut display = Display::new(args.quiet);
    let evaluated = evaluate(&args.model, args, &mut display).and_then(|first| {
        Ok((first, args.against.as_ref().map(|other| evaluate(other, args, &mut display)).transpose()?))
    });
    display.clear();
    let (evaluation, other) = evaluated?;
    let differences = other.map(|other| evaluation.compare(&other)).transpose()?;
    if let Some(path) = &args.per_label {
        write_labels(path, &evaluation)?;
    }
    if let Some(path) = &args.report {
        let against = args.against.as_deref().zip(differences.as_deref());
        let page = Page { model: &args.model, test: &args.test, evaluation: &evaluation, against };
        text::write(path, &page.html())?;
    }
    if args.json {
        return print_json(&told(args, &evaluation, differences.as_deref()));
    }
    let against = match (&args.against, &differences) {
        (Some(other), Some(all)) => {
            format!("\nfirst {}, second {}\n{}", args.model.display(), other.display(), comparison(all))
        }
        _ => String::new(),
    };
    print(&format!("{evaluation}{against}"))
}

/// Refuses what would be found out too late, or have no effect.
fn check(args: &EvalArgs) -> Result<()> {
    let files = [Some(&args.model), Some(&args.test), args.against.as_ref(), args.train.as_ref()];
    let inputs: Vec<PathBuf> = files.into_iter().flatten().cloned().collect();
    [&args.per_label, &args.report].into_iter().flatten().try_for_each(|path| source::check_output(path, &inputs))?;
    if args.against.is_some() && args.bootstrap == 0 {
        return Err(Error::parameter("replicates", "a comparison needs some: leave it out"));
    }
    if args.against.is_some() && args.test.as_os_str() == "-" {
        return Err(Error::parameter("against", "the examples are read twice, which a pipe gives once: name a file"));
    }
    if args.train.is_some()
        && [Some(&args.model), args.against.as_ref()].into_iter().flatten().all(|path| !is_written(path))
    {
        return Err(Error::parameter(
            "train",
            "is for predictions from a file, and a model knows its labels: leave it out",
        ));
    }
    Ok(())
}

/// The scores of a model, or of predictions that are in a file.
fn evaluate(path: &Path, args: &EvalArgs, display: &mut Display) -> Result<Evaluation> {
    let how = EvaluationOptions::default().with(|options| {
        options.ranks = args.at.clone();
        options.threshold = args.threshold;
        (options.bootstrap, options.level) = (args.bootstrap, args.level);
        options.propensity = args.propensity;
        options.exact = args.exact;
    });
    if !is_written(path) {
        let model = Model::open(path)?;
        let input = options(&model, &args.input_args)?;
        return noting(display, |run| model.evaluate_file(&args.test, &input, &how, run));
    }
    if args.exact {
        return Err(Error::parameter("exact", "is for a model, and these are predictions: leave it out"));
    }
    let test = truth(&args.test, args, display)?;
    let training = args.train.as_ref().map(|train| truth(train, args, display)).transpose()?;
    test.evaluate(path, training.as_ref(), &how, &mut display.run())
}

/// The labels of a file of examples.
fn truth(path: &Path, args: &EvalArgs, display: &mut Display) -> Result<Truth> {
    let input = &args.input_args;
    if matches!(input.input_format, InputFormat::Texts(_)) || input.columns.given().is_some() {
        let records = input.records(RecordOptions::default()).unwrap_or_default();
        return Truth::of_texts(&Texts::read_with(path, &records, &mut display.run())?);
    }
    let data = match path.as_os_str() != "-" && Dataset::is_cache(path) {
        true => Dataset::open(path)?,
        false => Dataset::read_with(path, &input.rows(), &mut display.run())?.0,
    };
    Truth::of(&data)
}

/// Whether a file is text, plain or packed, and neither a model nor a cache. A model begins with a number of eight bytes.
fn is_written(path: &Path) -> bool {
    let mut start = Vec::new();
    let read = File::open(path).and_then(|file| file.take(8).read_to_end(&mut start));
    let packed = start.starts_with(&[0x1f, 0x8b]) || start.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]);
    read.is_ok_and(|bytes| bytes > 0) && (packed || !start.contains(&0)) && !Dataset::is_cache(path)
}

/// The result as JSON.
fn told(args: &EvalArgs, evaluation: &Evaluation, differences: Option<&[Difference]>) -> Value {
    let mut object = json!(evaluation);
    if let (Some(other), Some(differences)) = (&args.against, differences) {
        object["against"] = json!({"model": other.display().to_string(), "differences": differences});
    }
    object["peak_memory_mb"] = json!(memory::peak().map(|bytes| bytes as f64 / 1e6));
    object
}
