//! Random numbers, and Zipf's law.
//!
//! The numbers are those of SplitMix64: a counter in steps of an odd constant, mixed until no bit tells of another. Where a
//! counter begins is itself mixed from the seed, the purpose and the number of what is drawn, so any example can be made
//! without those before it. A draw takes a few cycles, and none is left to the C library, whose powers and logarithms differ
//! in their last bits from one machine to the next. What is drawn in great number is written without tables or branches,
//! for vector instructions.
//!
//! For a uniform u the number ⌊(count + 1)^u⌋ is k with probability log(1 + 1/k) / log(count + 1), which is Zipf's law but
//! for the very first ranks.

use rembrandt::linalg::kernels::simd::Work;

/// 2⁶⁴ divided by the golden ratio: multiples of it are spread evenly.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// 2ˣ on [0, 1], to 4e-9, and exact at both ends so that there is no gap between octaves.
const POWER: [f64; 7] = [
    1.0,
    0.6931470590330935,
    0.24022945393542033,
    0.055483371907696935,
    0.00968120469546097,
    0.0012401353806130448,
    0.00021877504771519772,
];

/// 2ˣ on [0, 1]. Products are not fused with sums, so that every processor finds the same.
#[inline(always)]
fn power(x: f64) -> f64 {
    let [c0, c1, c2, c3, c4, c5, c6] = POWER;
    let (x2, x4) = (x * x, (x * x) * (x * x));
    (c0 + c1 * x) + x2 * (c2 + c3 * x) + x4 * ((c4 + c5 * x) + x2 * c6)
}

/// Added to a number, this rounds it to a whole one, which then is in the lowest bits: one and a half times 2⁵², so that
/// numbers a little below 0 are rounded as well.
const WHOLE: f64 = (3u64 << 51) as f64;

/// log₂(1 + x) on [0, 1], to 6e-7, and exact at both ends.
const LOGARITHM: [f32; 8] =
    [0.0, 1.442_673_9, -0.720_631_7, 0.473_518_1, -0.325_041_63, 0.192_106, -0.077_403_4, 0.014_778_721];

/// Spreads what differs between two numbers over all of their bits.
#[inline(always)]
fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// The `number`-th of the hashes under a key.
#[inline(always)]
pub fn hash(key: u64, number: u64) -> u64 {
    mix(key.wrapping_add(number.wrapping_add(1).wrapping_mul(STEP)))
}

/// The same for a key that was mixed before: it takes less to spread the numbers of 32 bits under it, if only the upper
/// half of the result counts.
#[inline(always)]
pub fn spread(key: u64, number: u32) -> u64 {
    let x = key.wrapping_add(u64::from(number).wrapping_mul(STEP));
    (x ^ (x >> 32)).wrapping_mul(0xBF58_476D_1CE4_E5B9)
}

/// A number below `count`, which has 32 bits, from 64 random bits.
#[inline(always)]
pub fn below(bits: u64, count: u64) -> u64 {
    ((bits >> 32) * count) >> 32
}

/// Random numbers of one example, or of whatever else has a key.
pub struct Draw(u64);

impl Draw {
    pub fn new(key: u64, number: u64) -> Draw {
        Draw(hash(key, number))
    }

    #[inline(always)]
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        mix(self.0)
    }

    /// The number that [`bits`](Draw::bits) will give after so many draws.
    #[inline(always)]
    pub fn ahead(&self, draws: u64) -> u64 {
        mix(self.0.wrapping_add((draws + 1).wrapping_mul(STEP)))
    }

    /// Standard normal, or nearly: the sum of twelve uniform numbers of 21 bits, which reaches six deviations.
    pub fn normal(&mut self) -> f64 {
        let mut sum = 0;
        for _ in 0..4 {
            let bits = self.bits();
            sum += (bits >> 43) + (bits >> 22 & 0x1F_FFFF) + (bits >> 1 & 0x1F_FFFF);
        }
        // Each number stands for the middle of its 2⁻²¹.
        (sum as f64 + 6.0) / (1u64 << 21) as f64 - 6.0
    }
}

