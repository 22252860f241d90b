//! Minimising many smooth convex functions together: limited-memory BFGS on the rows of a matrix.
//!
//! The functions either have nothing to do with each other, one variable row each, or all rows are the variable of
//! one function. In both cases every step is one evaluation of the gradients of all rows that are not done. The line
//! search looks at slopes only: along a line a convex function falls for as long as its slope is negative, so
//! no function value, whose last digits are rounding, is compared. A row whose step was too long tries a shorter one
//! while the others go on.

use rayon::prelude::*;

use crate::{Matrix, Result};

/// Pairs of steps and gradient changes that are remembered.
const MEMORY: usize = 8;
/// A step is too long when the slope at its end is above this fraction of the descent at its beginning.
const OVERSHOOT: f64 = 0.4;

/// When to stop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LbfgsLimits {
    /// Evaluations at most.
    pub evaluations: usize,
    /// A row is done when the norm of its gradient is below this fraction of what it was at the start.
    pub tolerance: f64,
    /// All rows are the variable of one function.
    pub tied: bool,
}

/// How it went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LbfgsOutcome {
    /// Evaluations that the row that took longest needed.
    pub evaluations: usize,
    /// Rows that were not done.
    pub unfinished: usize,
}

/// The state of each row that is not done; row i of every matrix belongs to row `ids[i]` of the variable.
struct State {
    ids: Vec<usize>,
    x: Matrix,
    gradient: Matrix,
    direction: Matrix,
    /// Slope along the direction at the beginning of the step.
    slope: Vec<f64>,
    /// Length of the step being tried.
    length: Vec<f64>,
    /// Squared norm of the first gradient.
    first: Vec<f64>,
    /// Oldest first.
    pairs: Vec<Pair>,
}

struct Pair {
    step: Matrix,
    change: Matrix,
    /// 1/(step·change), or 0 for a row to which the pair does not belong.
    inverse: Vec<f64>,
    /// (step·change)/(change·change), the scale of the inverse Hessian.
    scale: Vec<f64>,
}

/// Minimises, beginning at `x`. `gradient(ids, x, out)` sets row i of `out` to the gradient for row `ids[i]` of the
/// variable at row i of `x`.
pub(crate) fn minimize(
    x: &mut Matrix,
    limits: LbfgsLimits,
    mut gradient: impl FnMut(&[usize], &Matrix, &mut Matrix) -> Result<()>,
) -> Result<LbfgsOutcome> {
    let (rows, cols) = (x.rows(), x.cols());
    let mut state = State {
        ids: (0..rows).collect(),
        x: x.clone(),
        gradient: Matrix::zeros(rows, cols),
        direction: Matrix::zeros(rows, cols),
        slope: vec![0.0; rows],
        length: vec![1.0; rows],
        first: Vec::new(),
        pairs: Vec::new(),
    };
    gradient(&state.ids, &state.x, &mut state.gradient)?;
    state.first = dots(&state.gradient, &state.gradient, limits.tied);
    state.aim(&vec![true; rows], limits.tied);
    let mut evaluations = 1;
    loop {
        state.retire(x, limits);
        if state.ids.is_empty() || evaluations >= limits.evaluations {
            break;
        }
        let mut trial = state.x.clone();
        rows_of(&mut trial).enumerate().for_each(|(i, row)| {
            let length = state.length[i] as f32;
            row.iter_mut().zip(state.direction.row(i)).for_each(|(x, d)| *x += length * d);
        });
        let mut new = Matrix::zeros(trial.rows(), cols);
        gradient(&state.ids, &trial, &mut new)?;
        evaluations += 1;
        let slope = dots(&new, &state.direction, limits.tied);
        let accepted: Vec<bool> = slope.iter().zip(&state.slope).map(|(new, old)| *new <= -OVERSHOOT * old).collect();
        for (i, ok) in accepted.iter().enumerate() {
            // The zero of the slope, if it were a straight line.
            let shorter = (-state.slope[i] / (slope[i] - state.slope[i])).clamp(0.1, 0.7);
            state.length[i] = if *ok { 1.0 } else { state.length[i] * shorter };
        }
        if accepted.contains(&true) {
            state.accept(trial, new, &accepted, limits.tied);
        }
    }
    for (i, id) in state.ids.iter().enumerate() {
        x.row_mut(*id).copy_from_slice(state.x.row(i));
    }
    Ok(LbfgsOutcome { evaluations, unfinished: state.ids.len() })
}

