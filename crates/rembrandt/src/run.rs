//! How to run, nothing about what: progress and cancellation.

use crate::{Error, Result};

/// What a long computation is doing. Work is counted in columns multiplied by the data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// The stage, in words for a person.
    pub stage: &'static str,
    /// Work done so far, over all stages.
    pub done: u64,
    /// All the work there is at most; a solver that converges early does less.
    pub total: u64,
}

type Watch<'a> = Box<dyn FnMut(&Progress) -> bool + 'a>;

/// Watches a long computation and may stop it.
///
/// ```
/// use rembrandt::Run;
/// let mut quiet = Run::default();
/// let mut loud = Run::watched(|p| { eprintln!("{}: {} of {}", p.stage, p.done, p.total); true });
/// # let _ = (&mut quiet, &mut loud);
/// ```
#[derive(Default)]
pub struct Run<'a> {
    watch: Option<Watch<'a>>,
    done: u64,
    total: u64,
}

impl<'a> Run<'a> {
    /// Calls `watch` after every step of work; when it returns `false` the computation ends with
    /// [`Error::Cancelled`].
    pub fn watched(watch: impl FnMut(&Progress) -> bool + 'a) -> Run<'a> {
        Run { watch: Some(Box::new(watch)), done: 0, total: 0 }
    }

    /// Begins a computation of `total` units.
    pub(crate) fn begin(&mut self, total: u64) {
        (self.done, self.total) = (0, total);
    }

    /// Reports `work` more units done in `stage`.
    pub(crate) fn advance(&mut self, stage: &'static str, work: u64) -> Result<()> {
        self.done += work;
        // An estimate that was too low must not show more than all of it done.
        self.total = self.total.max(self.done);
        let progress = Progress { stage, done: self.done, total: self.total };
        let go_on = self.watch.as_mut().is_none_or(|watch| watch(&progress));
        if go_on { Ok(()) } else { Err(Error::Cancelled) }
    }
}

impl std::fmt::Debug for Run<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Run({} of {})", self.done, self.total)
    }
}
