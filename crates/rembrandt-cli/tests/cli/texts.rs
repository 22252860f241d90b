//! Raw texts in, names out.

use crate::common::{Desk, csv, jsonl, objects, predicted, texts, tsv};

/// The best label of each of a few lines.
fn best(desk: &Desk, model: &str, lines: &str) -> Vec<String> {
    let line = format!("predict {model} - --input-format lines --format jsonl");
    let outcome = desk.run_with_input(&line, lines.into());
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    objects(&outcome.stdout).iter().map(|o| predicted(o)[0].0.clone()).collect()
}

#[test]
fn all_formats_make_the_same_model() {
    let desk = Desk::new();
    let records = texts();
    desk.write("a.tsv", tsv(&records));
    desk.write("a.csv", csv(&records));
    desk.write("a.jsonl", jsonl(&records));
    desk.ok("train a.tsv --text -o m.model");
    for (file, threads) in [("a.csv", 1), ("a.jsonl", 2), ("a.tsv", 5)] {
        desk.ok(&format!("train {file} --text --threads {threads} -o again.model"));
        assert!(desk.read("m.model") == desk.read("again.model"), "{file}");
    }
    let lines: String = records.iter().map(|(text, _)| format!("{text}\n")).collect();
    let expected = desk.run_with_input("predict m.model - --input-format lines", lines.into());
    assert_eq!((expected.code, expected.stdout.lines().count()), (0, records.len()), "{}", expected.stderr);
    for line in ["predict m.model a.tsv", "predict m.model a.csv", "predict m.model a.jsonl --input-format jsonl"] {
        assert_eq!(desk.ok(line).stdout, expected.stdout, "{line}");
    }
    let outcome = desk.run_with_input("predict m.model -", jsonl(&records).into());
    assert_eq!(outcome.stdout, expected.stdout);
}

#[test]
fn names_come_out() {
    let desk = Desk::with_text_model();
    assert_eq!(best(&desk, "m.model", "a leaf\nROAST!\ncellar, grape\n"), ["tea", "coffee", "wine"]);
    let outcome = desk.run_with_input("predict m.model - --input-format lines --top 1", "kettle\n".into());
    assert!(outcome.stdout.starts_with("tea\t0."), "{}", outcome.stdout);
}

#[test]
fn texts_without_known_words_get_the_frequencies() {
    let desk = Desk::with_text_model();
    let outcome = desk.run_with_input("predict m.model - --input-format lines --format jsonl", "\nunheard of\n".into());
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let expected = [("tea", 0.5), ("coffee", 1.0 / 3.0), ("wine", 1.0 / 6.0), ("milk", 0.1)];
    let rows = objects(&outcome.stdout);
    assert_eq!(rows.len(), 2);
    for row in &rows {
        let found = predicted(row);
        for ((label, p), (name, frequency)) in found.iter().zip(expected) {
            assert!(label == name && (p - frequency).abs() < 1e-6, "{found:?}");
        }
    }
}

#[test]
fn rules_for_texts_are_options() {
    let desk = Desk::new();
    desk.write("train.csv", csv(&texts()));
    let cases = [
        ("--word-ngrams 1-2", "word n-grams 1-2"),
        ("--char-ngrams 3-4", "char n-grams 3-4"),
        ("--hash-bits 10", "hash of 10 bits"),
        ("--weighting binary", "binary"),
        ("--weighting tf --sublinear", "tf, sublinear"),
        ("--keep-case", "capital letters apart"),
        ("--stop-words en --stem en", "stems of en"),
        ("--stop-words fr --fold", "without accents"),
        ("--max-features 9 --min-df 3 --max-df 0.9 --min-length 3", "tf-idf"),
    ];
    for (options, part) in cases {
        desk.ok(&format!("train train.csv --text {options} -o m.model"));
        let text = desk.ok("inspect m.model").stdout;
        assert!(text.contains("texts, fitted to 120 texts") && text.contains(part), "{part:?} is not in {text}");
        assert_eq!(best(&desk, "m.model", "leaf kettle\nbean roast\n"), ["tea", "coffee"], "{options}");
    }
    // Parts of words are known where the words are not.
    desk.ok("train train.csv --text --char-ngrams 3-4 -o m.model");
    assert_eq!(best(&desk, "m.model", "kettles\nroasted\n"), ["tea", "coffee"]);
    let json = desk.json("train train.csv --text --hash-bits 7 -o m.model --json");
    assert_eq!(json["d"], 128);
    assert_eq!(desk.json("inspect m.model --json")["preprocessing"]["params"]["hashing"]["bits"], 7);
    assert!(desk.refused("train train.csv --stop-words tlh -o x.model").contains("--stop-words: there are none"));
    desk.ok("train train.csv --stem en -o m.model");
    assert_eq!(best(&desk, "m.model", "kettles\nroasting\n"), ["tea", "coffee"]);
    assert!(desk.refused("train train.csv --text --hash-bits 31 -o x.model").contains("--hash-bits: "));
    assert!(desk.refused("train train.csv --text --word-ngrams 3-2 -o x.model").contains("--word-ngrams: "));
}

#[test]
fn columns_and_separators_are_options() {
    let desk = Desk::new();
    let records = texts();
    desk.write("a.csv", csv(&records));
    desk.ok("train a.csv --text -o a.model");
    let line = |(text, labels): &(String, Vec<&str>)| format!("{}\t{text}\n", labels.join(";"));
    desk.write("b.tsv", records.iter().map(line).collect::<String>());
    let columns = "--text-column 2 --labels-column 1 --label-separator ;";
    desk.ok(&format!("train b.tsv --text {columns} -o b.model"));
    let [a, b] = ["a.model", "b.model"].map(|model| {
        let line = format!("predict {model} - --input-format lines");
        desk.run_with_input(&line, records.iter().map(|(text, _)| format!("{text}\n")).collect::<String>().into())
            .stdout
    });
    assert!(records[0].1.contains(&a.split('\t').next().unwrap()) && a == b, "{a}");
    let scores = desk.json(&format!("eval b.model b.tsv {columns} --json"));
    assert!(scores["p@1"].as_f64() > Some(0.9), "{scores}");
}

#[test]
fn unknown_labels_of_a_test_file_are_misses() {
    let desk = Desk::with_text_model();
    desk.write("known.jsonl", "{\"text\": \"leaf kettle\", \"labels\": [\"tea\"]}\n");
    desk.write("half.jsonl", "{\"text\": \"leaf kettle\", \"labels\": [\"tea\", \"beer\"]}\n");
    desk.write("none.jsonl", "{\"text\": \"leaf kettle\", \"labels\": [\"beer\", \"ale\"]}\n");
    for (file, precision, recall) in [("known", 1.0, 1.0), ("half", 1.0, 0.5), ("none", 0.0, 0.0)] {
        let scores = desk.json(&format!("eval m.model {file}.jsonl --json"));
        assert_eq!((scores["p@1"].as_f64(), scores["r@1"].as_f64()), (Some(precision), Some(recall)), "{file}");
    }
}
