//! [`Meetings`]: examples of one label each, with the matrix YᵀWX of what their labels and features have to do with each
//! other.
//!
//! A product with YᵀWX goes over all examples, once for Y and once for X. Where examples have several labels that is the
//! short way, for each of their features meets each of their labels. But with one label each, an entry of X belongs to one
//! entry of YᵀWX, and the features that examples of a label have in common belong to the same one. So the matrix has fewer
//! entries than X, often far fewer, and a product with it takes nothing besides. It is worth making for a solver whose
//! products are mostly of this kind.

use rayon::prelude::*;

use super::chunk::Chunk;
use super::dataset::part_of;
use super::{Dataset, Examples, Moments, Shape, Side};
use crate::Result;
use crate::linalg::csr::{Columns, Csr, CsrRef};
use crate::linalg::kernels;
use crate::linalg::matrix::{MatMut, MatRef};

/// Entries of the matrix, at most.
const MOST_ENTRIES: usize = 1 << 24;
/// Bytes for each of them: while examples are added up, and afterwards by labels and by features.
const BYTES: u64 = 64;
/// Entries of examples that wait to be added up at least, while there are not as many sums.
const WAITING: usize = 1 << 18;
/// Labels that are worth sums of their own for all features.
const GRAIN: usize = 1024;

/// Examples whose products of labels with features are taken from one matrix.
pub struct Meetings<'a> {
    whole: &'a dyn Examples,
    /// YᵀWX, a row for each label.
    by_label: Csr,
    /// The same, a row for each feature.
    by_feature: Csr,
}

impl<'a> Meetings<'a> {
    /// `whole` with that matrix, unless it would be no gain. `whole` is `data` with these `weights` in YᵀWX, where they are
    /// not its own, and with all labels or those that occur.
    pub(super) fn find(
        data: &Dataset,
        whole: &'a dyn Examples,
        weights: Option<&[f32]>,
        occurring: bool,
    ) -> Result<Option<Meetings<'a>>> {
        if !may_pay(data) {
            return Ok(None);
        }
        let Some(sums) = Sums::of(data, weights, WAITING)? else {
            return Ok(None);
        };
        let by_label = sums.rows(occurring);
        let by_feature = Columns::new(by_label.view(), data.shape().d).into_rows();
        Ok(Some(Meetings { whole, by_label, by_feature }))
    }

    /// Pairs of a label and a feature that met.
    pub fn entries(&self) -> usize {
        self.by_label.nnz()
    }
}

/// Whether the examples may have one label each.
fn may_pay(data: &Dataset) -> bool {
    data.nnz(Side::Y) <= data.shape().n as u64
}

impl Dataset {
    /// Bytes that [`Examples::meetings`] takes at most.
    pub fn meetings_memory(&self) -> u64 {
        let entries = self.nnz(Side::X).min(MOST_ENTRIES as u64);
        let pairs = (self.shape().c as u64).saturating_mul(self.shape().d as u64);
        if may_pay(self) { BYTES * entries.min(pairs) } else { 0 }
    }
}

/// Examples that are still to be added up, each with one label.
struct Waiting {
    features: Csr,
    labels: Vec<u32>,
    /// What the features of each example are multiplied with: its weight, times the value of its label.
    factors: Vec<f64>,
}

impl Waiting {
    fn new() -> Waiting {
        Waiting { features: Csr::new(false), labels: Vec::new(), factors: Vec::new() }
    }

    /// Takes the examples of a chunk in, unless one of them has several labels.
    fn take(&mut self, chunk: &Chunk<'_>, weights: Option<&[f32]>) -> bool {
        let (x, y) = (chunk.side(Side::X).rows, chunk.side(Side::Y).rows);
        for i in 0..chunk.rows() {
            match *y.row(i).0 {
                [] => {}
                [label] => {
                    let value = y.row(i).1.map_or(1.0, |values| f64::from(values[0]));
                    self.features.extend_rows(x, i, i + 1);
                    self.labels.push(label);
                    self.factors.push(value * weights.map_or(1.0, |weights| f64::from(weights[i])));
                }
                _ => return false,
            }
        }
        true
    }
}

/// The sums so far: for each label its features, ascending.
struct Sums {
    starts: Vec<usize>,
    entries: Vec<(u32, f64)>,
    /// Whether each label has an example.
    occurs: Vec<bool>,
}

