//! Descent by mini-batches, preconditioned with the second moments of the inputs: for many inputs, such as random
//! features, where the road of full gradients is long.
//!
//! It is the method of the paper's authors. With C = ZᵀWZ + ρI, whose Cholesky factor is computed once, it starts from
//! the least-squares solution C⁻¹ZᵀWT, and a batch B, which holds the share s of the examples, moves
//!
//! ```text
//! V ← momentum·V − step·(1 − momentum)/s · C⁻¹(Z_BᵀW_B P_B − s·ZᵀWT),      weights ← weights + V
//! ```
//!
//! where P are the predicted probabilities. The labels enter by the statistic of *all* examples: what of the gradient
//! does not depend on the weights need not be noisy.

use faer::linalg::triangular_solve::{solve_lower_triangular_in_place, solve_upper_triangular_in_place};
use faer::{Mat, Par, unzip, zip};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::fitted::Logistic;
use super::inputs::Inputs;
use super::objective::{Loss, Objective, Targets};
use super::row_subset::RowSubset;
use super::second_moments::gram;
use crate::linalg::csr::CsrRef;
use crate::linalg::matrix::{MatRef, Matrix};
use crate::{Error, Result, Run};

/// Labels of one task.
const GROUP: usize = 64;
/// Relative error of moments that were summed in single precision.
const ROUNDING: f64 = 1e-6;

/// The name that a descent on its way is kept under.
const STATE: &str = "descent";

/// How to train a logistic head by preconditioned mini-batches.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct DescentParams {
    /// The kind of probabilities to predict.
    pub loss: Loss,
    /// Ridge of the preconditioner, relative to the mean square of an input. It holds back the directions in which the
    /// inputs hardly vary; nothing else does, so that more epochs fit the training examples more closely.
    pub ridge: f64,
    /// How far targets are moved from 0 to 1 and from 1 to 0, below ½.
    pub shrink: f32,
    /// Times that every example is seen.
    pub epochs: usize,
    /// Examples of a batch; absent: a tenth of all.
    pub batch: Option<usize>,
    /// Length of the steps: about 1 where labels are independent.
    pub step: f32,
    /// The share of the last step in the next.
    pub momentum: f32,
    /// Length of the steps of an epoch, as a fraction of those of the epoch before.
    pub decay: f32,
    /// Seed of the order of the examples.
    pub seed: u64,
}

impl Default for DescentParams {
    fn default() -> DescentParams {
        DescentParams {
            loss: Loss::Independent,
            ridge: 0.01,
            shrink: 0.005,
            epochs: 12,
            batch: None,
            step: 1.0,
            momentum: 0.75,
            decay: 0.95,
            seed: 1,
        }
    }
}

setter!(DescentParams);

impl DescentParams {
    fn check(&self) -> Result<()> {
        let refuse = |name, reason: &str| Err(Error::parameter(name, reason));
        if !(self.ridge.is_finite() && self.ridge >= 0.0) {
            return refuse("ridge", "must be a finite number, zero or more");
        }
        if !(0.0..0.5).contains(&self.shrink) {
            return refuse("shrink", "must be at least 0 and below 0.5");
        }
        if self.batch == Some(0) {
            return refuse("batch", "a batch needs examples");
        }
        if !(self.step.is_finite() && self.step > 0.0) {
            return refuse("step", "must be a finite number above zero");
        }
        if !(0.0..1.0).contains(&self.momentum) {
            return refuse("momentum", "must be at least 0 and below 1");
        }
        if !(self.decay > 0.0 && self.decay <= 1.0) {
            return refuse("decay", "must be above 0 and at most 1");
        }
        Ok(())
    }

