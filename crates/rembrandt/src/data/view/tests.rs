//! Every combination of settings, in both orders, against dense matrices that were changed step by step.

use super::*;
use crate::Shape;
use crate::data::Rows;

const D: usize = 12;
const C: usize = 30;
const SIDES: [[Side; 2]; 4] = [[Side::X, Side::X], [Side::X, Side::Y], [Side::Y, Side::X], [Side::Y, Side::Y]];

/// Rows of both signs, some of them empty; labels 1, 4, 7, … of 30 and examples without any; weights.
fn rows(labels_each: u32) -> Rows {
    let mut rows = Rows::new();
    for i in 0..100u32 {
        let values = [(1 + i % 4) as f32, -((i % 3) as f32) - 0.5];
        if i % 10 != 9 {
            [i % 7, 7 + i % 5].into_iter().zip(values).for_each(|(id, value)| rows.x.push(id, value));
        }
        rows.x.end_row();
        if i % 9 != 4 {
            (0..labels_each).for_each(|j| rows.y.push(1 + 3 * (i % 7 + j), (1 + i % 2) as f32));
        }
        rows.y.end_row();
    }
    rows.weights = Some((0..100).map(|i| (i % 5) as f32 / 2.0).collect());
    rows
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Setting {
    Weights,
    Rows,
    Sum,
    Length,
    Active,
    Bias,
    Center,
}
use Setting::*;

fn weight(i: usize) -> f32 {
    (i % 4) as f32 / 2.0
}

fn keep(i: usize) -> bool {
    i % 3 != 1
}

fn apply<'a>(view: View<'a>, setting: Setting) -> View<'a> {
    let n = view.data.shape().n;
    let changed = match setting {
        Weights => view.weights((0..n).map(weight).collect()),
        Rows => view.rows(keep),
        Sum => view.scale_rows(RowScale::Sum),
        Length => view.scale_rows(RowScale::Length),
        Active => view.only_active_labels(),
        Bias | Center => unreachable!("these come on top"),
    };
    changed.unwrap()
}

/// Calls `check` with the examples under all of `corrections`.
fn corrected(examples: &dyn Examples, corrections: &[Setting], check: &mut dyn FnMut(&dyn Examples)) {
    match corrections.split_first() {
        None => check(examples),
        Some((Bias, rest)) => corrected(&BiasCenter::bias(examples).unwrap(), rest, check),
        Some((_, rest)) => corrected(&BiasCenter::centered(examples).unwrap(), rest, check),
    }
}

/// The same, written down.
struct Dense {
    /// Numbers of the rows in the data.
    ids: Vec<usize>,
    x: Vec<Vec<f64>>,
    y: Vec<Vec<f64>>,
    w: Vec<f64>,
}

impl Dense {
    fn new(rows: &Rows) -> Dense {
        let dense = |csr: &crate::linalg::csr::Csr, width: usize| {
            let mut all = vec![vec![0.0; width]; csr.rows()];
            for (i, row) in all.iter_mut().enumerate() {
                csr.view().entries(i).for_each(|(id, v)| row[id] = f64::from(v));
            }
            all
        };
        let w = rows.weights.as_ref().unwrap().iter().map(|w| f64::from(*w)).collect();
        Dense { ids: (0..rows.len()).collect(), x: dense(&rows.x, D), y: dense(&rows.y, C), w }
    }

    fn apply(&mut self, setting: Setting) {
        match setting {
            Weights => self.w.iter_mut().zip(&self.ids).for_each(|(w, i)| *w *= f64::from(weight(*i))),
            Rows => {
                let mut kept = self.ids.iter().map(|i| keep(*i)).collect::<Vec<_>>().into_iter();
                self.x.retain(|_| kept.next().unwrap());
                kept = self.ids.iter().map(|i| keep(*i)).collect::<Vec<_>>().into_iter();
                self.y.retain(|_| kept.next().unwrap());
                kept = self.ids.iter().map(|i| keep(*i)).collect::<Vec<_>>().into_iter();
                self.w.retain(|_| kept.next().unwrap());
                self.ids.retain(|i| keep(*i));
            }
            Sum => self.divide(|row| row.iter().map(|v| v.abs()).sum()),
            Length => self.divide(|row| row.iter().map(|v| v * v).sum::<f64>().sqrt()),
            // Labels 1, 4, 7, …, as far as `rows` goes; rows that are left out do not matter.
            Active => self.y.iter_mut().for_each(|row| *row = row.iter().skip(1).step_by(3).copied().collect()),
            Bias => self.x.iter_mut().for_each(|row| row.push(1.0)),
            Center => {
                let total: f64 = self.w.iter().sum();
                for side in [&mut self.x, &mut self.y] {
                    for j in 0..side[0].len() {
                        let mean = side.iter().zip(&self.w).map(|(row, w)| w * row[j]).sum::<f64>() / total;
                        side.iter_mut().for_each(|row| row[j] -= mean);
                    }
                }
            }
        }
    }

