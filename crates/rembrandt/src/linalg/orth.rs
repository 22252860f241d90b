//! Orthonormal columns, small eigenproblems and the dense products around them.
//!
//! Tall matrices (c×k) are cut into blocks of rows. A fixed number of groups of blocks is worked on in parallel and
//! their sums are added in order, so the result does not depend on the number of threads. Gram matrices are summed in
//! `f64`: they have the square of the condition number.

use faer::linalg::matmul;
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::{Accum, Mat, Par};
use rayon::prelude::*;

use super::random::fill_normal;
use crate::linalg::matrix::{MatRef, Matrix};

/// Rows whose `f64` copy is worked on at a time.
const BLOCK: usize = 512;
/// Sums of a Gram matrix that are kept apart until the end.
const GROUPS: usize = 16;
/// Eigenvalues of a Gram matrix of unit columns below this are rounding errors of its `f32` columns.
const NOISE: f64 = 1e-13;
/// A pivot of a scaled Gram matrix below this is not trusted.
const PIVOT: f64 = 1e-11;
/// Singular values this far apart turn the last singular vectors towards the first.
const STEEP: f64 = 1e-4;

/// AᵀA in `f64`.
pub(crate) fn gram(a: MatRef<'_>) -> Mat<f64> {
    let mut total = blockwise(a, a, BlockStructure::TriangularLower);
    for j in 0..a.cols() {
        for i in 0..j {
            total[(i, j)] = total[(j, i)];
        }
    }
    total
}

/// AᵀB in `f64`.
pub(crate) fn inner(a: MatRef<'_>, b: MatRef<'_>) -> Mat<f64> {
    blockwise(a, b, BlockStructure::Rectangular)
}

/// AᵀB, or the part of it that `structure` names.
fn blockwise(a: MatRef<'_>, b: MatRef<'_>, structure: BlockStructure) -> Mat<f64> {
    assert_eq!(a.rows(), b.rows(), "sizes do not fit");
    let group_rows = a.rows().div_ceil(GROUPS).next_multiple_of(BLOCK);
    let partial: Vec<Mat<f64>> = (0..a.rows().div_ceil(group_rows.max(1)))
        .into_par_iter()
        .map(|group| {
            let mut sum = Mat::zeros(a.cols(), b.cols());
            let (mut left, mut right) = (vec![0f64; BLOCK * a.cols()], vec![0f64; BLOCK * b.cols()]);
            let end = a.rows().min((group + 1) * group_rows);
            for start in (group * group_rows..end).step_by(BLOCK) {
                let rows = BLOCK.min(end - start);
                let left = widen(a, start, rows, &mut left);
                let right = if structure.is_dense() { widen(b, start, rows, &mut right) } else { left };
                triangular::matmul(
                    &mut sum,
                    structure,
                    Accum::Add,
                    left.transpose(),
                    BlockStructure::Rectangular,
                    right,
                    BlockStructure::Rectangular,
                    1.0,
                    Par::Seq,
                );
            }
            sum
        })
        .collect();
    let mut total = Mat::<f64>::zeros(a.cols(), b.cols());
    partial.iter().for_each(|sum| total += sum);
    total
}

/// Some rows of `a` in `f64`.
fn widen<'b>(a: MatRef<'_>, start: usize, rows: usize, buffer: &'b mut [f64]) -> faer::MatRef<'b, f64> {
    let buffer = &mut buffer[..rows * a.cols()];
    for (i, to) in buffer.chunks_mut(a.cols().max(1)).enumerate() {
        to.iter_mut().zip(a.row(start + i)).for_each(|(to, from)| *to = f64::from(*from));
    }
    faer::MatRef::from_row_major_slice(buffer, rows, a.cols())
}

