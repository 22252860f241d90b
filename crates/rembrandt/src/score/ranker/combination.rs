//! [`Combination`]: a few weights that make log-odds of the views of a label, fitted on held-out examples.
//!
//! Labels are independent, or exclude each other. In the latter case the probability of a candidate is
//! exp(s) / (1 + Σ exp(s)): the 1 stands for all labels that are no candidates.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::score::head::Loss;

/// Number of weights, and which of them are of scores.
const WEIGHTS: usize = 5;
const SCORES: std::ops::Range<usize> = 1..4;
/// (x·T)ₗ below this counts as this.
const LEAST_ASSOCIATION: f32 = 1e-4;
/// Newton steps at most, and the length of a step that is the last.
const STEPS: usize = 30;
const SMALL: f64 = 1e-7;
/// How much the weights are held back from leaving the usual ones, in units of examples.
const RIDGE: f64 = 1.0;
/// Rows of one task.
const GRAIN: usize = 64;

/// What several scorers say of a label and an example.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Views {
    /// wₗ·x.
    pub one_vs_rest: f32,
    /// (x·T)ₗ.
    pub association: f32,
    /// eₗ·h(x).
    pub embedding: f32,
    /// ln (1 + nₗ).
    pub log_count: f32,
}

impl Views {
    fn inputs(&self) -> [f64; WEIGHTS] {
        [
            1.0,
            self.one_vs_rest.into(),
            f64::from(self.association.max(LEAST_ASSOCIATION).ln() - LEAST_ASSOCIATION.ln()),
            self.embedding.into(),
            self.log_count.into(),
        ]
    }
}

/// Weights of the views in the log-odds of a label.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Combination {
    /// A constant.
    pub intercept: f64,
    /// Of the one-vs-rest score.
    pub one_vs_rest: f64,
    /// Of the logarithm of the association, which is at least 1e-4, over that.
    pub association: f64,
    /// Of the inner product of label and projected example.
    pub embedding: f64,
    /// Of the logarithm of the number of training examples.
    pub log_count: f64,
}

impl Default for Combination {
    /// The margin of the one-vs-rest scorer, with a usual slope.
    fn default() -> Combination {
        Combination::of([-3.0, 3.0, 0.0, 0.0, 0.0])
    }
}

/// The views of the candidates of an example, whether each is right, and the weight of the example.
pub(crate) struct HeldOutRow {
    pub candidates: Vec<(Views, bool)>,
    pub weight: f64,
}

impl Combination {
    fn of([intercept, one_vs_rest, association, embedding, log_count]: [f64; WEIGHTS]) -> Combination {
        Combination { intercept, one_vs_rest, association, embedding, log_count }
    }

    fn weights(&self) -> [f64; WEIGHTS] {
        [self.intercept, self.one_vs_rest, self.association, self.embedding, self.log_count]
    }

    pub(crate) fn is_finite(&self) -> bool {
        self.weights().iter().all(|w| w.is_finite())
    }

    /// What each view adds to the log-odds: the constant, then the views in their order.
    pub fn shares(&self, views: &Views) -> [f64; WEIGHTS] {
        let (weights, inputs) = (self.weights(), views.inputs());
        std::array::from_fn(|j| weights[j] * inputs[j])
    }

    /// The log-odds of a label.
    pub fn score(&self, views: &Views) -> f32 {
        self.shares(views).iter().sum::<f64>() as f32
    }

    /// The most likely weights on some rows. A view that speaks for a label counts for it or not at all: a weight below 0
    /// would only tell how held-out examples differ from new ones.
    pub(crate) fn fit(rows: &[HeldOutRow], loss: Loss) -> Combination {
        let mut free = [true; WEIGHTS];
        loop {
            let found = Combination::fit_free(rows, loss, free).weights();
            let Some(view) = (SCORES).into_iter().find(|view| free[*view] && found[*view] < 0.0) else {
                return Combination::of(found);
            };
            free[view] = false;
        }
    }

    /// The same by Newton's method, with weights of 0 where they are not free.
    fn fit_free(rows: &[HeldOutRow], loss: Loss, free: [bool; WEIGHTS]) -> Combination {
        let prior = Combination::default().weights();
        let mut at: [f64; WEIGHTS] = std::array::from_fn(|j| if free[j] { prior[j] } else { 0.0 });
        let mut state = Derivatives::at(&at, rows, loss, &prior).only(free);
        for _ in 0..STEPS {
            let step = solve(state.hessian, state.gradient);
            // The objective is convex, so a short enough step lowers it.
            let mut length = 1.0;
            let found = loop {
                let next: [f64; WEIGHTS] = std::array::from_fn(|j| at[j] - length * step[j]);
                let other = Derivatives::at(&next, rows, loss, &prior).only(free);
                if other.value <= state.value {
                    break Some((next, other));
                }
                length *= 0.5;
                if length < 1e-4 {
                    break None;
                }
            };
            let Some((next, other)) = found else { break };
            (at, state) = (next, other);
            if step.iter().all(|s| s.abs() < SMALL) {
                break;
            }
        }
        Combination::of(at)
    }

