//! Dense row-major `f32` matrices: [`Matrix`] owns, [`MatRef`] and [`MatMut`] look.
//!
//! Rows are what the sparse kernels gather, so a row is contiguous. A view may have a stride larger than its width:
//! a panel of columns of a wider matrix is a view, not a copy.

use std::cell::RefCell;

use memmap2::MmapMut;

/// Matrices at least this large live in pages of their own, 2 MB each where the system grants them: the kernels
/// gather rows at random, and with 4 KB pages half of their time goes into address translation.
const OWN_PAGES: usize = 4 << 20;

/// Matrices of one height that a [`Spare`] keeps: those of a regression and of the products around it.
const SPARE: usize = 6;

/// An owned dense matrix, row-major, without padding.
pub struct Matrix {
    rows: usize,
    cols: usize,
    data: Storage,
}

enum Storage {
    Heap(Vec<f32>),
    Pages(MmapMut, usize),
}

impl Storage {
    fn zeros(len: usize) -> Storage {
        if len * 4 >= OWN_PAGES
            && let Ok(map) = MmapMut::map_anon(len * 4)
        {
            // Only a request: a system without huge pages serves small ones.
            #[cfg(target_os = "linux")]
            let _ = map.advise(memmap2::Advice::HugePage);
            return Storage::Pages(map, len);
        }
        Storage::Heap(vec![0.0; len])
    }

    /// Entries that there is room for.
    fn capacity(&self) -> usize {
        match self {
            Storage::Heap(v) => v.capacity(),
            Storage::Pages(map, _) => map.len() / 4,
        }
    }

    /// Another number of entries, within the capacity.
    fn resize(&mut self, entries: usize) {
        match self {
            Storage::Heap(v) => v.resize(entries, 0.0),
            Storage::Pages(_, len) => *len = entries,
        }
    }
}

impl Matrix {
    /// A matrix of zeros.
    pub fn zeros(rows: usize, cols: usize) -> Matrix {
        let len = rows.checked_mul(cols).expect("matrix size overflows the address space");
        Matrix { rows, cols, data: Storage::zeros(len) }
    }

    /// A matrix from its entries in row-major order.
    ///
    /// # Panics
    /// If `data` does not hold `rows * cols` entries.
    pub fn from_vec(rows: usize, cols: usize, data: Vec<f32>) -> Matrix {
        assert_eq!(data.len(), rows * cols, "a {rows}×{cols} matrix needs {} entries", rows * cols);
        Matrix { rows, cols, data: Storage::Heap(data) }
    }

    /// A matrix from a function of row and column.
    pub fn from_fn(rows: usize, cols: usize, mut f: impl FnMut(usize, usize) -> f32) -> Matrix {
        let mut m = Matrix::zeros(rows, cols);
        for i in 0..rows {
            for (j, v) in m.row_mut(i).iter_mut().enumerate() {
                *v = f(i, j);
            }
        }
        m
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// All entries, row by row.
    pub fn as_slice(&self) -> &[f32] {
        match &self.data {
            Storage::Heap(v) => v,
            Storage::Pages(map, len) => &bytemuck::cast_slice(map)[..*len],
        }
    }

    /// All entries, row by row, for writing.
    pub fn as_mut_slice(&mut self) -> &mut [f32] {
        match &mut self.data {
            Storage::Heap(v) => v,
            Storage::Pages(map, len) => &mut bytemuck::cast_slice_mut(map)[..*len],
        }
    }

    /// Row `i`.
    pub fn row(&self, i: usize) -> &[f32] {
        &self.as_slice()[i * self.cols..(i + 1) * self.cols]
    }

    /// Row `i`, for writing.
    pub fn row_mut(&mut self, i: usize) -> &mut [f32] {
        let cols = self.cols;
        &mut self.as_mut_slice()[i * cols..(i + 1) * cols]
    }

    /// Drops all rows from `rows` on, without a copy.
    pub(crate) fn truncate(&mut self, rows: usize) {
        self.rows = self.rows.min(rows);
        self.data.resize(self.rows * self.cols);
    }

    /// The whole matrix as a view.
    pub fn view(&self) -> MatRef<'_> {
        MatRef { rows: self.rows, cols: self.cols, stride: self.cols, data: self.as_slice() }
    }

    /// The whole matrix as a view for writing.
    pub fn view_mut(&mut self) -> MatMut<'_> {
        let (rows, cols) = (self.rows, self.cols);
        MatMut { rows, cols, stride: cols, data: self.as_mut_slice() }
    }

    /// Columns `from..to` as a view.
    pub fn columns(&self, from: usize, to: usize) -> MatRef<'_> {
        self.view().columns(from, to)
    }

    /// Columns `from..to` as a view for writing.
    pub fn columns_mut(&mut self, from: usize, to: usize) -> MatMut<'_> {
        self.view_mut().into_columns(from, to)
    }
}

/// Matrices that are done with, for who soon needs others of their size: the system clears fresh pages, and for the large
/// matrices of a panel that takes a good part of the time.
#[derive(Default)]
pub(crate) struct Spare(RefCell<Vec<Matrix>>);

