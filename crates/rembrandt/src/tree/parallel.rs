//! Independent tasks on all threads, with progress and a way to stop while they run.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rayon::Yield;

use crate::{Result, Run};

/// How often progress is shown.
const INTERVAL: Duration = Duration::from_millis(20);

/// The progress of tasks, and whether to stop.
#[derive(Default)]
pub(super) struct TaskProgress {
    done: AtomicU64,
    stopped: AtomicBool,
}

impl TaskProgress {
    /// So much more is done. Returns whether to go on.
    pub fn tick(&self, units: u64) -> bool {
        self.done.fetch_add(units, Ordering::Relaxed);
        !self.stopped.load(Ordering::Relaxed)
    }
}

/// The results of `count` tasks in their order. A task ends early, with nothing, when a tick tells it to stop.
///
/// Tasks run on the pool while the caller, whose `run` must stay on its thread, shows their progress. When the caller is
/// itself a thread of the pool it takes tasks as well: otherwise a pool of one would wait for ever.
pub(super) fn each<T: Send>(
    count: usize,
    stage: &'static str,
    run: &mut Run<'_>,
    task: impl Fn(usize, &TaskProgress) -> Option<T> + Sync,
) -> Result<Vec<T>> {
    let work = TaskProgress::default();
    let results: Vec<Mutex<Option<T>>> = (0..count).map(|_| Mutex::new(None)).collect();
    let mut outcome = Ok(());
    rayon::in_place_scope(|scope| {
        // Nothing is ever sent: the channel closes when the last task has dropped its end.
        let (sender, receiver) = mpsc::channel::<()>();
        for (i, result) in results.iter().enumerate() {
            let (sender, task, work) = (sender.clone(), &task, &work);
            scope.spawn(move |_| {
                let _open = sender;
                if work.tick(0) {
                    *result.lock().unwrap_or_else(PoisonError::into_inner) = task(i, work);
                }
            });
        }
        drop(sender);
        loop {
            let wait = if rayon::yield_now() == Some(Yield::Executed) { Duration::ZERO } else { INTERVAL };
            let over = receiver.recv_timeout(wait) == Err(RecvTimeoutError::Disconnected);
            if outcome.is_ok() {
                outcome = run.advance(stage, work.done.swap(0, Ordering::Relaxed));
                work.stopped.store(outcome.is_err(), Ordering::Relaxed);
            }
            if over {
                break;
            }
        }
    });
    outcome?;
    let results = results.into_iter().map(|result| result.into_inner().unwrap_or_else(PoisonError::into_inner));
    Ok(results.map(|result| result.expect("a task that was not stopped has a result")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;

    #[test]
    fn results_come_in_order_from_any_pool() {
        for threads in [1, 2, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let mut last = 0;
            let squares = pool.install(|| {
                let mut run = Run::default();
                run.begin(100);
                each(100, "squaring", &mut run, |i, work| work.tick(1).then_some(i * i))
            });
            assert_eq!(squares.unwrap(), (0..100).map(|i| i * i).collect::<Vec<_>>());
            let mut run = Run::watched(|p| {
                last = p.done;
                true
            });
            run.begin(7);
            each(7, "counting", &mut run, |_, work| work.tick(1).then_some(())).unwrap();
            drop(run);
            assert_eq!(last, 7);
        }
        assert!(each(0, "nothing", &mut Run::default(), |_, _| Some(())).unwrap().is_empty());
    }

    #[test]
    fn a_watch_stops_tasks_that_would_never_end() {
        let mut run = Run::watched(|p| p.done < 1000);
        let endless = |_: usize, work: &TaskProgress| {
            while work.tick(1) {
                std::thread::yield_now();
            }
            None::<()>
        };
        // The caller is no thread of the pool here; as one of them it would be caught in a task itself.
        let stopped = each(5, "turning", &mut run, endless);
        assert!(matches!(stopped, Err(Error::Cancelled)));
    }
}
