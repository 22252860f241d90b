//! The one error type of the library.
//!
//! Every message is a sentence for a person: it names the file and line or the parameter, says what is wrong and,
//! where there is one, what to do about it. The variants carry the same facts for programs.

use std::io;
use std::path::{Path, PathBuf};

/// `Result` with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an operation could not be done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused to read or write a file.
    #[error("{}: {source}", name(path))]
    Io {
        /// The file, or `-` for standard input or output.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// One line of a text file is not what its format asks for.
    #[error("{}:{line}: {reason}", name(path))]
    Line {
        /// The file, or `-` for standard input.
        path: PathBuf,
        /// Line number, counted from 1.
        line: u64,
        /// The fault of the line.
        reason: String,
    },
    /// A file as a whole cannot be used: foreign, truncated, corrupted, from a newer version, empty.
    #[error("{}: {reason}", name(path))]
    File {
        /// The file, or `-` for standard input.
        path: PathBuf,
        /// The fault of the file.
        reason: String,
    },
    /// A parameter is out of range, by itself or for the data at hand.
    #[error("{name}: {reason}")]
    Parameter {
        /// The parameter, spelled as in the library.
        name: &'static str,
        /// The fault of its value.
        reason: String,
    },
    /// The data as a whole cannot be worked on (no examples, no labels, …).
    #[error("{0}")]
    Data(String),
    /// The caller asked to stop, see [`Run`](crate::Run).
    #[error("stopped on request")]
    Cancelled,
}

impl Error {
    /// An [`Error::Io`] for `path`, for use in `map_err`.
    pub fn io(path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> Error {
        let path = path.as_ref().to_owned();
        move |source| Error::Io { path, source }
    }

    /// An [`Error::Line`].
    pub fn line(path: impl AsRef<Path>, line: u64, reason: impl Into<String>) -> Error {
        Error::Line { path: path.as_ref().to_owned(), line, reason: reason.into() }
    }

    /// An [`Error::File`].
    pub fn file(path: impl AsRef<Path>, reason: impl Into<String>) -> Error {
        Error::File { path: path.as_ref().to_owned(), reason: reason.into() }
    }

    /// An [`Error::Parameter`].
    pub fn parameter(name: &'static str, reason: impl Into<String>) -> Error {
        Error::Parameter { name, reason: reason.into() }
    }
}

/// `1 label`, `2 labels`.
pub(crate) fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// How a path is shown to a person: `-` stands for standard input or output.
fn name(path: &Path) -> std::borrow::Cow<'_, str> {
    if path.as_os_str() == "-" { "standard input".into() } else { path.to_string_lossy() }
}
