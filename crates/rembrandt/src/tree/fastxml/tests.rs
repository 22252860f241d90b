//! Forests on planted data, their arrays, and what damage to these does.

use super::*;
use crate::data::{Dataset, Rows};
use crate::tree::damage;
use crate::{Error, Run};

/// Examples of features and labels, all values 1.
fn data(examples: &[(Vec<u32>, Vec<u32>)], d: usize, c: usize) -> Dataset {
    let mut rows = Rows::new();
    for (features, labels) in examples {
        features.iter().for_each(|id| rows.x.push(*id, 1.0));
        labels.iter().for_each(|label| rows.y.push(*label, 1.0));
        rows.x.end_row();
        rows.y.end_row();
    }
    Dataset::from_rows(&rows, d, c).unwrap()
}

/// Eight clusters with two features and two labels of their own, and features that tell nothing.
fn clusters(n: u32) -> Vec<(Vec<u32>, Vec<u32>)> {
    let example = |i: u32| {
        let cluster = i % 8;
        let noise = 16 + (i * 7 + i / 8) % 6;
        let labels = if i.is_multiple_of(3) { vec![2 * cluster] } else { vec![2 * cluster, 2 * cluster + 1] };
        (vec![2 * cluster, 2 * cluster + 1, noise], labels)
    };
    (0..n).map(example).collect()
}

fn few(trees: usize) -> FastXmlParams {
    FastXmlParams { trees, ..FastXmlParams::default() }
}

fn fit(params: &FastXmlParams, data: &Dataset) -> FastXml {
    params.fit(data, &mut Run::default()).unwrap()
}

const ALL: Wanted<'_> = Wanted { top: 100, labels: None };

#[test]
fn separate_clusters_are_told_apart() {
    let examples = clusters(400);
    for row_scale in [RowScale::None, RowScale::Length] {
        let forest = fit(&FastXmlParams { row_scale, ..few(10) }, &data(&examples, 22, 16));
        for (features, labels) in &examples {
            let best = forest.rank(features, None, ALL);
            assert_eq!(best[0].0, labels[0], "{best:?}");
            assert!(best[0].1 > 0.6 && best[1].0 == labels[0] + 1 && best[1].1 > 0.3, "{best:?}");
            assert!(best.iter().all(|(_, p)| (0.0..=1.0).contains(p)));
        }
    }
}

#[test]
fn the_scale_of_the_features_does_not_matter() {
    let scaled = |by: f32| {
        let mut rows = Rows::new();
        for (features, labels) in clusters(200) {
            features.iter().for_each(|id| rows.x.push(*id, by));
            labels.iter().for_each(|label| rows.y.push(*label, 1.0));
            rows.x.end_row();
            rows.y.end_row();
        }
        let forest = fit(&few(4), &Dataset::from_rows(&rows, 22, 16).unwrap());
        (forest.summary(), forest.rank(&[0, 1], Some(&[by, by]), ALL))
    };
    // Powers of two, which rounding leaves alone.
    assert_eq!(scaled(1.0), scaled(1.0 / 1024.0));
    assert_eq!(scaled(1.0), scaled(64.0));
}

#[test]
fn only_what_is_wanted_is_ranked() {
    let forest = fit(&few(3), &data(&clusters(200), 22, 16));
    let all = forest.rank(&[0, 1], None, ALL);
    assert_eq!(forest.rank(&[0, 1], Some(&[1.0, 1.0]), ALL), all);
    assert_eq!(forest.rank(&[0, 1], None, Wanted { top: 1, labels: None }), all[..1]);
    let second = forest.rank(&[0, 1], None, Wanted { top: 5, labels: Some(&[1, 9]) });
    assert_eq!(second[0], all[1]);
    assert!(second.iter().all(|(label, _)| [1, 9].contains(label)));
}

#[test]
fn threads_do_not_matter_but_seeds_do() {
    let data = data(&clusters(300), 22, 16);
    let with = |threads: usize, seed: u64| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| fit(&FastXmlParams { seed, ..few(4) }, &data))
    };
    assert_eq!(with(1, 7), with(2, 7));
    assert_ne!(with(2, 7), with(2, 8));
}

#[test]
fn leaves_depth_and_nodes_are_bounded() {
    let data = data(&clusters(400), 22, 16);
    let free = fit(&few(2), &data).summary();
    assert!(free.greatest_depth >= 3 && free.weights > 0 && free.leaves * 2 - free.trees == free.nodes, "{free:?}");
    let flat = fit(&FastXmlParams { depth: 0, ..few(2) }, &data);
    assert_eq!((flat.summary().nodes, flat.summary().greatest_depth), (2, 0));
    // The share of the root: label 0 belongs to an eighth of the examples.
    assert_eq!(flat.rank(&[5], None, Wanted { top: 9, labels: Some(&[0]) }), [(0, 0.125)]);
    assert!(fit(&FastXmlParams { depth: 2, ..few(2) }, &data).summary().greatest_depth <= 2);
    assert!(fit(&FastXmlParams { nodes: 11, ..few(2) }, &data).summary().nodes <= 11);
    let short = fit(&FastXmlParams { leaf_labels: 1, ..few(2) }, &data);
    assert!(short.rank(&[0, 1], None, ALL).len() <= 2);
}

