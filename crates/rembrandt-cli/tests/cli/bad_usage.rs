//! Options and places that cannot be right: refused before any work.

use crate::common::Desk;

#[test]
fn parameters_are_named_as_typed() {
    let desk = Desk::with_data();
    let cases = [
        ("-k 0", "-k: "),
        ("-k 21", "-k: "),
        ("--ridge -1", "--ridge: "),
        ("--ridge nan", "--ridge: "),
        ("--projection-ridge inf", "--projection-ridge: "),
        ("--tolerance -1", "--tolerance: "),
        ("--cg-steps 0", "--cg-steps: "),
        ("--panel 0", "--panel: "),
    ];
    for (options, part) in cases {
        let k = if options.starts_with("-k") { "" } else { "-k 5" };
        let sentence = desk.refused(&format!("embed train.txt {k} {options} -o out"));
        assert!(sentence.contains(part), "{sentence}");
    }
    // Options that no data could make right are refused without reading any.
    assert!(desk.refused("embed missing.txt -k 0 -o out").contains("-k: "));
}

#[test]
fn options_that_clap_refuses() {
    let desk = Desk::with_data();
    for options in [
        "--threads 0",
        "--threads 1025",
        "--max-memory 4X",
        "--export png",
        "--solver fast",
        "--preset odp",
        "-k x",
        "--bogus",
    ] {
        let outcome = desk.run(&format!("embed train.txt -o out {options}"));
        assert_eq!(outcome.code, 2, "{options}");
        assert!(outcome.stderr.starts_with("error: "), "{}", outcome.stderr);
    }
    assert_eq!(desk.run("embed train.txt").code, 2);
    assert_eq!(desk.run("").code, 2);
    assert_eq!(desk.files(), ["train.txt"]);
}

#[test]
fn places_that_cannot_be_written() {
    let desk = Desk::with_data();
    std::fs::create_dir(desk.path("dir")).unwrap();
    let cases = [
        ("no/out", "does not exist"),
        ("dir", "is a directory"),
        ("train.txt", "is also an input"),
        ("./train.txt", "input"),
    ];
    for (output, part) in cases {
        for command in ["embed train.txt -k 2", "convert train.txt"] {
            let sentence = desk.refused(&format!("{command} -o {output}"));
            assert!(sentence.contains(part), "{sentence}");
        }
    }
    // Also when the data could not be read: the place is looked at first.
    assert!(desk.refused("embed missing.txt -k 2 -o no/out").contains("does not exist"));
    desk.write("out.vectors.tsv", desk.read("train.txt"));
    assert!(desk.refused("embed out.vectors.tsv -k 2 -o out --export tsv").contains("is also an input"));
}

/// Files that were found unasked must not be overwritten unasked.
#[test]
fn side_files_are_not_for_results() {
    let desk = Desk::with_data();
    std::fs::create_dir(desk.path("dir")).unwrap();
    desk.write("labels.txt", "a\n");
    for name in ["labels.txt", "labels.txt.gz", "features.txt", "./features.txt.zst", "dir/../labels.txt.zst"] {
        for command in ["embed train.txt -k 2", "embed ./train.txt -k 2", "convert train.txt"] {
            let sentence = desk.refused(&format!("{command} -o {name}"));
            assert!(sentence.contains("write to another file"), "{sentence}");
        }
    }
    assert_eq!(desk.text("labels.txt"), "a\n");
    desk.ok("embed train.txt -k 2 -o dir/labels.txt");
}

#[test]
fn results_do_not_go_to_standard_output() {
    let desk = Desk::with_data();
    for command in ["embed train.txt -k 2", "convert train.txt"] {
        let sentence = desk.refused(&format!("{command} -o -"));
        assert!(sentence.starts_with("error: --output: results are files"), "{sentence}");
    }
}

#[test]
fn options_for_text_on_files_that_are_not() {
    let desk = Desk::with_data();
    desk.ok("convert train.txt -o train.rmb");
    desk.ok("embed train.rmb -k 2 -o out.safetensors");
    for line in ["embed train.rmb -k 2 -o out --ids words", "inspect train.rmb --input-format xmc"] {
        assert!(desk.refused(line).contains("a cache file is not"));
    }
    assert!(desk.refused("inspect out.safetensors --input-format xmc").contains("--input-format: "));
    assert!(desk.refused("convert train.rmb -o other.rmb").contains("is a cache file already"));
}

#[test]
fn more_memory_than_allowed() {
    let desk = Desk::with_data();
    desk.ok("convert train.txt -o train.rmb");
    for (train, part) in [("train.txt", "rembrandt convert"), ("train.rmb", "smaller -k")] {
        let sentence = desk.refused(&format!("embed {train} -k 5 -o out --max-memory 1K"));
        assert!(sentence.contains(part) && sentence.contains("--max-memory"), "{sentence}");
    }
    // The data are next to nothing here, so a cache file would not help.
    let sentence = desk.refused("embed train.txt -k 5 -o out --max-memory 25MiB");
    assert!(sentence.contains("to work)") && !sentence.contains("rembrandt convert"), "{sentence}");
    desk.ok("embed train.txt -k 5 -o out --max-memory 1G");
}

/// Fewer columns solved together take less memory, and end in the same bytes.
#[test]
fn scarce_memory_narrows_panels() {
    let desk = Desk::new();
    let rows = (0..60).map(|i| format!("{} {}:1 {}:2\n", i % 50, i * 1500, i * 1500 + 7));
    desk.write("wide.txt", format!("60 100000 50\n{}", rows.collect::<String>()));
    let line = "embed wide.txt -k 48 --solver few-pass -o";
    desk.ok(&format!("{line} free --max-memory 1G"));
    let tight = desk.ok(&format!("{line} tight --max-memory 90MiB")).stderr;
    assert!(desk.read("free") == desk.read("tight"));
    assert!(tight.contains("at a time"), "{tight}");
    let sentence = desk.refused(&format!("{line} wide --panel 64 --max-memory 90MiB"));
    assert!(sentence.contains("leave out --panel"), "{sentence}");
    // No width would be narrow enough.
    let sentence = desk.refused(&format!("{line} wide --max-memory 40MiB"));
    assert!(!sentence.contains("panel"), "{sentence}");
    desk.ok("train wide.txt -k 48 --head ls -o free.model");
    desk.ok("train wide.txt -k 48 --head ls -o tight.model --max-memory 90MiB");
    assert!(desk.read("free.model") == desk.read("tight.model"));
}

/// A limit on the size of files stands for a full disk: a surprise, not the user's mistake.
#[cfg(unix)]
#[test]
fn a_full_disk_leaves_the_old_result_and_no_debris() {
    let desk = Desk::with_data();
    desk.write("out", "old");
    for command in ["embed train.txt -k 5 -o out -q", "convert train.txt -o out -q"] {
        let script = format!("trap '' XFSZ; ulimit -f 1; exec \"$0\" {command}");
        let output = std::process::Command::new("sh")
            .args(["-c", &script, env!("CARGO_BIN_EXE_rembrandt")])
            .current_dir(desk.path("."))
            .output()
            .unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{command}: {stderr}");
        assert!(stderr.starts_with("error: out: ") && stderr.lines().count() == 1, "{stderr}");
        assert_eq!(desk.read("out"), b"old");
        assert_eq!(desk.files(), ["out", "train.txt"]);
    }
}