    /// Mean negative log-likelihood of some rows.
    pub(crate) fn loss(&self, rows: &[HeldOutRow], loss: Loss) -> f64 {
        let value = Derivatives::at(&self.weights(), rows, loss, &self.weights()).value;
        value / rows.iter().map(|row| row.weight).sum::<f64>().max(f64::MIN_POSITIVE)
    }
}

/// The objective of the fit with its derivatives.
#[derive(Clone)]
struct Derivatives {
    value: f64,
    gradient: [f64; WEIGHTS],
    hessian: [[f64; WEIGHTS]; WEIGHTS],
}

impl Derivatives {
    fn zero() -> Derivatives {
        Derivatives { value: 0.0, gradient: [0.0; WEIGHTS], hessian: [[0.0; WEIGHTS]; WEIGHTS] }
    }

    /// Those by which only some weights move.
    fn only(mut self, free: [bool; WEIGHTS]) -> Derivatives {
        for j in (0..WEIGHTS).filter(|j| !free[*j]) {
            self.gradient[j] = 0.0;
            (0..WEIGHTS).for_each(|l| (self.hessian[j][l], self.hessian[l][j]) = (0.0, 0.0));
            self.hessian[j][j] = 1.0;
        }
        self
    }

    fn at(weights: &[f64; WEIGHTS], rows: &[HeldOutRow], loss: Loss, prior: &[f64; WEIGHTS]) -> Derivatives {
        let parts: Vec<Derivatives> = rows
            .par_chunks(GRAIN)
            .map(|rows| {
                let mut sum = Derivatives::zero();
                rows.iter().for_each(|row| match loss {
                    Loss::Independent => sum.add_independent(weights, row),
                    Loss::Softmax => sum.add_softmax(weights, row),
                });
                sum
            })
            .collect();
        let mut all = Derivatives::zero();
        for part in parts {
            all.value += part.value;
            for j in 0..WEIGHTS {
                all.gradient[j] += part.gradient[j];
                (0..WEIGHTS).for_each(|l| all.hessian[j][l] += part.hessian[j][l]);
            }
        }
        for j in 0..WEIGHTS {
            let away = weights[j] - prior[j];
            all.value += 0.5 * RIDGE * away * away;
            all.gradient[j] += RIDGE * away;
            all.hessian[j][j] += RIDGE;
        }
        all
    }

    fn add_independent(&mut self, weights: &[f64; WEIGHTS], row: &HeldOutRow) {
        for (views, hit) in &row.candidates {
            let inputs = views.inputs();
            let t: f64 = inputs.iter().zip(weights).map(|(a, b)| a * b).sum();
            let p = 1.0 / (1.0 + (-t).exp());
            let against = if *hit { -t } else { t };
            self.value += row.weight * (against.max(0.0) + (-against.abs()).exp().ln_1p());
            let residual = row.weight * (p - f64::from(u8::from(*hit)));
            let curvature = row.weight * p * (1.0 - p);
            for j in 0..WEIGHTS {
                self.gradient[j] += residual * inputs[j];
                (0..WEIGHTS).for_each(|l| self.hessian[j][l] += curvature * inputs[j] * inputs[l]);
            }
        }
    }

    fn add_softmax(&mut self, weights: &[f64; WEIGHTS], row: &HeldOutRow) {
        let inputs: Vec<[f64; WEIGHTS]> = row.candidates.iter().map(|(views, _)| views.inputs()).collect();
        let scores: Vec<f64> =
            inputs.iter().map(|inputs| inputs.iter().zip(weights).map(|(a, b)| a * b).sum()).collect();
        let largest = scores.iter().copied().fold(0.0, f64::max);
        let total = (-largest).exp() + scores.iter().map(|s| (s - largest).exp()).sum::<f64>();
        let log_partition = largest + total.ln();
        // An example whose label is no candidate is one of the others, with a score of 0.
        self.value += row.weight * log_partition;
        let mut mean = [0.0; WEIGHTS];
        for ((inputs, score), (_, hit)) in inputs.iter().zip(&scores).zip(&row.candidates) {
            let p = (score - log_partition).exp();
            self.value -= if *hit { row.weight * score } else { 0.0 };
            for j in 0..WEIGHTS {
                mean[j] += p * inputs[j];
                self.gradient[j] += row.weight * (p - f64::from(u8::from(*hit))) * inputs[j];
                (0..WEIGHTS).for_each(|l| self.hessian[j][l] += row.weight * p * inputs[j] * inputs[l]);
            }
        }
        for j in 0..WEIGHTS {
            (0..WEIGHTS).for_each(|l| self.hessian[j][l] -= row.weight * mean[j] * mean[l]);
        }
    }
}

