//! Checkpoints of a long computation, kept in a folder so that a run that was killed can go on from them.
//!
//! A computation is deterministic, so it asks for its checkpoints by name: each expensive step looks whether its result is
//! there, and otherwise computes and keeps it. Names are scoped by dots, `labels.pass-1.panel-0-64`; when the result of a
//! scope is kept, the checkpoints inside of it are superseded and removed. Loops that change one state keep that under one
//! name, each time in place of the last.
//!
//! A checkpoint is written beside its name and renamed, and holds a checksum over all of it, the run and the name that it
//! belongs to: what is torn, or of something else, is computed again and never believed. So nobody waits for the disk, as
//! one does for results. `run.json` says which run the checkpoints are of; another one is refused.

mod format;
mod identity;
#[cfg(test)]
mod tests;

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use crate::io::atomic_file;
use crate::{Error, Result};

pub(crate) use format::{Json, Load, Reader, Store, Writer};

/// How checkpoints end.
const EXTENSION: &str = ".checkpoint";
/// Which run they are of.
const MANIFEST: &str = "run.json";
/// Held by whoever works with them.
const LOCK: &str = "lock";
/// A state is kept again when this many times as long has been worked as keeping it took: it costs 5 % at most.
const WORTH: u32 = 20;

/// A folder of checkpoints.
///
/// ```
/// use rembrandt::data::{Dataset, Rows};
/// use rembrandt::{Checkpoints, Rembrandt, Run};
/// # let mut rows = Rows::new();
/// # for i in 0..20 {
/// #     rows.x.push(i % 4, 1.0);
/// #     rows.x.end_row();
/// #     rows.y.push(i % 4, 1.0);
/// #     rows.y.end_row();
/// # }
/// # let folder = std::env::temp_dir().join(format!("rembrandt-checkpoints-{}", std::process::id()));
/// let data = Dataset::from_rows(&rows, 4, 4)?;
/// let params = Rembrandt::new(3);
/// // The identity of the run that checkpoints depend on: they are refused to a run that is not the same.
/// let identity = serde_json::json!({"data": data.fingerprint(), "parameters": params});
/// let checkpoints = Checkpoints::open(&folder, &identity)?;
/// let embedding = params.fit(&data, &mut Run::default().with_checkpoints(Some(&checkpoints)))?;
/// // After a kill, the same lines would go on from what is there. In the end nothing is needed any more.
/// checkpoints.remove()?;
/// # assert!(!folder.exists() && embedding.labels.rows() == 4);
/// # Ok::<(), rembrandt::Error>(())
/// ```
#[derive(Debug)]
pub struct Checkpoints {
    folder: PathBuf,
    /// Hash of the run that all checkpoints belong to.
    run: u64,
    computed: AtomicU64,
    found: AtomicU64,
    /// When a state was kept last, and how long that took.
    last: Mutex<(Instant, Duration)>,
    /// Held open: closing it lets others in.
    _lock: File,
}

