//! [`Dataset`]: examples in memory or in a mapped cache file, stored in chunks that are ready for products.

#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Mutex;

use rayon::prelude::*;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::cache::{Cache, CacheWriter};
use super::chunk::{CHUNK_ROWS, Chunk, ChunkBuilder};
use super::formats::{self, ReadOptions};
use super::names::Names;
use super::{NameIndex, Rows, Shape, Side, Vocabulary, VocabularyIds};
use crate::io::atomic_file::write_file;
use crate::linalg::csr::{Csr, CsrRef};
use crate::linalg::kernels::{self, ChunkScratch};
use crate::linalg::matrix::{MatRef, Matrix};
use crate::{Error, Result, Run};

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
    pub(super) shape: Shape,
    store: ChunkStore,
    names: Names,
    /// Buffers for intermediate products, kept between calls. Never locked while multiplying: a thread of the pool that
    /// waits for its share of one product may pick up another product of the same data.
    scratch: Mutex<ChunkScratch>,
}

/// Where there are more ids than this, and so many times as many as are written, most of them are not meant.
const MANY_IDS: usize = 1 << 20;
const SCARCE: u64 = 4;

enum ChunkStore {
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

    /// Data from sparse matrices: X with `d` features and Y with `c` labels, a row for each example, and the weights of the
    /// examples unless all are 1. The rows are copied once, into chunks.
    ///
    /// ```
    /// use rembrandt::data::Dataset;
    /// use rembrandt::linalg::csr::{Csr, CsrRef};
    /// use rembrandt::{Examples, Side};
    ///
    /// let x = Csr::from_parts(vec![0, 2, 3], vec![0, 2, 1], Some(vec![1.0, 0.5, 2.0]), 3)?;
    /// // Arrays that belong to someone else will do as well, and labels without values are all 1.
    /// let y = CsrRef { ptr: &[0, 1, 3], ids: &[4, 0, 1], values: None };
    /// let data = Dataset::from_csr(x.view(), 3, y, 5, Some(&[1.0, 2.0]))?;
    /// assert_eq!((data.shape().n, data.nnz(Side::X), data.nnz(Side::Y)), (2, 3, 3));
    /// assert_eq!(data.moments(Side::X)?.sum, [1.0, 4.0, 0.5]);
    /// # Ok::<(), rembrandt::Error>(())
    /// ```
    ///
    /// # Errors
    /// If X, Y and the weights have different numbers of rows; if ids are not strictly ascending within a row, or not below
    /// `d` or `c`; if a value is not finite, or a weight negative.
    pub fn from_csr(x: CsrRef<'_>, d: usize, y: CsrRef<'_>, c: usize, weights: Option<&[f32]>) -> Result<Dataset> {
        Dataset::chunked(CHUNK_ROWS, (x, y, weights), d, c)
    }

    /// [`from_rows`](Dataset::from_rows) with another chunk size, for tests of the seams between chunks.
    pub(crate) fn in_chunks_of(max_rows: usize, rows: &Rows, d: usize, c: usize) -> Result<Dataset> {
        Dataset::chunked(max_rows, (rows.x.view(), rows.y.view(), rows.weights.as_deref()), d, c)
    }

    fn chunked(
        max_rows: usize,
        (x, y, weights): (CsrRef<'_>, CsrRef<'_>, Option<&[f32]>),
        d: usize,
        c: usize,
    ) -> Result<Dataset> {
        Dataset::check_csr((x, y, weights), d, c)?;
        let (mut builder, mut blocks) = (ChunkBuilder::with_rows(max_rows), Vec::new());
        let mut keep = |block| {
            blocks.push(block);
            Ok::<(), Error>(())
        };
        builder.push_csr(x, y, weights, &mut keep)?;
        builder.finish(&mut keep)?;
        Ok(Dataset::from_blocks(Shape { n: x.rows(), d, c }, blocks, Names::default()))
    }

    /// Refuses matrices that do not make examples.
    pub(super) fn check_csr(
        (x, y, weights): (CsrRef<'_>, CsrRef<'_>, Option<&[f32]>),
        d: usize,
        c: usize,
    ) -> Result<()> {
        for (matrix, width, name) in [(x, d, "features"), (y, c, "labels")] {
            matrix.check(width).map_err(|reason| Error::Data(format!("the matrix of the {name} {reason}")))?;
        }
        let n = x.rows();
        if y.rows() != n || weights.is_some_and(|w| w.len() != n) {
            return Err(Error::Data("features, labels and weights have different numbers of rows".into()));
        }
        if weights.is_some_and(|w| w.iter().any(|w| !w.is_finite() || *w < 0.0)) {
            return Err(Error::Data("weights of examples must be finite and not negative".into()));
        }
        Ok(())
    }