/// A probability in 2⁻³²: how many of the numbers of 32 bits are below it.
pub fn chance(probability: f64) -> u64 {
    (probability * (1u64 << 32) as f64).round() as u64
}

/// Zipf's law for the numbers below a count.
#[derive(Clone, Copy)]
pub struct Zipf {
    /// log₂(count + 1).
    octaves: f64,
    last: u32,
}

impl Zipf {
    pub fn new(count: usize) -> Zipf {
        Zipf { octaves: octaves(count as u64 + 1) as f64 / (1u64 << 58) as f64, last: count as u32 - 1 }
    }

    /// One law or the other. Written so that many are chosen at once, without a table or a branch.
    #[inline(always)]
    pub fn either(first: bool, one: Zipf, other: Zipf) -> Zipf {
        Zipf {
            octaves: if first { one.octaves } else { other.octaves },
            last: if first { one.last } else { other.last },
        }
    }

    /// A number below the count, about in inverse proportion to one more than itself, from 64 random bits.
    ///
    /// Vector instructions can find many at once: whole numbers are made of others by adding, not by converting.
    #[inline(always)]
    pub fn at(&self, bits: u64) -> u32 {
        let octaves = (f64::from_bits(1023 << 52 | bits >> 12) - 1.0) * self.octaves;
        // Half less is rounded to what is before the point. What is after it is 1 at most, where the power is exact.
        let whole = (octaves - 0.5) + WHOLE;
        let mantissa = power(octaves - (whole - WHOLE));
        // The lowest bits of the whole number are added to the exponent.
        let rank = f64::from_bits(mantissa.to_bits().wrapping_add(whole.to_bits() << 52));
        (((rank - 1.5) + WHOLE).to_bits() as u32).min(self.last)
    }
}

/// Ranks of a few dozen by a law from what comes next in `draw`, two from one draw, all at once.
pub struct DrawRanks<'a> {
    pub law: Zipf,
    pub draw: &'a Draw,
    pub ranks: &'a mut [u32],
}

impl Work for DrawRanks<'_> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        for (i, rank) in (0..).zip(self.ranks) {
            *rank = self.law.at(self.draw.ahead(i / 2) << (i % 2 * 32));
        }
    }
}

/// log₂ of a number below 2³³ in 2⁻⁵⁸, a binary digit at a time: squaring a number between 1 and 2 brings the next digit
/// of its logarithm before the point.
fn octaves(number: u64) -> u64 {
    let whole = number.ilog2();
    // 2⁶³ stands for 1.
    let mut mantissa = u128::from(number) << (63 - whole);
    let mut digits = u64::from(whole);
    for _ in 0..58 {
        mantissa = (mantissa * mantissa) >> 63;
        let digit = (mantissa >> 64) as u64;
        mantissa >>= digit;
        digits = digits << 1 | digit;
    }
    digits
}

/// log₂(2 + number).
#[inline(always)]
pub fn log2(number: u32) -> f32 {
    let bits = (number as f32 + 2.0).to_bits();
    let x = f32::from_bits(127 << 23 | bits & 0x7F_FFFF) - 1.0;
    let [c0, c1, c2, c3, c4, c5, c6, c7] = LOGARITHM;
    let (x2, x4) = (x * x, (x * x) * (x * x));
    let mantissa = (c0 + c1 * x) + x2 * (c2 + c3 * x) + x4 * ((c4 + c5 * x) + x2 * (c6 + c7 * x));
    ((bits >> 23) as i32 - 127) as f32 + mantissa
}

