//! The matrix, from the examples.

use rayon::prelude::*;

use super::separate::{Separated, mean_square, separate};
use super::{Evidence, Seen};
use crate::csr::Columns;
use crate::kernel::dots::{Number, narrow};
use crate::{Result, Run};

/// Labels that a feature keeps at most.
const MOST: usize = 512;
/// What sums count beside weights that separate, for examples of mean square 1.
const SUMS: f64 = 2.0;
/// Features of one task.
const GRAIN: usize = 64;

/// Sums over the examples of a feature, of which few labels are touched.
struct Scratch {
    sums: Vec<f64>,
    touched: Vec<u32>,
}

impl Evidence {
    /// What single features say of labels on some examples, with a gain of 1.
    pub(crate) fn fit(seen: Seen<'_>, run: &mut Run<'_>) -> Result<Evidence> {
        let sums = Evidence::sums(seen);
        let separated = separate(sums.view(), seen, run)?;
        let share = SUMS / mean_square(seen).sqrt().sqrt();
        Ok(sums.plus(share as f32, &separated))
    }

    /// e(f, l) alone.
    pub(super) fn sums(seen: Seen<'_>) -> Evidence {
        let examples = Weighed { columns: Columns::new(seen.x, seen.d), seen };
        let squares: Vec<f64> = (0..seen.d).map(|f| examples.square(f)).collect();
        let used = squares.iter().filter(|square| **square > 0.0).count();
        let rho = squares.iter().sum::<f64>() / used.max(1) as f64;
        let scratch = || Scratch { sums: vec![0.0; seen.c], touched: Vec::new() };
        let lists: Vec<Vec<(u32, u16)>> = (0..seen.d)
            .into_par_iter()
            .with_min_len(GRAIN)
            .map_init(scratch, |scratch, f| {
                examples.add_up(f, scratch);
                scratch.list(squares[f] + rho)
            })
            .collect();
        let mut evidence = Evidence::with_capacity(seen.d, lists.iter().map(Vec::len).sum());
        for list in lists {
            evidence.labels.extend(list.iter().map(|(label, _)| *label));
            evidence.weights.extend(list.iter().map(|(_, weight)| *weight));
            evidence.starts.push(evidence.labels.len() as u64);
        }
        evidence
    }

    /// `share` times these weights, and those of every label.
    fn plus(&self, share: f32, separated: &Separated) -> Evidence {
        let d = self.starts.len() - 1;
        // The labels of every feature, ascending because they come in their order.
        let mut starts = vec![0; d + 1];
        separated.iter().flatten().for_each(|(feature, _)| starts[*feature as usize + 1] += 1);
        (0..d).for_each(|f| starts[f + 1] += starts[f]);
        let mut next = starts.clone();
        let mut added = vec![(0, 0.0); starts[d]];
        for (label, weights) in (0u32..).zip(separated) {
            for (feature, weight) in weights {
                let at = &mut next[*feature as usize];
                added[*at] = (label, *weight);
                *at += 1;
            }
        }
        let mut both = Evidence::with_capacity(d, self.pairs() + added.len());
        for feature in 0..d {
            let places = self.view().places(feature);
            let mut own = self.labels[places.clone()].iter().zip(&self.weights[places]).peekable();
            let mut other = added[starts[feature]..starts[feature + 1]].iter().peekable();
            loop {
                let [first, second] = [own.peek().map(|(label, _)| **label), other.peek().map(|(label, _)| *label)];
                let Some(label) = first.into_iter().chain(second).min() else { break };
                let sum = own.next_if(|(at, _)| **at == label).map_or(0.0, |(_, weight)| share * weight.widen());
                let weight = sum + other.next_if(|(at, _)| *at == label).map_or(0.0, |(_, weight)| *weight);
                both.labels.push(label);
                both.weights.push(narrow(weight));
            }
            both.starts.push(both.labels.len() as u64);
        }
        both.labels.shrink_to_fit();
        both.weights.shrink_to_fit();
        both
    }

    fn with_capacity(d: usize, pairs: usize) -> Evidence {
        let mut starts = Vec::with_capacity(d + 1);
        starts.push(0);
        Evidence { gain: 1.0, starts, labels: Vec::with_capacity(pairs), weights: Vec::with_capacity(pairs) }
    }
}

impl Scratch {
    /// The labels of which a feature says most, ascending; leaves the sums empty.
    fn list(&mut self, square: f64) -> Vec<(u32, u16)> {
        let root = |sum: f64| (sum.abs() / square).sqrt().copysign(sum) as f32;
        let said = self.touched.iter().map(|label| (*label, root(self.sums[*label as usize])));
        let mut list: Vec<(u32, f32)> = said.filter(|(_, weight)| *weight != 0.0 && weight.is_finite()).collect();
        self.touched.drain(..).for_each(|label| self.sums[label as usize] = 0.0);
        if list.len() > MOST {
            list.select_nth_unstable_by(MOST, |a, b| b.1.abs().total_cmp(&a.1.abs()).then(a.0.cmp(&b.0)));
            list.truncate(MOST);
            // What comes next works in place, and would keep the room of all labels.
            list.shrink_to_fit();
        }
        list.sort_unstable_by_key(|(label, _)| *label);
        list.into_iter().map(|(label, weight)| (label, narrow(weight))).collect()
    }
}

/// The examples of each feature.
struct Weighed<'a> {
    columns: Columns,
    seen: Seen<'a>,
}

impl Weighed<'_> {
    /// Examples of a feature, with wᵢ and xᵢf.
    fn of(&self, feature: usize) -> impl Iterator<Item = (usize, f64, f64)> {
        self.columns.entries(feature).map(|(i, value)| (i, self.seen.weight(i), f64::from(value)))
    }

    /// Σᵢ wᵢ xᵢf².
    fn square(&self, feature: usize) -> f64 {
        self.of(feature).map(|(_, weight, value)| weight * value * value).sum()
    }

    /// Σᵢ wᵢ xᵢf yᵢl for every label l.
    fn add_up(&self, feature: usize, scratch: &mut Scratch) {
        for (i, weight, value) in self.of(feature) {
            for (label, y) in self.seen.y.entries(i) {
                let sum = &mut scratch.sums[label];
                if *sum == 0.0 {
                    scratch.touched.push(label as u32);
                }
                *sum += weight * value * f64::from(y);
            }
        }
        // A sum that came back to 0 on the way is there twice.
        scratch.touched.sort_unstable();
        scratch.touched.dedup();
    }
}
