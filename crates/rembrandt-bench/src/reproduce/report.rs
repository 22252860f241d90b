//! An experiment from its files to a table.

use std::path::{Path, PathBuf};
use std::time::Instant;

use rembrandt::data::Dataset;
use rembrandt::{Error, Result};
use serde_json::{Value, json};

use super::{Experiment, Figure};
use crate::text::table;
use crate::watch::{Watcher, watched};

/// Endings of file names.
const ENDINGS: [&str; 3] = ["txt.zst", "txt.gz", "txt"];

/// All figures of an experiment, each with the seconds that its head took.
pub struct ExperimentReport(Vec<(Figure, f64)>);

impl Experiment {
    /// Measures everything, on the data in a folder of the experiment's name below `data`. `open` opens a file.
    pub fn run<W: Watcher>(
        self,
        data: &Path,
        seed: u64,
        open: impl Fn(&Path, &mut W) -> Result<Dataset>,
        watcher: &mut W,
    ) -> Result<ExperimentReport> {
        let folder = data.join(self.name());
        let files = [find(&folder, "train")?, find(&folder, "test")?];
        let measured = self.figures(&files, seed, open, watcher);
        watcher.clear();
        // Names are not needed to know what the data lack.
        measured.map(ExperimentReport).map_err(|e| match e {
            Error::Data(reason) => Error::file(&folder, reason),
            other => other,
        })
    }

    fn figures<W: Watcher>(
        self,
        [train, test]: &[PathBuf; 2],
        seed: u64,
        open: impl Fn(&Path, &mut W) -> Result<Dataset>,
        watcher: &mut W,
    ) -> Result<Vec<(Figure, f64)>> {
        let (train, test) = (open(train, watcher)?, open(test, watcher)?);
        let mut run = watched(watcher);
        let placed = self.place(&train, &test, seed, &mut run)?;
        let mut figures = Vec::new();
        for trial in self.trials() {
            let began = Instant::now();
            let measured = trial.measure(&placed, seed, &mut run)?;
            let seconds = began.elapsed().as_secs_f64();
            figures.extend(measured.into_iter().map(|figure| (figure, seconds)));
        }
        Ok(figures)
    }
}

impl ExperimentReport {
    /// The figures.
    pub fn json(&self) -> Value {
        self.0.iter().map(|(figure, _)| json!(figure)).collect()
    }

    /// The table for people.
    pub fn table(&self) -> String {
        let head = ["setting", "metric", "ours", "[low, high]", "authors", "[low, high]", "seconds"].map(str::to_owned);
        let rows: Vec<_> = std::iter::once(head).chain(self.0.iter().map(row)).collect();
        table(&rows)
    }
}

/// The file of one part of the data, under one of its names.
fn find(folder: &Path, part: &str) -> Result<PathBuf> {
    let names = ENDINGS.map(|ending| folder.join(format!("{part}.{ending}")));
    names.iter().find(|path| path.exists()).cloned().ok_or_else(|| {
        let [zst, gz, _] = ENDINGS;
        Error::file(&names[2], format!("is not there, nor {part}.{gz} or {part}.{zst}: give the folder above"))
    })
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
