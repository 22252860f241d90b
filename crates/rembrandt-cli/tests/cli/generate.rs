//! `rembrandt generate`: made-up data, the same for everyone.

use crate::common::Desk;

#[test]
fn what_is_made_can_be_learned() {
    let desk = Desk::new();
    let made = desk.json("generate --shape 3000,800,60,12,1.5 -o made --json -q");
    assert_eq!((&made["train"]["examples"], &made["test"]["examples"]), (&3000.into(), &300.into()));
    let best = made["test"]["best_p@1"].as_f64().unwrap();
    assert!((0.6..0.9).contains(&best), "{best}");
    let about = desk.json("inspect made/train.txt --json -q");
    assert_eq!((&about["n"], &about["d"], &about["c"]), (&3000.into(), &800.into(), &60.into()));
    desk.ok("train made/train.txt -o m.model -q");
    let hits = desk.json("eval m.model made/test.txt --json -q --bootstrap 0")["p@1"].as_f64().unwrap();
    assert!(hits > 0.6 * best && hits < best + 0.08, "{hits} of {best}");
    assert!(desk.ok("generate --shape 100,50,5,3,1 -o small").stdout.contains("best P@1"));
}

#[test]
fn threads_do_not_matter_but_the_seed_does() {
    let desk = Desk::new();
    for (dir, options) in [("a", "--threads 1"), ("b", "--threads 2"), ("c", "--seed 2"), ("d", "--cache")] {
        desk.ok(&format!("generate --shape 5000,300,40,5,2 -o {dir} -q {options}"));
    }
    assert_eq!(desk.read("a/train.txt"), desk.read("b/train.txt"));
    assert_ne!(desk.read("a/train.txt"), desk.read("c/train.txt"));
    assert_ne!(desk.read("a/train.txt"), desk.read("a/test.txt"));
    let cache = desk.json("inspect d/train.rmb --json --verify -q");
    assert_eq!((&cache["n"], &cache["c"]), (&5000.into(), &40.into()));
}

#[test]
fn nonsense_is_refused() {
    let desk = Desk::new();
    for (options, expected) in [
        ("--shape 10,10", "lshtc, odp"),
        ("--shape 0,10,10,2,1", "--shape"),
        ("--shape 10,10,10,20,1", "--shape"),
        ("--shape 10,10,3,2,9", "labels"),
        ("--shape 10,10,3,2,1 --noise 1", "--noise"),
    ] {
        let outcome = desk.run(&format!("generate {options} -o made"));
        assert_eq!(outcome.code, 2, "{options}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(expected), "{options}: {}", outcome.stderr);
        assert!(!desk.path("made").exists(), "{options}");
    }
}
