//! One file per command.

mod convert;
mod embed;
mod inspect;
mod neighbors;
mod reproduce;

use crate::args::{Arguments, Command};

/// Runs what was asked for.
pub fn run(arguments: Arguments) -> anyhow::Result<()> {
    let work = || match &arguments.command {
        Command::Embed(args) => embed::run(args),
        Command::Convert(args) => convert::run(args),
        Command::Inspect(args) => inspect::run(args),
        Command::Neighbors(args) => neighbors::run(args),
        Command::Reproduce(args) => reproduce::run(args),
    };
    match arguments.threads {
        None => work(),
        Some(n) => rayon::ThreadPoolBuilder::new().num_threads(n.into()).build()?.install(work),
    }
}
