//! [`Scaled`]: a data set seen with each row of features divided by its own size, without a copy of the data.
//!
//! With r the factors of the rows, X becomes diag(r)·X. The factors join the weights of the examples: XᵀWX has weights
//! w·r², XᵀWY has w·r, YᵀWY has w.

use super::{Dataset, Examples, Meetings, Moments, Occurring, Shape, Side};
use crate::linalg::csr::CsrRef;
use crate::linalg::matrix::{MatMut, MatRef, Matrix};
use crate::{Error, Result};

/// Sizes of rows lie between this and its inverse: then their squares, and the products of `f32` with them, are sound.
const LARGEST_SIZE: f64 = 1e15;

/// What each row of features is divided by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RowScale {
    /// Nothing.
    #[default]
    None,
    /// Σ|x|: counts of words become frequencies.
    Sum,
    /// ‖x‖₂: long and short texts count alike.
    Length,
}

impl RowScale {
    /// What each row is multiplied by: one over its size, and 1 for rows that have none.
    ///
    /// Fails when a row is so large or small that the division would leave single precision.
    pub fn factors(self, rows: CsrRef<'_>) -> Result<Vec<f32>> {
        (0..rows.rows()).map(|i| self.factor(rows, i).map_err(|size| out_of_range(i, size))).collect()
    }

    /// Bytes that [`Scaled`] takes for `n` examples, at its peak.
    pub fn memory(self, n: usize) -> u64 {
        // Weights of the data, factors, and both products of them.
        if self == RowScale::None { 0 } else { 16 * n as u64 }
    }

    /// A number for files.
    pub(crate) fn code(self) -> u32 {
        self as u32
    }

    /// What a number in a file stands for.
    pub(crate) fn from_code(code: &[u32]) -> Option<RowScale> {
        [RowScale::None, RowScale::Sum, RowScale::Length].into_iter().find(|scale| *code == [scale.code()])
    }

    /// What a row with these values is divided by; 0 when it stays as it is.
    pub(crate) fn size(self, values: impl Iterator<Item = f32>) -> f64 {
        let values = values.map(f64::from);
        match self {
            RowScale::None => 0.0,
            RowScale::Sum => values.map(f64::abs).sum(),
            RowScale::Length => values.map(|v| v * v).sum::<f64>().sqrt(),
        }
    }

    /// One over the size of row `i`, or else a size that is out of range.
    fn factor(self, rows: CsrRef<'_>, i: usize) -> Result<f32, f64> {
        match self.size(rows.entries(i).map(|(_, v)| v)) {
            0.0 => Ok(1.0),
            size if (1.0 / LARGEST_SIZE..=LARGEST_SIZE).contains(&size) => Ok(size.recip() as f32),
            size => Err(size),
        }
    }
}

fn out_of_range(example: usize, size: f64) -> Error {
    let (what, how) = if size > 1.0 { ("large", "down") } else { ("small", "up") };
    Error::Data(format!(
        "example {} has a size of {size:.2e}, too {what} to divide by; scale the features {how}",
        example + 1
    ))
}

/// A data set with each row of features divided as [`RowScale`] says.
///
/// A projection fitted to it applies to rows that are divided likewise: [`Scaled::gather_features`] does that for data
/// sets, [`RowScale::factors`] serves rows that come one by one.
///
/// ```
/// use rembrandt::data::{Dataset, RowScale, Rows, Scaled};
/// use rembrandt::{Examples, Side};
///
/// let mut rows = Rows::new();
/// [(0, 3.0), (1, 1.0)].into_iter().for_each(|(id, count)| rows.x.push(id, count));
/// rows.x.end_row();
/// rows.y.push(0, 1.0);
/// rows.y.end_row();
/// let data = Dataset::from_rows(&rows, 2, 1)?;
/// let scaled = Scaled::new(&data, RowScale::Sum)?;
/// assert_eq!(scaled.moments(Side::X)?.sum, [0.75, 0.25]);
/// # Ok::<(), rembrandt::Error>(())
/// ```
pub struct Scaled<'a> {
    data: &'a Dataset,
    /// Absent when rows are as they are.
    factors: Option<Factors>,
}

