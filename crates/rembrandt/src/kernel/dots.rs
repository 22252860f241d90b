//! Inner products of rows with rows: what scores are made of.
//!
//! Every product is summed in the same order, eight sums side by side and then those, whatever rows stand beside it. A
//! library for matrix products picks its order by the sizes at hand; then the score of an example would depend on the
//! batch it came in.

use super::level::{Level, Work};

/// Sums side by side: as many as the registers of most processors hold.
const LANES: usize = 8;
/// Rows of a tile, and of weights beside them: their sums fill the registers.
const ROWS: usize = 4;
const WEIGHTS: usize = 2;

/// A number as stored: `f32`, or the bits of a bfloat16.
pub(crate) trait Number: Copy + Send + Sync {
    /// The number.
    fn widen(self) -> f32;
}

impl Number for f32 {
    #[inline(always)]
    fn widen(self) -> f32 {
        self
    }
}

impl Number for u16 {
    #[inline(always)]
    fn widen(self) -> f32 {
        f32::from_bits(u32::from(self) << 16)
    }
}

/// out ← A·Bᵀ for row-major A and B whose rows have `width` numbers. One thread.
///
/// # Panics
/// If the sizes do not fit.
pub(crate) fn dots<N: Number>(a: &[f32], b: &[N], width: usize, out: &mut [f32]) {
    assert!(width > 0 && a.len().is_multiple_of(width) && b.len().is_multiple_of(width), "rows are cut short");
    assert_eq!(out.len(), (a.len() / width) * (b.len() / width), "size of the output");
    Level::best().run(Dots { a, b, width, out });
}

struct Dots<'a, N> {
    a: &'a [f32],
    b: &'a [N],
    width: usize,
    out: &'a mut [f32],
}

impl<N: Number> Dots<'_, N> {
    #[inline(always)]
    fn strip<const R: usize, const FMA: bool>(&mut self, row: usize) {
        let count = self.b.len() / self.width;
        let paired = count / WEIGHTS * WEIGHTS;
        for l in (0..paired).step_by(WEIGHTS) {
            self.tile::<R, WEIGHTS, FMA>(row, l, count);
        }
        for l in paired..count {
            self.tile::<R, 1, FMA>(row, l, count);
        }
    }

    #[inline(always)]
    fn tile<const R: usize, const L: usize, const FMA: bool>(&mut self, row: usize, weight: usize, count: usize) {
        let width = self.width;
        let a: [&[f32]; R] = std::array::from_fn(|r| &self.a[(row + r) * width..(row + r + 1) * width]);
        let b: [&[N]; L] = std::array::from_fn(|l| &self.b[(weight + l) * width..(weight + l + 1) * width]);
        let sums = sums::<N, R, L, FMA>(a, b);
        for r in 0..R {
            for l in 0..L {
                let [s0, s1, s2, s3, s4, s5, s6, s7] = sums[r][l];
                self.out[(row + r) * count + weight + l] = ((s0 + s4) + (s2 + s6)) + ((s1 + s5) + (s3 + s7));
            }
        }
    }
}

type Sum = [f32; LANES];

