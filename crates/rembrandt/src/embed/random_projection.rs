//! Random embeddings of the labels, as in compressed sensing.
//!
//! An example has few of very many labels, so a few random projections of its label vector y tell which. Hsu et al. [1]
//! draw a random matrix A (k×c), regress the k numbers A·y on the features, and recover y from a prediction h as a sparse
//! solution of A·y = h, for instance by orthogonal matching pursuit ([`Head::Pursuit`](crate::score::head::Head)). Here E is the
//! transpose of A, with rows of length 1 as the pursuit wants them.
//!
//! As a baseline for label embeddings [2] the random E takes the place of the one that Rembrandt finds, with entries
//! of variance 1/k, and a logistic head that of the pursuit.
//!
//! Either way E knows nothing of the data. There are at most as many dimensions as labels: with more, nothing would be
//! compressed, and one regression for each label would do better.
//!
//! 1. D. Hsu, S. M. Kakade, J. Langford, T. Zhang: Multi-label prediction via compressed sensing. Advances in Neural
//!    Information Processing Systems 22, 2009.
//! 2. P. Mineiro, N. Karampatziakis: Fast label embeddings for extremely large output spaces. ICLR workshop, 2015.

use super::method::Method;
use super::params::Rembrandt;
use super::report::Embedding;
use crate::data::Examples;
use crate::linalg::matrix::Matrix;
use crate::linalg::{orth, random};
use crate::{Result, Run, Shape};

/// Keeps the rows apart from the random starts of other methods with the same seed.
const ROWS: u64 = 0xa076_1d64_78bd_642f;

/// Independent standard normals, a row for each label. They depend on seed, label and column alone.
pub(super) fn draw(params: &Rembrandt, shape: Shape) -> Matrix {
    let mut rows = Matrix::zeros(shape.c, params.k);
    random::fill_normal(&mut rows, 0, params.seed ^ ROWS);
    rows
}

/// The basis of a method as labels are embedded with it: random rows scaled for their length, all others as they are.
pub(super) fn scaled(method: Method, basis: &Matrix) -> Matrix {
    let mut labels = basis.clone();
    let k = basis.cols() as f64;
    for i in 0..basis.rows() {
        let row = labels.row_mut(i);
        let square: f64 = row.iter().map(|v| f64::from(*v).powi(2)).sum();
        let factor = match method {
            Method::Cs => k.sqrt().recip(),
            Method::CsOmp => square.sqrt().max(f64::MIN_POSITIVE).recip(),
            _ => break,
        };
        row.iter_mut().for_each(|v| *v = (f64::from(*v) * factor) as f32);
    }
    labels
}

/// Random rows and the regression on them. The diagnostics are those of the space that the columns of E span:
/// energy is defined for orthonormal columns, and these are not.
pub(super) fn fit(method: Method, params: &Rembrandt, data: &dyn Examples, run: &mut Run<'_>) -> Result<Embedding> {
    let labels = scaled(method, &draw(params, data.shape()));
    let mut span = labels.clone();
    let rank = orth::orthonormalize(&mut span);
    let of_span = params.fit_around(span, rank, data, run)?;
    let (projection, intercept) = params.fit_projection(data, &labels, run)?;
    Ok(Embedding { labels, projection, intercept, ..of_span })
}
