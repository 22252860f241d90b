//! From an example to its shortlist.

use super::{Lists, Width};
use crate::kernel::dots::Number;
use crate::metrics::Best;

/// Sums by label, for a few thousand of very many: a hash table, so that they stay in the cache.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sums {
    /// Label and sum; a power of two of them.
    slots: Vec<(u32, f32)>,
    /// Slots in use, in the order of their first label.
    taken: Vec<u32>,
}

/// There is no such label: models have fewer than 2³² of them.
const FREE: u32 = u32::MAX;

impl Sums {
    /// Forgets everything and makes room for `most` labels.
    fn clear(&mut self, most: usize) {
        let size = (2 * most).next_power_of_two().max(64);
        if self.slots.len() < size {
            self.slots = vec![(FREE, 0.0); size];
        } else {
            self.taken.iter().for_each(|slot| self.slots[*slot as usize].0 = FREE);
        }
        self.taken.clear();
    }

    #[inline]
    fn add(&mut self, label: u32, value: f32) {
        let mask = self.slots.len() - 1;
        let mut at = (label.wrapping_mul(0x9e37_79b1) >> 7) as usize & mask;
        loop {
            let slot = &mut self.slots[at];
            if slot.0 == label {
                slot.1 += value;
                return;
            }
            if slot.0 == FREE {
                *slot = (label, value);
                self.taken.push(at as u32);
                return;
            }
            at = (at + 1) & mask;
        }
    }

    fn iter(&self) -> impl Iterator<Item = (u32, f32)> + '_ {
        self.taken.iter().map(|slot| self.slots[*slot as usize])
    }
}

impl Lists<'_> {
    /// The shortlist of an example, ascending. Features beyond those of the lists are left out, and so is what `skip`
    /// says of a place in the lists and its label.
    pub fn search(
        &self,
        (ids, values): (&[u32], Option<&[f32]>),
        width: Width,
        skip: impl Fn(usize, u32) -> bool,
        sums: &mut Sums,
    ) -> Vec<u32> {
        let features = self.starts.len() - 2;
        let place = |list: usize, most: usize| {
            let [from, to] = [list, list + 1].map(|list| self.starts[list] as usize);
            from..to.min(from.saturating_add(most))
        };
        let known = || ids.iter().enumerate().filter(|(_, id)| (**id as usize) < features);
        // Everybody's list comes first: it makes sure that there are as many labels as may be asked for.
        let every = place(features, width.labels);
        let most = known().map(|(_, id)| place(*id as usize, width.probes).len()).sum::<usize>() + every.len();
        sums.clear(most);
        self.labels[every].iter().for_each(|label| sums.add(*label, 0.0));
        for (i, id) in known() {
            let (range, value) = (place(*id as usize, width.probes), values.map_or(1.0, |values| values[i]));
            let pairs = self.labels[range.clone()].iter().zip(&self.shares[range.clone()]);
            for (at, (label, share)) in range.zip(pairs) {
                if !skip(at, *label) {
                    sums.add(*label, value * share.widen());
                }
            }
        }
        let mut best = Best::new(width.labels);
        sums.iter().for_each(|(label, sum)| best.offer(label, sum + self.offsets[label as usize]));
        let mut found: Vec<u32> = best.into_ranked().map(|(label, _)| label).collect();
        found.sort_unstable();
        found
    }
}
