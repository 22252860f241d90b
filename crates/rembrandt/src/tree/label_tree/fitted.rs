//! A trained label tree: ranking, and the way into files and out of them.

use serde::{Deserialize, Serialize};

use super::scorers::{Candidates, Reach, ScorerInput};
use super::tables::Tables;
use super::tree::Tree;
use crate::Embedding;
use crate::linalg::csr::CsrRef;
use crate::linalg::kernels::elementwise::exp_sum;
use crate::linalg::matrix::Matrix;
use crate::tree::unit_row::{RowBuffer, unit_row};
use crate::tree::{Array, ArraySource, Arrays, Wanted};

/// A label tree, trained.
#[derive(Clone, Debug, PartialEq)]
pub struct LabelTree {
    pub(super) d: usize,
    pub(super) beam: usize,
    /// How far behind the best of its level a node may be to be followed; infinite in files without it.
    pub(super) margin: f32,
    pub(super) tree: Tree,
    /// Training examples of each node of the last level; 0 above.
    pub(super) counts: Vec<u32>,
    pub(super) projection: Option<Projection>,
    pub(super) weights: Tables,
}

/// Memory for [`LabelTree::rank_into`], kept from example to example.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    input: (RowBuffer, Vec<f32>),
    found: Candidates,
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

/// The row as the scorers see it: divided by its length and, where there is a projection, projected.
pub(super) fn input<'a>(
    projection: Option<&'a Projection>,
    (ids, values): (&'a [u32], Option<&[f32]>),
    d: usize,
    (row, buffer): &'a mut (RowBuffer, Vec<f32>),
) -> ScorerInput<'a> {
    let (ids, values) = unit_row(ids, values, d, row);
    match projection {
        None => ScorerInput { ids, values },
        Some(projection) => {
            projection.project(ids, values, buffer);
            ScorerInput { ids: &projection.ids, values: buffer }
        }
    }
}

/// The size and shape of a label tree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
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
    /// Scorers that a training example meets, on average, with the whole beam, whatever the margin, if groups are looked at
    /// as often as they have examples.
    pub scorers: f64,
    /// Dimensions that scorers work in.
    pub rank: usize,
    /// Whether the features go through a projection first.
    pub projected: bool,
    /// Numbers of all scorers.
    pub numbers: usize,
}

impl LabelTree {
    /// The best labels of an example, best first, with probabilities that add up to 1 over all labels that the search
    /// came to. Without values, every feature is 1; features that the tree does not know are passed over.
    pub fn rank(&self, ids: &[u32], values: Option<&[f32]>, wanted: Wanted<'_>) -> Vec<(u32, f32)> {
        let mut ranked = Vec::new();
        self.rank_into((ids, values), wanted, &mut Memory::default(), |label, p| ranked.push((label, p)));
        ranked
    }

    /// Like [`rank`](LabelTree::rank), without asking for memory: labels and probabilities are handed to `take`.
    pub(crate) fn rank_into(
        &self,
        row: (&[u32], Option<&[f32]>),
        wanted: Wanted<'_>,
        memory: &mut Memory,
        mut take: impl FnMut(u32, f32),
    ) {
        self.search(row, wanted, memory, |_| ());
        let found = &mut memory.found;
        let (largest, sum) = exp_sum(&found.scores);
        for (label, score) in found.best_labels(&self.tree, wanted) {
            let p = (f64::from((score - largest).exp()) / sum).min(1.0) as f32;
            // Numbers beyond all bounds in an example make scores that are none, which are no probabilities.
            take(label, if p.is_nan() { 0.0 } else { p });
        }
    }

    /// How many scorers an example meets when its `top` best labels are looked for: what a prediction costs, where a flat
    /// classifier would meet one for every label.
    pub fn scorers_met(&self, ids: &[u32], values: Option<&[f32]>, top: usize) -> usize {
        let (mut memory, mut met) = (Memory::default(), 0);
        self.search((ids, values), Wanted { top, labels: None }, &mut memory, |found| {
            met += found.nodes(&self.tree).count();
        });
        met
    }

    /// Goes down to the labels. `each` sees the candidates of every level.
    #[inline]
    fn search(
        &self,
        row: (&[u32], Option<&[f32]>),
        wanted: Wanted<'_>,
        Memory { input: buffers, found }: &mut Memory,
        mut each: impl FnMut(&Candidates),
    ) {
        let input = input(self.projection.as_ref(), row, self.d, buffers);
        // Where only some labels are asked for, they are looked for in the whole beam.
        let margin = if wanted.labels.is_some() { f32::INFINITY } else { self.margin };
        let reach = Reach { beam: self.beam, margin, least: wanted.top, also: 0 };
        found.look_at_root(&self.weights, input);
        each(found);
        for _ in 1..self.tree.depth {
            found.look_below(&self.tree, &self.weights, input, reach);
            each(found);
        }
    }

    /// The size and shape of the tree.
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
            rank: self.weights.width - 1,
            projected: self.projection.is_some(),
            numbers: self.weights.width * (tree.len() - 1),
        }
    }

    /// All of it, for a file.
    pub fn arrays(&self) -> Arrays<'_> {
        let (matrix, intercept): (&[f32], &[f32]) =
            self.projection.as_ref().map_or((&[], &[]), |p| (p.matrix.as_slice(), &p.intercept));
        let mut arrays = vec![
            ("label_tree.first", Array::U32((&self.tree.first).into())),
            ("label_tree.labels", Array::U32((&self.tree.labels).into())),
            ("label_tree.counts", Array::U32((&self.counts).into())),
            ("label_tree.beam", Array::U32(vec![self.beam as u32].into())),
            ("label_tree.projection", Array::F32(matrix.into())),
            ("label_tree.intercept", Array::F32(intercept.into())),
            ("label_tree.weights", Array::F32(self.weights.packed().into())),
        ];
        if self.margin.is_finite() {
            arrays.push(("label_tree.margin", Array::F32(vec![self.margin].into())));
        }
        arrays
    }

    /// The tree for `d` features and `c` labels that the arrays of a file hold. Everything that ranking relies on is
    /// checked, so that no damaged file makes it panic or go round in circles.
    pub(crate) fn from_arrays(source: &dyn ArraySource, (d, c): (usize, usize)) -> Result<LabelTree, String> {
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
        let width = projection.as_ref().map_or(d, Projection::rank) + 1;
        let weights = Tables::unpacked(&tree, width, &source.f32s("label_tree.weights")?)
            .ok_or("tensor label_tree.weights does not fit the tree")?;
        Ok(LabelTree { d, beam, margin: margin(source)?, tree, counts, projection, weights })
    }
}

/// How far behind the best a node may be to be followed. Trees of earlier versions follow all of the beam.
fn margin(source: &dyn ArraySource) -> Result<f32, String> {
    if !source.has("label_tree.margin") {
        return Ok(f32::INFINITY);
    }
    match source.f32s("label_tree.margin")?[..] {
        [margin] if margin >= 0.0 => Ok(margin),
        _ => Err("tensor label_tree.margin holds other than one number, zero or more".into()),
    }
}
