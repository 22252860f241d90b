//! `rembrandt eval`: how good a model is on labelled examples.

use rembrandt::model::{EvaluationOptions, Model};
use serde_json::{Value, json};

use super::stream::{noting, options};
use crate::args::EvalArgs;
use crate::memory;
use crate::output::{print, print_json};
use crate::progress::Display;

pub fn run(args: &EvalArgs) -> anyhow::Result<()> {
    let model = Model::open(&args.model)?;
    let how = EvaluationOptions::default().with(|options| {
        options.threshold = args.threshold;
        options.bootstrap = args.bootstrap;
        options.propensity = args.propensity;
        options.exact = args.exact;
    });
    let mut display = Display::new(args.quiet);
    let input = options(&model, &args.input_args)?;
    let evaluation = noting(&mut display, |run| model.evaluate_file(&args.test, &input, &how, run))?;
    if !args.json {
        return print(&evaluation.to_string());
    }
    let Value::Object(mut object) = json!(evaluation) else { unreachable!("an evaluation is an object") };
    object.insert("peak_memory_mb".to_owned(), json!(memory::peak().map(|bytes| bytes as f64 / 1e6)));
    print_json(&Value::Object(object))
}
