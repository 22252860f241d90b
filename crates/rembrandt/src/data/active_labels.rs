//! [`ActiveLabels`]: the labels that some example has, numbered without gaps.
//!
//! A label that no example has is a zero column of Y, so its row is zero in every product YᵀWX·z. An algorithm may leave
//! it out from the start and put the zero row back at the end. Where labels are many and examples few, that saves most
//! rows of every dense matrix.

use super::{Examples, Moments, Shape, Side};
use crate::linalg::matrix::{MatMut, MatRef, Matrix};
use crate::{Error, Result};

/// The labels that some example has, in ascending order. Each is numbered by its position among them.
///
/// ```
/// use rembrandt::Matrix;
/// use rembrandt::data::ActiveLabels;
///
/// let active = ActiveLabels::new(vec![1, 3], 5)?;
/// let all = Matrix::from_fn(5, 2, |i, _| i as f32);
/// let some = active.select(&all);
/// assert_eq!(some.as_slice(), [1.0, 1.0, 3.0, 3.0]);
/// assert_eq!(active.expand(&some).as_slice(), [0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 3.0, 3.0, 0.0, 0.0]);
/// # Ok::<(), rembrandt::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActiveLabels {
    ids: Vec<u32>,
    /// The number of each label among those that are active, and [`INACTIVE`] for the others.
    numbers: Vec<u32>,
}

/// Stands for the number of a label that is not active.
const INACTIVE: u32 = u32::MAX;

impl ActiveLabels {
    /// The labels `ids` of `count` in all.
    ///
    /// # Errors
    /// If the ids are not strictly ascending and below `count`.
    pub fn new(ids: Vec<u32>, count: usize) -> Result<ActiveLabels> {
        if !ids.is_sorted_by(|a, b| a < b) || ids.last().is_some_and(|last| *last as usize >= count) {
            return Err(Error::Data(format!("active labels must be ascending, distinct and below {count}")));
        }
        let mut numbers = vec![INACTIVE; count];
        (0..).zip(&ids).for_each(|(number, id)| numbers[*id as usize] = number);
        Ok(ActiveLabels { ids, numbers })
    }

    /// The active labels, ascending.
    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// How many labels are active.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// How many labels there are, active or not.
    pub fn count(&self) -> usize {
        self.numbers.len()
    }

    /// Whether a label is active.
    pub fn contains(&self, label: u32) -> bool {
        self.numbers.get(label as usize).is_some_and(|number| *number != INACTIVE)
    }

    /// The rows of the active labels, from a matrix with a row for every label.
    ///
    /// # Panics
    /// If `all` does not have a row for each label.
    pub fn select(&self, all: &Matrix) -> Matrix {
        let mut some = Matrix::zeros(self.len(), all.cols());
        self.select_into(all.view(), some.view_mut());
        some
    }

    /// A matrix with a row for every label: that of `some` for an active one, and zeros for the others.
    ///
    /// # Panics
    /// If `some` does not have a row for each active label.
    pub fn expand(&self, some: &Matrix) -> Matrix {
        self.expanded(some.view())
    }

    fn select_into(&self, all: MatRef<'_>, mut some: MatMut<'_>) {
        assert_eq!(all.rows(), self.count(), "a row for each label");
        self.ids.iter().enumerate().for_each(|(i, id)| some.row_mut(i).copy_from_slice(all.row(*id as usize)));
    }

    fn expanded(&self, some: MatRef<'_>) -> Matrix {
        assert_eq!(some.rows(), self.len(), "a row for each active label");
        let mut all = Matrix::zeros(self.count(), some.cols());
        self.ids.iter().enumerate().for_each(|(i, id)| all.row_mut(*id as usize).copy_from_slice(some.row(i)));
        all
    }

    /// The active labels among those that `self` numbers, as labels of what `self` is a part of.
    pub(super) fn then(&self, inner: &ActiveLabels) -> Result<ActiveLabels> {
        assert_eq!(inner.count(), self.len(), "labels of the same examples");
        ActiveLabels::new(inner.ids.iter().map(|id| self.ids[*id as usize]).collect(), self.count())
    }

    /// The numbers of labels that are all active, in `buffer`.
    pub(super) fn renumber<'b>(&self, ids: &[u32], buffer: &'b mut Vec<u32>) -> &'b [u32] {
        buffer.clear();
        buffer.extend(ids.iter().map(|id| self.numbers[*id as usize]));
        buffer
    }

    /// The columns of the active labels.
    pub(super) fn restrict_moments(&self, moments: &mut Moments) {
        for column in [&mut moments.sum, &mut moments.square] {
            *column = self.ids.iter().map(|id| column[*id as usize]).collect();
        }
    }

    /// The same examples without the labels that are not active.
    ///
    /// By [`Examples::with_labels`] where the examples can do it at no cost. Otherwise every product goes through matrices
    /// with a row for every label, which gives the same result and saves nothing but dense rows elsewhere.
    ///
    /// # Errors
    /// If an example has a label that is not active, where the examples can tell.
    pub fn restrict<'a>(&'a self, examples: &'a dyn Examples) -> Result<Box<dyn Examples + 'a>> {
        assert_eq!(self.count(), examples.shape().c, "active labels of the same examples");
        Ok(examples.with_labels(self)?.unwrap_or_else(|| Box::new(Restricted { examples, labels: self })))
    }
}

