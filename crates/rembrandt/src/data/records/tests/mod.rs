//! Reading records: what is written comes back, what is bad is named, and no bytes panic.

mod properties;
mod rules;
mod vocabulary;

use crate::Run;
use std::io::Write;
use std::path::Path;

use super::*;
use crate::data::formats::source::{self, Sizes};

/// A record as a test compares it.
#[derive(Clone, Debug, PartialEq)]
struct Record {
    text: String,
    labels: Vec<String>,
    weight: f32,
}

fn record(text: &str, labels: &[&str], weight: f32) -> Record {
    Record { text: text.into(), labels: labels.iter().map(|label| (*label).to_owned()).collect(), weight }
}

fn read_sized(bytes: &[u8], options: &RecordOptions, sizes: Sizes) -> Result<(Vec<Record>, RecordSummary)> {
    options.check()?;
    let path = Path::new("file");
    let mut all = Vec::new();
    let summary = read(source::unpack(bytes, path)?, path, options, sizes, &mut Run::default(), &mut |records| {
        all.extend((0..records.len()).map(|i| Record {
            text: records.text(i).to_owned(),
            labels: records.labels(i).map(str::to_owned).collect(),
            weight: records.weights().map_or(1.0, |weights| weights[i]),
        }));
        Ok(())
    })?;
    assert_eq!(summary.records as usize, all.len());
    assert_eq!(summary.labelled as usize, all.iter().filter(|record| !record.labels.is_empty()).count());
    Ok((all, summary))
}

fn read_with(file: impl AsRef<[u8]>, options: &RecordOptions) -> Result<(Vec<Record>, RecordSummary)> {
    let small = Sizes { block: 16, longest_line: 1 << 16 };
    let (few, many) = (read_sized(file.as_ref(), options, small), read_sized(file.as_ref(), options, Sizes::default()));
    assert_eq!(format!("{few:?}"), format!("{many:?}"), "blocks must not matter");
    many
}

fn records(file: &str) -> Vec<Record> {
    read_with(file, &RecordOptions::default()).unwrap().0
}

fn refusal(file: impl AsRef<[u8]>, options: &RecordOptions) -> String {
    read_with(file, options).unwrap_err().to_string()
}

fn numbered(text: usize, labels: usize) -> RecordOptions {
    RecordOptions { labels: Some(Selector::Number(labels)), ..RecordOptions::new(Selector::Number(text)) }
}

#[test]
fn three_formats_hold_the_same() {
    let expected = [record("red wine", &["a", "b"], 1.0), record("", &["c"], 1.0), record("paint", &[], 1.0)];
    assert_eq!(records("id\ttext\tlabels\n1\tred wine\ta, b,a\r\n\n2\t\tc\n3\tpaint\t"), expected);
    assert_eq!(records("\u{feff}text,labels\r\nred wine,\"a, b,a\"\r\n\r\n,c\r\npaint,"), expected);
    let json = "{\"text\": \"red wine\", \"labels\": [\"a\", \" b\", \"a\"], \"x\": [{}]}\n\
                {\"labels\": \"c\", \"text\": \"\"}\n \n{\"text\": \"paint\", \"labels\": null}";
    assert_eq!(records(json), expected);
}

#[test]
fn columns_are_chosen_by_number_name_or_not_at_all() {
    let expected = [record("red wine", &["a", "b"], 1.0), record("paint", &[], 1.0)];
    assert_eq!(read_with("a,b\tred wine\n\tpaint\n", &numbered(2, 1)).unwrap().0, expected);
    assert_eq!(read_with("red wine\ta,b\npaint\t\n", &numbered(1, 2)).unwrap().0, expected);
    let skipped = RecordOptions { header: Some(true), ..numbered(1, 2) };
    assert_eq!(read_with("what\twhich\nred wine\ta,b\npaint\t\n", &skipped).unwrap().0, expected);
    let named = RecordOptions {
        labels: Some("tags".parse().unwrap()),
        weight: Some("w".parse().unwrap()),
        separator: "|".into(),
        ..RecordOptions::new("title".parse().unwrap())
    };
    let weighed = [record("red, dry", &["a,b", "c"], 0.5), record("paint", &[], 1.0)];
    assert_eq!(read_with("w\ttags\ttitle\n.5\ta,b|c\tred, dry\n1\t\tpaint\n", &named).unwrap().0, weighed);
    let json = "{\"w\": 0.5, \"tags\": \"a,b|c\", \"title\": \"red, dry\"}\n{\"w\": \"1\", \"title\": \"paint\"}\n";
    assert_eq!(read_with(json, &named).unwrap().0, weighed);
    assert_eq!(records("text\njust text\n"), [record("just text", &[], 1.0)]);
    let whole = RecordOptions { separator: String::new(), ..numbered(2, 1) };
    assert_eq!(read_with("a, b\tx\n", &whole).unwrap().0, [record("x", &["a, b"], 1.0)]);
}

