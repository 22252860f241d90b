//! The exponent of the association table.
//!
//! With p = ½ a strongly associated word counts little more than a weak one. That suits titles of a dozen words. In a
//! document of hundreds of words the many weak associations drown the few strong ones, and p ≥ 1 has the better recall. So
//! p is chosen on examples that the table has not seen, by the recall of their candidates. p = ½ stands unless another
//! exponent misses at least a fifth fewer labels: associations are scores as well, and those with p = ½ rank better.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use rayon::prelude::*;

use super::{FeatureLabelMatrix, RankerData};
use crate::linalg::csr::Csr;
use crate::linalg::kernels::dots::{Number, narrow};
use crate::linalg::sparse_accumulator::SparseAccumulator;

/// Exponents to choose from. The first stands where nothing can be chosen.
const EXPONENTS: [f64; 3] = [0.5, 1.0, 1.5];
/// What another power may miss, at most, of what the root misses.
const MOST_MISSED: f64 = 0.8;
/// Examples that are asked, about and at most, and one of how many they are; the sums are of the others meanwhile.
const VALIDATION: usize = 2500;
const EVERY: usize = 20;
/// With fewer to ask, chance would choose.
const FEWEST: usize = 100;
/// Of the choice of those that are asked.
const SEED: u64 = 1;
/// Examples of one task.
const GRAIN: usize = 32;

/// The exponent for examples with `most` candidates each.
pub(super) fn choose(seen: RankerData<'_>, most: usize) -> f64 {
    let used: Vec<usize> = (0..seen.x.rows()).filter(|i| seen.weight(*i) > 0.0).collect();
    let count = used.len().min(VALIDATION * EVERY);
    if count / EVERY < FEWEST {
        return EXPONENTS[0];
    }
    let mut rng = ChaCha8Rng::seed_from_u64(SEED);
    let (mut told, mut asked, mut weights) = (Rows::default(), Rows::default(), Vec::new());
    for at in 0..count {
        // Evenly spread, because data may have an order; at random, because it may come again and again.
        let i = used[at * used.len() / count];
        if (rng.next_u32() as usize).is_multiple_of(EVERY) {
            asked.push(seen, i);
        } else {
            told.push(seen, i);
            weights.push(seen.weight(i) as f32);
        }
    }
    let mut sums = FeatureLabelMatrix::association_table(
        RankerData { x: told.x.view(), y: told.y.view(), weights: Some(&weights), ..seen },
        1.0,
    );
    let regressions = sums.weights.clone();
    let missed = EXPONENTS.map(|power| {
        let raised = |w: f64| narrow(w.abs().powf(power).copysign(w) as f32);
        sums.weights = regressions.iter().map(|w| raised(f64::from(w.widen()))).collect::<Vec<_>>().into();
        asked.missed(&sums, most)
    });
    let (mut best, mut bar) = (EXPONENTS[0], MOST_MISSED * missed[0] as f64);
    for (power, missed) in EXPONENTS.into_iter().zip(missed).skip(1) {
        if (missed as f64) < bar {
            (best, bar) = (power, missed as f64);
        }
    }
    best
}

/// Some of the examples.
struct Rows {
    x: Csr,
    y: Csr,
}

impl Default for Rows {
    fn default() -> Rows {
        Rows { x: Csr::new(false), y: Csr::new(false) }
    }
}

impl Rows {
    fn push(&mut self, seen: RankerData<'_>, i: usize) {
        self.x.extend_rows(seen.x, i, i + 1);
        self.y.extend_rows(seen.y, i, i + 1);
    }

    /// How many labels are not candidates by the examples that have them.
    fn missed(&self, sums: &FeatureLabelMatrix, most: usize) -> usize {
        let (x, y) = (self.x.view(), self.y.view());
        let missed = |scratch: &mut SparseAccumulator, i: usize| {
            let candidates = sums.leading(x.row(i), most, &[], scratch);
            let absent = |label: &&u32| candidates.binary_search_by_key(*label, |(other, _)| *other).is_err();
            y.row(i).0.iter().filter(absent).count()
        };
        (0..x.rows()).into_par_iter().with_min_len(GRAIN).map_init(SparseAccumulator::default, missed).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each of 40 labels has a word of its own, and examples have `weak` of 3000 words besides, each of which says a little of
    /// the four labels that most examples have.
    fn choice(weak: u32, most: usize) -> f64 {
        let (mut x, mut y) = (Csr::new(false), Csr::new(true));
        for i in 0..8000u32 {
            let label = if i % 3 == 0 { i / 3 % 40 } else { i % 4 };
            let mut words: Vec<u32> =
                (0..weak).map(|j| 40 + ((i * 64 + j).wrapping_mul(2_654_435_761) >> 8) % 3000).collect();
            words.sort_unstable();
            words.dedup();
            x.push(label, 1.0);
            words.into_iter().for_each(|word| x.push(word, 1.0));
            x.end_row();
            y.push(label, 1.0);
            y.end_row();
        }
        choose(RankerData { x: x.view(), y: y.view(), weights: None, d: 3040, c: 40 }, most)
    }

    #[test]
    fn a_strong_word_among_many_weak_ones_counts_more() {
        assert_eq!(choice(0, 3), 0.5);
        assert_eq!(choice(10, 3), 1.5);
        // Where all are candidates, there is nothing to choose.
        assert_eq!(choice(10, 40), 0.5);
    }

    #[test]
    fn few_examples_choose_nothing() {
        let (mut x, mut y) = (Csr::new(false), Csr::new(true));
        for _ in 0..1000 {
            x.push(0, 1.0);
            x.end_row();
            y.push(0, 1.0);
            y.end_row();
        }
        let seen = RankerData { x: x.view(), y: y.view(), weights: None, d: 1, c: 1 };
        assert_eq!(choose(seen, 1), EXPONENTS[0]);
        assert_eq!(choose(RankerData { weights: Some(&[0.0; 1000]), ..seen }, 1), EXPONENTS[0]);
    }
}
