use super::*;
use crate::csr::Csr;

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
    let (x, y) = small();
    let evidence = Evidence::fit((x.view(), y.view()), None, (4, 3), |i| i != 4);
    let rho = 41.0 / 3.0;
    let expected = [
        (0, 0, 1.0 / (10.0 + rho)),
        (0, 2, 4.0 / (10.0 + rho)),
        (1, 0, 2.0 / (5.0 + rho)),
        (1, 1, 1.0 / (5.0 + rho)),
        (1, 2, 2.0 / (5.0 + rho)),
        (3, 1, -1.0 / (26.0 + rho)),
    ];
    assert_eq!(evidence.pairs(), expected.len());
    for (feature, label, square) in expected {
        let root = f32::abs(square).sqrt().copysign(square);
        let share = evidence.view().share(feature, label);
        assert!((share / root - 1.0).abs() < 0.01, "{feature}, {label}: {share} and {root}");
    }
    assert_eq!((evidence.view().share(2, 0), evidence.view().share(3, 0)), (0.0, 0.0));
    assert!(evidence.view().check(4, 3).is_ok());
}

#[test]
fn weights_of_examples_count() {
    let (x, y) = small();
    let weighed = Evidence::fit((x.view(), y.view()), Some(&[1.0, 2.0, 0.0, 1.0, 0.0]), (4, 3), |_| true);
    let (x, y) =
        examples(&[(&[(0, 1.0), (1, 2.0)], &[0, 2]), (&[(0, 3.0)], &[2]), (&[(0, 3.0)], &[2]), (&[(3, 5.0)], &[])]);
    assert_eq!(weighed, Evidence::fit((x.view(), y.view()), None, (4, 3), |_| true));
}

/// All labels, a part of them or some: each gets the same to the last bit.
#[test]
fn scores_are_sums_of_shares() {
    let (x, y) = small();
    let evidence = Evidence { gain: 3.0, ..Evidence::fit((x.view(), y.view()), None, (4, 3), |_| true) };
    let view = evidence.view();
    let all = view.scores(x.view(), 3);
    for i in 0..x.rows() {
        for label in 0..3 {
            let sum: f32 = x.view().entries(i).map(|(f, value)| value * view.share(f, label)).sum();
            assert!((all.row(i)[label as usize] - sum).abs() < 1e-5 * (1.0 + sum.abs()));
        }
        let (mut part, mut some) = ([0.0; 2], [0.0; 2]);
        view.add(x.view().row(i), &Labels::Range(1..3), &mut part);
        view.add(x.view().row(i), &Labels::some(&[0, 2]), &mut some);
        assert_eq!((part[0], part[1], some[0], some[1]), {
            let row = all.row(i);
            (row[1], row[2], row[0], row[2])
        });
    }
    assert_eq!(view.scores(x.view(), 0).rows(), 5);
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
    let evidence = Evidence::fit((x.view(), y.view()), None, (1, 1000), |_| true);
    assert_eq!(evidence.pairs(), 512);
    assert!((0..500).all(|half| evidence.view().share(0, 2 * half + 1) > 0.0));
}

#[test]
fn nothing_says_nothing() {
    let (x, y) = examples(&[(&[], &[]), (&[], &[1])]);
    let evidence = Evidence::fit((x.view(), y.view()), None, (3, 2), |_| true);
    assert_eq!(evidence.pairs(), 0);
    assert!(evidence.view().scores(x.view(), 2).as_slice().iter().all(|score| *score == 0.0));
}

#[test]
fn damage_is_noticed() {
    let (x, y) = small();
    let good = Evidence::fit((x.view(), y.view()), None, (4, 3), |_| true);
    let damages: [fn(&mut Evidence); 6] = [
        |e| e.starts[1] = 99,
        |e| e.labels[0] = 3,
        |e| e.labels.swap(0, 1),
        |e| e.weights[0] = 0x7f80,
        |e| e.gain = f32::NAN,
        |e| e.weights.truncate(2),
    ];
    for damage in damages {
        let mut bad = good.clone();
        damage(&mut bad);
        assert!(bad.view().check(4, 3).is_err());
    }
    assert!(good.view().check(5, 3).is_err() && good.view().check(4, 2).is_err());
}
