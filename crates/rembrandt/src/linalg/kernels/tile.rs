//! The inner loops: weighted sums of gathered rows, up to 64 columns at a time in registers.
//!
//! Rows of a sparse matrix and columns of a stored transpose are the same thing here: lists of row numbers of a dense
//! matrix, with or without weights. The sum over a list is one chain of multiply-adds per column, in the order of the
//! list, whatever the width of the tile; so the bits of a result depend neither on how the work is cut nor on which
//! vector instructions do it.

use super::simd::Work;
use crate::linalg::matrix::{MatMut, MatRef};

/// How many entries before its use a row is fetched. Measured: 16 is a little slower, 64 no faster.
const AHEAD: usize = 32;

/// How many lists before its use a row of the output is fetched, where these rows lie apart.
const AHEAD_OUT: usize = 16;

/// Lists that are done together, tile by tile. Few, so that what one tile brought near is still near when the next
/// tile reads the neighbouring columns of the same rows; with thousands, wide matrices run a fifth slower, since their
/// rows then compete for few sets of the cache.
const STRIP: usize = 16;

/// A row number as stored: 32 bits in rows, 16 bits within a chunk.
pub(super) trait Index: Copy + Send + Sync {
    /// The number.
    fn get(self) -> usize;
}

impl Index for u16 {
    #[inline(always)]
    fn get(self) -> usize {
        self as usize
    }
}

impl Index for u32 {
    #[inline(always)]
    fn get(self) -> usize {
        self as usize
    }
}

/// Lists of weighted row numbers.
#[derive(Clone, Copy)]
pub(super) struct Lists<'a, I> {
    /// Where each list begins in `ids`; one more than there are lists.
    pub(super) ptr: &'a [u32],
    /// Row numbers of all lists.
    pub(super) ids: &'a [I],
    /// Weights of all lists; absent when all are 1.
    pub(super) values: Option<&'a [f32]>,
}

impl<I> Lists<'_, I> {
    /// Number of lists.
    pub(super) fn len(&self) -> usize {
        self.ptr.len() - 1
    }

    /// The cost of lists `0..i`: their entries, and one each for storing the sum.
    pub(super) fn cost(&self, i: usize) -> usize {
        (self.ptr[i] - self.ptr[0]) as usize + i
    }

    /// Lists before `at`, and the rest.
    pub(super) fn split_at(self, at: usize) -> (Self, Self) {
        (Lists { ptr: &self.ptr[..=at], ..self }, Lists { ptr: &self.ptr[at..], ..self })
    }
}

/// The destination of the sums.
pub(super) trait SumSink: Copy + Send {
    /// Whether neighbouring lists may belong to rows far apart.
    const SCATTERED: bool;
    /// The row of the output that takes the sum over list `i`.
    fn row(&self, i: usize) -> usize;
    /// Puts the sum over list `i`, or some columns of it, into its place.
    fn put<const W: usize>(&self, i: usize, sum: [f32; W], place: &mut [f32; W]);
    /// The same for lists before `at`, and for the rest with the output cut at [`row`](Store::row)`(at)`.
    fn split_at(self, at: usize) -> (Self, Self);
}

/// List `i` belongs to row `i`: out ← scale · sum.
#[derive(Clone, Copy)]
pub(super) struct Overwrite<'a> {
    pub(super) scale: Option<&'a [f32]>,
}

impl SumSink for Overwrite<'_> {
    const SCATTERED: bool = false;

    #[inline(always)]
    fn row(&self, i: usize) -> usize {
        i
    }

    #[inline(always)]
    fn put<const W: usize>(&self, i: usize, sum: [f32; W], place: &mut [f32; W]) {
        *place = match self.scale {
            Some(scale) => sum.map(|s| scale[i] * s),
            None => sum,
        };
    }

    fn split_at(self, at: usize) -> (Self, Self) {
        let (a, b) = self.scale.map(|s| s.split_at(at)).unzip();
        (Overwrite { scale: a }, Overwrite { scale: b })
    }
}

/// List `i` belongs to row `ids[i]`, ascending: out ← out + sum.
#[derive(Clone, Copy)]
pub(super) struct Add<'a> {
    pub(super) ids: &'a [u32],
    /// The first row of the part of the output that is seen.
    pub(super) first: usize,
}

impl SumSink for Add<'_> {
    const SCATTERED: bool = true;

    #[inline(always)]
    fn row(&self, i: usize) -> usize {
        self.ids[i] as usize - self.first
    }

    #[inline(always)]
    fn put<const W: usize>(&self, _: usize, sum: [f32; W], place: &mut [f32; W]) {
        place.iter_mut().zip(sum).for_each(|(p, s)| *p += s);
    }

    fn split_at(self, at: usize) -> (Self, Self) {
        let (a, b) = self.ids.split_at(at);
        (Add { ids: a, ..self }, Add { ids: b, first: self.ids[at] as usize })
    }
}

