//! `rembrandt predict`.

use crate::common::{Desk, N, objects, predicted, xmc};

/// Labels and probabilities of the lines of the xmc format.
fn ranked(stdout: &str) -> Vec<Vec<(usize, f64)>> {
    let pair = |word: &str| {
        let (label, p) = word.split_once(':').unwrap();
        (label.parse().unwrap(), p.parse().unwrap())
    };
    stdout.lines().map(|line| line.split_whitespace().map(pair).collect()).collect()
}

#[test]
fn formats_tell_the_same() {
    let desk = Desk::with_model();
    let xmc = ranked(&desk.ok("predict m.model train.txt --format xmc").stdout);
    assert_eq!(xmc.len(), N);
    for row in &xmc {
        assert!(row.len() == 5 && row.windows(2).all(|w| w[0].1 >= w[1].1), "{row:?}");
    }
    let tsv = desk.ok("predict m.model train.txt --format tsv").stdout;
    let jsonl = objects(&desk.ok("predict m.model train.txt --format jsonl").stdout);
    assert_eq!((tsv.lines().count(), jsonl.len()), (N, N));
    for ((row, line), object) in xmc.iter().zip(tsv.lines()).zip(&jsonl) {
        let fields: Vec<&str> = line.split('\t').collect();
        let pairs: Vec<(usize, f64)> =
            fields.chunks(2).map(|f| (f[0].parse().unwrap(), f[1].parse().unwrap())).collect();
        assert_eq!(&pairs, row);
        for ((label, p), (name, q)) in row.iter().zip(predicted(object)) {
            assert!(label.to_string() == name && (p - q).abs() < 1e-6, "{row:?}, {object}");
        }
        assert_eq!(object["labels"][0]["id"], row[0].0);
    }
    // The model has learnt: the first label is mostly right, line by line.
    let truth = self::xmc();
    let right = |(row, line): (&Vec<(usize, f64)>, &str)| {
        line.split(' ').next().unwrap().split(',').any(|l| l == row[0].0.to_string())
    };
    assert!(xmc.iter().zip(truth.lines().skip(1)).filter(|pair| right((pair.0, pair.1))).count() > N * 8 / 10);
}

#[test]
fn top_and_threshold_leave_labels_out() {
    let desk = Desk::with_model();
    let all = ranked(&desk.ok("predict m.model train.txt --format xmc --top 20").stdout);
    let top = ranked(&desk.ok("predict m.model train.txt --format xmc --top 2").stdout);
    let fixed = ranked(&desk.ok("predict m.model train.txt --format xmc --top 20 --threshold 0.3").stdout);
    let auto = ranked(&desk.ok("predict m.model train.txt --format xmc --top 20 --threshold auto").stdout);
    for (i, row) in all.iter().enumerate() {
        assert_eq!(row.len(), 20);
        assert_eq!(top[i], row[..2]);
        let probable: Vec<_> = row.iter().filter(|(_, p)| *p >= 0.3).copied().collect();
        assert_eq!(fixed[i], probable);
        assert!(auto[i].iter().all(|pair| row.contains(pair)));
    }
    let kept = auto.iter().map(Vec::len).sum::<usize>();
    assert!(kept > N && kept < 4 * N, "{kept} labels for {N} examples");
    assert_eq!(ranked(&desk.ok("predict m.model train.txt --format xmc --threshold 1").stdout).len(), N);
}

#[test]
fn labels_can_be_chosen() {
    let desk = Desk::with_model();
    desk.write("some.txt", "3\n\n 5 \n3\n11\n");
    let some = ranked(&desk.ok("predict m.model train.txt --format xmc --labels some.txt --top 20").stdout);
    let all = ranked(&desk.ok("predict m.model train.txt --format xmc --top 20").stdout);
    for (some, all) in some.iter().zip(&all) {
        let expected: Vec<_> = all.iter().filter(|(label, _)| [3, 5, 11].contains(label)).copied().collect();
        assert_eq!(*some, expected);
    }
}

#[test]
fn the_same_for_any_threads() {
    let desk = Desk::with_model();
    let expected = desk.ok("predict m.model train.txt --format jsonl --top 20").stdout;
    for threads in [1, 2, 5] {
        let found = desk.ok(&format!("predict m.model train.txt --format jsonl --top 20 --threads {threads}")).stdout;
        assert!(found == expected, "{threads} threads");
    }
}

