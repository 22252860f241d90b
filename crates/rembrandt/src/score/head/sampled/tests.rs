use super::*;
use crate::linalg::csr::Csr;
use crate::score::head::LogisticParams;
use crate::score::head::objective::Objective;
use crate::score::head::problem::{COUNT, ToyProblem};

const LOSSES: [Loss; 2] = [Loss::Independent, Loss::Softmax];

/// As if examples were many: hundreds of regions, which take turns.
const SMALL: RegionSizes = RegionSizes { rows: 20, in_turn: 16 };

/// The problem as it is, in the coordinates of the inputs themselves.
fn estimate(problem: &ToyProblem, loss: Loss) -> Estimate<'_> {
    let inputs = Inputs::new(problem.h.view(), None);
    Estimate { inputs, targets: problem.targets(), loss, coordinates: Mat::identity(5, 5) }
}

fn some_weights(count: usize) -> Matrix {
    Matrix::from_fn(count, 5, |i, j| ((i * 7 + j * 5) % 9) as f32 / 4.0 - 1.0)
}

/// The functions of `estimate.rs`, written out.
fn value(problem: &ToyProblem, loss: Loss, rows: &[u32], subset: &LabelSample, weights: &Matrix) -> f64 {
    let mut total = 0.0;
    for i in rows.iter().map(|i| *i as usize) {
        let z: Vec<f64> = problem.h.row(i).iter().map(|v| f64::from(*v)).chain([1.0]).collect();
        let score = |l: u32| weights.row(l as usize).iter().zip(&z).map(|(w, z)| f64::from(*w) * z).sum::<f64>();
        let weight = f64::from(problem.example_weights[i]);
        let of = |l: u32| f64::from(problem.label_weights[l as usize]);
        let held = problem.labels.view().row(i).0;
        let parts = subset.labels.iter().zip(&subset.factors).map(|(l, f)| (*l, f64::from(*f)));
        total += weight
            * match loss {
                Loss::Independent => parts.map(|(l, f)| of(l) * f * score(l).exp().ln_1p()).sum::<f64>(),
                Loss::Softmax => {
                    let mass: f64 = held.iter().map(|l| of(*l)).sum();
                    mass * parts.map(|(l, f)| f * score(l).exp()).sum::<f64>().ln()
                }
            };
        total -= weight * held.iter().map(|l| of(*l) * score(*l)).sum::<f64>();
    }
    total
}

#[test]
fn gradients_agree_with_differences() {
    for loss in LOSSES {
        let problem = ToyProblem::new(40, loss);
        let rows: Vec<u32> = (0..40).step_by(2).collect();
        // Label 5 is left out, and nobody has it.
        let subset = LabelSample { labels: vec![0, 1, 2, 3, 4], factors: vec![1.0, 3.0, 1.5, 1.0, 7.0] };
        let weights = some_weights(COUNT);
        let gradient = estimate(&problem, loss).gradient(&weights, &rows, &subset);
        for (i, label) in subset.labels.iter().enumerate() {
            for j in 0..5 {
                let moved = |step: f32| {
                    let mut moved = weights.clone();
                    moved.row_mut(*label as usize)[j] += step;
                    value(&problem, loss, &rows, &subset, &moved)
                };
                let step = 1.0 / 256.0;
                let difference = (moved(step) - moved(-step)) / (2.0 * f64::from(step));
                let found = f64::from(gradient[i * 5 + j]);
                assert!((difference - found).abs() < 2e-3, "{loss:?} {label} {j}: {found} for {difference}");
            }
        }
    }
}

