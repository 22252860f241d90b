//! Everything that reads what others wrote, given any bytes: it reads them or refuses them, and must not panic. The fuzz targets
//! and the tests call these.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use rembrandt::data::formats::{Format, Ids, ReadOptions, read_names, read_rows_from, read_rows_with_vocabulary_from};
use rembrandt::data::records::{RecordFormat, RecordOptions, Selector, read_records_from};
use rembrandt::data::{Dataset, NameIndex, Vocabulary, VocabularyIds};
use rembrandt::model::{Model, PredictOptions, Preprocessing};
use rembrandt::{EmbeddingFile, Examples, Run, Side};
use serde_json::Value;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// Sparse rows, by themselves and with the ids of a model.
pub fn rows(bytes: &[u8]) {
    let name = Path::new("fuzz");
    for format in [Format::Auto, Format::Xmc, Format::Svmlight, Format::Vw] {
        for ids in [Ids::Auto, Ids::Numbers, Ids::Words] {
            let options = ReadOptions::default().with(|o| (o.format, o.ids) = (format, ids));
            let _ = read_rows_from(bytes, name, &options, &mut Run::default(), &mut |rows| {
                assert_eq!(rows.x.rows(), rows.y.rows());
                Ok(())
            });
            let words = NameIndex::new(["a", "b", "7"]).expect("the names differ");
            for vocabulary in [
                Vocabulary { features: VocabularyIds::Numbers(9), labels: VocabularyIds::Numbers(3) },
                Vocabulary {
                    features: VocabularyIds::Words(words.clone()),
                    labels: VocabularyIds::Words(words.clone()),
                },
            ] {
                let run = &mut Run::default();
                let _ = read_rows_with_vocabulary_from(bytes, name, &options, &vocabulary, run, &mut |_| Ok(()));
            }
        }
    }
}

/// Texts in all formats, with columns by name and by number.
pub fn records(bytes: &[u8]) {
    let formats = [RecordFormat::Auto, RecordFormat::Tsv, RecordFormat::Csv, RecordFormat::Jsonl, RecordFormat::Lines];
    let numbered = RecordOptions::new(Selector::Number(2)).with(|o| o.labels = Some(Selector::Number(1)));
    for format in formats {
        for options in [RecordOptions::default(), RecordOptions::default().remembered(), numbered.clone()] {
            let options = options.with(|o| o.format = format);
            let _ = read_records_from(bytes, Path::new("fuzz"), &options, &mut Run::default(), &mut |records| {
                assert_eq!(records.texts().len(), records.len());
                Ok(())
            });
        }
    }
}

/// Names, one a line.
pub fn names(bytes: &[u8]) {
    in_a_file(bytes, |path| drop(read_names(path)));
}

/// A cache file, as it is and with checksums put right, so that what lies behind them is reached.
pub fn cache(bytes: &[u8]) {
    let read = |path: &Path| {
        let Ok(data) = Dataset::open(path) else { return };
        if data.verify().is_ok() && data.shape().c < 1 << 20 && data.shape().d < 1 << 20 {
            let _ = (data.labels(), data.features(), data.weights(), data.moments(Side::X), data.moments(Side::Y));
        }
    };
    in_a_file(bytes, read);
    sealed_cache(bytes).iter().for_each(|bytes| in_a_file(bytes, read));
}

/// An embedding file, likewise.
pub fn embedding(bytes: &[u8]) {
    let read = |path: &Path| drop(EmbeddingFile::open(path));
    in_a_file(bytes, read);
    sealed(bytes).iter().for_each(|bytes| in_a_file(bytes, read));
}

/// A model file, likewise, and what the model says.
pub fn model(bytes: &[u8]) {
    let read = |path: &Path| {
        let Ok(model) = Model::open(path) else { return };
        let example =
            if let Preprocessing::Text(_) = model.preprocessing() { "a leaf kettle" } else { "0:1 2:2 3:0.5" };
        let Ok(x) = model.prepare_example(example) else { return };
        for exact in [false, true] {
            if let Ok(predictor) = model.predictor(PredictOptions::top(3).with(|o| o.exact = exact)) {
                predictor.predict_prepared(x.view());
            }
        }
        let _ = (model.explain(x.view(), 0), model.neighbors(0, 3));
    };
    in_a_file(bytes, read);
    sealed(bytes).iter().for_each(|bytes| in_a_file(bytes, read));
}

