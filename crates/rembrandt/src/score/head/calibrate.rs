//! From scores to probabilities that can be believed.
//!
//! A logistic head with a least-squares score added to it, or the least-squares score by itself, ranks well but is no
//! log-odds any more. Two numbers mend that (Platt scaling [1]), found on examples that the head was not trained on:
//!
//! ```text
//! independent:  p = σ(scale·s + shift)          softmax:  p = softmax(scale·s)
//! ```
//!
//! With very many labels nearly all pairs of an example and a label are hopeless, and a fit to all of them would say
//! little about the few that are predicted. So independent labels are calibrated on the best of each example.
//!
//! 1. J. Platt: Probabilistic outputs for support vector machines. Advances in Large Margin Classifiers, 1999.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::objective::Loss;
use crate::linalg::csr::CsrRef;
use crate::linalg::kernels::elementwise::exp_sum;
use crate::linalg::matrix::Matrix;
use crate::linalg::topk::rank;

/// Labels of each example that independent labels are calibrated on.
const CANDIDATES: usize = 20;
/// Newton steps at most.
const STEPS: usize = 50;
/// Scales are kept within these: a fit must neither turn a ranking around nor flatten it.
const SCALES: [f64; 2] = [1e-4, 1e3];

/// Turns scores into probabilities without changing their order.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// The kind of probabilities.
    pub loss: Loss,
    /// Factor of the score, positive.
    pub scale: f32,
    /// Added to it; 0 under softmax, where it would change nothing.
    pub shift: f32,
}

impl Calibration {
    /// Takes scores for log-odds.
    pub fn identity(loss: Loss) -> Calibration {
        Calibration { loss, scale: 1.0, shift: 0.0 }
    }

    /// The most likely scale and shift, given scores of every label for some examples and their true labels.
    ///
    /// The pairs count with a weak belief in [`identity`](Calibration::identity): half a success and half a failure
    /// keep the answer finite when the scores part the labels perfectly, and define it when there are no examples.
    ///
    /// # Panics
    /// If there are not as many rows of scores as of labels.
    pub fn fit(loss: Loss, scores: &Matrix, labels: CsrRef<'_>) -> Calibration {
        assert_eq!(scores.rows(), labels.rows(), "each example needs scores and labels");
        let (scale, shift) = match loss {
            Loss::Independent => platt(&pairs(scores, labels)),
            Loss::Softmax => (temperature(scores, labels), 0.0),
        };
        Calibration { loss, scale: scale as f32, shift: shift as f32 }
    }

    /// Turns the scores of all labels of an example into log-odds or, under softmax, logarithms of probabilities.
    pub fn apply(&self, scores: &mut [f32]) {
        scores.iter_mut().for_each(|s| *s = self.scale * *s + self.shift);
        if self.loss == Loss::Softmax {
            let log = log_sum_exp(scores, 1.0) as f32;
            scores.iter_mut().for_each(|s| *s -= log);
        }
    }

    /// The probability behind what [`apply`](Calibration::apply) gives.
    pub fn probability(&self, applied: f32) -> f32 {
        match self.loss {
            Loss::Independent => 1.0 / (1.0 + (-applied).exp()),
            Loss::Softmax => applied.exp().min(1.0),
        }
    }
}

/// log Σ exp of scaled scores, without overflow. What is subtracted first keeps the digits of the largest ones; the
/// exponentials themselves are in single precision, which is twenty times as fast and more where most of them vanish.
fn log_sum_exp(scores: &[f32], scale: f64) -> f64 {
    let max = scores.iter().fold(f32::NEG_INFINITY, |max, s| max.max(*s));
    let below: Vec<f32> = scores.iter().map(|s| scale as f32 * (s - max)).collect();
    let (largest, sum) = exp_sum(&below);
    scale * f64::from(max) + f64::from(largest) + sum.ln()
}

/// Score and truth of the best labels of each example.
fn pairs(scores: &Matrix, labels: CsrRef<'_>) -> Vec<(f64, bool)> {
    let best = |i: usize| {
        let (held, _) = labels.row(i);
        let row = scores.row(i);
        let pair = |label: u32| (f64::from(row[label as usize]), held.binary_search(&label).is_ok());
        rank(row, CANDIDATES).into_iter().map(pair).collect::<Vec<_>>()
    };
    (0..scores.rows()).into_par_iter().flat_map_iter(best).collect()
}

