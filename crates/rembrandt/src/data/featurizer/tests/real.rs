//! The features of real data, when the environment says where they are.

use crate::Run;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::*;
use crate::data::formats::{ReadOptions, read_rows};
use crate::data::records::{RecordFormat, RecordOptions, Records, Selector, read_records};

/// The directory of a data set below the one named by `REMBRANDT_DATA`.
fn folder(name: &str) -> Option<PathBuf> {
    let Some(all) = std::env::var_os("REMBRANDT_DATA") else {
        eprintln!("skipped: REMBRANDT_DATA does not name a directory with {name}");
        return None;
    };
    let folder = PathBuf::from(all).join(name);
    if !folder.join("train.raw.txt.zst").is_file() {
        eprintln!("skipped: there is no {}", folder.join("train.raw.txt.zst").display());
        return None;
    }
    Some(folder)
}

/// Rows by the names of their features.
fn stored_rows(path: &Path) -> Vec<HashMap<String, f64>> {
    let (mut rows, mut ids) = (Vec::new(), Vec::new());
    let summary = read_rows(path, &ReadOptions::default(), &mut Run::default(), &mut |batch| {
        ids.extend((0..batch.len()).map(|i| batch.x.view().entries(i).collect::<Vec<_>>()));
        Ok(())
    })
    .unwrap();
    let names = summary.feature_names.unwrap();
    rows.extend(ids.iter().map(|row| row.iter().map(|(id, v)| (names[*id].clone(), f64::from(*v))).collect()));
    rows
}

#[test]
fn features_of_package_descriptions_are_reproduced() {
    let Some(folder) = folder("debian-tags") else { return };
    let columns = RecordOptions { labels: Some(Selector::Number(1)), ..RecordOptions::new(Selector::Number(2)) };
    let mut batches = Vec::new();
    let mut sink = |records| {
        batches.push(records);
        Ok(())
    };
    let time = Instant::now();
    let summary = read_records(&folder.join("train.raw.txt.zst"), &columns, &mut Run::default(), &mut sink).unwrap();
    let read = time.elapsed();
    assert_eq!((summary.records, summary.labelled, summary.format), (27_269, 27_269, RecordFormat::Tsv));
    let texts: Vec<&str> = batches.iter().flat_map(Records::texts).collect();
    let bytes: usize = texts.iter().map(|text| text.len()).sum();
    let time = Instant::now();
    let (mut words, mut count) = (Words::default(), 0);
    texts.iter().for_each(|text| words.each(text, &FeaturizerParams::default(), |_| count += 1));
    let split = time.elapsed();
    let foreign: Vec<String> = texts.iter().map(|text| text.replace('e', "é")).collect();
    let time = Instant::now();
    foreign.iter().for_each(|text| words.each(text, &FeaturizerParams::default(), |_| count += 1));
    let split_foreign = time.elapsed();
    let time = Instant::now();
    // These features were made without normalisation.
    let params = FeaturizerParams { normalization: Normalization::None, ..FeaturizerParams::default() };
    let featurizer = Featurizer::fit(params, &texts).unwrap();
    let fitted = time.elapsed();
    let rows = featurizer.transform_batch(&texts);
    let transformed = time.elapsed() - fitted;
    let names: Vec<&str> = featurizer.names().collect();
    let stored = stored_rows(&folder.join("train.txt.zst"));
    assert_eq!(rows.rows(), stored.len());
    let cosine = |row: usize| -> f64 {
        rows.view().entries(row).map(|(id, v)| stored[row].get(names[id]).map_or(0.0, |s| s * f64::from(v))).sum()
    };
    let (mut sum, mut least) = (0.0, f64::INFINITY);
    for row in 0..rows.rows() {
        sum += cosine(row);
        least = least.min(cosine(row));
    }
    let mean = sum / rows.rows() as f64;
    let speed = |time: std::time::Duration| bytes as f64 / 1e6 / time.as_secs_f64();
    eprintln!("d = {}, cosine {mean:.5} on average, {least:.5} at least", featurizer.features());
    let (ascii, beyond) = (speed(split), speed(split_foreign));
    eprintln!("{count} words; split on one thread: {ascii:.0} MB/s, with accents {beyond:.0} MB/s");
    eprintln!("MB/s: read {:.0}, fit {:.0}, transform {:.0}", speed(read), speed(fitted), speed(transformed));
    assert!(featurizer.features().abs_diff(25_105) <= 50, "d = {}", featurizer.features());
    assert!(mean >= 0.99, "the cosine is {mean} on average");
}
