//! A run with `--resume` that is killed at any moment goes on when it is started again, and ends in the same bytes.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};

use crate::common::{Desk, xmc};

/// Kills in a row, each when so many new checkpoints have appeared.
const KILLS: [&[usize]; 3] = [&[1, 1, 2, 1, 3, 1], &[2, 5, 4, 3], &[7, 9, 1, 8]];

/// The checkpoints of `out`.
fn checkpoints(desk: &Desk) -> BTreeSet<String> {
    let entries = std::fs::read_dir(desk.path("out.partial")).into_iter().flatten().flatten();
    entries.map(|e| e.file_name().into_string().unwrap()).filter(|name| name.ends_with(".checkpoint")).collect()
}

/// Starts a line with `--resume` and kills it once `after` checkpoints have appeared; returns whether it was done before.
fn start_and_kill(desk: &Desk, line: &str, after: usize) -> bool {
    let before = checkpoints(desk);
    let mut seen = BTreeSet::new();
    let mut child = Command::new(env!("CARGO_BIN_EXE_rembrandt"))
        .args(line.split_whitespace())
        .args(["--resume", "-q", "-o", "out"])
        .current_dir(desk.path("."))
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    while seen.len() < after && child.try_wait().unwrap().is_none() {
        seen.extend(checkpoints(desk).difference(&before).cloned());
    }
    child.kill().unwrap();
    child.wait().unwrap().success()
}

/// Kills a line again and again, then lets it come to its end. Returns how often it went on from something.
fn kill_and_compare(line: &str) -> usize {
    let desk = Desk::new();
    desk.write("train.txt", xmc());
    desk.ok(&format!("{line} -q -o whole"));
    let whole = desk.read("whole");
    let mut resumed = 0;
    for kills in KILLS {
        for after in kills {
            resumed += usize::from(!checkpoints(&desk).is_empty());
            if start_and_kill(&desk, line, *after) {
                assert!(desk.read("out") == whole, "{line}: other bytes");
                std::fs::remove_file(desk.path("out")).unwrap();
            }
        }
        let found = checkpoints(&desk).len();
        let end = desk.ok(&format!("{line} --resume -o out"));
        let said = match found {
            0 => "checkpoints are kept in out.partial: should this be ended, the same command goes on".to_owned(),
            1 => "going on from 1 checkpoint in out.partial".to_owned(),
            _ => format!("going on from {found} checkpoints in out.partial"),
        };
        assert!(end.stderr.contains(&said), "{line}: {found}: {}", end.stderr);
        assert!(desk.read("out") == whole, "{line}: other bytes after kills {kills:?}");
        // A kill while the result was written leaves a temporary file that a later run removes.
        let left: Vec<String> = desk.files().into_iter().filter(|name| !name.starts_with(".out.tmp")).collect();
        assert_eq!(left, ["out", "train.txt", "whole"], "{line}: something was left behind");
        std::fs::remove_file(desk.path("out")).unwrap();
    }
    println!("{line}: went on {resumed} times");
    resumed
}

#[test]
fn a_killed_embedding_goes_on() {
    let few_pass = kill_and_compare("embed train.txt -k 12 --panel 2 --solver few-pass");
    let paper = kill_and_compare("embed train.txt -k 12 --panel 2 --solver paper --passes 3 --projection-ridge 0.1");
    assert!(few_pass > 0 && paper > 0);
}

#[test]
fn a_killed_training_goes_on() {
    let sampled = kill_and_compare("train train.txt --head ilr -k 9 --panel 2 --sampled-labels 5");
    let classes = kill_and_compare("train train.txt --head lr -k 9 --panel 2");
    assert!(sampled > 0 && classes > 0);
}

#[test]
fn a_killed_forest_goes_on() {
    assert!(kill_and_compare("train train.txt --method fastxml --trees 16") > 0);
}

#[test]
fn another_run_is_refused() {
    let desk = Desk::with_data();
    let line = "embed train.txt -k 12 --panel 2 --solver few-pass";
    while start_and_kill(&desk, line, 1) || checkpoints(&desk).is_empty() {}
    let k = desk.refused("embed train.txt -k 11 --panel 2 --solver few-pass --resume -q -o out");
    assert!(k.contains("out.partial: holds checkpoints of another run: k was 12 and is 11: give the same"), "{k}");
    let seed = desk.refused(&format!("{line} --seed 5 --resume -q -o out"));
    assert!(seed.contains("seed was 1 and is 5"), "{seed}");
    let command = desk.refused("train train.txt --resume -q -o out");
    assert!(command.contains("command was embed and is train"), "{command}");
    desk.write("train.txt", xmc().replacen(":1.", ":2.", 1));
    let data = desk.refused(&format!("{line} --resume -q -o out"));
    assert!(data.contains("the data are not the same"), "{data}");
    // Without the option the checkpoints are left alone, and the user is told of them.
    let plain = desk.ok(&format!("{line} -o out"));
    assert!(plain.stderr.contains("--resume would go on from them"), "{}", plain.stderr);
    // The width of panels and the threads do not matter to the result: checkpoints of other columns are not asked for.
    desk.write("train.txt", xmc());
    desk.ok("embed train.txt -k 12 --panel 5 --solver few-pass --threads 1 --resume -q -o out");
    assert!(!desk.path("out.partial").exists());
}

#[test]
fn what_keeps_nothing_is_refused() {
    let desk = Desk::with_data();
    let lpsr = desk.refused("train train.txt --method lpsr --resume -o out");
    assert!(lpsr.contains("--resume means nothing to lpsr"), "{lpsr}");
    desk.write("out.partial", "a file");
    let file = desk.refused("embed train.txt -k 3 --resume -q -o out");
    assert!(file.contains("out.partial: is in the way of a folder for checkpoints"), "{file}");
}

#[test]
fn a_failure_says_how_to_go_on() {
    let desk = Desk::with_data();
    // Without a ridge, more random features than examples depend on each other; the embedding is found before.
    let line = "train train.txt -k 3 --random-features gaussian:2000 --head-ridge 0 --resume -o out";
    let failed = desk.run(line);
    assert_eq!(failed.code, 2, "{}", failed.stderr);
    let said = "note: checkpoints are kept in out.partial: the same command goes on from them\nerror: --head-ridge";
    assert!(failed.stderr.contains(said), "{}", failed.stderr);
    assert!(!checkpoints(&desk).is_empty());
}
