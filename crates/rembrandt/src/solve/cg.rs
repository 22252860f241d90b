//! Guarded block conjugate gradients: A Z = B for a symmetric positive A that is known only through products.
//!
//! All columns advance together, because a product with a block costs little more than one with a vector, but each
//! has its own step sizes and its own end: what happens to a column does not depend on its neighbours, and so the
//! result does not depend on how columns are grouped into panels.
//!
//! What is watched is the objective φ(z) = ½zᵀAz − bᵀz, which is what conjugate gradients decrease in every step.
//! The residual is not: on real data it rises thirtyfold before it falls, and a rule that wants it to fall would
//! return nothing. φ costs no product, since φ(z) = −½ zᵀ(b + r) with r = b − Az.
//!
//! A column ends
//! - when its preconditioned residual has fallen below the tolerance,
//! - when rounding has taken over: the curvature pᵀAp is no longer positive, a number is no longer finite, or φ has
//!   risen; that last step is taken back. So a column never gets worse than its start z = 0, and asking for a
//!   thousand steps more is harmless.

use rayon::prelude::*;

use crate::matrix::{MatMut, MatRef, Matrix};
use crate::{Error, Result};

/// Rows whose sums are added up before they join the others: fixed, so that sums do not depend on threads.
const BLOCK: usize = 1024;
/// φ may rise by this much, relatively, without anything being wrong: it is made of `f32` numbers.
const SLACK: f64 = 1e-6;

/// When to stop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stop {
    /// Steps at most.
    pub steps: usize,
    /// Relative preconditioned residual at which a column is done.
    pub tolerance: f64,
}

/// How a solve went.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome {
    /// Steps of each column.
    pub steps: Vec<usize>,
    /// Columns that the guard ended.
    pub guarded: usize,
}

/// One column on its way.
#[derive(Clone, Copy)]
struct Column {
    /// rᵀs, with s the preconditioned residual.
    rs: f64,
    /// Where rs counts as converged.
    goal: f64,
    /// The objective.
    phi: f64,
    steps: usize,
    active: bool,
    guarded: bool,
}

/// Solves A Z = B from Z = 0. `apply` computes A·P; `inverse` is the preconditioner, one number per row.
///
/// `z` is overwritten. `after_step` is called after each step with its number of columns.
pub(crate) fn solve(
    apply: &mut dyn FnMut(MatRef<'_>, MatMut<'_>) -> Result<()>,
    inverse: &[f32],
    b: &Matrix,
    z: &mut Matrix,
    stop: Stop,
) -> Result<Outcome> {
    let (rows, width) = (b.rows(), b.cols());
    assert_eq!((z.rows(), z.cols(), inverse.len()), (rows, width, rows), "sizes do not fit");
    z.as_mut_slice().fill(0.0);
    if rows == 0 || width == 0 {
        return Ok(Outcome { steps: vec![0; width], guarded: 0 });
    }
    let mut r = b.clone();
    let mut p = Matrix::zeros(rows, width);
    let mut q = Matrix::zeros(rows, width);

    // s = r/M, p = s.
    let rs = sweep1(width, p.as_mut_slice(), (r.as_slice(), inverse), |p, (r, m), sums| {
        for ((p, r), sum) in p.iter_mut().zip(r).zip(sums) {
            *p = m * r;
            *sum += f64::from(*p) * f64::from(*r);
        }
    });
    if rs.iter().any(|rs| !rs.is_finite()) {
        let reason = "the numbers in the data are too large to be squared; scale the features down";
        return Err(Error::Data(reason.into()));
    }
    let mut columns: Vec<Column> = rs
        .iter()
        .map(|rs| {
            let goal = rs * stop.tolerance * stop.tolerance;
            Column { rs: *rs, goal, phi: 0.0, steps: 0, active: *rs > 0.0, guarded: false }
        })
        .collect();

    for _ in 0..stop.steps {
        if !columns.iter().any(|c| c.active) {
            break;
        }
        apply(p.view(), q.view_mut())?;
        let curvature = dot(p.view(), q.view());
        let mut alpha = vec![0f32; width];
        for ((alpha, column), curvature) in alpha.iter_mut().zip(&mut columns).zip(&curvature) {
            let step = column.rs / curvature;
            if column.active && *curvature > 0.0 && (step as f32).is_finite() {
                *alpha = step as f32;
                column.steps += 1;
            } else if column.active {
                (column.active, column.guarded) = (false, true);
            }
        }
        // z ← z + αp, r ← r − αq, and the sums that say how it went.
        let (residual, objective) = advance(&alpha, inverse, b, (z, &mut r), (&p, &q));
        let (mut keep, mut beta) = (vec![0f32; width], vec![0f32; width]);
        let mut back = vec![0f32; width];
        for (j, column) in columns.iter_mut().enumerate().filter(|(_, c)| c.active) {
            let phi = -0.5 * objective[j];
            if !(phi <= column.phi + SLACK * column.phi.abs()) || !residual[j].is_finite() {
                (column.active, column.guarded) = (false, true);
                column.steps -= 1;
                back[j] = -alpha[j];
                continue;
            }
            let ratio = residual[j] / column.rs;
            (column.phi, column.rs) = (phi, residual[j]);
            column.active = column.rs > column.goal;
            if column.active {
                (keep[j], beta[j]) = (1.0, ratio as f32);
            }
        }
        if back.iter().any(|back| *back != 0.0) {
            z.as_mut_slice().par_chunks_mut(width).zip(p.as_slice().par_chunks(width)).for_each(|(z, p)| {
                z.iter_mut().zip(p).zip(&back).for_each(|((z, p), back)| *z = back.mul_add(*p, *z));
            });
        }
        // p ← s + βp; columns that have ended get p = 0.
        let direction = p.as_mut_slice().par_chunks_mut(BLOCK * width);
        let residuals = r.as_slice().par_chunks(BLOCK * width).zip(inverse.par_chunks(BLOCK));
        direction.zip(residuals).for_each(|(p, (r, inverse))| {
            for ((p, r), m) in p.chunks_mut(width).zip(r.chunks(width)).zip(inverse) {
                for (((p, r), keep), beta) in p.iter_mut().zip(r).zip(&keep).zip(&beta) {
                    *p = beta.mul_add(*p, keep * (m * r));
                }
            }
        });
    }
    // A step that was taken back may leave a trace of rounding; a column without a single step stays exactly 0.
    let steps = columns.iter().map(|c| c.steps).collect();
    Ok(Outcome { steps, guarded: columns.iter().filter(|c| c.guarded).count() })
}