impl Spare {
    /// A matrix with whatever numbers are in it.
    pub fn take(&self, rows: usize, cols: usize) -> Matrix {
        let mut kept = self.0.borrow_mut();
        // A narrower panel is cut from the memory of a wide one. Those of other heights stay for who has use for them.
        match kept.iter().position(|m| m.rows == rows && m.data.capacity() >= rows * cols) {
            Some(at) => {
                let mut matrix = kept.swap_remove(at);
                matrix.cols = cols;
                matrix.data.resize(rows * cols);
                matrix
            }
            None => Matrix::zeros(rows, cols),
        }
    }

    /// Keeps a matrix for later, unless as many of its height are kept as anyone needs at a time: those that were read
    /// from files of an earlier run would otherwise pile up.
    pub fn give(&self, matrix: Matrix) {
        let mut kept = self.0.borrow_mut();
        if kept.iter().filter(|m| m.rows == matrix.rows).count() < SPARE {
            kept.push(matrix);
        }
    }
}

impl Clone for Matrix {
    fn clone(&self) -> Matrix {
        let mut m = Matrix::zeros(self.rows, self.cols);
        m.as_mut_slice().copy_from_slice(self.as_slice());
        m
    }
}

impl PartialEq for Matrix {
    fn eq(&self, other: &Matrix) -> bool {
        (self.rows, self.cols) == (other.rows, other.cols) && self.as_slice() == other.as_slice()
    }
}

impl std::fmt::Debug for Matrix {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Matrix({}×{})", self.rows, self.cols)
    }
}

/// A read-only view of a row-major matrix.
#[derive(Clone, Copy, Debug)]
pub struct MatRef<'a> {
    rows: usize,
    cols: usize,
    stride: usize,
    data: &'a [f32],
}

impl<'a> MatRef<'a> {
    /// A view of `rows` rows of `cols` entries that begin `stride` entries apart.
    ///
    /// # Panics
    /// If the last row does not fit into `data`, or rows overlap.
    pub fn new(rows: usize, cols: usize, stride: usize, data: &'a [f32]) -> MatRef<'a> {
        check(rows, cols, stride, data.len());
        MatRef { rows, cols, stride, data }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Entries between the beginnings of two rows.
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// Row `i`.
    #[inline]
    pub fn row(&self, i: usize) -> &'a [f32] {
        &self.data[i * self.stride..i * self.stride + self.cols]
    }

    /// Columns `from..to`.
    pub fn columns(&self, from: usize, to: usize) -> MatRef<'a> {
        assert!(from <= to && to <= self.cols, "columns {from}..{to} of {}", self.cols);
        MatRef { rows: self.rows, cols: to - from, stride: self.stride, data: &self.data[from.min(self.data.len())..] }
    }

    /// Rows before `at`, and the rest.
    pub fn split_rows_at(&self, at: usize) -> (MatRef<'a>, MatRef<'a>) {
        assert!(at <= self.rows, "row {at} of {}", self.rows);
        let (a, b) = self.data.split_at((at * self.stride).min(self.data.len()));
        (MatRef { rows: at, data: a, ..*self }, MatRef { rows: self.rows - at, data: b, ..*self })
    }

    /// The entries from the first row on, `stride` apart; the last row may be cut to `cols`.
    pub fn as_slice(&self) -> &'a [f32] {
        self.data
    }

    /// A copy without gaps.
    pub fn to_matrix(&self) -> Matrix {
        let mut m = Matrix::zeros(self.rows, self.cols);
        m.view_mut().copy_from(*self);
        m
    }
}

/// A view of a row-major matrix for writing.
#[derive(Debug)]
pub struct MatMut<'a> {
    rows: usize,
    cols: usize,
    stride: usize,
    data: &'a mut [f32],
}

impl<'a> MatMut<'a> {
    /// A view of `rows` rows of `cols` entries that begin `stride` entries apart.
    ///
    /// # Panics
    /// If the last row does not fit into `data`, or rows overlap.
    pub fn new(rows: usize, cols: usize, stride: usize, data: &'a mut [f32]) -> MatMut<'a> {
        check(rows, cols, stride, data.len());
        MatMut { rows, cols, stride, data }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Entries between the beginnings of two rows.
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// Row `i`.
    #[inline]
    pub fn row_mut(&mut self, i: usize) -> &mut [f32] {
        &mut self.data[i * self.stride..i * self.stride + self.cols]
    }

    /// A read-only view of the same entries.
    pub fn as_ref(&self) -> MatRef<'_> {
        MatRef { rows: self.rows, cols: self.cols, stride: self.stride, data: self.data }
    }

    /// The same view for a shorter time.
    pub fn reborrow(&mut self) -> MatMut<'_> {
        MatMut { rows: self.rows, cols: self.cols, stride: self.stride, data: self.data }
    }

