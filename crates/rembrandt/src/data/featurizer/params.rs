//! Parameters of the featurizer: the features to take from a text, and their weights.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::language::Language;
use crate::{Error, Result};

/// The longest n-gram that is accepted.
const LONGEST_GRAM: usize = 32;

/// The largest table that hashing may use: 2³⁰ features.
const MOST_BITS: u32 = 30;

/// Lengths of n-grams, both ends included. Written `2` or `1-2`.
///
/// ```
/// use rembrandt::data::featurizer::NGrams;
/// let range: NGrams = "1-2".parse()?;
/// assert_eq!(range, NGrams { from: 1, to: 2 });
/// assert_eq!(NGrams { from: 3, to: 3 }.to_string(), "3");
/// # Ok::<(), rembrandt::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NGrams {
    /// The shortest, at least 1.
    pub from: usize,
    /// The longest, at most 32.
    pub to: usize,
}

impl FromStr for NGrams {
    type Err = Error;

    fn from_str(text: &str) -> Result<NGrams> {
        let (from, to) = text.split_once('-').unwrap_or((text, text));
        match (from.trim().parse(), to.trim().parse()) {
            (Ok(from), Ok(to)) => Ok(NGrams { from, to }),
            _ => Err(Error::parameter("n-grams", "write a length or a range of lengths, such as 1 or 1-2")),
        }
    }
}

impl fmt::Display for NGrams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.from == self.to { write!(f, "{}", self.from) } else { write!(f, "{}-{}", self.from, self.to) }
    }
}

/// How the characters of a text are made comparable before it is split.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Normalization {
    /// Unicode's compatibility form NFKC: `ﬁ` becomes `fi`, `e` with a combining accent becomes `é`.
    #[default]
    Nfkc,
    /// Characters stay as they are.
    None,
}

/// The value of a feature that occurs tf times in a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Weighting {
    /// tf · idf with idf = ln((1 + n) / (1 + df)) + 1 for a feature that df of n texts have.
    #[default]
    TfIdf,
    /// tf.
    Tf,
    /// 1.
    Binary,
}

/// Features numbered by a hash instead of a vocabulary.
///
/// The number of a feature is the low `bits` bits of the 64-bit XXH3 hash, with seed 0, of its name in UTF-8.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hashing {
    /// There are 2 to this power features; from 1 to 30.
    pub bits: u32,
    /// Features whose hash has its highest bit set count negatively, so that names that share a number tend to cancel
    /// instead of adding up.
    #[serde(default)]
    pub signed: bool,
}

/// How texts become features. The default suits titles as well as pages: single words with tf-idf.
///
/// Plain data; checked when a featurizer is fitted.
///
/// ```
/// use rembrandt::data::featurizer::{FeaturizerParams, NGrams};
/// let params = FeaturizerParams::default().with(|p| p.words = Some(NGrams { from: 1, to: 2 }));
/// assert!(params.check().is_ok());
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct FeaturizerParams {
    /// Sequences of so many words. Pairs help when there are many texts; they make several times as many features.
    pub words: Option<NGrams>,
    /// Sequences of so many characters within a word, the ends of the word included. For names, codes, misspellings
    /// and languages that join words; 3-5 is usual.
    pub characters: Option<NGrams>,
    /// Words of fewer characters are dropped. Scripts that put no spaces between words are exempt.
    pub min_length: usize,
    /// Whether capital letters count as small ones.
    pub lowercase: bool,
    /// How characters are made comparable.
    pub normalization: Normalization,
    /// Whether letters count without their accents and other marks.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub fold: bool,
    /// Words that are dropped, in ascending order; see [`stop_words`](super::stop_words).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stop_words: Vec<String>,
    /// The language whose words count by their stems.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stem: Option<Language>,
    /// The value of a feature.
    pub weighting: Weighting,
    /// Use 1 + ln(tf) in place of tf: for long texts, where a word that occurs ten times is hardly ten times as telling.
    pub sublinear: bool,
    /// Scale every row to length 1, so that long texts weigh no more than short ones.
    pub l2: bool,
    /// Number features by a hash: nothing is stored per name, and names cannot be told. Keeps every feature, so
    /// `min_df` has no effect and `max_df` and `max_features` must be left alone.
    pub hashing: Option<Hashing>,
    /// Features that fewer texts have are dropped.
    pub min_df: u64,
    /// Features that a larger fraction of the texts have are dropped.
    pub max_df: f64,
    /// The number of features to keep at most: those that most texts have.
    pub max_features: Option<usize>,
}

impl Default for FeaturizerParams {
    fn default() -> FeaturizerParams {
        FeaturizerParams {
            words: Some(NGrams { from: 1, to: 1 }),
            characters: None,
            min_length: 2,
            lowercase: true,
            normalization: Normalization::Nfkc,
            fold: false,
            stop_words: Vec::new(),
            stem: None,
            weighting: Weighting::TfIdf,
            sublinear: false,
            l2: true,
            hashing: None,
            min_df: 2,
            max_df: 1.0,
            max_features: None,
        }
    }
}

setter!(FeaturizerParams);

impl FeaturizerParams {
    /// Refuses values that make no sense, by themselves or together.
    ///
    /// # Errors
    /// [`Error::Parameter`] that names the first bad one.
    pub fn check(&self) -> Result<()> {
        if self.words.is_none() && self.characters.is_none() {
            return Err(Error::parameter("words", "a featurizer needs words, characters or both"));
        }
        for (name, range) in [("words", self.words), ("characters", self.characters)] {
            if let Some(range) = range.filter(|r| r.from == 0 || r.from > r.to || r.to > LONGEST_GRAM) {
                let reason = format!("{}-{} is no range of lengths from 1 to {LONGEST_GRAM}", range.from, range.to);
                return Err(Error::parameter(name, reason));
            }
        }
        if !self.stop_words.is_sorted() {
            return Err(Error::parameter("stop_words", "must be in ascending order"));
        }
        if !(self.max_df > 0.0 && self.max_df <= 1.0) {
            let reason = format!("{} is not a fraction above 0 and up to 1", self.max_df);
            return Err(Error::parameter("max_df", reason));
        }
        if self.max_features.is_some_and(|most| most == 0 || most >= u32::MAX as usize) {
            return Err(Error::parameter("max_features", format!("must be from 1 to {}", u32::MAX - 1)));
        }
        let Some(hashing) = self.hashing else { return Ok(()) };
        if !(1..=MOST_BITS).contains(&hashing.bits) {
            return Err(Error::parameter("hashing", format!("{} bits are not from 1 to {MOST_BITS}", hashing.bits)));
        }
        if self.max_features.is_some() {
            return Err(Error::parameter(
                "max_features",
                "hashing fixes the number of features; choose its bits instead",
            ));
        }
        if self.max_df < 1.0 {
            return Err(Error::parameter("max_df", "hashing keeps every feature; leave it at 1"));
        }
        Ok(())
    }
}
