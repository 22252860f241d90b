//! Files that appear whole or not at all: written beside the target, then renamed onto it.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use tempfile::NamedTempFile;

use crate::{Error, Result};

/// Letters that make a temporary name unique.
const UNIQUE: usize = 6;

/// A temporary file this old that nobody has written to since belongs to a process that was killed.
const STALE: Duration = Duration::from_secs(60);

/// Temporary files of this process that have not been given their names.
static UNFINISHED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn unfinished() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes the temporary files of all that is being written: for a process that is about to end.
pub fn remove_unfinished() {
    for path in std::mem::take(&mut *unfinished()) {
        // One that was finished or given up in between is gone already.
        let _ = fs::remove_file(path);
    }
}

/// A file that is being written.
pub struct NewFile<'f>(&'f File);

impl NewFile<'_> {
    /// The file itself, for writing past the memory for files.
    pub fn file(&self) -> &File {
        self.0
    }
}

impl Write for NewFile<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        step()?;
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Bytes that are written at a time.
const BUFFER: usize = if cfg!(test) { 64 } else { 1 << 20 };

/// Stands before whatever asks something of the disk, so that a test can have it fail.
fn step() -> io::Result<()> {
    #[cfg(test)]
    faults::step()?;
    Ok(())
}

/// A temporary file beside `path`. It is removed when it is dropped without [`persist`].
pub(crate) fn temporary(path: &Path) -> Result<NamedTempFile> {
    refuse_special(path)?;
    let (dir, prefix) = split(path)?;
    remove_stale(&dir, &prefix);
    let file = step().and_then(|()| create(&dir, &prefix)).map_err(Error::io(path))?;
    let mut unfinished = unfinished();
    // Those that were given up were removed as they were dropped.
    unfinished.retain(|other| other.exists());
    unfinished.insert(file.path().to_owned());
    Ok(file)
}

/// Brings the file to the disk and gives it its name.
pub(crate) fn persist(file: NamedTempFile, path: &Path) -> Result<()> {
    step().and_then(|()| file.as_file().sync_all()).map_err(Error::io(path))?;
    rename(file, path)?;
    // The rename is durable once the directory is; where directories cannot be synced it is as good as it gets.
    let _ = split(path).map(|(dir, _)| File::open(dir).and_then(|dir| dir.sync_all()));
    Ok(())
}

fn rename(file: NamedTempFile, path: &Path) -> Result<()> {
    // A result is as readable as the file it replaces.
    if let Ok(old) = fs::metadata(path) {
        file.as_file().set_permissions(old.permissions()).map_err(Error::io(path))?;
    }
    let temporary = file.path().to_owned();
    step().map_err(Error::io(path))?;
    file.persist(path).map_err(|e| Error::io(path)(e.error))?;
    unfinished().remove(&temporary);
    Ok(())
}

