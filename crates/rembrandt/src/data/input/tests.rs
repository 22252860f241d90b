//! One way in for text, caches and records.

use crate::Run;
use std::fs;
use std::io::Write;
use std::path::PathBuf;

use super::*;
use crate::data::records::RecordFormat;
use crate::data::{VocabularyIds, convert};

/// An example as a test compares it: features or text, labels, weight.
type Example = (Vec<(usize, f32)>, String, Vec<u32>, f32);

fn collect(input: Input<'_>, all: &mut Vec<Example>) {
    let labels = |i| input.labels().row(i).0.to_vec();
    let weight = |weights: Option<&[f32]>, i: usize| weights.map_or(1.0, |w| w[i]);
    all.extend((0..input.len()).map(|i| match input {
        Input::Rows { x, weights, .. } => (x.entries(i).collect(), String::new(), labels(i), weight(weights, i)),
        Input::Texts { texts, weights, .. } => (Vec::new(), texts[i].to_owned(), labels(i), weight(weights, i)),
    }));
}

fn read(path: &Path, kind: &InputKind) -> Result<Vec<Example>> {
    let mut all = Vec::new();
    let n = read_input(path, kind, &mut Run::default(), &mut |input| {
        collect(input, &mut all);
        Ok(())
    })?;
    assert_eq!(n as usize, all.len());
    Ok(all)
}

fn read_stream(bytes: &[u8], kind: &InputKind) -> Result<Vec<Example>> {
    let mut all = Vec::new();
    let n = read_input_from(bytes, "stream".as_ref(), kind, &mut Run::default(), &mut |input| {
        collect(input, &mut all);
        Ok(())
    })?;
    assert_eq!(n as usize, all.len());
    Ok(all)
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

fn words(names: &[&str]) -> VocabularyIds {
    VocabularyIds::Words(NameIndex::new(names).unwrap())
}

fn sparse(features: VocabularyIds, labels: VocabularyIds) -> InputKind {
    InputKind::Sparse(ReadOptions::default(), Vocabulary { features, labels })
}

/// A text file and a cache of it.
fn both(folder: &tempfile::TempDir, text: &str) -> [PathBuf; 2] {
    let [path, cache] = ["data.txt", "data.rmb"].map(|name| folder.path().join(name));
    fs::write(&path, text).unwrap();
    convert(&path, &ReadOptions::default(), &cache, &mut Run::default()).unwrap();
    [path, cache]
}

#[test]
fn a_cache_gives_what_its_text_gives() {
    let folder = tempfile::tempdir().unwrap();
    let text = "x,b 2 | vote goal:2 new:3\n| goal\na,y,x 0 | late vote:4\nb |\n";
    let paths = both(&folder, text);
    let kind = sparse(words(&["goal", "vote"]), words(&["a", "b"]));
    let expected = [
        (vec![(0, 2.0), (1, 1.0)], vec![1, 2], 2.0),
        (vec![(0, 1.0)], vec![], 1.0),
        (vec![(1, 4.0)], vec![0, 2, 3], 0.0),
        (vec![], vec![1], 1.0),
    ];
    let expected = expected.map(|(x, y, weight)| (x, String::new(), y, weight));
    for path in &paths {
        assert_eq!(read(path, &kind).unwrap(), expected);
    }
    for bytes in [gzip(text), zstd::encode_all(text.as_bytes(), 1).unwrap(), text.replace('\n', "\r\n").into()] {
        assert_eq!(read_stream(&bytes, &kind).unwrap(), expected);
    }
    // The features and labels that a model learned are known to it afterwards.
    let [text, cache] = paths.map(|path| {
        let data = if Dataset::is_cache(&path) { Dataset::open(&path).unwrap() } else { Dataset::read(&path).unwrap() };
        let kind = InputKind::Sparse(ReadOptions::default(), data.vocabulary().unwrap());
        let read = read(&path, &kind).unwrap();
        assert!(
            read.iter()
                .zip(0..)
                .all(|(row, i)| row.0 == data.features().unwrap().view().entries(i).collect::<Vec<_>>())
        );
        read
    });
    assert_eq!(text, cache);
}

#[test]
fn numbers_in_a_cache() {
    let folder = tempfile::tempdir().unwrap();
    // Names at the side do not make words of numbers.
    fs::write(folder.path().join("labels.txt"), "a\nb\nc\n").unwrap();
    let paths = both(&folder, "2,0 1:1 3:2\n1 0:1\n");
    let expected = [(vec![(1, 1.0)], vec![0, 2]), (vec![(0, 1.0)], vec![1])];
    let expected = expected.map(|(x, y)| (x, String::new(), y, 1.0));
    for path in &paths {
        assert_eq!(read(path, &sparse(VocabularyIds::Numbers(2), VocabularyIds::Numbers(2))).unwrap(), expected);
        let whole = read(path, &sparse(VocabularyIds::Numbers(9), VocabularyIds::Numbers(9))).unwrap();
        assert_eq!(whole[0].0, [(1, 1.0), (3, 2.0)]);
        let error = read(path, &sparse(words(&["goal"]), VocabularyIds::Numbers(2))).unwrap_err().to_string();
        assert!(error.contains("are numbers, but the model knows its features by words"), "{error}");
    }
    // The cache has names for its labels, so a model that knows them by name may read it.
    let named = read(&paths[1], &sparse(VocabularyIds::Numbers(2), words(&["c"]))).unwrap();
    assert_eq!(named.iter().map(|row| row.2.clone()).collect::<Vec<_>>(), [vec![0, 1], vec![2]]);
    let data = Dataset::open(&paths[1]).unwrap();
    assert!(data.label_names().is_some() && matches!(data.vocabulary().unwrap().labels, VocabularyIds::Numbers(3)));
    fs::write(folder.path().join("labels.txt"), "a\na\nc\n").unwrap();
    let [_, twice] = both(&folder, "2,0 1:1 3:2\n1 0:1\n");
    let error = read(&twice, &sparse(VocabularyIds::Numbers(2), words(&["c"]))).unwrap_err().to_string();
    assert!(error.ends_with("data.rmb: the name `a` is given twice"), "{error}");
}

#[test]
fn a_cache_of_words_is_refused_by_a_model_of_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let [_, cache] = both(&folder, "a goal:1\n");
    let error = read(&cache, &sparse(VocabularyIds::Numbers(2), words(&["a"]))).unwrap_err().to_string();
    assert!(error.contains("data.rmb: feature ids are words, but the model knows its features by number"), "{error}");
    let records = InputKind::Records(RecordOptions::default(), NameIndex::default());
    let error = read(&cache, &records).unwrap_err().to_string();
    assert!(error.ends_with("this is a cache file, which holds features, but the model takes texts"), "{error}");
    let stopped =
        read_input(&cache, &sparse(words(&["b"]), words(&["a"])), &mut Run::watched(|_| false), &mut |_| Ok(()));
    assert!(matches!(stopped, Err(Error::Cancelled)));
}

