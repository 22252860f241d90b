//! Naive Bayes for many labels, evaluated sparsely.
//!
//! With N_lf the features f counted over the examples of label l, N_f over all examples, N_l and N their sums over
//! features, and α_f the count that a feature has with every label beforehand, a label is compared with the examples
//! that do not have it. Its score is the logarithm of its odds, in which feature f counts v_f times (`count.rs`):
//!
//! ```text
//! log π_l/(1 − π_l) + Σ_f v_f x_f [ log (N_lf + α_f)/(N_l + Σα) − log (N_f − N_lf + α_f)/(N − N_l + Σα) ]
//!   =  log π_l/(1 − π_l) − (Σ_f v_f x_f)·log (N_l + Σα)/(N − N_l + Σα)
//!      + Σ_f v_f x_f·log (1 + N_lf/α_f)·(N_f + α_f)/(N_f − N_lf + α_f) + …
//! ```
//!
//! where the last sum has a term only where a label and a feature were seen together, and the dots are the same for all
//! labels.

use super::count::Counts;
use crate::linalg::csr::Csr;
use crate::tree::lookup::Lookup;

/// The scorer.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Bayes {
    /// v_f.
    pub importance: Vec<f32>,
    /// log π_l/(1 − π_l); −∞ never: labels without examples have a tiny π.
    pub prior: Vec<f32>,
    /// log (N_l + Σα)/(N − N_l + Σα).
    pub base: Vec<f32>,
    /// The share of a feature in the score of a label, by labels.
    pub gains: Csr,
}

impl Bayes {
    /// From counts, with α_f beforehand.
    pub fn new(counts: &Counts, alphas: &[f64], importance: Vec<f32>) -> Bayes {
        let (mass, all): (f64, f64) = (alphas.iter().sum(), counts.features.iter().sum());
        // One example more has no label: one that all have must not be certain.
        let odds = |held: f64| (held / (counts.total - held + counts.mean)).max(f64::from(f32::MIN_POSITIVE));
        let base = |sum: f64| ((sum + mass) / ((all - sum).max(0.0) + mass)).ln() as f32;
        let mut gains = Csr::new(false);
        for label in 0..counts.pairs.rows() {
            for (id, count) in counts.pairs.view().entries(label) {
                let (count, alpha, of_all) = (f64::from(count), alphas[id], counts.features[id]);
                let rest = (of_all - count).max(0.0);
                let gain = (count / alpha).ln_1p() + ((of_all + alpha) / (rest + alpha)).ln();
                gains.push(id as u32, (f64::from(importance[id]) * gain) as f32);
            }
            gains.end_row();
        }
        let prior = counts.held.iter().map(|held| odds(*held).ln() as f32).collect();
        Bayes { importance, prior, base: counts.sums.iter().map(|sum| base(*sum)).collect(), gains }
    }

    /// Σ_f v_f x_f.
    pub fn weighted_sum(&self, x: &Lookup<'_>) -> f64 {
        let importance = |id: u32| self.importance.get(id as usize).map_or(0.0, |v| f64::from(*v));
        x.entries().map(|(id, value)| importance(id) * f64::from(value)).sum()
    }

    /// The score of a label that does not depend on which features there are, for features of the weighted sum `sum`.
    pub fn start(&self, label: usize, sum: f64) -> f64 {
        f64::from(self.prior[label]) - sum * f64::from(self.base[label])
    }

    /// The score of a label.
    pub fn score(&self, label: usize, x: &Lookup<'_>, sum: f64) -> f64 {
        let (ids, gains) = self.gains.view().row(label);
        self.start(label, sum) + x.dot(ids, gains.unwrap_or_default())
    }

    /// The gains by features, to score all labels at once.
    pub fn by_feature(&self) -> ByFeature {
        let (view, d) = (self.gains.view(), self.importance.len());
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
