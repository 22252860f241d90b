//! The cache file: parsed data that opens in milliseconds and may be larger than memory.
//!
//! A file is a mark and a version, the [chunks](super::chunk) as they are in memory, the names, a footer in JSON that
//! says where everything is, and an end mark. The footer comes last so that a file can be written in one go, without
//! knowing its size: converting takes the memory of one chunk. It is written under a temporary name and renamed, so
//! a file that has a name is whole; the end mark and the checksums catch what happens to it afterwards.

use std::convert::Infallible;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use memmap2::Mmap;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::chunk::{CHUNK_ENTRIES, CHUNK_ROWS, Chunk, ChunkBuilder, Half};
use super::names::Names;
use super::{Rows, Shape, Side};
use crate::io::mmap;
use crate::linalg::csr::CsrRef;
use crate::{Error, Result};

#[cfg(target_endian = "big")]
compile_error!("cache files hold little-endian words and are mapped as they are");

const MAGIC: &[u8; 12] = b"REMBRANDT-DA";
const END: &[u8; 8] = b"RMB-DONE";
/// The version that this code writes, and the newest that it reads.
const VERSION: u32 = 1;
/// Every part of a file begins at a multiple of this.
const ALIGN: u64 = 64;
/// Offset, length and checksum of the footer, and the end mark.
const TRAILER: u64 = 32;
/// A footer larger than this is not believed.
const MAX_FOOTER: u64 = 1 << 30;

/// Where a part of the file is.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct CacheSection {
    offset: u64,
    bytes: u64,
    checksum: u64,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Footer {
    shape: Shape,
    x_nnz: u64,
    y_nnz: u64,
    weighted: bool,
    chunks: Vec<CacheSection>,
    label_names: Option<CacheSection>,
    feature_names: Option<CacheSection>,
    /// Whether ids were words in the text. Left out when they were not, as in files from before this was written.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    label_words: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    feature_words: bool,
}

/// Writes a cache file, in the memory of one chunk.
///
/// ```
/// use rembrandt::data::{CacheWriter, Dataset, Names, Rows};
/// use rembrandt::model::write_file;
/// use rembrandt::{Examples, Shape};
///
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("data.rmb");
/// let shape = Shape { n: 3, d: 4, c: 3 };
/// write_file(&path, |out| {
///     let mut writer = CacheWriter::new(out, &path)?;
///     for batch in 0..3 {
///         let mut rows = Rows::new();
///         rows.x.push_row(&[0, 2], &[1.0, 0.5]);
///         rows.y.push_row(&[batch], &[1.0]);
///         writer.push(&rows)?;
///     }
///     writer.finish(shape, &Names::default())
/// })?;
/// assert_eq!(Dataset::open(&path)?.shape(), shape);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct CacheWriter<W> {
    builder: ChunkBuilder,
    file: Unfinished<W>,
}

impl<W: Write> CacheWriter<W> {
    /// Begins a file, whose path is for messages. Parts of it are small, so `out` should have a buffer.
    pub fn new(out: W, path: &Path) -> Result<CacheWriter<W>> {
        Ok(CacheWriter { builder: ChunkBuilder::new(), file: Unfinished::new(out, path)? })
    }

    /// Adds examples after those before.
    pub fn push(&mut self, rows: &Rows) -> Result<()> {
        self.builder.push(rows, |block| self.file.chunk(&block))
    }

    /// Adds the rows of two matrices, with their weights unless all are 1.
    pub(super) fn push_csr(&mut self, x: CsrRef<'_>, y: CsrRef<'_>, weights: Option<&[f32]>) -> Result<()> {
        self.builder.push_csr(x, y, weights, |block| self.file.chunk(&block))
    }

    /// Adds examples whose chunks have been built already.
    pub fn push_chunks(&mut self, chunks: &CacheChunks) -> Result<()> {
        self.builder.finish(|block| self.file.chunk(&block))?;
        chunks.blocks.iter().try_for_each(|block| self.file.chunk(block))
    }

    /// Writes the rest. Fails when the examples do not fit the shape.
    pub fn finish(mut self, shape: Shape, names: &Names) -> Result<()> {
        self.builder.finish(|block| self.file.chunk(&block))?;
        self.file.finish(shape, names)
    }
}

