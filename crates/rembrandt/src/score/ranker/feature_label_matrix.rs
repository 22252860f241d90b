//! [`FeatureLabelMatrix`]: a number for pairs of a feature and a label, sparse, by features.

use std::io;
use std::ops::Range;

use half::bf16;
use rayon::prelude::*;

use crate::io::checkpoint::{Load, Reader, Store, Writer};
use crate::linalg::buffer::Buffer;
use crate::linalg::kernels::dots::Number;
use crate::linalg::sparse_accumulator::SparseAccumulator;
use crate::linalg::topk::TopK;

/// A list that is so many times longer than the labels to be found in it is searched for each of them.
const LONG: usize = 16;
/// Features, and pairs, that one task checks.
const FEATURES: usize = 1 << 10;
const PAIRS: usize = 1 << 16;

/// A number for pairs of a feature and a label, sparse, by features.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FeatureLabelMatrix {
    /// Where the labels of each feature begin, and the end: d + 1.
    pub starts: Buffer<u64>,
    /// The labels of each feature, ascending.
    pub labels: Buffer<u32>,
    /// What it says of each: the bits of a bfloat16.
    pub weights: Buffer<bf16>,
}

impl Store for FeatureLabelMatrix {
    fn store(&self, out: &mut Writer<'_>) -> io::Result<()> {
        (&self.starts[..], &self.labels[..], &self.weights[..]).store(out)
    }
}

impl Load for FeatureLabelMatrix {
    fn load(from: &mut Reader) -> io::Result<FeatureLabelMatrix> {
        let (starts, labels, weights): (Vec<u64>, Vec<u32>, Vec<bf16>) = Load::load(from)?;
        Ok(FeatureLabelMatrix { starts: starts.into(), labels: labels.into(), weights: weights.into() })
    }
}

impl FeatureLabelMatrix {
    /// What is wrong with a matrix from a file, for `d` features and `c` labels.
    pub fn check(&self, d: usize, c: usize) -> Result<(), &'static str> {
        let ends = (self.starts.first(), self.starts.last());
        if self.starts.len() != d + 1 || ends != (Some(&0), Some(&(self.labels.len() as u64))) {
            return Err("its ranker does not fit its features");
        }
        if !self.starts.is_sorted() || self.weights.len() != self.labels.len() {
            return Err("its ranker contradicts itself");
        }
        let bad = |f: usize| {
            let labels = &self.labels[self.places(f)];
            !labels.is_sorted_by(|a, b| a < b) || labels.last().is_some_and(|label| *label as usize >= c)
        };
        if (0..d).into_par_iter().with_min_len(FEATURES).any(bad) {
            return Err("its ranker names labels that it does not have, or one twice");
        }
        if self.weights.par_iter().with_min_len(PAIRS).any(|weight| !weight.is_finite()) {
            return Err("its ranker holds numbers that are not finite");
        }
        Ok(())
    }

    pub fn places(&self, feature: usize) -> Range<usize> {
        self.starts[feature] as usize..self.starts[feature + 1] as usize
    }

    /// What a feature says of a label.
    pub fn weight(&self, feature: usize, label: u32) -> f32 {
        let places = self.places(feature);
        let found = self.labels[places.clone()].binary_search(&label);
        found.map_or(0.0, |at| self.weights[places.start + at].widen())
    }

    /// The labels of which the features of an example together say most, `most` of them, ascending, with what they say;
    /// labels of which they say nothing, or no, and `own` labels, ascending, are left out.
    pub fn leading(
        &self,
        (ids, values): (&[u32], Option<&[f32]>),
        most: usize,
        own: &[u32],
        sums: &mut SparseAccumulator,
    ) -> Vec<(u32, f32)> {
        sums.clear(ids.iter().map(|feature| self.places(*feature as usize).len()).sum());
        for (at, feature) in ids.iter().enumerate() {
            let value = values.map_or(1.0, |values| values[at]);
            let places = self.places(*feature as usize);
            let pairs = self.labels[places.clone()].iter().zip(&self.weights[places]);
            pairs.for_each(|(label, weight)| sums.add(*label, value * weight.widen()));
        }
        let mut best = TopK::new(most);
        let useful = sums.iter().filter(|(label, sum)| *sum > 0.0 && own.binary_search(label).is_err());
        useful.for_each(|(label, sum)| best.offer(label, sum));
        let mut leading: Vec<(u32, f32)> = best.into_ranked().collect();
        leading.sort_unstable_by_key(|(label, _)| *label);
        // Whoever looks for them had room for twice as many.
        leading.shrink_to_fit();
        leading
    }

    /// What the features of an example together say of each of some labels.
    pub fn sums(
        &self,
        (ids, values): (&[u32], Option<&[f32]>),
        labels: &[(u32, f32)],
        sums: &mut SparseAccumulator,
    ) -> Vec<f32> {
        sums.clear(labels.len());
        labels.iter().for_each(|(label, _)| sums.add(*label, 0.0));
        for (at, feature) in ids.iter().enumerate() {
            let value = values.map_or(1.0, |values| values[at]);
            let places = self.places(*feature as usize);
            let (ranked, weights) = (&self.labels[places.clone()], &self.weights[places]);
            if ranked.len() > LONG * labels.len() {
                for (label, _) in labels {
                    if let Ok(at) = ranked.binary_search(label) {
                        sums.add(*label, value * weights[at].widen());
                    }
                }
                continue;
            }
            for (label, weight) in ranked.iter().zip(weights) {
                if let Some(sum) = sums.find(*label) {
                    *sum += value * weight.widen();
                }
            }
        }
        labels.iter().map(|(label, _)| sums.find(*label).map_or(0.0, |sum| *sum)).collect()
    }
}
