//! Logistic heads for so many labels and examples that not even one gradient can be had: it takes 4·n·c·k operations.
//!
//! Examples near each other have the same likely labels, and nearly all others add nothing there. So the examples are
//! divided into regions, and the examples of a region look at about `labels` labels: their own, the likely ones of
//! the region, and some of all others that stand for the rest (`label_sample.rs`). The likely labels of a region are found
//! by scoring a few of its examples against all labels, often at the beginning, when the weights change fast, and once in
//! an epoch later. A step takes some examples of every region, so that its gradient varies little, or of one
//! in up to four where regions are many, and moves all weights:
//!
//! ```text
//! M ← β M + (1−β) G,   V ← β′V + (1−β′) G²,   U ← U − length · M/√V        (Adam [1], each entry by itself)
//! ```
//!
//! in the coordinates u = QᵀLᵀw, in which the moments LLᵀ of the inputs are the identity and the ridge is a multiple of
//! each coordinate, so that it costs nothing. The step lengths go down to 0. An epoch takes about 4·n·`labels`·k
//! operations, nearly all of them dense products of small matrices.
//!
//! 1. D. Kingma, J. Ba: Adam: a method for stochastic optimization. ICLR 2015.

use faer::linalg::triangular_solve::solve_lower_triangular_in_place;
use faer::{Mat, Par};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::estimate::{Estimate, multiply};
use super::fitted::Logistic;
use super::inputs::Inputs;
use super::label_sample::{LabelSample, LabelSampler, Likely};
use super::logistic::{Round, prior};
use super::objective::{Loss, Targets};
use super::partition::Partition;
use super::second_moments::gram;
use crate::linalg::kernels::adam::{Adam, LabelState};
use crate::linalg::matrix::Matrix;
use crate::linalg::orth::eigen;
use crate::{Error, Result, Run};

/// Rows that tell the coordinates.
const MOMENTS: usize = 65_536;
/// How examples are divided. Partition take turns where they are many, so that a step takes more rows of each that it takes
/// any of, and reads the weights of its labels for more of them.
const DIVISION: RegionSizes = RegionSizes { rows: 4096, in_turn: 128 };
/// Rows of a region that tell its likely labels, and of all regions, about. Each is scored against all labels.
const TELLING: [usize; 2] = [4, 16];
const TOLD: usize = 8192;
/// Rows that are scored together: reading the weights of all labels takes longer than a product with a few rows.
const TOGETHER: usize = 128;
/// The step before which likely labels are told for the first time. Before the first step no label is likelier in one
/// region than in another.
const FIRST_TOLD: usize = 4;
/// A step takes rows of one region in so many, at most.
const TURNS: usize = 4;
/// Partition whose gradients are held at a time.
const WAVE: usize = 32;
/// Labels of one task.
const GROUP: usize = 64;
/// β and β′.
const MOMENTUM: f32 = 0.9;
const MEMORY: f32 = 0.95;
/// The name that weights on their way are kept under.
const STATE: &str = "sampled";

/// How to train a logistic head on some of the labels at a time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct SampledParams {
    /// The kind of probabilities to predict.
    pub loss: Loss,
    /// Ridge λ, in examples, as [`LogisticParams`](super::LogisticParams) has it.
    pub ridge: f64,
    /// Labels that a region looks at in one step, besides those that its examples have.
    pub labels: usize,
    /// Times that every example is seen.
    pub epochs: usize,
    /// Steps of an epoch.
    pub steps: usize,
    /// Length of the first step, for each entry of the weights.
    pub step: f32,
    /// Seed of the order of the examples and of what is drawn.
    pub seed: u64,
}

impl Default for SampledParams {
    fn default() -> SampledParams {
        SampledParams::new(Loss::Independent)
    }
}

setter!(SampledParams);

impl SampledParams {
    /// The defaults. Labels that are independent of each other have noisier gradients, and take shorter steps.
    pub fn new(loss: Loss) -> SampledParams {
        let step = match loss {
            Loss::Independent => 0.015,
            Loss::Softmax => 0.05,
        };
        SampledParams { loss, ridge: 16.0, labels: 1024, epochs: 4, steps: 48, step, seed: 1 }
    }
}

impl SampledParams {
    fn check(&self) -> Result<()> {
        let refuse = |name, reason: &str| Err(Error::parameter(name, reason));
        if !(self.ridge.is_finite() && self.ridge >= 0.0) {
            return refuse("ridge", "must be a finite number, zero or more");
        }
        if self.labels == 0 {
            return refuse("labels", "at least one must be looked at");
        }
        if self.epochs == 0 || self.steps == 0 {
            return refuse("epochs", "at least one epoch of at least one step is needed");
        }
        if !(self.step.is_finite() && self.step > 0.0) {
            return refuse("step", "must be a finite number above zero");
        }
        Ok(())
    }

