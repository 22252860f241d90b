//! `rembrandt reproduce`: an experiment of the paper's authors, beside their figures.

use std::path::Path;

use crate::args::{ReadArgs, ReproduceArgs};
use crate::memory::Limit;
use crate::output::show;
use crate::progress::Display;
use crate::source;

pub fn run(args: &ReproduceArgs) -> anyhow::Result<()> {
    let open = |path: &Path, display: &mut Display| source::rows(path, &ReadArgs::default(), Limit::new(None), display);
    let report = args.experiment.run(&args.data, args.seed, open, &mut Display::new(args.quiet))?;
    show(args.json, || report.json(), || report.table())
}
