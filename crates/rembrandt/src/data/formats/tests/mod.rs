//! Tests of the readers as a whole; what is particular to one part is tested there.

mod errors;
mod files;
mod formats;
mod properties;
mod real;
mod vocabulary;

use crate::Run;
use std::path::Path;

use super::source::{self, Sizes};
use super::{Format, Ids, ReadOptions, Reading, Summary, read};
use crate::Result;
use crate::data::Rows;

/// One example, easy to compare and to print.
#[derive(Clone, Debug, PartialEq)]
struct Row {
    labels: Vec<u32>,
    features: Vec<(u32, f32)>,
    weight: f32,
}

fn row(labels: &[u32], features: &[(u32, f32)]) -> Row {
    Row { labels: labels.to_vec(), features: features.to_vec(), weight: 1.0 }
}

fn rows_of(batch: &Rows) -> Vec<Row> {
    let (x, y) = (batch.x.view(), batch.y.view());
    assert_eq!(x.rows(), y.rows());
    assert!(batch.weights.as_ref().is_none_or(|w| w.len() == x.rows()));
    let features = |i| x.entries(i).map(|(id, value)| (id as u32, value)).collect();
    let weight = |i: usize| batch.weights.as_ref().map_or(1.0, |w| w[i]);
    (0..x.rows()).map(|i| Row { labels: y.row(i).0.to_vec(), features: features(i), weight: weight(i) }).collect()
}

fn read_sized(bytes: &[u8], options: &ReadOptions, sizes: Sizes) -> Result<(Vec<Row>, Summary)> {
    read_all(bytes, &Reading { sizes, ..Reading::new(Path::new("data.txt"), options) })
}

fn read_all(bytes: &[u8], reading: &Reading<'_>) -> Result<(Vec<Row>, Summary)> {
    let mut rows = Vec::new();
    let source = source::unpack(bytes, reading.path)?;
    let summary = read(source, reading, &mut Run::default(), &mut |batch| {
        rows.extend(rows_of(&batch));
        Ok(())
    })?;
    assert_eq!(rows.len(), summary.shape.n);
    Ok((rows, summary))
}

/// Reads with default options and blocks.
fn read_text(text: impl AsRef<[u8]>) -> Result<(Vec<Row>, Summary)> {
    read_sized(text.as_ref(), &ReadOptions::default(), Sizes::default())
}

fn read_as(text: impl AsRef<[u8]>, format: Format, ids: Ids) -> Result<(Vec<Row>, Summary)> {
    read_sized(text.as_ref(), &ReadOptions { format, ids, ..ReadOptions::default() }, Sizes::default())
}

/// The message for a file that must be refused.
fn refusal(text: impl AsRef<[u8]>) -> String {
    message(read_text(text))
}

fn message(outcome: Result<(Vec<Row>, Summary)>) -> String {
    outcome.expect_err("the file must be refused").to_string()
}

/// A pool of `threads` threads.
fn pool(threads: usize) -> rayon::ThreadPool {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads can be started")
}
