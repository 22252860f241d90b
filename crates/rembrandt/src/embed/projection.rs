//! The projection by itself: the regression of features into an embedding that is already known.

use super::cost::prefers_direct;
use super::operator::{Operator, padded};
use super::params::Rembrandt;
use super::regression::{Gram, Problem, Regression};
use super::rembrandt::{adapt, centred_intercept, check_range};
use crate::data::{Examples, Side};
use crate::matrix::{MatRef, Matrix};
use crate::{Error, Result, Run};

impl Rembrandt {
    /// Finds the projection P and the intercept for `labels`, an embedding of the labels: the last step of
    /// [`fit`](Rembrandt::fit), for other examples than those that the embedding was found with.
    pub fn fit_projection(
        &self,
        data: &dyn Examples,
        labels: &Matrix,
        run: &mut Run<'_>,
    ) -> Result<(Matrix, Vec<f32>)> {
        let original = data;
        let params = Rembrandt { k: labels.cols(), ..self.clone() };
        params.check(original.shape())?;
        if labels.rows() != original.shape().c {
            let reason = format!("{} rows for the {} labels of the data", labels.rows(), original.shape().c);
            return Err(Error::parameter("labels", reason));
        }
        let adapted = adapt(&params, original)?;
        let data = adapted.as_ref().map_or(original, |a| a as &dyn Examples);
        let (shape, x) = (data.shape(), data.moments(Side::X)?);
        check_range(&x)?;
        let direct = prefers_direct(&params, shape, x.entries);
        let (lambda, stop) = self.own_projection().unwrap_or((self.ridge, self.stop()));
        run.begin(if direct { 2 * shape.d } else { params.k.saturating_mul(2 * stop.steps + 1) } as u64);
        let gram = if direct { Some(Gram::new(data, run)?) } else { None };
        let constant = shape.d - original.shape().d;
        let problem = Problem { params: &params, data, x: &x, constant: constant == 1, gram: gram.as_ref() };
        let regression = Regression::new(&problem, lambda, stop)?;
        let panel = if direct { usize::MAX } else { self.panel };
        let operator = Operator { data, regression: &regression, panel };
        let mut projection = Matrix::zeros(shape.d - constant, params.k);
        let mut intercept = vec![0.0; params.k];
        for (from, to) in operator.panels(params.k) {
            let b = operator.right_side(&padded(labels.columns(from, to)), to - from, run, "projection")?;
            let (p, _) = regression.solve(&b, to - from, run, "projection")?;
            let proper = MatRef::new(shape.d - constant, to - from, p.cols(), p.as_slice());
            projection.columns_mut(from, to).copy_from(proper);
            if constant == 1 {
                intercept[from..to].copy_from_slice(&p.row(shape.d - 1)[..to - from]);
            }
        }
        if self.center {
            intercept = centred_intercept(original, labels, &projection)?;
        }
        Ok((projection, intercept))
    }
}
