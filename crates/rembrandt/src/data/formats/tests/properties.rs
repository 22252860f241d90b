//! Whatever rows are written, in whatever manner, they come back; and no bytes at all make the readers panic.

use std::fmt::Write;

use proptest::collection::{btree_map, btree_set, vec};
use proptest::prelude::*;

use super::*;
use crate::Error;

/// How freely a line is written.
#[derive(Clone, Debug)]
struct Manner {
    newline: &'static str,
    space: &'static str,
    trailing: &'static str,
    last_newline: bool,
    backwards: bool,
    block: usize,
    threads: usize,
}

fn manner() -> impl Strategy<Value = Manner> {
    (
        prop::sample::select(vec!["\n", "\r\n"]),
        prop::sample::select(vec![" ", "\t", "  ", " \t "]),
        prop::sample::select(vec!["", " ", "\t "]),
        any::<bool>(),
        any::<bool>(),
        1usize..200,
        1usize..4,
    )
        .prop_map(|(newline, space, trailing, last_newline, backwards, block, threads)| Manner {
            newline,
            space,
            trailing,
            last_newline,
            backwards,
            block,
            threads,
        })
}

impl Manner {
    fn read(&self, text: &str, format: Format, ids: Ids) -> Result<(Vec<Row>, Summary)> {
        let options = ReadOptions { format, ids, ..ReadOptions::default() };
        let sizes = Sizes { block: self.block, longest_line: 1_000_000 };
        pool(self.threads).install(|| read_sized(text.as_bytes(), &options, sizes))
    }

    fn order<T>(&self, mut items: Vec<T>) -> Vec<T> {
        if self.backwards {
            items.reverse();
        }
        items
    }

    fn labels(&self, row: &Row, name: &dyn Fn(u32) -> String) -> String {
        self.order(row.labels.iter().map(|id| name(*id)).collect::<Vec<_>>()).join(",")
    }

    fn features(&self, row: &Row, name: &dyn Fn(u32) -> String) -> String {
        let features = row.features.iter().map(|(id, value)| format!("{}{}:{value}", self.space, name(*id)));
        self.order(features.collect::<Vec<_>>()).concat()
    }

    fn text(&self, lines: Vec<String>) -> String {
        let mut text = lines.iter().map(|line| format!("{line}{}{}", self.trailing, self.newline)).collect::<String>();
        if !self.last_newline && lines.last().is_some_and(|line| !line.is_empty()) {
            text.truncate(text.len() - self.newline.len());
        }
        text
    }
}

fn value() -> impl Strategy<Value = f32> {
    prop_oneof![
        any::<f32>().prop_filter("finite and not zero", |v| v.is_finite() && *v != 0.0),
        (1u32..1000).prop_map(|v| v as f32 / 100.0),
    ]
}

fn any_row(most_labels: usize) -> impl Strategy<Value = Row> {
    (
        btree_set(0u32..40, 0..=most_labels),
        btree_map(prop_oneof![0u32..50, any::<u32>().prop_map(|id| id % u32::MAX)], value(), 0..8),
    )
        .prop_map(|(labels, features)| Row {
            labels: labels.into_iter().collect(),
            features: features.into_iter().collect(),
            weight: 1.0,
        })
}

fn rows() -> impl Strategy<Value = Vec<Row>> {
    vec(any_row(4), 1..40)
}

fn widths(rows: &[Row]) -> (usize, usize) {
    let d = rows.iter().flat_map(|row| &row.features).map(|(id, _)| *id as usize + 1).max();
    let c = rows.iter().flat_map(|row| &row.labels).map(|id| *id as usize + 1).max();
    (d.unwrap_or(0), c.unwrap_or(0))
}

