//! `rembrandt embed` end to end.

use safetensors::SafeTensors;

use crate::common::{C, D, Desk, N, gz, program, xmc, zst};

#[test]
fn json_has_every_key() {
    let desk = Desk::with_data();
    let json = desk.json("embed train.txt -k 5 -o out.safetensors --json --quiet --seed 3 --passes 2");
    for key in [
        "n",
        "d",
        "c",
        "nnz",
        "k",
        "passes",
        "cg_steps",
        "ridge",
        "rho",
        "half_passes",
        "energy",
        "trace_estimate",
        "energy_fraction",
        "max_residual",
        "seconds",
        "memory_estimate_mb",
        "peak_memory_mb",
        "seed",
        "solver",
        "rank",
        "output",
    ] {
        assert!(!json[key].is_null(), "{key} in {json}");
    }
    for key in ["read", "embed", "projection", "total"] {
        assert!(json["seconds"][key].as_f64().unwrap() >= 0.0, "{key} in {json}");
    }
    assert_eq!((json["n"].as_u64(), json["d"].as_u64()), (Some(N as u64), Some(D as u64)));
    assert_eq!((json["c"].as_u64(), json["k"].as_u64()), (Some(C as u64), Some(5)));
    assert_eq!((json["seed"].as_u64(), json["passes"].as_u64()), (Some(3), Some(2)));
    let nnz = xmc().lines().skip(1).map(|line| line.matches(':').count()).sum::<usize>();
    assert_eq!(json["nnz"].as_u64(), Some(nnz as u64));
}

#[test]
fn the_file_is_safetensors() {
    let desk = Desk::with_data();
    desk.ok("embed train.txt -k 5 -o out.safetensors");
    let bytes = desk.read("out.safetensors");
    let tensors = SafeTensors::deserialize(&bytes).unwrap();
    for (name, shape) in
        [("labels", vec![C, 5]), ("projection", vec![D, 5]), ("intercept", vec![5]), ("spectrum", vec![5])]
    {
        assert_eq!(tensors.tensor(name).unwrap().shape(), shape, "{name}");
    }
    let numbers = |name: &str| -> Vec<f64> {
        let data = tensors.tensor(name).unwrap().data();
        data.chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().unwrap())).collect()
    };
    let (spectrum, roots) = (numbers("spectrum"), numbers("singular_values"));
    assert!(spectrum.windows(2).all(|pair| pair[0] >= pair[1]) && spectrum[4] > 0.0, "{spectrum:?}");
    assert!(spectrum.iter().zip(&roots).all(|(v, r)| v.sqrt() == *r));
}

#[test]
fn output_says_what_was_done_unless_quiet() {
    let desk = Desk::with_data();
    let loud = desk.ok("embed train.txt -k 5 -o out.safetensors");
    for part in ["300 examples", "60 features", "20 labels", "5 dimensions", "out.safetensors"] {
        assert!(loud.stdout.contains(part), "{part:?} is not in {}", loud.stdout);
    }
    // Work that is over in a moment is not announced, only what it takes.
    assert!(loud.stderr.starts_with("note: about ") && loud.stderr.contains("B of memory"), "{}", loud.stderr);
    assert_eq!(loud.stderr.lines().count(), 1, "{}", loud.stderr);
    let quiet = desk.ok("embed train.txt -k 5 -o out.safetensors --quiet");
    assert_eq!((quiet.stdout.as_str(), quiet.stderr.as_str()), ("", ""));
}

#[test]
fn nothing_but_the_result_is_left() {
    let desk = Desk::with_data();
    desk.ok("embed train.txt -k 5 -o out.safetensors");
    desk.ok("embed train.txt -k 6 -o out.safetensors");
    assert_eq!(desk.files(), ["out.safetensors", "train.txt"]);
    assert_eq!(desk.json("inspect out.safetensors --json")["k"].as_u64(), Some(6));
}

#[test]
fn presets_and_every_option_work() {
    let desk = Desk::with_data();
    let json = desk.json("embed train.txt --preset aloi -k 5 -o out --json");
    assert_eq!((json["k"].as_u64(), json["cg_steps"].as_u64()), (Some(5), Some(100)));
    desk.ok("embed train.txt --preset mulan -k 5 --passes 1 -o out");
    desk.ok("embed train.txt --preset lshtc -k 5 --ridge 1 --bias=false -o out");
    for options in [
        "--solver direct",
        "--solver iterative --preconditioner none --cg-steps 30 --tolerance 1e-6",
        "--bias --center --ridge-convention authors",
        "--projection-ridge 0.1 --projection-steps 20 --projection-tolerance 1e-5",
        "--oversample 0 --passes 3",
        "--random-fraction 0.5",
        "--random-fraction 1",
    ] {
        let json = desk.json(&format!("embed train.txt -k 5 -o out --json {options}"));
        let fraction = json["energy_fraction"].as_f64().unwrap();
        assert!(fraction > 0.1 && fraction < 2.0, "{options}: {fraction}");
    }
}

