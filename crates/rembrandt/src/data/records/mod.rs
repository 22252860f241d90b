//! Records with a text and labels, from TSV, CSV and JSON lines, plain or packed.
//!
//! | format | a record | recognised by |
//! |---|---|---|
//! | [`Jsonl`](RecordFormat::Jsonl) | `{"text": "…", "labels": ["a", "b"]}`, one a line, or all in one list | a brace at the beginning |
//! | [`Tsv`](RecordFormat::Tsv) | a line of fields with tabs between them, without quotes | a tab in the first line |
//! | [`Csv`](RecordFormat::Csv) | fields with commas; quoted ones may hold commas, newlines and doubled quotes | neither |
//! | [`Lines`](RecordFormat::Lines) | a line, whatever is in it: the text | never, it must be chosen |
//!
//! The first line names the columns, unless all columns are chosen by number. Without a choice, the column `text` holds
//! the text and the column `labels`, if there is one, the labels. Labels are trimmed, and one that is repeated counts
//! once; a record may have none, as what is to be predicted has none. In JSON the labels are a list of strings or numbers
//! or a string with separators, and in a column of a table they may be JSON as well. A key of JSON that is not there is taken
//! for a path, `doc.title`. A blank line is a record without a text where lines have one column or the first does not name
//! the columns, and nothing otherwise, nor in JSON. gzip and zstd are recognised by their first bytes.
//!
//! ```
//! use rembrandt::Run;
//! use rembrandt::data::records::{RecordOptions, read_records_from};
//! let file = "text,labels\n\"red, dry wine\",\"wine,red\"\nno idea,\n";
//! let mut texts = Vec::new();
//! let options = RecordOptions::default();
//! let summary = read_records_from(file.as_bytes(), "wines.csv".as_ref(), &options, &mut Run::default(), &mut |records| {
//!     texts.extend(records.texts().into_iter().map(str::to_owned));
//!     Ok(())
//! })?;
//! assert_eq!(texts, ["red, dry wine", "no idea"]);
//! assert_eq!((summary.records, summary.labelled), (2, 1));
//! # Ok::<(), rembrandt::Error>(())
//! ```

mod array;
mod batch;
mod layout;
mod lines;
mod quoted;
mod read;
#[cfg(test)]
mod tests;
mod vocabulary;

use std::fmt;
use std::io::Read;
use std::path::Path;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::formats::source::{self, Sizes};
use super::token::show;
use crate::{Error, Result, Run};

pub use batch::Records;
pub use layout::Selector;
use read::read;
pub(super) use vocabulary::label_ids;
pub use vocabulary::{NumberedRecordSink, read_records_with_vocabulary, read_records_with_vocabulary_from};

/// Takes batches of records in the order of the file.
pub type RecordSink<'a> = dyn FnMut(Records) -> Result<()> + 'a;

/// The format of a file of records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RecordFormat {
    /// Found out from the first line.
    #[default]
    Auto,
    /// Fields with tabs between them.
    Tsv,
    /// Fields with commas between them.
    Csv,
    /// An object of JSON a line, or a list of objects.
    Jsonl,
    /// A text a line, without columns, labels or names.
    Lines,
}

impl FromStr for RecordFormat {
    type Err = Error;

    fn from_str(text: &str) -> Result<RecordFormat> {
        match text {
            "auto" => Ok(RecordFormat::Auto),
            "tsv" => Ok(RecordFormat::Tsv),
            "csv" => Ok(RecordFormat::Csv),
            "jsonl" => Ok(RecordFormat::Jsonl),
            "lines" => Ok(RecordFormat::Lines),
            _ => Err(Error::parameter("format", format!("{} is not one of auto, tsv, csv, jsonl, lines", show(text)))),
        }
    }
}

impl fmt::Display for RecordFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RecordFormat::Auto => "auto",
            RecordFormat::Tsv => "tsv",
            RecordFormat::Csv => "csv",
            RecordFormat::Jsonl => "jsonl",
            RecordFormat::Lines => "lines",
        })
    }
}

/// How to read a file of records. The default reads files whose columns are called `text` and `labels`.
///
/// ```
/// use rembrandt::data::records::{RecordOptions, Selector};
/// // Lines of labels, a tab and a text, without names of columns.
/// let options = RecordOptions::new(Selector::Number(2)).with(|o| o.labels = Some(Selector::Number(1)));
/// assert!(!options.has_header());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct RecordOptions {
    /// The format of the file.
    pub format: RecordFormat,
    /// The column of the text. Plain lines have no columns: leave it at `text` for them.
    pub text: Selector,
    /// The column of the labels. Absent: the one called `labels`, if there is one.
    pub labels: Option<Selector>,
    /// The column of what each record is called. Absent: records have no ids.
    #[serde(skip)]
    pub id: Option<Selector>,
    /// The column of the weights. Absent: all weights are 1.
    pub weight: Option<Selector>,
    /// Whether the first line names the columns. Absent: unless all columns are chosen by number.
    pub header: Option<bool>,
    /// Separator of labels; empty when a record has at most one label.
    pub separator: String,
    /// The character between the fields of CSV. Absent: a comma.
    pub delimiter: Option<char>,
    /// Whether a model remembers these from its training data: then the file may lack the column of the labels, and be JSON or
    /// plain lines, where columns have other names or there are none.
    #[serde(skip)]
    pub remembered: bool,
}

