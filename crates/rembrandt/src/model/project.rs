//! From examples to h(x) = Pᵀx + intercept.

use super::{Model, Preprocessing};
use crate::linalg::csr::{Csr, CsrRef};
use crate::linalg::kernels;
use crate::linalg::matrix::Matrix;
use crate::score::head::add_intercept;
use crate::{Error, Result};

impl Model {
    /// Examples as they come from a reader, made ready for the projection: weighed if the model does so, without
    /// features that it does not know and without zeros.
    ///
    /// # Errors
    /// If the model was trained on texts, or a value is not finite.
    pub fn prepare(&self, x: CsrRef<'_>) -> Result<Csr> {
        if let Preprocessing::Text(_) = self.preprocessing() {
            let reason = "the model was trained on texts and cannot read features: give it texts";
            return Err(Error::parameter("x", reason));
        }
        let mut known = Csr::new(false);
        for i in 0..x.rows() {
            for (id, value) in x.entries(i) {
                if !value.is_finite() {
                    return Err(Error::Data(format!("feature {id} of row {i} is too large or not a number")));
                }
                if id < self.shape().d && value != 0.0 {
                    known.push(id as u32, value);
                }
            }
            known.end_row();
        }
        match self.preprocessing() {
            Preprocessing::Sparse(transform) => transform.apply(known.view()),
            _ => Ok(known),
        }
    }

    /// Texts, made ready for the projection.
    ///
    /// # Errors
    /// If the model was not trained on texts.
    pub fn prepare_texts<T: AsRef<str> + Sync>(&self, texts: &[T]) -> Result<Csr> {
        match self.preprocessing() {
            Preprocessing::Text(featurizer) => Ok(featurizer.transform_batch(texts)),
            _ => {
                let reason = "the model was trained on features and cannot read texts: give it features";
                Err(Error::parameter("texts", reason))
            }
        }
    }

    /// h of prepared examples. Every number is one chain of multiply-adds, whatever stands beside it.
    pub(super) fn project(&self, x: CsrRef<'_>) -> Matrix {
        let projection = self.projection();
        let mut h = Matrix::zeros(x.rows(), projection.cols());
        if let Some(projection) = projection.view() {
            kernels::gather(x, None, projection, h.view_mut());
        } else {
            // Only the rows that occur are widened.
            let range = x.ptr[0] as usize..x.ptr[x.rows()] as usize;
            let mut ids = x.ids[range.clone()].to_vec();
            ids.sort_unstable();
            ids.dedup();
            let rows = projection.select(&ids);
            let place = |id: &u32| ids.binary_search(id).expect("it is among them") as u32;
            let renumbered: Vec<u32> = x.ids[range.clone()].iter().map(place).collect();
            let ptr: Vec<u32> = x.ptr.iter().map(|p| p - x.ptr[0]).collect();
            let values = x.values.map(|values| &values[range]);
            kernels::gather(CsrRef { ptr: &ptr, ids: &renumbered, values }, None, rows.view(), h.view_mut());
        }
        add_intercept(&mut h, self.intercept());
        h
    }
}