#[test]
fn files_appear_whole_and_inputs_are_safe() {
    let desk = Desk::with_model();
    let expected = desk.ok("predict m.model train.txt").stdout;
    let outcome = desk.ok("predict m.model train.txt -o out.tsv");
    assert_eq!(outcome.stdout, "");
    assert_eq!(desk.text("out.tsv"), expected);
    assert_eq!(desk.ok("predict m.model train.txt -o -").stdout, expected);
    desk.write("some.txt", "1\n");
    for input in ["m.model", "train.txt", "./train.txt", "some.txt"] {
        let sentence = desk.refused(&format!("predict m.model train.txt --labels some.txt -o {input}"));
        assert!(sentence.contains("is also an input"), "{sentence}");
    }
    // A line that cannot be read after many that can.
    desk.write("bad.txt", xmc().replacen("300 60 20", "301 60 20", 1) + "1 1:x\n");
    let sentence = desk.refused("predict m.model bad.txt -o out.tsv");
    assert!(sentence.contains("bad.txt:302:"), "{sentence}");
    assert_eq!(desk.text("out.tsv"), expected);
}

#[test]
fn unknown_features_and_labels_do_not_disturb() {
    let desk = Desk::with_model();
    let predict = |content: &str| {
        desk.write("new.txt", content);
        desk.ok("predict m.model new.txt").stdout
    };
    let expected = predict("1 60 20\n3 9:1 10:1 11:1\n");
    assert_eq!(predict("1 100 20\n3 9:1 10:1 11:1 99:7\n"), expected);
    assert_eq!(predict("1 60 20\n 9:1 10:1 11:1\n"), expected, "without labels");
    assert_eq!(predict("1 60 50\n49 9:1 10:1 11:1\n"), expected, "another label");
    desk.write("new.txt", " 9:1 10:1 11:1\n");
    assert_eq!(desk.ok("predict m.model new.txt --input-format xmc").stdout, expected, "without a header");
    desk.write("new.txt", "3 9:1 10:1 11:1\n");
    assert_eq!(desk.ok("predict m.model new.txt --input-format svmlight").stdout, expected, "svmlight");
    let outcome = desk.run_with_input("predict m.model -", b"1 60 20\n 9:1 10:1 11:1\n".to_vec());
    assert_eq!(outcome.stdout, expected);
}

#[test]
fn cache_files_are_read_too() {
    let desk = Desk::with_model();
    desk.ok("convert train.txt -o data.rmb");
    assert!(desk.ok("predict m.model data.rmb").stdout == desk.ok("predict m.model train.txt").stdout);
}

#[test]
fn words_are_found_by_name() {
    let desk = Desk::new();
    let mut text = String::new();
    for i in 0..30 {
        text.push_str(["red |f rose:1 wine\n", "blue |f sky sea:2\n", "green |f leaf grass\n"][i % 3]);
    }
    desk.write("train.vw", text);
    desk.ok("train train.vw -o m.model");
    desk.write("new.vw", "|f grass unheard:3 leaf\nbrown |f sea\n|f unheard\n");
    let tsv = desk.ok("predict m.model new.vw --top 1").stdout;
    let labels: Vec<&str> = tsv.lines().map(|line| line.split('\t').next().unwrap()).collect();
    assert_eq!(labels, ["green", "blue", "red"], "the last has no known feature");
    let xmc = desk.ok("predict m.model new.vw --top 1 --format xmc").stdout;
    assert!(xmc.starts_with("green:"), "{xmc}");
    // Words that look like numbers are read as such only when asked for.
    desk.write("new.vw", "4 |f sea\n");
    assert!(desk.refused("predict m.model new.vw").contains("read ids as words"));
    assert!(desk.ok("predict m.model new.vw --ids words").stdout.starts_with("blue\t"));
    let scores = desk.json("eval m.model train.vw --json");
    assert_eq!((scores["p@1"].as_f64(), scores["error"].as_f64()), (Some(1.0), Some(0.0)));
}

#[test]
fn names_that_a_format_cannot_hold_are_refused() {
    let desk = Desk::new();
    let line = |label: &str, text: &str| format!("{{\"text\": \"{text}\", \"labels\": [\"{label}\"]}}\n");
    desk.write("train.jsonl", [line("green tea", "leaf kettle"), line("coffee", "bean roast")].concat().repeat(10));
    desk.ok("train train.jsonl --text -o m.model");
    assert!(desk.refused("predict m.model train.jsonl --format xmc").contains("\"green tea\" has a space"));
    assert!(desk.ok("predict m.model train.jsonl --top 1").stdout.starts_with("green tea\t"));
}

