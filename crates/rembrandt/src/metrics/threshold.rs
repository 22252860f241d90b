//! From probabilities to decisions: the threshold of each label that makes its F1 largest.
//!
//! F1 = 2·common / (predicted + true) rewards predicting a rare label long before it is more likely than not, so one
//! threshold for all labels, let alone ½, does badly. Predicting a label for the examples where it is most probable,
//! the first r by descending probability, is best for some r; the threshold is the probability of the last of them.

use crate::linalg::csr::CsrRef;
use crate::{Error, Result};

/// The threshold of a label about which the data say nothing: with calibrated probabilities it makes the fewest
/// mistakes.
pub const DEFAULT_THRESHOLD: f32 = 0.5;

/// For each label, the threshold that makes its *expected* F1 largest, without any labels at hand.
///
/// The rows of `probabilities` are n examples; a label that a row leaves out has probability 0 there. `prior` is, for
/// each of the c labels, the share of examples that have it. Of the examples in descending order of p, the prefix
/// that maximises Σp / (n·prior + r) over its length r is predicted; of equals the shortest. The probabilities must
/// be calibrated. A label that has a positive probability nowhere gets [`DEFAULT_THRESHOLD`].
///
/// ```
/// use rembrandt::linalg::csr::Csr;
/// use rembrandt::metrics::{best_f1_thresholds, predicted_positive};
///
/// let mut probabilities = Csr::new(false);
/// for (common, rare) in [(0.9, 0.3), (0.8, 0.01), (0.1, 0.2), (0.7, 0.01)] {
///     probabilities.push(0, common);
///     probabilities.push(1, rare);
///     probabilities.end_row();
/// }
/// let thresholds = best_f1_thresholds(probabilities.view(), &[0.625, 0.13])?;
/// assert_eq!(thresholds, [0.7, 0.2]);
/// assert_eq!(predicted_positive(&[0, 1], &[0.9, 0.3], &thresholds), [0, 1]);
/// # Ok::<(), rembrandt::Error>(())
/// ```
pub fn best_f1_thresholds(probabilities: CsrRef<'_>, prior: &[f64]) -> Result<Vec<f32>> {
    if let Some(label) = prior.iter().position(|p| !(0.0..=1.0).contains(p)) {
        return Err(Error::parameter("prior", format!("label {label} has {}, which is not a share", prior[label])));
    }
    let columns = PredictionsByLabel::new(probabilities, prior.len(), |_, _| false)?;
    let n = probabilities.rows() as f64;
    Ok(columns.best(|label, gathered| gathered.probability / (n * prior[label] + gathered.count)))
}

/// For each of c labels, the threshold that makes its *actual* F1 on held-out examples largest.
///
/// The rows of `probabilities` and of `truth` are the same examples. Of equals the highest threshold is taken. A
/// label that is nowhere both scored and true gets [`DEFAULT_THRESHOLD`]. Labels with a handful of positives overfit:
/// prefer [`best_f1_thresholds`] for them when probabilities are calibrated.
///
/// ```
/// use rembrandt::linalg::csr::Csr;
/// use rembrandt::metrics::best_f1_thresholds_on;
///
/// let (mut probabilities, mut truth) = (Csr::new(false), Csr::new(true));
/// for (probability, is_true) in [(0.9, false), (0.4, true), (0.3, true), (0.1, false)] {
///     probabilities.push(0, probability);
///     if is_true {
///         truth.push(0, 1.0);
///     }
///     probabilities.end_row();
///     truth.end_row();
/// }
/// assert_eq!(best_f1_thresholds_on(probabilities.view(), truth.view(), 1)?, [0.3]);
/// # Ok::<(), rembrandt::Error>(())
/// ```
pub fn best_f1_thresholds_on(probabilities: CsrRef<'_>, truth: CsrRef<'_>, c: usize) -> Result<Vec<f32>> {
    if probabilities.rows() != truth.rows() {
        let reason = format!("{} examples have probabilities, but {} labels", probabilities.rows(), truth.rows());
        return Err(Error::parameter("truth", reason));
    }
    let mut actual = vec![0f64; c];
    // A true label beyond c has no threshold to choose.
    truth.columns().iter().filter(|label| (**label as usize) < c).for_each(|label| actual[*label as usize] += 1.0);
    let columns =
        PredictionsByLabel::new(probabilities, c, |row, label| truth.row(row).0.binary_search(&label).is_ok())?;
    Ok(columns.best(|label, gathered| gathered.hits / (actual[label] + gathered.count)))
}

