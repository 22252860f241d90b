//! How to run, nothing about what: progress, cancellation, seconds of each stage, and checkpoints that a killed run goes
//! on from.

use std::time::Instant;

use crate::io::checkpoint::{Checkpoints, Load, Store};
use crate::{Error, Result};

/// How far a long computation is.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// The stage, in words for a person.
    pub stage: &'static str,
    /// Work done so far, over all stages.
    pub done: u64,
    /// All the work there is at most; a solver that converges early does less. Unknown when reading from a pipe.
    pub total: Option<u64>,
    /// The unit that is counted.
    pub unit: Unit,
}

/// The unit of [`Progress`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes read.
    Bytes,
    /// Columns multiplied by the data.
    Work,
}

pub(crate) type Watch<'a> = Box<dyn FnMut(&Progress) -> bool + 'a>;

/// Watches a long computation and may stop it.
///
/// ```
/// use rembrandt::Run;
/// let mut quiet = Run::default();
/// let mut loud = Run::watched(|p| { eprintln!("{}: {} of {:?}", p.stage, p.done, p.total); true });
/// # let _ = (&mut quiet, &mut loud);
/// ```
#[derive(Default)]
pub struct Run<'a> {
    watch: Option<Watch<'a>>,
    live: bool,
    done: u64,
    total: u64,
    checkpoints: Option<&'a Checkpoints>,
    /// The names of checkpoints begin with it.
    scope: String,
    clock: Clock,
    notes: Vec<String>,
    end: Option<Instant>,
}

