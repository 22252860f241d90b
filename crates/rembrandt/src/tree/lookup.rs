//! The features of one example, found by id: the weights of many nodes are multiplied with them.

use crate::data::RowScale;

/// A search in a list costs about as much as looking up so many of its entries.
const SEARCH: usize = 8;

/// Says that a slot is free.
const FREE: u32 = u32::MAX;

/// A hash table from feature to value. Making it costs as much as the example has features, whatever d is.
pub(super) struct Lookup<'a> {
    ids: &'a [u32],
    values: Option<&'a [f32]>,
    /// Places in `ids`, found by the upper bits of a product. Eight times as many slots as ids: most features that are
    /// asked for are not there, and a free slot says so at once.
    slots: Vec<u32>,
    shift: u32,
    /// The factor of the values.
    factor: f64,
}

impl<'a> Lookup<'a> {
    /// Of features with values, or with all values 1, divided as `scale` says.
    pub fn new(ids: &'a [u32], values: Option<&'a [f32]>, scale: RowScale) -> Lookup<'a> {
        let bits = (8 * ids.len().max(1)).next_power_of_two().trailing_zeros().min(32);
        let mut lookup = Lookup {
            ids,
            values,
            slots: vec![FREE; 1 << bits],
            shift: 32 - bits,
            factor: factor(scale, ids.len(), values),
        };
        for (place, id) in ids.iter().enumerate() {
            let mut slot = lookup.slot(*id);
            while lookup.slots[slot] != FREE {
                slot = lookup.after(slot);
            }
            lookup.slots[slot] = place as u32;
        }
        lookup
    }

    fn slot(&self, id: u32) -> usize {
        (id.wrapping_mul(0x9e37_79b9) >> self.shift) as usize
    }

    /// The next slot, around the end; their number is a power of two.
    fn after(&self, slot: usize) -> usize {
        (slot + 1) & (self.slots.len() - 1)
    }

    /// The value of a feature before division, if the example has it.
    pub fn find(&self, id: u32) -> Option<f32> {
        let mut slot = self.slot(id);
        loop {
            match self.slots[slot] {
                FREE => return None,
                place if self.ids[place as usize] == id => {
                    return Some(self.values.map_or(1.0, |values| values[place as usize]));
                }
                _ => slot = self.after(slot),
            }
        }
    }

    /// Features and values before division.
    pub fn entries(&self) -> impl Iterator<Item = (u32, f32)> + 'a {
        let values = self.values;
        self.ids.iter().enumerate().map(move |(j, id)| (*id, values.map_or(1.0, |v| v[j])))
    }

    /// The product with sparse weights, in the order of their ids, which ascend.
    ///
    /// Of weights and features the fewer are looked up among the others: the hyperplanes near a root have thousands of
    /// weights, most of them of features that the example does not have. The terms and their order are the same.
    pub fn dot(&self, ids: &[u32], weights: &[f32]) -> f64 {
        let sum = if ids.len() <= SEARCH * self.ids.len() {
            let term = |(id, w): (&u32, &f32)| self.find(*id).map(|v| f64::from(*w) * f64::from(v));
            ids.iter().zip(weights).filter_map(term).sum()
        } else {
            self.searched(ids, weights)
        };
        self.factor * sum
    }

    /// The sum over the features of the example that have a weight.
    fn searched(&self, ids: &[u32], weights: &[f32]) -> f64 {
        // In the whole list every time: a search of always the same length is well predicted, a shrinking one is not.
        let term = |(id, value): (u32, f32)| Some(f64::from(weights[ids.binary_search(&id).ok()?]) * f64::from(value));
        self.entries().filter_map(term).sum()
    }
}

/// The factor of a row: one over its size, and 1 if it has none.
pub(super) fn factor(scale: RowScale, len: usize, values: Option<&[f32]>) -> f64 {
    let size = scale.size((0..len).map(|j| values.map_or(1.0, |v| v[j])));
    if size > 0.0 { size.recip() } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn products_are_those_of_a_search(
            x in prop::collection::btree_map(0u32..60, -4i8..4, 0..40),
            w in prop::collection::btree_map(0u32..60, -4i8..4, 0..40),
            spread in prop::sample::select(vec![1u32, 1 << 16, 71_582_788]),
            short in any::<bool>(),
        ) {
            // Few features, many weights: the other way to look them up.
            let x: std::collections::BTreeMap<u32, i8> = x.into_iter().take(if short { 2 } else { 40 }).collect();
            let (ids, values): (Vec<u32>, Vec<f32>) = x.iter().map(|(id, v)| (id * spread, f32::from(*v))).unzip();
            let (at, weights): (Vec<u32>, Vec<f32>) = w.iter().map(|(id, v)| (id * spread, f32::from(*v))).unzip();
            let exact: f64 = w.iter().map(|(id, w)| f64::from(*w) * f64::from(*x.get(id).unwrap_or(&0))).sum();
            let lookup = Lookup::new(&ids, Some(&values), RowScale::None);
            prop_assert_eq!(lookup.dot(&at, &weights), exact);
            prop_assert_eq!(lookup.searched(&at, &weights), exact);
            prop_assert!(ids.iter().zip(&values).all(|(id, v)| lookup.find(*id) == Some(*v)));
            let sum: f64 = values.iter().map(|v| f64::from(v.abs())).sum();
            let size = if sum > 0.0 { sum } else { 1.0 };
            let divided = Lookup::new(&ids, Some(&values), RowScale::Sum).dot(&at, &weights);
            prop_assert!((divided * size - exact).abs() < 1e-9);
        }
    }

    #[test]
    fn an_example_without_features_has_none() {
        let lookup = Lookup::new(&[], None, RowScale::Length);
        assert_eq!((lookup.find(0), lookup.dot(&[3], &[1.0])), (None, 0.0));
        assert_eq!(Lookup::new(&[7], None, RowScale::None).find(7), Some(1.0));
    }
}
