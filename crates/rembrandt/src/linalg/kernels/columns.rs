//! Dot products and updates of the columns of tall dense matrices.
//!
//! These are bound by memory: a solver that updates two vectors and takes two dot products in four passes waits four
//! times for the same data. [`sweep`] goes over several matrices together, a few rows at a time, and what the closure
//! does to those rows with the functions below happens in the first-level cache.
//!
//! Sums are taken in `f64`: over blocks of 1024 rows, row by row, and then over the blocks in their order. The
//! products of two `f32` are exact in `f64`, and nothing here is fused, so results are the same bits on any number of
//! threads, for any split into panels of columns and on any processor.

use super::simd::{Level, Work};
use crate::linalg::matrix::{MatMut, MatRef};
use std::ops::Range;

/// Rows whose sums are taken one after the other.
const BLOCK: usize = 1024;

/// Rows that the closure of a sweep sees at a time: 4 KB of each matrix if it has 64 columns.
const STRIP: usize = 16;

/// Per-column dot products: Σᵢ aᵢⱼ bᵢⱼ.
///
/// # Panics
/// If the sizes differ.
pub fn dot(a: MatRef<'_>, b: MatRef<'_>) -> Vec<f64> {
    sweep([], [a, b], a.cols(), |_, [], [a, b], sums| add_dot(a, b, sums))
}

/// out ← from, on all threads: they also share the clearing of pages that are written to for the first time.
///
/// # Panics
/// If the sizes differ.
pub(crate) fn copy(out: MatMut<'_>, from: MatRef<'_>) {
    sweep([out], [from], 0, |_, [mut out], [from], _| out.copy_from(from));
}

