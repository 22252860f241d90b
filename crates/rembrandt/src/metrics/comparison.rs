//! Whether one set of predictions is better than another for the same examples.
//!
//! Replicates of the bootstrap repeat the same examples for both, so what is hard or easy for both cancels: the differences
//! of the replicates spread as the difference of the scores would on other examples.

use serde::Serialize;

use super::bootstrap::spread;
use super::{Bootstrap, Evaluator, Interval};
use crate::{Error, Result};

/// How much two scores differ, and whether by more than chance.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Difference {
    /// The score.
    pub name: String,
    /// Its value for the one, and for the other.
    pub first: f64,
    /// See `first`.
    pub second: f64,
    /// The second less the first.
    pub difference: f64,
    /// Where the difference lies, with the level of the bootstrap.
    pub interval: Interval,
    /// How likely so large a difference, either way, would be if there were none.
    pub p: f64,
}

impl Evaluator {
    /// How other predictions for the same examples, pushed in the same order, compare: every score that both have.
    ///
    /// The p-value is that of a two-sided test, for a normal distribution with the spread of the differences between the
    /// replicates of the two.
    ///
    /// # Errors
    /// Without replicates, or if the two were not made for the same examples with the same settings.
    pub fn compare(&self, other: &Evaluator) -> Result<Vec<Difference>> {
        let Some(bootstrap) = self.bootstrap() else {
            return Err(Error::parameter("replicates", "a comparison needs some"));
        };
        if (self.n(), Some(bootstrap))
            != (other.n(), other.bootstrap().map(|b| Bootstrap { macro_f1: bootstrap.macro_f1, ..b }))
        {
            return Err(Error::Data("only evaluations of the same examples can be compared".into()));
        }
        let (ours, theirs) = (self.replicates(), other.replicates());
        let (first, second) = (self.scores(), other.scores());
        let mut found = Vec::new();
        for (i, ((name, a), (_, b))) in first.entries().zip(second.entries()).enumerate() {
            let Some((a, b)) = a.zip(b) else { continue };
            let pairs = ours.iter().zip(&theirs).filter_map(|(a, b)| a[i].zip(b[i]));
            let differences: Vec<f64> = pairs.map(|(a, b)| b - a).collect();
            let error = deviation(&differences);
            let Some(interval) = spread(b - a, differences, bootstrap.level) else { continue };
            let p = if a == b { 1.0 } else { two_sided((b - a).abs() / error) };
            found.push(Difference { name: name.to_owned(), first: a, second: b, difference: b - a, interval, p });
        }
        Ok(found)
    }
}

/// The standard deviation of some numbers.
fn deviation(values: &[f64]) -> f64 {
    let n = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / n;
    (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / n).sqrt()
}

/// How likely a normal number is at least so many standard deviations from its mean.
fn two_sided(deviations: f64) -> f64 {
    let density = (-0.5 * deviations * deviations).exp() / (2.0 * std::f64::consts::PI).sqrt();
    if deviations < 4.0 {
        // Φ(z) − ½ = φ(z)·(z + z³/3 + z⁵/(3·5) + …)
        let (mut term, mut sum, mut odd) = (deviations, deviations, 1.0);
        while term > 1e-17 * sum {
            odd += 2.0;
            term *= deviations * deviations / odd;
            sum += term;
        }
        return 1.0 - 2.0 * density * sum;
    }
    // 1 − Φ(z) = φ(z) / (z + 1/(z + 2/(z + 3/(z + …))))
    let fraction = (1..=60).rev().fold(deviations, |below, i| deviations + f64::from(i) / below);
    2.0 * density / fraction
}

#[cfg(test)]
mod tests {
    use super::super::{Example, Settings};
    use super::*;

    #[test]
    fn normal_tails_are_those_of_the_tables() {
        let known = [(0.0, 1.0), (1.0, 0.317_310_507_862_914), (1.959_963_984_540_054, 0.05)];
        let far = [(3.999_999, 6.334_275e-5), (4.0, 6.334_248_366_624e-5), (8.0, 1.244_192_114_854e-15)];
        for (z, p) in known.into_iter().chain(far) {
            assert!((two_sided(z) / p - 1.0).abs() < 1e-6, "{z}: {} for {p}", two_sided(z));
        }
        assert_eq!(two_sided(f64::INFINITY), 0.0);
    }

    /// Examples of which the first `right` are right, and every third of the others.
    fn evaluator(n: usize, right: usize) -> Evaluator {
        let settings = Settings::default().with(|s| s.bootstrap = Some(Bootstrap::default()));
        let mut evaluator = Evaluator::new(3, settings).unwrap();
        for i in 0..n {
            let ranked = if i < right || i % 3 == 0 { [1, 2] } else { [2, 1] };
            evaluator.push(&Example { truth: &[1], ranked: &ranked, ..Example::default() }).unwrap();
        }
        evaluator
    }

    #[test]
    fn a_small_difference_on_few_examples_is_chance_and_on_many_is_not() {
        let p1 = |n: usize, first: usize, second: usize| {
            evaluator(n, first).compare(&evaluator(n, second)).unwrap().into_iter().find(|d| d.name == "p@1").unwrap()
        };
        let few = p1(60, 30, 31);
        assert!(few.p > 0.1 && few.interval.low <= few.difference && few.difference <= few.interval.high, "{few:?}");
        let many = p1(6000, 3000, 3300);
        assert!(
            many.p < 1e-6 && many.interval.low > 0.0 && (many.difference - 200.0 / 6000.0).abs() < 1e-12,
            "{many:?}"
        );
        // Either way, and the other way round.
        let back = p1(6000, 3300, 3000);
        assert_eq!((back.p, back.difference), (many.p, -many.difference));
        let same = p1(60, 30, 30);
        assert_eq!((same.p, same.difference), (1.0, 0.0));
    }

    #[test]
    fn what_cannot_be_compared_is_refused() {
        let one = evaluator(60, 30);
        assert!(one.compare(&evaluator(61, 30)).is_err());
        let bare = Evaluator::new(3, Settings::default()).unwrap();
        assert!(bare.compare(&one).is_err() && one.compare(&bare).is_err());
    }
}
