//! [`Decoder`]: scores from h and the embedding of the labels alone, which need no training.

use super::Head;
use super::features::RandomFeatures;
use super::fitted::Logistic;
use crate::embed::Means;
use crate::linalg::matrix::Matrix;

/// Scores from the embedding of the labels: least squares, through means if there are any, or matching pursuit.
#[derive(Clone, Copy)]
pub(crate) struct Decoder<'a> {
    /// E.
    pub labels: &'a Matrix,
    /// The point that the regression goes through. Of h as many as `labels` has columns count.
    pub means: Option<&'a Means>,
    /// Labels that a pursuit takes at most; 0: there is none.
    pub atoms: usize,
}

impl Decoder<'_> {
    /// The head that gives these scores.
    pub fn head(&self) -> Head {
        let Some(constants) = self.constants().filter(|_| self.atoms == 0) else {
            return if self.atoms > 0 { Head::Pursuit { atoms: self.atoms } } else { Head::LeastSquares };
        };
        let k = self.labels.cols();
        let weights = Matrix::from_fn(self.labels.rows(), k + 1, |label, j| {
            if j < k { self.labels.row(label)[j] } else { constants[label] }
        });
        Head::Linear { weights: weights.into() }
    }

    /// A logistic head with `weight` times these scores added to its own.
    pub fn logistic(&self, features: Option<RandomFeatures>, mut model: Logistic, weight: f32) -> Head {
        self.add_constants(&mut model, weight);
        Head::logistic(features, model, self.labels, weight)
    }

    /// Adds `weight` times what these scores have beyond E·h to the constants of a logistic head.
    fn add_constants(&self, model: &mut Logistic, weight: f32) {
        let last = model.weights.cols() - 1;
        for (label, constant) in self.constants().into_iter().flatten().enumerate() {
            model.weights.row_mut(label)[last] += weight * constant;
        }
    }

    /// ȳ − E·h̄.
    fn constants(&self) -> Option<Vec<f32>> {
        let means = self.means?;
        let constant = |(label, mean): (usize, &f32)| {
            let pairs = self.labels.row(label).iter().zip(&means.h);
            (f64::from(*mean) - pairs.map(|(e, h)| f64::from(*e) * f64::from(*h)).sum::<f64>()) as f32
        };
        Some(means.labels.iter().enumerate().map(constant).collect())
    }
}
