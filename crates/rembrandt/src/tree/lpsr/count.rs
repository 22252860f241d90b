//! The counts behind the scorer: how often features occur with labels, and how much each feature tells of them.

use rayon::prelude::*;

use crate::linalg::csr::{Csr, CsrRef};
use crate::tree::lookup::Lookup;

/// Times that a feature is taken to have occurred with labels as frequent as they are, before what it tells is measured:
/// otherwise features that occur once or twice would seem to tell most.
const BEFORE: f64 = 100.0;

/// The examples that are counted.
pub(super) struct Counted<'a> {
    /// Features of the examples, as counts.
    pub x: CsrRef<'a>,
    /// Labels of the examples.
    pub y: CsrRef<'a>,
    /// Weight of an example.
    pub weights: Option<&'a [f32]>,
    /// Numbers of features and labels.
    pub shape: (usize, usize),
}

/// Weighted counts.
pub(super) struct Counts {
    /// N_lf: feature f over the examples of label l, by labels.
    pub pairs: Csr,
    /// N_l: their sum over features.
    pub sums: Vec<f64>,
    /// N_f: feature f over all examples.
    pub features: Vec<f64>,
    /// Weight of the examples of each label.
    pub held: Vec<f64>,
    /// Weight of all examples, and of one of them on average.
    pub total: f64,
    pub mean: f64,
}

/// A training example as its labels have counted it.
pub(super) struct Seen<'a> {
    /// Its features, as counts.
    pub x: &'a Lookup<'a>,
    /// Their sum, and the same weighted by how much they tell.
    pub sums: [f64; 2],
    /// Its weight.
    pub weight: f64,
}

impl Counted<'_> {
    fn weight(&self, i: usize) -> f64 {
        self.weights.map_or(1.0, |w| f64::from(w[i]))
    }

    /// Counts. Nothing when there are more pairs of label and feature than can be numbered.
    pub fn count(&self) -> Option<Counts> {
        let ((d, c), n) = (self.shape, self.x.rows());
        let (mut features, mut held, mut total) = (vec![0.0; d], vec![0.0; c], 0.0);
        for i in 0..n {
            let weight = self.weight(i);
            total += weight;
            self.x.entries(i).for_each(|(id, v)| features[id] += weight * f64::from(v));
            self.y.row(i).0.iter().for_each(|label| held[*label as usize] += weight);
        }
        let (mut pairs, mut sums) = (Csr::new(false), Vec::with_capacity(c));
        // In blocks, which bound what is held twice.
        for block in self.by_label().chunks(256) {
            let counts: Vec<Vec<(u32, f64)>> =
                block.par_iter().map_init(Vec::new, |scratch, of| self.sum(of, scratch)).collect();
            for counts in counts {
                if pairs.nnz() + counts.len() >= u32::MAX as usize {
                    return None;
                }
                sums.push(counts.iter().map(|(_, count)| count).sum());
                counts.into_iter().for_each(|(id, count)| pairs.push(id, count as f32));
                pairs.end_row();
            }
        }
        Some(Counts { pairs, sums, features, held, total, mean: total / n.max(1) as f64 })
    }

    /// The examples of every label, in their order.
    fn by_label(&self) -> Vec<Vec<u32>> {
        let mut examples = vec![Vec::new(); self.shape.1];
        for i in 0..self.y.rows() {
            self.y.row(i).0.iter().for_each(|label| examples[*label as usize].push(i as u32));
        }
        examples
    }

    /// The features of some examples, ascending, with their weighted counts.
    fn sum(&self, examples: &[u32], scratch: &mut Vec<(u32, f64)>) -> Vec<(u32, f64)> {
        scratch.clear();
        for i in examples {
            let weight = self.weight(*i as usize);
            scratch.extend(self.x.entries(*i as usize).map(|(id, v)| (id as u32, weight * f64::from(v))));
        }
        scratch.sort_by_key(|(id, _)| *id);
        let total = |of: &[(u32, f64)]| (of[0].0, of.iter().map(|(_, v)| v).sum());
        scratch.chunk_by(|a, b| a.0 == b.0).map(total).filter(|(_, count)| *count > 0.0).collect()
    }
}

impl Counts {
    /// How much each feature tells of the labels: the cube root of the divergence of the labels that it occurs with from
    /// all labels, 1 on average over what was counted.
    ///
    /// Naive Bayes takes features for independent and so believes twice what two of them say together. Words that occur
    /// with every label say least and are the most, so they are where belief is best taken back. A power below 1 keeps
    /// them from being silenced; an exponent near this one and [`BEFORE`] had the largest sum of P@1 over held-out rows
    /// of three data sets.
    pub fn importance(&self) -> Vec<f32> {
        let all: f64 = self.held.iter().sum();
        let mut seen = vec![BEFORE; self.features.len()];
        self.each_pair(|_, feature, count| seen[feature] += count);
        // The sum over labels that were never seen with the feature, as if those were all; others mend it below.
        let unseen = |feature: usize| BEFORE / seen[feature] * (BEFORE / seen[feature]).ln();
        let mut divergence: Vec<f64> = (0..seen.len()).map(unseen).collect();
        self.each_pair(|label, feature, count| {
            let usual = self.held[label] / all;
            let share = (count + BEFORE * usual) / seen[feature];
            divergence[feature] += share * (share / usual).ln() - usual * unseen(feature);
        });
        let roots: Vec<f64> = divergence.iter().map(|divergence| divergence.max(0.0).cbrt()).collect();
        let sum = |of: &dyn Fn(usize) -> f64| (0..roots.len()).map(|f| self.features[f] * of(f)).sum::<f64>();
        let mean = sum(&|f| roots[f]) / sum(&|_| 1.0);
        // When no feature tells anything, they are all alike.
        let relative = |root: f64| if mean > 0.0 { (root / mean) as f32 } else { 1.0 };
        roots.into_iter().map(relative).collect()
    }

    fn each_pair(&self, mut each: impl FnMut(usize, usize, f64)) {
        for label in 0..self.pairs.rows() {
            self.pairs.view().entries(label).for_each(|(feature, count)| each(label, feature, f64::from(count)));
        }
    }

    /// The share of one of its examples in the score of a label; all of it when the label has no other.
    /// `mass` is the sum of `alphas`, which is too long to be added up for every pair.
    pub fn owed(&self, label: usize, seen: &Seen<'_>, (alphas, mass): (&[f64], f64), importance: &[f32]) -> f64 {
        let share = 1.0 - seen.weight / self.held[label];
        if share <= 0.0 {
            return f64::INFINITY;
        }
        let (ids, counts) = self.pairs.view().row(label);
        let counts = counts.unwrap_or_default();
        let gained = |(id, value): (u32, f32)| {
            let (count, value) = (f64::from(counts[ids.binary_search(&id).ok()?]), f64::from(value));
            let (alpha, without) = (alphas[id as usize], (count - seen.weight * value).max(0.0));
            Some(f64::from(importance[id as usize]) * value * ((count + alpha) / (without + alpha)).ln())
        };
        let [sum, weighted] = seen.sums;
        let without = (self.sums[label] - seen.weight * sum).max(0.0);
        let base = ((self.sums[label] + mass) / (without + mass)).ln();
        seen.x.entries().filter_map(gained).sum::<f64>() - weighted * base - share.ln()
    }
}