/// Examples as they lie in a cache file. Building them takes most of the time of writing one, so several threads may do
/// it, each in chunks of its own, and pass them to a [`CacheWriter`] in order.
#[derive(Default)]
pub struct CacheChunks {
    builder: ChunkBuilder,
    blocks: Vec<Vec<u32>>,
}

impl CacheChunks {
    /// Examples in a chunk that is full; fewer when they are long.
    pub const ROWS: usize = CHUNK_ROWS;
    /// Features and labels of its examples that fill a chunk.
    pub const ENTRIES: usize = CHUNK_ENTRIES;

    /// Builds chunks of some examples in place of what was there, in the same memory.
    pub fn fill(&mut self, rows: &Rows) {
        let CacheChunks { builder, blocks } = self;
        if let Some(words) = blocks.pop() {
            builder.reuse(words);
        }
        blocks.clear();
        let mut keep = |block| {
            blocks.push(block);
            Ok::<(), Infallible>(())
        };
        let Ok(()) = builder.push(rows, &mut keep);
        let Ok(()) = builder.finish(&mut keep);
    }
}

/// A cache file so far.
struct Unfinished<W> {
    path: PathBuf,
    out: W,
    offset: u64,
    footer: Footer,
    /// Examples, and one more than the largest feature and label.
    seen: Shape,
}

impl<W: Write> Unfinished<W> {
    fn new(out: W, path: &Path) -> Result<Unfinished<W>> {
        let (footer, seen) = (Footer::default(), Shape::default());
        let mut unfinished = Unfinished { path: path.to_owned(), out, offset: 0, footer, seen };
        let mut head = [0; ALIGN as usize];
        head[..12].copy_from_slice(MAGIC);
        head[12..16].copy_from_slice(&VERSION.to_le_bytes());
        unfinished.put(&head)?;
        Ok(unfinished)
    }

    fn chunk(&mut self, words: &[u32]) -> Result<()> {
        let part = self.part(bytemuck::cast_slice(words))?;
        self.footer.chunks.push(part);
        let chunk = Chunk::parse(words).map_err(|reason| Error::file(&self.path, reason))?;
        let (x, y) = (chunk.side(Side::X), chunk.side(Side::Y));
        self.footer.x_nnz += x.rows.nnz() as u64;
        self.footer.y_nnz += y.rows.nnz() as u64;
        self.footer.weighted |= chunk.weights.is_some();
        // Columns are ascending.
        let width = |half: &Half<'_>| half.columns.ids.last().map_or(0, |id| *id as usize + 1);
        let Shape { n, d, c } = self.seen;
        self.seen = Shape { n: n + chunk.rows(), d: d.max(width(x)), c: c.max(width(y)) };
        Ok(())
    }

    fn finish(mut self, shape: Shape, names: &Names) -> Result<()> {
        let Shape { n, d, c } = self.seen;
        if n != shape.n || d > shape.d || c > shape.c {
            let reason = format!(
                "{n} examples with features below {d} and labels below {c} do not make {} × {} and {} labels",
                shape.n, shape.d, shape.c
            );
            return Err(Error::file(&self.path, reason));
        }
        self.footer.shape = shape;
        self.footer.label_names = self.names(names.labels.as_deref())?;
        self.footer.feature_names = self.names(names.features.as_deref())?;
        (self.footer.label_words, self.footer.feature_words) = (names.label_words, names.feature_words);
        let footer = serde_json::to_vec(&self.footer).map_err(|e| Error::file(&self.path, e.to_string()))?;
        let part = self.part(&footer)?;
        let mut trailer = Vec::with_capacity(TRAILER as usize);
        for word in [part.offset, part.bytes, part.checksum] {
            trailer.extend_from_slice(&word.to_le_bytes());
        }
        trailer.extend_from_slice(END);
        self.put(&trailer)?;
        self.out.flush().map_err(Error::io(&self.path))
    }

    /// A side without columns has no names: an empty text would read as one empty name.
    fn names(&mut self, names: Option<&[String]>) -> Result<Option<CacheSection>> {
        names.filter(|names| !names.is_empty()).map(|names| self.part(names.join("\n").as_bytes())).transpose()
    }