impl State {
    /// Takes the steps of the accepted rows and chooses their next directions.
    fn accept(&mut self, trial: Matrix, new: Matrix, accepted: &[bool], tied: bool) {
        // The old point and gradient become the pair of differences, zero for the rows that stay where they are.
        let oldest = (self.pairs.len() == MEMORY).then(|| self.pairs.remove(0));
        let (rows, cols) = (new.rows(), new.cols());
        let (mut step, mut change) = oldest
            .map(|pair| (pair.step, pair.change))
            .unwrap_or_else(|| (Matrix::zeros(rows, cols), Matrix::zeros(rows, cols)));
        difference(&mut step, &trial, &self.x, accepted);
        difference(&mut change, &new, &self.gradient, accepted);
        copy_rows(&mut self.x, &trial, accepted);
        copy_rows(&mut self.gradient, &new, accepted);
        let (products, squares) = (dots(&step, &change, tied), dots(&change, &change, tied));
        let sound = |i: usize| accepted[i] && products[i] > 0.0 && squares[i] > 0.0;
        let inverse = (0..rows).map(|i| if sound(i) { products[i].recip() } else { 0.0 }).collect();
        let scale = (0..rows).map(|i| if sound(i) { products[i] / squares[i] } else { 0.0 }).collect();
        self.pairs.push(Pair { step, change, inverse, scale });
        self.aim(accepted, tied);
    }

    /// direction ← −(inverse Hessian)·gradient for the rows that need a new one: the two-loop recursion.
    fn aim(&mut self, which: &[bool], tied: bool) {
        let rows = self.gradient.rows();
        let mut d = self.gradient.clone();
        let mut factors = Vec::new();
        for pair in self.pairs.iter().rev() {
            let a: Vec<f64> =
                dots(&pair.step, &d, tied).iter().zip(&pair.inverse).map(|(dot, inverse)| dot * inverse).collect();
            add(&mut d, &pair.change, &a, -1.0);
            factors.push(a);
        }
        let scale: Vec<f64> = (0..rows)
            .map(|i| self.pairs.iter().rev().map(|p| p.scale[i]).find(|scale| *scale > 0.0).unwrap_or(1.0))
            .collect();
        rows_of(&mut d).enumerate().for_each(|(i, row)| row.iter_mut().for_each(|v| *v *= -scale[i] as f32));
        for (pair, a) in self.pairs.iter().zip(factors.iter().rev()) {
            let b: Vec<f64> = dots(&pair.change, &d, tied)
                .iter()
                .zip(&pair.inverse)
                .zip(a)
                .map(|((dot, inverse), a)| -a - dot * inverse)
                .collect();
            add(&mut d, &pair.step, &b, 1.0);
        }
        let slope = dots(&d, &self.gradient, tied);
        copy_rows(&mut self.direction, &d, which);
        for i in (0..rows).filter(|i| which[*i]) {
            self.slope[i] = slope[i];
        }
        // Rounding may turn a direction of a row that is almost done uphill. Its gradient never points there.
        let lost: Vec<bool> = (0..rows).map(|i| which[i] && (slope[i].is_nan() || slope[i] >= 0.0)).collect();
        if lost.contains(&true) {
            let squares = dots(&self.gradient, &self.gradient, tied);
            let mut steepest = self.gradient.clone();
            rows_of(&mut steepest).for_each(|row| row.iter_mut().for_each(|v| *v = -*v));
            copy_rows(&mut self.direction, &steepest, &lost);
            for i in (0..rows).filter(|i| lost[*i]) {
                self.slope[i] = -squares[i];
            }
        }
    }

