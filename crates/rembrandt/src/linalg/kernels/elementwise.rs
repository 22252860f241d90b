//! Exponentials, cosines and random numbers of whole rows, compiled for the vector instructions at hand.
//!
//! The functions of the standard library are calls, one number at a time. These are short polynomials without
//! branches, accurate to a few units in the last place of an `f32`, and the same bits on every processor that fuses
//! multiply-adds.

use super::select::{lanes, largest_lane};
use super::simd::{Level, Work};

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

/// Divides by the length, for which squares are summed in double precision; what has none stays as it is.
pub(crate) fn to_unit_length(x: &mut [f32]) {
    Level::best().run(UnitLength { x });
}

/// Words that make one block of normals.
const WORDS: usize = 16;

/// Standard normals from random words, two from each two by the method of Box and Muller.
///
/// Nothing is fused, so the bits are the same on any processor.
///
/// # Panics
/// If there are not as many words as normals, or not a multiple of 16.
pub(crate) fn normals(words: &[u32], out: &mut [f32]) {
    assert_eq!((words.len(), words.len() % WORDS), (out.len(), 0), "as many words as normals, in blocks");
    Level::best().run(Normals { words, out });
}

struct Normals<'a> {
    words: &'a [u32],
    out: &'a mut [f32],
}

impl Work for Normals<'_> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        for (words, out) in self.words.as_chunks::<WORDS>().0.iter().zip(self.out.as_chunks_mut::<WORDS>().0) {
            let mut pairs = [[0f32; WORDS / 2]; 2];
            for i in 0..WORDS / 2 {
                [pairs[0][i], pairs[1][i]] = box_muller(words[2 * i], words[2 * i + 1]);
            }
            for i in 0..WORDS / 2 {
                (out[2 * i], out[2 * i + 1]) = (pairs[0][i], pairs[1][i]);
            }
        }
    }
}

/// Two normals: the first word tells how far from 0 they are together, the second in which direction.
#[inline(always)]
fn box_muller(distance: u32, direction: u32) -> [f32; 2] {
    const UNIT: f32 = 1.0 / 4_294_967_296.0;
    // Uniform on (0, 1]: never 0, whose logarithm is infinite. The largest are rounded to 1, a distance of 0.
    let radius = (-2.0 * ln((distance as f32 + 0.5) * UNIT)).max(0.0).sqrt();
    // The nearest quarter of a turn, and what is left of the angle: with whole numbers, so without any rounding.
    let quarter = direction.wrapping_add(1 << 29) >> 30;
    let rest = direction.wrapping_sub(quarter << 30) as i32;
    let x = rest as f32 * (std::f32::consts::TAU * UNIT);
    let z = x * x;
    let sin = x + x * z * (-1.666_665_5e-1 + z * (8.332_161e-3 - z * 1.951_529_6e-4));
    let cos = 1.0 - 0.5 * z + z * z * (4.166_664_6e-2 + z * (-1.388_731_6e-3 + z * 2.443_315_7e-5));
    let (first, second) = if quarter & 1 == 0 { (cos, sin) } else { (sin, cos) };
    // Cosines are negative in the second and third quarter, sines in the third and fourth.
    let sign = |v: f32, negative: u32| f32::from_bits(v.to_bits() ^ (negative << 31));
    [radius * sign(first, (quarter >> 1) ^ (quarter & 1)), radius * sign(second, quarter >> 1)]
}

/// The logarithm of a positive number that is not subnormal.
#[inline(always)]
fn ln(x: f32) -> f32 {
    // x = 2ᵉ(1 + f) with 1 + f between √½ and √2.
    const ROOT_HALF: u32 = 0x3f35_04f3;
    let bits = x.to_bits();
    let e = (bits.wrapping_sub(ROOT_HALF) as i32) >> 23;
    let f = f32::from_bits(bits.wrapping_sub((e << 23) as u32)) - 1.0;
    let (e, z) = (e as f32, f * f);
    let mut p = 7.037_684e-2;
    for c in [
        -1.151_461e-1,
        1.167_699_8e-1,
        -1.242_014_1e-1,
        1.424_932_3e-1,
        -1.666_805_8e-1,
        2.000_071_5e-1,
        -2.499_999_4e-1,
        3.333_333e-1,
    ] {
        p = p * f + c;
    }
    // ln 2 in two parts, as in the exponential.
    let small = p * f * z - 2.121_944_4e-4 * e - 0.5 * z;
    (f + small) + 0.693_359_4 * e
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
        let largest = largest_lane(lanes(self.x));
        self.x.iter_mut().for_each(|x| *x = exp::<FMA>(*x - largest));
        let mut sums = [0f32; LANES];
        let chunks = self.x.chunks_exact(LANES);
        let rest: f64 = chunks.remainder().iter().map(|x| f64::from(*x)).sum();
        for chunk in chunks {
            sums.iter_mut().zip(chunk).for_each(|(s, x)| *s += x);
        }
        let total = total(sums) + rest;
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
        let largest = largest_lane(lanes(self.x));
        let mut sums = [0f32; LANES];
        let (chunks, rest) = self.x.as_chunks::<LANES>();
        for chunk in chunks {
            sums.iter_mut().zip(chunk).for_each(|(s, x)| *s += exp::<FMA>(*x - largest));
        }
        let rest: f64 = rest.iter().map(|x| f64::from(exp::<FMA>(*x - largest))).sum();
        *self.found = (largest, total(sums) + rest);
    }
}

