//! The embedding against dense oracles and against what must not matter.
//!
//! Spectra are flat, so single directions mean nothing: what is compared is captured energy, trace(EᵀME), with the
//! ridge in the oracle.

use crate::common::{Oracle, Problem, captured, oracle, planted, sparse};
use rembrandt::data::{Dataset, RowScale};
use rembrandt::embed::{Preconditioner, ProjectionParams, RidgeConvention, Solver};
use rembrandt::{Embedding, Matrix, Rembrandt, Run};

fn fit(params: &Rembrandt, problem: &Problem) -> Embedding {
    params.fit(&problem.dataset(), &mut Run::default()).unwrap()
}

/// Thorough enough to have no error of its own.
fn thorough(k: usize) -> Rembrandt {
    Rembrandt::new(k).with(|p| {
        p.passes = 8;
        p.cg_steps = 300;
        p.tolerance = 1e-6;
        p.solver = Solver::Iterative
    })
}

fn orthonormality_error(labels: &Matrix) -> f64 {
    let k = labels.cols();
    let mut worst = 0f64;
    for a in 0..k {
        for b in 0..k {
            let dot: f64 = (0..labels.rows()).map(|i| f64::from(labels.row(i)[a]) * f64::from(labels.row(i)[b])).sum();
            worst = worst.max((dot - f64::from(u8::from(a == b))).abs());
        }
    }
    worst
}

fn assert_near_optimum(embedding: &Embedding, problem: &Problem, ridge: &[f64], least: f64) {
    let oracle = oracle(problem, ridge);
    let k = embedding.report.k;
    let (captured, best) = (captured(&oracle, &embedding.labels), oracle.best(k));
    assert!(captured >= least * best, "captured {captured} of {best}");
    let report = &embedding.report;
    assert!((report.energy - captured).abs() <= 1e-3 * captured, "reported {} of {captured}", report.energy);
    let sigmas = (report.trace_estimate - oracle.trace()).abs() / report.trace_error;
    assert!(sigmas < 5.0, "trace {} ± {} of {}", report.trace_estimate, report.trace_error, oracle.trace());
    assert!(orthonormality_error(&embedding.labels) < 5e-6);
}

#[test]
fn random_and_planted_problems_reach_the_optimum() {
    for (problem, k) in [(sparse(300, 60, 40, 1), 10), (planted(400, 80, 50, 8, 2), 8), (sparse(50, 200, 30, 3), 5)] {
        for lambda in [0.01, 1.0, 16.0] {
            let embedding = fit(&thorough(k).with(|p| p.ridge = lambda), &problem);
            let rho = lambda * problem.trace() / problem.d as f64;
            assert!((embedding.report.rho / rho - 1.0).abs() < 1e-6);
            assert_near_optimum(&embedding, &problem, &vec![rho; problem.d], 0.9999);
        }
    }
}

#[test]
fn the_defaults_reach_most_of_the_optimum() {
    let problem = planted(500, 100, 60, 10, 4);
    let embedding = fit(&Rembrandt::new(10), &problem);
    let rho = problem.trace() / problem.d as f64;
    assert_near_optimum(&embedding, &problem, &vec![rho; problem.d], 0.995);
    // One gather or scatter for each half of a step, the right side and the product: (2+1)(2·10+2), or less where a
    // column converges early.
    assert!(embedding.report.half_passes <= 66.0 && embedding.report.half_passes > 10.0);
}

/// The authors' settings for their own check: the other ones are our defaults too, with 20 more directions, 10 steps
/// and the diagonal preconditioner.
fn authors_check(solver: Solver) -> Rembrandt {
    Rembrandt::new(11).with(|p| {
        p.passes = 4;
        p.ridge = 1e-4;
        p.solver = solver
    })
}

