//! `rembrandt eval`.

use serde_json::Value;

use crate::common::{Desk, N, gz, jsonl, texts, xmc};

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
    assert_eq!(json["level"], 0.9);
    let bands = json["bands"].as_array().unwrap();
    assert_eq!(bands.iter().map(|band| &band["name"]).collect::<Vec<_>>(), ["head", "torso", "tail"]);
    let labels: u64 = bands.iter().map(|band| band["labels"].as_u64().unwrap()).sum();
    assert_eq!((labels, &bands[2]["training_examples"][0]), (20, &Value::from(0)), "label 7 never occurs");
    for key in ["support", "precision", "recall", "micro_f1", "macro_f1"] {
        assert!(bands.iter().all(|band| band[key].is_number()), "{key} is not in {bands:?}");
    }
    let bins = json["reliability"].as_array().unwrap();
    assert_eq!(bins.iter().map(|bin| bin["examples"].as_u64().unwrap()).sum::<u64>(), N as u64);
    assert!(bins.iter().all(|bin| bin["low"].is_number() && bin["high"].is_number() && bin["probability"].is_number()));
    assert!(desk.json("eval m.model train.txt --json --bootstrap 0").get("intervals").is_none());
    let table = desk.ok("eval m.model train.txt").stdout;
    for part in
        ["p@1", "psp@5", "macro_f1", "intervals 90 %", "\nhead ", "\ntail ", "examples  300", "examples per second"]
    {
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

#[test]
fn any_rank_and_any_level() {
    let desk = Desk::with_model();
    let json = desk.json("eval m.model train.txt --json --at 2,10");
    assert!(json["p@2"].is_number() && json["psp@10"].is_number() && json.get("p@1").is_none(), "{json}");
    let found = ranked(&desk.ok("predict m.model train.txt --format xmc --top 10").stdout);
    let hits: usize =
        truths().iter().zip(&found).map(|(truth, row)| row.iter().filter(|l| truth.contains(l)).count()).sum();
    assert!((json["p@10"].as_f64().unwrap() - hits as f64 / (10 * N) as f64).abs() < 1e-12);
    let width = |line: &str| {
        let ends = desk.json(line)["intervals"]["p@1"].clone();
        ends[1].as_f64().unwrap() - ends[0].as_f64().unwrap()
    };
    assert!(width("eval m.model train.txt --json --level 0.5") < width("eval m.model train.txt --json --level 0.95"));
    assert!(desk.ok("eval m.model train.txt --level 0.95").stdout.contains("95 %, by 100 bootstrap replicates"));
    assert!(desk.refused("eval m.model train.txt --level 0.99").contains("--bootstrap: 100 are too few"));
    assert!(desk.refused("eval m.model train.txt --level 1").contains("--level: 1 is not between"));
    assert!(desk.refused("eval m.model train.txt --at 3,1").contains("--at: "));
    assert!(desk.refused("eval m.model train.txt --at 0").contains("--at: "));
    assert!(desk.refused("eval m.model train.txt --bootstrap 100000000").contains("--bootstrap: "));
}

/// True labels of the data.
fn truths() -> Vec<Vec<String>> {
    let labels = |line: &str| line.split(' ').next().unwrap().split(',').map(str::to_owned).collect();
    xmc().lines().skip(1).map(labels).collect()
}

/// Labels of each line of the xmc format.
fn ranked(predictions: &str) -> Vec<Vec<String>> {
    let label = |word: &str| word.split(':').next().unwrap().to_owned();
    predictions.lines().map(|line| line.split_whitespace().map(label).collect()).collect()
}

#[test]
fn each_label_has_a_line() {
    let desk = Desk::with_model();
    desk.ok("eval m.model train.txt --per-label labels.tsv");
    let tsv = desk.text("labels.tsv");
    let rows: Vec<Vec<&str>> = tsv.lines().map(|line| line.split('\t').collect()).collect();
    assert_eq!(rows[0].join(" "), "label training_examples support predicted precision recall f1 threshold");
    let supports: Vec<usize> = rows[1..].iter().map(|row| row[2].parse().unwrap()).collect();
    assert!(supports.is_sorted_by(|a, b| a >= b) && supports.len() >= 19, "{supports:?}");
    let found = ranked(&desk.ok("predict m.model train.txt --format xmc --top 20 --threshold auto").stdout);
    for row in &rows[1..] {
        let has = |labels: &Vec<String>| labels.iter().any(|label| label == row[0]);
        let support = truths().iter().filter(|truth| has(truth)).count();
        let predicted = found.iter().filter(|labels| has(labels)).count();
        let both = truths().iter().zip(&found).filter(|(truth, labels)| has(truth) && has(labels)).count();
        assert_eq!(
            [row[1], row[2], row[3]],
            [support, support, predicted].map(|v| v.to_string()).each_ref().map(String::as_str)
        );
        let near = |text: &str, above: usize, below: usize| {
            below == 0 && text.is_empty() || (text.parse::<f64>().unwrap() - above as f64 / below as f64).abs() < 1e-4
        };
        assert!(
            near(row[4], both, predicted) && near(row[5], both, support) && near(row[6], 2 * both, predicted + support),
            "{row:?}"
        );
        assert!((0.0..=1.0).contains(&row[7].parse::<f64>().unwrap()));
    }
    desk.ok("eval m.model train.txt --per-label labels.json --threshold 0.25");
    let json: Value = serde_json::from_str(&desk.text("labels.json")).unwrap();
    assert_eq!((json[0]["support"].as_u64(), json[0]["threshold"].as_f64()), (Some(supports[0] as u64), Some(0.25)));
    assert!(desk.refused("eval m.model train.txt --per-label train.txt").contains("is also an input"));
}

#[test]
fn the_page_has_everything_and_needs_no_other_file() {
    let desk = Desk::new();
    desk.write("train.jsonl", jsonl(&texts()).replace("\"tea\"", "\"<tea>\""));
    desk.ok("train train.jsonl --text -o m.model");
    desk.ok("eval m.model train.jsonl --report page.html --against m.model");
    let page = desk.text("page.html");
    for part in
        ["Scores", "Compared", "Frequent and rare labels", "Reliability", "Label by label", "&lt;tea&gt;", "<svg"]
    {
        assert!(page.contains(part), "{part:?} is not in the page");
    }
    assert!(!page.contains("<tea>") && !page.contains("NaN") && page.ends_with("</html>\n"));
    assert!(!page.contains("src=") && !page.contains("href=") && !page.contains("<script"));
}

#[test]
fn mixed_up_labels_are_told() {
    let desk = Desk::new();
    // The second feature says nothing, so that the rarer label is always taken for the other.
    let lines: String =
        (0..120).map(|i| ["0 0:1 1:1\n", "0 0:1\n", "1 1:1 0:1\n", "2 2:1\n"][[0, 1, 1, 2, 3, 3][i % 6]]).collect();
    desk.write("train.txt", lines);
    desk.ok("train train.txt -o m.model");
    desk.write("test.txt", "1 0:1\n1 0:1\n0 0:1\n2 2:1\n");
    let json = desk.json("eval m.model test.txt --json");
    let expected = serde_json::json!({"missed": "1", "given": "0", "examples": 2});
    assert_eq!(json["confusions"], serde_json::json!([expected]));
    assert!(desk.ok("eval m.model test.txt").stdout.contains("confused  1 missed, 0 given, 2 times"));
}

#[test]
fn predictions_of_any_program_are_evaluated() {
    let desk = Desk::with_model();
    let written = desk.ok("predict m.model train.txt --format xmc --top 20").stdout;
    desk.write("written.txt", &written);
    let model = desk.json("eval m.model train.txt --json --threshold 0.3");
    let file = desk.json("eval written.txt train.txt --train train.txt --json --threshold 0.3");
    // Six decimals may bring probabilities together that are not equal.
    for key in SCORES.iter().filter(|key| **key != "error") {
        let (a, b) = (model[key].as_f64().unwrap(), file[key].as_f64().unwrap());
        assert!((a - b).abs() < 2e-3, "{key}: {a} and {b}");
    }
    assert_eq!((&file["p@1"], &file["bands"]), (&model["p@1"], &model["bands"]));
    assert!(file["seconds"].is_null());
    let without = desk.json("eval written.txt train.txt --json");
    assert!(without["psp@1"].is_null() && without["bands"].as_array().unwrap().is_empty());
    // Another program writes scores of any size, in any order, perhaps with a first line, perhaps packed.
    let scores = |line: &str| {
        let mut words: Vec<String> = line.split_whitespace().map(|word| format!("{word}e2")).collect();
        words.reverse();
        words.join("\t") + "\n"
    };
    let other: String = written.lines().map(scores).collect();
    desk.write("other.txt", format!("{N} 20\n{other}"));
    desk.write("other.gz", gz(other.as_bytes()));
    for name in ["other.txt", "other.gz"] {
        let json = desk.json(&format!("eval {name} train.txt --json"));
        assert_eq!((&json["p@1"], &json["ndcg@5"]), (&file["p@1"], &file["ndcg@5"]), "{name}");
        assert!(json["micro_f1"].is_null() && json["ece"].is_null(), "no probabilities, no threshold");
        assert!(desk.json(&format!("eval {name} train.txt --json --threshold 0.3"))["micro_f1"].is_number());
    }
    desk.write("short.txt", other.lines().skip(1).map(|line| format!("{line}\n")).collect::<String>());
    let sentence = desk.refused("eval short.txt train.txt");
    assert!(sentence.contains("short.txt: has predictions for 299 examples, and there are 300"), "{sentence}");
    desk.write("bad.txt", other.replacen(":", ":x", 40));
    assert!(desk.refused("eval bad.txt train.txt").contains("bad.txt:1:"));
    assert!(desk.refused("eval written.txt train.txt --exact").contains("--exact: "));
    assert!(desk.refused("eval m.model train.txt --train train.txt").contains("--train: "));
}

#[test]
fn labels_of_predictions_are_found_by_name() {
    let desk = Desk::with_text_model();
    let written = desk.ok("predict m.model train.jsonl --format xmc").stdout;
    // A label that no example has is wrong, and no more.
    desk.write("written.txt", written.replacen("\ntea:", "\nwater:", 1));
    let json = desk.json("eval written.txt train.jsonl --input-format jsonl --json");
    let model = desk.json("eval m.model train.jsonl --json");
    let right = |json: &Value| (json["p@1"].as_f64().unwrap() * 120.0).round() as usize;
    assert_eq!(right(&json) + 1, right(&model));
    desk.ok("eval written.txt train.jsonl --input-format jsonl --threshold 0 --per-label labels.tsv");
    assert!(desk.text("labels.tsv").contains("\nwater\t\t0\t1\t"), "{}", desk.text("labels.tsv"));
}

#[test]
fn two_models_are_compared() {
    let desk = Desk::with_model();
    let written = desk.ok("predict m.model train.txt --format xmc --top 20").stdout;
    // The worst first: another model if there ever was one.
    let reversed = |line: &str| {
        let words = line.split_whitespace().map(|word| word.split_once(':').unwrap());
        words.map(|(label, p)| format!("{label}:{} ", 1.0 - p.parse::<f64>().unwrap())).collect::<String>() + "\n"
    };
    desk.write("bad.txt", written.lines().map(reversed).collect::<String>());
    let json = desk.json("eval m.model train.txt --against bad.txt --json");
    let difference = |json: &Value, name: &str| {
        let all = json["against"]["differences"].as_array().unwrap().clone();
        all.into_iter().find(|d| d["name"] == name).unwrap_or_else(|| panic!("no {name}"))
    };
    let p1 = difference(&json, "p@1");
    assert_eq!((&json["against"]["model"], &p1["first"]), (&Value::from("bad.txt"), &json["p@1"]));
    assert!(p1["difference"].as_f64() < Some(-0.3) && p1["interval"]["high"].as_f64() < Some(0.0), "{p1}");
    assert!(p1["p"].as_f64() < Some(1e-6), "{p1}");
    let same = difference(&desk.json("eval m.model train.txt --against m.model --json"), "ndcg@5");
    assert_eq!((&same["difference"], &same["p"]), (&Value::from(0.0), &Value::from(1.0)));
    let table = desk.ok("eval m.model train.txt --against bad.txt").stdout;
    assert!(table.contains("first m.model, second bad.txt") && table.contains("< 0.0001"), "{table}");
    assert!(desk.refused("eval m.model train.txt --against m.model --bootstrap 0").contains("--bootstrap: "));
    assert!(desk.refused("eval m.model - --against m.model").contains("--against: "));
}
