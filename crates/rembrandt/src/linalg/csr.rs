//! Sparse matrices by rows: [`Csr`] owns, [`CsrRef`] looks, [`TransposeRef`] is the same matrix by columns.
//! Inside the library, `Columns` are those of any number of rows.
//!
//! The others hold one batch or chunk of rows, so 32-bit offsets are enough. Values may be absent, which means
//! that every stored entry is 1: labels and word sets then cost half the memory.

use crate::{Error, Result};

/// Owned sparse rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Csr {
    ptr: Vec<u32>,
    ids: Vec<u32>,
    values: Option<Vec<f32>>,
}

impl Csr {
    /// No rows yet, with explicit values or, when `ones`, with every entry 1.
    pub fn new(ones: bool) -> Csr {
        Csr { ptr: vec![0], ids: Vec::new(), values: (!ones).then(Vec::new) }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.ptr.len() - 1
    }

    /// Number of stored entries.
    pub fn nnz(&self) -> usize {
        self.ids.len()
    }

    /// The values of row `i`, to be changed; none in a matrix of ones.
    pub fn row_values_mut(&mut self, i: usize) -> &mut [f32] {
        let places = self.ptr[i] as usize..self.ptr[i + 1] as usize;
        self.values.as_mut().map_or(&mut [], |values| &mut values[places])
    }

    /// Adds one entry to the row that [`end_row`](Csr::end_row) will close. The value is dropped in a matrix of ones.
    #[inline]
    pub fn push(&mut self, id: u32, value: f32) {
        self.ids.push(id);
        if let Some(values) = &mut self.values {
            values.push(value);
        }
    }

    /// Closes the row begun by the entries pushed since the last call.
    ///
    /// # Panics
    /// If the batch holds 2³² entries or more.
    pub fn end_row(&mut self) {
        self.ptr.push(u32::try_from(self.ids.len()).expect("a batch of rows holds fewer than 2³² entries"));
    }

    /// Adds a whole row. The values are dropped in a matrix of ones.
    ///
    /// # Panics
    /// If there are more ids than values or the other way round, or if the batch holds 2³² entries or more.
    pub fn push_row(&mut self, ids: &[u32], values: &[f32]) {
        assert_eq!(ids.len(), values.len(), "every id of a row has a value");
        self.ids.extend_from_slice(ids);
        if let Some(own) = &mut self.values {
            own.extend_from_slice(values);
        }
        self.end_row();
    }

    /// Adds rows `from..to` of another matrix.
    pub fn extend_rows(&mut self, other: CsrRef<'_>, from: usize, to: usize) {
        let (start, end) = (other.ptr[from] as usize, other.ptr[to] as usize);
        let base = self.ids.len();
        u32::try_from(base + end - start).expect("a batch of rows holds fewer than 2³² entries");
        self.ids.extend_from_slice(&other.ids[start..end]);
        if let Some(values) = &mut self.values {
            match other.values {
                Some(v) => values.extend_from_slice(&v[start..end]),
                None => values.resize(base + end - start, 1.0),
            }
        }
        self.ptr.extend(other.ptr[from + 1..=to].iter().map(|p| (*p as usize - start + base) as u32));
    }

    /// Forgets all rows and keeps the memory.
    pub fn clear(&mut self) {
        self.ptr.truncate(1);
        self.ids.clear();
        if let Some(values) = &mut self.values {
            values.clear();
        }
    }

    /// A matrix from its parts: where each row begins in `indices` and one offset more, the column of each entry, and the
    /// value of each or none when all are 1. Nothing is copied. The layout is that of SciPy's `csr_matrix`, with 32-bit
    /// offsets.
    ///
    /// ```
    /// use rembrandt::linalg::csr::Csr;
    ///
    /// // [[0.5, 0, 2], [0, 0, 0], [0, 1, 0]]
    /// let matrix = Csr::from_parts(vec![0, 2, 2, 3], vec![0, 2, 1], Some(vec![0.5, 2.0, 1.0]), 3)?;
    /// assert_eq!((matrix.rows(), matrix.nnz()), (3, 3));
    /// assert_eq!(matrix.view().row(0).0, [0, 2]);
    /// assert!(Csr::from_parts(vec![0, 2], vec![2, 0], None, 3).is_err());
    /// # Ok::<(), rembrandt::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the offsets do not begin at 0, descend or end elsewhere than at the number of entries; if columns are not strictly
    /// ascending within a row and below `cols` (SciPy's `sum_duplicates` sorts and merges them); or if there are more or
    /// fewer values than entries, or some that are not finite.
    pub fn from_parts(indptr: Vec<u32>, indices: Vec<u32>, values: Option<Vec<f32>>, cols: usize) -> Result<Csr> {
        CsrRef::from_parts(&indptr, &indices, values.as_deref(), cols)?;
        Ok(Csr { ptr: indptr, ids: indices, values })
    }

