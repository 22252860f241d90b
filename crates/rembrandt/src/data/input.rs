//! Input for prediction: any supported file as a stream of batches, with ids as the model has numbered them.

mod cached;
#[cfg(test)]
mod tests;

use std::io::Read;
use std::path::Path;

use super::formats::{ReadOptions, read_rows_with_vocabulary, read_rows_with_vocabulary_from};
use super::records::{RecordOptions, Records, read_records_with_vocabulary, read_records_with_vocabulary_from};
use super::{Dataset, NameIndex, Rows, Vocabulary};
use crate::linalg::csr::CsrRef;
use crate::{Error, Result, Run};

/// Some examples in the order of the file. Labels that the model does not know have numbers beyond those it knows.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// Examples with features.
    Rows {
        /// Features of each example, those that the model knows.
        x: CsrRef<'a>,
        /// Labels of each example; none if the file has none.
        y: CsrRef<'a>,
        /// Weight of each example; absent when all are 1.
        weights: Option<&'a [f32]>,
    },
    /// Texts, for the featurizer of the model.
    Texts {
        /// The text of each example.
        texts: &'a [&'a str],
        /// The id of each record; absent where they have none.
        ids: Option<&'a [&'a str]>,
        /// Labels of each example; none if the file has none.
        labels: CsrRef<'a>,
        /// Weight of each example; absent when all are 1.
        weights: Option<&'a [f32]>,
    },
}

impl Input<'_> {
    /// Number of examples.
    pub fn len(&self) -> usize {
        self.labels().rows()
    }

    /// Whether there is no example.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Labels of each example, of either kind.
    pub fn labels(&self) -> CsrRef<'_> {
        match self {
            Input::Rows { y, .. } => *y,
            Input::Texts { labels, .. } => *labels,
        }
    }
}

/// The input that a model takes, with its vocabulary.
#[derive(Clone, Debug)]
pub enum InputKind {
    /// Features that have numbers or words for ids: a text file or a cache file. The options are for text.
    Sparse(ReadOptions, Vocabulary),
    /// Records with a text each, and the names of the labels.
    Records(RecordOptions, NameIndex),
}

/// Takes batches in the order of the file.
pub type InputSink<'a> = dyn FnMut(Input<'_>) -> Result<()> + 'a;

/// Streams the examples of a file, in order, into `sink`, and tells how many there are; the path `-` is standard input.
///
/// A batch is about a megabyte of text or one chunk of a cache file, so memory stays small for any length of the file.
/// Batches do not depend on the number of threads. In a cache file, a side that the model knows by words is looked up
/// by the names that the file has.
///
/// ```
/// use rembrandt::Run;
/// use rembrandt::data::records::RecordOptions;
/// use rembrandt::data::{Input, InputKind, NameIndex, read_input_from};
/// let kind = InputKind::Records(RecordOptions::default(), NameIndex::new(["wine"])?);
/// let file = "{\"text\": \"a dry white\", \"labels\": [\"wine\"]}\n{\"text\": \"a red one\"}\n";
/// let mut seen = Vec::new();
/// let n = read_input_from(file.as_bytes(), "pipe".as_ref(), &kind, &mut Run::default(), &mut |input| {
///     if let Input::Texts { texts, labels, .. } = input {
///         seen.extend(texts.iter().enumerate().map(|(i, text)| (text.to_string(), labels.row(i).0.len())));
///     }
///     Ok(())
/// })?;
/// assert_eq!(n, 2);
/// assert_eq!(seen, [("a dry white".to_owned(), 1), ("a red one".to_owned(), 0)]);
/// # Ok::<(), rembrandt::Error>(())
/// ```
///
/// # Errors
/// If the file cannot be read, has a bad line, or is of another kind than the model takes. [`Error::Cancelled`] when
/// `run` was told to stop, and whatever `sink` returns.
pub fn read_input(path: &Path, kind: &InputKind, run: &mut Run<'_>, sink: &mut InputSink<'_>) -> Result<u64> {
    let cache = path.as_os_str() != "-" && Dataset::is_cache(path);
    match kind {
        InputKind::Sparse(_, vocabulary) if cache => cached::read(path, vocabulary, run, sink),
        InputKind::Sparse(options, vocabulary) => {
            let summary = read_rows_with_vocabulary(path, options, vocabulary, run, &mut |rows| sink(rows_of(&rows)))?;
            summary.notes.into_iter().for_each(|note| run.note(note));
            Ok(summary.shape.n as u64)
        }
        InputKind::Records(..) if cache => {
            Err(Error::file(path, "this is a cache file, which holds features, but the model takes texts"))
        }
        InputKind::Records(options, names) => {
            let mut texts = |records: &Records, labels: CsrRef<'_>| {
                sink(texts_of(records, labels, &records.texts(), records.ids().as_deref()))
            };
            Ok(read_records_with_vocabulary(path, options, names, run, &mut texts)?.records)
        }
    }
}

/// Like [`read_input`], from any reader of text; `name` stands for the file in messages.
///
/// # Errors
/// As [`read_input`].
pub fn read_input_from(
    reader: impl Read + Send,
    name: &Path,
    kind: &InputKind,
    run: &mut Run<'_>,
    sink: &mut InputSink<'_>,
) -> Result<u64> {
    match kind {
        InputKind::Sparse(options, vocabulary) => {
            let mut rows = |rows: Rows| sink(rows_of(&rows));
            Ok(read_rows_with_vocabulary_from(reader, name, options, vocabulary, run, &mut rows)?.shape.n as u64)
        }
        InputKind::Records(options, names) => {
            let mut texts = |records: &Records, labels: CsrRef<'_>| {
                sink(texts_of(records, labels, &records.texts(), records.ids().as_deref()))
            };
            Ok(read_records_with_vocabulary_from(reader, name, options, names, run, &mut texts)?.records)
        }
    }
}

fn rows_of(rows: &Rows) -> Input<'_> {
    Input::Rows { x: rows.x.view(), y: rows.y.view(), weights: rows.weights.as_deref() }
}

fn texts_of<'a>(
    records: &'a Records,
    labels: CsrRef<'a>,
    texts: &'a [&'a str],
    ids: Option<&'a [&'a str]>,
) -> Input<'a> {
    Input::Texts { texts, ids, labels, weights: records.weights() }
}
