//! Bringing a large file to the disk while it is still being written.
//!
//! The system keeps what is written in memory until there is much of it, often gigabytes, and whoever waits for the disk at
//! the end then waits for nearly all of it. Asking for it every so often, from a thread that has nothing else to do, lets
//! the disk and the processor work at the same time.

use std::fs::File;
use std::io;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

/// Bytes between two requests: enough that waiting for the disk's last word on each costs nothing.
const BYTES: u64 = 64 << 20;

/// Watches over a file that is being written.
pub(crate) struct Early {
    waiting: u64,
    ask: SyncSender<()>,
    thread: JoinHandle<io::Result<()>>,
}

impl Early {
    pub fn new(file: &File) -> io::Result<Early> {
        let file = file.try_clone()?;
        let (ask, asked) = sync_channel(1);
        let thread = thread::Builder::new().spawn(move || asked.iter().try_for_each(|()| file.sync_data()))?;
        Ok(Early { waiting: 0, ask, thread })
    }

    /// So many bytes more have been written.
    pub fn wrote(&mut self, bytes: usize) {
        self.waiting += bytes as u64;
        if self.waiting >= BYTES {
            self.waiting = 0;
            // A request that waits already covers these as well.
            let _ = self.ask.try_send(());
        }
    }

    /// Ends the watch. An error of the disk is told once for a file, and here if it was told to the thread.
    pub fn finish(self) -> io::Result<()> {
        drop(self.ask);
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_watched_file_is_written_like_any_other() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let mut file = File::create(&path).unwrap();
        let mut early = Early::new(&file).unwrap();
        let bytes: Vec<u8> = (0..1 << 20).map(|i| (i % 251) as u8).collect();
        for _ in 0..3 {
            file.write_all(&bytes).unwrap();
            early.wrote(BYTES as usize);
        }
        early.finish().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), bytes.repeat(3));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_the_disk_refuses_is_told() {
        // A device that cannot be synced stands for a disk that fails.
        let mut early = Early::new(&File::open("/dev/null").unwrap()).unwrap();
        early.wrote(BYTES as usize);
        assert!(early.finish().is_err());
    }
}
