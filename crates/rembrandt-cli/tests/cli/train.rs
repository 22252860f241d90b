//! `rembrandt train` on sparse rows.

use serde_json::{Value, json};

use crate::common::{C, Desk, N, jsonl, objects, predicted, texts, xmc};

/// The lines of the data from one to another, as a file of their own.
fn lines_of_data(from: usize, to: usize) -> String {
    let lines: Vec<String> = xmc().lines().skip(1 + from).take(to - from).map(|line| format!("{line}\n")).collect();
    format!("{} 60 20\n{}", lines.len(), lines.concat())
}

#[test]
fn examples_for_validation_are_held_out_and_no_others() {
    let desk = Desk::with_data();
    desk.write("a.txt", lines_of_data(0, 240));
    desk.write("b.txt", lines_of_data(240, 300));
    let told = desk.json("train a.txt --validation b.txt -o m.model --json");
    assert_eq!((&told["n"], &told["held_out"]["examples"]), (&Value::from(300), &Value::from(60)));
    assert!(told["held_out"]["p@1"].as_f64() > Some(0.6), "{told}");
    // Labels that validation has at random judge the same features as bad.
    let text = lines_of_data(240, 300);
    let labels: Vec<&str> = text.lines().skip(1).map(|line| line.split(' ').next().unwrap()).collect();
    let moved = |(i, line): (usize, &str)| format!("{} {}\n", labels[(i + 7) % 60], line.split_once(' ').unwrap().1);
    desk.write("moved.txt", format!("60 60 20\n{}", text.lines().skip(1).enumerate().map(moved).collect::<String>()));
    let bad = desk.json("train a.txt --validation moved.txt -o x.model --json");
    assert!(bad["held_out"]["p@1"].as_f64() < Some(0.4), "{bad}");
    desk.ok("convert a.txt -o a.rmb");
    desk.ok("train a.rmb --validation b.txt -o cached.model");
    assert!(desk.read("cached.model") == desk.read("m.model"), "a cache gives the same bytes");

    // Words have numbers of their own in each file.
    desk.write("a.vw", ["red |f rose wine\n", "blue |f sky sea\n", "green |f leaf grass\n"].concat().repeat(20));
    desk.write("b.vw", ["green |f grass new\n", "brown,red |f rose\n", "blue |f sea\n"].concat().repeat(4));
    let outcome = desk.ok("train a.vw --validation b.vw -o w.model --json");
    let told: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(
        (&told["held_out"]["examples"], &told["held_out"]["p@1"]),
        (&Value::from(12), &Value::from(1.0)),
        "{told}"
    );
    assert!(outcome.stderr.contains("b.vw: 4 labels are not in the training data"), "{}", outcome.stderr);
    desk.write("c.vw", "brown |f rose\n");
    let outcome = desk.run("train a.vw --validation c.vw -o y.model");
    assert!(outcome.code == 2 && outcome.stderr.contains("c.vw: no example has a label"), "{}", outcome.stderr);

    desk.write("a.jsonl", jsonl(&texts()[..90]));
    desk.write("b.jsonl", jsonl(&texts()[90..]));
    let told = desk.json("train a.jsonl --validation b.jsonl --text -o t.model --json");
    assert_eq!((&told["n"], &told["held_out"]["examples"]), (&Value::from(120), &Value::from(30)));

    for options in ["--head ilr", "--method fastxml", "--group-duplicates", "--cross-validate 3"] {
        desk_refuses(&desk, &format!("train a.txt --validation b.txt -o y.model {options}"));
    }
    assert!(desk.refused("train a.txt --validation b.txt -o b.txt").contains("is also an input"));
}

/// A line that is refused, by clap or by ourselves.
fn desk_refuses(desk: &Desk, line: &str) {
    let outcome = desk.run(line);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""), "{line}: {}", outcome.stderr);
    assert!(outcome.stderr.contains("--validation"), "{line}: {}", outcome.stderr);
}

