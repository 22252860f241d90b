//! Files on disk: packing, directories, names at the side.

use crate::Run;
use std::fs;
use std::io::Write;

use super::*;
use crate::data::formats::{read_names, read_rows};

const DATA: &str = "0 1:1\n2 0:0.5\n";

fn folder(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    files.iter().for_each(|(name, bytes)| fs::write(folder.path().join(name), bytes).unwrap());
    folder
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn zstd(text: &[u8]) -> Vec<u8> {
    zstd::encode_all(text, 3).unwrap()
}

fn read_file(path: &Path, options: &ReadOptions) -> Result<(usize, Summary)> {
    let mut n = 0;
    let summary = read_rows(path, options, &mut Run::default(), &mut |rows| {
        n += rows.len();
        Ok(())
    })?;
    Ok((n, summary))
}

#[test]
fn packing_is_found_by_content() {
    let expected = read_text(DATA).unwrap();
    let (first, second) = DATA.split_at(8);
    let members = [gzip(first.as_bytes()), gzip(second.as_bytes())].concat();
    let frames = [zstd(first.as_bytes()), zstd(second.as_bytes())].concat();
    let skippable = [b"\x50\x2a\x4d\x18\x02\0\0\0ab".to_vec(), zstd(DATA.as_bytes())].concat();
    for bytes in [gzip(DATA.as_bytes()), zstd(DATA.as_bytes()), members, frames, skippable] {
        assert_eq!(read_text(&bytes).unwrap(), expected);
    }
    for empty in [gzip(b""), zstd(b"")] {
        assert_eq!(refusal(empty), "data.txt: the file is empty");
    }
}

#[test]
fn progress_counts_the_packed_file() {
    let text: String = (0..200_000).map(|i| format!("{} {}:{i}\n", i % 7, i % 1009)).collect();
    let folder = folder(&[("train.txt", &zstd(text.as_bytes()))]);
    let path = folder.path().join("train.txt");
    let size = fs::metadata(&path).unwrap().len();
    let mut last = 0;
    let mut run = Run::watched(|progress| {
        assert!(last <= progress.done && progress.done <= size && progress.total == Some(size));
        last = progress.done;
        true
    });
    let summary = read_rows(&path, &ReadOptions::default(), &mut run, &mut |_| Ok(())).unwrap();
    drop(run);
    assert_eq!((last, summary.bytes), (size, text.len() as u64));
}

#[test]
fn broken_streams_say_what_was_good() {
    let text: String = (0..100_000).map(|i| format!("{} {}:{}\n", i % 7, i * 7919 % 1009, i * 31 % 977)).collect();
    for (kind, packed) in [("gzip", gzip(text.as_bytes())), ("zstd", zstd(text.as_bytes()))] {
        for keep in [packed.len() / 2, packed.len() - 1, 12] {
            let message = refusal(&packed[..keep]);
            let good =
                message.strip_prefix(&format!("data.txt: the {kind} stream ends too early (good lines: ")).unwrap();
            let good = good.strip_suffix("); copy or make the file again").unwrap();
            assert!(good.parse::<u64>().unwrap() <= 100_000, "{message}");
        }
        let mut damaged = packed.clone();
        let middle = packed.len() / 2;
        damaged[middle..middle + 64].fill(0x55);
        // Damage shows as such, or as text that makes no sense, whichever comes first.
        match read_text(&damaged).unwrap_err() {
            crate::Error::File { reason, .. } => assert!(reason.contains("stream is damaged, "), "{reason}"),
            error => assert!(matches!(error, crate::Error::Line { .. }), "{error}"),
        }
    }
}

#[test]
fn missing_files_and_directories() {
    let inside = folder(&[("train.txt.zst", b""), ("test.txt", b"")]);
    let path = inside.path();
    let error = read_file(path, &ReadOptions::default()).unwrap_err().to_string();
    let (shown, meant) = (path.display(), path.join("train.txt.zst"));
    assert_eq!(error, format!("{shown}: this is a directory; did you mean {}?", meant.display()));
    let error = read_file(&path.join("nothing"), &ReadOptions::default()).unwrap_err();
    assert!(matches!(&error, crate::Error::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound));
    fs::remove_file(meant).unwrap();
    let error = read_file(path, &ReadOptions::default()).unwrap_err().to_string();
    assert_eq!(error, format!("{shown}: this is a directory; name a file in it"));
}

#[test]
fn side_files_are_picked_up_when_they_fit() {
    let labels = zstd(b"a\r\nb\r\nc\r\n");
    let folder = folder(&[("train.txt", DATA.as_bytes()), ("labels.txt.zst", &labels), ("features.txt", b"x\n")]);
    let (n, summary) = read_file(&folder.path().join("train.txt"), &ReadOptions::default()).unwrap();
    assert_eq!(n, 2);
    assert_eq!(summary.label_names.unwrap(), ["a", "b", "c"]);
    assert_eq!((summary.feature_names, summary.shape.d), (None, 2));
    let shown = |name| folder.path().join(name).display().to_string();
    let ignored = "is ignored: the number of names is 1, but the data have d = 2 features";
    let notes =
        [format!("labels are named by {}", shown("labels.txt.zst")), format!("{} {ignored}", shown("features.txt"))];
    assert_eq!(summary.notes, notes);
    // Words name themselves.
    fs::write(folder.path().join("words.txt"), "p 0:1\n").unwrap();
    let (_, summary) = read_file(&folder.path().join("words.txt"), &ReadOptions::default()).unwrap();
    assert_eq!(summary.label_names.unwrap(), ["p"]);
    assert_eq!(summary.feature_names.unwrap(), ["x"]);
}

#[test]
fn given_names_must_fit() {
    let header = format!("2 2 3\n{DATA}");
    let files: [(&str, &[u8]); 6] = [
        ("plain.txt", DATA.as_bytes()),
        ("header.txt", header.as_bytes()),
        ("words.txt", b"a x:1\n"),
        ("two", b"a\nb\n"),
        ("three", b"a\nb\nc"),
        ("four", b"a\nb\n\nd\n"),
    ];
    let folder = folder(&files);
    let at = |name: &str| folder.path().join(name);
    let read = |data: &str, names: &str| {
        let options = ReadOptions { label_names: Some(at(names)), ..ReadOptions::default() };
        read_file(&at(data), &options).map(|(_, summary)| (summary.shape.c, summary.label_names.unwrap().len()))
    };
    assert_eq!(read("plain.txt", "three").unwrap(), (3, 3));
    assert_eq!(read("plain.txt", "four").unwrap(), (4, 4));
    assert_eq!(read("header.txt", "three").unwrap(), (3, 3));
    for (data, names, count) in [("plain.txt", "two", 2), ("header.txt", "two", 2), ("header.txt", "four", 4)] {
        let expected =
            format!("{}: the number of names is {count}, but the data have c = 3 labels", at(names).display());
        assert_eq!(read(data, names).unwrap_err().to_string(), expected);
    }
    let error = read("words.txt", "two").unwrap_err().to_string();
    let data = at("words.txt");
    assert_eq!(error, format!("label_names: the labels in {} are words, so they have names already", data.display()));
}

#[test]
fn names() {
    let folder = folder(&[("a", b"\xef\xbb\xbfone\r\ntwo \n\nfour"), ("b", b"one\ntw\xffo\n"), ("c", b"")]);
    assert_eq!(read_names(&folder.path().join("a")).unwrap(), ["one", "two ", "", "four"]);
    let path = folder.path().join("b");
    let error = read_names(&path).unwrap_err().to_string();
    let reason = "byte 0xff in the line is not utf-8; is this a text file in utf-8?";
    assert_eq!(error, format!("{}:2: {reason}", path.display()));
    assert!(read_names(&folder.path().join("c")).unwrap().is_empty());
}
