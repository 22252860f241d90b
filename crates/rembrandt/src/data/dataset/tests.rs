//! Products, moments and selections against sums over the rows.

use super::*;
use crate::Examples;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// Rows with few and many entries, empty ones, very large ids and weights.
fn rows(n: usize, d: u32, c: u32) -> Rows {
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    let mut rows = Rows::new();
    for _ in 0..n {
        for (csr, width) in [(&mut rows.x, d), (&mut rows.y, c)] {
            let mut ids: Vec<u32> = (0..rng.next_u32() % 7).map(|_| rng.next_u32() % width).collect();
            ids.sort_unstable();
            ids.dedup();
            ids.iter().for_each(|id| csr.push(*id, (1 + id % 5) as f32 / 4.0));
            csr.end_row();
        }
    }
    rows.weights = Some((0..n).map(|i| (i % 3) as f32).collect());
    rows
}

/// Aᵀ W B z, entry by entry.
fn exact(rows: &Rows, sides: [Side; 2], z: &Matrix, height: usize) -> Vec<Vec<f64>> {
    let mut out = vec![vec![0.0; z.cols()]; height];
    let [a, b] = sides.map(|side| if side == Side::X { rows.x.view() } else { rows.y.view() });
    for i in 0..rows.len() {
        for (row, left) in a.entries(i) {
            for (id, right) in b.entries(i) {
                for (out, z) in out[row].iter_mut().zip(z.row(id)) {
                    *out += f64::from(left) * f64::from(rows.weights.as_ref().unwrap()[i]) * f64::from(right * z);
                }
            }
        }
    }
    out
}

#[test]
fn products_are_right_for_any_chunk_size() {
    let (n, d, c) = (97, 60, 50);
    let rows = rows(n, d, c);
    for chunk in [1, 7, 96, 97, 1000] {
        let data = Dataset::in_chunks_of(chunk, &rows, d as usize, c as usize).unwrap();
        assert_eq!(data.chunks(), n.div_ceil(chunk));
        for sides in [[Side::X, Side::X], [Side::X, Side::Y], [Side::Y, Side::X], [Side::Y, Side::Y]] {
            let [height, inner] = sides.map(|side| data.shape().width(side));
            let z = Matrix::from_fn(inner, 70, |i, j| ((i * 31 + j * 17) % 11) as f32 - 5.0);
            let mut out = Matrix::from_fn(height, 70, |_, _| f32::NAN);
            data.cross(sides[0], sides[1], z.view(), out.view_mut()).unwrap();
            for (i, row) in exact(&rows, sides, &z, height).iter().enumerate() {
                assert!(row.iter().zip(out.row(i)).all(|(e, o)| (e - f64::from(*o)).abs() < 1e-3), "{sides:?}");
            }
        }
    }
}

#[test]
fn products_of_the_same_data_may_run_side_by_side() {
    let data = Dataset::in_chunks_of(500, &rows(5000, 300, 200), 300, 200).unwrap();
    let z = Matrix::from_fn(300, 64, |i, j| ((i + 3 * j) % 7) as f32);
    let product = || {
        let mut out = Matrix::zeros(300, 64);
        data.cross(Side::X, Side::X, z.view(), out.view_mut()).unwrap();
        out
    };
    let expected = product();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(4).build().unwrap();
    pool.install(|| (0..50).into_par_iter().for_each(|_| assert_eq!(product(), expected)));
}

#[test]
fn selected_examples_are_those_asked_for() {
    let rows = rows(97, 60, 50);
    let data = Dataset::in_chunks_of(16, &rows, 60, 50).unwrap();
    let some = data.select(|i| i % 4 == 1).unwrap();
    let mut expected = Rows { weights: Some(Vec::new()), ..Rows::new() };
    for i in (0..97).filter(|i| i % 4 == 1) {
        expected.x.extend_rows(rows.x.view(), i, i + 1);
        expected.y.extend_rows(rows.y.view(), i, i + 1);
        expected.weights.as_mut().unwrap().push(rows.weights.as_ref().unwrap()[i]);
    }
    assert_eq!(some.shape(), Shape { n: 24, d: 60, c: 50 });
    assert_eq!(some.weights().unwrap(), expected.weights);
    let z = Matrix::from_fn(60, 3, |i, j| (i * 3 + j) as f32);
    let exact = Dataset::from_rows(&expected, 60, 50).unwrap();
    assert_eq!(some.gather_features(z.view()).unwrap(), exact.gather_features(z.view()).unwrap());
    assert_eq!(some.labels().unwrap().view().ids, expected.y.view().ids);
    assert_eq!(data.select(|_| false).unwrap().shape().n, 0);
}