/// The labels, in ascending order, whose probability reaches their threshold.
///
/// ```
/// use rembrandt::metrics::predicted_positive;
///
/// assert_eq!(predicted_positive(&[2, 0, 1], &[0.9, 0.5, 0.4], &[0.5, 0.5, 0.1]), [0, 2]);
/// ```
///
/// # Panics
/// If a label has no threshold, or the first two slices differ in length.
pub fn predicted_positive(labels: &[u32], probabilities: &[f32], thresholds: &[f32]) -> Vec<u32> {
    assert_eq!(labels.len(), probabilities.len(), "every label has a probability");
    let pairs = labels.iter().zip(probabilities);
    let mut positive: Vec<u32> = pairs.filter(|(l, p)| **p >= thresholds[**l as usize]).map(|(l, _)| *l).collect();
    positive.sort_unstable();
    positive
}

/// The counts of a prefix of examples.
#[derive(Default)]
struct Gathered {
    count: f64,
    probability: f64,
    hits: f64,
}

/// The probabilities of each label, and whether it is true there.
struct PredictionsByLabel {
    ptr: Vec<usize>,
    entries: Vec<(f32, bool)>,
}

impl PredictionsByLabel {
    fn new(rows: CsrRef<'_>, c: usize, is_true: impl Fn(usize, u32) -> bool) -> Result<PredictionsByLabel> {
        let mut ptr = vec![0; c + 1];
        for label in rows.columns() {
            let Some(count) = ptr.get_mut(*label as usize + 1) else {
                return Err(Error::parameter("probabilities", format!("label {label}, but there are only {c}")));
            };
            *count += 1;
        }
        for label in 0..c {
            ptr[label + 1] += ptr[label];
        }
        let mut next = ptr.clone();
        let mut entries = vec![(0.0, false); rows.nnz()];
        for row in 0..rows.rows() {
            for (label, probability) in rows.entries(row) {
                if !(0.0..=1.0).contains(&probability) {
                    let reason = format!("{probability} in row {row}, label {label}, is not a probability");
                    return Err(Error::parameter("probabilities", reason));
                }
                entries[next[label]] = (probability, is_true(row, label as u32));
                next[label] += 1;
            }
        }
        Ok(PredictionsByLabel { ptr, entries })
    }

