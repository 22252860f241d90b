//! `rembrandt reproduce`, on small data in the layout of the real ones.

use crate::common::{Desk, gz, zst};

/// Examples whose label shows in a feature of its own, among noise; some have a second label.
fn examples(n: usize, multilabel: bool) -> String {
    let mut text = format!("{n} 9 5\n");
    for i in 0..n {
        let (label, noise) = (i * 7 % 5, 5 + i * 13 % 3);
        let (second, sign) = if multilabel && i % 3 == 0 && label < 4 { (",4", " 8:1") } else { ("", "") };
        text.push_str(&format!("{label}{second} {label}:1.{} {noise}:0.{}{sign}\n", i % 4, 1 + i % 8));
    }
    text
}

fn desk(name: &str, multilabel: bool) -> Desk {
    let desk = Desk::new();
    std::fs::create_dir(desk.path(name)).unwrap();
    desk.write(&format!("{name}/train.txt.zst"), zst(examples(120, multilabel).as_bytes()));
    desk.write(&format!("{name}/test.txt.gz"), gz(examples(40, multilabel).as_bytes()));
    desk
}

#[test]
fn every_figure_has_its_row() {
    let cases = [
        ("aloi", false, &["linear error", "random-features error"][..]),
        ("bibtex", true, &["random-features hamming", "random-features micro_f1", "random-features macro_f1"]),
        ("corel5k", true, &["random-features hamming", "random-features micro_f1", "random-features macro_f1"]),
        ("yeast", true, &["random-features hamming", "random-features micro_f1", "random-features macro_f1"]),
    ];
    for (name, multilabel, expected) in cases {
        let rows = desk(name, multilabel).json(&format!("reproduce {name} --data . --json -q"));
        let rows = rows.as_array().unwrap();
        let word = |row: &serde_json::Value, key: &str| row[key].as_str().unwrap().to_owned();
        let found: Vec<String> =
            rows.iter().map(|row| format!("{} {}", word(row, "setting"), word(row, "metric"))).collect();
        assert_eq!(found, expected);
        for row in rows {
            let number = |key: &str| row[key].as_f64().unwrap_or_else(|| panic!("{key}: {row}"));
            assert_eq!(row["data"], name);
            assert!(number("low") <= number("ours") && number("ours") <= number("high"), "{row}");
            assert!(number("authors_low") < number("authors") && number("authors") < number("authors_high"));
            // The label is plain to see: hardly a mistake is made.
            let good = if ["error", "hamming"].contains(&&*word(row, "metric")) {
                number("ours") < 0.05
            } else {
                number("ours") > 0.9
            };
            assert!(good, "{row}");
        }
    }
}

#[test]
fn the_table_does_not_depend_on_threads() {
    let desk = desk("yeast", true);
    let without_seconds = |line: &str| -> Vec<String> {
        let stdout = desk.ok(line).stdout;
        stdout.lines().map(|line| line.rsplit_once("  ").unwrap().0.trim_end().to_owned()).collect()
    };
    let one = without_seconds("reproduce yeast --data . --threads 1");
    assert_eq!(one.len(), 4, "{one:?}");
    assert!(one[0].starts_with("setting") && one[3].starts_with("random-features  macro_f1"), "{one:?}");
    assert_eq!(without_seconds("reproduce yeast --data . --threads 3"), one);
}

#[test]
fn data_that_do_not_fit_are_refused() {
    let desk = desk("aloi", true);
    // Two labels: no multiclass error.
    assert!(desk.refused("reproduce aloi --data . -q").contains("aloi: "));
    assert!(desk.refused("reproduce bibtex --data .").contains("bibtex/train.txt: is not there"));
    std::fs::remove_file(desk.path("aloi/test.txt.gz")).unwrap();
    assert!(desk.refused("reproduce aloi --data .").contains("aloi/test.txt: is not there"));
    desk.write("aloi/test.txt", "1 3 5\n0 0:1\n");
    assert!(desk.refused("reproduce aloi --data . -q").contains("9 features, but the test data 3"));
    desk.write("aloi/test.txt", "1 9 5\n0 3:x\n");
    assert!(desk.refused("reproduce aloi --data . -q").contains("aloi/test.txt:2: "));
    assert_eq!(desk.run("reproduce mnist --data .").code, 2);
    assert_eq!(desk.run("reproduce aloi").code, 2);
}