    /// The same data with names for labels, features or both, which models keep and predictions show. Ids remain numbers.
    ///
    /// ```
    /// use rembrandt::data::{Dataset, Rows};
    ///
    /// let mut rows = Rows::new();
    /// rows.x.end_row();
    /// rows.y.push(1, 1.0);
    /// rows.y.end_row();
    /// let names = vec!["news".to_owned(), "sports".to_owned()];
    /// let data = Dataset::from_rows(&rows, 1, 2)?.with_names(Some(names), None)?;
    /// assert_eq!(data.label_names().unwrap()[1], "sports");
    /// # Ok::<(), rembrandt::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there is not a name for each label or feature.
    pub fn with_names(mut self, labels: Option<Vec<String>>, features: Option<Vec<String>>) -> Result<Dataset> {
        for (names, width, what) in [(&labels, self.shape.c, "labels"), (&features, self.shape.d, "features")] {
            if let Some(names) = names.as_ref().filter(|names| names.len() != width) {
                return Err(Error::Data(format!("{} names for {width} {what}", names.len())));
            }
        }
        self.names = Names { labels, features, ..Names::default() };
        Ok(self)
    }

    /// The same data, with features that are identified by words.
    pub(super) fn with_feature_words(mut self, features: Option<Vec<String>>) -> Dataset {
        self.names.feature_words = features.is_some();
        self.names.features = features;
        self
    }

