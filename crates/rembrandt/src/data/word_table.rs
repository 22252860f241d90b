//! [`WordTable`]: distinct words, numbered in the order of first appearance.

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use xxhash_rust::xxh3::xxh3_64;

/// Distinct words, numbered as they come: all text in one string, and a table of numbers that finds them.
///
/// Next to a map of owned strings this saves an allocation per word, which is most of the cost with millions of them.
#[derive(Clone, Debug, Default)]
pub(super) struct WordTable {
    words: WordList,
    ids: HashTable<u32>,
}

#[derive(Clone, Debug, Default)]
struct WordList {
    text: String,
    /// Where each word ends in `text`.
    ends: Vec<usize>,
}

impl WordList {
    #[inline]
    fn word(&self, id: u32) -> &str {
        let id = id as usize;
        let start = if id == 0 { 0 } else { self.ends[id - 1] };
        &self.text[start..self.ends[id]]
    }
}

fn hash(word: &str) -> u64 {
    xxh3_64(word.as_bytes())
}

impl WordTable {
    /// Number of words.
    pub(super) fn len(&self) -> usize {
        self.words.ends.len()
    }

    /// The word with number `id`.
    pub(super) fn word(&self, id: u32) -> &str {
        self.words.word(id)
    }

    /// All words, in the order of their ids.
    pub(super) fn words(&self) -> impl Iterator<Item = &str> {
        (0..self.len() as u32).map(|id| self.word(id))
    }

    /// The number of a word, a new one when it is new; `None` when all numbers below 2³² − 1 are taken.
    pub(super) fn id(&mut self, word: &str) -> Option<u32> {
        let WordTable { words, ids } = self;
        match ids.entry(hash(word), |id| words.word(*id) == word, |id| hash(words.word(*id))) {
            Entry::Occupied(entry) => Some(*entry.get()),
            Entry::Vacant(entry) => {
                let id = u32::try_from(words.ends.len()).ok().filter(|id| *id < u32::MAX)?;
                entry.insert(id);
                words.text.push_str(word);
                words.ends.push(words.text.len());
                Some(id)
            }
        }
    }

    /// The number of a word, if the table has it.
    #[inline]
    pub(super) fn find(&self, word: &str) -> Option<u32> {
        self.ids.find(hash(word), |id| self.word(*id) == word).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    proptest! {
        #[test]
        fn ids_follow_first_appearance(words in prop::collection::vec("[a-c]{0,4}", 0..400)) {
            let (mut table, mut expected) = (WordTable::default(), HashMap::new());
            for word in &words {
                let next = expected.len() as u32;
                prop_assert_eq!(table.find(word), expected.get(word.as_str()).copied());
                let id = *expected.entry(word.as_str()).or_insert(next);
                prop_assert_eq!(table.id(word), Some(id));
                prop_assert_eq!(table.word(id), word);
            }
            prop_assert_eq!(table.len(), expected.len());
            prop_assert!(table.words().enumerate().all(|(id, word)| expected[word] == id as u32));
        }
    }
}
