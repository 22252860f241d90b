//! Sparse matrices and texts as Python has them, used where they lie.

use std::borrow::Cow;
use std::ops::Range;

use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArrayDyn};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use rembrandt::linalg::csr::CsrRef;
use rembrandt::{Error, Result};

/// Integers of scipy's index arrays, which are as wide as they must be.
#[derive(FromPyObject)]
pub enum Integers<'py> {
    Narrow(PyReadonlyArray1<'py, i32>),
    Wide(PyReadonlyArray1<'py, i64>),
}

/// A matrix in scipy's CSR format: `indptr`, `indices`, `data` and the number of columns.
#[derive(FromPyObject)]
pub struct Rows<'py>(Integers<'py>, Integers<'py>, PyReadonlyArray1<'py, f32>, usize);

/// Examples.
#[derive(FromPyObject)]
pub enum Examples<'py> {
    Texts(Vec<PyBackedStr>),
    Rows(Rows<'py>),
}

/// Bytes, also those of a read-only map.
pub type Bytes<'py> = PyReadonlyArrayDyn<'py, u8>;

/// A function, and the bytes that it makes an object of again.
pub type Pickled<'py> = (Bound<'py, PyAny>, (Bound<'py, PyArray1<u8>>,));

#[derive(Clone, Copy)]
enum Slice<'a> {
    Narrow(&'a [i32]),
    Wide(&'a [i64]),
}

impl<'a> Slice<'a> {
    fn of(integers: &'a Integers<'_>) -> PyResult<Slice<'a>> {
        Ok(match integers {
            Integers::Narrow(array) => Slice::Narrow(array.as_slice()?),
            Integers::Wide(array) => Slice::Wide(array.as_slice()?),
        })
    }

    fn len(self) -> usize {
        match self {
            Slice::Narrow(array) => array.len(),
            Slice::Wide(array) => array.len(),
        }
    }

    fn at(self, i: usize) -> Option<usize> {
        match self {
            Slice::Narrow(array) => usize::try_from(*array.get(i)?).ok(),
            Slice::Wide(array) => usize::try_from(*array.get(i)?).ok(),
        }
    }

    /// Narrow ids stay where they are: one below 0 becomes larger than any id there is.
    fn ids(self, range: Range<usize>) -> Option<Cow<'a, [u32]>> {
        match self {
            Slice::Narrow(array) => Some(Cow::Borrowed(bytemuck::cast_slice(array.get(range)?))),
            Slice::Wide(array) => {
                let ids = array.get(range)?.iter();
                Some(Cow::Owned(ids.map(|id| u32::try_from(*id).unwrap_or(u32::MAX)).collect()))
            }
        }
    }
}

/// The arrays of a matrix, to be used without Python.
#[derive(Clone, Copy)]
pub struct Matrix<'a> {
    ptr: Slice<'a>,
    ids: Slice<'a>,
    values: &'a [f32],
    pub cols: usize,
}

impl Rows<'_> {
    pub fn matrix(&self) -> PyResult<Matrix<'_>> {
        let Rows(ptr, ids, values, cols) = self;
        let matrix = Matrix { ptr: Slice::of(ptr)?, ids: Slice::of(ids)?, values: values.as_slice()?, cols: *cols };
        if matrix.ptr.len() == 0 || matrix.ids.len() != matrix.values.len() {
            return Err(PyValueError::new_err("the arrays of a sparse matrix do not fit each other"));
        }
        Ok(matrix)
    }
}

impl<'a> Matrix<'a> {
    pub fn rows(&self) -> usize {
        self.ptr.len() - 1
    }

    /// Some of the rows.
    pub fn part(&self, rows: Range<usize>) -> Result<Part<'a>> {
        self.find(rows).ok_or_else(|| {
            let reason = "a sparse matrix has offsets of rows that do not ascend from 0 to the number of entries, or has \
                          2³² entries or more";
            Error::Data(reason.into())
        })
    }

    fn find(&self, rows: Range<usize>) -> Option<Part<'a>> {
        let (start, end) = (self.ptr.at(rows.start)?, self.ptr.at(rows.end)?);
        let offset = |i: usize| u32::try_from(self.ptr.at(i)?.checked_sub(start)?).ok();
        let ptr = (rows.start..=rows.end).map(offset).collect::<Option<Vec<u32>>>()?;
        let (ids, values) = (self.ids.ids(start..end)?, self.values.get(start..end)?);
        Some(Part { ptr, ids, values, cols: self.cols })
    }

    pub fn whole(&self) -> Result<Part<'a>> {
        self.part(0..self.rows())
    }
}

/// Some rows of a matrix: offsets of their own, ids and values where they lie.
pub struct Part<'a> {
    ptr: Vec<u32>,
    ids: Cow<'a, [u32]>,
    values: &'a [f32],
    cols: usize,
}

impl Part<'_> {
    /// Ids and values as they come, where the order is that of a ranking.
    pub fn unordered(&self) -> (&[u32], &[f32]) {
        (&self.ids, self.values)
    }

    /// A checked view.
    pub fn view(&self) -> Result<CsrRef<'_>> {
        CsrRef::from_parts(&self.ptr, &self.ids, Some(self.values), self.cols)
    }
}
