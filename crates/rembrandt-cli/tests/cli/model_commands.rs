//! `rembrandt explain`, `rembrandt add-label` and `rembrandt neighbors` on models.

use serde_json::Value;

use crate::common::{C, Desk, Outcome, objects, predicted};

fn json(outcome: &Outcome) -> Value {
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    serde_json::from_str(&outcome.stdout).unwrap()
}

fn explain(desk: &Desk, example: &str, options: &[&str]) -> Value {
    json(&desk.run_words(&[&["explain", "m.model", example, "--json"], options].concat(), Vec::new()))
}

/// Base and contributions must make up the log-odds, and these the probability.
fn assert_adds_up(found: &Value) {
    let features = found["features"].as_array().unwrap();
    let sum: f64 = features.iter().map(|f| f["contribution"].as_f64().unwrap()).sum();
    let [base, log_odds, p] = ["base", "log_odds", "probability"].map(|key| found[key].as_f64().unwrap());
    assert!((base + sum - log_odds).abs() < 1e-9, "{found}");
    assert!((1.0 / (1.0 + (-log_odds).exp()) - p).abs() < 1e-4, "{found}");
}

#[test]
fn shares_of_features_add_up() {
    let desk = Desk::with_model();
    let found = explain(&desk, "9:1 10:1.5 11:1 40:1 41:1 3:1", &[]);
    assert_adds_up(&found);
    assert_eq!((found["label"].as_str(), found["exact"].as_bool()), (Some("3"), Some(true)));
    let features = found["features"].as_array().unwrap();
    assert_eq!(features.len(), 6);
    let first = features[0]["id"].as_u64().unwrap();
    assert!((9..12).contains(&first) && features[0]["contribution"].as_f64() > Some(0.0), "{found}");
    // Another label, and what predict says of it.
    let other = explain(&desk, "9:1 10:1.5 11:1 40:1 41:1 3:1", &["--label", "13"]);
    assert_adds_up(&other);
    desk.write("new.txt", "1 60 20\n 3:1 9:1 10:1.5 11:1 40:1 41:1\n");
    let row = predicted(&objects(&desk.ok("predict m.model new.txt --format jsonl --top 20").stdout)[0]);
    for found in [found, other] {
        let (_, p) = row.iter().find(|(label, _)| found["label"] == label.as_str()).unwrap();
        assert!((found["probability"].as_f64().unwrap() - p).abs() < 1e-6, "{found}");
    }
}

#[test]
fn shares_of_words_add_up() {
    let desk = Desk::with_text_model();
    let found = explain(&desk, "A kettle with a leaf in the kitchen, unheard of", &[]);
    assert_adds_up(&found);
    assert_eq!(found["label"], "tea");
    let names: Vec<&str> = found["features"].as_array().unwrap().iter().map(|f| f["name"].as_str().unwrap()).collect();
    assert!(["leaf", "kettle"].contains(&names[0]) && names.contains(&"kitchen"), "{names:?}");
    let few = explain(&desk, "A kettle with a leaf in the kitchen", &["--top", "1", "--label", "wine"]);
    assert_eq!(few["features"].as_array().unwrap().len(), 1);
    let text = desk.run_words(&["explain", "m.model", "kettle leaf"], Vec::new());
    assert!(text.stdout.contains("tea") && text.stdout.contains("  kettle\n"), "{}", text.stdout);
    let unknown = desk.run_words(&["explain", "m.model", "unheard of"], Vec::new());
    assert!(unknown.stdout.contains("tea") && unknown.stdout.contains("no feature is known"), "{}", unknown.stdout);
}

#[test]
fn random_features_leave_a_rest() {
    let desk = Desk::with_data();
    desk.ok("train train.txt --random-features gaussian:50 -o m.model");
    let found = explain(&desk, "9:1 10:1.5 11:1 40:2", &[]);
    assert_adds_up(&found);
    assert_eq!(found["exact"], false);
}

#[test]
fn examples_are_typed_as_in_the_training_data() {
    let desk = Desk::new();
    desk.write("train.vw", "red |f rose wine\nblue |f sky sea\n".repeat(10));
    desk.ok("train train.vw --head ilr -o m.model");
    let found = explain(&desk, "|f sky unheard", &[]);
    assert_adds_up(&found);
    assert_eq!((found["label"].as_str(), found["features"].as_array().unwrap().len()), (Some("blue"), 1));
    // Without features the frequencies speak; a word that looks like a number is a word.
    for nothing in ["", " ", "|f 3", "sky"] {
        assert_eq!(explain(&desk, nothing, &[])["features"], serde_json::json!([]), "{nothing:?}");
    }
    desk.run_words(&["explain", "m.model", "|f sky:x"], Vec::new()).assert_refused("|f sky:x");
    let desk = Desk::with_model();
    assert_eq!(explain(&desk, "9:1\n10:1", &[]), explain(&desk, " 9:1 10:1", &[]));
    for bad in ["5", "a:1", "3 9:1", "1:nan", "1:1 1:2"] {
        desk.run_words(&["explain", "m.model", bad], Vec::new()).assert_refused(bad);
    }
}

/// Examples of something new: features 0, 5 and 10 together.
const NEW: &str = "3 60 21\n20 0:2 5:2 10:2\n20 0:1.5 5:2 10:1\n20 0:1 5:1.5 10:2\n";