/// A·b, where b is small.
pub(crate) fn multiply(a: MatRef<'_>, b: &Mat<f64>) -> Matrix {
    let (inner, width) = (b.nrows(), b.ncols());
    assert_eq!(a.cols(), inner, "sizes do not fit");
    let b = Mat::from_fn(inner, width, |i, j| b[(i, j)] as f32);
    let mut out = Matrix::zeros(a.rows(), width);
    if width == 0 {
        return out;
    }
    out.as_mut_slice().par_chunks_mut(BLOCK * width).enumerate().for_each(|(block, to)| {
        let rows = to.len() / width;
        let from = &a.as_slice()[block * BLOCK * a.stride()..];
        // The last row of a view may be cut short, which a slice with a stride must not be.
        let gathered: Vec<f32>;
        let from = if from.len() >= rows * a.stride() {
            faer::MatRef::from_row_major_slice_with_stride(&from[..rows * a.stride()], rows, inner, a.stride())
        } else {
            gathered = (0..rows).flat_map(|i| a.row(block * BLOCK + i)).copied().collect();
            faer::MatRef::from_row_major_slice(&gathered, rows, inner)
        };
        let to = faer::MatMut::from_row_major_slice_mut(to, rows, width);
        matmul::matmul(to, Accum::Replace, from, &b, 1.0, Par::Seq);
    });
    out
}

/// A ← A·b in the first columns of `a`, as many as the square b has. A block of rows goes through at a
/// time, instead of all into fresh memory.
fn transform(a: &mut Matrix, b: &Mat<f64>) {
    let (width, cols) = (b.nrows(), a.cols());
    assert!(b.ncols() == width && width <= cols, "sizes do not fit");
    if width == 0 {
        return;
    }
    let b = Mat::from_fn(width, width, |i, j| b[(i, j)] as f32);
    a.as_mut_slice().par_chunks_mut(BLOCK * cols).for_each_init(Vec::new, |product, block| {
        let rows = block.len() / cols;
        // Into zeros, as in `multiply`: over other numbers, even when told to replace them, results were wrong.
        product.clear();
        product.resize(rows * width, 0.0);
        let from = faer::MatRef::from_row_major_slice_with_stride(block, rows, width, cols);
        let to = faer::MatMut::from_row_major_slice_mut(product, rows, width);
        matmul::matmul(to, Accum::Replace, from, &b, 1.0, Par::Seq);
        for (row, product) in block.chunks_mut(cols).zip(product.chunks(width)) {
            row[..width].copy_from_slice(product);
        }
    });
}

/// Makes the columns of `a` orthonormal and returns how many there are.
///
/// Column j of the result lies in the span of columns 0 to j of `a` (CholeskyQR, twice). When `a` does not have full
/// rank the columns are instead an orthonormal basis of its range, most important first, and then zeros.
///
/// ```
/// use rembrandt::{Matrix, linalg::orthonormalize};
///
/// let mut a = Matrix::from_vec(2, 2, vec![3.0, 1.0, 4.0, 1.0]);
/// assert_eq!(orthonormalize(&mut a), 2);
/// assert!((a.row(0)[0] - 0.6).abs() < 1e-6 && (a.row(1)[0] - 0.8).abs() < 1e-6);
/// ```
pub fn orthonormalize(a: &mut Matrix) -> usize {
    let first = factor(&gram(a.view()));
    transform(a, &first.transform);
    if first.rank == 0 {
        return 0;
    }
    // The first round leaves errors of the size of the condition number; of the second nothing is left to mend.
    let second = factor(&gram(a.columns(0, first.rank)));
    transform(a, &second.transform);
    second.rank
}

/// Makes the columns of `a` its left singular vectors, those of the largest singular values first, and returns how many
/// there are; zeros follow.
///
/// One round is enough for a basis that is only to be multiplied again. Where singular values are so far apart that
/// rounding has turned the last vectors towards the first, a second one mends it.
pub(crate) fn principal_basis(a: &mut Matrix) -> usize {
    let width = a.cols();
    if width == 0 {
        return 0;
    }
    let (values, vectors) = eigen(&gram(a.view()));
    let rank = values.iter().take_while(|v| **v > NOISE * values[0] * width as f64).count();
    let first = Mat::from_fn(width, width, |i, j| if j < rank { vectors[(i, j)] / values[j].sqrt() } else { 0.0 });
    transform(a, &first);
    if rank > 0 && values[rank - 1] < STEEP * STEEP * values[0] {
        // In order, so that the first vectors stay what they are.
        let second = factor(&gram(a.columns(0, rank)));
        transform(a, &second.transform);
        return second.rank;
    }
    rank
}

