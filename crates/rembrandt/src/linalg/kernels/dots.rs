//! Inner products of rows with rows: what scores are made of.
//!
//! Every product is summed in the same order, eight sums side by side and then those, whatever rows stand beside it. A
//! library for matrix products promises no order, and may pick it by the sizes at hand; then the score of an example would
//! depend on the batch it came in.

use half::bf16;

use super::simd::{Level, Work};

/// Sums side by side: as many as the registers of most processors hold.
const LANES: usize = 8;
/// Rows of a tile, and of weights beside them: their sums fill the registers.
const ROWS: usize = 4;
const WEIGHTS: usize = 2;
/// Weights beside a row that is left over.
const BESIDE_ONE: usize = 8;

/// A number as stored.
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

impl Number for bf16 {
    #[inline(always)]
    fn widen(self) -> f32 {
        // The crate's own conversion looks for what is not a number first, which no file has.
        f32::from_bits(u32::from(self.to_bits()) << 16)
    }
}

/// The nearest bfloat16 of a finite number. One beyond the largest must not become infinite.
pub(crate) fn narrow(value: f32) -> bf16 {
    bf16::from_f32(value).clamp(bf16::MIN, bf16::MAX)
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
    /// R rows times all weights, L at a time.
    #[inline(always)]
    fn strip<const R: usize, const L: usize, const FMA: bool>(&mut self, row: usize) {
        let count = self.b.len() / self.width;
        let whole = count / L * L;
        for weight in (0..whole).step_by(L) {
            self.tile::<R, L, FMA>(row, weight, count);
        }
        for weight in whole..count {
            self.tile::<R, 1, FMA>(row, weight, count);
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
                // The rest of the row here, and not in there: an index that is not constant would keep the sums in memory.
                let (mut sum, from) = (sums[r][l], width / LANES * LANES);
                for j in from..width {
                    sum[j - from] = fused::<FMA>(a[r][j], b[l][j].widen(), sum[j - from]);
                }
                let [s0, s1, s2, s3, s4, s5, s6, s7] = sum;
                self.out[(row + r) * count + weight + l] = ((s0 + s4) + (s2 + s6)) + ((s1 + s5) + (s3 + s7));
            }
        }
    }
}

impl<N: Number> Work for Dots<'_, N> {
    #[inline(always)]
    fn run<const FMA: bool>(mut self) {
        let rows = self.a.len() / self.width;
        let whole = rows / ROWS * ROWS;
        // Loops, not closures: those would be compiled by themselves, without the instructions of this level.
        for row in (0..whole).step_by(ROWS) {
            self.strip::<ROWS, WEIGHTS, FMA>(row);
        }
        for row in whole..rows {
            self.strip::<1, BESIDE_ONE, FMA>(row);
        }
    }
}

type Sum = [f32; LANES];

/// The eight sums of every pair of rows, without what is left beyond the last whole eight.
#[inline(always)]
fn sums<N: Number, const R: usize, const L: usize, const FMA: bool>(a: [&[f32]; R], b: [&[N]; L]) -> [[Sum; L]; R] {
    let whole = b[0].len() / LANES;
    let mut sums = [[[0f32; LANES]; L]; R];
    let a_chunks: [&[Sum]; R] = a.map(|a| &a.as_chunks().0[..whole]);
    let b_chunks: [&[[N; LANES]]; L] = b.map(|b| &b.as_chunks().0[..whole]);
    for j in 0..whole {
        for r in 0..R {
            for l in 0..L {
                sums[r][l] = step::<N, FMA>(sums[r][l], &a_chunks[r][j], &b_chunks[l][j]);
            }
        }
    }
    sums
}

#[inline(always)]
fn step<N: Number, const FMA: bool>(mut sum: Sum, x: &Sum, w: &[N; LANES]) -> Sum {
    for lane in 0..LANES {
        sum[lane] = fused::<FMA>(x[lane], w[lane].widen(), sum[lane]);
    }
    sum
}

#[inline(always)]
fn fused<const FMA: bool>(x: f32, w: f32, sum: f32) -> f32 {
    if FMA { x.mul_add(w, sum) } else { sum + x * w }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::matrix::Matrix;

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
    fn stored_bfloat16_are_widened() {
        let (a, b) = (random(3, 20, 3), random(2, 20, 4));
        let stored: Vec<bf16> = b.as_slice().iter().map(|v| narrow(*v)).collect();
        let wide: Vec<f32> = stored.iter().map(|v| v.to_f32()).collect();
        let (mut out, mut expected) = (vec![0.0; 6], vec![0.0; 6]);
        dots(a.as_slice(), &stored, 20, &mut out);
        dots(a.as_slice(), &wide, 20, &mut expected);
        assert_eq!(out, expected);
    }
}
