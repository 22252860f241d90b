//! [`RowScale`]: each row of features divided by its own size, such as counts of words that become frequencies.

use crate::linalg::csr::CsrRef;
use crate::{Error, Result};

/// Sizes of rows lie between this and its inverse: then their squares, and the products of `f32` with them, are sound.
const LARGEST_SIZE: f64 = 1e15;

/// The divisor of each row of features, in training and in prediction.
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
    /// The factor of each row: one over its size, and 1 for rows that have none.
    ///
    /// Fails when a row is so large or small that the division would leave single precision.
    pub fn factors(self, rows: CsrRef<'_>) -> Result<Vec<f32>> {
        (0..rows.rows()).map(|i| self.factor(rows, i).map_err(|size| out_of_range(i, size))).collect()
    }

    /// Bytes that [`View::scale_rows`](super::View::scale_rows) takes for `n` examples, at its peak.
    pub fn memory(self, n: usize) -> u64 {
        // Weights of the data, factors, and both products of them.
        if self == RowScale::None { 0 } else { 16 * n as u64 }
    }

    /// A number for files.
    pub(crate) fn code(self) -> u32 {
        self as u32
    }

    /// The scale that a number in a file stands for.
    pub(crate) fn from_code(code: &[u32]) -> Option<RowScale> {
        [RowScale::None, RowScale::Sum, RowScale::Length].into_iter().find(|scale| *code == [scale.code()])
    }

    /// The divisor of a row with these values; 0 when it stays as it is.
    pub(crate) fn size(self, values: impl Iterator<Item = f32>) -> f64 {
        let values = values.map(f64::from);
        match self {
            RowScale::None => 0.0,
            RowScale::Sum => values.map(f64::abs).sum(),
            RowScale::Length => values.map(|v| v * v).sum::<f64>().sqrt(),
        }
    }

    /// One over the size of row `i`, or else a size that is out of range.
    pub(super) fn factor(self, rows: CsrRef<'_>, i: usize) -> Result<f32, f64> {
        match self.size(rows.entries(i).map(|(_, v)| v)) {
            0.0 => Ok(1.0),
            size if (1.0 / LARGEST_SIZE..=LARGEST_SIZE).contains(&size) => Ok(size.recip() as f32),
            size => Err(size),
        }
    }
}

pub(super) fn out_of_range(example: usize, size: f64) -> Error {
    let (what, how) = if size > 1.0 { ("large", "down") } else { ("small", "up") };
    Error::Data(format!(
        "example {} has a size of {size:.2e}, too {what} to divide by; scale the features {how}",
        example + 1
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::csr::Csr;

    fn rows(values: &[f32]) -> Csr {
        let mut x = Csr::new(false);
        (0..).zip(values).for_each(|(id, v)| x.push(id, *v));
        x.end_row();
        x.end_row();
        x
    }

    #[test]
    fn factors_are_one_over_the_size() {
        let x = rows(&[3.0, -4.0]);
        for (scale, first) in [(RowScale::None, 1.0), (RowScale::Sum, 1.0 / 7.0), (RowScale::Length, 0.2)] {
            assert_eq!(scale.factors(x.view()).unwrap(), [first, 1.0]);
        }
    }

    #[test]
    fn sizes_beyond_single_precision_are_refused() {
        for value in [1e20, 1e-20] {
            assert!(RowScale::Sum.factors(rows(&[value]).view()).is_err());
        }
    }
}
