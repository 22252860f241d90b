//! [`Dataset`]: examples in memory or in a mapped cache file, ready for products.

#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::{Mutex, MutexGuard};

use rayon::prelude::*;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::cache::{Cache, CacheWriter};
use super::chunk::{CHUNK_ROWS, Chunk, ChunkBuilder};
use super::formats::{self, ReadOptions};
use super::names::Names;
use super::{Examples, Meetings, Moments, Occurring, Rows, Shape, Side};
use crate::io::atomic_file::write_file;
use crate::linalg::csr::{Csr, CsrRef};
use crate::linalg::kernels::{self, Scratch};
use crate::linalg::matrix::{MatMut, MatRef, Matrix};
use crate::{Error, Result};

/// Examples with their features and labels.
///
/// ```
/// use rembrandt::data::{Dataset, Rows};
/// use rembrandt::{Examples, Side};
///
/// let mut rows = Rows::new();
/// for (features, label) in [(&[(0, 1.0), (2, 0.5)][..], 0), (&[(1, 2.0)][..], 1)] {
///     features.iter().for_each(|(id, value)| rows.x.push(*id, *value));
///     rows.x.end_row();
///     rows.y.push(label, 1.0);
///     rows.y.end_row();
/// }
/// let data = Dataset::from_rows(&rows, 3, 2)?;
/// assert_eq!(data.shape().n, 2);
/// assert_eq!(data.nnz(Side::X), 3);
/// # Ok::<(), rembrandt::Error>(())
/// ```
pub struct Dataset {
    shape: Shape,
    store: Store,
    names: Names,
    /// Intermediate products, kept between calls. Never locked while multiplying: a thread of the pool that waits for
    /// its share of one product may pick up another product of the same data.
    scratch: Mutex<Scratch>,
}

enum Store {
    Memory(Vec<Vec<u32>>),
    File(Cache),
}

impl Dataset {
    /// Data from rows in memory, with `d` features and `c` labels.
    ///
    /// Fails when an id is out of range, ids of a row are not ascending, or a number is not finite.
    pub fn from_rows(rows: &Rows, d: usize, c: usize) -> Result<Dataset> {
        Dataset::in_chunks_of(CHUNK_ROWS, rows, d, c)
    }

    /// The same with another chunk size, for tests of the seams between chunks.
    pub(crate) fn in_chunks_of(max_rows: usize, rows: &Rows, d: usize, c: usize) -> Result<Dataset> {
        if rows.y.rows() != rows.len() || rows.weights.as_ref().is_some_and(|w| w.len() != rows.len()) {
            return Err(Error::Data("features, labels and weights have different numbers of rows".into()));
        }
        for csr in [&rows.x, &rows.y] {
            if (0..csr.rows()).any(|i| !csr.view().row(i).0.is_sorted_by(|a, b| a < b)) {
                return Err(Error::Data("ids of a row must be ascending and distinct".into()));
            }
        }
        let shape = Shape { n: rows.len(), d, c };
        let (mut builder, mut blocks) = (ChunkBuilder::with_rows(max_rows), Vec::new());
        let mut keep = |block| {
            blocks.push(block);
            Ok::<(), Error>(())
        };
        builder.push(rows, &mut keep)?;
        builder.finish(&mut keep)?;
        for block in &blocks {
            let chunk = Chunk::parse(block).and_then(|chunk| chunk.validate(shape));
            chunk.map_err(|reason| Error::Data(format!("the rows make {reason}")))?;
        }
        Ok(Dataset::from_blocks(shape, blocks, Names::default()))
    }

    /// Reads a text file into memory; `-` is standard input. Also returns notes for the user, such as where names
    /// were found. `watch` is called with bytes read and bytes in all (when known), and stops the reading by
    /// returning `false`.
    pub fn read(path: &Path, options: &ReadOptions, watch: Watch<'_>) -> Result<(Dataset, Vec<String>)> {
        let (mut builder, mut blocks) = (ChunkBuilder::new(), Vec::new());
        let mut keep = |block| {
            blocks.push(block);
            Ok::<(), Error>(())
        };
        let mut found = formats::read_rows(path, options, watch, &mut |rows| builder.push(&rows, &mut keep))?;
        builder.finish(&mut keep)?;
        let names = Names::of(&mut found);
        Ok((Dataset::from_blocks(found.shape, blocks, names), found.notes))
    }

