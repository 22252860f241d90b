//! Examples from text files: the extreme-classification format, svmlight and Vowpal Wabbit, plain or packed.
//!
//! | format | a line | recognised by |
//! |---|---|---|
//! | [`Xmc`](Format::Xmc) | `label,label id:value id:value …` | a first line `n d c` |
//! | [`Vw`](Format::Vw) | `label,label importance 'tag\|namespace feature:value feature …` | a bar in the first line |
//! | [`Svmlight`](Format::Svmlight) | `label,label id:value id:value … # comment` | neither |
//!
//! In all of them a row may have no labels or no features, spaces and tabs separate, ids come in any order, lines may
//! end with a carriage return, and entries with value 0 are dropped. Ids are kept as they stand, so a file that counts
//! from 1 leaves id 0 empty. gzip and zstd are recognised by their first bytes, whatever the file is called.
//!
//! - **XMC and svmlight.** A line that starts with a space, or whose first word contains a colon, has no labels. An id
//!   that occurs twice in a line is an error. A blank line is an example in XMC, except after the last one that the
//!   header promises, and is skipped in svmlight, as are comments and `qid:…` after the labels.
//! - **Vowpal Wabbit.** The importance becomes the weight of the example, the tag is dropped, the weight of a namespace
//!   multiplies its values. Features in a namespace are called `namespace^feature`. A feature that occurs more than
//!   once in a line counts with the sum of its values, as it does there.
//! - **Words.** Labels, features or both may be words in place of numbers; they are numbered in the order in which they
//!   first appear. A word without a colon has the value 1; one that contains colons is split at the last.
//!
//! ```
//! use rembrandt::Run;
//! use rembrandt::data::formats::{ReadOptions, read_rows_from};
//! let text = "sports,news goal:2 match\nnews vote\n";
//! let mut labels = 0;
//! let summary = read_rows_from(
//!     text.as_bytes(),
//!     "example".as_ref(),
//!     &ReadOptions::default(),
//!     &mut Run::default(),
//!     &mut |rows| {
//!         labels += rows.y.nnz();
//!         Ok(())
//!     },
//! )?;
//! assert_eq!((summary.shape.n, summary.shape.d, summary.shape.c, labels), (2, 3, 2, 3));
//! assert_eq!(summary.label_names.unwrap(), ["sports", "news"]);
//! # Ok::<(), rembrandt::Error>(())
//! ```

mod batch;
mod column;
mod detect;
mod header;
mod names;
mod number;
mod pipeline;
mod recognise;
mod row_builder;
pub(super) mod source;
mod sparse;
#[cfg(test)]
mod tests;
mod vw;

use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::token::show;
use super::{Names, Rows, Shape, Side, Vocabulary};
use crate::{Error, Result, Run};

pub(super) use batch::{lines_of, text_of};
pub(super) use column::finite;
use names::Naming;
pub use names::read_names;
pub use recognise::{Recognised, recognise};
use source::{Sizes, Source};

/// Takes batches of examples in the order of the file.
pub type Sink<'a> = dyn FnMut(Rows) -> Result<()> + 'a;

/// How to read a text file. The default finds out by itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct ReadOptions {
    /// The format of the file.
    pub format: Format,
    /// How ids are written.
    pub ids: Ids,
    /// A file with the names of the labels, one a line; without it, `labels.txt` next to the data is used if it fits.
    pub label_names: Option<PathBuf>,
    /// A file with the names of the features, one a line; without it, `features.txt` next to the data is used if it
    /// fits.
    pub feature_names: Option<PathBuf>,
}

setter!(ReadOptions);

/// The format of a text file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// Found out from the first line.
    #[default]
    Auto,
    /// The format of the extreme-classification repository; the header is optional.
    Xmc,
    /// svmlight, also called libsvm, with any number of labels.
    Svmlight,
    /// Vowpal Wabbit.
    Vw,
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(text: &str) -> Result<Format> {
        match text {
            "auto" => Ok(Format::Auto),
            "xmc" => Ok(Format::Xmc),
            "svmlight" | "libsvm" => Ok(Format::Svmlight),
            "vw" => Ok(Format::Vw),
            _ => {
                let reason = format!("{} is not one of auto, xmc, svmlight, vw", show(text));
                Err(Error::parameter("format", reason))
            }
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Format::Auto => "auto",
            Format::Xmc => "xmc",
            Format::Svmlight => "svmlight",
            Format::Vw => "vw",
        })
    }
}

