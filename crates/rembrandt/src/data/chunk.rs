//! A chunk: a few thousand examples, stored by rows and by columns in one block of 32-bit words.
//!
//! The block is the same in memory and in a cache file, so there is one path from data to products. Both
//! orientations are stored because a product with Aᵀ from the stored transpose only ever *gathers*: no two threads
//! write the same row, nothing is locked, and the order of additions does not depend on the number of threads.
//!
//! A block is a header of 16 words and then these arrays, each padded to 16 words (one cache line):
//!
//! | array | words | what |
//! |---|---|---|
//! | row pointers | rows + 1 | where each row begins |
//! | ids | nnz | column of each entry |
//! | values | nnz or none | `f32`; none when all are 1 |
//! | columns | m | the columns that occur, ascending |
//! | column pointers | m + 1 | where each of them begins |
//! | rows | ⌈nnz/2⌉ | `u16` row of each entry, by column |
//! | values by column | nnz or none | `f32` |
//!
//! first for X, then for Y, and at the end the weights of the examples (rows words, or none when all are 1).

use crate::data::transpose::Transpose;
use crate::data::{Rows, Shape, Side};
use crate::linalg::csr::{Csr, CsrRef, TransposeRef};

/// Rows in a full chunk. Its intermediate product of 64 columns then stays near the cores, and rows fit 16 bits.
pub(crate) const CHUNK_ROWS: usize = 16_384;
/// A chunk ends with the row that brings it to this many entries: rows may be long.
pub(crate) const CHUNK_ENTRIES: usize = 1 << 22;

const MAGIC: u32 = u32::from_le_bytes(*b"RMBC");
const LINE: usize = 16;

const X_VALUES: u32 = 1;
const Y_VALUES: u32 = 2;
const WEIGHTS: u32 = 4;

/// One side of a chunk, in both orientations.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Half<'a> {
    pub rows: CsrRef<'a>,
    pub columns: TransposeRef<'a>,
}

/// A view of a block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunk<'a> {
    x: Half<'a>,
    y: Half<'a>,
    pub weights: Option<&'a [f32]>,
}

impl<'a> Chunk<'a> {
    /// Finds the arrays of a block. Only their lengths are checked; see [`validate`](Chunk::validate).
    pub fn parse(words: &'a [u32]) -> Result<Chunk<'a>, &'static str> {
        let mut cut = Cutter { words };
        let header = cut.take(LINE).ok_or("a block without a header")?;
        let [magic, rows, flags, x_nnz, x_columns, y_nnz, y_columns, ..] = *header else { unreachable!() };
        if magic != MAGIC {
            return Err("a block without its mark");
        }
        let rows = rows as usize;
        let parts = |cut: &mut Cutter<'a>| {
            let x = cut.half(rows, x_nnz as usize, x_columns as usize, flags & X_VALUES != 0)?;
            let y = cut.half(rows, y_nnz as usize, y_columns as usize, flags & Y_VALUES != 0)?;
            let weights = cut.optional(rows, flags & WEIGHTS != 0)?;
            cut.words.is_empty().then_some(Chunk { x, y, weights })
        };
        parts(&mut cut).ok_or("a block whose arrays do not fit its length")
    }

    pub fn rows(&self) -> usize {
        self.x.rows.rows()
    }

    pub fn side(&self, side: Side) -> &Half<'a> {
        match side {
            Side::X => &self.x,
            Side::Y => &self.y,
        }
    }

    /// Checks everything that the kernels rely on: a block from a file may say anything.
    pub fn validate(&self, shape: Shape) -> Result<(), &'static str> {
        if self.rows() > usize::from(u16::MAX) + 1 {
            return Err("a block with too many rows");
        }
        for (half, width) in [(&self.x, shape.d), (&self.y, shape.c)] {
            let (r, c) = (&half.rows, &half.columns);
            if !ascending(r.ptr, r.ids.len()) || !ascending(c.ptr, c.nnz()) {
                return Err("a block with pointers out of order");
            }
            if r.ids.iter().chain(c.ids).any(|id| *id as usize >= width) || !c.ids.is_sorted_by(|a, b| a < b) {
                return Err("a block with ids out of range");
            }
            if c.rows.iter().any(|row| usize::from(*row) >= self.rows()) {
                return Err("a block with rows out of range");
            }
            if [r.values, c.values].into_iter().flatten().flatten().any(|v| !v.is_finite()) {
                return Err("a block with values that are not finite");
            }
        }
        if self.weights.is_some_and(|w| w.iter().any(|w| !w.is_finite() || *w < 0.0)) {
            return Err("a block with weights that are not finite or negative");
        }
        Ok(())
    }
}

fn ascending(ptr: &[u32], end: usize) -> bool {
    ptr[0] == 0 && ptr.is_sorted() && ptr[ptr.len() - 1] as usize == end
}

/// Cuts padded arrays off the front of a block.
struct Cutter<'a> {
    words: &'a [u32],
}

