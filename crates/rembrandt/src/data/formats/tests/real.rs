//! Real data, when the environment says where they are.

use crate::Run;
use std::path::PathBuf;

use super::*;
use crate::Shape;
use crate::data::formats::read_rows;

/// A file of real data below the directory named by `REMBRANDT_DATA`.
fn real(file: &str) -> Option<PathBuf> {
    let Some(folder) = std::env::var_os("REMBRANDT_DATA") else {
        eprintln!("skipped: REMBRANDT_DATA does not name a directory with {file}");
        return None;
    };
    let path = PathBuf::from(folder).join(file);
    if !path.is_file() {
        eprintln!("skipped: there is no {}", path.display());
        return None;
    }
    Some(path)
}

fn read_real(path: &Path, threads: usize) -> (Vec<Row>, Summary) {
    let mut rows = Vec::new();
    let mut sink = |batch: Rows| {
        rows.extend(rows_of(&batch));
        Ok(())
    };
    let options = ReadOptions::default();
    let summary = pool(threads).install(|| read_rows(path, &options, &mut Run::default(), &mut sink)).unwrap();
    (rows, summary)
}

#[test]
fn bibtex() {
    let Some(path) = real("bibtex/train.txt.zst") else { return };
    let (rows, summary) = read_real(&path, 2);
    assert_eq!((summary.shape, summary.format), (Shape { n: 4880, d: 1836, c: 159 }, Format::Xmc));
    assert_eq!(summary.label_names.as_ref().map(Vec::len), Some(159));
    assert_eq!(summary.feature_names.as_ref().map(Vec::len), Some(1836));
    let labels: usize = rows.iter().map(|row| row.labels.len()).sum();
    let features: usize = rows.iter().map(|row| row.features.len()).sum();
    assert!((2.35..2.45).contains(&(labels as f64 / 4880.0)), "{labels} labels");
    assert!((67.0..69.0).contains(&(features as f64 / 4880.0)), "{features} features");
    assert!(read_real(&path, 1) == (rows.clone(), summary.clone()));
    assert!(read_real(&path, 3) == (rows, summary));
}

#[test]
fn files_of_other_kinds() {
    for name in ["aloi", "corel5k", "yeast", "delicious", "debian-tags"] {
        let Some(path) = real(&format!("{name}/test.txt.zst")) else { continue };
        let (rows, summary) = read_real(&path, 2);
        assert_eq!(summary.format, Format::Xmc, "{name}");
        assert!(!rows.is_empty() && rows.iter().all(|row| row.weight == 1.0), "{name}");
    }
}