#[test]
fn estimates_are_right_on_average() {
    for (loss, bound) in [(Loss::Independent, 0.01), (Loss::Softmax, 0.08)] {
        let problem = ToyProblem::new(30, loss);
        let (estimate, weights) = (estimate(&problem, loss), some_weights(COUNT));
        let rows: Vec<u32> = (0..30).collect();
        // Rows of one example each: then the labels of the others are not certain.
        let lottery = LabelSampler::new(&[5.0, 4.0, 3.0, 2.0, 1.0, 1.0], 4);
        let likely = lottery.likely(&estimate.sizes(&weights, &[&rows])[0]);
        let draws = 3000;
        let mut mean = Matrix::zeros(COUNT, 5);
        for (i, row) in rows.iter().enumerate() {
            let held = || problem.labels.view().row(i).0.iter().copied();
            for key in 0..draws {
                let subset = lottery.draw(&likely, held(), (i as u64) << 32 | key);
                let gradient = estimate.gradient(&weights, &[*row], &subset);
                for (label, g) in subset.labels.iter().zip(gradient.chunks(5)) {
                    mean.row_mut(*label as usize).iter_mut().zip(g).for_each(|(m, g)| *m += g / draws as f32);
                }
            }
        }
        let labels: Vec<u32> = (0..COUNT as u32).collect();
        let objective = Objective { rho: 0.0, keep: 1.0, offset: &[0.0; COUNT], ..problem.objective(loss, None) };
        let exact = objective.gradient(&labels, &weights);
        let difference = |i: usize, j: usize| (f64::from(mean.row(i)[j]) - exact[(j, i)]).abs();
        let largest =
            (0..COUNT).flat_map(|i| (0..5).map(move |j| (i, j))).map(|(i, j)| difference(i, j)).fold(0.0, f64::max);
        assert!(largest < bound * exact.norm_max(), "{loss:?}: {largest} of {}", exact.norm_max());
    }
}

#[test]
fn sizes_of_many_labels_are_those_of_their_probabilities() {
    for loss in LOSSES {
        let problem = ToyProblem::new(40, loss);
        // More than are worked on in one block, and the last block has most of the mass.
        let mut weights = some_weights(1100);
        (1024..1100).for_each(|label| weights.row_mut(label)[4] += 3.0);
        let parts: [&[u32]; 3] = [&[3, 8, 21], &[], &[39]];
        let found = estimate(&problem, loss).sizes(&weights, &parts);
        assert_eq!(found.len(), 3);
        for (part, found) in parts.iter().zip(&found) {
            let mut squares = vec![0f64; 1100];
            for i in *part {
                let z: Vec<f64> = problem.h.row(*i as usize).iter().map(|v| f64::from(*v)).chain([1.0]).collect();
                let dot = |l: usize| weights.row(l).iter().zip(&z).map(|(w, z)| f64::from(*w) * z).sum::<f64>();
                let odds: Vec<f64> = (0..1100).map(|l| dot(l).exp()).collect();
                let all: f64 = odds.iter().sum();
                for (square, odds) in squares.iter_mut().zip(odds) {
                    let p = if loss == Loss::Softmax { odds / all } else { odds / (1.0 + odds) };
                    *square += p * p / part.len() as f64;
                }
            }
            for (square, found) in squares.iter().zip(found) {
                assert!((square.sqrt() - f64::from(*found)).abs() < 1e-5, "{loss:?}: {found} for {}", square.sqrt());
            }
        }
    }
}

#[test]
fn regions_are_told_of_together_as_each_alone() {
    for loss in LOSSES {
        let problem = ToyProblem::new(40, loss);
        let (estimate, weights) = (estimate(&problem, loss), some_weights(COUNT));
        let lottery = LabelSampler::new(&[5.0, 4.0, 3.0, 2.0, 1.0, 1.0], 4);
        // More than go together at a time.
        let order: Vec<Vec<u32>> = (0..20).map(|region| vec![2 * region, 2 * region + 1]).collect();
        let alone = |rows: &Vec<u32>| lottery.likely(&estimate.sizes(&weights, &[rows])[0]);
        let found = tell(&estimate, &lottery, &order, &weights);
        assert_eq!(found, order.iter().map(alone).collect::<Vec<_>>());
        assert!(found.windows(2).any(|pair| pair[0] != pair[1]));
    }
}

#[test]
fn every_row_has_one_turn_in_an_epoch() {
    let rows: Vec<u32> = (100..161).collect();
    for (steps, every) in [(1, 1), (48, 1), (48, 4), (7, 3), (3, 3)] {
        let turns = Turns { steps, every };
        for region in 0..5 {
            let taken: Vec<&[u32]> = (0..steps).map(|part| turns.take(&rows, region, part)).collect();
            assert_eq!(taken.concat(), rows, "{steps} {every}");
            let busy: Vec<usize> = (0..steps).filter(|part| !taken[*part].is_empty()).collect();
            assert!(busy.windows(2).all(|pair| pair[1] - pair[0] >= every));
            // Neighbours are not there at the same time.
            let beside = |part: usize| turns.take(&rows, region + 1, part);
            assert!(every == 1 || busy.iter().all(|part| beside(*part).is_empty()));
        }
    }
}

