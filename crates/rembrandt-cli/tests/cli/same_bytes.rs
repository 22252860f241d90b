//! The same embedding, to the byte, however it is computed.

use crate::common::Desk;

#[test]
fn for_any_threads_from_text_and_cache() {
    let desk = Desk::with_data();
    desk.ok("convert train.txt -o train.rmb");
    for solver in ["few-pass", "iterative", "direct"] {
        let options = format!("-k 8 --passes 2 --bias --solver {solver}");
        desk.ok(&format!("embed train.txt {options} -o first"));
        for train in ["train.txt", "train.rmb"] {
            for threads in [1, 2, 5] {
                desk.ok(&format!("embed {train} {options} --threads {threads} -o again"));
                assert!(desk.read("first") == desk.read("again"), "{solver}, {train}, {threads} threads");
            }
        }
    }
}

#[test]
fn for_any_panel() {
    let desk = Desk::with_data();
    desk.ok("convert train.txt -o train.rmb");
    for solver in ["few-pass", "iterative", "direct"] {
        desk.ok(&format!("embed train.txt -k 8 --solver {solver} -o first"));
        for train in ["train.txt", "train.rmb"] {
            for panel in [3, 8, 64, 200] {
                desk.ok(&format!("embed {train} -k 8 --solver {solver} --panel {panel} -o again"));
                assert!(desk.read("first") == desk.read("again"), "{solver}, {train}, panel {panel}");
            }
        }
    }
}

#[test]
fn for_the_cache_itself() {
    let desk = Desk::with_data();
    desk.ok("convert train.txt -o a.model --threads 1");
    desk.ok("convert train.txt -o b.model --threads 5");
    assert_eq!(desk.read("a.model"), desk.read("b.model"));
}

#[test]
fn but_not_for_another_seed() {
    let desk = Desk::with_data();
    desk.ok("embed train.txt -k 8 --oversample 0 --seed 1 -o a");
    desk.ok("embed train.txt -k 8 --oversample 0 --seed 2 -o b");
    assert_ne!(desk.read("a"), desk.read("b"));
}
