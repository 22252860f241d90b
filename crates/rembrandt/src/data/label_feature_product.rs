//! [`LabelFeatureProduct`]: YᵀWX as an explicit sparse matrix, for data with one label per example.
//!
//! A product YᵀWX·z normally goes over all examples, once for X and once for Y. With several labels per example that is
//! the short way, since each feature of an example pairs with each of its labels. With one label each, every entry of X
//! falls on one entry of YᵀWX, and entries of the same label and feature are summed. So the matrix has at most as many
//! entries as X, often far fewer, and a solver that multiplies by it many times should compute it once.

use rayon::prelude::*;

use super::chunk::Chunk;
use super::products::weights_of;
use super::view::View;
use super::{Dataset, Examples, Moments, Shape, Side};
use crate::Result;
use crate::linalg::csr::{Columns, Csr, CsrRef};
use crate::linalg::kernels;
use crate::linalg::matrix::{MatMut, MatRef};

/// Entries of the matrix, at most.
const MOST_ENTRIES: usize = 1 << 24;
/// Bytes for each of them: while examples are added up, and afterwards by labels and by features.
const BYTES: u64 = 64;
/// Entries of examples that are collected before they are added up, at least.
const BUFFERED: usize = 1 << 18;
/// Labels whose sums one task computes.
const GRAIN: usize = 1024;

/// YᵀWX of some examples, by rows and by columns.
#[derive(Clone, Debug, PartialEq)]
pub struct LabelFeatureProduct {
    by_label: Csr,
    by_feature: Csr,
}

impl LabelFeatureProduct {
    /// From YᵀWX with a row for each label and ids that are features.
    ///
    /// # Panics
    /// If there is a feature of `d` or above.
    pub fn new(by_label: Csr, d: usize) -> LabelFeatureProduct {
        let by_feature = Columns::new(by_label.view(), d).into_rows();
        assert_eq!(by_feature.nnz(), by_label.nnz(), "features are numbered below {d}");
        LabelFeatureProduct { by_label, by_feature }
    }

    /// YᵀWX as a view has it, unless that is no gain: with several labels on an example, or too many entries.
    pub(super) fn of(view: &View<'_>) -> Result<Option<LabelFeatureProduct>> {
        if !may_pay(view.nnz(Side::Y), view.shape().n) {
            return Ok(None);
        }
        let sums = ProductSoFar::of(view, BUFFERED)?;
        Ok(sums.map(|sums| LabelFeatureProduct::new(sums.rows(view), view.shape().d)))
    }

    /// YᵀWX with a row for each label.
    pub fn by_label(&self) -> CsrRef<'_> {
        self.by_label.view()
    }

    /// XᵀWY with a row for each feature.
    pub fn by_feature(&self) -> CsrRef<'_> {
        self.by_feature.view()
    }

    /// The examples that the matrix is of, with their products of labels and features taken from it.
    ///
    /// # Panics
    /// If the sizes do not fit.
    pub fn over<'a>(&'a self, examples: &'a dyn Examples) -> WithProduct<'a> {
        let sizes = (self.by_label.rows(), self.by_feature.rows());
        assert_eq!(sizes, (examples.shape().c, examples.shape().d), "the matrix of these examples");
        WithProduct { examples, product: self }
    }
}

/// Whether all examples may have one label each.
fn may_pay(labels: u64, n: usize) -> bool {
    labels <= n as u64
}

impl Dataset {
    /// Bytes that [`Examples::label_feature_product`] takes at most.
    pub fn label_feature_product_memory(&self) -> u64 {
        let entries = self.nnz(Side::X).min(MOST_ENTRIES as u64);
        let pairs = (self.shape().c as u64).saturating_mul(self.shape().d as u64);
        if may_pay(self.nnz(Side::Y), self.shape().n) { BYTES * entries.min(pairs) } else { 0 }
    }
}

/// Examples that are still to be added up, each with one label.
struct PendingExamples {
    features: Csr,
    labels: Vec<u32>,
    /// The factor of the features of each example: its weight, times the value of its label.
    factors: Vec<f64>,
}

impl PendingExamples {
    fn new() -> PendingExamples {
        PendingExamples { features: Csr::new(false), labels: Vec::new(), factors: Vec::new() }
    }