#[test]
fn cross_validation_judges_every_example_and_changes_nothing() {
    let desk = Desk::with_data();
    for options in ["", "--head ilr", "--method fastxml", "--group-duplicates"] {
        desk.ok(&format!("train train.txt -o m.model {options}"));
        let told = desk.json(&format!("train train.txt -o x.model --json --cross-validate 3 {options}"));
        let figures = &told["cross_validation"];
        assert_eq!((&figures["n"], &figures["level"]), (&Value::from(300), &Value::from(0.9)), "{options}");
        assert!(figures["p@1"].as_f64() > Some(0.4) && figures["intervals"]["p@1"].is_array(), "{options}: {figures}");
        assert!(desk.read("x.model") == desk.read("m.model"), "{options}");
    }
    // A feature of its own for each example, and labels by chance: only who knows an example can tell its label.
    desk.write("noise.txt", (0..300).map(|i| format!("{} 0:1 {}:1\n", i * 7919 % 1009 % 4, i + 1)).collect::<String>());
    let unseen = desk.json("train noise.txt -o noise.model --json --cross-validate 3")["cross_validation"].clone();
    let known = desk.json("eval noise.model noise.txt --json");
    assert!(unseen["p@1"].as_f64() < Some(0.5) && known["p@1"].as_f64() > Some(0.8), "{unseen} {known}");
    let told = desk.json("train train.txt -o x.model --json --cross-validate 3")["cross_validation"].clone();
    let again =
        desk.json("train train.txt -o x.model --json --cross-validate 3 --threads 1")["cross_validation"].clone();
    assert_eq!((&told["p@1"], &told["intervals"]), (&again["p@1"], &again["intervals"]));
    assert!(desk.ok("train train.txt -o x.model --cross-validate 3").stdout.contains("in 3 parts, 90 % intervals"));
    for parts in ["0", "1", "301"] {
        let sentence = desk.refused(&format!("train train.txt -o y.model --cross-validate {parts}"));
        assert!(sentence.contains("--cross-validate: 300 examples cannot be divided"), "{sentence}");
    }
}

#[test]
fn json_tells_what_was_made() {
    let desk = Desk::with_data();
    let json = desk.json("train train.txt -o m.model --json");
    for key in ["n", "d", "c", "nnz", "k", "rho", "cost", "views", "proposals", "combination", "pairs"] {
        assert!(json.get(key).is_some(), "{key} is not in {json}");
    }
    assert_eq!((json["n"].as_u64(), json["c"].as_u64()), (Some(N as u64), Some(C as u64)));
    assert!(json["recall"].as_f64() > Some(0.9) && json["pairs"].as_u64() > Some(0), "{json}");
    for key in ["p@1", "p@3", "p@5"] {
        let value = json["held_out"][key].as_f64().unwrap();
        assert!((0.0..=1.0).contains(&value), "{key}: {value}");
    }
    assert!(json["held_out"]["p@1"].as_f64() > Some(0.7), "{json}");
    assert_eq!(json["model_bytes"].as_u64(), Some(desk.read("m.model").len() as u64));
    assert_eq!(json["output"], "m.model");
    for stage in ["read", "division", "embedding", "ranker", "projection", "total"] {
        assert!(json["seconds"][stage].as_f64() >= Some(0.0), "{stage} is not in {json}");
    }
    #[cfg(target_os = "linux")]
    assert!(json["peak_memory_mb"].as_f64() > Some(1.0));
    assert_eq!(desk.files(), ["m.model", "train.txt"]);
}

#[test]
fn json_tells_of_a_head() {
    let desk = Desk::with_data();
    let json = desk.json("train train.txt --head auto -o m.model --json");
    for key in ["k", "ridge", "head_ridge", "least_squares_weight", "random_features", "folds", "energy_fraction"] {
        assert!(json.get(key).is_some(), "{key} is not in {json}");
    }
    assert_eq!(json["head"], "independent");
    assert!(json["held_out"]["p@1"].as_f64() > Some(0.7), "{json}");
    for stage in ["read", "embedding", "cross-fitting", "head", "total"] {
        assert!(json["seconds"][stage].as_f64() >= Some(0.0), "{stage} is not in {json}");
    }
}

