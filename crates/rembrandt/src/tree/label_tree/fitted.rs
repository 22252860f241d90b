//! A trained label tree: ranking, and the way into files and out of them.

use serde::{Deserialize, Serialize};

use super::scorers::{Candidates, Input, look_at_root, look_below, soften};
use super::tree::Tree;
use crate::Embedding;
use crate::csr::CsrRef;
use crate::matrix::Matrix;
use crate::tree::unit_row::{RowBuffer, unit_row};
use crate::tree::{Array, Arrays, Source, Wanted};

/// A label tree, trained.
#[derive(Clone, Debug, PartialEq)]
pub struct LabelTree {
    pub(super) d: usize,
    pub(super) beam: usize,
    pub(super) tree: Tree,
    /// Training examples of each node of the last level; 0 above.
    pub(super) counts: Vec<u32>,
    pub(super) projection: Option<Projection>,
    pub(super) weights: Vec<f32>,
}

/// V: where features are too many to be scored as they are.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Projection {
    matrix: Matrix,
    intercept: Vec<f32>,
    /// 0, 1, … one for each dimension.
    ids: Vec<u32>,
}

impl Projection {
    /// The projection of an embedding, divided by a number with which the rows that it makes have length 1 on average.
    pub fn new(embedding: &Embedding, rows: CsrRef<'_>) -> Projection {
        let mut projection = Projection::of(embedding.projection.clone(), embedding.intercept.clone());
        let (mut buffers, mut square, d) = (Default::default(), 0.0, projection.matrix.rows());
        for i in 0..rows.rows() {
            let projected = input(Some(&projection), rows.row(i), d, &mut buffers).values;
            square += projected.iter().map(|v| f64::from(*v) * f64::from(*v)).sum::<f64>();
        }
        let size = (square / rows.rows() as f64).sqrt();
        if size > 0.0 {
            let numbers = projection.matrix.as_mut_slice().iter_mut().chain(&mut projection.intercept);
            numbers.for_each(|v| *v = (f64::from(*v) / size) as f32);
        }
        projection
    }

    fn of(matrix: Matrix, intercept: Vec<f32>) -> Projection {
        let ids = (0..matrix.cols() as u32).collect();
        Projection { matrix, intercept, ids }
    }

    /// Number of dimensions.
    pub fn rank(&self) -> usize {
        self.matrix.cols()
    }

    fn project(&self, ids: &[u32], values: &[f32], out: &mut Vec<f32>) {
        out.clear();
        out.extend_from_slice(&self.intercept);
        for (id, value) in ids.iter().zip(values) {
            out.iter_mut().zip(self.matrix.row(*id as usize)).for_each(|(o, v)| *o += value * v);
        }
    }
}

/// What the scorers see of a row: it is divided by its length and, where there is a projection, projected.
pub(super) fn input<'a>(
    projection: Option<&'a Projection>,
    (ids, values): (&'a [u32], Option<&[f32]>),
    d: usize,
    (row, buffer): &'a mut (RowBuffer, Vec<f32>),
) -> Input<'a> {
    let (ids, values) = unit_row(ids, values, d, row);
    match projection {
        None => Input { ids, values },
        Some(projection) => {
            projection.project(ids, values, buffer);
            Input { ids: &projection.ids, values: buffer }
        }
    }
}

/// What a label tree is like.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LabelTreeSummary {
    /// Nodes that are not labels.
    pub nodes: usize,
    /// Labels in the tree.
    pub leaves: usize,
    /// Levels below the root: the depth of every label, so that the greatest depth and the mean are the same.
    pub depth: usize,
    /// Children of the root.
    pub root_children: usize,
    /// Children of the node of the last level that has the most.
    pub largest_group: usize,
    /// Nodes of a level whose children are scored.
    pub beam: usize,
    /// Scorers that a training example meets, on average, if groups are looked at as often as they have examples.
    pub scorers: f64,
    /// Dimensions that scorers work in.
    pub rank: usize,
    /// Whether the features go through a projection first.
    pub projected: bool,
    /// Numbers of all scorers.
    pub numbers: usize,
}

impl LabelTree {
    fn width(&self) -> usize {
        self.projection.as_ref().map_or(self.d, Projection::rank) + 1
    }

