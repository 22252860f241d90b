//! Sparse × dense products: the inner loop of everything.
//!
//! Both directions gather: a row of A·z is a sum of rows of z, and a row of Aᵀ·v, from the stored transpose, a sum of
//! rows of v. So threads write disjoint rows, nothing is locked or copied, and every entry of a result is one chain of
//! fused multiply-adds in the stored order of the entries. Its bits do not depend on the number of threads, on how
//! columns are cut into panels, or on the width of the vector instructions. (Processors without fused multiply-adds
//! round twice, and get other bits.)
//!
//! | file | holds |
//! |---|---|
//! | `tile` | the inner loops |
//! | [`simd`] | the choice of vector instructions at run time |
//! | `dots` | inner products of rows with rows, for scores |
//! | [`columns`] | dot products and updates of dense columns |
//! | [`elementwise`] | exponentials and cosines of rows |
//! | `scores` | scores of the columns of small tables, for trees |
//! | `select` | which numbers of a row are among the largest |
//! | `adam` | steps of a descent |
//!
//! Work runs on rayon's current pool; what is too small to gain from a second thread stays on the calling one.

pub(crate) mod adam;
pub mod columns;
pub(crate) mod dots;
pub mod elementwise;
pub(crate) mod scores;
pub(crate) mod select;
pub mod simd;
#[cfg(test)]
mod tests;
mod tile;

use crate::linalg::csr::{CsrRef, TransposeRef};
use crate::linalg::matrix::{MatMut, MatRef, Matrix};
use simd::Level;
use tile::{Add, Gather, Index, Lists, Overwrite, SumSink};

/// Columns of one tile. The widest block of columns that [`cross_chunk`] takes through at a time.
pub const TILE: usize = 64;

/// Multiply-adds that are worth handing to another thread: some 40 µs of work.
const GRAIN: usize = 1 << 18;

/// out ← diag(scale) A z: every row of `out` is a weighted sum of rows of `z`.
///
/// # Panics
/// If the sizes of the matrices do not match, or A has an entry in a column that `z` has no row for.
pub fn gather(a: CsrRef<'_>, scale: Option<&[f32]>, z: MatRef<'_>, out: MatMut<'_>) {
    assert_eq!((a.rows(), z.cols()), (out.rows(), out.cols()), "size of the output");
    assert!(scale.is_none_or(|s| s.len() == a.rows()), "one scale for each row");
    let lists = Lists { ptr: a.ptr, ids: a.ids, values: a.values };
    run(Level::best(), Gather { lists, z, store: Overwrite { scale }, out });
}

/// out ← out + Aᵀ v, from the stored transpose of A.
///
/// The products of one column are summed first and added to `out` once, so a total over many chunks keeps its
/// precision.
///
/// # Panics
/// If `v` and `out` are not equally wide, A has an entry in a row that `v` does not have or in a column that `out` has
/// no row for, or the columns of A are not ascending.
pub fn gather_transposed(a: TransposeRef<'_>, v: MatRef<'_>, out: MatMut<'_>) {
    assert_eq!(v.cols(), out.cols(), "columns of the output");
    assert!(a.ids.last().is_none_or(|last| (*last as usize) < out.rows()), "a column beyond the output");
    let lists = Lists { ptr: a.ptr, ids: a.rows, values: a.values };
    run(Level::best(), Gather { lists, z: v, store: Add { ids: a.ids, first: 0 }, out });
}

/// Memory for [`cross_chunk`] and [`add_squares`], kept from chunk to chunk.
#[derive(Debug)]
pub struct ChunkScratch(Matrix);

impl ChunkScratch {
    /// No memory yet; it grows to the largest chunk.
    pub fn new() -> ChunkScratch {
        ChunkScratch(Matrix::zeros(0, TILE))
    }