/// Sums over some lists, and where they go.
pub(super) struct Gather<'a, I, S> {
    pub(super) lists: Lists<'a, I>,
    pub(super) z: MatRef<'a>,
    pub(super) store: S,
    pub(super) out: MatMut<'a>,
}

impl<'a, I: Index, S: SumSink> Gather<'a, I, S> {
    /// Two parts of about equal cost; there must be more than one list.
    pub(super) fn halve(self) -> (Self, Self) {
        let len = self.lists.len();
        let half = self.lists.cost(len) / 2;
        let (mut low, mut high) = (1, len - 1);
        while low < high {
            let middle = (low + high) / 2;
            if self.lists.cost(middle) < half { low = middle + 1 } else { high = middle }
        }
        let (out_a, out_b) = self.out.split_rows_at(self.store.row(low));
        let (lists_a, lists_b) = self.lists.split_at(low);
        let (store_a, store_b) = self.store.split_at(low);
        (
            Gather { lists: lists_a, z: self.z, store: store_a, out: out_a },
            Gather { lists: lists_b, z: self.z, store: store_b, out: out_b },
        )
    }

    /// `W` columns from `from` on, of the sums over `lists`.
    #[inline(always)]
    fn tile<const W: usize, const FMA: bool>(&mut self, lists: std::ops::Range<usize>, z: &[f32], from: usize) {
        let stride = self.z.stride();
        let z = &z[from.min(z.len())..];
        for i in lists {
            let entries = self.lists.ptr[i] as usize..self.lists.ptr[i + 1] as usize;
            let ids = &self.lists.ids[entries.clone()];
            let later = &self.lists.ids[(entries.start + AHEAD).min(self.lists.ids.len())..];
            if S::SCATTERED && i + AHEAD_OUT < self.lists.len() {
                let place = self.store.row(i + AHEAD_OUT) * self.out.stride() + from;
                prefetch::<W>(self.out.as_mut_slice(), place);
            }
            let mut sum = [0.0; W];
            match self.lists.values {
                Some(values) => {
                    for (j, (id, v)) in ids.iter().zip(&values[entries]).enumerate() {
                        if let Some(id) = later.get(j) {
                            prefetch::<W>(z, id.get() * stride);
                        }
                        let row = row::<W>(z, id.get() * stride);
                        for (s, z) in sum.iter_mut().zip(row) {
                            *s = if FMA { v.mul_add(*z, *s) } else { *s + v * z };
                        }
                    }
                }
                None => {
                    for (j, id) in ids.iter().enumerate() {
                        if let Some(id) = later.get(j) {
                            prefetch::<W>(z, id.get() * stride);
                        }
                        let row = row::<W>(z, id.get() * stride);
                        sum.iter_mut().zip(row).for_each(|(s, z)| *s += z);
                    }
                }
            }
            let place = &mut self.out.row_mut(self.store.row(i))[from..from + W];
            self.store.put(i, sum, place.try_into().expect("W long"));
        }
    }
}

impl<I: Index, S: SumSink> Work for Gather<'_, I, S> {
    #[inline(always)]
    fn run<const FMA: bool>(mut self) {
        let cols = self.z.cols();
        // Exactly up to the end of the last row: an id that is too large then ends in a panic.
        let used = if self.z.rows() == 0 { 0 } else { (self.z.rows() - 1) * self.z.stride() + cols };
        let z = &self.z.as_slice()[..used];
        let mut first = 0;
        while first < self.lists.len() {
            let strip = first..(first + STRIP).min(self.lists.len());
            first = strip.end;
            let mut from = 0;
            while cols - from >= 64 {
                self.tile::<64, FMA>(strip.clone(), z, from);
                from += 64;
            }
            macro_rules! rest {
                ($($width:literal)*) => {$(
                    if cols - from >= $width {
                        self.tile::<$width, FMA>(strip.clone(), z, from);
                        from += $width;
                    }
                )*};
            }
            // Whole cache lines in one tile; panels are padded to them.
            rest!(48 32 16 8 4 2 1);
            debug_assert_eq!(from, cols);
        }
    }
}

#[inline(always)]
fn row<const W: usize>(z: &[f32], start: usize) -> &[f32; W] {
    z[start..start + W].try_into().expect("W long")
}

/// Asks for the cache lines of `W` entries from `start` on, which need not exist.
///
/// Into the second-level cache: in a wide matrix the tiles of different rows fall into the same few sets of the
/// first level, and would push each other out before they are used.
#[inline(always)]
fn prefetch<const W: usize>(z: &[f32], start: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in (0..W).step_by(16) {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        // SAFETY: a prefetch is a hint that reads nothing and cannot fault, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(z.as_ptr().wrapping_add(start + line).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (z, start);
}