/// The largest angle, over all prefixes of the embedding, to as many top eigenvectors.
fn worst_angle(oracle: &Oracle, labels: &Matrix) -> f64 {
    (1..=labels.cols()).map(|prefix| oracle.angle(labels, prefix)).fold(0.0, f64::max)
}

/// The span of every prefix of the embedding is that of as many top right singular vectors of Π_X Y, with angles
/// below 0.01. The authors fixed their random numbers, and so does this test, for neighbouring eigenvalues are so
/// close that four passes do not always get there: measured over 20 draws of the data with 2 starts each, it holds in
/// 26 of 40 cases, the same ones with either solver, and the worst angle of all is 0.017. This is the algorithm, not
/// its arithmetic: from the same starts, but in `f64` and with exact regressions, it holds in 26 too, and the worst
/// angle of a case never differs by more than 0.00012.
#[test]
fn the_authors_own_check_holds() {
    let problem = crate::common::authors_check(1);
    let oracle = crate::common::oracle_without_ridge(&problem);
    // A factorisation in single precision needs a larger ridge than theirs; with theirs, the direct solver iterates on
    // the written matrix.
    let cases = [
        (authors_check(Solver::Iterative), "iterative"),
        (authors_check(Solver::Direct), "gram"),
        (authors_check(Solver::Direct).with(|p| p.ridge = 2.5e-3), "direct"),
    ];
    for (params, solver) in cases {
        let embedding = fit(&params, &problem);
        assert_eq!(embedding.report.solver, solver);
        for prefix in 1..=11 {
            let angle = oracle.angle(&embedding.labels, prefix);
            assert!(angle < 0.01, "{solver}, prefix {prefix}: {angle}");
        }
        assert!(captured(&oracle, &embedding.labels) > 0.99999 * oracle.best(11));
    }
}

#[test]
#[ignore = "takes minutes: how often the authors' own check holds"]
fn the_authors_own_check_holds_more_often_than_not() {
    let (mut held, mut tried) = (0, 0);
    for data in 1..=20 {
        let problem = crate::common::authors_check(data);
        let oracle = crate::common::oracle_without_ridge(&problem);
        for seed in [1, data + 100] {
            let [iterative, direct] = [Solver::Iterative, Solver::Direct].map(|solver| {
                worst_angle(&oracle, &fit(&authors_check(solver).with(|p| p.seed = seed), &problem).labels)
            });
            println!("data {data}, start {seed}: {iterative:.5} iterative, {direct:.5} direct");
            assert!((iterative - direct).abs() < 1e-4 && iterative < 0.03);
            (held, tried) = (held + usize::from(iterative < 0.01), tried + 1);
        }
    }
    println!("held in {held} of {tried} cases");
    assert!(2 * held > tried);
}

#[test]
fn mean_shift_equals_cplst_on_centred_data() {
    // CPLST (Chen & Lin 2012): top eigenvectors of Yᶜᵀ X (XᵀX + λI)⁻¹ Xᵀ Yᶜ. Its X is centred here too.
    let problem = sparse(300, 40, 30, 5);
    let embedding = fit(&thorough(6).with(|p| p.center = true), &problem);
    let centred = problem.centred();
    assert_near_optimum(&embedding, &centred, &vec![embedding.report.rho; 40], 0.9999);
    let rho = centred.trace() / 40.0;
    assert!((embedding.report.rho / rho - 1.0).abs() < 1e-5);
    // The same from data that were centred beforehand, and written out densely.
    let dense = fit(&thorough(6), &centred);
    assert!((dense.report.energy / embedding.report.energy - 1.0).abs() < 1e-4);
}