    /// A matrix from its parts, which may come from a file: `rows` rows, each with ascending ids below `width`.
    pub(crate) fn checked(
        ptr: Vec<u32>,
        ids: Vec<u32>,
        values: Option<Vec<f32>>,
        rows: usize,
        width: usize,
    ) -> Result<Csr, &'static str> {
        if ptr.len() != rows + 1 || ptr[0] != 0 || !ptr.is_sorted() || ptr[rows] as usize != ids.len() {
            return Err("starts that do not fit");
        }
        if values.as_ref().is_some_and(|values| values.len() != ids.len()) {
            return Err("another number of ids than of values");
        }
        let ascending = |row: &[u32]| ids[row[0] as usize..row[1] as usize].is_sorted_by(|a, b| a < b);
        if !ptr.windows(2).all(ascending) {
            return Err("ids out of order");
        }
        if ids.iter().any(|id| *id as usize >= width) {
            return Err("ids out of range");
        }
        Ok(Csr { ptr, ids, values })
    }

    /// How often each of the ids below `width` occurs.
    ///
    /// # Panics
    /// If there is a larger one.
    pub fn counts(&self, width: usize) -> Vec<u64> {
        let mut counts = vec![0; width];
        self.ids.iter().for_each(|id| counts[*id as usize] += 1);
        counts
    }

    /// The matrix as a view.
    pub fn view(&self) -> CsrRef<'_> {
        CsrRef { ptr: &self.ptr, ids: &self.ids, values: self.values.as_deref() }
    }
}

/// A view of sparse rows.
#[derive(Clone, Copy, Debug)]
pub struct CsrRef<'a> {
    /// Where each row begins in `ids`; one more than there are rows.
    pub ptr: &'a [u32],
    /// Column of each entry.
    pub ids: &'a [u32],
    /// Value of each entry; absent when all are 1.
    pub values: Option<&'a [f32]>,
}

impl<'a> From<&'a Csr> for CsrRef<'a> {
    fn from(matrix: &'a Csr) -> CsrRef<'a> {
        matrix.view()
    }
}

impl<'a> CsrRef<'a> {
    /// A view of arrays that belong to someone else, checked as by [`Csr::from_parts`].
    ///
    /// # Errors
    /// Likewise.
    pub fn from_parts(ptr: &'a [u32], ids: &'a [u32], values: Option<&'a [f32]>, cols: usize) -> Result<CsrRef<'a>> {
        let matrix = CsrRef { ptr, ids, values };
        matrix.check(cols).map_err(|reason| Error::Data(format!("a sparse matrix {reason}")))?;
        Ok(matrix)
    }

    /// Some of the rows. The entries of the others stay behind them, so that `ids` are not those of these rows alone.
    ///
    /// # Panics
    /// If there are no such rows.
    pub fn range(&self, rows: std::ops::Range<usize>) -> CsrRef<'a> {
        CsrRef { ptr: &self.ptr[rows.start..=rows.end], ..*self }
    }

    /// Checks all that the rest of the library relies on, for a matrix with `cols` columns; else says what it has that is
    /// wrong, as the end of a sentence.
    pub(crate) fn check(&self, cols: usize) -> Result<(), String> {
        let CsrRef { ptr, ids, values } = *self;
        if ptr.first() != Some(&0) || !ptr.is_sorted() || ptr.last().map(|end| *end as usize) != Some(ids.len()) {
            return Err("has offsets of rows that do not ascend from 0 to the number of entries".into());
        }
        if values.is_some_and(|values| values.len() != ids.len()) {
            return Err("has another number of values than of entries".into());
        }
        for i in 0..self.rows() {
            let (ids, values) = self.row(i);
            if !ids.is_sorted_by(|a, b| a < b) {
                return Err(format!("has a row, number {}, whose ids are not ascending and distinct", i + 1));
            }
            if let Some(id) = ids.last().filter(|id| **id as usize >= cols) {
                return Err(format!("has a row, number {}, with the id {id}, but only {cols} columns", i + 1));
            }
            if let Some(value) = values.and_then(|values| values.iter().find(|v| !v.is_finite())) {
                return Err(format!("has a row, number {}, with the value {value}", i + 1));
            }
        }
        Ok(())
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.ptr.len() - 1
    }

    /// Number of stored entries.
    pub fn nnz(&self) -> usize {
        self.columns().len()
    }