/// Classes or labels around 60 centres in 12 dimensions: some thousand examples, and a label that nobody has.
fn planted(n: usize, loss: Loss) -> (Matrix, Csr) {
    let (count, k) = (60, 12);
    let [mut centres, mut h] = [Matrix::zeros(count, k), Matrix::zeros(n, k)];
    crate::linalg::random::fill_normal(&mut centres, 0, 1);
    crate::linalg::random::fill_normal(&mut h, 0, 2);
    let mut labels = Csr::new(true);
    for i in 0..n {
        let label = (i * i + 3 * i) % count;
        h.row_mut(i).iter_mut().zip(centres.row(label)).for_each(|(h, c)| *h = 0.7 * *h + c);
        let other = (label + 1) % count;
        if loss == Loss::Independent && h.row(i)[0] > 0.0 {
            labels.push(label.min(other) as u32, 1.0);
            labels.push(label.max(other) as u32, 1.0);
        } else {
            labels.push(label as u32, 1.0);
        }
        labels.end_row();
    }
    (h, labels)
}

#[test]
fn few_labels_at_a_time_come_close_to_all_of_them() {
    for loss in LOSSES {
        let (h, labels) = planted(9000, loss);
        let part = |from: usize, to: usize| {
            let mut some = Csr::new(true);
            some.extend_rows(labels.view(), from, to);
            (Matrix::from_fn(to - from, h.cols(), |i, j| h.row(from + i)[j]), some)
        };
        let ((h, labels), (new, truth)) = (part(0, 6000), part(6000, 9000));
        let targets = Targets { labels: labels.view(), count: 61, example_weights: None, label_weights: None };
        let inputs = Inputs::new(h.view(), None);
        let full = LogisticParams { ridge: 4.0, ..LogisticParams::new(loss) };
        let full = full.fit(inputs, targets, &mut Run::default()).unwrap().0;
        let params = SampledParams {
            loss,
            ridge: 4.0,
            labels: 12,
            epochs: 10,
            steps: 40,
            step: 0.1,
            ..SampledParams::default()
        };
        let sampled = params.fit(inputs, targets, &mut Run::default()).unwrap();
        // Many regions, a fourth of them in a step.
        let in_turn = params.fit_divided(SMALL, inputs, targets, &mut Run::default()).unwrap();
        assert_ne!(in_turn, sampled);
        let right = |model: &Logistic| {
            let scores = model.scores(Inputs::new(new.view(), None));
            let best = |i: usize| crate::metrics::rank(scores.row(i), 1)[0];
            (0..3000).filter(|i| truth.view().row(*i).0.contains(&best(*i))).count() as f64 / 3000.0
        };
        let (all, some) = (right(&full), right(&sampled));
        assert!(all > 0.6 && some > all - 0.01, "{loss:?}: {some} right for {all}");
        assert!(right(&in_turn) > all - 0.01, "{loss:?}: {} right for {all}", right(&in_turn));
        let every: Vec<u32> = (0..61).collect();
        let objective = Objective { inputs, targets, loss, rho: 0.0, keep: 1.0, offset: &[0.0; 61] };
        let (best, found) = (objective.value(&every, &full.weights), objective.value(&every, &sampled.weights));
        assert!(found < 1.05 * best, "{loss:?}: {found} for {best}");
        // The label that nobody has keeps to its frequency.
        assert_eq!(sampled.weights.row(60), full.weights.row(60));
    }
}

