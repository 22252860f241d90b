//! `python -m rembrandt`.

use std::ffi::OsString;
use std::path::PathBuf;

use pyo3::prelude::*;
use rembrandt_cli::Invocation;

/// Runs the command line on what was typed and gives the exit code. `command` starts it again in a process of its own, and
/// `program` is the file of this module.
#[pyfunction]
pub fn command_line(py: Python<'_>, words: Vec<OsString>, command: Vec<OsString>, program: PathBuf) -> u8 {
    py.detach(|| rembrandt_cli::run(&Invocation { words, command, program }))
}