impl Sums {
    /// The sums of all examples, of which so many entries wait at a time, or as many as there are sums: then these are gone
    /// through a few times only, and what waits never takes more than they do. Nothing when there are too many sums, or several
    /// labels on an example.
    fn of(data: &Dataset, weights: Option<&[f32]>, waiting_least: usize) -> Result<Option<Sums>> {
        let Shape { d, c, .. } = data.shape();
        let mut sums = Sums { starts: vec![0; c + 1], entries: Vec::new(), occurs: vec![false; c] };
        let (mut waiting, mut at, mut pays) = (Waiting::new(), 0, true);
        data.for_each_chunk(|chunk| {
            let weights = part_of(weights, &mut at, &chunk);
            pays = pays && waiting.take(&chunk, weights);
            if pays && waiting.features.nnz() >= waiting_least.max(sums.entries.len().min(MOST_ENTRIES / 4)) {
                sums.add(&mut waiting, d);
                pays = sums.entries.len() <= MOST_ENTRIES;
            }
            Ok(())
        })?;
        if pays {
            sums.add(&mut waiting, d);
        }
        Ok((pays && sums.entries.len() <= MOST_ENTRIES).then_some(sums))
    }

    /// Adds examples to the sums, those of a label in their order, and forgets them.
    fn add(&mut self, waiting: &mut Waiting, d: usize) {
        let (features, factors, c) = (waiting.features.view(), &waiting.factors, self.occurs.len());
        waiting.labels.iter().for_each(|label| self.occurs[*label as usize] = true);
        let of_label = places(&waiting.labels, c);
        let part = |scratch: &mut Scratch, labels: std::ops::Range<usize>| {
            let (mut entries, mut lengths) = (Vec::new(), Vec::with_capacity(labels.len()));
            for label in labels {
                let before = entries.len();
                let known = &self.entries[self.starts[label]..self.starts[label + 1]];
                known.iter().for_each(|(feature, sum)| scratch.add(*feature as usize, *sum));
                for i in of_label.rows(label).iter().map(|i| *i as usize) {
                    features.entries(i).for_each(|(feature, x)| scratch.add(feature, factors[i] * f64::from(x)));
                }
                scratch.take(&mut entries);
                lengths.push(entries.len() - before);
            }
            (entries, lengths)
        };
        let ranges: Vec<_> = (0..c).step_by(GRAIN).map(|from| from..c.min(from + GRAIN)).collect();
        let parts: Vec<_> = ranges.into_par_iter().map_init(|| Scratch::new(d), part).collect();
        self.entries = Vec::with_capacity(parts.iter().map(|(entries, _)| entries.len()).sum());
        self.starts.truncate(1);
        for (entries, lengths) in parts {
            self.entries.extend(entries);
            for length in lengths {
                self.starts.push(self.starts[self.starts.len() - 1] + length);
            }
        }
        *waiting = Waiting::new();
    }

    /// A row for each label, or for those that occur.
    fn rows(self, occurring: bool) -> Csr {
        let mut rows = Csr::new(false);
        for label in (0..self.occurs.len()).filter(|label| !occurring || self.occurs[*label]) {
            let entries = &self.entries[self.starts[label]..self.starts[label + 1]];
            entries.iter().for_each(|(feature, sum)| rows.push(*feature, *sum as f32));
            rows.end_row();
        }
        rows
    }
}

/// Where each label is found in a list of labels.
fn places(labels: &[u32], c: usize) -> Columns {
    let ptr: Vec<u32> = (0..=labels.len() as u32).collect();
    Columns::new(CsrRef { ptr: &ptr, ids: labels, values: None }, c)
}

/// Sums by feature, of one label at a time.
struct Scratch {
    sums: Vec<f64>,
    /// Features that have met the label, and whether each has.
    met: Vec<u32>,
    has_met: Vec<bool>,
}

impl Scratch {
    fn new(d: usize) -> Scratch {
        Scratch { sums: vec![0.0; d], met: Vec::new(), has_met: vec![false; d] }
    }

    fn add(&mut self, feature: usize, value: f64) {
        if !std::mem::replace(&mut self.has_met[feature], true) {
            self.met.push(feature as u32);
        }
        self.sums[feature] += value;
    }

    /// Moves all sums to a row, in the order of the features.
    fn take(&mut self, row: &mut Vec<(u32, f64)>) {
        self.met.sort_unstable();
        for feature in self.met.drain(..) {
            self.has_met[feature as usize] = false;
            row.push((feature, std::mem::take(&mut self.sums[feature as usize])));
        }
    }
}

