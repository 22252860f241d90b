//! [`Occurring`]: examples seen without the labels that none of them has.
//!
//! A label that never occurs has a zero row in every product YᵀWX·z, so an algorithm may leave it out from the start:
//! its dense matrices then have a row for each label that occurs, and lists of labels may be as long as they like. The
//! others are numbered anew, in their order. Only these numbers are translated, chunk by chunk and at each product, which
//! is nothing beside the product; nothing is copied.

use super::{Dataset, Examples, Meetings, Moments, Shape, Side};
use crate::Result;
use crate::linalg::matrix::{MatMut, MatRef, Matrix};

/// The weights of the examples in AᵀWB, where they are not the data's own.
type Weights<'a> = Box<dyn Fn(Side, Side) -> Option<&'a [f32]> + 'a>;

/// Examples with the labels that occur, numbered from 0 in their order.
pub struct Occurring<'a> {
    data: &'a Dataset,
    /// The same with all labels and with the weights that count.
    whole: &'a dyn Examples,
    weights: Weights<'a>,
    /// The labels that occur, ascending.
    labels: Vec<u32>,
    /// The new number of each label; of those that do not occur it means nothing.
    numbers: Vec<u32>,
}

impl<'a> Occurring<'a> {
    /// `whole` without the labels that no example has; nothing when all occur. `whole` is `data` with these `weights`.
    pub(super) fn find(
        data: &'a Dataset,
        whole: &'a dyn Examples,
        weights: impl Fn(Side, Side) -> Option<&'a [f32]> + 'a,
    ) -> Result<Option<Occurring<'a>>> {
        let mut numbers = vec![0; data.shape().c];
        data.for_each_chunk(|chunk| {
            chunk.side(Side::Y).columns.ids.iter().for_each(|label| numbers[*label as usize] = 1);
            Ok(())
        })?;
        let labels: Vec<u32> =
            (0..).zip(&numbers).filter(|(_, occurs)| **occurs == 1).map(|(label, _)| label).collect();
        if labels.len() == numbers.len() {
            return Ok(None);
        }
        (0..).zip(&labels).for_each(|(number, label)| numbers[*label as usize] = number);
        Ok(Some(Occurring { data, whole, weights: Box::new(weights), labels, numbers }))
    }

    /// The rows of `all`, which has one for each label, that belong to labels that occur.
    ///
    /// # Panics
    /// If `all` does not have a row for each label.
    pub fn select(&self, all: &Matrix) -> Matrix {
        assert_eq!(all.rows(), self.numbers.len(), "a row for each label");
        Matrix::from_fn(self.labels.len(), all.cols(), |i, j| all.row(self.labels[i] as usize)[j])
    }

    /// A matrix with a row for each label: that of `some` where the label occurs, and zeros elsewhere.
    ///
    /// # Panics
    /// If `some` does not have a row for each label that occurs.
    pub fn expand(&self, some: &Matrix) -> Matrix {
        assert_eq!(some.rows(), self.labels.len(), "a row for each label that occurs");
        let mut all = Matrix::zeros(self.numbers.len(), some.cols());
        for (i, label) in self.labels.iter().enumerate() {
            all.row_mut(*label as usize).copy_from_slice(some.row(i));
        }
        all
    }
}

impl Examples for Occurring<'_> {
    fn shape(&self) -> Shape {
        Shape { c: self.labels.len(), ..self.data.shape() }
    }

    fn cross(&self, a: Side, b: Side, z: MatRef<'_>, out: MatMut<'_>) -> Result<()> {
        self.data.cross_numbered(a, b, (self.weights)(a, b), Some((&self.numbers, self.labels.len())), z, out)
    }

    fn squares(&self, z: MatRef<'_>) -> Result<Vec<f64>> {
        self.whole.squares(z)
    }

    fn moments(&self, side: Side) -> Result<Moments> {
        let mut moments = self.whole.moments(side)?;
        if side == Side::Y {
            for column in [&mut moments.sum, &mut moments.square] {
                *column = self.labels.iter().map(|label| column[*label as usize]).collect();
            }
        }
        Ok(moments)
    }

    fn meetings(&self) -> Result<Option<Meetings<'_>>> {
        Meetings::find(self.data, self, (self.weights)(Side::Y, Side::X), true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Reweighted, RowScale, Rows, Scaled};

    /// Labels 1, 4, 7, … up to 22 of 30, in several chunks.
    fn dataset(labels: u32) -> Dataset {
        let mut rows = Rows::new();
        for i in 0..100u32 {
            [i % 7, 7 + i % 5].into_iter().for_each(|id| rows.x.push(id, (1 + i % 4) as f32));
            rows.x.end_row();
            let mut of_row = [1 + 3 * (i % labels), 1 + 3 * (i * i % labels)];
            of_row.sort_unstable();
            let count = if of_row[0] == of_row[1] { 1 } else { 2 };
            of_row[..count].iter().for_each(|label| rows.y.push(*label, 1.0));
            rows.y.end_row();
        }
        rows.weights = Some((0..100).map(|i| (i % 3) as f32).collect());
        Dataset::in_chunks_of(16, &rows, 12, 30).unwrap()
    }

    /// Products and moments of what occurs are those of all labels, to the last bit.
    fn compare(all: &dyn Examples) {
        let some = all.occurring().unwrap().unwrap();
        assert_eq!(some.shape(), Shape { c: 8, ..all.shape() });
        let fill = |rows: usize| Matrix::from_fn(rows, 3, |i, j| 1.0 / (1 + i * 3 + j) as f32);
        for [a, b] in [[Side::X, Side::X], [Side::X, Side::Y], [Side::Y, Side::X], [Side::Y, Side::Y]] {
            let z = fill(all.shape().width(b));
            let mut expected = Matrix::zeros(all.shape().width(a), 3);
            all.cross(a, b, z.view(), expected.view_mut()).unwrap();
            let z = if b == Side::Y { some.select(&z) } else { z };
            let mut found = fill(some.shape().width(a));
            some.cross(a, b, z.view(), found.view_mut()).unwrap();
            assert_eq!(if a == Side::Y { some.expand(&found) } else { found }, expected, "{a:?} {b:?}");
            let (expected, found) = (all.moments(a).unwrap(), some.moments(a).unwrap());
            if a == Side::X {
                assert_eq!(found, expected);
            } else {
                assert_eq!(found.sum, expected.sum[1..].iter().step_by(3).take(8).copied().collect::<Vec<_>>());
                assert_eq!((found.weight, found.entries), (expected.weight, expected.entries));
            }
        }
    }

    #[test]
    fn nothing_is_lost_with_labels_that_never_occur() {
        let data = dataset(8);
        compare(&data);
        compare(&Scaled::new(&data, RowScale::Length).unwrap());
        // A label that has examples of weight 0 only still occurs.
        compare(&Reweighted::new(&data, (0..100).map(|i| f32::from(u8::from(i % 8 > 2))).collect()).unwrap());
    }

    #[test]
    fn nothing_is_left_out_where_all_occur() {
        let mut rows = Rows::new();
        for label in 0..3 {
            rows.x.end_row();
            rows.y.push(label, 1.0);
            rows.y.end_row();
        }
        assert!(Dataset::from_rows(&rows, 1, 3).unwrap().occurring().unwrap().is_none());
        let none = Dataset::from_rows(&Rows::new(), 1, 3).unwrap();
        assert_eq!(none.occurring().unwrap().unwrap().shape().c, 0);
    }
}
