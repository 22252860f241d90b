//! Which labels to look at when there are too many for all of them.
//!
//! A region of the examples looks at the labels that its examples have, at those that are likely in it, and at some of
//! all others. The first are certain. Of the others each has its chance π to be drawn, and one that was drawn counts 1/π:
//! for every example of the region
//!
//! ```text
//! Σ over those drawn (1/π) f(label)   has the mean   Σ over all labels f(label)
//! ```
//!
//! for any f, such as the exponential of the score, which softmax divides by the sum of, or the gradient of an independent
//! label. The nearer π comes to |f|, the less the sum varies from draw to draw.

use std::io;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::io::checkpoint::{Load, Reader, Store, Writer};

/// The part of the labels to draw that goes to all labels, wherever they are; the rest is for likely ones.
const ANYWHERE: f64 = 0.25;
/// Likely labels that are remembered, for each that will be drawn.
const REMEMBERED: usize = 4;

/// The chance of every label to be drawn, wherever it is likely or not.
pub(crate) struct LabelSampler {
    /// The chance of each label.
    chance: Vec<f64>,
    /// Sums of the chances of a label and those before it.
    sums: Vec<f64>,
    /// Likely labels that are drawn besides.
    likely: usize,
}

/// The labels that are likely in a region, by their numbers, each with its chance to be drawn for that.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Likely(Vec<(u32, f64)>);

impl Store for Vec<Likely> {
    fn store(&self, out: &mut Writer<'_>) -> io::Result<()> {
        self.len().store(out)?;
        self.iter().try_for_each(|Likely(pairs)| {
            let (labels, chances): (Vec<u32>, Vec<f64>) = pairs.iter().copied().unzip();
            (labels, chances).store(out)
        })
    }
}

impl Load for Vec<Likely> {
    fn load(from: &mut Reader) -> io::Result<Vec<Likely>> {
        let count = usize::load(from)?;
        let pairs = |(labels, chances): (Vec<u32>, Vec<f64>)| Likely(labels.into_iter().zip(chances).collect());
        (0..count).map(|_| Load::load(from).map(pairs)).collect()
    }
}

/// Labels, by their numbers, and what each of them stands for.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct LabelSample {
    pub labels: Vec<u32>,
    /// 1/π.
    pub factors: Vec<f32>,
}

impl LabelSampler {
    /// Draws about `most` labels at a time, from those that `frequency` is above 0 for.
    pub fn new(frequency: &[f64], most: usize) -> LabelSampler {
        let total: f64 = frequency.iter().sum();
        let known = frequency.iter().filter(|f| **f > 0.0).count() as f64;
        // With room for all of them, nothing is left to chance.
        if most as f64 >= known {
            let chance: Vec<f64> = frequency.iter().map(|f| f64::from(u8::from(*f > 0.0))).collect();
            return LabelSampler { sums: sums(&chance), chance, likely: 0 };
        }
        let anywhere = (ANYWHERE * most as f64).ceil();
        // Half by frequency, as most labels are about as likely as they are frequent, and half evenly.
        let share = |f: &f64| if *f > 0.0 { 0.5 * f / total + 0.5 / known } else { 0.0 };
        let shares: Vec<f64> = frequency.iter().map(share).collect();
        let factor = fill(shares.iter().copied(), anywhere);
        let chance: Vec<f64> = shares.iter().map(|share| (factor * share).min(1.0)).collect();
        LabelSampler { sums: sums(&chance), chance, likely: most - anywhere as usize }
    }

    /// The likely labels of a region, from the size of what each label adds there.
    pub fn likely(&self, sizes: &[f32]) -> Likely {
        let remembered = REMEMBERED * self.likely;
        let mut found: Vec<(u32, f64)> =
            (0u32..).zip(sizes).filter(|(l, _)| self.open(*l)).map(|(l, s)| (l, f64::from(*s))).collect();
        if remembered == 0 {
            found.clear();
        } else if found.len() > remembered {
            found.select_nth_unstable_by(remembered, |a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            found.truncate(remembered);
            // There are thousands of regions, and room for all labels in each of them adds up.
            found.shrink_to_fit();
        }
        found.sort_unstable_by_key(|(label, _)| *label);
        let factor = fill(found.iter().map(|(_, size)| *size), self.likely as f64);
        found.iter_mut().for_each(|(_, size)| *size = (factor * *size).min(1.0));
        Likely(found)
    }

    /// Whether a label can be drawn but need not be.
    fn open(&self, label: u32) -> bool {
        let chance = self.chance[label as usize];
        chance > 0.0 && chance < 1.0
    }

    /// Whether there are labels that a draw may leave out.
    pub fn leaves_out(&self) -> bool {
        self.chance.iter().any(|chance| *chance > 0.0 && *chance < 1.0)
    }

    /// Draws labels, with those that some examples hold among them. Another key is another draw.
    pub fn draw(&self, likely: &Likely, held: impl Iterator<Item = u32>, key: u64) -> LabelSample {
        let unit = |seed: u64| (xxh3_64_with_seed(&key.to_le_bytes(), seed) >> 11) as f64 / (1u64 << 53) as f64;
        let mut certain: Vec<u32> = held.filter(|label| self.chance[*label as usize] > 0.0).collect();
        certain.sort_unstable();
        certain.dedup();
        let mut drawn = certain.clone();
        // Points at equal distances on a line of chances: a label is met with its chance.
        let mut point = unit(1);
        let mut at = 0;
        let end = self.sums.last().copied().unwrap_or(0.0);
        while point < end {
            at += self.sums[at..].partition_point(|sum| *sum <= point);
            drawn.push(at as u32);
            point += 1.0;
        }
        let (mut sum, mut point) = (0.0, unit(2));
        for (label, chance) in &likely.0 {
            sum += chance;
            if point < sum {
                drawn.push(*label);
                point += 1.0;
            }
        }
        drawn.sort_unstable();
        drawn.dedup();
        let mut others = likely.0.iter().peekable();
        let factor = |label: &u32| {
            while others.next_if(|(other, _)| other < label).is_some() {}
            let for_likely = others.peek().filter(|(other, _)| other == label).map_or(0.0, |(_, chance)| *chance);
            if certain.binary_search(label).is_ok() {
                return 1.0;
            }
            // Of either draw, which do not know of each other.
            let chance = 1.0 - (1.0 - self.chance[*label as usize]) * (1.0 - for_likely);
            chance.recip() as f32
        };
        LabelSample { factors: drawn.iter().map(factor).collect(), labels: drawn }
    }
}

/// Sums of each number and those before it.
fn sums(numbers: &[f64]) -> Vec<f64> {
    let add = |sum: &mut f64, number: &f64| {
        *sum += number;
        Some(*sum)
    };
    numbers.iter().scan(0.0, add).collect()
}

/// The factor for which Σ min(1, factor·size) is `total`, or all are 1.
fn fill(sizes: impl Iterator<Item = f64> + Clone, total: f64) -> f64 {
    let mut factor = 0.0;
    // Those that reach 1 leave more to the others; each round finds at least one more, and a few find nearly all.
    for _ in 0..30 {
        let (mut full, mut rest) = (0.0, 0.0);
        for size in sizes.clone() {
            if factor * size >= 1.0 {
                full += 1.0;
            } else {
                rest += size;
            }
        }
        if rest <= 0.0 {
            break;
        }
        let next = (total - full).max(0.0) / rest;
        if next <= factor {
            break;
        }
        factor = next;
    }
    factor
}

#[cfg(test)]
mod tests;
