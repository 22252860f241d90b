//! Every method on the same data, in one table.
//!
//! Each method is trained and tested by the program itself, in a process of its own: only so its peak memory is its
//! own, and one that takes too long can be ended. Finished rows are written down at once, so that a comparison that was
//! interrupted goes on where it was.

mod measure;
mod methods;
mod plan;
mod report;
mod row;
mod store;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rembrandt::data::formats::ReadOptions;
use rembrandt::{Error, Result, Shape};
use serde_json::{Value, json};

use self::measure::Bench;
use self::plan::Plan;
use self::row::{MethodOutcome, MethodRow};
use self::store::ResultStore;
use crate::text;
use crate::watch::Watcher;

pub use methods::{ComparedMethod, Contestant, METHODS};

/// With fewer replicates there is no interval.
const FEWEST_REPLICATES: usize = 16;

/// The settings of a comparison.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// Training data.
    pub train: PathBuf,
    /// Labelled examples to test on.
    pub test: PathBuf,
    /// Whether both are texts, not sparse rows.
    pub text: bool,
    /// The methods.
    pub contestants: Vec<Contestant>,
    /// Dimensions of the embeddings that have no k of their own; absent, each chooses.
    pub k: Option<usize>,
    /// Time for the training of each method; what takes longer is given up.
    pub budget: Duration,
    /// Folder for what is under way.
    pub work: PathBuf,
    /// Whether to measure again what the folder knows.
    pub fresh: bool,
    /// Whether model files stay in the folder.
    pub keep_models: bool,
    /// Replicates of the bootstrap behind the intervals; 0 for none.
    pub bootstrap: usize,
    /// Seed of everything that is random.
    pub seed: u64,
    /// How sparse rows are read.
    pub read: ReadOptions,
    /// The same, as it was typed.
    pub read_options: Vec<String>,
    /// Files with names that are read besides the data.
    pub name_files: Vec<PathBuf>,
    /// Further options of `train` and of `eval`.
    pub train_options: Vec<String>,
    /// Further options of `eval`.
    pub eval_options: Vec<String>,
    /// Threads of each process; absent, as many as it likes.
    pub threads: Option<u16>,
    /// The program that trains and tests: the `rembrandt` command line.
    pub program: PathBuf,
    /// How a process of it is started: its name and what comes before a command.
    pub command: Vec<OsString>,
    /// Its options as typed, to be repeated by others.
    pub words: Vec<String>,
}

impl Comparison {
    /// Checks what can be checked before any work.
    pub fn check(&self) -> Result<()> {
        if self.contestants.iter().all(|c| c.method.embedding.is_none() || c.k.is_some()) && self.k.is_some() {
            return Err(Error::parameter(
                "k",
                "is for embeddings without a k of their own, and there is none: leave it out",
            ));
        }
        if (1..FEWEST_REPLICATES).contains(&self.bootstrap) {
            let reason =
                format!("{} are too few for an interval, ask for {FEWEST_REPLICATES} or more, or 0", self.bootstrap);
            return Err(Error::Parameter { name: "bootstrap", reason });
        }
        [&self.train, &self.test].into_iter().try_for_each(|path| plan::stamp(path).map(drop))
    }

