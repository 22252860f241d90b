//! Logistic heads: multiclass (LR) and one label at a time (ILR).
//!
//! Both minimise a convex function with an explicit ridge, by limited-memory BFGS in coordinates in which the function
//! is nearly round at the start. There, with every probability at the frequency of its label, the Hessian of label
//! l is
//!
//! ```text
//! Σᵢ wᵢ p(1−p) zᵢzᵢᵀ + ρI  =  m (ZᵀWZ/Σw + (ρ/m) I),      m = Σᵢ wᵢ p(1−p)
//! ```
//!
//! With the Cholesky factor L of the bracket, u = √m·Lᵀw are such coordinates. So the first step is the one of Newton's
//! method (the least-squares solution, up to scale), and a few dozen gradients reach the optimum.
//! Independent labels are worked on in blocks of about equal frequency, each with a factor for its m.

use faer::linalg::triangular_solve::{solve_lower_triangular_in_place, solve_upper_triangular_in_place};
use faer::{Mat, Par};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::descent::{InputPreconditioner, Schedule, descend};
use super::fitted::Logistic;
use super::inputs::Inputs;
use super::objective::{Loss, Objective, Targets};
use super::second_moments::gram;
use crate::linalg::lbfgs::{self, LbfgsLimits, LbfgsOutcome};
use crate::linalg::matrix::Matrix;
use crate::{Error, Result, Run};

/// Labels whose weights are found together, when labels are independent.
const GROUP: usize = 512;
/// Rows that tell the coordinates; more do not make them better.
const SAMPLE: usize = 16_384;
/// Labels that one task solves for.
const SOLVED: usize = 32;
/// The share of the last step in the next, of mini-batches.
const MOMENTUM: f32 = 0.9;
/// Length of the steps of an epoch, as a fraction of those of the epoch before.
const DECAY: f32 = 0.6;
/// Seed of the order of the mini-batches.
const SHUFFLE: u64 = 1;
/// Added to the diagonal, relative to its mean: inputs may depend on each other.
const JITTER: f64 = 1e-6;

/// How to train a logistic head.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct LogisticParams {
    /// The kind of probabilities to predict.
    pub loss: Loss,
    /// Ridge λ, in examples: ρ = λ times the mean square of an input. Weights of a label are pulled to 0 as
    /// strongly as λ examples could pull them elsewhere.
    pub ridge: f64,
    /// How far targets are moved from 0 and 1 to the frequency of their label, 0 to 1.
    pub shrink: f32,
    /// Times that mini-batches go through all examples, before full gradients; softmax only.
    pub epochs: usize,
    /// Examples of a mini-batch.
    pub batch: usize,
    /// Length of the first step of the mini-batches.
    pub step: f32,
    /// Full gradients at most.
    pub steps: usize,
    /// A label is done when the norm of its gradient is below this fraction of what it was at the start.
    pub tolerance: f64,
}

impl Default for LogisticParams {
    fn default() -> LogisticParams {
        LogisticParams::new(Loss::Independent)
    }
}

setter!(LogisticParams);

impl LogisticParams {
    /// The defaults: full gradients to the optimum for independent labels, mini-batches under softmax.
    pub fn new(loss: Loss) -> LogisticParams {
        let (epochs, steps) = match loss {
            Loss::Independent => (0, 100),
            Loss::Softmax => (10, 0),
        };
        LogisticParams { loss, ridge: 1.0, shrink: 0.0, epochs, batch: 1024, step: 0.7, steps, tolerance: 1e-2 }
    }
}

/// An account of a training.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LogisticReport {
    /// The real ridge ρ.
    pub rho: f64,
    /// Full gradients that the slowest label took.
    pub steps: usize,
    /// Labels that full gradients did not bring to the tolerance.
    pub unfinished: usize,
}

impl LogisticParams {
    fn check(&self, inputs: &Inputs<'_>, targets: &Targets<'_>) -> Result<()> {
        if !(self.ridge.is_finite() && self.ridge >= 0.0) {
            return Err(Error::parameter("ridge", "must be a finite number, zero or more"));
        }
        if !(0.0..1.0).contains(&self.shrink) {
            return Err(Error::parameter("shrink", "must be at least 0 and below 1"));
        }
        if self.steps == 0 && (self.epochs == 0 || self.loss == Loss::Independent) {
            return Err(Error::parameter("steps", "at least one step or, under softmax, one epoch is needed"));
        }
        if self.batch == 0 {
            return Err(Error::parameter("batch", "a batch needs examples"));
        }
        if !(self.step.is_finite() && self.step > 0.0) {
            return Err(Error::parameter("step", "must be a finite number above zero"));
        }
        if !(self.tolerance.is_finite() && self.tolerance >= 0.0) {
            return Err(Error::parameter("tolerance", "must be a finite number, zero or more"));
        }
        targets.check(inputs.rows())
    }