#[test]
fn quotes_hold_commas_newlines_and_quotes() {
    let file = "labels,text\n\"a,b\",\"two\r\nlines, \"\"quoted\"\"\"\nc,5\" disk\n";
    let expected = [record("two\nlines, \"quoted\"", &["a", "b"], 1.0), record("5\" disk", &["c"], 1.0)];
    assert_eq!(records(file), expected);
    let message = refusal("text,labels\r\n\"a\r\nb\",x\r\n\r\n\"c\nd\",\"x,,y\"\n", &RecordOptions::default());
    assert_eq!(message, "file:5: empty label in `x,,y`; write labels with one `,` between them");
    let message = refusal("text,labels\n\nfine,\n\n\"never closed,x\nmore\n", &RecordOptions::default());
    assert_eq!(message, "file:5: a quote is opened in this line and not closed before the end of the file");
    let sizes = Sizes { block: 16, longest_line: 64 };
    let long = format!("text\n\"{}", "many lines\n".repeat(5000));
    let message = read_sized(long.as_bytes(), &RecordOptions::default(), sizes).unwrap_err().to_string();
    assert_eq!(message, "file:2: a record is longer than 64 bytes; is a quote not closed?");
}

#[test]
fn a_missing_column_is_told_with_those_found() {
    let options = RecordOptions::default();
    let message = refusal("title\ttags\nx\ty\n", &options);
    let expected =
        "file:1: no column is called `text`; the first line has `title`, `tags`; choose the text by name or number";
    let plain = ", or the format `lines` if every line is a text";
    assert_eq!(message, format!("{expected}{plain}"));
    assert_eq!(refusal("title,tags\nx,y\n", &options), format!("{expected}{plain}"));
    // Whoever chose the format has columns in mind.
    let chosen = |format| RecordOptions { format, ..RecordOptions::default() };
    assert_eq!(refusal("title,tags\nx,y\n", &chosen(RecordFormat::Csv)), expected);
    assert_eq!(refusal("title\ttags\nx\ty\n", &chosen(RecordFormat::Tsv)), expected);
    let message = refusal("{\"text\": \"x\"}\n{\"title\": 1, \"tags\": []}\n", &options);
    assert_eq!(message, "file:2: there is no key `text`; the keys are `tags`, `title`");
    assert_eq!(refusal("a\tb\n", &numbered(3, 1)), "file:1: there is no column 3 for the text; the line has 2 columns");
    let labels = RecordOptions { labels: Some("tags".parse().unwrap()), ..options };
    assert!(refusal("text\tlabels\nx\ty\n", &labels).starts_with("file:1: no column is called `tags`"));
}