/// Logistic regression on one number: Newton's method with step halving.
pub(crate) fn platt(pairs: &[(f64, bool)]) -> (f64, f64) {
    // Numbers that overflowed say nothing of the others.
    let pairs: Vec<(f64, bool)> = pairs.iter().copied().filter(|(score, _)| score.is_finite()).collect();
    if pairs.is_empty() {
        return (1.0, 0.0);
    }
    // Scores with a mean of 0 and a deviation of 1 make Newton's method indifferent to their unit: where all of them are
    // far out, there is no curvature to go by.
    let mean = pairs.iter().map(|(s, _)| s).sum::<f64>() / pairs.len() as f64;
    let square = pairs.iter().map(|(s, _)| (s - mean).powi(2)).sum::<f64>() / pairs.len() as f64;
    // Equal scores differ from their mean by rounding alone.
    let unit = if square.sqrt() > 1e-9 * mean.abs() { square.sqrt() } else { 1.0 };
    let pairs: Vec<(f64, bool)> = pairs.iter().map(|(s, truth)| ((s - mean) / unit, *truth)).collect();
    let bounds = SCALES.map(|scale| scale * unit);
    // The belief: one pair more of each truth at the outermost scores, each of half a weight.
    let ends = pairs.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), (s, _)| (a.min(*s), b.max(*s)));
    let belief = [(ends.0, true), (ends.1, false)];
    let all = || pairs.iter().map(|p| (*p, 1.0)).chain(belief.iter().map(|p| (*p, 0.5)));
    let value = |scale: f64, shift: f64| -> f64 {
        let loss = |((s, truth), weight): ((f64, bool), f64)| {
            let t = scale * s + shift;
            let margin = if truth { -t } else { t };
            weight * (margin.max(0.0) + (-margin.abs()).exp().ln_1p())
        };
        all().map(loss).sum()
    };
    let (mut scale, mut shift) = (1f64.clamp(bounds[0], bounds[1]), 0.0);
    let mut current = value(scale, shift);
    for _ in 0..STEPS {
        let mut g = [0.0; 2];
        let mut h = [1e-9, 0.0, 1e-9];
        for ((s, truth), weight) in all() {
            let p = 1.0 / (1.0 + (-(scale * s + shift)).exp());
            let residual = weight * (p - f64::from(u8::from(truth)));
            let curvature = weight * p * (1.0 - p);
            g = [g[0] + residual * s, g[1] + residual];
            h = [h[0] + curvature * s * s, h[1] + curvature * s, h[2] + curvature];
        }
        let determinant = (h[0] * h[2] - h[1] * h[1]).max(f64::MIN_POSITIVE);
        let step = [(h[2] * g[0] - h[1] * g[1]) / determinant, (h[0] * g[1] - h[1] * g[0]) / determinant];
        let tried = (0..30).map(|halvings| 0.5f64.powi(halvings)).find_map(|length| {
            let (a, b) = ((scale - length * step[0]).clamp(bounds[0], bounds[1]), shift - length * step[1]);
            let found = value(a, b);
            (found < current).then_some((a, b, found))
        });
        let Some((a, b, found)) = tried else { break };
        let done = current - found < 1e-10 * current;
        (scale, shift, current) = (a, b, found);
        if done {
            break;
        }
    }
    (scale / unit, shift - scale * mean / unit)
}

