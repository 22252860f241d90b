//! [`Scorer`]: where the scores of a model are added up for prediction.
//!
//! ```text
//! score(l)      = head(h, l)  +  least_squares · E_l·h        or, where there is a ranker, its log-odds of l
//! calibrated(l) = scale·score(l) + shift
//! ```
//!
//! Calibrated scores become probabilities in `model/predict.rs`. Scale and shift are fitted in `train`, before there is a
//! model, to the same sums of held-out examples. Labels go through in tiles, so that nothing of the size
//! examples × labels is written down unless it is asked for. Groups of tiles are handed to threads; where they begin
//! depends on the number of labels alone, and so do the sums.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::head::{Calibration, Dictionary, Head, Loss, Pursuit};
use super::ranker::{Candidate, Ranker, RankerMemory, Scope};
use crate::linalg::csr::CsrRef;
use crate::linalg::kernels::elementwise::{cos_turns, exp_sum};
use crate::linalg::kernels::gather;
use crate::linalg::kernels::select::among_largest;
use crate::linalg::matrix::Matrix;
use crate::linalg::table::Table;
use crate::linalg::topk::TopK;

/// Labels of a tile.
const TILE: usize = 256;
/// Groups of tiles at most: more would hold more candidates at a time.
const GROUPS: usize = 16;

/// Parts that scores are made of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScoreParts<'a> {
    /// E. Labels beyond `trained` are not scored.
    pub labels: &'a Table,
    /// Number of labels that were trained.
    pub trained: usize,
    pub head: &'a Head,
    pub ranker: Option<&'a Ranker>,
    pub calibration: Calibration,
}

/// Scores the labels that were trained, or some of them.
#[derive(Debug)]
pub(crate) struct Scorer<'a> {
    parts: ScoreParts<'a>,
    /// The factors of the inputs of the head.
    weights: Cow<'a, Table>,
    /// E, where a multiple of the least-squares score is added to the head's, and the multiple.
    least_squares: Option<(f32, Cow<'a, Table>)>,
    /// The label of each row; absent when rows are labels.
    ids: Option<Vec<u32>>,
    /// Whether a ranker is asked about all labels, and not about the candidates of each example.
    exact: bool,
    /// Room for sums of a ranker, of as many threads as have asked at a time.
    memories: Mutex<Vec<RankerMemory>>,
}

/// The best labels of an example.
#[derive(Clone, Debug)]
pub(crate) struct Scored {
    /// The best labels with their calibrated scores.
    pub best: TopK,
    /// log Σ exp of the calibrated scores of all labels; kept under softmax only.
    pub log_partition: LogSum,
}

impl Scored {
    fn new(top: usize) -> Scored {
        Scored { best: TopK::new(top), log_partition: LogSum::default() }
    }
}

/// log Σ exp, part by part.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogSum {
    largest: f32,
    sum: f64,
}

impl Default for LogSum {
    fn default() -> LogSum {
        LogSum { largest: f32::MIN, sum: 0.0 }
    }
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

/// Scores of all labels by a head alone, a row for each row of `h`.
pub(crate) fn head_scores(labels: &Table, head: &Head, h: &Matrix) -> Matrix {
    let calibration = Calibration::identity(Loss::Independent);
    let parts = ScoreParts { labels, trained: labels.rows(), head, ranker: None, calibration };
    let no_features = vec![0; h.rows() + 1];
    Scorer::new(parts, None).scores(CsrRef { ptr: &no_features, ids: &[], values: None }, h)
}

impl<'a> Scorer<'a> {
    /// Scores `ids`, ascending, or all labels that were trained.
    pub fn new(parts: ScoreParts<'a>, ids: Option<Vec<u32>>) -> Scorer<'a> {
        let some = |table: &'a Table| match &ids {
            Some(ids) => Cow::Owned(table.select(ids).into()),
            None => Cow::Borrowed(table),
        };
        let weights = some(parts.head.weights().unwrap_or(parts.labels));
        let least_squares = match parts.head {
            Head::RandomFeatures { least_squares, .. } if *least_squares != 0.0 => {
                Some((*least_squares, some(parts.labels)))
            }
            _ => None,
        };
        Scorer { parts, weights, least_squares, ids, exact: false, memories: Mutex::default() }
    }

    /// Scores all labels, also with a ranker.
    pub fn exact(self) -> Scorer<'a> {
        Scorer { exact: true, ..self }
    }

    /// Number of labels that are scored.
    pub fn count(&self) -> usize {
        self.ids.as_ref().map_or(self.parts.trained, Vec::len)
    }

    /// The best labels for each of some prepared examples, whose projections are the rows of `h`.
    pub fn top(&self, x: CsrRef<'_>, h: &Matrix, top: usize) -> Vec<Scored> {
        if let Some(ranker) = self.parts.ranker {
            return self.ranked(ranker, x, h).into_iter().map(|scores| self.top_ranked(&scores, top)).collect();
        }
        self.top_of_all(h, top)
    }

