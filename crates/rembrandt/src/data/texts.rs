//! Data sets from labelled texts: reads the records, fits a featurizer to them, and turns them into rows.

#[cfg(test)]
mod tests;

use std::path::Path;

use super::chunk::ChunkBuilder;
use super::featurizer::{FeatureCounts, Featurizer, FeaturizerParams};
use super::formats::Watch;
use super::names::Names;
use super::records::{RecordOptions, RecordSummary, Records, label_ids, read_records};
use super::vocabulary::Numbering;
use super::{Dataset, NameIndex, Rows, Shape, Side};
use crate::{Error, Result};

/// Reads labelled texts, fits a featurizer to them and makes a data set of the two; the path `-` is standard input.
///
/// `labels` keep their numbers, all others follow in the order of first appearance; with an empty index that order is
/// all there is. The data set has the names of the labels. Those of the features are with the featurizer, which new
/// texts need as well.
///
/// The file is read once, so that it may be a pipe: its texts stay in memory until every word has been counted, and
/// are freed as they turn into rows. The result does not depend on the number of threads.
///
/// ```
/// use rembrandt::data::featurizer::FeaturizerParams;
/// use rembrandt::data::records::RecordOptions;
/// use rembrandt::data::{NameIndex, read_texts};
/// use rembrandt::Examples;
///
/// let folder = tempfile::tempdir().unwrap();
/// let path = folder.path().join("wines.csv");
/// std::fs::write(&path, "text,labels\nred wine,\"wine,red\"\nwhite wine,wine\nred paint,red\n").unwrap();
/// let (options, params) = (RecordOptions::default(), FeaturizerParams::default());
/// let (data, featurizer, summary) = read_texts(&path, &options, params, &NameIndex::default(), &mut |_, _| true)?;
/// assert_eq!((data.shape().n, data.shape().d, data.shape().c), (3, 2, 2));
/// assert_eq!(data.label_names().unwrap(), ["wine", "red"]);
/// assert_eq!(featurizer.names().collect::<Vec<_>>(), ["red", "wine"]);
/// assert_eq!(summary.labelled, 3);
/// # Ok::<(), rembrandt::Error>(())
/// ```
///
/// # Errors
/// If a parameter is bad, the file cannot be read or is empty, no record has a label, or no feature is left.
/// [`Error::Cancelled`] when `watch` returns `false`.
pub fn read_texts(
    path: &Path,
    options: &RecordOptions,
    params: FeaturizerParams,
    labels: &NameIndex,
    watch: &mut Watch<'_>,
) -> Result<(Dataset, Featurizer, RecordSummary)> {
    let mut counts = FeatureCounts::new(params)?;
    let mut batches: Vec<Records> = Vec::new();
    let summary = read_records(path, options, watch, &mut |records| {
        counts.add(&records.texts());
        batches.push(records);
        Ok(())
    })?;
    if summary.labelled == 0 {
        let reason = "no record has a label, so there is nothing to learn; choose the column of the labels";
        return Err(Error::file(path, reason));
    }
    let featurizer = counts.finish().map_err(|error| match error {
        Error::Data(reason) => Error::file(path, reason),
        other => other,
    })?;
    let mut numbering = Numbering::after(labels.clone());
    let blocks = blocks_of(batches, &featurizer, &mut numbering, path)?;
    let names: Vec<String> = numbering.words().map(str::to_owned).collect();
    let shape = Shape { n: summary.records as usize, d: featurizer.features(), c: names.len() };
    let names = Names { labels: Some(names), label_words: true, ..Names::default() };
    let data = Dataset::from_blocks(shape, blocks, names);
    // A hash has a number for every word, but there may be no words.
    if data.nnz(Side::X) == 0 {
        return Err(Error::file(path, "no text has a feature; choose the column of the text, or other parameters"));
    }
    Ok((data, featurizer, summary))
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
