//! Examples for a model, batch by batch, from whatever they are written in.

use std::path::Path;

use rembrandt::data::{Input, InputKind, NameIndex, Vocabulary, VocabularyIds, read_input};
use rembrandt::linalg::csr::Csr;
use rembrandt::model::{Model, Predictions, Predictor, Preprocessing};
use rembrandt::{Error, Result};

use crate::args::{InputArgs, InputFormat};
use crate::progress::Display;

/// Some examples, and the number of the first among all.
pub struct Batch<'a> {
    pub first: u64,
    pub input: Input<'a>,
}

impl Batch<'_> {
    /// The examples, ready for the projection.
    pub fn prepare(&self, model: &Model) -> Result<Csr> {
        match self.input {
            Input::Rows { x, .. } => model.prepare(x),
            Input::Texts { texts, .. } => model.prepare_texts(texts),
        }
    }

    /// The most probable labels of each.
    pub fn predict(&self, predictor: &Predictor<'_>) -> Result<Predictions> {
        match self.input {
            Input::Rows { x, .. } => predictor.predict(x),
            Input::Texts { texts, .. } => predictor.predict_texts(texts),
        }
    }
}

/// All examples of a file, ready for the projection, and their labels.
pub fn prepared(model: &Model, path: &Path, args: &InputArgs, display: &mut Display) -> Result<(Csr, Csr)> {
    let (mut all_x, mut all_y) = (Csr::new(false), Csr::new(true));
    stream(model, path, args, display, |batch: &Batch<'_>| {
        let x = batch.prepare(model)?;
        all_x.extend_rows(x.view(), 0, x.rows());
        let y = batch.input.labels();
        all_y.extend_rows(y, 0, y.rows());
        Ok(())
    })?;
    Ok((all_x, all_y))
}

/// How examples for a model are read.
fn kind(model: &Model, args: &InputArgs) -> Result<InputKind> {
    let text = matches!(model.preprocessing(), Preprocessing::Text(_));
    match args.input_format {
        InputFormat::Rows(_) if text => {
            Err(Error::parameter("input_format", "the model was trained on texts: give it tsv, csv, jsonl or lines"))
        }
        InputFormat::Texts(_) if !text => {
            Err(Error::parameter("input_format", "the model was trained on sparse rows: give it xmc, svmlight or vw"))
        }
        _ if text => match args.ids {
            Some(_) => {
                Err(Error::parameter("ids", "is for sparse rows, and the model was trained on texts: leave it out"))
            }
            None => Ok(InputKind::Records(args.records(), label_index(model)?)),
        },
        _ => match args.columns.given() {
            Some(name) => {
                Err(Error::parameter(name, "is for texts, and the model was trained on sparse rows: leave it out"))
            }
            None => Ok(InputKind::Sparse(args.rows(), known(model)?)),
        },
    }
}

/// The labels of a model by name.
fn label_index(model: &Model) -> Result<NameIndex> {
    match model.label_names() {
        Some(names) => NameIndex::new(names.iter()),
        None => NameIndex::new((0..model.shape().c).map(|label| label.to_string())),
    }
}

/// The ids that a model of sparse rows knows, by number or word as its training data had them.
pub fn known(model: &Model) -> Result<Vocabulary> {
    let (shape, [feature_words, label_words]) = (model.shape(), model.training_stats().words);
    let features = match model.feature_names() {
        Some(names) if feature_words => VocabularyIds::Words(NameIndex::new(names.iter())?),
        _ => VocabularyIds::Numbers(shape.d),
    };
    let labels = if label_words { VocabularyIds::Words(label_index(model)?) } else { VocabularyIds::Numbers(shape.c) };
    Ok(Vocabulary { features, labels })
}

/// Reads the examples and hands them on; returns how many there were.
pub fn stream(
    model: &Model,
    path: &Path,
    args: &InputArgs,
    display: &mut Display,
    mut take: impl FnMut(&Batch<'_>) -> Result<()>,
) -> Result<u64> {
    let kind = kind(model, args)?;
    let mut first = 0;
    let mut watch = |done, total| {
        display.read(done, total);
        true
    };
    read_input(path, &kind, &mut watch, &mut |input| {
        take(&Batch { first, input })?;
        first += input.len() as u64;
        Ok(())
    })
}
