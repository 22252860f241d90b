//! Predictions that any program wrote, evaluated like those of a model.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, Read};
use std::path::Path;

use super::evaluate::{LabelFacts, RunningTally};
use super::{Evaluation, EvaluationOptions, ModelNames, Predictions, Threshold};
use crate::data::formats::{Format, Ids, ReadOptions, read_rows_from};
use crate::data::{Dataset, Examples, Side, Texts};
use crate::linalg::csr::Csr;
use crate::metrics::{DEFAULT_THRESHOLD, Evaluator};
use crate::{Error, Result, Run};

/// Examples that are added up at a time.
const BATCH: usize = 4096;

/// The labels of some examples.
#[derive(Clone, Debug)]
pub struct Truth {
    labels: Csr,
    c: usize,
    names: Option<Vec<String>>,
    /// Whether labels are known by their names, not by numbers.
    words: bool,
}

impl Truth {
    /// Those of a data set.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn of(data: &Dataset) -> Result<Truth> {
        let names = data.label_names().map(<[String]>::to_vec);
        Ok(Truth { labels: data.labels()?, c: data.shape().c, names, words: data.has_words(Side::Y) })
    }

    /// Those of texts.
    ///
    /// # Errors
    /// If there are too many.
    pub fn of_texts(texts: &Texts) -> Result<Truth> {
        let (labels, names) = texts.labels()?;
        Ok(Truth { labels, c: names.len(), names: Some(names), words: true })
    }

    /// Evaluates predictions that are written in a file, a line for each example: `label:score label:score …` in any order,
    /// with labels as in the truth. A first line may say how many examples and labels there are. Scores between 0 and 1 are
    /// taken for probabilities; from others nothing is predicted unless the options have a threshold. `training` tells how
    /// frequent labels are.
    ///
    /// # Errors
    /// If the file cannot be read, or has not as many lines as there are examples.
    pub fn evaluate(
        &self,
        path: &Path,
        training: Option<&Truth>,
        options: &EvaluationOptions,
        run: &mut Run<'_>,
    ) -> Result<Evaluation> {
        let (rows, written) = read(path, self.words, run)?;
        let n = self.labels.rows();
        if rows.rows() != n {
            let reason = format!("has predictions for {} examples, and there are {n} with labels", rows.rows());
            return Err(Error::file(path, reason));
        }
        let mut labels = Universe::new(self)?;
        let counts = training.map(|training| labels.counts(training)).transpose()?;
        let predicted = labels.ids(&written, rows.view().columns());
        let ranked = ranked(&rows, &predicted);
        let probabilities = rows.view().values.unwrap_or_default().iter().all(|score| (0.0..=1.0).contains(score));
        let threshold = match options.threshold {
            Threshold::Fixed(threshold) => Some(threshold),
            Threshold::Stored => probabilities.then_some(DEFAULT_THRESHOLD),
        };
        let c = labels.count;
        let mut evaluator = Evaluator::new(c, options.settings(c, probabilities))?;
        let mut about = LabelFacts { names: labels.names(), ..LabelFacts::default() };
        about.thresholds.extend(threshold);
        if let Some((mut counts, examples)) = counts {
            counts.resize(c, 0);
            evaluator = evaluator.trained_on(&counts, examples)?;
            about.counts = counts;
        }
        let mut tally = RunningTally::new(evaluator, c);
        for first in (0..n).step_by(BATCH) {
            let end = n.min(first + BATCH);
            let part = ranked.part(first..end, |_| true);
            let decided = threshold.map(|threshold| ranked.part(first..end, |score| score >= threshold));
            tally.add(&part, decided.as_ref(), self.labels.view().range(first..end), first as u64)?;
        }
        tally.finish(about, None)
    }
}

