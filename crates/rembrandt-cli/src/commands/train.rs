//! `rembrandt train`: from training data to a model file.

pub(super) mod report;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use bytesize::ByteSize;
use rembrandt::Error;
use rembrandt::Examples;
use rembrandt::data::{Dataset, Input, InputKind, Rows, read_input};
use rembrandt::model::{Evaluation, EvaluationOptions, Preprocessing};
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
    source::check_apart(&args.output, args.head.label_weights.iter().chain(&args.validation))?;
    args.check()?;
    let limit = Limit::new(args.max_memory);
    let mut display = Display::new(args.quiet);
    let opened = open(args, limit, &mut display);
    display.clear();
    let Opened { data, preprocessing, validation } = opened?;
    let mut seconds = vec![("read", began.elapsed().as_secs_f64())];
    let mut training = args.training(&data)?;
    if let Training::Ranker(params) = &mut training {
        params.validation = validation;
    }
    check(&training, &data, &args.train)?;
    let cross_validation = cross_validate(&training, (&data, &preprocessing), args, &mut display)?;
    let (mut told, stages) = train(training, Task { args, data: &data, preprocessing, limit }, &mut display)?;
    told.extend(cross_validation.as_ref(), args.cross_validate);
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

/// The figures of the training on examples that it has not seen, if they are asked for.
fn cross_validate(
    training: &Training,
    (data, preprocessing): (&Dataset, &Preprocessing),
    args: &TrainArgs,
    display: &mut Display,
) -> rembrandt::Result<Option<Evaluation>> {
    let Some(parts) = args.cross_validate else { return Ok(None) };
    let found = training.cross_validate(data, preprocessing, parts, &EvaluationOptions::default(), &mut display.run());
    display.clear();
    found.map(Some)
}

/// The training data.
struct Opened {
    data: Dataset,
    preprocessing: Preprocessing,
    /// How many of the examples, the last ones, are for validation, if a file of them was given.
    validation: Option<usize>,
}

/// Reads the data as the options ask for, and says what was done to them.
fn open(args: &TrainArgs, limit: Option<Limit>, display: &mut Display) -> rembrandt::Result<Opened> {
    let options = args.data.features.options()?;
    if source::is_text(&args.train, &args.data, display)? {
        let mut texts = source::texts(&args.train, &args.data, display)?;
        let mut validation = None;
        if let Some(path) = &args.validation {
            let more = source::texts(path, &args.data, display)?;
            validation = Some(more.len());
            texts.extend(more);
        }
        let (data, featurizer) = texts.into_dataset(options.featurizer)?;
        return Ok(Opened { data, preprocessing: Preprocessing::Text(Arc::new(featurizer)), validation });
    }
    let mut data = source::rows(&args.train, &args.data.read, limit, display)?;
    let mut validation = None;
    if let Some(path) = &args.validation {
        let more = examples(path, &data, args, display)?;
        validation = Some(more.len());
        data = data.with_examples(&more)?;
    }
    let (prepared, preprocessing) = data.prepare(&options)?;
    let data = match prepared {
        Prepared::Owned(other) => *other,
        Prepared::Borrowed(_) => data,
    };
    Ok(Opened { data, preprocessing, validation })
}

/// More examples, with features and labels numbered as in the data. What the data do not have is left out, and told.
fn examples(path: &Path, data: &Dataset, args: &TrainArgs, display: &mut Display) -> rembrandt::Result<Rows> {
    let kind = InputKind::Sparse(args.data.read.options_of_ids(), data.vocabulary()?);
    let (mut more, mut unknown) = (Rows::new(), 0u64);
    let mut weights: Vec<f32> = Vec::new();
    read_input(path, &kind, &mut display.run(), &mut |input| {
        let Input::Rows { x, y, weights: of_rows } = input else { unreachable!("sparse rows were asked for") };
        more.x.extend_rows(x, 0, x.rows());
        for i in 0..y.rows() {
            for (label, _) in y.entries(i) {
                match label < data.shape().c {
                    true => more.y.push(label as u32, 1.0),
                    false => unknown += 1,
                }
            }
            more.y.end_row();
        }
        weights.extend(of_rows.map_or_else(|| vec![1.0; y.rows()], <[f32]>::to_vec));
        Ok(())
    })?;
    if weights.iter().any(|weight| *weight != 1.0) {
        more.weights = Some(weights);
    }
    if more.y.nnz() == 0 {
        return Err(Error::file(
            path,
            "no example has a label that the training data have: nothing can be judged by it",
        ));
    }
    if unknown > 0 {
        display.note(&format!("{}: {unknown} labels are not in the training data and left out", path.display()));
    }
    Ok(more)
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