#[test]
fn a_preset_has_no_more_dimensions_than_there_are_labels() {
    let desk = Desk::with_data();
    for preset in ["aloi", "lshtc"] {
        let outcome = desk.ok(&format!("embed train.txt --preset {preset} -o out"));
        assert!(outcome.stderr.contains("is cut to the 20 labels"), "{}", outcome.stderr);
        assert_eq!(desk.json("inspect out --json")["k"].as_u64(), Some(C as u64));
    }
    assert!(desk.refused("embed train.txt --preset mulan -k 100 -o new").contains("-k: "));
}

#[test]
fn the_mulan_preset_chooses_its_dimension_from_the_labels() {
    let desk = Desk::new();
    // Labels 0 and 1 always together, 2·40 of 100; then 2 and 3 with 15 and 5: two dimensions hold 95 %, one 80 %.
    let rows = [("0,1", 40), ("2", 15), ("3", 5)].map(|(labels, times)| format!("{labels} 0:1 1:0.5\n").repeat(times));
    desk.write("train.txt", format!("60 2 6\n{}", rows.concat()));
    let outcome = desk.ok("embed train.txt --preset mulan -o out --json");
    let note = "note: k is 2: 2 dimensions hold more than 90% of the energy of the labels\n";
    assert!(outcome.stderr.contains(note), "{}", outcome.stderr);
    assert!(outcome.stdout.contains("\"k\":2,"), "{}", outcome.stdout);
    assert_eq!(desk.json("inspect out --json")["k"].as_u64(), Some(2));
    // Values that are given are taken, and other presets have a k of their own.
    let outcome = desk.ok("embed train.txt --preset mulan -k 3 -o out --json");
    assert!(outcome.stdout.contains("\"k\":3,") && !outcome.stderr.contains("note: k is"), "{}", outcome.stderr);
    assert_eq!(desk.json("embed train.txt --preset aloi -o out --json")["k"].as_u64(), Some(6));
    desk.write("many.txt", "2 3 9000\n0 0:1\n8999 1:1\n");
    let refusal = desk.refused("embed many.txt --preset mulan -o new");
    assert!(refusal.starts_with("error: -k: cannot be chosen by the energy of 9000 labels"), "{refusal}");
    let refusal = desk.refused("embed many.txt --preset mulan --max-memory 100M -o new");
    assert!(refusal.starts_with("error: -k: choosing it by the energy of 9000 labels needs 1.2"), "{refusal}");
    desk.ok("embed many.txt --preset mulan -k 2 -o new");
}

#[test]
fn rows_are_divided_as_asked_and_the_file_says_so() {
    let desk = Desk::with_data();
    // The same rows, divided beforehand: counts become frequencies.
    let mut divided = String::new();
    for (i, line) in xmc().lines().enumerate() {
        let (labels, features) = line.split_once(' ').unwrap();
        let numbers: Vec<(&str, f64)> =
            features.split(' ').filter_map(|f| f.split_once(':')).map(|(id, v)| (id, v.parse().unwrap())).collect();
        let sum: f64 = numbers.iter().map(|(_, v)| v).sum();
        let numbers: Vec<String> = numbers.iter().map(|(id, v)| format!("{id}:{}", v / sum)).collect();
        divided += &if i == 0 { format!("{line}\n") } else { format!("{labels} {}\n", numbers.join(" ")) };
    }
    desk.write("divided.txt", divided);
    let number = |json: &serde_json::Value, key: &str| json[key].as_f64().unwrap();
    let options = "-k 5 --passes 6 --cg-steps 100 --json";
    let plain = desk.json(&format!("embed train.txt {options} -o plain"));
    let asked = desk.json(&format!("embed train.txt {options} -o asked --scale-rows sum"));
    let before = desk.json(&format!("embed divided.txt {options} -o before"));
    assert_eq!((&plain["scale_rows"], &asked["scale_rows"]), (&"none".into(), &"sum".into()));
    for key in ["energy", "rho"] {
        assert!((number(&asked, key) / number(&before, key) - 1.0).abs() < 1e-4, "{key}: {asked} {before}");
        assert!((number(&plain, key) / number(&before, key) - 1.0).abs() > 1e-2, "{key}: {plain} {before}");
    }
    assert_eq!(desk.json("inspect asked --json")["scale_rows"], "sum");
    assert!(desk.ok("inspect asked").stdout.contains("divided by their sum"));
    assert!(desk.ok("inspect plain").stdout.contains("as they are"));
    desk.ok("neighbors asked 3");
    // From a cache, and for any number of threads, the same bytes.
    desk.ok("convert train.txt -o train.rmb");
    desk.ok(&format!("embed train.rmb {options} -o cached --scale-rows sum --threads 1"));
    assert_eq!(desk.read("cached"), desk.read("asked"));

    let outcome = desk.ok("embed train.txt --preset lshtc -k 5 -o preset");
    assert!(outcome.stderr.contains("note: the preset has rows divided by their sum"), "{}", outcome.stderr);
    assert_eq!(desk.json("inspect preset --json")["scale_rows"], "sum");
    let outcome = desk.ok("embed train.txt --preset lshtc -k 5 -o preset --scale-rows none");
    assert!(!outcome.stderr.contains("divided"), "{}", outcome.stderr);
    assert_eq!(desk.json("inspect preset --json")["scale_rows"], "none");
    desk.write("small.txt", "2 3 3\n0 0:1\n1 1:1e-30\n");
    let refusal = desk.refused("embed small.txt -k 2 --scale-rows length -o new");
    assert!(refusal.starts_with("error: example 2 has a size of 1.00e-30, too small"), "{refusal}");
}

