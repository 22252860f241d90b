//! [`Node`]: a place of the tree while it grows.

use super::classes::Classes;

/// No node.
pub(super) const NONE: u32 = u32::MAX;

/// A place of the tree: a leaf until it is split.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub parent: u32,
    /// Both or none.
    pub children: [u32; 2],
    /// Which numbers of the table are its regressor; of an inner node.
    pub regressor: u32,
    /// Classes that came by since the node is what it is.
    pub classes: Classes,
    /// Weight of the examples that came by.
    pub weight: f32,
    /// Mean of their margins, at an inner node.
    pub mean: f32,
    /// The largest weight of a class, in a leaf.
    pub best: f32,
    /// Weight of the lightest leaf below. A leaf has half of what it was split from on top of its own.
    pub lightest: f32,
}

impl Node {
    pub fn leaf(parent: u32, inherited: f32) -> Node {
        Node {
            parent,
            children: [NONE; 2],
            regressor: NONE,
            classes: Classes::default(),
            weight: 0.0,
            mean: 0.0,
            best: 0.0,
            lightest: inherited,
        }
    }

    pub fn is_leaf(&self) -> bool {
        self.children[0] == NONE
    }
}
