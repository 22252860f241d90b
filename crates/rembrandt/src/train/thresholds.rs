//! The probability from which a label is predicted, so that F1 is largest on held-out examples.
//!
//! A label with a handful of true examples among them would get a threshold that suits just these. Such labels share one,
//! the best for all labels together.

use crate::Result;
use crate::linalg::csr::{Csr, CsrRef};
use crate::linalg::matrix::Matrix;
use crate::metrics::{DEFAULT_THRESHOLD, best_f1_thresholds_on, rank};
use crate::score::head::Calibration;

/// Labels of an example that may be predicted, at most.
pub(super) const CANDIDATES: usize = 50;
/// The share of examples that have few enough likely labels for these.
const USUAL: f64 = 0.95;
/// True examples that a threshold of its own takes.
const ENOUGH: usize = 20;

/// A threshold for each label, from scores of all labels and the true ones.
pub(super) fn of_scores(calibration: &Calibration, mut scores: Matrix, truth: CsrRef<'_>) -> Result<Vec<f32>> {
    let c = scores.cols();
    let mut probabilities = Csr::new(false);
    // Labels below the candidates of an example are not looked at, so no threshold may be so low that it would often
    // count. A few examples with very many likely labels must not lift it for all.
    let mut last = Vec::new();
    for i in 0..scores.rows() {
        let row = scores.row_mut(i);
        calibration.apply(row);
        let mut best = rank(row, CANDIDATES);
        last.extend(best.last().filter(|_| c > CANDIDATES).map(|l| calibration.probability(row[*l as usize])));
        best.sort_unstable();
        best.iter().for_each(|label| probabilities.push(*label, calibration.probability(row[*label as usize])));
        probabilities.end_row();
    }
    of_probabilities(&probabilities, last, truth, c)
}

/// A threshold for each label, from the most probable labels of examples, the least probability among these for examples
/// that have more, and the true ones.
pub(super) fn of_probabilities(
    probabilities: &Csr,
    mut last: Vec<f32>,
    truth: CsrRef<'_>,
    c: usize,
) -> Result<Vec<f32>> {
    last.sort_unstable_by(f32::total_cmp);
    let floor = last.get((USUAL * last.len() as f64) as usize).copied().unwrap_or(0.0);
    let mut counts = vec![0; c];
    truth.columns().iter().for_each(|label| counts[*label as usize] += 1);
    let shared = pooled(probabilities.view(), truth);
    let own = best_f1_thresholds_on(probabilities.view(), truth, c)?;
    let of = |(own, count)| if count >= ENOUGH { own } else { shared };
    Ok(own.into_iter().zip(counts).map(|pair: (f32, usize)| of(pair).max(floor)).collect())
}

/// The threshold that is best when all labels have the same.
fn pooled(probabilities: CsrRef<'_>, truth: CsrRef<'_>) -> f32 {
    let mut pairs: Vec<(f32, bool)> = Vec::with_capacity(probabilities.nnz());
    for i in 0..probabilities.rows() {
        let (held, _) = truth.row(i);
        pairs.extend(probabilities.entries(i).map(|(label, p)| (p, held.binary_search(&(label as u32)).is_ok())));
    }
    pairs.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
    let (mut hits, mut best, mut threshold) = (0.0, 0.0, DEFAULT_THRESHOLD);
    for (i, (p, hit)) in pairs.iter().enumerate() {
        hits += f64::from(u8::from(*hit));
        let f1 = 2.0 * hits / ((i + 1) as f64 + truth.nnz() as f64);
        // A threshold cannot part equal probabilities.
        if f1 > best && pairs.get(i + 1).is_none_or(|next| next.0 < *p) {
            (best, threshold) = (f1, *p);
        }
    }
    threshold
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::score::head::Loss;

    #[test]
    fn frequent_labels_have_their_own_and_rare_ones_share() {
        // Label 0 is true from score 1 on, label 1 from score -1 on, each with 50 examples; label 2 is rare.
        let n = 100;
        let score = |i: usize| if i < 50 { 2.0 } else { -2.0 };
        let scores = Matrix::from_fn(n, 3, |i, j| score(i) + [0.0, -2.0, -4.0][j]);
        let mut truth = Csr::new(true);
        for i in 0..n {
            if i < 50 {
                truth.push(0, 1.0);
                truth.push(1, 1.0);
            }
            if i < 3 {
                truth.push(2, 1.0);
            }
            truth.end_row();
        }
        let sigmoid = |t: f32| 1.0 / (1.0 + (-t).exp());
        let found = of_scores(&Calibration::identity(Loss::Independent), scores, truth.view()).unwrap();
        assert_eq!(found[..2], [sigmoid(2.0), sigmoid(0.0)]);
        // All of labels 0 and 1 and none of label 2: 100 right of 100, 103 true.
        assert_eq!(found[2], sigmoid(0.0));
    }

    #[test]
    fn labels_that_are_not_looked_at_are_not_predicted() {
        // Noise: every label is as good as any other, and nearly none is true.
        let (n, c) = (40, 400);
        let scores = Matrix::from_fn(n, c, |i, j| ((i * 7919 + j * 104_729) % 1000) as f32 / 1000.0);
        let mut truth = Csr::new(true);
        for i in 0..n {
            truth.push(((i * 31) % c) as u32, 1.0);
            truth.end_row();
        }
        let calibration = Calibration::identity(Loss::Independent);
        let found = of_scores(&calibration, scores.clone(), truth.view()).unwrap();
        let reached = |(s, t): (&f32, &f32)| calibration.probability(*s) >= *t;
        let predicted = |i: usize| scores.row(i).iter().zip(&found).filter(|pair| reached(*pair)).count();
        let too_many = (0..n).filter(|i| predicted(*i) > CANDIDATES).count();
        assert!(too_many as f64 <= (1.0 - USUAL) * n as f64, "{too_many} examples");
    }

    #[test]
    fn an_example_with_very_many_labels_does_not_lift_the_thresholds_of_others() {
        let (n, c) = (100, 400);
        let holds = |i: usize, j: usize| if i == 0 { j < 2 * CANDIDATES } else { i % c == j };
        let scores = Matrix::from_fn(n, c, |i, j| match (i, holds(i, j)) {
            (0, true) => 5.0,
            (_, true) => 1.0,
            _ => -3.0,
        });
        let mut truth = Csr::new(true);
        for i in 0..n {
            (0..c).filter(|j| holds(i, *j)).for_each(|j| truth.push(j as u32, 1.0));
            truth.end_row();
        }
        let calibration = Calibration::identity(Loss::Independent);
        let found = of_scores(&calibration, scores, truth.view()).unwrap();
        assert!(found.iter().all(|t| *t <= calibration.probability(1.0)), "{found:?}");
    }

    #[test]
    fn nothing_to_learn_from_gives_the_default() {
        let found = of_scores(&Calibration::identity(Loss::Softmax), Matrix::zeros(0, 4), Csr::new(true).view());
        assert_eq!(found.unwrap(), [DEFAULT_THRESHOLD; 4]);
    }
}
