//! Heads: from the embedding of an example to scores of the labels.
//!
//! An example lands at h(x) = Pᵀx + intercept. From there
//!
//! | head | score of label l | good for |
//! |---|---|---|
//! | least squares | eₗ·h | nothing to train |
//! | [`Head::Pursuit`] | its weight in a sparse sum of rows of E that makes h | random embeddings |
//! | [`LogisticParams`] with [`Loss::Softmax`] | log-odds of one label of all (LR) | multiclass |
//! | [`LogisticParams`] with [`Loss::Independent`] | log-odds of each label (ILR) | multilabel |
//!
//! Logistic heads see h or [`RandomFeatures`] of it; with thousands of those, [`Descent`] trains the same heads in a few
//! passes, and with very many labels [`Sampled`] does so by looking at some of them at a time. P was fitted to the
//! training examples, whose h are therefore better than those of new examples will be, and a head trained on them trusts
//! h too much: [`out_of_fold`] computes h of training examples with projections that have not seen them. The two kinds of
//! scores add up to better ones than either, a [`Head`] holds how much of each to take, and a [`Calibration`] makes
//! probabilities of the sum. [`train`](crate::train) puts all of this together and finds the settings on held-out
//! examples.

mod calibrate;
mod crossfit;
mod decode;
mod descent;
mod estimate;
mod features;
mod inputs;
mod label_sample;
mod logistic;
mod objective;
mod partition;
#[cfg(test)]
mod problem;
mod pursuit;
mod row_subset;
mod sampled;
mod second_moments;

pub use calibrate::Calibration;
pub(crate) use calibrate::platt;
pub(crate) use crossfit::one_fold;
pub use crossfit::{Folds, out_of_fold};
pub(crate) use decode::Decoder;
pub use descent::Descent;
pub use features::{FeatureParams, Kernel, RandomFeatures};
pub use inputs::{Inputs, project};
pub(crate) use inputs::{STRIP, add_intercept};
pub use logistic::{Logistic, LogisticParams, LogisticReport};
pub use objective::{Loss, Targets};
pub(crate) use pursuit::{Dictionary, Pursuit};
pub(crate) use row_subset::Part;
pub use sampled::Sampled;

use std::borrow::Cow;

use crate::linalg::matrix::{MatRef, Matrix};
use crate::linalg::orth;

/// What turns h into scores.
#[derive(Clone, Debug, PartialEq)]
pub enum Head {
    /// score = E·h, with E the embedding of the labels.
    LeastSquares,
    /// Orthogonal matching pursuit: the weights of the rows of E that make up h, and below them all other labels.
    Pursuit {
        /// Labels that are taken at most.
        atoms: usize,
    },
    /// score = logistic score of h or random features of it + blend·E·h.
    Logistic {
        /// The map that h goes through first.
        features: Option<RandomFeatures>,
        /// The weights.
        model: Logistic,
        /// How much of the least-squares score to add.
        blend: f32,
    },
}

impl Head {
    /// The vector of each label whose inner product with h, or with (h, 1), is its score; absent for heads whose scores
    /// are no such products.
    pub(crate) fn vectors<'a>(&'a self, labels: &'a Matrix) -> Option<Cow<'a, Matrix>> {
        match self {
            Head::LeastSquares => Some(Cow::Borrowed(labels)),
            Head::Logistic { features: None, model, blend } => {
                Some(Cow::Owned(blended(&model.weights, labels, *blend)))
            }
            Head::Pursuit { .. } | Head::Logistic { .. } => None,
        }
    }

    /// Whether labels have such vectors.
    pub(crate) fn is_linear(&self) -> bool {
        matches!(self, Head::LeastSquares | Head::Logistic { features: None, .. })
    }

    /// Scores of every label for the rows of `h`. `labels` is the embedding of the labels.
    ///
    /// # Panics
    /// If the sizes do not fit.
    pub fn scores(&self, labels: &Matrix, h: MatRef<'_>) -> Matrix {
        match self {
            Head::LeastSquares => least_squares(labels, h),
            Head::Pursuit { atoms } => pursuit::scores(labels, h, *atoms),
            Head::Logistic { features, model, blend } => {
                let mut scores = model.scores(Inputs::new(h, features.as_ref()));
                if *blend != 0.0 {
                    add_scaled(&mut scores, *blend, &least_squares(labels, h));
                }
                scores
            }
        }
    }
}

/// h·Eᵀ.
pub(crate) fn least_squares(labels: &Matrix, h: MatRef<'_>) -> Matrix {
    let transposed = faer::Mat::from_fn(labels.cols(), labels.rows(), |j, i| f64::from(labels.row(i)[j]));
    orth::multiply(h, &transposed)
}

/// to ← to + factor·from.
pub(crate) fn add_scaled(to: &mut Matrix, factor: f32, from: &Matrix) {
    use rayon::prelude::*;
    let pairs = to.as_mut_slice().par_iter_mut().with_min_len(4096).zip(from.as_slice());
    pairs.for_each(|(to, from)| *to += factor * from);
}

/// W + blend·[E, 0]: the same scores as those of W with the blend, in one product.
fn blended(weights: &Matrix, labels: &Matrix, blend: f32) -> Matrix {
    let mut sum = weights.clone();
    for label in 0..labels.rows() {
        let pairs = sum.row_mut(label).iter_mut().zip(labels.row(label));
        pairs.for_each(|(w, e)| *w = (f64::from(*w) + f64::from(blend) * f64::from(*e)) as f32);
    }
    sum
}