/// Any examples without the labels that are not active.
pub(super) struct Restricted<'a> {
    pub examples: &'a dyn Examples,
    pub labels: &'a ActiveLabels,
}

impl Examples for Restricted<'_> {
    fn shape(&self) -> Shape {
        Shape { c: self.labels.len(), ..self.examples.shape() }
    }

    fn cross(&self, a: Side, b: Side, z: MatRef<'_>, mut out: MatMut<'_>) -> Result<()> {
        let all_z = (b == Side::Y).then(|| self.labels.expanded(z));
        let z = all_z.as_ref().map_or(z, Matrix::view);
        if a == Side::X {
            return self.examples.cross(a, b, z, out);
        }
        let mut all = Matrix::zeros(self.labels.count(), out.cols());
        self.examples.cross(a, b, z, all.view_mut())?;
        self.labels.select_into(all.view(), out.reborrow());
        Ok(())
    }

    fn squares(&self, z: MatRef<'_>) -> Result<Vec<f64>> {
        self.examples.squares(z)
    }

    fn moments(&self, side: Side) -> Result<Moments> {
        let mut moments = self.examples.moments(side)?;
        if side == Side::Y {
            self.labels.restrict_moments(&mut moments);
        }
        Ok(moments)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Dataset, RowScale, Rows};

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

    /// Products and moments of the active labels are those of all labels, to the last bit, whichever way they are taken.
    fn compare(all: &dyn Examples) {
        let active = all.active_labels().unwrap().unwrap();
        let by_type = active.restrict(all).unwrap();
        compare_restricted(all, &active, &*by_type);
        compare_restricted(all, &active, &Restricted { examples: all, labels: &active });
    }

    fn compare_restricted(all: &dyn Examples, active: &ActiveLabels, some: &dyn Examples) {
        assert_eq!(some.shape(), Shape { c: 8, ..all.shape() });
        let fill = |rows: usize| Matrix::from_fn(rows, 3, |i, j| 1.0 / (1 + i * 3 + j) as f32);
        for [a, b] in [[Side::X, Side::X], [Side::X, Side::Y], [Side::Y, Side::X], [Side::Y, Side::Y]] {
            let z = fill(all.shape().width(b));
            let mut expected = Matrix::zeros(all.shape().width(a), 3);
            all.cross(a, b, z.view(), expected.view_mut()).unwrap();
            let z = if b == Side::Y { active.select(&z) } else { z };
            let mut found = fill(some.shape().width(a));
            some.cross(a, b, z.view(), found.view_mut()).unwrap();
            assert_eq!(if a == Side::Y { active.expand(&found) } else { found }, expected, "{a:?} {b:?}");
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
    fn nothing_is_lost_with_inactive_labels() {
        let data = dataset(8);
        compare(&data);
        compare(&data.view().scale_rows(RowScale::Length).unwrap());
        // A label whose examples all have weight 0 is still active.
        compare(&data.view().weights((0..100).map(|i| f32::from(u8::from(i % 8 > 2))).collect()).unwrap());
        compare(&data.view().rows(|i| i % 8 > 2).unwrap());
        compare(&data.view().bias().unwrap());
        compare(&data.view().centered().unwrap());
    }

    #[test]
    fn nothing_is_left_out_where_all_are_active() {
        let mut rows = Rows::new();
        for label in 0..3 {
            rows.x.end_row();
            rows.y.push(label, 1.0);
            rows.y.end_row();
        }
        assert!(Dataset::from_rows(&rows, 1, 3).unwrap().active_labels().unwrap().is_none());
        let none = Dataset::from_rows(&Rows::new(), 1, 3).unwrap();
        assert!(none.active_labels().unwrap().unwrap().is_empty());
        assert_eq!(none.view().only_active_labels().unwrap().shape().c, 0);
    }

    #[test]
    fn labels_that_examples_have_cannot_be_left_out() {
        let data = dataset(8);
        let too_few = ActiveLabels::new(vec![1, 4], 30).unwrap();
        assert!(too_few.restrict(&data).is_err());
        // More than are needed are fine, as when other examples have them.
        let more = ActiveLabels::new((0..25).collect(), 30).unwrap();
        assert_eq!(more.restrict(&data).unwrap().shape().c, 25);
        assert!(ActiveLabels::new(vec![2, 1], 3).is_err() && ActiveLabels::new(vec![3], 3).is_err());
    }
}
