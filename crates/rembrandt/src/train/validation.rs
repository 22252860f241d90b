//! [`validate`]: an embedding and a head on a part of the examples, measured and calibrated on held-out ones.
//!
//! The embedding and its projection are fitted to one part, the head to a second, and a third tells how good they are. So
//! what tells has influenced nothing, and the head learns from examples that are as new to the projection as those it
//! will meet. Of few examples the first two are the same part, cross-fitted.

use std::io;

use super::calibrated::Calibrated;
use super::head_params::{HeadKind, HeadTrainParams, MOST_EXAMPLES, MOST_SCORES, MOST_VALIDATED};
use crate::data::{Dataset, Examples, Shape};
use crate::embed::{Embedder, Means};
use crate::io::checkpoint::{Json, Load, Reader, Store, Writer};
use crate::linalg::csr::Csr;
use crate::linalg::matrix::Matrix;
use crate::score::head::{Decoder, Folds, Head, Inputs, RandomFeatures, Targets, add_intercept, out_of_fold, too_few};
use crate::score::scorer::head_scores;
use crate::{Error, Rembrandt, Result, Run};

/// Parts of a division: one is held out, one trains the head, the others the embedding.
const PARTS: usize = 5;
/// Seeds of the division and of the sample of a large data set.
const DIVISION: u64 = 0x5eed;
const SAMPLE: u64 = 0x5a3e;
/// With at most this many examples, a part would be too few for the head: it is cross-fitted to all that are not held out.
const FEW_EXAMPLES: usize = 20_000;
/// Parts for that.
const CROSS_PARTS: usize = 3;
/// A head that is only looked at need not reach the optimum as closely as the one that is kept.
const TOLERANCE: f64 = 0.05;

/// The result of a division.
pub(super) struct Validated {
    pub calibrated: Calibrated,
    /// The basis of a part of the examples, a good start for that of all; absent when nothing was divided.
    pub start: Option<Matrix>,
    /// Whether the head was trained on as large a part of the examples as the final one is. If not, it is weaker than
    /// that, and a calibration that suits it need not suit the final one.
    pub calibration_holds: bool,
}

impl Store for Validated {
    fn store(&self, out: &mut Writer<'_>) -> io::Result<()> {
        let Calibrated { held_out, calibration, thresholds } = &self.calibrated;
        (Json((held_out, calibration, self.calibration_holds)), thresholds, &self.start).store(out)
    }
}

impl Load for Validated {
    fn load(from: &mut Reader) -> io::Result<Validated> {
        let (Json((held_out, calibration, calibration_holds)), thresholds, start) = Load::load(from)?;
        Ok(Validated { calibrated: Calibrated { held_out, calibration, thresholds }, start, calibration_holds })
    }
}

/// Divides the examples and fits an embedding and a head to a part of them. Where there are very many, and some are kept
/// from the final head anyway, nothing is divided.
pub(super) fn validate(
    data: &Dataset,
    params: &HeadTrainParams,
    groups: &[u32],
    run: &mut Run<'_>,
) -> Result<Validated> {
    let shape = data.shape();
    if params.head != HeadKind::LeastSquares && params.folds > 0 && shape.n > MOST_EXAMPLES {
        let calibrated = Calibrated::identity(params.head.loss(), shape.c);
        return Ok(Validated { calibrated, start: None, calibration_holds: false });
    }
    for held_out in 0..PARTS {
        let division = Division::new(data, params, groups, held_out)?;
        if !division.has_empty_part() {
            return division.validate(run);
        }
    }
    Err(Error::Data(too_few(shape.n)))
}

/// Examples with what a head needs of them.
struct Portion {
    data: Dataset,
    labels: Csr,
    weights: Option<Vec<f32>>,
}

impl Portion {
    fn new(data: Dataset) -> Result<Portion> {
        Ok(Portion { labels: data.labels()?, weights: data.weights()?, data })
    }
}

/// One division.
struct Division<'a> {
    params: &'a HeadTrainParams,
    all: Shape,
    /// The examples that the embedding is fitted to.
    fit: Dataset,
    /// The examples that the head is fitted to: the same examples, cross-fitted, when they are few.
    head: Portion,
    /// The groups of the examples of both, when these are the same.
    crossed: Option<Vec<u32>>,
    held_out: Portion,
    /// Labels that a pursuit takes.
    atoms: usize,
}

/// Labels and two parts in the embedding of the first one.
struct Projected {
    labels: Matrix,
    means: Option<Means>,
    head: Matrix,
    held_out: Matrix,
}

