use super::columns::*;
use super::simd::Level;
use super::*;
use crate::linalg::csr::Csr;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// A sparse matrix and its transpose, as the data layer stores them.
struct Sparse {
    rows: Csr,
    ids: Vec<u32>,
    ptr: Vec<u32>,
    entries: Vec<u16>,
    values: Option<Vec<f32>>,
}

impl Sparse {
    fn transpose(&self) -> TransposeRef<'_> {
        TransposeRef { ids: &self.ids, ptr: &self.ptr, rows: &self.entries, values: self.values.as_deref() }
    }
}

/// Rows of up to `most` entries among `width` columns; some are empty, some the same as the one before.
fn sparse(height: usize, width: usize, most: usize, ones: bool, seed: u64) -> Sparse {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut rows = Csr::new(ones);
    let mut row: Vec<(u32, f32)> = Vec::new();
    for i in 0..height {
        if i % 5 != 4 {
            let len = if i % 3 == 0 || width == 0 { 0 } else { rng.random_range(0..=most) };
            row = (0..len).map(|_| (rng.random_range(0..width as u32), rng.random_range(-1.0..1.0))).collect();
            row.sort_unstable_by_key(|e| e.0);
            row.dedup_by_key(|e| e.0);
        }
        row.iter().for_each(|(id, v)| rows.push(*id, *v));
        rows.end_row();
    }
    let mut columns = vec![Vec::new(); width];
    for i in 0..height {
        rows.view().entries(i).for_each(|(id, v)| columns[id].push((i as u16, v)));
    }
    let (mut ids, mut ptr, mut entries, mut values) = (Vec::new(), vec![0], Vec::new(), Vec::new());
    for (id, column) in columns.iter().enumerate().filter(|(_, c)| !c.is_empty()) {
        ids.push(id as u32);
        entries.extend(column.iter().map(|e| e.0));
        values.extend(column.iter().map(|e| e.1));
        ptr.push(entries.len() as u32);
    }
    Sparse { rows, ids, ptr, entries, values: (!ones).then_some(values) }
}

fn dense(rows: usize, cols: usize, seed: u64) -> Matrix {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    Matrix::from_fn(rows, cols, |_, _| rng.random_range(-1.0..1.0))
}

fn close(got: &Matrix, expected: impl Fn(usize, usize) -> f64) {
    for i in 0..got.rows() {
        for (j, v) in got.row(i).iter().enumerate() {
            let e = expected(i, j);
            assert!((f64::from(*v) - e).abs() <= 1e-5 * (1.0 + e.abs()), "({i}, {j}): {v} instead of {e}");
        }
    }
}

fn pool(threads: usize) -> rayon::ThreadPool {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool of threads")
}

fn bits(m: &Matrix) -> Vec<u32> {
    m.as_slice().iter().map(|v| v.to_bits()).collect()
}

#[test]
fn products_of_every_width_are_right() {
    for cols in 1..=130 {
        let ones = cols % 2 == 0;
        let (a, b) = (sparse(37, 19, 12, ones, cols as u64), sparse(37, 23, 12, !ones, 1000 + cols as u64));
        let (z, v, start) = (dense(23, cols, 1), dense(37, cols, 2), dense(19, cols, 3));
        let scale: Vec<f32> = (0..37).map(|i| 0.1 * i as f32 - 1.0).collect();
        let entry =
            |m: &Sparse, i, id| -> f64 { m.rows.view().entries(i).filter(|e| e.0 == id).map(|e| f64::from(e.1)).sum() };
        let product = |i, j| (0..23).map(|id| entry(&b, i, id) * f64::from(z.row(id)[j])).sum::<f64>();

        let mut out = dense(37, cols, 4);
        gather(b.rows.view(), None, z.view(), out.view_mut());
        close(&out, product);
        gather(b.rows.view(), Some(&scale), z.view(), out.view_mut());
        close(&out, |i, j| f64::from(scale[i]) * product(i, j));

        let mut out = start.clone();
        gather_transposed(a.transpose(), v.view(), out.view_mut());
        let back = |id, j| (0..37).map(|i| entry(&a, i, id) * f64::from(v.row(i)[j])).sum::<f64>();
        close(&out, |id, j| f64::from(start.row(id)[j]) + back(id, j));

        let mut out = start.clone();
        let mut scratch = ChunkScratch::new();
        cross_chunk(a.transpose(), b.rows.view(), Some(&scale), z.view(), &mut scratch, out.view_mut());
        let all = Matrix::from_fn(37, cols, |i, j| product(i, j) as f32 * scale[i]);
        let cross = |id, j| (0..37).map(|i| entry(&a, i, id) * f64::from(all.row(i)[j])).sum::<f64>();
        close(&out, |id, j| f64::from(start.row(id)[j]) + cross(id, j));
    }
}

