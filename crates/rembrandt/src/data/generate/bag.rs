//! Words in order as they come, each with how often it came.
//!
//! Sorting and looking for those that came twice would take longer than drawing. So a word goes straight to about the
//! place that it will have among the others: a table a few times as long as there are words, a place in it that grows with
//! the word, and a word whose place is taken goes after the smaller ones and before the larger. Half of the words are
//! uniform and half have uniform logarithms, and places are the mean of both, so that few meet. If the words were others
//! than these, this would be slower, and just as right: places grow with words in integer arithmetic, without rounding.

/// Places for each word.
const ROOM: usize = 3;
/// What is in a place: a word in the upper half, and how often it came in the lower. Words are below 2³² - 1, so that
/// nothing is larger than any word.
const NOTHING: u64 = u64::MAX;

pub struct Bag {
    /// Half of the places, for a word and for its logarithm: 2⁶³ divided by what they grow to.
    per_word: u64,
    per_log: u64,
    places: u64,
    table: Vec<u64>,
    /// The entries of the table without the free places.
    taken: Vec<u64>,
    len: usize,
}

/// A logarithm that grows with the word, piecewise linear: the bits of a float, 2²³ to an octave.
#[inline]
fn log_bits(word: u32) -> u64 {
    u64::from((word as f32 + 2.0).to_bits() - 2f32.to_bits())
}

impl Bag {
    /// For words below `count`.
    pub fn new(count: usize) -> Bag {
        let last = count as u32 - 1;
        let share = |most: u64| (1 << 63) / (most + 1);
        let (per_word, per_log) = (share(u64::from(last)), share(log_bits(last)));
        Bag { per_word, per_log, places: 0, table: Vec::new(), taken: Vec::new(), len: 0 }
    }

    /// Empties the bag, and makes room for so many words.
    pub fn clear(&mut self, room: usize) {
        self.places = (ROOM * room) as u64;
        // Words that go after others may go beyond the places, and there is always one that is free.
        self.table.clear();
        self.table.resize(ROOM * room + room + 1, NOTHING);
        self.len = 0;
    }

    /// Distinct words.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Adds words.
    pub fn add(&mut self, words: &[u32]) {
        words.iter().for_each(|word| self.add_one(*word));
    }

    #[inline]
    fn add_one(&mut self, word: u32) {
        let at = log_bits(word) * self.per_log + u64::from(word) * self.per_word;
        let mut at = (((at >> 32) * self.places) >> 32) as usize;
        let mut entry = u64::from(word) << 32 | 1;
        // The word itself is not before its first entry: it has come once or more.
        while self.table[at] < entry {
            at += 1;
        }
        if self.table[at] >> 32 == u64::from(word) {
            self.table[at] += 1;
            return;
        }
        self.len += 1;
        while entry != NOTHING {
            std::mem::swap(&mut self.table[at], &mut entry);
            at += 1;
        }
    }

    /// Takes the words out, ascending, with how often they came.
    pub fn take(&mut self, words: &mut Vec<u32>, times: &mut Vec<f32>) {
        self.taken.resize(self.len + 1, 0);
        let (taken, mut len) = (&mut self.taken[..], 0);
        // Every entry is copied to the next free place, and what was no word is written over: nothing for the processor
        // to guess.
        for entry in &self.table {
            taken[len] = *entry;
            len += usize::from(*entry != NOTHING);
        }
        words.clear();
        words.extend(self.taken[..len].iter().map(|entry| (entry >> 32) as u32));
        times.clear();
        times.extend(self.taken[..len].iter().map(|entry| *entry as u32 as f32));
    }
}

#[cfg(test)]
mod tests {
    use super::super::draw::{Draw, Zipf, below};
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn words_come_out_in_order_with_how_often_they_came() {
        let (mut words, mut times) = (Vec::new(), Vec::new());
        for (count, room) in [(1, 1), (2, 30), (50, 40), (5000, 100), (1_600_000, 42), (u32::MAX as usize, 300)] {
            let (mut bag, mut draw, zipf) = (Bag::new(count), Draw::new(1, count as u64), Zipf::new(count));
            for kind in 0..4 {
                let mut truth = BTreeMap::new();
                bag.clear(room);
                for _ in 0..room {
                    let bits = draw.bits();
                    // Also what the places are not made for: all at one end.
                    let word = match kind {
                        0 => below(bits, count as u64) as u32,
                        1 => zipf.at(bits),
                        2 => below(bits, (count as u64).min(50)) as u32,
                        _ => count as u32 - 1 - below(bits, (count as u64).min(50)) as u32,
                    };
                    bag.add(&[word]);
                    *truth.entry(word).or_insert(0.0) += 1.0;
                }
                bag.take(&mut words, &mut times);
                assert_eq!(bag.len(), truth.len());
                assert_eq!(words.iter().copied().zip(times.iter().copied()).collect::<BTreeMap<_, _>>(), truth);
                assert!(words.is_sorted());
            }
        }
    }
}