/// Seconds of the stages so far.
struct Clock {
    last: Instant,
    seconds: Vec<(&'static str, f64)>,
}

impl Default for Clock {
    fn default() -> Clock {
        Clock { last: Instant::now(), seconds: Vec::new() }
    }
}

impl<'a> Run<'a> {
    /// Calls `watch` after every step of work; when it returns `false` the computation ends with
    /// [`Error::Cancelled`].
    pub fn watched(watch: impl FnMut(&Progress) -> bool + 'a) -> Run<'a> {
        Run { watch: Some(Box::new(watch)), ..Run::default() }
    }

    /// The same, with finished work kept and found again; without `checkpoints`, nothing is.
    pub fn with_checkpoints(self, checkpoints: Option<&'a Checkpoints>) -> Run<'a> {
        Run { checkpoints, ..self }
    }

    /// The same for whoever answers examples as they come: those of a pipe are handed on when they are there, not a megabyte
    /// at a time.
    pub fn live(&mut self) -> &mut Run<'a> {
        self.live = true;
        self
    }

    pub(crate) fn is_live(&self) -> bool {
        self.live
    }

    /// Seconds of each stage that is finished, in order.
    pub fn seconds(&self) -> &[(&'static str, f64)] {
        &self.clock.seconds
    }

    /// Takes the sentences for the user about what was decided or noticed without being asked.
    pub fn take_notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }

    /// Adds such a sentence.
    pub(crate) fn note(&mut self, sentence: String) {
        self.notes.push(sentence);
    }

    /// Ends a stage: the time since the last one was its own. One that comes again adds to its time.
    pub(crate) fn end_stage(&mut self, name: &'static str) {
        let seconds = self.clock.last.elapsed().as_secs_f64();
        match self.clock.seconds.iter_mut().find(|(other, _)| *other == name) {
            Some((_, sum)) => *sum += seconds,
            None => self.clock.seconds.push((name, seconds)),
        }
        self.clock.last = Instant::now();
    }

    /// Ends what runs after this moment with [`Error::Cancelled`].
    pub(crate) fn end_at(&mut self, end: Option<Instant>) {
        self.end = end;
    }

    /// Whether that moment is over.
    pub(crate) fn is_over(&self) -> bool {
        self.end.is_some_and(|end| Instant::now() > end)
    }

    /// Begins a computation of `total` units: for whoever does the work.
    pub fn begin(&mut self, total: u64) {
        (self.done, self.total) = (0, total);
    }

    /// Reports `work` more units done in `stage`.
    pub fn advance(&mut self, stage: &'static str, work: u64) -> Result<()> {
        self.done += work;
        // An estimate that was too low must not show more than all of it done.
        self.total = self.total.max(self.done);
        self.tell(Progress { stage, done: self.done, total: Some(self.total), unit: Unit::Work })
    }

    /// Reports how much of a file has been read.
    pub(crate) fn read(&mut self, done: u64, total: Option<u64>) -> Result<()> {
        self.tell(Progress { stage: "reading", done, total, unit: Unit::Bytes })
    }

    fn tell(&mut self, progress: Progress) -> Result<()> {
        let go_on = self.watch.as_mut().is_none_or(|watch| watch(&progress));
        if go_on && !self.is_over() { Ok(()) } else { Err(Error::Cancelled) }
    }
}

/// Checkpoints. What has a name must be a function of the data, the parameters and that name.
impl<'a> Run<'a> {
    /// Runs `f` with names of its own.
    pub(crate) fn within<T>(&mut self, name: &str, f: impl FnOnce(&mut Run<'a>) -> T) -> T {
        let outer = self.scope.len();
        self.scope = self.name(name);
        let result = f(self);
        self.scope.truncate(outer);
        result
    }

    /// The checkpoint of this name: found, or computed and kept. Checkpoints inside of it are then superseded.
    pub(crate) fn checkpoint<T: Store + Load>(
        &mut self,
        name: &str,
        compute: impl FnOnce(&mut Run<'a>) -> Result<T>,
    ) -> Result<T> {
        self.checkpoint_of(name, 0, compute)
    }

    /// The same for a name that stands for different things in turn, of which `key` tells which.
    pub(crate) fn checkpoint_of<T: Store + Load>(
        &mut self,
        name: &str,
        key: u64,
        compute: impl FnOnce(&mut Run<'a>) -> Result<T>,
    ) -> Result<T> {
        let Some(checkpoints) = self.checkpoints else { return compute(self) };
        if let Some((found, work)) = checkpoints.find(&self.name(name), key)? {
            self.done += work;
            return Ok(found);
        }
        let inner = if key == 0 { name.to_owned() } else { format!("{name}.{key:016x}") };
        checkpoints.count();
        let before = self.done;
        let computed = self.within(&inner, compute)?;
        checkpoints.keep(&self.name(name), key, self.done.saturating_sub(before), &computed)?;
        checkpoints.forget_within(&self.name(&inner));
        Ok(computed)
    }

    /// The value kept last under this name and key, if any. The work until then counts as done.
    pub(crate) fn find<T: Load>(&mut self, name: &str, key: u64) -> Result<Option<T>> {
        let Some(checkpoints) = self.checkpoints else { return Ok(None) };
        let found = checkpoints.find(&self.name(name), key)?;
        Ok(found.map(|(checkpoint, work)| {
            self.done = self.done.max(work);
            checkpoint
        }))
    }

    /// Keeps a checkpoint, in place of the last of this name.
    pub(crate) fn keep(&mut self, name: &str, key: u64, checkpoint: &impl Store) -> Result<()> {
        self.checkpoints.map_or(Ok(()), |checkpoints| checkpoints.keep(&self.name(name), key, self.done, checkpoint))
    }

    /// The same for a state that changes all the time, if enough was worked since the last was kept.
    pub(crate) fn keep_state(&mut self, name: &str, state: &impl Store) -> Result<()> {
        match self.checkpoints.is_some_and(Checkpoints::is_due) {
            true => self.keep(name, 0, state),
            false => Ok(()),
        }
    }

    /// Removes the checkpoints inside a name.
    pub(crate) fn forget_within(&mut self, name: &str) {
        if let Some(checkpoints) = self.checkpoints {
            checkpoints.forget_within(&self.name(name));
        }
    }

    /// The checkpoints and the whole of a name, for tasks on other threads.
    pub(crate) fn shared(&self, name: &str) -> Option<(&'a Checkpoints, String)> {
        self.checkpoints.map(|checkpoints| (checkpoints, self.name(name)))
    }

    fn name(&self, name: &str) -> String {
        if self.scope.is_empty() { name.to_owned() } else { format!("{}.{name}", self.scope) }
    }
}

impl std::fmt::Debug for Run<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Run({} of {})", self.done, self.total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_ends_when_its_time_is_over() {
        let mut run = Run::default();
        run.advance("fitting", 1).unwrap();
        run.end_at(Some(Instant::now()));
        std::thread::sleep(std::time::Duration::from_millis(1));
        assert!(matches!(run.advance("fitting", 1), Err(Error::Cancelled)) && run.is_over());
        run.end_at(None);
        run.advance("fitting", 1).unwrap();
        run.note("noticed".into());
        assert_eq!((run.take_notes(), run.take_notes().len()), (vec!["noticed".to_owned()], 0));
    }
}