    /// Opens a cache file written by [`convert`](super::convert). Takes milliseconds: the data are mapped, and each
    /// part is checked when it is used for the first time.
    pub fn open(path: &Path) -> Result<Dataset> {
        let cache = Cache::open(path)?;
        let (shape, names) = (cache.shape(), cache.names()?);
        Ok(Dataset { shape, store: Store::File(cache), names, scratch: Mutex::default() })
    }

    /// Whether a file is a cache file, by its first bytes.
    pub fn is_cache(path: &Path) -> bool {
        Cache::recognise(path)
    }

    /// Data from blocks that a [`ChunkBuilder`] made.
    pub(super) fn from_blocks(shape: Shape, blocks: Vec<Vec<u32>>, names: Names) -> Dataset {
        Dataset { shape, store: Store::Memory(blocks), names, scratch: Mutex::default() }
    }

    /// Stored entries of one side.
    pub fn nnz(&self, side: Side) -> u64 {
        match &self.store {
            Store::Memory(blocks) => blocks.iter().map(|b| view(b).side(side).rows.nnz() as u64).sum(),
            Store::File(cache) => cache.nnz(side),
        }
    }

    /// Whether any example has a weight other than 1.
    pub fn weighted(&self) -> bool {
        match &self.store {
            Store::Memory(blocks) => blocks.iter().any(|b| view(b).weights.is_some()),
            Store::File(cache) => cache.weighted(),
        }
    }

    /// Names of the labels, if the data have them.
    pub fn label_names(&self) -> Option<&[String]> {
        self.names.labels.as_deref()
    }

    /// Names of the features, if the data have them.
    pub fn feature_names(&self) -> Option<&[String]> {
        self.names.features.as_deref()
    }

    /// Whether the text identified the labels or features by these names, not by numbers.
    pub fn has_words(&self, side: Side) -> bool {
        match side {
            Side::X => self.names.feature_words,
            Side::Y => self.names.label_words,
        }
    }

    /// Bytes that the data take in memory or, for a cache file, on disk.
    pub fn bytes(&self) -> u64 {
        match &self.store {
            Store::Memory(blocks) => blocks.iter().map(|b| 4 * b.len() as u64).sum(),
            Store::File(cache) => cache.bytes(),
        }
    }

    /// Whether the data are mapped from a file instead of held in memory.
    pub fn is_mapped(&self) -> bool {
        matches!(self.store, Store::File(_))
    }

    /// Number of chunks that the examples are stored in.
    pub fn chunks(&self) -> usize {
        match &self.store {
            Store::Memory(blocks) => blocks.len(),
            Store::File(cache) => cache.chunks(),
        }
    }

    /// Reads everything once and checks it. Data in memory are always sound.
    pub fn verify(&self) -> Result<()> {
        let mut n = 0;
        self.for_each_chunk(|chunk| {
            n += chunk.rows();
            Ok(())
        })?;
        if n != self.shape.n {
            return Err(Error::Data(format!("the chunks hold {n} examples instead of {}", self.shape.n)));
        }
        Ok(())
    }

    /// A number that tells these data from others: their content and names, wherever they are stored. Text and the cache
    /// made of it have the same.
    pub fn fingerprint(&self) -> u64 {
        let chunks = match &self.store {
            Store::Memory(blocks) => blocks.par_iter().map(|block| xxh3_64(bytemuck::cast_slice(block))).collect(),
            Store::File(cache) => cache.checksums(),
        };
        let mut sum = Xxh3::new();
        let Shape { n, d, c } = self.shape;
        let sizes = [n, d, c].map(|size| size as u64);
        sum.update(bytemuck::cast_slice(&sizes));
        sum.update(bytemuck::cast_slice::<u64, u8>(&chunks));
        for names in [&self.names.labels, &self.names.features] {
            let names = names.as_deref().unwrap_or_default();
            sum.update(&(names.len() as u64).to_le_bytes());
            // A byte that no text has ends each of them.
            names.iter().for_each(|name| [name.as_bytes(), &[0xff]].iter().for_each(|part| sum.update(part)));
        }
        sum.update(&[self.names.label_words, self.names.feature_words].map(u8::from));
        sum.digest()
    }

