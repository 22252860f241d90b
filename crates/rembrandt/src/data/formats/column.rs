//! Tokens to ids and values, and the sentences for those that are none.

use super::number;
use crate::data::Side;
use crate::data::token::{cut, show};
use crate::data::vocabulary::{NameIndex, Numbering, VocabularyIds};

/// How the ids of one side are written.
#[derive(Clone, Debug, Default)]
pub(super) struct IdSyntax {
    /// Ids are words, not numbers.
    pub(super) words: bool,
    /// The number of ids that the header promises.
    pub(super) promised: Option<u32>,
    /// The ids that a model knows: words if ids are words, else numbers.
    pub(super) vocabulary: Option<VocabularyIds>,
}

impl IdSyntax {
    /// A numbering that begins with the words of the vocabulary.
    pub(super) fn numbering(&self) -> Numbering {
        match &self.vocabulary {
            Some(VocabularyIds::Words(names)) => Numbering::after(names.clone()),
            _ => Numbering::after(NameIndex::default()),
        }
    }
}

/// The ids of one side in one block.
#[derive(Debug)]
pub(super) struct IdColumn {
    kind: &'static str,
    letter: char,
    axis: IdSyntax,
    /// Ids of numbers below this need no closer look.
    limit: u64,
    /// Ids outside of the vocabulary are dropped.
    drops: bool,
    /// One more than the largest number met.
    pub(super) width: u64,
    pub(super) words: Numbering,
}

impl IdColumn {
    pub(super) fn new(side: Side, axis: &IdSyntax) -> IdColumn {
        let (kind, letter) = match side {
            Side::X => ("feature", 'd'),
            Side::Y => ("label", 'c'),
        };
        let drops = side == Side::X && axis.vocabulary.is_some();
        let valid = u64::from(axis.promised.unwrap_or(u32::MAX));
        let limit = match &axis.vocabulary {
            Some(vocabulary) if drops => valid.min(vocabulary.len() as u64),
            _ => valid,
        };
        IdColumn { kind, letter, axis: axis.clone(), limit, drops, width: 0, words: axis.numbering() }
    }

    /// Whether ids are words.
    pub(super) fn is_words(&self) -> bool {
        self.axis.words
    }

    /// The id of a token; none if it is to be dropped.
    #[inline]
    pub(super) fn id(&mut self, token: &str) -> Result<Option<u32>, String> {
        if self.axis.words && self.drops {
            return Ok(self.words.known().id(token));
        }
        if self.axis.words {
            let id = self.words.id(token).ok_or_else(|| format!("there are too many different {}s", self.kind))?;
            return Ok(Some(id));
        }
        match number::digits(token.as_bytes()) {
            (number, length @ 1..=19) if length == token.len() => self.number(number),
            _ => Err(self.not_an_id(token)),
        }
    }

    /// The id that a number stands for; none if it is to be dropped.
    #[inline(always)]
    pub(super) fn number(&mut self, number: u64) -> Result<Option<u32>, String> {
        if number >= self.limit {
            self.check_beyond(number)?;
            return Ok(None);
        }
        self.width = self.width.max(number + 1);
        Ok(Some(number as u32))
    }

    /// An id as it stands in the file.
    pub(super) fn name(&self, id: u32) -> String {
        if self.axis.words { show(self.words.word(id)) } else { id.to_string() }
    }

    /// Refuses a number that is not merely unknown.
    #[cold]
    fn check_beyond(&self, number: u64) -> Result<(), String> {
        let IdColumn { kind, letter, .. } = self;
        match self.axis.promised {
            _ if number < self.axis.promised.unwrap_or(u32::MAX).into() => Ok(()),
            Some(promised) => Err(format!("{kind} id {number} is beyond the header, which says {letter} = {promised}")),
            None => Err(too_large(kind, &number.to_string())),
        }
    }

    /// Advice about words where numbers are wanted.
    pub(super) fn words_remedy(&self) -> String {
        match self.axis.vocabulary {
            Some(_) => format!("the model knows its {}s by number", self.kind),
            None => "read ids as words".into(),
        }
    }

    #[cold]
    fn not_an_id(&self, token: &str) -> String {
        let kind = self.kind;
        if !number::looks_like_id(token) {
            let condition = if self.axis.vocabulary.is_some() { "" } else { "if ids are words, " };
            return format!("{kind} id {} is not a number; {condition}{}", show(token), self.words_remedy());
        }
        if token.starts_with('-') {
            let or = if self.axis.vocabulary.is_some() { ":" } else { " or" };
            return format!("{kind} id {} is negative; count ids from 0{or} {}", cut(token), self.words_remedy());
        }
        too_large(kind, &cut(token))
    }
}

fn too_large(kind: &str, number: &str) -> String {
    format!("{kind} id {number} is too large; the largest is {}", u32::MAX - 1)
}

/// A value that must be finite; `of` says whose it is.
pub(in crate::data) fn finite(token: &str, of: impl FnOnce() -> String) -> Result<f32, String> {
    match number::float(token) {
        Some(value) if value.is_finite() => Ok(value),
        Some(value) if value.is_nan() || token.bytes().any(|b| matches!(b, b'n' | b'N')) => {
            Err(format!("{} is {}; values must be finite", of(), show(token)))
        }
        Some(_) => Err(format!("{} is {}, which is too large for a 32-bit number", of(), show(token))),
        None => Err(format!("{} is {}, which is not a number", of(), show(token))),
    }
}
