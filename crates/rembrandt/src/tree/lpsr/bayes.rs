//! Multinomial naive Bayes for many labels, evaluated sparsely.
//!
//! With N_lf the features f counted over the examples of label l, N_l their sum over features, and α_f the count that a
//! feature has with every label beforehand, the score of a label is
//!
//! ```text
//! log π_l + Σ_f x_f log((N_lf + α_f)/(N_l + Σα))  =  log π_l − (Σ_f x_f)·log(N_l + Σα) + Σ_f x_f·log(1 + N_lf/α_f) + …
//! ```
//!
//! where the last sum has a term only where a label and a feature were seen together, and the dots are the same for all
//! labels.

use rayon::prelude::*;

use crate::csr::{Csr, CsrRef};
use crate::tree::lookup::Lookup;

/// A search in a row costs about as much as looking at so many of its entries.
const SEARCH: usize = 8;

/// The scorer.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Bayes {
    /// log π_l; −∞ never: labels without examples have a tiny π.
    pub prior: Vec<f32>,
    /// log(N_l + Σα).
    pub base: Vec<f32>,
    /// log(1 + N_lf/α_f), by labels.
    pub gains: Csr,
}

/// The examples that the scorer learns from, by labels.
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

impl Counted<'_> {
    fn weight(&self, i: usize) -> f64 {
        self.weights.map_or(1.0, |w| f64::from(w[i]))
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

impl Bayes {
    /// Counts, with α_f beforehand. Nothing when there are more pairs of label and feature than can be numbered.
    pub fn fit(data: &Counted<'_>, alphas: &[f64]) -> Option<Bayes> {
        let mass: f64 = alphas.iter().sum();
        let examples = data.by_label();
        let weight = |of: &[u32]| of.iter().map(|i| data.weight(*i as usize)).sum::<f64>();
        let total: f64 = (0..data.x.rows()).map(|i| data.weight(i)).sum();
        let least = f64::from(f32::MIN_POSITIVE);
        let prior = examples.iter().map(|of| (weight(of) / total).max(least).ln() as f32).collect();
        let (mut base, mut gains) = (Vec::with_capacity(examples.len()), Csr::new(false));
        // In blocks, which bound what is held twice.
        for block in examples.chunks(1024) {
            let counts: Vec<Vec<(u32, f64)>> =
                block.par_iter().map_init(Vec::new, |scratch, of| data.sum(of, scratch)).collect();
            for counts in counts {
                if gains.nnz() + counts.len() >= u32::MAX as usize {
                    return None;
                }
                let sum: f64 = counts.iter().map(|(_, count)| count).sum();
                base.push((sum + mass).ln() as f32);
                counts.into_iter().for_each(|(id, count)| gains.push(id, (count / alphas[id as usize]).ln_1p() as f32));
                gains.end_row();
            }
        }
        Some(Bayes { prior, base, gains })
    }

    /// The score of a label that does not depend on which features there are, for features that sum to `sum`.
    pub fn start(&self, label: usize, sum: f64) -> f64 {
        f64::from(self.prior[label]) - sum * f64::from(self.base[label])
    }

    /// The score of a label.
    pub fn score(&self, label: usize, x: &Lookup<'_>, sum: f64) -> f64 {
        let (ids, gains) = self.gains.view().row(label);
        let gains = gains.unwrap_or_default();
        if ids.len() <= SEARCH * x.ids().len() {
            return self.start(label, sum) + x.dot(ids, gains);
        }
        let found = |(id, value): (u32, f32)| ids.binary_search(&id).map(|at| f64::from(gains[at]) * f64::from(value));
        self.start(label, sum) + x.entries().filter_map(|entry| found(entry).ok()).sum::<f64>()
    }

    /// The score that a label of a training example would have if the scorer had not seen the example.
    pub fn score_without(&self, label: usize, x: &Lookup<'_>, sum: f64, seen: Seen<'_>) -> f64 {
        if seen.share <= 0.0 {
            return f64::NEG_INFINITY;
        }
        let (ids, gains) = self.gains.view().row(label);
        let gains = gains.unwrap_or_default();
        let base = (f64::from(self.base[label]).exp() - seen.weight * sum).max(f64::MIN_POSITIVE).ln();
        let gain = |(id, value): (u32, f32)| {
            let value = f64::from(value);
            let at = ids.binary_search(&id).ok()?;
            let part = seen.weight * value / seen.alphas[id as usize];
            Some(value * (f64::from(gains[at]).exp() - part).max(1.0).ln())
        };
        f64::from(self.prior[label]) + seen.share.ln() - sum * base + x.entries().filter_map(gain).sum::<f64>()
    }

    /// The gains by features, to score all labels at once.
    pub fn by_feature(&self, d: usize) -> ByFeature {
        let view = self.gains.view();
        let mut ptr = vec![0usize; d + 1];
        view.ids.iter().for_each(|id| ptr[*id as usize + 1] += 1);
        for f in 0..d {
            ptr[f + 1] += ptr[f];
        }
        let (mut labels, mut gains, mut next) = (vec![0u32; view.nnz()], vec![0f32; view.nnz()], ptr.clone());
        for label in 0..view.rows() {
            for (id, gain) in view.entries(label) {
                (labels[next[id]], gains[next[id]]) = (label as u32, gain);
                next[id] += 1;
            }
        }
        ByFeature { ptr, labels, gains }
    }
}

/// What is known of a training example that is to be forgotten.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen<'a> {
    /// Weight of the example.
    pub weight: f64,
    /// α_f.
    pub alphas: &'a [f64],
    /// The share of the label's weight that other examples have.
    pub share: f64,
}

/// The gains by features.
pub(super) struct ByFeature {
    ptr: Vec<usize>,
    labels: Vec<u32>,
    gains: Vec<f32>,
}

impl ByFeature {
    /// The scores of all labels.
    pub fn scores(&self, bayes: &Bayes, x: &Lookup<'_>, sum: f64, scores: &mut [f64]) {
        (0..).zip(&mut *scores).for_each(|(label, score)| *score = bayes.start(label, sum));
        for (id, value) in x.entries() {
            let (value, range) = (f64::from(value), self.ptr[id as usize]..self.ptr[id as usize + 1]);
            let entries = self.labels[range.clone()].iter().zip(&self.gains[range]);
            entries.for_each(|(label, gain)| scores[*label as usize] += value * f64::from(*gain));
        }
    }
}
