//! The `rembrandt` command line: label embeddings for classification with very many labels.

use std::process::ExitCode;

use rembrandt_cli::Invocation;

fn main() -> ExitCode {
    // Where a system cannot tell, the name will do.
    let program = std::env::current_exe().unwrap_or_else(|_| "rembrandt".into());
    let words = std::env::args_os().skip(1).collect();
    ExitCode::from(rembrandt_cli::run(&Invocation { words, command: vec![program.clone().into()], program }))
}
