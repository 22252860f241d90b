//! The projection by itself: the regression of features into an embedding that is already known.

use super::params::Rembrandt;
use super::regression::{Gram, Regression, prefers_direct};
use super::rembrandt::{adapt, centred_intercept, check_range, padded};
use crate::data::{Examples, Side};
use crate::matrix::{MatRef, Matrix};
use crate::solve::cg::Stop;
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
        let steps = self.projection.cg_steps.unwrap_or(self.cg_steps);
        run.begin(if direct { 2 * shape.d } else { params.k * (2 * steps + 1) } as u64);
        let gram = if direct { Some(Gram::new(data, run)?) } else { None };
        let constant = shape.d - original.shape().d;
        let stop = Stop { steps, tolerance: self.projection.tolerance.unwrap_or(self.tolerance) };
        let lambda = self.projection.ridge.unwrap_or(self.ridge);
        let regression = Regression::new(&params, (lambda, stop), data, (&x, constant == 1), gram.as_ref());
        let panel = if direct { params.k } else { self.panel };
        let mut projection = Matrix::zeros(shape.d - constant, params.k);
        let mut intercept = vec![0.0; params.k];
        for from in (0..params.k).step_by(panel) {
            let to = params.k.min(from + panel);
            let e = padded(labels.columns(from, to));
            let mut b = Matrix::zeros(shape.d, e.cols());
            data.cross(Side::X, Side::Y, e.view(), b.view_mut())?;
            run.advance("projection", (to - from) as u64)?;
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