/// Writes a file through `write` so that `path` holds either its old content or all of the new one, even if the
/// process or the machine stops in between.
pub(crate) fn write(path: &Path, write: impl FnOnce(&mut BufWriter<NewFile<'_>>) -> io::Result<()>) -> Result<()> {
    write_file(path, |out| write(out).map_err(Error::io(path)))
}

/// The same for a file whose writing may fail for other reasons than those of the disk.
pub fn write_file(path: &Path, write: impl FnOnce(&mut BufWriter<NewFile<'_>>) -> Result<()>) -> Result<()> {
    persist(filled(path, write)?, path)
}

/// The same without waiting for the disk: after a power cut `path` may hold anything, so its reader must check. A process
/// that is killed leaves it whole.
pub(crate) fn write_soon(path: &Path, write: impl FnOnce(&mut BufWriter<NewFile<'_>>) -> io::Result<()>) -> Result<()> {
    rename(filled(path, |out| write(out).map_err(Error::io(path)))?, path)
}

/// A temporary file beside `path` that holds what `write` writes.
fn filled(path: &Path, write: impl FnOnce(&mut BufWriter<NewFile<'_>>) -> Result<()>) -> Result<NamedTempFile> {
    let file = temporary(path)?;
    let mut out = BufWriter::with_capacity(BUFFER, NewFile(file.as_file()));
    let written = write(&mut out).and_then(|()| out.flush().map_err(Error::io(path)));
    // Bytes that a failed write left in the buffer must not be tried once more on dropping it.
    let _ = out.into_parts();
    written.map(|()| file)
}

/// Checks that a file can be written at `path`, without touching what may be there: for refusing hours of work whose
/// result would have nowhere to go.
pub fn check_target(path: &Path) -> Result<()> {
    refuse_special(path)?;
    let (dir, prefix) = split(path)?;
    if !dir.is_dir() {
        let reason = format!("its directory {} does not exist: make it first", dir.display());
        return Err(Error::file(path, reason));
    }
    match create(&dir, &prefix) {
        Ok(_) => Ok(()),
        Err(e) => Err(Error::file(path, format!("cannot write into directory {}: {}", dir.display(), e.kind()))),
    }
}

/// Renaming onto a device or a directory would fail late or, worse, replace the device.
fn refuse_special(path: &Path) -> Result<()> {
    match fs::metadata(path) {
        Ok(m) if m.is_dir() => Err(Error::file(path, "is a directory: name a file to write")),
        Ok(m) if !m.is_file() => Err(Error::file(path, "is not a regular file: name a file to write")),
        _ => Ok(()),
    }
}

/// The directory of `path` and the beginning of the temporary names that belong to it.
fn split(path: &Path) -> Result<(PathBuf, String)> {
    let name = path.file_name().ok_or_else(|| Error::file(path, "is not the name of a file: name a file to write"))?;
    let dir = match path.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir.to_owned(),
        _ => PathBuf::from("."),
    };
    Ok((dir, format!(".{}.tmp", name.to_string_lossy())))
}

fn create(dir: &Path, prefix: &str) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(prefix).rand_bytes(UNIQUE);
    #[cfg(unix)]
    {
        // Temporary files are private by default; this one becomes a file like any other, subject to the umask.
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(dir)
}

/// Removes what killed writers of the same target left behind. Failing to is no reason not to write.
fn remove_stale(dir: &Path, prefix: &str) {
    let now = SystemTime::now();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let unique = name.to_str().and_then(|n| n.strip_prefix(prefix)).unwrap_or_default();
        if unique.len() != UNIQUE || !unique.bytes().all(|b| b.is_ascii_alphanumeric()) {
            continue;
        }
        let age = entry.metadata().and_then(|m| m.modified()).ok().and_then(|t| now.duration_since(t).ok());
        if age.is_some_and(|age| age > STALE) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// A disk that fails when a test wants it to.
#[cfg(test)]
pub(crate) mod faults {
    use std::cell::Cell;
    use std::io;

    thread_local! {
        /// Steps that still succeed on this thread, if one is to fail.
        static LEFT: Cell<Option<usize>> = const { Cell::new(None) };
    }

    /// Runs `work` on a disk that fails after so many steps.
    pub fn after<T>(steps: usize, work: impl FnOnce() -> T) -> T {
        LEFT.set(Some(steps));
        let result = work();
        LEFT.set(None);
        result
    }

    pub(super) fn step() -> io::Result<()> {
        match LEFT.get() {
            Some(0) => Err(io::ErrorKind::StorageFull.into()),
            left => {
                LEFT.set(left.map(|left| left - 1));
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(dir: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_failed_write_leaves_the_old_file_and_no_debris() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out");
        write(&path, |w| w.write_all(b"old")).unwrap();
        let failed = write(&path, |w| {
            w.write_all(b"new")?;
            Err(io::Error::other("disk full"))
        });
        assert!(failed.unwrap_err().to_string().ends_with("out: disk full"));
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(names(dir.path()), ["out"]);
    }

    #[test]
    fn only_stale_files_of_the_same_target_are_removed() {
        let dir = tempfile::tempdir().unwrap();
        let old = SystemTime::now() - Duration::from_secs(3600);
        for name in [".out.tmpabc123", ".other.tmpabc123", ".out.tmplonger-than-ours"] {
            File::create(dir.path().join(name)).unwrap().set_modified(old).unwrap();
        }
        File::create(dir.path().join(".out.tmpfresh1")).unwrap();
        write(&dir.path().join("out"), |w| w.write_all(b"x")).unwrap();
        assert_eq!(names(dir.path()), [".other.tmpabc123", ".out.tmpfresh1", ".out.tmplonger-than-ours", "out"]);
    }

    #[test]
    fn targets_are_checked() {
        let dir = tempfile::tempdir().unwrap();
        check_target(&dir.path().join("out")).unwrap();
        assert!(names(dir.path()).is_empty());
        let cases = [
            (dir.path().to_owned(), "is a directory: name a file to write"),
            (dir.path().join("no/out"), "does not exist: make it first"),
            (PathBuf::from("/"), "is a directory: name a file to write"),
            #[cfg(unix)]
            (PathBuf::from("/dev/null"), "is not a regular file: name a file to write"),
        ];
        for (path, end) in cases {
            let message = check_target(&path).unwrap_err().to_string();
            assert!(message.ends_with(end), "{message}");
        }
    }
}
