//! The meaning of each format, by example.

use super::*;
use crate::Shape;

fn shape(n: usize, d: usize, c: usize) -> Shape {
    Shape { n, d, c }
}

#[test]
fn xmc_with_header() {
    let text = "4 10 5\n3,1 7:0.5 2:1\n 0:2\n4\n9:1e-3\n";
    let (rows, summary) = read_text(text).unwrap();
    let expected = [row(&[1, 3], &[(2, 1.0), (7, 0.5)]), row(&[], &[(0, 2.0)]), row(&[4], &[]), row(&[], &[(9, 1e-3)])];
    assert_eq!(rows, expected);
    assert_eq!((summary.shape, summary.format), (shape(4, 10, 5), Format::Xmc));
    assert_eq!((summary.label_names, summary.feature_names, summary.notes.len()), (None, None, 0));
    assert_eq!(summary.bytes, text.len() as u64);
}

#[test]
fn xmc_blank_lines_are_examples_except_after_the_last() {
    let expected = [row(&[1], &[(0, 1.0)]), row(&[], &[]), row(&[2], &[])];
    assert_eq!(read_text("3 1 3\n1 0:1\n\n2\n").unwrap().0, expected);
    assert_eq!(read_text("3 1 3\n1 0:1\n \n2\n\n\n").unwrap().0, expected);
    assert_eq!(read_text("3 1 3\n1 0:1\n\n2").unwrap().0, expected);
    assert_eq!(read_text("3 1 3\n1 0:1\n\n\n").unwrap().0, [row(&[1], &[(0, 1.0)]), row(&[], &[]), row(&[], &[])]);
    let (rows, summary) = read_as("\n1 0:1\n\n", Format::Xmc, Ids::Auto).unwrap();
    assert_eq!(rows, [row(&[], &[]), row(&[1], &[(0, 1.0)]), row(&[], &[])]);
    assert_eq!(summary.shape, shape(3, 1, 2));
}

#[test]
fn svmlight_comments_blank_lines_and_queries() {
    let text = "# made by hand\n\n3 qid:7 1:0.5 4:2 # the first\n   # nothing\n1,2 2:1#glued\n";
    let (rows, summary) = read_text(text).unwrap();
    assert_eq!(rows, [row(&[3], &[(1, 0.5), (4, 2.0)]), row(&[1, 2], &[(2, 1.0)])]);
    assert_eq!((summary.shape, summary.format), (shape(2, 5, 4), Format::Svmlight));
}

#[test]
fn line_ends_tabs_spaces_and_byte_order_mark() {
    let expected = [row(&[1, 2], &[(0, 1.0), (3, 2.0)]), row(&[], &[(1, 1.0)]), row(&[0], &[(2, -1.0)])];
    for text in [
        "1,2 0:1 3:2\n 1:1\n0 2:-1\n",
        "1,2 0:1 3:2\r\n 1:1\r\n0 2:-1\r\n",
        "1,2 0:1 3:2\r\n 1:1\r\n0 2:-1\r",
        "\u{feff}2,1\t3:2 \t 0:1\t\n\t1:1  \n0  2:-1",
    ] {
        let (rows, summary) = read_text(text).unwrap();
        assert_eq!(rows, expected, "{text:?}");
        assert_eq!(summary.bytes, text.len() as u64);
    }
}

#[test]
fn zeros_are_dropped_but_count() {
    let (rows, summary) = read_text("0 3:0 1:1 9:-0.0 5:1e-60\n").unwrap();
    assert_eq!(rows, [row(&[0], &[(1, 1.0)])]);
    assert_eq!(summary.shape, shape(1, 10, 1));
}

#[test]
fn words_are_numbered_as_they_appear() {
    let text = "sports,news football:2 goal\nnews goal:0.5 a:b:3 c#:4 # comment\n";
    let (rows, summary) = read_text(text).unwrap();
    assert_eq!(rows, [row(&[0, 1], &[(0, 2.0), (1, 1.0)]), row(&[1], &[(1, 0.5), (2, 3.0), (3, 4.0)])]);
    assert_eq!(summary.label_names.unwrap(), ["sports", "news"]);
    assert_eq!(summary.feature_names.unwrap(), ["football", "goal", "a:b", "c#"]);
    assert_eq!(
        summary.notes,
        [
            "label ids are read as words, because `sports` in line 1 is not a number",
            "feature ids are read as words, because `football` in line 1 is not a number"
        ]
    );
    assert_eq!(summary.shape, shape(2, 4, 2));
}

