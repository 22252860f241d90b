//! Arguments about data: texts or sparse rows, and how either is written.

use clap::Args;
use rembrandt::data::featurizer::{FeaturizerParams, Hashing, Language, NGrams, Weighting, stop_words};
use rembrandt::data::records::RecordOptions;
use rembrandt::train::FeatureOptions;
use rembrandt::{Error, Result};

use super::{ColumnArgs, ReadArgs, choice};
use crate::failure::flag;

/// The kind of the data, and how to read them.
#[derive(Args, Clone, Default)]
pub struct DataArgs {
    /// Raw text in, names out: the words of the text become features, by rules that the model keeps. Found out from the first
    /// lines of a file; to be said where data come through a pipe
    #[arg(long, help_heading = "Reading")]
    pub text: bool,
    #[command(flatten)]
    pub features: FeatureArgs,
    #[command(flatten)]
    pub columns: ColumnArgs,
    #[command(flatten)]
    pub read: ReadArgs,
}

impl DataArgs {
    /// For a command with fewer options.
    pub fn new(text: bool, (tfidf, normalize): (bool, bool), columns: ColumnArgs, read: ReadArgs) -> DataArgs {
        DataArgs { text, features: FeatureArgs { tfidf, normalize, ..FeatureArgs::default() }, columns, read }
    }

    /// Whether the data are texts, if the options say so or say the contrary; refuses those that do both.
    pub fn are_texts(&self) -> Result<Option<bool>> {
        let texts = self.read.of_texts().or(self.columns.given()).or(self.features.of_texts());
        let texts = if self.text { Some("text") } else { texts };
        match (texts, self.read.of_rows().or(self.features.of_rows())) {
            (Some("text"), Some(name)) => {
                Err(Error::parameter(name, "is for sparse rows: leave it out, or leave out --text"))
            }
            (Some(texts), Some(name)) => {
                let reason = format!("is for sparse rows, and {} is for texts: leave one of them out", flag(texts));
                Err(Error::parameter(name, reason))
            }
            (Some(_), None) => Ok(Some(true)),
            (None, Some(_)) => Ok(Some(false)),
            (None, None) => Ok(None),
        }
    }

    /// The option that tells that the data are texts without saying so.
    pub fn implies_texts(&self) -> Option<&'static str> {
        let said = self.text || self.read.of_texts().is_some();
        self.columns.given().or(self.features.of_texts()).filter(|_| !said)
    }

    /// The options of the library for texts.
    pub fn records(&self) -> RecordOptions {
        self.columns.over(RecordOptions::default(), self.read.texts())
    }
}

/// How features are made or weighed.
#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Features")]
pub struct FeatureArgs {
    /// Sequences of so many words, such as 1 or 1-2 [default: 1]
    #[arg(long, value_name = "RANGE")]
    word_ngrams: Option<NGrams>,
    /// Sequences of so many characters within words, such as 3-5
    #[arg(long, value_name = "RANGE")]
    char_ngrams: Option<NGrams>,
    /// Words of fewer characters are dropped [default: 2]
    #[arg(long, value_name = "N")]
    min_length: Option<usize>,
    /// Features that fewer texts have are dropped [default: 2]
    #[arg(long, value_name = "N")]
    min_df: Option<u64>,
    /// Features that a larger fraction of the texts have are dropped [default: 1]
    #[arg(long, value_name = "FRACTION")]
    max_df: Option<f64>,
    /// Keep only so many features, those that most texts have
    #[arg(long, value_name = "N")]
    max_features: Option<usize>,
    /// Number features by a hash of so many bits instead of keeping their names
    #[arg(long, value_name = "BITS")]
    hash_bits: Option<u32>,
    /// The value of a feature of a text [default: tfidf]
    #[arg(long, value_parser = choice(WEIGHTINGS))]
    weighting: Option<Weighting>,
    /// Count a feature that occurs often in a text with the logarithm of how often
    #[arg(long)]
    sublinear: bool,
    /// Keep capital letters apart from small ones
    #[arg(long)]
    keep_case: bool,
    /// Drop the words that say nothing in a language, by its code of two letters such as en
    #[arg(long, value_name = "LANGUAGE")]
    stop_words: Option<String>,
    /// Bring words to their stems, in a language such as en: connected and connections become connect
    #[arg(long, value_name = "LANGUAGE")]
    stem: Option<Language>,
    /// Take letters without their accents
    #[arg(long)]
    fold: bool,
    /// Multiply sparse features by their inverse document frequency (tf-idf)
    #[arg(long)]
    pub tfidf: bool,
    /// Scale rows of sparse features to length 1
    #[arg(long)]
    pub normalize: bool,
}

impl FeatureArgs {
    /// The first option that only texts have a use for.
    fn of_texts(&self) -> Option<&'static str> {
        let given = [
            ("word_ngrams", self.word_ngrams.is_some()),
            ("char_ngrams", self.char_ngrams.is_some()),
            ("min_length", self.min_length.is_some()),
            ("min_df", self.min_df.is_some()),
            ("max_df", self.max_df.is_some()),
            ("max_features", self.max_features.is_some()),
            ("hash_bits", self.hash_bits.is_some()),
            ("weighting", self.weighting.is_some()),
            ("sublinear", self.sublinear),
            ("keep_case", self.keep_case),
            ("stop_words", self.stop_words.is_some()),
            ("stem", self.stem.is_some()),
            ("fold", self.fold),
        ];
        given.into_iter().find_map(|(name, given)| given.then_some(name))
    }

    /// The first option that only sparse rows have a use for.
    pub fn of_rows(&self) -> Option<&'static str> {
        let given = [("tfidf", self.tfidf), ("normalize", self.normalize)];
        given.into_iter().find_map(|(name, given)| given.then_some(name))
    }

    /// How features are made of texts, or weighted.
    ///
    /// # Errors
    /// If there are no stop words of the language.
    pub fn options(&self) -> Result<FeatureOptions> {
        let stopped = self.stop_words.as_deref().map(stop_words).transpose()?.unwrap_or_default();
        let usual = FeaturizerParams::default();
        let featurizer = usual.clone().with(|params| {
            params.words = self.word_ngrams.or(usual.words);
            params.characters = self.char_ngrams;
            params.min_length = self.min_length.unwrap_or(usual.min_length);
            params.lowercase = !self.keep_case;
            params.weighting = self.weighting.unwrap_or(usual.weighting);
            params.sublinear = self.sublinear;
            (params.fold, params.stem, params.stop_words) = (self.fold, self.stem, stopped);
            params.hashing = self.hash_bits.map(|bits| Hashing { bits, signed: true });
            params.min_df = self.min_df.unwrap_or(usual.min_df);
            params.max_df = self.max_df.unwrap_or(usual.max_df);
            params.max_features = self.max_features;
        });
        Ok(FeatureOptions::default().with(|options| {
            (options.tfidf, options.normalize) = (self.tfidf, self.normalize);
            options.featurizer = featurizer;
        }))
    }
}

const WEIGHTINGS: &[(&str, Weighting)] =
    &[("tfidf", Weighting::TfIdf), ("tf", Weighting::Tf), ("binary", Weighting::Binary)];