#[test]
fn the_intercept_of_the_mean_shift_predicts_the_mean_at_the_mean() {
    let problem = sparse(300, 40, 30, 6);
    let e = fit(&thorough(6).with(|p| p.center = true), &problem);
    let mean = |m: &dyn Fn(usize, usize) -> f64, j: usize| (0..300).map(|i| m(i, j)).sum::<f64>() / 300.0;
    for j in 0..6 {
        let x: f64 = (0..40).map(|f| mean(&|i, f| problem.x[(i, f)], f) * f64::from(e.projection.row(f)[j])).sum();
        let y: f64 = (0..30).map(|l| mean(&|i, l| problem.y[(i, l)], l) * f64::from(e.labels.row(l)[j])).sum();
        assert!((x + f64::from(e.intercept[j]) - y).abs() < 1e-4);
    }
}

#[test]
fn a_constant_feature_is_not_penalised_unless_the_authors_convention_is_asked_for() {
    let problem = sparse(200, 30, 25, 7);
    let with_constant = problem.with_constant();
    let lambda = 2.0;
    let ours = fit(
        &thorough(5).with(|p| {
            p.bias = true;
            p.ridge = lambda
        }),
        &problem,
    );
    let rho = lambda * problem.trace() / 30.0;
    assert!((ours.report.rho / rho - 1.0).abs() < 1e-6);
    let mut ridge = vec![rho; 31];
    ridge[30] = 0.0;
    assert_near_optimum(&ours, &with_constant, &ridge, 0.9999);
    assert_eq!((ours.projection.rows(), ours.intercept.len()), (30, 5));
    assert!(ours.intercept.iter().any(|v| v.abs() > 1e-3));

    let convention = RidgeConvention::Authors;
    let authors = fit(
        &thorough(5).with(|p| {
            p.bias = true;
            p.ridge = lambda;
            p.ridge_convention = convention
        }),
        &problem,
    );
    let rho = lambda * with_constant.trace() / 31.0;
    assert!((authors.report.rho / rho - 1.0).abs() < 1e-6);
    assert_near_optimum(&authors, &with_constant, &[rho; 31], 0.9999);
}

#[test]
fn integer_weights_equal_repeated_rows() {
    let mut problem = sparse(100, 30, 20, 8);
    problem.weights = Some((0..100).map(|i| (i % 4) as f32).collect());
    for (center, bias) in [(false, false), (true, false), (false, true)] {
        let params = thorough(5).with(|p| {
            p.center = center;
            p.bias = bias
        });
        let (weighted, repeated) = (fit(&params, &problem), fit(&params, &problem.repeated()));
        assert!((weighted.report.rho / repeated.report.rho - 1.0).abs() < 1e-6);
        assert!((weighted.report.energy / repeated.report.energy - 1.0).abs() < 1e-4);
        let worst = weighted.spectrum.iter().zip(&repeated.spectrum).map(|(a, b)| (a / b - 1.0).abs());
        assert!(worst.fold(0.0, f64::max) < 1e-3);
    }
}

#[test]
fn scaling_the_features_changes_nothing() {
    let problem = planted(200, 40, 30, 5, 9);
    let reference = fit(&Rembrandt::new(5), &problem);
    for (factor, exactly) in [(1024.0, true), (1.0 / 64.0, true), (3e4, false), (1e-4, false)] {
        let scaled = fit(&Rembrandt::new(5), &problem.scaled(factor));
        if exactly {
            // A power of two moves exponents and nothing else.
            assert_eq!(scaled.labels, reference.labels);
            assert_eq!(scaled.spectrum, reference.spectrum);
        } else {
            assert!((scaled.report.energy / reference.report.energy - 1.0).abs() < 1e-4);
        }
    }
}

