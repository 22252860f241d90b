//! Decisions label by label: how well each is predicted, those of alike frequency together, and which are mixed up.

use std::collections::{HashMap, HashSet};

use serde::Serialize;

/// Counts of decisions about each label.
#[derive(Clone, Debug)]
pub(super) struct Labels {
    /// Examples for which the label is predicted and true, predicted, true.
    common: Vec<u32>,
    predicted: Vec<u32>,
    actual: Vec<u32>,
    /// True labels beyond those of the model. They cannot be predicted, so that they occurred says all.
    beyond: HashSet<u32>,
}

impl Labels {
    pub(super) fn new(c: usize) -> Labels {
        Labels { common: vec![0; c], predicted: vec![0; c], actual: vec![0; c], beyond: HashSet::new() }
    }

    pub(super) fn add(&mut self, truth: &[u32], positive: &[u32], weight: u32) {
        for &label in truth {
            match self.actual.get_mut(label as usize) {
                Some(actual) => *actual += weight,
                None => {
                    self.beyond.insert(label);
                }
            }
        }
        for &label in positive {
            self.predicted[label as usize] += weight;
            if truth.binary_search(&label).is_ok() {
                self.common[label as usize] += weight;
            }
        }
    }

    pub(super) fn merge(&mut self, other: Labels) {
        let pairs = [
            (&mut self.common, other.common),
            (&mut self.predicted, other.predicted),
            (&mut self.actual, other.actual),
        ];
        for (mine, theirs) in pairs {
            mine.iter_mut().zip(theirs).for_each(|(a, b)| *a += b);
        }
        self.beyond.extend(other.beyond);
    }

    pub(super) fn macro_f1(&self) -> Option<f64> {
        let (mut sum, mut count) = (0.0, self.beyond.len() as f64);
        for label in self.decided() {
            sum += label.f1();
            count += 1.0;
        }
        (count > 0.0).then(|| sum / count)
    }

    /// Labels that are true or predicted somewhere, but for those beyond the model.
    pub(super) fn decided(&self) -> impl Iterator<Item = LabelScores> {
        let all = self.common.iter().zip(&self.predicted).zip(&self.actual).zip(0..);
        all.filter(|(((_, predicted), actual), _)| **predicted > 0 || **actual > 0).map(
            |(((common, predicted), actual), label)| LabelScores {
                label,
                support: u64::from(*actual),
                predicted: u64::from(*predicted),
                common: u64::from(*common),
            },
        )
    }
}

/// How well a label, or several together, is predicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LabelScores {
    /// The label.
    pub label: u32,
    /// Examples that have it.
    pub support: u64,
    /// Examples for which it is predicted.
    pub predicted: u64,
    /// Examples for which it is predicted and right.
    pub common: u64,
}

impl LabelScores {
    /// The share of predictions that are right; absent where there are none.
    pub fn precision(&self) -> Option<f64> {
        (self.predicted > 0).then(|| self.common as f64 / self.predicted as f64)
    }

    /// The share of examples with the label for which it is predicted; absent where there are none.
    pub fn recall(&self) -> Option<f64> {
        (self.support > 0).then(|| self.common as f64 / self.support as f64)
    }

    /// The harmonic mean of the two: 2·common / (predicted + support), 0 where both are 0.
    pub fn f1(&self) -> f64 {
        2.0 * self.common as f64 / (self.predicted + self.support).max(1) as f64
    }
}

/// Labels that are about equally frequent in training.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Band {
    /// `head`, `torso` or `tail`.
    pub name: &'static str,
    /// Labels of the model in it.
    pub labels: usize,
    /// Fewest and most training examples of one of them.
    pub training_examples: [u64; 2],
    /// Labels of all examples together that are in it.
    pub support: u64,
    /// Precision and recall of all decisions together, where there is anything to divide by.
    pub precision: Option<f64>,
    /// See `precision`.
    pub recall: Option<f64>,
    /// F1 of all decisions together.
    pub micro_f1: Option<f64>,
    /// F1 of each label that is true or predicted somewhere, averaged.
    pub macro_f1: Option<f64>,
}