/// eˣ for |x| well below 700.
pub fn exp(x: f64) -> f64 {
    let octaves = x * std::f64::consts::LOG2_E;
    let whole = octaves.floor();
    let x = octaves - whole;
    power(x) * f64::from_bits(((1023 + whole as i64) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rembrandt::linalg::kernels::simd::Level;

    #[test]
    fn polynomials_come_near_what_they_stand_for() {
        for i in 0..4000 {
            let x = f64::from(i) / 100.0 - 20.0;
            assert!((exp(x) / x.exp() - 1.0).abs() < 1e-8, "{x}");
        }
        for number in (0..5_000_000).step_by(97).chain([0, 1, 2, 5, 6, u32::MAX - 1]) {
            let exact = (f64::from(number) + 2.0).log2();
            assert!((f64::from(log2(number)) / exact - 1.0).abs() < 2e-6, "{number}");
        }
    }

    #[test]
    fn digits_of_logarithms_are_right() {
        for number in [1, 2, 3, 4, 7, 1000, 325_001, 1_600_001, 1 << 32] {
            let found = octaves(number) as f64 / (1u64 << 58) as f64;
            assert!((found - (number as f64).log2()).abs() < 1e-14, "{number}: {found}");
        }
    }

    #[test]
    fn ranks_have_the_probabilities_of_the_law() {
        for count in [1, 6, 200, 1_600_000, u32::MAX as usize] {
            let zipf = Zipf::new(count);
            assert_eq!(zipf.at(0), 0);
            assert!(zipf.at(u64::MAX) as usize >= (count - 1) - count / 1_000_000, "{}", zipf.at(u64::MAX));
            // The quantiles of the law, which is where the inverse of its distribution function goes.
            for i in 1..1000 {
                let u = f64::from(i) / 1000.0;
                let exact = ((count as f64 + 1.0).ln() * u).exp();
                let rank = f64::from(zipf.at((u * 2f64.powi(64)) as u64)) + 1.0;
                assert!(rank <= exact * (1.0 + 1e-7) && rank + 1.0 >= exact * (1.0 - 1e-7), "{rank} for {exact}");
            }
        }
    }

    #[test]
    fn numbers_under_a_key_are_spread_evenly() {
        // As many as a topic has words, under many keys: counts of 64 parts, and of pairs of parts of one and the next.
        let (keys, numbers, mut counts, mut pairs) = (2000, 200, [0f64; 64], [0f64; 64]);
        for key in 0..keys {
            let parts: Vec<usize> = (0..numbers).map(|i| below(spread(hash(9, key), i), 64) as usize).collect();
            parts.iter().for_each(|part| counts[*part] += 1.0);
            parts.windows(2).for_each(|two| pairs[two[0] / 8 * 8 + two[1] / 8] += 1.0);
        }
        for counts in [counts, pairs] {
            let mean = counts.iter().sum::<f64>() / 64.0;
            let chi = counts.iter().map(|count| (count - mean).powi(2) / mean).sum::<f64>();
            // 63 on average, with a deviation of 11.
            assert!(chi < 120.0, "{chi}");
        }
    }

    #[test]
    fn what_is_ahead_is_what_comes() {
        let mut draw = Draw::new(5, 6);
        let ahead: Vec<u64> = (0..9).map(|i| draw.ahead(i)).collect();
        assert!(ahead.iter().all(|bits| *bits == draw.bits()));
        let (law, mut ranks) = (Zipf::new(40), [0; 8]);
        Level::best().run(DrawRanks { law, draw: &draw, ranks: &mut ranks });
        for two in ranks.chunks(2) {
            let bits = draw.bits();
            assert_eq!(two, [law.at(bits), law.at(bits << 32)]);
        }
    }

    #[test]
    fn draws_have_the_moments_they_should() {
        let mut draw = Draw::new(3, 4);
        let (n, mut sums) = (200_000, [0.0; 3]);
        for _ in 0..n {
            let normal = draw.normal();
            sums = [sums[0] + normal, sums[1] + normal * normal, sums[2] + normal.powi(3)];
        }
        let means = sums.map(|sum| sum / f64::from(n));
        let far = [means[0], means[1] - 1.0, means[2]].map(f64::abs);
        assert!(far[0] < 0.01 && far[1] < 0.015 && far[2] < 0.04, "{means:?}");
        let often = (0..n).filter(|_| draw.bits() >> 32 < chance(0.3)).count() as f64;
        assert!((often / f64::from(n) - 0.3).abs() < 0.005);
    }
}