    /// The labels that are scored for each of some prepared examples, where a ranker proposes them; absent: all.
    pub fn candidates(&self, x: CsrRef<'_>, h: impl FnOnce() -> Matrix) -> Option<Vec<Vec<u32>>> {
        let ranker = self.parts.ranker.filter(|_| !self.exact && self.ids.is_none())?;
        let labels = |scores: Vec<(u32, f32)>| scores.into_iter().map(|(label, _)| label).collect();
        Some(self.ranked(ranker, x, &h()).into_iter().map(labels).collect())
    }

    /// Log-odds of the candidates of each example by the ranker, or of the labels asked for; ascending labels.
    fn ranked(&self, ranker: &Ranker, x: CsrRef<'_>, h: &Matrix) -> Vec<Vec<(u32, f32)>> {
        let all: Option<Vec<u32>> = (self.exact && self.ids.is_none()).then(|| (0..self.count() as u32).collect());
        let scope = match self.ids.as_ref().or(all.as_ref()) {
            Some(ids) => Scope::Labels(ids),
            None => Scope::Candidates,
        };
        let memories = || self.memories.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = memories().pop();
        let mut memory = kept.unwrap_or_else(|| ranker.memory());
        let views = ranker.views(x, h, self.parts.labels, scope, &mut memory).into_iter();
        memories().push(memory);
        let score = |c: Candidate| (c.label, tame(ranker.score(c.label, &c.views)));
        views.map(|row| row.into_iter().map(score).collect()).collect()
    }

    /// The best of some labels. With one label per example the score of all labels that are no candidates is 0 together.
    /// Where all are scored there are no others, and where some were asked for the probabilities are conditional on these
    /// labels.
    fn top_ranked(&self, scores: &[(u32, f32)], top: usize) -> Scored {
        let mut found = Scored::new(top);
        scores.iter().for_each(|(label, score)| found.best.offer(*label, *score));
        if self.parts.calibration.loss == Loss::Softmax {
            let numbers: Vec<f32> = scores.iter().map(|(_, score)| *score).collect();
            found.log_partition.add(exp_sum(&numbers));
            if self.ids.is_none() && !self.exact {
                found.log_partition.add((0.0, 1.0));
            }
        }
        found
    }

    /// The best of all labels for each of some prepared examples, whose projections are the rows of `h`.
    pub fn top_of_all(&self, h: &Matrix, top: usize) -> Vec<Scored> {
        let calibration = self.parts.calibration;
        let parts = self.groups(h, |group| {
            let mut found = vec![Scored::new(top); h.rows()];
            let mut high = Vec::new();
            group.for_each_tile(|tile, scores| {
                scores.iter_mut().for_each(|score| *score = calibrated(calibration, *score));
                for (found, row) in found.iter_mut().zip(scores.chunks(tile.len())) {
                    // A look at all scores together leaves few that are worth a look each.
                    match among_largest(row, top, &mut high) {
                        Some(count) => high[..count].iter().map(|place| *place as usize).for_each(|place| {
                            found.best.offer(self.label(tile.start + place), row[place]);
                        }),
                        None => tile.clone().zip(row).for_each(|(at, score)| found.best.offer(self.label(at), *score)),
                    }
                    if calibration.loss == Loss::Softmax {
                        found.log_partition.add(exp_sum(row));
                    }
                }
            });
            found
        });
        let mut all = vec![Scored::new(top); h.rows()];
        for part in parts {
            for (all, part) in all.iter_mut().zip(part) {
                all.best.merge(part.best);
                all.log_partition.add((part.log_partition.largest, part.log_partition.sum));
            }
        }
        all
    }

    /// Scores of all labels before calibration, a row for each of some prepared examples.
    pub fn scores(&self, x: CsrRef<'_>, h: &Matrix) -> Matrix {
        let mut all = Matrix::zeros(h.rows(), self.count());
        if let Some(ranker) = self.parts.ranker {
            for (i, scores) in self.ranked(ranker, x, h).into_iter().enumerate() {
                all.row_mut(i).iter_mut().zip(scores).for_each(|(out, (_, score))| *out = score);
            }
            return all;
        }
        // A strip of examples at a time: a pursuit keeps the rows that it has taken.
        let (k, count) = (h.cols(), self.count());
        if count == 0 || k == 0 {
            return all;
        }
        const STRIP: usize = super::head::STRIP;
        all.as_mut_slice().par_chunks_mut(STRIP * count).enumerate().for_each(|(strip, out)| {
            let rows = strip * STRIP..strip * STRIP + out.len() / count;
            let some = Matrix::from_vec(rows.len(), k, h.as_slice()[rows.start * k..rows.end * k].to_vec());
            for (from, part) in self.groups(&some, |group| (group.labels.start, group.all())) {
                let width = part.len() / rows.len();
                for (out, part) in out.chunks_mut(count).zip(part.chunks(width)) {
                    out[from..from + width].copy_from_slice(part);
                }
            }
        });
        all
    }