#[test]
fn few_and_odd_examples_have_a_defined_outcome() {
    let one = fit(&few(2), &data(&[(vec![0], vec![1])], 1, 2));
    assert_eq!(one.rank(&[], None, ALL), [(1, 1.0)]);
    let unlabelled = fit(&few(2), &data(&vec![(vec![0], vec![]); 30], 1, 2));
    assert_eq!(unlabelled.rank(&[0], None, ALL), []);
    // Half of them without labels or features.
    let halves: Vec<_> = (0..60).map(|i| if i % 2 == 0 { (vec![0], vec![0]) } else { (vec![], vec![]) }).collect();
    let half = fit(&few(2), &data(&halves, 1, 1)).rank(&[0], None, ALL);
    assert!(half.len() == 1 && half[0].1 >= 0.5, "{half:?}");
    // Copies with the same labels are one leaf, copies with different ones cannot be parted.
    let copies = fit(&few(2), &data(&vec![(vec![0, 1], vec![0, 2]); 50], 2, 3));
    assert_eq!((copies.summary().nodes, copies.rank(&[0], None, ALL)), (2, vec![(0, 1.0), (2, 1.0)]));
    let torn: Vec<_> = (0..50).map(|i| (vec![0, 1], vec![i % 2])).collect();
    let torn = fit(&few(2), &data(&torn, 2, 2));
    assert_eq!((torn.summary().nodes, torn.rank(&[0], None, ALL)), (2, vec![(0, 0.5), (1, 0.5)]));
}

#[test]
fn weights_count_and_weightless_examples_are_not_there() {
    let mut rows = Rows { weights: Some(vec![3.0, 1.0, 0.0]), ..Rows::new() };
    for label in 0..3 {
        rows.x.push(0, 1.0);
        rows.x.end_row();
        rows.y.push(label, 1.0);
        rows.y.end_row();
    }
    let forest = fit(&few(1), &Dataset::from_rows(&rows, 1, 3).unwrap());
    assert_eq!(forest.rank(&[0], None, ALL), [(0, 0.75), (1, 0.25)]);
    rows.weights = Some(vec![0.0; 3]);
    let none = few(1).fit(&Dataset::from_rows(&rows, 1, 3).unwrap(), &mut Run::default());
    assert_eq!(none.unwrap_err().to_string(), "every example has the weight 0");
}

#[test]
fn bad_parameters_are_named_and_a_watch_can_stop() {
    type Change = fn(&mut FastXmlParams);
    let cases: [(&str, Change); 9] = [
        ("trees", |p| p.trees = 0),
        ("leaf_examples", |p| p.leaf_examples = 0),
        ("leaf_labels", |p| p.leaf_labels = 0),
        ("cost", |p| p.cost = f64::NAN),
        ("cost", |p| p.cost = 0.0),
        ("depth", |p| p.depth = 1001),
        ("nodes", |p| p.nodes = 3),
        ("steps", |p| p.steps = 0),
        ("tolerance", |p| p.tolerance = -1.0),
    ];
    let data = data(&clusters(50), 22, 16);
    for (expected, change) in cases {
        let mut params = few(4);
        change(&mut params);
        match params.fit(&data, &mut Run::default()) {
            Err(Error::Parameter { name, .. }) => assert_eq!(name, expected),
            other => panic!("{expected}: {other:?}"),
        }
    }
    assert!(few(4).memory(&data) > 1000);
    let stopped = few(4).fit(&data, &mut Run::watched(|_| false));
    assert!(matches!(stopped, Err(Error::Cancelled)));
}

#[test]
fn arrays_hold_everything() {
    let forest = fit(&FastXmlParams { row_scale: RowScale::Sum, ..few(3) }, &data(&clusters(300), 22, 16));
    assert_eq!(FastXml::from_arrays(&forest.arrays(), (22, 16)).unwrap(), forest);
    assert!(FastXml::from_arrays(&forest.arrays(), (3, 16)).unwrap_err().contains("range"));
    assert!(FastXml::from_arrays(&forest.arrays(), (22, 3)).unwrap_err().contains("range"));
}

#[test]
fn damaged_arrays_are_refused_or_still_rank() {
    let forest = fit(&few(2), &data(&clusters(200), 22, 16));
    let refused = damage::each(&forest.arrays(), 4000, |arrays| {
        let Ok(forest) = FastXml::from_arrays(arrays, (22, 16)) else { return false };
        let best = forest.rank(&[0, 1, 17], None, ALL);
        assert!(best.iter().all(|(label, p)| *label < 16 && (0.0..=1.0).contains(p)));
        forest.summary();
        true
    });
    assert!(refused > 2000, "{refused}");
}
