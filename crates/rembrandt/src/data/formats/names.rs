//! Files that name labels and features, one a line.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::batch;
use super::column::IdSyntax;
use super::pipeline::{FileSummary, SideIds};
use super::source::{self, Blocks, Sizes, Source};
use crate::data::Side;
use crate::data::token::show;
use crate::{Error, Result};

/// Reads names, one per line, from a plain, gzip or zstd file.
///
/// # Errors
/// If the file cannot be read or is not text.
pub fn read_names(path: &Path) -> Result<Vec<String>> {
    let Source { reader, packing, .. } = source::open(path)?;
    let sizes = Sizes::default();
    let mut names: Vec<String> = Vec::new();
    for block in Blocks::new(reader, sizes) {
        let block = block.map_err(|stop| stop.error(path, packing, names.len() as u64, sizes))?;
        let (text, junk) = batch::text_of(&block);
        let text = if names.is_empty() { text.strip_prefix('\u{feff}').unwrap_or(text) } else { text };
        names.extend(batch::lines_of(text).map(str::to_owned));
        if let Some(reason) = junk {
            return Err(Error::line(path, names.len() as u64 + 1, reason));
        }
    }
    Ok(names)
}

/// Where the names of one side come from.
pub(super) struct Naming {
    side: Side,
    /// The file that the user gave, with its names.
    given: Option<(PathBuf, Vec<String>)>,
}

impl Naming {
    /// Reads the file of names that the user gave, so that a wrong one is known before the long work.
    pub(super) fn new(side: Side, given: Option<&Path>) -> Result<Naming> {
        let given = given.map(|path| Ok::<_, Error>((path.to_owned(), read_names(path)?))).transpose()?;
        Ok(Naming { side, given })
    }

    fn words(&self) -> (&'static str, &'static str, char) {
        match self.side {
            Side::X => ("features", "feature_names", 'd'),
            Side::Y => ("labels", "label_names", 'c'),
        }
    }

    /// Refuses given names that cannot fit what the first block says; `path` is the file of the data.
    pub(super) fn check(&self, axis: &IdSyntax, path: &Path) -> Result<()> {
        let (what, parameter, _) = self.words();
        match (&self.given, axis.promised) {
            (Some(_), _) if axis.words => {
                let reason = format!("the {what} in {} are words, so they have names already", path.display());
                Err(Error::parameter(parameter, reason))
            }
            (Some((file, names)), Some(promised)) if names.len() != promised as usize => {
                Err(Error::file(file, self.misfit(names.len(), promised.into())))
            }
            _ => Ok(()),
        }
    }

    fn misfit(&self, count: usize, width: u64) -> String {
        let (what, _, letter) = self.words();
        format!("the number of names is {count}, but the data have {letter} = {width} {what}")
    }

    /// The names, if any, once the file has been read. `folder` is where to look for a side file.
    pub(super) fn settle(
        self,
        contents: &mut FileSummary,
        folder: Option<&Path>,
        path: &Path,
    ) -> Result<Option<Vec<String>>> {
        let (what, ..) = self.words();
        let ids: &SideIds = if self.side == Side::X { &contents.features } else { &contents.labels };
        if let Some(names) = ids.names() {
            return Ok(Some(names));
        }
        let (promised, width) = (ids.axis.promised, ids.count());
        // Without a header the largest id is only the largest that occurs: more names are no contradiction.
        let fits = |count: usize| if promised.is_some() { count as u64 == width } else { count as u64 >= width };
        if let Some((file, names)) = &self.given {
            let count = names.len();
            if !fits(count) {
                return Err(Error::file(file, self.misfit(count, width)));
            }
            contents.notes.extend(doubtful(file, names));
            return Ok(self.given.map(|(_, names)| names));
        }
        let Some(file) = folder.and_then(|folder| side_file(folder, what, path)) else {
            return Ok(None);
        };
        let shown = file.display();
        let (note, names) = match read_names(&file) {
            Ok(names) if fits(names.len()) => {
                contents.notes.extend(doubtful(&file, &names));
                (format!("{what} are named by {shown}"), Some(names))
            }
            Ok(names) => (format!("{shown} is ignored: {}", self.misfit(names.len(), width)), None),
            Err(error) => (format!("{shown} is ignored, because it cannot be read ({error})"), None),
        };
        contents.notes.push(note);
        Ok(names)
    }
}

/// A sentence about the first name that is empty or that of another line.
fn doubtful(file: &Path, names: &[String]) -> Option<String> {
    let mut lines = HashMap::new();
    let (line, fault) = names.iter().enumerate().find_map(|(at, name)| {
        let fault = match (name.trim().is_empty(), lines.insert(name, at + 1)) {
            (true, _) => "the name is empty".to_owned(),
            (_, Some(before)) => format!("the name {} is that of line {before} as well", show(name)),
            _ => return None,
        };
        Some((at + 1, fault))
    })?;
    Some(format!("{}:{line}: {fault}; what has no name of its own is found by its number", file.display()))
}

/// The side file in `folder` that names `what`, if there is one and it is not the data themselves.
fn side_file(folder: &Path, what: &str, path: &Path) -> Option<PathBuf> {
    let candidates = ["", ".gz", ".zst"].map(|end| folder.join(format!("{what}.txt{end}")));
    candidates.into_iter().find(|file| file.is_file() && file.file_name() != path.file_name())
}
