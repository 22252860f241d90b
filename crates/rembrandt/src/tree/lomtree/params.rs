//! The parameters of a LomTree, their defaults and bounds.

use serde::{Deserialize, Serialize};

use super::classes;
use super::node::Node;
use super::weights::{Slot, WeightLayout};
use crate::data::{Dataset, Side, check_not_empty};
use crate::{Error, Examples, Result, Shape};

/// Inner nodes for each class, by default.
const NODES_PER_CLASS: usize = 16;
/// Levels that the classes of an example are remembered at, beyond those of a balanced tree.
const MORE_LEVELS: f64 = 3.0;
/// Memory of a process whatever it computes.
const OVERHEAD: u64 = 8 << 20;

/// How to grow a LomTree. Plain data: change fields, call [`fit`](LomTreeParams::fit).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct LomTreeParams {
    /// Inner nodes at most; absent: 16 for each class. One less than there are classes is what a leaf per class takes,
    /// and the least that can be right about all of them; a class that no straight cut holds together wants several
    /// leaves. Depth grows with the logarithm.
    pub nodes: Option<usize>,
    /// Times that the tree learns from every example.
    pub passes: usize,
    /// Length of the steps of the regressors, in units of a row of length 1.
    pub step: f32,
    /// Mistakes that a leaf must have made to be split, as weight of the examples that are not of its most frequent
    /// class. A few keep noise above from filling the tree before it has settled.
    pub patience: f32,
    /// When all nodes are in use, a leaf is split at the cost of the lightest one if its mistakes weigh more than this
    /// times the lightest leaf.
    pub swap_resistance: f32,
    /// The regressors have at most 2^bits numbers in all; those of more nodes and features are hashed into them.
    pub bits: u32,
    /// Seed of the order of the examples.
    pub seed: u64,
}

impl Default for LomTreeParams {
    fn default() -> LomTreeParams {
        LomTreeParams { nodes: None, passes: 10, step: 1.0, patience: 5.0, swap_resistance: 4.0, bits: 24, seed: 1 }
    }
}

setter!(LomTreeParams);

impl LomTreeParams {
    /// Checks every parameter by itself and against the size of the data, before any work.
    pub fn check(&self, shape: Shape) -> Result<()> {
        check_not_empty(shape)?;
        let most = u32::MAX as usize - 1;
        if shape.n > most || shape.d > most || shape.c > most {
            return Err(Error::Data("a LomTree is for fewer than 2³² examples, features and labels".into()));
        }
        if self.nodes.is_some_and(|nodes| !(1..=1 << 30).contains(&nodes)) {
            return Err(Error::parameter("nodes", "must be from 1 to 2³⁰"));
        }
        if !(1..=1000).contains(&self.passes) {
            return Err(Error::parameter("passes", "must be from 1 to 1000"));
        }
        if !(self.step > 0.0 && self.step <= 100.0) {
            return Err(Error::parameter("step", "must be above 0 and at most 100"));
        }
        if !(0.0..=1e9).contains(&self.patience) {
            return Err(Error::parameter("patience", "must be from 0 to 10⁹"));
        }
        if !(self.swap_resistance > 0.0 && self.swap_resistance <= 1e9) {
            return Err(Error::parameter("swap_resistance", "must be above 0 and at most 10⁹"));
        }
        if !(8..=32).contains(&self.bits) {
            return Err(Error::parameter("bits", "must be from 8 to 32"));
        }
        Ok(())
    }

    /// Inner nodes at most, for these data. More leaves than examples would be empty ones.
    pub(super) fn most_nodes(&self, shape: Shape) -> usize {
        let nodes = self.nodes.unwrap_or(shape.c.saturating_mul(NODES_PER_CLASS));
        if shape.c < 2 { 0 } else { nodes.min(shape.n.saturating_sub(1)) }
    }

    /// Bytes that a fit takes besides the data, at its peak.
    pub fn memory(&self, data: &Dataset) -> u64 {
        let shape = data.shape();
        let most = self.most_nodes(shape);
        let places = WeightLayout::choose(most, shape.d, self.bits.clamp(8, 32)).places(most) as f64;
        let (n, nodes) = (shape.n as f64, most as f64);
        // The numbers with their squared gradients, and then by themselves.
        let regressors = places * (size_of::<Slot>() + 4) as f64;
        // An example leaves its class at every level, unless it is there; tables are half empty.
        let levels = (nodes + 1.0).log2() + MORE_LEVELS;
        let remembered = (n * levels).min((2.0 * nodes + 1.0) * shape.c as f64);
        let tables = (2.0 * nodes + 1.0) * size_of::<Node>() as f64 + 2.0 * remembered * classes::PLACE as f64;
        // A copy of the features, the labels, an order with its keys, and in the end a leaf for each.
        let copies = 8.0 * data.nnz(Side::X) as f64 + n * 48.0;
        ((regressors + tables + copies) as u64).saturating_add(OVERHEAD)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_parameters_are_named() {
        type Change = fn(&mut LomTreeParams);
        let cases: [(&str, Change); 9] = [
            ("nodes", |p| p.nodes = Some(0)),
            ("passes", |p| p.passes = 0),
            ("passes", |p| p.passes = 1001),
            ("step", |p| p.step = f32::NAN),
            ("step", |p| p.step = 0.0),
            ("patience", |p| p.patience = -1.0),
            ("swap_resistance", |p| p.swap_resistance = f32::INFINITY),
            ("bits", |p| p.bits = 7),
            ("bits", |p| p.bits = 33),
        ];
        let shape = Shape { n: 10, d: 10, c: 10 };
        assert!(LomTreeParams::default().check(shape).is_ok());
        for (expected, change) in cases {
            let mut params = LomTreeParams::default();
            change(&mut params);
            match params.check(shape) {
                Err(Error::Parameter { name, .. }) => assert_eq!(name, expected),
                other => panic!("{expected}: {other:?}"),
            }
        }
        assert!(LomTreeParams::default().check(Shape { n: 0, ..shape }).is_err());
    }

    #[test]
    fn a_tree_has_no_more_leaves_than_examples() {
        let params = LomTreeParams::default();
        assert_eq!(params.most_nodes(Shape { n: 10, d: 1, c: 3 }), 9);
        assert_eq!(params.most_nodes(Shape { n: 1000, d: 1, c: 3 }), 48);
        assert_eq!(params.most_nodes(Shape { n: 1000, d: 1, c: 1 }), 0);
    }
}
