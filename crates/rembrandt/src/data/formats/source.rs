//! Opening a text file, packed or not, and cutting it into blocks of whole lines.

use std::fs::{self, File};
use std::io::{self, Cursor, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Error, Result, Run};

/// How much text is handled at a time.
#[derive(Clone, Copy, Debug)]
pub(in crate::data) struct Sizes {
    /// Bytes of a block, give or take a line.
    pub(in crate::data) block: usize,
    /// Bytes of the longest line that is accepted; at least `block`.
    pub(in crate::data) longest_line: usize,
}

impl Default for Sizes {
    fn default() -> Sizes {
        // Blocks this small stay in the cache between the thread that unpacks and the one that parses.
        Sizes { block: 1 << 20, longest_line: 1 << 24 }
    }
}

/// Bytes that a pipe holds.
const LIVE: usize = 1 << 16;

/// How a file is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::data) enum Packing {
    Plain,
    Gzip,
    Zstd,
}

/// An opened file: unpacked bytes, and how far the file itself has been read.
pub(in crate::data) struct Source<'a> {
    pub(in crate::data) reader: Box<dyn Read + Send + 'a>,
    pub(in crate::data) packing: Packing,
    /// Bytes of the file as it lies on disk, when known.
    pub(in crate::data) size: Option<u64>,
    pub(in crate::data) consumed: Arc<AtomicU64>,
}

impl Source<'_> {
    /// Whether lines are to be had as they come: a file has them all.
    pub(in crate::data) fn is_live(&self, run: &Run<'_>) -> bool {
        run.is_live() && self.size.is_none()
    }
}

/// Opens a file, or standard input for `-`.
pub(in crate::data) fn open(path: &Path) -> Result<Source<'static>> {
    if path.as_os_str() == "-" {
        return unpack(io::stdin(), path);
    }
    let file = File::open(path).map_err(Error::io(path))?;
    let about = file.metadata().map_err(Error::io(path))?;
    if about.is_dir() {
        return Err(Error::file(path, directory_reason(path)));
    }
    let size = about.is_file().then_some(about.len());
    Ok(Source { size, ..unpack(file, path)? })
}

/// Recognises the packing of a stream by its first bytes.
pub(in crate::data) fn unpack<'a>(mut raw: impl Read + Send + 'a, path: &Path) -> Result<Source<'a>> {
    let magic = first_bytes(&mut raw).map_err(Error::io(path))?;
    let foreign = match magic.as_slice() {
        [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, 0x59, ..] => Some("bzip2"),
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some("xz"),
        [b'P', b'K', 3, 4, ..] => Some("zip"),
        _ => None,
    };
    if let Some(kind) = foreign {
        return Err(Error::file(path, format!("{kind} files cannot be read; unpack it, or pack it with gzip or zstd")));
    }
    let packing = match magic.as_slice() {
        [0x1f, 0x8b, ..] => Packing::Gzip,
        // The second pattern is a frame that unpacking skips; parallel packers begin with one.
        [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Packing::Zstd,
        _ => Packing::Plain,
    };
    let consumed = Arc::new(AtomicU64::new(0));
    let raw = CountingReader { inner: Cursor::new(magic).chain(raw), count: Arc::clone(&consumed) };
    let reader: Box<dyn Read + Send + 'a> = match packing {
        Packing::Plain => Box::new(raw),
        Packing::Gzip => Box::new(flate2::read::MultiGzDecoder::new(raw)),
        Packing::Zstd => Box::new(zstd::stream::read::Decoder::new(raw).map_err(Error::io(path))?),
    };
    Ok(Source { reader, packing, size: None, consumed })
}

/// As many bytes as tell the packing. The end of a line is none of those, and a pipe may have nothing more for now.
fn first_bytes(raw: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    while bytes.len() < 10 && bytes.last() != Some(&b'\n') && raw.by_ref().take(1).read_to_end(&mut bytes)? > 0 {}
    Ok(bytes)
}

/// The sentence about a directory where a file is needed: the training file in it is often what was meant.
fn directory_reason(path: &Path) -> String {
    let inside = fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
    let meant = inside.filter(|p| p.file_name().is_some_and(|n| n.to_string_lossy().starts_with("train.txt"))).min();
    match meant {
        Some(file) => format!("this is a directory; did you mean {}?", file.display()),
        None => "this is a directory; name a file in it".into(),
    }
}