/// A = Q·C·R with Q·C orthonormal: Q is nearly so, and C, which mends it, is left to be multiplied with whatever small
/// matrix Q meets next.
pub(crate) struct Thin {
    pub q: Matrix,
    pub c: Mat<f64>,
    pub r: Mat<f64>,
}

/// The factors of `a`; nothing when it does not clearly have full rank.
pub(crate) fn thin(a: MatRef<'_>) -> Option<Thin> {
    let first = factor(&gram(a));
    let outer = first.triangle?;
    let q = multiply(a, &first.transform);
    let second = factor(&gram(q.view()));
    Some(Thin { q, c: second.transform, r: second.triangle? * outer })
}

struct Factor {
    /// C such that A·C has orthonormal columns (up to rounding), zeros beyond the rank.
    transform: Mat<f64>,
    /// Its inverse, at full rank.
    triangle: Option<Mat<f64>>,
    rank: usize,
}

/// From the Gram matrix of A to a C that makes A·C orthonormal.
fn factor(gram: &Mat<f64>) -> Factor {
    let width = gram.nrows();
    let scale: Vec<f64> =
        (0..width).map(|i| if gram[(i, i)] > 0.0 { gram[(i, i)].sqrt().recip() } else { 0.0 }).collect();
    let scaled = Mat::from_fn(width, width, |i, j| scale[i] * gram[(i, j)] * scale[j]);
    if let Ok(llt) = scaled.llt(faer::Side::Lower) {
        let l = llt.L();
        if (0..width).all(|i| l[(i, i)] * l[(i, i)] > PIVOT) {
            // C = D⁻¹ L⁻ᵀ, with D the norms of the columns.
            let mut inverse = Mat::<f64>::identity(width, width);
            faer::linalg::triangular_solve::solve_lower_triangular_in_place(l, inverse.as_mut(), Par::Seq);
            let transform = Mat::from_fn(width, width, |i, j| scale[i] * inverse[(j, i)]);
            let norm = |j: usize| gram[(j, j)].sqrt();
            let triangle = Mat::from_fn(width, width, |i, j| if i <= j { l[(j, i)] * norm(j) } else { 0.0 });
            return Factor { transform, triangle: Some(triangle), rank: width };
        }
    }
    let (values, vectors) = eigen(&scaled);
    let rank = values.iter().take_while(|v| **v > NOISE * values[0] * width as f64).count();
    let transform =
        Mat::from_fn(width, width, |i, j| if j < rank { scale[i] * vectors[(i, j)] / values[j].sqrt() } else { 0.0 });
    Factor { transform, triangle: None, rank }
}

/// Eigenvalues, largest first, and eigenvectors of a symmetric matrix.
///
/// A matrix that cannot be decomposed (it holds numbers that are not finite) has eigenvalues 0.
pub(crate) fn eigen(a: &Mat<f64>) -> (Vec<f64>, Mat<f64>) {
    let width = a.nrows();
    match a.self_adjoint_eigen(faer::Side::Lower) {
        Ok(e) => {
            let values = (0..width).map(|i| e.S()[width - 1 - i]).collect();
            (values, Mat::from_fn(width, width, |i, j| e.U()[(i, width - 1 - j)]))
        }
        Err(_) => (vec![0.0; width], Mat::identity(width, width)),
    }
}

/// Eigenvalues of a symmetric matrix, largest first; nothing when it holds numbers that are not finite. Without the
/// vectors they cost a fraction of [`eigen`].
pub(crate) fn eigenvalues(a: &Mat<f64>) -> Option<Vec<f64>> {
    let mut values = a.self_adjoint_eigenvalues(faer::Side::Lower).ok()?;
    values.reverse();
    Some(values)
}

/// Replaces the columns of `a` from `rank` on by random ones, orthonormal to each other and to those before.
pub(crate) fn complete(a: &mut Matrix, rank: usize, seed: u64) {
    if rank < a.cols() {
        fill_normal(a, rank, seed);
        orthonormalize(a);
    }
}

