//! Made-up data of any size that behave like texts with very many labels.
//!
//! An example is made from one label, its *subject*, drawn from Zipf's law, so that the last of the labels have one or two
//! examples. Labels belong to topics. The example then gets
//!
//! - **labels**: the subject, and others of its topic, each subject having its own few companions. Each label is
//!   replaced by one drawn at random with probability `noise`, as when people forget or mistake a label;
//! - **words**: some that belong to the subject, some of its topic, and the rest from the whole language, all by
//!   Zipf's law. A value is how often the word was drawn times the logarithm of how rare it is, and rows have length 1.
//!
//! Nothing about labels, topics or words is stored: what belongs to what is a hash, and draws from Zipf's law invert its
//! distribution function. So memory does not grow with the data, and an example depends on the seed, its part and its
//! number alone: any number of threads makes the same data.
//!
//! Whoever knows the subject of an example predicts it, and is right unless noise has replaced it. That is as good as
//! any classifier can be, and what it comes to on the examples made is reported as the best precision at 1
//! ([`Generated::best_p1`]).

mod write;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::{Rows, Shape};
use crate::{Error, Result};

pub use write::{Generated, GeneratedAs};

/// Labels of a topic, on average.
const TOPIC: usize = 40;
/// Words that belong to a label, and to a topic.
const LABEL_WORDS: usize = 6;
const TOPIC_WORDS: usize = 200;
/// Companions of a label.
const COMPANIONS: usize = 8;
/// Shares of the words of an example that come from its subject and from its topic.
const OF_SUBJECT: f64 = 0.15;
const OF_TOPIC: f64 = 0.35;
/// How much lengths of examples differ: the standard deviation of their logarithm.
const SPREAD: f64 = 0.5;
/// How often words are drawn for the places of those that came twice.
const ROUNDS: usize = 3;

/// What data to make. Plain data; checked before any work.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Generator {
    /// Training examples, features and labels.
    pub shape: Shape,
    /// Test examples.
    pub test: usize,
    /// Features of an example, on average.
    pub nnz: f64,
    /// Labels of an example, on average; 1 makes every example have one.
    pub labels: f64,
    /// How likely each label is replaced by another.
    pub noise: f64,
    /// Seed of everything.
    pub seed: u64,
}

/// Training or test data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// To learn from.
    Train,
    /// To test on.
    Test,
}

impl Generator {
    /// Data of a size of one's own, with a tenth as many test examples.
    pub fn new(shape: Shape, nnz: f64, labels: f64) -> Generator {
        Generator { shape, test: (shape.n / 10).max(1), nnz, labels, noise: 0.3, seed: 1 }
    }

    /// The size of LSHTC, the larger data set of the paper: Wikipedia articles and their categories.
    pub fn lshtc() -> Generator {
        let shape = Shape { n: 2_400_000, d: 1_600_000, c: 325_000 };
        Generator { test: 100_000, ..Generator::new(shape, 42.0, 3.2) }
    }

    /// The size of ODP, the other one: web pages and their one category.
    pub fn odp() -> Generator {
        let shape = Shape { n: 1_500_000, d: 500_000, c: 105_000 };
        Generator { test: 100_000, ..Generator::new(shape, 50.0, 1.0) }
    }

    /// Checks everything, before any work.
    pub fn check(&self) -> Result<()> {
        let Shape { n, d, c } = self.shape;
        let wrong = |reason: &str| Err(Error::parameter("shape", reason));
        if n == 0 || d == 0 || c == 0 || self.test == 0 {
            return wrong("there must be examples, features and labels");
        }
        if d > u32::MAX as usize || c > u32::MAX as usize {
            return wrong("features and labels are numbered with 32 bits: ask for fewer");
        }
        if !(self.nnz.is_finite() && self.nnz >= 1.0 && self.nnz <= d as f64 / 2.0) {
            return wrong("an example must have at least one feature on average, and at most half of all");
        }
        let most = (1 + COMPANIONS.min(self.topic_size() - 1)) as f64;
        if !(self.labels.is_finite() && self.labels >= 1.0 && self.labels <= most) {
            return Err(Error::parameter("shape", format!("an example must have 1 to {most} labels on average")));
        }
        if !(0.0..1.0).contains(&self.noise) {
            return Err(Error::parameter("noise", "must be at least 0 and below 1"));
        }
        Ok(())
    }

    /// Makes examples `from..to` of a part, and counts those that have their subject among their labels.
    pub fn rows(&self, part: Part, from: usize, to: usize) -> (Rows, u64) {
        let (mut rows, mut told) = (Rows::new(), 0);
        let (mut words, mut labels) = (Vec::new(), Vec::new());
        for i in from..to {
            let mut draw = Draw::new(self.seed, part, i);
            let subject = draw.zipf(self.shape.c);
            self.draw_labels(subject, &mut draw, &mut labels);
            told += u64::from(labels.contains(&subject));
            labels.iter().for_each(|label| rows.y.push(*label, 1.0));
            rows.y.end_row();
            self.draw_words(subject, &mut draw, &mut words);
            words.iter().for_each(|(word, value)| rows.x.push(*word, *value));
            rows.x.end_row();
        }
        (rows, told)
    }

