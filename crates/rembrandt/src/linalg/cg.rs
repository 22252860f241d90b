//! Guarded block conjugate gradients: A Z = B for a symmetric positive A that is known only through products.
//!
//! All columns advance together, because a product with a block costs little more than one with a vector, but each
//! has its own step sizes and its own end: what happens to a column does not depend on its neighbours, and so the
//! result does not depend on how columns are grouped into panels.
//!
//! The objective φ(z) = ½zᵀAz − bᵀz must fall. The residual need not: on real data it rises thirtyfold before
//! it falls, and a rule that wants it to fall would return nothing. Along a direction p the objective changes by
//! −α pᵀr + ½α² pᵀAp, so a step of length α = pᵀr / pᵀAp, from sums that were measured and not inferred, can only
//! lower it. (In exact arithmetic pᵀr is the rᵀs of the textbooks.)
//!
//! A column ends when its preconditioned residual has fallen below the tolerance, or when rounding has taken over: the
//! direction does not lead down, or along it the matrix has no curvature that could be told from rounding errors. No
//! step is taken then, so a column never gets worse than its start z = 0, and asking for a thousand steps more is
//! harmless.

use crate::linalg::kernels::columns;
use crate::linalg::matrix::{MatMut, MatRef, Matrix, Spare};
use crate::{Error, Result};

/// Curvatures this much below the largest one seen are rounding errors of `f32` products. Dividing by one of them
/// would take a step to nowhere; a singular system with a right side outside of its range leads there.
const FLAT: f64 = 1e-7;

/// When to stop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CgLimits {
    /// Steps at most.
    pub steps: usize,
    /// Relative preconditioned residual at which a column is done.
    pub tolerance: f64,
}

/// How a solve went.
#[derive(Clone, Debug, Default)]
pub(crate) struct CgOutcome {
    /// Steps of each column.
    pub steps: Vec<usize>,
    /// Columns that the guard ended.
    pub guarded: usize,
}

/// One column on its way.
#[derive(Clone, Copy)]
struct ColumnState {
    /// rᵀs, with s the preconditioned residual.
    rs: f64,
    /// pᵀMp, the length of the direction in the norm of the preconditioner.
    pp: f64,
    /// The largest curvature pᵀAp / pᵀMp seen.
    curvature: f64,
    /// Where rs counts as converged.
    goal: f64,
    steps: usize,
    active: bool,
    guarded: bool,
}

/// The matrix of the equations: a product, and a diagonal that is added to it.
pub(crate) struct System<'a> {
    /// Writes A₀·P.
    pub product: &'a mut dyn FnMut(MatRef<'_>, MatMut<'_>) -> Result<()>,
    /// pᵀA₀p of each column.
    pub squares: &'a mut dyn FnMut(MatRef<'_>) -> Result<Vec<f64>>,
    /// A = A₀ + diag(ridge).
    pub ridge: &'a [f32],
    /// The preconditioner: about the inverse of A's diagonal.
    pub inverse: &'a [f32],
}

