//! The tree while it learns: one example at a time, from the root to a leaf.

use super::node::{NONE, Node};
use super::params::LomTreeParams;
use super::weights::{ExampleRow, Slot, WeightLayout, margin, step};
use crate::Shape;

/// Levels of inner nodes at most; a leaf below so many is not split.
pub(super) const MOST_DEPTH: usize = 64;

/// The growing tree.
pub(super) struct Grower<'a> {
    params: &'a LomTreeParams,
    pub layout: WeightLayout,
    pub nodes: Vec<Node>,
    pub root: u32,
    pub slots: Vec<Slot>,
    /// Inner nodes, now and at most.
    pub inner: usize,
    most: usize,
    /// The next regressor that nobody has had.
    next: u32,
    /// Leaves that were given up for others.
    pub swaps: u64,
}

impl<'a> Grower<'a> {
    /// A tree of one leaf.
    pub fn new(params: &'a LomTreeParams, shape: Shape) -> Grower<'a> {
        let most = params.most_nodes(shape);
        let layout = WeightLayout::choose(most, shape.d, params.bits);
        Grower {
            params,
            layout,
            nodes: vec![Node::leaf(NONE, 0.0)],
            root: 0,
            slots: vec![[0.0; 2]; layout.places(most)],
            inner: 0,
            most,
            next: 0,
            swaps: 0,
        }
    }

    /// Learns one example.
    pub fn learn(&mut self, row: ExampleRow<'_>, class: u32, weight: f32) {
        let (mut at, mut depth) = (self.root, 0);
        loop {
            if self.nodes[at as usize].is_leaf() && !self.visit(at, depth, class, weight) {
                return;
            }
            let margin = self.teach(at, row, class, weight);
            at = self.nodes[at as usize].children[usize::from(margin > 0.0)];
            depth += 1;
        }
    }

    /// The leaf that an example ends in.
    pub fn route(&self, row: ExampleRow<'_>) -> u32 {
        let mut at = self.root;
        loop {
            let node = &self.nodes[at as usize];
            if node.is_leaf() {
                return at;
            }
            let margin = margin(self.layout.node(node.regressor), row, |place| self.slots[place][0]);
            at = node.children[usize::from(margin > 0.0)];
        }
    }

    /// Teaches the regressor of an inner node on which side the class of the example belongs: on the side where it is
    /// already, compared with the other classes. The margin afterwards.
    fn teach(&mut self, at: u32, row: ExampleRow<'_>, class: u32, weight: f32) -> f32 {
        let node = &mut self.nodes[at as usize];
        let places = self.layout.node(node.regressor);
        let before = margin(places, row, |place| self.slots[place][0]);
        let entry = node.classes.entry(class);
        let target = if node.mean > entry.mean { -1.0 } else { 1.0 };
        let after = step(&mut self.slots, places, row, before, target, weight, self.params.step);
        // The side counts. Margins far out would outweigh many that have changed it.
        let side = after.clamp(-1.0, 1.0);
        entry.weight += weight;
        entry.mean += share(weight, entry.weight) * (side - entry.mean);
        node.weight += weight;
        node.mean += share(weight, node.weight) * (side - node.mean);
        after
    }

    /// Counts an example in a leaf, and splits the leaf if it should be. Whether it was.
    fn visit(&mut self, at: u32, depth: usize, class: u32, weight: f32) -> bool {
        let node = &mut self.nodes[at as usize];
        let entry = node.classes.entry(class);
        entry.weight += weight;
        node.best = node.best.max(entry.weight);
        node.weight += weight;
        node.lightest += weight;
        let (several, mistakes) = (node.classes.len() > 1, node.weight - node.best);
        self.tell_above(at);
        if !several || mistakes < self.params.patience || depth >= MOST_DEPTH {
            return false;
        }
        if self.inner < self.most {
            let first = self.nodes.len() as u32;
            self.nodes.extend([Node::leaf(at, 0.0), Node::leaf(at, 0.0)]);
            let regressor = self.next;
            self.next = self.next.wrapping_add(1);
            self.split(at, [first, first + 1], regressor);
            return true;
        }
        let lightest = self.nodes[self.root as usize].lightest;
        mistakes > self.params.swap_resistance * (lightest + 1.0) && self.swap(at)
    }

    /// Makes an inner node of a leaf. Each child counts for half of it until they have seen examples of their own, or
    /// they would be the lightest at once.
    fn split(&mut self, at: u32, children: [u32; 2], regressor: u32) {
        let half = self.nodes[at as usize].lightest / 2.0;
        let parent = self.nodes[at as usize].parent;
        self.nodes[at as usize] = Node { children, regressor, ..Node::leaf(parent, half) };
        for child in children {
            self.nodes[child as usize] = Node::leaf(at, half);
        }
        self.inner += 1;
        self.tell_above(at);
    }

    /// Takes the lightest leaf and its parent out of the tree, puts its sibling in the parent's place, and splits another
    /// leaf with the two. Not if that leaf is itself the lightest.
    fn swap(&mut self, at: u32) -> bool {
        let lightest = self.find_lightest();
        if lightest == at {
            return false;
        }
        let parent = self.nodes[lightest as usize].parent;
        let Node { children, parent: above, regressor, .. } = self.nodes[parent as usize];
        let sibling = if children[0] == lightest { children[1] } else { children[0] };
        self.nodes[sibling as usize].parent = above;
        if above == NONE {
            self.root = sibling;
        } else {
            let side = usize::from(self.nodes[above as usize].children[1] == parent);
            self.nodes[above as usize].children[side] = sibling;
        }
        self.tell_above(sibling);
        self.inner -= 1;
        self.swaps += 1;
        let regressor = self.renew(regressor);
        self.split(at, [parent, lightest], regressor);
        true
    }

    fn find_lightest(&self) -> u32 {
        let mut at = self.root;
        while !self.nodes[at as usize].is_leaf() {
            let [left, right] = self.nodes[at as usize].children;
            let lighter = self.nodes[right as usize].lightest < self.nodes[left as usize].lightest;
            at = if lighter { right } else { left };
        }
        at
    }

    /// A regressor of zeros in place of one that is no longer used. Hashed numbers may be shared, so they are left and
    /// the new regressor has others.
    fn renew(&mut self, regressor: u32) -> u32 {
        match self.layout {
            WeightLayout::Side { width } => {
                self.slots[regressor as usize * width..][..width].fill([0.0; 2]);
                regressor
            }
            WeightLayout::Hashed { .. } => {
                self.next = self.next.wrapping_add(1);
                self.next.wrapping_sub(1)
            }
        }
    }

    /// Tells those above a node how light the lightest leaf below them is.
    fn tell_above(&mut self, node: u32) {
        let mut at = self.nodes[node as usize].parent;
        while at != NONE {
            let [left, right] = self.nodes[at as usize].children;
            let lightest = self.nodes[left as usize].lightest.min(self.nodes[right as usize].lightest);
            if self.nodes[at as usize].lightest == lightest {
                return;
            }
            self.nodes[at as usize].lightest = lightest;
            at = self.nodes[at as usize].parent;
        }
    }
}

/// The weight of a new example in a mean. Where nothing has weight, nothing.
fn share(weight: f32, all: f32) -> f32 {
    if all > 0.0 { weight / all } else { 0.0 }
}
