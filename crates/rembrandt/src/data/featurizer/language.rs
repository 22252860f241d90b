//! Languages: their words that say nothing, and stems.

use std::fmt;
use std::str::FromStr;

use rust_stemmers::{Algorithm, Stemmer};
use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use crate::{Error, Result};

/// A language whose words can be brought to their stems, by its code in ISO 639-1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Language(u8);

/// The code of each, and the rules of its stems.
const LANGUAGES: [(&str, Algorithm); 18] = [
    ("ar", Algorithm::Arabic),
    ("da", Algorithm::Danish),
    ("de", Algorithm::German),
    ("el", Algorithm::Greek),
    ("en", Algorithm::English),
    ("es", Algorithm::Spanish),
    ("fi", Algorithm::Finnish),
    ("fr", Algorithm::French),
    ("hu", Algorithm::Hungarian),
    ("it", Algorithm::Italian),
    ("nl", Algorithm::Dutch),
    ("no", Algorithm::Norwegian),
    ("pt", Algorithm::Portuguese),
    ("ro", Algorithm::Romanian),
    ("ru", Algorithm::Russian),
    ("sv", Algorithm::Swedish),
    ("ta", Algorithm::Tamil),
    ("tr", Algorithm::Turkish),
];

impl Language {
    /// Brings words of this language to their stems, by the rules of Snowball.
    pub(super) fn stemmer(self) -> Stemmer {
        Stemmer::create(LANGUAGES[usize::from(self.0)].1)
    }
}

impl FromStr for Language {
    type Err = Error;

    fn from_str(code: &str) -> Result<Language> {
        match LANGUAGES.iter().position(|(known, _)| *known == code) {
            Some(at) => Ok(Language(at as u8)),
            None => {
                let codes = LANGUAGES.map(|(known, _)| known).join(", ");
                Err(Error::parameter("stem", format!("{code:?} is not one of the languages {codes}")))
            }
        }
    }
}

impl TryFrom<String> for Language {
    type Error = Error;

    fn try_from(code: String) -> Result<Language> {
        code.parse()
    }
}

impl From<Language> for String {
    fn from(language: Language) -> String {
        language.to_string()
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(LANGUAGES[usize::from(self.0)].0)
    }
}

/// The words of a language that say nothing by themselves, in small letters and sorted, with accents and without.
///
/// ```
/// use rembrandt::data::featurizer::stop_words;
/// assert!(stop_words("fr")?.binary_search(&"même".to_owned()).is_ok());
/// assert!(stop_words("tlh").is_err());
/// # Ok::<(), rembrandt::Error>(())
/// ```
///
/// # Errors
/// If there are none for the language, which is given by its code in ISO 639-1.
pub fn stop_words(code: &str) -> Result<Vec<String>> {
    let Some(words) = stop_words::lookup(code) else {
        let reason = format!("there are none for {code:?}; name a language by its code of two letters, such as en");
        return Err(Error::parameter("stop_words", reason));
    };
    let small = words.iter().map(|word| word.to_lowercase());
    let mut all: Vec<String> = small.flat_map(|word| [folded(&word), word]).collect();
    all.sort_unstable();
    all.dedup();
    Ok(all)
}

/// Text without accents and other marks on its letters.
pub(super) fn folded(text: &str) -> String {
    text.nfkd().filter(|letter| !is_combining_mark(*letter)).nfc().collect()
}