impl<'a> Cutter<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u32]> {
        let (array, rest) = self.words.split_at_checked(len.next_multiple_of(LINE))?;
        self.words = rest;
        Some(&array[..len])
    }

    fn optional(&mut self, len: usize, present: bool) -> Option<Option<&'a [f32]>> {
        if present { Some(Some(bytemuck::cast_slice(self.take(len)?))) } else { Some(None) }
    }

    fn half(&mut self, rows: usize, nnz: usize, columns: usize, values: bool) -> Option<Half<'a>> {
        let (ptr, ids, row_values) = (self.take(rows + 1)?, self.take(nnz)?, self.optional(nnz, values)?);
        let (t_ids, t_ptr) = (self.take(columns)?, self.take(columns + 1)?);
        let t_rows: &[u16] = bytemuck::cast_slice(self.take(nnz.div_ceil(2))?);
        let t_values = self.optional(nnz, values)?;
        Some(Half {
            rows: CsrRef { ptr, ids, values: row_values },
            columns: TransposeRef { ids: t_ids, ptr: t_ptr, rows: &t_rows[..nnz], values: t_values },
        })
    }
}

/// Collects rows and turns them into blocks. Where a block ends depends on the rows alone.
pub(crate) struct ChunkBuilder {
    x: Csr,
    y: Csr,
    weights: Vec<f32>,
    max_rows: usize,
    /// Both sides by columns: memory that serves every block.
    columns: [Transpose; 2],
    /// Memory for the next block, if it was given.
    spare: Option<Vec<u32>>,
}

impl Default for ChunkBuilder {
    fn default() -> ChunkBuilder {
        ChunkBuilder::new()
    }
}

impl ChunkBuilder {
    pub fn new() -> ChunkBuilder {
        ChunkBuilder::with_rows(CHUNK_ROWS)
    }

    /// With another chunk size, for tests of the seams between chunks.
    pub fn with_rows(max_rows: usize) -> ChunkBuilder {
        let (x, y) = (Csr::new(false), Csr::new(false));
        ChunkBuilder { x, y, weights: Vec::new(), max_rows, columns: Default::default(), spare: None }
    }

    /// Gives memory for the next block, such as one that has been written.
    pub fn reuse(&mut self, words: Vec<u32>) {
        self.spare = Some(words);
    }

    /// Adds rows; each full block goes to `emit`.
    pub fn push<E>(&mut self, batch: &Rows, emit: impl FnMut(Vec<u32>) -> Result<(), E>) -> Result<(), E> {
        self.push_csr(batch.x.view(), batch.y.view(), batch.weights.as_deref(), emit)
    }

    /// Adds the rows of two matrices, with their weights unless all are 1.
    pub fn push_csr<E>(
        &mut self,
        x: CsrRef<'_>,
        y: CsrRef<'_>,
        weights: Option<&[f32]>,
        mut emit: impl FnMut(Vec<u32>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut from = 0;
        while from < x.rows() {
            let (mut to, mut room) = (from, CHUNK_ENTRIES.saturating_sub(self.x.nnz() + self.y.nnz()));
            let limit = x.rows().min(from + self.max_rows - self.x.rows());
            while to < limit && room > 0 {
                let entries = x.row(to).0.len() + y.row(to).0.len();
                room = room.saturating_sub(entries);
                to += 1;
            }
            self.x.extend_rows(x, from, to);
            self.y.extend_rows(y, from, to);
            match weights {
                Some(w) => self.weights.extend_from_slice(&w[from..to]),
                None => self.weights.resize(self.x.rows(), 1.0),
            }
            if self.x.rows() == self.max_rows || room == 0 {
                emit(self.block())?;
            }
            from = to;
        }
        Ok(())
    }

    /// Ends the last block, if any rows are left.
    pub fn finish<E>(&mut self, mut emit: impl FnMut(Vec<u32>) -> Result<(), E>) -> Result<(), E> {
        if self.x.rows() > 0 { emit(self.block()) } else { Ok(()) }
    }

    fn block(&mut self) -> Vec<u32> {
        let [x, y] = &mut self.columns;
        x.fill(self.x.view());
        y.fill(self.y.view());
        let weighted = self.weights.iter().any(|w| *w != 1.0);
        let mut flags = if weighted { WEIGHTS } else { 0 };
        flags |= if x.values().is_some() { X_VALUES } else { 0 };
        flags |= if y.values().is_some() { Y_VALUES } else { 0 };
        let mut header = [0; LINE];
        let counts = [self.x.nnz(), x.ids.len(), self.y.nnz(), y.ids.len()].map(|v| v as u32);
        header[..7].copy_from_slice(&[MAGIC, self.x.rows() as u32, flags, counts[0], counts[1], counts[2], counts[3]]);
        let given = self.spare.is_some();
        let mut words = self.spare.take().unwrap_or_default();
        words.clear();
        words.reserve(8 * LINE + 5 * (self.x.nnz() + self.y.nnz()) + 4 * self.x.rows());
        put(&mut words, &header);
        for (rows, columns) in [(self.x.view(), &*x), (self.y.view(), &*y)] {
            put(&mut words, rows.ptr);
            put(&mut words, rows.ids);
            if columns.values().is_some() {
                put(&mut words, bytemuck::cast_slice(rows.values.expect("the builder keeps values")));
            }
            put(&mut words, &columns.ids);
            put(&mut words, &columns.ptr);
            put(&mut words, &columns.rows);
            if let Some(values) = columns.values() {
                put(&mut words, bytemuck::cast_slice(values));
            }
        }
        if weighted {
            put(&mut words, bytemuck::cast_slice(&self.weights));
        }
        // A block that stays takes no more than it needs; one that comes back keeps its room.
        if !given {
            words.shrink_to_fit();
        }
        self.x.clear();
        self.y.clear();
        self.weights.clear();
        words
    }
}

fn put(words: &mut Vec<u32>, array: &[u32]) {
    words.extend_from_slice(array);
    words.resize(words.len().next_multiple_of(LINE), 0);
}