    /// Takes in the examples of a chunk that are kept, unless one of them has several labels.
    fn take(&mut self, chunk: &Chunk<'_>, weights: Option<&[f32]>, keep: impl Fn(usize) -> bool) -> bool {
        let (x, y) = (chunk.side(Side::X).rows, chunk.side(Side::Y).rows);
        for i in (0..chunk.rows()).filter(|i| keep(*i)) {
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

/// YᵀWX so far: for each label its features, ascending.
struct ProductSoFar {
    starts: Vec<usize>,
    entries: Vec<(u32, f64)>,
}

impl ProductSoFar {
    /// The sums over all examples, of which at least `least` entries are buffered at a time, or as many as there are sums:
    /// the sums are then gone through a few times only, and the buffer never takes more than they do. Nothing when there
    /// are too many sums, or several labels on an example.
    fn of(view: &View<'_>, least: usize) -> Result<Option<ProductSoFar>> {
        let (d, c) = (view.shape().d, view.data().shape().c);
        let mut sums = ProductSoFar { starts: vec![0; c + 1], entries: Vec::new() };
        let (mut buffer, mut at, mut pays) = (PendingExamples::new(), 0, true);
        view.data().for_each_chunk(|chunk| {
            let first = at;
            let weights = weights_of(view.weights_in(Side::Y, Side::X), &mut at, &chunk);
            pays = pays && buffer.take(&chunk, weights, |i| view.keeps(first + i));
            if pays && buffer.features.nnz() >= least.max(sums.entries.len().min(MOST_ENTRIES / 4)) {
                sums.add(&mut buffer, d);
                pays = sums.entries.len() <= MOST_ENTRIES;
            }
            Ok(())
        })?;
        if pays {
            sums.add(&mut buffer, d);
        }
        Ok((pays && sums.entries.len() <= MOST_ENTRIES).then_some(sums))
    }

    /// Adds examples to the sums, those of a label in their order, and forgets them.
    fn add(&mut self, buffer: &mut PendingExamples, d: usize) {
        let (features, factors, c) = (buffer.features.view(), &buffer.factors, self.starts.len() - 1);
        let of_label = positions(&buffer.labels, c);
        let part = |sums: &mut FeatureSums, labels: std::ops::Range<usize>| {
            let (mut entries, mut lengths) = (Vec::new(), Vec::with_capacity(labels.len()));
            for label in labels {
                let before = entries.len();
                let so_far = &self.entries[self.starts[label]..self.starts[label + 1]];
                so_far.iter().for_each(|(feature, sum)| sums.add(*feature as usize, *sum));
                for i in of_label.rows(label).iter().map(|i| *i as usize) {
                    features.entries(i).for_each(|(feature, x)| sums.add(feature, factors[i] * f64::from(x)));
                }
                sums.take(&mut entries);
                lengths.push(entries.len() - before);
            }
            (entries, lengths)
        };
        let ranges: Vec<_> = (0..c).step_by(GRAIN).map(|from| from..c.min(from + GRAIN)).collect();
        let parts: Vec<_> = ranges.into_par_iter().map_init(|| FeatureSums::new(d), part).collect();
        self.entries = Vec::with_capacity(parts.iter().map(|(entries, _)| entries.len()).sum());
        self.starts.truncate(1);
        for (entries, lengths) in parts {
            self.entries.extend(entries);
            for length in lengths {
                self.starts.push(self.starts[self.starts.len() - 1] + length);
            }
        }
        *buffer = PendingExamples::new();
    }

    /// A row for each label of the view.
    fn rows(self, view: &View<'_>) -> Csr {
        let mut rows = Csr::new(false);
        let active = view.labels();
        for label in (0..self.starts.len() - 1).filter(|label| active.is_none_or(|l| l.contains(*label as u32))) {
            let entries = &self.entries[self.starts[label]..self.starts[label + 1]];
            entries.iter().for_each(|(feature, sum)| rows.push(*feature, *sum as f32));
            rows.end_row();
        }
        rows
    }
}

/// Where each label is found in a list of labels.
fn positions(labels: &[u32], c: usize) -> Columns {
    let ptr: Vec<u32> = (0..=labels.len() as u32).collect();
    Columns::new(CsrRef { ptr: &ptr, ids: labels, values: None }, c)
}

/// Sums by feature, of one label at a time.
struct FeatureSums {
    sums: Vec<f64>,
    /// Features that occur with the label, and whether each does.
    present: Vec<u32>,
    is_present: Vec<bool>,
}

impl FeatureSums {
    fn new(d: usize) -> FeatureSums {
        FeatureSums { sums: vec![0.0; d], present: Vec::new(), is_present: vec![false; d] }
    }

    fn add(&mut self, feature: usize, value: f64) {
        if !std::mem::replace(&mut self.is_present[feature], true) {
            self.present.push(feature as u32);
        }
        self.sums[feature] += value;
    }

    /// Moves all sums to a row, in the order of the features.
    fn take(&mut self, row: &mut Vec<(u32, f64)>) {
        self.present.sort_unstable();
        for feature in self.present.drain(..) {
            self.is_present[feature as usize] = false;
            row.push((feature, std::mem::take(&mut self.sums[feature as usize])));
        }
    }
}

/// Examples whose products of labels with features are taken from a [`LabelFeatureProduct`].
pub struct WithProduct<'a> {
    examples: &'a dyn Examples,
    product: &'a LabelFeatureProduct,
}

impl Examples for WithProduct<'_> {
    fn shape(&self) -> Shape {
        self.examples.shape()
    }

    fn cross(&self, a: Side, b: Side, z: MatRef<'_>, out: MatMut<'_>) -> Result<()> {
        match (a, b) {
            (Side::Y, Side::X) => kernels::gather(self.product.by_label(), None, z, out),
            (Side::X, Side::Y) => kernels::gather(self.product.by_feature(), None, z, out),
            _ => self.examples.cross(a, b, z, out)?,
        }
        Ok(())
    }

    fn squares(&self, z: MatRef<'_>) -> Result<Vec<f64>> {
        self.examples.squares(z)
    }

    fn moments(&self, side: Side) -> Result<Moments> {
        self.examples.moments(side)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{RowScale, Rows};
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
        let product = whole.label_feature_product().unwrap().expect("one label each");
        let with_product = product.over(whole);
        assert!(product.by_label().nnz() > 0 && with_product.shape() == whole.shape());
        for [a, b] in [[Side::X, Side::X], [Side::X, Side::Y], [Side::Y, Side::X], [Side::Y, Side::Y]] {
            let z = Matrix::from_fn(whole.shape().width(b), 3, |i, j| ((i * 3 + j) % 11) as f32);
            let [mut found, mut expected] = [(); 2].map(|()| Matrix::zeros(whole.shape().width(a), 3));
            with_product.cross(a, b, z.view(), found.view_mut()).unwrap();
            whole.cross(a, b, z.view(), expected.view_mut()).unwrap();
            let near = |(a, b): (&f32, &f32)| if exact { a == b } else { (a - b).abs() <= 1e-5 * (1.0 + b.abs()) };
            assert!(found.as_slice().iter().zip(expected.as_slice()).all(near), "{a:?} {b:?}");
            assert!(a == b || expected.as_slice().iter().any(|v| *v != 0.0));
        }
        assert_eq!(with_product.moments(Side::X).unwrap(), whole.moments(Side::X).unwrap());
    }

    #[test]
    fn products_are_those_of_the_examples() {
        let data = Dataset::in_chunks_of(16, &rows(1), 12, 30).unwrap();
        let weights: Vec<f32> = (0..100).map(|i| (i % 4) as f32).collect();
        for active in [false, true] {
            let view = || if active { data.view().only_active_labels().unwrap() } else { data.view() };
            compare(&view(), true);
            compare(&view().weights(weights.clone()).unwrap(), true);
            compare(&view().rows(|i| i % 3 == 1).unwrap(), true);
            compare(&view().scale_rows(RowScale::Sum).unwrap(), false);
        }
        // No more than there are entries, nor than there are pairs.
        assert_eq!(data.label_feature_product_memory(), 200 * BYTES);
    }

    #[test]
    fn rows_that_are_left_out_may_have_several_labels() {
        let mut rows = rows(1);
        rows.x.end_row();
        [1, 4, 7].into_iter().for_each(|label| rows.y.push(label, 1.0));
        rows.y.end_row();
        rows.weights.as_mut().unwrap().push(1.0);
        let data = Dataset::in_chunks_of(16, &rows, 12, 30).unwrap();
        assert!(data.label_feature_product().unwrap().is_none());
        compare(&data.view().rows(|i| i < 100).unwrap(), true);
    }

    #[test]
    fn several_labels_are_left_as_they_are() {
        let data = Dataset::in_chunks_of(16, &rows(2), 12, 30).unwrap();
        assert!(data.label_feature_product().unwrap().is_none() && data.label_feature_product_memory() == 0);
        // As many labels as examples, but two on one of them.
        let mut uneven = Rows::new();
        for labels in [&[0, 1][..], &[]] {
            uneven.x.push(0, 1.0);
            uneven.x.end_row();
            labels.iter().for_each(|label| uneven.y.push(*label, 1.0));
            uneven.y.end_row();
        }
        assert!(Dataset::from_rows(&uneven, 1, 2).unwrap().label_feature_product().unwrap().is_none());
    }

    #[test]
    fn sums_are_the_same_however_many_examples_are_buffered() {
        let data = Dataset::in_chunks_of(16, &rows(1), 12, 30).unwrap();
        let [at_once, in_turn] = [usize::MAX, 1].map(|least| ProductSoFar::of(&data.view(), least).unwrap().unwrap());
        assert_eq!(at_once.rows(&data.view()), in_turn.rows(&data.view()));
    }

    #[test]
    fn the_matrix_is_the_same_on_any_number_of_threads() {
        let data = Dataset::in_chunks_of(16, &rows(1), 12, 30).unwrap();
        let made = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| data.label_feature_product().unwrap().unwrap())
        };
        assert_eq!(made(1), made(4));
    }
}
