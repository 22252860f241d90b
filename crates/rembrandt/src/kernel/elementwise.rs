//! Exponentials and cosines of whole rows, compiled for the vector instructions at hand.
//!
//! The functions of the standard library are calls, one number at a time. These are short polynomials without
//! branches, accurate to a few units in the last place of an `f32`, and the same bits on every processor that fuses
//! multiply-adds.

use super::level::{Level, Work};

/// Partial sums of a row: as many as the widest registers hold, so that their order is fixed.
const LANES: usize = 16;

/// x ← (σ(x) − offset)·scale, where σ(x) = 1/(1 + e⁻ˣ).
///
/// # Panics
/// If the lengths differ.
pub fn sigmoid_minus(x: &mut [f32], offset: &[f32], scale: &[f32]) {
    assert_eq!((x.len(), x.len()), (offset.len(), scale.len()), "lengths differ");
    Level::best().run(Sigmoid { x, offset, scale });
}

/// x ← (softmax(x) − offset)·scale, where softmax(x)ⱼ = exp(xⱼ)/Σ exp(x).
///
/// # Panics
/// If the lengths differ.
pub fn softmax_minus(x: &mut [f32], offset: &[f32], scale: f32) {
    assert_eq!(x.len(), offset.len(), "lengths differ");
    Level::best().run(Softmax { x, offset, scale });
}

/// x ← scale·cos(2π(x + phase)): angles are in turns, which makes their reduction a subtraction.
///
/// # Panics
/// If the lengths differ.
pub fn cos_turns(x: &mut [f32], phase: &[f32], scale: f32) {
    assert_eq!(x.len(), phase.len(), "lengths differ");
    Level::best().run(Cos { x, phase, scale });
}

/// The largest x and Σ exp(x − largest): with these of every part, Σ exp of a long row can be had without overflow.
pub fn exp_sum(x: &[f32]) -> (f32, f64) {
    let mut found = (f32::NEG_INFINITY, 0.0);
    Level::best().run(ExpSum { x, found: &mut found });
    found
}

struct Sigmoid<'a> {
    x: &'a mut [f32],
    offset: &'a [f32],
    scale: &'a [f32],
}

impl Work for Sigmoid<'_> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        for ((x, offset), scale) in self.x.iter_mut().zip(self.offset).zip(self.scale) {
            *x = (1.0 / (1.0 + exp::<FMA>(-*x)) - offset) * scale;
        }
    }
}

struct Softmax<'a> {
    x: &'a mut [f32],
    offset: &'a [f32],
    scale: f32,
}

impl Work for Softmax<'_> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let largest = largest(self.x);
        self.x.iter_mut().for_each(|x| *x = exp::<FMA>(*x - largest));
        let mut sums = [0f32; LANES];
        let chunks = self.x.chunks_exact(LANES);
        let rest: f64 = chunks.remainder().iter().map(|x| f64::from(*x)).sum();
        for chunk in chunks {
            sums.iter_mut().zip(chunk).for_each(|(s, x)| *s += x);
        }
        let total = sums.iter().map(|s| f64::from(*s)).sum::<f64>() + rest;
        let inverse = total.recip() as f32;
        for (x, offset) in self.x.iter_mut().zip(self.offset) {
            *x = (*x * inverse - offset) * self.scale;
        }
    }
}

struct ExpSum<'a> {
    x: &'a [f32],
    found: &'a mut (f32, f64),
}

impl Work for ExpSum<'_> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let largest = largest(self.x);
        let mut sums = [0f32; LANES];
        let (chunks, rest) = self.x.as_chunks::<LANES>();
        for chunk in chunks {
            sums.iter_mut().zip(chunk).for_each(|(s, x)| *s += exp::<FMA>(*x - largest));
        }
        let rest: f64 = rest.iter().map(|x| f64::from(exp::<FMA>(*x - largest))).sum();
        *self.found = (largest, sums.iter().map(|s| f64::from(*s)).sum::<f64>() + rest);
    }
}

#[inline(always)]
fn largest(x: &[f32]) -> f32 {
    x.iter().fold(f32::NEG_INFINITY, |max, x| if *x > max { *x } else { max })
}

struct Cos<'a> {
    x: &'a mut [f32],
    phase: &'a [f32],
    scale: f32,
}