/// Makes the entry of largest magnitude of each column positive (the first of them, if several are as large).
pub(crate) fn fix_signs(a: &mut Matrix) {
    let cols = a.cols();
    if cols == 0 {
        return;
    }
    let larger = |max: &mut f32, v: &f32| *max = if v.abs() > max.abs() { *v } else { *max };
    let largest_of = |rows: &[f32]| {
        let mut largest = vec![0f32; cols];
        rows.chunks(cols).for_each(|row| largest.iter_mut().zip(row).for_each(|(max, v)| larger(max, v)));
        largest
    };
    let blocks: Vec<Vec<f32>> = a.as_slice().par_chunks(BLOCK * cols).map(largest_of).collect();
    let signs: Vec<f32> = largest_of(&blocks.concat()).iter().map(|v| if *v < 0.0 { -1.0 } else { 1.0 }).collect();
    a.as_mut_slice().par_chunks_mut(BLOCK * cols).for_each(|block| {
        block.chunks_mut(cols).for_each(|row| row.iter_mut().zip(&signs).for_each(|(v, s)| *v *= s));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(a: &Matrix, rank: usize) -> f64 {
        let g = gram(a.columns(0, rank));
        (0..rank)
            .flat_map(|i| (0..rank).map(move |j| (i, j)))
            .fold(0.0, |worst: f64, (i, j)| worst.max((g[(i, j)] - f64::from(u8::from(i == j))).abs()))
    }

    fn normal(rows: usize, cols: usize) -> Matrix {
        let mut m = Matrix::zeros(rows, cols);
        fill_normal(&mut m, 0, 5);
        m
    }

    #[test]
    fn well_and_badly_conditioned_columns_become_orthonormal() {
        for ratio in [1.0, 1e-3, 1e-6] {
            let mut a = normal(3000, 30);
            // Columns that differ from the first by less and less.
            for i in 0..3000 {
                let first = a.row(i)[0];
                a.row_mut(i)[1..].iter_mut().for_each(|v| *v = first + ratio * *v);
            }
            let rank = orthonormalize(&mut a);
            assert!(rank == 30 || ratio < 1e-5, "rank {rank} at {ratio}");
            assert!(error(&a, rank) < 2e-6, "error {} at {ratio}", error(&a, rank));
        }
    }

    #[test]
    fn prefixes_keep_their_span_at_full_rank() {
        let original = normal(500, 8);
        let mut a = original.clone();
        assert_eq!(orthonormalize(&mut a), 8);
        // The first column only changes its length, and with a positive factor.
        let norm = original.as_slice().iter().step_by(8).map(|v| f64::from(*v).powi(2)).sum::<f64>().sqrt();
        assert!((0..500).all(|i| (f64::from(original.row(i)[0]) / norm - f64::from(a.row(i)[0])).abs() < 1e-6));
    }

    #[test]
    fn rank_is_found_and_completed() {
        let basis = normal(200, 3);
        let mix = Mat::from_fn(3, 7, |i, j| ((i * 5 + j * 3) % 7) as f64 - 2.5);
        let mut a = multiply(basis.view(), &mix);
        assert_eq!(orthonormalize(&mut a), 3);
        assert!(error(&a, 3) < 2e-6);
        assert!((0..200).all(|i| a.row(i)[3..] == [0.0; 4]));
        complete(&mut a, 3, 9);
        assert!(error(&a, 7) < 2e-6);
        let mut square = Matrix::zeros(5, 5);
        assert_eq!(orthonormalize(&mut square), 0);
        complete(&mut square, 0, 9);
        assert!(error(&square, 5) < 2e-6);
    }

    /// Columns with singular values 1, `ratio`, `ratio`², … and so on.
    fn decaying(ratio: f64) -> Matrix {
        let mut basis = normal(2000, 6);
        orthonormalize(&mut basis);
        let mut mix = normal(6, 6);
        orthonormalize(&mut mix);
        let mix = Mat::from_fn(6, 6, |i, j| ratio.powi(i as i32) * f64::from(mix.row(j)[i]));
        multiply(basis.view(), &mix)
    }

    #[test]
    fn a_principal_basis_is_orthonormal_and_in_order() {
        for ratio in [0.7, 0.1] {
            let original = decaying(ratio);
            let mut a = original.clone();
            assert_eq!(principal_basis(&mut a), 6);
            assert!(error(&a, 6) < 1e-2, "error {} at {ratio}", error(&a, 6));
            let r = inner(a.view(), original.view());
            let lengths: Vec<f64> = (0..6).map(|i| (0..6).map(|j| r[(i, j)].powi(2)).sum::<f64>().sqrt()).collect();
            assert!(
                lengths.iter().enumerate().all(|(i, l)| (l / ratio.powi(i as i32) - 1.0).abs() < 0.05),
                "{lengths:?}"
            );
        }
        let mut flat = Matrix::zeros(9, 3);
        assert_eq!(principal_basis(&mut flat), 0);
        assert_eq!(principal_basis(&mut Matrix::zeros(9, 0)), 0);
    }

    #[test]
    fn thin_factors_multiply_to_the_original() {
        let original = decaying(0.2);
        let Thin { q, c, r } = thin(original.view()).unwrap();
        assert!(error(&multiply(q.view(), &c), 6) < 2e-6);
        let again = multiply(q.view(), &(c * r));
        let worst = original.as_slice().iter().zip(again.as_slice()).fold(0f32, |w, (a, b)| w.max((a - b).abs()));
        assert!(worst < 1e-6, "{worst}");
        assert!(thin(Matrix::zeros(9, 3).view()).is_none());
    }

    #[test]
    fn duplicated_and_empty_columns() {
        let mut a = normal(100, 4);
        for i in 0..100 {
            let row = a.row_mut(i);
            (row[1], row[2]) = (row[0], 0.0);
        }
        assert_eq!(orthonormalize(&mut a), 2);
        assert!(error(&a, 2) < 2e-6);
        assert_eq!(orthonormalize(&mut Matrix::zeros(0, 3)), 0);
        assert_eq!(orthonormalize(&mut Matrix::zeros(3, 0)), 0);
    }

    #[test]
    fn same_bytes_for_any_number_of_threads() {
        let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let run = |threads: usize| {
            pool(threads).install(|| {
                let mut a = normal(9000, 33);
                orthonormalize(&mut a);
                fix_signs(&mut a);
                a
            })
        };
        let one = run(1);
        assert!([2, 5].into_iter().all(|threads| run(threads) == one));
        let largest = |j: usize| (0..9000).map(|i| one.row(i)[j]).max_by(|a, b| a.abs().total_cmp(&b.abs())).unwrap();
        assert!((0..33).all(|j| largest(j) > 0.0));
    }

    #[test]
    fn a_product_in_place_is_the_product() {
        for (rows, width) in [(1, 1), (100, 5), (700, 12), (1500, 40), (600, 84)] {
            let a = normal(rows, width + 3);
            let b = Mat::from_fn(width, width, |i, j| ((i * 7 + j * 3) % 11) as f64 - 5.0);
            let mut found = a.clone();
            transform(&mut found, &b);
            let expected = multiply(a.columns(0, width), &b);
            for i in 0..rows {
                let mut pairs = found.row(i).iter().zip(expected.row(i));
                assert!(pairs.all(|(f, e)| (f - e).abs() < 1e-4 * (1.0 + e.abs())), "{rows}×{width}");
            }
            assert!((0..rows).all(|i| found.row(i)[width..] == a.row(i)[width..]));
        }
    }

    #[test]
    fn products_of_strided_views() {
        let a = normal(700, 9);
        let b = Mat::from_fn(4, 2, |i, j| (i + 2 * j) as f64);
        let out = multiply(a.columns(5, 9), &b);
        for i in 0..700 {
            for j in 0..2 {
                let exact: f64 = (0..4).map(|l| f64::from(a.row(i)[5 + l]) * b[(l, j)]).sum();
                assert!((exact - f64::from(out.row(i)[j])).abs() < 1e-5 * (1.0 + exact.abs()));
            }
        }
    }
}
