//! The combination of the scores, fitted on held-out examples: weights of least squares and of the ranker, calibration,
//! thresholds.

use super::params::{HeadKind, TrainParams, Tuning};
use super::report::HeldOut;
use super::search::LEAST_SQUARES_WEIGHTS;
use super::validation::{Components, FEW_EXAMPLES};
use crate::data::{Dataset, Examples};
use crate::embed::Method;
use crate::score::head::{Calibration, RowSubset};
use crate::score::ranker::{Ranker, RankerData};
use crate::score::scorer::add_candidates;
use crate::{Result, Run, Shape};

/// Gains to try. For examples of length 1 the ranker adds a few units at most, as are the differences of log-odds; beside
/// least squares, whose scores are parts of 1, what counts is its share of the whole.
const RANKER_WEIGHTS: [f32; 12] = [0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0];

/// What sums count beside one-vs-rest scorers, to try, in terms of what they usually do: where the one-vs-rest scorers have learned from
/// many examples of each label, they know all that sums know, and better.
const ASSOCIATION_FACTORS: [f32; 3] = [1.0, 0.0, 2.0];

/// How scores are combined into probabilities.
pub(super) struct Combination {
    /// Weight of the least-squares score.
    pub least_squares: f32,
    /// How good that is.
    pub held_out: HeldOut,
    /// The ranker, with its weight; absent where it has none.
    pub ranker: Option<Ranker>,
    pub calibration: Calibration,
    pub thresholds: Vec<f32>,
}

impl TrainParams {
    /// Whether a ranker is asked for, or its weight to be chosen.
    pub(super) fn uses_ranker(&self, tuning: &Tuning) -> bool {
        self.ranker_weight > 0.0 || tuning.ranker
    }

    /// Whether a ranker is added to a head of least squares. That takes examples that are kept from it, and so many of
    /// them.
    pub(super) fn combines_least_squares(&self, shape: Shape, tuning: &Tuning) -> bool {
        let enough = self.ranker_weight > 0.0 || shape.n > FEW_EXAMPLES;
        self.method == Method::Rembrandt && self.uses_ranker(tuning) && enough && self.folds > 0
    }

    /// Settles what `scored` leaves open, for the examples `out` of `data`, which are those that `is_out` says.
    pub(super) fn fit_combination(
        &self,
        tuning: &Tuning,
        data: &Dataset,
        is_out: impl Fn(usize) -> bool,
        (scored, out): (Components, &RowSubset),
        run: &mut Run<'_>,
    ) -> Result<Combination> {
        let single = self.head == HeadKind::Softmax;
        let weights_of_least_squares = match tuning.least_squares_weight {
            // Without anything of least squares such a head would not tell labels apart that are no candidates.
            true if self.head == HeadKind::LeastSquares => &LEAST_SQUARES_WEIGHTS[1..],
            true => &LEAST_SQUARES_WEIGHTS[..],
            false => std::slice::from_ref(&self.least_squares_weight),
        };
        let mut ranker = None;
        let (mut ranked, mut factors, mut ranker_weights) = (vec![Vec::new()], &[1.0][..], &[0.0][..]);
        if self.uses_ranker(tuning) {
            let found = run.checkpoint("ranker", |run| fit_ranker(data, &is_out, run))?;
            factors = &ASSOCIATION_FACTORS;
            ranker_weights = if tuning.ranker { &RANKER_WEIGHTS } else { std::slice::from_ref(&self.ranker_weight) };
            let x = data.select(&is_out)?.features()?;
            let of =
                |factor: &f32| found.with_association_weight(factor * found.association_weight).propose_all(x.view());
            ranked = factors.iter().map(of).collect();
            ranker = Some(found);
            run.advance("ranker", 0)?;
        }
        let tried = scored.precision_beside(
            (&ranked, ranker_weights),
            out.labels.view(),
            out.weights.as_deref(),
            weights_of_least_squares,
        );
        let settings =
            (0..factors.len()).flat_map(|s| ranker_weights.iter().map(move |ranker_weight| (s, *ranker_weight)));
        let settings = settings.flat_map(|(s, ranker_weight)| {
            weights_of_least_squares.iter().map(move |least_squares_weight| (s, ranker_weight, *least_squares_weight))
        });
        let ((s, ranker_weight, least_squares_weight), held_out) =
            first_best(settings.zip(tried), |held_out| held_out.quality(single));
        let ranker = ranker.filter(|_| ranker_weight > 0.0);
        let ranker = ranker.map(|found| Ranker {
            weight: ranker_weight,
            ..found.with_association_weight(factors[s] * found.association_weight)
        });
        let mut scores = scored.combined(least_squares_weight);
        for (i, candidates) in ranked[s].iter().enumerate() {
            add_candidates(scores.row_mut(i), ranker_weight, candidates);
        }
        let calibration = Calibration::fit(self.head.loss(), &scores, out.labels.view());
        let thresholds = super::thresholds::thresholds(&calibration, scores, out.labels.view())?;
        Ok(Combination { least_squares: least_squares_weight, held_out, ranker, calibration, thresholds })
    }
}

/// The ranker of all other examples.
fn fit_ranker(data: &Dataset, is_out: impl Fn(usize) -> bool, run: &mut Run<'_>) -> Result<Ranker> {
    let (x, y) = (data.features()?, data.labels()?);
    let Shape { n, d, c } = data.shape();
    let mut weights = data.weights()?.unwrap_or_else(|| vec![1.0; n]);
    (0..n).filter(|i| is_out(*i)).for_each(|i| weights[i] = 0.0);
    Ranker::fit(RankerData { x: x.view(), y: y.view(), weights: Some(&weights), d, c }, run)
}

/// The first of the best.
fn first_best<T>(tried: impl Iterator<Item = (T, HeldOut)>, quality: impl Fn(&HeldOut) -> f64) -> (T, HeldOut) {
    let better =
        |best: (T, HeldOut), other: (T, HeldOut)| if quality(&other.1) > quality(&best.1) { other } else { best };
    tried.reduce(better).expect("something was tried")
}