    /// Finds the weights. The result is the same to the last bit for any number of threads.
    pub fn fit(&self, inputs: Inputs<'_>, targets: Targets<'_>, run: &mut Run<'_>) -> Result<Logistic> {
        self.check()?;
        targets.check(inputs.rows())?;
        let (n, width, count) = (inputs.rows(), inputs.width(), targets.count);
        let batch = self.batch.unwrap_or(n.div_ceil(10)).min(n);
        // Columns that the examples are multiplied by: in an epoch twice as many as there are labels, and as many more
        // as the solutions cost.
        let epoch = 2 * count + n.div_ceil(batch) * width * count / n;
        run.begin((width / 2 + self.epochs * epoch) as u64);
        let moments = run.checkpoint("moments", |run| {
            let mut seen = 0;
            gram(&inputs, &targets, usize::MAX, &mut |rows| {
                let before = seen * width / 2 / n;
                seen = n.min(seen + rows);
                run.advance("moments", (seen * width / 2 / n - before) as u64)
            })
        })?;
        let offset = vec![self.shrink; count];
        let objective =
            Objective { inputs, targets, loss: self.loss, rho: 0.0, keep: 1.0 - 2.0 * self.shrink, offset: &offset };
        let labels: Vec<u32> = (0..count as u32).collect();
        let (total, _) = targets.totals();
        let lower = factor(moments, self.ridge)?;
        let statistic = objective.statistic(&labels);
        let mut weights = least_squares(&lower, &statistic, total);
        let preconditioner = InputPreconditioner::new(&lower, vec![total.recip() as f32; count]);
        drop(lower);
        let schedule = Schedule {
            epochs: self.epochs,
            batch,
            step: self.step,
            momentum: self.momentum,
            decay: self.decay,
            seed: self.seed,
        };
        let work = (run, epoch as u64);
        descend(&objective, &labels, &preconditioner, Some(&statistic), &mut weights, schedule, work)?;
        Ok(Logistic { loss: self.loss, weights })
    }
}

/// The Cholesky factor of the moments with a ridge on all inputs but the constant.
fn factor(mut moments: Mat<f64>, ridge: f64) -> Result<Mat<f64>> {
    let proper = moments.nrows() - 1;
    let mean = (0..proper).map(|i| moments[(i, i)]).sum::<f64>() / proper.max(1) as f64;
    (0..proper).for_each(|i| moments[(i, i)] += ridge * mean);
    let factor = moments.llt(faer::Side::Lower).ok().map(|factor| factor.L().to_owned());
    // A pivot of the size of the rounding errors of the moments says nothing.
    let healthy = |l: &Mat<f64>| (0..=proper).all(|i| l[(i, i)].powi(2) > ROUNDING * moments[(i, i)]);
    factor.filter(healthy).ok_or_else(|| {
        let reason = "is too small, because the inputs of the head depend on each other, or all examples weigh nothing";
        Error::parameter("ridge", reason)
    })
}

/// The rows (LLᵀ)⁻¹·statistic/total.
fn least_squares(lower: &Mat<f64>, statistic: &Mat<f64>, total: f64) -> Matrix {
    let (width, count) = (statistic.nrows(), statistic.ncols());
    let mut out = Matrix::zeros(count, width);
    out.as_mut_slice().par_chunks_mut(GROUP * width).enumerate().for_each(|(part, out)| {
        let mut v = statistic.subcols(part * GROUP, out.len() / width).to_owned();
        solve_lower_triangular_in_place(lower.as_ref(), v.as_mut(), Par::Seq);
        solve_upper_triangular_in_place(lower.transpose(), v.as_mut(), Par::Seq);
        for (i, row) in out.chunks_mut(width).enumerate() {
            row.iter_mut().zip(v.col_as_slice(i)).for_each(|(w, v)| *w = (v / total) as f32);
        }
    });
    out
}

/// The preconditioner of a gradient: scale·(LLᵀ)⁻¹, with a scale for each label.
pub(crate) struct InputPreconditioner {
    /// L. Solving with it loses the root of the digits that multiplying with an inverse would, and costs the same.
    lower: Mat<f32>,
    scales: Vec<f32>,
}

impl InputPreconditioner {
    pub fn new(lower: &Mat<f64>, scales: Vec<f32>) -> InputPreconditioner {
        InputPreconditioner { lower: Mat::from_fn(lower.nrows(), lower.ncols(), |i, j| lower[(i, j)] as f32), scales }
    }
}

/// How to go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Schedule {
    pub epochs: usize,
    pub batch: usize,
    pub step: f32,
    pub momentum: f32,
    pub decay: f32,
    pub seed: u64,
}

