//! How a measurement tells how far it is.

use std::time::Duration;

use rembrandt::{Progress, Run};

/// Who is told how a long measurement goes.
pub trait Watcher {
    /// How far a computation is.
    fn progress(&mut self, progress: &Progress);

    /// A process is waited for, the `place.0`th of `place.1`.
    fn wait(&mut self, what: &str, place: (usize, usize), elapsed: Duration);

    /// Something that is worth a line.
    fn note(&mut self, text: &str);

    /// The stage that was shown last is over.
    fn clear(&mut self);
}

/// Nobody.
impl Watcher for () {
    fn progress(&mut self, _: &Progress) {}
    fn wait(&mut self, _: &str, _: (usize, usize), _: Duration) {}
    fn note(&mut self, _: &str) {}
    fn clear(&mut self) {}
}

/// A computation that is watched, and goes on to its end.
pub(crate) fn watched(watcher: &mut dyn Watcher) -> Run<'_> {
    Run::watched(|progress| {
        watcher.progress(progress);
        true
    })
}