    /// Measures every method that has not been measured before.
    pub fn run(&self, watcher: &mut dyn Watcher) -> Result<Compared<'_>> {
        self.check()?;
        let store = ResultStore::open(&self.work)?;
        let prepared = Plan::prepare(self, &store, watcher);
        watcher.clear();
        let plan = match prepared {
            Ok(plan) => plan,
            Err(e) => {
                store.abandon();
                return Err(e);
            }
        };
        let mut rows = Vec::new();
        for (i, entry) in plan.entries.iter().enumerate() {
            let key = plan.key(entry)?;
            let kept = if self.fresh { None } else { store.find(&key)? };
            let kept = kept.filter(|_| !self.keep_models || store.file(&entry.file()).exists());
            let row = match kept {
                Some(row) => {
                    watcher.note(&format!("{}: measured before", entry.title()));
                    row
                }
                None => {
                    let place = (i + 1, plan.entries.len());
                    let measured = Bench { plan: &plan, store: &store }.measure(entry, place, watcher);
                    watcher.clear();
                    let (row, lasting) = measured?;
                    if lasting {
                        store.keep(&key, &row)?;
                    }
                    watcher.note(&row.sentence());
                    row
                }
            };
            rows.push(row);
        }
        // Best first; what could not be measured last.
        rows.sort_by(|a, b| b.quality().total_cmp(&a.quality()));
        let multiclass = rows.iter().filter_map(MethodRow::measured).any(|m| m.error.is_some());
        store.tidy(&plan)?;
        Ok(Compared { of: self, shape: plan.shape, rows, multiclass })
    }

    /// The command that repeats the comparison.
    fn command(&self) -> String {
        let words: Vec<String> = self.words.iter().map(|word| plan::quoted(word)).collect();
        format!("rembrandt {}", words.join(" "))
    }
}

/// The result of a comparison.
pub struct Compared<'a> {
    of: &'a Comparison,
    /// Of the training data, unless they are texts.
    shape: Shape,
    /// The best first.
    rows: Vec<MethodRow>,
    multiclass: bool,
}

impl Compared<'_> {
    /// A failure if no method could be measured.
    pub fn check(&self) -> Result<()> {
        match self.rows.first() {
            Some(MethodRow { outcome: MethodOutcome::Failed { reason }, .. }) => {
                Err(Error::Data(format!("no method could be measured; the first said: {reason}")))
            }
            _ => Ok(()),
        }
    }

    /// All that was measured.
    pub fn json(&self) -> Value {
        let Compared { of, shape, rows, multiclass } = self;
        json!({
            "train": of.train, "test": of.test, "n": shape.n, "d": shape.d, "c": shape.c,
            "test_examples": rows.iter().filter_map(MethodRow::measured).map(|m| m.examples).max(),
            "multiclass": multiclass, "threads": rayon::current_num_threads(),
            "budget_seconds": of.budget.as_secs_f64(), "command": of.command(), "rows": rows,
        })
    }

    /// A page with table and plots that needs no other file.
    pub fn page(&self) -> String {
        report::page(self)
    }

    /// The table for people.
    pub fn table(&self) -> String {
        let metric = if self.multiclass { "error" } else { "P@1" };
        let head = ["method", metric, "[low, high]", "P@3", "P@5", "train", "memory", "model", "predict", ""];
        let head = head.map(str::to_owned);
        let line = |row: &MethodRow| match &row.outcome {
            MethodOutcome::Measured(m) => {
                let [value, interval] = m.headline();
                [
                    row.title(),
                    value,
                    interval,
                    row::percent_or_none(m.p3),
                    row::percent_or_none(m.p5),
                    row::seconds(m.train_seconds),
                    m.peak_memory.map_or_else(String::new, row::bytes),
                    row::bytes(m.model_bytes),
                    row::microseconds(m.predict_microseconds),
                    String::new(),
                ]
            }
            MethodOutcome::Failed { reason } => {
                let mut cells: [String; 10] = std::array::from_fn(|_| String::new());
                cells[0] = row.title();
                cells[9] = reason.clone();
                cells
            }
        };
        let all: Vec<_> = std::iter::once(head).chain(self.rows.iter().map(line)).collect();
        text::table(&all)
    }
}

/// A value of JSON that a child process printed.
fn number(value: &Value, key: &str) -> Result<f64> {
    value[key].as_f64().ok_or_else(|| Error::Data(format!("the result of a run has no {key}: another program ran")))
}

/// The length of a file.
fn length(path: &Path) -> Result<u64> {
    Ok(fs::metadata(path).map_err(Error::io(path))?.len())
}