/// How labels and features are identified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ids {
    /// By words on the side, labels or features, on which the beginning of the file has an id that is no number; in a
    /// file with a header, the first id decides.
    #[default]
    Auto,
    /// By numbers from 0.
    Numbers,
    /// By words, numbered in the order of first appearance.
    Words,
}

impl FromStr for Ids {
    type Err = Error;

    fn from_str(text: &str) -> Result<Ids> {
        match text {
            "auto" => Ok(Ids::Auto),
            "numbers" => Ok(Ids::Numbers),
            "words" => Ok(Ids::Words),
            _ => Err(Error::parameter("ids", format!("{} is not one of auto, numbers, words", show(text)))),
        }
    }
}

impl fmt::Display for Ids {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Ids::Auto => "auto",
            Ids::Numbers => "numbers",
            Ids::Words => "words",
        })
    }
}

/// Counts of a file after reading.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Summary {
    /// Numbers of examples, features and labels: from the header, the names, or the ids that occur.
    pub shape: Shape,
    /// The format of the file.
    pub format: Format,
    /// The name of each label, if known.
    pub label_names: Option<Vec<String>>,
    /// The name of each feature, if known.
    pub feature_names: Option<Vec<String>>,
    /// Whether the labels are written as words, not as numbers.
    pub label_words: bool,
    /// Whether the features are written as words, not as numbers.
    pub feature_words: bool,
    /// Sentences for the user about what was decided without asking.
    pub notes: Vec<String>,
    /// Bytes of text, unpacked.
    pub bytes: u64,
    /// Whether a header says how many features and labels there are.
    pub header: bool,
}

impl Summary {
    /// Takes the names.
    pub(super) fn take_names(&mut self) -> Names {
        let (labels, features) = (self.label_names.take(), self.feature_names.take());
        Names { labels, features, label_words: self.label_words, feature_words: self.feature_words }
    }
}

/// Streams the examples of a file, in order, into `sink` in batches; the path `-` is standard input.
///
/// Unpacking has a thread of its own and parsing uses the current rayon pool; `watch` and `sink` are called on the
/// caller's thread. Rows, batches and errors do not depend on the number of threads. Memory is that of a few blocks of
/// a megabyte per thread, plus the words if ids are words. When reading fails, `sink` may already have had the rows of
/// earlier blocks.
///
/// # Errors
/// If the file cannot be read, is no text, or has a bad line: the first one is named. [`Error::Cancelled`] when `watch`
/// returns `false`, and whatever `sink` returns.
pub fn read_rows(path: &Path, options: &ReadOptions, run: &mut Run<'_>, sink: &mut Sink<'_>) -> Result<Summary> {
    let folder = (path.as_os_str() != "-").then(|| path.parent().unwrap_or(Path::new("")));
    read(source::open(path)?, &Reading { folder, ..Reading::new(path, options) }, run, sink)
}

/// Like [`read_rows`], from any reader; `name` stands for the file in messages, and no side files are looked for.
///
/// # Errors
/// As [`read_rows`].
pub fn read_rows_from(
    reader: impl Read + Send,
    name: &Path,
    options: &ReadOptions,
    run: &mut Run<'_>,
    sink: &mut Sink<'_>,
) -> Result<Summary> {
    read(source::unpack(reader, name)?, &Reading::new(name, options), run, sink)
}