/// Writes lines into the program one after the other, and waits for the answer to each.
fn converse(desk: &Desk, words: &str, lines: &[&str]) -> Vec<String> {
    use std::io::{BufRead, BufReader, Write};
    use std::process::{Command, Stdio};
    let mut program = Command::new(env!("CARGO_BIN_EXE_rembrandt"))
        .args(words.split_whitespace())
        .current_dir(desk.path("."))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = program.stdin.take().unwrap();
    let output = program.stdout.take().unwrap();
    let (send, answers) = std::sync::mpsc::channel();
    std::thread::spawn(move || BufReader::new(output).lines().try_for_each(|line| send.send(line.unwrap())));
    let mut found = Vec::new();
    for line in lines {
        input.write_all(line.as_bytes()).unwrap();
        // A line of names has no answer.
        if !line.starts_with("number") {
            let answer = answers.recv_timeout(std::time::Duration::from_secs(60));
            found.push(answer.unwrap_or_else(|_| panic!("{words}: no answer to {line:?}")));
        }
    }
    drop(input);
    assert!(program.wait().unwrap().success());
    assert_eq!(answers.iter().count(), 0);
    found
}

#[test]
fn a_pipe_is_answered_line_by_line() {
    let desk = Desk::with_model();
    let found = converse(&desk, "predict m.model - --top 1 --format xmc", &[" 9:1 10:1 11:1\n", "5 30:1 31:1 32:1\n"]);
    assert!(found[0].starts_with("3:") && found[1].starts_with("10:"), "{found:?}");
    let found = converse(&desk, "predict m.model - --input-format xmc", &[" 9:1\n", "\n", "\n", " 30:1\n"]);
    assert_eq!(found.len(), 4, "a blank line is an example without features");
    let desk = Desk::with_text_model();
    let of = |lines: &[&str], words: &str| {
        let found = converse(&desk, &format!("predict m.model - --top 1 {words}"), lines);
        found.iter().map(|line| line.split('\t').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(of(&["a leaf in a kettle\n", "bean\n", "\n", "a grape\n"], "--input-format lines").len(), 4);
    assert_eq!(of(&["{\"text\": \"leaf\"}\n", "{\"text\": \"bean\"}\n"], ""), ["tea", "coffee"]);
    let csv = ["number,text\n", "7,\"leaf, kettle\"\n", "\"8\",\"a\nbean\"\n"];
    assert_eq!(of(&csv, ""), ["tea", "coffee"]);
    assert_eq!(of(&csv, "--id-column number"), ["7", "8"]);
    assert_eq!(of(&["number\ttext\n", "x\tleaf\n", "y\tbean\n"], "--id-column number"), ["x", "y"]);
}

#[test]
fn ids_are_carried_through() {
    let desk = Desk::with_text_model();
    desk.write("new.csv", "nr,text\n17,leaf kettle\n\"a, b\",bean roast\n17,\n");
    let first = |line: &str| {
        let found = desk.ok(line).stdout;
        found.lines().map(|line| line.split('\t').take(2).map(str::to_owned).collect::<Vec<_>>()).collect::<Vec<_>>()
    };
    let tsv = first("predict m.model new.csv --top 1 --id-column nr");
    assert_eq!(tsv[..2], [["17", "tea"], ["a, b", "coffee"]]);
    assert_eq!(tsv[2][0], "17", "ids may come twice, and a text may be empty");
    let numbered = first("predict m.model new.csv --top 1 --id-column #");
    assert_eq!(numbered.iter().map(|line| line[0].as_str()).collect::<Vec<_>>(), ["1", "2", "3"]);
    assert_eq!(first("predict m.model new.csv --threshold 1 --id-column 1")[1], ["a, b"], "no label, but an id");
    desk.write("new.jsonl", "{\"text\": \"leaf\", \"n\": 3}\n{\"text\": \"bean\", \"n\": \"x\\ty\"}\n");
    let found = objects(&desk.ok("predict m.model new.jsonl --format jsonl --id-column n").stdout);
    assert_eq!((&found[0]["id"], &found[1]["id"]), (&serde_json::json!("3"), &serde_json::json!("x\ty")));
    assert!(desk.run("predict m.model new.jsonl --id-column n").stderr.contains("choose jsonl"));
    assert!(desk.refused("predict m.model new.jsonl --id-column none").contains("there is no key"));
    assert!(desk.refused("predict m.model new.csv --id-column none").contains("no column is called"));
    assert!(desk.refused("predict m.model new.csv --id-column # --format xmc").contains("--id-column: xmc"));
    desk.write("new.txt", "leaf\nbean\n");
    assert!(desk.refused("predict m.model new.txt --input-format lines --id-column 1").contains("no columns"));
    let desk = Desk::with_model();
    assert!(desk.refused("predict m.model train.txt --id-column 1").contains("write #"));
    assert!(desk.ok("predict m.model train.txt --id-column # --top 1").stdout.starts_with("1\t"));
}
