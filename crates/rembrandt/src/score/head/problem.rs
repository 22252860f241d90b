//! A small problem that the tests of the heads share.

use super::features::RandomFeatures;
use super::inputs::Inputs;
use super::objective::{Loss, Objective, Targets};
use crate::linalg::csr::Csr;
use crate::linalg::matrix::Matrix;

pub(crate) const COUNT: usize = 6;
/// The part of the targets that does not depend on the example.
const OFFSET: [f32; COUNT] = [0.01, 0.02, 0.0, 0.05, 0.03, 0.01];

/// Examples in 4 dimensions with labels that depend on them, noisily; one label that nobody has.
pub(crate) struct ToyProblem {
    pub h: Matrix,
    pub labels: Csr,
    pub example_weights: Vec<f32>,
    pub label_weights: Vec<f32>,
}

impl ToyProblem {
    pub fn new(n: usize, loss: Loss) -> ToyProblem {
        let mut h = Matrix::zeros(n, 4);
        crate::linalg::random::fill_normal(&mut h, 0, 5);
        let mut noise = Matrix::zeros(n, COUNT);
        crate::linalg::random::fill_normal(&mut noise, 0, 6);
        let mut labels = Csr::new(true);
        for i in 0..n {
            let score = |l: usize| h.row(i)[l % 4] * (1 + l) as f32 / 2.0 - 0.5 + noise.row(i)[l];
            match loss {
                Loss::Independent => {
                    (0..COUNT - 1).filter(|l| score(*l) > 0.5).for_each(|l| labels.push(l as u32, 1.0));
                }
                Loss::Softmax => {
                    let best = (0..COUNT - 1).max_by(|a, b| score(*a).total_cmp(&score(*b))).unwrap();
                    labels.push(best as u32, 1.0);
                }
            }
            labels.end_row();
        }
        let example_weights = (0..n).map(|i| (i % 3) as f32).collect();
        ToyProblem { h, labels, example_weights, label_weights: vec![1.0, 2.0, 0.5, 1.0, 3.0, 1.0] }
    }

    pub fn targets(&self) -> Targets<'_> {
        Targets {
            labels: self.labels.view(),
            count: COUNT,
            example_weights: Some(&self.example_weights),
            label_weights: Some(&self.label_weights),
        }
    }

    pub fn objective<'a>(&'a self, loss: Loss, features: Option<&'a RandomFeatures>) -> Objective<'a> {
        let inputs = Inputs::new(self.h.view(), features);
        Objective { inputs, targets: self.targets(), loss, rho: 0.7, keep: 0.9, offset: &OFFSET }
    }
}
