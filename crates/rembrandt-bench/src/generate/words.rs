//! The words of an example: drawn, put in order and weighed, many at a time.
//!
//! Every step is a loop without branches over arrays, compiled for the widest vector instructions that the processor has.
//! The usual ways to sort a few dozen numbers guess wrong about as often as there are numbers, and each wrong guess takes as
//! long as drawing several. So every word is compared with every other one, sixteen at a time, and how many are before it
//! is its place: that is quicker as long as there are at most a few hundred.

use super::draw::{Draw, Zipf, below, log2, spread};
use rembrandt::linalg::kernels::simd::Work;

/// Words that are looked at together.
const LANES: usize = 16;
/// Words that these are compared with before their counts are stored.
const OTHERS: usize = 4;
/// More words than this are sorted by a method whose time does not grow with the square of their number.
const COMPARED: usize = 384;
/// How often words are drawn for the places of those that came twice.
const ROUNDS: usize = 3;
/// The binary digits that decide where a word comes from. Its rank comes from those above.
const SOURCE_BITS: u64 = 16;

/// Where words come from: a share of them from the subject, a share from the topic, the rest from the language.
#[derive(Clone, Copy)]
pub struct Sources {
    /// Ranks of words of a subject, of a topic and of the language.
    ranks: [Zipf; 3],
    /// Below these digits, the source of a word is its subject, or its topic.
    digits: [u64; 2],
    /// Words of the language.
    count: u64,
}

impl Sources {
    /// How many words a subject, a topic and the language have, and what shares the first two have.
    pub fn new(counts: [usize; 3], shares: [f64; 2]) -> Sources {
        let of = |share: f64| (share * (1u64 << SOURCE_BITS) as f64).round() as u64;
        let digits = [of(shares[0]), of(shares[0] + shares[1])];
        Sources { ranks: counts.map(Zipf::new), digits, count: counts[2] as u64 }
    }

    /// The word that some random bits stand for. Words of a subject or a topic are any of the language, rare ones as
    /// likely as frequent ones: a hash of their rank under the key of the subject or the topic.
    #[inline(always)]
    fn word(&self, bits: u64, keys: [u64; 2]) -> u32 {
        let digits = bits & ((1 << SOURCE_BITS) - 1);
        let (of_subject, of_either) = (digits < self.digits[0], digits < self.digits[1]);
        let [subject, topic, language] = self.ranks;
        let rank = Zipf::either(of_subject, subject, Zipf::either(of_either, topic, language)).at(bits);
        let hashed = below(spread(if of_subject { keys[0] } else { keys[1] }, rank), self.count) as u32;
        if of_either { hashed } else { rank }
    }
}

/// The words of one example after the other, in memory of their own.
#[derive(Default)]
pub struct ExampleWords {
    /// Words as they were drawn, some more than needed.
    drawn: Vec<u32>,
    /// How many of them are smaller than each: its place.
    places: Vec<u32>,
    /// The content of each place: a word in the upper half, and how often it came in the lower. Nothing is 0.
    table: Vec<u64>,
    /// The distinct words, ascending, and how often they came or what they weigh.
    words: Vec<u32>,
    values: Vec<f32>,
    len: usize,
}

/// Draws so many words for an example, from what comes next in `draw`, with the keys of its subject and its topic.
pub struct DrawWords<'a> {
    pub words: &'a mut ExampleWords,
    pub sources: &'a Sources,
    pub keys: [u64; 2],
    pub draw: &'a Draw,
    pub count: usize,
}

impl Work for DrawWords<'_> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let DrawWords { words, keys, draw, count, .. } = self;
        // A copy is known not to change while words are written, so no vector of it is fetched anew.
        let sources = *self.sources;
        // A few more than were asked for: some will come twice.
        let mut room = (count + count / 3).next_multiple_of(OTHERS) + OTHERS;
        loop {
            words.make_room(room);
            for (i, drawn) in words.drawn[..room.next_multiple_of(LANES)].iter_mut().enumerate() {
                *drawn = sources.word(draw.ahead(i as u64), keys);
            }
            words.find_places(room);
            match words.fill_table(room, count) {
                Ok(()) => break,
                Err(more) => room = more.next_multiple_of(OTHERS),
            }
        }
        words.take(room);
        words.weigh();
    }
}

impl ExampleWords {
    /// The words, ascending.
    pub fn words(&self) -> &[u32] {
        &self.words[..self.len]
    }

    /// The weight of each of them; the squares sum to 1.
    pub fn values(&self) -> &[f32] {
        &self.values[..self.len]
    }

    fn make_room(&mut self, room: usize) {
        // There is a place after the last one.
        let lanes = room.next_multiple_of(LANES) + LANES;
        if self.drawn.len() < lanes {
            self.drawn.resize(lanes, 0);
            self.places.resize(lanes, 0);
            self.table.resize(lanes, 0);
            self.words.resize(lanes, 0);
            self.values.resize(lanes, 0.0);
        }
    }

    /// Finds the places of all words drawn. Equal ones have the same, and as many after it are free.
    #[inline(always)]
    fn find_places(&mut self, room: usize) {
        let lanes = room.next_multiple_of(LANES);
        let (drawn, places) = (&self.drawn[..lanes], &mut self.places[..lanes]);
        if room > COMPARED {
            return sorted_places(&drawn[..room], places);
        }
        places.fill(0);
        for others in drawn[..room].as_chunks::<OTHERS>().0 {
            for (words, places) in drawn.as_chunks::<LANES>().0.iter().zip(places.as_chunks_mut::<LANES>().0) {
                for (word, place) in words.iter().zip(places) {
                    let [a, b, c, d] = others.map(|other| u32::from(other < *word));
                    *place += (a + b) + (c + d);
                }
            }
        }
    }