/// Rows of words back in terms of the numbers that the words were made from.
fn renumber(rows: Vec<Row>, summary: &Summary) -> Vec<Row> {
    let number = |names: &Option<Vec<String>>, id: u32| -> u32 {
        let name = &names.as_ref().expect("words have names")[id as usize];
        name.trim_start_matches(|c: char| !c.is_ascii_digit()).parse().expect("names end with their number")
    };
    let renumbered = rows.into_iter().map(|row| {
        let mut labels: Vec<u32> = row.labels.iter().map(|id| number(&summary.label_names, *id)).collect();
        let mut features: Vec<(u32, f32)> =
            row.features.iter().map(|(id, value)| (number(&summary.feature_names, *id), *value)).collect();
        labels.sort_unstable();
        features.sort_by_key(|entry| entry.0);
        Row { labels, features, weight: row.weight }
    });
    renumbered.collect()
}

proptest! {
    #[test]
    fn xmc_comes_back(rows in rows(), manner in manner(), header in any::<bool>()) {
        let (d, c) = widths(&rows);
        let number = |id: u32| id.to_string();
        let mut lines = Vec::new();
        if header {
            lines.push(format!("{} {d} {c}", rows.len()));
        }
        lines.extend(rows.iter().map(|row| manner.labels(row, &number) + &manner.features(row, &number)));
        let (read, summary) = manner.read(&manner.text(lines), Format::Xmc, Ids::Numbers)?;
        prop_assert_eq!(&read, &rows);
        prop_assert_eq!((summary.shape.d, summary.shape.c), (d, c));
    }

    #[test]
    fn svmlight_comes_back(rows in rows(), manner in manner(), comments in vec(0u8..4, 40)) {
        let number = |id: u32| id.to_string();
        let mut lines = Vec::new();
        let mut expected = Vec::new();
        for (row, comment) in rows.into_iter().zip(comments) {
            let mut line = manner.labels(&row, &number);
            if comment == 1 {
                lines.push("  # a line of its own: 1:2 | x".into());
                write!(line, "{}qid:{}", manner.space, row.features.len()).unwrap();
            }
            line += &manner.features(&row, &number);
            if comment == 2 {
                line += "# at the end é";
            }
            lines.push(line);
            // A line with nothing is no example here, unless a query stands on it.
            if comment == 1 || !row.labels.is_empty() || !row.features.is_empty() {
                expected.push(row);
            }
        }
        match manner.read(&manner.text(lines), Format::Svmlight, Ids::Numbers) {
            Ok((read, summary)) => {
                let (d, c) = widths(&expected);
                prop_assert_eq!((summary.shape.d, summary.shape.c), (d, c));
                prop_assert_eq!(read, expected);
            }
            Err(error) => prop_assert!(expected.is_empty(), "{}", error),
        }
    }

    #[test]
    fn words_come_back(rows in rows(), manner in manner()) {
        let (label, feature) = (|id: u32| format!("wört{id}"), |id: u32| format!("a:b#{id}"));
        let lines = rows.iter().map(|row| manner.labels(row, &label) + &manner.features(row, &feature)).collect();
        let (read, summary) = manner.read(&manner.text(lines), Format::Xmc, Ids::Words)?;
        let mut seen = Vec::new();
        for row in &rows {
            for id in manner.order(row.labels.clone()) {
                if !seen.contains(&label(id)) {
                    seen.push(label(id));
                }
            }
        }
        prop_assert_eq!(summary.label_names.as_ref(), Some(&seen));
        prop_assert_eq!(renumber(read, &summary), rows);
    }

    #[test]
    fn vw_comes_back(
        rows in vec((any_row(4), prop_oneof![Just(None), value().prop_map(|v| Some(v.abs()))], any::<bool>()), 1..40),
        manner in manner(),
        words in any::<bool>(),
    ) {
        let number = |id: u32| id.to_string();
        let (mut lines, mut expected) = (Vec::new(), Vec::new());
        for (row, weight, tag) in rows {
            let weight = weight.filter(|_| !row.labels.is_empty());
            let mut line = manner.labels(&row, &number);
            line += manner.space;
            if let Some(weight) = weight {
                write!(line, "{weight}{}", manner.space).unwrap();
            }
            line += if tag { "'tag" } else { "" };
            line += if words { "|ns" } else { "|" };
            line += &manner.features(&row, &number);
            lines.push(line);
            expected.push(Row { weight: weight.unwrap_or(1.0), ..row });
        }
        let ids = if words { Ids::Words } else { Ids::Numbers };
        let (read, summary) = manner.read(&manner.text(lines), Format::Vw, ids)?;
        prop_assert_eq!(if words { renumber(read, &summary) } else { read }, expected);
    }

    #[test]
    fn blocks_do_not_matter(text in text_like(), block in 1usize..50, threads in 1usize..4, format in formats(), ids in ids()) {
        let options = ReadOptions { format, ids, ..ReadOptions::default() };
        let read = |block| {
            let sizes = Sizes { block, longest_line: 1_000_000 };
            read_sized(text.as_bytes(), &options, sizes).map_err(|error| error.to_string())
        };
        let (whole, cut) = (read(100_000), pool(threads).install(|| read(block)));
        prop_assert_eq!(whole, cut);
    }

    #[test]
    fn any_bytes_give_rows_or_a_sentence(bytes in vec(any::<u8>(), 0..300), options in options(), block in 1usize..50) {
        check_any(&bytes, &options, block)?;
    }

    #[test]
    fn any_text_gives_rows_or_a_sentence(text in text_like(), options in options(), block in 1usize..50) {
        check_any(text.as_bytes(), &options, block)?;
    }
}

