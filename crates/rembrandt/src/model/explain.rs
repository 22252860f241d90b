//! Which features made a label probable.
//!
//! Without random features a score is linear in the features of an example,
//!
//! ```text
//! s = Σ_f x_f (P_f·w) + (intercept·w + bias)
//! ```
//!
//! so every feature has an exact share in the log-odds scale·s + shift. Under softmax the log-probability is
//! scale·s − log Σ exp(scale·s of all labels); shares are those in scale·s, the score of the label itself, since the
//! features act on the rest through all other labels at once.
//!
//! With a [ranker](crate::score::ranker) the log-odds are a sum of views. The shares of features in the one-vs-rest score
//! and in the embedding are exact; the logarithm of the association is shared out as the association itself is.
//!
//! Random features mix the features of an example. There the share of a feature is what the log-odds lose when it is
//! taken away; what the features say only together is left in the base.

use serde::Serialize;

use super::Model;
use super::predict::PredictOptions;
use crate::linalg::csr::{Csr, CsrRef};
use crate::score::head::{Loss, STRIP};
use crate::score::ranker::data::{damp, unit_values};
use crate::score::ranker::packed_matrix::PackedMatrix;
use crate::score::ranker::{LabelViews, Ranker, Scope};
use crate::score::scorer::Scored;
use crate::{Error, Result};

/// Why a label has its probability.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// The label.
    pub label: u32,
    /// Its probability, as predicted.
    pub probability: f32,
    /// Its log-odds, or under softmax its calibrated score: `base` and all contributions together.
    pub log_odds: f64,
    /// The log-odds of an example without features or, if not `exact`, what the contributions leave.
    pub base: f64,
    /// The share of each view in the log-odds, with a [ranker](crate::score::ranker); empty without.
    pub views: Vec<(&'static str, f64)>,
    /// Contributions of the features; the largest, of either sign, first.
    pub contributions: Vec<Contribution>,
    /// Whether contributions are those of a linear score, or differences without each feature in turn.
    pub exact: bool,
}

/// The share of a feature in the log-odds of a label.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Contribution {
    /// The feature.
    pub feature: u32,
    /// Its value in the example, after preprocessing.
    pub value: f32,
    /// Its share in the log-odds.
    pub log_odds: f64,
}