/// Counts the bytes that pass, for progress.
struct CountingReader<R> {
    inner: R,
    count: Arc<AtomicU64>,
}

impl<R: Read> Read for CountingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.count.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

/// Why the blocks ended before the file did.
#[derive(Debug)]
pub(in crate::data) enum Stop {
    /// The line after the last block is longer than accepted.
    LongLine,
    /// Reading or unpacking failed.
    Broken(io::Error),
}

impl Stop {
    /// The error for the user, given how many lines before it were good.
    pub(in crate::data) fn error(self, path: &Path, packing: Packing, lines: u64, sizes: Sizes) -> Error {
        let kind = match packing {
            Packing::Gzip => "gzip",
            Packing::Zstd => "zstd",
            Packing::Plain => "text",
        };
        match self {
            Stop::LongLine => {
                let reason = format!("the line is longer than {} bytes; is this a text file?", sizes.longest_line);
                Error::line(path, lines + 1, reason)
            }
            Stop::Broken(source) if packing == Packing::Plain => Error::Io { path: path.to_owned(), source },
            Stop::Broken(source) => {
                let what = match source.kind() {
                    io::ErrorKind::UnexpectedEof => "ends too early".into(),
                    _ => format!("is damaged, {source}"),
                };
                let reason = format!("the {kind} stream {what} (good lines: {lines}); copy or make the file again");
                Error::file(path, reason)
            }
        }
    }
}

/// Cuts a stream into blocks that end with a line; only the last may lack the final newline.
///
/// Where blocks end depends on the text and the sizes alone, never on how the stream delivers its bytes, unless it is live:
/// then a block ends with the last line that has come.
pub(in crate::data) struct Blocks<R> {
    reader: R,
    sizes: Sizes,
    live: bool,
    /// The beginning of a line whose end has not been read.
    rest: Vec<u8>,
    stop: Option<Stop>,
    ended: bool,
}

impl<R: Read> Blocks<R> {
    pub(in crate::data) fn new(reader: R, sizes: Sizes) -> Blocks<R> {
        debug_assert!(0 < sizes.block && sizes.block <= sizes.longest_line);
        Blocks { reader, sizes, live: false, rest: Vec::new(), stop: None, ended: false }
    }

    /// Whether lines are handed on as they come.
    pub(in crate::data) fn live(self, live: bool) -> Blocks<R> {
        Blocks { live, ..self }
    }

    /// Adds at most `want` bytes to a block, and tells whether there are more to come.
    fn fill(&mut self, block: &mut Vec<u8>, want: usize) -> io::Result<bool> {
        if !self.live {
            block.reserve_exact(want);
            return Ok((&mut self.reader).take(want as u64).read_to_end(block)? == want);
        }
        let have = block.len();
        block.resize(have + want.min(LIVE), 0);
        let outcome = loop {
            match self.reader.read(&mut block[have..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                outcome => break outcome,
            }
        };
        block.truncate(have + outcome.as_ref().map_or(0, |read| *read));
        Ok(outcome? > 0)
    }
}

impl<R: Read> Iterator for Blocks<R> {
    type Item = Result<Vec<u8>, Stop>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut block = std::mem::take(&mut self.rest);
        while !self.ended {
            let have = block.len();
            // A long line doubles the block; one byte beyond the longest line is enough to know that it is too long.
            let want = self.sizes.block.max(have).min(self.sizes.longest_line + 1 - have);
            let outcome = self.fill(&mut block, want);
            let line_end = block[have..].iter().rposition(|b| *b == b'\n').map(|at| have + at + 1);
            match outcome {
                Err(error) => {
                    (self.ended, self.stop) = (true, Some(Stop::Broken(error)));
                    block.truncate(line_end.unwrap_or(0));
                }
                Ok(false) => self.ended = true,
                Ok(true) => match line_end {
                    Some(end) => {
                        self.rest = block.split_off(end);
                        return Some(Ok(block));
                    }
                    None if block.len() > self.sizes.longest_line => {
                        (self.ended, self.stop) = (true, Some(Stop::LongLine));
                        block.clear();
                    }
                    None => {}
                },
            }
        }
        if block.is_empty() { self.stop.take().map(Err) } else { Some(Ok(block)) }
    }
}
