//! What lists promise, on models of random numbers.

use super::*;
use crate::linalg::csr::{Csr, CsrRef};
use crate::linalg::matrix::Matrix;
use crate::linalg::sparse_accumulator::SparseAccumulator;
use crate::linalg::table::Table;
use crate::score::head::{Calibration, Head, Loss};
use crate::score::scorer::{ScoreParts, Scorer};

/// Numbers from −1 to 1.
fn random(seed: u64) -> impl FnMut() -> f32 {
    let mut state = seed | 1;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    }
}

const D: usize = 40;
const C: usize = 300;
const K: usize = 6;

/// A projection and label vectors in which label l speaks to the features l mod D and 7l mod D, and examples that have
/// some features and the labels that these speak for.
struct World {
    projection: Matrix,
    vectors: Matrix,
    x: Csr,
    y: Csr,
    h: Matrix,
}

fn world(c: usize, n: usize, width: usize) -> World {
    let mut draw = random(3);
    let projection = Matrix::from_fn(D, K, |_, _| draw());
    let mut vectors = Matrix::from_fn(c, width, |_, _| 0.1 * draw());
    for label in 0..c {
        for feature in [label % D, label * 7 % D] {
            let row = projection.row(feature).to_vec();
            vectors.row_mut(label).iter_mut().zip(row).for_each(|(v, p)| *v += p);
        }
    }
    let (mut x, mut y, mut h) = (Csr::new(false), Csr::new(true), Matrix::zeros(n, K));
    for i in 0..n {
        let mut ids = [i % D, (i * 13 + 5) % D, (i * 29 + 11) % D];
        ids.sort_unstable();
        for (j, id) in ids.iter().enumerate().filter(|(j, id)| *j == 0 || ids[j - 1] != **id) {
            let value = 0.5 + j as f32;
            x.push(*id as u32, value);
            let row = projection.row(*id).to_vec();
            h.row_mut(i).iter_mut().zip(row).for_each(|(h, p)| *h += value * p);
        }
        x.end_row();
        if c > 0 {
            let mut labels = [ids[0] % c, (ids[0] + D * (i % 5)) % c];
            labels.sort_unstable();
            y.push(labels[0] as u32, 1.0);
            if labels[1] != labels[0] {
                y.push(labels[1] as u32, 1.0);
            }
        }
        y.end_row();
    }
    World { projection, vectors, x, y, h }
}

impl World {
    fn linear(&self) -> Linear<'_> {
        Linear { projection: self.projection.view(), intercept: &[0.25; K], vectors: self.vectors.view() }
    }

    /// Lists from some examples, with the scores of the vectors.
    fn choose(
        &self,
        examples: (CsrRef<'_>, CsrRef<'_>),
        trial: Trial<'_>,
        calibration: Calibration,
    ) -> (Option<Shortlist>, ShortlistReport) {
        let (labels, k) = (Table::from(self.vectors.clone()), self.vectors.cols());
        let head = if k == K { Head::LeastSquares } else { Head::Linear { weights: labels.clone() } };
        let parts = ScoreParts { labels: &labels, trained: labels.rows(), head: &head, ranker: None, calibration };
        choose(&self.linear(), &Scorer::new(parts, None), examples, trial, calibration)
    }
}

fn shortlists(shortlist: &Shortlist, x: CsrRef<'_>, width: Width) -> Vec<Vec<u32>> {
    let mut sums = SparseAccumulator::default();
    (0..x.rows()).map(|i| shortlist.search(x.row(i), width, |_, _| false, &mut sums)).collect()
}