#[test]
fn divided_rows_equal_rows_divided_beforehand() {
    let problem = sparse(300, 40, 30, 18);
    let data = problem.dataset();
    for scale in [RowScale::Sum, RowScale::Length] {
        let size = |i: usize| match scale {
            RowScale::Sum => (0..40).map(|j| problem.x[(i, j)].abs()).sum::<f64>(),
            _ => (0..40).map(|j| problem.x[(i, j)].powi(2)).sum::<f64>().sqrt(),
        };
        let divided = Problem::new(300, 40, 30, |i, j| problem.x[(i, j)] / size(i), |i, j| problem.y[(i, j)]);
        for (center, bias) in [(false, false), (true, false), (false, true)] {
            let params = thorough(6).with(|p| {
                p.center = center;
                p.bias = bias;
                p.ridge = 0.1
            });
            let found = params.fit(&data.view().scale_rows(scale).unwrap(), &mut Run::default()).unwrap();
            let expected = fit(&params, &divided);
            assert!((found.report.rho / expected.report.rho - 1.0).abs() < 1e-6);
            assert!((found.report.energy / expected.report.energy - 1.0).abs() < 1e-4);
            let (p, q) = (found.projection.as_slice(), expected.projection.as_slice());
            let largest = q.iter().fold(0f32, |max, v| max.max(v.abs()));
            let apart = p.iter().zip(q).fold(0f32, |max, (a, b)| max.max((a - b).abs()));
            assert!(apart < 5e-3 * largest, "{scale:?}, center {center}, bias {bias}: {apart} of {largest}");
        }
    }
}

#[test]
fn permuting_labels_permutes_rows() {
    let problem = planted(300, 50, 40, 6, 10);
    let order: Vec<usize> = (0..40).map(|l| (l * 7 + 3) % 40).collect();
    let (a, b) = (fit(&thorough(6), &problem), fit(&thorough(6), &problem.with_labels(&order)));
    // Directions are unique up to sign, which the largest entry decides: compare the geometry EEᵀ.
    let gram = |e: &Matrix, i: usize, j: usize| -> f64 {
        e.row(i).iter().zip(e.row(j)).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
    };
    for i in 0..40 {
        for j in 0..40 {
            let difference = gram(&a.labels, i, j) - gram(&b.labels, order[i], order[j]);
            assert!(difference.abs() < 1e-3, "labels {i} and {j}: {difference}");
        }
    }
}

#[test]
fn a_thousand_passes_and_a_thousand_steps_stay_finite() {
    let problem = sparse(60, 30, 25, 11);
    for preconditioner in [Preconditioner::Diagonal, Preconditioner::None] {
        for lambda in [0.0, 1e-6, 1.0] {
            let params = Rembrandt::new(10).with(|p| {
                p.passes = 1000;
                p.cg_steps = if lambda == 1.0 { 1000 } else { 200 };
                p.tolerance = 0.0;
                p.ridge = lambda;
                p.preconditioner = preconditioner;
                p.solver = Solver::Iterative
            });
            let e = fit(&params.clone().with(|p| p.passes = 20), &problem);
            let many = fit(&params.with(|p| p.cg_steps = 5), &problem);
            for e in [e, many] {
                let finite = e.labels.as_slice().iter().chain(e.projection.as_slice()).all(|v| v.is_finite());
                assert!(finite && e.report.energy.is_finite() && e.report.energy > 0.0);
                assert!(orthonormality_error(&e.labels) < 5e-6);
            }
        }
    }
}

#[test]
fn the_direct_solver_gives_the_same_answer() {
    let problem = planted(300, 40, 50, 6, 12);
    for (bias, center) in [(false, false), (true, false), (false, true)] {
        let params = thorough(6).with(|p| {
            p.bias = bias;
            p.center = center
        });
        let iterative = fit(&params, &problem);
        let direct = fit(&params.with(|p| p.solver = Solver::Direct), &problem);
        assert_eq!((&*iterative.report.solver, &*direct.report.solver), ("iterative", "direct"));
        assert!((iterative.report.energy / direct.report.energy - 1.0).abs() < 1e-5);
        let largest = iterative.projection.as_slice().iter().fold(0f32, |m, v| m.max(v.abs()));
        let same = iterative.projection.as_slice().iter().zip(direct.projection.as_slice());
        assert!(same.fold(0f32, |m, (a, b)| m.max((a - b).abs())) < 2e-3 * largest);
    }
    // A ridge too small for single precision: the written matrix is iterated on, and the report says so.
    let tiny = thorough(6).with(|p| {
        p.ridge = 1e-8;
        p.solver = Solver::Direct
    });
    assert_eq!(fit(&tiny, &problem).report.solver, "gram");
    // Chosen by cost: few features, many steps.
    let auto = fit(&Rembrandt::new(6).with(|p| p.cg_steps = 100), &problem);
    assert_eq!(auto.report.solver, "direct");
}

