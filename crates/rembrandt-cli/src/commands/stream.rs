//! Examples for a model, with the progress of reading them.

use std::path::Path;

use rembrandt::linalg::csr::Csr;
use rembrandt::model::{InputOptions, Model, Preprocessing};
use rembrandt::{Error, Result};

use crate::args::InputArgs;
use crate::progress::Display;

/// All examples of a file, ready for the projection, and their labels.
pub fn prepared(model: &Model, path: &Path, args: &InputArgs, display: &mut Display) -> Result<(Csr, Csr)> {
    model.read_prepared(path, &options(model, args)?, &mut display.run())
}

/// How examples for a model are read.
pub fn options(model: &Model, args: &InputArgs) -> Result<InputOptions> {
    let text = matches!(model.preprocessing(), Preprocessing::Text(_));
    if let Some(name) = args.columns.given().filter(|_| !text) {
        let reason = "is for texts, and the model was trained on sparse rows: leave it out";
        return Err(Error::parameter(name, reason));
    }
    Ok(InputOptions::default().with(|options| (options.rows, options.records) = (args.rows(), args.records())))
}
