//! Classifiers that go down trees instead of through an embedding: the systems that the paper compares with.
//!
//! Each has a file or folder of its own with parameters (plain data, checked before any work), a `fit`, and a fitted
//! type that ranks the labels of one example at a time. Fitted trees are flat arrays without pointers, so that a model
//! file holds them as they are; [`Arrays`] is how they go in and out.

#[cfg(test)]
mod damage;
pub mod fastxml;
mod hyperplane_tree;
pub mod label_tree;
pub mod lomtree;
mod lookup;
pub mod lpsr;
mod method;
mod multiclass;
mod parallel;
mod unit_row;

use std::borrow::Cow;
use std::fmt::Display;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use crate::data::{Dataset, Examples, Side};
use crate::linalg::topk::TopK;
use crate::{Error, Result};

pub use fastxml::{FastXml, FastXmlParams};
pub use hyperplane_tree::TreeSummary;
pub use label_tree::{Affinity, LabelTree, LabelTreeParams};
pub use lomtree::{LomTree, LomTreeParams};
pub use lpsr::{Lpsr, LpsrParams, Smoothing};
pub(crate) use method::TreeMemory;
pub use method::{TreeMethod, TreeParams, Trees};

/// Which labels of an example are asked for.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// So many at most.
    pub top: usize,
    /// Only these, ascending; absent: all.
    pub labels: Option<&'a [u32]>,
}

impl Wanted<'_> {
    /// Whether a label is among those asked for.
    pub fn allows(&self, label: u32) -> bool {
        self.labels.is_none_or(|labels| labels.binary_search(&label).is_ok())
    }

    /// The best of some labels, best first; of equals the lower label.
    pub fn best(&self, scores: impl Iterator<Item = (u32, f32)>) -> Vec<(u32, f32)> {
        let mut best = TopK::new(self.top);
        scores.filter(|(label, _)| self.allows(*label)).for_each(|(label, score)| best.offer(label, score));
        best.into_ranked().collect()
    }
}

/// Numbers of one kind.
#[derive(Clone, Debug, PartialEq)]
pub enum Array<'a> {
    /// Ids, places, counts.
    U32(Cow<'a, [u32]>),
    /// Weights and probabilities.
    F32(Cow<'a, [f32]>),
}

/// The arrays of a fitted classifier by name, in the order in which a file holds them.
pub type Arrays<'a> = Vec<(&'static str, Array<'a>)>;

/// Where the arrays of a classifier come from: a file, or memory.
pub(crate) trait ArraySource {
    /// Whether there is an array of this name, of whatever kind.
    fn has(&self, name: &'static str) -> bool;
    /// An array of ids, places or counts.
    fn u32s(&self, name: &'static str) -> Result<Vec<u32>, String>;
    /// An array of finite numbers.
    fn f32s(&self, name: &'static str) -> Result<Vec<f32>, String>;
}

impl ArraySource for Arrays<'_> {
    fn has(&self, name: &'static str) -> bool {
        self.iter().any(|(found, _)| *found == name)
    }

    fn u32s(&self, name: &'static str) -> Result<Vec<u32>, String> {
        match self.iter().find(|(found, _)| *found == name) {
            Some((_, Array::U32(numbers))) => Ok(numbers.to_vec()),
            _ => Err(missing(name)),
        }
    }

    fn f32s(&self, name: &'static str) -> Result<Vec<f32>, String> {
        match self.iter().find(|(found, _)| *found == name) {
            Some((_, Array::F32(numbers))) if numbers.iter().all(|v| v.is_finite()) => Ok(numbers.to_vec()),
            Some((_, Array::F32(_))) => Err(format!("tensor {name} holds numbers that are not finite")),
            _ => Err(missing(name)),
        }
    }
}

/// The message for an array that is not there.
pub(crate) fn missing(name: &str) -> String {
    format!("tensor {name} is missing or of another kind")
}

/// Refuses a parameter that is out of its bounds.
fn in_range<T: Copy + PartialOrd + Display>(name: &'static str, value: T, least: T, most: T) -> Result<()> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(Error::parameter(name, format!("must be {least} to {most}, not {value}")))
}

/// Refuses data with more entries than the trees can number.
fn check_entries(data: &Dataset) -> Result<()> {
    // A node has the constant feature besides, once for each example.
    if data.nnz(Side::X).max(data.nnz(Side::Y)) + data.shape().n as u64 >= u64::from(u32::MAX) {
        return Err(Error::Data("the data have too many entries for trees; train on a part of the examples".into()));
    }
    Ok(())
}

/// The random numbers of a node: a function of seed, tree and node alone.
fn rng(seed: u64, tree: usize, node: usize) -> ChaCha8Rng {
    let mut key = [0; 32];
    let parts = [seed, tree as u64, node as u64];
    key.chunks_mut(8).zip(parts).for_each(|(bytes, part)| bytes.copy_from_slice(&part.to_le_bytes()));
    ChaCha8Rng::from_seed(key)
}

/// Moves the examples that go right behind the others, without changing their order otherwise; returns where they begin.
fn part(examples: &mut [u32], right: &[bool]) -> usize {
    let side = |wanted: bool| examples.iter().zip(right).filter(move |(_, r)| **r == wanted).map(|(i, _)| *i);
    let parted: Vec<u32> = side(false).chain(side(true)).collect();
    examples.copy_from_slice(&parted);
    right.iter().filter(|r| !**r).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wanted_labels_are_ranked_and_no_others() {
        let scores = || [(4, 0.5), (1, 0.5), (2, 0.9), (0, 0.1)].into_iter();
        let all = Wanted { top: 3, labels: None };
        assert_eq!(all.best(scores()), [(2, 0.9), (1, 0.5), (4, 0.5)]);
        let some = Wanted { top: 3, labels: Some(&[0, 4]) };
        assert_eq!(some.best(scores()), [(4, 0.5), (0, 0.1)]);
    }

    #[test]
    fn arrays_are_found_by_name_and_kind() {
        let arrays: Arrays<'_> = vec![
            ("a", Array::U32(vec![1, 2].into())),
            ("b", Array::F32(vec![0.5].into())),
            ("c", Array::F32(vec![f32::NAN].into())),
        ];
        assert_eq!((arrays.u32s("a"), arrays.f32s("b")), (Ok(vec![1, 2]), Ok(vec![0.5])));
        assert!(arrays.f32s("a").is_err() && arrays.u32s("d").is_err() && arrays.f32s("c").is_err());
    }
}