    /// Finds the weights.
    ///
    /// The result is the same to the last bit for any number of threads. A label that no example has, or that all
    /// have, gets the score of its frequency and no other weights.
    pub fn fit(
        &self,
        inputs: Inputs<'_>,
        targets: Targets<'_>,
        run: &mut Run<'_>,
    ) -> Result<(Logistic, LogisticReport)> {
        self.check(&inputs, &targets)?;
        let width = inputs.width();
        let (total, counts) = targets.totals();
        let all = match self.loss {
            Loss::Independent => total,
            Loss::Softmax => counts.iter().sum(),
        };
        let frequency: Vec<f64> = counts.iter().map(|count| count / all.max(f64::MIN_POSITIVE)).collect();
        let gram = gram(&inputs, &targets, SAMPLE, &mut |_| Ok(()))?;
        let mean = (0..width - 1).map(|i| gram[(i, i)]).sum::<f64>() / (width - 1).max(1) as f64;
        let offset: Vec<f32> = frequency.iter().map(|f| self.shrink * *f as f32).collect();
        let rho = self.ridge * mean;
        let objective = Objective { inputs, targets, loss: self.loss, rho, keep: 1.0 - self.shrink, offset: &offset };
        let curvature =
            |label: usize| f64::from(targets.label_weight(label)) * counts[label] * (1.0 - frequency[label]);
        let mut weights = Matrix::zeros(targets.count, width);
        for (label, count) in counts.iter().enumerate() {
            weights.row_mut(label)[width - 1] = prior(*count, all, self.loss);
        }
        let mut trained: Vec<u32> = (0..targets.count as u32).filter(|l| curvature(*l as usize) > 0.0).collect();
        let group = match self.loss {
            Loss::Independent => {
                trained.sort_by(|a, b| counts[*b as usize].total_cmp(&counts[*a as usize]).then(a.cmp(b)));
                GROUP
            }
            Loss::Softmax => trained.len().max(1),
        };
        let mut report = LogisticReport { rho: objective.rho, ..LogisticReport::default() };
        run.begin((trained.len() * (self.steps + self.epochs)) as u64);
        for (part, labels) in trained.chunks(group).enumerate() {
            let m: Vec<f64> = labels.iter().map(|l| curvature(*l as usize)).collect();
            let start = Matrix::from_fn(labels.len(), width, |i, j| weights.row(labels[i] as usize)[j]);
            let (found, evaluations, unfinished) = run.checkpoint(&format!("labels-{part}"), |run| {
                let round = Round::new(&gram, objective.rho, mean, &m)?;
                let (found, outcome) = self.fit_labels(&objective, labels, &round, start, run)?;
                Ok((found, outcome.evaluations, outcome.unfinished))
            })?;
            for (i, label) in labels.iter().enumerate() {
                weights.row_mut(*label as usize).copy_from_slice(found.row(i));
            }
            report.steps = report.steps.max(evaluations);
            report.unfinished += unfinished;
        }
        Ok((Logistic { loss: self.loss, weights }, report))
    }

    /// The weights of some labels, from `found` on.
    fn fit_labels(
        &self,
        objective: &Objective<'_>,
        labels: &[u32],
        round: &Round,
        mut found: Matrix,
        run: &mut Run<'_>,
    ) -> Result<(Matrix, LbfgsOutcome)> {
        if self.loss == Loss::Softmax && self.epochs > 0 {
            let schedule = Schedule {
                epochs: self.epochs,
                batch: self.batch,
                step: self.step,
                momentum: MOMENTUM,
                decay: DECAY,
                seed: SHUFFLE,
            };
            let scales = round.inverse.iter().map(|v| (v * v) as f32).collect();
            let preconditioner = InputPreconditioner::new(&round.lower, scales);
            let work = (&mut *run, labels.len() as u64);
            descend(objective, labels, &preconditioner, None, &mut found, schedule, work)?;
        }
        if self.steps == 0 {
            return Ok((found, LbfgsOutcome::default()));
        }
        let mut u = round.enter(&found);
        let tied = self.loss == Loss::Softmax;
        let limits = LbfgsLimits { evaluations: self.steps, tolerance: self.tolerance, tied };
        let outcome = lbfgs::minimize(&mut u, limits, |ids, u, out| {
            let active: Vec<u32> = ids.iter().map(|i| labels[*i]).collect();
            let gradient = objective.gradient(&active, &round.leave(ids, u));
            round.gradient(ids, gradient, out);
            run.advance("head", active.len() as u64)
        })?;
        let ids: Vec<usize> = (0..labels.len()).collect();
        Ok((round.leave(&ids, &u), outcome))
    }
}