#[test]
fn people_get_a_summary_and_a_note_or_nothing() {
    let desk = Desk::with_data();
    let outcome = desk.ok("train train.txt -o m.model");
    for part in ["300 examples", "20 dimensions", "candidates", "ranker", "held out", "wrote", "m.model"] {
        assert!(outcome.stdout.contains(part), "{part:?} is not in {}", outcome.stdout);
    }
    assert!(outcome.stderr.starts_with("note: about "), "{}", outcome.stderr);
    assert!(desk.ok("train train.txt --head ilr -o m.model").stdout.contains("independent labels"));
    let quiet = desk.ok("train train.txt -o m.model -q");
    assert_eq!((quiet.stdout, quiet.stderr), (String::new(), String::new()));
}

#[test]
fn options_reach_the_model() {
    let desk = Desk::with_data();
    let features = |kernel: &str, quasi: bool, bandwidth: f64| json!({"kernel": kernel, "quasi": quasi, "count": 50, "bandwidth": bandwidth, "seed": 1});
    let cases: [(&str, &str, Value); 13] = [
        ("--head ls", "head", json!("least-squares")),
        ("--head ls", "head_ridge", Value::Null),
        ("--head lr", "head", json!("softmax")),
        ("--head ilr", "head", json!("independent")),
        ("-k 7", "k", json!(7)),
        ("--head ilr -k 7", "k", json!(7)),
        ("--head ilr --ridge 2", "ridge", json!(2.0)),
        ("--head ilr --head-ridge 3", "head_ridge", json!(3.0)),
        ("--random-features gaussian:50", "random_features", features("gaussian", false, 4.0)),
        ("--random-features cauchy:50 --bandwidth 2", "random_features", features("cauchy", false, 2.0)),
        ("--random-features quasi-matern3:50", "random_features", features("matern3", true, 4.0)),
        ("--head ilr --folds 0", "folds", json!(0)),
        ("--head ilr --folds 5", "folds", json!(5)),
    ];
    for (options, key, expected) in cases {
        let json = desk.json(&format!("train train.txt -o m.model --json {options}"));
        assert_eq!(json[key], expected, "{options}");
        let hits = desk.json("eval m.model train.txt --json --bootstrap 0");
        assert!(hits["p@1"].as_f64() > Some(0.7), "{options}: {hits}");
    }
}

#[test]
fn options_reach_the_default_model() {
    let desk = Desk::with_data();
    let rho = |options: &str| desk.json(&format!("train train.txt -q --json {options} -o m.model"))["rho"].as_f64();
    let (one, two) = (rho("--ridge 1").unwrap(), rho("--ridge 2").unwrap());
    assert!((two / one - 2.0).abs() < 1e-6, "{one}, {two}");
    let cases = [
        ("--ridge 2", "/ridge", json!(2.0)),
        ("-k 7", "/k", json!(7)),
        ("--group-duplicates", "/group_duplicates", json!(true)),
        ("--propensity=0.5,0.4", "/propensity", json!({"a": 0.5, "b": 0.4})),
        ("--passes 3", "/embedding/passes", json!(3)),
        ("--cg-steps 5", "/embedding/cg_steps", json!(5)),
        ("--seed 5", "/embedding/seed", json!(5)),
    ];
    for (options, path, expected) in cases {
        desk.ok(&format!("train train.txt -q {options} -o m.model"));
        let json = desk.json("inspect m.model --json");
        assert_eq!(json["params"].pointer(path), Some(&expected), "{options}");
        assert_eq!(json["head"]["kind"], "ranker", "{options}");
    }
}

#[test]
fn defaults_follow_from_the_data() {
    let desk = Desk::with_data();
    assert_eq!(desk.json("train train.txt -o m.model --json")["k"], C, "all labels have their dimension");
    assert_eq!(desk.json("train train.txt -k 4 -o m.model --json")["k"], 4);
    let json = desk.json("train train.txt --head auto -o m.model --json");
    assert_eq!((&json["head"], &json["k"]), (&json!("independent"), &json!(C)));
    assert_eq!(desk.json("train train.txt --head ls -o m.model --json")["head"], "least-squares");
    // Random dimensions are there only where they are asked for.
    let random = |options: &str| {
        desk.json(&format!("train train.txt {options} -o m.model --json"));
        desk.json("inspect m.model --json")["params"]["embedding"]["spread"].as_f64()
    };
    assert_eq!((random("-k 5"), random("-k 5 --random-fraction 0.5")), (Some(0.0), Some(0.5)));
    assert_eq!((random("--head ilr -k 5"), random("--head ilr -k 5 --random-fraction 0.5")), (Some(0.0), Some(0.5)));
}

