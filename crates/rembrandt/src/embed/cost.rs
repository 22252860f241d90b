//! The cost of a fit: which solver is cheaper, how much work and how much memory.

use super::few_pass::last_steps;
use super::operator::TRACE_SAMPLES;
use super::panel::LINE;
use super::params::{Preconditioner, Rembrandt, Solver};
use crate::Shape;

/// The direct solver is chosen for at most this many features: it writes down a d×d matrix.
const MAX_DIRECT: usize = 4096;
/// How much faster dense algebra runs than sparse products, counted in operations.
const DENSE_SPEED: f64 = 4.0;
/// Memory of a process whatever it computes: code, thread stacks, the intermediate product of a chunk.
const OVERHEAD: u64 = 32 << 20;

/// How the top eigenspace of M is looked for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Procedure {
    /// Passes with the preconditioner, and a last one with a few steps.
    FewPass,
    /// Algorithm 1.
    Paper,
}

/// The procedure that the parameters lead to, given whether XᵀWX is written down: regressions with it are free of
/// products with the data, and there is no pass to be saved.
pub(super) fn procedure(params: &Rembrandt, direct: bool) -> Procedure {
    match params.solver {
        Solver::FewPass => Procedure::FewPass,
        // Without a preconditioner there is nothing to make cheap passes with.
        Solver::Auto if !direct && params.preconditioner == Preconditioner::Diagonal => Procedure::FewPass,
        _ => Procedure::Paper,
    }
}

/// Whether writing XᵀWX down costs less than iterating with the data, which have `entries` stored features.
pub(crate) fn prefers_direct(params: &Rembrandt, shape: Shape, entries: u64) -> bool {
    let (d, entries) = (shape.d as f64, entries as f64);
    let solved = (params.passes as f64 + 1.0) * params.columns(shape) as f64 + params.k as f64;
    let solve = half_passes(params.cg_steps);
    let iterated = match procedure(params, false) {
        Procedure::FewPass => params.columns(shape) as f64 * half_passes(last_steps(params)) + params.k as f64 * solve,
        Procedure::Paper => solved * solve,
    };
    let iterating = entries * iterated;
    let writing = 2.0 * entries * d + d * d * (d / 3.0 + 2.0 * solved) / DENSE_SPEED;
    match params.solver {
        Solver::FewPass | Solver::Iterative => false,
        Solver::Direct => true,
        Solver::Auto | Solver::Paper => may_write_gram(params, shape) && writing < iterating,
    }
}

/// Whether a fit may hold a d×d matrix.
pub(crate) fn may_write_gram(params: &Rembrandt, shape: Shape) -> bool {
    match params.solver {
        Solver::Direct => true,
        Solver::Auto | Solver::Paper => shape.d <= MAX_DIRECT,
        Solver::FewPass | Solver::Iterative => false,
    }
}

/// Products with X or Xᵀ in so many steps of conjugate gradients, of which the last takes one.
pub(super) fn half_passes(steps: usize) -> f64 {
    (2.0 * steps as f64 - 1.0).max(0.0)
}

impl Rembrandt {
    /// Columns multiplied by the data in all, for progress.
    pub(super) fn work(&self, shape: Shape, direct: bool) -> u64 {
        // In floating point, which cannot wrap.
        let width = self.columns(shape) as f64;
        let solve = if direct { 0.0 } else { half_passes(self.cg_steps) };
        let passes = self.passes as f64;
        let of_finding = match procedure(self, direct) {
            Procedure::FewPass => 2.0 * (passes + 1.0) + half_passes(last_steps(self)),
            Procedure::Paper => (passes + 1.0) * (solve + 2.0),
        };
        ((width * of_finding) as u64).saturating_add(self.projection_work(shape, direct))
    }

    /// The same for the projection of an embedding that is already known, and its diagnostics.
    pub(super) fn projection_work(&self, shape: Shape, direct: bool) -> u64 {
        let (k, d) = (self.k as f64, shape.d as f64);
        let solve = if direct { 0.0 } else { half_passes(self.cg_steps) };
        let project = match self.own_projection() {
            _ if direct => 0.0,
            Some((_, stop)) => half_passes(stop.steps) + solve,
            None => solve,
        };
        let gram = if direct { 2.0 * d } else { 0.0 };
        let rest = if self.k < shape.c { TRACE_SAMPLES as f64 * (solve + 1.0) } else { 0.0 };
        (gram + k * (project + 2.0) + rest) as u64
    }

    /// Bytes that a fit takes besides the data, at its peak.
    pub fn memory(&self, shape: Shape) -> u64 {
        // In floating point, which cannot wrap.
        let (d, c, k) = (shape.d as f64 + 1.0, shape.c as f64, self.k as f64);
        let columns = self.columns(shape).max(self.k);
        let (width, panel) = (columns as f64, columns.min(self.panel).next_multiple_of(LINE) as f64);
        // A regression holds b, z, r, p, q, and a panel of labels before it and after; a projection by a rule of its own is
        // kept while the other regression is solved.
        let own = if self.own_projection().is_some() { 1.0 } else { 0.0 };
        let regression = ((5.0 + own) * d + 2.0 * c) * panel;
        let dense = 2.0 * 16.0 * width * width;
        // The range finder regresses from Q while a copy of it is kept; then come Q, its basis and their product, and the
        // matrices of a panel wait for the next. At the end the embedding is there, and its projection is filled panel by
        // panel.
        let finding = 2.0 * c * width + regression + (c * width - d * panel + dense).max(0.0);
        let projecting = (c + d) * k + regression;
        let gram = if may_write_gram(self, shape) { 6.0 * d * d } else { 0.0 };
        ((4.0 * (finding.max(projecting) + gram)) as u64).saturating_add(OVERHEAD)
    }

    /// The same with as many columns solved together as fit into so many bytes, by `needed`: half as many, and half of
    /// these. The result stays the same, and it takes somewhat longer.
    pub fn narrowed(&self, bytes: u64, needed: impl Fn(&Rembrandt) -> u64) -> Rembrandt {
        let mut narrow = self.clone();
        while needed(&narrow) > bytes && narrow.panel > LINE {
            narrow.panel = (narrow.panel / 2).max(LINE);
        }
        // Work that does not help is not done.
        if needed(&narrow) > bytes { self.clone() } else { narrow }
    }
}
