//! Plausible input that would be read wrongly: it is read rightly, or a sentence says why not.

use crate::common::{Desk, csv, jsonl, texts, tsv, xmc};

/// Notes of a run that succeeds.
fn said(desk: &Desk, line: &str) -> String {
    desk.ok(line).stderr
}

#[test]
fn texts_are_recognised() {
    let desk = Desk::new();
    let records = texts();
    desk.write("a.csv", csv(&records));
    desk.write("a.tsv", tsv(&records));
    desk.write("a.jsonl", jsonl(&records));
    desk.write("a.txt", xmc());
    desk.ok("train a.csv --text -o m.model");
    for file in ["a.csv", "a.tsv", "a.jsonl"] {
        let sentence = said(&desk, &format!("train {file} -o again.model"));
        assert!(sentence.contains("the file is read as texts"), "{sentence}");
        assert!(desk.read("m.model") == desk.read("again.model"), "{file}");
    }
    // Options decide: a format, or an option that only one of them has a use for.
    for options in ["--input-format csv", "--label-separator ,", "--min-df 2"] {
        let sentence = said(&desk, &format!("train a.csv {options} -o again.model"));
        assert!(!sentence.contains("is read as texts"), "{options}: {sentence}");
        assert!(desk.read("m.model") == desk.read("again.model"), "{options}");
    }
    for (line, part) in [
        ("train a.csv --tfidf --text -o x", "--tfidf: is for sparse rows"),
        ("train a.txt --min-df 3 -o x", "--min-df: is for texts, and the file has sparse rows"),
        ("train a.csv --ids words --min-df 3 -o x", "--ids: is for sparse rows, and --min-df is for texts"),
    ] {
        assert!(desk.refused(line).contains(part), "{line}");
    }
    let piped = desk.run_with_input("train - -o x", csv(&records).into());
    piped.assert_refused("a pipe");
    assert!(piped.stderr.contains("these are texts and not sparse rows"), "{}", piped.stderr);
    desk.ok("compare a.csv a.csv --methods plst -k 2 --bootstrap 0 --quiet");
}

#[test]
fn doubtful_files_are_refused_with_both_readings() {
    let desk = Desk::new();
    let line = |(text, labels): &(String, Vec<&str>)| format!("{}\t{text}\n", labels.join(","));
    desk.write("raw.tsv", texts().iter().map(line).collect::<String>());
    let sentence = desk.refused("train raw.tsv -o x");
    for part in ["as in a table of texts", "--input-format svmlight", "--text-column"] {
        assert!(sentence.contains(part), "{sentence}");
    }
    desk.ok("train raw.tsv --input-format svmlight -o m.model");
    desk.ok("train raw.tsv --text-column 2 --labels-column 1 -o m.model");
    assert!(desk.refused("embed raw.tsv -k 2 -o x").contains("--input-format svmlight"));
}

#[test]
fn models_remember_how_texts_were_written() {
    let desk = Desk::new();
    let line = |(text, labels): &(String, Vec<&str>)| format!("{};\"{text}\"\n", labels.join("|"));
    desk.write("a.csv", "tags;title\n".to_owned() + &texts().iter().map(line).collect::<String>());
    let columns = "--delimiter ; --text-column title --labels-column tags --label-separator |";
    desk.ok(&format!("train a.csv {columns} -o m.model"));
    let all =
        ["eval m.model a.csv --json", &format!("eval m.model a.csv {columns} --json")].map(|line| desk.json(line));
    assert!(all[0]["p@1"].as_f64() > Some(0.9), "{}", all[0]);
    assert_eq!(all[0]["p@1"], all[1]["p@1"]);
    // Prediction needs no labels, and takes plain lines.
    desk.write("new.csv", "title\nleaf kettle\n");
    let expected = desk.ok("predict m.model new.csv").stdout;
    assert!(expected.starts_with("tea\t"), "{expected}");
    let lines = desk.run_with_input("predict m.model - --input-format lines", "leaf kettle\n".into());
    assert_eq!((lines.stdout, lines.code), (expected, 0), "{}", lines.stderr);
    let refused = desk.run_with_input("predict m.model - --input-format lines --text-column x", "a\n".into());
    assert!(refused.stderr.contains("plain lines have no columns"), "{}", refused.stderr);
    let inspected = desk.json("inspect m.model --json");
    assert_eq!(inspected["preprocessing"]["records"]["separator"], "|");
    // Numbers of columns hold for other tables too.
    let line = |(text, labels): &(String, Vec<&str>)| format!("{}\t{text}\n", labels.join(","));
    desk.write("b.tsv", texts().iter().map(line).collect::<String>());
    desk.ok("train b.tsv --text-column 2 --labels-column 1 -o b.model");
    assert!(desk.json("eval b.model b.tsv --json")["p@1"].as_f64() > Some(0.9));
}

