//! `rembrandt convert` and `rembrandt inspect`.

use crate::common::{Desk, xmc};

#[test]
fn text_and_cache_hold_the_same() {
    let desk = Desk::with_data();
    let converted = desk.json("convert train.txt -o train.rmb --json");
    let text = desk.json("inspect train.txt --json");
    let cache = desk.json("inspect train.rmb --json --verify");
    assert_eq!((text["kind"].as_str(), cache["kind"].as_str()), (Some("text"), Some("cache")));
    assert_eq!((&text["verified"], &cache["verified"]), (&true.into(), &true.into()));
    for key in ["n", "d", "c", "nnz", "label_nnz"] {
        assert_eq!(text[key], cache[key], "{key}");
        assert_eq!(text[key], converted[key], "{key}");
    }
    for key in ["labels_per_example", "unused_labels", "unused_features", "weighted", "frequent_labels"] {
        assert_eq!(text[key], cache[key], "{key}");
    }
    assert_eq!(text["unused_labels"].as_u64(), Some(1));
    assert_eq!(cache["bytes"].as_u64(), Some(desk.read("train.rmb").len() as u64));
    assert_eq!(desk.files(), ["train.rmb", "train.txt"]);
}

#[test]
fn frequent_labels_are_counted() {
    let desk = Desk::new();
    desk.write("train.txt", "4 2 3\n1 0:1\n1,2 1:1\n1 0:2\n2 1:1\n");
    desk.write("names.txt", "zero\none\ntwo\n");
    let json = desk.json("inspect train.txt --json --label-names names.txt");
    let expected = serde_json::json!([
        {"id": 1, "name": "one", "weight": 3.0}, {"id": 2, "name": "two", "weight": 2.0}
    ]);
    assert_eq!(json["frequent_labels"], expected);
    assert_eq!(json["labels_per_example"].as_f64(), Some(1.25));
    let text = desk.ok("inspect train.txt --label-names names.txt").stdout;
    assert!(text.contains("one (3), two (2)"), "{text}");
}

#[test]
fn embedding_files_tell_how_they_were_made() {
    let desk = Desk::with_data();
    desk.ok("embed train.txt -k 12 --ridge 2 -o out.safetensors");
    let json = desk.json("inspect out.safetensors --json");
    assert_eq!(json["kind"], "embedding");
    assert_eq!(json["params"]["ridge"].as_f64(), Some(2.0));
    assert_eq!(json["report"]["k"].as_u64(), Some(12));
    assert_eq!(json["spectrum"].as_array().unwrap().len(), 12);
    let text = desk.ok("inspect out.safetensors").stdout;
    for part in ["300 examples", "12 dimensions", "spectrum", "ridge 2"] {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
}

#[test]
fn standard_input_can_be_converted_and_inspected() {
    let desk = Desk::with_data();
    desk.ok("convert train.txt -o a.model");
    let outcome = desk.run_with_input("convert - -o b.model", xmc().into_bytes());
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert_eq!(desk.read("a.model"), desk.read("b.model"));
    let outcome = desk.run_with_input("inspect - --json", xmc().into_bytes());
    assert!(outcome.stdout.contains("\"n\":300"), "{}", outcome.stdout);
}

#[test]
fn words_become_names_and_weights_are_kept() {
    let desk = Desk::new();
    desk.write("train.vw", "red 2 |f a:1 b\nblue |f b:2 c\nred |f a\n");
    desk.ok("convert train.vw -o train.rmb");
    let json = desk.json("inspect train.rmb --json");
    assert_eq!((json["weighted"].as_bool(), json["total_weight"].as_f64()), (Some(true), Some(4.0)));
    assert_eq!((json["label_names"].as_bool(), json["feature_names"].as_bool()), (Some(true), Some(true)));
    assert_eq!(json["frequent_labels"][0]["name"], "red");
}
