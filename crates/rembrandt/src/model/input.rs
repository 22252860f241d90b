//! Examples for a model, batch by batch, from whatever they are written in.

use std::collections::HashSet;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{Model, Predictions, Predictor, Preprocessing};
use crate::data::formats::{Format, Ids, ReadOptions, read_rows_with_vocabulary_from};
use crate::data::records::{RecordFormat, RecordOptions};
use crate::data::{Input, InputKind, NameIndex, Vocabulary, VocabularyIds, read_input};
use crate::linalg::csr::{Csr, CsrRef};
use crate::{Error, Result, Run};

/// How examples are written; which of the two counts is for the model to say.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct InputOptions {
    /// For models of sparse features.
    pub rows: ReadOptions,
    /// For models of texts. Absent: as the model remembers of its training data.
    pub records: Option<RecordOptions>,
}

setter!(InputOptions);

/// Some examples of a file.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    model: &'a Model,
    /// The number of the first among all, from 0.
    pub first: u64,
    /// The examples as they were read.
    pub input: Input<'a>,
}

impl Batch<'_> {
    /// Number of examples.
    pub fn len(&self) -> usize {
        self.input.len()
    }

    /// Whether there is no example.
    pub fn is_empty(&self) -> bool {
        self.input.is_empty()
    }

    /// True labels of each example. Those that the model does not know have numbers beyond those it knows.
    pub fn labels(&self) -> CsrRef<'_> {
        self.input.labels()
    }

    /// The id of example `i`, where a column of ids was chosen.
    ///
    /// # Panics
    /// If there is no such example.
    pub fn id(&self, i: usize) -> Option<&str> {
        match self.input {
            Input::Rows { .. } => None,
            Input::Texts { ids, .. } => ids.map(|ids| ids[i]),
        }
    }

    /// The examples, ready for the projection.
    ///
    /// # Errors
    /// If a value is not finite.
    pub fn prepare(&self) -> Result<Csr> {
        match self.input {
            Input::Rows { x, .. } => self.model.prepare(x),
            Input::Texts { texts, .. } => self.model.prepare_texts(texts),
        }
    }

    /// The most probable labels of each.
    ///
    /// # Errors
    /// If a value is not finite.
    pub fn predict(&self, predictor: &Predictor<'_>) -> Result<Predictions> {
        Ok(predictor.predict_prepared(self.prepare()?.view()))
    }
}

impl Model {
    /// Reads examples for this model from a file, `-` for standard input, hands them to `take` in batches, and returns
    /// how many there were. Features that the model does not know are left out.
    ///
    /// # Errors
    /// If the file cannot be read or is not what the model was trained on, or whatever `take` returns.
    pub fn read(
        &self,
        path: impl AsRef<Path>,
        options: &InputOptions,
        run: &mut Run<'_>,
        mut take: impl FnMut(&Batch<'_>) -> Result<()>,
    ) -> Result<u64> {
        let kind = self.input_kind(options)?;
        let mut first = 0;
        let (c, mut known, mut unknown) = (self.shape().c as u32, HashSet::new(), HashSet::new());
        let read = read_input(path.as_ref(), &kind, run, &mut |input| {
            take(&Batch { model: self, first, input })?;
            first += input.len() as u64;
            for label in input.labels().ids {
                if *label < c {
                    known.insert(*label)
                } else {
                    unknown.insert(*label)
                };
            }
            Ok(())
        })?;
        if !unknown.is_empty() {
            let (labels, of) = (if unknown.len() == 1 { "label" } else { "labels" }, known.len() + unknown.len());
            run.note(format!("the model does not know {} of the {of} {labels} in the file", unknown.len()));
        }
        Ok(read)
    }

    /// How the texts were written that the model was trained on, for reading others.
    pub fn records(&self) -> RecordOptions {
        match self.preprocessing() {
            Preprocessing::Text(featurizer) => featurizer.records(),
            _ => RecordOptions::default(),
        }
    }

    /// All examples of a file, ready for the projection, and their labels.
    ///
    /// # Errors
    /// As for [`read`](Model::read).
    pub fn read_prepared(
        &self,
        path: impl AsRef<Path>,
        options: &InputOptions,
        run: &mut Run<'_>,
    ) -> Result<(Csr, Csr)> {
        let (mut all_x, mut all_y) = (Csr::new(false), Csr::new(true));
        self.read(path, options, run, |batch| {
            let (x, y) = (batch.prepare()?, batch.labels());
            all_x.extend_rows(x.view(), 0, x.rows());
            all_y.extend_rows(y, 0, y.rows());
            Ok(())
        })?;
        Ok((all_x, all_y))
    }

    /// One example as a person would write it, ready for the projection: a text or, for a model of sparse features,
    /// `feature:value` pairs as in the training data.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn prepare_example(&self, example: &str) -> Result<Csr> {
        if let Preprocessing::Text(_) = self.preprocessing() {
            return self.prepare_texts(&[example]);
        }
        let tokens: Vec<String> =
            example.split_whitespace().map(|token| self.by_number(token)).collect::<Result<_>>()?;
        // A leading space says that there are no labels. An example is one line, and no features are an example too.
        let line = format!(" {}\n", tokens.join(" "));
        let mut rows = Csr::new(false);
        if line.trim().is_empty() {
            rows.end_row();
            return self.prepare(rows.view());
        }
        let words = self.training_stats().words.iter().all(|words| *words);
        let options = ReadOptions { ids: if words { Ids::Words } else { Ids::Auto }, ..ReadOptions::default() };
        let (name, vocabulary) = (Path::new("the example"), self.vocabulary()?);
        read_rows_with_vocabulary_from(
            line.as_bytes(),
            name,
            &options,
            &vocabulary,
            &mut Run::default(),
            &mut |batch| {
                rows = batch.x;
                Ok(())
            },
        )?;
        self.prepare(rows.view())
    }

