//! What single features say of labels, without an embedding in between.
//!
//! An embedding has a few hundred dimensions for tens of thousands of labels. Where each label is told by words of its
//! own, as in the titles of books, no such space can keep the labels apart, and what a word says of a label is lost on
//! the way through it. So it is kept beside the embedding, as a sparse matrix: with X and Y of the training examples,
//!
//! ```text
//! e(f, l) = √( Σᵢ xᵢf yᵢl / (Σᵢ xᵢf² + ρ) )          and    score ← score + gain · Σ over features f of x_f E(f, l)
//! ```
//!
//! Under the root stands what a regression of the label on this feature alone would give; ρ, the mean of the sums of
//! squares, keeps rare features from saying too much. The root makes of many weak words less than of one strong word and
//! of one weak word more than nothing; on the titles of books, on which it was chosen, it is better than the regression
//! itself. A feature keeps the labels of which it says most.
//!
//! Such sums know nothing of each other. So weights that separate each label from those that the sums mistake for it are
//! learned as well (`separate.rs`), and both are added up into one matrix. For labels that were never mistaken the sums
//! stand alone. The gain of the whole, E, is chosen on held-out examples, and may be 0.
//!
//! It takes a few passes over the examples, and memory for what features and labels met and for what is mistaken.

mod build;
mod separate;
#[cfg(test)]
mod tests;

use std::io;
use std::ops::Range;

use crate::csr::CsrRef;
use crate::kernel::dots::Number;
use crate::matrix::Matrix;
use crate::pieces::{Load, Reader, Store, Writer};

pub(crate) use separate::rivals;

/// Examples that evidence is drawn from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen<'a> {
    /// Features and labels.
    pub x: CsrRef<'a>,
    pub y: CsrRef<'a>,
    /// What each counts; 0: it is not looked at.
    pub weights: Option<&'a [f32]>,
    pub d: usize,
    pub c: usize,
}

impl Seen<'_> {
    fn weight(&self, i: usize) -> f64 {
        self.weights.map_or(1.0, |weights| f64::from(weights[i]))
    }
}

/// A list that is so many times longer than the labels to be scored is searched for each of them.
const LONG: usize = 16;

/// What features say of labels, in memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Evidence {
    /// What it is multiplied with before it is added to scores.
    pub gain: f32,
    /// Where the labels of each feature begin, and the end: d + 1.
    pub(crate) starts: Vec<u64>,
    /// The labels of each feature, ascending.
    pub(crate) labels: Vec<u32>,
    /// E(f, l): the bits of a bfloat16.
    pub(crate) weights: Vec<u16>,
}

impl Evidence {
    /// Number of pairs of a feature and a label.
    pub fn pairs(&self) -> usize {
        self.labels.len()
    }

    pub(crate) fn view(&self) -> EvidenceRef<'_> {
        EvidenceRef { gain: self.gain, starts: &self.starts, labels: &self.labels, weights: &self.weights }
    }
}

impl Store for Evidence {
    fn store(&self, out: &mut Writer<'_>) -> io::Result<()> {
        (self.gain, &self.starts, &self.labels, &self.weights).store(out)
    }
}

impl Load for Evidence {
    fn load(from: &mut Reader) -> io::Result<Evidence> {
        let (gain, starts, labels, weights) = Load::load(from)?;
        Ok(Evidence { gain, starts, labels, weights })
    }
}

/// What features say of labels, wherever it lies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EvidenceRef<'a> {
    pub gain: f32,
    pub starts: &'a [u64],
    pub labels: &'a [u32],
    pub weights: &'a [u16],
}

