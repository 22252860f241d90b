//! Large files straight to the disk, past the memory in which the system keeps files.
//!
//! Whoever writes gigabytes the ordinary way has each byte copied to memory that the system must find and clear first, and
//! the disk gets it some time later: that takes several times as long as the disk does, and pushes out what others would read
//! again. Here a thread passes whole buffers on to the disk itself, while the next one is filled. Where the system or the
//! disk refuses that, the file is written the ordinary way, [early](crate::early).

use std::fs::File;
#[cfg(target_os = "linux")]
use std::fs::OpenOptions;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use crate::early::Early;

/// What goes straight to the disk begins at a multiple of this, in memory and in the file, and is a multiple of it long.
const PAGE: usize = 4096;
/// Bytes that are passed on at a time: enough for the full speed of a disk.
const BYTES: usize = 2 << 20;
/// One that is filled, one that waits and one that is written.
const BUFFERS: usize = 3;

/// Memory that begins with a page, as far as it is filled.
#[derive(Default)]
struct Buffer {
    memory: Vec<u8>,
    filled: usize,
}

impl Buffer {
    /// All of it. It is allocated when it is first needed, and never moves afterwards.
    fn bytes(&mut self) -> &mut [u8] {
        self.memory.resize(BYTES + PAGE, 0);
        let from = self.memory.as_ptr().align_offset(PAGE);
        &mut self.memory[from..from + BYTES]
    }
}

/// Writes one file, from its beginning to its end.
pub(crate) struct Straight {
    buffer: Buffer,
    full: Option<SyncSender<Buffer>>,
    free: Receiver<Buffer>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl Straight {
    /// For an empty file and its path.
    pub fn new(file: &File, path: &Path) -> io::Result<Straight> {
        Straight::with(file, open_direct(path).ok())
    }

    fn with(file: &File, direct: Option<File>) -> io::Result<Straight> {
        let plain = file.try_clone()?;
        let early = Early::new(&plain)?;
        let mut disk = Disk { plain, direct, early, at: 0 };
        let (full, filled) = sync_channel::<Buffer>(BUFFERS);
        let (give_back, free) = sync_channel(BUFFERS);
        (1..BUFFERS).for_each(|_| give_back.send(Buffer::default()).expect("the other end is here"));
        let thread = thread::Builder::new().spawn(move || {
            for mut buffer in filled {
                let len = std::mem::take(&mut buffer.filled);
                disk.put(&buffer.bytes()[..len])?;
                // Nobody waits for it after the last one.
                let _ = give_back.send(buffer);
            }
            disk.early.finish()
        })?;
        Ok(Straight { buffer: Buffer::default(), full: Some(full), free, thread: Some(thread) })
    }

    /// Passes the buffer on, and takes a free one.
    fn pass_on(&mut self) -> io::Result<()> {
        let buffer = std::mem::take(&mut self.buffer);
        let sent = self.full.as_ref().is_some_and(|full| full.send(buffer).is_ok());
        match self.free.recv() {
            Ok(free) if sent => self.buffer = free,
            _ => return Err(self.end().err().unwrap_or_else(|| io::Error::other("the file was finished already"))),
        }
        Ok(())
    }

    /// Waits for the thread, which tells what went wrong.
    fn end(&mut self) -> io::Result<()> {
        self.full = None;
        let ended = self.thread.take().map(|thread| thread.join());
        ended.map_or(Ok(()), |result| result.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    }
}

impl Write for Straight {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.buffer.filled == BYTES {
            self.pass_on()?;
        }
        let filled = self.buffer.filled;
        let len = bytes.len().min(BYTES - filled);
        self.buffer.bytes()[filled..filled + len].copy_from_slice(&bytes[..len]);
        self.buffer.filled += len;
        Ok(len)
    }

    /// Writes what is left. Nothing can be written afterwards: the file goes on where no page begins.
    fn flush(&mut self) -> io::Result<()> {
        if self.buffer.filled > 0 {
            self.pass_on()?;
        }
        self.end()
    }
}

/// Where buffers go.
struct Disk {
    plain: File,
    direct: Option<File>,
    early: Early,
    at: u64,
}

impl Disk {
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        // The last buffer may end within a page, which is written the ordinary way.
        let whole = bytes.len() / PAGE * PAGE;
        // Whatever goes wrong is tried the ordinary way, which tells what it was if it was not the way.
        let wrote = self.direct.as_mut().is_some_and(|direct| direct.write_all(&bytes[..whole]).is_ok());
        let rest = if wrote { &bytes[whole..] } else { bytes };
        if !wrote {
            self.direct = None;
        }
        if !rest.is_empty() {
            self.plain.seek(SeekFrom::Start(self.at + (bytes.len() - rest.len()) as u64))?;
            self.plain.write_all(rest)?;
            self.early.wrote(rest.len());
        }
        self.at += bytes.len() as u64;
        Ok(())
    }
}

/// Opens a file once more, for writing straight to the disk.
#[cfg(target_os = "linux")]
fn open_direct(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    OpenOptions::new().write(true).custom_flags(libc::O_DIRECT).open(path)
}

#[cfg(not(target_os = "linux"))]
fn open_direct(_: &Path) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes of which no two pages are alike.
    fn bytes(len: usize) -> Vec<u8> {
        (0..len).map(|i| (i % 251 + i / PAGE) as u8).collect()
    }

    /// Writes a file in pieces of some length.
    fn write(path: &Path, bytes: &[u8], piece: usize, direct: impl Fn(&Path) -> Option<File>) -> io::Result<()> {
        let file = File::create(path)?;
        let mut out = Straight::with(&file, direct(path))?;
        bytes.chunks(piece).try_for_each(|piece| out.write_all(piece))?;
        out.flush()
    }

    #[test]
    fn files_hold_what_was_written_whatever_their_length() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        for len in [0, 1, PAGE, BYTES, BYTES + 1, 3 * BYTES + PAGE + 7, 5 * BYTES] {
            let bytes = bytes(len);
            for piece in [1000, BYTES - 1, 4 * BYTES] {
                for direct in [|path: &Path| open_direct(path).ok(), |_: &Path| None] {
                    write(&path, &bytes, piece, direct).unwrap();
                    assert!(std::fs::read(&path).unwrap() == bytes, "{len} bytes, {piece} at a time");
                }
            }
        }
    }

    #[test]
    fn what_cannot_go_straight_goes_the_ordinary_way() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let bytes = bytes(2 * BYTES + 5);
        // A file that is open for reading refuses to be written, as a disk might that wants larger pages.
        write(&path, &bytes, 777, |path| File::open(path).ok()).unwrap();
        assert!(std::fs::read(&path).unwrap() == bytes);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_told_and_a_finished_file_stays_finished() {
        let full = Path::new("/dev/full");
        let bytes = bytes(8 * BYTES);
        let error = |result: io::Result<()>| result.unwrap_err().kind();
        let straight = || Straight::with(&OpenOptions::new().write(true).open(full).unwrap(), None).unwrap();
        let mut out = straight();
        assert_eq!(error(out.write_all(&bytes)), io::ErrorKind::StorageFull);
        let mut out = straight();
        out.write_all(&bytes[..9]).unwrap();
        assert_eq!(error(out.flush()), io::ErrorKind::StorageFull);
        assert_eq!(error(out.write_all(&bytes)), io::ErrorKind::Other);
    }
}
