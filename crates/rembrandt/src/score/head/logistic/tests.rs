use super::*;
use crate::linalg::csr::Csr;
use crate::score::head::RandomFeatures;
use crate::score::head::features::{FeatureParams, Kernel};
use crate::score::head::problem::{COUNT, ToyProblem};

#[test]
fn gradients_agree_with_differences() {
    for loss in [Loss::Independent, Loss::Softmax] {
        let problem = ToyProblem::new(50, loss);
        let params = FeatureParams { kernel: Kernel::Matern3, count: 7, ..FeatureParams::default() };
        let features = RandomFeatures::draw(&params, problem.h.view()).unwrap();
        for features in [None, Some(&features)] {
            let objective = problem.objective(loss, features);
            let labels: Vec<u32> = if loss == Loss::Softmax { (0..COUNT as u32).collect() } else { vec![4, 1, 2] };
            let width = objective.inputs.width();
            let weights = Matrix::from_fn(labels.len(), width, |i, j| ((i * 7 + j * 5) % 9) as f32 / 4.0 - 1.0);
            let gradient = objective.gradient(&labels, &weights);
            for i in 0..labels.len() {
                for j in 0..width {
                    let value = |step: f32| {
                        let mut moved = weights.clone();
                        moved.row_mut(i)[j] += step;
                        objective.value(&labels, &moved)
                    };
                    // A power of two, which f32 adds without rounding.
                    let step = 1.0 / 256.0;
                    let difference = (value(step) - value(-step)) / (2.0 * f64::from(step));
                    let found = gradient[(j, i)];
                    assert!((difference - found).abs() < 2e-3, "{loss:?} {i} {j}: {found} for {difference}");
                }
            }
        }
    }
}

/// Plain gradient descent with backtracking, in f64, on the function's value alone: slow and independent.
fn descend(objective: &Objective<'_>, labels: &[u32]) -> f64 {
    let width = objective.inputs.width();
    let mut x = Matrix::zeros(labels.len(), width);
    let mut step = 1e-3;
    let mut value = objective.value(labels, &x);
    for _ in 0..3000 {
        let gradient = objective.gradient(labels, &x);
        let moved = Matrix::from_fn(labels.len(), width, |i, j| x.row(i)[j] - (step * gradient[(j, i)]) as f32);
        let new = objective.value(labels, &moved);
        if new <= value {
            (x, value, step) = (moved, new, step * 1.2);
        } else {
            step *= 0.5;
        }
    }
    value
}

#[test]
fn training_reaches_the_optimum() {
    for loss in [Loss::Independent, Loss::Softmax] {
        let problem = ToyProblem::new(300, loss);
        let params =
            LogisticParams { ridge: 2.0, shrink: 0.05, steps: 200, tolerance: 1e-4, ..LogisticParams::new(loss) };
        let inputs = Inputs::new(problem.h.view(), None);
        let (model, report) = params.fit(inputs, problem.targets(), &mut Run::default()).unwrap();
        assert_eq!(report.unfinished, 0, "{report:?}");
        assert!(report.steps < 40, "{report:?}");
        let (all, counts) = problem.targets().totals();
        let all = if loss == Loss::Softmax { counts.iter().sum() } else { all };
        let offset: Vec<f32> = counts.iter().map(|count| 0.05 * (count / all) as f32).collect();
        let objective = Objective { rho: report.rho, keep: 0.95, offset: &offset, ..problem.objective(loss, None) };
        let labels: Vec<u32> = (0..COUNT as u32 - 1).collect();
        let found = Matrix::from_fn(COUNT - 1, 5, |i, j| model.weights.row(i)[j]);
        let (ours, best) = (objective.value(&labels, &found), descend(&objective, &labels));
        assert!((ours - best).abs() < 1e-5 * best, "{loss:?}: {ours} for {best}");
        // The label that nobody has keeps to its frequency.
        assert_eq!(model.weights.row(COUNT - 1)[..4], [0.0; 4]);
        assert!(model.weights.row(COUNT - 1)[4] < -5.0);
    }
}

#[test]
fn the_statistic_is_what_a_gradient_without_targets_lacks() {
    for loss in [Loss::Independent, Loss::Softmax] {
        let problem = ToyProblem::new(200, loss);
        let params = FeatureParams { count: 9, ..FeatureParams::default() };
        let features = RandomFeatures::draw(&params, problem.h.view()).unwrap();
        for features in [None, Some(&features)] {
            let objective = problem.objective(loss, features);
            let labels: Vec<u32> = if loss == Loss::Softmax { (0..COUNT as u32).collect() } else { vec![4, 1, 2] };
            let weights = Matrix::from_fn(labels.len(), objective.inputs.width(), |i, j| {
                ((i * 7 + j * 5) % 9) as f32 / 4.0 - 1.0
            });
            let whole = objective.gradient(&labels, &weights);
            let bare = Objective { keep: 0.0, offset: &[0.0; COUNT], ..objective }.gradient(&labels, &weights);
            let statistic = objective.statistic(&labels);
            assert!(statistic.norm_max() > 1.0);
            let difference = (&bare - &statistic - &whole).norm_max();
            assert!(difference < 1e-3 * statistic.norm_max(), "{loss:?}: {difference}");
        }
    }
}