#[test]
fn very_large_ids_do_not_cost_memory() {
    let mut rows = Rows::new();
    for id in [4_000_000_000, 7, 4_000_000_000] {
        rows.x.push(id, 2.0);
        rows.x.end_row();
        rows.y.push(id - 1, 1.0);
        rows.y.end_row();
    }
    let data = Dataset::from_rows(&rows, 4_000_000_001, 4_000_000_000).unwrap();
    assert_eq!((data.nnz(Side::X), data.nnz(Side::Y)), (3, 3));
    assert!(data.bytes() < 10_000);
}

#[test]
fn moments_count_weights() {
    let rows = rows(50, 20, 10);
    let data = Dataset::in_chunks_of(8, &rows, 20, 10).unwrap();
    let moments = data.moments(Side::X).unwrap();
    assert_eq!(moments.weight, (0..50).map(|i| f64::from(i % 3)).sum::<f64>());
    assert_eq!(moments.entries, rows.x.nnz() as u64);
    let mut square = vec![0.0; 20];
    for i in 0..50 {
        rows.x.view().entries(i).for_each(|(id, v)| square[id] += (i % 3) as f64 * f64::from(v * v));
    }
    assert!(moments.square.iter().zip(square).all(|(a, b)| (a - b).abs() < 1e-9));
}

#[test]
fn matrices_make_the_same_data_as_rows() {
    let rows = rows(97, 60, 50);
    let data = Dataset::from_rows(&rows, 60, 50).unwrap();
    let of_csr = Dataset::from_csr(rows.x.view(), 60, rows.y.view(), 50, rows.weights.as_deref()).unwrap();
    assert_eq!(of_csr.fingerprint(), data.fingerprint());
    let names = |count: usize| Some((0..count).map(|i| i.to_string()).collect::<Vec<_>>());
    let named = of_csr.with_names(names(50), names(60)).unwrap();
    assert_eq!((named.label_names().unwrap().len(), named.feature_names().unwrap().len()), (50, 60));
    assert!(!named.has_words(Side::Y) && named.with_names(names(49), None).is_err());
}

#[test]
fn matrices_that_are_not_sound_are_refused() {
    let y = CsrRef { ptr: &[0, 1, 2], ids: &[0, 1], values: None };
    let made = |ptr: &[u32], ids: &[u32], values: Option<&[f32]>, weights: Option<&[f32]>| {
        Dataset::from_csr(CsrRef { ptr, ids, values }, 3, y, 2, weights).map(|data| data.shape().n)
    };
    assert_eq!(made(&[0, 2, 3], &[0, 2, 1], Some(&[1.0, 2.0, 3.0]), Some(&[0.0, 1.0])).unwrap(), 2);
    for (ptr, ids, values, weights, reason) in [
        (&[][..], &[][..], None, None, "offsets"),
        (&[0, 2, 1], &[0, 1], None, None, "offsets"),
        (&[1, 2, 2], &[0, 1], None, None, "offsets"),
        (&[0, 1, 3], &[0, 1], None, None, "offsets"),
        (&[0, 1], &[0], None, None, "different numbers of rows"),
        (&[0, 1, 2], &[0, 1], Some(&[1.0][..]), None, "number of values"),
        (&[0, 2, 2], &[1, 1], None, None, "number 1, whose ids are not ascending"),
        (&[0, 0, 2], &[1, 0], None, None, "number 2, whose ids are not ascending"),
        (&[0, 1, 2], &[0, 3], None, None, "number 2, with the id 3, but only 3 columns"),
        (&[0, 1, 2], &[0, 1], Some(&[1.0, f32::NAN]), None, "number 2, with the value NaN"),
        (&[0, 1, 2], &[0, 1], None, Some(&[1.0][..]), "different numbers of rows"),
        (&[0, 1, 2], &[0, 1], None, Some(&[1.0, -1.0]), "not negative"),
    ] {
        let message = made(ptr, ids, values, weights).unwrap_err().to_string();
        assert!(message.contains(reason), "{message}");
    }
}
