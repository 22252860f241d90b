//! Trees on planted data.

use super::grow::Grower;
use super::node::NONE;
use super::*;
use crate::Error;
use crate::data::Rows;
use crate::tree::{Array, Arrays, Wanted};

/// Examples of `c` classes. Each class is told by the bits of its number, a feature for every value of every bit, and
/// every example has a feature of noise.
fn planted(n: usize, c: u32, weights: Option<Vec<f32>>) -> Dataset {
    let bits = c.next_power_of_two().ilog2().max(1);
    let mut rows = Rows::new();
    for i in 0..n as u32 {
        let class = i.wrapping_mul(2_654_435_761) % c;
        (0..bits).for_each(|bit| rows.x.push(2 * bit + (class >> bit & 1), 1.0));
        rows.x.push(2 * bits + i % 7, 0.2);
        rows.x.end_row();
        rows.y.push(class, 1.0);
        rows.y.end_row();
    }
    rows.weights = weights;
    Dataset::from_rows(&rows, 2 * bits as usize + 7, c as usize).unwrap()
}

fn fit(params: &LomTreeParams, data: &Dataset) -> LomTree {
    params.fit(data, &mut Run::default()).unwrap()
}

const TOP: Wanted<'_> = Wanted { top: 3, labels: None };

fn errors(tree: &LomTree, data: &Dataset) -> usize {
    let (x, y) = (data.features().unwrap(), data.labels().unwrap());
    let wrong = |i: &usize| {
        let (ids, values) = x.view().row(*i);
        tree.rank(ids, values, TOP)[0].0 != y.view().row(*i).0[0]
    };
    (0..x.rows()).filter(wrong).count()
}

#[test]
fn separable_classes_are_told_apart_at_logarithmic_depth() {
    let data = planted(6000, 64, None);
    let tree = fit(&LomTreeParams::default(), &data);
    assert_eq!(errors(&tree, &data), 0);
    let summary = tree.summary();
    assert_eq!((summary.predicted_classes, summary.purity), (64, 1.0));
    // log₂ 64 = 6.
    assert!(summary.mean_depth < 12.0 && summary.greatest_depth < 24, "{summary:?}");
    // A leaf for each class is enough for classes like these.
    let small = fit(&LomTreeParams { nodes: Some(63), passes: 20, patience: 1.0, ..Default::default() }, &data);
    let summary = small.summary();
    assert!(summary.nodes <= 63 && summary.mean_depth < 12.0, "{summary:?}");
    assert!(errors(&small, &data) < 600, "{} of 6000", errors(&small, &data));
}

#[test]
fn hashed_regressors_do_nearly_as_well() {
    let data = planted(6000, 64, None);
    let tree = fit(&LomTreeParams { bits: 14, ..Default::default() }, &data);
    let summary = tree.summary();
    assert!(summary.hashed && summary.numbers == 1 << 14);
    assert!(errors(&tree, &data) < 60, "{} of 6000", errors(&tree, &data));
}

/// J = 2 Σᵢ πᵢ |P(h > 0) − P(h > 0 | i)| of the root, for equally frequent classes.
fn objective(grower: &Grower<'_>, table: &TrainingSet, c: usize) -> f64 {
    let (mut right, mut all) = (vec![0.0; c], vec![0.0; c]);
    let root = &grower.nodes[grower.root as usize];
    if root.is_leaf() {
        return 0.0;
    }
    for i in 0..table.classes.len() {
        let (places, mut buffer) = (grower.layout.node(root.regressor), RowBuffer::default());
        let margin = weights::margin(places, table.row(i, &mut buffer), |place| grower.slots[place][0]);
        all[table.classes[i] as usize] += 1.0;
        right[table.classes[i] as usize] += f64::from(u8::from(margin > 0.0));
    }
    let overall = right.iter().sum::<f64>() / all.iter().sum::<f64>();
    (0..c).map(|i| 2.0 / c as f64 * (overall - right[i] / all[i]).abs()).sum()
}

#[test]
fn the_root_learns_a_cut_that_is_balanced_and_pure() {
    let data = planted(4096, 32, None);
    let (params, table) = (LomTreeParams { patience: 0.0, ..Default::default() }, TrainingSet::new(&data).unwrap());
    let mut grower = Grower::new(&params, data.shape());
    let mut seen = Vec::new();
    for (i, at) in shuffled(4096, 1, 0).into_iter().enumerate() {
        if i == 64 || i == 4095 {
            seen.push(objective(&grower, &table, 32));
        }
        let mut buffer = RowBuffer::default();
        grower.learn(table.row(at as usize, &mut buffer), table.classes[at as usize], 1.0);
    }
    // 1 is the most there is: half of the classes on each side, and every class on one.
    assert!(seen[1] > 0.85 && seen[1] >= seen[0], "{seen:?}");
}

