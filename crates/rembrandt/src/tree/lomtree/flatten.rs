//! From the grown tree to the fitted one: cuts are fixed, examples counted, and empty leaves cut off.

use rayon::prelude::*;

use super::fitted::LomTree;
use super::grow::Grower;
use super::weights::WeightLayout;
use super::{REPORT, TrainingSet};
use crate::tree::unit_row::RowBuffer;
use crate::{Result, Run};

/// Sends all examples down once more and writes the tree as flat arrays, parents before children.
pub(super) fn finish(grower: Grower<'_>, table: &TrainingSet, run: &mut Run<'_>) -> Result<LomTree> {
    let n = table.classes.len();
    let mut reached: Vec<(u32, u32, u32)> = Vec::with_capacity(n);
    for from in (0..n).step_by(REPORT) {
        let to = (from + REPORT).min(n);
        let routed = (from..to)
            .into_par_iter()
            .filter(|i| table.weight(*i) > 0.0)
            .map_init(RowBuffer::default, |buffer, i| (grower.route(table.row(i, buffer)), table.classes[i], i as u32));
        reached.par_extend(routed);
        run.advance("counting", (to - from) as u64)?;
    }
    reached.par_sort_unstable();
    Ok(write(grower, table.shape.d, &reached, |i| f64::from(table.weight(i))))
}

/// `reached` are the leaf, the class and the number of every example, ascending.
fn write(grower: Grower<'_>, d: usize, reached: &[(u32, u32, u32)], weight: impl Fn(usize) -> f64) -> LomTree {
    let alive = alive(&grower, reached);
    let mut tree = LomTree::empty(d);
    // Nodes to write, with the place in `children` that waits for them.
    let mut waiting = vec![(grower.root, None)];
    let (mut order, mut leaves) = (Vec::new(), Vec::new());
    while let Some((mut at, place)) = waiting.pop() {
        // A node with examples on one side only is passed over, its only child takes its place.
        let mut node = &grower.nodes[at as usize];
        while !node.is_leaf()
            && let Some(only) = only_child(node.children, &alive)
        {
            (at, node) = (only, &grower.nodes[only as usize]);
        }
        let number = if node.is_leaf() {
            leaves.push(at);
            Child::Leaf(leaves.len() - 1)
        } else {
            order.push(node.regressor);
            tree.children.extend([0; 2]);
            let own = 2 * (order.len() - 1);
            waiting.extend([(node.children[1], Some(own + 1)), (node.children[0], Some(own))]);
            Child::Inner(order.len() - 1)
        };
        if let Some(place) = place {
            // Leaves are numbered after all inner nodes, of which there is one less than leaves in the end.
            tree.children[place] = match number {
                Child::Inner(i) => i as u32,
                Child::Leaf(i) => u32::MAX - i as u32,
            };
        }
    }
    let inner = order.len() as u32;
    for child in tree.children.iter_mut().filter(|child| **child >= inner) {
        *child = inner + (u32::MAX - *child);
    }
    for leaf in leaves {
        let from = reached.partition_point(|r| r.0 < leaf);
        let to = reached.partition_point(|r| r.0 <= leaf);
        for examples in reached[from..to].chunk_by(|a, b| a.1 == b.1) {
            tree.leaf_classes.push(examples[0].1);
            tree.leaf_weights.push(examples.iter().map(|r| weight(r.2 as usize)).sum::<f64>() as f32);
        }
        tree.leaf_starts.push(tree.leaf_classes.len() as u32);
    }
    (tree.weights, tree.regressors) = match grower.layout {
        WeightLayout::Side { width } => {
            let row = |regressor: &u32| &grower.slots[*regressor as usize * width..][..width];
            (order.iter().flat_map(row).map(|slot| slot[0]).collect(), Vec::new())
        }
        WeightLayout::Hashed { .. } if inner == 0 => Default::default(),
        WeightLayout::Hashed { .. } => (grower.slots.iter().map(|slot| slot[0]).collect(), order),
    };
    tree
}

enum Child {
    Inner(usize),
    Leaf(usize),
}

/// Whether any example goes through each node.
fn alive(grower: &Grower<'_>, reached: &[(u32, u32, u32)]) -> Vec<bool> {
    let mut alive = vec![false; grower.nodes.len()];
    for examples in reached.chunk_by(|a, b| a.0 == b.0) {
        let mut at = examples[0].0;
        while let Some(node) = grower.nodes.get(at as usize) {
            if std::mem::replace(&mut alive[at as usize], true) {
                break;
            }
            at = node.parent;
        }
    }
    alive
}

fn only_child(children: [u32; 2], alive: &[bool]) -> Option<u32> {
    match children.map(|child| alive[child as usize]) {
        [true, true] => None,
        [false, true] => Some(children[1]),
        _ => Some(children[0]),
    }
}
