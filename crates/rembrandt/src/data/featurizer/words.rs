//! From a text to the names of its features.
//!
//! A word is a run of letters and digits; what stands between words, the underscore too, separates them. Beyond ASCII
//! the boundaries are those of Unicode's word segmentation (UAX #29), which tells scripts apart, and combining marks
//! belong to the letter before them.
//!
//! Segmentation costs some ten times as much as a look at a table. It can never join what a space of ASCII separates, and
//! neither can normalisation or case, so only those pieces between spaces that are not ASCII take that way.

use std::borrow::Cow;

use unicode_normalization::char::is_combining_mark;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};
use unicode_segmentation::UnicodeSegmentation;

use super::language::folded;
use super::params::{FeaturizerParams, Normalization};

/// Begins the name of every n-gram of characters; no word contains it, so the two kinds never meet.
pub(super) const CHARACTERS: char = '#';

/// Whether each byte is a letter or digit of ASCII.
const IN_WORD: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = (byte as u8).is_ascii_alphanumeric();
        byte += 1;
    }
    table
};

/// The words of one text; the memory is kept from text to text.
#[derive(Clone, Debug, Default)]
pub(super) struct Words {
    /// All words with one space between them, so that an n-gram of words is a slice.
    joined: String,
    /// Where each word begins and ends in `joined`.
    spans: Vec<(usize, usize)>,
    /// A piece of text in lower case, or a name under construction.
    scratch: String,
    /// Where the characters of a name under construction begin.
    starts: Vec<usize>,
}

impl Words {
    /// Calls `take` with the name of every feature of `text`, as often as it occurs.
    #[inline]
    pub(super) fn each(&mut self, text: &str, params: &FeaturizerParams, mut take: impl FnMut(&str)) {
        self.split(text, params);
        if let Some(range) = params.words {
            for length in range.from..=range.to.min(self.spans.len()) {
                for span in self.spans.windows(length) {
                    take(&self.joined[span[0].0..span[length - 1].1]);
                }
            }
        }
        let Some(range) = params.characters else { return };
        let Words { joined, spans, scratch, starts } = self;
        for (start, end) in spans {
            let word = &joined[*start..*end];
            starts.clear();
            starts.extend([0, 1]);
            starts.extend(word.char_indices().skip(1).map(|(at, _)| at + 1));
            starts.extend([word.len() + 1, word.len() + 2]);
            for length in range.from..=range.to.min(starts.len() - 1) {
                for at in 0..starts.len() - length {
                    // The ends of a word say nothing by themselves.
                    if length == 1 && (at == 0 || at + 2 == starts.len()) {
                        continue;
                    }
                    scratch.clear();
                    scratch.push(CHARACTERS);
                    let (from, to) = (starts[at], starts[at + length]);
                    scratch.push_str(if from == 0 { "<" } else { "" });
                    scratch.push_str(&word[from.max(1) - 1..to.min(word.len() + 1) - 1]);
                    scratch.push_str(if to == word.len() + 2 { ">" } else { "" });
                    take(scratch);
                }
            }
        }
    }

    /// Finds the words of a text.
    pub(super) fn split(&mut self, text: &str, params: &FeaturizerParams) {
        self.joined.clear();
        self.spans.clear();
        let bytes = text.as_bytes();
        let mut done = 0;
        while done < text.len() {
            let ascii = bytes[done..].iter().position(|b| !b.is_ascii()).map_or(text.len(), |at| done + at);
            if ascii == text.len() {
                return self.split_ascii(&text[done..], params);
            }
            let start = bytes[done..ascii].iter().rposition(u8::is_ascii_whitespace).map_or(done, |at| done + at);
            let end = bytes[ascii..].iter().position(u8::is_ascii_whitespace).map_or(text.len(), |at| ascii + at);
            self.split_ascii(&text[done..start], params);
            self.split_any(&text[start..end], params);
            done = end;
        }
    }

    fn split_ascii(&mut self, text: &str, params: &FeaturizerParams) {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        scratch.push_str(text);
        if params.lowercase {
            scratch.make_ascii_lowercase();
        }
        let bytes = scratch.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            if !IN_WORD[bytes[at] as usize] {
                at += 1;
                continue;
            }
            let length = bytes[at..].iter().position(|b| !IN_WORD[*b as usize]).unwrap_or(bytes.len() - at);
            if length >= params.min_length {
                self.push(&scratch[at..at + length], params);
            }
            at += length;
        }
        self.scratch = scratch;
    }

    /// The way for any text.
    pub(super) fn split_any(&mut self, text: &str, params: &FeaturizerParams) {
        let mut text = Cow::Borrowed(text);
        // Most text is normalised already, and finding that out is cheap.
        if params.normalization == Normalization::Nfkc && is_nfkc_quick(text.chars()) != IsNormalized::Yes {
            text = text.nfkc().collect();
        }
        if params.lowercase {
            text = text.to_lowercase().into();
        }
        if params.fold {
            text = folded(&text).into();
        }
        for segment in text.unicode_words() {
            let mut start = None;
            for (at, letter) in segment.char_indices() {
                // Some marks are letters to Unicode, but a word cannot begin with what changes the letter before it.
                let inside = if is_combining_mark(letter) { start.is_some() } else { letter.is_alphanumeric() };
                match (inside, start) {
                    (true, None) => start = Some(at),
                    (false, Some(from)) => {
                        self.push_long(&segment[from..at], params);
                        start = None;
                    }
                    _ => {}
                }
            }
            if let Some(from) = start {
                self.push_long(&segment[from..], params);
            }
        }
    }

    fn push_long(&mut self, word: &str, params: &FeaturizerParams) {
        if word.chars().nth(params.min_length.saturating_sub(1)).is_some() || word.chars().all(is_unspaced) {
            self.push(word, params);
        }
    }

    fn push(&mut self, word: &str, params: &FeaturizerParams) {
        let stop_words = &params.stop_words;
        if !stop_words.is_empty() && stop_words.binary_search_by(|stop| stop.as_str().cmp(word)).is_ok() {
            return;
        }
        let stem = params.stem.map(|language| language.stemmer().stem(word).into_owned());
        // Without its stem a word is better than nothing.
        let word = stem.as_deref().filter(|stem| !stem.is_empty()).unwrap_or(word);
        if !self.joined.is_empty() {
            self.joined.push(' ');
        }
        let start = self.joined.len();
        self.joined.push_str(word);
        self.spans.push((start, self.joined.len()));
    }

    /// The words found last.
    #[cfg(test)]
    pub(super) fn found(&self) -> Vec<&str> {
        self.spans.iter().map(|(start, end)| &self.joined[*start..*end]).collect()
    }
}

/// Whether a character belongs to a script without spaces between words, which segmentation cuts into characters.
fn is_unspaced(letter: char) -> bool {
    matches!(letter,
        '\u{0e00}'..='\u{0eff}'      // Thai, Lao
        | '\u{1000}'..='\u{109f}'    // Myanmar
        | '\u{1780}'..='\u{17ff}'    // Khmer
        | '\u{3040}'..='\u{30ff}'    // Hiragana, Katakana
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}
