//! Raw text in, features out: a vocabulary with weights, fitted in one pass.
//!
//! | file | holds |
//! |---|---|
//! | `params` | what to take from a text, and how to weigh it |
//! | `language` | stop words and stems |
//! | `words` | from a text to the names of its features |
//! | `count` | fitting: in how many texts every feature occurs |
//! | `sparse` | the same weights for features that are numbers already |
//!
//! A feature is a word, a sequence of words with one space between them, or a sequence of characters within a word. The
//! name of the last begins with `#`, and `<` and `>` stand for the beginning and the end of the word: `#<th`, `#he>`.
//! A feature that the fitted texts did not have gives nothing, and a text without any known feature gives an empty row.
//!
//! ```
//! use rembrandt::data::featurizer::{Featurizer, FeaturizerParams};
//! let texts = ["A cat and a dog.", "The dog sleeps.", "The CAT sleeps, and sleeps."];
//! let featurizer = Featurizer::fit(FeaturizerParams::default(), texts)?;
//! assert_eq!(featurizer.names().collect::<Vec<_>>(), ["and", "cat", "dog", "sleeps", "the"]);
//! let row = featurizer.transform("dog, dog and unicorn");
//! assert_eq!(row.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [0, 2]);
//! assert!((row[1].1 - 2.0 * row[0].1).abs() < 1e-6);
//! # Ok::<(), rembrandt::Error>(())
//! ```

mod count;
mod language;
mod params;
mod sparse;
#[cfg(test)]
mod tests;
mod words;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::records::RecordOptions;
use super::word_table::WordTable;
use crate::linalg::csr::Csr;
use crate::{Error, Result};

pub use count::FeatureCounts;
pub use language::{Language, stop_words};
pub use params::{FeaturizerParams, Hashing, NGrams, Normalization, Weighting};
pub use sparse::{SparseCounts, SparseTransform};
use words::Words;

/// Texts that one task turns into rows.
const TEXTS_PER_TASK: usize = 128;

/// Bytes and number of texts that [`Featurizer::fit`] collects before it counts them.
const BATCH_BYTES: usize = 1 << 24;
const BATCH_TEXTS: usize = 1 << 16;

/// Turns texts into features, see the [module](self).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "FeaturizerParts", into = "FeaturizerParts")]
pub struct Featurizer {
    params: FeaturizerParams,
    texts: u64,
    names: WordTable,
    idf: Vec<f32>,
    records: RecordOptions,
}

/// All that a [`Featurizer`] consists of, for storing it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FeaturizerParts {
    /// The parameters it was fitted with.
    pub params: FeaturizerParams,
    /// Number of texts it was fitted on.
    pub texts: u64,
    /// The name of each feature; none with hashing.
    pub names: Vec<String>,
    /// The idf of each feature; none unless the weighting is tf-idf.
    pub idf: Vec<f32>,
    /// How the texts were written, as far as that holds for other files.
    #[serde(default)]
    pub records: RecordOptions,
}

impl Featurizer {
    /// Fits on texts, in one pass. For texts that come in batches, or with a limit of memory, see [`FeatureCounts`].
    ///
    /// # Errors
    /// If a parameter is bad, or no feature is left.
    pub fn fit<T>(params: FeaturizerParams, texts: impl IntoIterator<Item = T>) -> Result<Featurizer>
    where
        T: AsRef<str> + Sync,
    {
        let mut counts = FeatureCounts::new(params)?;
        let (mut batch, mut bytes) = (Vec::new(), 0);
        for text in texts {
            bytes += text.as_ref().len();
            batch.push(text);
            if bytes >= BATCH_BYTES || batch.len() == BATCH_TEXTS {
                counts.add(&batch);
                batch.clear();
                bytes = 0;
            }
        }
        counts.add(&batch);
        counts.finish()
    }

    /// The features of a text: ids ascending, values finite and not 0.
    pub fn transform(&self, text: &str) -> Vec<(u32, f32)> {
        let mut row = Vec::new();
        self.row(text, &mut TextScratch::default(), |id, value| row.push((id, value)));
        row
    }

    /// The features of many texts, a row each, computed on rayon's current pool.
    ///
    /// # Panics
    /// If the texts have 2³² features or more together; transform fewer at a time.
    pub fn transform_batch<T: AsRef<str> + Sync>(&self, texts: &[T]) -> Csr {
        let some = |texts: &[T]| {
            let (mut rows, mut scratch) = (Csr::new(false), TextScratch::default());
            for text in texts {
                self.row(text.as_ref(), &mut scratch, |id, value| rows.push(id, value));
                rows.end_row();
            }
            rows
        };
        let parts: Vec<Csr> = texts.par_chunks(TEXTS_PER_TASK).map(some).collect();
        let mut all = Csr::new(false);
        for part in &parts {
            all.extend_rows(part.view(), 0, part.rows());
        }
        all
    }