/// Parents and children agree, every node in use hangs from the root once, and weights of the lightest leaves are right.
fn check(grower: &Grower<'_>) -> usize {
    let (mut waiting, mut inner) = (vec![grower.root], 0);
    let mut seen = vec![false; grower.nodes.len()];
    assert_eq!(grower.nodes[grower.root as usize].parent, NONE);
    while let Some(at) = waiting.pop() {
        assert!(!std::mem::replace(&mut seen[at as usize], true), "node {at} hangs twice");
        let node = &grower.nodes[at as usize];
        if !node.is_leaf() {
            inner += 1;
            let below = node.children.map(|child| &grower.nodes[child as usize]);
            assert!(below.iter().all(|child| child.parent == at));
            assert_eq!(node.lightest, below[0].lightest.min(below[1].lightest));
            waiting.extend(node.children);
        }
    }
    assert_eq!(inner, grower.inner);
    assert!(seen.iter().all(|seen| *seen), "a node got lost");
    inner
}

#[test]
fn swaps_happen_and_leave_the_tree_whole() {
    // First a few classes fill all nodes, then others come that need them.
    let data = planted(8000, 64, None);
    for bits in [8, 20] {
        let params = LomTreeParams { nodes: Some(24), patience: 1.0, swap_resistance: 0.5, bits, ..Default::default() };
        let table = TrainingSet::new(&data).unwrap();
        let mut grower = Grower::new(&params, data.shape());
        let (early, late): (Vec<usize>, Vec<usize>) = (0..8000).partition(|i| table.classes[*i] < 8);
        for (step, i) in early.into_iter().chain(late).enumerate() {
            let mut buffer = RowBuffer::default();
            grower.learn(table.row(i, &mut buffer), table.classes[i], 1.0);
            if step % 97 == 0 {
                assert!(check(&grower) <= 24);
            }
        }
        assert!(grower.swaps > 0, "no leaf was given up");
        assert_eq!(check(&grower), 24);
        let tree = flatten::finish(grower, &table, &mut Run::default()).unwrap();
        assert!(LomTree::from_arrays(&tree.arrays(), (data.shape().d, 64)).is_ok());
    }
}

#[test]
fn arrays_make_the_same_tree_again() {
    let data = planted(500, 20, None);
    for bits in [8, 20] {
        let tree = fit(&LomTreeParams { bits, ..Default::default() }, &data);
        assert_eq!(tree.summary().hashed, bits == 8);
        assert_eq!(LomTree::from_arrays(&tree.arrays(), (data.shape().d, 20)).unwrap(), tree);
    }
}

#[test]
fn damaged_arrays_are_refused_and_never_panic() {
    let data = planted(300, 12, None);
    let d = data.shape().d;
    for bits in [8, 20] {
        let tree = fit(&LomTreeParams { nodes: Some(15), bits, ..Default::default() }, &data);
        let arrays = tree.arrays();
        assert!(LomTree::from_arrays(&arrays, (d, 11)).is_err(), "a label out of range");
        for place in 0..arrays.len() {
            let without: Arrays<'_> = (0..arrays.len()).filter(|i| *i != place).map(|i| arrays[i].clone()).collect();
            assert!(LomTree::from_arrays(&without, (d, 12)).is_err());
            damage(&arrays, place, |changed| {
                // Some changes make another sound tree, which must then be able to rank.
                if let Ok(tree) = LomTree::from_arrays(changed, (d, 12)) {
                    tree.rank(&[0, 3, 5], None, TOP);
                    tree.summary();
                }
            });
        }
        let shorter = |name: &str| {
            let mut shorter = arrays.clone();
            match &mut shorter.iter_mut().find(|(found, _)| *found == name).unwrap().1 {
                Array::U32(numbers) => drop(numbers.to_mut().pop()),
                Array::F32(numbers) => drop(numbers.to_mut().pop()),
            }
            LomTree::from_arrays(&shorter, (d, 12))
        };
        for name in [
            "lomtree.children",
            "lomtree.leaf_starts",
            "lomtree.leaf_classes",
            "lomtree.leaf_weights",
            "lomtree.weights",
        ] {
            assert!(shorter(name).is_err(), "{name}");
        }
        let mut circle = arrays.clone();
        circle[0].1 = Array::U32(vec![0; tree.children.len()].into());
        assert!(LomTree::from_arrays(&circle, (d, 12)).is_err());
    }
}