#[test]
fn an_added_label_changes_nothing_else() {
    let desk = Desk::with_model();
    desk.write("new.txt", NEW);
    let added = desk.json("add-label m.model new.txt --name chess -o n.model --json");
    assert_eq!(
        (added["label"].as_str(), added["id"].as_u64(), added["examples"].as_u64()),
        (Some("chess"), Some(C as u64), Some(3))
    );
    desk.write("old.txt", (0..C).map(|l| format!("{l}\n")).collect::<String>());
    let before = desk.ok("predict m.model train.txt --format jsonl --top 20").stdout;
    assert!(desk.ok("predict n.model train.txt --format jsonl --top 20 --labels old.txt").stdout == before);
    let found = predicted(&objects(&desk.ok("predict n.model new.txt --format jsonl").stdout)[0]);
    // Its features belong to other labels too, which a ranker goes by; a head goes by where they lie together.
    let chess = found.iter().find(|(label, _)| label == "chess").unwrap_or_else(|| panic!("{found:?}")).1;
    let elsewhere = objects(&desk.ok("predict n.model train.txt --format jsonl --top 21").stdout);
    let higher = elsewhere.iter().flat_map(predicted).filter(|(label, p)| label == "chess" && *p >= chess).count();
    assert!(chess > 0.2 && higher == 0, "{found:?}, {higher}");
    desk.ok("train train.txt --head ilr -o h.model");
    desk.ok("add-label h.model new.txt --name chess -o h.model -q");
    let found = predicted(&objects(&desk.ok("predict h.model new.txt --format jsonl").stdout)[0]);
    assert_eq!(found[0].0, "chess", "{found:?}");
    let near = desk.json("neighbors n.model chess --json");
    assert_eq!((near["id"].as_u64(), near["neighbors"].as_array().unwrap().len()), (Some(C as u64), 10));
    assert_eq!(desk.json("inspect n.model --json")["added"], 1);
    assert!(desk.ok("inspect n.model").stdout.contains("21 labels, 20 dimensions; 1 label added after training"));
    // Once more, onto itself.
    desk.ok("add-label n.model new.txt --name go -o n.model -q");
    assert_eq!(desk.json("inspect n.model --json")["c"], C + 2);
    assert!(desk.refused("add-label n.model --name unheard -o x.model").contains("give it a few examples"));
    assert!(desk.refused("add-label n.model new.txt --name go -o x.model").contains("\"go\" is a label already"));
}

#[test]
fn the_name_may_be_in_the_file() {
    let desk = Desk::with_text_model();
    desk.write("beer.jsonl", "{\"text\": \"morning cellar\", \"labels\": [\"beer\"]}\n".repeat(4));
    let outcome = desk.ok("add-label m.model beer.jsonl -o n.model");
    assert!(outcome.stdout.contains("beer, number 4, from 4 examples"), "{}", outcome.stdout);
    let lines = desk.run_with_input("predict n.model - --input-format lines --format jsonl", "morning cellar\n".into());
    assert!(predicted(&objects(&lines.stdout)[0]).iter().any(|(label, _)| label == "beer"), "{}", lines.stdout);
    let near = desk.ok("neighbors n.model beer --top 1").stdout;
    assert!(near.trim_end().ends_with("wine"), "{near}");
    // Of sparse rows a number, and what is there already is refused.
    let desk = Desk::with_model();
    desk.write("new.txt", NEW);
    desk.write("old.txt", NEW.replace("\n20 ", "\n7 "));
    assert_eq!(desk.json("add-label m.model new.txt -o n.model --json")["label"], "20");
    assert!(desk.refused("add-label m.model old.txt -o x.model").contains("\"7\" is a label already"));
    assert_eq!(desk.json("eval n.model new.txt --json")["r@5"], 1.0, "the new number means the new label");
    desk.write("far.txt", NEW.replace("\n20 ", "\n25 ").replace(" 21\n", " 26\n"));
    assert!(desk.refused("add-label m.model far.txt -o x.model").contains("call it 20, or by a word"));
}

#[test]
fn examples_must_say_what_they_are() {
    let desk = Desk::with_model();
    let refused = |content: &str, part: &str| {
        desk.write("new.txt", content);
        let sentence = desk.refused("add-label m.model new.txt -o x.model");
        assert!(sentence.contains(part), "{sentence}");
    };
    refused("1 60 20\n 0:1\n", "--name: the examples have no label");
    refused("2 60 23\n21 0:1\n22 1:1\n", "--name: the examples have several labels");
    refused("1 90 23\n20 80:1\n", "examples: no example has a feature that the model knows");
    let outcome = desk.run_with_input("add-label m.model - -o x.model", NEW.into());
    outcome.assert_refused("standard input without a name");
    desk.write("new.txt", NEW);
    assert!(desk.refused("add-label m.model new.txt --name new -o -").contains("--output: "));
    assert!(desk.refused("add-label m.model new.txt --name new -o new.txt").contains("is also an input"));
}

#[test]
fn neighbors_of_a_model_are_those_of_its_labels() {
    let desk = Desk::with_text_model();
    let near = desk.json("neighbors m.model tea --json");
    assert_eq!((near["name"].as_str(), near["neighbors"].as_array().unwrap().len()), (Some("tea"), 3));
    assert!(desk.refused("neighbors m.model Tea").contains("did you mean \"tea\"?"));
}
