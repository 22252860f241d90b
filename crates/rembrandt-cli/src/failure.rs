//! How a failure looks: one sentence on standard error and an exit code.

use std::io::{self, ErrorKind, Write};
use std::panic::PanicHookInfo;

use rembrandt::Error;

use crate::output::visible;

/// Bad input, parameters or usage: the user can do something about it. The same code that clap uses.
pub const REFUSED: u8 = 2;
/// A surprise, such as a full disk.
const SURPRISED: u8 = 1;

/// Prints the error and gives the exit code.
pub fn report(error: &anyhow::Error) -> u8 {
    // Whoever reads our output may stop reading: that is no failure.
    if error.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == ErrorKind::BrokenPipe) {
        return 0;
    }
    let (message, code) = match error.downcast_ref::<Error>() {
        Some(Error::Parameter { name, reason }) => (format!("{}: {reason}", flag(name)), REFUSED),
        Some(e) => (e.to_string(), code(e)),
        // All other files have their names in an error of the library.
        None if error.is::<io::Error>() => (format!("standard output: {error}"), SURPRISED),
        None => (format!("{error:#}"), SURPRISED),
    };
    say(&format!("error: {}", message.lines().collect::<Vec<_>>().join(" ")));
    code
}

/// Writes a line to standard error; if even that is closed there is nobody left to tell.
pub fn say(line: &str) {
    let _ = writeln!(io::stderr(), "{}", visible(line));
}

/// The panic hook: a panic is a mistake of the program, never of the user.
pub fn report_panic(info: &PanicHookInfo<'_>) {
    let what = info.payload_as_str().unwrap_or("unknown panic").replace('\n', " ");
    let place = info.location().map_or_else(String::new, |l| format!(" at {}:{}", l.file(), l.line()));
    say(&format!("error: internal error{place}: {what}: this is a bug in rembrandt, please report it"));
}

fn code(error: &Error) -> u8 {
    use ErrorKind::*;
    match error {
        Error::Io { source, .. } => match source.kind() {
            NotFound | PermissionDenied | IsADirectory | NotADirectory | InvalidFilename | InvalidData
            | InvalidInput | UnexpectedEof => REFUSED,
            _ => SURPRISED,
        },
        Error::Cancelled => SURPRISED,
        _ => REFUSED,
    }
}

/// The option behind a parameter of the library.
pub fn flag(parameter: &str) -> String {
    match parameter {
        "k" => "-k".to_owned(),
        // Not options.
        "label" | "example" | "examples" => parameter.to_owned(),
        "projection.cg_steps" => "--projection-steps".to_owned(),
        "logistic.ridge" | "descent.ridge" => "--head-ridge".to_owned(),
        "rows.format" | "records.format" => "--input-format".to_owned(),
        "rows.ids" => "--ids".to_owned(),
        "words" => "--word-ngrams".to_owned(),
        "characters" => "--char-ngrams".to_owned(),
        "hashing" => "--hash-bits".to_owned(),
        "text" | "labels" | "id" | "weight" => format!("--{parameter}-column"),
        "ranks" => "--at".to_owned(),
        "replicates" => "--bootstrap".to_owned(),
        "propensity.a" | "propensity.b" => "--propensity".to_owned(),
        other => format!("--{}", other.replace(['_', '.'], "-")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_named_as_typed() {
        assert_eq!(flag("k"), "-k");
        assert_eq!(flag("cg_steps"), "--cg-steps");
        assert_eq!(flag("projection.ridge"), "--projection-ridge");
        assert_eq!(flag("projection.cg_steps"), "--projection-steps");
        assert_eq!((flag("words"), flag("examples")), ("--word-ngrams".into(), "examples".into()));
        assert_eq!((flag("rows.format"), flag("logistic.ridge")), ("--input-format".into(), "--head-ridge".into()));
    }

    #[test]
    fn the_user_is_not_blamed_for_a_full_disk() {
        let io = |kind: ErrorKind| code(&Error::io("file")(kind.into()));
        assert_eq!((io(ErrorKind::StorageFull), io(ErrorKind::NotFound)), (SURPRISED, REFUSED));
        assert_eq!(code(&Error::line("file", 3, "bad")), REFUSED);
    }
}
