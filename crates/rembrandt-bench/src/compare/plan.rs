//! The plan of a comparison: the methods with their dimensions, on which files.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use rembrandt::data::{Dataset, convert};
use rembrandt::{Error, Examples, Result, Shape};
use serde_json::json;

use super::Comparison;
use super::methods::ComparedMethod;
use super::row::title;
use super::store::ResultStore;
use crate::watch::{Watcher, watched};

/// A method to be measured.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    pub method: ComparedMethod,
    pub k: Option<usize>,
}

impl Entry {
    pub fn title(&self) -> String {
        title(self.method.name, self.k)
    }

    /// The file of its model.
    pub fn file(&self) -> String {
        format!("{}.rmb", self.title().replace([' ', '='], "-"))
    }
}

/// A comparison.
pub struct Plan<'a> {
    pub of: &'a Comparison,
    pub entries: Vec<Entry>,
    pub shape: Shape,
    /// The input of the methods: caches of sparse rows, or texts as they are.
    pub train: PathBuf,
    pub test: PathBuf,
    caches: Vec<PathBuf>,
}

impl<'a> Plan<'a> {
    /// Reads the data once, so that every method opens them at once.
    pub fn prepare(of: &'a Comparison, store: &ResultStore, watcher: &mut dyn Watcher) -> Result<Plan<'a>> {
        let mut plan = Plan {
            of,
            entries: Vec::new(),
            shape: Shape::default(),
            train: of.train.clone(),
            test: of.test.clone(),
            caches: Vec::new(),
        };
        if !of.text {
            let (train, shape) = plan.cached(&of.train, store, "train", watcher)?;
            let (test, _) = plan.cached(&of.test, store, "test", watcher)?;
            (plan.train, plan.test, plan.shape) = (train, test, shape);
        }
        for contestant in &of.contestants {
            let asked = contestant.k.or(of.k).filter(|_| contestant.method.embedding.is_some());
            // Of texts nobody knows yet how many features and labels they make.
            let most = if of.text { usize::MAX } else { contestant.method.most(plan.shape) };
            let k = asked.map(|k| k.min(most.max(1)));
            if k != asked {
                watcher.note(&format!("{}: k is cut to {most}, the data allow no more", contestant.method.name));
            }
            let entry = Entry { method: contestant.method, k };
            // Cutting may make two of them one.
            if !plan.entries.iter().any(|e| e.method == entry.method && e.k == entry.k) {
                plan.entries.push(entry);
            }
        }
        Ok(plan)
    }

    /// A cache of a file of sparse rows, and its size.
    fn cached(
        &mut self,
        path: &Path,
        store: &ResultStore,
        name: &str,
        watcher: &mut dyn Watcher,
    ) -> Result<(PathBuf, Shape)> {
        if Dataset::is_cache(path) {
            return Ok((path.to_owned(), Dataset::open(path)?.shape()));
        }
        // The name tells which file, as it was then, and how it was read: an interrupted comparison need not do so again.
        let source = format!("{} {} {:?}", path.display(), stamp(path)?, self.reading()?);
        let cache = store.file(&format!("{name}-{:016x}.cache", hash(&source)));
        self.caches.push(cache.clone());
        match Dataset::open(&cache) {
            Ok(data) if !self.of.fresh => return Ok((cache, data.shape())),
            _ => {}
        }
        let (data, notes) = convert(path, &self.of.read, &cache, &mut watched(watcher))?;
        notes.iter().for_each(|note| watcher.note(note));
        Ok((cache, data.shape()))
    }

    /// Files of the folder that only this comparison needs.
    pub fn caches(&self) -> &[PathBuf] {
        &self.caches
    }

    /// The key of a method's row: the method, the data and the program.
    pub fn key(&self, entry: &Entry) -> Result<String> {
        let of = self.of;
        let key = json!({
            "method": entry.method.name, "k": entry.k, "seed": of.seed, "budget": of.budget.as_secs_f64(),
            "bootstrap": of.bootstrap, "options": of.train_options, "eval": of.eval_options,
            "reading": self.reading()?,
            "data": [stamp(&of.train)?, stamp(&of.test)?], "program": stamp(&of.program)?,
            "threads": rayon::current_num_threads(),
        });
        Ok(key.to_string())
    }

    /// How files are read: the options, and the files with names that they or their places tell of.
    fn reading(&self) -> Result<Vec<String>> {
        let stamps: Result<Vec<String>> = self.of.name_files.iter().map(|path| stamp(path)).collect();
        Ok(self.of.read_options.iter().cloned().chain(stamps?).collect())
    }

    /// A sentence about the caches, as one about the files that they were made from.
    pub fn as_typed(&self, sentence: &str) -> String {
        let of = |sentence: String, cache: &Path, typed: &Path| {
            sentence.replace(&*cache.to_string_lossy(), &typed.to_string_lossy())
        };
        of(of(sentence.to_owned(), &self.train, &self.of.train), &self.test, &self.of.test)
    }
}

/// Length and time of a file: another file, another stamp.
pub fn stamp(path: &Path) -> Result<String> {
    let found = fs::metadata(path).map_err(Error::io(path))?;
    let time = found.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let place = path.canonicalize().map_err(Error::io(path))?;
    Ok(format!("{} {} {}", place.display(), found.len(), time.map_or(0, |time| time.as_nanos())))
}

/// FNV-1a: a short name for a long one.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// A word as a shell wants it.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_wants_it() {
        assert_eq!((quoted("a/b-1.txt"), quoted("two words")), ("a/b-1.txt".into(), "'two words'".into()));
        assert_eq!((quoted("it's"), quoted("")), (r"'it'\''s'".into(), "''".into()));
    }
}
