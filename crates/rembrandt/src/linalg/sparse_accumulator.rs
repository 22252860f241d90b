//! [`SparseAccumulator`]: sums by label, where few labels of very many have one.

/// Sums by label, for a few thousand of very many: a hash table, so that they stay in the cache.
#[derive(Clone, Debug, Default)]
pub(crate) struct SparseAccumulator {
    /// Label and sum; a power of two of them.
    slots: Vec<(u32, f32)>,
    /// Slots in use, in the order of their first label.
    taken: Vec<u32>,
}

/// There is no such label: models have fewer than 2³² of them.
const FREE: u32 = u32::MAX;

impl SparseAccumulator {
    /// Forgets everything and makes room for `most` labels.
    pub fn clear(&mut self, most: usize) {
        let size = (2 * most).next_power_of_two().max(64);
        if self.slots.len() < size {
            self.slots = vec![(FREE, 0.0); size];
        } else {
            self.taken.iter().for_each(|slot| self.slots[*slot as usize].0 = FREE);
        }
        self.taken.clear();
    }

    /// Adds to the sum of a label.
    #[inline]
    pub fn add(&mut self, label: u32, value: f32) {
        let at = self.slot(label);
        let slot = &mut self.slots[at];
        if slot.0 == label {
            slot.1 += value;
        } else {
            *slot = (label, value);
            self.taken.push(at as u32);
        }
    }

    /// Where a label is, or would be.
    #[inline]
    fn slot(&self, label: u32) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = (label.wrapping_mul(0x9e37_79b1) >> 7) as usize & mask;
        while self.slots[at].0 != label && self.slots[at].0 != FREE {
            at = (at + 1) & mask;
        }
        at
    }

    /// Labels and sums, in the order of their first mention.
    pub fn iter(&self) -> impl Iterator<Item = (u32, f32)> + '_ {
        self.taken.iter().map(|slot| self.slots[*slot as usize])
    }
}
