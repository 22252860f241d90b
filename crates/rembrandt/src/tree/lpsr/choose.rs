//! Which labels a leaf should have: those with which the scorer, choosing among them alone, is most precise.
//!
//! Only labels that are true for some example of the leaf can help, and the most frequent of them are where we begin. A
//! label that the scorer ranks too high, in front of true ones, does harm: labels are taken away as long as that brings
//! more true labels among the first k of the examples.

/// Gains below this are rounding.
const LEAST_GAIN: f64 = 1e-9;

/// One example of a leaf.
pub(super) struct LeafExample {
    /// Numbers of the leaf's labels, best first by the scorer.
    pub order: Vec<u32>,
    /// Which of the labels are true, ascending.
    pub truth: Vec<u32>,
    /// How much the example counts.
    pub weight: f64,
}

impl LeafExample {
    /// The first k labels that are left, and the one that would come next.
    fn first(&self, kept: &[bool], k: usize) -> (Vec<u32>, Option<u32>) {
        let mut left = self.order.iter().copied().filter(|label| kept[*label as usize]);
        let first = left.by_ref().take(k).collect();
        (first, left.next())
    }

    fn is_true(&self, label: u32) -> f64 {
        f64::from(u8::from(self.truth.binary_search(&label).is_ok()))
    }

    /// Adds what taking one of the first labels away would bring, times `sign`.
    fn add_gains(&self, (first, next): &(Vec<u32>, Option<u32>), sign: f64, gains: &mut [f64]) {
        let replaced = next.map_or(0.0, |label| self.is_true(label));
        for label in first {
            gains[*label as usize] += sign * self.weight * (replaced - self.is_true(*label));
        }
    }
}

/// Whether each of `count` labels is kept.
pub(super) fn choose(count: usize, examples: &[LeafExample], k: usize) -> Vec<bool> {
    let (mut kept, mut gains) = (vec![true; count], vec![0.0; count]);
    let mut firsts: Vec<_> = examples.iter().map(|example| example.first(&kept, k)).collect();
    examples.iter().zip(&firsts).for_each(|(example, first)| example.add_gains(first, 1.0, &mut gains));
    loop {
        let left = (0..count).filter(|label| kept[*label] && gains[*label] > LEAST_GAIN);
        // Of equals the first.
        let Some(worst) = left.max_by(|a, b| gains[*a].total_cmp(&gains[*b]).then(b.cmp(a))) else { return kept };
        kept[worst] = false;
        for (example, first) in examples.iter().zip(&mut firsts) {
            if first.0.contains(&(worst as u32)) || first.1 == Some(worst as u32) {
                example.add_gains(first, -1.0, &mut gains);
                *first = example.first(&kept, k);
                example.add_gains(first, 1.0, &mut gains);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// True labels among the first k of all examples.
    fn precision(examples: &[LeafExample], kept: &[bool], k: usize) -> f64 {
        let of = |example: &LeafExample| {
            let hits = example.first(kept, k).0.iter().map(|label| example.is_true(*label)).sum::<f64>();
            example.weight * hits
        };
        examples.iter().map(of).sum()
    }

    proptest! {
        #[test]
        fn no_label_whose_removal_helps_is_kept(
            examples in prop::collection::vec(
                (Just((0u32..6).collect::<Vec<_>>()).prop_shuffle(), prop::collection::btree_set(0u32..6, 0..4), 0u8..3),
                1..12),
            k in 1usize..4,
        ) {
            let ranked = |(order, truth, weight): (Vec<u32>, std::collections::BTreeSet<u32>, u8)| LeafExample {
                order,
                truth: truth.into_iter().collect(),
                weight: f64::from(weight),
            };
            let examples: Vec<LeafExample> = examples.into_iter().map(ranked).collect();
            let kept = choose(6, &examples, k);
            let best = precision(&examples, &kept, k);
            prop_assert!(best >= precision(&examples, &[true; 6], k));
            for label in (0..6).filter(|label| kept[*label]) {
                let mut without = kept.clone();
                without[label] = false;
                prop_assert!(precision(&examples, &without, k) <= best + 1e-9);
            }
        }
    }

    #[test]
    fn a_label_in_front_of_true_ones_is_taken_away() {
        let example = |truth| LeafExample { order: vec![2, 0, 1], truth, weight: 1.0 };
        let examples = [example(vec![0]), example(vec![0]), example(vec![2])];
        assert_eq!(choose(3, &examples, 1), [true, true, false]);
        assert_eq!(choose(3, &examples, 3), [true; 3]);
        assert_eq!(choose(2, &[], 1), [true; 2]);
    }
}
