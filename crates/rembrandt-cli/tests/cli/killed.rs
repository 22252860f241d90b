//! A training that is killed at any moment leaves the model that was there.

use std::fs::File;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use crate::common::{Desk, xmc};

/// When a training is killed.
#[derive(Clone, Copy, Debug)]
enum Moment {
    /// After so long.
    After(Duration),
    /// As soon as it has written a part of the model.
    Writing,
}

/// Moments spread over a whole training, more of them near its end, where the file is written.
fn moments(whole: Duration) -> Vec<Moment> {
    let all = (0..12).map(|i| whole * i / 12).chain((0..8).map(|i| whole * 4 / 5 + whole * i / 24));
    all.map(Moment::After).chain([Moment::Writing; 5]).collect()
}

/// The one thing that a killed run may leave: a temporary file, which the next run removes once it is old.
fn temporary(name: &str) -> bool {
    name.strip_prefix(".m.model.tmp").is_some_and(|unique| unique.len() == 6)
}

/// The temporary files that hold something.
fn begun(desk: &Desk) -> Vec<String> {
    let holds = |name: &String| temporary(name) && desk.path(name).metadata().is_ok_and(|m| m.len() > 0);
    desk.files().into_iter().filter(holds).collect()
}

/// Begins a training and kills it; returns whether it was done before.
fn train_and_kill(desk: &Desk, moment: Moment) -> bool {
    let before = begun(desk);
    let mut child = Command::new(env!("CARGO_BIN_EXE_rembrandt"))
        .args(["train", "train.txt", "--head", "ls", "-k", "9", "-q", "-o", "m.model"])
        .current_dir(desk.path("."))
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    match moment {
        Moment::After(time) => std::thread::sleep(time),
        Moment::Writing => while child.try_wait().unwrap().is_none() && begun(desk) == before {},
    }
    child.kill().unwrap();
    child.wait().unwrap().success()
}

#[test]
fn the_model_is_the_old_one_or_the_new_one() {
    let desk = Desk::new();
    // Many features make a model large enough to be caught while it is written.
    desk.write("train.txt", xmc().replacen("300 60 20", "300 30000 20", 1));
    desk.ok("train train.txt --head ls -k 8 -o m.model");
    let old = desk.read("m.model");
    let began = Instant::now();
    desk.ok("train train.txt --head ls -k 9 -q -o new.model");
    let whole = began.elapsed();
    let new = desk.read("new.model");
    assert_ne!(old, new);
    std::fs::remove_file(desk.path("new.model")).unwrap();

    let mut interrupted = 0;
    for moment in moments(whole) {
        let done = train_and_kill(&desk, moment);
        interrupted += u32::from(!done);
        let found = desk.read("m.model");
        assert!(found == old || found == new, "{moment:?}: the model is neither the old one nor the new one");
        assert!(!done || found == new, "{moment:?}: a training that was done has not replaced the model");
        assert_eq!(desk.json("inspect m.model --json")["k"], if found == old { 8 } else { 9 });
        desk.write("m.model", &old);
    }
    println!("{interrupted} trainings were interrupted, {} of them while writing", begun(&desk).len());
    assert!(interrupted > 0);

    // Fresh temporary files may belong to a run that is still alive; those of long ago are removed by the next run.
    desk.write(".m.model.tmpAbC123", "a killed run");
    let long_ago = SystemTime::now() - Duration::from_secs(3600);
    for name in desk.files() {
        assert!(temporary(&name) || ["m.model", "train.txt"].contains(&name.as_str()), "{name} was left behind");
        if temporary(&name) {
            File::options().write(true).open(desk.path(&name)).unwrap().set_modified(long_ago).unwrap();
        }
    }
    desk.ok("train train.txt --head ls -k 9 -o m.model");
    assert_eq!(desk.files(), ["m.model", "train.txt"]);
    assert!(desk.read("m.model") == new);
}

/// Kills of each command.
const KILLS: u32 = 25;

#[test]
fn other_commands_leave_the_old_file_or_the_new_one() {
    let desk = Desk::with_data();
    desk.ok("train train.txt --head ls -k 8 -o m.model");
    desk.write("few.txt", " 0:1 1:1\n 1:2 2:1\n");
    desk.write("wide.txt", xmc().lines().skip(1).map(|line| format!("{line}\n")).collect::<String>().repeat(60));
    let before = desk.files();
    let mut state = 1u64;
    for line in [
        "convert wide.txt -q -o out",
        "predict m.model wide.txt -q -o out",
        "add-label m.model few.txt --name new -q -o out",
    ] {
        let began = Instant::now();
        desk.ok(line);
        let (whole, new) = (began.elapsed(), desk.read("out"));
        let mut interrupted = 0;
        for _ in 0..KILLS {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            desk.write("out", "old");
            let mut child = Command::new(env!("CARGO_BIN_EXE_rembrandt"))
                .args(line.split(' '))
                .current_dir(desk.path("."))
                .stdin(Stdio::null())
                .spawn()
                .unwrap();
            std::thread::sleep(whole.mul_f64((state >> 40) as f64 / f64::from(1 << 24)));
            child.kill().unwrap();
            interrupted += u32::from(!child.wait().unwrap().success());
            let found = desk.read("out");
            assert!(found == b"old" || found == new, "{line}: the file is neither the old one nor the new one");
        }
        assert!(interrupted > 0, "{line}: none of {KILLS} was interrupted");
        for name in desk.files().iter().filter(|name| name.starts_with(".out.tmp")) {
            std::fs::remove_file(desk.path(name)).unwrap();
        }
        std::fs::remove_file(desk.path("out")).unwrap();
        assert_eq!(desk.files(), before, "{line} left something behind");
    }
}

#[cfg(unix)]
#[test]
fn a_command_that_is_told_to_end_leaves_nothing() {
    use std::io::Write;
    use std::os::unix::process::ExitStatusExt;

    let desk = Desk::new();
    for (name, number) in [("INT", 2), ("TERM", 15)] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_rembrandt"))
            .args(["convert", "-", "-q", "-o", "out.rmb"])
            .current_dir(desk.path("."))
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        // The file is begun before the first line is read, and waits for more lines.
        let mut input = child.stdin.take().unwrap();
        input.write_all(b"0 1:1\n").unwrap();
        while desk.files().is_empty() {
            assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
            std::thread::sleep(Duration::from_millis(5));
        }
        let told = Command::new("kill").args(["-s", name, &child.id().to_string()]).status().unwrap();
        assert!(told.success());
        assert_eq!(child.wait().unwrap().signal(), Some(number), "{name}");
        assert_eq!(desk.files(), Vec::<String>::new(), "{name}");
        drop(input);
    }
}