#[test]
fn presets_are_a_start() {
    let desk = Desk::with_data();
    for preset in ["aloi", "mulan", "lshtc --scale-rows none"] {
        let json = desk.json(&format!("train train.txt --preset {preset} -o m.model --json"));
        assert_eq!(json["k"], C, "{preset}");
    }
    assert_eq!(desk.json("train train.txt --preset aloi -k 4 -o m.model --json")["k"], 4);
    assert!(desk.refused("train train.txt --preset lshtc -o x.model").starts_with("error: --preset: divides rows"));
}

/// Labels 0 to 3 are frequent, the others are not.
fn skewed() -> String {
    let all = xmc();
    let frequent = |line: &str| line.split(' ').next().unwrap().split(',').any(|l| ["0", "1", "2", "3"].contains(&l));
    let kept: Vec<&str> = all
        .lines()
        .skip(1)
        .enumerate()
        .filter(|(i, line)| i % 6 == 0 || frequent(line))
        .map(|(_, line)| line)
        .collect();
    format!("{} 60 20\n{}\n", kept.len(), kept.join("\n"))
}

#[test]
fn propensities_lift_rare_labels() {
    let desk = Desk::new();
    desk.write("train.txt", skewed());
    desk.ok("train train.txt -o plain.model");
    desk.ok("train train.txt --propensity -o lifted.model");
    desk.ok("train train.txt --propensity=0.55,1.5 -o again.model");
    assert!(desk.read("lifted.model") == desk.read("again.model"), "other is the default");
    // The share of the probability of the predicted labels that rare ones have.
    let rare = |model: &str| {
        let outcome = desk.ok(&format!("predict {model} train.txt --top 20 --format jsonl"));
        let labels = objects(&outcome.stdout).iter().flat_map(predicted).collect::<Vec<_>>();
        let of = |rare: bool| -> f64 {
            labels.iter().filter(|(label, _)| (label.parse::<usize>().unwrap() >= 4) == rare).map(|(_, p)| *p).sum()
        };
        of(true) / (of(true) + of(false))
    };
    let (plain, lifted) = (rare("plain.model"), rare("lifted.model"));
    assert!(lifted > 1.05 * plain, "{lifted} of the probability, {plain} without propensities");
}

#[test]
fn label_weights_count() {
    let desk = Desk::with_data();
    let predictions = |options: &str| {
        desk.ok(&format!("train train.txt {options} -o m.model"));
        desk.ok("predict m.model train.txt").stdout
    };
    desk.write("ones.txt", "1\n".repeat(C));
    desk.write("more.txt", "1\n".repeat(C - 1) + "0.01\n");
    let plain = predictions("--head ilr");
    assert_eq!(plain, predictions("--head ilr --label-weights ones.txt"));
    let more = predictions("--head ilr --label-weights more.txt");
    assert_ne!(plain, more);
    desk.write("named.txt", format!("{}\t0.01\n", C - 1));
    assert_eq!(more, predictions("--head ilr --label-weights named.txt"));
    desk.write("labels.txt", (0..C).map(|l| format!("l{l}\n")).collect::<String>());
    desk.write("named.txt", format!("\u{feff}l{}\t0.01\n\nl2\t1\n", C - 1));
    assert!(predictions("--head ilr --label-weights named.txt").starts_with('l'));
    desk.write("wrong.txt", "l1\t2\nbeer\t3\n");
    let sentence = desk.refused_at_last("train train.txt --head ilr --label-weights wrong.txt -o x");
    assert!(sentence.contains("wrong.txt:2: no label of the data is called \"beer\""), "{sentence}");
    desk.write("wrong.txt", "l1\t2\nl2\n");
    assert!(
        desk.refused_at_last("train train.txt --head ilr --label-weights wrong.txt -o x")
            .contains("wrong.txt:2: has no tab")
    );
}