    fn row(&self, text: &str, scratch: &mut TextScratch, mut take: impl FnMut(u32, f32)) {
        let TextScratch { words, met, row } = scratch;
        met.clear();
        row.clear();
        match self.params.hashing {
            Some(hashing) => words.each(text, &self.params, |name| met.push(count::hashed(name, hashing))),
            None => words.each(text, &self.params, |name| met.extend(self.names.find(name).map(|id| (id, false)))),
        }
        met.sort_unstable();
        for same in met.chunk_by(|a, b| a.0 == b.0) {
            let negative = same.iter().filter(|(_, negative)| *negative).count();
            let sum = (same.len() - negative) as f64 - negative as f64;
            if sum != 0.0 {
                row.push((same[0].0, self.value(same[0].0, sum)));
            }
        }
        let scale = if self.params.l2 { row.iter().map(|(_, value)| value * value).sum::<f64>().sqrt() } else { 1.0 };
        row.iter().for_each(|(id, value)| take(*id, (value / scale) as f32));
    }

    #[inline]
    fn value(&self, id: u32, sum: f64) -> f64 {
        let tf = if self.params.sublinear { sum.signum() * (1.0 + sum.abs().ln()) } else { sum };
        match self.params.weighting {
            Weighting::TfIdf => tf * f64::from(self.idf[id as usize]),
            Weighting::Tf => tf,
            Weighting::Binary => sum.signum(),
        }
    }

    /// The number of features, d.
    pub fn features(&self) -> usize {
        self.params.hashing.map_or(self.names.len(), |hashing| 1 << hashing.bits)
    }

    /// The parameters it was fitted with.
    pub fn params(&self) -> &FeaturizerParams {
        &self.params
    }

    /// The name of each feature, in the order of ids; none with hashing.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.words()
    }

    /// The name of a feature; none with hashing, or if there is no such feature.
    pub fn name(&self, id: u32) -> Option<&str> {
        ((id as usize) < self.names.len()).then(|| self.names.word(id))
    }

    /// The number of texts it was fitted on.
    pub fn texts(&self) -> u64 {
        self.texts
    }

    /// The id of a feature by its name, if the featurizer knows it.
    pub fn id(&self, name: &str) -> Option<u32> {
        self.params.hashing.map_or_else(|| self.names.find(name), |hashing| Some(count::hashed(name, hashing).0))
    }

    /// The idf of each feature; empty unless the weighting is tf-idf.
    pub fn idf(&self) -> &[f32] {
        &self.idf
    }

    /// How the texts were written that it was fitted to: other files for it are read likewise.
    pub fn records(&self) -> RecordOptions {
        self.records.remembered()
    }

    /// The same, fitted to texts that were written so.
    #[must_use]
    pub fn with_records(self, records: &RecordOptions) -> Featurizer {
        Featurizer { records: records.remembered(), ..self }
    }

    /// All that the featurizer consists of. [`from_parts`](Featurizer::from_parts) makes an equal one.
    ///
    /// ```
    /// use rembrandt::data::featurizer::{Featurizer, FeaturizerParams};
    /// let fitted = Featurizer::fit(FeaturizerParams::default(), ["red wine", "red paint"])?;
    /// let parts = fitted.to_parts();
    /// assert_eq!((parts.texts, &parts.names[..], &parts.idf[..]), (2, &["red".to_owned()][..], &[1.0][..]));
    /// assert_eq!(Featurizer::from_parts(parts)?.transform("red"), fitted.transform("red"));
    /// # Ok::<(), rembrandt::Error>(())
    /// ```
    pub fn to_parts(&self) -> FeaturizerParts {
        let names = self.names().map(str::to_owned).collect();
        let (params, idf, records) = (self.params.clone(), self.idf.clone(), self.records.clone());
        FeaturizerParts { params, texts: self.texts, names, idf, records }
    }

    /// Puts a featurizer together again.
    ///
    /// # Errors
    /// If the parts do not belong together: bad parameters, names that occur twice, the wrong number of weights, or
    /// weights that are no idf.
    pub fn from_parts(parts: FeaturizerParts) -> Result<Featurizer> {
        let FeaturizerParts { params, texts, names: list, idf, records } = parts;
        params.check()?;
        if params.hashing.is_some() && !list.is_empty() {
            return Err(Error::Data(format!("a featurizer with hashing has {} names; it must have none", list.len())));
        }
        let mut names = WordTable::default();
        for (name, expected) in list.iter().zip(0u32..) {
            if names.id(name) != Some(expected) {
                return Err(Error::Data(format!("the feature {} is named twice", super::token::show(name))));
            }
        }
        if names.len() != list.len() {
            return Err(Error::Data(format!("{} names are more than there are ids", list.len())));
        }
        let width = match params.weighting {
            Weighting::TfIdf => params.hashing.map_or(list.len(), |hashing| 1 << hashing.bits),
            _ => 0,
        };
        if idf.len() != width {
            return Err(Error::Data(format!("the featurizer has {} idf weights where it needs {width}", idf.len())));
        }
        if let Some(bad) = idf.iter().find(|idf| !(idf.is_finite() && **idf > 0.0)) {
            return Err(Error::Data(format!("the idf weight {bad} is not a positive number")));
        }
        Ok(Featurizer { params, texts, names, idf, records })
    }
}

impl TryFrom<FeaturizerParts> for Featurizer {
    type Error = Error;

    fn try_from(parts: FeaturizerParts) -> Result<Featurizer> {
        Featurizer::from_parts(parts)
    }
}

impl From<Featurizer> for FeaturizerParts {
    fn from(featurizer: Featurizer) -> FeaturizerParts {
        featurizer.to_parts()
    }
}

/// Memory for one row, kept from text to text.
#[derive(Default)]
struct TextScratch {
    words: Words,
    met: Vec<(u32, bool)>,
    row: Vec<(u32, f64)>,
}
