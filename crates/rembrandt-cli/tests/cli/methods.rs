//! `rembrandt train --method`: the linear methods beside Rembrandt.

use std::path::Path;

use serde_json::json;

use crate::common::{C, Desk, N, objects, predicted};

const METHODS: [&str; 6] = ["rembrandt", "cs", "cs-omp", "pca", "plst", "cplst"];

#[test]
fn every_method_trains_predicts_and_is_evaluated() {
    let desk = Desk::with_data();
    for method in METHODS {
        let json = desk.json(&format!("train train.txt --method {method} -o m.model --json"));
        assert_eq!(json["method"], method);
        let decodes = ["cs-omp", "plst", "cplst"].contains(&method);
        let head = match method {
            "rembrandt" => json!(null),
            _ if decodes => json!("least-squares"),
            _ => json!("independent"),
        };
        assert_eq!(json["head"], head, "{method}");
        assert_eq!(json["atoms"], if method == "cs-omp" { json!(2) } else { json!(null) });
        // As many as features or labels; two thirds of these where all of them would compress nothing.
        let k = match method {
            "pca" => 60,
            "plst" | "cplst" => 14,
            _ => 20,
        };
        assert_eq!(json["k"], k, "{method}");
        let hits = desk.json("eval m.model train.txt --json --bootstrap 0");
        assert!(hits["p@1"].as_f64() > Some(0.75), "{method}: {hits}");
        let rows = objects(&desk.ok("predict m.model train.txt --top 5 --format jsonl").stdout);
        assert_eq!(rows.len(), N);
        for row in &rows {
            let labels = predicted(row);
            assert_eq!(labels.len(), 5, "{method}: all labels are ranked, those that a pursuit did not take too");
            assert!(labels.is_sorted_by(|a, b| a.1 >= b.1) && labels.iter().all(|(_, p)| (0.0..=1.0).contains(p)));
        }
        let inspected = desk.json("inspect m.model --json");
        let made = if method == "rembrandt" { json!(null) } else { json!(method) };
        assert_eq!((&inspected["params"]["method"], inspected["c"].as_u64()), (&made, Some(C as u64)));
        assert_eq!(inspected["head"]["kind"] == "ranker", method == "rembrandt", "{inspected}");
        assert!(desk.ok("inspect m.model").stdout.lines().any(|line| line.split_whitespace().eq(["method", method])));
    }
}

#[test]
fn people_are_told_the_method() {
    let desk = Desk::with_data();
    let text = |options: &str| desk.ok(&format!("train train.txt {options} -o m.model")).stdout;
    let has = |text: &str, words: &str| {
        assert!(text.lines().any(|line| line.split_whitespace().collect::<Vec<_>>().join(" ") == words), "{text}");
    };
    has(&text(""), "method rembrandt");
    let pursuit = text("--method cs-omp --atoms 3");
    has(&pursuit, "method cs-omp");
    has(&pursuit, "head matching pursuit of at most 3 labels");
    has(&text("--method cs-omp --atoms 0"), "head least squares");
    has(&text("--method plst"), "head least squares");
    let help = desk.ok("train --help").stdout;
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(help.contains(&format!("[possible values: {}", METHODS.join(", "))), "{help}");
}

#[test]
fn heads_can_be_had_where_they_make_sense() {
    let desk = Desk::with_data();
    for method in ["cs", "pca", "plst", "cplst"] {
        for (head, name) in [("ls", "least-squares"), ("lr", "softmax"), ("ilr", "independent")] {
            let json = desk.json(&format!("train train.txt --method {method} --head {head} -o m.model --json"));
            assert_eq!(json["head"], name);
            let hits = desk.json("eval m.model train.txt --json --bootstrap 0");
            assert!(hits["p@1"].as_f64() > Some(0.75), "{method}, {head}: {hits}");
        }
    }
    let refused = desk.refused("train train.txt --method cs-omp --head ilr -o x.model");
    assert!(
        refused.starts_with("error: --head: is for methods whose labels a head can score, and the method is cs-omp"),
        "{refused}"
    );
}