#[test]
fn unknown_labels_are_counted() {
    let desk = Desk::with_text_model();
    desk.write("new.csv", "text,labels\nleaf kettle,\"tea,beer\"\nbean,coffee\ncow,ale\n");
    for line in ["eval m.model new.csv", "predict m.model new.csv"] {
        let sentence = said(&desk, line);
        assert!(sentence.contains("note: the model does not know 2 of the 4 labels in the file"), "{sentence}");
    }
    desk.write("known.csv", "text,labels\nleaf kettle,tea\n");
    assert_eq!(said(&desk, "eval m.model known.csv"), "");
    assert_eq!(said(&desk, "eval m.model new.csv --quiet"), "");
}

#[test]
fn labels_with_another_separator_are_noticed() {
    let desk = Desk::new();
    let row = |(text, labels): &(String, Vec<&str>)| format!("\"{text}\",{}\n", labels.join(";"));
    desk.write("a.csv", "text,labels\n".to_owned() + &texts().iter().map(row).collect::<String>());
    let sentence = said(&desk, "train a.csv -o m.model");
    let expected = "no text has more than one label, and 12 labels contain `;`: if it separates labels, say so";
    assert!(sentence.contains(expected), "{sentence}");
    assert!(!said(&desk, "train a.csv --label-separator ; -o m.model").contains("separates"));
}

#[test]
fn one_line_is_written_for_each_record() {
    let desk = Desk::with_text_model();
    let cases = [
        ("--text-column 1 --labels-column 2", "leaf\ttea\n\t\n\nbean\tcoffee\n", 4),
        ("--text-column 1", "leaf\n\nbean\n", 3),
        ("--text-column 1 --header", "title\nleaf\n\nbean\n", 3),
        ("--input-format csv", "text\nleaf\n\nbean\n", 3),
        ("--input-format lines", "leaf\n\nbean\n", 3),
    ];
    for (options, input, lines) in cases {
        let outcome = desk.run_with_input(&format!("predict m.model - {options}"), input.into());
        assert_eq!((outcome.code, outcome.stdout.lines().count()), (0, lines), "{options}: {}", outcome.stderr);
    }
}

#[test]
fn data_that_say_nothing_are_refused() {
    let desk = Desk::new();
    desk.write("weights.csv", "text,labels,w\nleaf kettle,tea,0\nleaf bean,coffee,0\n");
    assert!(
        desk.refused_at_last("train weights.csv --weight-column w -o x").contains("weights.csv: all weights are 0")
    );
    desk.write("weights.txt", "0 0 |x:1\n1 0 |y:1\n".replace("|", "|w "));
    assert!(desk.refused_at_last("train weights.txt -o x").contains("weights.txt: all weights are 0"));
    desk.write("empty.csv", "text,labels\n,tea\n\" \",coffee\n");
    assert!(desk.refused_at_last("train empty.csv -o x").contains("empty.csv: all texts are empty"));
    desk.write("head.tsv", "label\ttext\ntea\tleaf kettle\n");
    let sentence = desk.refused("train head.tsv --text-column 2 --labels-column 1 -o x");
    assert!(sentence.contains("head.tsv:1: `text` and `label` look like the names of columns"), "{sentence}");
}

#[test]
fn an_odd_line_among_numbers_is_named() {
    let desk = Desk::new();
    let mut text: String = (0..200).map(|i| format!("{} {}:1 {}:1\n", i % 3, i % 7, 7 + i % 5)).collect();
    desk.write("good.txt", &text);
    desk.ok("train good.txt -o m.model");
    text.push_str("1 x7:1\n0 1:1\n");
    desk.write("odd.txt", &text);
    assert!(desk.refused("train odd.txt -o x").contains("odd.txt:201: feature id `x7` is not a number, as nearly all"));
    desk.ok("train odd.txt --ids words -o m.model");
    desk.write("few.txt", "0 1:1\n1 x7:1\n");
    let sentence = said(&desk, "inspect few.txt");
    assert!(sentence.contains("feature ids are read as words, because `x7` in line 2 is not a number"), "{sentence}");
    desk.write("large.txt", "0 1:1 2:1\n1 1:1e30\n".repeat(20));
    let sentence = desk.refused("train large.txt -o x");
    assert!(sentence.contains("large.txt: example 2, counted from 1, has the value 1e30 for feature 1"), "{sentence}");
}