/// The score of a label of which nothing is known but its frequency. Half an example more or less keeps it finite.
pub(crate) fn prior(count: f64, all: f64, loss: Loss) -> f32 {
    match loss {
        Loss::Independent => ((count + 0.5) / (all - count + 0.5)).ln() as f32,
        Loss::Softmax => ((count + 0.5) / (all + 0.5)).ln() as f32,
    }
}

/// Coordinates u = √m·Lᵀw in which the functions of some labels are nearly round.
pub(crate) struct Round {
    pub lower: Mat<f64>,
    /// 1/√m of each label.
    inverse: Vec<f64>,
}

impl Round {
    pub fn new(gram: &Mat<f64>, rho: f64, mean: f64, m: &[f64]) -> Result<Round> {
        let mut sorted = m.to_vec();
        sorted.sort_by(f64::total_cmp);
        // Inputs that are all 0 have no scale of their own; their weights stay 0.
        let scale = if mean > 0.0 { mean } else { 1.0 };
        let ridge = rho / sorted[sorted.len() / 2] + JITTER * scale;
        let width = gram.nrows();
        let penalised = |i: usize, j: usize| i == j && i < width - 1;
        let full = Mat::from_fn(width, width, |i, j| {
            0.5 * (gram[(i, j)] + gram[(j, i)]) + if penalised(i, j) { ridge } else { 0.0 }
        });
        let factor = full
            .llt(faer::Side::Lower)
            .map_err(|_| Error::Data("the inputs of the head are not finite, or all examples have weight 0".into()))?;
        Ok(Round { lower: factor.L().to_owned(), inverse: m.iter().map(|m| m.sqrt().recip()).collect() })
    }

    /// From weights of all labels to u.
    fn enter(&self, weights: &Matrix) -> Matrix {
        let width = weights.cols();
        let row = |i: usize| {
            (0..width).map(move |j| {
                let dot: f64 = (j..width).map(|l| self.lower[(l, j)] * f64::from(weights.row(i)[l])).sum();
                (dot / self.inverse[i]) as f32
            })
        };
        let rows: Vec<Vec<f32>> = (0..weights.rows()).into_par_iter().map(|i| row(i).collect()).collect();
        Matrix::from_vec(weights.rows(), width, rows.concat())
    }

    /// From u of some labels to their weights.
    fn leave(&self, ids: &[usize], u: &Matrix) -> Matrix {
        let width = u.cols();
        let mut out = Matrix::zeros(u.rows(), width);
        out.as_mut_slice().par_chunks_mut(SOLVED * width).enumerate().for_each(|(part, out)| {
            let first = part * SOLVED;
            let count = out.len() / width;
            let mut v =
                Mat::from_fn(width, count, |j, i| f64::from(u.row(first + i)[j]) * self.inverse[ids[first + i]]);
            solve_upper_triangular_in_place(self.lower.transpose(), v.as_mut(), Par::Seq);
            out.chunks_mut(width).enumerate().for_each(|(i, row)| {
                row.iter_mut().enumerate().for_each(|(j, w)| *w = v[(j, i)] as f32);
            });
        });
        out
    }

    /// From derivatives by weights to derivatives by u.
    fn gradient(&self, ids: &[usize], gradient: Mat<f64>, out: &mut Matrix) {
        let width = out.cols();
        out.as_mut_slice().par_chunks_mut(SOLVED * width).enumerate().for_each(|(part, out)| {
            let first = part * SOLVED;
            let count = out.len() / width;
            let mut v = Mat::from_fn(width, count, |j, i| gradient[(j, first + i)] * self.inverse[ids[first + i]]);
            solve_lower_triangular_in_place(self.lower.as_ref(), v.as_mut(), Par::Seq);
            out.chunks_mut(width).enumerate().for_each(|(i, row)| {
                row.iter_mut().enumerate().for_each(|(j, w)| *w = v[(j, i)] as f32);
            });
        });
    }
}

#[cfg(test)]
mod tests;
