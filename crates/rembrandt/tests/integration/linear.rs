//! The linear methods beside Rembrandt, each against a dense computation of its own definition.

use crate::common::{Problem, captured, oracle, planted, rng_normal, sparse};
use faer::linalg::solvers::Solve;
use faer::{Mat, Side};
use rembrandt::data::Dataset;
use rembrandt::embed::{Embedder, Means, Method};
use rembrandt::{Embedding, Error, Matrix, Rembrandt, Run};

const METHODS: [Method; 6] = [Method::Rembrandt, Method::Cs, Method::CsOmp, Method::Pca, Method::Plst, Method::Cplst];

/// Thorough enough to have no error of its own.
fn thorough(k: usize, ridge: f64) -> Rembrandt {
    Rembrandt::new(k).with(|p| {
        p.passes = 8;
        p.cg_steps = 300;
        p.tolerance = 1e-7;
        p.ridge = ridge
    })
}

fn fit(method: Method, params: Rembrandt, data: &Dataset) -> (Embedding, Option<Means>) {
    Embedder::new(method, params).fit_from(None, data, &mut Run::default()).unwrap()
}

/// A problem whose columns have means, which a method that shifts the data must get rid of.
fn shifted(problem: &Problem) -> Problem {
    let x = |i: usize, j: usize| problem.x[(i, j)] + 0.3 * (j % 5) as f64;
    let y = |i: usize, l: usize| problem.y[(i, l)] + 0.2 * (l % 3) as f64;
    Problem::new(problem.n, problem.d, problem.c, x, y)
}

/// Features and labels of falling strength in hidden factors, a factor of 2 apart and then nothing but noise.
fn falling(n: usize, d: usize, c: usize, rank: usize) -> Problem {
    let mut normal = rng_normal(11);
    let hidden = Mat::from_fn(n, rank, |_, r| normal() * 2f64.powi(-(r as i32)));
    let (to_x, to_y) = (Mat::from_fn(rank, d, |_, _| normal()), Mat::from_fn(rank, c, |_, _| normal()));
    let (x, y) = (&hidden * &to_x, &hidden * &to_y);
    let x = Mat::from_fn(n, d, |i, j| x[(i, j)] + 1e-3 * normal());
    let y = Mat::from_fn(n, c, |i, j| y[(i, j)] + 1e-3 * normal());
    Problem::new(n, d, c, |i, j| x[(i, j)], |i, l| y[(i, l)])
}

fn dense(m: &Matrix) -> Mat<f64> {
    Mat::from_fn(m.rows(), m.cols(), |i, j| f64::from(m.row(i)[j]))
}

/// The largest principal angle between the columns of `found` and the top right singular vectors of `a`.
fn angle(a: &Mat<f64>, found: &Matrix) -> f64 {
    let svd = a.thin_svd().unwrap();
    let (v, found) = (svd.V().get(.., ..found.cols()), dense(found));
    let outside = &found - v * (v.transpose() * &found);
    outside.singular_values().unwrap()[0].min(1.0).asin()
}

/// (XᵀX + ρI)⁻¹ XᵀT.
fn ridge(x: &Mat<f64>, rho: f64, t: &Mat<f64>) -> Mat<f64> {
    let mut a = x.transpose() * x;
    (0..a.nrows()).for_each(|j| a[(j, j)] += rho);
    a.llt(Side::Lower).unwrap().solve(x.transpose() * t)
}

/// The predictions of the method for the training examples: E(h − h̄) + ȳ, or E·h without means.
fn predictions((embedding, means): &(Embedding, Option<Means>), problem: &Problem) -> Mat<f64> {
    let h = &problem.x * dense(&embedding.projection);
    let shift = |j: usize| f64::from(embedding.intercept[j]) - means.as_ref().map_or(0.0, |m| f64::from(m.h[j]));
    let h = Mat::from_fn(h.nrows(), h.ncols(), |i, j| h[(i, j)] + shift(j));
    let scores = h * dense(&embedding.labels).transpose();
    let mean = |l: usize| means.as_ref().map_or(0.0, |m| f64::from(m.labels[l]));
    Mat::from_fn(scores.nrows(), scores.ncols(), |i, l| scores[(i, l)] + mean(l))
}

/// The same by definition, from the top right singular vectors V of the shifted labels or of their projections.
fn expected(problem: &Problem, v: &Mat<f64>, rho: f64) -> Mat<f64> {
    let centred = problem.centred();
    let predicted = &centred.x * ridge(&centred.x, rho, &(&centred.y * v)) * v.transpose();
    let mean = |l: usize| problem.y.col(l).iter().sum::<f64>() / problem.n as f64;
    Mat::from_fn(problem.n, problem.c, |i, l| predicted[(i, l)] + mean(l))
}

