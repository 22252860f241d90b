//! [`InvertedIndex`]: the training examples of each feature, with its values there.

use std::ops::Range;

use half::bf16;
use rayon::prelude::*;

use crate::linalg::buffer::Buffer;
use crate::linalg::kernels::dots::Number;

/// Features, and pairs, that one task checks.
const FEATURES: usize = 1 << 10;
const PAIRS: usize = 1 << 16;

/// The examples of each feature.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct InvertedIndex {
    /// Where the examples of each feature begin, and the end: d + 1.
    pub starts: Buffer<u64>,
    /// The examples of each feature, ascending.
    pub examples: Buffer<u32>,
    /// The value of the feature in each.
    pub values: Buffer<bf16>,
}

impl InvertedIndex {
    /// Checks an index from a file, for `d` features and `n` examples.
    pub fn check(&self, d: usize, n: usize) -> Result<(), &'static str> {
        let ends = (self.starts.first(), self.starts.last());
        if self.starts.len() != d + 1 || ends != (Some(&0), Some(&(self.examples.len() as u64))) {
            return Err("its ranker does not fit its features");
        }
        if !self.starts.is_sorted() || self.values.len() != self.examples.len() {
            return Err("its ranker contradicts itself");
        }
        let bad = |f: usize| {
            let examples = &self.examples[self.places(f)];
            !examples.is_sorted_by(|a, b| a < b) || examples.last().is_some_and(|example| *example as usize >= n)
        };
        if (0..d).into_par_iter().with_min_len(FEATURES).any(bad) {
            return Err("its ranker names examples that it does not have, or one twice");
        }
        if self.values.par_iter().with_min_len(PAIRS).any(|value| !value.is_finite()) {
            return Err("its ranker holds numbers that are not finite");
        }
        Ok(())
    }

    pub fn places(&self, feature: usize) -> Range<usize> {
        self.starts[feature] as usize..self.starts[feature + 1] as usize
    }

    /// The value of a feature in an example.
    pub fn value(&self, feature: usize, example: u32) -> f32 {
        let places = self.places(feature);
        let found = self.examples[places.clone()].binary_search(&example);
        found.map_or(0.0, |at| self.values[places.start + at].widen())
    }

    /// An index of the examples of each feature, ascending, with its values.
    pub fn new(lists: Vec<Vec<(u32, bf16)>>) -> InvertedIndex {
        let pairs = lists.iter().map(Vec::len).sum();
        let (mut examples, mut values) = (Vec::with_capacity(pairs), Vec::with_capacity(pairs));
        let mut starts = vec![0];
        for list in lists {
            examples.extend(list.iter().map(|(example, _)| *example));
            values.extend(list.iter().map(|(_, value)| *value));
            starts.push(examples.len() as u64);
        }
        InvertedIndex { starts: starts.into(), examples: examples.into(), values: values.into() }
    }
}
