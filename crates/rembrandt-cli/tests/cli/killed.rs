//! A training that is killed at any moment leaves the model that was there.

use std::fs::File;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use crate::common::{Desk, xmc};

/// Moments of a whole training at which it is killed, more of them near its end, where the file is written.
const MOMENTS: u32 = 12;
const MOMENTS_NEAR_THE_END: u32 = 12;

/// What a killed run may leave beside the model: a temporary file that the next run removes once it is old.
fn temporary(name: &str) -> bool {
    name.strip_prefix(".m.rmb.tmp").is_some_and(|unique| unique.len() == 6)
}

#[test]
fn the_model_is_the_old_one_or_the_new_one() {
    let desk = Desk::new();
    // Many features make a model large enough to be caught while it is written.
    desk.write("train.txt", xmc().replacen("300 60 20", "300 60000 20", 1));
    desk.ok("train train.txt --no-tune -k 8 -o m.rmb");
    let old = desk.read("m.rmb");
    let began = Instant::now();
    desk.ok("train train.txt --no-tune -k 9 -q -o new.rmb");
    let whole = began.elapsed();
    let new = desk.read("new.rmb");
    assert_ne!(old, new);
    std::fs::remove_file(desk.path("new.rmb")).unwrap();

    let early = (0..MOMENTS).map(|i| whole * i / MOMENTS);
    let late = (0..MOMENTS_NEAR_THE_END).map(|i| whole * 4 / 5 + whole * i / (3 * MOMENTS_NEAR_THE_END));
    let mut interrupted = 0;
    for moment in early.chain(late) {
        let mut child = Command::new(env!("CARGO_BIN_EXE_rembrandt"))
            .args(["train", "train.txt", "--no-tune", "-k", "9", "-q", "-o", "m.rmb"])
            .current_dir(desk.path("."))
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(moment);
        child.kill().unwrap();
        let finished = child.wait().unwrap().success();
        interrupted += u32::from(!finished);
        let found = desk.read("m.rmb");
        assert!(found == old || found == new, "after {moment:?} the model is neither the old one nor the new one");
        assert!(!finished || found == new, "after {moment:?} a finished training has not replaced the model");
        let json = desk.json("inspect m.rmb --json");
        assert_eq!(json["k"], if found == old { 8 } else { 9 });
        desk.write("m.rmb", &old);
    }
    assert!(interrupted >= MOMENTS / 2, "only {interrupted} trainings were interrupted");

    // Fresh temporary files may belong to a run that is still alive; those of long ago are removed by the next run.
    desk.write(".m.rmb.tmpAbC123", "a killed run");
    let long_ago = SystemTime::now() - Duration::from_secs(3600);
    for name in desk.files() {
        assert!(temporary(&name) || ["m.rmb", "train.txt"].contains(&name.as_str()), "{name} was left behind");
        if temporary(&name) {
            File::options().write(true).open(desk.path(&name)).unwrap().set_modified(long_ago).unwrap();
        }
    }
    desk.ok("train train.txt --no-tune -k 9 -o m.rmb");
    assert_eq!(desk.files(), ["m.rmb", "train.txt"]);
    assert!(desk.read("m.rmb") == new);
}
