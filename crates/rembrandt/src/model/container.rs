//! The safetensors container, written by hand: the same content is always the same bytes.
//!
//! Eight bytes with the length of the header, the header as JSON with its keys in order, padded with spaces to a
//! multiple of eight, then the tensors without holes. Wider numbers come first, so that every tensor is aligned to
//! its own numbers. Two checksums lie in the metadata: one of all tensors, one of the rest of the metadata.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use safetensors::tensor::{Dtype, Metadata, SafeTensorError, SafeTensors};
use serde_json::json;
use xxhash_rust::xxh3::Xxh3;

use crate::{Error, Result, atomic};

/// Where the checksum of all tensor bytes is kept.
const CHECKSUM: &str = "checksum";
/// Where the checksum of the other metadata is kept.
const METADATA_CHECKSUM: &str = "metadata_checksum";

/// Headers longer than 100 MB are refused by every reader of the format.
pub(super) const HEADER_LIMIT: usize = 90_000_000;

/// A tensor on its way into a file.
pub(super) struct Tensor<'a> {
    pub name: &'static str,
    pub dtype: &'static str,
    pub shape: Vec<usize>,
    pub bytes: &'a [u8],
}

/// Writes `tensors` in the given order (wider numbers first) with `metadata`, all or nothing.
pub(super) fn write(path: &Path, tensors: &[Tensor<'_>], mut metadata: BTreeMap<String, String>) -> Result<()> {
    let mut hash = Xxh3::new();
    tensors.iter().for_each(|t| hash.update(t.bytes));
    metadata.insert(METADATA_CHECKSUM.into(), metadata_checksum(metadata.iter()));
    metadata.insert(CHECKSUM.into(), hex(hash.digest()));

    let mut header = BTreeMap::from([("__metadata__", json!(metadata))]);
    let mut offset = 0;
    for t in tensors {
        let end = offset + t.bytes.len();
        header.insert(t.name, json!({"data_offsets": [offset, end], "dtype": t.dtype, "shape": t.shape}));
        offset = end;
    }
    let mut header = json_text(&header).into_bytes();
    header.resize(header.len().next_multiple_of(8), b' ');
    atomic::write(path, |out| {
        out.write_all(&(header.len() as u64).to_le_bytes())?;
        out.write_all(&header)?;
        tensors.iter().try_for_each(|t| out.write_all(t.bytes))
    })
}

/// JSON of plain data, whose keys are strings: it cannot fail.
pub(super) fn json_text(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("plain data with string keys is always JSON")
}

/// A parsed file: the header was checked against the length of the file, the tensors lie in it without holes.
pub(super) struct Container<'a> {
    header: Metadata,
    data: &'a [u8],
    path: &'a Path,
}

impl<'a> Container<'a> {
    /// Finds the tensors and the metadata in the bytes of a file. Only their arrangement is checked.
    pub fn parse(path: &'a Path, bytes: &'a [u8]) -> Result<Container<'a>> {
        // Whatever begins like a safetensors header was one once.
        let familiar = bytes.get(8) == Some(&b'{') && bytes[..8].ends_with(&[0, 0, 0]);
        let (length, header) = SafeTensors::read_metadata(bytes).map_err(|e| match e {
            _ if !familiar => foreign(path),
            SafeTensorError::InvalidHeaderLength | SafeTensorError::MetadataIncompleteBuffer => {
                Error::file(path, "is not as long as its header says: it was cut short, copy or make it anew")
            }
            _ => damaged(path, "its header cannot be read"),
        })?;
        Ok(Container { header, data: &bytes[8 + length..], path })
    }

    /// One entry of the metadata.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.header.metadata().as_ref()?.get(key).map(String::as_str)
    }

    /// Shape and bytes of a tensor of the given kind of numbers.
    pub fn tensor(&self, name: &str, dtype: Dtype) -> Option<(&[usize], &'a [u8])> {
        let info = self.header.info(name).filter(|info| info.dtype == dtype)?;
        Some((&info.shape, &self.data[info.data_offsets.0..info.data_offsets.1]))
    }

    /// Checks both checksums.
    pub fn verify(&self) -> Result<()> {
        let mut hash = Xxh3::new();
        hash.update(self.data);
        let others: BTreeMap<_, _> = self
            .header
            .metadata()
            .iter()
            .flatten()
            .filter(|(k, _)| *k != CHECKSUM && *k != METADATA_CHECKSUM)
            .collect();
        let found = [(CHECKSUM, hex(hash.digest())), (METADATA_CHECKSUM, metadata_checksum(others.into_iter()))];
        for (key, value) in found {
            if self.text(key) != Some(&value) {
                return Err(damaged(self.path, &format!("its {} does not match", key.replace('_', " "))));
            }
        }
        Ok(())
    }
}

/// The error for a file that never was ours.
pub(super) fn foreign(path: &Path) -> Error {
    Error::file(path, "is not an embedding file: make one with `rembrandt embed`")
}

/// The error for a file that was ours once.
pub(super) fn damaged(path: &Path, what: &str) -> Error {
    Error::file(path, format!("is damaged ({what}): copy or make it anew"))
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