#[test]
fn each_side_decides_for_itself() {
    let (rows, summary) = read_text("cat 3:1\ndog,cat 1:1\n").unwrap();
    assert_eq!(rows, [row(&[0], &[(3, 1.0)]), row(&[0, 1], &[(1, 1.0)])]);
    assert_eq!((summary.label_names.unwrap().len(), summary.feature_names), (2, None));
    let (rows, summary) = read_as("7 3:1\n7 5:2\n", Format::Auto, Ids::Words).unwrap();
    assert_eq!(rows, [row(&[0], &[(0, 1.0)]), row(&[0], &[(1, 2.0)])]);
    assert_eq!(
        (summary.label_names.unwrap(), summary.feature_names.unwrap()),
        (vec!["7".into()], vec!["3".into(), "5".into()])
    );
    assert_eq!(summary.notes, Vec::<String>::new());
}

#[test]
fn words_with_a_header() {
    let (_, summary) = read_text("2 9 2\na x:1 y:2\nb y\n").unwrap();
    assert_eq!((summary.shape, summary.format), (shape(2, 2, 2), Format::Xmc));
    assert_eq!(refusal("2 1 2\na x:1 y:2\nb y:1\n"), "data.txt:1: the header says d = 1 feature, but the file has 2");
}

#[test]
fn signs_make_labels_words() {
    let (_, summary) = read_text("+1 1:1\n-1 2:1\n").unwrap();
    assert_eq!(summary.label_names.unwrap(), ["+1", "-1"]);
}

#[test]
fn vw_labels_weights_and_tags() {
    let text = "3 | 0 1:2\n1,5,7 2.5 'tag| 4\n| 2:0.5\n\n'only_tag | 0\n2 0.5 name|\n";
    let (rows, summary) = read_text(text).unwrap();
    let weighted = |weight, row: Row| Row { weight, ..row };
    let expected = [
        row(&[3], &[(0, 1.0), (1, 2.0)]),
        weighted(2.5, row(&[1, 5, 7], &[(4, 1.0)])),
        row(&[], &[(2, 0.5)]),
        row(&[], &[(0, 1.0)]),
        weighted(0.5, row(&[2], &[])),
    ];
    assert_eq!(rows, expected);
    assert_eq!((summary.shape, summary.format), (shape(5, 5, 8), Format::Vw));
}

#[test]
fn vw_namespaces() {
    let text = "cat |a:2.5 x y:2 |b x | z\ndog |a x:1 x:2 x:-0.5\n";
    let (rows, summary) = read_text(text).unwrap();
    assert_eq!(rows, [row(&[0], &[(0, 2.5), (1, 5.0), (2, 1.0), (3, 1.0)]), row(&[1], &[(0, 2.5)])]);
    assert_eq!(summary.feature_names.unwrap(), ["a^x", "a^y", "b^x", "z"]);
    assert_eq!(summary.label_names.unwrap(), ["cat", "dog"]);
    let (_, summary) = read_text("1 |2 3 4\n").unwrap();
    assert_eq!((summary.label_names, summary.feature_names.unwrap()), (None, vec!["2^3".into(), "2^4".into()]));
}

#[test]
fn names_of_formats_and_ids() {
    for format in [Format::Auto, Format::Xmc, Format::Svmlight, Format::Vw] {
        assert_eq!(format.to_string().parse::<Format>().unwrap(), format);
    }
    for ids in [Ids::Auto, Ids::Numbers, Ids::Words] {
        assert_eq!(ids.to_string().parse::<Ids>().unwrap(), ids);
    }
    let error = "csv".parse::<Format>().unwrap_err().to_string();
    assert_eq!(error, "format: `csv` is not one of auto, xmc, svmlight, vw");
    assert_eq!("x".parse::<Ids>().unwrap_err().to_string(), "ids: `x` is not one of auto, numbers, words");
}
