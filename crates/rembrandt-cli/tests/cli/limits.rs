//! Under a limit on the address space, which stands for a machine with little memory.

use std::process::{Command, Output};

use crate::common::Desk;

/// Runs `rembrandt` with the words of `line` under a limit in KiB, or says why not and returns nothing.
fn limited(desk: &Desk, kibibytes: u64, line: &str) -> Option<Output> {
    let shell = |script: &str| {
        let mut command = Command::new("sh");
        // Every arena of the allocator reserves address space that it may never use.
        command.args(["-c", script, env!("CARGO_BIN_EXE_rembrandt")]).env("MALLOC_ARENA_MAX", "1");
        command.current_dir(desk.path("."));
        command.output()
    };
    let limit = format!("ulimit -v {kibibytes}");
    if !shell(&limit).is_ok_and(|output| output.status.success()) {
        println!("skipped: there is no sh, or it cannot limit the address space");
        return None;
    }
    Some(shell(&format!("{limit}; exec \"$0\" {line}")).unwrap())
}

/// Examples with 15 of 3000 features each, the same few thousand of them over and over.
fn large(repeats: usize) -> String {
    const ROWS: usize = 4096;
    let mut block = String::new();
    for row in 0..ROWS {
        block.push_str(&(row % 40).to_string());
        for j in 0..15 {
            // One feature out of every 200, so that ids ascend.
            let id = 200 * j + (row * (2 * j + 1) + row / 40) % 200;
            block.push_str(&format!(" {id}:{}", 1 + (row + j) % 9));
        }
        block.push('\n');
    }
    let mut text = format!("{} 3000 40\n", ROWS * repeats);
    text.reserve(block.len() * repeats);
    (0..repeats).for_each(|_| text.push_str(&block));
    text
}

#[test]
fn data_larger_than_memory_are_embedded_to_the_same_bytes() {
    let desk = Desk::new();
    desk.write("train.txt", large(200));
    desk.ok("convert train.txt -o train.rmb --quiet");
    let size = desk.path("train.rmb").metadata().unwrap().len();
    assert!(size > 170_000_000, "{size}");
    let half = size / 1024 / 2;
    let line = "embed train.rmb -k 4 --oversample 4 --panel 8 --passes 1 --cg-steps 2 --threads 2 --quiet -o tight";
    // Writing down the products of 3000 features would take more than that.
    let Some(output) = limited(&desk, half, line) else { return };
    let sentence = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && sentence.contains("use --solver few-pass"), "{sentence}");
    let line = format!("{line} --solver few-pass");
    let Some(output) = limited(&desk, half, &line) else { return };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    desk.ok(&line.replace("tight", "free"));
    assert!(desk.read("free") == desk.read("tight"));
}

#[test]
fn work_that_does_not_fit_is_refused() {
    let desk = Desk::with_data();
    // A header may promise any number of columns.
    desk.write("wide.txt", "1 4000000000 3\n0 1:1\n");
    let cases = [("embed train.txt -k 5 -o out", 40_000), ("inspect wide.txt", 1_000_000)];
    for (line, kibibytes) in cases {
        let Some(output) = limited(&desk, kibibytes, &format!("{line} --threads 1")) else { return };
        let sentence = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{line}: {sentence}");
        assert!(sentence.contains("of memory") && sentence.contains("ulimit -v"), "{line}: {sentence}");
        assert_eq!(sentence.lines().count(), 1, "{sentence}");
    }
}
