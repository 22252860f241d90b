//! Whatever the texts, the data set is sound; and what cannot be learnt from is refused.

use std::fs;
use std::path::PathBuf;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::data::Examples;
use crate::data::featurizer::{Hashing, Weighting};

fn write(folder: &tempfile::TempDir, file: impl AsRef<[u8]>) -> PathBuf {
    let path = folder.path().join("texts");
    fs::write(&path, file).unwrap();
    path
}

fn read(file: impl AsRef<[u8]>, params: FeaturizerParams) -> Result<(Dataset, Featurizer)> {
    let folder = tempfile::tempdir().unwrap();
    let path = write(&folder, file);
    let options = RecordOptions { weight: None, ..RecordOptions::default() };
    let read = Texts::read_with(&path, &options, &mut Run::default()).and_then(|texts| texts.into_dataset(params));
    // The folder has another name each time.
    read.map_err(|error| match error {
        Error::File { reason, .. } => Error::File { path: "file".into(), reason },
        Error::Line { line, reason, .. } => Error::Line { path: "file".into(), line, reason },
        other => other,
    })
}

fn all_words() -> FeaturizerParams {
    FeaturizerParams { min_df: 1, min_length: 1, ..FeaturizerParams::default() }
}

#[test]
fn labels_are_numbered_as_they_appear() {
    let file = "labels,text\r\n\"b,a\",red wine\r\n,nothing\r\n\"c,a\",white wine\r\n";
    let (data, featurizer) = read(file, FeaturizerParams { min_df: 2, ..all_words() }).unwrap();
    assert_eq!(data.shape(), Shape { n: 3, d: 1, c: 3 });
    assert_eq!(data.label_names().unwrap(), ["b", "a", "c"]);
    assert!(data.has_words(Side::Y) && data.feature_names().is_none() && data.weights().unwrap().is_none());
    let y = data.labels().unwrap();
    assert_eq!((0..3).map(|i| y.view().row(i).0).collect::<Vec<_>>(), [&[0, 1][..], &[], &[1, 2]]);
    assert_eq!(featurizer.names().collect::<Vec<_>>(), ["wine"]);
    let texts = [("red wine", vec!["b", "a"]), ("nothing", vec![]), ("white wine", vec!["c", "a"])];
    let (same, _) = Texts::new(texts).into_dataset(FeaturizerParams { min_df: 2, ..all_words() }).unwrap();
    assert_eq!(same.label_names(), data.label_names());
    assert_eq!((same.labels().unwrap(), same.features().unwrap()), (y, data.features().unwrap()));
}

#[test]
fn rows_are_those_of_the_featurizer_and_weights_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    // More than one batch, and more than one chunk.
    let line = |i: usize| format!("{}\tw{} w{} common\tl{}\n", [1.0, 0.5][i % 2], i % 97, i % 31, i % 7);
    let file = "weight\ttext\tlabels\n".to_owned() + &(0..60_000).map(line).collect::<String>();
    let path = write(&folder, zstd::encode_all(file.as_bytes(), 1).unwrap());
    let options = RecordOptions { weight: Some("weight".parse().unwrap()), ..RecordOptions::default() };
    let read = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let texts = pool.install(|| Texts::read_with(&path, &options, &mut Run::default())).unwrap();
        assert_eq!((texts.len(), texts.is_empty()), (60_000, false));
        pool.install(|| texts.into_dataset(all_words())).unwrap()
    };
    let (data, featurizer) = read(1);
    assert_eq!((data.labels().unwrap().nnz(), data.chunks()), (60_000, 4));
    let (x, weights) = (data.features().unwrap(), data.weights().unwrap().unwrap());
    for i in [0, 16_383, 16_384, 59_999] {
        let expected = featurizer.transform(&format!("w{} w{} common", i % 97, i % 31));
        assert!(x.view().entries(i).eq(expected.iter().map(|(id, value)| (*id as usize, *value))));
        assert_eq!(weights[i], [1.0, 0.5][i % 2]);
    }
    let (again, other) = read(3);
    assert_eq!(other.to_parts(), featurizer.to_parts());
    assert_eq!((again.features().unwrap(), again.labels().unwrap()), (x, data.labels().unwrap()));
    assert_eq!(again.label_names(), data.label_names());
}

