//! Data sets from labelled texts: reads the records, fits a featurizer to them, and turns them into rows.

#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::chunk::ChunkBuilder;
use super::featurizer::{FeatureCounts, Featurizer, FeaturizerParams};
use super::names::Names;
use super::records::{RecordOptions, Records, label_ids, read_records};
use super::token::show;
use super::vocabulary::Numbering;
use super::{Dataset, NameIndex, Rows, Shape, Side};
use crate::linalg::csr::Csr;
use crate::{Error, Result, Run};

/// Characters that separate labels in files where the one that was said does not.
const ODD_SEPARATORS: [&str; 5] = [";", "|", ",", "\t", " "];

/// Labelled texts in memory.
///
/// ```
/// use rembrandt::data::Texts;
/// use rembrandt::data::featurizer::FeaturizerParams;
/// use rembrandt::Examples;
///
/// let texts = Texts::new([("red wine", vec!["wine", "red"]), ("white wine", vec!["wine"]), ("red paint", vec!["red"])]);
/// let (data, featurizer) = texts.into_dataset(FeaturizerParams::default())?;
/// assert_eq!((data.shape().n, data.shape().d, data.shape().c), (3, 2, 2));
/// assert_eq!(data.label_names().unwrap(), ["wine", "red"]);
/// assert_eq!(featurizer.names().collect::<Vec<_>>(), ["red", "wine"]);
/// # Ok::<(), rembrandt::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Texts {
    batches: Vec<Records>,
    /// Where they come from, for messages.
    path: PathBuf,
    /// How they were written.
    options: RecordOptions,
}

impl Texts {
    /// Texts with the names of their labels.
    pub fn new<T: AsRef<str>, L: AsRef<str>>(
        texts: impl IntoIterator<Item = (T, impl IntoIterator<Item = L>)>,
    ) -> Texts {
        let mut records = Records::new();
        for (text, labels) in texts {
            let labels: Vec<L> = labels.into_iter().collect();
            records.push(text.as_ref(), labels.iter().map(AsRef::as_ref), 1.0);
        }
        Texts { batches: vec![records], path: "the texts".into(), options: RecordOptions::default() }
    }

    /// Reads a CSV, TSV or JSON lines file with the columns `text` and `labels`; the path `-` is standard input.
    ///
    /// # Errors
    /// If the file cannot be read, is empty, or has a bad line.
    pub fn read(path: impl AsRef<Path>) -> Result<Texts> {
        Texts::read_with(path.as_ref(), &RecordOptions::default(), &mut Run::default())
    }

    /// The same with other columns or another format. The file is read once, so that it may be a pipe.
    ///
    /// # Errors
    /// Likewise, and [`Error::Cancelled`] when `run` was told to stop.
    pub fn read_with(path: &Path, options: &RecordOptions, run: &mut Run<'_>) -> Result<Texts> {
        let mut batches: Vec<Records> = Vec::new();
        read_records(path, options, run, &mut |records| {
            batches.push(records);
            Ok(())
        })?;
        Ok(Texts { batches, path: path.to_owned(), options: options.clone() })
    }

    /// Adds the texts of another file after these.
    pub fn extend(&mut self, more: Texts) {
        self.batches.extend(more.batches);
    }

    /// Number of texts.
    pub fn len(&self) -> usize {
        self.batches.iter().map(Records::len).sum()
    }

    /// Whether there is no text.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The labels of each text, numbered in the order of first appearance, and their names.
    ///
    /// # Errors
    /// If there are too many.
    pub fn labels(&self) -> Result<(Csr, Vec<String>)> {
        let (mut numbering, mut labels) = (Numbering::after(NameIndex::default()), Csr::new(true));
        for records in &self.batches {
            let rows = label_ids(records, &mut numbering, &self.path)?;
            labels.extend_rows(rows.view(), 0, rows.rows());
        }
        Ok((labels, numbering.words().map(str::to_owned).collect()))
    }

    /// Sentences for the user about what looks like a mistake.
    pub fn notes(&self) -> Vec<String> {
        self.odd_separator().into_iter().collect()
    }

