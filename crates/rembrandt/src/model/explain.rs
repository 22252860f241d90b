//! Which features made a label probable.
//!
//! Without random features a score is linear in the features of an example,
//!
//! ```text
//! s = Σ_f x_f (P_f·w) + (intercept·w + bias)
//! ```
//!
//! so every feature has an exact share in the log-odds scale·s + shift. Under softmax the log-probability is
//! scale·s − log Σ exp(scale·s of all labels); shares are those in scale·s, the evidence for the label itself, since the
//! features act on the rest through all other labels at once. Where the example nominates the label, its
//! [evidence](crate::score::ranker) has shares as well, and what comes with the nomination is told apart.
//!
//! Random features mix the features of an example. There the share of a feature is what the log-odds lose when it is
//! taken away; what the features say only together is left in the base.

use super::layout::HeadKind;
use super::open::Model;
use super::predict::{PredictOptions, Search};
use super::score::{Scored, Scorer};
use crate::linalg::csr::{Csr, CsrRef};
use crate::linalg::sparse_accumulator::SparseAccumulator;
use crate::score::head::{Loss, STRIP};
use crate::score::ranker::EvidenceRef;
use crate::{Error, Result};

/// Why a label has its probability.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// The label.
    pub label: usize,
    /// Its probability, as predicted.
    pub probability: f32,
    /// Its log-odds, or under softmax its calibrated score: `base`, `nominated` and all contributions together.
    pub log_odds: f64,
    /// What an example without features would start from or, if not `exact`, what the contributions leave.
    pub base: f64,
    /// What it has for being nominated by [evidence](crate::score::ranker) at all; 0 where it is not, or if not `exact`.
    pub nominated: f64,
    /// Feature, its value after preprocessing, and its share in the log-odds; largest share, of either sign, first.
    pub contributions: Vec<(u32, f32, f64)>,
    /// Whether the shares are those of a linear score, or differences without each feature in turn.
    pub exact: bool,
}

impl Model {
    /// Explains the probability of a label for one example, [prepared](Model::prepare) as for prediction.
    ///
    /// An example without known features has the frequency of the label in training for a probability, and its log-odds,
    /// kept finite by half an example either way, for a base.
    ///
    /// # Errors
    /// If there is not exactly one row, or no such label.
    ///
    /// # Panics
    /// If there is a feature that the model does not know.
    pub fn explain(&self, x: CsrRef<'_>, label: usize) -> Result<Explanation> {
        self.check_embedding()?;
        if x.rows() != 1 {
            return Err(Error::parameter("x", format!("{} examples, where one can be explained", x.rows())));
        }
        let c = self.shape().c;
        if label >= c {
            return Err(Error::parameter("label", format!("{label} is not a label: the last one is {}", c - 1)));
        }
        let probability = self.probability(x, label)?;
        if x.row(0).0.is_empty() {
            let count = self.training_stats().counts[label] as f64;
            // The examples of a label that was added were not among those of training.
            let own = if label < c - self.added() { count } else { 0.0 };
            let others = (self.training_stats().examples as f64 - own).max(0.0);
            let base = ((count + 0.5) / (others + 0.5)).ln();
            return Ok(Explanation {
                label,
                probability,
                log_odds: base,
                base,
                nominated: 0.0,
                contributions: Vec::new(),
                exact: true,
            });
        }
        let linear = label >= c - self.added() || matches!(self.head(), HeadKind::LeastSquares | HeadKind::Linear);
        let (base, nominated, mut contributions) =
            if linear { self.shares(x, label) } else { self.differences(x, label) };
        let log_odds = base + nominated + contributions.iter().map(|(_, _, share)| share).sum::<f64>();
        contributions.sort_by(|a, b| b.2.abs().total_cmp(&a.2.abs()).then(a.0.cmp(&b.0)));
        Ok(Explanation { label, probability, log_odds, base, nominated, contributions, exact: linear })
    }

    /// The probability that prediction gives.
    fn probability(&self, x: CsrRef<'_>, label: usize) -> Result<f32> {
        // Under softmax the others matter.
        let alone = self.calibration().loss == Loss::Independent || label >= self.shape().c - self.added();
        let labels = alone.then(|| vec![label as u32]);
        let predictor =
            self.predictor(PredictOptions { top: self.shape().c, threshold: None, labels, search: Search::Exact })?;
        let found = predictor.predict_prepared(x);
        Ok(found.row(0).find(|(id, _)| *id as usize == label).map_or(0.0, |(_, p)| p))
    }

    /// Base, nomination and shares of a linear score.
    fn shares(&self, x: CsrRef<'_>, label: usize) -> (f64, f64, Vec<(u32, f32, f64)>) {
        let k = self.shape().k;
        let trained = self.shape().c - self.added();
        let calibration = self.calibration();
        let (scale, shift) =
            if label < trained { (calibration.scale.into(), calibration.shift.into()) } else { (1.0, 0.0) };
        let weights = match label.checked_sub(trained) {
            Some(added) => self.added_weights().row(added).into(),
            None => self.weights().unwrap_or_else(|| self.labels()).row(label),
        };
        let dot = |row: &[f32]| row.iter().zip(&weights[..k]).map(|(p, w)| f64::from(*p) * f64::from(*w)).sum::<f64>();
        let bias = weights.get(k).map_or(0.0, |bias| f64::from(*bias));
        // Evidence is for what the example nominates.
        let id = label as u32;
        let nominates = |evidence: &EvidenceRef<'_>| {
            evidence
                .nominate(x.row(0), &mut SparseAccumulator::default())
                .binary_search_by_key(&id, |(label, _)| *label)
                .is_ok()
        };
        let evidence = self.evidence().filter(|evidence| label < trained && nominates(evidence));
        let start = evidence.map_or(0.0, |evidence| f64::from(evidence.start(id)));
        let base = scale * (dot(self.intercept()) + bias) + shift;
        let projection = self.projection();
        let said = |feature: usize| evidence.map_or(0.0, |evidence| f64::from(evidence.weight(feature, id)));
        let share = |(id, value): (usize, f32)| {
            (id as u32, value, scale * f64::from(value) * (dot(&projection.row(id)) + said(id)))
        };
        (base, scale * start, x.entries(0).map(share).collect())
    }

    /// Base and shares by taking each feature away; the nomination is in the shares.
    fn differences(&self, x: CsrRef<'_>, label: usize) -> (f64, f64, Vec<(u32, f32, f64)>) {
        let entries: Vec<(usize, f32)> = x.entries(0).collect();
        let scorer = Scorer::new(self, Some(vec![label as u32]), Search::Exact, 1);
        let score = |x: CsrRef<'_>| -> Vec<f64> {
            let one = |scored: Scored| scored.best.into_ranked().map(|(_, score)| f64::from(score)).sum();
            scorer.all(x, &self.place(x), 1).into_iter().map(one).collect()
        };
        let whole = score(x)[0];
        let mut contributions = Vec::with_capacity(entries.len());
        for from in (0..entries.len()).step_by(STRIP) {
            let some = from..entries.len().min(from + STRIP);
            let mut without = Csr::new(false);
            for left_out in some.clone() {
                let others = entries.iter().enumerate().filter(|(i, _)| *i != left_out);
                others.for_each(|(_, (id, value))| without.push(*id as u32, *value));
                without.end_row();
            }
            for (i, score) in some.zip(score(without.view())) {
                let (id, value) = entries[i];
                contributions.push((id as u32, value, whole - score));
            }
        }
        let sum: f64 = contributions.iter().map(|(_, _, share)| share).sum();
        (whole - sum, 0.0, contributions)
    }
}
