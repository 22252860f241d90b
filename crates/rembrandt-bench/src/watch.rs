//! How a measurement tells how far it is.

use std::time::Duration;

use rembrandt::{Progress, Run};

/// Who is told how a long measurement goes.
pub trait Watcher {
    /// So much of a file has been read; of how much is unknown when it is a pipe.
    fn read(&mut self, done: u64, total: Option<u64>);

    /// So much of a computation is done.
    fn work(&mut self, progress: &Progress);

    /// A process is waited for, the `place.0`th of `place.1`.
    fn wait(&mut self, what: &str, place: (usize, usize), elapsed: Duration);

    /// Something that is worth a line.
    fn note(&mut self, text: &str);

    /// What was shown last is over.
    fn clear(&mut self);
}

/// Nobody.
impl Watcher for () {
    fn read(&mut self, _: u64, _: Option<u64>) {}
    fn work(&mut self, _: &Progress) {}
    fn wait(&mut self, _: &str, _: (usize, usize), _: Duration) {}
    fn note(&mut self, _: &str) {}
    fn clear(&mut self) {}
}

/// A computation that is watched, and goes on to its end.
pub(crate) fn watched(watcher: &mut dyn Watcher) -> Run<'_> {
    Run::watched(|progress| {
        watcher.work(progress);
        true
    })
}