/// Calls `f` on a few consecutive rows of all matrices at a time until it has seen every row, and returns the sums.
///
/// `f` gets the numbers of its rows, these rows of the matrices, and `sums` numbers that begin at 0, to which it adds;
/// most often some multiple of the number of columns. It runs on several threads, so it sees the rows in no
/// particular order, but the returned sums do not depend on that.
///
/// A step of conjugate gradients, two updates and one dot product in one pass over the memory:
///
/// ```
/// use rembrandt::Matrix;
/// use rembrandt::linalg::kernels::columns::{add_dot, add_multiple, sweep};
///
/// let (p, q) = (Matrix::from_fn(5, 2, |i, _| i as f32), Matrix::from_fn(5, 2, |_, j| j as f32));
/// let (mut x, mut r) = (Matrix::zeros(5, 2), Matrix::from_fn(5, 2, |_, _| 1.0));
/// let alpha = [0.5, 2.0];
/// let squares = sweep([x.view_mut(), r.view_mut()], [p.view(), q.view()], 2, |_, [x, mut r], [p, q], sums| {
///     add_multiple(x, &alpha, p);
///     add_multiple(r.reborrow(), &alpha.map(|a| -a), q);
///     add_dot(r.as_ref(), r.as_ref(), sums);
/// });
/// assert_eq!(squares, [5.0, 5.0]);
/// assert_eq!(x.row(3), [1.5, 6.0]);
/// ```
///
/// # Panics
/// If the matrices do not have equally many rows.
pub fn sweep<const M: usize, const N: usize, F>(
    outs: [MatMut<'_>; M],
    ins: [MatRef<'_>; N],
    sums: usize,
    f: F,
) -> Vec<f64>
where
    F: Fn(Range<usize>, [MatMut<'_>; M], [MatRef<'_>; N], &mut [f64]) + Sync,
{
    let mut heights = outs.iter().map(MatMut::rows).chain(ins.iter().map(MatRef::rows));
    let rows = heights.next().unwrap_or(0);
    assert!(heights.all(|r| r == rows), "matrices of different heights");
    let mut partial = vec![0.0; rows.div_ceil(BLOCK) * sums];
    blocks(0..rows, outs, ins, sums, &mut partial, &f);
    let mut total = vec![0.0; sums];
    for block in partial.chunks_exact(sums.max(1)) {
        total.iter_mut().zip(block).for_each(|(t, p)| *t += p);
    }
    total
}

fn blocks<const M: usize, const N: usize, F>(
    rows: Range<usize>,
    outs: [MatMut<'_>; M],
    ins: [MatRef<'_>; N],
    sums: usize,
    partial: &mut [f64],
    f: &F,
) where
    F: Fn(Range<usize>, [MatMut<'_>; M], [MatRef<'_>; N], &mut [f64]) + Sync,
{
    if rows.len() <= BLOCK {
        return strips(rows, outs, ins, partial, f);
    }
    let left = rows.len().div_ceil(BLOCK) / 2;
    let at = left * BLOCK;
    let (outs_a, outs_b) = unzip(outs.map(|m| m.split_rows_at(at)));
    let (ins_a, ins_b) = unzip(ins.map(|m| m.split_rows_at(at)));
    let (partial_a, partial_b) = partial.split_at_mut(left * sums);
    let middle = rows.start + at;
    rayon::join(
        || blocks(rows.start..middle, outs_a, ins_a, sums, partial_a, f),
        || blocks(middle..rows.end, outs_b, ins_b, sums, partial_b, f),
    );
}

fn strips<const M: usize, const N: usize, F>(
    mut rows: Range<usize>,
    mut outs: [MatMut<'_>; M],
    mut ins: [MatRef<'_>; N],
    sums: &mut [f64],
    f: &F,
) where
    F: Fn(Range<usize>, [MatMut<'_>; M], [MatRef<'_>; N], &mut [f64]) + Sync,
{
    while rows.len() > STRIP {
        let (strip_outs, rest_outs) = unzip(outs.map(|m| m.split_rows_at(STRIP)));
        let (strip_ins, rest_ins) = unzip(ins.map(|m| m.split_rows_at(STRIP)));
        f(rows.start..rows.start + STRIP, strip_outs, strip_ins, sums);
        (rows.start, outs, ins) = (rows.start + STRIP, rest_outs, rest_ins);
    }
    if !rows.is_empty() {
        f(rows, outs, ins, sums);
    }
}

fn unzip<A, B, const N: usize>(pairs: [(A, B); N]) -> ([A; N], [B; N]) {
    let mut second = [const { None }; N];
    let mut places = second.iter_mut();
    let first = pairs.map(|(a, b)| {
        *places.next().expect("as many places as pairs") = Some(b);
        a
    });
    (first, second.map(|b| b.expect("every place is filled")))
}

/// sumsⱼ ← sumsⱼ + Σᵢ aᵢⱼ bᵢⱼ, row after row.
///
/// # Panics
/// If the sizes differ.
pub fn add_dot(a: MatRef<'_>, b: MatRef<'_>, sums: &mut [f64]) {
    assert_eq!((a.rows(), a.cols(), a.cols()), (b.rows(), b.cols(), sums.len()), "sizes differ");
    Level::best().run(Dot { a, b, factors: None, sums });
}

/// sumsⱼ ← sumsⱼ + Σᵢ sᵢ aᵢⱼ bᵢⱼ, row after row.
///
/// # Panics
/// If the sizes differ.
pub fn add_dot_scaled(a: MatRef<'_>, s: &[f32], b: MatRef<'_>, sums: &mut [f64]) {
    assert_eq!((a.rows(), a.cols(), a.cols()), (b.rows(), b.cols(), sums.len()), "sizes differ");
    assert_eq!(s.len(), a.rows(), "one factor for each row");
    Level::best().run(Dot { a, b, factors: Some(s), sums });
}

struct Dot<'a> {
    a: MatRef<'a>,
    b: MatRef<'a>,
    factors: Option<&'a [f32]>,
    sums: &'a mut [f64],
}

impl Dot<'_> {
    /// The sums of `W` columns from `from` on, in registers.
    #[inline(always)]
    fn tile<const W: usize>(&mut self, from: usize) {
        let columns = from..from + W;
        let sums: &mut [f64; W] = (&mut self.sums[columns.clone()]).try_into().expect("W long");
        let mut total = *sums;
        for i in 0..self.a.rows() {
            let a: &[f32; W] = self.a.row(i)[columns.clone()].try_into().expect("W long");
            let b: &[f32; W] = self.b.row(i)[columns.clone()].try_into().expect("W long");
            match self.factors {
                Some(s) => {
                    let s = f64::from(s[i]);
                    for j in 0..W {
                        total[j] += s * (f64::from(a[j]) * f64::from(b[j]));
                    }
                }
                None => {
                    for j in 0..W {
                        total[j] += f64::from(a[j]) * f64::from(b[j]);
                    }
                }
            }
        }
        *sums = total;
    }
}

impl Work for Dot<'_> {
    #[inline(always)]
    fn run<const FMA: bool>(mut self) {
        let (mut from, cols) = (0, self.sums.len());
        while cols - from >= 64 {
            self.tile::<64>(from);
            from += 64;
        }
        while cols - from >= 8 {
            self.tile::<8>(from);
            from += 8;
        }
        while from < cols {
            self.tile::<1>(from);
            from += 1;
        }
    }
}

/// yᵢⱼ ← yᵢⱼ + fⱼ xᵢⱼ, a factor for each column.
///
/// # Panics
/// If the sizes differ.
pub fn add_multiple(y: MatMut<'_>, factors: &[f32], x: MatRef<'_>) {
    assert_eq!(factors.len(), y.cols(), "one factor for each column");
    update(y, x, Change::AddMultiple(factors));
}

/// yᵢⱼ ← sᵢ xᵢⱼ, a factor for each row.
///
/// # Panics
/// If the sizes differ.
pub fn scale_rows(y: MatMut<'_>, s: &[f32], x: MatRef<'_>) {
    assert_eq!(s.len(), y.rows(), "one factor for each row");
    update(y, x, Change::ScaleRows(s));
}

/// yᵢⱼ ← sᵢ yᵢⱼ, a factor for each row.
///
/// # Panics
/// If there is not one factor for each row.
pub fn multiply_rows(mut y: MatMut<'_>, s: &[f32]) {
    assert_eq!(s.len(), y.rows(), "one factor for each row");
    for (i, s) in s.iter().enumerate() {
        y.row_mut(i).iter_mut().for_each(|y| *y *= s);
    }
}

/// yᵢⱼ ← yᵢⱼ + sᵢ fⱼ xᵢⱼ, a factor for each row and one for each column.
///
/// # Panics
/// If the sizes differ.
pub fn add_scaled_multiple(y: MatMut<'_>, s: &[f32], factors: &[f32], x: MatRef<'_>) {
    assert_eq!((s.len(), factors.len()), (y.rows(), y.cols()), "one factor for each row and column");
    update(y, x, Change::AddScaledMultiple(s, factors));
}

/// yᵢⱼ ← sᵢ xᵢⱼ + fⱼ yᵢⱼ, a factor for each row of x and for each column of y.
///
/// # Panics
/// If the sizes differ.
pub fn scale_rows_multiply_add(y: MatMut<'_>, s: &[f32], factors: &[f32], x: MatRef<'_>) {
    assert_eq!((s.len(), factors.len()), (y.rows(), y.cols()), "one factor for each row and column");
    update(y, x, Change::ScaleRowsMultiplyAdd(s, factors));
}

fn update(y: MatMut<'_>, x: MatRef<'_>, change: Change<'_>) {
    assert_eq!((y.rows(), y.cols()), (x.rows(), x.cols()), "sizes differ");
    Level::best().run(Update { y, x, change });
}

#[derive(Clone, Copy)]
enum Change<'a> {
    AddMultiple(&'a [f32]),
    ScaleRows(&'a [f32]),
    AddScaledMultiple(&'a [f32], &'a [f32]),
    ScaleRowsMultiplyAdd(&'a [f32], &'a [f32]),
}

struct Update<'a> {
    y: MatMut<'a>,
    x: MatRef<'a>,
    change: Change<'a>,
}

impl Work for Update<'_> {
    #[inline(always)]
    fn run<const FMA: bool>(mut self) {
        for i in 0..self.x.rows() {
            let pairs = self.y.row_mut(i).iter_mut().zip(self.x.row(i));
            match self.change {
                Change::AddMultiple(f) => pairs.zip(f).for_each(|((y, x), f)| *y += f * x),
                Change::ScaleRows(s) => pairs.for_each(|(y, x)| *y = s[i] * x),
                Change::AddScaledMultiple(s, f) => pairs.zip(f).for_each(|((y, x), f)| *y += f * (s[i] * x)),
                Change::ScaleRowsMultiplyAdd(s, f) => {
                    pairs.zip(f).for_each(|((y, x), f)| *y = s[i] * x + f * *y);
                }
            }
        }
    }
}