/// A⁻¹b for a positive definite A, by Cholesky factorisation.
fn solve(mut a: [[f64; WEIGHTS]; WEIGHTS], mut b: [f64; WEIGHTS]) -> [f64; WEIGHTS] {
    for j in 0..WEIGHTS {
        let pivot = (a[j][j] - (0..j).map(|l| a[j][l] * a[j][l]).sum::<f64>()).max(f64::MIN_POSITIVE).sqrt();
        a[j][j] = pivot;
        for i in j + 1..WEIGHTS {
            a[i][j] = (a[i][j] - (0..j).map(|l| a[i][l] * a[j][l]).sum::<f64>()) / pivot;
        }
    }
    for i in 0..WEIGHTS {
        b[i] = (b[i] - (0..i).map(|l| a[i][l] * b[l]).sum::<f64>()) / a[i][i];
    }
    for i in (0..WEIGHTS).rev() {
        b[i] = (b[i] - (i + 1..WEIGHTS).map(|l| a[l][i] * b[l]).sum::<f64>()) / a[i][i];
    }
    b
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(single: bool) -> Vec<HeldOutRow> {
        let number = |i: usize| ((i * 7919 + 13) % 1009) as f32 / 1009.0;
        let row = |i: usize| {
            let views = |j: usize| Views {
                one_vs_rest: 2.0 * number(i * 31 + j),
                association: number(i * 17 + j * 5).powi(3),
                embedding: number(i + 3 * j) - 0.3,
                log_count: 5.0 * number(j),
            };
            let lucky = i % 6;
            let hit = |j: usize| if single { j == lucky } else { number(i * 31 + j) + 0.3 * number(i + j) > 0.8 };
            HeldOutRow { candidates: (0..5).map(|j| (views(j), hit(j))).collect(), weight: 0.5 + f64::from(number(i)) }
        };
        (0..200).map(row).collect()
    }

    #[test]
    fn derivatives_are_those_of_the_value() {
        for loss in [Loss::Independent, Loss::Softmax] {
            let (rows, at, prior) = (rows(loss == Loss::Softmax), [-0.4, 0.9, 0.2, 0.7, -0.1], [0.1; WEIGHTS]);
            let exact = Derivatives::at(&at, &rows, loss, &prior);
            for j in 0..WEIGHTS {
                let step = 1e-5;
                let moved = |by: f64| {
                    let mut other = at;
                    other[j] += by;
                    Derivatives::at(&other, &rows, loss, &prior)
                };
                let (up, down) = (moved(step), moved(-step));
                let slope = (up.value - down.value) / (2.0 * step);
                assert!((slope - exact.gradient[j]).abs() < 1e-4 * (1.0 + slope.abs()), "{loss:?} {j}");
                for l in 0..WEIGHTS {
                    let curvature = (up.gradient[l] - down.gradient[l]) / (2.0 * step);
                    assert!(
                        (curvature - exact.hessian[j][l]).abs() < 1e-3 * (1.0 + curvature.abs()),
                        "{loss:?} {j} {l}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_fit_ends_where_the_gradient_vanishes() {
        for loss in [Loss::Independent, Loss::Softmax] {
            let rows = rows(loss == Loss::Softmax);
            let found = Combination::fit(&rows, loss);
            let end = Derivatives::at(&found.weights(), &rows, loss, &Combination::default().weights());
            let free = found.weights().map(|w| w != 0.0);
            let moves = end.gradient.iter().zip(free).filter(|(_, free)| *free);
            assert!(
                moves.clone().count() >= 3 && moves.clone().all(|(g, _)| g.abs() < 1e-4),
                "{loss:?} {:?}",
                end.gradient
            );
            assert!(found.loss(&rows, loss) < Combination::default().loss(&rows, loss));
        }
    }

    #[test]
    fn without_rows_the_usual_weights_stay() {
        assert_eq!(Combination::fit(&[], Loss::Independent), Combination::default());
        assert_eq!(Combination::fit(&[], Loss::Softmax), Combination::default());
    }
}
