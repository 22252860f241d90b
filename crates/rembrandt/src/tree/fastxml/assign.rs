//! Which side of a node its examples should go to, so that one ranking of labels for each side fits them best.
//!
//! The quality of a ranking for an example is its nDCG over all labels: I(y) Σ_{l∈y} 1/log(1 + rank(l)), where I(y) is
//! one over the best possible sum. The ranking that is best for a side orders labels by Σ I(y) over the side's examples
//! that have them. So two steps take turns, each of which can only raise the sum of nDCG: rank the labels of both sides,
//! then send every example to the side that ranks its labels better.

/// Turns at most. The sum rises with every one of them, so they end anyway, nearly always sooner.
const MOST_TURNS: usize = 50;

/// The labels of a node's examples, renumbered from 0 in their order.
#[derive(Clone, Debug, Default)]
pub(super) struct NodeLabels {
    /// Where the labels of each example begin.
    pub ptr: Vec<u32>,
    /// The labels of all examples.
    pub ids: Vec<u32>,
    /// How many labels there are.
    pub count: usize,
}

impl NodeLabels {
    fn row(&self, i: usize) -> &[u32] {
        &self.ids[self.ptr[i] as usize..self.ptr[i + 1] as usize]
    }

    /// Whether all examples have the same labels: then there is nothing to part.
    pub fn all_alike(&self) -> bool {
        (1..self.ptr.len() - 1).all(|i| self.row(i) == self.row(0))
    }
}

/// I(y) of an example with so many labels; 0 without any.
pub(super) fn inverse_ideal(labels: usize) -> f64 {
    let best: f64 = (1..=labels).map(discount).sum();
    if labels == 0 { 0.0 } else { best.recip() }
}

/// The gain of a true label at a rank, counted from 1.
fn discount(rank: usize) -> f64 {
    1.0 / (1.0 + rank as f64).ln()
}

/// Improves `right`, where the examples are at first, until no example changes its side. `gains` are the weights of the
/// examples times I(y). An example to which both sides are equal stays.
pub(super) fn assign(labels: &NodeLabels, gains: &[f64], right: &mut [bool]) {
    let discounts: Vec<f64> = (1..=labels.count).map(discount).collect();
    let mut worth = [vec![0.0; labels.count], vec![0.0; labels.count]];
    for _ in 0..MOST_TURNS {
        for (side, worth) in [false, true].into_iter().zip(&mut worth) {
            rank_side(labels, gains, |i| right[i] == side, &discounts, worth);
        }
        let mut changed = false;
        for (i, right) in right.iter_mut().enumerate() {
            let sum = |worth: &[f64]| labels.row(i).iter().map(|l| worth[*l as usize]).sum::<f64>();
            let (on_left, on_right) = (sum(&worth[0]), sum(&worth[1]));
            if on_left != on_right && *right != (on_right > on_left) {
                *right = on_right > on_left;
                changed = true;
            }
        }
        if !changed {
            return;
        }
    }
}

/// The gain of each label in the ranking of one side's examples; of equals the lower label comes first.
fn rank_side(
    labels: &NodeLabels,
    gains: &[f64],
    on_side: impl Fn(usize) -> bool,
    discounts: &[f64],
    worth: &mut [f64],
) {
    worth.fill(0.0);
    for (i, gain) in gains.iter().enumerate().filter(|(i, _)| on_side(*i)) {
        labels.row(i).iter().for_each(|l| worth[*l as usize] += gain);
    }
    let mut order: Vec<u32> = (0..labels.count as u32).collect();
    order.sort_unstable_by(|a, b| worth[*b as usize].total_cmp(&worth[*a as usize]).then(a.cmp(b)));
    order.iter().zip(discounts).for_each(|(label, discount)| worth[*label as usize] = *discount);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn labels(sets: &[Vec<u32>], count: usize) -> NodeLabels {
        let mut labels = NodeLabels { ptr: vec![0], ids: Vec::new(), count };
        for set in sets {
            labels.ids.extend(set);
            labels.ptr.push(labels.ids.len() as u32);
        }
        labels
    }

    /// nDCG of a ranking, by its definition.
    fn ndcg(order: &[usize], set: &[u32]) -> f64 {
        let gained: f64 = (0..order.len()).filter(|r| set.contains(&(order[*r] as u32))).map(|r| discount(r + 1)).sum();
        gained * inverse_ideal(set.len())
    }

    fn permutations(of: Vec<usize>) -> Vec<Vec<usize>> {
        if of.len() < 2 {
            return vec![of];
        }
        let without = |i: usize| of.iter().copied().filter(|v| *v != of[i]).collect();
        let starting = |i: usize| permutations(without(i)).into_iter().map(move |rest| (i, rest));
        (0..of.len()).flat_map(starting).map(|(i, rest)| [vec![of[i]], rest].concat()).collect()
    }

    fn total(sets: &[Vec<u32>], count: usize, right: &[bool]) -> f64 {
        let best = |side: bool| {
            let on_side = |order: &Vec<usize>| -> f64 {
                (0..sets.len()).filter(|i| right[*i] == side).map(|i| ndcg(order, &sets[i])).sum()
            };
            permutations((0..count).collect()).iter().map(on_side).fold(0.0, f64::max)
        };
        best(false) + best(true)
    }

    fn sets() -> impl Strategy<Value = Vec<Vec<u32>>> {
        let set = prop::collection::btree_set(0u32..5, 0..4).prop_map(|set| set.into_iter().collect());
        prop::collection::vec(set, 1..9)
    }

    proptest! {
        #[test]
        fn the_ranking_of_a_side_is_the_best_of_all(sets in sets()) {
            let node = labels(&sets, 5);
            let gains: Vec<f64> = sets.iter().map(|set| inverse_ideal(set.len())).collect();
            let discounts: Vec<f64> = (1..=5).map(discount).collect();
            let mut worth = vec![0.0; 5];
            rank_side(&node, &gains, |_| true, &discounts, &mut worth);
            let mut order: Vec<usize> = (0..5).collect();
            order.sort_by(|a, b| worth[*b].total_cmp(&worth[*a]));
            let ours: f64 = sets.iter().map(|set| ndcg(&order, set)).sum();
            prop_assert!((ours - total(&sets, 5, &vec![true; sets.len()])).abs() < 1e-9);
        }

        #[test]
        fn sides_only_get_better_and_end_where_no_example_would_change(
            sets in sets(),
            seed in prop::collection::vec(any::<bool>(), 8),
        ) {
            let node = labels(&sets, 5);
            let gains: Vec<f64> = sets.iter().map(|set| inverse_ideal(set.len())).collect();
            let start = seed[..sets.len()].to_vec();
            let mut right = start.clone();
            assign(&node, &gains, &mut right);
            prop_assert!(total(&sets, 5, &right) >= total(&sets, 5, &start) - 1e-9);
            let mut again = right.clone();
            assign(&node, &gains, &mut again);
            prop_assert_eq!(again, right);
        }
    }

    #[test]
    fn two_kinds_of_examples_are_parted() {
        let sets: Vec<Vec<u32>> = (0..20).map(|i| if i % 2 == 0 { vec![0, 1] } else { vec![2, 3] }).collect();
        let node = labels(&sets, 4);
        assert!(!node.all_alike() && labels(&sets[..1], 4).all_alike());
        let mut right: Vec<bool> = (0..20).map(|i| i % 3 == 0 || i == 4).collect();
        assign(&node, &[inverse_ideal(2); 20], &mut right);
        assert!((2..20).all(|i| right[i] == right[i % 2]) && right[0] != right[1], "{right:?}");
    }
}