    /// A feature of an example with its number in place of its name, where the training data wrote numbers.
    fn by_number(&self, token: &str) -> Result<String> {
        let Some(names) = self.feature_names().filter(|_| !self.training_stats().words[0]) else {
            return Ok(token.to_owned());
        };
        let (name, value) = match token.rsplit_once(':') {
            Some((name, value)) if value.parse::<f32>().is_ok() => (name, value),
            _ => (token, "1"),
        };
        if name.bytes().all(|b| b.is_ascii_digit()) {
            return Ok(token.to_owned());
        }
        match names.iter().position(|known| known == name) {
            Some(id) => Ok(format!("{id}:{value}")),
            None => Err(Error::parameter("example", format!("the model has no feature called {name:?}: leave it out"))),
        }
    }

    fn input_kind(&self, options: &InputOptions) -> Result<InputKind> {
        let InputOptions { rows, records } = options;
        if let Preprocessing::Text(_) = self.preprocessing() {
            if rows.format != Format::Auto {
                let reason = "the model was trained on texts: give it tsv, csv, jsonl or lines";
                return Err(Error::parameter("rows.format", reason));
            }
            if rows.ids != Ids::Auto {
                let reason = "is for sparse rows, and the model was trained on texts: leave it out";
                return Err(Error::parameter("rows.ids", reason));
            }
            let records = records.clone().unwrap_or_else(|| self.records());
            return Ok(InputKind::Records(records, self.label_index()?));
        }
        if records.as_ref().is_some_and(|records| records.format != RecordFormat::Auto) {
            let reason = "the model was trained on sparse rows: give it xmc, svmlight or vw";
            return Err(Error::parameter("records.format", reason));
        }
        Ok(InputKind::Sparse(rows.clone(), self.vocabulary()?))
    }

    /// The labels by name.
    fn label_index(&self) -> Result<NameIndex> {
        match self.label_names() {
            Some(names) => NameIndex::new(names.iter()),
            None => NameIndex::new((0..self.shape().c).map(|label| label.to_string())),
        }
    }

    /// The ids of features and labels, by number or word as the training data had them.
    fn vocabulary(&self) -> Result<Vocabulary> {
        let (shape, [feature_words, label_words]) = (self.shape(), self.training_stats().words);
        let features = match self.feature_names() {
            Some(names) if feature_words => VocabularyIds::Words(NameIndex::new(names.iter())?),
            _ => VocabularyIds::Numbers(shape.d),
        };
        let labels =
            if label_words { VocabularyIds::Words(self.label_index()?) } else { VocabularyIds::Numbers(shape.c) };
        Ok(Vocabulary { features, labels })
    }
}
