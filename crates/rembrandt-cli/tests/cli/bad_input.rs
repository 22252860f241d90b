//! Data that cannot be used: refused in one sentence that names the place, and nothing is written.

use crate::common::{Desk, gz, xmc, zst};

/// Embeds and converts `content`; both must refuse it with a sentence that contains each of `parts`.
fn refused(content: impl AsRef<[u8]>, parts: &[&str]) {
    let desk = Desk::new();
    desk.write("bad.txt", content);
    for line in
        ["embed bad.txt -k 1 -o out.safetensors", "convert bad.txt -o out.rmb", "embed bad.txt -k 1 -o out --threads 1"]
    {
        let sentence = desk.refused(line);
        for part in parts.iter().chain(&["bad.txt"]) {
            assert!(sentence.contains(part), "{line}: {part:?} is not in {sentence:?}");
        }
    }
    desk.refused("inspect bad.txt");
}

#[test]
fn ids_beyond_the_header() {
    refused("2 3 2\n0 0:1\n1 3:1\n", &["bad.txt:3:", "3"]);
    refused("2 3 2\n0 0:1\n2 1:1\n", &["bad.txt:3:", "2"]);
}

#[test]
fn ids_that_are_no_ids() {
    refused("2 3 2\n0 0:1\n1 -1:1\n", &["bad.txt:3:", "-1"]);
    refused("2 3 2\n0 0:1\n1 99999999999999999999:1\n", &["bad.txt:3:"]);
}

#[test]
fn more_examples_than_announced() {
    refused("1 3 2\n0 0:1\n1 1:1\n", &["1"]);
}

#[test]
fn missing_colon() {
    refused("2 3 2\n0 0:1\n1 1\n", &["bad.txt:3:", "colon"]);
}

#[test]
fn values_that_are_not_finite_numbers() {
    for value in ["nan", "inf", "-inf", "1e39", "-1e400", "1x", "", "0x10"] {
        refused(format!("2 3 2\n0 0:1\n1 1:{value}\n"), &["bad.txt:3:"]);
    }
}

#[test]
fn duplicate_ids() {
    refused("2 3 2\n0 0:1\n1 1:1 1:2\n", &["bad.txt:3:", "1"]);
    refused("2 3 2\n0 0:1\n1,1 1:1\n", &["bad.txt:3:", "1"]);
}

#[test]
fn truncated_compressed_files() {
    let text = xmc();
    for packed in [gz(text.as_bytes()), zst(text.as_bytes())] {
        for keep in [packed.len() / 2, packed.len() - 1, 12] {
            refused(&packed[..keep], &[]);
        }
    }
}

#[test]
fn nothing_to_work_on() {
    refused("", &[]);
    refused(gz(b""), &[]);
    let desk = Desk::new();
    for (text, part) in [("0 3 2\n", "no examples"), ("1 0 2\n0 \n", "no features"), ("1 3 0\n 0:1\n", "no labels")] {
        desk.write("train.txt", text);
        let sentence = desk.refused("embed train.txt -k 1 -o out");
        assert!(sentence.contains(part), "{sentence}");
    }
}

#[test]
fn binary_junk() {
    refused([0u8, 159, 146, 150, 0, 1, 2, 3, 255, 254, b'\n'].repeat(100), &[]);
    refused([0xff, 0xfe, b'1', 0, b' ', 0], &[]);
}

#[test]
fn no_file_or_no_regular_file() {
    let desk = Desk::new();
    std::fs::create_dir(desk.path("dir")).unwrap();
    for (name, part) in [("missing.txt", "missing.txt"), ("dir", "directory")] {
        for line in ["embed NAME -k 1 -o out", "convert NAME -o out", "inspect NAME", "neighbors NAME 1"] {
            let sentence = desk.refused(&line.replace("NAME", name));
            assert!(sentence.contains(part), "{sentence}");
        }
    }
}

#[test]
fn names_that_do_not_fit() {
    let desk = Desk::with_data();
    desk.write("names.txt", "one\ntwo\n");
    for side in ["label", "feature"] {
        let sentence = desk.refused(&format!("embed train.txt -k 2 -o out --{side}-names names.txt"));
        assert!(sentence.contains("names.txt"), "{sentence}");
        desk.refused(&format!("embed train.txt -k 2 -o out --{side}-names missing.txt"));
    }
}

#[test]
fn damaged_cache_files() {
    let desk = Desk::with_data();
    desk.ok("convert train.txt -o train.rmb");
    let bytes = desk.read("train.rmb");
    desk.write("cut.rmb", &bytes[..bytes.len() - 9]);
    for line in ["embed cut.rmb -k 2 -o out", "inspect cut.rmb --verify"] {
        assert!(desk.refused(line).contains("cut.rmb"));
    }
    let mut changed = bytes.clone();
    let middle = changed.len() / 2;
    changed[middle] ^= 0x10;
    desk.write("changed.rmb", &changed);
    assert!(desk.refused("inspect changed.rmb --verify").contains("changed.rmb"));
}

#[test]
fn foreign_or_damaged_embedding_files() {
    let desk = Desk::with_data();
    assert!(desk.refused("neighbors train.txt 1").contains("is not an embedding file"));
    desk.ok("embed train.txt -k 2 -o out.safetensors");
    let bytes = desk.read("out.safetensors");
    desk.write("cut.safetensors", &bytes[..bytes.len() - 1]);
    for line in ["neighbors cut.safetensors 1", "inspect cut.safetensors"] {
        assert!(desk.refused(line).contains("cut short"));
    }
    // An embedding is not training data.
    desk.refused("embed out.safetensors -k 2 -o other");
}

#[test]
fn a_failed_run_keeps_the_old_result() {
    let desk = Desk::with_data();
    desk.write("bad.txt", "2 3 2\n0 0:1\n1 1\n");
    desk.write("out", "old");
    desk.refused("embed bad.txt -k 1 -o out");
    desk.refused("convert bad.txt -o out");
    desk.refused("embed train.txt -k 21 -o out");
    assert_eq!(desk.read("out"), b"old");
}