/// The most frequent labels, which make up a third of all labels given in training, those of the second third, and the
/// others. Labels that are equally frequent are in the same band, and one without labels is left out.
pub(super) fn bands(decided: &[LabelScores], counts: &[u64]) -> Vec<Band> {
    let mut sorted = counts.to_vec();
    sorted.sort_unstable_by(|a, b| b.cmp(a));
    let total: u64 = sorted.iter().sum();
    let fewest = |thirds: u64| {
        let mut so_far = 0;
        let reached = |count: &&u64| {
            so_far += **count;
            3 * so_far >= thirds * total
        };
        sorted.iter().find(reached).copied().unwrap_or(0)
    };
    let (head, torso) = (fewest(1), fewest(2));
    let ranges = [("head", head..u64::MAX), ("torso", torso..head), ("tail", 0..torso)];
    let band = |(name, range): (&'static str, std::ops::Range<u64>)| {
        let inside = || counts.iter().copied().filter(|count| range.contains(count));
        let ours: Vec<&LabelScores> = decided.iter().filter(|l| range.contains(&counts[l.label as usize])).collect();
        let sum = |value: fn(&LabelScores) -> u64| ours.iter().map(|label| value(label)).sum();
        let all = LabelScores {
            label: 0,
            support: sum(|l| l.support),
            predicted: sum(|l| l.predicted),
            common: sum(|l| l.common),
        };
        let f1: f64 = ours.iter().map(|label| label.f1()).sum();
        Some(Band {
            name,
            labels: inside().count(),
            training_examples: [inside().min()?, inside().max()?],
            support: all.support,
            precision: all.precision(),
            recall: all.recall(),
            micro_f1: (!ours.is_empty()).then(|| all.f1()),
            macro_f1: (!ours.is_empty()).then(|| f1 / ours.len() as f64),
        })
    };
    ranges.into_iter().filter_map(band).collect()
}

/// Examples that have one label, which is not predicted, and are given another in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Confusion {
    /// The label that is missed.
    pub missed: u32,
    /// The label that is predicted and wrong; of several the one ranked highest.
    pub given: u32,
    /// How many examples.
    pub examples: u64,
}

/// How many examples mix up each pair of labels.
#[derive(Clone, Debug, Default)]
pub(super) struct Confusions(HashMap<(u32, u32), u64>);

impl Confusions {
    pub(super) fn add(&mut self, truth: &[u32], ranked: &[u32], positive: &[u32]) {
        let wrong = |label: &&u32| positive.binary_search(label).is_ok() && truth.binary_search(label).is_err();
        let Some(given) = ranked.iter().find(wrong) else { return };
        for missed in truth.iter().filter(|label| positive.binary_search(label).is_err()) {
            *self.0.entry((*missed, *given)).or_default() += 1;
        }
    }

    pub(super) fn merge(&mut self, other: Confusions) {
        other.0.into_iter().for_each(|(pair, examples)| *self.0.entry(pair).or_default() += examples);
    }

    /// The pairs, those of most examples first.
    pub(super) fn ranked(&self) -> Vec<Confusion> {
        let pair = |(&(missed, given), &examples): (&(u32, u32), &u64)| Confusion { missed, given, examples };
        let mut pairs: Vec<Confusion> = self.0.iter().map(pair).collect();
        pairs.sort_unstable_by_key(|pair| (std::cmp::Reverse(pair.examples), pair.missed, pair.given));
        pairs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bands_have_a_third_of_the_labels_given_and_equals_stay_together() {
        let counts = [10, 10, 4, 3, 3, 0];
        let found = bands(&[], &counts);
        let told: Vec<_> = found.iter().map(|b| (b.name, b.labels, b.training_examples)).collect();
        assert_eq!(told, [("head", 2, [10, 10]), ("tail", 4, [0, 4])], "the first two have more than two thirds");
        let found = bands(&[], &[9, 5, 4, 4, 3, 2, 1]);
        let told: Vec<_> = found.iter().map(|b| (b.name, b.labels, b.training_examples)).collect();
        assert_eq!(told, [("head", 2, [5, 9]), ("torso", 2, [4, 4]), ("tail", 3, [1, 3])]);
        let label = LabelScores { label: 4, support: 4, predicted: 2, common: 1 };
        let tail = &bands(&[label], &[9, 5, 4, 4, 3, 2, 1])[2];
        assert_eq!((tail.precision, tail.recall, tail.support), (Some(0.5), Some(0.25), 4));
        assert_eq!((tail.micro_f1, tail.macro_f1), (Some(1.0 / 3.0), Some(1.0 / 3.0)));
        assert!(bands(&[], &[]).is_empty());
    }

    #[test]
    fn the_best_wrong_label_takes_the_place_of_each_missed_one() {
        let mut confusions = Confusions::default();
        confusions.add(&[1, 2, 3], &[5, 2, 4], &[2, 4, 5]);
        confusions.add(&[1], &[4, 5], &[5]);
        confusions.add(&[1], &[4, 5], &[]);
        let mut other = Confusions::default();
        other.add(&[2], &[2, 5], &[2, 5]);
        confusions.merge(other);
        let found: Vec<_> = confusions.ranked().iter().map(|c| (c.missed, c.given, c.examples)).collect();
        assert_eq!(found, [(1, 5, 2), (3, 5, 1)]);
    }
}
