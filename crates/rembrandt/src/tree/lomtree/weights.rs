//! The regressors of all nodes in one table of bounded size.
//!
//! A node has a number for each feature and one for the constant. Where nodes × features fit, they lie side by side;
//! otherwise they are hashed into the table, two of them may share a place, and nobody keeps track. With few
//! features in an example and few examples at most nodes, nearly all of them stay 0 and collisions are rare.

/// Where the numbers of the regressors are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WeightLayout {
    /// The numbers of node i begin at i·width.
    Side {
        /// Features and the constant.
        width: usize,
    },
    /// Hashed into 2^bits places.
    Hashed {
        /// Logarithm of the number of places.
        bits: u32,
    },
}

impl WeightLayout {
    /// Side by side if that takes at most 2^bits places.
    pub fn choose(nodes: usize, d: usize, bits: u32) -> WeightLayout {
        let whole = nodes as u128 * (d as u128 + 1) <= 1 << bits;
        if whole { WeightLayout::Side { width: d + 1 } } else { WeightLayout::Hashed { bits } }
    }

    /// Number of places for so many nodes.
    pub fn places(&self, nodes: usize) -> usize {
        match self {
            WeightLayout::Side { width } => nodes * width,
            WeightLayout::Hashed { bits } => 1 << bits,
        }
    }

    /// Begins the search for places of one node.
    #[inline]
    pub fn node(&self, node: u32) -> Places {
        match *self {
            WeightLayout::Side { width } => Places { base: u64::from(node) * width as u64, factor: 1, shift: 0 },
            WeightLayout::Hashed { bits } => {
                Places { base: u64::from(node).wrapping_mul(NODE), factor: FEATURE, shift: 64 - bits }
            }
        }
    }
}

/// Odd numbers with well mixed bits: a product with one of them is spread over its upper bits.
const NODE: u64 = 0xd6e8_feb8_6659_fd93;
const FEATURE: u64 = 0x9e37_79b9_7f4a_7c15;
const MIX: u64 = 0xff51_afd7_ed55_8ccd;

/// Where the numbers of one node are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Places {
    base: u64,
    factor: u64,
    shift: u32,
}

impl Places {
    /// The place of a feature; the constant comes after the last.
    #[inline]
    pub fn of(&self, feature: u32) -> usize {
        let sum = self.base.wrapping_add(u64::from(feature).wrapping_mul(self.factor));
        if self.shift == 0 {
            return sum as usize;
        }
        ((sum ^ (sum >> 29)).wrapping_mul(MIX) >> self.shift) as usize
    }
}

/// One example: a row of length 1, whose class does not matter here.
#[derive(Clone, Copy, Debug)]
pub(super) struct ExampleRow<'a> {
    pub ids: &'a [u32],
    pub values: &'a [f32],
    /// The feature of the constant.
    pub constant: u32,
}

/// The margin of an example. `number` tells what is in a place.
#[inline]
pub(super) fn margin(places: Places, row: ExampleRow<'_>, number: impl Fn(usize) -> f32) -> f32 {
    // Four sums, so that an addition does not wait for the one before.
    let mut sums = [0f32; 4];
    let (ids, rest_ids) = row.ids.as_chunks::<4>();
    let (values, rest_values) = row.values.as_chunks::<4>();
    for (ids, values) in ids.iter().zip(values) {
        for lane in 0..4 {
            sums[lane] += values[lane] * number(places.of(ids[lane]));
        }
    }
    for (id, value) in rest_ids.iter().zip(rest_values) {
        sums[0] += value * number(places.of(*id));
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + number(places.of(row.constant))
}

/// A number of a regressor, and the sum of its squared gradients.
pub(super) type Slot = [f32; 2];

/// One step of logistic regression towards `target`, 1 or −1, from a margin of `before`; `weight` is that of the example.
/// Every number has a step size of its own, which its gradients so far tell (AdaGrad). The margin afterwards.
#[inline]
pub(super) fn step(
    slots: &mut [Slot],
    places: Places,
    row: ExampleRow<'_>,
    before: f32,
    target: f32,
    weight: f32,
    length: f32,
) -> f32 {
    let slope = -weight * target / (1.0 + (target * before).exp());
    let mut after = before;
    let mut towards = |id: u32, value: f32| {
        let slot = &mut slots[places.of(id)];
        let gradient = slope * value;
        slot[1] += gradient * gradient;
        if slot[1] > 0.0 {
            let change = length * gradient / slot[1].sqrt();
            slot[0] -= change;
            after -= change * value;
        }
    };
    row.ids.iter().zip(row.values).for_each(|(id, value)| towards(*id, *value));
    towards(row.constant, 1.0);
    after
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_side_by_side_are_distinct() {
        let layout = WeightLayout::choose(5, 9, 6);
        assert_eq!((layout, layout.places(5)), (WeightLayout::Side { width: 10 }, 50));
        let mut found: Vec<usize> = (0..5).flat_map(|node| (0..10).map(move |f| layout.node(node).of(f))).collect();
        found.sort_unstable();
        assert!(found.into_iter().eq(0..50));
    }

    #[test]
    fn hashed_places_are_spread_evenly() {
        let layout = WeightLayout::choose(1000, 1000, 16);
        assert_eq!(layout, WeightLayout::Hashed { bits: 16 });
        let mut loads = vec![0u32; layout.places(1000)];
        for node in 0..1000 {
            (0..=1000).for_each(|f| loads[layout.node(node).of(f)] += 1);
        }
        // 15 on average; evenly spread numbers have a variance as large as their mean.
        let mean = 1_001_000.0 / 65_536.0;
        let variance = loads.iter().map(|l| (f64::from(*l) - mean).powi(2)).sum::<f64>() / 65_536.0;
        assert!((0.9..1.1).contains(&(variance / mean)), "variance {variance} at mean {mean}");
    }
    #[test]
    fn steps_lead_to_the_target_and_tell_the_new_margin() {
        let places = WeightLayout::choose(1, 7, 8).node(0);
        let values = [0.5f32; 6];
        let row = ExampleRow { ids: &[0, 1, 2, 3, 4, 6], values: &values, constant: 7 };
        let mut slots = vec![[0.0; 2]; 8];
        for target in [1.0, -1.0] {
            for _ in 0..20 {
                let before = margin(places, row, |place| slots[place][0]);
                let after = step(&mut slots, places, row, before, target, 1.0, 0.5);
                assert!(target * (after - before) > 0.0);
                assert!((margin(places, row, |place| slots[place][0]) - after).abs() < 1e-5);
            }
        }
        assert_eq!(slots[5], [0.0; 2]);
        let still = slots.clone();
        step(&mut slots, places, row, 0.0, 1.0, 0.0, 0.5);
        assert_eq!(slots, still, "an example of weight 0 teaches nothing");
    }
}
