//! [`WordTable`]: distinct words, numbered in the order of first appearance.

use xxhash_rust::xxh3::xxh3_64;

/// Distinct words, numbered as they come: all text in one string, found through a table of open addressing.
///
/// Next to a map of owned strings this saves an allocation per word, which is most of the cost with millions of them.
#[derive(Clone, Debug, Default)]
pub(in crate::data) struct WordTable {
    text: String,
    /// Where each word ends in `text`.
    ends: Vec<usize>,
    /// Id + 1 of the word in each slot, 0 when free; the length is a power of two.
    slots: Vec<u32>,
}

impl WordTable {
    /// Number of words.
    pub(in crate::data) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The word with number `id`.
    pub(in crate::data) fn word(&self, id: u32) -> &str {
        let id = id as usize;
        let start = if id == 0 { 0 } else { self.ends[id - 1] };
        &self.text[start..self.ends[id]]
    }

    /// All words, in the order of their ids.
    pub(in crate::data) fn words(&self) -> impl Iterator<Item = &str> {
        (0..self.len() as u32).map(|id| self.word(id))
    }

    /// The number of a word, a new one when it is new; `None` when all numbers below 2³² − 1 are taken.
    pub(in crate::data) fn id(&mut self, word: &str) -> Option<u32> {
        if self.ends.len() * 2 >= self.slots.len() {
            self.grow();
        }
        let mask = self.slots.len() - 1;
        let mut slot = xxh3_64(word.as_bytes()) as usize & mask;
        while let Some(id) = self.slots[slot].checked_sub(1) {
            if self.word(id) == word {
                return Some(id);
            }
            slot = (slot + 1) & mask;
        }
        let id = u32::try_from(self.len()).ok().filter(|id| *id < u32::MAX)?;
        self.text.push_str(word);
        self.ends.push(self.text.len());
        self.slots[slot] = id + 1;
        Some(id)
    }

    /// The number of a word, if the table has it.
    #[inline]
    pub(in crate::data) fn find(&self, word: &str) -> Option<u32> {
        let mask = self.slots.len().checked_sub(1)?;
        let mut slot = xxh3_64(word.as_bytes()) as usize & mask;
        while let Some(id) = self.slots[slot].checked_sub(1) {
            if self.word(id) == word {
                return Some(id);
            }
            slot = (slot + 1) & mask;
        }
        None
    }

    fn grow(&mut self) {
        let size = (self.slots.len() * 2).max(64);
        let mut slots = vec![0; size];
        for id in 0..self.len() as u32 {
            let mut slot = xxh3_64(self.word(id).as_bytes()) as usize & (size - 1);
            while slots[slot] != 0 {
                slot = (slot + 1) & (size - 1);
            }
            slots[slot] = id + 1;
        }
        self.slots = slots;
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
