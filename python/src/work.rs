//! Work on all cores while Python goes on: pools of threads, progress, and Ctrl-C.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use rembrandt::{Progress, Run};

use crate::errors::{exception, mistake};

/// Signals are looked for so often while work goes on.
const GLANCE: Duration = Duration::from_millis(50);
/// How long work that was told to stop is waited for.
const GRACE: Duration = Duration::from_millis(500);

/// Pools by number of threads, and the process that made them: threads do not survive a fork.
struct Pools {
    maker: u32,
    by_threads: HashMap<usize, Arc<ThreadPool>>,
}

static POOLS: Mutex<Option<Pools>> = Mutex::new(None);

/// The pool of so many threads or, without a number, of as many as `RAYON_NUM_THREADS` says or there are cores. Its threads
/// sleep when there is nothing to do.
pub fn pool(threads: Option<usize>) -> PyResult<Arc<ThreadPool>> {
    if threads == Some(0) {
        return Err(PyValueError::new_err("threads: ask for at least one"));
    }
    let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    let own = process::id();
    if pools.as_ref().is_none_or(|pools| pools.maker != own) {
        // Those of the parent have no threads here that could be told to end.
        std::mem::forget(pools.replace(Pools { maker: own, by_threads: HashMap::new() }));
    }
    let pools = &mut pools.as_mut().expect("it was just made").by_threads;
    // For rayon, 0 is the usual number.
    let number = threads.unwrap_or(0);
    if let Some(pool) = pools.get(&number) {
        return Ok(Arc::clone(pool));
    }
    let builder = ThreadPoolBuilder::new().num_threads(number).thread_name(|i| format!("rembrandt-{i}"));
    let built = builder.build().map_err(|e| PyOSError::new_err(format!("threads cannot be started: {e}")))?;
    let pool = Arc::new(built);
    pools.insert(number, Arc::clone(&pool));
    Ok(pool)
}

/// Runs short work on a pool.
pub fn install<T: Send>(
    py: Python<'_>,
    pool: &ThreadPool,
    work: impl FnOnce() -> rembrandt::Result<T> + Send,
) -> PyResult<T> {
    let done = py.detach(|| catch_unwind(AssertUnwindSafe(|| pool.install(work))));
    done.map_err(|panic| mistake(&*panic))?.map_err(exception)
}

/// Between the thread that works and the one that waits.
#[derive(Default)]
pub struct Watched {
    stop: AtomicBool,
    latest: Mutex<Option<Progress>>,
}

impl Watched {
    /// Takes note of progress, and says whether to go on.
    pub fn progress(&self, progress: &Progress) -> bool {
        *self.latest.lock().unwrap_or_else(PoisonError::into_inner) = Some(*progress);
        !self.stop.load(Ordering::Relaxed)
    }

    pub fn run(&self) -> Run<'_> {
        Run::watched(|progress| self.progress(progress))
    }
}

/// Runs long work on a pool. This thread waits, tells `progress` how far it is (stage, done, total) and looks for signals;
/// an exception ends the work at its next step. A step may take long: then the exception does not wait for it, and the
/// work, which owns all that it needs, ends by itself.
pub fn run<T: Send + 'static>(
    py: Python<'_>,
    threads: Option<usize>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Watched) -> rembrandt::Result<T> + Send + 'static,
) -> PyResult<T> {
    let watched = Arc::new(Watched::default());
    let (send, mut receive) = mpsc::channel();
    let seen = Arc::clone(&watched);
    pool(threads)?.spawn(move || {
        // Nobody may be waiting any more.
        let _ = send.send(catch_unwind(AssertUnwindSafe(|| work(&seen))));
    });
    loop {
        match receive_within(py, &mut receive, GLANCE) {
            Ok(done) => return done.map_err(|panic| mistake(&*panic))?.map_err(exception),
            Err(RecvTimeoutError::Disconnected) => return Err(mistake(&"the work ended without a result")),
            Err(RecvTimeoutError::Timeout) => {}
        }
        let latest = watched.latest.lock().unwrap_or_else(PoisonError::into_inner).take();
        let told = latest.zip(progress).map(|(p, tell)| tell.call1((p.stage, p.done, p.total)));
        if let Err(raised) = told.transpose().map(drop).and_then(|()| py.check_signals()) {
            watched.stop.store(true, Ordering::Relaxed);
            let _ = receive_within(py, &mut receive, GRACE);
            return Err(raised);
        }
    }
}

type Done<T> = std::thread::Result<rembrandt::Result<T>>;

fn receive_within<T: Send>(
    py: Python<'_>,
    receive: &mut mpsc::Receiver<Done<T>>,
    time: Duration,
) -> Result<Done<T>, RecvTimeoutError> {
    py.detach(move || receive.recv_timeout(time))
}