#[test]
fn bits_do_not_depend_on_threads_or_panels() {
    // Large enough that the work is split.
    let (a, b) = (sparse(4000, 700, 60, false, 1), sparse(4000, 900, 60, true, 2));
    let (z, weights) = (dense(900, 110, 3), vec![0.7; 4000]);
    let run = |panels: &[usize]| {
        let mut out = dense(700, 110, 4);
        let mut scratch = ChunkScratch::new();
        for ends in panels.windows(2) {
            let (z, out) = (z.columns(ends[0], ends[1]), out.columns_mut(ends[0], ends[1]));
            cross_chunk(a.transpose(), b.rows.view(), Some(&weights), z, &mut scratch, out);
        }
        bits(&out)
    };
    let expected = pool(1).install(|| run(&[0, 110]));
    for threads in [1, 2, 5] {
        for panels in [&[0, 110][..], &[0, 64, 110], &[0, 1, 8, 47, 109, 110]] {
            assert!(expected == pool(threads).install(|| run(panels)), "{threads} threads, panels {panels:?}");
        }
    }
}

#[test]
fn bits_do_not_depend_on_the_vector_instructions() {
    let a = sparse(300, 200, 80, false, 1);
    let (z, v) = (dense(200, 127, 2), dense(300, 127, 3));
    let at = |level| {
        let (mut product, mut back) = (dense(300, 127, 4), dense(200, 127, 5));
        let (b, t) = (a.rows.view(), a.transpose());
        let lists = Lists { ptr: b.ptr, ids: b.ids, values: b.values };
        run(level, Gather { lists, z: z.view(), store: Overwrite { scale: None }, out: product.view_mut() });
        let lists = Lists { ptr: t.ptr, ids: t.rows, values: t.values };
        run(level, Gather { lists, z: v.view(), store: Add { ids: t.ids, first: 0 }, out: back.view_mut() });
        (product, back)
    };
    let results: Vec<_> = Level::fused().into_iter().map(at).collect();
    assert!(results.windows(2).all(|r| bits(&r[0].0) == bits(&r[1].0) && bits(&r[0].1) == bits(&r[1].1)));
    // The chain of fused multiply-adds in stored order, spelled out.
    if let Some((product, _)) = results.first() {
        let chain = |i, j: usize| a.rows.view().entries(i).fold(0.0, |s, (id, v)| v.mul_add(z.row(id)[j], s));
        assert_eq!(bits(product), bits(&Matrix::from_fn(300, 127, chain)));
    }
    let (product, back) = at(Level::PORTABLE);
    let (best, best_back) = at(Level::best());
    close(&product, |i, j| f64::from(best.row(i)[j]));
    close(&back, |i, j| f64::from(best_back.row(i)[j]));
}

#[test]
fn empty_matrices_are_fine() {
    for (height, width, cols) in [(0, 0, 0), (0, 5, 3), (5, 0, 3), (5, 5, 0), (40, 7, 0)] {
        let a = sparse(height, width, 4, false, 1);
        let (z, mut out) = (dense(width, cols, 2), dense(width, cols, 3));
        cross_chunk(a.transpose(), a.rows.view(), None, z.view(), &mut ChunkScratch::new(), out.view_mut());
        assert_eq!(dot(z.view(), z.view()).len(), cols);
    }
    let mut out = dense(3, 70, 1);
    let empty = CsrRef { ptr: &[0, 0, 0, 0], ids: &[], values: None };
    gather(empty, Some(&[1.0; 3]), Matrix::zeros(0, 70).view(), out.view_mut());
    assert_eq!(out, Matrix::zeros(3, 70));
}

#[test]
fn the_scratch_serves_chunks_of_any_size() {
    let (large, small) = (sparse(50, 9, 5, false, 1), sparse(20, 9, 5, false, 2));
    let z = dense(9, 70, 3);
    let run = |scratch: &mut ChunkScratch, chunk: &Sparse| {
        let mut out = Matrix::zeros(9, 70);
        cross_chunk(chunk.transpose(), chunk.rows.view(), None, z.view(), scratch, out.view_mut());
        out
    };
    let mut kept = ChunkScratch::default();
    for chunk in [&small, &large, &small] {
        assert_eq!(run(&mut kept, chunk), run(&mut ChunkScratch::new(), chunk));
    }
}

