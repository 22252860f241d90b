//! Records with the labels of a model.

use super::*;
use crate::Run;
use crate::data::NameIndex;

/// Texts and label ids.
fn read_known(file: &[u8], names: &NameIndex, options: &RecordOptions) -> Result<Vec<(String, Vec<u32>)>> {
    let mut all = Vec::new();
    let path = Path::new("file");
    let summary =
        read_records_with_vocabulary_from(file, path, options, names, &mut Run::default(), &mut |records, labels| {
            assert_eq!(labels.rows(), records.len());
            all.extend((0..records.len()).map(|i| (records.text(i).to_owned(), labels.row(i).0.to_vec())));
            Ok(())
        })?;
    assert_eq!(summary.records as usize, all.len());
    Ok(all)
}

#[test]
fn labels_are_looked_up() {
    let names = NameIndex::new(["b", "a"]).unwrap();
    let expected = [("red", vec![0, 1, 2]), ("", vec![0]), ("blue", vec![2, 3]), ("a", vec![0])];
    let expected = expected.map(|(text, labels)| (text.to_owned(), labels));
    let options = RecordOptions::default();
    let tsv = "text\tlabels\r\nred\tx,a,b\r\n\tb\r\nblue\ty,x,x\r\na\tb\r\n";
    assert_eq!(read_known(tsv.as_bytes(), &names, &options).unwrap(), expected);
    let json = "{\"text\": \"red\", \"labels\": [\"x\", \"a\", \"b\"]}\n{\"text\": \"\", \"labels\": \"b\"}\n\
                {\"text\": \"blue\", \"labels\": \"y,x,x\"}\n{\"text\": \"a\", \"labels\": \"b\"}";
    let packed = zstd::stream::encode_all(json.as_bytes(), 1).unwrap();
    assert_eq!(read_known(&packed, &names, &options).unwrap(), expected);
    let none = NameIndex::default();
    assert_eq!(read_known(b"text,labels\nred,\"x,y\"\n", &none, &options).unwrap(), [("red".to_owned(), vec![0, 1])]);
}

#[test]
fn bad_records_are_named() {
    let (names, options) = (NameIndex::new(["a"]).unwrap(), RecordOptions::default());
    let error = read_known(b"text\tlabels\nx\ta\ny\ta,,b\n", &names, &options).unwrap_err().to_string();
    assert!(error.starts_with("file:3: empty label in `a,,b`"), "{error}");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("missing");
    let missing = read_records_with_vocabulary(&path, &options, &names, &mut Run::default(), &mut |_, _| Ok(()));
    assert!(matches!(missing, Err(Error::Io { .. })));
    std::fs::write(&path, "text\nx\n").unwrap();
    let full = read_records_with_vocabulary(&path, &options, &names, &mut Run::default(), &mut |_, _| {
        Err(Error::Data("full".into()))
    });
    assert_eq!(full.unwrap_err().to_string(), "full");
    let stopped =
        read_records_with_vocabulary(&path, &options, &names, &mut Run::watched(|_| false), &mut |_, _| Ok(()));
    assert!(matches!(stopped, Err(Error::Cancelled)));
}