/// The rows of a file of predictions, and the names of their columns where these are words.
fn read(path: &Path, words: bool, run: &mut Run<'_>) -> Result<(Csr, Option<Vec<String>>)> {
    let mut file = BufReader::new(File::open(path).map_err(Error::io(path))?);
    let start = file.fill_buf().map_err(Error::io(path))?;
    let line = start.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let numbers = || line.split(|byte| *byte == b' ' || *byte == b'\r').filter(|word| !word.is_empty());
    let mut header = Vec::new();
    if numbers().count() == 2 && numbers().all(|word| word.iter().all(u8::is_ascii_digit)) {
        // Examples and labels; in a file of data, labels of examples are told as well.
        header = [&numbers().collect::<Vec<_>>().join(&b' '), &b" 0"[..]].concat();
        let length = line.len();
        file.consume(length);
    }
    let ids = if words { Ids::Words } else { Ids::Numbers };
    let options = ReadOptions::default().with(|options| (options.format, options.ids) = (Format::Xmc, ids));
    let (mut rows, mut labelled) = (Csr::new(false), false);
    let summary = read_rows_from(Cursor::new(header).chain(file), path, &options, run, &mut |batch| {
        labelled |= batch.y.nnz() > 0;
        rows.extend_rows(batch.x.view(), 0, batch.x.rows());
        Ok(())
    })?;
    match labelled {
        true => Err(Error::file(
            path,
            "is not a model, and no predictions: it has labels without scores, write label:score label:score …",
        )),
        false => Ok((rows, summary.feature_names)),
    }
}

/// Each row of predictions, best first; of equals the lower label.
fn ranked(rows: &Csr, ids: &[u32]) -> Predictions {
    let mut found = Predictions::with_capacity(rows.rows(), rows.nnz());
    let mut at = 0;
    for i in 0..rows.rows() {
        let mut row: Vec<(u32, f32)> =
            rows.view().entries(i).map(|(_, score)| score).zip(&ids[at..]).map(|(s, id)| (*id, s)).collect();
        at += row.len();
        row.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        row.into_iter().for_each(|(label, score)| found.push(label, score));
        found.end_row();
    }
    found
}

/// All labels that occur anywhere, with the numbers of the truth.
struct Universe {
    count: usize,
    /// Where labels are known by their names.
    by_name: Option<HashMap<String, u32>>,
    names: Option<Vec<String>>,
}

impl Universe {
    fn new(truth: &Truth) -> Result<Universe> {
        let numbered = || truth.names.iter().flatten().cloned().zip(0..).collect();
        Ok(Universe { count: truth.c, by_name: truth.words.then(numbered), names: truth.names.clone() })
    }

    /// The number of a name, which may be new.
    fn id(&mut self, name: &str) -> u32 {
        let Universe { count, by_name: Some(by_name), names } = self else { return 0 };
        if let Some(id) = by_name.get(name) {
            return *id;
        }
        let id = *count as u32;
        by_name.insert(name.to_owned(), id);
        names.get_or_insert_default().push(name.to_owned());
        *count += 1;
        id
    }

    /// The numbers of labels that a file numbers by itself, or by their own numbers.
    fn ids(&mut self, names: &Option<Vec<String>>, labels: &[u32]) -> Vec<u32> {
        if let (Some(names), true) = (names, self.by_name.is_some()) {
            let ids: Vec<u32> = names.iter().map(|name| self.id(name)).collect();
            return labels.iter().map(|label| ids[*label as usize]).collect();
        }
        self.count = labels.iter().fold(self.count, |count, label| count.max(*label as usize + 1));
        labels.to_vec()
    }

    /// How many training examples have each label, and how many there are.
    fn counts(&mut self, training: &Truth) -> Result<(Vec<u64>, u64)> {
        if training.words != self.by_name.is_some() {
            let reason = "the labels of the training data are written otherwise than those of the test data, as numbers or words";
            return Err(Error::Data(reason.into()));
        }
        let ids = self.ids(&training.names, training.labels.view().columns());
        let mut counts = vec![0; self.count];
        ids.iter().for_each(|label| counts[*label as usize] += 1);
        Ok((counts, training.labels.rows() as u64))
    }

    fn names(&self) -> Option<ModelNames> {
        self.names.as_ref().map(|names| names.iter().collect())
    }
}