#[test]
fn a_file_that_was_cut_is_read_with_a_note() {
    let desk = Desk::with_data();
    desk.write("head.txt", xmc().lines().take(101).map(|line| format!("{line}\n")).collect::<String>());
    let sentence = said(&desk, "train head.txt -o m.model");
    assert!(
        sentence.contains("the header says n = 300 examples, but the file has 100: was it cut short?"),
        "{sentence}"
    );
    assert!(said(&desk, "eval m.model head.txt").contains("was it cut short?"));
}

#[test]
fn names_that_name_nothing_or_two_are_noticed() {
    let desk = Desk::with_data();
    let names =
        |odd: &str| (0..20).map(|i| if i == 7 { format!("{odd}\n") } else { format!("l{i}\n") }).collect::<String>();
    for (odd, fault) in [("l2", "names:8: the name `l2` is that of line 3 as well"), ("", "names:8: the name is empty")]
    {
        desk.write("names", names(odd));
        let sentence = said(&desk, "train train.txt --label-names names -o m.model");
        assert!(sentence.contains(fault), "{sentence}");
    }
}

#[test]
fn ids_far_apart_cost_no_memory() {
    let desk = Desk::new();
    let text: String =
        (0..200).map(|i| format!("{} {}:1\n", [5, 4_000_000_000u32][i % 2], [3, 50_000_000][i % 2])).collect();
    desk.write("train.txt", &text);
    let outcome = desk.ok("train train.txt -o m.model --max-memory 200MB --json");
    assert!(
        outcome.stderr.contains("feature ids go up to 50000000, and only the 2 that occur are numbered"),
        "{}",
        outcome.stderr
    );
    let sentence = outcome.stderr;
    assert!(sentence.contains("label ids go up to 4000000000, and only the 2 that occur"), "{sentence}");
    let predict = desk.run_with_input("predict m.model - --top 1 --format xmc", " 50000000:1\n 3:1 77:1\n".into());
    let labels: Vec<&str> = predict.stdout.lines().filter_map(|line| line.split(':').next()).collect();
    assert_eq!(labels, ["4000000000", "5"], "{}", predict.stderr);
    assert!(desk.json("eval m.model train.txt --json")["p@1"].as_f64() > Some(0.9));
}

#[test]
fn lists_of_labels_are_read_like_other_names() {
    let desk = Desk::with_text_model();
    desk.write("labels", "\u{feff}tea\r\ncoffee\n");
    let outcome = desk.run_with_input("predict m.model - --input-format lines --labels labels", "leaf\n".into());
    assert_eq!(outcome.stdout.split('\t').count(), 4, "{}", outcome.stderr);
    desk.write("bad", b"tea\n\xff\n");
    assert!(desk.refused("predict m.model train.jsonl --labels bad").contains("bad:2: byte 0xff"));
    desk.write("unknown", "tea\nbeer\n");
    assert!(desk.refused("predict m.model train.jsonl --labels unknown").contains("unknown:2: "));
}

#[test]
fn control_characters_of_names_do_not_reach_the_terminal() {
    let desk = Desk::new();
    let text: String = (0..60).map(|i| format!("{} f{}:1\n", ["\u{1b}[31mred", "blue"][i % 2], i % 2)).collect();
    desk.write("train.txt", text);
    desk.ok("train train.txt -o m.model");
    for line in ["inspect m.model", "neighbors m.model blue", "explain m.model f0", "inspect train.txt"] {
        let stdout = desk.ok(line).stdout;
        assert!(stdout.contains("\\u{1b}[31mred") && !stdout.contains('\u{1b}'), "{line}: {stdout:?}");
    }
    assert!(!desk.refused("neighbors m.model \u{1b}[31m").contains('\u{1b}'));
}

#[test]
fn appended_bytes_are_called_so() {
    let desk = Desk::with_model();
    desk.ok("embed train.txt -k 3 -o e.safetensors");
    desk.ok("convert train.txt -o train.rmb");
    for (file, part) in [("m.model", "something was appended"), ("e.safetensors", "something was appended")] {
        desk.write(file, [desk.read(file), b"more".to_vec()].concat());
        assert!(desk.refused(&format!("inspect {file}")).contains(part), "{file}");
    }
    desk.write("train.rmb", [desk.read("train.rmb"), b"more".to_vec()].concat());
    assert!(desk.refused("inspect train.rmb").contains("or something was appended"));
}

