//! Intervals by the Poisson bootstrap.
//!
//! A replicate is the data with every example repeated a random number of times, Poisson with mean 1: what drawing n
//! of n examples with replacement tends to, without having to know n, so that examples can stream by. All scores are
//! functions of sums over examples; each replicate keeps its own.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};

use super::Interval;
use crate::{Error, Result};

/// The confidence of intervals where none is asked for.
pub const LEVEL: f64 = 0.9;

/// An interval needs so many replicates beyond each of its ends; with fewer the ends would be guesses beyond what was drawn.
const BEYOND: f64 = 0.8;

/// More replicates than this tell nothing more, and each takes memory.
const MOST_REPLICATES: usize = 100_000;

/// How to compute intervals.
///
/// The weight of an example in a replicate depends on the seed, the number of the example and the number of the
/// replicate alone. So two systems evaluated on the same examples in the same order see the same replicates, and
/// more replicates begin with the fewer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Bootstrap {
    /// Number of replicates: 16 at least for a level of 0.9, and the more the higher that is.
    pub replicates: usize,
    /// The confidence with which a score lies in its interval, between 0 and 1.
    pub level: f64,
    /// Seed of the random weights.
    pub seed: u64,
    /// Whether macro-F1 gets an interval, too. It needs counts of every label in every replicate: 12 bytes × c ×
    /// replicates.
    pub macro_f1: bool,
}

impl Default for Bootstrap {
    fn default() -> Bootstrap {
        Bootstrap { replicates: 100, level: LEVEL, seed: 0, macro_f1: false }
    }
}

setter!(Bootstrap);

impl Bootstrap {
    pub(super) fn check(&self) -> Result<()> {
        if !(self.level > 0.0 && self.level < 1.0) {
            return Err(Error::parameter("level", format!("{} is not between 0 and 1", self.level)));
        }
        let least = (2.0 * BEYOND / (1.0 - self.level)).round().max(16.0);
        if (self.replicates as f64) < least {
            let (percent, replicates) = (100.0 * self.level, self.replicates);
            let reason = format!("{replicates} are too few for an interval of {percent} %, ask for {least} or more");
            return Err(Error::parameter("replicates", reason));
        }
        if self.replicates > MOST_REPLICATES {
            let reason = format!("more than {MOST_REPLICATES} tell nothing more");
            return Err(Error::parameter("replicates", reason));
        }
        Ok(())
    }
}

/// The source of the weights.
#[derive(Clone, Debug)]
pub(super) struct Weights(ChaCha8Rng);

impl Weights {
    pub(super) fn new(seed: u64) -> Weights {
        Weights(ChaCha8Rng::seed_from_u64(seed))
    }

    /// The weights of one example in all replicates: replicate r takes word r of the example's stream.
    pub(super) fn fill(&mut self, example: u64, weights: &mut [u32]) {
        self.0.set_stream(example);
        self.0.set_word_pos(0);
        for weight in weights {
            *weight = poisson(self.0.next_u32());
        }
    }
}

/// A Poisson number of mean 1 from 32 random bits, by inversion of the distribution function.
fn poisson(word: u32) -> u32 {
    let uniform = (f64::from(word) + 0.5) / 4_294_967_296.0;
    let (mut value, mut mass) = (0, (-1f64).exp());
    let mut below = mass;
    // Ends by 12: what lies beyond is less than 2⁻³³, half of the last step of `uniform`.
    while uniform > below {
        value += 1;
        mass /= f64::from(value);
        below += mass;
    }
    value
}

/// The interval of a score, which is a share of something; none without replicates in which the score applies.
pub(super) fn interval(score: f64, replicates: Vec<f64>, level: f64) -> Option<Interval> {
    let Interval { low, high } = spread(score, replicates, level)?;
    // Where labels are unknown a share of mistakes may be a little more than 1.
    Some(Interval { low: low.max(0.0), high: high.min(score.max(1.0)) })
}