    /// The probability that ends the prefix with the largest value, for each label.
    fn best(mut self, value: impl Fn(usize, &Gathered) -> f64) -> Vec<f32> {
        let labels = self.ptr.windows(2).enumerate();
        let threshold = |(label, range): (usize, &[usize])| {
            let column = &mut self.entries[range[0]..range[1]];
            column.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
            let (mut gathered, mut best, mut threshold) = (Gathered::default(), 0.0, DEFAULT_THRESHOLD);
            for (i, (probability, hit)) in column.iter().enumerate() {
                gathered.count += 1.0;
                gathered.probability += f64::from(*probability);
                gathered.hits += f64::from(u8::from(*hit));
                // A threshold cannot part equal probabilities.
                let ends = column.get(i + 1).is_none_or(|next| next.0 < *probability);
                let value = value(label, &gathered);
                if ends && value > best {
                    (best, threshold) = (value, *probability);
                }
            }
            threshold
        };
        labels.map(threshold).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::linalg::csr::Csr;

    const C: usize = 3;

    /// Probabilities in eighths, so that there are ties, and truth; `None` leaves the label out of the row.
    fn table() -> impl Strategy<Value = Vec<Vec<(Option<u8>, bool)>>> {
        prop::collection::vec(prop::collection::vec((prop::option::weighted(0.8, 0u8..=8), any::<bool>()), C), 1..15)
    }

    fn matrices(table: &[Vec<(Option<u8>, bool)>]) -> (Csr, Csr) {
        let (mut probabilities, mut truth) = (Csr::new(false), Csr::new(true));
        for row in table {
            for (label, (eighths, is_true)) in (0u32..).zip(row) {
                eighths.iter().for_each(|p| probabilities.push(label, f32::from(*p) / 8.0));
                is_true.then(|| truth.push(label, 1.0));
            }
            probabilities.end_row();
            truth.end_row();
        }
        (probabilities, truth)
    }

    /// Σp, hits and count of the examples that reach a threshold.
    fn reached(table: &[Vec<(Option<u8>, bool)>], label: usize, threshold: f32) -> (f64, f64, f64) {
        let mut sums = (0.0, 0.0, 0.0);
        for (eighths, is_true) in table.iter().map(|row| row[label]) {
            let p = eighths.map(|p| f32::from(p) / 8.0);
            if let Some(p) = p.filter(|p| *p >= threshold) {
                sums = (sums.0 + f64::from(p), sums.1 + f64::from(u8::from(is_true)), sums.2 + 1.0);
            }
        }
        sums
    }

    proptest! {
        #[test]
        fn no_other_threshold_is_better(table in table(), prior in prop::collection::vec(0.01f64..1.0, C)) {
            let (probabilities, truth) = matrices(&table);
            let expected = best_f1_thresholds(probabilities.view(), &prior).unwrap();
            let actual = best_f1_thresholds_on(probabilities.view(), truth.view(), C).unwrap();
            for label in 0..C {
                let positives = table.iter().filter(|row| row[label].1).count() as f64;
                let expected_f1 = |threshold| {
                    let (sum, _, count) = reached(&table, label, threshold);
                    sum / (table.len() as f64 * prior[label] + count)
                };
                let actual_f1 = |threshold| {
                    let (_, hits, count) = reached(&table, label, threshold);
                    hits / (positives + count).max(1.0)
                };
                for other in (0u8..=9).map(|p| f32::from(p) / 8.0) {
                    prop_assert!(expected_f1(expected[label]) >= expected_f1(other) - 1e-12);
                    prop_assert!(actual_f1(actual[label]) >= actual_f1(other) - 1e-12);
                }
            }
        }
    }

    #[test]
    fn labels_without_evidence_get_the_default() {
        let (probabilities, truth) = matrices(&[vec![(Some(4), false), (None, true), (Some(0), false)]]);
        assert_eq!(best_f1_thresholds(probabilities.view(), &[0.0; 3]).unwrap()[1..], [DEFAULT_THRESHOLD; 2]);
        let thresholds = best_f1_thresholds_on(probabilities.view(), truth.view(), 3).unwrap();
        assert_eq!(thresholds, [DEFAULT_THRESHOLD; 3]);
    }

    #[test]
    fn bad_input_is_refused() {
        let mut p = Csr::new(false);
        p.push(1, 1.5);
        p.end_row();
        let message = |result: Result<Vec<f32>>| result.unwrap_err().to_string();
        let outside = message(best_f1_thresholds(p.view(), &[0.5; 2]));
        assert_eq!(outside, "probabilities: 1.5 in row 0, label 1, is not a probability");
        assert_eq!(message(best_f1_thresholds(p.view(), &[0.5])), "probabilities: label 1, but there are only 1");
        assert_eq!(message(best_f1_thresholds(p.view(), &[2.0])), "prior: label 0 has 2, which is not a share");
        let lengths = message(best_f1_thresholds_on(p.view(), Csr::new(true).view(), 2));
        assert_eq!(lengths, "truth: 1 examples have probabilities, but 0 labels");
    }
}
