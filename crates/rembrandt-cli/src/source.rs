//! From a path on the command line to a data set, and the checks before any work.

use std::path::{Path, PathBuf};

use bytesize::ByteSize;
use rembrandt::data::formats::{Recognised, recognise};
use rembrandt::data::{Dataset, Texts};
use rembrandt::{Error, Result, Run};

use crate::args::{DataArgs, ReadArgs};
use crate::memory::{self, Limit};
use crate::progress::Display;

/// The column of the text, where none is chosen.
const TEXT_COLUMN: &str = "text";

/// Whether a file is to be read as texts: as the options say, or else its first lines.
pub fn is_text(path: &Path, args: &DataArgs, display: &Display) -> Result<bool> {
    let said = args.are_texts()?;
    if path.as_os_str() != "-" && Dataset::is_cache(path) {
        return match said {
            Some(true) => {
                Err(Error::file(path, "is a cache file, which holds sparse rows and no texts: leave out --text"))
            }
            _ => Ok(false),
        };
    }
    let implied = args.implies_texts();
    if let (Some(said), None) = (said, implied) {
        return Ok(said);
    }
    match (recognise(path, TEXT_COLUMN)?, implied) {
        (Recognised::Rows, Some(name)) => {
            Err(Error::parameter(name, "is for texts, and the file has sparse rows: leave it out, or add --text"))
        }
        (_, Some(_)) => Ok(true),
        (found, None) => is_text_by_itself(path, found, display),
    }
}

/// The same where no option says so.
fn is_text_by_itself(path: &Path, found: Recognised, display: &Display) -> Result<bool> {
    match found {
        Recognised::Rows | Recognised::Words => Ok(false),
        Recognised::Texts(why) => {
            display.note(&format!("{why}: the file is read as texts"));
            Ok(true)
        }
        Recognised::Unclear(why) => Err(Error::file(
            path,
            format!(
                "{why}: choose --input-format svmlight for sparse rows or, for texts, --text with --text-column and \
                 --labels-column"
            ),
        )),
    }
}

/// Reads texts, and says what looks like a mistake in them.
pub fn texts(path: &Path, args: &DataArgs, display: &mut Display) -> Result<Texts> {
    let texts = Texts::read_with(path, &args.records(), &mut display.run())?;
    display.clear();
    texts.notes().iter().for_each(|note| display.note(note));
    Ok(texts)
}

/// Opens a cache file, or reads sparse rows or texts into memory.
pub fn open(path: &Path, args: &DataArgs, limit: Option<Limit>, display: &mut Display) -> Result<Dataset> {
    match is_text(path, args, display)? {
        true => texts(path, args, display)?.into_words(args.features.options()?.featurizer),
        false => rows(path, &args.read, limit, display),
    }
}

/// Opens a cache file, or reads sparse rows into memory as long as they fit into `limit`.
pub fn rows(path: &Path, read: &ReadArgs, limit: Option<Limit>, display: &mut Display) -> Result<Dataset> {
    if Dataset::is_cache(path) {
        return match read.given() {
            None => Dataset::open(path),
            Some(name) => Err(Error::parameter(name, "is for text, and a cache file is not: leave it out")),
        };
    }
    let mut too_large = false;
    let mut run = Run::watched(|progress| {
        display.progress(progress);
        too_large = limit.zip(memory::resident()).is_some_and(|(limit, now)| now > limit.bytes);
        !too_large
    });
    let found = Dataset::read_with(path, &read.options(), &mut run);
    drop(run);
    match found {
        Ok((data, notes)) => {
            notes.iter().for_each(|note| display.note(note));
            Ok(data)
        }
        Err(e) => match limit {
            Some(Limit { bytes, remedy }) if too_large && matches!(e, Error::Cancelled) => {
                let reason = format!(
                    "does not fit into {} of memory: turn it into a cache file with `rembrandt convert` first, or \
                     {remedy}",
                    ByteSize(bytes)
                );
                Err(Error::file(path, reason))
            }
            _ => Err(e),
        },
    }
}

/// Files that are read unasked when they are in the directory of the data.
const SIDE_FILES: [&str; 6] =
    ["labels.txt", "labels.txt.gz", "labels.txt.zst", "features.txt", "features.txt.gz", "features.txt.zst"];

/// The directory that a file is in, if it exists.
fn folder(file: &Path) -> Option<PathBuf> {
    let parent = file.parent()?;
    if parent.as_os_str().is_empty() { Path::new(".") } else { parent }.canonicalize().ok()
}

/// Those that there are for a file of data.
pub fn side_files(data: &Path) -> Vec<PathBuf> {
    let beside = folder(data).into_iter().flat_map(|folder| SIDE_FILES.map(|side| folder.join(side)));
    beside.filter(|path| path.exists()).collect()
}

/// Checks that every output can be written and is neither an input nor a side file.
pub fn check_outputs(outputs: &[PathBuf], train: &Path, read: &ReadArgs) -> Result<()> {
    let inputs: Vec<PathBuf> = std::iter::once(train).chain(read.files()).map(Path::to_owned).collect();
    let data_folder = folder(train).filter(|_| train.as_os_str() != "-");
    for output in outputs {
        let side_file = output.file_name().is_some_and(|name| SIDE_FILES.iter().any(|side| name == *side));
        if side_file && data_folder.is_some() && folder(output) == data_folder {
            let reason = "would be read as names for the data beside it: write to another file";
            return Err(Error::file(output, reason));
        }
        check_output(output, &inputs)?;
    }
    Ok(())
}

/// Checks that an output can be written and is not an input.
pub fn check_output<'a>(output: &Path, inputs: impl IntoIterator<Item = &'a PathBuf>) -> Result<()> {
    if output.as_os_str() == "-" {
        return Err(Error::parameter("output", "results are files and do not fit a pipe: name a file"));
    }
    check_apart(output, inputs)?;
    rembrandt::model::check_target(output)
}

/// Refuses an output that is also an input.
pub fn check_apart<'a>(output: &Path, inputs: impl IntoIterator<Item = &'a PathBuf>) -> Result<()> {
    // Files that do not exist cannot be the same.
    let place = output.canonicalize().ok();
    let same = |input: &PathBuf| place.is_some() && input.canonicalize().ok() == place;
    match inputs.into_iter().any(same) {
        true => Err(Error::file(output, "is also an input: write to another file")),
        false => Ok(()),
    }
}