#[test]
fn options_without_effect_are_refused() {
    let desk = Desk::with_data();
    let cases = [
        ("pca", "--preset aloi", "--preset: has the settings of Rembrandt's authors, and the method is pca"),
        ("cs", "--preset lshtc", "--preset: has the settings of Rembrandt's authors, and the method is cs"),
        ("cplst", "--head-ridge 2", "--head-ridge: is for the heads lr and ilr"),
        ("plst", "--folds 5", "--folds: is for the heads lr and ilr"),
        ("pca", "--folds 5", "--folds: is for methods that fit the projection to the labels"),
        ("pca", "--cg-steps 5", "--cg-steps: is for methods that regress on the features"),
        ("pca", "--solver direct", "--solver: is for methods that regress on the features"),
        ("plst", "--bias", "--bias: is for methods that need not shift the data to mean 0"),
        ("cplst", "--center", "--center: is for methods that need not shift the data to mean 0"),
        ("cs", "--passes 2", "--passes: is for methods with a range finder"),
        ("plst", "--projection-ridge 2", "--projection-ridge: is for methods with a regression besides the final one"),
        ("rembrandt", "--folds 5", "--folds: is for a head: add one, such as --head ilr, or leave it out"),
        ("rembrandt", "--head-ridge 2", "--head-ridge: is for a head"),
        ("rembrandt", "--sampled-labels 5", "--sampled-labels: is for a head"),
        ("rembrandt", "--label-weights weights.txt", "--label-weights: is for a head"),
        ("rembrandt", "--atoms 2", "--atoms: is for cs-omp, and the method is rembrandt"),
        ("cs", "--random-fraction 0.5", "--random-fraction: is for Rembrandt's embedding, and the method is cs"),
        ("rembrandt", "--random-fraction 1.5", "--random-fraction: must be a number from 0 to 1"),
        ("cs-omp", "-k 4 --atoms 5", "--atoms: 5 labels cannot be told apart in 4 dimensions"),
        ("cs", "-k 21", "-k: 21 dimensions are more than the 20 labels of the data"),
        ("cs-omp", "-k 21", "-k: 21 dimensions are more than the 20 labels of the data"),
        ("plst", "-k 21", "-k: 21 dimensions are more than the 20 labels of the data"),
        ("cplst", "-k 21", "-k: 21 dimensions are more than the 20 labels of the data"),
        ("pca", "-k 61", "-k: 61 dimensions are more than the 60 features of the data"),
    ];
    for (method, options, expected) in cases {
        let message = desk.refused(&format!("train train.txt -q --method {method} {options} -o x.model"));
        assert!(message.starts_with(&format!("error: {expected}")), "{method} {options}: {message}");
    }
    assert_eq!(desk.run("train train.txt --method none -o x.model").code, 2);
}

#[test]
fn the_same_bytes_for_any_threads() {
    let desk = Desk::with_data();
    for method in &METHODS[1..] {
        for threads in [1, 2] {
            desk.ok(&format!("train train.txt -q --method {method} --threads {threads} -o m{threads}.model"));
            desk.ok(&format!("predict m{threads}.model train.txt --threads {threads} -o p{threads}.txt"));
        }
        assert!(desk.read("m1.model") == desk.read("m2.model"), "{method}");
        assert!(desk.read("p1.txt") == desk.read("p2.txt"), "{method}");
    }
}

#[test]
fn models_of_other_methods_are_explained_and_get_labels() {
    let desk = Desk::with_data();
    desk.write("new.txt", "2 60 21\n20 0:2 5:2 10:2\n20 0:1.5 5:2 10:1\n");
    for method in &METHODS[1..] {
        desk.ok(&format!("train train.txt -q --method {method} --compact -o m.model"));
        let why = desk.run_words(&["explain", "m.model", "9:1 10:1.5 11:1 40:2", "--json"], Vec::new());
        assert_eq!(why.code, 0, "{method}: {}", why.stderr);
        desk.ok("add-label m.model new.txt --name chess -o n.model -q");
        let labels = predicted(&objects(&desk.ok("predict n.model new.txt --top 21 --format jsonl").stdout)[0]);
        assert!(labels.len() == 21 && labels.iter().any(|(label, _)| label == "chess"), "{method}: {labels:?}");
        assert_eq!(desk.json("neighbors n.model chess --json")["neighbors"].as_array().unwrap().len(), 10);
    }
}

#[test]
fn models_from_before_there_were_methods_still_open() {
    let desk = Desk::new();
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("../rembrandt/tests/integration/files");
    for name in ["v1-text.model", "v1-sparse.model"] {
        let json = desk.json(&format!("inspect {} --json", files.join(name).display()));
        assert_eq!((&json["kind"], json["params"].get("method")), (&json!("model"), None));
    }
}