/// z ← z + αp, r ← r − αq; returns rᵀM⁻¹r and zᵀ(b + r) of each column.
fn advance(
    alpha: &[f32],
    inverse: &[f32],
    b: &Matrix,
    (z, r): (&mut Matrix, &mut Matrix),
    (p, q): (&Matrix, &Matrix),
) -> (Vec<f64>, Vec<f64>) {
    let width = alpha.len();
    let block = BLOCK * width;
    let outputs = z.as_mut_slice().par_chunks_mut(block).zip(r.as_mut_slice().par_chunks_mut(block));
    let inputs = p.as_slice().par_chunks(block).zip(q.as_slice().par_chunks(block));
    let others = b.as_slice().par_chunks(block).zip(inverse.par_chunks(BLOCK));
    let partial: Vec<Vec<f64>> = outputs
        .zip(inputs)
        .zip(others)
        .map(|(((z, r), (p, q)), (b, inverse))| {
            let mut sums = vec![0f64; 2 * width];
            let (residual, objective) = sums.split_at_mut(width);
            for (i, m) in inverse.iter().enumerate() {
                let row = i * width..(i + 1) * width;
                let (z, r) = (&mut z[row.clone()], &mut r[row.clone()]);
                let (p, q, b) = (&p[row.clone()], &q[row.clone()], &b[row]);
                for j in 0..width {
                    z[j] = alpha[j].mul_add(p[j], z[j]);
                    r[j] = (-alpha[j]).mul_add(q[j], r[j]);
                    residual[j] += f64::from(r[j]) * f64::from(m * r[j]);
                    objective[j] += f64::from(z[j]) * (f64::from(b[j]) + f64::from(r[j]));
                }
            }
            sums
        })
        .collect();
    let mut sums = add_up(2 * width, &partial);
    let objective = sums.split_off(width);
    (sums, objective)
}

/// The inner product of each column of `a` with that of `b`, in `f64`.
pub(crate) fn dot(a: MatRef<'_>, b: MatRef<'_>) -> Vec<f64> {
    assert_eq!((a.rows(), a.cols()), (b.rows(), b.cols()), "sizes differ");
    let partial: Vec<Vec<f64>> = (0..a.rows().div_ceil(BLOCK))
        .into_par_iter()
        .map(|block| {
            let mut sums = vec![0f64; a.cols()];
            for i in block * BLOCK..a.rows().min((block + 1) * BLOCK) {
                for ((sum, a), b) in sums.iter_mut().zip(a.row(i)).zip(b.row(i)) {
                    *sum += f64::from(*a) * f64::from(*b);
                }
            }
            sums
        })
        .collect();
    add_up(a.cols(), &partial)
}

/// One pass over the rows of a matrix that is written, with per-column sums.
fn sweep1(
    width: usize,
    out: &mut [f32],
    (a, per_row): (&[f32], &[f32]),
    f: impl Fn(&mut [f32], (&[f32], f32), &mut [f64]) + Sync,
) -> Vec<f64> {
    let inputs = a.par_chunks(BLOCK * width).zip(per_row.par_chunks(BLOCK));
    let partial: Vec<Vec<f64>> = out
        .par_chunks_mut(BLOCK * width)
        .zip(inputs)
        .map(|(out, (a, per_row))| {
            let mut sums = vec![0f64; width];
            for ((out, a), m) in out.chunks_mut(width).zip(a.chunks(width)).zip(per_row) {
                f(out, (a, *m), &mut sums);
            }
            sums
        })
        .collect();
    add_up(width, &partial)
}

/// Adds the sums of blocks in their order.
fn add_up(width: usize, blocks: &[Vec<f64>]) -> Vec<f64> {
    let mut total = vec![0f64; width];
    blocks.iter().for_each(|block| total.iter_mut().zip(block).for_each(|(t, b)| *t += b));
    total
}