/// Like [`read_rows`], with the ids of a model: for data to predict or to evaluate on.
///
/// Features that the model does not know are dropped; memory does not grow with them. Labels that it does not know are
/// kept, with numbers from the number of known labels on: words are numbered in the order of first appearance, numbers
/// stay as they are. A file without any labels will do, a header may promise other numbers of features and labels than
/// the model has, and files with names are not looked for. The summary counts the labels of the model and of the file,
/// and has no names.
///
/// With [`Ids::Auto`], a side that the model knows by words may hold only numbers if all those at the beginning of the
/// file are among the words.
///
/// ```
/// use rembrandt::Run;
/// use rembrandt::data::formats::{ReadOptions, read_rows_with_vocabulary_from};
/// use rembrandt::data::{NameIndex, Vocabulary, VocabularyIds};
/// let vocabulary = Vocabulary {
///     features: VocabularyIds::Words(NameIndex::new(["goal", "vote"])?),
///     labels: VocabularyIds::Words(NameIndex::new(["news", "sports"])?),
/// };
/// let text = "sports,chess goal:2 check\n vote\n";
/// let (mut features, mut labels) = (Vec::new(), Vec::new());
/// read_rows_with_vocabulary_from(
///     text.as_bytes(),
///     "example".as_ref(),
///     &ReadOptions::default(),
///     &vocabulary,
///     &mut Run::default(),
///     &mut |rows| {
///         features.extend_from_slice(rows.x.view().ids);
///         labels.extend_from_slice(rows.y.view().ids);
///         Ok(())
///     },
/// )?;
/// assert_eq!((features, labels), (vec![0, 1], vec![1, 2]));
/// # Ok::<(), rembrandt::Error>(())
/// ```
///
/// # Errors
/// As [`read_rows`]; and if ids are numbers where the model knows words, or words where it knows numbers.
pub fn read_rows_with_vocabulary(
    path: &Path,
    options: &ReadOptions,
    vocabulary: &Vocabulary,
    run: &mut Run<'_>,
    sink: &mut Sink<'_>,
) -> Result<Summary> {
    let reading = Reading { vocabulary: Some(vocabulary), ..Reading::new(path, options) };
    reading.check()?;
    read(source::open(path)?, &reading, run, sink)
}

/// Like [`read_rows_with_vocabulary`], from any reader; `name` stands for the file in messages.
///
/// # Errors
/// As [`read_rows_with_vocabulary`].
pub fn read_rows_with_vocabulary_from(
    reader: impl Read + Send,
    name: &Path,
    options: &ReadOptions,
    vocabulary: &Vocabulary,
    run: &mut Run<'_>,
    sink: &mut Sink<'_>,
) -> Result<Summary> {
    let reading = Reading { vocabulary: Some(vocabulary), ..Reading::new(name, options) };
    reading.check()?;
    read(source::unpack(reader, name)?, &reading, run, sink)
}

/// The input and how to read it.
#[derive(Clone, Copy)]
struct Reading<'a> {
    /// The file, for messages.
    path: &'a Path,
    /// Where to look for files with names.
    folder: Option<&'a Path>,
    options: &'a ReadOptions,
    /// The ids that a model has numbered already, if it is for one.
    vocabulary: Option<&'a Vocabulary>,
    sizes: Sizes,
}

impl<'a> Reading<'a> {
    fn new(path: &'a Path, options: &'a ReadOptions) -> Reading<'a> {
        Reading { path, folder: None, options, vocabulary: None, sizes: Sizes::default() }
    }

    /// Refuses names for what has been named already.
    fn check(&self) -> Result<()> {
        let ReadOptions { label_names, feature_names, .. } = self.options;
        let given = [("label_names", label_names), ("feature_names", feature_names)];
        match given.iter().find(|(_, file)| self.vocabulary.is_some() && file.is_some()) {
            Some((name, _)) => Err(Error::parameter(name, "the model has names of its own; leave it out")),
            None => Ok(()),
        }
    }
}

fn read(source: Source<'_>, reading: &Reading<'_>, run: &mut Run<'_>, sink: &mut Sink<'_>) -> Result<Summary> {
    let Reading { path, folder, options, .. } = *reading;
    if reading.vocabulary.is_some() {
        let contents = pipeline::run(source, reading, &mut |_| Ok(()), run, sink)?;
        return Ok(contents.summary(None, None));
    }
    let label_naming = Naming::new(Side::Y, options.label_names.as_deref())?;
    let feature_naming = Naming::new(Side::X, options.feature_names.as_deref())?;
    let mut check = |syntax: &row_builder::FileSyntax| {
        label_naming.check(&syntax.labels, path)?;
        feature_naming.check(&syntax.features, path)
    };
    let mut contents = pipeline::run(source, reading, &mut check, run, sink)?;
    let label_names = label_naming.settle(&mut contents, folder, path)?;
    let feature_names = feature_naming.settle(&mut contents, folder, path)?;
    Ok(contents.summary(label_names, feature_names))
}
