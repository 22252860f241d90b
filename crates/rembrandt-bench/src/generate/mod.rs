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
//! Making data up should take no longer than writing them, which leaves some tens of cycles for a word. So there is nothing
//! between the draws and the file that costs more: random numbers are a counter that is mixed, powers and logarithms are
//! polynomials, words are drawn, sorted and weighed without branches (`words.rs`), and one thread writes while the others
//! make, past the memory in which the system keeps files (`direct_io.rs`).
//!
//! Whoever knows the subject of an example predicts it, and is right unless noise has replaced it. That is as good as
//! any classifier can be, and what it comes to on the examples made is reported as the best precision at 1
//! ([`Generated::best_p1`]).

mod draw;
mod make;
mod pipeline;
mod report;
mod text;
mod words;
mod write;

use serde::{Deserialize, Serialize};

use make::Maker;
use rembrandt::data::Rows;
use rembrandt::{Error, Result, Shape};

pub use report::GeneratedFiles;
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

/// Parameters of made-up data. Plain data; checked before any work.
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
        let mut rows = Rows::new();
        let told = Maker::new(self).rows(part, from..to, &mut rows);
        (rows, told)
    }

    fn topics(&self) -> usize {
        (self.shape.c / TOPIC).max(1)
    }

    /// Labels that every topic has; some have one more, which is nobody's companion.
    fn topic_size(&self) -> usize {
        self.shape.c / self.topics()
    }
}

#[cfg(test)]
mod tests;
