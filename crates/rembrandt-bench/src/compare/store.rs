//! The folder of a comparison: caches and models under way, and the rows that are finished.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use rembrandt::{Error, Result};

use super::plan::Plan;
use super::row::MethodRow;
use crate::text;

/// The finished rows, by what they depend on.
type StoredRows = BTreeMap<String, MethodRow>;

/// The folder, locked against a second comparison.
pub struct ResultStore {
    folder: PathBuf,
    /// Whether there was none before.
    made: bool,
    /// Held open: closing it lets others in.
    _lock: File,
}

impl ResultStore {
    /// Opens the folder, and makes it if there is none.
    pub fn open(folder: &Path) -> Result<ResultStore> {
        let made = !folder.exists();
        fs::create_dir_all(folder).map_err(Error::io(folder))?;
        let path = folder.join("lock");
        let lock = File::create(&path).map_err(Error::io(&path))?;
        match lock.try_lock() {
            Ok(()) => Ok(ResultStore { folder: folder.to_owned(), made, _lock: lock }),
            Err(TryLockError::WouldBlock) => {
                let reason = "another comparison is at work here: wait for it, or name another folder to work in";
                Err(Error::file(folder, reason))
            }
            Err(TryLockError::Error(e)) => Err(Error::io(&path)(e)),
        }
    }

    /// A file of the folder.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The row that was finished under this key.
    pub fn find(&self, key: &str) -> Result<Option<MethodRow>> {
        Ok(self.rows()?.remove(key))
    }

    /// Writes a row down.
    pub fn keep(&self, key: &str, row: &MethodRow) -> Result<()> {
        let mut rows = self.rows()?;
        rows.insert(key.to_owned(), row.clone());
        let text = serde_json::to_string_pretty(&rows).expect("rows are plain data");
        text::write(&self.rows_path(), &text)
    }

    /// Removes what only a comparison under way needs.
    pub fn tidy(&self, plan: &Plan<'_>) -> Result<()> {
        plan.caches()
            .iter()
            .filter(|path| path.exists())
            .try_for_each(|path| fs::remove_file(path).map_err(Error::io(path)))
    }

    /// Removes a folder that was made in vain.
    pub fn abandon(self) {
        if self.made {
            // A folder that cannot be removed is in nobody's way.
            let _ = fs::remove_dir_all(&self.folder);
        }
    }

    fn rows_path(&self) -> PathBuf {
        self.file("rows.json")
    }

    fn rows(&self) -> Result<StoredRows> {
        let path = self.rows_path();
        if !path.exists() {
            return Ok(StoredRows::new());
        }
        let text = fs::read_to_string(&path).map_err(Error::io(&path))?;
        let damaged = |e: serde_json::Error| {
            Error::file(&path, format!("does not hold the rows of a comparison ({e}): remove it"))
        };
        serde_json::from_str(&text).map_err(damaged)
    }
}

#[cfg(test)]
mod tests {
    use super::super::row::MethodOutcome;
    use super::*;

    #[test]
    fn rows_are_kept_and_the_folder_is_locked() {
        let desk = tempfile::tempdir().unwrap();
        let folder = desk.path().join("work");
        let row = MethodRow { method: "pca".into(), k: None, outcome: MethodOutcome::Failed { reason: "no".into() } };
        let store = ResultStore::open(&folder).unwrap();
        store.keep("a", &row).unwrap();
        assert!(ResultStore::open(&folder).is_err());
        drop(store);
        let again = ResultStore::open(&folder).unwrap();
        assert_eq!((again.find("a").unwrap(), again.find("b").unwrap()), (Some(row), None));
        fs::write(folder.join("rows.json"), "{").unwrap();
        assert!(again.find("a").is_err());
    }
}