/// A name that is not UTF-8 used to end in a panic with `--json`.
#[cfg(target_os = "linux")]
#[test]
fn names_of_files_need_not_be_text() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let desk = Desk::with_data();
    let name = OsStr::from_bytes(b"out\xff");
    for command in ["embed train.txt -k 5 --export npy", "convert train.txt"] {
        let line = command.split_whitespace();
        let output = program(&desk.path(".")).args(line).args(["--json", "-o"]).arg(name).output().unwrap();
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(json["output"], "out\u{fffd}");
        assert!(desk.path(".").join(name).is_file());
    }
}

#[test]
fn standard_input_and_packed_files() {
    let desk = Desk::with_data();
    desk.ok("embed train.txt -k 5 -o plain");
    desk.write("train.gz", gz(xmc().as_bytes()));
    desk.write("packed", zst(xmc().as_bytes()));
    desk.ok("embed train.gz -k 5 -o gz");
    desk.ok("embed packed -k 5 -o zst");
    for input in [xmc().into_bytes(), zst(xmc().as_bytes())] {
        let outcome = desk.run_with_input("embed - -k 5 -o piped", input);
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        assert_eq!(desk.read("piped"), desk.read("plain"));
    }
    assert_eq!(desk.read("gz"), desk.read("plain"));
    assert_eq!(desk.read("zst"), desk.read("plain"));
    desk.run_with_input("embed - -k 5 -o none", Vec::new()).assert_refused("empty standard input");
}

#[test]
fn data_without_signal_are_embedded_all_the_same() {
    let desk = Desk::new();
    desk.write("train.txt", "4 3 3\n0 0:1\n0 0:1\n 1:1\n0 \n");
    let json = desk.json("embed train.txt -k 2 -o out --json");
    assert_eq!(json["rank"].as_u64(), Some(1));
    assert_eq!(desk.json("inspect out --json")["report"]["rank"].as_u64(), Some(1));
    // No example has both a label and a feature, none has a label, none has a feature.
    for rows in ["0 \n 1:1\n", " 0:1\n 1:1\n", "0 \n1 \n"] {
        desk.write("train.txt", format!("2 3 3\n{rows}"));
        desk.ok("convert train.txt -o train.rmb");
        assert_eq!(desk.json("inspect train.rmb --json --verify")["n"].as_u64(), Some(2));
        for train in ["train.txt", "train.rmb"] {
            let json = desk.json(&format!("embed {train} -k 2 -o out --json"));
            assert_eq!((json["rank"].as_u64(), json["energy"].as_f64()), (Some(0), Some(0.0)), "{rows:?}");
            assert_eq!(desk.json("inspect out --json")["report"]["rank"].as_u64(), Some(0));
            assert!(desk.refused("neighbors out 0").contains("no direction"));
        }
    }
}

#[test]
fn help_and_version() {
    let desk = Desk::new();
    assert_eq!(desk.ok("--version").stdout, concat!("rembrandt ", env!("CARGO_PKG_VERSION"), "\n"));
    for command in ["embed", "convert", "inspect", "neighbors"] {
        let help = desk.ok(&format!("{command} --help")).stdout;
        let first = format!(":\n  rembrandt {command} ");
        assert!(["Example", "Examples"].iter().any(|word| help.contains(&format!("{word}{first}"))), "{help}");
    }
}

#[cfg(unix)]
#[test]
fn a_reader_that_goes_away_is_no_failure() {
    use std::process::{Command, Stdio};
    let desk = Desk::with_data();
    let mut child = Command::new(env!("CARGO_BIN_EXE_rembrandt"))
        .args(["inspect", "--json"])
        .arg(desk.path("train.txt"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert!(output.status.success());
}