    /// Labels of every example, in memory.
    pub fn labels(&self) -> Result<Csr> {
        self.side(Side::Y)
    }

    /// Features of every example, in memory.
    pub fn features(&self) -> Result<Csr> {
        self.side(Side::X)
    }

    fn side(&self, side: Side) -> Result<Csr> {
        if self.nnz(side) > u64::from(u32::MAX) {
            return Err(Error::Data("there are 2³² entries or more, too many to be held together".into()));
        }
        let mut valued = false;
        self.for_each_chunk(|chunk| {
            valued |= chunk.side(side).rows.values.is_some();
            Ok(())
        })?;
        let mut all = Csr::new(!valued);
        self.for_each_chunk(|chunk| {
            all.extend_rows(chunk.side(side).rows, 0, chunk.rows());
            Ok(())
        })?;
        Ok(all)
    }

    /// Weight of every example; absent when all are 1.
    pub fn weights(&self) -> Result<Option<Vec<f32>>> {
        if !self.weighted() {
            return Ok(None);
        }
        let mut weights = Vec::with_capacity(self.shape.n);
        self.for_each_chunk(|chunk| {
            match chunk.weights {
                Some(w) => weights.extend_from_slice(w),
                None => weights.resize(weights.len() + chunk.rows(), 1.0),
            }
            Ok(())
        })?;
        Ok(Some(weights))
    }

    /// X z, one row for each example. A projection that was fitted to divided rows wants
    /// [`Scaled::gather_features`](super::Scaled::gather_features) instead.
    pub fn gather_features(&self, z: MatRef<'_>) -> Result<Matrix> {
        assert_eq!(z.rows(), self.shape.d, "z needs a row for every feature");
        let mut out = Matrix::zeros(self.shape.n, z.cols());
        let mut at = 0;
        self.for_each_chunk(|chunk| {
            let (_, rest) = out.view_mut().split_rows_at(at);
            let (part, _) = rest.split_rows_at(chunk.rows());
            kernels::gather(chunk.side(Side::X).rows, None, z, part);
            at += chunk.rows();
            Ok(())
        })?;
        Ok(out)
    }

    /// Some of the examples, copied into memory in their order; features, labels and names stay numbered as they are.
    pub fn select(&self, keep: impl Fn(usize) -> bool) -> Result<Dataset> {
        let (mut at, mut n) = (0, 0);
        let blocks = self.rebuild(|chunk| {
            let kept: Vec<usize> = (0..chunk.rows()).filter(|i| keep(at + i)).collect();
            at += chunk.rows();
            n += kept.len();
            let (x, y) = (chunk.side(Side::X).rows, chunk.side(Side::Y).rows);
            let mut rows = Rows { x: Csr::new(x.values.is_none()), y: Csr::new(y.values.is_none()), weights: None };
            kept.iter().for_each(|i| {
                rows.x.extend_rows(x, *i, i + 1);
                rows.y.extend_rows(y, *i, i + 1);
            });
            rows.weights = chunk.weights.map(|w| kept.iter().map(|i| w[*i]).collect());
            Ok(rows)
        })?;
        Ok(Dataset::from_blocks(Shape { n, ..self.shape }, blocks, self.names.clone()))
    }