#[test]
fn folders_of_others_are_left_as_they_are() {
    let desk = Desk::with_data();
    std::fs::create_dir(desk.path("x.partial")).unwrap();
    for name in ["mine", ".mine.tmpabc"] {
        desk.write(&format!("x.partial/{name}"), "");
    }
    assert!(desk.refused_at_last("train train.txt -o x --resume").contains("is not a folder of checkpoints"));
    let mut names: Vec<_> =
        std::fs::read_dir(desk.path("x.partial")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, [".mine.tmpabc", "mine"]);
}

#[test]
fn limits_are_sane() {
    let desk = Desk::with_model();
    assert!(
        desk.refused_at_last("eval m.model train.txt --bootstrap 100000000").contains("--bootstrap: more than 100000 ")
    );
    desk.ok("train train.txt -o again.model --threads 1000");
    assert!(desk.read("m.model") == desk.read("again.model"));
    desk.write("long.txt", format!("0 {}\n", "1:1 ".repeat(5_000_000)));
    assert!(desk.refused("inspect long.txt").contains("long.txt:1: the line is longer than"));
}

#[test]
fn a_search_that_has_no_time_says_so() {
    let desk = Desk::with_data();
    let outcome = desk.ok("train train.txt -o m.model --tune 1us");
    assert!(outcome.stderr.contains("1µs is too little to try other settings"), "{}", outcome.stderr);
}

#[test]
fn examples_are_explained_by_the_names_of_features() {
    let desk = Desk::with_data();
    desk.write("features.txt", (0..60).map(|i| format!("word{i}\n")).collect::<String>());
    desk.ok("train train.txt -o m.model");
    let by_name = desk.run_words(&["explain", "m.model", "word3 word4:2", "--label", "1"], Vec::new());
    let by_number = desk.run_words(&["explain", "m.model", "3:1 4:2", "--label", "1"], Vec::new());
    assert_eq!((by_name.code, &by_name.stdout), (0, &by_number.stdout), "{}", by_name.stderr);
    assert!(desk.refused("explain m.model unheard").contains("the model has no feature called \"unheard\""));
}

#[test]
fn texts_are_embedded_converted_and_inspected() {
    let desk = Desk::new();
    desk.write("a.csv", csv(&texts()));
    desk.ok("embed a.csv --text -k 2 -o e.safetensors");
    assert!(desk.ok("neighbors e.safetensors tea").stdout.contains("coffee"));
    desk.ok("convert a.csv --min-df 3 -o a.rmb");
    let (text, cache) = (desk.json("inspect a.csv --min-df 3 --json"), desk.json("inspect a.rmb --json"));
    assert_eq!(
        (&text["d"], &text["nnz"], &text["frequent_labels"]),
        (&cache["d"], &cache["nnz"], &cache["frequent_labels"])
    );
    desk.ok("train a.rmb -o m.model");
    assert!(desk.json("eval m.model a.rmb --json")["p@1"].as_f64() > Some(0.9));
    assert!(
        desk.refused("train a.rmb --text -o x")
            .contains("a.rmb: is a cache file, which holds sparse rows and no texts")
    );
}

#[test]
fn stages_are_told_when_asked_for() {
    let desk = Desk::with_data();
    let said = said(&desk, "train train.txt -o m.model --quiet -v");
    for stage in ["reading", "range finder", "ranker"] {
        let line = said.lines().find(|line| line.contains(&format!(" s: {stage}")));
        assert!(line.is_some_and(|line| line.split(' ').next().is_some_and(|s| s.parse::<f64>().is_ok())), "{said}");
    }
}

#[test]
fn the_environment_may_limit_threads_and_memory() {
    let desk = Desk::with_data();
    let run = |name: &str, value: &str| {
        let mut program = crate::common::program(&desk.path("."));
        program.env(name, value).args(["train", "train.txt", "-q", "-o", "m.model"]).output().unwrap()
    };
    assert!(run("REMBRANDT_THREADS", "1").status.success());
    let refused = run("REMBRANDT_MAX_MEMORY", "1kB");
    let sentence = String::from_utf8(refused.stderr).unwrap();
    assert!(refused.status.code() == Some(2) && sentence.contains("raise --max-memory"), "{sentence}");
    assert_eq!(run("REMBRANDT_THREADS", "many").status.code(), Some(2));
}