impl Default for RecordOptions {
    fn default() -> RecordOptions {
        RecordOptions::new(Selector::Name("text".into()))
    }
}

setter!(RecordOptions);

impl RecordOptions {
    /// The default, with the text in this column.
    pub fn new(text: Selector) -> RecordOptions {
        let format = RecordFormat::Auto;
        let (labels, id, weight, header, delimiter) = (None, None, None, None, None);
        RecordOptions { format, text, labels, id, weight, header, separator: ",".into(), delimiter, remembered: false }
    }

    /// The part that holds for other files as well: all but the format, the ids, and the weights, which only training needs.
    pub fn remembered(&self) -> RecordOptions {
        let format = RecordFormat::Auto;
        let other = RecordOptions { format, id: None, weight: None, remembered: true, ..self.clone() };
        // The name of the weights may be all that told of a header.
        let header = if other.has_header() == self.has_header() { self.header } else { Some(self.has_header()) };
        RecordOptions { header, ..other }
    }

    /// Whether a model has nothing to remember of them.
    pub(crate) fn are_usual(&self) -> bool {
        *self == RecordOptions { remembered: self.remembered, ..RecordOptions::default() }
    }

    /// Whether the first line is taken for the names of the columns.
    pub fn has_header(&self) -> bool {
        let named = |selector: &Selector| matches!(selector, Selector::Name(_));
        let mut chosen = self.columns().into_iter().filter_map(|(_, selector)| selector);
        self.format != RecordFormat::Lines && self.header.unwrap_or_else(|| chosen.any(named))
    }

    /// The columns that are chosen, by the names of the parameters.
    fn columns(&self) -> [(&'static str, Option<&Selector>); 4] {
        [
            ("text", Some(&self.text)),
            ("labels", self.labels.as_ref()),
            ("id", self.id.as_ref()),
            ("weight", self.weight.as_ref()),
        ]
    }

    /// Refuses a choice that no file can fulfil.
    fn check(&self) -> Result<()> {
        match self.delimiter {
            Some('"' | '\n' | '\r') => {
                return Err(Error::parameter("delimiter", "a quote or the end of a line cannot stand between fields"));
            }
            Some(_) if !self.remembered && !matches!(self.format, RecordFormat::Auto | RecordFormat::Csv) => {
                let reason = format!("is for csv, and the format is {}; leave one of them out", self.format);
                return Err(Error::parameter("delimiter", reason));
            }
            _ => {}
        }
        if self.format == RecordFormat::Lines {
            return if self.remembered && self.id.is_none() { Ok(()) } else { self.check_lines() };
        }
        for (what, selector) in self.columns() {
            match selector {
                Some(Selector::Number(0)) => return Err(Error::parameter(what, "columns are counted from 1")),
                Some(Selector::Name(_)) if self.header == Some(false) && self.format != RecordFormat::Jsonl => {
                    return Err(Error::parameter(what, "without a line of names, choose columns by number"));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Refuses to choose columns where there are none.
    fn check_lines(&self) -> Result<()> {
        let chosen = [
            ("text", self.text != Selector::Name("text".into())),
            ("labels", self.labels.is_some()),
            ("id", self.id.is_some()),
            ("weight", self.weight.is_some()),
            ("header", self.header == Some(true)),
        ];
        match chosen.iter().find(|(_, chosen)| *chosen) {
            Some((name, _)) => Err(Error::parameter(name, "plain lines have no columns; leave it out")),
            None => Ok(()),
        }
    }
}

/// Counts of a file of records after reading.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecordSummary {
    /// Number of records.
    pub records: u64,
    /// Records with at least one label.
    pub labelled: u64,
    /// The format of the file.
    pub format: RecordFormat,
}

/// Streams the records of a file, in order, into `sink` in batches; the path `-` is standard input.
///
/// Lines are parsed on rayon's current pool, CSV on the caller's thread. Records, batches and errors do not depend on
/// the number of threads.
///
/// # Errors
/// If the file cannot be read, lacks a column, or has a bad line: the first one is named. [`Error::Cancelled`] when
/// `run` was told to stop, and whatever `sink` returns.
pub fn read_records(
    path: &Path,
    options: &RecordOptions,
    run: &mut Run<'_>,
    sink: &mut RecordSink<'_>,
) -> Result<RecordSummary> {
    options.check()?;
    read(source::open(path)?, path, options, Sizes::default(), run, sink)
}

/// Like [`read_records`], from any reader; `name` stands for the file in messages.
///
/// # Errors
/// As [`read_records`].
pub fn read_records_from(
    reader: impl Read + Send,
    name: &Path,
    options: &RecordOptions,
    run: &mut Run<'_>,
    sink: &mut RecordSink<'_>,
) -> Result<RecordSummary> {
    options.check()?;
    read(source::unpack(reader, name)?, name, options, Sizes::default(), run, sink)
}