/// Solves A Z = B from Z = 0.
pub(crate) fn solve(system: System<'_>, b: Matrix, stop: CgLimits, spare: &Spare) -> Result<(Matrix, CgOutcome)> {
    let System { product, squares, ridge, inverse } = system;
    let (rows, width) = (b.rows(), b.cols());
    assert_eq!((ridge.len(), inverse.len()), (rows, rows), "sizes do not fit");
    let mut r = b;
    let [mut z, mut p, mut q] = [(); 3].map(|()| spare.take(rows, width));
    columns::sweep([z.view_mut()], [], 0, |_, [mut z], [], _| z.fill(0.0));

    // s = r/M, p = s.
    let rs = columns::sweep([p.view_mut()], [r.view()], width, |rows, [mut p], [r], sums| {
        columns::scale_rows(p.reborrow(), &inverse[rows], r);
        columns::add_dot(p.as_ref(), r, sums);
    });
    if rs.iter().any(|rs| !rs.is_finite()) {
        let reason = "the numbers in the data are too large to be squared; scale the features down";
        return Err(Error::Data(reason.into()));
    }
    let mut columns: Vec<ColumnState> = rs.iter().map(|rs| ColumnState::new(*rs, stop.tolerance)).collect();

    for step in 1..=stop.steps {
        if !columns.iter().any(|c| c.active) {
            break;
        }
        if step == stop.steps {
            last_step(&mut z, squares(p.view())?, ridge, [p.view(), r.view()], &mut columns);
            break;
        }
        product(p.view(), q.view_mut())?;
        // pᵀAp and pᵀr, where q is A₀p so far.
        let sums = columns::sweep([], [p.view(), q.view(), r.view()], 2 * width, |rows, [], [p, q, r], sums| {
            let (curvature, descent) = sums.split_at_mut(width);
            columns::add_dot(p, q, curvature);
            columns::add_dot_scaled(p, &ridge[rows], p, curvature);
            columns::add_dot(p, r, descent);
        });
        let (curvature, descent) = sums.split_at(width);
        let alpha = lengths(&mut columns, curvature, descent);
        let minus: Vec<f32> = alpha.iter().map(|a| -a).collect();

        // z ← z + αp, r ← r − αAp, and the new rᵀs.
        let outputs = [z.view_mut(), r.view_mut()];
        let rs = columns::sweep(outputs, [p.view(), q.view()], width, |rows, [z, mut r], [p, q], sums| {
            columns::add_multiple(z, &alpha, p);
            columns::add_multiple(r.reborrow(), &minus, q);
            columns::add_scaled_multiple(r.reborrow(), &ridge[rows.clone()], &minus, p);
            columns::add_dot_scaled(r.as_ref(), &inverse[rows], r.as_ref(), sums);
        });
        // p ← s + βp. Columns that have ended take no more steps, whatever their p.
        let beta: Vec<f32> = columns.iter_mut().zip(&rs).map(|(c, rs)| c.turn(*rs)).collect();
        columns::sweep([p.view_mut()], [r.view()], 0, |rows, [p], [r], _| {
            columns::scale_rows_multiply_add(p, &inverse[rows], &beta, r);
        });
    }
    [r, p, q].into_iter().for_each(|done| spare.give(done));
    let steps = columns.iter().map(|c| c.steps).collect();
    Ok((z, CgOutcome { steps, guarded: columns.iter().filter(|c| c.guarded).count() }))
}

