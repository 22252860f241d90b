//! Promises of the pursuit.

use super::*;
use crate::linalg::random::fill_normal;
use crate::linalg::table::Table;
use crate::metrics::rank;
use crate::score::head::Head;
use crate::score::scorer::head_scores;

/// Scores of all labels, as prediction gives them.
fn scores(rows: &Matrix, h: &Matrix, atoms: usize) -> Matrix {
    head_scores(&Table::from(rows.clone()), &Head::Pursuit { atoms }, h)
}

/// Random rows of length 1.
fn rows(c: usize, k: usize, seed: u64) -> Matrix {
    let mut rows = Matrix::zeros(c, k);
    fill_normal(&mut rows, 0, seed);
    for i in 0..c {
        let length = inner(rows.row(i), rows.row(i)).sqrt() as f32;
        rows.row_mut(i).iter_mut().for_each(|v| *v /= length);
    }
    rows
}

/// `count` different labels of example `i`.
fn labels_of(i: usize, count: usize, c: usize) -> Vec<u32> {
    let mut labels: Vec<u32> =
        (0..).map(|j| ((i * 7919 + j * j * 104_729 + j * 31) % c) as u32).take(4 * count).collect();
    labels.dedup();
    let mut unique = Vec::new();
    labels.into_iter().for_each(|l| {
        if !unique.contains(&l) {
            unique.push(l)
        }
    });
    unique.truncate(count);
    unique.sort_unstable();
    unique
}

/// Σ w·row of some labels.
fn sum(rows: &Matrix, labels: &[(u32, f32)]) -> Vec<f32> {
    let mut h = vec![0.0; rows.cols()];
    for (label, weight) in labels {
        h.iter_mut().zip(rows.row(*label as usize)).for_each(|(h, v)| *h += weight * v);
    }
    h
}

#[test]
fn planted_labels_are_found_again() {
    // A tenth as many numbers as labels, and more than 2·8·ln 2000 = 122, which is what it takes.
    let (c, k) = (2000, 200);
    let rows = rows(c, k, 1);
    for count in [1, 3, 8] {
        let planted: Vec<Vec<u32>> = (0..60).map(|i| labels_of(i, count, c)).collect();
        let pairs = |labels: &Vec<u32>| labels.iter().map(|l| (*l, 1.0)).collect::<Vec<_>>();
        let h: Vec<f32> = planted.iter().flat_map(|labels| sum(&rows, &pairs(labels))).collect();
        let scores = scores(&rows, &Matrix::from_vec(60, k, h), count);
        for (i, planted) in planted.iter().enumerate() {
            let mut best = rank(scores.row(i), count);
            best.sort_unstable();
            assert_eq!(best, *planted, "{count} labels, example {i}");
            assert!(planted.iter().all(|l| (scores.row(i)[*l as usize] - 1.0).abs() < 1e-4));
        }
    }
}

#[test]
fn inner_products_alone_would_not_find_them() {
    // The reason for the pursuit: strong labels hide weak ones behind what is alike in their rows.
    let (c, k, count) = (2000, 120, 8);
    let rows = rows(c, k, 1);
    let planted: Vec<Vec<u32>> = (0..60).map(|i| labels_of(i, count, c)).collect();
    let wrong = |labels: &&Vec<u32>| {
        let h = sum(&rows, &labels.iter().map(|l| (*l, 1.0)).collect::<Vec<_>>());
        let products: Vec<f32> = (0..c).map(|l| inner(rows.row(l), &h) as f32).collect();
        let mut best = rank(&products, count);
        best.sort_unstable();
        best != **labels
    };
    assert!(planted.iter().filter(wrong).count() > 30);
}

#[test]
fn the_others_come_below_in_the_order_of_what_is_left() {
    let (c, k) = (300, 20);
    let rows = rows(c, k, 4);
    let mut h = Matrix::zeros(40, k);
    fill_normal(&mut h, 0, 5);
    for atoms in [1, 3, 7] {
        let found = Pursuit::new(&rows, &h, atoms);
        let scores = scores(&rows, &h, atoms);
        for i in 0..40 {
            let taken = &found.examples[i].labels;
            assert_eq!(taken.len(), atoms);
            let mut best = rank(scores.row(i), c);
            let others = best.split_off(atoms);
            assert!(best.iter().all(|l| taken.contains(l)), "{best:?} for {taken:?}");
            let left: Vec<f64> = others.iter().map(|l| inner(rows.row(*l as usize), found.rest.row(i))).collect();
            assert!(left.is_sorted_by(|a, b| *a >= *b - 1e-5), "{left:?}");
            // The residual is orthogonal to the rows that were taken.
            assert!(taken.iter().all(|l| inner(rows.row(*l as usize), found.rest.row(i)).abs() < 1e-4));
        }
    }
}

#[test]
fn it_ends_when_nothing_is_to_be_gained() {
    let rows = rows(50, 8, 2);
    // One label, and room for more; nothing at all; the opposite of a label.
    let examples = [sum(&rows, &[(7, 1.0)]), vec![0.0; 8], vec![f32::NAN; 8], vec![f32::INFINITY; 8]];
    let found = Pursuit::new(&rows, &Matrix::from_vec(4, 8, examples.concat()), 5);
    let taken: Vec<&[u32]> = found.examples.iter().map(|example| &example.labels[..]).collect();
    assert_eq!(taken, [&[7][..], &[], &[], &[]]);
    // Two rows that are the same, and one that is the negative of another: only one of them can be taken.
    let mut twice = Matrix::from_vec(3, 2, vec![1.0, 0.0, 1.0, 0.0, -1.0, 0.0]);
    let found = Pursuit::new(&twice, &Matrix::from_vec(2, 2, vec![1.0, 0.0, -1.0, 0.0]), 3);
    assert_eq!((&found.examples[0].labels[..], &found.examples[1].labels[..]), (&[0][..], &[2][..]));
    twice.as_mut_slice().fill(0.0);
    let scores = scores(&twice, &Matrix::from_vec(1, 2, vec![1.0, 1.0]), 2);
    assert!(scores.as_slice().iter().all(|s| *s == 0.0));
}
