//! Mini-batches: the way to the neighbourhood of the softmax optimum.
//!
//! Under softmax the labels depend on each other, and the curvature at the start, where all probabilities are
//! frequencies, says little about that at the end. A full gradient then buys one step of many. Here every batch buys
//! one, preconditioned by the factor of [`Round`](super::logistic), with momentum, and steps that shrink to nothing.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, Par};
use rayon::prelude::*;

use super::inputs::Inputs;
use super::objective::{Objective, Targets};
use super::select::Part;
use crate::csr::CsrRef;
use crate::matrix::{MatRef, Matrix};
use crate::{Result, Run};

/// Labels of one task.
const GROUP: usize = 32;
/// The share of the last step in the next.
const MOMENTUM: f32 = 0.9;

/// How to go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Schedule {
    /// Times that every example is seen.
    pub epochs: usize,
    /// Examples of a batch.
    pub batch: usize,
    /// Length of the first step; the others shrink linearly to nothing.
    pub step: f32,
    pub seed: u64,
}

/// Improves `weights`, which has a row for each of `labels`; `inverse` is the preconditioner, `scales` its factor for
/// each label.
pub(crate) fn descend(
    objective: &Objective<'_>,
    labels: &[u32],
    (inverse, scales): (&Matrix, &[f32]),
    weights: &mut Matrix,
    schedule: Schedule,
    run: &mut Run<'_>,
) -> Result<()> {
    let n = objective.inputs.rows();
    let part = Part::new(objective.inputs.h(), &objective.targets, &shuffled(n, schedule.seed));
    let batches = n.div_ceil(schedule.batch);
    let steps = batches * schedule.epochs;
    let width = weights.cols();
    let mut velocity = Matrix::zeros(weights.rows(), width);
    for step in 0..steps {
        let from = step % batches * schedule.batch;
        let to = n.min(from + schedule.batch);
        let h: MatRef<'_> = part.h.view().split_rows_at(from).1.split_rows_at(to - from).0;
        let all = part.labels.view();
        let share = (to - from) as f64 / n as f64;
        let batch = Objective {
            inputs: Inputs::new(h, objective.inputs.features()),
            targets: Targets {
                labels: CsrRef { ptr: &all.ptr[from..=to], ..all },
                example_weights: part.weights.as_ref().map(|w| &w[from..to]),
                ..objective.targets
            },
            rho: objective.rho * share,
            frequency: objective.frequency.clone(),
            ..*objective
        };
        let gradient = batch.gradient(labels, weights);
        let length = schedule.step * (1.0 - step as f32 / steps as f32) / share as f32;
        advance(&gradient, (inverse, scales), length, weights, &mut velocity);
        if (step + 1) % batches == 0 {
            run.advance("head", labels.len() as u64)?;
        }
    }
    Ok(())
}

/// velocity ← momentum·velocity − length·scale·C⁻¹·gradient; weights ← weights + velocity.
fn advance(
    gradient: &Mat<f64>,
    (inverse, scales): (&Matrix, &[f32]),
    length: f32,
    weights: &mut Matrix,
    velocity: &mut Matrix,
) {
    let width = weights.cols();
    let c = faer::MatRef::from_row_major_slice(inverse.as_slice(), width, width);
    let rows = weights.as_mut_slice().par_chunks_mut(GROUP * width);
    rows.zip(velocity.as_mut_slice().par_chunks_mut(GROUP * width)).enumerate().for_each(|(part, (w, v))| {
        let (first, count) = (part * GROUP, w.len() / width);
        let g = Mat::<f32>::from_fn(count, width, |i, j| -length * scales[first + i] * gradient[(first + i, j)] as f32);
        let mut step = vec![0f32; count * width];
        let to = faer::MatMut::from_row_major_slice_mut(&mut step, count, width);
        matmul(to, Accum::Replace, &g, c, 1.0, Par::Seq);
        for ((w, v), step) in w.iter_mut().zip(v).zip(step) {
            *v = MOMENTUM * *v + (1.0 - MOMENTUM) * step;
            *w += *v;
        }
    });
}

/// The examples in an order that depends on the seed alone: files are often sorted by label.
fn shuffled(n: usize, seed: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by_cached_key(|i| xxhash_rust::xxh3::xxh3_64_with_seed(&(*i as u64).to_le_bytes(), seed));
    order
}
