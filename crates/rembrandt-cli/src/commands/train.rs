//! `rembrandt train`: from training data to a model file.

pub(super) mod report;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use bytesize::ByteSize;
use rembrandt::Error;
use rembrandt::data::Dataset;
use rembrandt::model::Preprocessing;
use rembrandt::train::{Prepared, Training, TrainingData};
use serde_json::json;

use self::report::Told;
use crate::args::TrainArgs;
use crate::memory::Limit;
use crate::output::{print, print_json};
use crate::progress::Display;
use crate::resume::Resume;
use crate::source;

pub fn run(args: &TrainArgs) -> anyhow::Result<()> {
    let began = Instant::now();
    source::check_outputs(std::slice::from_ref(&args.output), &args.train, &args.data.read)?;
    source::check_apart(&args.output, &args.head.label_weights)?;
    args.check()?;
    let limit = Limit::new(args.max_memory);
    let mut display = Display::new(args.quiet);
    let opened = open(args, limit, &mut display);
    display.clear();
    let (data, preprocessing) = opened?;
    let mut seconds = vec![("read", began.elapsed().as_secs_f64())];
    let training = args.training(&data)?;
    check(&training, &data, &args.train)?;
    let (told, stages) = train(training, Task { args, data: &data, preprocessing, limit }, &mut display)?;
    seconds.extend(stages);
    seconds.push(("total", began.elapsed().as_secs_f64()));
    let bytes = fs::metadata(&args.output).map_err(Error::io(&args.output))?.len();
    if args.json {
        print_json(&report::json(told.json, &data, &seconds, bytes, args))
    } else if args.quiet {
        Ok(())
    } else {
        print(&report::text(told.rows, &data, &seconds, bytes, args))
    }
}

/// The training data and the settings.
struct Task<'a> {
    args: &'a TrainArgs,
    data: &'a Dataset,
    preprocessing: Preprocessing,
    limit: Option<Limit>,
}

/// Trains a model and writes it. Also gives what it tells of itself, and the seconds of each stage.
fn train(
    training: Training,
    task: Task<'_>,
    display: &mut Display,
) -> anyhow::Result<(Told, Vec<(&'static str, f64)>)> {
    let Task { args, data, preprocessing, limit } = task;
    let training = match limit.filter(|_| !args.params.has_panel()) {
        Some(limit) => training.narrowed_to(limit.bytes.saturating_sub(held(data)), data),
        None => training,
    };
    let estimate = check_memory(&training, data, limit)?;
    display.note(&format!("about {} of memory will be needed", ByteSize(estimate)));
    let resume = Resume::open(args.resume, &args.output, ("train", data, json!(training)), display)?;
    let mut watch = display.run().with_checkpoints(resume.checkpoints());
    let trained = training.fit(data, preprocessing, &mut watch);
    let (seconds, notes) = (watch.seconds().to_vec(), watch.take_notes());
    drop(watch);
    display.clear();
    notes.iter().for_each(|note| display.note(note));
    let (model, resume) = resume.check(trained, display)?;
    let told = report::told(&training, &model)?;
    let model = if args.compact { model.compact() } else { model };
    model.save(&args.output)?;
    resume.finish(display);
    Ok((told, seconds))
}

/// Reads the data as the options ask for, and says what was done to them.
fn open(args: &TrainArgs, limit: Option<Limit>, display: &mut Display) -> rembrandt::Result<(Dataset, Preprocessing)> {
    let options = args.data.features.options()?;
    if source::is_text(&args.train, &args.data, display)? {
        let (data, featurizer) = source::texts(&args.train, &args.data, display)?.into_dataset(options.featurizer)?;
        return Ok((data, Preprocessing::Text(Arc::new(featurizer))));
    }
    let data = source::rows(&args.train, &args.data.read, limit, display)?;
    let (prepared, preprocessing) = data.prepare(&options)?;
    Ok(match prepared {
        Prepared::Owned(other) => (*other, preprocessing),
        Prepared::Borrowed(_) => (data, preprocessing),
    })
}

/// Checks the training before any work. Mistakes in the data are told with the name of their file.
fn check(training: &Training, data: &Dataset, path: &Path) -> rembrandt::Result<()> {
    training.check(data).map_err(|error| match error {
        Error::Data(reason) => Error::file(path, reason),
        other => other,
    })?;
    match data.label_names().into_iter().flatten().find(|name| name.contains('\n')) {
        Some(name) => Err(Error::file(path, format!("the label {name:?} contains the end of a line: rename it"))),
        None => Ok(()),
    }
}

/// The memory that training will need besides the data, or an error when that is too much.
fn check_memory(training: &Training, data: &Dataset, limit: Option<Limit>) -> rembrandt::Result<u64> {
    let estimate = held(data).saturating_add(training.memory(data));
    let advice = match training {
        Training::Trees(_) => "lower --nodes or train on fewer examples",
        Training::Ranker(_) | Training::Head(_) => "lower -k",
    };
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
