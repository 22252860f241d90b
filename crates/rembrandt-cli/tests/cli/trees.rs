//! `rembrandt train --method` for trees: the same commands as for everything else.

use crate::common::{Desk, jsonl, objects, predicted, texts};

/// Data with one label per example, plain to see.
fn multiclass() -> Desk {
    let desk = Desk::new();
    let mut text = "300 14 8\n".to_owned();
    for i in 0..300 {
        text.push_str(&format!("{} {}:1 {}:0.{}\n", i % 8, i % 8, 8 + i * 5 % 6, 1 + i % 9));
    }
    desk.write("train.txt", text);
    desk
}

#[test]
fn every_tree_trains_predicts_and_is_evaluated() {
    for (method, desk) in [
        ("fastxml", Desk::with_data()),
        ("lpsr", Desk::with_data()),
        ("lomtree", multiclass()),
        ("label-tree", multiclass()),
    ] {
        let json = desk.json(&format!("train train.txt --method {method} -o m.model --json -q"));
        assert_eq!(json["method"], method);
        assert!(json["trees"].is_object() && json["seconds"]["total"].as_f64() > Some(0.0), "{json}");
        let hits = desk.json("eval m.model train.txt --json --bootstrap 0 -q");
        assert!(hits["p@1"].as_f64() > Some(0.7), "{method}: {hits}");
        for row in objects(&desk.ok("predict m.model train.txt --top 2 --format jsonl -q").stdout) {
            let labels = predicted(&row);
            assert!(labels.len() <= 2 && labels.is_sorted_by(|a, b| a.1 >= b.1), "{method}: {row}");
        }
        assert_eq!(desk.json("inspect m.model --json")["k"], 0);
        assert!(desk.ok("inspect m.model").stdout.contains(method));
        // The number of threads does not show.
        desk.ok(&format!("train train.txt --method {method} -o one.rmb -q --threads 1"));
        desk.ok(&format!("train train.txt --method {method} -o two.rmb -q --threads 2"));
        assert_eq!(desk.read("one.rmb"), desk.read("two.rmb"), "{method}");
        assert_eq!(desk.read("one.rmb"), desk.read("m.model"), "{method}");
        // But the seed does, where there is anything to draw.
        if method != "lpsr" {
            desk.ok(&format!("train train.txt --method {method} -o other.rmb -q --seed 9"));
            assert_ne!(desk.read("one.rmb"), desk.read("other.rmb"), "{method}");
        }
    }
}

#[test]
fn trees_take_texts_and_weighed_rows() {
    let desk = Desk::new();
    desk.write("train.jsonl", jsonl(&texts()));
    desk.ok("train train.jsonl --text --method fastxml --trees 5 -o m.model -q");
    let found = desk.run_with_input("predict m.model - --input-format lines --top 1 -q", b"roast bean\n".to_vec());
    assert!(found.stdout.starts_with("coffee"), "{}", found.stdout);
    let desk = Desk::with_data();
    desk.ok("train train.txt --method lpsr --tfidf --normalize -o m.model -q");
    assert!(desk.json("eval m.model train.txt --json -q")["p@1"].as_f64() > Some(0.6));
}

#[test]
fn options_reach_the_trees() {
    let desk = Desk::with_data();
    let trees = |options: &str| desk.json(&format!("train train.txt --method fastxml {options} -o m.model --json -q"));
    let few = trees("--trees 3 --depth 1 --leaf-labels 2 --seed 4 --scale-rows length");
    assert_eq!((&few["trees"]["trees"], &few["trees"]["greatest_depth"]), (&3.into(), &1.into()), "{few}");
    assert_eq!((&few["params"]["seed"], &few["params"]["row_scale"]), (&4.into(), &"length".into()));
    assert!(trees("--trees 2 --nodes 7")["trees"]["nodes"].as_u64() <= Some(7));
}

#[test]
fn what_makes_no_sense_is_refused() {
    let desk = Desk::with_data();
    let cases = [
        ("--method lomtree", "exactly one"),
        ("--method label-tree", "exactly one"),
        ("--method fastxml -k 5", "-k means nothing to fastxml"),
        ("--method fastxml --ridge 2", "--ridge means nothing to fastxml"),
        ("--method fastxml --random-fraction 1", "--random-fraction means nothing to fastxml"),
        ("--method fastxml --head lr", "--head means nothing to fastxml"),
        ("--method fastxml --folds 3", "--folds means nothing to fastxml"),
        ("--method fastxml --compact", "--compact means nothing to fastxml"),
        ("--method lpsr --trees 4", "--trees means nothing to lpsr"),
        ("--method label-tree --depth 1 --branching 4", "--branching means nothing to label-tree with --depth 1"),
        ("--method label-tree --beam 2 --depth 1", "--beam means nothing to label-tree with --depth 1"),
        ("--method label-tree --depth 1 --affinity confusion", "--affinity means nothing to label-tree with --depth 1"),
        ("--method label-tree --depth 1 --margin 4", "--margin means nothing to label-tree with --depth 1"),
        ("--method lpsr --margin 4", "--margin means nothing to lpsr"),
        ("--method label-tree --margin nan", "finite"),
        // With groups they mean something, and it is the data that are refused.
        ("--method label-tree --depth 2 --branching 4 --beam 2 --margin 4 --affinity confusion", "exactly one"),
        ("--method fastxml --trees 0", "--trees"),
        ("--trees 4", "--trees is for trees"),
        ("--method fastxml --max-memory 1M", "memory"),
        ("--method fastxml --cost nan", "finite"),
        ("--method lomtree --step inf", "finite"),
        ("--method label-tree --ridge nan", "finite"),
        ("--method fastxml --tolerance inf", "finite"),
    ];
    for (options, expected) in cases {
        let outcome = desk.run(&format!("train train.txt {options} -o m.model -q"));
        assert_eq!(outcome.code, 2, "{options}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(expected), "{options}: {}", outcome.stderr);
        assert!(!desk.path("m.model").exists());
    }
    desk.ok("train train.txt --method fastxml --trees 2 -o m.model -q");
    for line in ["explain m.model 0:1", "neighbors m.model 1", "add-label m.model train.txt --name new -o n.model"] {
        assert!(desk.refused(line).contains("model of trees"), "{line}");
    }
}
