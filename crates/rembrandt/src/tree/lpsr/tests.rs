//! The scorer against its formula, partitions of planted data, arrays and what damage to these does.

use proptest::prelude::*;

use super::count::{Counted, Seen};
use super::*;
use crate::data::{Dataset, Rows};
use crate::tree::damage;
use crate::{Error, Run, Shape};

type Example = (Vec<(u32, f32)>, Vec<u32>);

fn rows(examples: &[Example]) -> Rows {
    let mut rows = Rows::new();
    for (features, labels) in examples {
        features.iter().for_each(|(id, value)| rows.x.push(*id, *value));
        labels.iter().for_each(|label| rows.y.push(*label, 1.0));
        rows.x.end_row();
        rows.y.end_row();
    }
    rows
}

fn data(examples: &[Example], d: usize, c: usize) -> Dataset {
    Dataset::from_rows(&rows(examples), d, c).unwrap()
}

/// Eight clusters with two features and two labels of their own, and features that tell nothing.
fn clusters(n: u32) -> Vec<Example> {
    let example = |i: u32| {
        let cluster = i % 8;
        let noise = 16 + (i * 7 + i / 8) % 6;
        let labels = if i.is_multiple_of(3) { vec![2 * cluster] } else { vec![2 * cluster, 2 * cluster + 1] };
        (vec![(2 * cluster, 1.0), (2 * cluster + 1, 2.0), (noise, 0.5)], labels)
    };
    (0..n).map(example).collect()
}

fn small() -> LpsrParams {
    LpsrParams { leaf_examples: Some(40), ..LpsrParams::default() }
}

fn fit(params: &LpsrParams, data: &Dataset) -> Lpsr {
    params.fit(data, &mut Run::default()).unwrap()
}

const ALL: Wanted<'_> = Wanted { top: 100, labels: None };

/// Counts of every feature over some examples, and their weight.
fn counted(rows: &Rows, d: usize, examples: impl Iterator<Item = usize>) -> (Vec<f64>, f64) {
    let (mut counts, mut held) = (vec![0.0; d], 0.0);
    for i in examples {
        let weight = rows.weights.as_ref().map_or(1.0, |w| f64::from(w[i]));
        held += weight;
        rows.x.view().entries(i).for_each(|(id, v)| counts[id] += weight * f64::from(v));
    }
    (counts, held)
}

/// The log-odds of a label, written out, its own examples without `left_out`.
fn oracle(rows: &Rows, alphas: &[f64], importance: &[f32], label: u32, x: &[f64], left_out: Option<usize>) -> f64 {
    let (d, has) = (alphas.len(), |i: &usize| rows.y.view().row(*i).0.contains(&label));
    let (with, held) = counted(rows, d, (0..rows.len()).filter(has).filter(|i| Some(*i) != left_out));
    let (without, rest) = counted(rows, d, (0..rows.len()).filter(|i| !has(i)));
    let mean = counted(rows, d, 0..rows.len()).1 / rows.len() as f64;
    let sum = |counts: &[f64]| counts.iter().sum::<f64>() + alphas.iter().sum::<f64>();
    let share = |counts: &[f64], f: usize| ((counts[f] + alphas[f]) / sum(counts)).ln();
    let terms = (0..d).map(|f| f64::from(importance[f]) * x[f] * (share(&with, f) - share(&without, f)));
    (held / (rest + mean)).ln() + terms.sum::<f64>()
}

/// How much features tell, before they are put into proportion, written out over all labels.
fn divergences(rows: &Rows, d: usize, c: u32) -> Vec<f64> {
    let of = |label: u32| counted(rows, d, (0..rows.len()).filter(|i| rows.y.view().row(*i).0.contains(&label)));
    let labels: Vec<(Vec<f64>, f64)> = (0..c).map(of).collect();
    let all: f64 = labels.iter().map(|(_, held)| held).sum();
    let divergence = |f: usize| -> f64 {
        let seen: f64 = labels.iter().map(|(counts, _)| counts[f]).sum();
        let term = |(counts, held): &(Vec<f64>, f64)| {
            let share = (counts[f] + 100.0 * held / all) / (seen + 100.0);
            share * (share / (held / all)).ln()
        };
        labels.iter().filter(|(_, held)| *held > 0.0).map(term).sum()
    };
    (0..d).map(divergence).collect()
}