    /// The labels of an example, ascending.
    fn draw_labels(&self, subject: u32, draw: &mut Draw, labels: &mut Vec<u32>) {
        labels.clear();
        labels.push(subject);
        // Each companion with the same probability: the mean is what was asked for, but for noise that hits a label twice.
        let companions = self.companions(subject);
        let likely = if companions.is_empty() { 0.0 } else { (self.labels - 1.0) / companions.len() as f64 };
        labels.extend(companions.into_iter().filter(|_| draw.unit() < likely));
        for label in &mut *labels {
            if draw.unit() < self.noise {
                *label = draw.zipf(self.shape.c);
            }
        }
        labels.sort_unstable();
        labels.dedup();
    }

    /// The companions of a label: others of its topic, the frequent ones more likely.
    fn companions(&self, label: u32) -> Vec<u32> {
        let (topics, size) = (self.topics(), self.topic_size());
        let mut draw = Draw::keyed(self.seed, COMPANION, u64::from(label));
        let mut companions = Vec::with_capacity(COMPANIONS);
        while companions.len() < COMPANIONS.min(size - 1) {
            let mut at = draw.zipf(size) as usize;
            // Whoever is taken already is followed by the next of the topic.
            let mut companion = (at * topics) as u32 + label % topics as u32;
            while companion == label || companions.contains(&companion) {
                at = (at + 1) % size;
                companion = (at * topics) as u32 + label % topics as u32;
            }
            companions.push(companion);
        }
        companions
    }

    /// The words of an example with their values, ascending.
    fn draw_words(&self, subject: u32, draw: &mut Draw, words: &mut Vec<(u32, f32)>) {
        let d = self.shape.d;
        let scatter = (SPREAD * draw.normal() - SPREAD * SPREAD / 2.0).exp();
        let count = ((self.nnz * scatter).round() as usize).clamp(1, d.div_ceil(2));
        let topic = u64::from(subject) % self.topics() as u64;
        words.clear();
        // Draws that hit a word again make it heavier, and others take their place, but not for ever.
        for _ in 0..ROUNDS {
            for _ in words.len()..count {
                let from = draw.unit();
                let word = if from < OF_SUBJECT {
                    self.word(SUBJECT_WORD, u64::from(subject), draw.zipf(LABEL_WORDS))
                } else if from < OF_SUBJECT + OF_TOPIC {
                    self.word(TOPIC_WORD, topic, draw.zipf(TOPIC_WORDS))
                } else {
                    draw.zipf(d)
                };
                words.push((word, 1.0));
            }
            words.sort_unstable_by_key(|(word, _)| *word);
            words.dedup_by(|again, first| {
                let same = again.0 == first.0;
                first.1 += if same { again.1 } else { 0.0 };
                same
            });
        }
        words.iter_mut().for_each(|(word, times)| *times *= (2.0 + *word as f32).ln());
        let length = words.iter().map(|(_, v)| f64::from(*v) * f64::from(*v)).sum::<f64>().sqrt() as f32;
        words.iter_mut().for_each(|(_, value)| *value /= length);
    }

    /// A word of a label or a topic: any of the language, rare ones as likely as frequent ones.
    fn word(&self, kind: u64, of: u64, rank: u32) -> u32 {
        (hash([self.seed, kind, of, u64::from(rank)]) % self.shape.d as u64) as u32
    }

    fn topics(&self) -> usize {
        (self.shape.c / TOPIC).max(1)
    }

    /// Labels that every topic has; some have one more, which is nobody's companion.
    fn topic_size(&self) -> usize {
        self.shape.c / self.topics()
    }
}

/// What a hash or a draw is for: the same numbers must not serve two purposes.
const COMPANION: u64 = 1;
const SUBJECT_WORD: u64 = 2;
const TOPIC_WORD: u64 = 3;
const EXAMPLE: u64 = 4;

fn hash(key: [u64; 4]) -> u64 {
    xxh3_64(bytemuck::cast_slice(&key))
}

/// Random numbers of one example.
struct Draw(ChaCha8Rng);

impl Draw {
    fn new(seed: u64, part: Part, example: usize) -> Draw {
        Draw::keyed(seed, EXAMPLE, 2 * example as u64 + u64::from(part == Part::Test))
    }

    fn keyed(seed: u64, kind: u64, number: u64) -> Draw {
        let mut rng = ChaCha8Rng::seed_from_u64(hash([seed, kind, 0, 0]));
        rng.set_stream(number);
        Draw(rng)
    }

    /// Uniform on [0, 1).
    fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        let (u, v) = (1.0 - self.unit(), self.unit());
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }

    /// A number below `count`, about in inverse proportion to one more than itself.
    fn zipf(&mut self, count: usize) -> u32 {
        let rank = (self.unit() * (count as f64 + 1.0).ln()).exp() as usize;
        (rank.clamp(1, count) - 1) as u32
    }
}

#[cfg(test)]
mod tests;