impl Checkpoints {
    /// Opens the folder for a run, and makes it if there is none. `identity` is an object that tells all that the checkpoints
    /// depend on: data, parameters, seeds. What is there of another run, or another version of this library, is refused.
    pub fn open(folder: &Path, identity: &Value) -> Result<Checkpoints> {
        let identity = identity::complete(identity);
        let made = !folder.exists();
        fs::create_dir_all(folder).map_err(|e| unwritable(folder, &e))?;
        refuse_foreign(folder)?;
        let path = folder.join(LOCK);
        let lock = File::create(&path).map_err(|e| unwritable(&path, &e))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Error::file(
                    folder,
                    "another run is at work with these checkpoints: wait for it, or end it",
                ));
            }
            // Where files cannot be locked, nobody is kept out, and nobody is refused.
            Err(TryLockError::Error(e)) if e.kind() == ErrorKind::Unsupported => {}
            Err(TryLockError::Error(e)) => return Err(Error::io(&path)(e)),
        }
        let checkpoints = Checkpoints {
            folder: folder.to_owned(),
            run: xxh3_64(identity.to_string().as_bytes()),
            computed: AtomicU64::new(0),
            found: AtomicU64::new(0),
            last: Mutex::new((Instant::now(), Duration::ZERO)),
            _lock: lock,
        };
        let begun = checkpoints.begin(&identity);
        if begun.is_err() && made {
            checkpoints.sweep_away();
        }
        begun.map(|()| checkpoints)
    }

    /// Compares the manifest, or writes it into a folder that is empty.
    fn begin(&self, identity: &Value) -> Result<()> {
        let path = self.folder.join(MANIFEST);
        for name in self.names()?.iter().filter(|name| is_temporary(name)) {
            // Left by a killed run: nobody else is at work here. What cannot be removed is in nobody's way.
            let _ = fs::remove_file(self.folder.join(name));
        }
        if path.exists() {
            let text = fs::read(&path).map_err(Error::io(&path))?;
            return match serde_json::from_slice(&text) {
                Ok(found) => identity::compare(&self.folder, &found, identity),
                Err(_) => Err(Error::file(&path, "does not say which run the checkpoints are of: remove the folder")),
            };
        }
        atomic_file::write(&path, |out| out.write_all(identity.to_string().as_bytes())).map_err(|e| self.explain(e))
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Checkpoints that are there.
    pub fn len(&self) -> usize {
        self.names().map_or(0, |names| names.iter().filter(|name| name.ends_with(EXTENSION)).count())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Checkpoints that were begun to be computed since the folder was opened, finished or not.
    pub fn computed(&self) -> u64 {
        self.computed.load(Ordering::Relaxed)
    }

    /// Checkpoints that were found instead.
    pub fn found(&self) -> u64 {
        self.found.load(Ordering::Relaxed)
    }

    /// Removes the folder, once the result is where it belongs.
    pub fn remove(self) -> Result<()> {
        self.sweep_away();
        match self.folder.exists() {
            true => Err(Error::file(&self.folder, "cannot be removed, and is not needed any more")),
            false => Ok(()),
        }
    }

    /// Removes what is ours, the manifest after all checkpoints: a kill in between must leave a folder that is known.
    fn sweep_away(&self) {
        let mut names = self.names().unwrap_or_default();
        names.sort_by_key(|name| [MANIFEST, LOCK].iter().position(|last| last == name));
        for name in names.iter().filter(|name| is_ours(name)) {
            let _ = fs::remove_file(self.folder.join(name));
        }
        let _ = fs::remove_dir(&self.folder);
    }

    /// A checkpoint of which `key` tells what it is of, when the name alone does not; with the work that it stands for.
    pub(crate) fn find<T: Load>(&self, name: &str, key: u64) -> Result<Option<(T, u64)>> {
        let path = self.path(name);
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(Error::io(&path)(e)),
        };
        // Whatever is wrong with it, the remedy is to compute it again.
        let checkpoint = Reader::open(file, self.mark(name, key)).and_then(Reader::finish_reading).ok();
        if checkpoint.is_some() {
            self.found.fetch_add(1, Ordering::Relaxed);
        }
        Ok(checkpoint)
    }

    /// Keeps a checkpoint in place of what may be there.
    pub(crate) fn keep(&self, name: &str, key: u64, work: u64, checkpoint: &impl Store) -> Result<()> {
        let began = Instant::now();
        let written = atomic_file::write_soon(&self.path(name), |out| {
            let mut out = Writer::begin(out, self.mark(name, key), work)?;
            checkpoint.store(&mut out)?;
            out.end()
        });
        written.map_err(|e| self.explain(e))?;
        *self.last() = (Instant::now(), began.elapsed());
        Ok(())
    }

    /// Whether enough was worked since the last time that keeping a state is worth it.
    pub(crate) fn is_due(&self) -> bool {
        let (when, took) = *self.last();
        when.elapsed() >= took * WORTH
    }

    /// Removes the checkpoints inside a scope; failing to costs room and nothing else.
    pub(crate) fn forget_within(&self, scope: &str) {
        let inside = |name: &&String| name.strip_prefix(scope).is_some_and(|rest| rest.starts_with('.'));
        for name in self.names().unwrap_or_default().iter().filter(|name| name.ends_with(EXTENSION)).filter(inside) {
            if name.len() > scope.len() + EXTENSION.len() {
                let _ = fs::remove_file(self.folder.join(name));
            }
        }
    }

    /// Counts a checkpoint that is about to be computed.
    pub(crate) fn count(&self) {
        self.computed.fetch_add(1, Ordering::Relaxed);
    }

    fn last(&self) -> MutexGuard<'_, (Instant, Duration)> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}{EXTENSION}"))
    }

    /// The mark that a checkpoint begins with: a hash of all that it belongs to.
    fn mark(&self, name: &str, key: u64) -> u64 {
        xxh3_64_with_seed(name.as_bytes(), self.run ^ key.rotate_left(32))
    }

    fn names(&self) -> Result<Vec<String>> {
        let entries = fs::read_dir(&self.folder).map_err(Error::io(&self.folder))?;
        Ok(entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect())
    }

    /// A full disk is told with what to do about it.
    fn explain(&self, error: Error) -> Error {
        match error {
            Error::Io { source, .. } => unwritable(&self.folder, &source),
            other => other,
        }
    }
}

/// Refuses a folder of something else before anything in it is touched.
fn refuse_foreign(folder: &Path) -> Result<()> {
    let entries = fs::read_dir(folder).map_err(|e| unwritable(folder, &e))?;
    let mut names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let ours = |name: &str| name == LOCK || name.strip_prefix('.').is_some_and(|name| name.starts_with(MANIFEST));
    if folder.join(MANIFEST).exists() || names.all(|name| ours(&name)) {
        return Ok(());
    }
    Err(Error::file(folder, "is not a folder of checkpoints: move it away, or write to another file"))
}

/// Why a checkpoint could not be kept, and what to do.
fn unwritable(path: &Path, error: &io::Error) -> Error {
    let reason = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
            "there is no room for checkpoints: make some and start again to go on from those that are there"
        }
        ErrorKind::AlreadyExists | ErrorKind::NotADirectory => {
            "is in the way of a folder for checkpoints: move it away, or write to another file"
        }
        _ => return Error::file(path, format!("checkpoints cannot be kept here: {error}")),
    };
    Error::file(path, reason)
}

fn is_temporary(name: &str) -> bool {
    name.starts_with('.') && name.contains(".tmp")
}

fn is_ours(name: &str) -> bool {
    name.ends_with(EXTENSION) || name == MANIFEST || name == LOCK || is_temporary(name)
}