    /// Finds the weights.
    ///
    /// The result is the same to the last bit for any number of threads. A label that no example has, or that all
    /// have, gets the score of its frequency and no other weights.
    pub fn fit(&self, inputs: Inputs<'_>, targets: Targets<'_>, run: &mut Run<'_>) -> Result<Logistic> {
        self.fit_divided(DIVISION, inputs, targets, run)
    }

    fn fit_divided(
        &self,
        division: RegionSizes,
        inputs: Inputs<'_>,
        targets: Targets<'_>,
        run: &mut Run<'_>,
    ) -> Result<Logistic> {
        self.check()?;
        targets.check(inputs.rows())?;
        let width = inputs.width();
        let (total, counts) = targets.totals();
        let all = match self.loss {
            Loss::Independent => total,
            Loss::Softmax => counts.iter().sum(),
        };
        let trained = |label: usize| counts[label] > 0.0 && counts[label] < all && targets.label_weight(label) > 0.0;
        let mut plain = Matrix::zeros(targets.count, width);
        for (label, count) in counts.iter().enumerate() {
            plain.row_mut(label)[width - 1] = prior(*count, all, self.loss);
        }
        let frequency: Vec<f64> =
            counts.iter().enumerate().map(|(label, count)| if trained(label) { *count } else { 0.0 }).collect();
        if frequency.iter().all(|count| *count == 0.0) {
            return Ok(Logistic { loss: self.loss, weights: plain });
        }
        run.begin((self.epochs * self.steps) as u64);
        let coordinates = Coordinates::new(self.ridge, &inputs, &targets, &frequency)?;
        let estimate = Estimate { inputs, targets, loss: self.loss, coordinates: coordinates.inward.clone() };
        let lottery = LabelSampler::new(&frequency, self.labels);
        let regions = Partition::new(inputs.h(), division.rows);
        let every = (regions.count() / division.in_turn).clamp(1, TURNS.min(self.steps));
        let turns = Turns { steps: self.steps, every };
        let mut moving = Moving::new(coordinates.enter(&plain), &coordinates, &frequency);
        self.descend(&estimate, &lottery, (&regions, turns), total, &mut moving, run)?;
        let found = coordinates.leave(&moving.weights);
        for label in (0..targets.count).filter(|label| trained(*label)) {
            plain.row_mut(label).copy_from_slice(found.row(label));
        }
        Ok(Logistic { loss: self.loss, weights: plain })
    }

    fn descend(
        &self,
        estimate: &Estimate<'_>,
        lottery: &LabelSampler,
        (regions, turns): (&Partition, Turns),
        total: f64,
        moving: &mut Moving<'_>,
        run: &mut Run<'_>,
    ) -> Result<()> {
        let all = self.epochs * self.steps;
        let (mut taken, mut refresh, mut likely) = (0, FIRST_TOLD, vec![Likely::default(); regions.count()]);
        if let Some((at, next, told, matrices, steps)) = run.find::<DescentState>(STATE, 0)? {
            (taken, refresh, likely) = (at, next, told);
            (moving.weights, moving.first, moving.second) = matrices;
            moving.steps = steps as i32;
        }
        for epoch in taken / self.steps..self.epochs {
            let seed = self.seed.wrapping_add(epoch as u64);
            let order: Vec<Vec<u32>> =
                (0..regions.count()).into_par_iter().map(|region| shuffled(regions.rows(region), seed)).collect();
            for part in taken % self.steps..self.steps {
                let step = epoch * self.steps + part;
                if step == 0 && lottery.leaves_out() {
                    let one = order.iter().flatten().next().map_or(&[][..], std::slice::from_ref);
                    likely = vec![lottery.likely(&estimate.sizes(&moving.weights, &[one])[0]); order.len()];
                } else if step == refresh {
                    likely = tell(estimate, lottery, &order, &moving.weights);
                    refresh += step.min(self.steps);
                }
                let rows: Vec<&[u32]> =
                    order.iter().enumerate().map(|(region, rows)| turns.take(rows, region, part)).collect();
                let weight = |i: &u32| f64::from(estimate.targets.example_weight(*i as usize));
                let share = rows.iter().flat_map(|rows| *rows).map(weight).sum::<f64>() / total;
                if share > 0.0 {
                    moving.gather(estimate, lottery, &likely, &rows, self.seed.wrapping_add((step as u64) << 32));
                    moving.advance(share, self.step * (1.0 - step as f32 / all as f32));
                }
                run.advance("head", 1)?;
                let last = part + 1 == self.steps;
                if last && moving.weights.as_slice().iter().any(|w| !w.is_finite()) {
                    let reason = "the weights of the head grew beyond all bounds: make it smaller";
                    return Err(Error::parameter("step", reason));
                }
                let Moving { weights, first, second, steps, .. } = &*moving;
                run.keep_state(STATE, &(step + 1, refresh, &likely, (weights, first, second), *steps as usize))?;
            }
            taken = 0;
        }
        Ok(())
    }
}