    /// The same examples with other values of their features, copied into memory. `change` gets some rows at a time and
    /// returns as many.
    pub fn map_features(&self, change: impl Fn(CsrRef<'_>) -> Result<Csr>) -> Result<Dataset> {
        let blocks = self.rebuild(|chunk| {
            let y = chunk.side(Side::Y).rows;
            let mut labels = Csr::new(y.values.is_none());
            labels.extend_rows(y, 0, chunk.rows());
            let x = change(chunk.side(Side::X).rows)?;
            assert_eq!(x.rows(), chunk.rows(), "each example keeps its row");
            Ok(Rows { x, y: labels, weights: chunk.weights.map(<[f32]>::to_vec) })
        })?;
        Ok(Dataset::from_blocks(self.shape, blocks, self.names.clone()))
    }

    /// Blocks of what becomes of every chunk.
    fn rebuild(&self, mut change: impl FnMut(&Chunk<'_>) -> Result<Rows>) -> Result<Vec<Vec<u32>>> {
        let (mut builder, mut blocks) = (ChunkBuilder::new(), Vec::new());
        let mut store = |block| {
            blocks.push(block);
            Ok::<(), Error>(())
        };
        self.for_each_chunk(|chunk| builder.push(&change(&chunk)?, &mut store))?;
        builder.finish(&mut store)?;
        Ok(blocks)
    }

    fn lock_scratch(&self) -> MutexGuard<'_, Scratch> {
        self.scratch.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub(super) fn for_each_chunk(&self, mut f: impl FnMut(Chunk<'_>) -> Result<()>) -> Result<()> {
        match &self.store {
            Store::Memory(blocks) => blocks.iter().try_for_each(|block| f(view(block))),
            Store::File(cache) => (0..cache.chunks()).try_for_each(|i| cache.with_chunk(i, &mut f)),
        }
    }
}

/// Called with bytes read and bytes in all, when known; returns whether to go on.
pub type Watch<'a> = &'a mut dyn FnMut(u64, Option<u64>) -> bool;

/// Converts a text file into a cache file, holding one chunk in memory at a time, and opens it. The file appears
/// under its name only when it is whole.
pub fn convert(path: &Path, options: &ReadOptions, out: &Path, watch: Watch<'_>) -> Result<(Dataset, Vec<String>)> {
    let mut notes = Vec::new();
    write_file(out, |file| {
        let mut writer = CacheWriter::new(file, out)?;
        let mut found = formats::read_rows(path, options, watch, &mut |rows| writer.push(&rows))?;
        notes = std::mem::take(&mut found.notes);
        writer.finish(found.shape, &Names::of(&mut found))
    })?;
    Ok((Dataset::open(out)?, notes))
}

/// A block that this process built itself.
fn view(block: &[u32]) -> Chunk<'_> {
    Chunk::parse(block).expect("blocks in memory are whole")
}

impl Examples for Dataset {
    fn shape(&self) -> Shape {
        self.shape
    }

    fn cross(&self, a: Side, b: Side, z: MatRef<'_>, out: MatMut<'_>) -> Result<()> {
        self.cross_weighted(a, b, None, z, out)
    }

    fn squares(&self, z: MatRef<'_>) -> Result<Vec<f64>> {
        self.squares_weighted(None, z)
    }

    fn moments(&self, side: Side) -> Result<Moments> {
        self.moments_weighted(side, None)
    }

    fn occurring(&self) -> Result<Option<Occurring<'_>>> {
        Occurring::find(self, self, |_, _| None)
    }

    fn meetings(&self) -> Result<Option<Meetings<'_>>> {
        Meetings::find(self, self, None, false)
    }
}

impl Dataset {
    /// [`Examples::cross`] with `weights` in place of the examples' own, when given.
    pub(super) fn cross_weighted(
        &self,
        a: Side,
        b: Side,
        weights: Option<&[f32]>,
        z: MatRef<'_>,
        out: MatMut<'_>,
    ) -> Result<()> {
        self.cross_numbered(a, b, weights, None, z, out)
    }