    /// Columns `from..to`.
    pub fn into_columns(self, from: usize, to: usize) -> MatMut<'a> {
        assert!(from <= to && to <= self.cols, "columns {from}..{to} of {}", self.cols);
        let start = from.min(self.data.len());
        MatMut { rows: self.rows, cols: to - from, stride: self.stride, data: &mut self.data[start..] }
    }

    /// Rows before `at`, and the rest.
    pub fn split_rows_at(self, at: usize) -> (MatMut<'a>, MatMut<'a>) {
        assert!(at <= self.rows, "row {at} of {}", self.rows);
        let cut = (at * self.stride).min(self.data.len());
        let (a, b) = self.data.split_at_mut(cut);
        (
            MatMut { rows: at, cols: self.cols, stride: self.stride, data: a },
            MatMut { rows: self.rows - at, cols: self.cols, stride: self.stride, data: b },
        )
    }

    /// The entries from the first row on, `stride` apart; the last row may be cut to `cols`.
    pub fn as_mut_slice(&mut self) -> &mut [f32] {
        self.data
    }

    /// Sets every entry.
    pub fn fill(&mut self, value: f32) {
        for i in 0..self.rows {
            self.row_mut(i).fill(value);
        }
    }

    /// Copies all entries of a matrix of the same size.
    ///
    /// # Panics
    /// If the sizes differ.
    pub fn copy_from(&mut self, other: MatRef<'_>) {
        assert_eq!((self.rows, self.cols), (other.rows, other.cols), "sizes differ");
        for i in 0..self.rows {
            self.row_mut(i).copy_from_slice(other.row(i));
        }
    }
}

fn check(rows: usize, cols: usize, stride: usize, len: usize) {
    assert!(stride >= cols, "rows of {cols} entries cannot begin {stride} apart");
    assert!(rows == 0 || (rows - 1) * stride + cols <= len, "{rows} rows of stride {stride} do not fit {len} entries");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_dropped_from_small_and_large_matrices() {
        for rows in [5, 1 << 20] {
            let mut m = Matrix::from_fn(rows, 2, |i, j| (2 * i + j) as f32);
            m.truncate(rows + 1);
            assert_eq!(m.rows(), rows);
            m.truncate(3);
            assert_eq!((m.rows(), m.as_slice()), (3, &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0][..]));
        }
    }

    #[test]
    fn spare_memory_serves_matrices_of_its_height_that_fit() {
        for rows in [5, 1 << 20] {
            let spare = Spare::default();
            spare.give(Matrix::from_fn(rows, 4, |_, _| 7.0));
            assert_eq!(spare.take(rows + 1, 1), Matrix::zeros(rows + 1, 1));
            assert_eq!(spare.take(rows, 5), Matrix::zeros(rows, 5));
            let narrow = spare.take(rows, 3);
            assert_eq!((narrow.rows(), narrow.cols(), narrow.as_slice().len()), (rows, 3, 3 * rows));
            assert_eq!(narrow.row(rows - 1), [7.0; 3]);
            spare.give(narrow);
            let wide = spare.take(rows, 4);
            assert_eq!((wide.as_slice().len(), wide.row(0)[0]), (4 * rows, 7.0));
            assert_eq!(spare.take(rows, 4), Matrix::zeros(rows, 4));
            (0..10).for_each(|_| spare.give(Matrix::zeros(rows, 1)));
            assert_eq!(spare.0.borrow().len(), SPARE);
        }
    }

    #[test]
    fn views_of_columns_and_rows() {
        let mut m = Matrix::from_fn(3, 4, |i, j| (10 * i + j) as f32);
        assert_eq!(m.columns(1, 3).row(2), &[21.0, 22.0]);
        assert_eq!(m.columns(4, 4).row(2), &[] as &[f32]);
        assert_eq!(m.columns(1, 3).to_matrix(), Matrix::from_vec(3, 2, vec![1.0, 2.0, 11.0, 12.0, 21.0, 22.0]));
        let (mut a, mut b) = m.view_mut().split_rows_at(1);
        a.row_mut(0)[0] = -1.0;
        b.row_mut(1)[3] = -2.0;
        assert_eq!((m.row(0)[0], m.row(2)[3]), (-1.0, -2.0));
        let (a, b) = m.columns(1, 3).split_rows_at(2);
        assert_eq!((a.rows(), a.row(1), b.rows(), b.row(0)), (2, &[11.0, 12.0][..], 1, &[21.0, 22.0][..]));
        assert_eq!(b.split_rows_at(1).1.rows(), 0);
        m.columns_mut(0, 2).fill(7.0);
        assert_eq!(m.row(1), &[7.0, 7.0, 12.0, 13.0]);
    }

    #[test]
    fn large_matrices_are_zero_and_copyable() {
        let mut m = Matrix::zeros(1100, 1000);
        assert!(matches!(m.data, Storage::Pages(..)));
        assert!(m.as_slice().iter().all(|v| *v == 0.0));
        m.row_mut(1099)[999] = 3.0;
        assert_eq!(m.clone(), m);
        assert_eq!(Matrix::zeros(0, 5).view().rows(), 0);
    }
}