/// The rows in an order that depends on the seed.
fn shuffled(rows: &[u32], seed: u64) -> Vec<u32> {
    let mut rows = rows.to_vec();
    rows.sort_by_cached_key(|i| xxh3_64_with_seed(&i.to_le_bytes(), seed));
    rows
}

/// How examples are divided into regions.
#[derive(Clone, Copy)]
struct RegionSizes {
    /// Rows of a region, at most.
    rows: usize,
    /// Regions that a step takes rows of, at least, if there are so many.
    in_turn: usize,
}

/// Which rows of a region a step takes.
struct Turns {
    /// Steps of an epoch.
    steps: usize,
    /// Steps from one turn of a region to its next.
    every: usize,
}

impl Turns {
    /// The rows of a region that step `part` of an epoch takes. Neighbours have their turns in different steps.
    fn take<'a>(&self, rows: &'a [u32], region: usize, part: usize) -> &'a [u32] {
        let first = region % self.every;
        if part % self.every != first {
            return &[];
        }
        let (turn, turns) = (part / self.every, (self.steps - first).div_ceil(self.every));
        &rows[turn * rows.len() / turns..(turn + 1) * rows.len() / turns]
    }
}

/// The likely labels of every region, as its first rows tell them.
fn tell(estimate: &Estimate<'_>, lottery: &LabelSampler, order: &[Vec<u32>], weights: &Matrix) -> Vec<Likely> {
    if !lottery.leaves_out() {
        return vec![Likely::default(); order.len()];
    }
    let [least, most] = TELLING;
    let telling = (TOLD / order.len().max(1)).clamp(least, most);
    let first: Vec<&[u32]> = order.iter().map(|rows| &rows[..telling.min(rows.len())]).collect();
    let together = |parts: &[&[u32]]| -> Vec<Likely> {
        estimate.sizes(weights, parts).par_iter().map(|sizes| lottery.likely(sizes)).collect()
    };
    first.chunks((TOGETHER / telling).max(1)).flat_map(together).collect()
}

/// The checkpoint of a descent: steps gone through, the next refresh, likely labels, U, M and V, and steps taken.
type DescentState = (usize, usize, Vec<Likely>, (Matrix, Matrix, Matrix), usize);

/// Weights on their way.
struct Moving<'a> {
    weights: Matrix,
    coordinates: &'a Coordinates,
    /// Labels with a count above 0 are trained.
    frequency: &'a [f64],
    /// The gradient of some examples, without the ridge.
    gradient: Vec<f64>,
    /// M and V.
    first: Matrix,
    second: Matrix,
    /// Steps taken.
    steps: i32,
}

impl<'a> Moving<'a> {
    fn new(weights: Matrix, coordinates: &'a Coordinates, frequency: &'a [f64]) -> Moving<'a> {
        let (count, width) = (weights.rows(), weights.cols());
        let [first, second] = [0; 2].map(|_| Matrix::zeros(count, width));
        Moving { weights, coordinates, frequency, gradient: vec![0.0; count * width], first, second, steps: 0 }
    }

    /// The gradient of what a step takes of every region. Partition are worked on side by side and added up in their order.
    fn gather(
        &mut self,
        estimate: &Estimate<'_>,
        lottery: &LabelSampler,
        likely: &[Likely],
        rows: &[&[u32]],
        seed: u64,
    ) {
        let width = self.weights.cols();
        self.gradient.par_chunks_mut(GROUP * width).for_each(|sum| sum.fill(0.0));
        let weights = &self.weights;
        let regions: Vec<usize> = (0..rows.len()).filter(|region| !rows[*region].is_empty()).collect();
        for wave in regions.chunks(WAVE) {
            let of = |region: &usize| {
                let rows = rows[*region];
                let held = rows.iter().flat_map(|i| estimate.targets.labels.row(*i as usize).0).copied();
                let subset = lottery.draw(&likely[*region], held, seed.wrapping_add(*region as u64));
                let gradient = estimate.gradient(weights, rows, &subset);
                (subset, gradient)
            };
            let found: Vec<(LabelSample, Vec<f32>)> = wave.par_iter().map(of).collect();
            self.gradient.par_chunks_mut(GROUP * width).enumerate().for_each(|(group, sums)| {
                let base = group * GROUP;
                for (subset, gradient) in &found {
                    let from = subset.labels.partition_point(|label| (*label as usize) < base);
                    let members = subset.labels[from..].iter().map(|label| *label as usize - base);
                    for (place, rows) in members.zip(gradient[from * width..].chunks(width)) {
                        let Some(sum) = sums.get_mut(place * width..(place + 1) * width) else { break };
                        sum.iter_mut().zip(rows).for_each(|(sum, g)| *sum += f64::from(*g));
                    }
                }
            });
        }
    }

    /// One step with the gradient of a share of all examples.
    fn advance(&mut self, share: f64, length: f32) {
        self.steps += 1;
        let even = [MOMENTUM, MEMORY].map(|beta| (1.0 - beta.powi(self.steps)).recip());
        let adam = Adam { keep: [MOMENTUM, MEMORY], even, length, scale: share.recip() };
        let width = self.weights.cols();
        let (penalty, gradient, frequency) = (&self.coordinates.penalty, &self.gradient, self.frequency);
        let weights = self.weights.as_mut_slice().par_chunks_mut(GROUP * width);
        let first = self.first.as_mut_slice().par_chunks_mut(GROUP * width);
        let second = self.second.as_mut_slice().par_chunks_mut(GROUP * width);
        weights.zip(first).zip(second).enumerate().for_each(|(group, ((w, m), v))| {
            let rows = w.chunks_mut(width).zip(m.chunks_mut(width)).zip(v.chunks_mut(width));
            for (i, ((weights, first), second)) in rows.enumerate() {
                let label = group * GROUP + i;
                if frequency[label] > 0.0 {
                    let sums = &gradient[label * width..(label + 1) * width];
                    adam.step(LabelState { weights, first, second, sums }, penalty);
                }
            }
        });
    }
}