    /// A character that seems to separate labels, where no record has more than one.
    fn odd_separator(&self) -> Option<String> {
        let single = |records: &Records| (0..records.len()).all(|i| records.labels(i).nth(1).is_none());
        if self.options.separator.is_empty() || !self.batches.iter().all(single) {
            return None;
        }
        let each = || self.batches.iter().flat_map(|records| (0..records.len()).flat_map(|i| records.labels(i)));
        let count = |labels: &mut dyn Iterator<Item = &str>| labels.map(str::trim).collect::<HashSet<_>>().len();
        let whole = count(&mut each());
        ODD_SEPARATORS.iter().find_map(|odd| {
            let having = each().filter(|label| label.contains(*odd)).count();
            let parts = count(&mut each().flat_map(|label| label.split(*odd)));
            (having > 2 && 10 * having >= each().count() && parts < whole).then(|| {
                let separator = show(&self.options.separator);
                format!(
                    "no text has more than one label, and {having} labels contain {}: if it separates labels, say so, as \
                     {separator} does now",
                    show(odd)
                )
            })
        })
    }

    /// Fits a featurizer to the texts and makes a data set of the two. Labels are numbered in the order of first
    /// appearance. The data set has their names; those of the features are with the featurizer, which new texts need as
    /// well. The result does not depend on the number of threads. Texts are freed as they turn into rows.
    ///
    /// # Errors
    /// If a parameter is bad, no text has a label, or no feature is left.
    pub fn into_dataset(self, params: FeaturizerParams) -> Result<(Dataset, Featurizer)> {
        let (n, path, options) = (self.len(), self.path, self.options);
        let mut counts = FeatureCounts::new(params)?;
        self.batches.iter().for_each(|records| counts.add(&records.texts()));
        if self.batches.iter().all(|records| records.labelled() == 0) {
            let reason = "no record has a label, so there is nothing to learn; choose the column of the labels";
            return Err(Error::file(path, reason));
        }
        if self.batches.iter().all(|records| records.weights().is_some_and(|weights| weights.iter().all(|w| *w == 0.0)))
        {
            return Err(Error::file(
                path,
                "all weights are 0, so there is nothing to learn; choose the column of the weights",
            ));
        }
        if self.batches.iter().all(|records| records.texts().iter().all(|text| text.trim().is_empty())) {
            return Err(Error::file(path, "all texts are empty; choose the column of the text"));
        }
        let featurizer = counts.finish().map_err(|error| match error {
            Error::Data(reason) => Error::file(&path, reason),
            other => other,
        })?;
        let featurizer = featurizer.with_records(&options);
        let mut numbering = Numbering::after(NameIndex::default());
        let blocks = blocks_of(self.batches, &featurizer, &mut numbering, &path)?;
        let names: Vec<String> = numbering.words().map(str::to_owned).collect();
        let shape = Shape { n, d: featurizer.features(), c: names.len() };
        let names = Names { labels: Some(names), label_words: true, ..Names::default() };
        let data = Dataset::from_blocks(shape, blocks, names);
        // A hash has a number for every word, but there may be no words.
        if data.nnz(Side::X) == 0 {
            return Err(Error::file(path, "no text has a feature; choose the column of the text, or other parameters"));
        }
        Ok((data, featurizer))
    }
}

impl Texts {
    /// The same as a data set of sparse features that are words, for what keeps no featurizer.
    ///
    /// # Errors
    /// As for [`into_dataset`](Texts::into_dataset).
    pub fn into_words(self, params: FeaturizerParams) -> Result<Dataset> {
        let (data, featurizer) = self.into_dataset(params)?;
        let features: Vec<String> = featurizer.names().map(str::to_owned).collect();
        let words = !features.is_empty();
        Ok(data.with_feature_words(words.then_some(features)))
    }
}

/// The batches as blocks of a data set, each freed when it is done.
fn blocks_of(
    batches: Vec<Records>,
    featurizer: &Featurizer,
    labels: &mut Numbering,
    path: &Path,
) -> Result<Vec<Vec<u32>>> {
    let (mut builder, mut blocks) = (ChunkBuilder::new(), Vec::new());
    let mut keep = |block| {
        blocks.push(block);
        Ok::<(), Error>(())
    };
    for records in batches {
        let x = featurizer.transform_batch(&records.texts());
        let y = label_ids(&records, labels, path)?;
        let rows = Rows { x, y, weights: records.weights().map(<[f32]>::to_vec) };
        builder.push(&rows, &mut keep)?;
    }
    builder.finish(&mut keep)?;
    Ok(blocks)
}
