use super::*;
use crate::linalg::buffer::Buffer;
use crate::linalg::csr::Csr;
use crate::linalg::kernels::dots::narrow;
use crate::linalg::matrix::Matrix;
use crate::score::scorer::Labels;
use crate::{Error, Run};
use half::bf16;

/// Features with values, and labels.
type Example<'a> = (&'a [(u32, f32)], &'a [u32]);

fn examples(rows: &[Example<'_>]) -> (Csr, Csr) {
    let (mut x, mut y) = (Csr::new(false), Csr::new(true));
    for (features, labels) in rows {
        features.iter().for_each(|(id, value)| x.push(*id, *value));
        x.end_row();
        labels.iter().for_each(|label| y.push(*label, 1.0));
        y.end_row();
    }
    (x, y)
}

fn seen<'a>((x, y): &'a (Csr, Csr), weights: Option<&'a [f32]>, (d, c): (usize, usize)) -> RankerData<'a> {
    RankerData { x: x.view(), y: y.view(), weights, d, c }
}

fn fit(examples: &(Csr, Csr), size: (usize, usize)) -> Ranker {
    Ranker::fit(seen(examples, None, size), &mut Run::default()).unwrap()
}

/// What some examples add to the scores of all labels.
fn scores(ranker: &Ranker, x: &Csr, c: usize) -> Matrix {
    let mut scores = Matrix::zeros(x.rows(), c);
    for (i, candidates) in ranker.propose_all(x.view()).iter().enumerate() {
        Labels::Range(0..c as u32).add(candidates, scores.row_mut(i));
    }
    scores
}

/// Other numbers in a buffer.
fn edit<T: bytemuck::Pod>(buffer: &mut Buffer<T>, change: impl FnOnce(&mut Vec<T>)) {
    let mut numbers = buffer.to_vec();
    change(&mut numbers);
    *buffer = numbers.into();
}

fn small() -> (Csr, Csr) {
    examples(&[
        (&[(0, 1.0), (1, 2.0)], &[0, 2]),
        (&[(0, 3.0)], &[2]),
        (&[(1, 1.0), (3, -1.0)], &[1]),
        (&[(3, 5.0)], &[]),
        (&[(0, 9.0), (3, 9.0)], &[0, 1, 2]),
    ])
}

/// Sums by hand: without the last example the squares are 10, 5, 0 and 26, and ρ is the mean of those that are not 0.
#[test]
fn weights_are_roots_of_single_regressions() {
    let sums = FeatureLabelMatrix::association_table(seen(&small(), Some(&[1.0, 1.0, 1.0, 1.0, 0.0]), (4, 3)), 0.5);
    let rho = 41.0 / 3.0;
    let expected = [
        (0, 0, 1.0 / (10.0 + rho)),
        (0, 2, 4.0 / (10.0 + rho)),
        (1, 0, 2.0 / (5.0 + rho)),
        (1, 1, 1.0 / (5.0 + rho)),
        (1, 2, 2.0 / (5.0 + rho)),
        (3, 1, -1.0 / (26.0 + rho)),
    ];
    assert_eq!(sums.labels.len(), expected.len());
    for (feature, label, square) in expected {
        let root = f32::abs(square).sqrt().copysign(square);
        let weight = sums.weight(feature, label);
        assert!((weight / root - 1.0).abs() < 0.01, "{feature}, {label}: {weight} and {root}");
    }
    assert_eq!((sums.weight(2, 0), sums.weight(3, 0)), (0.0, 0.0));
    assert!(sums.check(4, 3).is_ok());
}

#[test]
fn weights_of_examples_count() {
    let weighed = FeatureLabelMatrix::association_table(seen(&small(), Some(&[1.0, 2.0, 0.0, 1.0, 0.0]), (4, 3)), 0.5);
    let copied =
        examples(&[(&[(0, 1.0), (1, 2.0)], &[0, 2]), (&[(0, 3.0)], &[2]), (&[(0, 3.0)], &[2]), (&[(3, 5.0)], &[])]);
    assert_eq!(weighed, FeatureLabelMatrix::association_table(seen(&copied, None, (4, 3)), 0.5));
}

/// What is added to a label is the sum of what its features say, where it is a candidate of the example; all labels, a part of
/// them or some: each gets the same to the last bit.
#[test]
fn scores_are_sums_of_contributions_to_the_candidates() {
    let (small, mut count) = (small(), 0);
    let x = &small.0;
    for most in [1, 3] {
        let ranker = Ranker { weight: 3.0, most, ..fit(&small, (4, 3)) };
        let all = scores(&ranker, x, 3);
        for i in 0..x.rows() {
            let candidates = ranker.propose(x.view().row(i), &mut SparseAccumulator::default());
            assert!(candidates.len() <= most as usize && candidates.is_sorted_by(|a, b| a.0 < b.0));
            count += candidates.len();
            for label in 0..3 {
                let sum: f32 = x.view().entries(i).map(|(f, value)| value * ranker.contribution(f, label)).sum();
                let is_candidate = candidates.iter().any(|(other, _)| *other == label);
                let expected = if is_candidate { ranker.start(label) + sum } else { 0.0 };
                assert!((all.row(i)[label as usize] - expected).abs() < 1e-5 * (1.0 + expected.abs()));
            }
            let (mut part, mut some) = ([0.0; 2], [0.0; 2]);
            Labels::Range(1..3).add(&candidates, &mut part);
            Labels::Some(&[0, 2]).add(&candidates, &mut some);
            assert_eq!((part[0], part[1], some[0], some[1]), {
                let row = all.row(i);
                (row[1], row[2], row[0], row[2])
            });
        }
    }
    assert!(count > 8);
}

/// Candidates of an example are the labels of which its features say most, and none of which they say no.
#[test]
fn the_leading_labels_are_candidates() {
    let sums = FeatureLabelMatrix {
        starts: vec![0, 3, 5].into(),
        labels: vec![0, 1, 2, 1, 3].into(),
        weights: [1.0, 2.0, 3.0, 2.0, -1.0].map(narrow).to_vec().into(),
    };
    let leading =
        |most, own: &[u32]| sums.leading((&[0, 1], Some(&[1.0, 0.75])), most, own, &mut SparseAccumulator::default());
    assert_eq!(leading(9, &[]), [(0, 1.0), (1, 3.5), (2, 3.0)]);
    assert_eq!(leading(2, &[]), [(1, 3.5), (2, 3.0)]);
    assert_eq!(leading(2, &[1]), [(0, 1.0), (2, 3.0)]);
    let negative = sums.leading((&[1], Some(&[-1.0])), 9, &[], &mut SparseAccumulator::default());
    assert_eq!(negative, [(3, 1.0)]);
}

/// A long list is searched for each label, a short one read: with the same result.
#[test]
fn long_lists_say_the_same() {
    let count = 1000u32;
    let weights: Vec<bf16> = (0..count).map(|label| narrow((label % 7) as f32)).collect();
    let labels: Vec<u32> = (0..count).collect();
    let starts = vec![0, u64::from(count)];
    let long = FeatureLabelMatrix { starts: starts.into(), labels: labels.into(), weights: weights.into() };
    for asked in [vec![3, 500, 999], (0..count).collect()] {
        let labels: Vec<(u32, f32)> = asked.iter().map(|label| (*label, 0.0)).collect();
        let sums = long.sums((&[0], None), &labels, &mut SparseAccumulator::default());
        assert_eq!(sums, asked.iter().map(|label| (label % 7) as f32).collect::<Vec<_>>());
    }
}

/// A feature that occurs with everything keeps the labels that it says most of.
#[test]
fn lists_are_limited() {
    let (mut x, mut y) = (Csr::new(true), Csr::new(true));
    for label in 0..1000u32 {
        for _ in 0..1 + label % 2 {
            x.push(0, 1.0);
            x.end_row();
            y.push(label, 1.0);
            y.end_row();
        }
    }
    let sums = FeatureLabelMatrix::association_table(seen(&(x, y), None, (1, 1000)), 0.5);
    assert_eq!(sums.labels.len(), 512);
    assert!((0..500).all(|half| sums.weight(0, 2 * half + 1) > 0.0));
}

#[test]
fn nothing_says_nothing() {
    let empty = examples(&[(&[], &[]), (&[], &[1])]);
    let ranker = fit(&empty, (3, 2));
    assert_eq!(ranker.pairs(), 0);
    assert!(scores(&ranker, &empty.0, 2).as_slice().iter().all(|score| *score == 0.0));
}

#[test]
fn damage_is_noticed() {
    let good = fit(&small(), (4, 3));
    assert!(good.check(4, 3).is_ok());
    let damages: [fn(&mut Ranker); 11] = [
        |r| edit(&mut r.associations.starts, |starts| starts[1] = 99),
        |r| edit(&mut r.associations.labels, |labels| labels[0] = 3),
        |r| edit(&mut r.associations.labels, |labels| labels.swap(0, 1)),
        |r| edit(&mut r.associations.weights, |weights| weights[0] = bf16::INFINITY),
        |r| r.weight = f32::NAN,
        |r| r.association_weight = f32::INFINITY,
        |r| edit(&mut r.associations.weights, |weights| weights.truncate(2)),
        |r| edit(&mut r.one_vs_rest.starts, |starts| starts[1] = 99),
        |r| edit(&mut r.one_vs_rest.labels, |labels| labels[0] = 3),
        |r| edit(&mut r.constants, |constants| constants[1] = f32::NAN),
        |r| edit(&mut r.constants, |constants| constants.truncate(2)),
    ];
    for damage in damages {
        let mut bad = good.clone();
        damage(&mut bad);
        assert!(bad.check(4, 3).is_err());
    }
    assert!(good.check(5, 3).is_err() && good.check(4, 2).is_err());
}

/// Labels that share their words: 0 and 1 both have feature 0, and only feature 1 or 2 tells them apart. Feature 3 is
/// everywhere.
fn alike() -> (Csr, Csr) {
    let mut rows: Vec<Example<'_>> = Vec::new();
    for i in 0..60 {
        rows.push(match i % 3 {
            0 => (&[(0, 2.0), (1, 0.5), (3, 1.0)], &[0]),
            1 => (&[(0, 2.0), (2, 0.5), (3, 1.0)], &[1]),
            _ => (&[(3, 1.0), (4, 1.0)], &[2]),
        });
    }
    examples(&rows)
}

/// Sums give most weight to what labels share; separating weights to what tells them apart.
#[test]
fn labels_are_told_from_those_that_they_are_mistaken_for() {
    let fitted = fit(&alike(), (5, 3));
    let (associations, one_vs_rest) = (&fitted.associations, &fitted.one_vs_rest);
    assert!(fitted.check(5, 3).is_ok());
    let apart = |matrix: &FeatureLabelMatrix| {
        [(1, 0, 1), (2, 1, 0)].map(|(f, own, other)| matrix.weight(f, own) - matrix.weight(f, other))
    };
    let (before, after) = (apart(associations), apart(one_vs_rest));
    assert!((0..2).all(|i| after[i] > before[i] + 0.5), "{before:?} became {after:?}");
    // A word that tells nothing from anything says the same of both.
    let shared = [0, 1].map(|label| one_vs_rest.weight(0, label));
    assert!((shared[0] - shared[1]).abs() < 0.05, "{shared:?}");
}

/// Examples, features and labels enough that every loop has several tasks.
#[test]
fn a_ranker_is_the_same_for_any_number_of_threads() {
    let (mut x, mut y) = (Csr::new(false), Csr::new(true));
    for i in 0..2000u32 {
        let mut ids = [i % 97, 97 + i * i % 203, 300 + i * 7 % 199];
        ids.sort_unstable();
        ids.into_iter().for_each(|id| x.push(id, 1.0 + (i % 3) as f32));
        x.end_row();
        y.push(i % 97, 1.0);
        y.end_row();
    }
    let many = (x, y);
    let fitted = || {
        let ranker = fit(&many, (500, 97));
        let scores = scores(&ranker, &many.0, 97);
        (ranker, scores)
    };
    let on = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(fitted);
    let one = on(1);
    assert!(one.0.one_vs_rest.labels.len() > 500 && one.0.constants.iter().any(|b| *b != 0.0));
    assert_eq!(one, on(3));
}

/// Half of the examples left out, or given no weight.
#[test]
fn examples_without_weight_are_not_there() {
    let (x, y) = alike();
    let (mut half_x, mut half_y) = (Csr::new(false), Csr::new(true));
    half_x.extend_rows(x.view(), 0, 30);
    half_y.extend_rows(y.view(), 0, 30);
    let weights: Vec<f32> = (0..60).map(|i| if i < 30 { 1.0 } else { 0.0 }).collect();
    let whole = (x, y);
    let weighed = Ranker::fit(seen(&whole, Some(&weights), (5, 3)), &mut Run::default()).unwrap();
    let half = fit(&(half_x, half_y), (5, 3));
    assert_eq!(weighed, half);
}

/// What an example says depends on its direction and not on the unit of its values.
#[test]
fn scores_do_not_depend_on_the_unit_of_values() {
    let (x, y) = alike();
    let mut large = Csr::new(false);
    for i in 0..x.rows() {
        x.view().entries(i).for_each(|(id, value)| large.push(id as u32, 1000.0 * value));
        large.end_row();
    }
    let of = |x: Csr| {
        let examples = (x, y.clone());
        scores(&fit(&examples, (5, 3)), &examples.0, 3)
    };
    let (small, large) = (of(x.clone()), of(large));
    for (small, large) in small.as_slice().iter().zip(large.as_slice()) {
        assert!((small - large).abs() < 0.02 * (1.0 + small.abs()), "{small} and {large}");
    }
}

#[test]
fn a_fit_can_be_cancelled() {
    let alike = alike();
    let mut calls = 0;
    let mut run = Run::watched(|progress| {
        assert_eq!(progress.stage, "ranker");
        calls += 1;
        calls < 2
    });
    assert!(matches!(Ranker::fit(seen(&alike, None, (5, 3)), &mut run), Err(Error::Cancelled)));
}