struct Factors {
    /// r.
    plain: Vec<f32>,
    /// w·r.
    once: Vec<f32>,
    /// w·r².
    twice: Vec<f32>,
    /// Σw.
    weight: f64,
}

impl<'a> Scaled<'a> {
    /// Goes over the data once. Fails when a row is too large or too small to be divided by.
    pub fn new(data: &'a Dataset, scale: RowScale) -> Result<Scaled<'a>> {
        if scale == RowScale::None {
            return Ok(Scaled { data, factors: None });
        }
        let n = data.shape().n;
        let mut factors = Factors {
            plain: Vec::with_capacity(n),
            once: Vec::with_capacity(n),
            twice: Vec::with_capacity(n),
            weight: 0.0,
        };
        data.for_each_chunk(|chunk| {
            for i in 0..chunk.rows() {
                let r = scale.factor(chunk.side(Side::X).rows, i);
                let r = r.map_err(|size| out_of_range(factors.plain.len(), size))?;
                let (w, wide) = (chunk.weights.map_or(1.0, |w| f64::from(w[i])), f64::from(r));
                factors.plain.push(r);
                factors.once.push((w * wide) as f32);
                factors.twice.push((w * wide * wide) as f32);
                factors.weight += w;
            }
            Ok(())
        })?;
        if factors.once.iter().chain(&factors.twice).any(|v| !v.is_finite()) {
            return Err(Error::Data(
                "weights of examples overflow when their features are divided; scale them down".into(),
            ));
        }
        Ok(Scaled { data, factors: Some(factors) })
    }

    /// diag(r)·X z, one row for each example.
    pub fn gather_features(&self, z: MatRef<'_>) -> Result<Matrix> {
        let mut out = self.data.gather_features(z)?;
        for (i, r) in self.factors.iter().flat_map(|f| &f.plain).enumerate() {
            out.row_mut(i).iter_mut().for_each(|v| *v *= r);
        }
        Ok(out)
    }

    /// What stands for W in AᵀWB, where it is not the data's own.
    fn weights(&self, a: Side, b: Side) -> Option<&[f32]> {
        self.factors.as_ref().and_then(|f| match (a, b) {
            (Side::X, Side::X) => Some(&f.twice[..]),
            (Side::X, Side::Y) | (Side::Y, Side::X) => Some(&f.once[..]),
            (Side::Y, Side::Y) => None,
        })
    }
}

impl Examples for Scaled<'_> {
    fn shape(&self) -> Shape {
        self.data.shape()
    }

    fn cross(&self, a: Side, b: Side, z: MatRef<'_>, out: MatMut<'_>) -> Result<()> {
        self.data.cross_weighted(a, b, self.weights(a, b), z, out)
    }

    fn squares(&self, z: MatRef<'_>) -> Result<Vec<f64>> {
        self.data.squares_weighted(self.weights(Side::X, Side::X), z)
    }

    fn moments(&self, side: Side) -> Result<Moments> {
        match &self.factors {
            Some(f) if side == Side::X => {
                let sum = self.data.moments_weighted(side, Some(&f.once))?.sum;
                let twice = self.data.moments_weighted(side, Some(&f.twice))?;
                Ok(Moments { weight: f.weight, sum, ..twice })
            }
            _ => self.data.moments(side),
        }
    }