/// The sum of partial sums.
#[inline(always)]
fn total(sums: [f32; LANES]) -> f64 {
    let mut wide = [0f64; LANES];
    wide.iter_mut().zip(sums).for_each(|(w, s)| *w = f64::from(s));
    halved(wide)
}

/// The sum, by halving: one after the other, each addition would wait for the one before.
#[inline(always)]
fn halved(mut sums: [f64; LANES]) -> f64 {
    macro_rules! halve {
        ($($half:literal)*) => {$(
            for i in 0..$half {
                sums[i] += sums[i + $half];
            }
        )*};
    }
    halve!(8 4 2 1);
    sums[0]
}

struct UnitLength<'a> {
    x: &'a mut [f32],
}

impl Work for UnitLength<'_> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let mut sums = [0f64; LANES];
        let (chunks, rest) = self.x.as_chunks::<LANES>();
        for chunk in chunks {
            sums.iter_mut().zip(chunk).for_each(|(s, x)| *s += f64::from(*x) * f64::from(*x));
        }
        sums.iter_mut().zip(rest).for_each(|(s, x)| *s += f64::from(*x) * f64::from(*x));
        let square = halved(sums);
        if square > 0.0 {
            let inverse = square.sqrt().recip();
            self.x.iter_mut().for_each(|x| *x = (f64::from(*x) * inverse) as f32);
        }
    }
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

/// Added to a number, it pushes the fraction out of the mantissa.
const PUSH: f32 = 12_582_912.0;

/// The nearest whole number of anything below 2²², by pushing the fraction out of the mantissa. Larger angles are
/// left as they are, and their cosines are then merely bounded.
#[inline(always)]
fn round(x: f32) -> f32 {
    (x + PUSH) - PUSH
}

/// eˣ, with x cut to what has a normal result.
#[inline(always)]
fn exp<const FMA: bool>(x: f32) -> f32 {
    let x = x.clamp(-87.0, 88.0);
    let pushed = x * std::f32::consts::LOG2_E + PUSH;
    let n = pushed - PUSH;
    // ln 2 in two parts: the first has so few digits that its multiples are exact.
    let r = fused::<FMA>(n, -0.693_359_4, x);
    let r = fused::<FMA>(n, 2.121_944_4e-4, r);
    let mut p = 1.0 / 5040.0;
    for c in [1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0] {
        p = fused::<FMA>(p, r, c);
    }
    // 2ⁿ from the last bits of the pushed number, which are those of n. A conversion to an integer would have to look out
    // for numbers that are too large, one at a time.
    p * f32::from_bits((pushed.to_bits() << 23).wrapping_add(127 << 23))
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
    fn rows_of_any_length_get_length_one() {
        for len in [1, 15, 16, 40] {
            let mut x: Vec<f32> = (0..len).map(|i| (i * 37 % 11) as f32 - 4.5).collect();
            let first = x[0];
            to_unit_length(&mut x);
            let square: f64 = x.iter().map(|v| f64::from(*v) * f64::from(*v)).sum();
            assert!((square - 1.0).abs() < 1e-6 && x[0].signum() == first.signum(), "{square}");
        }
        let mut without = [0.0; 3];
        to_unit_length(&mut without);
        assert_eq!(without, [0.0; 3]);
    }

    #[test]
    fn normals_are_what_the_method_says() {
        // Corners of both words, and then all over.
        let corners =
            [0, 1, 2, 1 << 29, (1 << 29) - 1, 1 << 30, 3 << 29, 1 << 31, 5 << 29, 3 << 30, u32::MAX - 1, u32::MAX];
        let mut words: Vec<u32> = corners.iter().flat_map(|u| corners.iter().flat_map(move |v| [*u, *v])).collect();
        words.extend((0..40_000u32).map(|i| i.wrapping_mul(2_654_435_761).rotate_left(i % 32)));
        words.truncate(words.len() / 16 * 16);
        let mut found = vec![0.0; words.len()];
        normals(&words, &mut found);
        for (words, found) in words.chunks(2).zip(found.chunks(2)) {
            let u = (f64::from(words[0]) + 0.5) / 4_294_967_296.0;
            let (sin, cos) = (std::f64::consts::TAU * f64::from(words[1]) / 4_294_967_296.0).sin_cos();
            let radius = (-2.0 * u.ln()).sqrt();
            // An `f32` next to 1 is up to 3e-8 from u: the smaller the radius, the more that is of it.
            let allowed = 2e-6 * radius + 2e-7 / radius;
            assert!((radius * cos - f64::from(found[0])).abs() <= allowed, "{words:?}: {found:?}");
            assert!((radius * sin - f64::from(found[1])).abs() <= allowed, "{words:?}: {found:?}");
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
