//! Dimensions that are random instead of those with the most energy.

use crate::common::{captured, oracle, sparse};
use rembrandt::embed::Solver;
use rembrandt::{Matrix, Rembrandt, Run};

fn random_fraction(k: usize, share: f64) -> Rembrandt {
    Rembrandt::new(k).with(|p| p.random_fraction = share)
}

fn prefix(labels: &Matrix, k: usize) -> Matrix {
    Matrix::from_fn(labels.rows(), k, |i, j| labels.row(i)[j])
}

#[test]
fn the_first_dimensions_are_those_with_the_most_energy() {
    let problem = sparse(200, 40, 30, 5);
    for solver in [Solver::Auto, Solver::FewPass, Solver::Paper] {
        let params = random_fraction(12, 0.5).with(|p| p.solver = solver);
        let found = params.fit(&problem.dataset(), &mut Run::default()).unwrap();
        let alone = Rembrandt::new(6).with(|p| p.solver = solver).fit(&problem.dataset(), &mut Run::default()).unwrap();
        assert_eq!((found.labels.cols(), found.report.rank), (12, 12));
        let exact = oracle(&problem, &vec![problem.trace() / problem.d as f64; problem.d]);
        let energies = [&prefix(&found.labels, 6), &alone.labels].map(|labels| captured(&exact, labels));
        assert!((energies[0] - energies[1]).abs() < 1e-4 * energies[1], "{energies:?}");
        // The others have some energy too, and the report knows how much.
        let all = captured(&exact, &found.labels);
        assert!(all > 1.05 * energies[0]);
        assert!((found.report.energy - all).abs() < 0.01 * all, "{} of {all}", found.report.energy);
    }
}

#[test]
fn all_dimensions_may_be_random() {
    let problem = sparse(100, 20, 30, 6);
    let [found, again] = [1, 3].map(|threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            random_fraction(10, 1.0)
                .with(|p| p.solver = Solver::FewPass)
                .fit(&problem.dataset(), &mut Run::default())
                .unwrap()
        })
    });
    assert_eq!((&found.labels, &found.projection), (&again.labels, &again.projection));
    assert_eq!(found.report.half_passes, 0.0);
    for i in 0..10 {
        for j in 0..10 {
            let dot: f64 = (0..30).map(|l| f64::from(found.labels.row(l)[i]) * f64::from(found.labels.row(l)[j])).sum();
            assert!((dot - f64::from(u8::from(i == j))).abs() < 1e-5, "columns {i} and {j}: {dot}");
        }
    }
    assert!(found.spectrum.iter().all(|mu| *mu > 0.0));
}
