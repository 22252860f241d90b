//! Files in memory without reading them: the one place where a file is mapped.

use std::fs::File;
use std::path::Path;

use memmap2::Mmap;

use crate::{Error, Result};

#[cfg(target_endian = "big")]
compile_error!("numbers in mapped files are little-endian and used in place: big-endian machines are not supported");

/// Maps a file for reading.
pub(crate) fn map(path: &Path) -> Result<Mmap> {
    let file = File::open(path).map_err(Error::io(path))?;
    let metadata = file.metadata().map_err(Error::io(path))?;
    if !metadata.is_file() {
        let what = if metadata.is_dir() { "is a directory" } else { "cannot be mapped into memory" };
        return Err(Error::file(path, format!("{what}: name a regular file")));
    }
    // SAFETY: the map is sound as long as nobody changes or shortens the file while it is mapped. This library never
    // writes into a file that exists: it writes a new one beside it and renames, so a reader keeps the old file,
    // whole, until it lets go of the map. Mapped bytes are only ever read as integers and floats, of which every bit
    // pattern is a value, and ids are checked before they index anything.
    unsafe { Mmap::map(&file) }.map_err(Error::io(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_files_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        std::fs::write(&path, b"bytes").unwrap();
        assert_eq!(&map(&path).unwrap()[..], b"bytes");
        std::fs::write(&path, b"").unwrap();
        assert!(map(&path).unwrap().is_empty());
        let message = map(dir.path()).unwrap_err().to_string();
        assert!(message.ends_with("is a directory: name a regular file"), "{message}");
        assert!(matches!(map(&dir.path().join("b")), Err(Error::Io { .. })));
    }
}
