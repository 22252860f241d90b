//! `rembrandt bench`, and the choice of solvers.

use crate::common::Desk;

#[test]
fn solvers_are_measured_side_by_side() {
    let desk = Desk::with_data();
    let json = desk.json("bench solvers train.txt -k 2,4 --json -q");
    let results = json["results"].as_array().unwrap();
    assert_eq!(results.len(), 10);
    for half in results.chunks(5) {
        assert_eq!((half[0]["energy_ratio"].as_f64(), half[0]["time_ratio"].as_f64()), (Some(1.0), Some(1.0)));
        let few = half.iter().find(|r| r["options"] == "--solver few-pass --passes 2").unwrap();
        // On so little data a column may be solved before its last step.
        let half_passes = few["half_passes"].as_f64().unwrap();
        assert!((9.0..=11.0).contains(&half_passes), "{few}");
        assert!(few["energy_ratio"].as_f64().unwrap() > 0.99, "{few}");
    }
    let text = desk.ok("bench solvers train.txt -k 3 --brief --plot plot.svg -q").stdout;
    assert_eq!(text.lines().count(), 4, "{text}");
    let plot = String::from_utf8(desk.read("plot.svg")).unwrap();
    assert!(plot.starts_with("<svg") && plot.matches("<circle").count() == 4, "{plot}");
    assert!(desk.refused("bench solvers train.txt -k 2,3 --plot plot.svg").contains("--plot: shows one k"));
    assert!(desk.refused("bench solvers train.txt -k 0").contains("-k: "));
}

#[test]
fn sizes_are_doubled_one_after_the_other() {
    let desk = Desk::new();
    let line = "bench scaling --shape 300,200,40,8,2 -k 4 --doublings 2 --repeats 1 -q";
    let json = desk.json(&format!("{line} --json --plot plot.svg"));
    let results = json["results"].as_array().unwrap();
    assert_eq!(results.len(), 15);
    for (of, key) in results.chunks(3).zip(["n", "nnz", "label_nnz", "k", "c"]) {
        assert_eq!((of[0]["times"].as_u64(), of[0]["ratio"].as_f64()), (Some(1), Some(1.0)));
        let grown = of[2][key].as_f64().unwrap() / of[0][key].as_f64().unwrap();
        assert!((2.5..=4.5).contains(&grown), "{key} grew by {grown}: {json}");
    }
    let plot = String::from_utf8(desk.read("plot.svg")).unwrap();
    assert!(plot.starts_with("<svg") && plot.matches("<polyline").count() == 6, "{plot}");
    assert_eq!(desk.ok(line).stdout.lines().count(), 16);
    assert!(desk.refused("bench scaling --shape 300,200,3,8,2 -k 4").contains("-k: "));
}

#[test]
fn the_paper_brings_its_settings_unless_told_otherwise() {
    let desk = Desk::with_data();
    let told = |options: &str| {
        let json = desk.json(&format!("embed train.txt -k 4 {options} --json -q -o out"));
        (json["passes"].as_u64().unwrap(), json["cg_steps"].as_u64().unwrap())
    };
    assert_eq!(told("--solver paper"), (1, 10));
    assert_eq!(told("--solver paper --passes 3 --cg-steps 6"), (3, 6));
    assert_eq!(told("--solver paper --preset aloi"), (2, 100));
    let json = desk.json("embed train.txt -k 4 --solver few-pass --json -q -o out");
    assert_eq!((json["solver"].as_str(), json["half_passes"].as_f64()), (Some("few-pass"), Some(11.0)));
    let refused = desk.refused("embed train.txt -k 4 --solver few-pass --preconditioner none -o out");
    assert!(refused.contains("--preconditioner: none leaves few-pass nothing"), "{refused}");
    desk.ok("train train.txt --solver few-pass -k 4 -q -o model");
}

#[test]
fn predictions_are_timed_and_compared() {
    let desk = Desk::with_model();
    desk.ok("train train.txt --head ilr -q -o h.model");
    desk.ok("train train.txt --method fastxml --trees 2 -q -o t.rmb");
    for (model, name, exact) in [("h.model", "all", true), ("t.rmb", "trees", false)] {
        let json = desk.json(&format!("bench predict {model} train.txt --rows 50 --singles 5 --json -q"));
        let results = json["results"].as_array().unwrap();
        assert_eq!((results.len(), results[0]["exact"].as_bool()), (1, Some(exact)), "{json}");
        assert_eq!(results[0]["recall"], 1.0, "{json}");
        assert!(results[0]["microseconds"].as_f64() > Some(0.0), "{json}");
        assert!(results[0]["microseconds_alone"].as_f64() > Some(0.0), "{json}");
        let text = desk.ok(&format!("bench predict {model} train.txt --rows 50 --singles 5 -q")).stdout;
        assert!(text.contains(name) && text.lines().count() == 3, "{text}");
    }
    // All labels first, and then those that the model proposes.
    let json = desk.json("bench predict m.model train.txt --rows 50 --singles 5 --json -q");
    let results = json["results"].as_array().unwrap();
    assert_eq!((json["rows"].as_u64(), results.len()), (Some(50), 2), "{json}");
    assert_eq!((&results[0]["exact"], &results[1]["exact"]), (&true.into(), &false.into()), "{json}");
    assert!(results[1]["recall"].as_f64() > Some(0.5) && results[1]["scored"].as_f64() > Some(0.0), "{json}");
    assert!(results[0]["p@1"].as_f64() > Some(0.9) && results[1]["p@1"].as_f64() > Some(0.9), "{json}");
    let exact = desk.json("eval m.model train.txt --exact --json -q");
    assert!(exact["p@1"].as_f64() > Some(0.9), "{exact}");
    assert!(desk.refused("bench predict m.model train.txt --rows 0").contains("--rows: "));
}
