//! Each write, sync and rename fails in turn: what was there stays, nothing else does, and the error names the file.

use std::fs;
use std::path::Path;

use serde_json::json;

use super::*;
use crate::data::convert;
use crate::data::formats::ReadOptions;
use crate::io::atomic_file::faults;
use crate::{Checkpoints, Dataset, EmbeddingFile, Error, Rembrandt, Result, Run};

/// Writes over an old file until it succeeds, with one step more each time; returns how many there are.
fn steps(write: impl Fn(&Path) -> Result<()>) -> usize {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    for steps in 0.. {
        fs::write(&path, "old").unwrap();
        let written = faults::after(steps, || write(&path));
        let names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["out"], "after {steps} steps");
        match written {
            Ok(()) => {
                let found = fs::read(&path).unwrap();
                write(&path).unwrap();
                assert_eq!(found, fs::read(&path).unwrap());
                return steps;
            }
            Err(error) => {
                assert!(matches!(error, Error::Io { .. }) && error.to_string().contains("out: "), "{error}");
                assert_eq!(fs::read(&path).unwrap(), b"old", "after {steps} steps");
            }
        }
    }
    unreachable!("it succeeds in the end")
}

#[test]
fn a_disk_that_fails_at_any_step_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let rows = folder.path().join("rows.txt");
    fs::write(&rows, "0 1:1 2:0.5\n1 0:2\n".repeat(40)).unwrap();
    let data = Dataset::read(&rows).unwrap();
    let params = Rembrandt::new(2);
    let embedding = EmbeddingFile {
        embedding: params.fit(&data, &mut Run::default()).unwrap(),
        params,
        row_scale: Default::default(),
        label_names: None,
        feature_names: None,
    };
    let model = Model::new(parts("ilr", 12)).unwrap();
    // To create, to write at least once, to sync and to rename.
    assert!(steps(|path| model.save(path)) > 4);
    assert!(steps(|path| embedding.save(path)) > 4);
    assert!(steps(|path| convert(&rows, &ReadOptions::default(), path, &mut Run::default()).map(drop)) > 4);
}

#[test]
fn checkpoints_that_cannot_be_kept_are_an_error_and_those_before_stay() {
    let folder = tempfile::tempdir().unwrap();
    let rows = folder.path().join("rows.txt");
    fs::write(&rows, "0 1:1 2:0.5\n1 0:2\n".repeat(40)).unwrap();
    let (data, params) = (Dataset::read(&rows).unwrap(), Rembrandt::new(2));
    let place = folder.path().join("checkpoints");
    let expected = params.fit(&data, &mut Run::default()).unwrap().labels;
    let mut failures = 0;
    for steps in 0.. {
        let fitted = faults::after(steps, || {
            let checkpoints = Checkpoints::open(&place, &json!({}))?;
            params.fit(&data, &mut Run::default().with_checkpoints(Some(&checkpoints)))
        });
        match fitted {
            Ok(embedding) => {
                assert!(embedding.labels == expected);
                break;
            }
            Err(error) => assert!(error.to_string().contains("there is no room for checkpoints"), "{error}"),
        }
        failures += 1;
        let names = fs::read_dir(&place).into_iter().flatten().map(|entry| entry.unwrap().file_name());
        let debris: Vec<_> = names.filter(|name| name.to_string_lossy().contains(".tmp")).collect();
        assert!(debris.is_empty(), "{debris:?}");
    }
    assert!(failures > 4, "{failures}");
}