#[test]
fn plain_lines_are_texts_whatever_they_hold() {
    let plain = RecordOptions { format: RecordFormat::Lines, ..RecordOptions::default() };
    let texts = ["text\tlabels", "", " {\"text\": 1}", "a,\"b", "c\rd", "  "];
    let expected: Vec<Record> = texts.iter().map(|text| record(text, &[], 1.0)).collect();
    for (newline, end) in [("\n", ""), ("\n", "\n"), ("\r\n", "\r\n")] {
        let file = format!("\u{feff}{}{end}", texts.join(newline));
        let (all, summary) = read_with(file, &plain).unwrap();
        assert_eq!(all, expected);
        assert_eq!((summary.labelled, summary.format), (0, RecordFormat::Lines));
    }
    assert_eq!(read_with("\n", &plain).unwrap().0, [record("", &[], 1.0)]);
    assert_eq!(refusal("", &plain), "file: the file is empty");
    assert_eq!(refusal("\u{feff}", &plain), "file: the file has no records");
    assert!(refusal(b"a\n\xff\n", &plain).starts_with("file:2: byte 0xff in the line"));
    assert!(!plain.has_header() && "lines".parse::<RecordFormat>().unwrap().to_string() == "lines");
    let columns = "plain lines have no columns; leave it out";
    let labels = RecordOptions { labels: Some(Selector::Number(1)), ..plain.clone() };
    assert_eq!(refusal("a\n", &labels), format!("labels: {columns}"));
    let weight = RecordOptions { weight: Some(Selector::Number(1)), ..plain.clone() };
    assert_eq!(refusal("a\n", &weight), format!("weight: {columns}"));
    assert_eq!(refusal("a\n", &RecordOptions { header: Some(true), ..plain.clone() }), format!("header: {columns}"));
    assert_eq!(refusal("a\n", &RecordOptions { text: Selector::Number(1), ..plain }), format!("text: {columns}"));
}

#[test]
fn bad_lines_are_named() {
    let options = RecordOptions::default();
    let weighed = RecordOptions { weight: Some("w".parse().unwrap()), ..RecordOptions::default() };
    assert!(
        refusal("text\tlabels\na\tb\nc\n", &options).starts_with("file:3: the line has 1 column where the first has 2")
    );
    assert!(refusal("text,labels\na,b\n\nc,d,e\n", &options).starts_with("file:4: the line has 3 columns"));
    assert_eq!(refusal("text\tw\na\t-1\n", &weighed), "file:2: the weight is `-1`; it must not be negative");
    assert!(refusal("text\tw\na\t1\nb\tnan\n", &weighed).starts_with("file:3: the weight is"));
    assert!(refusal("{\"text\": \"a\"}\n{\"text\": \n", &options).starts_with("file:2: the line is not JSON: EOF"));
    assert_eq!(refusal("{\"text\": 5}\n", &options), "file:1: `text` is a number, not a string");
    assert_eq!(refusal("{\"text\": \"a\", \"labels\": [[]]}\n", &options), "file:1: a label is a list, not a string");
    assert!(refusal(b"text\tlabels\na\tb\n\xff\tb\n", &options).starts_with("file:3: byte 0xff in the line"));
    assert!(refusal(b"text,labels\na,b\n\xff,b\n", &options).starts_with("file:3: byte 0xff in the line"));
    assert!(refusal("text,labels\na\0,b\n", &options).starts_with("file:2: the line contains a zero byte"));
    assert_eq!(refusal("", &options), "file: the file is empty");
    assert_eq!(refusal("text\tlabels\n", &options), "file: the file has no records");
    let headless = RecordOptions { header: Some(false), ..options };
    assert!(refusal("text\n", &headless).starts_with("text: without a line of names"));
    assert!("0".parse::<Selector>().is_err() && "xml".parse::<RecordFormat>().is_err());
}

#[test]
fn packed_files_are_read_and_watched() {
    let file = "text,labels\nred wine,a\n";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("records");
    let mut packer = flate2::write::GzEncoder::new(std::fs::File::create(&path).unwrap(), flate2::Compression::fast());
    packer.write_all(file.as_bytes()).unwrap();
    packer.finish().unwrap();
    let mut texts = 0;
    let mut sink = |records: Records| {
        texts += records.len();
        Ok(())
    };
    let options = RecordOptions::default();
    assert_eq!(read_records(&path, &options, &mut Run::default(), &mut sink).unwrap().format, RecordFormat::Csv);
    let packed = zstd::stream::encode_all(file.as_bytes(), 1).unwrap();
    read_records_from(&packed[..], &path, &options, &mut Run::default(), &mut sink).unwrap();
    assert_eq!(texts, 2);
    let stopped = read_records(&path, &options, &mut Run::watched(|_| false), &mut |_| Ok(()));
    assert!(matches!(stopped, Err(Error::Cancelled)));
    let cut = read_records_from(&packed[..packed.len() - 3], &path, &options, &mut Run::default(), &mut |_| Ok(()));
    assert!(cut.unwrap_err().to_string().contains("zstd stream"));
}