    fn part(&mut self, bytes: &[u8]) -> Result<CacheSection> {
        let part = CacheSection { offset: self.offset, bytes: bytes.len() as u64, checksum: xxh3_64(bytes) };
        self.put(bytes)?;
        let padding = self.offset.next_multiple_of(ALIGN) - self.offset;
        self.put(&[0; ALIGN as usize][..padding as usize])?;
        Ok(part)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.offset += bytes.len() as u64;
        self.out.write_all(bytes).map_err(Error::io(&self.path))
    }
}

/// An open cache file.
pub(crate) struct Cache {
    path: PathBuf,
    file: File,
    bytes: u64,
    footer: Footer,
    /// The whole file, or nothing when the address space is too small for it: then each chunk is mapped in turn.
    whole: Option<Mmap>,
    /// Chunks that have been checked since the file was opened.
    checked: Vec<AtomicBool>,
}

/// A chunk's words, in the mapping of the whole file or in one of their own.
enum Window<'a> {
    Whole(&'a [u8]),
    Own(Mmap),
}

impl Cache {
    /// Whether a file begins like a cache file.
    pub fn recognise(path: &Path) -> bool {
        use std::io::Read;
        let mut head = [0; MAGIC.len()];
        path.is_file() && File::open(path).is_ok_and(|mut f| f.read_exact(&mut head).is_ok()) && &head == MAGIC
    }

    pub fn open(path: &Path) -> Result<Cache> {
        // Mapping takes address space, not memory. Under a limit on it most must stay free for the computation.
        Cache::open_within(path, address_space().map(|limit| limit / 4))
    }

    /// Opens a file that is mapped as a whole if it has at most `most` bytes, otherwise chunk by chunk.
    fn open_within(path: &Path, most: Option<u64>) -> Result<Cache> {
        let refuse = |reason: &str| Error::file(path, reason);
        let file = File::open(path).map_err(Error::io(path))?;
        let bytes = file.metadata().map_err(Error::io(path))?.len();
        if !Cache::recognise(path) {
            return Err(refuse("not a rembrandt data cache"));
        }
        let read = |offset: u64, len: u64| match mmap::map(&file, offset, len as usize) {
            Ok(map) => Ok(map),
            Err(e) => Err(Error::io(path)(e)),
        };
        let truncated = || {
            refuse("its end mark is missing: the file was cut short, or something was appended; convert the data again")
        };
        if bytes < ALIGN + TRAILER {
            return Err(truncated());
        }
        let version = word32(&read(0, ALIGN)?[12..16]);
        if version > VERSION {
            let reason = format!("cache format {version} is newer than this program, which reads up to {VERSION}");
            return Err(Error::file(path, reason));
        }
        let trailer = read(bytes - TRAILER, TRAILER)?;
        if &trailer[24..] != END {
            return Err(truncated());
        }
        let [offset, len, checksum] = [0, 8, 16].map(|at| word64(&trailer[at..at + 8]));
        let end = offset.checked_add(len).filter(|end| *end <= bytes - TRAILER && len <= MAX_FOOTER);
        if end.is_none() || len == 0 {
            return Err(refuse("the file is corrupted: its footer lies outside of it; convert the data again"));
        }
        let footer = read(offset, len)?;
        let corrupted =
            || refuse("the file is corrupted: its footer does not match its checksum; convert the data again");
        if xxh3_64(&footer) != checksum {
            return Err(corrupted());
        }
        let footer: Footer = serde_json::from_slice(&footer).map_err(|_| corrupted())?;
        let names = [footer.label_names, footer.feature_names];
        for part in footer.chunks.iter().chain(names.iter().flatten()) {
            let inside = part.offset.checked_add(part.bytes).is_some_and(|end| end <= offset);
            if !inside || part.offset % ALIGN != 0 {
                return Err(refuse("the file is corrupted: a part lies outside of it; convert the data again"));
            }
        }
        let checked = footer.chunks.iter().map(|_| AtomicBool::new(false)).collect();
        let whole = match most {
            Some(most) if bytes > most => None,
            _ => mmap::map(&file, 0, bytes as usize).ok(),
        };
        let cache = Cache { path: path.to_owned(), file, bytes, footer, whole, checked };
        cache.compare()?;
        Ok(cache)
    }

