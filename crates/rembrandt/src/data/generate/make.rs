//! One example after the other, from what is known of all of them.

use std::ops::Range;

use super::bag::Bag;
use super::draw::{Draw, Zipf, below, chance, exp, hash, log2};
use super::{COMPANIONS, Generator, LABEL_WORDS, OF_SUBJECT, OF_TOPIC, Part, ROUNDS, SPREAD, TOPIC_WORDS};
use crate::data::Rows;

/// What a hash or a draw is for: the same numbers must not serve two purposes.
const COMPANION: u64 = 1;
const SUBJECT_WORD: u64 = 2;
const TOPIC_WORD: u64 = 3;
const EXAMPLE: u64 = 4;

/// The lower half of what is drawn.
const LOW: u64 = u32::MAX as u64;

/// The binary digits that decide where a word comes from. Its rank comes from those above.
const SOURCE_BITS: u64 = 16;

/// Makes examples, in memory of its own.
pub struct Maker {
    generator: Generator,
    topics: u32,
    topic_size: usize,
    /// Keys of draws and hashes, by what they are for.
    keys: [u64; 5],
    labels: Zipf,
    companions: Zipf,
    /// Ranks of words of a subject, of a topic and of the language.
    ranks: [Zipf; 3],
    /// Below these, the source of a word is its subject, or its topic.
    sources: [u64; 2],
    noise: u64,
    companion: u64,
    bag: Bag,
    words: Vec<u32>,
    values: Vec<f32>,
}

impl Maker {
    pub fn new(generator: &Generator) -> Maker {
        let (topics, topic_size, d) = (generator.topics(), generator.topic_size(), generator.shape.d);
        // Each companion with the same probability: the mean is what was asked for, but for noise that hits a label twice.
        let companions = COMPANIONS.min(topic_size - 1);
        let likely = if companions == 0 { 0.0 } else { (generator.labels - 1.0) / companions as f64 };
        let of = |share: f64| (share * (1u64 << SOURCE_BITS) as f64).round() as u64;
        Maker {
            generator: *generator,
            topics: topics as u32,
            topic_size,
            keys: [0, COMPANION, SUBJECT_WORD, TOPIC_WORD, EXAMPLE].map(|kind| hash(hash(0, generator.seed), kind)),
            labels: Zipf::new(generator.shape.c),
            companions: Zipf::new(topic_size),
            ranks: [LABEL_WORDS, TOPIC_WORDS, d].map(Zipf::new),
            sources: [of(OF_SUBJECT), of(OF_SUBJECT + OF_TOPIC)],
            noise: chance(generator.noise),
            companion: chance(likely),
            bag: Bag::new(d),
            words: Vec::new(),
            values: Vec::new(),
        }
    }

    /// Adds examples to `rows`, and counts those that have their subject among their labels.
    pub fn rows(&mut self, part: Part, examples: Range<usize>, rows: &mut Rows) -> u64 {
        let mut told = 0;
        for example in examples {
            let number = 2 * example as u64 + u64::from(part == Part::Test);
            let mut draw = Draw::new(self.keys[EXAMPLE as usize], number);
            let subject = self.labels.at(draw.bits());
            let (labels, len) = self.draw_labels(subject, &mut draw);
            told += u64::from(labels[..len].contains(&subject));
            rows.y.push_row(&labels[..len], &[1.0; 1 + COMPANIONS][..len]);
            self.draw_words(subject, &mut draw);
            rows.x.push_row(&self.words, &self.values);
        }
        told
    }

    /// The labels of an example, ascending, and how many there are.
    fn draw_labels(&self, subject: u32, draw: &mut Draw) -> ([u32; 1 + COMPANIONS], usize) {
        let mut labels = [subject; 1 + COMPANIONS];
        let mut len = 1;
        if self.companion > 0 {
            let (companions, count) = self.companions(subject);
            // A draw decides on two.
            for two in companions[..count].chunks(2) {
                let bits = draw.bits();
                for (companion, bits) in two.iter().zip([bits >> 32, bits & LOW]) {
                    labels[len] = *companion;
                    len += usize::from(bits < self.companion);
                }
            }
        }
        for label in &mut labels[..len] {
            // The lower half decides whether, and the upper half by what.
            let bits = draw.bits();
            *label = if bits & LOW < self.noise { self.labels.at(bits) } else { *label };
        }
        labels[..len].sort_unstable();
        let mut kept = 1;
        for i in 1..len {
            labels[kept] = labels[i];
            kept += usize::from(labels[i] != labels[kept - 1]);
        }
        (labels, kept)
    }

    /// The companions of a label, and how many there are: others of its topic, the frequent ones more likely.
    fn companions(&self, label: u32) -> ([u32; COMPANIONS], usize) {
        let mut draw = Draw::new(self.keys[COMPANION as usize], u64::from(label));
        let (size, own, topic) = (self.topic_size, (label / self.topics) as usize, label % self.topics);
        let (mut companions, count) = ([0; COMPANIONS], COMPANIONS.min(size - 1));
        // Places in the topic that are taken, and the label's own; a topic has fewer than twice its average.
        let mut taken = 1u128 << own;
        let mut bits = 0;
        for (i, companion) in companions[..count].iter_mut().enumerate() {
            // Two ranks of a few dozen from one draw.
            bits = if i % 2 == 0 { draw.bits() } else { bits << 32 };
            let mut at = self.companions.at(bits) as usize;
            // Whoever is taken already is followed by the next of the topic.
            while taken >> at & 1 == 1 {
                at = if at + 1 == size { 0 } else { at + 1 };
            }
            taken |= 1 << at;
            *companion = at as u32 * self.topics + topic;
        }
        (companions, count)
    }

    /// The words of an example with their values, ascending.
    fn draw_words(&mut self, subject: u32, draw: &mut Draw) {
        let d = self.generator.shape.d;
        let scatter = exp(SPREAD * draw.normal() - SPREAD * SPREAD / 2.0);
        let count = ((self.generator.nnz * scatter).round() as usize).clamp(1, d.div_ceil(2));
        // Words of a label or a topic are any of the language, rare ones as likely as frequent ones.
        let of_subject = hash(self.keys[SUBJECT_WORD as usize], u64::from(subject));
        let of_topic = hash(self.keys[TOPIC_WORD as usize], u64::from(subject % self.topics));
        let keys = [of_subject, of_topic, 0];
        self.bag.clear(count);
        // Draws that hit a word again make it heavier, and others take their place, but not for ever.
        for _ in 0..ROUNDS {
            // All words of a round are drawn before the first goes to its place: where it goes is anyone's guess, and each
            // wrong guess of the processor would cost the draws that it had begun.
            self.words.clear();
            for _ in self.bag.len()..count {
                let bits = draw.bits();
                let digits = bits & ((1 << SOURCE_BITS) - 1);
                let source = usize::from(digits >= self.sources[0]) + usize::from(digits >= self.sources[1]);
                let rank = self.ranks[source].at(bits);
                let word = below(hash(keys[source], u64::from(rank)), d as u64) as u32;
                self.words.push(if source == 2 { rank } else { word });
            }
            self.bag.add(&self.words);
        }
        self.bag.take(&mut self.words, &mut self.values);
        let mut squares = [0f32; 8];
        for (words, values) in self.words.chunks(8).zip(self.values.chunks_mut(8)) {
            for ((word, value), square) in words.iter().zip(values).zip(&mut squares) {
                *value *= log2(*word);
                *square += *value * *value;
            }
        }
        let length = squares.iter().sum::<f32>().sqrt();
        self.values.iter_mut().for_each(|value| *value /= length);
    }
}