    /// The same with other numbers for the labels, when given: the new number of each, and how many there are. Their
    /// order must stay.
    pub(super) fn cross_numbered(
        &self,
        a: Side,
        b: Side,
        weights: Option<&[f32]>,
        numbers: Option<(&[u32], usize)>,
        z: MatRef<'_>,
        mut out: MatMut<'_>,
    ) -> Result<()> {
        let shape = Shape { c: numbers.map_or(self.shape.c, |(_, count)| count), ..self.shape };
        assert_eq!(z.rows(), shape.width(b), "z needs a row for every column of {b:?}");
        assert_eq!(out.rows(), shape.width(a), "out needs a row for every column of {a:?}");
        assert_eq!(z.cols(), out.cols(), "z and out must be equally wide");
        kernels::columns::sweep([out.reborrow()], [], 0, |_, [mut out], [], _| out.fill(0.0));
        let mut scratch = std::mem::take(&mut *self.lock_scratch());
        let (mut at, mut left_ids, mut right_ids) = (0, Vec::new(), Vec::new());
        let done = self.for_each_chunk(|chunk| {
            let weights = part_of(weights, &mut at, &chunk);
            let (mut left, mut right) = (chunk.side(a).columns, chunk.side(b).rows);
            if let Some((numbers, _)) = numbers {
                left.ids = if a == Side::Y { renumber(left.ids, numbers, &mut left_ids) } else { left.ids };
                right.ids = if b == Side::Y { renumber(right.ids, numbers, &mut right_ids) } else { right.ids };
            }
            kernels::cross_chunk(left, right, weights, z, &mut scratch, out.reborrow());
            Ok(())
        });
        *self.lock_scratch() = scratch;
        done
    }

    /// [`Examples::squares`] with `weights` in place of the examples' own, when given.
    pub(super) fn squares_weighted(&self, weights: Option<&[f32]>, z: MatRef<'_>) -> Result<Vec<f64>> {
        assert_eq!(z.rows(), self.shape.d, "z needs a row for every feature");
        let mut scratch = std::mem::take(&mut *self.lock_scratch());
        let (mut at, mut total) = (0, vec![0.0; z.cols()]);
        let done = self.for_each_chunk(|chunk| {
            let weights = part_of(weights, &mut at, &chunk);
            kernels::add_squares(chunk.side(Side::X).rows, weights, z, &mut scratch, &mut total);
            Ok(())
        });
        *self.lock_scratch() = scratch;
        done.map(|()| total)
    }

    /// [`Examples::moments`] with `weights` in place of the examples' own, when given.
    pub(super) fn moments_weighted(&self, side: Side, weights: Option<&[f32]>) -> Result<Moments> {
        let width = self.shape.width(side);
        let mut moments =
            Moments { entries: self.nnz(side), weight: 0.0, sum: vec![0.0; width], square: vec![0.0; width] };
        let mut at = 0;
        self.for_each_chunk(|chunk| {
            let weights = part_of(weights, &mut at, &chunk);
            moments.weight += match weights {
                Some(w) => w.iter().map(|w| f64::from(*w)).sum(),
                None => chunk.rows() as f64,
            };
            let columns = chunk.side(side).columns;
            let sums: Vec<(f64, f64)> = (0..columns.ids.len())
                .into_par_iter()
                .with_min_len(256)
                .map(|i| {
                    let (rows, values) = columns.column(i);
                    let (mut sum, mut square) = (0.0, 0.0);
                    for (j, row) in rows.iter().enumerate() {
                        let weight = weights.map_or(1.0, |w| f64::from(w[usize::from(*row)]));
                        let value = values.map_or(1.0, |v| f64::from(v[j]));
                        sum += weight * value;
                        square += weight * value * value;
                    }
                    (sum, square)
                })
                .collect();
            for (id, (sum, square)) in columns.ids.iter().zip(sums) {
                moments.sum[*id as usize] += sum;
                moments.square[*id as usize] += square;
            }
            Ok(())
        })?;
        Ok(moments)
    }
}

/// The new numbers of some labels.
fn renumber<'a>(ids: &[u32], numbers: &[u32], buffer: &'a mut Vec<u32>) -> &'a [u32] {
    buffer.clear();
    buffer.extend(ids.iter().map(|id| numbers[*id as usize]));
    buffer
}

/// The weights of the next chunk: from all that were given, or else its own.
pub(super) fn part_of<'a>(weights: Option<&'a [f32]>, at: &mut usize, chunk: &Chunk<'a>) -> Option<&'a [f32]> {
    let from = *at;
    *at += chunk.rows();
    weights.map_or(chunk.weights, |w| Some(&w[from..*at]))
}