#[test]
fn the_search_agrees_with_sums_over_whole_lists() {
    let world = world(C, 200, K + 1);
    let shortlist = Postings::build(&world.linear(), world.x.view(), world.y.view(), 16).shortlist;
    let (lists, width) = (&shortlist, Width { probes: 5, labels: 20 });
    let found = shortlists(&shortlist, world.x.view(), width);
    for (i, found) in found.iter().enumerate() {
        let mut sums: Vec<Option<f32>> = vec![None; C];
        let place = |list: usize| lists.starts[list] as usize..lists.starts[list + 1] as usize;
        place(D).take(20).for_each(|at| sums[lists.labels[at] as usize] = Some(0.0));
        for (id, value) in world.x.view().entries(i) {
            for at in place(id).take(5) {
                let share = lists.shares[at].to_f32();
                *sums[lists.labels[at] as usize].get_or_insert(0.0) += value * share;
            }
        }
        let scored = (0u32..).zip(sums).filter_map(|(l, s)| Some((l, s? + lists.offsets[l as usize])));
        let mut expected = crate::metrics::rank_candidates(scored, 20);
        expected.sort_unstable();
        assert_eq!(*found, expected);
        assert_eq!(found.len(), 20);
    }
}

#[test]
fn lists_hold_the_largest_shares_first_and_no_label_twice() {
    let world = world(C, 200, K);
    let linear = world.linear();
    let shortlist = Postings::build(&linear, world.x.view(), world.y.view(), 8).shortlist;
    assert_eq!(shortlist.check(D, C), Ok(()));
    for feature in 0..D {
        let range = shortlist.starts[feature] as usize..shortlist.starts[feature + 1] as usize;
        let labels = &shortlist.labels[range.clone()];
        assert!(labels.len() <= 8);
        let shares: Vec<f32> = labels.iter().map(|l| linear.share(feature, *l as usize)).collect();
        for (share, stored) in shares.iter().zip(&shortlist.shares[range]) {
            assert!((stored.to_f32() - share).abs() <= share.abs() / 128.0);
        }
        assert!(shares.is_sorted_by(|a, b| a >= b));
        // Nothing better that the feature occurred with was left out.
        let has = |i: &usize| world.x.view().row(*i).0.contains(&(feature as u32));
        let met = (0..200).filter(has).flat_map(|i| world.y.view().row(i).0.to_vec());
        let left_out = met.filter(|label| !labels.contains(label)).map(|label| linear.share(feature, label as usize));
        assert!(left_out.into_iter().all(|share| labels.len() == 8 && share <= shares[7]));
        let mut distinct = labels.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), labels.len());
    }
}

#[test]
fn threads_do_not_matter() {
    let world = world(C, 500, K + 1);
    let found = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let trial = Trial { x: world.x.view(), y: world.y.view(), h: world.h.view(), own: true };
        let calibration = Calibration::identity(Loss::Softmax);
        pool.install(|| world.choose((world.x.view(), world.y.view()), trial, calibration))
    };
    assert_eq!(found(1), found(3));
}

#[test]
fn odd_models_have_lists_too() {
    // One label, no example, labels that are all the same, and features with negative values.
    for (c, n) in [(1, 10), (1, 0), (3, 0), (5, 50)] {
        let mut world = world(c, n, K + 1);
        if c == 5 {
            let first = world.vectors.row(0).to_vec();
            (0..c).for_each(|l| world.vectors.row_mut(l).copy_from_slice(&first));
        }
        let shortlist = Postings::build(&world.linear(), world.x.view(), world.y.view(), 4).shortlist;
        assert_eq!(shortlist.check(D, c), Ok(()));
        let found = shortlists(&shortlist, world.x.view(), Width { probes: 4, labels: 10 });
        assert!(found.iter().all(|labels| labels.len() == c && labels.is_sorted()));
        // Not even features are needed, and unknown ones do no harm.
        let mut odd = Csr::new(false);
        odd.end_row();
        odd.push(D as u32 + 5, 1.0);
        odd.end_row();
        assert!(shortlists(&shortlist, odd.view(), Width { probes: 4, labels: 10 }).iter().all(|l| l.len() == c));
    }
    let mut negative = world(C, 100, K);
    let mut x = Csr::new(false);
    for i in 0..100 {
        negative.x.view().entries(i).for_each(|(id, value)| x.push(id as u32, -value));
        x.end_row();
    }
    negative.x = x;
    let linear = negative.linear();
    let shortlist = Postings::build(&linear, negative.x.view(), negative.y.view(), 8).shortlist;
    let feature = (0..D).find(|f| shortlist.starts[f + 1] > shortlist.starts[*f]).unwrap();
    let labels = &shortlist.labels[shortlist.starts[feature] as usize..shortlist.starts[feature + 1] as usize];
    let shares: Vec<f32> = labels.iter().map(|l| linear.share(feature, *l as usize)).collect();
    assert!(shares.len() > 1 && shares.is_sorted());
}

