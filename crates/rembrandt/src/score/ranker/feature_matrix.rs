//! [`FeatureMatrix`]: a number for pairs of a feature and a column, sparse, by features. Columns are labels, or examples.

use std::ops::Range;

use half::bf16;
use rayon::prelude::*;

use crate::linalg::buffer::Buffer;
use crate::linalg::kernels::dots::{Number, narrow};

/// Features, and pairs, that one task checks.
const FEATURES: usize = 1 << 10;
const PAIRS: usize = 1 << 16;

/// A number for pairs of a feature and a column, sparse, by features.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FeatureMatrix {
    /// Where the columns of each feature begin, and the end: d + 1.
    pub starts: Buffer<u64>,
    /// The columns of each feature, ascending: labels or examples.
    pub columns: Buffer<u32>,
    /// The number of each pair.
    pub weights: Buffer<bf16>,
}

impl FeatureMatrix {
    /// Checks a matrix from a file, for `d` features and `c` columns.
    pub fn check(&self, d: usize, c: usize) -> Result<(), &'static str> {
        let ends = (self.starts.first(), self.starts.last());
        if self.starts.len() != d + 1 || ends != (Some(&0), Some(&(self.columns.len() as u64))) {
            return Err("its ranker does not fit its features");
        }
        if !self.starts.is_sorted() || self.weights.len() != self.columns.len() {
            return Err("its ranker contradicts itself");
        }
        let bad = |f: usize| {
            let columns = &self.columns[self.places(f)];
            !columns.is_sorted_by(|a, b| a < b) || columns.last().is_some_and(|column| *column as usize >= c)
        };
        if (0..d).into_par_iter().with_min_len(FEATURES).any(bad) {
            return Err("its ranker names labels or examples that it does not have, or one twice");
        }
        if self.weights.par_iter().with_min_len(PAIRS).any(|weight| !weight.is_finite()) {
            return Err("its ranker holds numbers that are not finite");
        }
        Ok(())
    }

    pub fn places(&self, feature: usize) -> Range<usize> {
        self.starts[feature] as usize..self.starts[feature + 1] as usize
    }

    /// The number of a feature and a column.
    pub fn weight(&self, feature: usize, column: u32) -> f32 {
        let places = self.places(feature);
        let found = self.columns[places.clone()].binary_search(&column);
        found.map_or(0.0, |at| self.weights[places.start + at].widen())
    }

    /// A matrix without pairs, for `d` features.
    pub fn empty(d: usize) -> FeatureMatrix {
        FeatureMatrix::from_lists(vec![Vec::new(); d])
    }

    /// A matrix of the columns of each feature, ascending, with their weights.
    pub fn from_lists(lists: Vec<Vec<(u32, bf16)>>) -> FeatureMatrix {
        let pairs = lists.iter().map(Vec::len).sum();
        let (mut columns, mut weights) = (Vec::with_capacity(pairs), Vec::with_capacity(pairs));
        let mut starts = vec![0];
        for list in lists {
            columns.extend(list.iter().map(|(column, _)| *column));
            weights.extend(list.iter().map(|(_, weight)| *weight));
            starts.push(columns.len() as u64);
        }
        FeatureMatrix { starts: starts.into(), columns: columns.into(), weights: weights.into() }
    }

    /// A matrix of the features of each label, with their weights.
    pub fn of_labels(lists: Vec<Vec<(u32, f32)>>, d: usize) -> FeatureMatrix {
        let mut starts = vec![0; d + 1];
        lists.iter().flatten().for_each(|(feature, _)| starts[*feature as usize + 1] += 1);
        (0..d).for_each(|f| starts[f + 1] += starts[f]);
        let pairs = starts[d] as usize;
        let (mut columns, mut weights) = (vec![0; pairs], vec![bf16::ZERO; pairs]);
        let mut next = starts.clone();
        // Labels come in their order, so those of a feature ascend.
        for (label, list) in (0u32..).zip(lists) {
            for (feature, weight) in list {
                let at = &mut next[feature as usize];
                (columns[*at as usize], weights[*at as usize]) = (label, narrow(weight));
                *at += 1;
            }
        }
        FeatureMatrix { starts: starts.into(), columns: columns.into(), weights: weights.into() }
    }
}
