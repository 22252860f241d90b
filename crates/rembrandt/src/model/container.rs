//! The safetensors container, written by hand: the same content is always the same bytes.
//!
//! Eight bytes with the length of the header, the header as JSON with its keys in order, padded with spaces to a
//! multiple of eight, then the tensors without holes. Wider numbers come first, so that every tensor is aligned to
//! its own numbers. Two checksums lie in the metadata: one of all tensors, one of the rest of the metadata.
//!
//! A model is opened for a single question, so its tensors are hashed in blocks, by all threads, and the checksum is the
//! hash of the hashes. Some of its tensors may be absent, so a third checksum is that of their names and places: a
//! changed name must not pass for a tensor that was never there.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;

use rayon::prelude::*;
use safetensors::tensor::{Dtype, Metadata, SafeTensorError, SafeTensors};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use crate::io::atomic_file;
use crate::{Error, Matrix, Result};

/// Where the checksum of all tensor bytes is kept.
const CHECKSUM: &str = "checksum";
/// Where the checksum of the other metadata is kept.
const METADATA_CHECKSUM: &str = "metadata_checksum";

/// Where it is said how the tensors were hashed, if not in one go.
const CHECKSUM_KIND: &str = "checksum_kind";
/// Where the checksum of names, kinds, shapes and places of the tensors is kept, if they are hashed in blocks.
const DIRECTORY_CHECKSUM: &str = "directory_checksum";
/// The other way to hash them: in blocks of [`BLOCK`] bytes.
const BLOCKS: &str = "xxh3 of xxh3 of 1 MB blocks";
const BLOCK: usize = 1 << 20;

/// A kind of file in this container.
pub(super) struct FileKind {
    /// Kept under `format` in the metadata.
    pub name: &'static str,
    /// The newest version that this program knows.
    pub version: u32,
    /// The message for a file of another kind.
    pub foreign: &'static str,
    /// Whether tensors are hashed in blocks.
    pub blocks: bool,
}

/// Headers longer than 100 MB are refused by every reader of the format.
pub(super) const HEADER_LIMIT: usize = 90_000_000;

/// A tensor on its way into a file.
pub(super) struct Tensor<'a> {
    pub name: &'static str,
    pub dtype: &'static str,
    pub shape: Vec<usize>,
    pub bytes: &'a [u8],
}

