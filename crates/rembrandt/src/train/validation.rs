//! [`Validation`]: one split of the examples, on which settings are compared.

use std::io;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::params::{HeadKind, TrainParams};
use super::report::HeldOut;
use crate::data::{Dataset, Examples, Shape};
use crate::embed::{Embedder, Means};
use crate::io::checkpoint::{Load, Reader, Store, Writer};
use crate::linalg::csr::{Csr, CsrRef};
use crate::linalg::matrix::Matrix;
use crate::metrics::{precision_at, rank};
use crate::score::head::{Decoder, FeatureParams, Folds, Inputs, RandomFeatures, Targets, add_intercept, out_of_fold};
use crate::score::scorer::{add_least_squares, head_scores};
use crate::{Rembrandt, Result, Run};
use rayon::prelude::*;

/// Parts of a division: one decides, one trains the head, the others the embedding.
pub(super) const PARTS: usize = 5;
/// Examples that tuning looks at, at most.
pub(super) const MOST_EXAMPLES: usize = 200_000;
/// Scores of the examples that decide, at most.
pub(super) const MOST_SCORES: usize = 1 << 27;
/// Examples that decide, at most.
pub(super) const MOST_DECIDING: usize = 20_000;
/// Seeds of the division and of the sample of a large data set.
pub(super) const DIVISION: u64 = 0x5eed;
const SAMPLE: u64 = 0x5a3e;
/// With at most this many examples, a part would be too few for the head: it is cross-fitted to all that do not decide.
pub(super) const FEW_EXAMPLES: usize = 20_000;
/// Parts for that.
const CROSS_PARTS: usize = 3;
/// Trials compare; they need not reach the optimum as closely as the head that is kept.
const TOLERANCE: f64 = 0.05;

/// What is tried.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Setting {
    pub k: usize,
    /// Relative ridge, as it would be for all examples.
    pub ridge: f64,
    /// Share of the dimensions that are random.
    #[serde(alias = "spread")]
    pub random_fraction: f64,
    pub head_ridge: f64,
    /// The random features that the head sees.
    pub features: Option<FeatureParams>,
}

/// Examples with what a head needs of them.
struct Held {
    data: Dataset,
    labels: Csr,
    weights: Option<Vec<f32>>,
}

impl Held {
    fn new(data: Dataset) -> Result<Held> {
        Ok(Held { labels: data.labels()?, weights: data.weights()?, data })
    }
}

/// One division, with what was computed for it last.
pub(super) struct Validation<'a> {
    /// The names of its checkpoints begin with it.
    name: String,
    /// Bases found so far.
    finds: usize,
    params: &'a TrainParams,
    all: Shape,
    /// What the embedding is fitted to.
    fit: Dataset,
    /// What the head is fitted to: the same examples, cross-fitted, when they are few.
    head: Held,
    /// The groups of the examples of both, when these are the same.
    crossed: Option<Vec<u32>>,
    check: Held,
    /// What was found for the first part: the embedding of the labels, or the directions of the features.
    pub basis: Matrix,
    /// Labels that a pursuit takes.
    atoms: usize,
    projected: Option<Projected>,
}

/// h of two parts under one ridge, for all dimensions that the embedding has.
struct Projected {
    k: usize,
    ridge: f64,
    labels: Matrix,
    means: Option<Means>,
    head: Matrix,
    check: Matrix,
}