    /// Puts as many words in their places as the example takes, or says how many there must be.
    ///
    /// Draws that hit a word again make it heavier, and others take their place, but not for ever.
    #[inline(always)]
    fn fill_table(&mut self, room: usize, count: usize) -> Result<(), usize> {
        let table = &mut self.table[..room];
        table.fill(0);
        let (mut from, mut distinct) = (0, 0);
        for _ in 0..ROUNDS {
            let to = from + count - distinct;
            if to > room {
                return Err(to + to / 4);
            }
            for (word, place) in self.drawn[from..to].iter().zip(&self.places[from..to]) {
                let entry = &mut table[*place as usize];
                distinct += usize::from(*entry == 0);
                *entry = u64::from(*word) << 32 | u64::from(*entry as u32 + 1);
            }
            from = to;
        }
        Ok(())
    }

    /// Takes the words out of their places, with how often they came.
    #[inline(always)]
    fn take(&mut self, room: usize) {
        let (words, values) = (&mut self.words[..], &mut self.values[..]);
        // Every entry is copied to the next free place, and what was no word is written over: nothing for the processor
        // to guess.
        let mut len = 0;
        for entry in &self.table[..room] {
            words[len] = (entry >> 32) as u32;
            values[len] = *entry as u32 as f32;
            len += usize::from(*entry != 0);
        }
        self.len = len;
        // Padding in the last lanes weighs nothing.
        values[len..len.next_multiple_of(LANES)].fill(0.0);
    }

    /// Makes weights of how often words came: times how rare they are, and such that their squares sum to 1.
    #[inline(always)]
    fn weigh(&mut self) {
        let len = self.len.next_multiple_of(LANES);
        let words = self.words[..len].as_chunks::<LANES>().0;
        let values = self.values[..len].as_chunks_mut::<LANES>().0;
        let mut squares = [0f32; LANES];
        for (words, values) in words.iter().zip(&mut *values) {
            for ((word, value), square) in words.iter().zip(values).zip(&mut squares) {
                *value *= log2(*word);
                *square += *value * *value;
            }
        }
        let scale = 1.0 / squares.iter().sum::<f32>().sqrt();
        values.as_flattened_mut().iter_mut().for_each(|value| *value *= scale);
    }
}

/// Finds how many words are smaller than each by sorting them: for more words than can be compared with one another.
fn sorted_places(words: &[u32], places: &mut [u32]) {
    let mut order: Vec<u64> = words.iter().zip(0..).map(|(word, i)| u64::from(*word) << 32 | i).collect();
    order.sort_unstable();
    let (mut first, mut last) = (0, None);
    for (place, entry) in (0..).zip(&order) {
        if last.replace(entry >> 32) != Some(entry >> 32) {
            first = place;
        }
        places[*entry as u32 as usize] = first;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rembrandt::linalg::kernels::simd::Level;
    use std::collections::BTreeMap;

    /// The words of an example and how often they came, found one after the other.
    fn slow(sources: &Sources, keys: [u64; 2], draw: &Draw, count: usize) -> BTreeMap<u32, f64> {
        let (mut times, mut draws) = (BTreeMap::new(), 0..);
        for _ in 0..ROUNDS {
            for i in draws.by_ref().take(count - times.len()).collect::<Vec<_>>() {
                *times.entry(sources.word(draw.ahead(i), keys)).or_insert(0.0) += 1.0;
            }
        }
        times
    }

    #[test]
    fn words_come_in_order_and_weigh_what_they_should_on_any_processor() {
        // From one word to all that there may be, and from examples that hit few words twice to those that hit most.
        let cases = [(1, 1), (2, 1), (50, 25), (300, 150), (5000, 100), (1_600_000, 42), (5000, 2500)];
        let levels = Level::all();
        let mut found = ExampleWords::default();
        for (words, count) in cases.into_iter().chain([(u32::MAX as usize, 300), (1_600_000, 17), (1_600_000, 700)]) {
            let sources = Sources::new([6, 200, words], [0.15, 0.35]);
            for number in 0..20 {
                let (draw, keys) = (Draw::new(7, number), [number << 40, number << 50 | 1]);
                let truth = slow(&sources, keys, &draw, count);
                let length = truth.iter().map(|(word, times)| (times * f64::from(log2(*word))).powi(2)).sum::<f64>();
                let mut bits: Option<Vec<u32>> = None;
                for level in &levels {
                    level.run(DrawWords { words: &mut found, sources: &sources, keys, draw: &draw, count });
                    assert!(found.words().iter().eq(truth.keys()), "{count} of {words}");
                    for ((word, times), value) in truth.iter().zip(found.values()) {
                        let exact = times * f64::from(log2(*word)) / length.sqrt();
                        assert!((f64::from(*value) / exact - 1.0).abs() < 1e-5, "{value} for {exact}");
                    }
                    // The same to the last bit, whatever the instructions.
                    let these: Vec<u32> = found.values().iter().map(|value| value.to_bits()).collect();
                    assert_eq!(*bits.get_or_insert_with(|| these.clone()), these);
                }
            }
        }
    }

    #[test]
    fn sorting_finds_the_places_that_comparing_finds() {
        let mut words = ExampleWords::default();
        for room in [4, 8, 64, 100, 384] {
            words.make_room(room);
            let mut draw = Draw::new(1, room as u64);
            words.drawn.iter_mut().for_each(|word| *word = below(draw.bits(), 60) as u32);
            words.find_places(room);
            let mut sorted = vec![0; room];
            sorted_places(&words.drawn[..room], &mut sorted);
            assert_eq!(words.places[..room], sorted);
        }
    }
}