#[test]
fn the_projection_has_its_own_ridge_and_stopping_rule() {
    let problem = planted(300, 40, 50, 6, 13);
    let plain = fit(&thorough(6), &problem);
    let own =
        ProjectionParams::default().with(|p| (p.ridge, p.cg_steps, p.tolerance) = (Some(50.0), Some(200), Some(1e-6)));
    let strong = fit(&thorough(6).with(|p| p.projection = own), &problem);
    assert_eq!(plain.labels, strong.labels);
    assert_eq!(plain.spectrum, strong.spectrum, "the energy is the embedding's, whatever the projection");
    assert!((strong.report.projection_rho / plain.report.rho - 50.0).abs() < 1e-4);
    let norm = |m: &Matrix| m.as_slice().iter().map(|v| f64::from(*v).powi(2)).sum::<f64>();
    assert!(norm(&strong.projection) < 0.5 * norm(&plain.projection));
    // The regression itself, against the normal equations.
    let residual = problem.normal_residual(&strong.labels, &strong.projection, strong.report.projection_rho);
    assert!(residual < 1e-4, "relative residual {residual}");
}

#[test]
fn corners_have_defined_results() {
    // One example, one feature, one label.
    let one = Problem::new(1, 1, 1, |_, _| 2.0, |_, _| 1.0);
    let e = fit(&Rembrandt::new(1).with(|p| p.ridge = 0.0), &one);
    assert_eq!((e.labels.as_slice(), e.report.rank), (&[1.0][..], 1));
    assert!((e.projection.row(0)[0] - 0.5).abs() < 1e-6 && (e.spectrum[0] - 1.0).abs() < 1e-6);

    // No feature ever occurs: rank 0, an arbitrary orthonormal basis.
    let blank = Problem::new(10, 4, 5, |_, _| 0.0, |i, l| f64::from(u8::from(i % 5 == l)));
    let e = fit(&Rembrandt::new(3), &blank);
    assert_eq!((e.report.rank, e.report.energy, e.report.energy_fraction), (0, 0.0, 0.0));
    assert!(orthonormality_error(&e.labels) < 1e-6 && e.projection.as_slice().iter().all(|v| *v == 0.0));

    // Fewer features than dimensions: rank d, completed to k; c < k + p.
    let narrow = sparse(100, 3, 12, 14);
    let e = fit(&Rembrandt::new(8), &narrow);
    assert_eq!(e.report.rank, 3);
    assert!(orthonormality_error(&e.labels) < 1e-5);
    assert_eq!(&e.spectrum[3..], &[0.0; 5]);
    assert!((0..3).all(|i| e.projection.row(i)[3..] == [0.0; 5]));

    // Labels and features that never occur, duplicated rows, a constant feature, labels in every row.
    let odd = Problem::new(
        60,
        6,
        8,
        |i, f| [1.0, (i % 3) as f64, 0.0, 0.5, (i % 3) as f64, 0.0][f],
        |i, l| f64::from(u8::from(l == i % 3 || l == 7)),
    );
    let e = fit(&Rembrandt::new(3).with(|p| p.ridge = 1e-3), &odd);
    assert!(e.report.energy.is_finite() && orthonormality_error(&e.labels) < 1e-5);
    assert_eq!(e.projection.row(2), &[0.0; 3]);
    for unseen in 3..7 {
        assert!(e.labels.row(unseen)[..e.report.rank].iter().all(|v| v.abs() < 1e-6));
    }

    // Bad requests.
    let message = |k| Rembrandt::new(k).fit(&one.dataset(), &mut Run::default()).unwrap_err().to_string();
    assert_eq!(message(2), "k: 2 dimensions are more than the 1 labels of the data");
    let params = Rembrandt::new(1).with(|p| p.ridge = 1e300);
    let e = params.fit(&one.dataset(), &mut Run::default()).unwrap_err();
    assert!(e.to_string().starts_with("ridge: ") && e.to_string().contains("beyond single precision"), "{e}");
    assert_eq!(Rembrandt::new(1 << 40).memory(rembrandt::Shape { n: 1, d: 1 << 40, c: 1 << 40 }), u64::MAX);
    let huge = Problem::new(4, 2, 2, |_, _| 1e30, |i, l| f64::from(u8::from(i % 2 == l)));
    let e = Rembrandt::new(1).fit(&huge.dataset(), &mut Run::default()).unwrap_err();
    assert!(e.to_string().contains("too large"), "{e}");
}

