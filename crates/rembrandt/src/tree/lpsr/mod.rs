//! LPSR-NB: label partitioning for sublinear ranking, with naive Bayes as the scorer.
//!
//! J. Weston, A. Makadia and H. Yee, *Label partitioning for sublinear ranking*, ICML 2013. A scorer of all labels is
//! too slow where there are very many. So examples are parted by a tree of 2-means (`partition.rs`), each leaf
//! gets the few labels with which the scorer is most precise there (`choose.rs`), and a prediction goes to its leaf and
//! scores only those. The scorer is naive Bayes (`bayes.rs`), which takes one pass to train. Two things
//! together make it better than the plain one on each of the data sets that we tried: a label is compared with the
//! examples that do not have it, and features count as much as they tell of the labels (`count.rs`).
//!
//! Where a training example tells how good the scorer is, its labels are scored as if they had not seen it: otherwise rare
//! labels look better than they are. Scores become probabilities by logistic regression on how far a label is above the
//! best few of the leaf, per feature of the example.

mod bayes;
mod choose;
mod count;
mod fit;
mod params;
mod partition;
#[cfg(test)]
mod tests;

use super::hyperplane_tree::Routes;
use super::lookup::Lookup;
use super::{Array, ArraySource, Arrays, TreeSummary, Wanted, check_entries};
use crate::data::{Dataset, Examples, RowScale};
use crate::linalg::csr::Csr;
use crate::linalg::topk::TopK;
use crate::{Result, Run};
use bayes::Bayes;
use fit::LpsrFit;

pub use params::{LpsrParams, Smoothing};

/// Labels of a leaf whose mean score the others are compared with.
const COMPARED: usize = 5;

impl LpsrParams {
    /// Fits scorer, partition and label sets. The result is the same to the last bit for any number of threads.
    ///
    /// Features must not be negative. Weights of examples count everywhere.
    pub fn fit(&self, data: &Dataset, run: &mut Run<'_>) -> Result<Lpsr> {
        self.check(data.shape())?;
        check_entries(data)?;
        LpsrFit::new(self, data)?.fit(run)
    }
}

/// A fitted partition with its scorer.
#[derive(Clone, Debug, PartialEq)]
pub struct Lpsr {
    /// Whether values of features do not matter to the scorer.
    presence: bool,
    routes: Routes,
    /// Labels of every node; none for inner nodes.
    labels: Csr,
    bayes: Bayes,
    /// Factor and summand of scores that make them log-odds.
    calibration: [f32; 2],
}

impl Lpsr {
    /// The best labels of an example with features `ids`, ascending, and `values`, which when absent are all 1: best
    /// first, with calibrated probabilities. Labels that the example's leaf does not have are not among them.
    pub fn rank(&self, ids: &[u32], values: Option<&[f32]>, wanted: Wanted<'_>) -> Vec<(u32, f32)> {
        let leaf = self.routes.leaf(0, &Lookup::new(ids, values, RowScale::Length));
        let x = Lookup::new(ids, values.filter(|_| !self.presence), RowScale::None);
        let sum = self.bayes.weighted_sum(&x);
        let (labels, _) = self.labels.view().row(leaf);
        let scored = |label: &u32| (*label, per_feature(self.bayes.score(*label as usize, &x, sum), sum) as f32);
        let scores: Vec<(u32, f32)> = labels.iter().map(scored).collect();
        let compared = compared_with(scores.iter().copied());
        let [scale, shift] = self.calibration.map(f64::from);
        let probability = |score: f32| 1.0 / (1.0 + (-scale * (f64::from(score) - compared) - shift).exp());
        wanted.best(scores.into_iter()).into_iter().map(|(label, s)| (label, probability(s) as f32)).collect()
    }

    /// The size of the tree.
    pub fn summary(&self) -> TreeSummary {
        self.routes.summary()
    }

    /// Everything, as arrays.
    pub fn arrays(&self) -> Arrays<'_> {
        let (labels, gains) = (self.labels.view(), self.bayes.gains.view());
        let mut arrays = vec![
            ("lpsr.presence", Array::U32(vec![u32::from(self.presence)].into())),
            ("lpsr.calibration", Array::F32(self.calibration[..].into())),
        ];
        arrays.extend(self.routes.arrays());
        arrays.extend([
            ("leaf.starts", Array::U32(labels.ptr.into())),
            ("leaf.labels", Array::U32(labels.ids.into())),
            ("bayes.importance", Array::F32((&self.bayes.importance).into())),
            ("bayes.prior", Array::F32((&self.bayes.prior).into())),
            ("bayes.base", Array::F32((&self.bayes.base).into())),
            ("bayes.starts", Array::U32(gains.ptr.into())),
            ("bayes.features", Array::U32(gains.ids.into())),
            ("bayes.gains", Array::F32(gains.values.unwrap_or_default().into())),
        ]);
        arrays
    }

    /// From arrays, for `d` features and `c` labels. Checks everything.
    pub(crate) fn from_arrays(source: &dyn ArraySource, (d, c): (usize, usize)) -> Result<Lpsr, String> {
        let presence = match source.u32s("lpsr.presence")?[..] {
            [0] => false,
            [1] => true,
            _ => return Err("tensor lpsr.presence is neither 0 nor 1".into()),
        };
        let calibration = <[f32; 2]>::try_from(source.f32s("lpsr.calibration")?)
            .ok()
            .filter(|[scale, _]| *scale > 0.0)
            .ok_or("tensor lpsr.calibration is not a positive factor and a summand")?;
        let routes = Routes::from_arrays(source, d)?;
        if routes.trees() != 1 {
            return Err("a partition with other than one tree".into());
        }
        let labels = Csr::checked(source.u32s("leaf.starts")?, source.u32s("leaf.labels")?, None, routes.nodes(), c)
            .map_err(|reason| format!("the labels of the leaves have {reason}"))?;
        let (prior, base) = (source.f32s("bayes.prior")?, source.f32s("bayes.base")?);
        if prior.len() != c || base.len() != c {
            return Err("tensors bayes.prior and bayes.base have another length than there are labels".into());
        }
        let importance = source.f32s("bayes.importance")?;
        if importance.len() != d || importance.iter().any(|v| *v < 0.0) {
            return Err("tensor bayes.importance is not a number of at least 0 for each feature".into());
        }
        let entries = (source.u32s("bayes.starts")?, source.u32s("bayes.features")?, source.f32s("bayes.gains")?);
        let gains = Csr::checked(entries.0, entries.1, Some(entries.2), c, d)
            .map_err(|reason| format!("the scorer has {reason}"))?;
        Ok(Lpsr { presence, routes, labels, bayes: Bayes { importance, prior, base, gains }, calibration })
    }
}

/// A score divided by the weighted sum of the features, which long examples have more of.
fn per_feature(score: f64, sum: f64) -> f64 {
    if sum > 0.0 { score / sum } else { score }
}

/// The mean of the best few scores of a leaf.
fn compared_with(scores: impl Iterator<Item = (u32, f32)>) -> f64 {
    let mut best = TopK::new(COMPARED);
    scores.filter(|(_, score)| score.is_finite()).for_each(|(label, score)| best.offer(label, score));
    let best: Vec<f64> = best.into_ranked().map(|(_, score)| f64::from(score)).collect();
    best.iter().sum::<f64>() / best.len().max(1) as f64
}
