//! The program from the outside: files in, files, text and exit codes out.

mod bad_input;
mod bad_usage;
mod bench;
mod common;
mod compare;
mod documented;
mod embed;
mod eval;
mod exports;
mod generate;
mod golden;
mod inspect;
#[cfg(unix)]
mod killed;
#[cfg(target_os = "linux")]
mod limits;
mod methods;
mod model_commands;
mod model_refusals;
mod neighbors;
mod noticed;
mod predict;
mod reproduce;
mod resumed;
mod same_bytes;
mod shell;
mod texts;
mod train;
mod trees;