#[test]
fn compact_models_are_half_as_large_and_nearly_as_good() {
    let desk = Desk::with_data();
    desk.ok("train train.txt --head ilr -o m.model -q");
    let full = desk.json("inspect m.model --json");
    let json = desk.json("train train.txt --head ilr --compact -o c.model --json");
    assert!(desk.refused("train train.txt --compact -o c.model").contains("--compact: is for a head"));
    assert!(json["model_bytes"].as_u64() < full["bytes"].as_u64());
    assert_eq!(
        (full["precision"].as_str(), &desk.json("inspect c.model --json")["precision"]),
        (Some("f32"), &json!("bf16"))
    );
    let best = |model: &str| {
        let outcome = desk.ok(&format!("predict {model} train.txt --top 1 --format jsonl"));
        objects(&outcome.stdout).iter().map(|o| predicted(o).remove(0)).collect::<Vec<_>>()
    };
    let near =
        best("m.model").iter().zip(best("c.model")).filter(|(a, b)| a.0 == b.0 && (a.1 - b.1).abs() < 0.05).count();
    assert!(near > N * 9 / 10, "{near} of {N} are alike");
}

#[test]
fn weighing_is_part_of_the_model() {
    let desk = Desk::with_data();
    // The same rows, twice as long.
    let doubled = |text: &str| {
        let number = |word: &str| match word.split_once(':') {
            Some((id, value)) => format!("{id}:{}", 2.0 * value.parse::<f64>().unwrap()),
            None => word.to_owned(),
        };
        text.lines().map(|line| line.split(' ').map(number).collect::<Vec<_>>().join(" ") + "\n").collect::<String>()
    };
    desk.write("doubled.txt", doubled(&xmc()));
    for (options, same) in [("", false), ("--tfidf", false), ("--normalize", true), ("--tfidf --normalize", true)] {
        desk.ok(&format!("train train.txt {options} -o m.model"));
        let labels = |file: &str| desk.ok(&format!("predict m.model {file} --format xmc")).stdout;
        assert_eq!(labels("train.txt") == labels("doubled.txt"), same, "{options}");
    }
    let json = desk.json("inspect m.model --json");
    assert_eq!(json["preprocessing"], json!({"kind": "sparse", "tfidf": true, "normalize": true}));
    assert!(desk.ok("inspect m.model").stdout.contains("times idf, scaled to length 1"));
}

#[test]
fn the_same_bytes_for_any_threads_from_text_and_cache() {
    let desk = Desk::with_data();
    desk.ok("convert train.txt -o data.rmb");
    let options =
        ["--random-features cauchy:50", "-k 6 --head ilr --head-ridge 16", "--head lr", "", "-k 6 --group-duplicates"];
    for options in options {
        desk.ok(&format!("train train.txt {options} --seed 3 -o first"));
        for (train, threads) in [("train.txt", 1), ("train.txt", 2), ("data.rmb", 5), ("train.txt", 5)] {
            desk.ok(&format!("train {train} {options} --seed 3 --threads {threads} -o again"));
            assert!(desk.read("first") == desk.read("again"), "{options}, {train}, {threads} threads");
        }
    }
}

#[test]
fn inspect_tells_how_a_model_was_made() {
    let desk = Desk::with_data();
    let train = desk.json("train train.txt -k 9 --ridge 2 -o m.model --json");
    let json = desk.json("inspect m.model --json");
    assert_eq!((json["kind"].as_str(), json["verified"].as_bool()), (Some("model"), Some(true)));
    for key in ["n", "d", "c", "k"] {
        assert_eq!(json[key], train[key], "{key}");
    }
    assert_eq!((&json["params"]["k"], &json["params"]["ridge"]), (&json!(9), &json!(2.0)));
    assert_eq!(json["report"]["held_out"], train["held_out"]);
    assert_eq!((json["added"].as_u64(), json["spectrum"].as_array().unwrap().len()), (Some(0), 9));
    let text = desk.ok("inspect m.model").stdout;
    for part in
        ["60 features, 20 labels, 9 dimensions", "300 examples", "bf16", "each label by itself", "P@1", "ridge 2"]
    {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
    assert!(!text.contains("least squares"), "{text}");
    desk.ok("train train.txt -k 9 --head ilr -o h.model");
    assert!(desk.ok("inspect h.model").stdout.contains("independent labels"));
    assert!(desk.refused("inspect m.model --input-format xmc").contains("--input-format: is for text"));
}
