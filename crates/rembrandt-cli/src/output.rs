//! Results on standard output.

use std::io::{self, Write};

use indicatif::HumanCount;
use rembrandt::data::{Dataset, RowScale};
use rembrandt::{Examples, Side};
use serde_json::Value;

pub use rembrandt_bench::text::{count, facts, short, size};

/// Prints text as it is. A reader that went away is an error of its own kind, see [`failure`](crate::failure).
pub fn print(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(visible(text).as_bytes())?;
    Ok(out.flush()?)
}

/// Text in which control characters are written out, but for the ends of lines and tabs: a name from a file must not command a
/// terminal.
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\t' => shown.push(character),
            control if control.is_control() => shown.extend(control.escape_debug()),
            other => shown.push(other),
        }
    }
    shown
}

/// Prints one JSON value on one line.
pub fn print_json(value: &Value) -> anyhow::Result<()> {
    print(&format!("{value}\n"))
}

/// Prints a result, as JSON or for people.
pub fn show(json: bool, value: impl FnOnce() -> Value, text: impl FnOnce() -> String) -> anyhow::Result<()> {
    if json { print_json(&value()) } else { print(&text()) }
}

/// The two facts that every command tells of data: their size and their entries.
pub fn about(data: &Dataset) -> [(&'static str, String); 2] {
    let entries = format!("{} of features, {} of labels", HumanCount(data.nnz(Side::X)), HumanCount(data.nnz(Side::Y)));
    [("data", size(data.shape())), ("entries", entries)]
}

/// The scaling of the rows of features, in words.
pub fn divided(scale: RowScale) -> &'static str {
    match scale {
        RowScale::None => "as they are",
        RowScale::Sum => "divided by their sum",
        RowScale::Length => "divided by their length",
    }
}
