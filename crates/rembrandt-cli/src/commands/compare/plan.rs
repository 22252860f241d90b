//! What is to be measured: the methods with their dimensions, on which files.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use rembrandt::data::{Dataset, convert};
use rembrandt::{Error, Examples, Result, Shape};
use serde_json::json;

use super::row::title;
use super::store::Store;
use crate::args::{CompareArgs, Method};
use crate::progress::Display;
use crate::source;

/// A method to be measured.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    pub method: Method,
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
    pub args: &'a CompareArgs,
    pub entries: Vec<Entry>,
    pub shape: Shape,
    /// What the methods read: caches of sparse rows, or texts as they are.
    pub train: PathBuf,
    pub test: PathBuf,
    /// Where this program lies.
    pub program: PathBuf,
    caches: Vec<PathBuf>,
}

impl<'a> Plan<'a> {
    /// Reads the data once, so that every method opens them at once.
    pub fn prepare(args: &'a CompareArgs, store: &Store, display: &mut Display) -> Result<Plan<'a>> {
        let program = std::env::current_exe().map_err(Error::io("the program itself"))?;
        let mut plan = Plan {
            args,
            entries: Vec::new(),
            shape: Shape::default(),
            train: args.train.clone(),
            test: args.test.clone(),
            program,
            caches: Vec::new(),
        };
        if !args.text {
            let (train, shape) = plan.cached(&args.train, store, "train", display)?;
            let (test, _) = plan.cached(&args.test, store, "test", display)?;
            (plan.train, plan.test, plan.shape) = (train, test, shape);
        }
        for contestant in &args.methods.0 {
            let asked = contestant.k.or(args.k).filter(|_| contestant.method.embeds);
            // Of texts nobody knows yet how many features and labels they make.
            let most = if args.text { usize::MAX } else { contestant.method.most(plan.shape) };
            let k = asked.map(|k| k.min(most.max(1)));
            if k != asked {
                display.note(&format!("{}: k is cut to {most}, the data allow no more", contestant.method.name));
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
    fn cached(&mut self, path: &Path, store: &Store, name: &str, display: &mut Display) -> Result<(PathBuf, Shape)> {
        if Dataset::is_cache(path) {
            return Ok((path.to_owned(), Dataset::open(path)?.shape()));
        }
        // The name tells which file, as it was then, and how it was read: an interrupted comparison need not do so again.
        let source = format!("{} {} {:?}", path.display(), stamp(path)?, self.reading()?);
        let cache = store.file(&format!("{name}-{:016x}.cache", hash(&source)));
        self.caches.push(cache.clone());
        match Dataset::open(&cache) {
            Ok(data) if !self.args.fresh => return Ok((cache, data.shape())),
            _ => {}
        }
        let mut watch = |done, total| {
            display.read(done, total);
            true
        };
        let (data, notes) = convert(path, &self.args.read.options(), &cache, &mut watch)?;
        notes.iter().for_each(|note| display.note(note));
        Ok((cache, data.shape()))
    }

    /// Files of the folder that only this comparison needs.
    pub fn caches(&self) -> &[PathBuf] {
        &self.caches
    }

    /// What the row of a method depends on: the method, the data and the program.
    pub fn key(&self, entry: &Entry) -> Result<String> {
        let args = self.args;
        let key = json!({
            "method": entry.method.name, "k": entry.k, "seed": args.seed, "budget": args.budget.as_secs_f64(),
            "bootstrap": args.bootstrap, "options": self.train_options(), "eval": self.eval_options(),
            "reading": self.reading()?,
            "data": [stamp(&args.train)?, stamp(&args.test)?], "program": stamp(&self.program)?,
            "threads": rayon::current_num_threads(),
        });
        Ok(key.to_string())
    }

    /// How files are read: the options, and the files with names that they or their places tell of.
    fn reading(&self) -> Result<Vec<String>> {
        let args = self.args;
        let beside = [&args.train, &args.test].into_iter().flat_map(|path| source::side_files(path));
        let files = args.read.files().map(Path::to_owned).chain(beside);
        let stamps: Result<Vec<String>> = files.map(|path| stamp(&path)).collect();
        Ok(args.read.typed().into_iter().chain(stamps?).collect())
    }

    /// How the features are made or weighed, as options of train.
    pub fn train_options(&self) -> Vec<String> {
        let args = self.args;
        let flags = [("--text", args.text), ("--tfidf", args.tfidf), ("--normalize", args.normalize)];
        let flags = flags.into_iter().filter(|(_, given)| *given).map(|(flag, _)| flag.to_owned());
        flags.chain(args.columns.typed()).collect()
    }

    /// How the test data are read, as options of eval.
    pub fn eval_options(&self) -> Vec<String> {
        self.args.columns.typed()
    }

    /// A sentence about the caches, as one about the files that they were made from.
    pub fn as_typed(&self, sentence: &str) -> String {
        let of = |sentence: String, cache: &Path, typed: &Path| {
            sentence.replace(&*cache.to_string_lossy(), &typed.to_string_lossy())
        };
        of(of(sentence.to_owned(), &self.train, &self.args.train), &self.test, &self.args.test)
    }

    /// The command that repeats the comparison.
    pub fn command(&self) -> String {
        let words: Vec<String> = std::env::args().skip(1).map(|word| quoted(&word)).collect();
        format!("rembrandt {}", words.join(" "))
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
fn quoted(word: &str) -> String {
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
