//! Large files straight to the disk, past the memory in which the system keeps files.
//!
//! Whoever writes gigabytes the ordinary way has each byte copied to memory that the system must find and clear first, and
//! the disk gets it some time later: that takes several times as long as the disk does, and pushes out what others would
//! read again. Where the system or the disk refuses, the file is written the ordinary way.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};

/// Alignment and unit of length of direct writes, in memory and in the file.
const PAGE: usize = 4096;
/// Bytes that are passed on at a time: enough for the full speed of a disk.
const BYTES: usize = 4 << 20;

/// Writes one file, from its beginning to its end.
pub struct DirectIo<'a> {
    plain: &'a File,
    /// The same file, past the memory for files.
    direct: Option<File>,
    /// Has a page more than is used, to begin with a whole one.
    memory: Vec<u8>,
    filled: usize,
    /// Where in the file the buffer goes.
    at: u64,
}

impl<'a> DirectIo<'a> {
    /// For an empty file.
    pub fn new(file: &'a File) -> DirectIo<'a> {
        DirectIo::with(file, open_direct(file).ok())
    }

    fn with(plain: &'a File, direct: Option<File>) -> DirectIo<'a> {
        DirectIo { plain, direct, memory: vec![0; BYTES + PAGE], filled: 0, at: 0 }
    }

    fn buffer(&mut self) -> &mut [u8] {
        let from = self.memory.as_ptr().align_offset(PAGE);
        &mut self.memory[from..from + BYTES]
    }

    /// Writes what is left.
    pub fn finish(mut self) -> io::Result<()> {
        self.pass_on()
    }

    fn pass_on(&mut self) -> io::Result<()> {
        let filled = std::mem::take(&mut self.filled);
        // The end of a file may lie within a page, which is written the ordinary way.
        let whole = filled / PAGE * PAGE;
        let mut direct = self.direct.take();
        // Whatever goes wrong is tried the ordinary way, which tells what it was if it was not the way.
        let wrote = direct.as_mut().is_some_and(|direct| direct.write_all(&self.buffer()[..whole]).is_ok());
        let from = if wrote { whole } else { 0 };
        self.direct = direct.filter(|_| wrote);
        if from < filled {
            let mut plain = self.plain;
            plain.seek(SeekFrom::Start(self.at + from as u64))?;
            plain.write_all(&self.buffer()[from..filled])?;
        }
        self.at += filled as u64;
        Ok(())
    }
}

impl Write for DirectIo<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.filled == BYTES {
            self.pass_on()?;
        }
        let filled = self.filled;
        let len = bytes.len().min(BYTES - filled);
        self.buffer()[filled..filled + len].copy_from_slice(&bytes[..len]);
        self.filled += len;
        Ok(len)
    }

    /// Nothing, because only whole pages can be passed on: [`finish`](DirectIo::finish) writes the rest.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Opens a file once more, for writing straight to the disk.
#[cfg(target_os = "linux")]
fn open_direct(file: &File) -> io::Result<File> {
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::OpenOptionsExt;
    // By number: a temporary file may have lost its name.
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    File::options().write(true).custom_flags(libc::O_DIRECT).open(path)
}

#[cfg(not(target_os = "linux"))]
fn open_direct(_: &File) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes of which no two pages are alike.
    fn bytes(len: usize) -> Vec<u8> {
        (0..len).map(|i| (i % 251 + i / PAGE) as u8).collect()
    }

    /// Writes bytes in pieces of some length.
    fn write(mut out: DirectIo<'_>, bytes: &[u8], piece: usize) -> io::Result<()> {
        bytes.chunks(piece).try_for_each(|piece| out.write_all(piece))?;
        out.finish()
    }

    #[test]
    fn files_hold_what_was_written_whatever_their_length() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        for len in [0, 1, PAGE, BYTES, BYTES + 1, 2 * BYTES + PAGE + 7] {
            let bytes = bytes(len);
            // Straight, the ordinary way, and refused: a file that is open for reading cannot be written.
            let ways: [fn(&File) -> Option<File>; 3] =
                [|file| open_direct(file).ok(), |_| None, |_| File::open("/dev/null").ok()];
            for (piece, direct) in [1000, BYTES - 1, 4 * BYTES].into_iter().flat_map(|p| ways.map(|way| (p, way))) {
                let file = File::create(&path).unwrap();
                write(DirectIo::with(&file, direct(&file)), &bytes, piece).unwrap();
                assert!(std::fs::read(&path).unwrap() == bytes, "{len} bytes, {piece} at a time");
            }
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_told() {
        let full = File::options().write(true).open("/dev/full").unwrap();
        for len in [9, 3 * BYTES] {
            let error = write(DirectIo::with(&full, None), &bytes(len), BYTES).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        }
    }
}