fn assert_alike(found: &Mat<f64>, expected: &Mat<f64>, tolerance: f64) {
    let error = (found - expected).norm_l2() / expected.norm_l2();
    assert!(error < tolerance, "relative error {error}");
}

#[test]
fn plst_is_its_definition() {
    let problem = shifted(&falling(200, 30, 24, 6));
    let centred = problem.centred();
    for lambda in [0.01, 1.0] {
        let fitted = fit(Method::Plst, thorough(6, lambda), &problem.dataset());
        assert!(angle(&centred.y, &fitted.0.labels) < 1e-3);
        let svd = centred.y.thin_svd().unwrap();
        let rho = lambda * centred.trace() / 30.0;
        assert!((fitted.0.report.rho / rho - 1.0).abs() < 1e-5);
        assert_alike(&predictions(&fitted, &problem), &expected(&problem, &svd.V().get(.., ..6).to_owned(), rho), 1e-4);
        // The share in the report is that of V in all that the features can tell.
        let held = captured(&oracle(&centred, &[rho; 30]), &fitted.0.labels);
        assert!((fitted.0.report.energy / held - 1.0).abs() < 1e-3);
    }
}

#[test]
fn cplst_is_its_definition() {
    for problem in [shifted(&planted(300, 40, 30, 6, 5)), shifted(&falling(200, 30, 24, 6))] {
        let centred = problem.centred();
        let rho = 0.5 * centred.trace() / problem.d as f64;
        let fitted = fit(Method::Cplst, thorough(6, 0.5), &problem.dataset());
        let best = oracle(&centred, &vec![rho; problem.d]);
        assert!(captured(&best, &fitted.0.labels) > 0.9999 * best.best(6));
        let hat = &centred.x * ridge(&centred.x, rho, &centred.y);
        let m = centred.y.transpose() * hat;
        let e = m.self_adjoint_eigen(Side::Lower).unwrap();
        let v = Mat::from_fn(problem.c, 6, |i, j| e.U()[(i, problem.c - 1 - j)]);
        assert_alike(&predictions(&fitted, &problem), &expected(&problem, &v, rho), 1e-3);
    }
}

#[test]
fn cplst_beats_plst_where_labels_vary_in_what_features_do_not_know() {
    // Half of the labels are loud noise.
    let mut normal = rng_normal(3);
    let told = planted(300, 20, 10, 5, 7);
    let y = Mat::from_fn(300, 20, |i, l| if l < 10 { told.y[(i, l)] } else { 30.0 * normal() });
    let problem = Problem::new(300, 20, 20, |i, j| told.x[(i, j)], |i, l| y[(i, l)]);
    let data = problem.dataset();
    let [plst, cplst] =
        [Method::Plst, Method::Cplst].map(|method| fit(method, thorough(5, 10.0), &data).0.report.energy);
    assert!(cplst > 1.02 * plst, "{cplst} and {plst}");
}

#[test]
fn pca_is_the_svd_of_the_shifted_features() {
    let problem = shifted(&falling(200, 30, 24, 6));
    let centred = problem.centred();
    let (embedding, means) = fit(Method::Pca, Rembrandt::new(6).with(|p| p.ridge = 0.5), &problem.dataset());
    assert!(angle(&centred.x, &embedding.projection) < 1e-3);
    let report = &embedding.report;
    let svd = centred.x.thin_svd().unwrap();
    for (j, found) in embedding.spectrum.iter().enumerate() {
        assert!((found / svd.S()[j].powi(2) - 1.0).abs() < 1e-3, "direction {j}");
    }
    assert!((report.trace_estimate / centred.trace() - 1.0).abs() < 1e-4 && report.max_residual < 0.01);
    assert!((report.energy / report.trace_estimate - report.energy_fraction).abs() < 1e-12);
    // E is the ridge regression of the shifted labels on h, and scores go through both means.
    let h = &centred.x * dense(&embedding.projection);
    let rho = 0.5 * centred.trace() / 30.0;
    assert_alike(&dense(&embedding.labels), &ridge(&h, rho, &centred.y).transpose().to_owned(), 1e-3);
    let means = means.unwrap();
    assert!(means.h.iter().all(|v| v.abs() < 1e-3), "{:?}", means.h);
    assert!(
        means
            .labels
            .iter()
            .enumerate()
            .all(|(l, v)| { (f64::from(*v) - problem.y.col(l).iter().sum::<f64>() / 200.0).abs() < 1e-5 })
    );
}