/// Writes `tensors` in the given order (wider numbers first) with `metadata`, all or nothing. The version is the oldest
/// whose readers understand all of it.
pub(super) fn write(
    path: &Path,
    format: &FileKind,
    version: u32,
    tensors: &[Tensor<'_>],
    metadata: BTreeMap<String, String>,
) -> Result<()> {
    let header = header(format, version, tensors, metadata);
    atomic_file::write(path, |out| write_to(out, &header, tensors))
}

/// The bytes that [`write`] writes.
pub(super) fn to_bytes(
    format: &FileKind,
    version: u32,
    tensors: &[Tensor<'_>],
    metadata: BTreeMap<String, String>,
) -> Vec<u8> {
    let header = header(format, version, tensors, metadata);
    let mut bytes = Vec::with_capacity(8 + header.len() + tensors.iter().map(|t| t.bytes.len()).sum::<usize>());
    write_to(&mut bytes, &header, tensors).expect("memory takes all bytes");
    bytes
}

fn write_to(out: &mut impl Write, header: &[u8], tensors: &[Tensor<'_>]) -> io::Result<()> {
    out.write_all(&(header.len() as u64).to_le_bytes())?;
    out.write_all(header)?;
    tensors.iter().try_for_each(|t| out.write_all(t.bytes))
}

fn header(format: &FileKind, version: u32, tensors: &[Tensor<'_>], mut metadata: BTreeMap<String, String>) -> Vec<u8> {
    metadata.insert("format".into(), format.name.into());
    metadata.insert("format_version".into(), version.to_string());
    if format.blocks {
        metadata.insert(CHECKSUM_KIND.into(), BLOCKS.into());
        let mut end = 0;
        let place = |t: &Tensor<'_>| {
            let start = end;
            end += t.bytes.len();
            ((start, end), t.name.to_owned(), directory_entry(t.name, t.dtype, &t.shape))
        };
        metadata.insert(DIRECTORY_CHECKSUM.into(), directory_checksum(tensors.iter().map(place).collect()));
    }
    metadata.insert(METADATA_CHECKSUM.into(), metadata_checksum(metadata.iter()));
    let pieces = || tensors.iter().map(|t| t.bytes);
    metadata.insert(CHECKSUM.into(), hex(if format.blocks { hash_blocks(pieces()) } else { hash(pieces()) }));

    let mut header = BTreeMap::from([("__metadata__", json!(metadata))]);
    let mut offset = 0;
    for t in tensors {
        let end = offset + t.bytes.len();
        header.insert(t.name, json!({"data_offsets": [offset, end], "dtype": t.dtype, "shape": t.shape}));
        offset = end;
    }
    let mut header = json_text(&header).into_bytes();
    header.resize(header.len().next_multiple_of(8), b' ');
    header
}

/// JSON of plain data, whose keys are strings: it cannot fail.
pub(super) fn json_text(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("plain data with string keys is always JSON")
}

/// Whether a file begins like one of this format, even if it was cut short: opening it will then say so.
pub(super) fn begins(path: &Path, bytes: &[u8], format: &FileKind) -> bool {
    if let Ok(file) = Container::parse(path, bytes, format) {
        return file.text("format") == Some(format.name);
    }
    // Checksums come first, and their kind tells the two formats apart.
    let Some(rest) = bytes.get(8..).and_then(|rest| rest.strip_prefix(br#"{"__metadata__":{"checksum":""#)) else {
        return false;
    };
    rest.get(18..).is_some_and(|rest| rest.starts_with(br#""checksum_kind""#)) == format.blocks
}

/// Whether a file goes on after the last tensor of its header.
fn is_longer(bytes: &[u8]) -> bool {
    let Some((length, rest)) = bytes.split_first_chunk() else { return false };
    let length = usize::try_from(u64::from_le_bytes(*length)).unwrap_or(usize::MAX);
    let header = rest.get(..length).and_then(|header| serde_json::from_slice::<BTreeMap<String, Value>>(header).ok());
    let ends = header.iter().flatten().filter_map(|(_, tensor)| tensor["data_offsets"][1].as_u64());
    ends.max().is_some_and(|end| end < (rest.len() - length) as u64)
}

/// A parsed file: the header was checked against the length of the file, the tensors lie in it without holes.
pub(super) struct Container<'a> {
    header: Metadata,
    bytes: &'a [u8],
    /// Where the tensors begin.
    start: usize,
    pub path: &'a Path,
}

impl<'a> Container<'a> {
    /// Opens a file of the given format, and checks version and checksums.
    pub fn open(path: &'a Path, bytes: &'a [u8], format: &FileKind) -> Result<Container<'a>> {
        let file = Container::parse(path, bytes, format)?;
        if file.text("format") != Some(format.name) {
            return Err(Error::file(path, format.foreign));
        }
        let known = format.version;
        match file.text("format_version").and_then(|v| v.parse::<u32>().ok()) {
            Some(version) if (1..=known).contains(&version) => {}
            Some(newer) if newer > known => {
                let reason = format!("has format version {newer}, this program knows {known}: use a newer rembrandt");
                return Err(Error::file(path, reason));
            }
            _ => return Err(damaged(path, "its format version cannot be read")),
        }
        file.verify()?;
        Ok(file)
    }

    /// Finds the tensors and the metadata in the bytes of a file. Only their arrangement is checked.
    fn parse(path: &'a Path, bytes: &'a [u8], format: &FileKind) -> Result<Container<'a>> {
        // Whatever begins like a safetensors header was one once.
        let familiar = bytes.get(8) == Some(&b'{') && bytes[..8].ends_with(&[0, 0, 0]);
        let (length, header) = SafeTensors::read_metadata(bytes).map_err(|e| match e {
            _ if !familiar => Error::file(path, format.foreign),
            SafeTensorError::MetadataIncompleteBuffer if is_longer(bytes) => {
                Error::file(path, "is longer than its header says: something was appended, copy or make it anew")
            }
            SafeTensorError::InvalidHeaderLength | SafeTensorError::MetadataIncompleteBuffer => {
                Error::file(path, "is not as long as its header says: it was cut short, copy or make it anew")
            }
            _ => damaged(path, "its header cannot be read"),
        })?;
        Ok(Container { header, bytes, start: 8 + length, path })
    }

    /// One entry of the metadata.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.header.metadata().as_ref()?.get(key).map(String::as_str)
    }

    /// Shape and bytes of a tensor of the given kind of numbers.
    pub fn tensor(&self, name: &str, dtype: Dtype) -> Option<(&[usize], &'a [u8])> {
        let (shape, place) = self.locate(name, dtype)?;
        Some((shape, &self.bytes[place]))
    }

    /// Shape of a tensor and its place in the file.
    pub fn locate(&self, name: &str, dtype: Dtype) -> Option<(&[usize], Range<usize>)> {
        let info = self.header.info(name).filter(|info| info.dtype == dtype)?;
        Some((&info.shape, self.start + info.data_offsets.0..self.start + info.data_offsets.1))
    }

    /// A tensor with one dimension of the given length.
    pub fn vector<T: bytemuck::Pod>(&self, name: &str, dtype: Dtype, len: usize) -> Result<Vec<T>> {
        match self.tensor(name, dtype) {
            Some((&[found], bytes)) if found == len => {
                // The map may begin anywhere in a file written by others, so the bytes are copied, not cast.
                let mut values = vec![T::zeroed(); len];
                bytemuck::cast_slice_mut(&mut values).copy_from_slice(bytes);
                Ok(values)
            }
            _ => Err(self.missing(name)),
        }
    }

    /// A tensor with two dimensions.
    pub fn matrix(&self, name: &str) -> Result<Matrix> {
        match self.tensor(name, Dtype::F32) {
            Some((&[rows, cols], bytes)) => {
                let mut matrix = Matrix::zeros(rows, cols);
                bytemuck::cast_slice_mut(matrix.as_mut_slice()).copy_from_slice(bytes);
                Ok(matrix)
            }
            _ => Err(self.missing(name)),
        }
    }

    /// An entry of the metadata that is JSON.
    pub fn json<T: DeserializeOwned>(&self, key: &str) -> Result<T> {
        self.text(key)
            .and_then(|text| serde_json::from_str(text).ok())
            .ok_or_else(|| damaged(self.path, &format!("its {key} cannot be read")))
    }

    /// The error for a tensor that is not there, or not as it should be.
    pub fn missing(&self, name: &str) -> Error {
        damaged(self.path, &format!("tensor {name} is missing or of another kind"))
    }

    /// Checks both checksums.
    fn verify(&self) -> Result<()> {
        let data = &self.bytes[self.start..];
        let tensors = match self.text(CHECKSUM_KIND) {
            None => hash([data].into_iter()),
            Some(BLOCKS) => {
                let hashes: Vec<u64> = data.par_chunks(BLOCK).map(xxh3_64).collect();
                xxh3_64(bytemuck::cast_slice(&hashes))
            }
            Some(_) => return Err(damaged(self.path, "the kind of its checksum is unknown")),
        };
        if self.text(CHECKSUM_KIND).is_some() {
            let place = |name: String| {
                let info = self.header.info(&name).expect("a name from the header");
                let entry = directory_entry(&name, &format!("{:?}", info.dtype), &info.shape);
                (info.data_offsets, name, entry)
            };
            let found = directory_checksum(self.header.offset_keys().into_iter().map(place).collect());
            if self.text(DIRECTORY_CHECKSUM) != Some(&found) {
                return Err(damaged(self.path, "its directory checksum does not match"));
            }
        }
        let others: BTreeMap<_, _> = self
            .header
            .metadata()
            .iter()
            .flatten()
            .filter(|(k, _)| *k != CHECKSUM && *k != METADATA_CHECKSUM)
            .collect();
        let found = [(CHECKSUM, hex(tensors)), (METADATA_CHECKSUM, metadata_checksum(others.into_iter()))];
        for (key, value) in found {
            if self.text(key) != Some(&value) {
                return Err(damaged(self.path, &format!("its {} does not match", key.replace('_', " "))));
            }
        }
        Ok(())
    }
}

/// The checksum of what is known of tensors, given the place, the name and a line about each: in the order of their
/// places, of which there are no others, since tensors lie without holes; empty ones may share theirs.
fn directory_checksum(mut entries: Vec<((usize, usize), String, String)>) -> String {
    entries.sort();
    hex(xxh3_64(entries.into_iter().map(|(_, _, line)| line).collect::<String>().as_bytes()))
}

/// A line about a tensor.
fn directory_entry(name: &str, dtype: &str, shape: &[usize]) -> String {
    format!("{name} {dtype} {shape:?}\n")
}

/// The error for a file that was ours once.
pub(super) fn damaged(path: &Path, what: &str) -> Error {
    Error::file(path, format!("is damaged ({what}): copy or make it anew"))
}

/// The hash of pieces that follow each other.
fn hash<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> u64 {
    let mut hash = Xxh3::new();
    pieces.for_each(|piece| hash.update(piece));
    hash.digest()
}

/// The same in blocks. A block may begin in one piece and end in another.
fn hash_blocks<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> u64 {
    let (mut hashes, mut block, mut filled) = (Vec::new(), Xxh3::new(), 0);
    for mut piece in pieces {
        while !piece.is_empty() {
            let (now, later) = piece.split_at(piece.len().min(BLOCK - filled));
            block.update(now);
            filled += now.len();
            piece = later;
            if filled == BLOCK {
                hashes.push(block.digest());
                (block, filled) = (Xxh3::new(), 0);
            }
        }
    }
    if filled > 0 {
        hashes.push(block.digest());
    }
    xxh3_64(bytemuck::cast_slice(&hashes))
}

fn metadata_checksum<'a>(entries: impl Iterator<Item = (&'a String, &'a String)>) -> String {
    let mut hash = Xxh3::new();
    for text in entries.flat_map(|(key, value)| [key, value]) {
        hash.update(&(text.len() as u64).to_le_bytes());
        hash.update(text.as_bytes());
    }
    hex(hash.digest())
}

fn hex(hash: u64) -> String {
    format!("{hash:016x}")
}

/// Bytes that a string takes in the header, where JSON inside JSON is escaped once more.
pub(super) fn escaped_len(text: &str) -> usize {
    json_text(&text).len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_do_not_depend_on_pieces() {
        let bytes: Vec<u8> = (0..3 * BLOCK + 5).map(|i| (i * 31 % 251) as u8).collect();
        let whole = hash_blocks([&bytes[..]].into_iter());
        let (a, b) = bytes.split_at(BLOCK + 17);
        assert_eq!(hash_blocks([a, b, &[]].into_iter()), whole);
        let hashes: Vec<u64> = bytes.chunks(BLOCK).map(xxh3_64).collect();
        assert_eq!(xxh3_64(bytemuck::cast_slice(&hashes)), whole);
    }
}
