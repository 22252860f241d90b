//! Principal label space transformation.
//!
//! The labels of examples vary mostly in a few directions. PLST [1] takes the principal ones of Y, shifted to mean 0,
//! as the columns of V, whatever the features; regresses (Y − ȳ)V on the features; and decodes a prediction h as
//! V·h + ȳ. It minimises what the decoding loses, but not what the regression cannot reach: directions of the labels of
//! which the features know nothing take as many dimensions as those that they know well.
//!
//! The conditional version [2] asks for the directions that both keep: the top eigenvectors of (Y − ȳ)ᵀH(Y − ȳ) with
//! the hat matrix H = X(XᵀX + ρI)⁻¹Xᵀ of the features. With X shifted to mean 0 that is the operator M of Rembrandt,
//! so CPLST is Rembrandt with the mean shift, and has no file of its own.
//!
//! 1. F. Tai, H.-T. Lin: Multilabel classification with principal label space transformation. Neural Computation
//!    24(9), 2012.
//! 2. Y.-N. Chen, H.-T. Lin: Feature-aware label space dimension reduction for multi-label classification. Advances in
//!    Neural Information Processing Systems 25, 2012.

use super::params::Rembrandt;
use super::principal::{Principal, principal};
use super::report::Embedding;
use crate::data::{Examples, Side};
use crate::linalg::matrix::Matrix;
use crate::{Result, Run};

/// V, the principal directions of the labels.
pub(super) fn find(
    params: &Rembrandt,
    start: Option<&Matrix>,
    data: &dyn Examples,
    run: &mut Run<'_>,
) -> Result<Principal> {
    principal(params, Side::Y, start, data, run)
}

/// V, the regression on it, and how much of what the features can tell it holds.
pub(super) fn fit(
    params: &Rembrandt,
    start: Option<&Matrix>,
    data: &dyn Examples,
    run: &mut Run<'_>,
) -> Result<Embedding> {
    let found = find(params, start, data, run)?;
    params.fit_around(found.directions, found.rank, data, run)
}