    fn occurring(&self) -> Result<Option<Occurring<'_>>> {
        Occurring::find(self.data, self, |a, b| self.weights(a, b))
    }

    fn meetings(&self) -> Result<Option<Meetings<'_>>> {
        Meetings::find(self.data, self, self.weights(Side::Y, Side::X), false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Rows;

    type Size = fn(&[f32]) -> f32;

    /// Rows of both signs with weights, some of them empty; their features divided by 1 or by what `size` says.
    fn rows(size: Size) -> Rows {
        let mut rows = Rows::new();
        for i in 0..100u32 {
            let values = if i % 10 == 9 { vec![] } else { vec![(1 + i % 4) as f32, -((i % 3) as f32) - 0.5] };
            let size = size(&values);
            [i % 7, 7 + i % 5].into_iter().zip(values).for_each(|(id, value)| rows.x.push(id, value / size));
            rows.x.end_row();
            rows.y.push(i % 6, 1.0);
            rows.y.end_row();
        }
        rows.weights = Some((0..100).map(|i| (i % 4) as f32 / 2.0).collect());
        rows
    }

    const SIZES: [(RowScale, Size); 3] = [
        (RowScale::None, |_| 1.0),
        (RowScale::Sum, |values| values.iter().map(|v| v.abs()).sum()),
        (RowScale::Length, |values| values.iter().map(|v| v * v).sum::<f32>().sqrt()),
    ];

    fn assert_near(found: impl IntoIterator<Item = f64>, expected: impl IntoIterator<Item = f64>) {
        let near = |(a, b): (f64, f64)| (a - b).abs() <= 1e-5 * (1.0 + b.abs());
        assert!(found.into_iter().zip(expected).all(near));
    }

    #[test]
    fn products_are_those_of_rows_divided_beforehand() {
        let data = Dataset::in_chunks_of(16, &rows(|_| 1.0), 12, 6).unwrap();
        for (scale, size) in SIZES {
            let (view, exact) = (Scaled::new(&data, scale).unwrap(), Dataset::from_rows(&rows(size), 12, 6).unwrap());
            let wide = |m: &Matrix| m.as_slice().iter().map(|v| f64::from(*v)).collect::<Vec<_>>();
            for [a, b] in [[Side::X, Side::X], [Side::X, Side::Y], [Side::Y, Side::X], [Side::Y, Side::Y]] {
                let (height, inner) = (view.shape().width(a), view.shape().width(b));
                let z = Matrix::from_fn(inner, 3, |i, j| (i * 3 + j) as f32);
                let [mut found, mut expected] = [(); 2].map(|()| Matrix::zeros(height, 3));
                view.cross(a, b, z.view(), found.view_mut()).unwrap();
                exact.cross(a, b, z.view(), expected.view_mut()).unwrap();
                assert_near(wide(&found), wide(&expected));
                let (found, expected) = (view.moments(a).unwrap(), exact.moments(a).unwrap());
                assert_eq!((found.entries, found.weight), (expected.entries, expected.weight));
                assert_near(found.sum.into_iter().chain(found.square), expected.sum.into_iter().chain(expected.square));
            }
            let z = Matrix::from_fn(12, 2, |i, j| (i + j) as f32 - 4.0);
            let (found, expected) = (view.gather_features(z.view()), exact.gather_features(z.view()));
            assert_near(wide(&found.unwrap()), wide(&expected.unwrap()));
        }
    }

    #[test]
    fn factors_are_one_over_the_size() {
        let mut x = rows(|_| 1.0).x;
        x.clear();
        [(0, 3.0), (1, -4.0)].into_iter().for_each(|(id, v)| x.push(id, v));
        x.end_row();
        x.end_row();
        for (scale, first) in [(RowScale::None, 1.0), (RowScale::Sum, 1.0 / 7.0), (RowScale::Length, 0.2)] {
            assert_eq!(scale.factors(x.view()).unwrap(), [first, 1.0]);
        }
    }

    #[test]
    fn rows_beyond_single_precision_are_named() {
        for (value, word) in [(1e20, "too large"), (1e-20, "too small")] {
            let mut rows = rows(|_| 1.0);
            rows.x.push(3, value);
            rows.x.end_row();
            rows.y.end_row();
            rows.weights.as_mut().unwrap().push(1.0);
            let data = Dataset::from_rows(&rows, 12, 6).unwrap();
            let message = Scaled::new(&data, RowScale::Length).err().unwrap().to_string();
            assert!(message.starts_with("example 101 ") && message.contains(word), "{message}");
            assert!(RowScale::Sum.factors(rows.x.view()).is_err());
        }
    }
}