impl EvidenceRef<'_> {
    /// What is wrong with evidence from a file, for `d` features and `c` labels.
    pub fn check(&self, d: usize, c: usize) -> Result<(), &'static str> {
        let ends = (self.starts.first(), self.starts.last());
        if self.starts.len() != d + 1 || ends != (Some(&0), Some(&(self.labels.len() as u64))) {
            return Err("its evidence does not fit its features");
        }
        if !self.starts.is_sorted() || self.weights.len() != self.labels.len() {
            return Err("its evidence contradicts itself");
        }
        let bad = |f: usize| {
            let labels = &self.labels[self.places(f)];
            !labels.is_sorted_by(|a, b| a < b) || labels.last().is_some_and(|label| *label as usize >= c)
        };
        if (0..d).any(bad) {
            return Err("its evidence names labels that it does not have, or one twice");
        }
        if !self.gain.is_finite() || self.weights.iter().any(|bits| !bits.widen().is_finite()) {
            return Err("its evidence holds numbers that are not finite");
        }
        Ok(())
    }

    fn places(&self, feature: usize) -> Range<usize> {
        self.starts[feature] as usize..self.starts[feature + 1] as usize
    }

    /// What a feature of value 1 adds to the score of a label.
    pub fn share(&self, feature: usize, label: u32) -> f32 {
        let places = self.places(feature);
        match self.labels[places.clone()].binary_search(&label) {
            Ok(at) => self.gain * self.weights[places.start + at].widen(),
            Err(_) => 0.0,
        }
    }

    /// What an example adds to the scores of some labels, which ascend, to what they are already.
    pub fn add(&self, (ids, values): (&[u32], Option<&[f32]>), labels: &Labels<'_>, scores: &mut [f32]) {
        let mut sums = vec![0f32; labels.len()];
        for (at, feature) in ids.iter().enumerate() {
            let value = values.map_or(1.0, |values| values[at]);
            let places = self.places(*feature as usize);
            let (said, weights) = (&self.labels[places.clone()], &self.weights[places]);
            if let Labels::Some(some) = labels
                && said.len() > LONG * some.labels.len()
            {
                let found = some.labels.iter().map(|label| said.binary_search(label)).enumerate();
                found.for_each(|(place, at)| sums[place] += at.map_or(0.0, |at| value * weights[at].widen()));
                continue;
            }
            let from = said.partition_point(|label| *label < labels.first());
            for (label, weight) in said[from..].iter().zip(&weights[from..]) {
                if *label > labels.last() {
                    break;
                }
                if let Some(place) = labels.place(*label) {
                    sums[place] += value * weight.widen();
                }
            }
        }
        scores.iter_mut().zip(sums).for_each(|(score, sum)| *score += self.gain * sum);
    }

    /// The same for all labels, for each of some examples.
    pub fn scores(&self, x: CsrRef<'_>, c: usize) -> Matrix {
        let mut scores = Matrix::zeros(x.rows(), c);
        if c > 0 {
            (0..x.rows()).for_each(|i| self.add(x.row(i), &Labels::Range(0..c as u32), scores.row_mut(i)));
        }
        scores
    }
}

/// Labels that are scored; at least one.
pub(crate) enum Labels<'a> {
    Range(Range<u32>),
    /// Ascending.
    Some(Places<'a>),
}

impl<'a> Labels<'a> {
    /// Some labels, ascending.
    pub fn some(labels: &'a [u32]) -> Labels<'a> {
        Labels::Some(Places::new(labels))
    }

    fn len(&self) -> usize {
        match self {
            Labels::Range(range) => range.len(),
            Labels::Some(places) => places.labels.len(),
        }
    }

    fn first(&self) -> u32 {
        match self {
            Labels::Range(range) => range.start,
            Labels::Some(places) => places.labels[0],
        }
    }

    fn last(&self) -> u32 {
        match self {
            Labels::Range(range) => range.end - 1,
            Labels::Some(places) => places.labels[places.labels.len() - 1],
        }
    }

    #[inline]
    fn place(&self, label: u32) -> Option<usize> {
        match self {
            Labels::Range(range) => Some((label - range.start) as usize),
            Labels::Some(places) => places.find(label),
        }
    }
}

/// Where labels stand, as a hash table: far more are looked for than are there.
pub(crate) struct Places<'a> {
    labels: &'a [u32],
    /// One more than the place of a label, or 0; a power of two of them.
    slots: Vec<u32>,
}

impl<'a> Places<'a> {
    fn new(labels: &'a [u32]) -> Places<'a> {
        let mut slots = vec![0; (4 * labels.len()).next_power_of_two().max(4)];
        for (place, label) in (1..).zip(labels) {
            let mut at = slot(*label, slots.len());
            while slots[at] != 0 {
                at = (at + 1) & (slots.len() - 1);
            }
            slots[at] = place;
        }
        Places { labels, slots }
    }

    #[inline]
    fn find(&self, label: u32) -> Option<usize> {
        let mut at = slot(label, self.slots.len());
        loop {
            let place = self.slots[at].checked_sub(1)? as usize;
            if self.labels[place] == label {
                return Some(place);
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
    }
}

fn slot(label: u32, slots: usize) -> usize {
    (label.wrapping_mul(0x9e37_79b1) >> 7) as usize & (slots - 1)
}