fn formats() -> impl Strategy<Value = Format> {
    prop::sample::select(vec![Format::Xmc, Format::Svmlight, Format::Vw])
}

fn ids() -> impl Strategy<Value = Ids> {
    prop::sample::select(vec![Ids::Numbers, Ids::Words])
}

fn options() -> impl Strategy<Value = ReadOptions> {
    let formats = prop_oneof![Just(Format::Auto), formats()];
    let ids = prop_oneof![Just(Ids::Auto), ids()];
    (formats, ids).prop_map(|(format, ids)| ReadOptions { format, ids, ..ReadOptions::default() })
}

/// Text made of the pieces that mean something to some format.
fn text_like() -> impl Strategy<Value = String> {
    let pieces = vec![
        "\n",
        "\n",
        "\n",
        "\r\n",
        " ",
        " ",
        " ",
        "\t",
        ":",
        ":",
        ",",
        "|",
        "#",
        "'",
        "0",
        "1",
        "2",
        "3",
        "12",
        "-",
        "+",
        ".5",
        "e9",
        "1e39",
        "nan",
        "a",
        "b",
        "é",
        "qid:",
        "2 5 5\n",
        "1:1",
        "3:0.5",
        " 4:2",
        " a:1",
        "\u{feff}",
        "\0",
        "4294967295",
        "\n1 2:3\n",
        "\n0 | 1\n",
    ];
    vec(prop::sample::select(pieces), 0..60).prop_map(|pieces| pieces.concat())
}

fn check_any(bytes: &[u8], options: &ReadOptions, block: usize) -> Result<(), TestCaseError> {
    match read_sized(bytes, options, Sizes { block, longest_line: 100 }) {
        Ok((rows, summary)) => {
            for row in &rows {
                prop_assert!(row.labels.is_sorted_by(|a, b| a < b) && row.features.is_sorted_by(|a, b| a.0 < b.0));
                prop_assert!(row.features.iter().all(|(_, value)| value.is_finite() && *value != 0.0));
                prop_assert!(row.weight.is_finite() && row.weight >= 0.0);
            }
            let (d, c) = widths(&rows);
            prop_assert!(d <= summary.shape.d && c <= summary.shape.c);
        }
        Err(error) => {
            let message = error.to_string();
            prop_assert!(message.starts_with("data.txt") && message.len() > 12, "{}", message);
            prop_assert!(!message.contains(['\n', '\0']), "{:?}", message);
            if let Error::Line { line, .. } = error {
                prop_assert!(line >= 1 && line <= 1 + bytes.iter().filter(|b| **b == b'\n').count() as u64);
            }
        }
    }
    Ok(())
}
