//! The folder of a comparison: caches and models under way, and the rows that are finished.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use rembrandt::{Error, Result};

use super::plan::Plan;
use super::row::Row;
use crate::text;

/// The finished rows, by what they depend on.
type Rows = BTreeMap<String, Row>;

/// The folder, locked against a second comparison.
pub struct Store {
    folder: PathBuf,
    /// Whether there was none before.
    made: bool,
    /// Held open: closing it lets others in.
    _lock: File,
}

impl Store {
    /// Opens the folder, and makes it if there is none.
    pub fn open(folder: &Path) -> Result<Store> {
        let made = !folder.exists();
        fs::create_dir_all(folder).map_err(Error::io(folder))?;
        let path = folder.join("lock");
        let lock = File::create(&path).map_err(Error::io(&path))?;
        match lock.try_lock() {
            Ok(()) => Ok(Store { folder: folder.to_owned(), made, _lock: lock }),
            Err(TryLockError::WouldBlock) => {
                let reason = "another comparison is at work here: wait for it, or name another folder with --work";
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
    pub fn find(&self, key: &str) -> Result<Option<Row>> {
        Ok(self.rows()?.remove(key))
    }

    /// Writes a row down.
    pub fn keep(&self, key: &str, row: &Row) -> Result<()> {
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
            // What cannot be removed is in nobody's way.
            let _ = fs::remove_dir_all(&self.folder);
        }
    }

    fn rows_path(&self) -> PathBuf {
        self.file("rows.json")
    }

    fn rows(&self) -> Result<Rows> {
        let path = self.rows_path();
        if !path.exists() {
            return Ok(Rows::new());
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
    use super::super::row::Outcome;
    use super::*;

    #[test]
    fn rows_are_kept_and_the_folder_is_locked() {
        let desk = tempfile::tempdir().unwrap();
        let folder = desk.path().join("work");
        let row = Row { method: "pca".into(), k: None, outcome: Outcome::Failed { reason: "no".into() } };
        let store = Store::open(&folder).unwrap();
        store.keep("a", &row).unwrap();
        assert!(Store::open(&folder).is_err());
        drop(store);
        let again = Store::open(&folder).unwrap();
        assert_eq!((again.find("a").unwrap(), again.find("b").unwrap()), (Some(row), None));
        fs::write(folder.join("rows.json"), "{").unwrap();
        assert!(again.find("a").is_err());
    }
}