    /// Compares what the footer says of all chunks with what the beginning of each says of itself.
    fn compare(&self) -> Result<()> {
        let (mut n, mut nnz, mut weighted) = (0, [0, 0], false);
        for (i, part) in self.footer.chunks.iter().enumerate() {
            let window = self.window(*part)?;
            let chunk = self.parse(i, window.bytes())?;
            n += chunk.rows();
            for (sum, side) in nnz.iter_mut().zip([Side::X, Side::Y]) {
                *sum += chunk.side(side).rows.ids.len() as u64;
            }
            weighted |= chunk.weights.is_some();
        }
        let Footer { shape, x_nnz, y_nnz, .. } = self.footer;
        match (n, nnz, weighted) == (shape.n, [x_nnz, y_nnz], self.footer.weighted) {
            true => Ok(()),
            false => Err(self.corrupted("its footer, which says other numbers than its chunks,")),
        }
    }

    fn parse<'b>(&self, i: usize, bytes: &'b [u8]) -> Result<Chunk<'b>> {
        let words: &[u32] = bytemuck::try_cast_slice(bytes).map_err(|_| self.corrupted(&format!("chunk {i}")))?;
        Chunk::parse(words).map_err(|reason| self.corrupted(&format!("chunk {i} ({reason})")))
    }

    pub fn shape(&self) -> Shape {
        self.footer.shape
    }

    pub fn nnz(&self, side: Side) -> u64 {
        match side {
            Side::X => self.footer.x_nnz,
            Side::Y => self.footer.y_nnz,
        }
    }

    pub fn weighted(&self) -> bool {
        self.footer.weighted
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub fn chunks(&self) -> usize {
        self.footer.chunks.len()
    }

    /// The checksum of every chunk, as the file says.
    pub fn checksums(&self) -> Vec<u64> {
        self.footer.chunks.iter().map(|part| part.checksum).collect()
    }

    /// The names section of the footer.
    pub fn names(&self) -> Result<Names> {
        let Footer { label_words, feature_words, .. } = self.footer;
        Ok(Names { labels: self.names_of(Side::Y)?, features: self.names_of(Side::X)?, label_words, feature_words })
    }

    fn names_of(&self, side: Side) -> Result<Option<Vec<String>>> {
        let part = match side {
            Side::X => self.footer.feature_names,
            Side::Y => self.footer.label_names,
        };
        let Some(part) = part else { return Ok(None) };
        let window = self.window(part)?;
        let bytes = window.bytes();
        let text = std::str::from_utf8(bytes).ok().filter(|_| xxh3_64(bytes) == part.checksum);
        let names: Vec<String> = text.ok_or_else(|| self.corrupted("its names"))?.split('\n').map(Into::into).collect();
        if names.len() != self.shape().width(side) {
            return Err(self.corrupted("its names"));
        }
        Ok(Some(names))
    }

    /// Hands chunk `i` to `f`. Its checksum and contents are checked when it is used for the first time.
    pub fn with_chunk<T>(&self, i: usize, f: impl FnOnce(Chunk<'_>) -> Result<T>) -> Result<T> {
        if let (Some(map), Some(next)) = (&self.whole, self.footer.chunks.get(i + 1)) {
            // Have the next chunk read from disk while this one is worked on. Only a hint: failing is harmless.
            #[cfg(unix)]
            let _ = map.advise_range(memmap2::Advice::WillNeed, next.offset as usize, next.bytes as usize);
        }
        let part = self.footer.chunks[i];
        let window = self.window(part)?;
        let chunk = self.parse(i, window.bytes())?;
        if !self.checked[i].load(Ordering::Relaxed) {
            if xxh3_64(window.bytes()) != part.checksum {
                return Err(self.corrupted(&format!("chunk {i} (its checksum)")));
            }
            chunk.validate(self.shape()).map_err(|reason| self.corrupted(&format!("chunk {i} ({reason})")))?;
            self.checked[i].store(true, Ordering::Relaxed);
        }
        f(chunk)
    }

    fn window(&self, part: CacheSection) -> Result<Window<'_>> {
        if part.bytes == 0 {
            return Ok(Window::Whole(&[]));
        }
        match &self.whole {
            Some(map) => Ok(Window::Whole(&map[part.offset as usize..(part.offset + part.bytes) as usize])),
            None => {
                let map = mmap::map(&self.file, part.offset, part.bytes as usize);
                Ok(Window::Own(map.map_err(Error::io(&self.path))?))
            }
        }
    }

    fn corrupted(&self, what: &str) -> Error {
        Error::file(&self.path, format!("the file is corrupted: {what} cannot be trusted; convert the data again"))
    }
}

