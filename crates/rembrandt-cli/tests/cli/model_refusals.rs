//! Models, examples and options that do not fit together: refused in one sentence, and nothing is left behind.

use crate::common::{C, Desk, csv, texts};

/// Every command that opens a model, with `MODEL` for it.
const COMMANDS: [&str; 5] = [
    "predict MODEL train.txt",
    "eval MODEL train.txt",
    "explain MODEL 1:1",
    "add-label MODEL train.txt --name new -o x.model",
    "predict MODEL train.txt -o x.tsv",
];

fn all_refuse(desk: &Desk, model: &str, part: &str) {
    for command in COMMANDS {
        let sentence = desk.refused(&command.replace("MODEL", model));
        assert!(sentence.contains(part) && sentence.contains(model), "{command}: {sentence}");
    }
}

#[test]
fn models_that_are_none() {
    let desk = Desk::with_model();
    all_refuse(&desk, "missing.rmb", "missing.rmb: ");
    all_refuse(&desk, "train.txt", "is not a model");
    desk.ok("embed train.txt -k 3 -o labels.safetensors");
    all_refuse(&desk, "labels.safetensors", "is not a model");
    desk.ok("convert train.txt -o data.rmb");
    all_refuse(&desk, "data.rmb", "is not a model");
    desk.write("empty.rmb", "");
    all_refuse(&desk, "empty.rmb", "empty.rmb");
}

#[test]
fn models_that_are_damaged() {
    let desk = Desk::with_model();
    let bytes = desk.read("m.model");
    for keep in [bytes.len() - 1, bytes.len() / 2, 100] {
        desk.write("cut.rmb", &bytes[..keep]);
        all_refuse(&desk, "cut.rmb", "cut short");
        assert!(desk.refused("inspect cut.rmb").contains("cut short"));
        assert!(desk.refused("neighbors cut.rmb 1").contains("cut short"));
    }
    for place in [bytes.len() - 5, bytes.len() / 2, bytes.len() / 4] {
        let mut changed = bytes.clone();
        changed[place] ^= 4;
        desk.write("changed.rmb", &changed);
        all_refuse(&desk, "changed.rmb", "damaged");
        assert!(desk.refused("inspect changed.rmb").contains("damaged"));
    }
}

#[test]
fn a_model_is_not_training_data() {
    let desk = Desk::with_model();
    for command in ["train m.model -o x.model", "embed m.model -k 2 -o x", "convert m.model -o x"] {
        assert!(desk.refused(command).contains("m.model"));
    }
}

#[test]
fn texts_for_rows_and_rows_for_texts() {
    let desk = Desk::with_text_model();
    for format in ["xmc", "svmlight", "vw"] {
        let sentence = desk.refused(&format!("predict m.model train.jsonl --input-format {format}"));
        assert!(sentence.contains("--input-format: the model was trained on texts"), "{sentence}");
    }
    assert!(desk.refused("predict m.model train.jsonl --ids words").contains("--ids: is for sparse rows"));
    desk.write("rows.txt", "1 2 2\n0 1:1\n");
    desk.refused("predict m.model rows.txt");
    desk.write("x.csv", "labels,body\ntea,leaf\n");
    assert!(desk.refused("predict m.model x.csv").contains("text"));
    desk.ok("convert rows.txt -o rows.rmb");
    assert!(desk.refused("predict m.model rows.rmb").contains("cache file"));

    let desk = Desk::with_model();
    desk.write("texts.csv", csv(&texts()));
    for format in ["tsv", "csv", "jsonl", "lines"] {
        let sentence = desk.refused(&format!("predict m.model texts.csv --input-format {format}"));
        assert!(sentence.contains("--input-format: the model was trained on sparse rows"), "{sentence}");
    }
    assert!(desk.refused("predict m.model texts.csv").contains("texts.csv"));
    assert!(desk.refused("predict m.model train.txt --text-column 1").contains("--text-column: is for texts"));
}

#[test]
fn options_that_clap_refuses() {
    let desk = Desk::with_model();
    let lines = [
        "train train.txt -o x.model --random-features cauchy",
        "train train.txt -o x.model --random-features laplace:50",
        "train train.txt -o x.model --random-features cauchy:0",
        "train train.txt -o x.model --bandwidth 2",
        "train train.txt -o x.model --random-features cauchy:5 --bandwidth 0",
        "train train.txt -o x.model --head-ridge -1",
        "train train.txt -o x.model --head-ridge nan",
        "train train.txt -o x.model --sampled-labels 0",
        "train train.txt -o x.model --tune fast",
        "train train.txt -o x.model --tune 10",
        "train train.txt -o x.model --random-features none",
        "train train.txt -o x.model --head svm",
        "train train.txt -o x.model --fast",
        "train train.txt -o x.model --budget 1m",
        "train train.txt -o x.model --no-tune",
        "train train.txt -o x.model --format=xmc",
        "train train.txt -o x.model --propensity=1",
        "train train.txt -o x.model --word-ngrams 2",
        "train train.txt -o x.model --text --tfidf",
        "train train.txt",
        "predict m.model train.txt --threshold 1.5",
        "predict m.model train.txt --threshold -0.1",
        "predict m.model train.txt --threshold nan",
        "predict m.model train.txt --threshold best",
        "predict m.model train.txt --top x",
        "predict m.model train.txt --format csv",
        "predict m.model",
        "eval m.model train.txt --propensity no",
        "explain m.model",
    ];
    let before = desk.files();
    for line in lines {
        let outcome = desk.run(line);
        assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""), "{line}: {}", outcome.stderr);
        assert!(outcome.stderr.starts_with("error: "), "{line}: {}", outcome.stderr);
    }
    assert_eq!(desk.files(), before);
}

