//! `rembrandt compare`: one table, whatever happens on the way.

use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::common::{Desk, jsonl, texts, xmc};

/// Training and test data in which each label shows in features of its own.
fn desk() -> Desk {
    let desk = Desk::with_data();
    desk.write("test.txt", xmc());
    desk
}

/// The same with one label per example.
fn multiclass() -> Desk {
    let desk = Desk::new();
    let mut text = "240 12 6\n".to_owned();
    for i in 0..240 {
        text.push_str(&format!("{} {}:1 {}:0.{}\n", i % 6, i % 6, 6 + i * 7 % 6, 1 + i % 9));
    }
    desk.write("train.txt", &text);
    desk.write("test.txt", &text);
    desk
}

fn rows(whole: &Value) -> Vec<(String, Value)> {
    let rows = whole["rows"].as_array().unwrap();
    rows.iter().map(|row| (row["method"].as_str().unwrap().to_owned(), row.clone())).collect()
}

fn row(whole: &Value, method: &str) -> Value {
    rows(whole).into_iter().find(|(name, _)| name == method).unwrap_or_else(|| panic!("no {method}")).1
}

#[test]
fn every_method_has_a_row_that_holds_what_was_measured_or_why_not() {
    let desk = desk();
    let whole = desk.json("compare train.txt test.txt -k 10 --budget 60s --json -q --report report.html");
    assert_eq!(
        (whole["n"].as_u64(), whole["c"].as_u64(), whole["multiclass"].as_bool()),
        (Some(300), Some(20), Some(false))
    );
    assert_eq!(rows(&whole).len(), 10);
    for (method, row) in rows(&whole) {
        if ["lomtree", "label-tree"].contains(&&*method) {
            let reason = row["failed"]["reason"].as_str().unwrap();
            assert!(reason.contains("exactly one"), "{method}: {reason}");
            continue;
        }
        let m = &row["measured"];
        let number = |key: &str| m[key].as_f64().unwrap_or_else(|| panic!("{method} has no {key}: {row}"));
        assert_eq!(m["examples"], 300);
        assert!(number("p1") > 0.5, "{method}: {}", number("p1"));
        assert!(number("train_seconds") > 0.0 && number("model_bytes") > 100.0 && number("predict_microseconds") > 0.0);
        let interval = [0, 1].map(|i| m["interval"][i].as_f64().unwrap());
        assert!(interval[0] <= number("p1") && number("p1") <= interval[1], "{method}");
    }
    let order: Vec<f64> = rows(&whole).iter().filter_map(|(_, row)| row["measured"]["p1"].as_f64()).collect();
    assert!(order.is_sorted_by(|a, b| a >= b), "the best is not first: {order:?}");
    // The page is whole, and needs no other file.
    let page = desk.text("report.html");
    assert!(page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"));
    assert_eq!(page.matches("<svg").count(), 4);
    assert!(page.contains("rembrandt k=10") && page.contains("rembrandt compare train.txt test.txt -k 10"));
    for outside in ["src=", "href=", "url(", "<script"] {
        assert!(!page.contains(outside), "{outside}");
    }
    // Only the rows stay.
    let mut left: Vec<String> = std::fs::read_dir(desk.path("rembrandt-compare"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left, ["lock", "rows.json"]);
}

#[test]
fn one_label_per_example_is_told_by_its_error() {
    let desk = multiclass();
    let whole = desk.json("compare train.txt test.txt --methods rembrandt,lomtree,label-tree -k 4 --json -q");
    assert_eq!(whole["multiclass"], true);
    for (method, row) in rows(&whole) {
        let m = &row["measured"];
        let error = m["error"].as_f64().unwrap_or_else(|| panic!("{method}: {row}"));
        assert!((error + m["p1"].as_f64().unwrap() - 1.0).abs() < 1e-12 && error < 0.4, "{method}: {error}");
    }
    let table = desk.ok("compare train.txt test.txt --methods rembrandt,lomtree,label-tree -k 4").stdout;
    assert!(table.lines().next().unwrap().contains("error") && table.lines().count() == 4, "{table}");
}

#[test]
fn what_was_measured_is_not_measured_again() {
    let desk = desk();
    let line = "compare train.txt test.txt --methods cs,plst -k 8 --json";
    let first = desk.ok(line);
    assert!(!first.stderr.contains("measured before"), "{}", first.stderr);
    let again = desk.ok(line);
    assert_eq!(again.stderr.matches("measured before").count(), 2, "{}", again.stderr);
    assert_eq!(first.stdout, again.stdout);
    // More methods: only the new one is measured.
    let more = desk.ok("compare train.txt test.txt --methods cs,plst,plst:5 -k 8 --json");
    assert_eq!(more.stderr.matches("measured before").count(), 2, "{}", more.stderr);
    // Other data, another seed, or the wish for it: everything is.
    for other in [&format!("{line} --fresh"), &format!("{line} --seed 2")] {
        assert!(!desk.ok(other).stderr.contains("measured before"));
    }
    assert!(!desk.ok(&format!("{line} --input-format xmc")).stderr.contains("measured before"));
    desk.write("test.txt", xmc().replacen("1.", "2.", 3));
    assert!(!desk.ok(line).stderr.contains("measured before"));
    // Names that appear beside the data change what is read.
    desk.write("labels.txt", (0..20).map(|i| format!("label {i}\n")).collect::<String>());
    assert!(!desk.ok(line).stderr.contains("measured before"));
}

#[test]
fn what_was_refused_is_tried_again() {
    let desk = desk();
    for _ in 0..2 {
        let outcome = desk.ok("compare train.txt test.txt --methods plst,lomtree -k 5 --json");
        assert!(outcome.stderr.contains("lomtree: example"), "{}", outcome.stderr);
    }
}

#[test]
fn models_are_kept_if_asked_for() {
    let desk = desk();
    desk.ok("compare train.txt test.txt --methods plst -k 5 -q");
    assert!(!desk.path("rembrandt-compare/plst-k-5.rmb").exists());
    desk.ok("compare train.txt test.txt --methods plst -k 5 -q --keep-models");
    assert_eq!(desk.json("inspect rembrandt-compare/plst-k-5.rmb --json")["k"], 5);
}

/// Processes that a killed comparison had started must end by themselves.
#[cfg(target_os = "linux")]
fn wait_until_nobody_works_in(folder: &std::path::Path) {
    let folder = folder.canonicalize().unwrap();
    let busy = || {
        let all = std::fs::read_dir("/proc").unwrap().flatten();
        all.filter(|process| std::fs::read_link(process.path().join("cwd")).is_ok_and(|cwd| cwd == folder)).count()
    };
    for _ in 0..1000 {
        if busy() == 0 {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("a process of a killed comparison lives on");
}

#[cfg(unix)]
#[test]
fn a_comparison_that_was_killed_goes_on() {
    let desk = desk();
    let words = ["compare", "train.txt", "test.txt", "--methods", "plst,cplst,pca,cs,rembrandt", "-k", "9", "--json"];
    let mut child = Command::new(env!("CARGO_BIN_EXE_rembrandt"))
        .args(words)
        .current_dir(desk.path("."))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while !desk.path("rembrandt-compare/rows.json").exists() && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(2));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    #[cfg(target_os = "linux")]
    wait_until_nobody_works_in(&desk.path("."));
    let kept: Value = serde_json::from_slice(&desk.read("rembrandt-compare/rows.json")).unwrap();
    let kept = kept.as_object().unwrap().len();
    assert!(kept >= 1);
    let rest = desk.run_words(&words, Vec::new());
    assert_eq!(rest.code, 0, "{}", rest.stderr);
    assert!(rest.stderr.matches("measured before").count() >= kept, "{}", rest.stderr);
    let whole: Value = serde_json::from_str(&rest.stdout).unwrap();
    assert!(rows(&whole).len() == 5 && rows(&whole).iter().all(|(_, row)| row["measured"].is_object()), "{whole}");
}

#[test]
fn a_method_that_takes_too_long_is_given_up() {
    let desk = desk();
    let outcome = desk.run("compare train.txt test.txt --methods fastxml --budget 0.001s --json -q");
    assert_eq!(outcome.code, 2, "{}", outcome.stderr);
    let whole: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let reason = row(&whole, "fastxml")["failed"]["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("within 1ms"), "{reason}");
}

#[test]
fn k_is_cut_to_what_the_data_allow() {
    let desk = desk();
    let whole = desk.json("compare train.txt test.txt --methods plst,plst:500 -k 300 --json -q");
    assert_eq!(rows(&whole).len(), 1, "both are cut to the same k");
    assert_eq!(row(&whole, "plst")["measured"]["k"], 20);
    // Principal components are of the features, of which there are more.
    let whole = desk.json("compare train.txt test.txt --methods pca:30 --json -q");
    assert_eq!(row(&whole, "pca")["measured"]["k"], 30);
}

#[test]
fn texts_are_compared_too() {
    let desk = Desk::new();
    let some: Vec<_> = texts().into_iter().map(|(text, labels)| (text, vec![labels[0]])).collect();
    desk.write("train.jsonl", jsonl(&some));
    desk.write("test.jsonl", jsonl(&some));
    let whole = desk.json("compare train.jsonl test.jsonl --text --methods plst,fastxml -k 2 --json -q");
    for (method, row) in rows(&whole) {
        assert!(row["measured"]["p1"].as_f64().unwrap() > 0.6, "{method}: {row}");
    }
}

#[test]
fn nonsense_is_refused() {
    let desk = desk();
    let cases = [
        ("compare train.txt test.txt --methods svm", "svm"),
        ("compare train.txt test.txt --methods fastxml:8", "embedding"),
        ("compare train.txt test.txt --methods fastxml -k 8", "-k"),
        ("compare - test.txt", "name files"),
        ("compare train.txt missing.txt", "missing.txt"),
        ("compare train.txt test.txt --text-column 2", "--text"),
        ("compare train.txt test.txt --report test.txt", "also an input"),
        ("compare train.txt test.txt --bootstrap 3", "too few"),
        ("compare train.txt test.txt --methods plst:8 -k 3", "-k"),
    ];
    for (line, expected) in cases {
        let before = desk.files();
        let outcome = desk.run(line);
        assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""), "{line}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(expected), "{line}: {}", outcome.stderr);
        assert_eq!(desk.files(), before, "{line} left something behind");
    }
}