#[test]
fn what_cannot_be_learnt_from() {
    let refusal = |file: &str, params| read(file, params).err().expect("the file must be refused").to_string();
    assert_eq!(refusal("", all_words()), "file: the file is empty");
    assert_eq!(refusal("text,labels\n", all_words()), "file: the file has no records");
    let unlabelled = "file: no record has a label, so there is nothing to learn; choose the column of the labels";
    assert_eq!(refusal("text,labels\nred,\n", all_words()), unlabelled);
    assert_eq!(refusal("text,tags\nred,a\n", all_words()), unlabelled);
    let message = refusal("text,labels\nred,a\nblue,b\n", FeaturizerParams::default());
    assert!(message.starts_with("file: no feature is left: of 2 different ones in 2 texts"), "{message}");
    let hashed = FeaturizerParams { hashing: Some(Hashing { bits: 4, signed: false }), ..all_words() };
    let message = refusal("text,labels\n!,a\n", hashed);
    assert_eq!(message, "file: no text has a feature; choose the column of the text, or other parameters");
    assert!(refusal("text,labels\nred,a\nblue,\"a,,b\"\n", all_words()).starts_with("file:3: empty label"));
    let bad = FeaturizerParams { max_df: 0.0, ..all_words() };
    assert!(refusal("text,labels\nred,a\n", bad).starts_with("max_df: "));
    let folder = tempfile::tempdir().unwrap();
    let (path, options) = (write(&folder, "text,labels\nred,a\n"), RecordOptions::default());
    let stopped = Texts::read_with(&path, &options, &mut Run::watched(|_| false));
    assert!(matches!(stopped, Err(Error::Cancelled)));
}

proptest! {
    #[test]
    fn any_texts_make_a_sound_data_set(
        records in vec((prop_oneof![any::<String>(), "\\PC{0,40}", "[a-c é漢]{0,20}"], vec("\\PC{0,3}", 0..4)), 1..20),
        hashing in any::<bool>(),
        weighting in prop::sample::select(vec![Weighting::TfIdf, Weighting::Tf, Weighting::Binary]),
    ) {
        let line = |(text, labels): &(String, Vec<String>)| {
            let labels: Vec<&String> = labels.iter().filter(|label| !label.trim().is_empty()).collect();
            serde_json::json!({"text": text, "labels": labels}).to_string()
        };
        let file = records.iter().map(line).collect::<Vec<_>>().join("\n");
        let hashing = hashing.then_some(Hashing { bits: 5, signed: true });
        let params = FeaturizerParams { hashing, weighting, ..all_words() };
        match read(&file, params) {
            Ok((data, featurizer)) => {
                prop_assert_eq!((data.shape().n, data.shape().d), (records.len(), featurizer.features()));
                let shape = data.shape();
                data.for_each_chunk(|chunk| chunk.validate(shape).map_err(|reason| Error::Data(reason.into()))).unwrap();
                let names = data.label_names().unwrap();
                let y = data.labels().unwrap();
                for (i, (text, labels)) in records.iter().enumerate() {
                    let mut ids: Vec<usize> = labels.iter().map(|label| label.trim()).filter(|label| !label.is_empty())
                        .map(|label| names.iter().position(|name| name == label).unwrap()).collect();
                    ids.sort_unstable();
                    ids.dedup();
                    prop_assert!(y.view().entries(i).map(|(id, _)| id).eq(ids));
                    let x = data.features().unwrap();
                    let expected = featurizer.transform(text);
                    prop_assert!(x.view().entries(i).eq(expected.iter().map(|(id, value)| (*id as usize, *value))));
                }
            }
            Err(error) => {
                let message = error.to_string();
                let unlabelled = records.iter().all(|(_, labels)| labels.iter().all(|label| label.trim().is_empty()));
                prop_assert_eq!(unlabelled, message.starts_with("file: no record has a label"), "{}", &message);
                let empty = message.starts_with("file: no ") || message.starts_with("file: all texts are empty");
                prop_assert!(unlabelled || empty, "{}", message);
            }
        }
    }
}
