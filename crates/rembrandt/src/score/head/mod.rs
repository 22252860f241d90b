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
//! Logistic heads see h or [`RandomFeatures`] of it; with thousands of those, [`DescentParams`] trains the same heads in a few
//! passes, and with very many labels [`SampledParams`] does so by looking at some of them at a time. P was fitted to the
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
mod fitted;
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
pub(crate) use crossfit::too_few;
pub use crossfit::{Folds, out_of_fold};
pub(crate) use decode::Decoder;
pub use descent::DescentParams;
pub use features::{FeatureParams, Kernel, RandomFeatures};
pub use fitted::Logistic;
pub use inputs::{Inputs, project};
pub(crate) use inputs::{STRIP, add_intercept};
pub use logistic::{LogisticParams, LogisticReport};
pub use objective::{Loss, Targets};
pub(crate) use pursuit::{Dictionary, Pursuit};
pub(crate) use row_subset::RowSubset;
pub use sampled::SampledParams;

use crate::linalg::matrix::Matrix;
use crate::linalg::table::Table;

/// From h to scores.
#[derive(Clone, Debug)]
pub enum Head {
    /// score = E·h, with E the embedding of the labels.
    LeastSquares,
    /// Orthogonal matching pursuit: the weights of the rows of E that make up h, and below them all other labels.
    Pursuit {
        /// Labels that are taken at most.
        atoms: usize,
    },
    /// score = W(h, 1).
    Linear {
        /// W, a row for each label, the constant last. It holds what is to be added of E.
        weights: Table,
    },
    /// score = W(random features of h, 1) + least_squares·E·h.
    RandomFeatures {
        /// The map that h goes through first.
        features: RandomFeatures,
        /// W, a row for each label, the constant last.
        weights: Table,
        /// How much of the least-squares score to add.
        least_squares: f32,
    },
}

impl Head {
    /// A logistic head with `least_squares` times the score E·h added to its own.
    pub fn logistic(features: Option<RandomFeatures>, model: Logistic, labels: &Matrix, least_squares: f32) -> Head {
        match features {
            Some(features) => Head::RandomFeatures { features, weights: model.weights.into(), least_squares },
            None if least_squares == 0.0 => Head::Linear { weights: model.weights.into() },
            None => Head::Linear { weights: with_least_squares(model.weights, labels, least_squares).into() },
        }
    }

    /// W; absent where E stands in its place.
    pub fn weights(&self) -> Option<&Table> {
        match self {
            Head::LeastSquares | Head::Pursuit { .. } => None,
            Head::Linear { weights } | Head::RandomFeatures { weights, .. } => Some(weights),
        }
    }

    /// Whether scores are inner products of (h, 1) with a vector for each label.
    pub fn is_linear(&self) -> bool {
        matches!(self, Head::LeastSquares | Head::Linear { .. })
    }
}

/// W + weight·[E, 0]: the same scores as those of W with the least-squares score added, in one product.
fn with_least_squares(mut weights: Matrix, labels: &Matrix, weight: f32) -> Matrix {
    for label in 0..labels.rows() {
        let pairs = weights.row_mut(label).iter_mut().zip(labels.row(label));
        pairs.for_each(|(w, e)| *w = (f64::from(*w) + f64::from(weight) * f64::from(*e)) as f32);
    }
    weights
}
