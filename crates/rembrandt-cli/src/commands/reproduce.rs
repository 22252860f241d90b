//! `rembrandt reproduce`: an experiment of the paper's authors, beside their figures.

use std::path::{Path, PathBuf};
use std::time::Instant;

use rembrandt::data::Dataset;
use rembrandt::{Error, Run};
use rembrandt_bench::reproduce::Figure;
use serde_json::{Value, json};

use crate::args::{ReadArgs, ReproduceArgs};
use crate::memory::Limit;
use crate::output::{print, print_json, table};
use crate::progress::Display;
use crate::source;

/// What the name of a file may end in.
const ENDINGS: [&str; 3] = ["txt.zst", "txt.gz", "txt"];

pub fn run(args: &ReproduceArgs) -> anyhow::Result<()> {
    let folder = args.data.join(args.experiment.name());
    let files = [find(&folder, "train")?, find(&folder, "test")?];
    let mut display = Display::new(args.quiet);
    let measured = measure(args, &files, &mut display);
    display.clear();
    // What the data lack is known without their names.
    let measured = measured.map_err(|e| match e {
        Error::Data(reason) => Error::file(&folder, reason),
        other => other,
    })?;
    if args.json {
        let figures: Vec<Value> = measured.iter().map(|(figure, _)| json!(figure)).collect();
        return print_json(&json!(figures));
    }
    let head = ["setting", "metric", "ours", "[low, high]", "authors", "[low, high]", "seconds"].map(str::to_owned);
    let rows: Vec<_> = std::iter::once(head).chain(measured.iter().map(row)).collect();
    print(&table(&rows))
}

/// The file of one part of the data, under one of its names.
fn find(folder: &Path, part: &str) -> rembrandt::Result<PathBuf> {
    let names = ENDINGS.map(|ending| folder.join(format!("{part}.{ending}")));
    names.iter().find(|path| path.exists()).cloned().ok_or_else(|| {
        let [zst, gz, _] = ENDINGS;
        Error::file(&names[2], format!("is not there, nor {part}.{gz} or {part}.{zst}: --data names the folder above"))
    })
}

/// All figures, each with the seconds that its head took.
fn measure(
    args: &ReproduceArgs,
    [train, test]: &[PathBuf; 2],
    display: &mut Display,
) -> rembrandt::Result<Vec<(Figure, f64)>> {
    let open = |path: &Path, display: &mut Display| -> rembrandt::Result<Dataset> {
        source::open(path, &ReadArgs::default(), Limit::new(None), display)
    };
    let (train, test) = (open(train, display)?, open(test, display)?);
    let mut run = Run::watched(|progress| {
        display.work(progress);
        true
    });
    let placed = args.experiment.place(&train, &test, args.seed, &mut run)?;
    let mut figures = Vec::new();
    for trial in args.experiment.trials() {
        let began = Instant::now();
        let measured = trial.measure(&placed, args.seed, &mut run)?;
        let seconds = began.elapsed().as_secs_f64();
        figures.extend(measured.into_iter().map(|figure| (figure, seconds)));
    }
    Ok(figures)
}

fn row((figure, seconds): &(Figure, f64)) -> [String; 7] {
    let word = |value: Value| value.as_str().unwrap_or_default().to_owned();
    let interval = |low: f64, high: f64| format!("[{low:.4}, {high:.4}]");
    [
        word(json!(figure.setting)),
        word(json!(figure.metric)),
        format!("{:.4}", figure.ours),
        interval(figure.low, figure.high),
        format!("{:.4}", figure.authors),
        interval(figure.authors_low, figure.authors_high),
        format!("{seconds:.1}"),
    ]
}
