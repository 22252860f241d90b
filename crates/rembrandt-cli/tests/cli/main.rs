//! The program from the outside: files in, files, text and exit codes out.

mod bad_input;
mod bad_usage;
mod common;
mod embed;
mod exports;
mod inspect;
#[cfg(target_os = "linux")]
mod limits;
mod neighbors;
mod reproduce;
mod same_bytes;
