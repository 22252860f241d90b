//! How likely a true label is to be recorded at all (Jain, Prabhu and Varma, 2016).

use serde::{Deserialize, Serialize};

use super::at::gain_at;
use crate::{Error, Result};

/// The two constants of the propensity model
///
/// 1/p_l = 1 + C (N_l + B)^−A,   C = (ln N − 1)(B + 1)^A,
///
/// where N is the number of training examples and N_l how many of them have label l. They were fitted by the model's
/// authors to data in which the missing labels are known. For N < 3 the formula would give propensities above 1; C is
/// 0 then, and all labels count the same.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Propensity {
    /// A: how much faster the recording of frequent labels is than that of rare ones.
    pub a: f64,
    /// B: a shift of the counts.
    pub b: f64,
}

setter!(Propensity);

impl Propensity {
    /// For data made from Wikipedia: A = 0.5, B = 0.4.
    pub const WIKIPEDIA: Propensity = Propensity { a: 0.5, b: 0.4 };
    /// For data made from Amazon's catalogue: A = 0.6, B = 2.6.
    pub const AMAZON: Propensity = Propensity { a: 0.6, b: 2.6 };
    /// For all other data, and the default: A = 0.55, B = 1.5.
    pub const OTHER: Propensity = Propensity { a: 0.55, b: 1.5 };

    /// Checks the constants.
    pub fn check(self) -> Result<()> {
        let Propensity { a, b } = self;
        if !(a.is_finite() && a >= 0.0) {
            return Err(Error::parameter("propensity.a", format!("{a} is not a number of at least 0")));
        }
        if !(b.is_finite() && b > 0.0) {
            return Err(Error::parameter("propensity.b", format!("{b} is not a number above 0")));
        }
        Ok(())
    }
}

impl Default for Propensity {
    fn default() -> Propensity {
        Propensity::OTHER
    }
}

/// The inverse propensity of every label: what finding it is worth.
///
/// ```
/// use rembrandt::metrics::{Propensities, Propensity};
///
/// // Label 0 has 900 of 1000 training examples, label 1 has 3.
/// let worth = Propensities::new(Propensity::default(), &[900, 3], 1000)?;
/// assert!(worth.inverse(0) < 1.3 && worth.inverse(1) > 4.0);
/// // Finding the rare label gives most of what there is to be had.
/// let psp = worth.gain_at(&[0, 1], &[1], 2) / worth.best_at(&[0, 1], 2);
/// assert!(psp > 0.7);
/// # Ok::<(), rembrandt::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Propensities {
    inverse: Vec<f64>,
    unseen: f64,
}

impl Propensities {
    /// From the number of training examples with each label, and of all training examples.
    pub fn new(model: Propensity, counts: &[u64], n_train: u64) -> Result<Propensities> {
        model.check()?;
        let Propensity { a, b } = model;
        if let Some(label) = counts.iter().position(|count| *count > n_train) {
            let count = counts[label];
            let reason = format!("label {label} has {count} training examples, but there are only {n_train}");
            return Err(Error::parameter("counts", reason));
        }
        let scale = ((n_train.max(1) as f64).ln() - 1.0).max(0.0) * (b + 1.0).powf(a);
        let inverse = |count: u64| 1.0 + scale * (count as f64 + b).powf(-a);
        Ok(Propensities { inverse: counts.iter().map(|count| inverse(*count)).collect(), unseen: inverse(0) })
    }

    /// How many labels were counted.
    pub fn len(&self) -> usize {
        self.inverse.len()
    }

    /// Whether no label was counted.
    pub fn is_empty(&self) -> bool {
        self.inverse.is_empty()
    }

    /// 1/p of a label. One beyond those counted has no training example.
    pub fn inverse(&self, label: u32) -> f64 {
        self.inverse.get(label as usize).copied().unwrap_or(self.unseen)
    }

    /// Σ 1/p of the true labels among the first k: the numerator of PSP@k.
    ///
    /// # Panics
    /// If k is 0.
    pub fn gain_at(&self, truth: &[u32], ranked: &[u32], k: usize) -> f64 {
        gain_at(truth, ranked, k, |label| self.inverse(label))
    }

    /// The largest [`gain_at`](Propensities::gain_at) of any list: that of the k rarest true labels. PSP@k divides by
    /// the sum of this over all examples.
    pub fn best_at(&self, truth: &[u32], k: usize) -> f64 {
        let mut worth: Vec<f64> = truth.iter().map(|label| self.inverse(*label)).collect();
        worth.sort_unstable_by(|a, b| b.total_cmp(a));
        worth.iter().take(k).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiny_training_sets_make_all_labels_equal() {
        for n_train in 0..3 {
            let worth = Propensities::new(Propensity::OTHER, &[0, n_train], n_train).unwrap();
            assert_eq!([worth.inverse(0), worth.inverse(1), worth.inverse(9)], [1.0; 3]);
        }
    }

    #[test]
    fn rarer_is_worth_more_and_unseen_most() {
        let worth = Propensities::new(Propensity::WIKIPEDIA, &[0, 1, 10, 100], 100).unwrap();
        assert!((0..3).all(|label| worth.inverse(label) > worth.inverse(label + 1)));
        assert_eq!(worth.inverse(4), worth.inverse(0));
        assert!(worth.inverse(3) > 1.0);
    }

    #[test]
    fn impossible_parameters_are_refused() {
        let message =
            |a, b, counts: &[u64]| Propensities::new(Propensity { a, b }, counts, 10).unwrap_err().to_string();
        assert_eq!(message(-1.0, 1.0, &[]), "propensity.a: -1 is not a number of at least 0");
        assert_eq!(message(0.5, f64::NAN, &[]), "propensity.b: NaN is not a number above 0");
        assert_eq!(message(0.5, 1.0, &[3, 11]), "counts: label 1 has 11 training examples, but there are only 10");
    }
}
