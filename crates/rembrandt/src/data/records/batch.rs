//! [`Records`]: a batch of records in the order in which they were read.

use std::collections::HashSet;

/// Strings one after the other: two allocations for any number of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Strings {
    text: String,
    /// Where each one ends in `text`.
    ends: Vec<usize>,
}

impl Strings {
    fn push(&mut self, string: &str) {
        self.text.push_str(string);
        self.ends.push(self.text.len());
    }

    fn at(&self, i: usize) -> &str {
        &self.text[i.checked_sub(1).map_or(0, |before| self.ends[before])..self.ends[i]]
    }
}

/// A batch of records: a text each, any number of labels, and a weight.
///
/// ```
/// use rembrandt::data::records::Records;
/// let mut records = Records::new();
/// records.push("A red wine", ["wine", "red"], 1.0);
/// records.push("Nothing known", [], 1.0);
/// assert_eq!(records.texts(), ["A red wine", "Nothing known"]);
/// assert_eq!(records.labels(0).collect::<Vec<_>>(), ["wine", "red"]);
/// assert_eq!(records.labels(1).count(), 0);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Records {
    texts: Strings,
    labels: Strings,
    /// Labels of all records up to and including each.
    label_ends: Vec<usize>,
    /// As many as there are records, or none.
    ids: Strings,
    /// Absent when all weights are 1.
    weights: Option<Vec<f32>>,
}

impl Records {
    /// No records yet.
    pub fn new() -> Records {
        Records::default()
    }

    /// Adds a record. A label that is given again counts once.
    pub fn push<'l>(&mut self, text: &str, labels: impl IntoIterator<Item = &'l str>, weight: f32) {
        self.texts.push(text);
        let mut known = HashSet::new();
        labels.into_iter().filter(|label| known.insert(*label)).for_each(|label| self.labels.push(label));
        self.label_ends.push(self.labels.ends.len());
        if weight != 1.0 && self.weights.is_none() {
            self.weights = Some(vec![1.0; self.len() - 1]);
        }
        if let Some(weights) = &mut self.weights {
            weights.push(weight);
        }
    }

    /// Says what the record that was added last is called.
    pub fn push_id(&mut self, id: &str) {
        self.ids.push(id);
    }

    /// The id of each record; absent where they have none.
    pub fn ids(&self) -> Option<Vec<&str>> {
        (self.ids.ends.len() == self.len()).then(|| (0..self.len()).map(|i| self.ids.at(i)).collect())
    }

    /// Number of records.
    pub fn len(&self) -> usize {
        self.texts.ends.len()
    }

    /// Whether there is no record.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The text of record `i`.
    ///
    /// # Panics
    /// If there is no such record.
    pub fn text(&self, i: usize) -> &str {
        self.texts.at(i)
    }

    /// All texts, in order: what a featurizer takes.
    pub fn texts(&self) -> Vec<&str> {
        (0..self.len()).map(|i| self.text(i)).collect()
    }

    /// The labels of record `i`, in the order of the file.
    ///
    /// # Panics
    /// If there is no such record.
    pub fn labels(&self, i: usize) -> impl Iterator<Item = &str> {
        let first = i.checked_sub(1).map_or(0, |before| self.label_ends[before]);
        (first..self.label_ends[i]).map(|label| self.labels.at(label))
    }

    /// The weight of each record; absent when all are 1.
    pub fn weights(&self) -> Option<&[f32]> {
        self.weights.as_deref()
    }

    /// Records with at least one label.
    pub fn labelled(&self) -> usize {
        let starts = std::iter::once(&0).chain(&self.label_ends);
        starts.zip(&self.label_ends).filter(|(start, end)| start < end).count()
    }
}
