//! SIGINT and SIGTERM: the program ends as it would without them, but for temporary files, which it takes along.

/// Has both signals end the program so. To be called before there is a second thread.
#[cfg(unix)]
pub fn clean_up_when_ended() {
    use std::{mem, ptr};
    // SAFETY: a zeroed set is valid to initialise, and the functions are given pointers to it alone. The signals are blocked in
    // this thread and thus in those that it starts; processes that it starts begin with none blocked.
    let set = unsafe {
        let mut set = mem::zeroed::<libc::sigset_t>();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, libc::SIGINT);
        libc::sigaddset(&mut set, libc::SIGTERM);
        if libc::pthread_sigmask(libc::SIG_BLOCK, &set, ptr::null_mut()) != 0 {
            return;
        }
        set
    };
    let wait = move || {
        let mut signal = 0;
        // SAFETY: both pointers are to values of this thread.
        if unsafe { libc::sigwait(&set, &mut signal) } != 0 {
            return;
        }
        rembrandt::model::remove_unfinished();
        // SAFETY: the default action of the signal is to end the process, which needs nothing of it any more.
        unsafe {
            libc::signal(signal, libc::SIG_DFL);
            libc::pthread_sigmask(libc::SIG_UNBLOCK, &set, ptr::null_mut());
            libc::raise(signal);
        }
    };
    // Without the thread nobody would wait for the signals.
    if std::thread::Builder::new().name("signals".to_owned()).spawn(wait).is_err() {
        // SAFETY: as above.
        unsafe { libc::pthread_sigmask(libc::SIG_UNBLOCK, &set, ptr::null_mut()) };
    }
}

/// Has nothing to do where there are no such signals.
#[cfg(not(unix))]
pub fn clean_up_when_ended() {}