/// The factor under which the true labels are most likely, by golden section on its logarithm.
fn temperature(scores: &Matrix, labels: CsrRef<'_>) -> f64 {
    let rows: Vec<usize> = (0..scores.rows()).filter(|i| !labels.row(*i).0.is_empty()).collect();
    let value = |log: f64| -> f64 {
        let scale = log.exp();
        let loss = |i: &usize| {
            let row = scores.row(*i);
            let lse = log_sum_exp(row, scale);
            let (held, _) = labels.row(*i);
            let known = held.iter().filter(|l| (**l as usize) < row.len());
            known.map(|l| lse - scale * f64::from(row[*l as usize])).sum::<f64>() / held.len() as f64
        };
        // Added up in the order of rows, whatever the threads.
        let losses: Vec<f64> = rows.par_iter().map(loss).collect();
        // The belief: a factor of e either way costs as much as half an example.
        losses.iter().sum::<f64>() + 0.5 * log * log
    };
    let golden = (5f64.sqrt() - 1.0) / 2.0;
    let (mut low, mut high) = (SCALES[0].ln(), SCALES[1].ln());
    let (mut a, mut b) = (high - golden * (high - low), low + golden * (high - low));
    let (mut at_a, mut at_b) = (value(a), value(b));
    while high - low > 1e-3 {
        if at_a <= at_b {
            (high, b, at_b) = (b, a, at_a);
            a = high - golden * (high - low);
            at_a = value(a);
        } else {
            (low, a, at_a) = (a, b, at_b);
            b = low + golden * (high - low);
            at_b = value(b);
        }
    }
    (0.5 * (low + high)).exp()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::csr::Csr;
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::{Rng, SeedableRng};

    fn unit(rng: &mut ChaCha8Rng) -> f64 {
        f64::from(rng.next_u32()) / 4_294_967_296.0
    }

    #[test]
    fn independent_labels_get_back_the_odds_they_were_drawn_with() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let (n, c) = (4000, 3);
        let scores = Matrix::from_fn(n, c, |_, _| (4.0 * unit(&mut rng) - 2.0) as f32);
        let mut labels = Csr::new(true);
        for i in 0..n {
            for (l, s) in (0u32..).zip(scores.row(i)) {
                let p = 1.0 / (1.0 + (-(1.7 * f64::from(*s) - 0.6)).exp());
                if unit(&mut rng) < p {
                    labels.push(l, 1.0);
                }
            }
            labels.end_row();
        }
        let found = Calibration::fit(Loss::Independent, &scores, labels.view());
        assert!((found.scale - 1.7).abs() < 0.1 && (found.shift + 0.6).abs() < 0.1, "{found:?}");
    }

    #[test]
    fn softmax_gets_back_its_temperature() {
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        let (n, c) = (4000, 5);
        let scores = Matrix::from_fn(n, c, |_, _| (3.0 * unit(&mut rng)) as f32);
        let mut labels = Csr::new(true);
        for i in 0..n {
            let mut row = scores.row(i).to_vec();
            Calibration { loss: Loss::Softmax, scale: 2.0, shift: 0.0 }.apply(&mut row);
            let mut draw = unit(&mut rng) as f32;
            let label = row.iter().position(|t| {
                draw -= t.exp();
                draw < 0.0
            });
            labels.push(label.unwrap_or(c - 1) as u32, 1.0);
            labels.end_row();
        }
        let found = Calibration::fit(Loss::Softmax, &scores, labels.view());
        assert!((found.scale - 2.0).abs() < 0.1, "{found:?}");
    }

    #[test]
    fn sums_in_single_precision_are_as_good() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        for labels in [1, 7, 1000, 40_000] {
            let scores: Vec<f32> = (0..labels).map(|_| (40.0 * unit(&mut rng) - 30.0) as f32).collect();
            for scale in [1e-3, 0.3, 1.0, 20.0, 1e3] {
                let scaled: Vec<f64> = scores.iter().map(|s| scale * f64::from(*s)).collect();
                let max = scaled.iter().fold(f64::NEG_INFINITY, |max, s| max.max(*s));
                let exact = max + scaled.iter().map(|s| (s - max).exp()).sum::<f64>().ln();
                let found = log_sum_exp(&scores, scale);
                assert!((found - exact).abs() < 1e-4, "{found} for {exact}");
            }
        }
    }

    #[test]
    fn extremes_stay_finite_and_keep_the_order() {
        let scores = Matrix::from_fn(4, 2, |i, j| if (i + j) % 2 == 0 { 5.0 } else { -5.0 });
        let mut right = Csr::new(true);
        (0..4).for_each(|i| {
            right.push(i % 2, 1.0);
            right.end_row();
        });
        for loss in [Loss::Independent, Loss::Softmax] {
            for labels in [&right, &empty_rows(4)] {
                let found = Calibration::fit(loss, &scores, labels.view());
                assert!(found.scale.is_finite() && found.scale > 0.0 && found.shift.is_finite(), "{found:?}");
            }
            let none = Calibration::fit(loss, &Matrix::zeros(0, 2), Csr::new(true).view());
            assert!((none.scale - 1.0).abs() < 1e-3 && none.shift == 0.0, "{none:?}");
        }
    }

    #[test]
    fn softmax_probabilities_sum_to_one() {
        let calibration = Calibration { loss: Loss::Softmax, scale: 3.0, shift: 0.0 };
        let mut row = [1000.0, 999.0, -1000.0];
        calibration.apply(&mut row);
        let sum: f32 = row.iter().map(|t| calibration.probability(*t)).sum();
        assert!((sum - 1.0).abs() < 1e-5, "{row:?}");
    }

    fn empty_rows(n: usize) -> Csr {
        let mut rows = Csr::new(true);
        (0..n).for_each(|_| rows.end_row());
        rows
    }

    /// Scores in hundreds, as a ranker with a large weight makes them: all sigmoids are 0 or 1 to begin with.
    #[test]
    fn the_unit_of_scores_does_not_matter() {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let pairs: Vec<(f64, bool)> = (0..4000)
            .map(|_| {
                let score = 4.0 * unit(&mut rng) - 3.0;
                (score, unit(&mut rng) < 1.0 / (1.0 + (-score).exp()))
            })
            .collect();
        let (scale, shift) = platt(&pairs);
        assert!((scale - 1.0).abs() < 0.15 && shift.abs() < 0.15, "{scale}, {shift}");
        let far: Vec<(f64, bool)> = pairs.iter().map(|(score, truth)| (500.0 * score + 3000.0, *truth)).collect();
        let (far_scale, far_shift) = platt(&far);
        assert!((500.0 * far_scale - scale).abs() < 1e-6, "{far_scale}");
        assert!((far_shift + 3000.0 * far_scale - shift).abs() < 1e-6, "{far_shift}");
    }
}