    /// The best labels of an example, best first, with probabilities that add up to 1 over all labels that the search
    /// came to. Without values, every feature is 1; features that the tree does not know are passed over.
    pub fn rank(&self, ids: &[u32], values: Option<&[f32]>, wanted: Wanted<'_>) -> Vec<(u32, f32)> {
        let (mut buffers, mut found) = (Default::default(), Candidates::default());
        let input = input(self.projection.as_ref(), (ids, values), self.d, &mut buffers);
        look_at_root(&self.tree, &self.weights, self.width(), input, &mut found);
        for _ in 1..self.tree.depth {
            look_below(&self.tree, &self.weights, self.width(), input, (self.beam, 0), &mut found);
        }
        soften(&mut found.scores);
        let labels = found.nodes(&self.tree).map(|node| self.tree.labels[node as usize]);
        // Numbers beyond all bounds in an example make scores that are none, which are no probabilities.
        let sound = |p: f32| if p.is_nan() { 0.0 } else { p };
        wanted.best(labels.zip(&found.scores).map(|(label, p)| (label, sound(*p))))
    }

    /// What the tree is like.
    pub fn summary(&self) -> LabelTreeSummary {
        let tree = &self.tree;
        let leaves = tree.len() - (0..tree.len() as u32).filter(|node| !tree.children(*node).is_empty()).count();
        // Nodes of one level, and how many examples each has; from the last level up.
        let mut weights: Vec<f64> = self.counts.iter().map(|count| f64::from(*count)).collect();
        for node in (0..tree.len() as u32).rev() {
            let below: f64 = tree.children(node).map(|child| weights[child as usize]).sum();
            weights[node as usize] += below;
        }
        let mut level = 0..1u32;
        let mut scorers = 0.0;
        for _ in 0..tree.depth {
            let children = |node: u32| tree.children(node).len() as f64;
            let total: f64 = level.clone().map(|node| weights[node as usize]).sum();
            let mean: f64 =
                level.clone().map(|node| weights[node as usize] * children(node)).sum::<f64>() / total.max(1.0);
            scorers += mean * self.beam.min(level.len()) as f64;
            level = tree.first[level.start as usize]..tree.first[level.end as usize];
        }
        let groups = (0..tree.len() as u32).filter(|node| tree.children(*node).start < level.end);
        let last = groups.filter(|node| tree.children(*node).start >= level.start);
        LabelTreeSummary {
            nodes: tree.len() - leaves,
            leaves,
            depth: tree.depth,
            root_children: tree.children(0).len(),
            largest_group: last.map(|node| tree.children(node).len()).max().unwrap_or(0),
            beam: self.beam,
            scorers,
            rank: self.width() - 1,
            projected: self.projection.is_some(),
            numbers: self.weights.len(),
        }
    }

    /// All of it, for a file.
    pub fn arrays(&self) -> Arrays<'_> {
        let (matrix, intercept): (&[f32], &[f32]) =
            self.projection.as_ref().map_or((&[], &[]), |p| (p.matrix.as_slice(), &p.intercept));
        vec![
            ("label_tree.first", Array::U32((&self.tree.first).into())),
            ("label_tree.labels", Array::U32((&self.tree.labels).into())),
            ("label_tree.counts", Array::U32((&self.counts).into())),
            ("label_tree.beam", Array::U32(vec![self.beam as u32].into())),
            ("label_tree.projection", Array::F32(matrix.into())),
            ("label_tree.intercept", Array::F32(intercept.into())),
            ("label_tree.weights", Array::F32((&self.weights).into())),
        ]
    }

    /// The tree for `d` features and `c` labels that the arrays of a file hold. Everything that ranking relies on is
    /// checked, so that no damaged file makes it panic or go round in circles.
    pub(crate) fn from_arrays(source: &dyn Source, (d, c): (usize, usize)) -> Result<LabelTree, String> {
        let tree = Tree::checked(source.u32s("label_tree.first")?, source.u32s("label_tree.labels")?, c)?;
        let counts = source.u32s("label_tree.counts")?;
        if counts.len() != tree.len() {
            return Err("tensor label_tree.counts does not fit the tree".into());
        }
        let beam = match source.u32s("label_tree.beam")?[..] {
            [beam] if beam > 0 => beam as usize,
            _ => return Err("tensor label_tree.beam holds other than one positive number".into()),
        };
        let (matrix, intercept) = (source.f32s("label_tree.projection")?, source.f32s("label_tree.intercept")?);
        let projection = if intercept.is_empty() && matrix.is_empty() {
            None
        } else if d.checked_mul(intercept.len()) == Some(matrix.len()) {
            Some(Projection::of(Matrix::from_vec(d, intercept.len(), matrix), intercept))
        } else {
            return Err("tensors projection and intercept do not fit each other".into());
        };
        let tree = LabelTree { d, beam, tree, counts, projection, weights: source.f32s("label_tree.weights")? };
        if tree.width().checked_mul(tree.tree.len() - 1) != Some(tree.weights.len()) {
            return Err("tensor label_tree.weights does not fit the tree".into());
        }
        Ok(tree)
    }
}
