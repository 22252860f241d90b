//! The scores under their stable names.

use serde::ser::{Serialize, SerializeMap, Serializer};

/// Where a score lies with the confidence that the [`Bootstrap`](super::Bootstrap) asks for.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// One value per score.
pub type Scores = Measures<f64>;

/// One interval per score, under the same names as [`Scores`].
pub type Intervals = Measures<Interval>;

/// Something for each score, absent where the score does not apply.
///
/// It serialises under stable names, all of which are always there, `null` where they do not apply, and the number of
/// examples as `n`.
///
/// ```
/// use rembrandt::metrics::{Evaluator, Example, Settings};
///
/// let mut evaluator = Evaluator::new(10, Settings::default().with(|s| s.ranks = vec![1, 10]))?;
/// evaluator.push(&Example { truth: &[3, 4], ranked: &[3, 1], ..Example::default() })?;
/// let scores = evaluator.scores();
/// assert_eq!((scores.of("p@1"), scores.of("r@10"), scores.of("p@5")), (Some(1.0), Some(0.5), None));
/// let json = serde_json::to_string(&scores)?;
/// assert!(json.starts_with(r#"{"p@1":1.0,"p@10":0.1,"#) && json.ends_with(r#""ece":null,"n":1}"#));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Measures<T> {
    entries: Vec<(String, Option<T>)>,
    /// Number of examples.
    pub n: u64,
}

impl<T: Copy> Measures<T> {
    /// One thing for each of the [`keys`].
    pub(super) fn new(ranks: &[usize], values: impl IntoIterator<Item = Option<T>>, n: u64) -> Measures<T> {
        Measures { entries: keys(ranks).into_iter().zip(values).collect(), n }
    }

    /// The value under this name, if it applies.
    pub fn of(&self, key: &str) -> Option<T> {
        self.entries.iter().find(|(name, _)| name == key).and_then(|(_, value)| *value)
    }

    /// Name and value of each score, for tables.
    pub fn entries(&self) -> impl ExactSizeIterator<Item = (&str, Option<T>)> {
        self.entries.iter().map(|(name, value)| (name.as_str(), *value))
    }
}

impl<T: Serialize> Serialize for Measures<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.entries.len() + 1))?;
        self.entries.iter().try_for_each(|(name, value)| map.serialize_entry(name, value))?;
        map.serialize_entry("n", &self.n)?;
        map.end()
    }
}

/// The names of all scores, in their order.
fn keys(ranks: &[usize]) -> Vec<String> {
    let ranked =
        ["p", "r", "ndcg", "psp"].into_iter().flat_map(|score| ranks.iter().map(move |k| format!("{score}@{k}")));
    ranked.chain(["error", "hamming", "micro_f1", "macro_f1", "ece"].map(str::to_owned)).collect()
}
