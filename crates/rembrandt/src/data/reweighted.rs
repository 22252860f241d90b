//! [`Reweighted`]: a data set seen with other weights, such as 0 for the examples of a fold.

use super::{Dataset, Examples, Meetings, Moments, Occurring, Shape, Side};
use crate::linalg::matrix::{MatMut, MatRef};
use crate::{Error, Result};

/// A data set with another weight for each example. Its own weights still count: the two are multiplied.
pub struct Reweighted<'a> {
    data: &'a Dataset,
    weights: Vec<f32>,
}

impl<'a> Reweighted<'a> {
    /// Fails unless there is one weight for each example, finite and not negative.
    pub fn new(data: &'a Dataset, mut weights: Vec<f32>) -> Result<Reweighted<'a>> {
        let n = data.shape().n;
        if weights.len() != n {
            return Err(Error::Data(format!("{} weights for {n} examples", weights.len())));
        }
        if weights.iter().any(|w| !w.is_finite() || *w < 0.0) {
            return Err(Error::Data("weights of examples must be finite and not negative".into()));
        }
        if let Some(own) = data.weights()? {
            weights.iter_mut().zip(own).for_each(|(w, own)| *w *= own);
        }
        Ok(Reweighted { data, weights })
    }
}

impl Examples for Reweighted<'_> {
    fn shape(&self) -> Shape {
        self.data.shape()
    }

    fn cross(&self, a: Side, b: Side, z: MatRef<'_>, out: MatMut<'_>) -> Result<()> {
        self.data.cross_weighted(a, b, Some(&self.weights), z, out)
    }

    fn squares(&self, z: MatRef<'_>) -> Result<Vec<f64>> {
        self.data.squares_weighted(Some(&self.weights), z)
    }

    fn moments(&self, side: Side) -> Result<Moments> {
        self.data.moments_weighted(side, Some(&self.weights))
    }

    fn occurring(&self) -> Result<Option<Occurring<'_>>> {
        Occurring::find(self.data, self, |_, _| Some(&self.weights))
    }

    fn meetings(&self) -> Result<Option<Meetings<'_>>> {
        Meetings::find(self.data, self, Some(&self.weights), false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Rows;
    use crate::linalg::matrix::Matrix;

    /// Every third row left out, or only the others there.
    fn rows(all: bool) -> (Rows, Vec<f32>) {
        let (mut rows, mut weights, mut own) = (Rows::new(), Vec::new(), Vec::new());
        for i in (0..100u32).filter(|i| all || i % 3 != 0) {
            [i % 7, 7 + i % 5].into_iter().for_each(|id| rows.x.push(id, (1 + i % 4) as f32));
            rows.x.end_row();
            rows.y.push(i % 6, 1.0);
            rows.y.end_row();
            weights.push(f32::from(u8::from(i % 3 != 0)));
            own.push((i % 2 + 1) as f32);
        }
        rows.weights = Some(own);
        (rows, weights)
    }

    #[test]
    fn weight_zero_is_absence() {
        let ((all, weights), (some, _)) = (rows(true), rows(false));
        let data = Dataset::in_chunks_of(16, &all, 12, 6).unwrap();
        let (view, exact) = (Reweighted::new(&data, weights).unwrap(), Dataset::from_rows(&some, 12, 6).unwrap());
        for [a, b] in [[Side::X, Side::X], [Side::X, Side::Y], [Side::Y, Side::X]] {
            let (height, inner) = (view.shape().width(a), view.shape().width(b));
            let z = Matrix::from_fn(inner, 3, |i, j| (i * 3 + j) as f32);
            let [mut found, mut expected] = [(); 2].map(|()| Matrix::zeros(height, 3));
            view.cross(a, b, z.view(), found.view_mut()).unwrap();
            exact.cross(a, b, z.view(), expected.view_mut()).unwrap();
            // Small whole numbers: sums are exact.
            assert_eq!(found, expected);
            let (found, expected) = (view.moments(a).unwrap(), exact.moments(a).unwrap());
            assert_eq!((found.weight, found.sum, found.square), (expected.weight, expected.sum, expected.square));
        }
    }

    #[test]
    fn bad_weights_are_refused() {
        let data = Dataset::from_rows(&rows(true).0, 12, 6).unwrap();
        assert!(Reweighted::new(&data, vec![1.0; 99]).is_err());
        assert!(Reweighted::new(&data, vec![-1.0; 100]).is_err());
        assert!(Reweighted::new(&data, vec![f32::NAN; 100]).is_err());
    }
}
