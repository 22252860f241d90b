//! Plausible files that are easily read wrongly.

use super::*;

#[test]
fn labels_may_be_json_in_a_column() {
    let expected = [record("x", &["role", "shared-lib"], 1.0), record("y", &["a, b"], 1.0), record("z", &["3"], 1.0)];
    let file = "text,labels\nx,\"[\"\"role\"\", \"\"shared-lib\"\"]\"\ny,\"[\"\"a, b\"\"]\"\nz,[3]\n";
    assert_eq!(records(file), expected);
    assert_eq!(records("text\tlabels\nx\t[\"role\", \"shared-lib\"]\ny\t[\"a, b\"]\nz\t3\n"), expected);
    assert_eq!(records("text\tlabels\nx\t\"role,shared-lib\"\n"), expected[..1]);
    assert_eq!(records("{\"text\": \"x\", \"labels\": \"[\\\"role\\\", \\\"shared-lib\\\"]\"}\n"), expected[..1]);
    // Brackets alone make no list.
    assert_eq!(records("text\tlabels\nx\t[beta]\n"), [record("x", &["[beta]"], 1.0)]);
    let options = RecordOptions::default();
    let message = refusal("text\tlabels\nx\t['a', 'b']\n", &options);
    assert!(
        message.starts_with("file:2: `[\\'a\\', \\'b\\']` is a list as Python prints it; write it as JSON"),
        "{message}"
    );
    assert_eq!(refusal("text\tlabels\nx\t[\"a\", {}]\n", &options), "file:2: a label is an object, not a string");
}

#[test]
fn every_line_is_a_record_where_none_names_the_columns() {
    let (empty, x) = (record("", &[], 1.0), record("x", &["a"], 1.0));
    let expected = [empty.clone(), x.clone(), empty.clone(), empty.clone(), x.clone(), empty.clone()];
    for tab in ["\t", ","] {
        let options = RecordOptions { header: Some(false), ..numbered(2, 1) };
        let file = format!("\na{tab}x\n{tab}\n\na{tab}x\n\n");
        assert_eq!(read_with(file, &options).unwrap().0, expected);
    }
    // One column has a text in every line; with several, a line without anything is no record.
    assert_eq!(records("text\nx\n\ny\n").len(), 3);
    assert_eq!(records("text\tlabels\nx\ta\n\n\t\nx\ta\n"), [x.clone(), empty.clone(), x.clone()]);
    assert_eq!(records("text,labels\nx,a\n\n,\nx,a\n"), [x.clone(), empty, x]);
}

#[test]
fn a_quote_that_is_open_too_long_is_refused_where_it_opened() {
    let options = RecordOptions::default();
    let message = refusal("text,labels\nfine,a\n\"never closed,b\nc,d\n\"e\",f\n", &options);
    assert_eq!(
        message,
        "file:3: the quote that opens in this line is closed in line 5 before `e\\\",f`, where `,` or the end of the line \
         must follow; close the quote in its place, and write a quote inside of a field twice"
    );
    let message = refusal("text,labels\n\"abc\"def,a\n", &options);
    assert!(message.starts_with("file:2: the quote that opens in this line is closed before `def,a`"), "{message}");
    assert!(refusal("text,labels\n\"abc\" ,a\n", &options).starts_with("file:2: the quote"));
}

#[test]
fn names_of_columns_are_no_example() {
    let message = refusal("label\ttext\na\tx\n", &numbered(2, 1));
    assert!(message.starts_with("file:1: `text` and `label` look like the names of columns"), "{message}");
    assert!(refusal("Tags,Abstract\na,x\n", &numbered(2, 1)).starts_with("file:1: `abstract` and `tags` look like"));
    let told = RecordOptions { header: Some(false), ..numbered(2, 1) };
    assert_eq!(read_with("label\ttext\na\tx\n", &told).unwrap().0.len(), 2);
    // A label may be called so, and a text as well.
    assert_eq!(read_with("class\thow do I define one\n", &numbered(2, 1)).unwrap().0.len(), 1);
    assert_eq!(read_with("cms\tcontent\n", &numbered(2, 1)).unwrap().0.len(), 1);
    let twice = "file:1: several columns are called `text`; choose the text by number";
    assert_eq!(refusal("text,labels,text\nx,a,y\n", &RecordOptions::default()), twice);
}