impl Window<'_> {
    fn bytes(&self) -> &[u8] {
        match self {
            Window::Whole(bytes) => bytes,
            Window::Own(map) => map,
        }
    }
}

/// The limit on this process's address space in bytes, if it has one and the system tells.
pub fn address_space() -> Option<u64> {
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    line.split_whitespace().next()?.parse().ok()
}

fn word32(bytes: &[u8]) -> u32 {
    u32::from_le_bytes(bytes.try_into().expect("four bytes"))
}

fn word64(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.try_into().expect("eight bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_mapped_one_at_a_time_are_the_same_as_those_of_the_whole_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("data.rmb");
        let mut rows = Rows::new();
        for i in 0..1000 {
            rows.x.push(i % 7, i as f32);
            rows.x.end_row();
            rows.y.push(i % 3, 1.0);
            rows.y.end_row();
        }
        let mut bytes = Vec::new();
        let mut writer =
            CacheWriter { builder: ChunkBuilder::with_rows(64), ..CacheWriter::new(&mut bytes, &path).unwrap() };
        writer.push(&rows).unwrap();
        let names = Names { labels: Some(["a", "", "c"].map(String::from).into()), ..Names::default() };
        writer.finish(Shape { n: 1000, d: 7, c: 3 }, &names).unwrap();
        std::fs::write(&path, bytes).unwrap();

        let [whole, apart] = [None, Some(1000)].map(|most| Cache::open_within(&path, most).unwrap());
        assert!(whole.whole.is_some() && apart.whole.is_none());
        assert_eq!((whole.chunks(), apart.chunks()), (16, 16));
        assert_eq!(apart.names().unwrap(), names);
        for i in 0..16 {
            let values = |cache: &Cache| {
                cache.with_chunk(i, |chunk| Ok(chunk.side(Side::X).columns.values.unwrap().to_vec())).unwrap()
            };
            assert_eq!(values(&whole), values(&apart));
        }
    }

    #[test]
    fn a_footer_that_contradicts_the_chunks_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("data.rmb");
        let mut rows = Rows::new();
        rows.x.push_row(&[1, 4], &[1.0, 2.0]);
        rows.y.push_row(&[2], &[1.0]);
        let write = |change: fn(&mut Footer)| {
            let mut bytes = Vec::new();
            let mut writer = CacheWriter::new(&mut bytes, &path).unwrap();
            writer.push(&rows).unwrap();
            writer.builder.finish(|block| writer.file.chunk(&block)).unwrap();
            change(&mut writer.file.footer);
            let seen = writer.file.seen;
            writer.file.finish(seen, &Names::default()).unwrap();
            std::fs::write(&path, bytes).unwrap();
            Cache::open(&path).err().map(|error| error.to_string())
        };
        assert_eq!(write(|_| ()), None);
        // The checksum of the footer is right in all of them.
        let changes: [fn(&mut Footer); 4] =
            [|f| f.x_nnz = 5, |f| f.y_nnz = 0, |f| f.weighted = true, |f| f.chunks.push(f.chunks[0])];
        for change in changes {
            let message = write(change).unwrap();
            assert!(
                message.contains("its footer, which says other numbers than its chunks, cannot be trusted"),
                "{message}"
            );
        }
    }

    #[test]
    fn examples_that_do_not_fit_the_shape_are_refused() {
        let mut rows = Rows::new();
        rows.x.push_row(&[1, 4], &[1.0, 2.0]);
        rows.y.push_row(&[2], &[1.0]);
        let finish = |n, d, c| {
            let mut writer = CacheWriter::new(Vec::new(), Path::new("data.rmb")).unwrap();
            writer.push(&rows).unwrap();
            writer.finish(Shape { n, d, c }, &Names::default())
        };
        finish(1, 5, 3).unwrap();
        assert!([(2, 5, 3), (1, 4, 3), (1, 5, 2)].into_iter().all(|(n, d, c)| finish(n, d, c).is_err()));
    }
}