#[test]
fn pca_may_have_more_dimensions_than_labels_and_no_more_than_there_is_variance() {
    // Rank 3 in 12 features, 2 labels.
    let mut normal = rng_normal(5);
    let hidden = Mat::from_fn(50, 3, |_, _| normal());
    let x = &hidden * Mat::from_fn(3, 12, |_, _| normal());
    let problem = Problem::new(50, 12, 2, |i, j| x[(i, j)], |i, l| f64::from(u8::from(hidden[(i, l)] > 0.0)));
    for lambda in [0.0, 1.0] {
        let (embedding, _) = fit(Method::Pca, thorough(8, lambda), &problem.dataset());
        assert_eq!((embedding.report.rank, embedding.labels.cols()), (3, 8));
        let nothing = |m: &Matrix| (0..m.rows()).all(|i| m.row(i)[3..].iter().all(|v| v.abs() < 1e-4));
        assert!(nothing(&embedding.projection) && nothing(&embedding.labels), "ridge {lambda}");
    }
}

#[test]
fn random_rows_have_the_length_they_should_and_a_regression_that_fits() {
    let problem = sparse(300, 40, 60, 2);
    for method in [Method::Cs, Method::CsOmp] {
        let params = thorough(30, 1.0);
        let (embedding, means) = fit(method, params.clone(), &problem.dataset());
        let lengths = (0..60).map(|l| embedding.labels.row(l).iter().map(|v| f64::from(*v).powi(2)).sum::<f64>());
        let lengths: Vec<f64> = lengths.collect();
        let mean = lengths.iter().sum::<f64>() / 60.0;
        assert!((mean - 1.0).abs() < 0.15, "{method:?}: {mean}");
        assert_eq!(lengths.iter().all(|v| (v - 1.0).abs() < 1e-5), method == Method::CsOmp);
        let rho = problem.trace() / 40.0;
        assert!(problem.normal_residual(&embedding.labels, &embedding.projection, rho) < 1e-4);
        assert!(means.is_none());
        // The diagnostics are those of an orthonormal basis of the same space.
        let mut span = embedding.labels.clone();
        rembrandt::linalg::orthonormalize(&mut span);
        let held = captured(&oracle(&problem, &[rho; 40]), &span);
        assert!((embedding.report.energy / held - 1.0).abs() < 1e-3);
        // Random rows know nothing of the data.
        let other = fit(method, params, &sparse(100, 40, 60, 9).dataset()).0;
        assert_eq!(embedding.labels, other.labels);
    }
}

#[test]
fn weights_are_examples_that_often() {
    let mut problem = shifted(&falling(60, 12, 10, 3));
    problem.weights = Some((0..60).map(|i| (i % 3) as f32).collect());
    let (weighted, repeated) = (problem.dataset(), problem.repeated().dataset());
    for method in METHODS {
        let [a, b] = [&weighted, &repeated].map(|data| fit(method, thorough(3, 1.0), data));
        assert_alike(&predictions(&a, &problem), &predictions(&b, &problem), 2e-3);
    }
}

#[test]
fn the_same_for_any_number_of_threads() {
    let data = sparse(400, 50, 40, 6).dataset();
    for method in METHODS {
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| fit(method, Rembrandt::new(12), &data))
        };
        let (one, means) = run(1);
        for (other, others) in [run(2), run(5)] {
            assert_eq!(
                (&one.labels, &one.projection, &one.intercept),
                (&other.labels, &other.projection, &other.intercept)
            );
            assert_eq!((&one.report, &means), (&other.report, &others));
        }
    }
}

#[test]
fn finding_and_placing_is_fitting() {
    let data = shifted(&falling(200, 30, 24, 6)).dataset();
    for method in METHODS {
        let embedder = Embedder::new(method, thorough(5, 1.0));
        let run = &mut Run::default();
        let basis = embedder.find(None, &data, run).unwrap();
        let projected = embedder.project(&data, &basis, run).unwrap();
        let (embedding, means) = embedder.fit_from(None, &data, run).unwrap();
        assert_eq!((projected.labels, projected.projection), (embedding.labels, embedding.projection), "{method:?}");
        assert_eq!((projected.intercept, projected.means), (embedding.intercept, means));
    }
}

#[test]
fn too_many_dimensions_are_refused_with_the_limit() {
    let data = sparse(30, 8, 12, 1).dataset();
    for method in METHODS {
        let (limit, what) = if method == Method::Pca { (8, "features") } else { (12, "labels") };
        let fits = |k| Embedder::new(method, Rembrandt::new(k)).fit_from(None, &data, &mut Run::default());
        assert!(fits(limit).is_ok(), "{method:?}");
        let message = fits(limit + 1).unwrap_err().to_string();
        assert_eq!(message, format!("k: {} dimensions are more than the {limit} {what} of the data", limit + 1));
        let stopped = Embedder::new(method, Rembrandt::new(3)).fit_from(None, &data, &mut Run::watched(|_| false));
        assert!(matches!(stopped, Err(Error::Cancelled)), "{method:?}");
    }
}
