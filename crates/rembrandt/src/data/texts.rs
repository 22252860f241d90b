//! Data sets from labelled texts: reads the records, fits a featurizer to them, and turns them into rows.

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use super::chunk::ChunkBuilder;
use super::featurizer::{FeatureCounts, Featurizer, FeaturizerParams};
use super::names::Names;
use super::records::{RecordOptions, Records, label_ids, read_records};
use super::vocabulary::Numbering;
use super::{Dataset, NameIndex, Rows, Shape, Side};
use crate::linalg::csr::Csr;
use crate::{Error, Result, Run};

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
        Texts { batches: vec![records], path: "the texts".into() }
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
        Ok(Texts { batches, path: path.to_owned() })
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

    /// Fits a featurizer to the texts and makes a data set of the two. Labels are numbered in the order of first
    /// appearance. The data set has their names; those of the features are with the featurizer, which new texts need as
    /// well. The result does not depend on the number of threads. Texts are freed as they turn into rows.
    ///
    /// # Errors
    /// If a parameter is bad, no text has a label, or no feature is left.
    pub fn into_dataset(self, params: FeaturizerParams) -> Result<(Dataset, Featurizer)> {
        let (n, path) = (self.len(), self.path);
        let mut counts = FeatureCounts::new(params)?;
        self.batches.iter().for_each(|records| counts.add(&records.texts()));
        if self.batches.iter().all(|records| records.labelled() == 0) {
            let reason = "no record has a label, so there is nothing to learn; choose the column of the labels";
            return Err(Error::file(path, reason));
        }
        let featurizer = counts.finish().map_err(|error| match error {
            Error::Data(reason) => Error::file(&path, reason),
            other => other,
        })?;
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