    /// Writes a cache file, which appears under its name only when it is whole.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write_cache(&self, out: &Path) -> Result<()> {
        write_file(out, |file| {
            let mut writer = CacheWriter::new(file, out)?;
            self.for_each_chunk(|chunk| {
                let (x, y) = (chunk.side(Side::X).rows, chunk.side(Side::Y).rows);
                writer.push_csr(x, y, chunk.weights)
            })?;
            writer.finish(self.shape, &self.names)
        })
    }

    /// Reads a text file into memory, or opens a cache file; the path `-` is standard input.
    ///
    /// # Errors
    /// If the file cannot be read, or a line of it is not what its format asks for.
    pub fn read(path: impl AsRef<Path>) -> Result<Dataset> {
        let path = path.as_ref();
        match path.as_os_str() != "-" && Dataset::is_cache(path) {
            true => Dataset::open(path),
            false => Ok(Dataset::read_with(path, &ReadOptions::default(), &mut Run::default())?.0),
        }
    }

    /// Reads a text file into memory; `-` is standard input. Also returns notes for the user, such as where names
    /// were found.
    ///
    /// # Errors
    /// Likewise, and [`Error::Cancelled`] when `run` was told to stop.
    pub fn read_with(path: &Path, options: &ReadOptions, run: &mut Run<'_>) -> Result<(Dataset, Vec<String>)> {
        let (mut builder, mut blocks) = (ChunkBuilder::new(), Vec::new());
        let mut keep = |block| {
            blocks.push(block);
            Ok::<(), Error>(())
        };
        let mut found = formats::read_rows(path, options, run, &mut |rows| builder.push(&rows, &mut keep))?;
        builder.finish(&mut keep)?;
        let names = found.take_names();
        let mut data = Dataset::from_blocks(found.shape, blocks, names);
        if !found.header {
            for (side, kind) in [(Side::X, "feature"), (Side::Y, "label")] {
                let width = data.shape.width(side);
                if width > MANY_IDS && width as u64 > SCARCE * data.nnz(side) && data.names.of(side).is_none() {
                    data = data.renumbered(side)?;
                    let used = data.shape.width(side);
                    let largest = width - 1;
                    found
                        .notes
                        .push(format!("{kind} ids go up to {largest}, and only the {used} that occur are numbered"));
                }
            }
        }
        Ok((data, found.notes))
    }

    /// The same data with numbers for only those ids that occur; what was written becomes their names.
    fn renumbered(self, side: Side) -> Result<Dataset> {
        let mut used = Vec::new();
        self.for_each_chunk(|chunk| {
            used.extend_from_slice(chunk.side(side).columns.ids);
            used.sort_unstable();
            used.dedup();
            Ok(())
        })?;
        // Ascending ids stay so.
        let number = |rows: CsrRef<'_>| {
            let mut out = Csr::new(rows.values.is_none());
            for i in 0..rows.rows() {
                rows.entries(i).for_each(|(id, v)| out.push(used.partition_point(|u| (*u as usize) < id) as u32, v));
                out.end_row();
            }
            out
        };
        let blocks = self.rebuild(|chunk| {
            let of = |other: Side| {
                let rows = chunk.side(other).rows;
                if other == side { number(rows) } else { copied(rows) }
            };
            Ok(Rows { x: of(Side::X), y: of(Side::Y), weights: chunk.weights.map(<[f32]>::to_vec) })
        })?;
        let (mut names, mut shape) = (self.names, self.shape);
        let words = Some(used.iter().map(u32::to_string).collect());
        match side {
            Side::X => (names.features, names.feature_words, shape.d) = (words, true, used.len()),
            Side::Y => (names.labels, names.label_words, shape.c) = (words, true, used.len()),
        }
        Ok(Dataset::from_blocks(shape, blocks, names))
    }

    /// Opens a cache file written by [`convert`](super::convert). Takes milliseconds: the data are mapped, and each
    /// part is checked when it is used for the first time.
    pub fn open(path: &Path) -> Result<Dataset> {
        let cache = Cache::open(path)?;
        let (shape, names) = (cache.shape(), cache.names()?);
        Ok(Dataset { shape, store: ChunkStore::File(cache), names, scratch: Mutex::default() })
    }

    /// Whether a file is a cache file, by its first bytes.
    pub fn is_cache(path: &Path) -> bool {
        Cache::recognise(path)
    }

    /// Data from blocks that a [`ChunkBuilder`] made.
    pub(super) fn from_blocks(shape: Shape, blocks: Vec<Vec<u32>>, names: Names) -> Dataset {
        Dataset { shape, store: ChunkStore::Memory(blocks), names, scratch: Mutex::default() }
    }

    /// Stored entries of one side.
    pub fn nnz(&self, side: Side) -> u64 {
        match &self.store {
            ChunkStore::Memory(blocks) => blocks.iter().map(|b| view(b).side(side).rows.nnz() as u64).sum(),
            ChunkStore::File(cache) => cache.nnz(side),
        }
    }

    /// Whether any example has a weight other than 1.
    pub fn weighted(&self) -> bool {
        match &self.store {
            ChunkStore::Memory(blocks) => blocks.iter().any(|b| view(b).weights.is_some()),
            ChunkStore::File(cache) => cache.weighted(),
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
            ChunkStore::Memory(blocks) => blocks.iter().map(|b| 4 * b.len() as u64).sum(),
            ChunkStore::File(cache) => cache.bytes(),
        }
    }

    /// Whether the data are mapped from a file instead of held in memory.
    pub fn is_mapped(&self) -> bool {
        matches!(self.store, ChunkStore::File(_))
    }

    /// Number of chunks that the examples are stored in.
    pub fn chunks(&self) -> usize {
        match &self.store {
            ChunkStore::Memory(blocks) => blocks.len(),
            ChunkStore::File(cache) => cache.chunks(),
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
            ChunkStore::Memory(blocks) => blocks.par_iter().map(|block| xxh3_64(bytemuck::cast_slice(block))).collect(),
            ChunkStore::File(cache) => cache.checksums(),
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

    /// The first feature whose value is so: its example, its name or number, and the value.
    pub(crate) fn find_feature(&self, is: impl Fn(f32) -> bool) -> Result<Option<(usize, String, f32)>> {
        let (mut before, mut found) = (0, None);
        self.for_each_chunk(|chunk| {
            let x = chunk.side(Side::X).rows;
            if found.is_none() && x.values.is_some_and(|values| values.iter().any(|value| is(*value))) {
                let entries =
                    (0..x.rows()).flat_map(|row| x.entries(row).map(move |(id, value)| (before + row, id, value)));
                found = entries.into_iter().find(|(_, _, value)| is(*value));
            }
            before += chunk.rows();
            Ok(())
        })?;
        let name = |id: usize| self.feature_names().map_or_else(|| id.to_string(), |names| names[id].clone());
        Ok(found.map(|(example, id, value)| (example, name(id), value)))
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

    /// The ids that a model trained on the data reads by: words where the file had words, numbers otherwise, even if they
    /// have names as well.
    ///
    /// # Errors
    /// If two words are the same, which no reader lets happen.
    pub fn vocabulary(&self) -> Result<Vocabulary> {
        let ids = |side, names: Option<&[String]>| match names.filter(|_| self.has_words(side)) {
            Some(names) => NameIndex::new(names).map(VocabularyIds::Words),
            None => Ok(VocabularyIds::Numbers(self.shape.width(side))),
        };
        Ok(Vocabulary { features: ids(Side::X, self.feature_names())?, labels: ids(Side::Y, self.label_names())? })
    }

    /// X z, one row for each example. A projection that was fitted to divided rows wants
    /// [`View::gather_features`](super::View::gather_features) instead.
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

    /// These examples and some more, copied into memory. Features and labels of the others are numbered as here.
    ///
    /// # Errors
    /// If one has a number that there is not here.
    pub fn with_examples(&self, more: &Rows) -> Result<Dataset> {
        let beyond = |csr: &Csr, width: usize| csr.view().columns().iter().any(|id| *id as usize >= width);
        if beyond(&more.x, self.shape.d) || beyond(&more.y, self.shape.c) {
            return Err(Error::parameter("more", "an example has a feature or label beyond those of the data"));
        }
        let (mut builder, mut blocks) = (ChunkBuilder::new(), Vec::new());
        let mut store = |block| {
            blocks.push(block);
            Ok::<(), Error>(())
        };
        self.for_each_chunk(|chunk| builder.push(&owned(&chunk), &mut store))?;
        builder.push(more, &mut store)?;
        builder.finish(&mut store)?;
        Ok(Dataset::from_blocks(Shape { n: self.shape.n + more.len(), ..self.shape }, blocks, self.names.clone()))
    }

    /// The same examples with other values of their features, copied into memory. `change` gets some rows at a time and
    /// returns as many.
    pub fn map_features(&self, change: impl Fn(CsrRef<'_>) -> Result<Csr>) -> Result<Dataset> {
        let blocks = self.rebuild(|chunk| {
            let labels = copied(chunk.side(Side::Y).rows);
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

    /// Runs `f` with the buffers for intermediate products.
    pub(super) fn with_scratch<T>(&self, f: impl FnOnce(&mut ChunkScratch) -> T) -> T {
        let lock = || self.scratch.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let mut scratch = std::mem::take(&mut *lock());
        let result = f(&mut scratch);
        *lock() = scratch;
        result
    }

    pub(super) fn for_each_chunk(&self, mut f: impl FnMut(Chunk<'_>) -> Result<()>) -> Result<()> {
        match &self.store {
            ChunkStore::Memory(blocks) => blocks.iter().try_for_each(|block| f(view(block))),
            ChunkStore::File(cache) => (0..cache.chunks()).try_for_each(|i| cache.with_chunk(i, &mut f)),
        }
    }
}

/// A copy of the rows of a chunk.
fn owned(chunk: &Chunk<'_>) -> Rows {
    let copy = |rows: CsrRef<'_>| {
        let mut own = Csr::new(rows.values.is_none());
        own.extend_rows(rows, 0, rows.rows());
        own
    };
    let (x, y) = (copy(chunk.side(Side::X).rows), copy(chunk.side(Side::Y).rows));
    Rows { x, y, weights: chunk.weights.map(<[f32]>::to_vec) }
}

/// Converts a text file into a cache file, holding one chunk in memory at a time, and opens it. The file appears
/// under its name only when it is whole.
pub fn convert(path: &Path, options: &ReadOptions, out: &Path, run: &mut Run<'_>) -> Result<(Dataset, Vec<String>)> {
    let mut notes = Vec::new();
    write_file(out, |file| {
        let mut writer = CacheWriter::new(file, out)?;
        let mut found = formats::read_rows(path, options, run, &mut |rows| writer.push(&rows))?;
        notes = std::mem::take(&mut found.notes);
        writer.finish(found.shape, &found.take_names())
    })?;
    Ok((Dataset::open(out)?, notes))
}

fn copied(rows: CsrRef<'_>) -> Csr {
    let mut copy = Csr::new(rows.values.is_none());
    copy.extend_rows(rows, 0, rows.rows());
    copy
}

/// A block that this process built itself.
fn view(block: &[u32]) -> Chunk<'_> {
    Chunk::parse(block).expect("blocks in memory are whole")
}
