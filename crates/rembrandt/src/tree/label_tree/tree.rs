//! The tree of labels: which there are below which node.

/// Stands for no label.
pub(super) const NO_LABEL: u32 = u32::MAX;

/// Nodes in the order of their levels, the root first; so the children of a node have consecutive numbers.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tree {
    /// First child of each node, and then the number of nodes. The children end where those of the next node begin.
    pub first: Vec<u32>,
    /// Label of each node of the last level; [`NO_LABEL`] above.
    pub labels: Vec<u32>,
    pub depth: usize,
}

impl Tree {
    /// A tree over the groups that `divide` makes: it gets the labels of a group, and returns them in parts.
    pub fn grow(labels: Vec<u32>, depth: usize, divide: impl Fn(Vec<u32>) -> Vec<Vec<u32>>) -> Tree {
        let mut tree = Tree { first: vec![1], labels: vec![NO_LABEL], depth };
        let mut level = vec![labels];
        let mut begun = 1;
        for below in (0..depth).rev() {
            let mut next = Vec::new();
            for group in level {
                let parts = match below {
                    0 => group.into_iter().map(|label| vec![label]).collect(),
                    _ => divide(group),
                };
                begun += parts.len() as u32;
                tree.first.push(begun);
                next.extend(parts);
            }
            let label = |part: &Vec<u32>| if below == 0 { part[0] } else { NO_LABEL };
            tree.labels.extend(next.iter().map(label));
            level = next;
        }
        // Labels have no children: theirs begin and end behind the last node.
        tree.first.resize(tree.labels.len() + 1, begun);
        tree
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// The children of a node.
    #[inline]
    pub fn children(&self, node: u32) -> std::ops::Range<u32> {
        self.first[node as usize]..self.first[node as usize + 1]
    }

    /// The way to each of `c` labels, without the root: `depth` nodes each, 0 for labels that are not in the tree.
    pub fn paths(&self, c: usize) -> Vec<u32> {
        let mut parents = vec![0u32; self.len()];
        for node in 0..self.len() as u32 {
            self.children(node).for_each(|child| parents[child as usize] = node);
        }
        let mut paths = vec![0; c * self.depth];
        for (node, label) in self.labels.iter().enumerate().filter(|(_, label)| **label != NO_LABEL) {
            let mut at = node as u32;
            for place in paths[*label as usize * self.depth..][..self.depth].iter_mut().rev() {
                *place = at;
                at = parents[at as usize];
            }
        }
        paths
    }

    /// A tree from a file, of which everything that a search relies on is checked.
    pub fn checked(first: Vec<u32>, labels: Vec<u32>, c: usize) -> Result<Tree, String> {
        let nodes = labels.len();
        let sound = nodes >= 2
            && first.len() == nodes + 1
            && first[0] == 1
            && first[nodes] as usize == nodes
            && first.is_sorted();
        if !sound {
            return Err("tensor label_tree.first does not make a tree".into());
        }
        // Children come after their parents, so this ends, and depths of parents are known first.
        let mut depths = vec![0usize; nodes];
        for node in 0..nodes {
            for child in first[node] as usize..first[node + 1] as usize {
                if child <= node {
                    return Err(format!("tensor label_tree.first makes no tree at node {node}"));
                }
                depths[child] = depths[node] + 1;
            }
        }
        let depth = depths[nodes - 1];
        let mut seen = vec![false; c];
        for node in 0..nodes {
            let (leaf, label) = (first[node] == first[node + 1], labels[node]);
            let sound = match seen.get_mut(label as usize) {
                Some(seen) => leaf && depths[node] == depth && !std::mem::replace(seen, true),
                None => !leaf && label == NO_LABEL,
            };
            if !sound {
                return Err(format!("tensor labels does not fit the tree at node {node}"));
            }
        }
        Ok(Tree { first, labels, depth })
    }
}