    /// Columns of all entries, row after row.
    pub fn columns(&self) -> &'a [u32] {
        &self.ids[self.ptr[0] as usize..self.ptr[self.rows()] as usize]
    }

    /// Columns and values of row `i`.
    #[inline]
    pub fn row(&self, i: usize) -> (&'a [u32], Option<&'a [f32]>) {
        let range = self.ptr[i] as usize..self.ptr[i + 1] as usize;
        (&self.ids[range.clone()], self.values.map(|v| &v[range]))
    }

    /// The entries of row `i` as (column, value).
    pub fn entries(&self, i: usize) -> impl Iterator<Item = (usize, f32)> + use<'a> {
        let (ids, values) = self.row(i);
        ids.iter().enumerate().map(move |(j, id)| (*id as usize, values.map_or(1.0, |v| v[j])))
    }
}

/// The columns of a chunk of rows: for each column that occurs, in ascending order, the rows it occurs in.
#[derive(Clone, Copy, Debug)]
pub struct TransposeRef<'a> {
    /// The columns that occur in the chunk, ascending.
    pub ids: &'a [u32],
    /// Where each of them begins in `rows`; one more than there are ids.
    pub ptr: &'a [u32],
    /// Row, within the chunk, of each entry; ascending within a column.
    pub rows: &'a [u16],
    /// Value of each entry; absent when all are 1.
    pub values: Option<&'a [f32]>,
}

impl<'a> TransposeRef<'a> {
    /// Number of stored entries.
    pub fn nnz(&self) -> usize {
        self.rows.len()
    }

    /// Rows and values of the `i`-th column that occurs.
    #[inline]
    pub fn column(&self, i: usize) -> (&'a [u16], Option<&'a [f32]>) {
        let range = self.ptr[i] as usize..self.ptr[i + 1] as usize;
        (&self.rows[range.clone()], self.values.map(|v| &v[range]))
    }
}

/// The rows in which each column occurs, ascending.
pub(crate) struct Columns {
    starts: Vec<usize>,
    rows: Vec<u32>,
    values: Option<Vec<f32>>,
}

impl Columns {
    /// The first `width` columns; others may occur.
    pub fn new(matrix: CsrRef<'_>, width: usize) -> Columns {
        let mut starts = vec![0; width + 1];
        let known = |id: usize| id < width;
        matrix.columns().iter().map(|id| *id as usize).filter(|id| known(*id)).for_each(|id| starts[id + 1] += 1);
        (0..width).for_each(|id| starts[id + 1] += starts[id]);
        let mut rows = vec![0u32; starts[width]];
        let mut values = matrix.values.map(|_| vec![0f32; starts[width]]);
        let mut next = starts.clone();
        for i in 0..matrix.rows() {
            for (id, value) in matrix.entries(i).filter(|(id, _)| known(*id)) {
                rows[next[id]] = i as u32;
                if let Some(values) = &mut values {
                    values[next[id]] = value;
                }
                next[id] += 1;
            }
        }
        Columns { starts, rows, values }
    }

    /// The same with a row for each column.
    ///
    /// # Panics
    /// If there are 2³² entries or more.
    pub fn into_rows(self) -> Csr {
        let narrow = |start: &usize| u32::try_from(*start).expect("fewer than 2³² entries");
        Csr { ptr: self.starts.iter().map(narrow).collect(), ids: self.rows, values: self.values }
    }

    /// The rows of a column.
    pub fn rows(&self, id: usize) -> &[u32] {
        &self.rows[self.starts[id]..self.starts[id + 1]]
    }

    /// The rows of a column, with its values there.
    pub fn entries(&self, id: usize) -> impl Iterator<Item = (usize, f32)> {
        let at = self.starts[id]..self.starts[id + 1];
        at.map(|at| (self.rows[at] as usize, self.values.as_ref().map_or(1.0, |values| values[at])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_rows_are_counted_alone() {
        let matrix = Csr::from_parts(vec![0, 2, 3, 5], vec![0, 2, 1, 0, 1], Some(vec![1.0, 2.0, 3.0, 4.0, 5.0]), 3);
        let matrix = matrix.unwrap();
        let some = matrix.view().range(1..3);
        assert_eq!((some.rows(), some.nnz(), some.columns()), (2, 3, &[1, 0, 1][..]));
        assert_eq!(matrix.view().range(1..1).nnz(), 0);
        let columns = Columns::new(some, 3);
        let column = |id: usize| columns.entries(id).collect::<Vec<_>>();
        assert_eq!((column(0), column(1), column(2)), (vec![(1, 4.0)], vec![(0, 3.0), (1, 5.0)], vec![]));
        let by_columns = Columns::new(some, 2).into_rows();
        assert_eq!((by_columns.rows(), by_columns.nnz()), (2, 3));
    }
}