impl<'a> Division<'a> {
    /// Divides the examples; `held_out` says which part is held out.
    fn new(data: &Dataset, params: &'a HeadTrainParams, groups: &[u32], held_out: usize) -> Result<Division<'a>> {
        let shape = data.shape();
        let sample = Folds { count: shape.n.div_ceil(MOST_EXAMPLES).max(1), seed: SAMPLE, groups: Some(groups) };
        let parts = Folds { count: PARTS, seed: DIVISION, groups: Some(groups) };
        let part = |i: usize| (parts.of(i) + PARTS - held_out) % PARTS;
        let sampled = |i: usize| sample.of(i) == 0;
        let most = MOST_VALIDATED.min(MOST_SCORES / shape.c.max(1)).max(1);
        let share = (shape.n / sample.count / PARTS).div_ceil(most).max(1);
        let few = Folds { count: share, seed: SAMPLE + 1, groups: Some(groups) };
        // Least squares has no head to train: its part goes to the embedding.
        let crossed = shape.n <= FEW_EXAMPLES && params.head != HeadKind::LeastSquares;
        let fitted = |part: usize| part >= 2 || (part == 1 && (crossed || params.head == HeadKind::LeastSquares));
        let heads = |part: usize| part == 1 || (part >= 2 && crossed);
        let of_fit = || (0..shape.n).filter(|i| fitted(part(*i))).map(|i| groups[i]).collect();
        Ok(Division {
            params,
            all: shape,
            fit: data.select(|i| sampled(i) && fitted(part(i)))?,
            head: Portion::new(data.select(|i| sampled(i) && heads(part(i)))?)?,
            crossed: crossed.then(of_fit),
            held_out: Portion::new(data.select(|i| sampled(i) && part(i) == 0 && few.of(i) == 0)?)?,
            atoms: params.pursuit_atoms(data),
        })
    }

    /// Whether a part has no examples: few examples, or a group of near copies, may leave one empty.
    fn has_empty_part(&self) -> bool {
        [&self.fit, &self.head.data, &self.held_out.data].iter().any(|part| part.shape().n == 0)
    }

    fn validate(&self, run: &mut Run<'_>) -> Result<Validated> {
        let embedder = self.embedder();
        let basis = run.checkpoint("basis", |run| embedder.find(None, &self.fit, run))?;
        let projected = run.within("projection", |run| self.project(&embedder, &basis, run))?;
        let scores = self.scores(&projected, run)?;
        let Portion { labels, weights, .. } = &self.held_out;
        let calibrated = Calibrated::fit(self.params.head.loss(), scores, labels.view(), weights.as_deref())?;
        Ok(Validated { calibrated, start: Some(basis), calibration_holds: self.crossed.is_some() })
    }

    /// The parameters for the first part. The same real ridge is a larger share of fewer examples.
    fn embedder(&self) -> Embedder {
        let scale = self.all.n as f64 / self.fit.shape().n.max(1) as f64;
        let Embedder { method, params: all } = self.params.embedder(self.all);
        // Two thirds of the steps tell as well how good it is.
        let mut params = Rembrandt { ridge: all.ridge * scale, cg_steps: (2 * all.cg_steps).div_ceil(3), ..all };
        params.projection.ridge = params.projection.ridge.map(|ridge| ridge * scale);
        Embedder::new(method, params)
    }

    fn project(&self, embedder: &Embedder, basis: &Matrix, run: &mut Run<'_>) -> Result<Projected> {
        let projected = embedder.project(&self.fit, basis, run)?;
        let place = |part: &Portion| -> Result<Matrix> {
            let mut h = part.data.gather_features(projected.projection.view())?;
            add_intercept(&mut h, &projected.intercept);
            Ok(h)
        };
        let head = match &self.crossed {
            Some(groups) if embedder.method.fits_labels() => {
                let folds = Folds { count: CROSS_PARTS, seed: DIVISION + 1, groups: Some(groups) };
                out_of_fold(&embedder.params, &self.fit, &projected.labels, folds, run)?
            }
            _ => place(&self.head)?,
        };
        let held_out = place(&self.held_out)?;
        Ok(Projected { labels: projected.labels, means: projected.means, head, held_out })
    }

    /// Scores of the held-out examples.
    fn scores(&self, projected: &Projected, run: &mut Run<'_>) -> Result<Matrix> {
        let Projected { labels, means, head, held_out } = projected;
        let decoder = Decoder { labels, means: means.as_ref(), atoms: self.atoms };
        let scores = |head: &Head| head_scores(&labels.clone().into(), head, held_out);
        if self.params.head == HeadKind::LeastSquares {
            return Ok(scores(&decoder.head()));
        }
        let features = self.params.features.map(|params| RandomFeatures::draw(&params, head.view())).transpose()?;
        let targets = Targets {
            labels: self.head.labels.view(),
            count: self.all.c,
            example_weights: self.head.weights.as_deref(),
            label_weights: self.params.label_weights.as_deref(),
        };
        let inputs = Inputs::new(head.view(), features.as_ref());
        let (model, _) = self.params.fit_head(Some(TOLERANCE), inputs, targets, run)?;
        Ok(scores(&decoder.logistic(features, model, self.params.least_squares_weight)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{C, D, data, methods, rows};
    use super::*;

    #[test]
    fn what_is_held_out_has_no_part_in_the_fit() {
        let n = 300;
        let original = data(n);
        let groups: Vec<u32> = (0..n as u32).collect();
        let scores = |params: &HeadTrainParams, data: &Dataset, held_out: usize| {
            let division = Division::new(data, params, &groups, held_out).unwrap();
            let (embedder, mut run) = (division.embedder(), Run::default());
            let basis = embedder.find(None, &division.fit, &mut run).unwrap();
            let projected = division.project(&embedder, &basis, &mut run).unwrap();
            let scores = division.scores(&projected, &mut run).unwrap();
            (scores, division.validate(&mut run).unwrap().calibrated.held_out)
        };
        for (held_out, params) in methods().into_iter().flat_map(|params| [(0, params.clone()), (1, params)]) {
            let params = params.with(|p| (p.k, p.ridge) = (Some(5), Some(1.0)));
            let parts = Folds { count: PARTS, seed: DIVISION, groups: Some(&groups) };
            // Other labels on the held-out examples: their scores stay, and only how good these are changes.
            let other = |i: usize| if parts.of(i) == held_out { 3 } else { 0 };
            let changed = Dataset::from_rows(&rows(n, other), D, C).unwrap();
            let (before, after) = (scores(&params, &original, held_out), scores(&params, &changed, held_out));
            assert_eq!(before.0, after.0);
            assert!(before.1.p1 > after.1.p1 + 0.2, "{:?} {:?}", before.1, after.1);
        }
    }
}
