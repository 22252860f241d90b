//! One example after the other, from what is known of all of them.

use std::ops::Range;

use super::draw::{Draw, DrawRanks, Zipf, chance, exp, hash};
use super::words::{DrawWords, ExampleWords, Sources};
use super::{COMPANIONS, Generator, LABEL_WORDS, OF_SUBJECT, OF_TOPIC, Part, SPREAD, TOPIC_WORDS};
use rembrandt::data::Rows;
use rembrandt::linalg::kernels::simd::Level;

/// The purpose of a hash or a draw: the same numbers must not serve two purposes.
const COMPANION: u64 = 1;
const SUBJECT_WORD: u64 = 2;
const TOPIC_WORD: u64 = 3;
const EXAMPLE: u64 = 4;

/// The lower half of what is drawn.
const LOW: u64 = u32::MAX as u64;

/// Makes examples, in memory of its own.
pub struct Maker {
    generator: Generator,
    topics: u32,
    topic_size: usize,
    /// Keys of draws and hashes, by what they are for.
    keys: [u64; 5],
    labels: Zipf,
    companions: Zipf,
    noise: u64,
    companion: u64,
    sources: Sources,
    words: ExampleWords,
    level: Level,
}

impl Maker {
    pub fn new(generator: &Generator) -> Maker {
        let (topics, topic_size, d) = (generator.topics(), generator.topic_size(), generator.shape.d);
        // Each companion with the same probability: the mean is what was asked for, but for noise that hits a label twice.
        let companions = COMPANIONS.min(topic_size - 1);
        let likely = if companions == 0 { 0.0 } else { (generator.labels - 1.0) / companions as f64 };
        Maker {
            generator: *generator,
            topics: topics as u32,
            topic_size,
            keys: [0, COMPANION, SUBJECT_WORD, TOPIC_WORD, EXAMPLE].map(|kind| hash(hash(0, generator.seed), kind)),
            labels: Zipf::new(generator.shape.c),
            companions: Zipf::new(topic_size),
            noise: chance(generator.noise),
            companion: chance(likely),
            sources: Sources::new([LABEL_WORDS, TOPIC_WORDS, d], [OF_SUBJECT, OF_TOPIC]),
            words: ExampleWords::default(),
            level: Level::best(),
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
            rows.x.push_row(self.words.words(), self.words.values());
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
        let draw = &Draw::new(self.keys[COMPANION as usize], u64::from(label));
        let (size, own, topic) = (self.topic_size, (label / self.topics) as usize, label % self.topics);
        let (mut companions, count) = ([0; COMPANIONS], COMPANIONS.min(size - 1));
        self.level.run(DrawRanks { law: self.companions, draw, ranks: &mut companions[..] });
        // Places in the topic that are taken, and the label's own; a topic has fewer than twice its average.
        let mut taken = 1u128 << own;
        for companion in &mut companions[..count] {
            let mut at = *companion as usize;
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
        let of_subject = hash(self.keys[SUBJECT_WORD as usize], u64::from(subject));
        let of_topic = hash(self.keys[TOPIC_WORD as usize], u64::from(subject % self.topics));
        let (words, sources, keys) = (&mut self.words, &self.sources, [of_subject, of_topic]);
        self.level.run(DrawWords { words, sources, keys, draw, count });
    }
}