    /// Room for one tile, with whatever was left in it.
    fn part(&mut self, rows: usize, width: usize) -> MatMut<'_> {
        if self.0.rows() < rows {
            self.0 = Matrix::zeros(rows, TILE);
        }
        MatMut::new(rows, width, width, &mut self.0.as_mut_slice()[..rows * width])
    }
}

impl Default for ChunkScratch {
    fn default() -> ChunkScratch {
        ChunkScratch::new()
    }
}

/// out ← out + Aᵀ diag(weights) B z for one chunk of rows, A given by its stored transpose.
///
/// The columns go through in blocks of [`TILE`], so that B z of the chunk stays in the cache until Aᵀ has read it.
///
/// # Panics
/// As [`gather`] and [`gather_transposed`] do.
pub fn cross_chunk(
    a: TransposeRef<'_>,
    b: CsrRef<'_>,
    weights: Option<&[f32]>,
    z: MatRef<'_>,
    scratch: &mut ChunkScratch,
    mut out: MatMut<'_>,
) {
    assert_eq!(z.cols(), out.cols(), "columns of the output");
    let rows = b.rows();
    for from in (0..z.cols()).step_by(TILE) {
        let to = (from + TILE).min(z.cols());
        let mut product = scratch.part(rows, to - from);
        gather(b, weights, z.columns(from, to), product.reborrow());
        gather_transposed(a, product.as_ref(), out.reborrow().into_columns(from, to));
    }
}

/// sumsⱼ ← sumsⱼ + Σ weightᵢ (Bz)ᵢⱼ² over the rows of one chunk.
///
/// # Panics
/// As [`gather`] does, or if there is not one sum for each column.
pub fn add_squares(
    b: CsrRef<'_>,
    weights: Option<&[f32]>,
    z: MatRef<'_>,
    scratch: &mut ChunkScratch,
    sums: &mut [f64],
) {
    assert_eq!(sums.len(), z.cols(), "one sum for each column");
    let rows = b.rows();
    for (from, sums) in (0..).step_by(TILE).zip(sums.chunks_mut(TILE)) {
        let mut product = scratch.part(rows, sums.len());
        gather(b, None, z.columns(from, from + sums.len()), product.reborrow());
        let product = product.as_ref();
        let squares = columns::sweep([], [product], sums.len(), |rows, [], [product], sums| match weights {
            Some(weights) => columns::add_dot_scaled(product, &weights[rows], product, sums),
            None => columns::add_dot(product, product, sums),
        });
        sums.iter_mut().zip(squares).for_each(|(sum, square)| *sum += square);
    }
}

/// Runs the sums on the threads of the current pool: the one thread policy of the sparse kernels.
fn run<I: Index, S: SumSink>(simd: Level, work: Gather<'_, I, S>) {
    let size = work.lists.cost(work.lists.len()) * work.z.cols();
    let threads = rayon::current_num_threads();
    // A few parts for each thread: equal parts do not take equal time.
    let parts = if threads == 1 { 1 } else { (4 * threads).min(size / GRAIN) };
    halve(simd, work, parts);
}

fn halve<I: Index, S: SumSink>(simd: Level, work: Gather<'_, I, S>, parts: usize) {
    if parts < 2 || work.lists.len() < 2 {
        return simd.run(work);
    }
    let (a, b) = work.halve();
    rayon::join(|| halve(simd, a, parts / 2), || halve(simd, b, parts - parts / 2));
}

/// Cache lines of a slice that [`prefetch`] asks for, at most. What follows is fetched by itself once the reading has begun.
const LINES: usize = 4;

/// Asks for the beginning of a slice, to be read soon.
#[inline(always)]
pub(crate) fn prefetch<T>(slice: &[T]) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        const LINE: usize = 64;
        let bytes = size_of_val(slice);
        for line in (0..bytes.min(LINES * LINE)).step_by(LINE) {
            // SAFETY: a prefetch is a hint that reads nothing and cannot fault, whatever the address.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(slice.as_ptr().cast::<i8>().wrapping_add(line)) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = slice;
}
