//! Scores of labels for some examples at once, and the best of them.
//!
//! Labels go through in tiles, so that nothing of the size examples × labels is ever written down. Groups of tiles are
//! handed to threads; where they begin depends on the number of labels alone, and so do the sums.

use std::ops::Range;

use rayon::prelude::*;

use super::layout::HeadKind;
use super::open::Model;
use super::precision::Table;
use super::predict::Search;
use super::pursuit::Trained;
use crate::linalg::csr::CsrRef;
use crate::linalg::kernels::elementwise::{cos_turns, exp_sum};
use crate::linalg::kernels::gather;
use crate::linalg::kernels::select::among_largest;
use crate::linalg::matrix::{MatRef, Matrix};
use crate::linalg::sparse_accumulator::SparseAccumulator;
use crate::linalg::topk::TopK;
use crate::score::head::{Loss, Pursuit};
use crate::score::ranker::{Labels, Nominated, with_nominated};
use crate::score::shortlist::{Lists, Rest, Width};

/// Examples of a task that looks for likely labels.
const EXAMPLES: usize = 8;
/// Labels of a tile.
const TILE: usize = 256;
/// Groups of tiles at most: more would hold more candidates at a time.
const GROUPS: usize = 16;

/// Scores the labels that were trained, or some of them.
#[derive(Debug)]
pub(super) struct Scorer<'m> {
    model: &'m Model,
    /// What the inputs of the head are multiplied with.
    weights: Rows<'m>,
    /// How much of which rows to add, multiplied with h.
    blend: Option<(f32, Rows<'m>)>,
    /// The label of each row; absent when rows are labels.
    ids: Option<Vec<u32>>,
    /// Where to look for the labels of an example, if not all are scored.
    search: Option<(Width, Lists<'m>, Option<&'m Rest>)>,
}

/// Rows of weights: those of the file, or copies of a few of them.
#[derive(Debug)]
enum Rows<'m> {
    Mapped(Table<'m>),
    Owned(Matrix),
}

impl<'m> Rows<'m> {
    fn new(table: Table<'m>, ids: Option<&[u32]>) -> Rows<'m> {
        let Some(ids) = ids else { return Rows::Mapped(table) };
        let mut some = Matrix::zeros(ids.len(), table.cols());
        ids.iter().enumerate().for_each(|(i, id)| some.row_mut(i).copy_from_slice(&table.row(*id as usize)));
        Rows::Owned(some)
    }

    fn table(&self) -> Table<'_> {
        match self {
            Rows::Mapped(table) => *table,
            Rows::Owned(matrix) => matrix.view().into(),
        }
    }
}

/// What is known of an example after some labels.
#[derive(Clone, Debug)]
pub(super) struct Scored {
    /// The best labels with their calibrated scores.
    pub best: TopK,
    /// Of all labels; kept under softmax only.
    pub sum: LogSum,
}

/// log Σ exp, part by part.
#[derive(Clone, Copy, Debug)]
pub(super) struct LogSum {
    largest: f32,
    sum: f64,
}

impl LogSum {
    fn add(&mut self, (largest, sum): (f32, f64)) {
        if sum == 0.0 {
            return;
        }
        let both = self.largest.max(largest);
        let scaled = |from: f32, sum: f64| if sum == 0.0 { 0.0 } else { sum * f64::from(from - both).exp() };
        *self = LogSum { largest: both, sum: scaled(self.largest, self.sum) + scaled(largest, sum) };
    }

    pub fn value(&self) -> f64 {
        f64::from(self.largest) + self.sum.ln()
    }
}

