//! Refusals and their words.

use super::*;
use crate::Error;
use crate::{Run, Unit};

#[track_caller]
fn refused(text: &str, expected: &str) {
    assert_eq!(refusal(text), format!("data.txt:{expected}"), "{text:?}");
}

#[test]
fn counts_and_ids_beyond_the_header() {
    let notes = read_text("3 5 5\n0 0:1\n").unwrap().1.notes;
    assert_eq!(notes, ["the header says n = 3 examples, but the file has 1: was it cut short?"]);
    assert_eq!(refusal("3 5 5\n"), "data.txt: the file has no examples");
    refused("1 5 5\n0 0:1\n0 1:1\n", "1: the header says n = 1 example, but the file has 2");
    refused("1 5 5\n0 0:1\n\n0 1:1\n", "1: the header says n = 1 example, but the file has 3");
    refused("2 5 5\n0 0:1\n0 5:1\n", "3: feature id 5 is beyond the header, which says d = 5");
    refused("2 5 5\n0 0:1\n0,7 1:1\n", "3: label id 7 is beyond the header, which says c = 5");
    refused("1 4294967296 5\n0 0:1\n", "1: the header says d = `4294967296`, which is more than 4294967295");
    refused("99999999999999999999 5 5\n", "1: the header says n = `99999999999999999999`, which is too large");
}

#[test]
fn features() {
    refused("0 1:1 2\n", "1: missing colon in feature `2`; write id:value");
    refused("0 1:1\n0 :1\n", "2: `:1` has no feature before the colon");
    refused("0 1:\n", "1: the value of feature `1` is ``, which is not a number");
    refused("0 1:x\n", "1: the value of feature `1` is `x`, which is not a number");
    refused("0 1:nan\n", "1: the value of feature `1` is `nan`; values must be finite");
    refused("0 1:-inf\n", "1: the value of feature `1` is `-inf`; values must be finite");
    refused("0 1:1e39\n", "1: the value of feature `1` is `1e39`, which is too large for a 32-bit number");
    refused("0 5:1 3:2 5:0\n", "1: feature 5 occurs twice in the line");
    refused("a x:1 y:1 x:1\n", "1: feature `x` occurs twice in the line");
    refused("a x:y\n", "1: the value of feature `x` is `y`, which is not a number");
}

#[test]
fn ids() {
    refused("0 4294967295:1\n", "1: feature id 4294967295 is too large; the largest is 4294967294");
    assert_eq!(read_text("0 4294967294:1\n").unwrap().1.shape.d, 4294967295);
    refused(
        "99999999999999999999999 1:1\n",
        "1: label id 99999999999999999999999 is too large; the largest is 4294967294",
    );
    refused("0 -3:1\n", "1: feature id -3 is negative; count ids from 0 or read ids as words");
    refused("1 1:1\n-1 1:1\n", "2: label id -1 is negative; count ids from 0 or read ids as words");
    refused("4,1,4 1:1\n", "1: label 4 occurs twice in the line");
    refused("4,,1 1:1\n", "1: empty label in `4,,1`; write labels with one comma between them");
}

#[test]
fn with_a_header_the_first_id_decides() {
    let hint = "is not a number; if ids are words, read ids as words";
    refused("2 5 5\n0 1:1\n0 2;1\n", "3: missing colon in feature `2;1`; write id:value");
    refused("2 5 5\n0 1:1\no 2:1\n", &format!("3: label id `o` {hint}"));
}

#[test]
fn words_among_numbers() {
    let numbers = |text: &str| message(read_as(text, Format::Auto, Ids::Numbers));
    let hint = "is not a number; if ids are words, read ids as words";
    assert_eq!(numbers("0 1:1\n0 goal:1\n"), format!("data.txt:2: feature id `goal` {hint}"));
    assert_eq!(numbers("cat 1:1\n"), format!("data.txt:1: label id `cat` {hint}"));
    let long = format!("{}\u{7}{}:1", "x".repeat(39), "y".repeat(1000));
    let shown = format!("{}\\u{{7}}…", "x".repeat(39));
    assert_eq!(numbers(&format!("0 {long}\n")), format!("data.txt:1: feature id `{shown}` {hint}"));
    assert_eq!(numbers("1 |a 2\n"), "data.txt:1: namespace `a` makes features words; read ids as words");
    // Only the first block decides.
    let late = format!("{}0 goal:1\n", "0 1:1\n".repeat(200_000));
    assert_eq!(refusal(late), format!("data.txt:200001: feature id `goal` {hint}"));
}

