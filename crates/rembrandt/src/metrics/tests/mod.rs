//! The evaluator against an independent implementation, its conventions, and what must not matter.

mod conventions;
mod properties;
mod reference;

use super::*;

/// One example, owned.
#[derive(Clone, Debug)]
struct Case {
    truth: Vec<u32>,
    ranked: Vec<u32>,
    scores: Vec<f32>,
    positive: Vec<u32>,
}

impl Case {
    fn view(&self) -> Example<'_> {
        let Case { truth, ranked, scores, positive } = self;
        Example { truth, ranked, scores: Some(scores), positive: Some(positive) }
    }
}

fn evaluate<'a>(mut evaluator: Evaluator, cases: impl IntoIterator<Item = &'a Case>) -> Evaluator {
    cases.into_iter().for_each(|case| evaluator.push(&case.view()).unwrap());
    evaluator
}

fn with_bootstrap(bootstrap: Bootstrap) -> Settings {
    Settings { probabilities: true, bootstrap: Some(bootstrap), ..Settings::default() }
}

#[track_caller]
fn assert_close(found: &Scores, expected: &Scores, tolerance: f64) {
    assert_eq!(found.n, expected.n);
    for ((key, a), (_, b)) in found.entries().zip(expected.entries()) {
        let close = match (a, b) {
            (Some(a), Some(b)) => (a - b).abs() <= tolerance,
            (a, b) => a == b,
        };
        assert!(close, "{key}: {a:?} instead of {b:?}");
    }
}

/// Scores at the usual ranks, in their order.
fn scores<const COUNT: usize>(values: [Option<f64>; COUNT], n: u64) -> Scores {
    assert_eq!(COUNT, 17);
    Measures::new(&RANKS, values, n)
}

/// Scores with others in the place of some.
fn with(scores: &Scores, others: &[(&str, Option<f64>)]) -> Scores {
    let other = |name: &str| others.iter().find(|(key, _)| *key == name).map(|(_, value)| *value);
    Measures::new(&RANKS, scores.entries().map(|(name, value)| other(name).unwrap_or(value)), scores.n)
}
