//! `rembrandt compare`: every method on the same data, in one table.

use std::path::Path;

use rembrandt::Error;
use rembrandt::data::Dataset;
use rembrandt_bench::compare::Comparison;
use rembrandt_bench::text;

use crate::Invocation;
use crate::args::CompareArgs;
use crate::output::{print, print_json};
use crate::progress::Display;
use crate::source;

pub fn run(args: &CompareArgs, threads: Option<u16>, invocation: &Invocation) -> anyhow::Result<()> {
    refuse_options(args)?;
    let mut display = Display::new(args.quiet);
    let comparison = comparison(args, threads, invocation, &display)?;
    if let Some(report) = &args.report {
        check_report(report, args)?;
    }
    let compared = comparison.run(&mut display)?;
    if let Some(path) = &args.report {
        text::write(path, &compared.page())?;
    }
    if args.json {
        print_json(&compared.json())?;
    } else if !args.quiet {
        print(&compared.table())?;
        if let Some(path) = &args.report {
            print(&format!("wrote {}\n", path.display()))?;
        }
    }
    Ok(compared.check()?)
}

fn comparison(
    args: &CompareArgs,
    threads: Option<u16>,
    invocation: &Invocation,
    display: &Display,
) -> rembrandt::Result<Comparison> {
    let beside = [&args.train, &args.test].into_iter().flat_map(|path| source::side_files(path));
    let text = source::is_text(&args.train, &args.data(), display)?;
    let read = args.read.typed();
    let flags = [("--text", text), ("--tfidf", args.tfidf), ("--normalize", args.normalize)];
    // Caches of sparse rows need not be told how the rows were written.
    let formats = read.clone().into_iter().filter(|_| text);
    let flags = flags.into_iter().filter(|(_, given)| *given).map(|(flag, _)| flag.to_owned());
    let comparison = Comparison {
        train: args.train.clone(),
        test: args.test.clone(),
        text,
        contestants: args.methods.0.clone(),
        k: args.k,
        budget: args.budget,
        work: args.work.clone(),
        fresh: args.fresh,
        keep_models: args.keep_models,
        bootstrap: args.bootstrap,
        seed: args.seed,
        read: args.read.options(),
        read_options: read,
        name_files: args.read.files().map(Path::to_owned).chain(beside).collect(),
        train_options: flags.chain(formats.clone()).chain(args.columns.typed()).collect(),
        eval_options: formats.chain(args.columns.typed()).collect(),
        threads,
        program: invocation.program.clone(),
        command: invocation.command.clone(),
        words: invocation.words.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
    };
    comparison.check()?;
    Ok(comparison)
}

/// Refuses options that would have no effect, and pipes.
fn refuse_options(args: &CompareArgs) -> rembrandt::Result<()> {
    let stream = |path: &Path| path.as_os_str() == "-";
    if stream(&args.train) || stream(&args.test) {
        return Err(Error::parameter("train", "every method reads the data, which a pipe gives once: name files"));
    }
    if let Some(name) = args.read.given().filter(|_| [&args.train, &args.test].iter().all(|p| Dataset::is_cache(p))) {
        return Err(Error::parameter(name, "is for text, and cache files are not: leave it out"));
    }
    args.data().are_texts().map(|_| ())
}

/// Refuses to write the report over an input, or among what is under way.
fn check_report(report: &Path, args: &CompareArgs) -> rembrandt::Result<()> {
    let inputs: Vec<_> =
        [&args.train, &args.test].into_iter().cloned().chain(args.read.files().map(Path::to_owned)).collect();
    source::check_output(report, &inputs)?;
    let parent = |path: &Path| path.canonicalize().ok();
    if report.parent().and_then(parent).is_some_and(|folder| Some(folder) == parent(&args.work)) {
        return Err(Error::file(report, "is in the folder of what is under way: write it elsewhere"));
    }
    Ok(())
}