    /// Works on groups of labels, side by side.
    fn groups<T: Send>(&self, h: &Matrix, work: impl Fn(Group<'_>) -> T + Sync) -> Vec<T> {
        let pursuit = match self.parts.head {
            Head::Pursuit { atoms } => Some(Pursuit::new(&self.dictionary(), h, *atoms)),
            _ => None,
        };
        let z = self.inputs(pursuit.as_ref().map_or(h, |pursuit| &pursuit.rest));
        let count = self.count();
        let size = count.div_ceil(GROUPS).next_multiple_of(TILE);
        let group = |at: usize| Group {
            scorer: self,
            h,
            z: &z,
            pursuit: pursuit.as_ref(),
            labels: at * size..count.min((at + 1) * size),
        };
        (0..count.div_ceil(size.max(1))).into_par_iter().map(|at| work(group(at))).collect()
    }

    /// The rows that a pursuit chooses from. Labels added later are ranked by themselves, and change nothing for the
    /// others.
    fn dictionary(&self) -> TrainedRows<'_> {
        TrainedRows { labels: self.parts.labels, count: self.parts.trained }
    }

    /// The label of a row.
    fn label(&self, at: usize) -> u32 {
        self.ids.as_ref().map_or(at as u32, |ids| ids[at])
    }

    /// The factors of the weights: h, (h, 1) or (random features of h, 1).
    pub fn inputs(&self, h: &Matrix) -> Matrix {
        let (rows, k) = (h.rows(), h.cols());
        let width = self.weights.cols();
        let mut z = Matrix::zeros(rows, width);
        match self.parts.head {
            Head::RandomFeatures { features, .. } => {
                // A product with a matrix that happens to be full: like h itself, it is the same in any batch.
                let ptr: Vec<u32> = (0..=rows).map(|i| (i * k) as u32).collect();
                let ids: Vec<u32> = (0..rows).flat_map(|_| 0..k as u32).collect();
                let full = CsrRef { ptr: &ptr, ids: &ids, values: Some(h.as_slice()) };
                gather(full, None, features.directions.view(), z.columns_mut(0, width - 1));
                let scale = (2.0 / features.count() as f64).sqrt() as f32;
                (0..rows).for_each(|i| cos_turns(&mut z.row_mut(i)[..width - 1], &features.phases, scale));
            }
            _ => (0..rows).for_each(|i| z.row_mut(i)[..k].copy_from_slice(h.row(i))),
        }
        if self.parts.head.weights().is_some() {
            (0..rows).for_each(|i| z.row_mut(i)[width - 1] = 1.0);
        }
        z
    }
}

/// Some of the labels, for some examples.
struct Group<'a> {
    scorer: &'a Scorer<'a>,
    h: &'a Matrix,
    z: &'a Matrix,
    pursuit: Option<&'a Pursuit>,
    /// Rows of weights.
    labels: Range<usize>,
}

impl Group<'_> {
    /// Adds the scores of a tile of labels up, examples × labels, and hands them on.
    fn for_each_tile(&self, mut take: impl FnMut(Range<usize>, &mut [f32])) {
        let (scorer, rows) = (self.scorer, self.h.rows());
        let (mut scores, mut least_squares) = (Vec::new(), Vec::new());
        for from in self.labels.clone().step_by(TILE) {
            let tile = from..self.labels.end.min(from + TILE);
            scores.resize(rows * tile.len(), 0.0);
            scorer.weights.dots(self.z.as_slice(), tile.clone(), &mut scores);
            if let Some((weight, table)) = &scorer.least_squares {
                least_squares.resize(scores.len(), 0.0);
                table.dots(self.h.as_slice(), tile.clone(), &mut least_squares);
                scores.iter_mut().zip(&least_squares).for_each(|(score, other)| *score += weight * other);
            }
            if let Some(pursuit) = self.pursuit {
                for (i, row) in scores.chunks_mut(tile.len()).enumerate() {
                    row.iter_mut().zip(tile.clone()).for_each(|(s, at)| *s = pursuit.score(i, scorer.label(at), *s));
                }
            }
            take(tile, &mut scores);
        }
    }

    /// The scores of all its labels, examples × labels.
    fn all(&self) -> Vec<f32> {
        let (width, first) = (self.labels.len(), self.labels.start);
        let mut all = vec![0.0; self.h.rows() * width];
        self.for_each_tile(|tile, scores| {
            for (all, row) in all.chunks_mut(width).zip(scores.chunks(tile.len())) {
                all[tile.start - first..tile.end - first].copy_from_slice(row);
            }
        });
        all
    }
}

/// The first rows of a table.
struct TrainedRows<'a> {
    labels: &'a Table,
    count: usize,
}

impl Dictionary for TrainedRows<'_> {
    fn count(&self) -> usize {
        self.count
    }

    fn row(&self, label: usize) -> Cow<'_, [f32]> {
        self.labels.row(label)
    }

    fn multiply(&self, a: &[f32], labels: Range<usize>, out: &mut [f32]) {
        self.labels.dots(a, labels, out);
    }
}

/// A calibrated score to go on with: numbers too large for their product must neither win nor make a sum meaningless.
fn calibrated(calibration: Calibration, score: f32) -> f32 {
    tame(calibration.scale * score + calibration.shift)
}

fn tame(score: f32) -> f32 {
    if score.is_nan() { f32::MIN } else { score.clamp(f32::MIN, f32::MAX) }
}