#[test]
fn all_labels_at_a_time_lead_to_the_optimum() {
    for loss in LOSSES {
        let problem = ToyProblem::new(300, loss);
        let inputs = Inputs::new(problem.h.view(), None);
        let full = LogisticParams { steps: 200, tolerance: 1e-5, ..LogisticParams::new(loss) };
        let (full, report) = full.fit(inputs, problem.targets(), &mut Run::default()).unwrap();
        let params = SampledParams { loss, ridge: 1.0, epochs: 800, steps: 1, step: 0.1, ..SampledParams::default() };
        let found = params.fit(inputs, problem.targets(), &mut Run::default()).unwrap();
        let none = [0.0; COUNT];
        let objective = Objective { rho: report.rho, keep: 1.0, offset: &none, ..problem.objective(loss, None) };
        let labels: Vec<u32> = (0..COUNT as u32 - 1).collect();
        let value =
            |model: &Logistic| objective.value(&labels, &Matrix::from_fn(COUNT - 1, 5, |i, j| model.weights.row(i)[j]));
        let (best, found) = (value(&full), value(&found));
        assert!((found / best - 1.0).abs() < 1e-4, "{loss:?}: {found} for {best}");
    }
}

#[test]
fn same_bytes_for_any_number_of_threads() {
    for loss in LOSSES {
        let (h, labels) = planted(9000, loss);
        let targets = Targets { labels: labels.view(), count: 61, example_weights: None, label_weights: None };
        let params = SampledParams { loss, labels: 12, epochs: 2, steps: 5, ..SampledParams::default() };
        let fit = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let inputs = Inputs::new(h.view(), None);
            let both = || {
                let in_turn = params.fit_divided(SMALL, inputs, targets, &mut Run::default()).unwrap();
                (params.fit(inputs, targets, &mut Run::default()).unwrap(), in_turn)
            };
            pool.install(both)
        };
        let one = fit(1);
        assert!(one.1.weights.as_slice().iter().all(|w| w.is_finite()));
        assert!([2, 5].into_iter().all(|threads| fit(threads) == one));
        let one = one.0;
        assert!(one.weights.as_slice().iter().all(|w| w.is_finite()));
        let other = SampledParams { seed: 2, ..params };
        assert_ne!(other.fit(Inputs::new(h.view(), None), targets, &mut Run::default()).unwrap(), one);
    }
}

#[test]
fn examples_and_labels_may_be_missing() {
    for loss in LOSSES {
        // Every third example has no label, every other one no weight.
        let (h, all) = planted(600, loss);
        let mut labels = Csr::new(true);
        for i in 0..600 {
            match i % 3 {
                0 => labels.end_row(),
                _ => labels.extend_rows(all.view(), i, i + 1),
            }
        }
        let weights: Vec<f32> = (0..600).map(|i| (i % 2) as f32).collect();
        let targets =
            Targets { labels: labels.view(), count: 70, example_weights: Some(&weights), label_weights: None };
        let params = SampledParams { loss, labels: 5, epochs: 2, steps: 100, ..SampledParams::default() };
        let fit = |targets| params.fit(Inputs::new(h.view(), None), targets, &mut Run::default()).unwrap();
        let model = fit(targets);
        assert!(model.weights.as_slice().iter().all(|w| w.is_finite()));
        assert!((60..70).all(|label| model.weights.row(label)[..12] == [0.0; 12]));
        // Nothing to learn: the frequencies are all there is.
        let mut none = Csr::new(true);
        (0..600).for_each(|_| none.end_row());
        let bare = fit(Targets { labels: none.view(), example_weights: None, ..targets });
        assert!((0..70).all(|label| bare.weights.row(label)[..12] == [0.0; 12]));
    }
}

#[test]
fn what_cannot_work_is_refused() {
    let problem = ToyProblem::new(50, Loss::Independent);
    let inputs = Inputs::new(problem.h.view(), None);
    let good = SampledParams::default();
    let refused = |params: SampledParams| match params.fit(inputs, problem.targets(), &mut Run::default()) {
        Err(Error::Parameter { name, .. }) => name,
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(SampledParams { ridge: -1.0, ..good }), "ridge");
    assert_eq!(refused(SampledParams { labels: 0, ..good }), "labels");
    assert_eq!(refused(SampledParams { epochs: 0, ..good }), "epochs");
    assert_eq!(refused(SampledParams { step: f32::INFINITY, ..good }), "step");
    assert_eq!(refused(SampledParams { step: f32::MAX, ..good }), "step");
    let short = Targets { example_weights: Some(&[1.0]), ..problem.targets() };
    assert!(good.fit(inputs, short, &mut Run::default()).is_err());
    let stopped = good.fit(inputs, problem.targets(), &mut Run::watched(|_| false));
    assert!(matches!(stopped, Err(Error::Cancelled)));
}
