//! The few-pass solver: the top eigenspace of M without solving regressions on the way to it.
//!
//! Algorithm 1 spends nearly all of its time in conjugate gradients, nineteen products with X or Xᵀ in every pass of its
//! range finder. But what a range finder needs is passes, and an early one need not be exact: it only has to turn Q
//! towards the space. With D = diag(XᵀWX + R), the preconditioner, in place of the whole matrix, a pass with
//!
//! ```text
//! M₀ = YᵀWX D⁻¹ XᵀWY
//! ```
//!
//! takes two products instead of twenty-one. Two such passes find a space near that of M, and one with a few steps of
//! conjugate gradients takes it from there to M. Three things make the most of these passes.
//!
//! - **The basis in between is made of singular vectors**, not of whatever columns a triangular factorisation leaves.
//!   Each column is then close to one eigenvector, and conjugate gradients, which choose their steps column by column,
//!   have one thing to fit. In a mixed basis the strong directions decide for the weak ones.
//! - **A shift sharpens each pass for nothing**: (M − σI)Q is MQ and a multiple of a Q that is at hand. Eigenvalues from
//!   0 to 2σ shrink to at most σ in size, so that those above stand out more. Rayleigh quotients of an orthonormal
//!   basis tell a σ that is safe: the k-th largest of them is about μₖ at most, and below ½μₖ no unwanted direction
//!   outgrows a wanted one.
//! - **One round of orthogonalisation** is enough for a basis that is only to be multiplied again.
//!
//! Of the nine products with X or Xᵀ six are with YᵀWX or its transpose, which is made once where examples have one label
//! each ([`LabelFeatureProduct`](crate::data::LabelFeatureProduct)).

use super::operator::Operator;
use super::params::Rembrandt;
use super::range_finder::{Basis, LabelRange, complete_basis, pass_name, top_left};
use super::regression::{Regression, RegressionSetup};
use crate::linalg::cg::CgLimits;
use crate::linalg::kernels::columns::{add_multiple, copy, dot, sweep};
use crate::linalg::matrix::Matrix;
use crate::linalg::orth;
use crate::{Result, Run};

/// Dimensions up to which the last pass has a step more.
const FEW_DIMENSIONS: usize = 64;
/// The shift, as a share of the k-th Rayleigh quotient. At ½ the k-th direction and those without any energy would come
/// out equally long.
const SHIFT: f64 = 0.4;

/// Steps of conjugate gradients in the last pass.
///
/// The first only scales what the preconditioner gives, the second turns the space towards that of M. Few dimensions end
/// where the spectrum is still steep: what little is missing of each of them weighs more, and a third step takes it in.
pub(super) fn last_steps(params: &Rembrandt) -> usize {
    if params.leading() <= FEW_DIMENSIONS { 3 } else { 2 }
}

/// E, from `passes` passes with M₀ and one with M.
pub(super) fn find(
    start: Option<&Matrix>,
    problem: &RegressionSetup<'_>,
    operator: &Operator<'_>,
    run: &mut Run<'_>,
) -> Result<LabelRange> {
    let params = problem.params;
    let regression = |steps| Regression::new(problem, params.ridge, CgLimits { steps, tolerance: params.tolerance });
    let (diagonal, last) = (regression(0)?, regression(last_steps(params))?);
    let product = operator.data.label_feature_product()?;
    let with_product = product.as_ref().map(|product| product.over(operator.data));
    let data = with_product.as_ref().map_or(operator.data, |examples| examples);
    let operator = Operator { data, ..*operator };
    let shape = data.shape();
    let mut basis = Basis::begin(params.columns(shape), shape.c, start, params.seed, run)?;
    // Q before a pass, in the same memory every time, so that the system clears its pages once.
    let mut before = None;
    for pass in basis.passes..=params.passes {
        let is_last = pass == params.passes;
        let regression = if is_last { &last } else { &diagonal };
        // Of random columns a shift would keep what the pass has just taken out: the rows of labels that never occur.
        let shifted = basis.found >= params.k;
        if shifted {
            let (rows, columns) = (basis.q.rows(), basis.q.cols());
            copy(before.get_or_insert_with(|| Matrix::zeros(rows, columns)).view_mut(), basis.q.view());
        }
        let operator = Operator { regression, ..operator };
        run.within(&pass_name(pass), |run| operator.apply(&mut basis.q, &mut basis.tally, run))?;
        if let Some(before) = before.as_ref().filter(|_| shifted) {
            shift(&mut basis.q, before, basis.found, params.k);
        }
        if !is_last {
            basis.found = orth::principal_basis(&mut basis.q);
            complete_basis(&mut basis.q, basis.found, params.seed, pass);
            basis.keep(pass, run)?;
        }
    }
    drop(before);
    let Basis { q, tally, .. } = basis;
    let (labels, rank) = top_left(q, params.k, params.seed)?;
    Ok(LabelRange { labels, rank, tally })
}

/// T ← T − σQ, where T is M·Q, in the first `found` columns.
fn shift(t: &mut Matrix, q: &Matrix, found: usize, k: usize) {
    let mut quotients = dot(q.columns(0, found), t.columns(0, found));
    quotients.sort_by(|a, b| b.total_cmp(a));
    let sigma = (SHIFT * quotients[k - 1]).max(0.0) as f32;
    let factors = vec![-sigma; found];
    sweep([t.columns_mut(0, found)], [q.columns(0, found)], 0, |_, [t], [q], _| add_multiple(t, &factors, q));
}
