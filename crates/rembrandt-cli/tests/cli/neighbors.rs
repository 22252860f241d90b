//! `rembrandt neighbors`.

use crate::common::Desk;

/// Cats and dogs show in the same feature, planes in another; nothing is said of fish.
fn animals() -> Desk {
    let desk = Desk::new();
    let mut text = String::from("40 3 4\n");
    for i in 0..40 {
        let label = i % 3;
        let feature = usize::from(label == 2);
        text.push_str(&format!("{label} {feature}:1 2:0.{}\n", 1 + i % 7));
    }
    desk.write("train.txt", text);
    desk.write("labels.names", "small cat\nsmall dog\nplane\nfish\n");
    desk.ok("embed train.txt -k 2 --label-names labels.names -o out.safetensors");
    desk
}

#[test]
fn names_are_shown_best_first() {
    let desk = animals();
    let lines = desk.run("neighbors out.safetensors 0");
    assert_eq!(lines.code, 0, "{}", lines.stderr);
    let names: Vec<&str> = lines.stdout.lines().map(|line| line.split_once("  ").unwrap().1.trim()).collect();
    assert_eq!(names, ["small dog", "plane"], "a label never seen has no direction");
    assert_eq!(desk.ok("neighbors out.safetensors plane --top 1").stdout.lines().count(), 1);
}

#[test]
fn json_has_ids_names_and_cosines() {
    let json = animals().json("neighbors out.safetensors plane --json");
    assert_eq!((json["id"].as_u64(), json["name"].as_str()), (Some(2), Some("plane")));
    let near = json["neighbors"].as_array().unwrap();
    assert_eq!(near.len(), 2);
    assert!(near[0]["cosine"].as_f64() >= near[1]["cosine"].as_f64());
    assert!(near[0]["name"].as_str().unwrap().starts_with("small "));
}

#[test]
fn unknown_labels_get_suggestions() {
    let desk = animals();
    assert!(desk.refused("neighbors out.safetensors Plane").contains("did you mean \"plane\"?"));
    assert!(desk.refused("neighbors out.safetensors cat").contains("did you mean \"small cat\"?"));
    assert!(desk.refused("neighbors out.safetensors 4").contains("neither the name nor the id"));
    assert!(desk.refused("neighbors out.safetensors fish").contains("never seen in training"));
}

#[test]
fn without_names_ids_are_shown() {
    let desk = Desk::with_data();
    desk.ok("embed train.txt -k 5 -o out.safetensors");
    let json = desk.json("neighbors out.safetensors 3 --top 4 --json");
    assert_eq!(json["neighbors"].as_array().unwrap().len(), 4);
    assert!(json["name"].is_null());
    assert!(desk.refused("neighbors out.safetensors red").contains("from 0 to 19"));
}
