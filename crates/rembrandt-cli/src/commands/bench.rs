//! `rembrandt bench`: parts of this program, measured against each other.

use std::slice;

use rembrandt::Error;
use rembrandt_bench::ablation::AblationMeasured;
use rembrandt_bench::text;

use super::stream::prepared;
use crate::args::{AblationArgs, PredictBenchArgs, ScalingArgs, SolversArgs};
use crate::memory::Limit;
use crate::output::show;
use crate::progress::Display;
use crate::source;

pub fn solvers(args: &SolversArgs) -> anyhow::Result<()> {
    if let Some(plot) = &args.plot {
        source::check_outputs(slice::from_ref(plot), &args.train, &args.read)?;
        if args.k.len() > 1 {
            return Err(Error::parameter("plot", "shows one k: leave it out, or give one number to -k").into());
        }
    }
    let solvers = args.solvers();
    solvers.check()?;
    let mut display = Display::new(args.quiet);
    let data = source::rows(&args.train, &args.read, Limit::new(None), &mut display);
    display.clear();
    let measured = solvers.measure(&data?, &mut display)?;
    if let Some(path) = &args.plot {
        text::write(path, &measured.picture())?;
    }
    show(args.json, || measured.json(&args.train), || measured.table())
}

pub fn scaling(args: &ScalingArgs) -> anyhow::Result<()> {
    let measured = args.scaling().measure(&mut Display::new(args.quiet))?;
    if let Some(path) = &args.plot {
        text::write(path, &measured.picture())?;
    }
    show(args.json, || measured.json(), || measured.table())
}

pub fn ablation(args: &AblationArgs) -> anyhow::Result<()> {
    let mut display = Display::new(args.quiet);
    let open = |path, display: &mut Display| source::rows(path, &args.read, Limit::new(None), display);
    let (train, test) = (open(&args.train, &mut display)?, open(&args.test, &mut display)?);
    display.clear();
    let measured = AblationMeasured::new((&train, &test), &mut display)?;
    show(args.json, || measured.json(), || measured.table())
}

pub fn predict(args: &PredictBenchArgs) -> anyhow::Result<()> {
    let mut display = Display::new(args.quiet);
    let measured = args.prediction().measure(|model| {
        let read = prepared(model, &args.test, &args.input_args, &mut display);
        display.clear();
        read
    })?;
    show(args.json, || measured.json(), || measured.table())
}