/// z ← z + αp, from pᵀA₀p. The last step has no use for a residual, hence none for A·p: the curvature pᵀAp is enough, at
/// half of the price.
fn last_step(
    z: &mut Matrix,
    mut curvature: Vec<f64>,
    ridge: &[f32],
    [p, r]: [MatRef<'_>; 2],
    columns: &mut [ColumnState],
) {
    let width = curvature.len();
    let sums = columns::sweep([], [p, r], 2 * width, |rows, [], [p, r], sums| {
        let (ridged, descent) = sums.split_at_mut(width);
        columns::add_dot_scaled(p, &ridge[rows], p, ridged);
        columns::add_dot(p, r, descent);
    });
    let (ridged, descent) = sums.split_at(width);
    curvature.iter_mut().zip(ridged).for_each(|(curvature, ridged)| *curvature += ridged);
    let alpha = lengths(columns, &curvature, descent);
    columns::sweep([z.view_mut()], [p], 0, |_, [z], [p], _| columns::add_multiple(z, &alpha, p));
}

/// The lengths of the next step of all columns, from their pᵀAp and pᵀr.
fn lengths(columns: &mut [ColumnState], curvature: &[f64], descent: &[f64]) -> Vec<f32> {
    columns.iter_mut().zip(curvature.iter().zip(descent)).map(|(c, (pap, pr))| c.step(*pap, *pr)).collect()
}

impl ColumnState {
    /// Before the first step, whose direction is s itself.
    fn new(rs: f64, tolerance: f64) -> ColumnState {
        let goal = rs * tolerance * tolerance;
        ColumnState { rs, pp: rs, curvature: 0.0, goal, steps: 0, active: rs > 0.0, guarded: false }
    }

    /// The length of the next step, 0 for a column that has ended.
    fn step(&mut self, pap: f64, pr: f64) -> f32 {
        let alpha = (pr / pap) as f32;
        let curvature = pap / self.pp;
        self.curvature = self.curvature.max(curvature);
        if self.active && !(curvature > FLAT * self.curvature && pr > 0.0 && alpha.is_finite()) {
            (self.active, self.guarded) = (false, true);
        }
        self.steps += usize::from(self.active);
        if self.active { alpha } else { 0.0 }
    }

    /// How much of the old direction goes into the new one.
    fn turn(&mut self, rs: f64) -> f32 {
        if self.active && !rs.is_finite() {
            (self.active, self.guarded) = (false, true);
        }
        if !self.active {
            return 0.0;
        }
        let beta = rs / self.rs;
        self.rs = rs;
        // The new direction s + βp has this length because s is orthogonal to p: sᵀMp = rᵀp = 0.
        self.pp = rs + beta * beta * self.pp;
        self.active = rs > self.goal;
        beta as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A diagonal matrix through products, which is all that matters to the method, mixed by a reflection.
    fn product(diagonal: Vec<f32>) -> impl FnMut(MatRef<'_>, MatMut<'_>) -> Result<()> {
        move |p, mut out| {
            let n = diagonal.len();
            let reflect = |m: &mut Matrix| {
                for j in 0..m.cols() {
                    let shift = 2.0 / n as f64 * (0..n).map(|i| f64::from(m.row(i)[j])).sum::<f64>();
                    (0..n).for_each(|i| m.row_mut(i)[j] -= shift as f32);
                }
            };
            let mut m = p.to_matrix();
            reflect(&mut m);
            (0..n).for_each(|i| m.row_mut(i).iter_mut().for_each(|v| *v *= diagonal[i]));
            reflect(&mut m);
            out.copy_from(m.view());
            Ok(())
        }
    }

    fn squares(diagonal: Vec<f32>) -> impl FnMut(MatRef<'_>) -> Result<Vec<f64>> {
        let mut product = product(diagonal);
        move |p| {
            let mut q = Matrix::zeros(p.rows(), p.cols());
            product(p, q.view_mut())?;
            Ok(columns::dot(p, q.view()))
        }
    }

    fn run(diagonal: &[f32], b: &Matrix, stop: CgLimits) -> (Matrix, CgOutcome) {
        let n = diagonal.len();
        let system = System {
            product: &mut product(diagonal.to_vec()),
            squares: &mut squares(diagonal.to_vec()),
            ridge: &vec![0.0; n],
            inverse: &vec![1.0; n],
        };
        // Leftovers in spare matrices must not matter.
        let spare = Spare::default();
        (0..3).for_each(|_| spare.give(Matrix::from_fn(n, b.cols(), |_, _| f32::NAN)));
        solve(system, b.clone(), stop, &spare).unwrap()
    }

    /// φ of each column, in `f64`.
    fn objective(diagonal: &[f32], b: &Matrix, z: &Matrix) -> Vec<f64> {
        let mut az = Matrix::zeros(z.rows(), z.cols());
        product(diagonal.to_vec())(z.view(), az.view_mut()).unwrap();
        let (zaz, bz) = (columns::dot(z.view(), az.view()), columns::dot(b.view(), z.view()));
        zaz.iter().zip(bz).map(|(q, l)| 0.5 * q - l).collect()
    }

    fn right_side(n: usize, cols: usize) -> Matrix {
        let mut b = Matrix::zeros(n, cols);
        crate::linalg::random::fill_normal(&mut b, 0, 3);
        b
    }

    #[test]
    fn solves_and_counts_the_steps_of_each_column() {
        let diagonal: Vec<f32> = (0..50).map(|i| 1.0 + (i % 5) as f32).collect();
        let mut b = right_side(50, 3);
        (0..50).for_each(|i| b.row_mut(i)[1] = 0.0);
        let (z, outcome) = run(&diagonal, &b, CgLimits { steps: 40, tolerance: 1e-5 });
        // Five distinct eigenvalues: five steps, and none for a right side of zero.
        assert!(outcome.steps[0] <= 6 && outcome.steps[2] <= 6, "{outcome:?}");
        assert_eq!((outcome.steps[1], outcome.guarded), (0, 0));
        assert!((0..50).all(|i| z.row(i)[1] == 0.0));
        let mut az = Matrix::zeros(50, 3);
        product(diagonal)(z.view(), az.view_mut()).unwrap();
        assert!(az.as_slice().iter().zip(b.as_slice()).all(|(a, b)| (a - b).abs() < 1e-4));
    }

    #[test]
    fn any_number_of_steps_never_makes_it_worse() {
        // Condition numbers far beyond what f32 can resolve, up to singular and even slightly indefinite matrices.
        let spectra: [fn(usize) -> f32; 4] = [
            |i| 10f32.powf(-0.2 * i as f32),
            |i| if i % 2 == 0 { 1.0 } else { 0.0 },
            |i| if i == 0 { 1e6 } else { 1.0 / (1.0 + i as f32) },
            |i| if i == 7 { -1e-6 } else { 1.0 / (1.0 + i as f32) },
        ];
        for (which, spectrum) in spectra.iter().enumerate() {
            let diagonal: Vec<f32> = (0..60).map(spectrum).collect();
            let b = right_side(60, 4);
            let mut last = vec![0.0; 4];
            for steps in [1, 2, 5, 10, 50, 200, 2000] {
                let (z, _) = run(&diagonal, &b, CgLimits { steps, tolerance: 0.0 });
                assert!(z.as_slice().iter().all(|v| v.is_finite()), "spectrum {which}, {steps} steps");
                let phi = objective(&diagonal, &b, &z);
                for (phi, last) in phi.iter().zip(&last) {
                    assert!(*phi <= *last + 1e-3 * f64::abs(*last), "spectrum {which}, {steps} steps: {phi} > {last}");
                }
                last = phi;
            }
        }
    }

    #[test]
    fn a_residual_that_rises_first_does_not_stop_it() {
        // A small right side along a direction of huge curvature: the residual rises before it falls.
        let n = 200;
        let diagonal: Vec<f32> = (0..n).map(|i| 10f32.powf(-4.0 + 8.0 * (i % 20) as f32 / 19.0)).collect();
        let b = right_side(n, 1);
        let norm_after = |steps| {
            let (z, _) = run(&diagonal, &b, CgLimits { steps, tolerance: 1e-9 });
            let mut r = Matrix::zeros(n, 1);
            product(diagonal.clone())(z.view(), r.view_mut()).unwrap();
            let r: f64 = r.as_slice().iter().zip(b.as_slice()).map(|(a, b)| f64::from(b - a).powi(2)).sum();
            (r.sqrt(), objective(&diagonal, &b, &z)[0])
        };
        let start = b.as_slice().iter().map(|v| f64::from(*v).powi(2)).sum::<f64>().sqrt();
        let path: Vec<(f64, f64)> = (1..30).map(norm_after).collect();
        assert!(path.iter().any(|(r, _)| *r > 2.0 * start), "the residual was meant to rise: {path:?}");
        assert!(path.windows(2).all(|w| w[1].1 <= w[0].1 + 1e-3 * w[0].1.abs()), "the objective must not: {path:?}");
    }

    #[test]
    fn numbers_too_large_are_refused() {
        let b = Matrix::from_fn(3, 1, |_, _| f32::INFINITY);
        let system = System {
            product: &mut product(vec![1.0; 3]),
            squares: &mut squares(vec![1.0; 3]),
            ridge: &[0.0; 3],
            inverse: &[1.0; 3],
        };
        let error = solve(system, b, CgLimits { steps: 3, tolerance: 0.0 }, &Spare::default()).unwrap_err();
        assert!(error.to_string().contains("too large"));
    }
}
