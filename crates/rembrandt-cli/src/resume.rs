//! `--resume`: checkpoints of a long run, in a folder beside its result.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use rembrandt::data::Dataset;
use rembrandt::{Checkpoints, Examples, Result};
use serde_json::{Value, json};

use crate::output::count;
use crate::progress::Display;

/// The checkpoints of a run, if they are to be kept.
pub struct Resume(Option<Checkpoints>);

impl Resume {
    /// Opens the folder of `output` if `asked`, and says so. What the checkpoints depend on are the command, the data and the
    /// parameters.
    pub fn open(asked: bool, output: &Path, of: (&str, &Dataset, Value), display: &Display) -> Result<Resume> {
        let folder = folder(output);
        let place = folder.display();
        if !asked {
            if folder.is_dir() {
                display
                    .note(&format!("{place} has checkpoints of a run that was ended: --resume would go on from them"));
            }
            return Ok(Resume(None));
        }
        let (command, data, parameters) = of;
        let shape = data.shape();
        let data = json!({"n": shape.n, "d": shape.d, "c": shape.c, "content": format!("{:016x}", data.fingerprint())});
        let identity = json!({"command": command, "data": data, "parameters": parameters});
        let checkpoints = Checkpoints::open(&folder, &identity)?;
        display.note(&match checkpoints.len() {
            0 => format!("checkpoints are kept in {place}: should this be ended, the same command goes on"),
            found => format!("going on from {} in {place}", count(found as u64, "checkpoint")),
        });
        Ok(Resume(Some(checkpoints)))
    }

    /// The checkpoints.
    pub fn checkpoints(&self) -> Option<&Checkpoints> {
        self.0.as_ref()
    }

    /// Hands a result on. After a failure the checkpoints stay, and the user is told; a folder without any is removed.
    pub fn check<T, E>(
        self,
        result: std::result::Result<T, E>,
        display: &Display,
    ) -> std::result::Result<(T, Resume), E> {
        match (result, self.0) {
            (Ok(value), checkpoints) => Ok((value, Resume(checkpoints))),
            (Err(e), Some(checkpoints)) => {
                if checkpoints.is_empty() {
                    // The first error matters more than a folder that stays.
                    let _ = checkpoints.remove();
                } else {
                    let place = checkpoints.folder().display();
                    display.note(&format!("checkpoints are kept in {place}: the same command goes on from them"));
                }
                Err(e)
            }
            (Err(e), None) => Err(e),
        }
    }

    /// Removes the checkpoints, once the result is written.
    pub fn finish(self, display: &Display) {
        // The result is there: a folder that stays is worth a word and no failure.
        if let Some(Err(e)) = self.0.map(Checkpoints::remove) {
            display.note(&e.to_string());
        }
    }
}

/// `model.model.partial` for `model.model`.
fn folder(output: &Path) -> PathBuf {
    let mut name = OsString::from(output);
    name.push(".partial");
    PathBuf::from(name)
}
