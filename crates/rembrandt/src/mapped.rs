//! Memory-mapped files, in one place because mapping needs `unsafe`.

use std::fs::File;
use std::io;

use memmap2::{Mmap, MmapOptions};

/// Maps `len` bytes of a file from `offset` on, read-only.
pub(crate) fn map(file: &File, offset: u64, len: usize) -> io::Result<Mmap> {
    // SAFETY: the mapping is only sound while nobody shortens or rewrites the file. This project never writes into
    // an existing file: every file is written under a temporary name and renamed, so a mapped file keeps its bytes
    // (its old inode) even when it is replaced. What is read from it is plain numbers, checked before use.
    unsafe { MmapOptions::new().offset(offset).len(len).map(file) }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    #[test]
    fn maps_any_part_and_survives_replacement() {
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
}