/// Improves `weights`, which has a row for each of `labels`. Given the statistic of all examples, labels enter by that,
/// otherwise by those of each batch: in small batches the noise of labels and probabilities cancels, and in large ones
/// there is little. `work` is what an epoch counts for. Weights and velocity are kept now and then, within an epoch too:
/// with few batches it is a large part of all.
pub(crate) fn descend(
    objective: &Objective<'_>,
    labels: &[u32],
    preconditioner: &InputPreconditioner,
    statistic: Option<&Mat<f64>>,
    weights: &mut Matrix,
    schedule: Schedule,
    (run, work): (&mut Run<'_>, u64),
) -> Result<()> {
    let n = objective.inputs.rows();
    // Without its targets, a gradient is that of the probabilities alone.
    let none = vec![0.0; objective.targets.count];
    let (keep, offset) = if statistic.is_some() { (0.0, &*none) } else { (objective.keep, objective.offset) };
    let total = weight(objective.targets.example_weights, n);
    let mut velocity = Matrix::zeros(weights.rows(), weights.cols());
    let mut length = schedule.step * (1.0 - schedule.momentum);
    let (mut begun, mut next) = (0, 0);
    if let Some(state) = run.find(STATE, 0)? {
        (begun, next, length, *weights, velocity) = state;
    }
    for epoch in begun..schedule.epochs {
        let order = shuffled(n, schedule.seed.wrapping_add(epoch as u64));
        let part = RowSubset::new(objective.inputs.h(), &objective.targets, &order);
        let all = part.labels.view();
        for from in (std::mem::take(&mut next)..n).step_by(schedule.batch) {
            let to = n.min(from + schedule.batch);
            let h: MatRef<'_> = part.h.view().split_rows_at(from).1.split_rows_at(to - from).0;
            let example_weights = part.weights.as_ref().map(|w| &w[from..to]);
            let share = weight(example_weights, to - from) / total;
            if share == 0.0 {
                continue;
            }
            let batch = Objective {
                inputs: Inputs::new(h, objective.inputs.features()),
                targets: Targets {
                    labels: CsrRef { ptr: &all.ptr[from..=to], ..all },
                    example_weights,
                    ..objective.targets
                },
                rho: objective.rho * share,
                keep,
                offset,
                ..*objective
            };
            let mut gradient = batch.gradient(labels, weights);
            if let Some(statistic) = statistic {
                zip!(&mut gradient, statistic).for_each(|unzip!(g, t)| *g -= share * *t);
            }
            advance(&gradient, preconditioner, (length / share as f32, schedule.momentum), weights, &mut velocity);
            run.keep_state(STATE, &(epoch, to, length, &*weights, &velocity))?;
        }
        length *= schedule.decay;
        velocity.as_mut_slice().iter_mut().for_each(|v| *v *= schedule.decay);
        if weights.as_slice().iter().any(|w| !w.is_finite()) {
            return Err(Error::parameter("step", "the weights of the head grew beyond all bounds: make it smaller"));
        }
        run.advance("head", work)?;
    }
    Ok(())
}

fn weight(weights: Option<&[f32]>, n: usize) -> f64 {
    weights.map_or(n as f64, |w| w.iter().map(|w| f64::from(*w)).sum())
}

/// velocity ← momentum·velocity − length·C⁻¹·gradient; weights ← weights + velocity.
fn advance(
    gradient: &Mat<f64>,
    preconditioner: &InputPreconditioner,
    (length, momentum): (f32, f32),
    weights: &mut Matrix,
    velocity: &mut Matrix,
) {
    let width = weights.cols();
    let lower = &preconditioner.lower;
    let rows = weights.as_mut_slice().par_chunks_mut(GROUP * width);
    rows.zip(velocity.as_mut_slice().par_chunks_mut(GROUP * width)).enumerate().for_each(|(part, (w, v))| {
        let (first, count) = (part * GROUP, w.len() / width);
        let mut step = Mat::<f32>::zeros(width, count);
        for i in 0..count {
            let factor = f64::from(length * preconditioner.scales[first + i]);
            let gradient = gradient.col_as_slice(first + i);
            step.col_as_slice_mut(i).iter_mut().zip(gradient).for_each(|(s, g)| *s = (-factor * g) as f32);
        }
        solve_lower_triangular_in_place(lower.as_ref(), step.as_mut(), Par::Seq);
        solve_upper_triangular_in_place(lower.transpose(), step.as_mut(), Par::Seq);
        for (i, (w, v)) in w.chunks_mut(width).zip(v.chunks_mut(width)).enumerate() {
            for ((w, v), step) in w.iter_mut().zip(v).zip(step.col_as_slice(i)) {
                *v = momentum * *v + step;
                *w += *v;
            }
        }
    });
}

/// The examples in an order that depends on the seed alone: files are often sorted by label.
fn shuffled(n: usize, seed: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by_cached_key(|i| xxhash_rust::xxh3::xxh3_64_with_seed(&(*i as u64).to_le_bytes(), seed));
    order
}

#[cfg(test)]
mod tests;