#[test]
fn parameters_are_named_as_typed() {
    let desk = Desk::with_data();
    let cases = [
        ("-k 0", "-k: "),
        ("-k 21", "-k: "),
        ("--ridge -1", "--ridge: "),
        ("--head ilr --folds 1", "--folds: "),
        ("--scale-rows sum", "--scale-rows: is for embed"),
        ("--scale-rows length", "--normalize"),
        ("--head ls --random-features cauchy:5", "--random-features: is for the heads"),
        ("--head ls --propensity", "--propensity: is for the heads"),
        ("--head ls --sampled-labels 5", "--sampled-labels: is for the heads"),
        ("--sampled-labels 5 --random-features cauchy:5", "--sampled-labels: is for a head on h itself"),
        ("--text-column 2", "--text-column: is for texts"),
        ("--label-separator ;", "--label-separator: is for texts"),
        ("--text --ids words", "--ids: is for sparse rows"),
        ("--text --label-names train.txt", "--label-names: is for sparse rows"),
        ("--max-memory 1K", "--max-memory"),
    ];
    for (options, part) in cases {
        let sentence = desk.refused(&format!("train train.txt {options} -o x.model"));
        assert!(sentence.contains(part), "{options}: {sentence}");
    }
    desk.ok("train train.txt -o m.model");
    assert!(desk.refused("predict m.model train.txt --top 0").contains("--top: "));
    assert!(desk.refused("eval m.model train.txt --bootstrap 1").contains("--bootstrap: "));
    assert!(desk.refused("explain m.model 1:1 --label 20").contains("label: \"20\""));
    assert!(desk.refused("explain m.model 1:x").contains("the example"));
}

#[test]
fn places_that_cannot_be_written() {
    let desk = Desk::with_model();
    std::fs::create_dir(desk.path("dir")).unwrap();
    desk.write("weights.txt", "1\n".repeat(C));
    let commands = [
        "train train.txt --head ilr --label-weights weights.txt",
        "predict m.model train.txt",
        "add-label m.model train.txt --name new",
    ];
    for command in commands {
        for (output, part) in [("no/out", "does not exist"), ("dir", "is a directory"), ("train.txt", "also an input")]
        {
            let sentence = desk.refused(&format!("{command} -o {output}"));
            assert!(sentence.contains(part), "{command} -o {output}: {sentence}");
        }
    }
    assert!(desk.refused(&format!("{} -o weights.txt", commands[0])).contains("also an input"));
    assert!(desk.refused("train train.txt -o -").contains("--output: "));
    assert!(desk.refused("train missing.txt -o no/out").contains("does not exist"));
}

#[test]
fn files_of_labels_and_weights() {
    let desk = Desk::with_model();
    desk.write("labels.list", "3\n\nred\n");
    let sentence = desk.refused("predict m.model train.txt --labels labels.list");
    assert!(sentence.contains("labels.list:3:") && sentence.contains("\"red\""), "{sentence}");
    desk.write("labels.list", " \n");
    assert!(desk.refused("predict m.model train.txt --labels labels.list").contains("names no label"));
    assert!(desk.refused("predict m.model train.txt --labels missing").contains("missing"));

    let train = "train train.txt --label-weights weights.txt -o x.model --head";
    desk.write("weights.txt", "1\n".repeat(C - 1));
    let independent = format!("{train} ilr");
    assert!(desk.refused(&independent).contains("--label-weights: give one for each of the 20 labels"));
    for bad in ["-1", "nan", "heavy", ""] {
        desk.write("weights.txt", "1\n".repeat(3) + bad + "\n" + &"1\n".repeat(C - 4));
        let sentence = desk.refused(&independent);
        assert!(sentence.contains("weights.txt:4: is not a weight"), "{sentence}");
    }
    desk.write("weights.txt", "1\n".repeat(C));
    let sentence = desk.refused(&format!("{train} lr"));
    assert!(sentence.contains("--label-weights: is for independent labels"), "{sentence}");
}

#[test]
fn data_that_no_model_can_be_made_of() {
    let desk = Desk::new();
    desk.write("train.txt", "3 4 2\n 0:1\n 1:1\n 2:1\n");
    for head in ["auto", "ls", "lr", "ilr"] {
        let sentence = desk.refused(&format!("train train.txt --head {head} -o x.model"));
        assert!(sentence.contains("label"), "{head}: {sentence}");
    }
    desk.write("train.csv", "text,labels\nsome words,\nother words,\n");
    assert!(desk.refused("train train.csv --text -o x.model").contains("train.csv: no record has a label"));
    desk.write("train.txt", "4 4 2\n0 \n1 \n0 \n1 \n");
    assert!(desk.refused("train train.txt -o x.model").contains("train.txt: no example has a feature"));
    desk.write("train.csv", "text,labels\n".to_owned() + &"some words,\"a\nb\"\n".repeat(9));
    assert!(desk.refused("train train.csv --text -o x.model").contains("contains the end of a line"));
    assert!(desk.refused("train train.csv --text --header=false -o x.model").contains("--text-column: "));
    desk.write("train.csv", "body,labels\nsome words,a\n");
    assert!(desk.refused("train train.csv --text -o x.model").contains("train.csv"));
}

#[test]
fn bad_lines_are_named_and_keep_the_old_model() {
    let desk = Desk::new();
    desk.write("bad.txt", "2 3 2\n0 0:1\n1 1\n");
    desk.write("out", "old");
    assert!(desk.refused("train bad.txt -o out").contains("bad.txt:3:"));
    desk.write("bad.jsonl", "{\"text\": \"a\", \"labels\": [\"b\"]}\n{\"text\": 3}\n");
    assert!(desk.refused("train bad.jsonl --text -o out").contains("bad.jsonl:2:"));
    assert_eq!(desk.read("out"), b"old");
}
