//! The best labels, exactly, without sorting all of them.

/// The labels with the highest scores, at most `top`, best first; `scores[l]` is the score of label l.
///
/// Equal scores are ranked by ascending label id, so a ranking never depends on the order of computation; zeros of
/// either sign are equal. A score that is not a number ranks below all others, even −∞: a label that could not be
/// scored must not be recommended before one that could.
///
/// One pass with a buffer of 2·`top` candidates: O(c) time for a fixed `top`, O(`top`) memory.
///
/// ```
/// use rembrandt::metrics::rank;
///
/// assert_eq!(rank(&[0.1, 0.7, 0.2, 0.7, f32::NAN], 3), [1, 3, 2]);
/// assert_eq!(rank(&[f32::NAN, f32::NEG_INFINITY], 5), [1, 0]);
/// ```
///
/// # Panics
/// If there are 2³² scores or more.
pub fn rank(scores: &[f32], top: usize) -> Vec<u32> {
    u32::try_from(scores.len()).expect("there are fewer than 2³² labels");
    rank_candidates((0..).zip(scores.iter().copied()), top)
}

/// Like [`rank`], for candidates given as pairs of label and score. Labels should be
/// distinct: each pair is ranked by itself.
///
/// ```
/// use rembrandt::metrics::rank_candidates;
///
/// let candidates = [(900, 0.5), (17, 0.25), (4, 0.5)];
/// assert_eq!(rank_candidates(candidates, 2), [4, 900]);
/// ```
pub fn rank_candidates(candidates: impl IntoIterator<Item = (u32, f32)>, top: usize) -> Vec<u32> {
    let candidates = candidates.into_iter();
    let mut best = TopK::new(top);
    candidates.for_each(|(label, score)| best.offer(label, score));
    best.into_ranked().map(|(label, _)| label).collect()
}

/// The best of the candidates offered so far, in a buffer of twice as many.
#[derive(Clone, Debug, Default)]
pub(crate) struct TopK {
    top: usize,
    keys: Vec<u64>,
    /// The bar that a candidate must exceed once `top` better ones are known.
    bar: Option<u64>,
}

impl TopK {
    /// Nothing yet; at most `top` will be kept.
    pub(crate) fn new(top: usize) -> TopK {
        TopK { top, keys: Vec::new(), bar: None }
    }

    /// Forgets all, and will keep at most `top`, in the same memory.
    pub(crate) fn restart(&mut self, top: usize) {
        self.top = top;
        self.keys.clear();
        self.bar = None;
    }

    /// Keeps a candidate if it is among the best.
    #[inline]
    pub(crate) fn offer(&mut self, label: u32, score: f32) {
        self.offer_key(key(label, score));
    }

    /// Keeps the best of both.
    pub(crate) fn merge(&mut self, other: TopK) {
        other.keys.into_iter().for_each(|key| self.offer_key(key));
    }

    #[inline]
    fn offer_key(&mut self, key: u64) {
        if self.top == 0 || self.bar.is_some_and(|bar| key <= bar) {
            return;
        }
        self.keys.push(key);
        if self.keys.len() == self.top.saturating_mul(2) {
            let (_, last, _) = self.keys.select_nth_unstable_by(self.top - 1, |a, b| b.cmp(a));
            self.bar = Some(*last);
            self.keys.truncate(self.top);
        }
    }

    /// Labels and scores, best first.
    pub(crate) fn into_ranked(mut self) -> impl Iterator<Item = (u32, f32)> {
        self.sort();
        self.keys.into_iter().map(|key| (!(key as u32), score(key)))
    }

    /// The same, for whoever goes on with the memory.
    pub(crate) fn ranked(&mut self) -> impl Iterator<Item = (u32, f32)> {
        self.sort();
        self.keys.iter().map(|key| (!(*key as u32), score(*key)))
    }

    fn sort(&mut self) {
        self.keys.sort_unstable_by(|a, b| b.cmp(a));
        self.keys.truncate(self.top);
    }
}

/// An integer that is larger for what ranks higher: the score in the upper half, the complement of the label below.
fn key(label: u32, score: f32) -> u64 {
    let ordered = if score.is_nan() {
        0
    } else {
        // Adding zero turns −0 into +0. Floats of one sign are ordered like their bits, negative ones in reverse.
        let bits = (score + 0.0).to_bits();
        if bits >> 31 == 0 { bits | 1 << 31 } else { !bits }
    };
    u64::from(ordered) << 32 | u64::from(!label)
}

/// The score that a key was made of.
fn score(key: u64) -> f32 {
    match (key >> 32) as u32 {
        0 => f32::NAN,
        ordered if ordered >> 31 == 1 => f32::from_bits(ordered & !(1 << 31)),
        ordered => f32::from_bits(!ordered),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The definition, by a full stable sort.
    fn by_sorting(scores: &[f32], top: usize) -> Vec<u32> {
        let mut labels: Vec<u32> = (0..scores.len() as u32).collect();
        labels.sort_by(|&a, &b| {
            let (a, b) = (scores[a as usize], scores[b as usize]);
            // Values that cannot be compared differ in being numbers, or neither is one.
            b.partial_cmp(&a).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
        });
        labels.truncate(top);
        labels
    }

    fn score() -> impl Strategy<Value = f32> {
        let special = prop::sample::select(vec![0.0, -0.0, 1.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, -f32::NAN]);
        // Few distinct values make many ties.
        prop_oneof![(-3i8..3).prop_map(f32::from), special, any::<f32>()]
    }

    proptest! {
        #[test]
        fn partial_selection_agrees_with_a_full_sort(
            scores in prop::collection::vec(score(), 0..200),
            top in 0usize..40,
        ) {
            prop_assert_eq!(rank(&scores, top), by_sorting(&scores, top));
        }

        #[test]
        fn parts_merge_into_the_whole(
            scores in prop::collection::vec(score(), 0..200),
            cut in 0usize..200,
            top in 0usize..40,
        ) {
            let cut = cut.min(scores.len());
            let (mut a, mut b) = (TopK::new(top), TopK::new(top));
            for (label, score) in (0u32..).zip(&scores) {
                if (label as usize) < cut { a.offer(label, *score) } else { b.offer(label, *score) }
            }
            b.merge(a);
            let found: Vec<(u32, f32)> = b.into_ranked().collect();
            prop_assert_eq!(found.iter().map(|(label, _)| *label).collect::<Vec<_>>(), rank(&scores, top));
            for (label, score) in found {
                let given = scores[label as usize];
                prop_assert!(score == given || (score.is_nan() && given.is_nan()));
            }
        }

        #[test]
        fn the_order_of_candidates_does_not_matter(
            (pairs, shuffled) in prop::collection::vec(score(), 0..60)
                .prop_map(|scores| (0u32..).zip(scores).collect::<Vec<_>>())
                .prop_flat_map(|pairs| (Just(pairs.clone()), Just(pairs).prop_shuffle())),
            top in 0usize..20,
        ) {
            prop_assert_eq!(rank_candidates(pairs, top), rank_candidates(shuffled, top));
        }
    }

    #[test]
    fn more_than_there_are_is_all_of_them() {
        assert_eq!(rank(&[1.0, 2.0], usize::MAX), [1, 0]);
        assert!(rank(&[], 5).is_empty());
    }
}
