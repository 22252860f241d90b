//! One file per command.

mod add_label;
mod bench;
mod compare;
mod convert;
mod embed;
mod eval;
mod explain;
mod generate;
mod inspect;
mod neighbors;
mod predict;
mod reproduce;
mod shell;
mod stream;
mod train;

use crate::Invocation;
use crate::args::{Arguments, BenchCommand, Command};

/// Threads that there are at most.
fn most_threads() -> usize {
    8 * std::thread::available_parallelism().map_or(8, usize::from)
}

/// Runs what was asked for.
pub fn run(arguments: &Arguments, invocation: &Invocation) -> anyhow::Result<()> {
    if arguments.end_with_stdin {
        std::thread::spawn(|| {
            // Whatever ends it, nobody waits for the result any more.
            let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
            std::process::exit(1);
        });
    }
    if arguments.verbose {
        crate::progress::tell_stages();
    }
    let work = || match &arguments.command {
        Command::Train(args) => train::run(args),
        Command::Predict(args) => predict::run(args),
        Command::Eval(args) => eval::run(args),
        Command::Explain(args) => explain::run(args),
        Command::AddLabel(args) => add_label::run(args),
        Command::Embed(args) => embed::run(args),
        Command::Convert(args) => convert::run(args),
        Command::Inspect(args) => inspect::run(args),
        Command::Neighbors(args) => neighbors::run(args),
        Command::Compare(args) => compare::run(args, arguments.threads, invocation),
        Command::Generate(args) => generate::run(args),
        Command::Bench(BenchCommand::Solvers(args)) => bench::solvers(args),
        Command::Bench(BenchCommand::Scaling(args)) => bench::scaling(args),
        Command::Bench(BenchCommand::Predict(args)) => bench::predict(args),
        Command::Bench(BenchCommand::Ablation(args)) => bench::ablation(args),
        Command::Reproduce(args) => reproduce::run(args),
        Command::Completions(args) => shell::completions(args),
        Command::Man(args) => shell::man(args),
    };
    match arguments.threads {
        None => work(),
        // More threads than that only wait for each other; the result would be the same.
        Some(n) => {
            rayon::ThreadPoolBuilder::new().num_threads(usize::from(n).min(most_threads())).build()?.install(work)
        }
    }
}