#[test]
#[should_panic]
fn an_id_without_a_row_panics() {
    // The view ends before its storage does: the storage must not be taken for a row.
    let data = vec![0.0; 100];
    let a = CsrRef { ptr: &[0, 1], ids: &[5], values: None };
    gather(a, None, MatRef::new(5, 3, 3, &data), Matrix::zeros(1, 3).view_mut());
}

#[test]
#[should_panic]
fn a_transposed_row_beyond_the_chunk_panics() {
    let a = TransposeRef { ids: &[0], ptr: &[0, 1], rows: &[5], values: Some(&[1.0]) };
    gather_transposed(a, Matrix::zeros(5, 3).view(), Matrix::zeros(1, 3).view_mut());
}

#[test]
#[should_panic(expected = "beyond the output")]
fn a_column_beyond_the_output_panics() {
    let a = TransposeRef { ids: &[2], ptr: &[0, 1], rows: &[0], values: None };
    gather_transposed(a, Matrix::zeros(1, 3).view(), MatMut::new(2, 3, 3, &mut [0.0; 30]));
}

#[test]
fn dot_products_are_right_and_do_not_depend_on_threads_or_panels() {
    let (a, b) = (dense(5000, 51, 1), dense(5000, 51, 2));
    let s: Vec<f32> = (0..5000).map(|i| (i % 7) as f32 - 2.5).collect();
    let scaled = |a: MatRef<'_>, b: MatRef<'_>| {
        sweep([], [a, b], a.cols(), |rows, [], [a, b], sums| add_dot_scaled(a, &s[rows], b, sums))
    };
    let expected = pool(1).install(|| (dot(a.view(), b.view()), scaled(a.view(), b.view())));
    for j in 0..51 {
        let products = || (0..5000).map(|i| f64::from(a.row(i)[j]) * f64::from(b.row(i)[j]));
        assert!((expected.0[j] - products().sum::<f64>()).abs() < 1e-9);
        let exact: f64 = products().zip(&s).map(|(p, s)| p * f64::from(*s)).sum();
        assert!((expected.1[j] - exact).abs() < 1e-9);
    }
    for threads in [2, 5] {
        let panels = pool(threads).install(|| {
            let parts = [0..1, 1..17, 17..50, 50..51].map(|r| {
                let (a, b) = (a.columns(r.start, r.end), b.columns(r.start, r.end));
                (dot(a, b), scaled(a, b))
            });
            (parts.iter().flat_map(|p| p.0.clone()).collect(), parts.iter().flat_map(|p| p.1.clone()).collect())
        });
        assert_eq!(expected, panels);
    }
}

#[test]
fn a_sweep_sees_every_row_once() {
    for rows in [0, 1, 16, 17, 1024, 1025, 4100] {
        let (x, mut y, mut p) = (dense(rows, 21, 1), dense(rows, 21, 2), dense(rows, 21, 3));
        let (y0, p0) = (y.clone(), p.clone());
        let factors: Vec<f32> = (0..21).map(|j| j as f32 / 8.0).collect();
        let s: Vec<f32> = (0..rows).map(|i| 1.0 / (1.0 + i as f32)).collect();
        let mut scaled = Matrix::zeros(rows, 21);
        let outs = [y.view_mut(), p.view_mut(), scaled.view_mut()];
        let sums = pool(3).install(|| {
            sweep(outs, [x.view()], 22, |range, [mut y, p, mut scaled], [x], sums| {
                add_multiple(y.reborrow(), &factors, x);
                scale_rows_multiply_add(p, &s[range.clone()], &factors, x);
                scale_rows(scaled.reborrow(), &s[range.clone()], x);
                add_scaled_multiple(scaled, &s[range.clone()], &factors, x);
                add_dot(y.as_ref(), x, &mut sums[..21]);
                sums[21] += range.sum::<usize>() as f64;
            })
        });
        let expected = |f: &dyn Fn(usize, usize) -> f32| Matrix::from_fn(rows, 21, f);
        assert_eq!(y, expected(&|i, j| y0.row(i)[j] + factors[j] * x.row(i)[j]));
        assert_eq!(p, expected(&|i, j| s[i] * x.row(i)[j] + factors[j] * p0.row(i)[j]));
        assert_eq!(scaled, expected(&|i, j| s[i] * x.row(i)[j] + factors[j] * (s[i] * x.row(i)[j])));
        assert_eq!(sums[..21], dot(y.view(), x.view())[..]);
        assert_eq!(sums[21], (0..rows).sum::<usize>() as f64);
    }
}
