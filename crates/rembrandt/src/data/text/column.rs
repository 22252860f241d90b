//! Tokens to ids and values, and the sentences for those that are none.

use super::number;
use super::vocabulary::Vocabulary;

/// How the ids of one side are written.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Axis {
    /// Ids are words, not numbers.
    pub(super) words: bool,
    /// The number of ids that the header promises.
    pub(super) promised: Option<u32>,
}

/// The ids of one side in one block.
#[derive(Debug)]
pub(super) struct Column {
    kind: &'static str,
    letter: char,
    axis: Axis,
    /// Ids of numbers must be below this.
    limit: u64,
    /// One more than the largest number met.
    pub(super) width: u64,
    pub(super) words: Vocabulary,
}

impl Column {
    pub(super) fn new(kind: &'static str, letter: char, axis: Axis) -> Column {
        let limit = axis.promised.unwrap_or(u32::MAX).into();
        Column { kind, letter, axis, limit, width: 0, words: Vocabulary::default() }
    }

    /// Whether ids are words.
    pub(super) fn is_words(&self) -> bool {
        self.axis.words
    }

    /// The id of a token.
    #[inline]
    pub(super) fn id(&mut self, token: &str) -> Result<u32, String> {
        if self.axis.words {
            return self.words.id(token).ok_or_else(|| format!("there are too many different {}s", self.kind));
        }
        match number::digits(token.as_bytes()) {
            (number, length @ 1..=19) if length == token.len() => self.number(number),
            _ => Err(self.not_an_id(token)),
        }
    }

    /// The id that a number stands for.
    #[inline(always)]
    pub(super) fn number(&mut self, number: u64) -> Result<u32, String> {
        if number >= self.limit {
            return Err(self.beyond(number));
        }
        self.width = self.width.max(number + 1);
        Ok(number as u32)
    }

    /// An id as it stands in the file.
    pub(super) fn name(&self, id: u32) -> String {
        if self.axis.words { show(self.words.word(id)) } else { id.to_string() }
    }

    #[cold]
    fn beyond(&self, number: u64) -> String {
        let Column { kind, letter, .. } = self;
        match self.axis.promised {
            Some(promised) => format!("{kind} id {number} is beyond the header, which says {letter} = {promised}"),
            None => too_large(kind, &number.to_string()),
        }
    }

    #[cold]
    fn not_an_id(&self, token: &str) -> String {
        let kind = self.kind;
        if !number::looks_like_id(token) {
            return format!("{kind} id {} is not a number; if ids are words, read them with --ids words", show(token));
        }
        if token.starts_with('-') {
            return format!("{kind} id {} is negative; count ids from 0 or read them with --ids words", cut(token));
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

/// A token in quotes, cut and escaped: it may hold anything.
pub(in crate::data) fn show(token: &str) -> String {
    format!("`{}`", cut(token))
}

fn cut(token: &str) -> String {
    const LONGEST: usize = 40;
    let mut shown: String = token.chars().take(LONGEST).flat_map(char::escape_debug).collect();
    if token.chars().nth(LONGEST).is_some() {
        shown.push('…');
    }
    shown
}
