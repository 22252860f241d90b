//! Label trees on planted data.

use super::*;
use crate::Error;
use crate::data::Rows;
use crate::tree::{Array, Arrays, Wanted};

/// Examples of `c` classes in families of four: a feature for the family, one for the member, and one of noise.
fn planted(n: usize, c: u32, weights: Option<Vec<f32>>) -> Dataset {
    partly_told(n, c, weights, 1)
}

/// The same, but only every so many examples have the feature of the member.
fn partly_told(n: usize, c: u32, weights: Option<Vec<f32>>, every: u32) -> Dataset {
    let families = c.div_ceil(4);
    let mut rows = Rows::new();
    for i in 0..n as u32 {
        let class = i.wrapping_mul(2_654_435_761) % c;
        rows.x.push(class / 4, 1.0);
        if i.is_multiple_of(every) {
            rows.x.push(families + class, 0.7);
        }
        rows.x.push(families + c + i % 7, 0.2);
        rows.x.end_row();
        rows.y.push(class, 1.0);
        rows.y.end_row();
    }
    rows.weights = weights;
    Dataset::from_rows(&rows, (families + c) as usize + 7, c as usize).unwrap()
}

fn fit(params: &LabelTreeParams, data: &Dataset) -> LabelTree {
    params.fit(data, &mut Run::default()).unwrap()
}

const TOP: Wanted<'_> = Wanted { top: 3, labels: None };

fn errors(tree: &LabelTree, data: &Dataset) -> usize {
    let (x, y) = (data.features().unwrap(), data.labels().unwrap());
    let wrong = |i: &usize| {
        let (ids, values) = x.view().row(*i);
        tree.rank(ids, values, TOP)[0].0 != y.view().row(*i).0[0]
    };
    (0..x.rows()).filter(wrong).count()
}

#[test]
fn separable_classes_are_told_apart_by_few_scorers() {
    let data = planted(3000, 60, None);
    for affinity in [Affinity::Embedding, Affinity::Confusion] {
        let params = LabelTreeParams { affinity, beam: 2, ..Default::default() };
        let tree = fit(&params, &data);
        assert_eq!(errors(&tree, &data), 0, "{affinity:?}");
        let summary = tree.summary();
        assert_eq!((summary.leaves, summary.depth, summary.root_children, summary.projected), (60, 3, 4, false));
        assert!(summary.scorers <= 4.0 + 2.0 * 4.0 + 2.0 * 4.0, "{summary:?}");
    }
}

#[test]
fn scorers_that_an_example_meets_are_counted() {
    let data = planted(600, 60, None);
    let met = |depth: usize, beam: usize, margin: f32| {
        let tree = fit(&LabelTreeParams { depth, beam, margin, branching: Some(4), ..Default::default() }, &data);
        tree.scorers_met(&[0, 6], None, 1)
    };
    assert_eq!(met(1, 6, 1e9), 60);
    // Four groups of fifteen labels; then four of four, of three or four labels each.
    assert_eq!(met(2, 1, 1e9), 4 + 15);
    assert_eq!(met(2, 4, 1e9), 4 + 60);
    assert!((11..=12).contains(&met(3, 1, 1e9)));
    assert_eq!(met(3, 16, 1e9), 4 + 16 + 60);
    // Nodes that lie far behind are not met.
    assert_eq!(met(2, 4, 0.0), 4 + 15);
}

#[test]
fn labels_that_are_hard_to_tell_apart_become_groups() {
    let data = partly_told(3000, 60, None, 3);
    for affinity in [Affinity::Embedding, Affinity::Confusion] {
        let params = LabelTreeParams { affinity, depth: 2, branching: Some(15), epochs: 1, ..Default::default() };
        let tree = fit(&params, &data).tree;
        let together = (1..16).filter(|group| {
            let families: Vec<u32> = tree.children(*group).map(|node| tree.labels[node as usize] / 4).collect();
            families.iter().all(|family| *family == families[0])
        });
        let together = together.count();
        assert!(together >= 12, "{affinity:?}: {together} families of 15");
    }
}

#[test]
fn projections_depths_and_greedy_descent_work_too() {
    let data = planted(3000, 60, None);
    for params in [
        LabelTreeParams { rank: Some(60), ..Default::default() },
        LabelTreeParams { depth: 2, ..Default::default() },
        LabelTreeParams { depth: 1, ..Default::default() },
        LabelTreeParams { beam: 1, ..Default::default() },
    ] {
        let tree = fit(&params, &data);
        assert_eq!(tree.summary().depth, params.depth);
        assert_eq!(tree.summary().projected, params.rank.is_some());
        assert!(errors(&tree, &data) <= 30, "{params:?}: {} of 3000", errors(&tree, &data));
        assert_eq!(LabelTree::from_arrays(&tree.arrays(), (data.shape().d, 60)).unwrap(), tree);
    }
}