    fn divide(&mut self, size: impl Fn(&[f64]) -> f64) {
        for row in &mut self.x {
            let size = size(row);
            row.iter_mut().filter(|_| size > 0.0).for_each(|v| *v /= size);
        }
    }

    fn side(&self, side: Side) -> &[Vec<f64>] {
        if side == Side::X { &self.x } else { &self.y }
    }

    fn cross(&self, [a, b]: [Side; 2], z: &Matrix) -> Vec<f64> {
        let (a, b) = (self.side(a), self.side(b));
        let mut out = vec![0.0; a[0].len() * z.cols()];
        for (i, w) in self.w.iter().enumerate() {
            for j in 0..z.cols() {
                let bz: f64 = b[i].iter().enumerate().map(|(id, v)| v * f64::from(z.row(id)[j])).sum();
                a[i].iter().enumerate().for_each(|(id, v)| out[id * z.cols() + j] += w * v * bz);
            }
        }
        out
    }
}

fn assert_near(found: impl IntoIterator<Item = f64>, expected: &[f64], what: &str) {
    let found: Vec<f64> = found.into_iter().collect();
    assert_eq!(found.len(), expected.len(), "{what}");
    let size = expected.iter().fold(1.0f64, |size, v| size.max(v.abs()));
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() <= 1e-5 * size, "{what}: {found} in place of {expected}");
    }
}

fn wide(m: &Matrix) -> impl Iterator<Item = f64> {
    m.as_slice().iter().map(|v| f64::from(*v))
}

fn assert_same(examples: &dyn Examples, dense: &Dense, what: &str) {
    let widths = SIDES.map(|[side, _]| dense.side(side)[0].len());
    assert_eq!(examples.shape(), Shape { n: dense.w.len(), d: widths[0], c: widths[3] }, "{what}");
    for [a, b] in SIDES {
        let z = Matrix::from_fn(examples.shape().width(b), 3, |i, j| ((i * 3 + j) % 7) as f32 - 2.0);
        let mut found = Matrix::from_fn(examples.shape().width(a), 3, |_, _| f32::NAN);
        examples.cross(a, b, z.view(), found.view_mut()).unwrap();
        assert_near(wide(&found), &dense.cross([a, b], &z), &format!("{what}, {a:?}ᵀW{b:?}"));
        if [a, b] == [Side::X, Side::X] {
            let product = dense.cross([a, b], &z);
            let squares = (0..3).map(|j| (0..z.rows()).map(|i| f64::from(z.row(i)[j]) * product[i * 3 + j]).sum());
            assert_near(examples.squares(z.view()).unwrap(), &squares.collect::<Vec<f64>>(), what);
        }
    }
    for side in [Side::X, Side::Y] {
        let (found, rows) = (examples.moments(side).unwrap(), dense.side(side));
        let sums = |power: i32| -> Vec<f64> {
            let column = |j: usize| rows.iter().zip(&dense.w).map(|(row, w)| w * row[j].powi(power)).sum();
            (0..rows[0].len()).map(column).collect()
        };
        assert_near([found.weight], &[dense.w.iter().sum()], what);
        assert_near(found.sum, &sums(1), what);
        assert_near(found.square, &sums(2), what);
    }
}

#[test]
fn settings_compose() {
    let settings = [Weights, Rows, Sum, Length, Active, Bias, Center];
    for labels_each in [1, 2] {
        let rows = rows(labels_each);
        let data = Dataset::in_chunks_of(16, &rows, D, C).unwrap();
        for (subset, reverse) in (0..1 << settings.len()).flat_map(|subset| [(subset, false), (subset, true)]) {
            let mut chosen: Vec<Setting> =
                (0..settings.len()).filter(|i| subset >> i & 1 == 1).map(|i| settings[i]).collect();
            if reverse {
                chosen.reverse();
            }
            // 1, 4, … are as many labels as occur, with one or two on an example.
            compare(&data, &rows, &chosen, 6 + labels_each as usize);
        }
    }
}

