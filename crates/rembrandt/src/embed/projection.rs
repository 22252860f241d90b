//! The projection by itself: the regression of features into an embedding that is already known.

use super::operator::padded;
use super::params::Rembrandt;
use super::rembrandt::centred_intercept;
use crate::data::Examples;
use crate::matrix::{MatRef, Matrix};
use crate::{Error, Result, Run, Shape};

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
        let own = self.own_projection().unwrap_or((self.ridge, self.stop()));
        let steps = own.1.steps;
        let work = |direct: bool, shape: Shape| {
            (if direct { 2 * shape.d } else { labels.cols().saturating_mul(2 * steps + 1) }) as u64
        };
        let (projection, mut intercept) = params.prepared(original, own, work, run, |problem, operator, run| {
            let (d, constant) = (original.shape().d, problem.constant);
            let mut projection = Matrix::zeros(d, params.k);
            let mut intercept = vec![0.0; params.k];
            for (from, to) in operator.panels(params.k) {
                let b = operator.right_side(&padded(labels.columns(from, to)), to - from, run, "projection")?;
                let (p, _) = operator.regression.solve(&b, to - from, run, "projection")?;
                let proper = MatRef::new(d, to - from, p.cols(), p.as_slice());
                projection.columns_mut(from, to).copy_from(proper);
                if constant {
                    intercept[from..to].copy_from_slice(&p.row(d)[..to - from]);
                }
            }
            Ok((projection, intercept))
        })?;
        if self.center {
            intercept = centred_intercept(original, labels, &projection)?;
        }
        Ok((projection, intercept))
    }
}