#[test]
fn weights_count_like_copies() {
    for loss in [Loss::Independent, Loss::Softmax] {
        let problem = ToyProblem::new(120, loss);
        let copies: Vec<usize> = (0..120).flat_map(|i| vec![i; i % 3]).collect();
        let h = Matrix::from_fn(copies.len(), 4, |i, j| problem.h.row(copies[i])[j]);
        let mut labels = Csr::new(true);
        copies.iter().for_each(|i| labels.extend_rows(problem.labels.view(), *i, i + 1));
        let params = LogisticParams { steps: 200, tolerance: 1e-5, ..LogisticParams::new(loss) };
        let run = &mut Run::default();
        let (weighted, _) = params.fit(Inputs::new(problem.h.view(), None), problem.targets(), run).unwrap();
        let targets = Targets { labels: labels.view(), example_weights: None, ..problem.targets() };
        let (copied, _) = params.fit(Inputs::new(h.view(), None), targets, run).unwrap();
        let pairs = weighted.weights.as_slice().iter().zip(copied.weights.as_slice());
        pairs.for_each(|(a, b)| assert!((a - b).abs() < 1e-3 * (1.0 + a.abs()), "{loss:?}: {a} and {b}"));
    }
}

#[test]
fn same_bytes_for_any_number_of_threads() {
    for loss in [Loss::Independent, Loss::Softmax] {
        let problem = ToyProblem::new(5000, loss);
        let params = LogisticParams { epochs: 2, steps: 8, ..LogisticParams::new(loss) };
        let feature_params = FeatureParams { count: 90, ..FeatureParams::default() };
        let features = RandomFeatures::draw(&feature_params, problem.h.view()).unwrap();
        let fit = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let inputs = Inputs::new(problem.h.view(), Some(&features));
                let (model, _) = params.fit(inputs, problem.targets(), &mut Run::default()).unwrap();
                let scores = model.scores(inputs);
                (model, scores)
            })
        };
        let one = fit(1);
        assert!([2, 5].into_iter().all(|threads| fit(threads) == one));
    }
}

#[test]
fn bad_parameters_are_refused() {
    let problem = ToyProblem::new(10, Loss::Independent);
    let fit = |params: LogisticParams, targets: Targets<'_>| {
        params.fit(Inputs::new(problem.h.view(), None), targets, &mut Run::default()).map(|_| ())
    };
    let good = LogisticParams::default();
    assert!(fit(good, problem.targets()).is_ok());
    assert!(fit(LogisticParams { ridge: -1.0, ..good }, problem.targets()).is_err());
    assert!(fit(LogisticParams { shrink: 1.0, ..good }, problem.targets()).is_err());
    assert!(fit(LogisticParams { steps: 0, ..good }, problem.targets()).is_err());
    assert!(fit(good, Targets { example_weights: Some(&[1.0]), ..problem.targets() }).is_err());
    assert!(fit(good, Targets { label_weights: Some(&[1.0]), ..problem.targets() }).is_err());
    let mut stop = Run::watched(|_| false);
    let cancelled = good.fit(Inputs::new(problem.h.view(), None), problem.targets(), &mut stop);
    assert!(matches!(cancelled, Err(Error::Cancelled)));
}

/// Newton's method written out for one label, in double precision and without anything of the head.
fn newton(problem: &ToyProblem, label: u32, rho: f64) -> [f64; 5] {
    let mut weights = [0.0; 5];
    for _ in 0..50 {
        // The system [Hessian | gradient].
        let mut system = [[0.0; 6]; 5];
        for j in 0..4 {
            system[j][j] = rho;
            system[j][5] = rho * weights[j];
        }
        for i in 0..problem.h.rows() {
            let z: Vec<f64> = problem.h.row(i).iter().map(|v| f64::from(*v)).chain([1.0]).collect();
            let score: f64 = z.iter().zip(&weights).map(|(z, w)| z * w).sum();
            let p = 1.0 / (1.0 + (-score).exp());
            let truth = f64::from(u8::from(problem.labels.view().row(i).0.contains(&label)));
            let scale = f64::from(problem.example_weights[i]) * f64::from(problem.label_weights[label as usize]);
            for a in 0..5 {
                (0..5).for_each(|b| system[a][b] += scale * p * (1.0 - p) * z[a] * z[b]);
                system[a][5] += scale * (p - truth) * z[a];
            }
        }
        // Elimination; the Hessian is positive definite, so no pivoting is needed.
        for a in 0..5 {
            let pivot = system[a];
            for row in system.iter_mut().skip(a + 1) {
                let factor = row[a] / pivot[a];
                row.iter_mut().zip(pivot).for_each(|(v, p)| *v -= factor * p);
            }
        }
        let mut step = [0.0; 5];
        for a in (0..5).rev() {
            let known: f64 = (a + 1..5).map(|b| system[a][b] * step[b]).sum();
            step[a] = (system[a][5] - known) / system[a][a];
        }
        weights.iter_mut().zip(step).for_each(|(w, step)| *w -= step);
    }
    weights
}

#[test]
fn newtons_method_finds_the_same_weights() {
    let problem = ToyProblem::new(300, Loss::Independent);
    let params = LogisticParams { ridge: 2.0, steps: 300, tolerance: 1e-6, ..LogisticParams::new(Loss::Independent) };
    let inputs = Inputs::new(problem.h.view(), None);
    let (model, report) = params.fit(inputs, problem.targets(), &mut Run::default()).unwrap();
    for label in 0..COUNT as u32 - 1 {
        let expected = newton(&problem, label, report.rho);
        let largest = expected.iter().fold(0.0, |max: f64, w| max.max(w.abs()));
        for (found, expected) in model.weights.row(label as usize).iter().zip(expected) {
            assert!((f64::from(*found) - expected).abs() < 1e-3 * largest, "label {label}: {found} for {expected}");
        }
    }
}