impl<'m> Scorer<'m> {
    /// Scores `ids`, ascending, or all labels that were trained, or for each example those that are likely; `top` of
    /// them will be asked for.
    pub fn new(model: &'m Model, ids: Option<Vec<u32>>, search: Search, top: usize) -> Scorer<'m> {
        let lists = model.lists().filter(|_| ids.is_none()).and_then(|(lists, stored)| {
            let width = match search {
                Search::Shortlist => stored.width(),
                Search::Width(width) => width,
                Search::Exact => return None,
            };
            (top <= width.labels).then_some((width, lists, stored.rest()))
        });
        let chosen = ids.as_deref();
        let weights = Rows::new(model.weights().unwrap_or_else(|| model.labels()), chosen);
        let blend = match model.head() {
            HeadKind::RandomFeatures { blend } if blend != 0.0 => Some((blend, Rows::new(model.labels(), chosen))),
            _ => None,
        };
        Scorer { model, weights, blend, ids, search: lists }
    }

    /// How wide the search is, if not all labels are scored.
    pub fn width(&self) -> Option<Width> {
        self.search.map(|(width, ..)| width)
    }

    /// Number of labels that are scored.
    pub fn count(&self) -> usize {
        self.ids.as_ref().map_or(self.model.shape().c - self.model.added(), Vec::len)
    }

    /// The best labels for each of some prepared examples, whose places are the rows of `h`.
    pub fn score(&self, x: CsrRef<'_>, h: &Matrix, top: usize) -> Vec<Scored> {
        if let Some((width, lists, rest)) = self.search {
            let z = self.inputs(h);
            let one = |sums: &mut SparseAccumulator, i: usize| {
                let (labels, nominated) = self.likely(lists, width, x.row(i), sums);
                self.some(&labels, &nominated, z.row(i), h.row(i), rest, top)
            };
            return (0..x.rows())
                .into_par_iter()
                .with_min_len(EXAMPLES)
                .map_init(SparseAccumulator::default, one)
                .collect();
        }
        self.all(x, h, top)
    }

    /// The labels that are scored for each of some prepared examples.
    pub fn shortlists(&self, x: CsrRef<'_>) -> Vec<Vec<u32>> {
        let all = || (0..self.count()).map(|at| self.label(at)).collect();
        let one = |sums: &mut SparseAccumulator, i: usize| match self.search {
            Some((width, lists, _)) => self.likely(lists, width, x.row(i), sums).0,
            None => all(),
        };
        (0..x.rows()).into_par_iter().with_min_len(EXAMPLES).map_init(SparseAccumulator::default, one).collect()
    }

    /// The labels of an example that are on its shortlist or that it nominates, ascending, and the latter.
    fn likely(
        &self,
        lists: Lists<'_>,
        width: Width,
        x: (&[u32], Option<&[f32]>),
        sums: &mut SparseAccumulator,
    ) -> (Vec<u32>, Nominated) {
        let labels = lists.search(x, width, |_, _| false, sums);
        let nominated = self.model.evidence().map_or_else(Vec::new, |evidence| evidence.nominate(x, sums));
        (with_nominated(labels, &nominated), nominated)
    }

    /// Scores the labels of a shortlist for an example with head inputs `z`: each to the same bits as among all labels.
    fn some(
        &self,
        labels: &[u32],
        nominated: &[(u32, f32)],
        z: &[f32],
        h: &[f32],
        rest: Option<&Rest>,
        top: usize,
    ) -> Scored {
        let (mut found, calibration) = (nothing(top), self.model.calibration());
        let table = self.weights.table();
        let mut scores = vec![0.0; labels.len()];
        for (label, score) in labels.iter().zip(&mut scores) {
            let row = *label as usize;
            table.dots(z, row..row + 1, std::slice::from_mut(score));
        }
        Labels::Some(labels).add(nominated, &mut scores);
        for (label, score) in labels.iter().zip(&mut scores) {
            *score = tame(calibration.scale * *score + calibration.shift);
            found.best.offer(*label, *score);
        }
        if calibration.loss == Loss::Softmax {
            found.sum.add(exp_sum(&scores));
            if let Some(rest) = rest.filter(|_| labels.len() < self.count()) {
                found.sum.add((tame(rest.log_rest(h, found.sum.value()) as f32), 1.0));
            }
        }
        found
    }

    /// The best of all labels for each of some prepared examples, whose places are the rows of `h`.
    pub fn all(&self, x: CsrRef<'_>, h: &Matrix, top: usize) -> Vec<Scored> {
        let pursuit = Trained::of(self.model).map(|(labels, atoms)| Pursuit::new(&labels, h, atoms));
        let z = self.inputs(pursuit.as_ref().map_or(h, |pursuit| &pursuit.rest));
        let nominated = self.model.evidence().map_or_else(Vec::new, |evidence| evidence.nominations(x));
        let count = self.count();
        let size = count.div_ceil(GROUPS).next_multiple_of(TILE);
        let parts: Vec<Vec<Scored>> = (0..count.div_ceil(size.max(1)))
            .into_par_iter()
            .map(|group| {
                self.group(&nominated, h, &z, pursuit.as_ref(), group * size..count.min((group + 1) * size), top)
            })
            .collect();
        let mut all = vec![nothing(top); h.rows()];
        for part in parts {
            for (all, part) in all.iter_mut().zip(part) {
                all.best.merge(part.best);
                all.sum.add((part.sum.largest, part.sum.sum));
            }
        }
        all
    }

    fn group(
        &self,
        nominated: &[Nominated],
        h: &Matrix,
        z: &Matrix,
        pursuit: Option<&Pursuit>,
        labels: Range<usize>,
        top: usize,
    ) -> Vec<Scored> {
        let mut found = vec![nothing(top); h.rows()];
        let calibration = self.model.calibration();
        let (mut scores, mut shares, mut high) = (Vec::new(), Vec::new(), Vec::new());
        for from in labels.clone().step_by(TILE) {
            let tile = from..labels.end.min(from + TILE);
            scores.resize(h.rows() * tile.len(), 0.0);
            self.weights.table().dots(z.as_slice(), tile.clone(), &mut scores);
            if let Some((blend, rows)) = &self.blend {
                shares.resize(scores.len(), 0.0);
                rows.table().dots(h.as_slice(), tile.clone(), &mut shares);
                scores.iter_mut().zip(&shares).for_each(|(s, share)| *s += blend * share);
            }
            let some = match &self.ids {
                Some(ids) => Labels::Some(&ids[tile.clone()]),
                None => Labels::Range(tile.start as u32..tile.end as u32),
            };
            nominated.iter().zip(scores.chunks_mut(tile.len())).for_each(|(nominated, row)| some.add(nominated, row));
            if let Some(pursuit) = pursuit {
                for (i, row) in scores.chunks_mut(tile.len()).enumerate() {
                    row.iter_mut().zip(tile.clone()).for_each(|(s, at)| *s = pursuit.score(i, self.label(at), *s));
                }
            }
            scores.iter_mut().for_each(|s| *s = tame(calibration.scale * *s + calibration.shift));
            for (found, row) in found.iter_mut().zip(scores.chunks(tile.len())) {
                // A look at all scores together leaves few that are worth a look each.
                match among_largest(row, top, &mut high) {
                    Some(count) => high[..count].iter().map(|place| *place as usize).for_each(|place| {
                        found.best.offer(self.label(tile.start + place), row[place]);
                    }),
                    None => tile.clone().zip(row).for_each(|(at, score)| found.best.offer(self.label(at), *score)),
                }
                if calibration.loss == Loss::Softmax {
                    found.sum.add(exp_sum(row));
                }
            }
        }
        found
    }

    /// The label of a row.
    fn label(&self, at: usize) -> u32 {
        self.ids.as_ref().map_or(at as u32, |ids| ids[at])
    }

    /// What the weights are multiplied with: h, (h, 1) or (random features of h, 1).
    fn inputs(&self, h: &Matrix) -> Matrix {
        let (rows, k) = (h.rows(), h.cols());
        let width = self.weights.table().cols();
        let mut z = Matrix::zeros(rows, width);
        match self.model.random_features() {
            Some((directions, phases)) => {
                // A product with a matrix that happens to be full: like h itself, it is the same in any batch.
                let ptr: Vec<u32> = (0..=rows).map(|i| (i * k) as u32).collect();
                let ids: Vec<u32> = (0..rows).flat_map(|_| 0..k as u32).collect();
                let full = CsrRef { ptr: &ptr, ids: &ids, values: Some(h.as_slice()) };
                let directions: MatRef<'_> = directions.view().expect("directions are stored in single precision");
                gather(full, None, directions, z.columns_mut(0, width - 1));
                let scale = (2.0 / phases.len() as f64).sqrt() as f32;
                (0..rows).for_each(|i| cos_turns(&mut z.row_mut(i)[..width - 1], phases, scale));
            }
            None => (0..rows).for_each(|i| z.row_mut(i)[..k].copy_from_slice(h.row(i))),
        }
        if self.model.weights().is_some() {
            (0..rows).for_each(|i| z.row_mut(i)[width - 1] = 1.0);
        }
        z
    }
}

fn nothing(top: usize) -> Scored {
    Scored { best: TopK::new(top), sum: LogSum { largest: f32::MIN, sum: 0.0 } }
}

/// A score to go on with: numbers too large for their product must neither win nor make a sum meaningless.
fn tame(score: f32) -> f32 {
    if score.is_nan() { f32::MIN } else { score.clamp(f32::MIN, f32::MAX) }
}