#[test]
fn a_watcher_sees_progress_and_can_stop() {
    let problem = sparse(100, 30, 20, 15);
    let params = Rembrandt::new(5).with(|p| {
        p.solver = Solver::Iterative;
        p.tolerance = 0.0
    });
    let (mut last, mut total) = (0, 0);
    let mut run = Run::watched(|p| {
        assert!(p.done > last && p.done <= p.total.unwrap());
        (last, total) = (p.done, p.total.unwrap());
        true
    });
    params.fit(&problem.dataset(), &mut run).unwrap();
    drop(run);
    assert_eq!(last, total, "the work that was announced is the work that was done");
    let mut calls = 0;
    let mut run = Run::watched(|_| {
        calls += 1;
        calls < 3
    });
    let stopped = params.fit(&problem.dataset(), &mut run).unwrap_err();
    assert!(matches!(stopped, rembrandt::Error::Cancelled));
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_seed_the_same_energy() {
    let problem = planted(500, 60, 70, 8, 16);
    let run = |seed, panel, threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let params = Rembrandt::new(20).with(|p| {
            p.seed = seed;
            p.panel = panel;
            p.solver = Solver::Iterative
        });
        pool.install(|| fit(&params, &problem))
    };
    let reference = run(1, 64, 1);
    for (panel, threads) in [(64, 2), (64, 5), (1, 2), (7, 5), (40, 1), (1000, 2)] {
        let e = run(1, panel, threads);
        assert_eq!(e.labels, reference.labels, "panel {panel}, {threads} threads");
        assert_eq!(e.projection, reference.projection, "panel {panel}, {threads} threads");
        assert_eq!((e.spectrum, e.report), (reference.spectrum.clone(), reference.report.clone()));
    }
    let other = run(2, 64, 2);
    assert_ne!(other.labels, reference.labels);
    assert!((other.report.energy / reference.report.energy - 1.0).abs() < 0.01);
}

#[test]
fn rows_are_checked_at_the_door() {
    let problem = sparse(10, 5, 5, 17);
    let rows = problem.rows();
    assert!(Dataset::from_rows(&rows, 3, 5).is_err(), "ids beyond the number of features");
    let mut bad = problem.rows();
    bad.weights = Some(vec![1.0; 3]);
    assert!(Dataset::from_rows(&bad, 5, 5).is_err(), "as many weights as rows");
    for value in [f32::NAN, f32::INFINITY] {
        let mut bad = problem.rows();
        bad.x.push(0, value);
        bad.x.end_row();
        bad.y.end_row();
        assert!(Dataset::from_rows(&bad, 5, 5).is_err(), "{value}");
    }
}

fn few_pass(k: usize) -> Rembrandt {
    Rembrandt::new(k).with(|p| p.solver = Solver::FewPass)
}