impl Examples for Meetings<'_> {
    fn shape(&self) -> Shape {
        self.whole.shape()
    }

    fn cross(&self, a: Side, b: Side, z: MatRef<'_>, out: MatMut<'_>) -> Result<()> {
        match (a, b) {
            (Side::Y, Side::X) => kernels::gather(self.by_label.view(), None, z, out),
            (Side::X, Side::Y) => kernels::gather(self.by_feature.view(), None, z, out),
            _ => self.whole.cross(a, b, z, out)?,
        }
        Ok(())
    }

    fn squares(&self, z: MatRef<'_>) -> Result<Vec<f64>> {
        self.whole.squares(z)
    }

    fn moments(&self, side: Side) -> Result<Moments> {
        self.whole.moments(side)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Reweighted, RowScale, Rows, Scaled};
    use crate::linalg::matrix::Matrix;

    /// Labels 1, 4, 7, … up to 22 of 30, and examples without any; several chunks, weights, and values of labels.
    fn rows(labels_each: usize) -> Rows {
        let mut rows = Rows::new();
        for i in 0..100u32 {
            [i % 7, 7 + i % 5].into_iter().for_each(|id| rows.x.push(id, (1 + i % 4) as f32));
            rows.x.end_row();
            if i % 9 != 4 {
                (0..labels_each as u32).for_each(|j| rows.y.push(1 + 3 * (i % 7 + j), (1 + i % 2) as f32));
            }
            rows.y.end_row();
        }
        rows.weights = Some((0..100).map(|i| (i % 3) as f32).collect());
        rows
    }

    /// Products are those of the examples; small whole numbers, so sums are exact.
    fn compare(whole: &dyn Examples, exact: bool) {
        let meetings = whole.meetings().unwrap().expect("one label each");
        assert!(meetings.entries() > 0 && meetings.shape() == whole.shape());
        for [a, b] in [[Side::X, Side::X], [Side::X, Side::Y], [Side::Y, Side::X], [Side::Y, Side::Y]] {
            let z = Matrix::from_fn(whole.shape().width(b), 3, |i, j| ((i * 3 + j) % 11) as f32);
            let [mut found, mut expected] = [(); 2].map(|()| Matrix::zeros(whole.shape().width(a), 3));
            meetings.cross(a, b, z.view(), found.view_mut()).unwrap();
            whole.cross(a, b, z.view(), expected.view_mut()).unwrap();
            let near = |(a, b): (&f32, &f32)| if exact { a == b } else { (a - b).abs() <= 1e-5 * (1.0 + b.abs()) };
            assert!(found.as_slice().iter().zip(expected.as_slice()).all(near), "{a:?} {b:?}");
            assert!(a == b || expected.as_slice().iter().any(|v| *v != 0.0));
        }
        assert_eq!(meetings.moments(Side::X).unwrap(), whole.moments(Side::X).unwrap());
    }

    #[test]
    fn products_are_those_of_the_examples() {
        let data = Dataset::in_chunks_of(16, &rows(1), 12, 30).unwrap();
        compare(&data, true);
        compare(&data.occurring().unwrap().unwrap(), true);
        let weights = (0..100).map(|i| (i % 4) as f32).collect();
        let reweighted = Reweighted::new(&data, weights).unwrap();
        compare(&reweighted, true);
        compare(&reweighted.occurring().unwrap().unwrap(), true);
        let scaled = Scaled::new(&data, RowScale::Sum).unwrap();
        compare(&scaled, false);
        compare(&scaled.occurring().unwrap().unwrap(), false);
        // No more than there are entries, nor than there are pairs.
        assert_eq!(data.meetings_memory(), 200 * BYTES);
    }

    #[test]
    fn several_labels_are_left_as_they_are() {
        let data = Dataset::in_chunks_of(16, &rows(2), 12, 30).unwrap();
        assert!(data.meetings().unwrap().is_none() && data.meetings_memory() == 0);
        // As many labels as examples, but two on one of them.
        let mut uneven = Rows::new();
        for labels in [&[0, 1][..], &[]] {
            uneven.x.push(0, 1.0);
            uneven.x.end_row();
            labels.iter().for_each(|label| uneven.y.push(*label, 1.0));
            uneven.y.end_row();
        }
        assert!(Dataset::from_rows(&uneven, 1, 2).unwrap().meetings().unwrap().is_none());
    }

    #[test]
    fn sums_are_the_same_however_many_examples_wait() {
        let data = Dataset::in_chunks_of(16, &rows(1), 12, 30).unwrap();
        let [at_once, in_turn] = [usize::MAX, 1].map(|least| Sums::of(&data, None, least).unwrap().unwrap());
        assert_eq!(at_once.rows(false), in_turn.rows(false));
    }

    #[test]
    fn the_matrix_is_the_same_on_any_number_of_threads() {
        let data = Dataset::in_chunks_of(16, &rows(1), 12, 30).unwrap();
        let made = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let found = data.meetings().unwrap().unwrap();
                (found.by_label, found.by_feature)
            })
        };
        assert_eq!(made(1), made(4));
    }
}
