//! Principal directions of one side of the data: the top right singular vectors of X or Y shifted to mean 0.
//!
//! They are the top eigenvectors of AᵀWA − m mᵀ/Σw, with m the weighted column sums of A: the shift is a rank-one
//! correction, so sparse data stay sparse. A randomized range finder with subspace iteration finds them [1].
//!
//! 1. N. Halko, P.-G. Martinsson, J. A. Tropp: Finding structure with randomness. SIAM Review 53(2), 2011.

use super::params::Rembrandt;
use super::range_finder::{Basis, next_basis, top_left};
use crate::data::{BiasCenter, Examples, Side};
use crate::linalg::matrix::Matrix;
use crate::{Result, Run};

/// Products with the data for each pass that is asked for. A pass of Rembrandt is a regression of about twice as many.
const SWEEPS: usize = 4;

/// The result of the range finder.
pub(super) struct Principal {
    /// One direction in each column, orthonormal, the one of the largest variance first.
    pub directions: Matrix,
    /// Directions that carry any variance; those beyond are an arbitrary completion.
    pub rank: usize,
    /// Products with A or Aᵀ, per column.
    pub half_passes: f64,
}

/// The top `params.k` principal directions.
pub(super) fn principal(
    params: &Rembrandt,
    side: Side,
    start: Option<&Matrix>,
    data: &dyn Examples,
    run: &mut Run<'_>,
) -> Result<Principal> {
    let height = data.shape().width(side);
    let centred = BiasCenter::centered(data)?;
    let width = params.k.saturating_add(params.oversample).min(height);
    let sweeps = params.passes.saturating_mul(SWEEPS).max(1);
    run.begin((2 * width as u64).saturating_mul(sweeps as u64 + 1));
    let (directions, rank) = run.checkpoint("directions", |run| {
        let mut basis = Basis::begin(width, height, start, params.seed, run)?;
        for sweep in basis.passes..=sweeps {
            let mut product = Matrix::zeros(height, width);
            centred.cross(side, side, basis.q.view(), product.view_mut())?;
            run.advance("range finder", 2 * width as u64)?;
            basis.q = product;
            if sweep < sweeps {
                next_basis(&mut basis.q, params.seed, sweep);
                basis.keep(sweep, run)?;
            }
        }
        top_left(basis.q, params.k, params.seed)
    })?;
    Ok(Principal { directions, rank, half_passes: 2.0 * (sweeps as f64 + 1.0) })
}
