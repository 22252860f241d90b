//! `docs/formats.md` against what the program says: its JSON and its exit codes.

use std::collections::BTreeSet;

use crate::common::Desk;

/// A section of the document.
fn section(title: &str) -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/formats.md");
    let text = std::fs::read_to_string(path).unwrap();
    let (_, after) = text.split_once(&format!("\n## {title}\n")).expect("the section is there");
    after.split("\n## ").next().unwrap_or_default().to_owned()
}

/// The paragraph of a command, or all of them.
fn words(command: &str) -> BTreeSet<String> {
    let text = section("`--json`");
    let (_, after) =
        text.split_once(&format!("**`{command}`**")).unwrap_or_else(|| panic!("{command} is not documented"));
    let paragraph = after.split("\n**`").next().unwrap_or_default();
    paragraph
        .split('`')
        .step_by(2)
        .zip(paragraph.split('`').skip(1).step_by(2))
        .map(|(_, word)| word.to_owned())
        .collect()
}

#[test]
fn every_key_of_json_is_documented() {
    let desk = Desk::with_data();
    desk.ok("train train.txt -o m.model");
    desk.write("few.txt", " 0:1 1:1\n 1:2 2:1\n");
    desk.write("forest.txt", (0..60).map(|i| format!("{} {}:1\n", i % 3, i % 3)).collect::<String>());
    let lines = [
        ("train", "train train.txt -o x.model --json"),
        ("train", "train train.txt --head ilr -k 4 -o x.model --json"),
        ("train", "train forest.txt --method fastxml -o x.model --json"),
        ("eval", "eval m.model train.txt --json"),
        ("explain", "explain m.model 1:1 --json"),
        ("neighbors", "neighbors m.model 1 --json"),
        ("add-label", "add-label m.model few.txt --name new -o y.model --json"),
        ("embed", "embed train.txt -k 3 -o e.safetensors --json"),
        ("convert", "convert train.txt -o t.rmb --json"),
        ("inspect", "inspect train.txt --json"),
        ("inspect", "inspect t.rmb --json"),
        ("inspect", "inspect e.safetensors --json"),
        ("inspect", "inspect m.model --json"),
        ("compare", "compare forest.txt forest.txt --methods plst -k 2 --json"),
    ];
    for (command, line) in lines {
        let (value, words) = (desk.json(line), words(command));
        for key in value.as_object().unwrap().keys() {
            // `r@…` stands for `r@1` and so on.
            let group = key.split_once('@').map(|(metric, _)| format!("{metric}@…"));
            let known = words.contains(key) || group.is_some_and(|group| words.contains(&group));
            assert!(known, "{line}: {key} is not among {words:?}");
        }
    }
}

#[test]
fn exit_codes_are_those_that_are_documented() {
    let desk = Desk::with_model();
    let table = section("Exit codes");
    let documented: BTreeSet<&str> = table
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split(' ').next())
        .filter(|c| c.parse::<u8>().is_ok())
        .collect();
    assert_eq!(documented, BTreeSet::from(["0", "1", "2", "101"]));
    desk.ok("inspect m.model");
    for line in [
        "train missing -o x",
        "predict missing train.txt",
        "predict m.model missing",
        "eval m.model missing",
        "explain missing x",
        "add-label missing --name x -o y",
        "embed missing -o x",
        "convert missing -o x",
        "inspect missing",
        "neighbors missing x",
        "compare missing train.txt",
        "reproduce yeast --data missing",
        "bench solvers missing",
        "train train.txt -o missing/x",
        "train train.txt --nonsense",
        "nonsense",
    ] {
        assert_eq!(desk.run(line).code, 2, "{line}");
    }
    if std::path::Path::new("/dev/full").exists() {
        for line in [
            "predict m.model train.txt -q",
            "eval m.model train.txt -q",
            "inspect m.model",
            "train train.txt -q --json -o x",
        ] {
            let mut program = std::process::Command::new(env!("CARGO_BIN_EXE_rembrandt"));
            program
                .args(line.split(' '))
                .current_dir(desk.path("."))
                .stdout(std::fs::File::create("/dev/full").unwrap());
            let output = program.output().unwrap();
            let sentence = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(1), "{line}: {sentence}");
            assert!(
                sentence.lines().last().is_some_and(|line| line.starts_with("error: standard output: ")),
                "{line}: {sentence}"
            );
        }
    }
}