fn in_a_file(bytes: &[u8], read: impl Fn(&Path)) {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let path = folder.path().join("fuzz");
    fs::write(&path, bytes).expect("there is room for a file");
    read(&path);
}

/// A safetensors file of ours with checksums that match, if its header can be read.
fn sealed(bytes: &[u8]) -> Option<Vec<u8>> {
    let (length, rest) = bytes.split_first_chunk()?;
    let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
    let (header, tensors) = (rest.get(..length)?, &rest[length..]);
    let mut header: BTreeMap<String, Value> = serde_json::from_slice(header).ok()?;
    let mut metadata: BTreeMap<String, String> = serde_json::from_value(header.remove("__metadata__")?).ok()?;
    let hex = |hash: u64| format!("{hash:016x}");
    let blocks = metadata.contains_key("checksum_kind");
    let sum = match blocks {
        true => {
            let hashes: Vec<u8> = tensors.chunks(1 << 20).flat_map(|block| xxh3_64(block).to_le_bytes()).collect();
            xxh3_64(&hashes)
        }
        false => xxh3_64(tensors),
    };
    if blocks {
        let mut lines = Vec::new();
        for (name, tensor) in &header {
            let offset = |at: usize| tensor["data_offsets"][at].as_u64();
            let shape: Vec<u64> = serde_json::from_value(tensor["shape"].clone()).ok()?;
            let line = format!("{name} {} {shape:?}\n", tensor["dtype"].as_str()?);
            lines.push((offset(0)?, offset(1)?, name.clone(), line));
        }
        lines.sort();
        let lines: String = lines.into_iter().map(|(_, _, _, line)| line).collect();
        metadata.insert("directory_checksum".into(), hex(xxh3_64(lines.as_bytes())));
    }
    let mut hash = Xxh3::new();
    let others = metadata.iter().filter(|(key, _)| *key != "checksum" && *key != "metadata_checksum");
    for text in others.flat_map(|(key, value)| [key, value]) {
        hash.update(&(text.len() as u64).to_le_bytes());
        hash.update(text.as_bytes());
    }
    metadata.insert("metadata_checksum".into(), hex(hash.digest()));
    metadata.insert("checksum".into(), hex(sum));
    let mut whole = serde_json::Map::new();
    whole.insert("__metadata__".into(), serde_json::to_value(metadata).ok()?);
    whole.extend(header);
    let mut text = serde_json::to_vec(&whole).ok()?;
    text.resize(text.len().next_multiple_of(8), b' ');
    Some([&(text.len() as u64).to_le_bytes()[..], &text, tensors].concat())
}

/// A cache file with checksums that match, if its footer can be read.
fn sealed_cache(bytes: &[u8]) -> Option<Vec<u8>> {
    let trailer = bytes.len().checked_sub(32)?;
    let word = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
    let (offset, length) = (usize::try_from(word(trailer)?).ok()?, usize::try_from(word(trailer + 8)?).ok()?);
    let mut footer: Value = serde_json::from_slice(bytes.get(offset..offset.checked_add(length)?)?).ok()?;
    let seal = |part: &mut Value| {
        let place = |key: &str| part[key].as_u64().and_then(|at| usize::try_from(at).ok());
        let (from, len) = (place("offset")?, place("bytes")?);
        let sum = xxh3_64(bytes.get(from..from.checked_add(len)?)?);
        part["checksum"] = sum.into();
        Some(())
    };
    for part in footer["chunks"].as_array_mut()? {
        let _ = seal(part);
    }
    for names in ["label_names", "feature_names"] {
        footer.get_mut(names).filter(|part| part.is_object()).and_then(seal);
    }
    let footer = serde_json::to_vec(&footer).ok()?;
    let mut whole = bytes[..offset].to_vec();
    whole.extend_from_slice(&footer);
    for word in [offset as u64, footer.len() as u64, xxh3_64(&footer)] {
        whole.extend_from_slice(&word.to_le_bytes());
    }
    whole.extend_from_slice(b"RMB-DONE");
    Some(whole)
}
