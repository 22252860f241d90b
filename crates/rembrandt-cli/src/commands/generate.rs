//! `rembrandt generate`: made-up data of any size.

use rembrandt_bench::generate::GeneratedAs;

use crate::args::GenerateArgs;
use crate::output::show;
use crate::progress::Display;

pub fn run(args: &GenerateArgs) -> anyhow::Result<()> {
    let as_what = if args.cache { GeneratedAs::Cache } else { GeneratedAs::Text };
    let report = args.generator().write_both(&args.output, as_what, &mut Display::new(args.quiet))?;
    if args.quiet && !args.json {
        return Ok(());
    }
    show(args.json, || report.json(), || report.facts())
}