/// A base, views, and shares of features.
type Shares = (f64, Vec<(&'static str, f64)>, Vec<Contribution>);

impl<'a> IntoIterator for &'a Explanation {
    type Item = &'a Contribution;
    type IntoIter = std::slice::Iter<'a, Contribution>;

    fn into_iter(self) -> Self::IntoIter {
        self.contributions.iter()
    }
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
    pub fn explain(&self, x: CsrRef<'_>, label: u32) -> Result<Explanation> {
        self.check_embedding()?;
        if x.rows() != 1 {
            return Err(Error::parameter("x", format!("{} examples, where one can be explained", x.rows())));
        }
        let c = self.shape().c;
        if label as usize >= c {
            return Err(Error::parameter("label", format!("{label} is not a label: the last one is {}", c - 1)));
        }
        let (probability, trained) = (self.probability(x, label)?, (label as usize) < c - self.added());
        if x.row(0).0.is_empty() {
            let count = self.training_stats().counts[label as usize] as f64;
            // The examples of a label that was added were not among those of training.
            let own = if trained { count } else { 0.0 };
            let others = (self.training_stats().examples as f64 - own).max(0.0);
            let base = ((count + 0.5) / (others + 0.5)).ln();
            return Ok(Explanation {
                label,
                probability,
                log_odds: base,
                base,
                views: Vec::new(),
                contributions: Vec::new(),
                exact: true,
            });
        }
        let linear = !trained || self.head().is_linear();
        let ranker = self.contents().ranker.as_ref().filter(|_| trained);
        let (base, views, mut contributions) = match ranker {
            Some(ranker) => self.ranker_shares(ranker, x, label),
            None if linear => self.shares(x, label),
            None => self.differences(x, label),
        };
        let log_odds = base + contributions.iter().map(|c| c.log_odds).sum::<f64>();
        contributions.sort_by(|a, b| b.log_odds.abs().total_cmp(&a.log_odds.abs()).then(a.feature.cmp(&b.feature)));
        Ok(Explanation { label, probability, log_odds, base, views, contributions, exact: linear })
    }

    /// The probability that prediction gives.
    fn probability(&self, x: CsrRef<'_>, label: u32) -> Result<f32> {
        // Under softmax the others matter.
        let alone = self.calibration().loss == Loss::Independent || label as usize >= self.shape().c - self.added();
        let labels = alone.then(|| vec![label]);
        let predictor =
            self.predictor(PredictOptions { top: self.shape().c, threshold: None, labels, exact: false })?;
        let found = predictor.predict_prepared(x);
        Ok(found.row(0).find(|(other, _)| *other == label).map_or(0.0, |(_, p)| p))
    }

    /// Base and shares of a linear score.
    fn shares(&self, x: CsrRef<'_>, label: u32) -> Shares {
        let (k, label) = (self.shape().k, label as usize);
        let trained = self.shape().c - self.added();
        let calibration = self.calibration();
        let (scale, shift) =
            if label < trained { (calibration.scale.into(), calibration.shift.into()) } else { (1.0, 0.0) };
        let weights = match label.checked_sub(trained) {
            Some(added) => self.contents().added_weights.row(added).into(),
            None => self.head().weights().unwrap_or(self.labels()).row(label),
        };
        let dot = |row: &[f32]| row.iter().zip(&weights[..k]).map(|(p, w)| f64::from(*p) * f64::from(*w)).sum::<f64>();
        let bias = weights.get(k).map_or(0.0, |bias| f64::from(*bias));
        let base = scale * (dot(self.intercept()) + bias) + shift;
        let projection = self.projection();
        let share = |(feature, value): (usize, f32)| Contribution {
            feature: feature as u32,
            value,
            log_odds: scale * f64::from(value) * dot(&projection.row(feature)),
        };
        (base, Vec::new(), x.entries(0).map(share).collect())
    }

    /// Base, views and shares of the log-odds of a ranker.
    fn ranker_shares(&self, ranker: &Ranker, x: CsrRef<'_>, label: u32) -> Shares {
        let (h, e) = (self.project(x), self.labels().row(label as usize));
        let views = ranker.views(x, &h, self.labels(), Scope::Labels(&[label]), &mut ranker.memory())[0][0].views;
        let [constant, shares @ ..] = ranker.combination_for(&views).shares(&views);
        let [one_vs_rest, association, embedding, name, log_count, similar, nearest] = shares;
        // Where no examples vote the last two are silent.
        let views_told = if ranker.similar.is_some() { shares.len() } else { LabelViews::FREQUENCY + 1 };
        let told = LabelViews::NAMES.into_iter().zip(shares).take(views_told).collect();
        let dot = |row: &[f32]| row.iter().zip(&*e).map(|(p, e)| f64::from(*p) * f64::from(*e)).sum::<f64>();
        // The share of a view for each unit of its sum over the features.
        let unit = |share: f64, sum: f32| if sum == 0.0 { 0.0 } else { share / f64::from(sum) };
        let (mut plain, mut damped) = (Vec::new(), Vec::new());
        unit_values(x.row(0), |value| value, &mut plain);
        unit_values(x.row(0), damp, &mut damped);
        let votes = ranker.vote_shares(x.row(0).0, &plain, label);
        let weight = |matrix: &PackedMatrix, row: usize| f64::from(matrix.weight(row, label));
        let share = |(at, (feature, value)): (usize, (usize, f32))| {
            let (plain, damped, [vote, near_vote]) = (f64::from(plain[at]), f64::from(damped[at]), votes[at]);
            let log_odds = unit(one_vs_rest, views.one_vs_rest)
                * damped
                * f64::from(ranker.one_vs_rest.weight(feature, label as usize))
                + unit(association, views.association) * plain * weight(&ranker.associations, feature)
                + unit(name, views.name) * plain * weight(&ranker.names, feature)
                + unit(similar, views.similar) * f64::from(vote)
                + unit(nearest, views.nearest) * f64::from(near_vote)
                + unit(embedding, views.embedding) * f64::from(value) * dot(&self.projection().row(feature));
            Contribution { feature: feature as u32, value, log_odds }
        };
        let intercept = unit(embedding, views.embedding) * dot(self.intercept());
        let base = constant + log_count + f64::from(ranker.offset(label)) + intercept;
        (base, told, x.entries(0).enumerate().map(share).collect())
    }

    /// Base and shares by taking each feature away.
    fn differences(&self, x: CsrRef<'_>, label: u32) -> Shares {
        let entries: Vec<(usize, f32)> = x.entries(0).collect();
        let scorer = self.scorer(Some(vec![label]), true);
        let score = |x: CsrRef<'_>| -> Vec<f64> {
            let one = |scored: Scored| scored.best.into_ranked().map(|(_, score)| f64::from(score)).sum();
            scorer.top(x, &self.project(x), 1).into_iter().map(one).collect()
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
                contributions.push(Contribution { feature: id as u32, value, log_odds: whole - score });
            }
        }
        let sum: f64 = contributions.iter().map(|c| c.log_odds).sum();
        (whole - sum, Vec::new(), contributions)
    }
}
