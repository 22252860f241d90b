//! `rembrandt eval`.

use serde_json::Value;

use crate::common::{Desk, N, xmc};

const SCORES: [&str; 17] = [
    "p@1", "p@3", "p@5", "r@1", "r@3", "r@5", "ndcg@1", "ndcg@3", "ndcg@5", "psp@1", "psp@3", "psp@5", "error",
    "hamming", "micro_f1", "macro_f1", "ece",
];

#[test]
fn json_has_all_keys() {
    let desk = Desk::with_model();
    let json = desk.json("eval m.model train.txt --json");
    for key in SCORES.iter().chain(&["n", "seconds", "rows_per_second", "peak_memory_mb", "intervals"]) {
        assert!(json.get(key).is_some(), "{key} is not in {json}");
    }
    assert_eq!(json["n"], N);
    assert!(json["error"].is_null(), "examples with several labels have no error rate");
    for key in SCORES.iter().filter(|key| **key != "error") {
        let value = json[key].as_f64().unwrap();
        let interval: Vec<f64> =
            json["intervals"][key].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect();
        assert!((0.0..=1.0).contains(&value), "{key}: {value}");
        assert!(interval[0] <= value + 1e-9 && value <= interval[1] + 1e-9, "{key}: {value}, {interval:?}");
    }
    assert!(desk.json("eval m.model train.txt --json --bootstrap 0").get("intervals").is_none());
    let table = desk.ok("eval m.model train.txt").stdout;
    for part in ["p@1", "psp@5", "macro_f1", "examples  300", "examples per second"] {
        assert!(table.contains(part), "{part:?} is not in {table}");
    }
}

/// The first label of each example, and the header.
fn single() -> String {
    let mut lines = Vec::new();
    for line in xmc().lines().skip(1) {
        let (labels, features) = line.split_once(' ').unwrap();
        if let Some(first) = labels.split(',').next().filter(|l| !l.is_empty()) {
            lines.push(format!("{first} {features}"));
        }
    }
    format!("{} 60 20\n{}\n", lines.len(), lines.join("\n"))
}

#[test]
fn one_label_per_example_has_an_error_rate() {
    let desk = Desk::new();
    desk.write("train.txt", single());
    let head = desk.json("train train.txt --head auto -o head.model --json")["head"].clone();
    assert_eq!(head, "softmax");
    desk.ok("train train.txt -o m.model");
    for model in ["m.model", "head.model"] {
        assert_eq!(desk.json(&format!("inspect {model} --json"))["calibration"]["loss"], "softmax", "{model}");
        let json = desk.json(&format!("eval {model} train.txt --json"));
        let (error, precision) = (json["error"].as_f64().unwrap(), json["p@1"].as_f64().unwrap());
        assert!((error - (1.0 - precision)).abs() < 1e-12 && json["intervals"]["error"].is_array(), "{json}");
    }
}

#[test]
fn scores_are_those_of_the_predictions() {
    let desk = Desk::with_model();
    let json = desk.json("eval m.model train.txt --json --threshold 0.3");
    let predictions = desk.ok("predict m.model train.txt --format xmc --top 20 --threshold 0.3").stdout;
    let best = desk.ok("predict m.model train.txt --format xmc --top 1").stdout;
    let (text, mut hits, mut wrong) = (xmc(), 0, 0);
    for ((line, best), predicted) in text.lines().skip(1).zip(best.lines()).zip(predictions.lines()) {
        let label = |word: &str| word.split(':').next().unwrap().to_owned();
        let truth: Vec<&str> = line.split(' ').next().unwrap().split(',').filter(|l| !l.is_empty()).collect();
        let found: Vec<String> = predicted.split_whitespace().map(label).collect();
        let common = found.iter().filter(|l| truth.contains(&l.as_str())).count();
        hits += usize::from(truth.contains(&label(best).as_str()));
        wrong += truth.len() + found.len() - 2 * common;
    }
    let near = |key: &str, value: f64| (json[key].as_f64().unwrap() - value).abs() < 1e-12;
    assert!(near("p@1", hits as f64 / N as f64), "{hits} hits, {json}");
    assert!(near("hamming", wrong as f64 / (N * 20) as f64), "{wrong} wrong, {json}");
}

#[test]
fn the_same_for_any_threads_and_from_a_cache() {
    let desk = Desk::with_model();
    desk.ok("convert train.txt -o data.rmb");
    let scores = |line: &str| {
        let Value::Object(mut json) = desk.json(line) else { panic!("no object") };
        for key in ["seconds", "rows_per_second", "peak_memory_mb"] {
            json.remove(key).unwrap();
        }
        json
    };
    let expected = scores("eval m.model train.txt --json");
    for (file, threads) in [("train.txt", 1), ("train.txt", 5), ("data.rmb", 2)] {
        let found = scores(&format!("eval m.model {file} --json --threads {threads}"));
        assert_eq!(found, expected, "{file}, {threads} threads");
    }
}

#[test]
fn other_propensities_change_psp_alone() {
    let desk = Desk::with_model();
    let usual = desk.json("eval m.model train.txt --json");
    let other = desk.json("eval m.model train.txt --json --propensity amazon");
    assert_eq!(usual["p@1"], other["p@1"]);
    assert_ne!(usual["psp@1"], other["psp@1"]);
}

#[test]
fn without_labels_there_is_nothing_to_compare() {
    let desk = Desk::with_model();
    desk.write("new.txt", "2 60 20\n 1:1\n 2:1\n");
    assert!(desk.refused("eval m.model new.txt").contains("new.txt: no example has a label"));
    desk.write("empty.txt", "");
    assert!(desk.refused("eval m.model empty.txt").contains("empty.txt"));
}