#[test]
fn few_passes_capture_what_the_paper_captures() {
    // Planted spectra fall off after a few directions, those of sparse noise are flat.
    let problems =
        [(planted(400, 80, 120, 12, 41), 10), (sparse(300, 90, 150, 42), 30), (sparse(600, 300, 200, 43), 60)];
    for (which, (problem, k)) in problems.iter().enumerate() {
        for lambda in [0.3, 1.0, 8.0] {
            let oracle = oracle(problem, &vec![lambda * problem.trace() / problem.d as f64; problem.d]);
            let energy = |params: Rembrandt| {
                let embedding = fit(&params.with(|p| p.ridge = lambda), problem);
                assert!(orthonormality_error(&embedding.labels) < 5e-6);
                (captured(&oracle, &embedding.labels), embedding.report)
            };
            let (paper, published) = energy(Rembrandt::paper(*k).with(|p| p.solver = Solver::Iterative));
            let (few, report) = energy(few_pass(*k));
            // Where both have all there is, rounding decides.
            assert!(few >= (1.0 - 1e-5) * paper, "problem {which}, λ {lambda}: {few} of the paper's {paper}");
            assert_eq!((&*report.solver, report.half_passes), ("few-pass", 11.0));
            assert!(published.half_passes <= 42.0 && published.half_passes > 11.0);
        }
    }
}

#[test]
fn exactly_evaluated_energy_is_that_of_the_oracle() {
    let problem = sparse(200, 50, 40, 44);
    let oracle = oracle(&problem, &vec![problem.trace() / problem.d as f64; problem.d]);
    let params = few_pass(12);
    let labels = fit(&params, &problem).labels;
    let energy = params.captured(&problem.dataset(), &labels, &mut Run::default()).unwrap();
    assert!((energy / captured(&oracle, &labels) - 1.0).abs() < 1e-5);
    let narrow = params.clone().with(|p| p.panel = 5);
    assert_eq!(narrow.captured(&problem.dataset(), &labels, &mut Run::default()).unwrap(), energy);
    assert!(params.captured(&problem.dataset(), &Matrix::zeros(3, 2), &mut Run::default()).is_err());
}

#[test]
fn few_passes_give_the_same_bytes_and_announce_their_work() {
    let problem = planted(500, 60, 70, 8, 45);
    let run = |panel, threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            fit(
                &few_pass(20).with(|p| {
                    p.panel = panel;
                    p.bias = true
                }),
                &problem,
            )
        })
    };
    let reference = run(64, 1);
    for (panel, threads) in [(64, 2), (1, 2), (7, 5), (1000, 3)] {
        let e = run(panel, threads);
        assert_eq!(e.labels, reference.labels, "panel {panel}, {threads} threads");
        assert_eq!((e.projection, e.report), (reference.projection.clone(), reference.report.clone()));
    }
    let (mut last, mut total) = (0, 0);
    let mut watch = Run::watched(|p| {
        (last, total) = (p.done, p.total.unwrap());
        true
    });
    let hard = sparse(300, 200, 70, 49);
    few_pass(20).with(|p| p.tolerance = 0.0).fit(&hard.dataset(), &mut watch).unwrap();
    drop(watch);
    assert_eq!(last, total, "the work that was announced is the work that was done");
}