#[test]
fn other_delimiters_and_paths_of_keys() {
    let options = RecordOptions { delimiter: Some(';'), ..RecordOptions::default() };
    let expected = [record("x, y; z", &["a", "b"], 1.0)];
    assert_eq!(read_with("labels;text\na,b;\"x, y; z\"\n", &options).unwrap().0, expected);
    let tsv = RecordOptions { format: RecordFormat::Tsv, ..options.clone() };
    assert!(refusal("a\n", &tsv).starts_with("delimiter: is for csv, and the format is tsv"));
    let quote = RecordOptions { delimiter: Some('"'), ..options };
    assert!(refusal("a\n", &quote).starts_with("delimiter: a quote"));
    let paths = RecordOptions {
        labels: Some("meta.tags".parse().unwrap()),
        ..RecordOptions::new("doc.title".parse().unwrap())
    };
    let json = "{\"doc\": {\"title\": \"x\"}, \"meta\": {\"tags\": [\"a\"]}}\n{\"doc.title\": \"y\"}\n";
    assert_eq!(read_with(json, &paths).unwrap().0, [record("x", &["a"], 1.0), record("y", &[], 1.0)]);
    assert!(refusal("{\"doc\": {\"name\": 1}}\n", &paths).starts_with("file:1: there is no key `doc.title`"));
}

#[test]
fn what_a_model_remembers_holds_for_files_that_are_written_otherwise() {
    let training = RecordOptions { separator: "|".into(), weight: Some("w".parse().unwrap()), ..numbered(2, 1) };
    let remembered = training.remembered();
    assert!(training.has_header() && remembered.header == Some(true), "the weights have a name");
    let other = RecordOptions { header: None, ..remembered };
    assert_eq!(read_with("a|b\tx\n", &other).unwrap().0, [record("x", &["a", "b"], 1.0)]);
    assert_eq!(read_with("{\"text\": \"x\", \"labels\": \"a|b\"}\n", &other).unwrap().0.len(), 1);
    let lines = RecordOptions { format: RecordFormat::Lines, ..other.clone() };
    assert_eq!(read_with("x y\n", &lines).unwrap().0, [record("x y", &[], 1.0)]);
    let named = RecordOptions { labels: Some("tags".parse().unwrap()), ..RecordOptions::default() };
    assert_eq!(read_with("text\nx\n", &named.remembered()).unwrap().0, [record("x", &[], 1.0)]);
    assert!(refusal("text\nx\n", &named).starts_with("file:1: no column is called `tags`"));
}

#[test]
fn a_list_of_objects_is_read_like_lines() {
    let expected = [record("x } \" y", &["a"], 1.0), record("z", &[], 1.0)];
    let first = "{\"text\": \"x } \\\" y\", \"labels\": [\"a\"], \"more\": [{}, [1]]}";
    for file in [
        format!("[{first}, {{\"text\": \"z\"}}]\n"),
        format!("\n[\n  {first},\r\n  {{\n    \"text\":\n \"z\"\n  }}\n]"),
    ] {
        assert_eq!(records(&file), expected);
    }
    let options = RecordOptions::default();
    assert_eq!(
        refusal("[{\"text\": \"x\"},\n{\"text\": \"y\"\n", &options),
        "file:2: the list is not closed before the end of the file"
    );
    assert_eq!(
        refusal("[\n{\"text\": \"x\"},\n{\n\"no\": 1}]\n", &options),
        "file:3: there is no key `text`; the keys are `no`"
    );
    assert!(refusal("[\n{\"text\": \"x\"}, 5]\n", &options).starts_with("file:2: the list holds something other"));
    assert_eq!(refusal("[\n]\n", &options), "file: the file has no records");
}
