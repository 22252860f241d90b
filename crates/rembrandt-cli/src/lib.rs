//! The `rembrandt` command line as a library, for other programs that offer it under another name.

mod args;
mod commands;
mod failure;
mod memory;
mod output;
mod progress;
mod resume;
mod signals;
mod source;

use std::ffi::OsString;
use std::path::PathBuf;

/// How the command line was called.
pub struct Invocation {
    /// The words that were typed, without the name of the program.
    pub words: Vec<OsString>,
    /// The program, and words that come first, to start the command line again in a process of its own.
    pub command: Vec<OsString>,
    /// The file that holds the code: another version of it is another program.
    pub program: PathBuf,
}

/// Runs a command and gives the exit code of the process. Results go to standard output; a mistake is one sentence on
/// standard error, and so is a panic, of which the hook is set for that. SIGINT and SIGTERM end the process, whose temporary
/// files they take along where there was no other thread before.
pub fn run(invocation: &Invocation) -> u8 {
    signals::clean_up_when_ended();
    std::panic::set_hook(Box::new(failure::report_panic));
    let line = std::iter::once(OsString::from("rembrandt")).chain(invocation.words.iter().cloned());
    let ended = match args::Arguments::of(line.collect()) {
        Ok(arguments) => commands::run(&arguments, invocation),
        Err(refused) => {
            // If even that cannot be told, there is nobody left to tell.
            let _ = refused.print();
            return u8::try_from(refused.exit_code()).unwrap_or(failure::REFUSED);
        }
    };
    ended.map_or_else(|e| failure::report(&e), |()| 0)
}