#[test]
fn probabilities_add_up_to_one() {
    let data = planted(600, 20, None);
    let tree = fit(&LabelTreeParams { beam: 100, ..Default::default() }, &data);
    let ranked = tree.rank(&[0, 6], None, Wanted { top: 50, labels: None });
    assert_eq!(ranked.len(), 20);
    assert!((ranked.iter().map(|(_, p)| p).sum::<f32>() - 1.0).abs() < 1e-5);
    assert!(ranked.is_sorted_by(|a, b| a.1 >= b.1));
    let only = Wanted { top: 5, labels: Some(&[3, 7]) };
    assert_eq!(tree.rank(&[0, 6], None, only).len(), 2);
}

#[test]
fn a_margin_narrows_the_search_but_leaves_enough_labels() {
    let data = planted(3000, 60, None);
    let tree = |margin| fit(&LabelTreeParams { margin, depth: 2, branching: Some(15), ..Default::default() }, &data);
    let (whole, narrow, greedy) = (tree(1e9), tree(3.0), tree(0.0));
    assert_eq!((whole.tree.clone(), &whole.weights), (narrow.tree.clone(), &narrow.weights), "training has no margin");
    assert_eq!((errors(&whole, &data), errors(&narrow, &data)), (0, 0));
    let ranked = |tree: &LabelTree, top| tree.rank(&[0, 15], None, Wanted { top, labels: None });
    // Groups have four labels, and six of them are the whole beam.
    for top in [1, 5, 12, 17, 1000] {
        let most = ranked(&whole, top).len();
        assert!(most == top || most == 24, "{most} labels for {top}");
        for tree in [&narrow, &greedy] {
            let found = ranked(tree, top);
            assert_eq!(found.len(), most);
            assert!(found.is_sorted_by(|a, b| a.1 >= b.1));
        }
    }
    // Fewer candidates share the same probability.
    assert!(ranked(&greedy, 1)[0].1 >= ranked(&whole, 1)[0].1);
    // Labels that are asked for are looked for in the whole beam, whatever the margin.
    let all: Vec<u32> = (0..60).collect();
    let asked = Wanted { top: 60, labels: Some(&all) };
    assert_eq!(greedy.rank(&[0, 15], None, asked), whole.rank(&[0, 15], None, asked));
}

#[test]
fn trees_of_earlier_files_follow_the_whole_beam() {
    let data = planted(600, 20, None);
    let mut tree = fit(&LabelTreeParams::default(), &data);
    let earlier: Arrays<'_> = tree.arrays().into_iter().filter(|(name, _)| *name != "label_tree.margin").collect();
    let opened = LabelTree::from_arrays(&earlier, (data.shape().d, 20)).unwrap();
    assert_eq!(opened.arrays(), earlier);
    tree.margin = f32::INFINITY;
    assert_eq!(opened, tree);
}

#[test]
fn memory_of_other_examples_changes_nothing() {
    let data = planted(400, 60, None);
    for params in [
        LabelTreeParams { epochs: 2, ..Default::default() },
        LabelTreeParams { epochs: 2, depth: 2, rank: Some(20), ..Default::default() },
        LabelTreeParams { epochs: 2, depth: 1, ..Default::default() },
    ] {
        let (tree, x) = (fit(&params, &data), data.features().unwrap());
        let mut memory = Memory::default();
        for i in 0..x.rows() {
            let wanted = Wanted { top: [1, 5, 40][i % 3], labels: None };
            let mut found = Vec::new();
            tree.rank_into(x.view().row(i), wanted, &mut memory, |label, p| found.push((label, p)));
            let (ids, values) = x.view().row(i);
            assert_eq!(found, tree.rank(ids, values, wanted), "{params:?}");
        }
    }
}

#[test]
fn the_best_labels_are_those_of_a_full_sort() {
    let data = partly_told(900, 60, None, 3);
    let (tree, x) = (fit(&LabelTreeParams { margin: 1e9, ..Default::default() }, &data), data.features().unwrap());
    for i in 0..x.rows() {
        let (ids, values) = x.view().row(i);
        let all = tree.rank(ids, values, Wanted { top: 60, labels: None });
        for top in [1, 2, 5, 16, 17] {
            assert_eq!(tree.rank(ids, values, Wanted { top, labels: None }), all[..top.min(all.len())]);
        }
    }
}