/// The eight sums of every pair of rows. They are taken out of the array, each with a name, for as long as the loop
/// runs: only then does the compiler keep them in registers.
#[inline(always)]
fn sums<N: Number, const R: usize, const L: usize, const FMA: bool>(a: [&[f32]; R], b: [&[N]; L]) -> [[Sum; L]; R] {
    let mut sums = [[[0f32; LANES]; L]; R];
    let (a, a_rest): ([&[Sum]; R], [&[f32]; R]) = (a.map(|a| a.as_chunks().0), a.map(|a| a.as_chunks::<LANES>().1));
    let (b, b_rest): ([&[[N; LANES]]; L], [&[N]; L]) =
        (b.map(|b| b.as_chunks().0), b.map(|b| b.as_chunks::<LANES>().1));
    let n = b[0].len();
    if R == ROWS && L == WEIGHTS {
        let ([a0, a1, a2, a3], [b0, b1]) = ([&a[0][..n], &a[1][..n], &a[2][..n], &a[3][..n]], [&b[0][..n], &b[1][..n]]);
        let [mut s00, mut s01, mut s10, mut s11, mut s20, mut s21, mut s30, mut s31] = [[0f32; LANES]; 8];
        for j in 0..n {
            let (w0, w1) = (widen(&b0[j]), widen(&b1[j]));
            (s00, s01) = (step::<FMA>(s00, &a0[j], &w0), step::<FMA>(s01, &a0[j], &w1));
            (s10, s11) = (step::<FMA>(s10, &a1[j], &w0), step::<FMA>(s11, &a1[j], &w1));
            (s20, s21) = (step::<FMA>(s20, &a2[j], &w0), step::<FMA>(s21, &a2[j], &w1));
            (s30, s31) = (step::<FMA>(s30, &a3[j], &w0), step::<FMA>(s31, &a3[j], &w1));
        }
        for (sums, found) in sums.iter_mut().zip([[s00, s01], [s10, s11], [s20, s21], [s30, s31]]) {
            sums.copy_from_slice(&found);
        }
    } else {
        for r in 0..R {
            for l in 0..L {
                let mut sum = [0f32; LANES];
                for (x, w) in a[r].iter().zip(b[l]) {
                    sum = step::<FMA>(sum, x, &widen(w));
                }
                sums[r][l] = sum;
            }
        }
    }
    for r in 0..R {
        for l in 0..L {
            for ((sum, x), w) in sums[r][l].iter_mut().zip(a_rest[r]).zip(b_rest[l]) {
                *sum = fused::<FMA>(*x, w.widen(), *sum);
            }
        }
    }
    sums
}

#[inline(always)]
fn widen<N: Number>(numbers: &[N; LANES]) -> Sum {
    let mut wide = [0f32; LANES];
    for lane in 0..LANES {
        wide[lane] = numbers[lane].widen();
    }
    wide
}

#[inline(always)]
fn step<const FMA: bool>(mut sum: Sum, x: &Sum, w: &Sum) -> Sum {
    for lane in 0..LANES {
        sum[lane] = fused::<FMA>(x[lane], w[lane], sum[lane]);
    }
    sum
}

#[inline(always)]
fn fused<const FMA: bool>(x: f32, w: f32, sum: f32) -> f32 {
    if FMA { x.mul_add(w, sum) } else { sum + x * w }
}

impl<N: Number> Work for Dots<'_, N> {
    #[inline(always)]
    fn run<const FMA: bool>(mut self) {
        let rows = self.a.len() / self.width;
        let whole = rows / ROWS * ROWS;
        // Loops, not closures: those would be compiled by themselves, without the instructions of this level.
        for row in (0..whole).step_by(ROWS) {
            self.strip::<ROWS, FMA>(row);
        }
        for row in whole..rows {
            self.strip::<1, FMA>(row);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Matrix;

    fn random(rows: usize, cols: usize, seed: u64) -> Matrix {
        let mut state = seed;
        Matrix::from_fn(rows, cols, |_, _| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 40) as f32 / (1 << 23) as f32 - 1.0
        })
    }

    #[test]
    fn products_are_right_and_do_not_depend_on_their_neighbours() {
        for width in [1, 7, 8, 9, 100] {
            let (a, b) = (random(11, width, 1), random(5, width, 2));
            let mut out = vec![0.0; 55];
            dots(a.as_slice(), b.as_slice(), width, &mut out);
            for i in 0..11 {
                for l in 0..5 {
                    let exact: f64 = a.row(i).iter().zip(b.row(l)).map(|(x, w)| f64::from(*x) * f64::from(*w)).sum();
                    assert!((exact - f64::from(out[i * 5 + l])).abs() < 1e-5);
                    let mut alone = [0.0];
                    dots(a.row(i), b.row(l), width, &mut alone);
                    assert_eq!(alone[0].to_bits(), out[i * 5 + l].to_bits());
                }
            }
        }
    }

    #[test]
    fn stored_bits_of_bfloat16_are_widened() {
        let (a, b) = (random(3, 20, 3), random(2, 20, 4));
        let bits: Vec<u16> = b.as_slice().iter().map(|v| (v.to_bits() >> 16) as u16).collect();
        let wide: Vec<f32> = bits.iter().map(|v| v.widen()).collect();
        let (mut out, mut expected) = (vec![0.0; 6], vec![0.0; 6]);
        dots(a.as_slice(), &bits, 20, &mut out);
        dots(a.as_slice(), &wide, 20, &mut expected);
        assert_eq!(out, expected);
    }
}