    /// Writes the rows that are done to the result and forgets them.
    fn retire(&mut self, x: &mut Matrix, limits: LbfgsLimits) {
        let now = dots(&self.gradient, &self.gradient, limits.tied);
        let target = limits.tolerance * limits.tolerance;
        let going: Vec<bool> = now
            .iter()
            .zip(&self.first)
            .zip(&self.length)
            // A step this short moves nothing: rounding has the last word.
            .map(|((now, first), length)| *now > target * first && *length > 1e-6)
            .collect();
        if !going.contains(&false) {
            return;
        }
        for (i, id) in self.ids.iter().enumerate().filter(|(i, _)| !going[*i]) {
            x.row_mut(*id).copy_from_slice(self.x.row(i));
        }
        let keep: Vec<usize> = (0..going.len()).filter(|i| going[*i]).collect();
        let rows = |m: &Matrix| Matrix::from_fn(keep.len(), m.cols(), |i, j| m.row(keep[i])[j]);
        let numbers = |v: &[f64]| keep.iter().map(|i| v[*i]).collect();
        self.ids = keep.iter().map(|i| self.ids[*i]).collect();
        (self.x, self.gradient, self.direction) = (rows(&self.x), rows(&self.gradient), rows(&self.direction));
        (self.slope, self.length, self.first) = (numbers(&self.slope), numbers(&self.length), numbers(&self.first));
        for pair in &mut self.pairs {
            (pair.step, pair.change) = (rows(&pair.step), rows(&pair.change));
            (pair.inverse, pair.scale) = (numbers(&pair.inverse), numbers(&pair.scale));
        }
    }
}

fn rows_of(m: &mut Matrix) -> impl IndexedParallelIterator<Item = &mut [f32]> {
    let cols = m.cols().max(1);
    m.as_mut_slice().par_chunks_mut(cols)
}

/// The inner products of the rows, or for each row the sum of all of them.
fn dots(a: &Matrix, b: &Matrix, tied: bool) -> Vec<f64> {
    let dot = |i: usize| a.row(i).iter().zip(b.row(i)).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
    let dots: Vec<f64> = (0..a.rows()).into_par_iter().map(dot).collect();
    if tied { vec![dots.iter().sum(); a.rows()] } else { dots }
}

/// y ← y + sign·f x, a factor for each row.
fn add(y: &mut Matrix, x: &Matrix, f: &[f64], sign: f64) {
    rows_of(y).enumerate().for_each(|(i, row)| {
        let f = (sign * f[i]) as f32;
        row.iter_mut().zip(x.row(i)).for_each(|(y, x)| *y += f * x);
    });
}

/// out ← a − b in the rows that `which` names, 0 in the others.
fn difference(out: &mut Matrix, a: &Matrix, b: &Matrix, which: &[bool]) {
    rows_of(out).enumerate().for_each(|(i, row)| {
        if which[i] {
            row.iter_mut().zip(a.row(i).iter().zip(b.row(i))).for_each(|(o, (a, b))| *o = a - b);
        } else {
            row.fill(0.0);
        }
    });
}

fn copy_rows(to: &mut Matrix, from: &Matrix, which: &[bool]) {
    rows_of(to).enumerate().filter(|(i, _)| which[*i]).for_each(|(i, row)| row.copy_from_slice(from.row(i)));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Row i minimises Σⱼ aᵢⱼ log cosh(x − bᵢⱼ): convex, not quadratic, badly scaled.
    fn weight(i: usize, j: usize) -> f32 {
        [1.0, 30.0, 3.0, 5.0, 50.0][j] * (1 + i) as f32
    }

    fn gradient(ids: &[usize], x: &Matrix, out: &mut Matrix) -> Result<()> {
        for (i, id) in ids.iter().enumerate() {
            for j in 0..5 {
                out.row_mut(i)[j] = weight(*id, j) * (x.row(i)[j] - (id + j) as f32).tanh();
            }
        }
        Ok(())
    }

    #[test]
    fn every_row_finds_its_minimum_apart_and_tied() {
        for tied in [false, true] {
            let mut x = Matrix::zeros(7, 5);
            let limits = LbfgsLimits { evaluations: 300, tolerance: 1e-5, tied };
            let outcome = minimize(&mut x, limits, gradient).unwrap();
            assert_eq!(outcome.unfinished, 0, "{outcome:?}");
            for i in 0..7 {
                for j in 0..5 {
                    assert!((x.row(i)[j] - (i + j) as f32).abs() < 0.02, "{tied} {i} {j}: {}", x.row(i)[j]);
                }
            }
        }
    }

    #[test]
    fn a_minimum_stays_where_it_is() {
        let mut x = Matrix::from_fn(1, 5, |_, j| j as f32);
        let limits = LbfgsLimits { evaluations: 10, tolerance: 1e-3, tied: false };
        assert_eq!(minimize(&mut x, limits, gradient).unwrap(), LbfgsOutcome { evaluations: 1, unfinished: 0 });
        assert_eq!(x.row(0), [0.0, 1.0, 2.0, 3.0, 4.0]);
        assert_eq!(minimize(&mut Matrix::zeros(0, 5), limits, gradient).unwrap().unfinished, 0);
    }
}
