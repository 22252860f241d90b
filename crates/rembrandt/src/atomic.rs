//! Files that appear whole or not at all.
//!
//! Everything that this project writes goes to a temporary file beside its target, is brought to the disk, and is then
//! renamed. A run that is killed leaves the old file as it was.

use std::path::Path;
use std::time::Duration;

use tempfile::NamedTempFile;

use crate::{Error, Result};

/// Temporary files older than this were left by a killed run and are swept away.
const STALE: Duration = Duration::from_secs(60);

/// A temporary file beside `path`. It is removed when it is dropped without [`persist`].
pub(crate) fn temporary(path: &Path) -> Result<NamedTempFile> {
    let directory = directory(path);
    let prefix = prefix(path);
    sweep(directory, &prefix);
    let file = tempfile::Builder::new().prefix(&prefix).rand_bytes(8).tempfile_in(directory);
    file.map_err(Error::io(path))
}

/// Brings the file to the disk and gives it its name.
pub(crate) fn persist(file: NamedTempFile, path: &Path) -> Result<()> {
    file.as_file().sync_all().map_err(Error::io(path))?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // Temporary files are private; a result is as readable as the file it replaces or as any new file.
        let mode = std::fs::metadata(path).map_or(0o644, |m| m.permissions().mode());
        let permissions = std::fs::Permissions::from_mode(mode);
        file.as_file().set_permissions(permissions).map_err(Error::io(path))?;
    }
    file.persist(path).map_err(|e| Error::io(path)(e.error))?;
    Ok(())
}

fn directory(path: &Path) -> &Path {
    path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn prefix(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    format!(".{name}.tmp")
}

/// Removes what killed runs left. Never fails: the worst that happens is that a file stays.
fn sweep(directory: &Path, prefix: &str) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let ours = entry.file_name().to_str().is_some_and(|name| {
            name.strip_prefix(prefix)
                .is_some_and(|rest| rest.len() == 8 && rest.bytes().all(|b| b.is_ascii_alphanumeric()))
        });
        let age = entry.metadata().and_then(|m| m.modified()).map(|t| t.elapsed().unwrap_or_default());
        if ours && age.is_ok_and(|age| age > STALE) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn an_unfinished_file_leaves_the_old_one_and_no_debris() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("model");
        std::fs::write(&path, "old").unwrap();
        let mut file = temporary(&path).unwrap();
        file.write_all(b"half").unwrap();
        drop(file);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
        let mut file = temporary(&path).unwrap();
        file.write_all(b"new").unwrap();
        persist(file, &path).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "new");
    }

    #[test]
    fn debris_of_killed_runs_is_swept_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("model");
        let old = std::time::SystemTime::now() - 2 * STALE;
        for name in [".model.tmpAbCd1234", ".model.tmp-notes", ".other.tmpAbCd1234"] {
            let file = std::fs::File::create(dir.path().join(name)).unwrap();
            file.set_modified(old).unwrap();
        }
        std::fs::File::create(dir.path().join(".model.tmpRunning1")).unwrap();
        std::fs::File::create(dir.path().join(".model.tmpRunning")).unwrap();
        drop(temporary(&path).unwrap());
        let mut left: Vec<_> = std::fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, [".model.tmp-notes", ".model.tmpRunning", ".model.tmpRunning1", ".other.tmpAbCd1234"]);
    }
}