#[test]
fn records_and_plain_lines() {
    let names = NameIndex::new(["wine"]).unwrap();
    let options = RecordOptions { weight: Some("w".parse().unwrap()), ..RecordOptions::default() };
    let file = "w\ttext\tlabels\r\n2\tred, dry\twine,new\r\n1\twhite\t\r\n";
    let row = |text: &str, labels: &[u32], weight| (Vec::new(), text.to_owned(), labels.to_vec(), weight);
    let expected = [row("red, dry", &[0, 1], 2.0), row("white", &[], 1.0)];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("records");
    fs::write(&path, gzip(file)).unwrap();
    let kind = InputKind::Records(options, names.clone());
    assert_eq!(read(&path, &kind).unwrap(), expected);
    assert_eq!(read_stream(file.as_bytes(), &kind).unwrap(), expected);
    let lines = RecordOptions { format: RecordFormat::Lines, ..RecordOptions::default() };
    let kind = InputKind::Records(lines, names);
    let texts = [row("text\tlabels", &[], 1.0), row("", &[], 1.0), row("{", &[], 1.0)];
    assert_eq!(read_stream(b"text\tlabels\r\n\r\n{\r\n", &kind).unwrap(), texts);
    let error = read_stream(b"a\n\xff\n", &kind).unwrap_err().to_string();
    assert!(error.starts_with("stream:2: byte 0xff"), "{error}");
}

#[test]
fn batches_are_bounded_and_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let text: String = (0..300_000).map(|i| format!("{} {i}:1\n", i % 3)).collect();
    let kind = sparse(VocabularyIds::Numbers(300_000), VocabularyIds::Numbers(3));
    for path in both(&folder, &text) {
        let (mut next, mut batches, mut last) = (0, 0, 0);
        let mut run = Run::watched(|progress| {
            assert!(last <= progress.done && progress.done <= progress.total.unwrap());
            last = progress.done;
            true
        });
        read_input(&path, &kind, &mut run, &mut |input| {
            let Input::Rows { x, .. } = input else { panic!("these are rows") };
            assert!(x.rows() < 150_000);
            for i in 0..x.rows() {
                assert!(x.row(i).0.contains(&(next as u32)));
                next += 1;
            }
            batches += 1;
            Ok(())
        })
        .unwrap();
        drop(run);
        assert!(next == 300_000 && batches >= 3);
        assert_eq!(last, fs::metadata(&path).unwrap().len());
    }
}