fn compare(data: &Dataset, rows: &Rows, chosen: &[Setting], active: usize) {
    let what = format!("{chosen:?}");
    let (corrections, settings): (Vec<Setting>, Vec<Setting>) =
        chosen.iter().partition(|setting| matches!(setting, Bias | Center));
    let (mut view, mut dense) = (data.view(), Dense::new(rows));
    for setting in settings {
        view = apply(view, setting);
        dense.apply(setting);
        if setting == Active {
            dense.y.iter_mut().for_each(|row| row.truncate(active));
        }
    }
    let z = Matrix::from_fn(D, 2, |i, j| (i + j) as f32 - 4.0);
    let gathered = view.gather_features(z.view()).unwrap();
    let expected = dense.x.iter().flat_map(|row| {
        let z = &z;
        (0..2).map(move |j| row.iter().enumerate().map(|(id, v)| v * f64::from(z.row(id)[j])).sum())
    });
    assert_near(wide(&gathered), &expected.collect::<Vec<f64>>(), &what);
    for side in [Side::X, Side::Y] {
        let entries = dense.side(side).iter().flatten().filter(|v| **v != 0.0).count();
        assert_eq!(view.moments(side).unwrap().entries, entries as u64, "{what}");
    }
    if let Some(product) = view.label_feature_product().unwrap() {
        assert_same(&product.over(&view), &dense, &what);
    } else {
        assert!(rows.y.nnz() > rows.len());
    }
    for correction in &corrections {
        dense.apply(*correction);
    }
    corrected(&view, &corrections, &mut |examples| {
        assert_same(examples, &dense, &what);
        assert_eq!(examples.active_labels().unwrap().is_none(), chosen.contains(&Active), "{what}");
    });
}

#[test]
fn rows_left_out_are_those_of_a_copy_without_them() {
    let data = Dataset::in_chunks_of(16, &rows(1), D, C).unwrap();
    let (view, copy) = (data.view().rows(keep).unwrap(), data.select(keep).unwrap());
    assert_eq!(view.shape(), copy.shape());
    for [a, b] in SIDES {
        let z = Matrix::from_fn(view.shape().width(b), 3, |i, j| (i * 3 + j) as f32);
        let [mut found, mut expected] = [(); 2].map(|()| Matrix::zeros(view.shape().width(a), 3));
        view.cross(a, b, z.view(), found.view_mut()).unwrap();
        copy.cross(a, b, z.view(), expected.view_mut()).unwrap();
        // Small numbers with few digits: sums are exact.
        assert_eq!(found, expected);
        assert_eq!(view.moments(a).unwrap(), copy.moments(a).unwrap());
    }
    // A second selection is one of the first.
    assert_eq!(view.rows(|i| i % 2 == 0).unwrap().shape(), data.select(|i| keep(i) && i % 2 == 0).unwrap().shape());
}

#[test]
fn bad_weights_are_refused() {
    let data = Dataset::from_rows(&rows(1), D, C).unwrap();
    assert!(data.view().weights(vec![1.0; 99]).is_err());
    assert!(data.view().weights(vec![-1.0; 100]).is_err());
    assert!(data.view().weights(vec![f32::NAN; 100]).is_err());
    let huge = data.view().weights(vec![f32::MAX; 100]).unwrap();
    assert!(huge.scale_rows(RowScale::Sum).is_err());
}

#[test]
fn rows_beyond_single_precision_are_named() {
    for (value, word) in [(1e20, "too large"), (1e-20, "too small")] {
        let mut rows = rows(1);
        rows.x.push(3, value);
        rows.x.end_row();
        rows.y.end_row();
        rows.weights.as_mut().unwrap().push(1.0);
        let data = Dataset::from_rows(&rows, D, C).unwrap();
        let message = data.view().scale_rows(RowScale::Length).err().unwrap().to_string();
        assert!(message.starts_with("example 101 ") && message.contains(word), "{message}");
        assert!(data.view().rows(|i| i < 100).unwrap().scale_rows(RowScale::Length).is_ok());
    }
}