impl<'a> Validation<'a> {
    /// Divides the examples; `rotation` says which part decides. Nothing is fitted yet.
    pub fn new(data: &Dataset, params: &'a TrainParams, groups: &[u32], rotation: usize) -> Result<Validation<'a>> {
        let shape = data.shape();
        let sample = Folds { count: shape.n.div_ceil(MOST_EXAMPLES).max(1), seed: SAMPLE, groups: Some(groups) };
        let parts = Folds { count: PARTS, seed: DIVISION, groups: Some(groups) };
        let part = |i: usize| (parts.of(i) + PARTS - rotation) % PARTS;
        let sampled = |i: usize| sample.of(i) == 0;
        let deciding = MOST_DECIDING.min(MOST_SCORES / shape.c.max(1)).max(1);
        let share = (shape.n / sample.count / PARTS).div_ceil(deciding).max(1);
        let few = Folds { count: share, seed: SAMPLE + 1, groups: Some(groups) };
        // Least squares has no head to train: its part goes to the embedding.
        let crossed = shape.n <= FEW_EXAMPLES && params.head != HeadKind::LeastSquares;
        let fitted = |part: usize| part >= 2 || (part == 1 && (crossed || params.head == HeadKind::LeastSquares));
        let heads = |part: usize| part == 1 || (part >= 2 && crossed);
        let of_fit = || (0..shape.n).filter(|i| fitted(part(*i))).map(|i| groups[i]).collect();
        Ok(Validation {
            name: format!("trial-{rotation}"),
            finds: 0,
            params,
            all: shape,
            fit: data.select(|i| sampled(i) && fitted(part(i)))?,
            head: Held::new(data.select(|i| sampled(i) && heads(part(i)))?)?,
            crossed: crossed.then(of_fit),
            check: Held::new(data.select(|i| sampled(i) && part(i) == 0 && few.of(i) == 0)?)?,
            basis: Matrix::zeros(0, 0),
            atoms: params.pursued(data),
            projected: None,
        })
    }

    /// Whether a part has no examples: few examples, or a group of near copies, may leave one empty.
    pub fn is_hollow(&self) -> bool {
        [&self.fit, &self.head.data, &self.check.data].iter().any(|part| part.shape().n == 0)
    }

    /// Whether the head was cross-fitted to all examples that do not decide, as the final one is.
    pub fn is_crossed(&self) -> bool {
        self.crossed.is_some()
    }

    /// True labels of the examples that decide.
    pub fn truth(&self) -> &Csr {
        &self.check.labels
    }

    /// Finds the basis for a setting, beginning with what there is of it.
    pub fn find(&mut self, setting: &Setting, run: &mut Run<'_>) -> Result<()> {
        let start = (self.basis.cols() > 0).then_some(&self.basis);
        let name = format!("{}.basis-{}", self.name, self.finds);
        self.basis = run.checkpoint(&name, |run| self.embedder(setting).find(start, &self.fit, run))?;
        self.finds += 1;
        self.projected = None;
        Ok(())
    }

    /// Takes a basis that was found before.
    pub fn restore(&mut self, basis: &Matrix) {
        self.basis = basis.clone();
        self.projected = None;
    }

    /// The parameters for the first part. The same real ridge is a larger share of fewer examples.
    fn embedder(&self, setting: &Setting) -> Embedder {
        let Setting { k, ridge, random_fraction, .. } = *setting;
        let scale = self.all.n as f64 / self.fit.shape().n.max(1) as f64;
        let base = &self.params.embedding;
        // Two thirds of the steps tell as well what is better.
        let cg_steps = (2 * base.cg_steps).div_ceil(3);
        let mut params = Rembrandt { k, random_fraction, ridge: ridge * scale, cg_steps, ..base.clone() };
        params.projection.ridge = params.projection.ridge.map(|ridge| ridge * scale);
        Embedder::new(self.params.method, params)
    }

    /// Labels and examples in the first `k` dimensions, under a ridge.
    fn project(&mut self, setting: &Setting, run: &mut Run<'_>) -> Result<&Projected> {
        let nests = self.params.method.nests() && setting.random_fraction == 0.0;
        let known = |p: &Projected| p.ridge == setting.ridge && (p.k == setting.k || (nests && p.k >= setting.k));
        let projected = match self.projected.take().filter(known) {
            Some(projected) => projected,
            // The last one is kept, because the next settings will often need the same.
            None => {
                run.checkpoint_of(&format!("{}.h", self.name), self.key(setting), |run| self.projection(setting, run))?
            }
        };
        Ok(self.projected.insert(projected))
    }

    /// Tells what an h depends on.
    fn key(&self, setting: &Setting) -> u64 {
        let of = [setting.k as u64, setting.ridge.to_bits(), setting.random_fraction.to_bits()];
        let basis = xxh3_64(bytemuck::cast_slice(self.basis.as_slice()));
        xxh3_64_with_seed(bytemuck::cast_slice(&of), basis).max(1)
    }

    fn projection(&self, setting: &Setting, run: &mut Run<'_>) -> Result<Projected> {
        let embedder = self.embedder(setting);
        let projected = embedder.project(&self.fit, &prefix(&self.basis, setting.k), run)?;
        let place = |held: &Held| -> Result<Matrix> {
            let mut h = held.data.gather_features(projected.projection.view())?;
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
        let check = place(&self.check)?;
        let (labels, means) = (projected.labels, projected.means);
        Ok(Projected { k: setting.k, ridge: setting.ridge, labels, means, head, check })
    }

    /// Scores of the examples that decide, for each component: logistic and least squares. `tried` names the try.
    pub fn scores(&mut self, tried: &str, setting: &Setting, run: &mut Run<'_>) -> Result<Components> {
        let name = format!("{tried}.{}", self.name);
        if let Some((logistic, squares)) = run.find(&name, 0)? {
            return Ok(Components { logistic, squares });
        }
        let scored = self.compute_scores(&name, setting, run)?;
        run.keep(&name, 0, &(&scored.logistic, &scored.squares))?;
        run.forget_within(&name);
        Ok(scored)
    }

    fn compute_scores(&mut self, name: &str, setting: &Setting, run: &mut Run<'_>) -> Result<Components> {
        let (k, atoms) = (setting.k, self.atoms);
        let projected = self.project(setting, run)?;
        let squares = projected.decoded(k, atoms);
        if self.params.head == HeadKind::LeastSquares {
            return Ok(Components { logistic: None, squares });
        }
        let Some(projected) = &self.projected else { unreachable!("just projected") };
        let (head, check) = (prefix(&projected.head, k), prefix(&projected.check, k));
        let features = setting.features.map(|params| RandomFeatures::draw(&params, head.view())).transpose()?;
        let targets = Targets {
            labels: self.head.labels.view(),
            count: self.all.c,
            example_weights: self.head.weights.as_deref(),
            label_weights: self.params.label_weights.as_deref(),
        };
        let inputs = Inputs::new(head.view(), features.as_ref());
        let fitted = run.within(name, |run| self.params.fit_head(setting, Some(TOLERANCE), inputs, targets, run));
        let model = fitted?.0;
        Ok(Components { logistic: Some(model.scores(Inputs::new(check.view(), features.as_ref()))), squares })
    }

    /// Precision of the least-squares score alone with the first `k` dimensions, for the setting projected last.
    pub fn precision_of_squares(&mut self, setting: &Setting, run: &mut Run<'_>) -> Result<HeldOut> {
        let atoms = self.atoms;
        let squares = self.project(setting, run)?.decoded(setting.k, atoms);
        Ok(self.precision(&Components { logistic: None, squares }, &[0.0])[0])
    }

    /// How good the scores of the examples that decide are, for each of some weights_of_least_squares.
    pub fn precision(&self, scored: &Components, weights_of_least_squares: &[f32]) -> Vec<HeldOut> {
        scored.precision(self.check.labels.view(), self.check.weights.as_deref(), weights_of_least_squares)
    }
}

impl Store for Projected {
    fn store(&self, out: &mut Writer<'_>) -> io::Result<()> {
        let means = self.means.as_ref().map(|means| (&means.labels, &means.h));
        (self.k, self.ridge, &self.labels, means, &self.head, &self.check).store(out)
    }
}

impl Load for Projected {
    fn load(from: &mut Reader) -> io::Result<Projected> {
        let (k, ridge, labels, means, head, check) = Load::load(from)?;
        let means: Option<(Vec<f32>, Vec<f32>)> = means;
        Ok(Projected { k, ridge, labels, means: means.map(|(labels, h)| Means { labels, h }), head, check })
    }
}

impl Projected {
    /// Scores of the examples that decide from the first `k` dimensions and the embedding of the labels alone.
    fn decoded(&self, k: usize, atoms: usize) -> Matrix {
        let labels = prefix(&self.labels, k);
        let head = Decoder { labels: &labels, means: self.means.as_ref(), atoms }.head();
        head_scores(&labels.into(), &head, &prefix(&self.check, k))
    }
}

/// What a setting makes of the examples that decide.
pub(super) struct Components {
    pub logistic: Option<Matrix>,
    pub squares: Matrix,
}

impl Components {
    /// logistic + least_squares_weight·least squares; the latter alone where there is no logistic head.
    pub fn combined(&self, least_squares_weight: f32) -> Matrix {
        let mut scores = Matrix::zeros(self.squares.rows(), self.squares.cols());
        (0..scores.rows()).for_each(|i| self.combine_row(i, least_squares_weight, scores.row_mut(i)));
        scores
    }

    /// Precision for each of some weights of the least-squares score, as a mean weighted by examples.
    pub fn precision(
        &self,
        labels: CsrRef<'_>,
        weights: Option<&[f32]>,
        weights_of_least_squares: &[f32],
    ) -> Vec<HeldOut> {
        let n = self.squares.rows();
        let each = |i: usize| {
            let weight = weights.map_or(1.0, |w| f64::from(w[i]));
            let (truth, _) = labels.row(i);
            let mut row = vec![0.0; self.squares.cols()];
            let one = |least_squares_weight: &f32| {
                self.combine_row(i, *least_squares_weight, &mut row);
                let ranked = rank(&row, 5);
                [1, 3, 5].map(|k| weight * precision_at(truth, &ranked, k))
            };
            weights_of_least_squares.iter().map(one).collect()
        };
        let each: Vec<Vec<[f64; 3]>> = (0..n).into_par_iter().map(each).collect();
        let total = weights.map_or(n as f64, |w| w.iter().map(|w| f64::from(*w)).sum());
        let mean = |at: usize, j: usize| each.iter().map(|row| row[at][j]).sum::<f64>() / total.max(f64::MIN_POSITIVE);
        let held_out = |at: usize| HeldOut { examples: n as u64, p1: mean(at, 0), p3: mean(at, 1), p5: mean(at, 2) };
        (0..weights_of_least_squares.len()).map(held_out).collect()
    }

    fn combine_row(&self, i: usize, least_squares_weight: f32, out: &mut [f32]) {
        match &self.logistic {
            Some(logistic) => {
                out.copy_from_slice(logistic.row(i));
                add_least_squares(out, least_squares_weight, self.squares.row(i));
            }
            None => out.copy_from_slice(self.squares.row(i)),
        }
    }
}

/// The first `k` columns.
fn prefix(matrix: &Matrix, k: usize) -> Matrix {
    let mut out = Matrix::zeros(matrix.rows(), k);
    out.view_mut().copy_from(matrix.columns(0, k));
    out
}

/// Scores and true labels of all examples that decided.
pub(super) fn together(scores: &[Matrix], trials: &[Validation<'_>]) -> (Matrix, Csr) {
    let cols = scores[0].cols();
    let all: Vec<f32> = scores.iter().flat_map(|s| s.as_slice()).copied().collect();
    let mut truth = Csr::new(true);
    trials.iter().for_each(|t| truth.extend_rows(t.truth().view(), 0, t.truth().rows()));
    (Matrix::from_vec(truth.rows(), cols, all), truth)
}
