//! Examples for a model, with the progress of reading them.

use std::path::Path;

use rembrandt::linalg::csr::Csr;
use rembrandt::model::{InputOptions, Model, Preprocessing};
use rembrandt::{Error, Result, Run};

use crate::args::InputArgs;
use crate::progress::Display;

/// All examples of a file, ready for the projection, and their labels, which may be new.
pub fn prepared(model: &Model, path: &Path, args: &InputArgs, display: &mut Display) -> Result<(Csr, Csr)> {
    model.read_prepared(path, &options(model, args)?, &mut display.run())
}

/// Does work whose progress is shown, and then says what it noticed.
pub fn noting<T>(display: &mut Display, work: impl FnOnce(&mut Run<'_>) -> Result<T>) -> Result<T> {
    let mut run = display.run();
    let result = work(&mut run);
    let notes = run.take_notes();
    drop(run);
    display.clear();
    notes.iter().for_each(|note| display.note(note));
    result
}

/// How examples for a model are read.
pub fn options(model: &Model, args: &InputArgs) -> Result<InputOptions> {
    let text = matches!(model.preprocessing(), Preprocessing::Text(_));
    if let Some(name) = args.columns.given().filter(|_| !text) {
        let reason = "is for texts, and the model was trained on sparse rows: leave it out";
        return Err(Error::parameter(name, reason));
    }
    Ok(InputOptions::default()
        .with(|options| (options.rows, options.records) = (args.rows(), args.records(model.records()))))
}