#[test]
fn damaged_arrays_are_refused_and_never_panic() {
    let data = planted(300, 12, None);
    let d = data.shape().d;
    for rank in [None, Some(5)] {
        let tree = fit(&LabelTreeParams { rank, epochs: 1, ..Default::default() }, &data);
        let arrays = tree.arrays();
        assert!(LabelTree::from_arrays(&arrays, (d, 11)).is_err(), "a label out of range");
        assert!(LabelTree::from_arrays(&arrays, (d + 1, 12)).is_err(), "another number of features");
        for place in 0..arrays.len() {
            let without: Arrays<'_> = (0..arrays.len()).filter(|i| *i != place).map(|i| arrays[i].clone()).collect();
            // Files of earlier versions have no margin.
            let opens = LabelTree::from_arrays(&without, (d, 12)).is_ok();
            assert_eq!(opens, arrays[place].0 == "label_tree.margin");
            for i in 0..64 {
                for value in [0, 1, 2, 7, 12, 13, 1 << 20, u32::MAX - 1, u32::MAX] {
                    let mut changed = arrays.clone();
                    let there = match &mut changed[place].1 {
                        Array::U32(numbers) => numbers.to_mut().get_mut(i).map(|n| *n = value),
                        Array::F32(numbers) => numbers.to_mut().get_mut(i).map(|n| *n = f32::from_bits(value)),
                    };
                    // Some changes make another sound tree, which must then be able to rank.
                    if let (Some(()), Ok(tree)) = (there, LabelTree::from_arrays(&changed, (d, 12))) {
                        let ranked = tree.rank(&[0, 3, 5], None, TOP);
                        assert!(ranked.iter().all(|(_, p)| (0.0..=1.0).contains(p)));
                        tree.summary();
                    }
                }
            }
            let mut shorter = arrays.clone();
            let cut = match &mut shorter[place].1 {
                Array::U32(numbers) => numbers.to_mut().pop().is_some(),
                Array::F32(numbers) => numbers.to_mut().pop().is_some(),
            };
            assert!(!cut || LabelTree::from_arrays(&shorter, (d, 12)).is_err(), "{}", arrays[place].0);
        }
    }
}

#[test]
fn threads_do_not_change_a_bit() {
    let data = planted(3000, 60, None);
    for affinity in [Affinity::Embedding, Affinity::Confusion] {
        let params = LabelTreeParams { affinity, rank: Some(30), epochs: 2, ..Default::default() };
        let with = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| fit(&params, &data))
        };
        assert_eq!(with(1), with(2), "{affinity:?}");
    }
}

#[test]
fn small_and_strange_data_have_defined_trees() {
    for affinity in [Affinity::Embedding, Affinity::Confusion] {
        let params = LabelTreeParams { affinity, ..Default::default() };
        let one_class = fit(&params, &planted(40, 1, None));
        assert_eq!(one_class.rank(&[], None, TOP), [(0, 1.0)]);
        // One example of four classes, of which three are never seen.
        assert_eq!(fit(&params, &planted(1, 4, None)).rank(&[2], None, TOP), [(0, 1.0)]);
        // The same features for all: nothing can be told but how often each class occurs.
        let mut rows = Rows::new();
        for i in 0..90 {
            rows.x.push(1, 3.0);
            rows.x.end_row();
            rows.y.push([0, 2, 2][i % 3], 1.0);
            rows.y.end_row();
        }
        let constant = Dataset::from_rows(&rows, 3, 4).unwrap();
        let ranked = fit(&params, &constant).rank(&[1], Some(&[9.0]), TOP);
        assert_eq!((ranked.len(), ranked[0].0), (2, 2));
        // Features beyond those of the training are passed over.
        let tree = fit(&params, &planted(200, 8, None));
        assert_eq!(tree.rank(&[0, 2, 900], None, TOP), tree.rank(&[0, 2], None, TOP));
        assert!(tree.rank(&[0], Some(&[f32::NAN]), TOP).iter().all(|(_, p)| (0.0..=1.0).contains(p)));
    }
}

#[test]
fn weightless_examples_teach_nothing() {
    // Every second example has weight 0 and a wrong label.
    let mut rows = Rows::new();
    for i in 0..800u32 {
        rows.x.push(i / 2 % 5, 1.0);
        rows.x.end_row();
        rows.y.push((i / 2 + i % 2) % 5, 1.0);
        rows.y.end_row();
    }
    rows.weights = Some((0..800).map(|i| [2.0, 0.0][i % 2]).collect());
    let data = Dataset::from_rows(&rows, 5, 5).unwrap();
    let tree = fit(&LabelTreeParams::default(), &data);
    (0..5).for_each(|class| assert_eq!(tree.rank(&[class], None, TOP)[0].0, class));
    let nothing = planted(10, 2, Some(vec![0.0; 10]));
    let refused = LabelTreeParams::default().fit(&nothing, &mut Run::default());
    assert_eq!(refused.unwrap_err().to_string(), "all examples have weight 0");
}

#[test]
fn other_numbers_of_labels_are_refused_and_runs_can_be_stopped() {
    let mut rows = Rows::new();
    for labels in [&[0][..], &[], &[0, 1]] {
        rows.x.push(0, 1.0);
        rows.x.end_row();
        labels.iter().for_each(|label| rows.y.push(*label, 1.0));
        rows.y.end_row();
    }
    let none = Dataset::from_rows(&rows, 1, 2).unwrap();
    let refused = LabelTreeParams::default().fit(&none, &mut Run::default()).unwrap_err().to_string();
    assert_eq!(refused, "example 2 has 0 labels, but a label tree is for exactly one per example");
    let mut asked = 0;
    let stopped = LabelTreeParams::default().fit(
        &planted(10_000, 4, None),
        &mut Run::watched(|progress| {
            asked += usize::from(progress.stage == "scorers");
            asked < 2
        }),
    );
    assert!(matches!(stopped, Err(Error::Cancelled)));
    assert_eq!(asked, 2);
}