#[test]
fn vowpal_wabbit() {
    refused("1 | a\n2 b\n", "2: missing | between the labels and the features");
    refused("1:2 | a\n", "1: `1:2` is a label with a cost, which is not supported; write the labels alone");
    refused("1| a\n", "1: `1` touches the |, which makes it a tag; put a space between them");
    refused("1 2| a\n", "1: `2` touches the |, which makes it a tag; put a space between them");
    refused("1 -2 | a\n", "1: the importance is `-2`; it must not be negative");
    refused("1 x | a\n", "1: the importance is `x`, which is not a number");
    refused("1 2 3 | a\n", "1: `3` is not expected before the |; write label importance 'tag|");
    refused("1 |a:x b\n", "1: the weight of namespace `a` is `x`, which is not a number");
    refused("1 |a:1e30 b:1e30\n", "1: the weighted value of feature `b` is too large for a 32-bit number");
    refused("1 | b:3e38 b:3e38\n", "1: the values of feature `b` add up to more than fits");
    refused("1,1 | b\n", "1: label 1 occurs twice in the line");
}

#[test]
fn nothing_in_it() {
    for text in ["", "\u{feff}"] {
        assert_eq!(refusal(text), "data.txt: the file is empty");
    }
    for text in ["\n\n", "# comment\n", " \n"] {
        assert_eq!(refusal(text), "data.txt: the file has no examples");
    }
}

#[test]
fn not_text() {
    let zero = "the line contains a zero byte; is this a text file?";
    assert_eq!(refusal(b"0 1:1\n0 2\0:1\n"), format!("data.txt:2: {zero}"));
    assert_eq!(refusal(b"\0\0\0"), format!("data.txt:1: {zero}"));
    let latin = "byte 0xe9 in the line is not utf-8; is this a text file in utf-8?";
    assert_eq!(refusal(b"a caf\xe9:1\n"), format!("data.txt:1: {latin}"));
    // A bad line before the one that is not text comes first.
    refused_bytes(b"0 1:1\n0 1\n0 \xe9:1\n", "data.txt:2: missing colon in feature `1`; write id:value");
    refused_bytes(b"PK\x03\x04....", "data.txt: zip files cannot be read; unpack it, or pack it with gzip or zstd");
}

#[track_caller]
fn refused_bytes(bytes: &[u8], expected: &str) {
    assert_eq!(refusal(bytes), expected);
}

#[test]
fn long_lines() {
    let sizes = Sizes { block: 16, longest_line: 64 };
    let read = |text: &str| read_sized(text.as_bytes(), &ReadOptions::default(), sizes);
    let line = |length: usize| format!("0 1:{}", "1".repeat(length - 4).replacen('1', "0.", 1).replacen("11", "1", 1));
    for end in ["", "\n", "\n0 1:1\n"] {
        let text = |length| format!("0 1:1\n0 1:1\n0 1:1\n{}{end}", line(length));
        assert_eq!(line(64).len(), 64);
        read(&text(64)).unwrap();
        let error = message(read(&text(65)));
        assert_eq!(error, "data.txt:4: the line is longer than 64 bytes; is this a text file?");
    }
}

#[test]
fn the_lowest_bad_line_on_any_number_of_threads() {
    let mut text = "0 1:1\n".repeat(5000);
    for line in [4100, 3001, 3000, 4999] {
        let at = line * 6;
        text.replace_range(at..at + 5, "0 1:x");
    }
    let sizes = Sizes { block: 64, longest_line: 1000 };
    for threads in [1, 2, 5] {
        let read = || message(read_sized(text.as_bytes(), &ReadOptions::default(), sizes));
        let error = pool(threads).install(read);
        assert_eq!(error, "data.txt:3001: the value of feature `1` is `x`, which is not a number");
    }
}

#[test]
fn stopping_and_failing_sinks() {
    let text = "0 1:1\n".repeat(1000);
    let source = || source::unpack(text.as_bytes(), Path::new("data.txt")).unwrap();
    let sizes = Sizes { block: 60, longest_line: 1000 };
    let options = ReadOptions::default();
    let reading = Reading { sizes, ..Reading::new(Path::new("data.txt"), &options) };
    let mut calls = 0;
    let mut run = Run::watched(|progress| {
        calls += 1;
        assert!(progress.done <= 6000 && progress.total.is_none() && progress.unit == Unit::Bytes);
        calls < 3
    });
    let outcome = read(source(), &reading, &mut run, &mut |_| Ok(()));
    drop(run);
    assert!(matches!(outcome, Err(Error::Cancelled)));
    assert_eq!(calls, 3);
    let mut full = |_| Err(Error::Data("no room".into()));
    let outcome = read(source(), &reading, &mut Run::default(), &mut full);
    assert_eq!(outcome.unwrap_err().to_string(), "no room");
}
