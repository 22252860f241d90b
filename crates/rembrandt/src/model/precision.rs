//! Large matrices as a model file holds them, in `f32` or bfloat16, used where they lie.

use std::borrow::Cow;
use std::ops::Range;

use half::bf16;
use rayon::prelude::*;
use safetensors::Dtype;
use serde::{Deserialize, Serialize};

use super::container::{Container, damaged};
use crate::Result;
use crate::linalg::kernels::dots::{Number, dots, narrow};
use crate::linalg::matrix::MatRef;

/// How the large matrices of a model are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Precision {
    /// Single precision.
    #[default]
    F32,
    /// The upper half of single precision, 8 bits of mantissa: half the memory, probabilities change in the third digit.
    Bf16,
}

impl Precision {
    /// The kind of numbers, as the file calls it.
    pub(super) fn dtype(self) -> Dtype {
        match self {
            Precision::F32 => Dtype::F32,
            Precision::Bf16 => Dtype::BF16,
        }
    }

    pub(super) fn dtype_name(self) -> &'static str {
        match self {
            Precision::F32 => "F32",
            Precision::Bf16 => "BF16",
        }
    }

    /// The bytes of some numbers. Those too large for bfloat16 become the largest it has.
    pub(super) fn encode(self, numbers: &[f32]) -> Cow<'_, [u8]> {
        match self {
            Precision::F32 => Cow::Borrowed(bytemuck::cast_slice(numbers)),
            Precision::Bf16 => {
                let half: Vec<bf16> = numbers.par_iter().with_min_len(4096).map(|v| narrow(*v)).collect();
                Cow::Owned(bytemuck::cast_slice(&half).to_vec())
            }
        }
    }
}

/// Where a matrix lies in a file.
#[derive(Clone, Debug)]
pub(super) struct Place {
    precision: Precision,
    rows: usize,
    cols: usize,
    bytes: Range<usize>,
}

impl Place {
    /// Finds a matrix whose numbers can be used in place.
    pub fn find(file: &Container<'_>, name: &str, precision: Precision) -> Result<Place> {
        match file.locate(name, precision.dtype()) {
            Some((&[rows, cols], bytes)) => Ok(Place { precision, rows, cols, bytes }),
            _ => Err(file.missing(name)),
        }
    }

    /// Rows and columns.
    pub fn size(&self) -> (usize, usize) {
        (self.rows, self.cols)
    }

    /// Refuses a matrix that is not aligned, not of the given size, or holds anything but finite numbers.
    pub fn check(&self, file: &Container<'_>, map: &[u8], name: &str, size: (usize, usize)) -> Result<()> {
        if (self.rows, self.cols) != size {
            return Err(damaged(file.path, "the sizes in it contradict each other"));
        }
        let Some(table) = self.try_look(map) else {
            return Err(damaged(file.path, &format!("tensor {name} is not aligned")));
        };
        if !table.is_finite() {
            return Err(damaged(file.path, &format!("tensor {name} holds numbers that are not finite")));
        }
        Ok(())
    }

    /// The matrix in the bytes of its file.
    pub fn look<'a>(&self, map: &'a [u8]) -> Table<'a> {
        self.try_look(map).expect("alignment was checked on opening")
    }

    fn try_look<'a>(&self, map: &'a [u8]) -> Option<Table<'a>> {
        let bytes = &map[self.bytes.clone()];
        let numbers = match self.precision {
            Precision::F32 => Numbers::F32(bytemuck::try_cast_slice(bytes).ok()?),
            Precision::Bf16 => Numbers::Bf16(bytemuck::try_cast_slice(bytes).ok()?),
        };
        Some(Table { rows: self.rows, cols: self.cols, numbers })
    }

    /// The bytes of the matrix.
    pub fn bytes<'a>(&self, map: &'a [u8]) -> &'a [u8] {
        &map[self.bytes.clone()]
    }
}

/// A matrix as stored, row-major.
#[derive(Clone, Copy, Debug)]
pub struct Table<'a> {
    rows: usize,
    cols: usize,
    numbers: Numbers<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Numbers<'a> {
    F32(&'a [f32]),
    Bf16(&'a [bf16]),
}

impl<'a> Table<'a> {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Row `i`, in single precision.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn row(&self, i: usize) -> Cow<'a, [f32]> {
        let range = i * self.cols..(i + 1) * self.cols;
        match self.numbers {
            Numbers::F32(numbers) => Cow::Borrowed(&numbers[range]),
            Numbers::Bf16(numbers) => Cow::Owned(numbers[range].iter().map(|v| v.widen()).collect()),
        }
    }

    /// The whole matrix as a view, if it is stored in single precision.
    pub fn view(&self) -> Option<MatRef<'a>> {
        match self.numbers {
            Numbers::F32(numbers) => Some(MatRef::new(self.rows, self.cols, self.cols, numbers)),
            Numbers::Bf16(_) => None,
        }
    }

    /// out ← A·Bᵀ, where B are some of the rows here.
    pub(super) fn dots(&self, a: &[f32], rows: Range<usize>, out: &mut [f32]) {
        let range = rows.start * self.cols..rows.end * self.cols;
        match self.numbers {
            Numbers::F32(numbers) => dots(a, &numbers[range], self.cols, out),
            Numbers::Bf16(numbers) => dots(a, &numbers[range], self.cols, out),
        }
    }

    fn is_finite(&self) -> bool {
        // Whole chunks without branches: as fast as memory.
        const CHUNK: usize = 1 << 16;
        match self.numbers {
            Numbers::F32(numbers) => {
                numbers.par_chunks(CHUNK).all(|chunk| chunk.iter().fold(true, |all, v| all & v.is_finite()))
            }
            Numbers::Bf16(numbers) => {
                numbers.par_chunks(CHUNK).all(|chunk| chunk.iter().fold(true, |all, v| all & v.is_finite()))
            }
        }
    }
}

impl<'a> From<MatRef<'a>> for Table<'a> {
    /// # Panics
    /// If the view has gaps.
    fn from(matrix: MatRef<'a>) -> Table<'a> {
        let (rows, cols) = (matrix.rows(), matrix.cols());
        Table { rows, cols, numbers: Numbers::F32(&matrix.as_slice()[..rows * cols]) }
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
            let view = |numbers: &[f32]| Table { rows: 1, cols: 4, numbers: Numbers::F32(numbers) }.is_finite();
            assert!(view(&numbers));
            numbers[2] = bad;
            assert!(!view(&numbers));
            let half = [bf16::ONE, bf16::from_f32(bad)];
            assert!(!Table { rows: 1, cols: 2, numbers: Numbers::Bf16(&half) }.is_finite());
        }
        assert!(Table { rows: 1, cols: 2, numbers: Numbers::Bf16(&[bf16::MIN, bf16::MAX]) }.is_finite());
    }
}