proptest! {
    #[test]
    fn sparse_scores_are_those_of_the_formula(
        examples in prop::collection::vec((prop::collection::vec(0u8..4, 6), prop::collection::btree_set(0u32..4, 1..4), 1u8..4), 2..20),
        alphas in prop::collection::vec(0.1f64..2.0, 6),
    ) {
        let sparse = |x: &[u8]| (0..).zip(x).filter(|(_, v)| **v > 0).map(|(id, v)| (id, f32::from(*v))).collect();
        let planted: Vec<Example> = examples.iter().map(|(x, y, _)| (sparse(x), y.iter().copied().collect())).collect();
        let mut rows = rows(&planted);
        let weights: Vec<f32> = examples.iter().map(|(_, _, w)| f32::from(*w)).collect();
        rows.weights = Some(weights.clone());
        let data = Counted { x: rows.x.view(), y: rows.y.view(), weights: Some(&weights), shape: (6, 4) };
        let counts = data.count().unwrap();
        let importance = counts.importance();
        // In proportion to the cube roots, and 1 on average over what was counted.
        let exact = divergences(&rows, 6, 4);
        if importance.iter().any(|v| *v != 1.0) {
            let mean = (0..6).map(|f| counts.features[f] * f64::from(importance[f])).sum::<f64>() / counts.features.iter().sum::<f64>();
            prop_assert!((mean - 1.0).abs() < 1e-5, "{}", mean);
            let largest = (0..6).max_by(|a, b| exact[*a].total_cmp(&exact[*b])).unwrap();
            for f in 0..6 {
                let ratio = f64::from(importance[f] / importance[largest]).powi(3);
                prop_assert!((ratio - exact[f] / exact[largest]).abs() < 1e-4, "{:?} {:?}", importance, exact);
            }
        }
        let bayes = Bayes::new(&counts, &alphas, importance.clone());
        let by_feature = bayes.by_feature();
        for (i, (dense, own, weight)) in examples.iter().enumerate() {
            let x: Vec<f64> = dense.iter().map(|v| f64::from(*v)).collect();
            let (ids, values) = rows.x.view().row(i);
            let lookup = Lookup::new(ids, values, RowScale::None);
            let sum = bayes.weighted_sum(&lookup);
            let common = |f: usize| (alphas[f] / (counts.features[f] + alphas[f])).ln();
            let dropped: f64 = (0..6).map(|f| f64::from(importance[f]) * x[f] * common(f)).sum();
            let mut all = [0.0; 4];
            by_feature.scores(&bayes, &lookup, sum, &mut all);
            let seen = Seen { x: &lookup, sums: [x.iter().sum(), sum], weight: f64::from(*weight) };
            for label in 0..4u32 {
                let exact = oracle(&rows, &alphas, &importance, label, &x, None) - dropped;
                let score = bayes.score(label as usize, &lookup, sum);
                if exact.is_finite() {
                    prop_assert!((score - exact).abs() < 1e-4 * (1.0 + exact.abs()), "{} {}", score, exact);
                    prop_assert!((all[label as usize] - exact).abs() < 1e-4 * (1.0 + exact.abs()));
                }
                if own.contains(&label) {
                    let without = score - counts.owed(label as usize, &seen, (&alphas, alphas.iter().sum()), &importance);
                    let exact = oracle(&rows, &alphas, &importance, label, &x, Some(i)) - dropped;
                    prop_assert!(without == exact || (without - exact).abs() < 1e-3 * (1.0 + exact.abs()));
                }
            }
        }
    }
}

#[test]
fn separate_clusters_get_leaves_with_their_labels() {
    let examples = clusters(400);
    for presence in [true, false] {
        let fitted = fit(&LpsrParams { presence, ..small() }, &data(&examples, 22, 16));
        let summary = fitted.summary();
        assert!(summary.leaves >= 4 && summary.trees == 1 && summary.weights > 0, "{summary:?}");
        for (features, labels) in &examples {
            let (ids, values): (Vec<u32>, Vec<f32>) = features.iter().copied().unzip();
            let best = fitted.rank(&ids, Some(&values), ALL);
            assert_eq!(best[0].0, labels[0], "{best:?}");
            assert!(best.is_sorted_by(|a, b| a.1 >= b.1) && best.iter().all(|(_, p)| (0.0..=1.0).contains(p)));
            // Sublinear: no leaf has all labels.
            assert!(best.len() < 16, "{best:?}");
        }
    }
}

#[test]
fn only_what_is_wanted_is_ranked() {
    let fitted = fit(&small(), &data(&clusters(200), 22, 16));
    let all = fitted.rank(&[0, 1], None, ALL);
    assert_eq!(fitted.rank(&[0, 1], Some(&[1.0, 1.0]), ALL), all);
    assert_eq!(fitted.rank(&[0, 1], None, Wanted { top: 1, labels: None }), all[..1]);
    assert_eq!(fitted.rank(&[0, 1], None, Wanted { top: 5, labels: Some(&[all[1].0]) }), all[1..2]);
}

#[test]
fn threads_do_not_matter() {
    let data = data(&clusters(300), 22, 16);
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| fit(&small(), &data))
    };
    assert_eq!(with(1), with(2));
}

#[test]
fn leaves_grow_with_the_labels_but_more_slowly() {
    let sizes = |c: usize, params: LpsrParams| params.leaf(Shape { n: 10, d: 10, c });
    assert_eq!(sizes(159, LpsrParams::default()), (1000, 100));
    assert_eq!(sizes(10_000, LpsrParams::default()), (2000, 1000));
    assert_eq!(sizes(100_000_000, LpsrParams::default()), (200_000, 100_000));
    assert_eq!(sizes(10_000, LpsrParams { leaf_labels: Some(7), ..LpsrParams::default() }), (1000, 7));
    assert_eq!(sizes(10_000, LpsrParams { leaf_examples: Some(7), ..LpsrParams::default() }), (7, 1000));
}

