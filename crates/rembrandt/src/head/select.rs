//! Choosing the ridge of a head, and how much of the least-squares score to add, on examples that it was not trained on.

use rayon::prelude::*;

use super::crossfit::Folds;
use super::features::RandomFeatures;
use super::inputs::Inputs;
use super::logistic::LogisticParams;
use super::objective::{Loss, Targets};
use super::{add_scaled, least_squares};
use crate::csr::Csr;
use crate::matrix::{MatRef, Matrix};
use crate::{Error, Result, Run};

/// Precisions that count: of the first, of the first three, and of the first five labels.
const DEPTHS: [usize; 3] = [1, 3, 5];

/// What to choose from. One fold is kept out of the training, and decides.
#[derive(Clone, Debug)]
pub struct Selection<'a> {
    /// Ridges.
    pub ridges: &'a [f64],
    /// Factors of the least-squares score.
    pub blends: &'a [f32],
    /// Fold 0 is kept out.
    pub folds: Folds<'a>,
}

/// One choice, and how good it was.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tried {
    /// Ridge of the head.
    pub ridge: f64,
    /// Factor of the least-squares score.
    pub blend: f32,
    /// Precision at 1, or for independent labels the mean of the precisions at 1, 3 and 5.
    pub quality: f64,
}

impl Selection<'_> {
    /// Tries everything; the best is first, ties in the order of trial.
    ///
    /// `h` should be [out of fold](super::out_of_fold), `labels` is the embedding of the labels.
    pub fn choose(
        &self,
        params: &LogisticParams,
        (h, features): (MatRef<'_>, Option<&RandomFeatures>),
        targets: Targets<'_>,
        labels: &Matrix,
        run: &mut Run<'_>,
    ) -> Result<Vec<Tried>> {
        if self.ridges.is_empty() || self.blends.is_empty() {
            return Err(Error::parameter("selection", "there is nothing to choose from"));
        }
        let (held, kept): (Vec<usize>, Vec<usize>) = (0..h.rows()).partition(|i| self.folds.of(*i) == 0);
        let (train, test) = (Part::new(h, &targets, &kept), Part::new(h, &targets, &held));
        let squares = least_squares(labels, test.h.view());
        let mut tried = Vec::new();
        for ridge in self.ridges {
            let params = LogisticParams { ridge: *ridge, ..*params };
            let part = Targets { labels: train.labels.view(), example_weights: train.weights.as_deref(), ..targets };
            let (model, _) = params.fit(Inputs::new(train.h.view(), features), part, run)?;
            let mut scores = model.scores(Inputs::new(test.h.view(), features));
            let mut added = 0.0;
            for blend in self.blends {
                add_scaled(&mut scores, blend - added, &squares);
                added = *blend;
                tried.push(Tried { ridge: *ridge, blend: *blend, quality: test.quality(&scores, params.loss) });
            }
        }
        tried.sort_by(|a, b| b.quality.total_cmp(&a.quality));
        Ok(tried)
    }
}

/// Some of the examples.
pub(crate) struct Part {
    pub h: Matrix,
    pub labels: Csr,
    pub weights: Option<Vec<f32>>,
}

impl Part {
    pub fn new(h: MatRef<'_>, targets: &Targets<'_>, rows: &[usize]) -> Part {
        let mut labels = Csr::new(targets.labels.values.is_none());
        rows.iter().for_each(|i| labels.extend_rows(targets.labels, *i, i + 1));
        let mut part = Matrix::zeros(rows.len(), h.cols());
        rows.iter().enumerate().for_each(|(to, from)| part.row_mut(to).copy_from_slice(h.row(*from)));
        let weights = targets.example_weights.map(|w| rows.iter().map(|i| w[*i]).collect());
        Part { h: part, labels, weights }
    }

    /// Weighted mean over the examples; those without labels count as misses.
    fn quality(&self, scores: &Matrix, loss: Loss) -> f64 {
        let depths = if loss == Loss::Softmax { &DEPTHS[..1] } else { &DEPTHS[..] };
        let weight = |i: usize| self.weights.as_ref().map_or(1.0, |w| f64::from(w[i]));
        let each = |i: usize| {
            let (held, _) = self.labels.view().row(i);
            let row = scores.row(i);
            // A label's rank: labels with a higher score, and of equal ones those with a lower id.
            let rank = |label: usize| {
                let above = |(other, s): (usize, &f32)| *s > row[label] || (*s == row[label] && other < label);
                row.iter().enumerate().filter(|(other, s)| above((*other, s))).count()
            };
            let ranks: Vec<usize> = held.iter().map(|label| rank(*label as usize)).collect();
            let precision = |depth: &usize| ranks.iter().filter(|r| *r < depth).count() as f64 / *depth as f64;
            weight(i) * depths.iter().map(precision).sum::<f64>() / depths.len() as f64
        };
        let each: Vec<f64> = (0..self.h.rows()).into_par_iter().map(each).collect();
        let total: f64 = (0..self.h.rows()).map(weight).sum();
        each.iter().sum::<f64>() / total.max(f64::MIN_POSITIVE)
    }
}
