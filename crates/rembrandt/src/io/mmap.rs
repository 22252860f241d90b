//! Files in memory without reading them: the one place where a file is mapped.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use memmap2::{Mmap, MmapMut, MmapOptions};

use crate::{Error, Result};

#[cfg(target_endian = "big")]
compile_error!("numbers in mapped files are little-endian and used in place: big-endian machines are not supported");

/// Maps `len` bytes of a file from `offset` on, read-only.
pub(crate) fn map(file: &File, offset: u64, len: usize) -> io::Result<Mmap> {
    // SAFETY: the map is sound as long as nobody changes or shortens the file while it is mapped. This library never
    // writes into a file that exists: it writes a new one beside it and renames, so a reader keeps the old file,
    // whole, until it lets go of the map. Mapped bytes are only ever read as integers and floats, of which every bit
    // pattern is a value, and ids are checked before they index anything.
    unsafe { MmapOptions::new().offset(offset).len(len).map(file) }
}

/// Maps a whole file, read-only.
pub(crate) fn map_whole(path: &Path) -> Result<Mmap> {
    // Asked before opening: opening a pipe and closing it again would end whoever writes into it.
    let metadata = fs::metadata(path).map_err(Error::io(path))?;
    if !metadata.is_file() {
        let what = if metadata.is_dir() { "is a directory" } else { "cannot be mapped into memory" };
        return Err(Error::file(path, format!("{what}: name a regular file")));
    }
    let file = File::open(path).map_err(Error::io(path))?;
    let len = usize::try_from(metadata.len()).map_err(|_| Error::file(path, "is too large for this machine"))?;
    map(&file, 0, len).map_err(Error::io(path))
}

/// Bytes from elsewhere as if they were a file.
pub(crate) fn copied(bytes: &[u8]) -> io::Result<Mmap> {
    let mut map = MmapMut::map_anon(bytes.len())?;
    map.copy_from_slice(bytes);
    map.make_read_only()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_any_part_and_survives_replacement() {
        use std::io::Write;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        std::fs::write(&path, vec![7u8; 10_000]).unwrap();
        let file = std::fs::File::open(&path).unwrap();
        let map = super::map(&file, 5000, 100).unwrap();
        let mut new = tempfile::NamedTempFile::new_in(dir.path()).unwrap();
        new.write_all(b"short").unwrap();
        new.persist(&path).unwrap();
        assert_eq!(&map[..], &[7u8; 100]);
    }

    #[test]
    fn maps_files_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        std::fs::write(&path, b"bytes").unwrap();
        assert_eq!(&map_whole(&path).unwrap()[..], b"bytes");
        std::fs::write(&path, b"").unwrap();
        assert!(map_whole(&path).unwrap().is_empty());
        let message = map_whole(dir.path()).unwrap_err().to_string();
        assert!(message.ends_with("is a directory: name a regular file"), "{message}");
        assert!(matches!(map_whole(&dir.path().join("b")), Err(Error::Io { .. })));
    }
}