#[test]
fn leaves_depth_nodes_and_weights_are_bounded() {
    let data = data(&clusters(400), 22, 16);
    assert_eq!(fit(&LpsrParams { depth: 0, ..small() }, &data).summary().nodes, 1);
    assert!(fit(&LpsrParams { depth: 2, ..small() }, &data).summary().greatest_depth <= 2);
    assert!(fit(&LpsrParams { nodes: 4, ..small() }, &data).summary().nodes <= 4);
    let sparse = fit(&LpsrParams { weights: 1, ..small() }, &data).summary();
    assert_eq!(sparse.weights, sparse.nodes - sparse.leaves);
    let short = fit(&LpsrParams { leaf_labels: Some(2), ..small() }, &data);
    assert!(short.rank(&[0, 1], None, ALL).len() <= 2);
}

#[test]
fn few_and_odd_examples_have_a_defined_outcome() {
    let one = fit(&small(), &data(&[(vec![(0, 1.0)], vec![1])], 1, 2));
    assert_eq!(one.rank(&[], None, ALL).iter().map(|(label, _)| *label).collect::<Vec<_>>(), [1]);
    let unlabelled = fit(&small(), &data(&vec![(vec![(0, 1.0)], vec![]); 100], 1, 2));
    assert_eq!(unlabelled.rank(&[0], None, ALL), []);
    let copies = fit(&small(), &data(&vec![(vec![(0, 1.0)], vec![0, 2]); 100], 1, 3));
    assert_eq!((copies.summary().nodes, copies.rank(&[0], None, ALL).len()), (1, 2));
    let without_features = fit(&small(), &data(&vec![(vec![], vec![0]); 100], 1, 1));
    assert_eq!(without_features.rank(&[0], None, ALL).len(), 1);
}

#[test]
fn negative_features_and_bad_parameters_are_refused() {
    let negative = small().fit(&data(&[(vec![(0, -1.0)], vec![0])], 1, 1), &mut Run::default());
    assert!(negative.unwrap_err().to_string().contains("negative"));
    type Change = fn(&mut LpsrParams);
    let cases: [(&str, Change); 8] = [
        ("laplace", |p| p.laplace = 0.0),
        ("leaf_examples", |p| p.leaf_examples = Some(0)),
        ("leaf_labels", |p| p.leaf_labels = Some(0)),
        ("precision_at", |p| p.precision_at = 0),
        ("weights", |p| p.weights = 0),
        ("steps", |p| p.steps = 0),
        ("depth", |p| p.depth = 1001),
        ("nodes", |p| p.nodes = 0),
    ];
    let data = data(&clusters(50), 22, 16);
    for (expected, change) in cases {
        let mut params = small();
        change(&mut params);
        match params.fit(&data, &mut Run::default()) {
            Err(Error::Parameter { name, .. }) => assert_eq!(name, expected),
            other => panic!("{expected}: {other:?}"),
        }
    }
    assert!(small().memory(&data) > 1000);
    assert!(matches!(small().fit(&data, &mut Run::watched(|_| false)), Err(Error::Cancelled)));
}

#[test]
fn weights_count() {
    let mut rows = rows(&[(vec![(0, 1.0)], vec![0]), (vec![(0, 1.0)], vec![1]), (vec![(0, 1.0)], vec![2])]);
    rows.weights = Some(vec![1.0, 3.0, 0.0]);
    let fitted = fit(&LpsrParams { depth: 0, ..small() }, &Dataset::from_rows(&rows, 1, 3).unwrap());
    assert_eq!(fitted.rank(&[0], None, ALL).iter().map(|(label, _)| *label).collect::<Vec<_>>(), [1, 0]);
    rows.weights = Some(vec![0.0; 3]);
    let none = small().fit(&Dataset::from_rows(&rows, 1, 3).unwrap(), &mut Run::default());
    assert_eq!(none.unwrap_err().to_string(), "every example has the weight 0");
}

#[test]
fn arrays_hold_everything() {
    let fitted = fit(&small(), &data(&clusters(300), 22, 16));
    assert_eq!(Lpsr::from_arrays(&fitted.arrays(), (22, 16)).unwrap(), fitted);
    assert!(Lpsr::from_arrays(&fitted.arrays(), (3, 16)).is_err());
    assert!(Lpsr::from_arrays(&fitted.arrays(), (22, 3)).is_err());
}

#[test]
fn damaged_arrays_are_refused_or_still_rank() {
    let fitted = fit(&small(), &data(&clusters(200), 22, 16));
    let refused = damage::each(&fitted.arrays(), 4000, |arrays| {
        let Ok(fitted) = Lpsr::from_arrays(arrays, (22, 16)) else { return false };
        let best = fitted.rank(&[0, 1, 17], None, ALL);
        assert!(best.iter().all(|(label, p)| *label < 16 && (0.0..=1.0).contains(p)), "{best:?}");
        true
    });
    assert!(refused > 2000, "{refused}");
}