/// The interval around a value that its replicates span.
///
/// Replicates of what is no mean over examples are too high or too low on the whole: of rare labels some are absent from
/// each, and noise adds to calibration errors. So their spread is taken and put where the value is, which lies where their
/// median did.
pub(super) fn spread(value: f64, mut replicates: Vec<f64>, level: f64) -> Option<Interval> {
    replicates.sort_unstable_by(f64::total_cmp);
    let last = replicates.len().checked_sub(1)?;
    // Quantiles between two replicates are interpolated.
    let quantile = |quantile: f64| {
        let place = quantile * last as f64;
        let (index, part) = (place.floor() as usize, place.fract());
        let next = replicates[(index + 1).min(last)];
        replicates[index] + part * (next - replicates[index])
    };
    let (middle, tail) = (quantile(0.5), (1.0 - level) / 2.0);
    Some(Interval { low: value + (quantile(tail) - middle), high: value + (quantile(1.0 - tail) - middle) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weights(seed: u64, example: u64, replicates: usize) -> Vec<u32> {
        let mut out = vec![0; replicates];
        Weights::new(seed).fill(example, &mut out);
        out
    }

    #[test]
    fn weights_depend_on_seed_example_and_replicate_alone() {
        let mut source = Weights::new(3);
        let mut after_others = vec![0; 70];
        for example in [9, 2, u64::MAX, 5] {
            source.fill(example, &mut after_others);
        }
        assert_eq!(after_others, weights(3, 5, 70));
        assert_eq!(weights(3, 5, 20), weights(3, 5, 70)[..20]);
        assert_ne!(weights(3, 5, 70), weights(3, 6, 70));
        assert_ne!(weights(3, 5, 70), weights(4, 5, 70));
    }

    #[test]
    fn weights_are_poisson() {
        let all: Vec<u32> = (0..2000).flat_map(|example| weights(1, example, 100)).collect();
        let mut mass = (-1f64).exp();
        for value in 0..5 {
            let share = all.iter().filter(|w| **w == value).count() as f64 / all.len() as f64;
            assert!((share - mass).abs() < 0.005, "{value}: {share} against {mass}");
            mass /= f64::from(value + 1);
        }
        assert_eq!((poisson(0), poisson(u32::MAX)), (0, 12));
    }

    #[test]
    fn quantiles_are_interpolated_and_moved_to_the_score() {
        let values: Vec<f64> = (0..=100).rev().map(|v| f64::from(v) / 200.0).collect();
        let near = |score: f64, level: f64, ends: [f64; 2]| {
            let Interval { low, high } = interval(score, values.clone(), level).unwrap();
            assert!((low - ends[0]).abs() < 1e-12 && (high - ends[1]).abs() < 1e-12, "{low} to {high} for {ends:?}");
        };
        near(0.25, 0.9, [0.025, 0.475]);
        near(0.25, 0.95, [0.0125, 0.4875]);
        near(0.5, 0.9, [0.275, 0.725]);
        near(0.1, 0.9, [0.0, 0.325]);
        near(0.95, 0.9, [0.725, 1.0]);
        assert_eq!(interval(0.3, vec![0.4], 0.9), Some(Interval { low: 0.3, high: 0.3 }));
        assert_eq!(interval(0.3, Vec::new(), 0.9), None);
        let Interval { low, high } = spread(-0.5, vec![1.0, 3.0, 2.0], 0.9).unwrap();
        assert!(
            (low + 1.4).abs() < 1e-12 && (high - 0.4).abs() < 1e-12,
            "what is no share is not cut off: {low} to {high}"
        );
    }

    #[test]
    fn the_ends_of_an_interval_need_replicates_beyond_them() {
        let check = |replicates, level| {
            let bootstrap = Bootstrap { replicates, level, ..Bootstrap::default() };
            bootstrap.check().map_err(|error| error.to_string())
        };
        assert_eq!((check(16, 0.9), check(32, 0.95), check(160, 0.99)), (Ok(()), Ok(()), Ok(())));
        assert!(check(31, 0.95).unwrap_err().contains("interval of 95 %, ask for 32 or more"));
        assert!(check(100, 1.0).unwrap_err().starts_with("level: 1 is not between 0 and 1"));
        assert!(check(100, f64::NAN).is_err() && check(1_000_000_000, 0.9).is_err());
    }
}