impl Work for Cos<'_> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        for (x, phase) in self.x.iter_mut().zip(self.phase) {
            let turns = *x + phase;
            // Into [−½, ½], then cos(2πa) = sin(2π(¼ − a)) with an argument of at most a quarter turn.
            let z = (0.25 - (turns - round(turns)).abs()) * std::f32::consts::TAU;
            let s = z * z;
            let mut p = -1.0 / 39_916_800.0;
            for c in [1.0 / 362_880.0, -1.0 / 5040.0, 1.0 / 120.0, -1.0 / 6.0, 1.0] {
                p = fused::<FMA>(p, s, c);
            }
            *x = self.scale * (z * p);
        }
    }
}

#[inline(always)]
fn fused<const FMA: bool>(a: f32, b: f32, c: f32) -> f32 {
    if FMA { a.mul_add(b, c) } else { a * b + c }
}

/// The nearest whole number of anything below 2²², by pushing the fraction out of the mantissa. Larger angles are
/// left as they are, and their cosines are then merely bounded.
#[inline(always)]
fn round(x: f32) -> f32 {
    const PUSH: f32 = 12_582_912.0;
    (x + PUSH) - PUSH
}

/// eˣ, with x cut to what has a normal result.
#[inline(always)]
fn exp<const FMA: bool>(x: f32) -> f32 {
    let x = x.clamp(-87.0, 88.0);
    let n = round(x * std::f32::consts::LOG2_E);
    // ln 2 in two parts: the first has so few digits that its multiples are exact.
    let r = fused::<FMA>(n, -0.693_359_4, x);
    let r = fused::<FMA>(n, 2.121_944_4e-4, r);
    let mut p = 1.0 / 5040.0;
    for c in [1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0] {
        p = fused::<FMA>(p, r, c);
    }
    p * f32::from_bits((((n as i32) + 127) << 23) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sigmoids_are_accurate_and_never_overflow() {
        let inputs: Vec<f32> = (-4000..4000).map(|i| i as f32 / 37.0).chain([-1e30, 1e30]).collect();
        let mut x = inputs.clone();
        sigmoid_minus(&mut x, &vec![0.0; inputs.len()], &vec![1.0; inputs.len()]);
        for (input, found) in inputs.iter().zip(x) {
            let exact = 1.0 / (1.0 + (-f64::from(*input)).exp());
            assert!((exact - f64::from(found)).abs() <= 3e-7 * exact + 1e-37, "{input}: {found} for {exact}");
        }
        let mut x = [0.0, 0.0];
        sigmoid_minus(&mut x, &[0.25, 0.5], &[2.0, 1.0]);
        assert_eq!(x, [0.5, 0.0]);
    }

    #[test]
    fn softmax_sums_to_one() {
        for len in [1, 15, 16, 100] {
            let inputs: Vec<f32> = (0..len).map(|i| ((i * 37) % 101) as f32 * 3.0 - 100.0).collect();
            let mut x = inputs.clone();
            softmax_minus(&mut x, &vec![0.0; len], 1.0);
            let total: f64 = inputs.iter().map(|v| f64::from(*v).exp()).sum();
            for (input, found) in inputs.iter().zip(&x) {
                let exact = f64::from(*input).exp() / total;
                assert!((exact - f64::from(*found)).abs() <= 1e-6 * exact + 1e-37);
            }
        }
    }

    #[test]
    fn sums_of_exponentials_are_accurate() {
        assert_eq!(exp_sum(&[]), (f32::NEG_INFINITY, 0.0));
        for len in [1, 15, 16, 100] {
            let x: Vec<f32> = (0..len).map(|i| ((i * 37) % 101) as f32 / 9.0 + 200.0).collect();
            let (largest, sum) = exp_sum(&x);
            let exact: f64 = x.iter().map(|v| f64::from(v - largest).exp()).sum();
            assert!((sum / exact - 1.0).abs() < 1e-6, "{sum} for {exact}");
        }
    }

    #[test]
    fn cosines_are_accurate() {
        let inputs: Vec<f32> = (-3000..3000).map(|i| i as f32 / 97.0).collect();
        let phase = vec![0.125; inputs.len()];
        let mut x = inputs.clone();
        cos_turns(&mut x, &phase, 2.0);
        for (input, found) in inputs.iter().zip(x) {
            let exact = 2.0 * (std::f64::consts::TAU * f64::from(input + 0.125)).cos();
            assert!((exact - f64::from(found)).abs() < 1e-6, "{input}: {found} for {exact}");
        }
        let mut huge = [1e9, -3e30, f32::MAX];
        cos_turns(&mut huge, &[0.5; 3], 1.0);
        assert!(huge.iter().all(|v| v.abs() <= 1.0), "{huge:?}");
    }
}
