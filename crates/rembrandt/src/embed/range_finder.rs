//! The common part of the randomized range finders: a basis that goes from pass to pass, and the singular vectors at the
//! end.
//!
//! Few-pass, Algorithm 1 and the principal components all begin with random columns Q, multiply them by an operator a few
//! times, make the product orthonormal in between, and take the top left singular vectors of the last product [1]. The
//! basis is a checkpoint after each pass, so that a run that was killed goes on with the last.
//!
//! 1. N. Halko, P.-G. Martinsson, J. A. Tropp: Finding structure with randomness. SIAM Review 53(2), 2011.

use faer::Mat;

use super::operator::ProductCost;
use crate::linalg::matrix::Matrix;
use crate::linalg::orth::{self, Thin};
use crate::linalg::random;
use crate::{Error, Result, Run};

/// Directions whose singular value is below this fraction of the largest carry no energy, only rounding.
const NO_ENERGY: f64 = 1e-6;
/// Keeps the random completion apart from the random start.
const COMPLETION: u64 = 0x9e37_79b9_7f4a_7c15;
/// The checkpoint of the basis.
const NAME: &str = "basis";

/// Q and how it came about.
pub(super) struct Basis {
    pub q: Matrix,
    /// Passes that it has gone through.
    pub passes: usize,
    /// Columns that the last pass has found; those beyond are random.
    pub found: usize,
    pub tally: ProductCost,
}

impl Basis {
    /// The basis that was kept last, or else the beginning: random columns, the first of them those of `start`.
    pub fn begin(columns: usize, rows: usize, start: Option<&Matrix>, seed: u64, run: &mut Run<'_>) -> Result<Basis> {
        if let Some((q, passes, found, half_passes, guarded)) = run.find(NAME, 0)? {
            return Ok(Basis { q, passes, found, tally: ProductCost { half_passes, guarded } });
        }
        let mut q = Matrix::zeros(rows, columns);
        start_basis(&mut q, start, seed);
        Ok(Basis { q, passes: 0, found: 0, tally: ProductCost::default() })
    }

    /// Keeps it as the basis after `pass`, whose panels nobody will ask for any more.
    pub fn keep(&mut self, pass: usize, run: &mut Run<'_>) -> Result<()> {
        self.passes = pass + 1;
        let ProductCost { half_passes, guarded } = self.tally;
        run.keep(NAME, 0, &(&self.q, self.passes, self.found, half_passes, guarded))?;
        run.forget_within(&pass_name(pass));
        Ok(())
    }
}

/// The result of the range finder.
pub(super) struct LabelRange {
    pub labels: Matrix,
    pub rank: usize,
    pub tally: ProductCost,
}

/// The scope of the checkpoints of a pass.
pub(super) fn pass_name(pass: usize) -> String {
    format!("pass-{pass}")
}

/// The beginning of a range finder: random columns, the first of them replaced by those of `start`.
fn start_basis(q: &mut Matrix, start: Option<&Matrix>, seed: u64) {
    random::fill_normal(q, 0, seed);
    if let Some(start) = start {
        let known = start.cols().min(q.cols());
        q.columns_mut(0, known).copy_from(start.columns(0, known));
        let rank = orth::orthonormalize(q);
        orth::complete(q, rank, seed ^ COMPLETION);
    }
}

/// Makes the product of a pass an orthonormal basis, where it has lost rank with random columns.
pub(super) fn next_basis(q: &mut Matrix, seed: u64, pass: usize) {
    let rank = orth::orthonormalize(q);
    complete_basis(q, rank, seed, pass);
}

/// Fills a basis that has lost rank with random columns, which differ from pass to pass.
pub(super) fn complete_basis(q: &mut Matrix, rank: usize, seed: u64, pass: usize) {
    orth::complete(q, rank, seed ^ COMPLETION.wrapping_mul(pass as u64 + 1));
}

/// The top k left singular vectors of T, as E = Q·U with T = Q R and R = U Σ Vᵀ. It equals T V Σ⁻¹ from the
/// eigenvectors V of TᵀT, but does not lose the small singular values to the squaring.
pub(super) fn top_left(t: Matrix, k: usize, seed: u64) -> Result<(Matrix, usize)> {
    let Thin { q, c, r } = match orth::thin(t.view()) {
        Some(factors) => factors,
        None => {
            let mut q = t.clone();
            orth::orthonormalize(&mut q);
            let r = orth::inner(q.view(), t.view());
            Thin { c: Mat::identity(q.cols(), q.cols()), q, r }
        }
    };
    drop(t);
    let rr = &r * r.transpose();
    if !(rr.norm_l2() as f32).is_finite() {
        return Err(Error::Data("the products of features and labels overflow; scale the data down".into()));
    }
    let (values, u) = orth::eigen(&rr);
    let floor = NO_ENERGY * NO_ENERGY * values[0];
    let rank = values.iter().take(k).take_while(|v| **v > floor && **v > 0.0).count();
    let u = Mat::from_fn(u.nrows(), k, |i, j| if j < rank { u[(i, j)] } else { 0.0 });
    let mut labels = orth::multiply(q.view(), &(c * u));
    orth::complete(&mut labels, rank, seed ^ COMPLETION);
    orth::fix_signs(&mut labels);
    Ok((labels, rank))
}