#[test]
fn what_an_example_taught_the_lists_is_not_counted_for_it() {
    // The last label and feature 1 meet in one example only, and nothing but their meeting speaks for the label.
    let mut world = world(20_000, 50, K);
    world.vectors = Matrix::zeros(20_000, K);
    // It has a share, and an offset below that of all others.
    let row = world.projection.row(1).to_vec();
    let mean = row.iter().sum::<f32>() / K as f32 + 0.1;
    world.vectors.row_mut(19_999).iter_mut().zip(row).for_each(|(v, p)| *v = p - mean);
    let (mut x, mut y) = (Csr::new(true), Csr::new(true));
    x.push(1, 1.0);
    y.push(19_999, 1.0);
    x.end_row();
    y.end_row();
    let measured = |own: bool| {
        let h = Matrix::zeros(1, K);
        let trial = Trial { x: x.view(), y: y.view(), h: h.view(), own };
        world.choose((x.view(), y.view()), trial, Calibration::identity(Loss::Independent)).1
    };
    assert_eq!(measured(false).tried[0].recall_of_labels, 1.0);
    assert_eq!(measured(true).tried[0].recall_of_labels, 0.0);
}

#[test]
fn the_rest_of_a_softmax_is_close() {
    let mut world = world(3000, 600, K + 1);
    // Scores that differ by one or two, as those of labels that are left out do.
    world.vectors.as_mut_slice().iter_mut().for_each(|v| *v *= 0.2);
    let calibration = Calibration::identity(Loss::Softmax);
    let trial = |from: usize, to: usize| {
        let (mut x, mut y, mut h) = (Csr::new(false), Csr::new(true), Matrix::zeros(to - from, K));
        x.extend_rows(world.x.view(), from, to);
        y.extend_rows(world.y.view(), from, to);
        (from..to).for_each(|i| h.row_mut(i - from).copy_from_slice(world.h.row(i)));
        (x, y, h)
    };
    let (x, y, h) = trial(0, 300);
    let known = Trial { x: x.view(), y: y.view(), h: h.view(), own: false };
    let (found, _) = world.choose((world.x.view(), world.y.view()), known, calibration);
    let shortlist = found.unwrap();
    // Other examples than those that the law was fitted to.
    let (x, _, h) = trial(300, 600);
    let mut errors = Vec::new();
    for (i, labels) in shortlists(&shortlist, x.view(), shortlist.width).iter().enumerate() {
        let z = [h.row(i), &[1.0]].concat();
        let score = |l: usize| z.iter().zip(world.vectors.row(l)).map(|(a, b)| f64::from(a * b)).sum::<f64>().exp();
        let all: f64 = (0..3000).map(score).sum();
        let some: f64 = labels.iter().map(|l| score(*l as usize)).sum();
        assert!(labels.len() < 3000 && some < all);
        let estimate = some + shortlist.log_partition.as_ref().unwrap().log_rest(h.row(i), some.ln()).exp();
        // Without the rest the sum would be far off.
        assert!((some / all).ln() < -0.05);
        errors.push((estimate / all).ln().abs());
    }
    errors.sort_by(f64::total_cmp);
    assert!(errors[150] < 0.1 && errors[285] < 0.35, "{} {}", errors[150], errors[285]);
}