/// The coordinates u = QᵀLᵀw, in which the moments of the inputs QᵀL⁻¹z are about the identity, whatever the rotation Q.
struct Coordinates {
    /// L⁻ᵀQ: z·L⁻ᵀQ are the inputs.
    inward: Mat<f32>,
    /// LQ: w·LQ are the weights.
    lower: Mat<f32>,
    /// QᵀL⁻¹: u·QᵀL⁻¹ are the weights again.
    outward: Mat<f32>,
    /// ρ QᵀL⁻¹DL⁻ᵀQ, where D leaves out the constant. Q makes it diagonal: its entries times those of u are the gradient
    /// of the ridge.
    penalty: Vec<f32>,
}

impl Coordinates {
    fn new(ridge: f64, inputs: &Inputs<'_>, targets: &Targets<'_>, frequency: &[f64]) -> Result<Coordinates> {
        let width = inputs.width();
        let gram = gram(inputs, targets, MOMENTS, &mut |_| Ok(()))?;
        let mean = (0..width - 1).map(|i| gram[(i, i)]).sum::<f64>() / (width - 1).max(1) as f64;
        let rho = ridge * mean;
        let trained: Vec<f64> = frequency.iter().copied().filter(|count| *count > 0.0).collect();
        let lower = Round::new(&gram, rho, mean, &trained)?.lower;
        let mut inverse = Mat::<f64>::identity(width, width);
        solve_lower_triangular_in_place(lower.as_ref(), inverse.as_mut(), Par::Seq);
        let mut penalty = Mat::from_fn(width, width, |i, j| if i == j && i < width - 1 { rho } else { 0.0 });
        solve_lower_triangular_in_place(lower.as_ref(), penalty.as_mut(), Par::Seq);
        // (L⁻¹D)ᵀ = DL⁻ᵀ, and once more from the left.
        let mut penalty = penalty.transpose().to_owned();
        solve_lower_triangular_in_place(lower.as_ref(), penalty.as_mut(), Par::Seq);
        let (penalty, rotation) = eigen(&penalty);
        let single = |from: &Mat<f64>| Mat::from_fn(width, width, |i, j| from[(i, j)] as f32);
        Ok(Coordinates {
            inward: single(&(inverse.transpose() * &rotation)),
            lower: single(&(&lower * &rotation)),
            outward: single(&(rotation.transpose() * &inverse)),
            penalty: penalty.into_iter().map(|value| value as f32).collect(),
        })
    }

    fn enter(&self, weights: &Matrix) -> Matrix {
        each(weights, &self.lower)
    }

    fn leave(&self, weights: &Matrix) -> Matrix {
        each(weights, &self.outward)
    }
}

/// All rows times a matrix.
fn each(rows: &Matrix, by: &Mat<f32>) -> Matrix {
    let width = rows.cols();
    let mut out = Matrix::zeros(rows.rows(), width);
    let parts = out.as_mut_slice().par_chunks_mut(GROUP * width).zip(rows.as_slice().par_chunks(GROUP * width));
    parts.for_each(|(out, rows)| multiply(rows, by.as_ref(), out));
    out
}

#[cfg(test)]
mod tests;