#[test]
fn few_passes_in_the_corners() {
    // Fewer labels than k + p, all of them asked for; as many passes as one likes, or none.
    let problem = sparse(80, 30, 12, 46);
    for passes in [0, 1, 2, 7] {
        let all = fit(&few_pass(12).with(|p| p.passes = passes), &problem);
        assert!(orthonormality_error(&all.labels) < 5e-6, "{passes} passes");
    }
    // Three kinds of example, each again and again: the rank is three, and the labels that never occur stay out.
    let kinds = Problem::new(90, 6, 30, |i, j| f64::from(u8::from(j == i % 3)), |i, l| f64::from(u8::from(l == i % 3)));
    let found = fit(&few_pass(8), &kinds);
    assert_eq!(found.report.rank, 3);
    assert!((3..30).all(|l| found.labels.row(l)[..3] == [0.0; 3]));
    assert!(orthonormality_error(&found.labels) < 5e-6);
    // Exactly as many directions as are asked for: those without energy must not creep in.
    let three = fit(&few_pass(3), &kinds);
    let rho = kinds.trace() / kinds.d as f64;
    let exact = oracle(&kinds, &vec![rho; kinds.d]);
    assert!(captured(&exact, &three.labels) > 0.999_99 * exact.best(3));
    // Nothing to be found at all, and a start that is the answer.
    let nothing = Problem::new(20, 5, 6, |_, _| 0.0, |i, l| f64::from(u8::from(l == i % 6)));
    assert_eq!(fit(&few_pass(2), &nothing).report.rank, 0);
    let again = few_pass(3).fit_from(Some(&three.labels), &kinds.dataset(), &mut Run::default()).unwrap();
    assert!(captured(&exact, &again.labels) > 0.999_99 * exact.best(3));
}

#[test]
fn labels_that_never_occur_change_nothing() {
    let dense = sparse(300, 60, 40, 50);
    let y = |i: usize, l: usize| if l % 10 == 3 { dense.y[(i, l / 10)] } else { 0.0 };
    let thin = Problem::new(dense.n, dense.d, 400, |i, j| dense.x[(i, j)], y);
    for params in [few_pass(12), few_pass(12).with(|p| p.center = true), few_pass(40).with(|p| p.bias = true)] {
        let (all, some) = (fit(&params, &dense), fit(&params, &thin));
        assert_eq!((all.report.shape.c, some.report.shape.c), (40, 400));
        assert!((0..400).all(|l| match l % 10 {
            3 => some.labels.row(l) == all.labels.row(l / 10),
            _ => some.labels.row(l).iter().all(|v| *v == 0.0),
        }));
        assert_eq!((&some.projection, &some.intercept), (&all.projection, &all.intercept));
        assert_eq!((some.report.energy, some.report.trace_estimate), (all.report.energy, all.report.trace_estimate));
        let labels = params.fit_labels(None, &thin.dataset(), &mut Run::default()).unwrap();
        assert_eq!(labels, some.labels);
        // The paper's procedure has rows for all labels, and finds the same.
        let paper = fit(
            &params.clone().with(|p| {
                p.passes = 8;
                p.solver = Solver::Iterative
            }),
            &thin,
        );
        assert!(some.report.energy > 0.99 * paper.report.energy);
    }
    // A start has rows for all labels; more dimensions than labels that occur have them too.
    let start = fit(&few_pass(12), &thin).labels;
    let again = few_pass(12).fit_from(Some(&start), &thin.dataset(), &mut Run::default()).unwrap();
    assert!(orthonormality_error(&again.labels) < 5e-6);
    let more = fit(&few_pass(50), &thin);
    assert!(more.report.rank <= 40 && orthonormality_error(&more.labels) < 5e-6);
}

#[test]
fn few_passes_need_the_preconditioner() {
    let none = few_pass(3).with(|p| p.preconditioner = Preconditioner::None);
    let problem = sparse(40, 10, 8, 47);
    let refused = none.fit(&problem.dataset(), &mut Run::default()).unwrap_err().to_string();
    assert!(refused.starts_with("preconditioner: none"), "{refused}");
    // Where nobody asked for few passes, the paper's procedure needs none.
    let wide = sparse(30, 5000, 8, 48);
    let solver =
        |preconditioner| fit(&Rembrandt::new(3).with(|p| p.preconditioner = preconditioner), &wide).report.solver;
    assert_eq!(solver(Preconditioner::None), "iterative");
    assert_eq!(solver(Preconditioner::Diagonal), "few-pass");
}
