//! The `rembrandt` command line: label embeddings for classification with very many labels.

mod args;
mod commands;
mod failure;
mod memory;
mod output;
mod progress;
mod resume;
mod signals;
mod source;

use std::process::ExitCode;

fn main() -> ExitCode {
    signals::clean_up_when_ended();
    std::panic::set_hook(Box::new(failure::report_panic));
    let arguments = args::Arguments::read();
    match commands::run(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => failure::report(&e),
    }
}
