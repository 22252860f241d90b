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
use crate::csr::{Columns, Csr, CsrRef};
use crate::matrix::{MatMut, MatRef};
use crate::{Result, kernel};

/// Entries of the matrix, at most.
const MOST_ENTRIES: usize = 1 << 24;
/// Bytes for each of them: while they are added up, half of them loose, and afterwards by labels and by features.
const BYTES: u64 = 48;
/// Entries of a label that may wait to be added up, besides as many as there are sums.
const LOOSE: usize = 64;
/// Labels that are worth sums of their own for all features.
const GRAIN: usize = 256;

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
        let d = data.shape().d;
        let mut sums = vec![Row::default(); data.shape().c];
        let (mut at, mut occurs, mut pays) = (0, vec![!occurring; sums.len()], true);
        let total = |sums: &[Row]| sums.iter().map(|row| row.entries.len()).sum::<usize>();
        data.for_each_chunk(|chunk| {
            let weights = part_of(weights, &mut at, &chunk);
            pays = pays && chunk.side(Side::Y).rows.ptr.windows(2).all(|row| row[1] - row[0] <= 1);
            if pays {
                add(&mut sums, &chunk, weights, d).for_each(|label| occurs[label] = true);
                pays = total(&sums) <= 2 * MOST_ENTRIES;
            }
            Ok(())
        })?;
        if !pays {
            return Ok(None);
        }
        let merge = |scratch: &mut Scratch, row: &mut Row| row.merge(scratch);
        sums.par_iter_mut().with_min_len(GRAIN).for_each_init(|| Scratch::new(d), merge);
        if total(&sums) > MOST_ENTRIES {
            return Ok(None);
        }
        let mut by_label = Csr::new(false);
        for (row, _) in sums.iter_mut().zip(&occurs).filter(|(_, occurs)| **occurs) {
            let entries = std::mem::take(row).entries.into_iter();
            entries.for_each(|(feature, sum)| by_label.push(feature, sum as f32));
            by_label.end_row();
        }
        let by_feature = transposed(by_label.view(), d);
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

/// The features that a label has met.
#[derive(Clone, Default)]
struct Row {
    /// Features and sums, ascending, and then what came since in the order of the examples.
    entries: Vec<(u32, f64)>,
    /// How many are sums.
    merged: usize,
}

impl Row {
    /// Makes sums of all entries, each added up in the order of the examples.
    fn merge(&mut self, scratch: &mut Scratch) {
        if self.merged < self.entries.len() {
            self.entries.drain(..).for_each(|(feature, value)| scratch.add(feature as usize, value));
            scratch.take(&mut self.entries);
            self.entries.shrink_to_fit();
            self.merged = self.entries.len();
        }
    }
}

/// Adds the examples of a chunk, and tells which labels they have.
fn add(sums: &mut [Row], chunk: &Chunk<'_>, weights: Option<&[f32]>, d: usize) -> impl Iterator<Item = usize> {
    let (x, y) = (chunk.side(Side::X).rows, chunk.side(Side::Y).columns);
    let labels: Vec<usize> = y.ids.iter().map(|label| *label as usize).collect();
    let before: Vec<(usize, Row)> = labels.iter().map(|label| std::mem::take(&mut sums[*label])).enumerate().collect();
    let after = |scratch: &mut Option<Scratch>, (at, mut row): (usize, Row)| {
        let (examples, values) = y.column(at);
        for (j, i) in examples.iter().map(|i| usize::from(*i)).enumerate() {
            let value = values.map_or(1.0, |values| f64::from(values[j]));
            let weight = value * weights.map_or(1.0, |weights| f64::from(weights[i]));
            row.entries.extend(x.entries(i).map(|(feature, x)| (feature as u32, weight * f64::from(x))));
        }
        // Now and then, so that no entry is looked at more often than a few times.
        if row.entries.len() > 2 * row.merged + LOOSE {
            row.merge(scratch.get_or_insert_with(|| Scratch::new(d)));
        }
        row
    };
    let rows: Vec<Row> = before.into_par_iter().with_min_len(GRAIN).map_init(|| None, after).collect();
    labels.iter().zip(rows).for_each(|(label, row)| sums[*label] = row);
    labels.into_iter()
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

    /// Moves all sums to a row.
    fn take(&mut self, row: &mut Vec<(u32, f64)>) {
        // Those that were merged before are in order already, which a stable sort makes use of.
        self.met.sort();
        for feature in self.met.drain(..) {
            self.has_met[feature as usize] = false;
            row.push((feature, std::mem::take(&mut self.sums[feature as usize])));
        }
    }
}

/// A row for each of `width` columns.
fn transposed(a: CsrRef<'_>, width: usize) -> Csr {
    let columns = Columns::new(a, width);
    let mut out = Csr::new(false);
    for column in 0..width {
        columns.entries(column).for_each(|(row, value)| out.push(row as u32, value));
        out.end_row();
    }
    out
}

impl Examples for Meetings<'_> {
    fn shape(&self) -> Shape {
        self.whole.shape()
    }

    fn cross(&self, a: Side, b: Side, z: MatRef<'_>, out: MatMut<'_>) -> Result<()> {
        match (a, b) {
            (Side::Y, Side::X) => kernel::gather(self.by_label.view(), None, z, out),
            (Side::X, Side::Y) => kernel::gather(self.by_feature.view(), None, z, out),
            _ => self.whole.cross(a, b, z, out)?,
        }
        Ok(())
    }

    fn moments(&self, side: Side) -> Result<Moments> {
        self.whole.moments(side)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Reweighted, RowScale, Rows, Scaled};
    use crate::matrix::Matrix;

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