/// Calls `use_it` with every number of one array replaced by some others.
fn damage(arrays: &Arrays<'_>, place: usize, use_it: impl Fn(&Arrays<'_>)) {
    let length = match &arrays[place].1 {
        Array::U32(numbers) => numbers.len(),
        Array::F32(numbers) => numbers.len(),
    };
    for i in 0..length.min(64) {
        for value in [0, 1, 7, 15, 16, 31, 1 << 20, u32::MAX] {
            let mut changed = arrays.clone();
            match &mut changed[place].1 {
                Array::U32(numbers) => numbers.to_mut()[i] = value,
                Array::F32(numbers) => numbers.to_mut()[i] = f32::from_bits(value),
            }
            use_it(&changed);
        }
    }
}

#[test]
fn threads_do_not_change_a_bit() {
    let data = planted(20_000, 50, None);
    let params = LomTreeParams { passes: 2, ..Default::default() };
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| fit(&params, &data))
    };
    assert_eq!(with(1), with(2));
}

#[test]
fn small_and_strange_data_have_defined_trees() {
    let one_class = planted(40, 1, None);
    let tree = fit(&LomTreeParams::default(), &one_class);
    assert_eq!((tree.summary().leaves, tree.rank(&[], None, TOP)), (1, vec![(0, 1.0)]));
    // One example of four classes, of which three are never seen.
    let one = planted(1, 4, None);
    assert_eq!(fit(&LomTreeParams::default(), &one).rank(&[2], Some(&[f32::NAN]), TOP), [(0, 1.0)]);
    // The same features for all: nothing can be told, the leaf knows how often each class occurs.
    let mut rows = Rows::new();
    for i in 0..90 {
        rows.x.push(1, 3.0);
        rows.x.end_row();
        rows.y.push([0, 2, 2][i % 3], 1.0);
        rows.y.end_row();
    }
    let constant = Dataset::from_rows(&rows, 3, 4).unwrap();
    let ranked = fit(&LomTreeParams::default(), &constant).rank(&[1], Some(&[9.0]), TOP);
    assert_eq!(ranked, [(2, 2.0 / 3.0), (0, 1.0 / 3.0)]);
    // Features beyond those of the training are passed over.
    let data = planted(600, 8, None);
    let tree = fit(&LomTreeParams::default(), &data);
    let known = tree.rank(&[0, 3, 5], None, TOP);
    assert_eq!(tree.rank(&[0, 3, 5, 900], None, TOP), known);
    let only = Wanted { top: 5, labels: Some(&[known[0].0]) };
    assert_eq!(tree.rank(&[0, 3, 5], None, only), known[..1]);
    assert!(tree.rank(&[0, 3, 5], None, Wanted { top: 0, labels: None }).is_empty());
}

#[test]
fn weights_count_and_weightless_examples_do_not() {
    let weights = |n: usize| Some((0..n).map(|i| [0.0, 2.0][i % 2]).collect());
    let (data, half) = (planted(1000, 10, weights(1000)), planted(1000, 10, None).select(|i| i % 2 == 1).unwrap());
    let tree = fit(&LomTreeParams::default(), &data);
    let held: f32 = tree.leaf_weights.iter().sum();
    assert_eq!((held, errors(&tree, &half)), (1000.0, 0));
    let nothing = planted(10, 2, Some(vec![0.0; 10]));
    let refused = LomTreeParams::default().fit(&nothing, &mut Run::default());
    assert_eq!(refused.unwrap_err().to_string(), "all examples have weight 0");
    // Far beyond what squares of single precision hold.
    let heavy = planted(1000, 10, Some((0..1000).map(|i| 1e30 * (1 + i % 3) as f32).collect()));
    assert_eq!(errors(&fit(&LomTreeParams::default(), &heavy), &half), 0);
}

#[test]
fn other_numbers_of_labels_are_refused_and_runs_can_be_stopped() {
    let mut rows = Rows::new();
    for labels in [&[0][..], &[1], &[0, 1], &[]] {
        rows.x.push(0, 1.0);
        rows.x.end_row();
        labels.iter().for_each(|label| rows.y.push(*label, 1.0));
        rows.y.end_row();
    }
    let several = Dataset::from_rows(&rows, 1, 2).unwrap();
    let refused = LomTreeParams::default().fit(&several, &mut Run::default()).unwrap_err().to_string();
    assert_eq!(refused, "example 3 has 2 labels, but a LomTree is for exactly one per example");
    let stopped = LomTreeParams::default().fit(&planted(100, 4, None), &mut Run::watched(|_| false));
    assert!(matches!(stopped, Err(Error::Cancelled)));
}
