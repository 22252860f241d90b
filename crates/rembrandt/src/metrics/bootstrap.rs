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

/// The quantiles, over the replicates, between which an interval lies: the middle 90 %.
pub const INTERVAL: [f64; 2] = [0.05, 0.95];

/// With fewer replicates than this the 5th and 95th percentile would be guesses beyond what was drawn.
pub const MIN_REPLICATES: usize = 16;

/// How to compute intervals.
///
/// The weight of an example in a replicate depends on the seed, the number of the example and the number of the
/// replicate alone. So two systems evaluated on the same examples in the same order see the same replicates, and
/// more replicates begin with the fewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Bootstrap {
    /// Number of replicates, at least [`MIN_REPLICATES`].
    pub replicates: usize,
    /// Seed of the random weights.
    pub seed: u64,
    /// Whether macro-F1 gets an interval, too. It needs counts of every label in every replicate: 8 bytes × c ×
    /// replicates.
    pub macro_f1: bool,
}

impl Default for Bootstrap {
    fn default() -> Bootstrap {
        Bootstrap { replicates: 100, seed: 0, macro_f1: false }
    }
}

setter!(Bootstrap);

impl Bootstrap {
    pub(super) fn check(&self) -> Result<()> {
        if self.replicates < MIN_REPLICATES {
            let reason = format!("{} are too few for an interval, ask for {MIN_REPLICATES} or more", self.replicates);
            return Err(Error::parameter("replicates", reason));
        }
        if self.replicates > MOST_REPLICATES {
            let reason = format!("{} are more than {MOST_REPLICATES}, which tell as much", self.replicates);
            return Err(Error::parameter("replicates", reason));
        }
        Ok(())
    }
}

/// All of them are kept in memory.
const MOST_REPLICATES: usize = 10_000;

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

/// The interval that replicates of a score span; none without replicates in which the score applies.
pub(super) fn interval(mut replicates: Vec<f64>) -> Option<Interval> {
    replicates.sort_unstable_by(f64::total_cmp);
    let last = replicates.len().checked_sub(1)?;
    // Quantiles between two replicates are interpolated.
    let [low, high] = INTERVAL.map(|quantile| {
        let place = quantile * last as f64;
        let (index, part) = (place.floor() as usize, place.fract());
        let next = replicates[(index + 1).min(last)];
        replicates[index] + part * (next - replicates[index])
    });
    Some(Interval { low, high })
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
    fn quantiles_are_interpolated() {
        let values: Vec<f64> = (0..=100).rev().map(f64::from).collect();
        assert_eq!(interval(values), Some(Interval { low: 5.0, high: 95.0 }));
        assert_eq!(interval(vec![3.0]), Some(Interval { low: 3.0, high: 3.0 }));
        assert_eq!(interval(Vec::new()), None);
    }
}
