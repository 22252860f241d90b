//! `rembrandt compare`: every method on the same data, in one table.
//!
//! Each method is trained and tested by this program itself, in a process of its own: only so its peak memory is its
//! own, and one that takes too long can be ended. Finished rows are written down at once, so that a comparison that was
//! interrupted goes on where it was.

mod measure;
mod plan;
pub(super) mod plot;
mod report;
mod row;
mod store;

use std::fs;
use std::io::Write;
use std::path::Path;

use rembrandt::Error;
use rembrandt::data::Dataset;
use rembrandt::model::write_file;
use serde_json::{Value, json};

use self::measure::Bench;
use self::plan::Plan;
use self::row::{Outcome, Row};
use self::store::Store;
use crate::args::CompareArgs;
use crate::output::{print, print_json, table};
use crate::progress::Display;
use crate::source;

/// With fewer replicates there is no interval.
const FEWEST_REPLICATES: usize = 16;

pub fn run(args: &CompareArgs, threads: Option<u16>) -> anyhow::Result<()> {
    refuse_options(args)?;
    if let Some(report) = &args.report {
        let inputs: Vec<_> =
            [&args.train, &args.test].into_iter().cloned().chain(args.read.files().map(Path::to_owned)).collect();
        source::check_output(report, &inputs)?;
        let parent = |path: &Path| path.canonicalize().ok();
        if report.parent().and_then(parent).is_some_and(|folder| Some(folder) == parent(&args.work)) {
            return Err(Error::file(report, "is in the folder of what is under way: write it elsewhere").into());
        }
    }
    [&args.train, &args.test].into_iter().try_for_each(|path| plan::stamp(path).map(drop))?;
    let mut display = Display::new(args.quiet);
    let store = Store::open(&args.work)?;
    let prepared = Plan::prepare(args, &store, &mut display);
    display.clear();
    let plan = match prepared {
        Ok(plan) => plan,
        Err(e) => {
            store.abandon();
            return Err(e.into());
        }
    };
    let mut rows = Vec::new();
    for (i, entry) in plan.entries.iter().enumerate() {
        let key = plan.key(entry)?;
        let kept = if args.fresh { None } else { store.find(&key)? };
        let kept = kept.filter(|_| !args.keep_models || store.file(&entry.file()).exists());
        let row = match kept {
            Some(row) => {
                display.note(&format!("{}: measured before", entry.title()));
                row
            }
            None => {
                let place = (i + 1, plan.entries.len());
                let measured = Bench { plan: &plan, store: &store, threads }.measure(entry, place, &mut display);
                display.clear();
                let (row, lasting) = measured?;
                if lasting {
                    store.keep(&key, &row)?;
                }
                display.note(&row.sentence());
                row
            }
        };
        rows.push(row);
    }
    // Best first; what could not be measured last.
    rows.sort_by(|a, b| b.quality().total_cmp(&a.quality()));
    let multiclass = rows.iter().filter_map(Row::measured).any(|m| m.error.is_some());
    let whole = json!({
        "train": args.train, "test": args.test, "n": plan.shape.n, "d": plan.shape.d, "c": plan.shape.c,
        "test_examples": rows.iter().filter_map(Row::measured).map(|m| m.examples).max(),
        "multiclass": multiclass, "threads": rayon::current_num_threads(),
        "budget_seconds": args.budget.as_secs_f64(), "command": plan.command(), "rows": rows,
    });
    if let Some(path) = &args.report {
        let page = report::page(&plan, &rows, multiclass);
        write_file(path, |out| out.write_all(page.as_bytes()).map_err(Error::io(path)))?;
    }
    store.tidy(&plan)?;
    if args.json {
        print_json(&whole)?;
    } else if !args.quiet {
        print(&text(&rows, multiclass))?;
        if let Some(path) = &args.report {
            print(&format!("wrote {}\n", path.display()))?;
        }
    }
    match rows.first() {
        Some(Row { outcome: Outcome::Failed { reason }, .. }) => {
            Err(Error::Data(format!("no method could be measured; the first said: {reason}")).into())
        }
        _ => Ok(()),
    }
}

/// Refuses options that would have no effect.
fn refuse_options(args: &CompareArgs) -> rembrandt::Result<()> {
    let stream = |path: &Path| path.as_os_str() == "-";
    if stream(&args.train) || stream(&args.test) {
        return Err(Error::parameter("train", "every method reads the data, which a pipe gives once: name files"));
    }
    if args.methods.0.iter().all(|c| !c.method.embeds || c.k.is_some()) && args.k.is_some() {
        return Err(Error::parameter(
            "k",
            "is for embeddings without a k of their own, and there is none: leave it out",
        ));
    }
    if (1..FEWEST_REPLICATES).contains(&args.bootstrap) {
        let reason =
            format!("{} are too few for an interval, ask for {FEWEST_REPLICATES} or more, or 0", args.bootstrap);
        return Err(Error::Parameter { name: "bootstrap", reason });
    }
    if let Some(name) = args.read.given().filter(|_| [&args.train, &args.test].iter().all(|p| Dataset::is_cache(p))) {
        return Err(Error::parameter(name, "is for text, and cache files are not: leave it out"));
    }
    match (args.read.given(), args.columns.given()) {
        (Some(name), _) if args.text => {
            Err(Error::parameter(name, "is for sparse rows: leave it out, or leave out --text"))
        }
        (_, Some(name)) if !args.text => Err(Error::parameter(name, "is for texts: leave it out, or add --text")),
        _ => Ok(()),
    }
}

/// The table for people.
fn text(rows: &[Row], multiclass: bool) -> String {
    let metric = if multiclass { "error" } else { "P@1" };
    let head = ["method", metric, "[low, high]", "P@3", "P@5", "train", "memory", "model", "predict", ""];
    let head = head.map(str::to_owned);
    let line = |row: &Row| match &row.outcome {
        Outcome::Measured(m) => {
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
        Outcome::Failed { reason } => {
            let mut cells: [String; 10] = std::array::from_fn(|_| String::new());
            cells[0] = row.title();
            cells[9] = reason.clone();
            cells
        }
    };
    let all: Vec<_> = std::iter::once(head).chain(rows.iter().map(line)).collect();
    table(&all)
}

/// A value of JSON that a child process printed.
fn number(value: &Value, key: &str) -> rembrandt::Result<f64> {
    value[key].as_f64().ok_or_else(|| Error::Data(format!("the result of a run has no {key}: another program ran")))
}

/// The length of a file.
fn length(path: &Path) -> rembrandt::Result<u64> {
    Ok(fs::metadata(path).map_err(Error::io(path))?.len())
}
