//! Large matrices in `f32` or bfloat16, owned or in a mapped file, used where they lie.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use half::bf16;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::buffer::Buffer;
use super::kernels::dots::{Number, dots, narrow};
use super::matrix::{MatRef, Matrix};

/// How the large matrices of a model are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NumberFormat {
    /// Single precision.
    #[default]
    F32,
    /// The upper half of single precision, 8 bits of mantissa: half the memory, probabilities change in the third digit.
    Bf16,
}

/// A dense matrix, row-major. Copies share the numbers.
#[derive(Clone, Debug)]
pub struct Table {
    rows: usize,
    cols: usize,
    numbers: Numbers,
}

#[derive(Clone, Debug)]
pub(crate) enum Numbers {
    Matrix(Arc<Matrix>),
    F32(Buffer<f32>),
    Bf16(Buffer<bf16>),
}

/// The numbers as they are read.
enum Stored<'a> {
    F32(&'a [f32]),
    Bf16(&'a [bf16]),
}

impl Table {
    /// A matrix of stored numbers; nothing when there are not `rows`·`cols` of them.
    pub(crate) fn new(rows: usize, cols: usize, numbers: Numbers) -> Option<Table> {
        let table = Table { rows, cols, numbers };
        let len = match table.stored() {
            Stored::F32(numbers) => numbers.len(),
            Stored::Bf16(bits) => bits.len(),
        };
        (rows.checked_mul(cols) == Some(len)).then_some(table)
    }

    fn stored(&self) -> Stored<'_> {
        match &self.numbers {
            Numbers::Matrix(matrix) => Stored::F32(matrix.as_slice()),
            Numbers::F32(numbers) => Stored::F32(numbers),
            Numbers::Bf16(bits) => Stored::Bf16(bits),
        }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// How the numbers are stored.
    pub fn number_format(&self) -> NumberFormat {
        match self.numbers {
            Numbers::Matrix(_) | Numbers::F32(_) => NumberFormat::F32,
            Numbers::Bf16(_) => NumberFormat::Bf16,
        }
    }

    /// The same numbers in another format. Those too large for bfloat16 become the largest it has.
    pub fn to_format(&self, format: NumberFormat) -> Table {
        let numbers = match (self.stored(), format) {
            (Stored::F32(numbers), NumberFormat::Bf16) => {
                let bits: Vec<bf16> = numbers.par_iter().with_min_len(4096).map(|v| narrow(*v)).collect();
                Numbers::Bf16(bits.into())
            }
            (Stored::Bf16(bits), NumberFormat::F32) => {
                let wide: Vec<f32> = bits.par_iter().with_min_len(4096).map(|v| v.widen()).collect();
                Numbers::F32(wide.into())
            }
            _ => self.numbers.clone(),
        };
        Table { rows: self.rows, cols: self.cols, numbers }
    }

    /// The stored bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        match self.stored() {
            Stored::F32(numbers) => bytemuck::cast_slice(numbers),
            Stored::Bf16(bits) => bytemuck::cast_slice(bits),
        }
    }

    /// Row `i`, in single precision.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn row(&self, i: usize) -> Cow<'_, [f32]> {
        let range = i * self.cols..(i + 1) * self.cols;
        match self.stored() {
            Stored::F32(numbers) => Cow::Borrowed(&numbers[range]),
            Stored::Bf16(bits) => Cow::Owned(bits[range].iter().map(|v| v.widen()).collect()),
        }
    }

    /// Some of the rows, in single precision.
    pub(crate) fn select(&self, rows: &[u32]) -> Matrix {
        let mut some = Matrix::zeros(rows.len(), self.cols);
        rows.iter().enumerate().for_each(|(to, from)| some.row_mut(to).copy_from_slice(&self.row(*from as usize)));
        some
    }

    /// The same matrix with one row more.
    pub(crate) fn with_row(&self, row: &[f32]) -> Table {
        let numbers = match self.stored() {
            Stored::F32(numbers) => Numbers::F32([numbers, row].concat().into()),
            Stored::Bf16(bits) => {
                let row: Vec<bf16> = row.iter().map(|v| narrow(*v)).collect();
                Numbers::Bf16([bits, &row].concat().into())
            }
        };
        Table { rows: self.rows + 1, cols: self.cols, numbers }
    }

    /// The whole matrix as a view, if it is stored in single precision.
    pub fn view(&self) -> Option<MatRef<'_>> {
        match self.stored() {
            Stored::F32(numbers) => Some(MatRef::new(self.rows, self.cols, self.cols, numbers)),
            Stored::Bf16(_) => None,
        }
    }

    /// out ← A·Bᵀ, where B are some of the rows here.
    pub(crate) fn dots(&self, a: &[f32], rows: Range<usize>, out: &mut [f32]) {
        let range = rows.start * self.cols..rows.end * self.cols;
        match self.stored() {
            Stored::F32(numbers) => dots(a, &numbers[range], self.cols, out),
            Stored::Bf16(bits) => dots(a, &bits[range], self.cols, out),
        }
    }

    /// Whether all numbers are finite.
    pub(crate) fn is_finite(&self) -> bool {
        // Whole chunks without branches: as fast as memory.
        const CHUNK: usize = 1 << 16;
        const EXPONENT: u32 = 0x7f80_0000;
        match self.stored() {
            Stored::F32(numbers) => numbers
                .par_chunks(CHUNK)
                .all(|chunk| !chunk.iter().fold(false, |bad, v| bad | (v.to_bits() & EXPONENT == EXPONENT))),
            Stored::Bf16(numbers) => {
                numbers.par_chunks(CHUNK).all(|chunk| !chunk.iter().fold(false, |bad, v| bad | !v.is_finite()))
            }
        }
    }
}

impl From<Matrix> for Table {
    fn from(matrix: Matrix) -> Table {
        Arc::new(matrix).into()
    }
}

impl From<Arc<Matrix>> for Table {
    fn from(matrix: Arc<Matrix>) -> Table {
        Table { rows: matrix.rows(), cols: matrix.cols(), numbers: Numbers::Matrix(matrix) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bfloat16_of_known_numbers() {
        for value in [0.0f32, -0.0, 1.0, -2.5, 3.0e38, f32::MIN_POSITIVE] {
            let wide = narrow(value).widen();
            assert!((wide - value).abs() <= value.abs() / 256.0 && wide.is_sign_negative() == value.is_sign_negative());
        }
        // Half-way between 1 and the next, and between the next two.
        let bits = |value: f32| narrow(value).to_bits();
        assert_eq!((bits(1.0 + 1.0 / 256.0), bits(1.0 + 3.0 / 256.0)), (0x3f80, 0x3f82));
        assert!(narrow(f32::MAX).widen().is_finite() && narrow(f32::MIN).widen().is_finite());
    }

    #[test]
    fn numbers_that_are_not_finite_are_seen() {
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -f32::NAN] {
            let mut numbers = vec![1.0f32, f32::MAX, -1e-40, 0.0];
            let view = |numbers: &[f32]| Table::from(Matrix::from_vec(1, 4, numbers.to_vec())).is_finite();
            assert!(view(&numbers));
            numbers[2] = bad;
            assert!(!view(&numbers));
            let half = vec![bf16::ONE, bf16::from_f32(bad)];
            assert!(!Table::new(1, 2, Numbers::Bf16(half.into())).unwrap().is_finite());
        }
        let largest = Numbers::Bf16(vec![bf16::MIN, bf16::MAX].into());
        assert!(Table::new(1, 2, largest).unwrap().is_finite());
    }
}
