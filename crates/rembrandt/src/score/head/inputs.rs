//! The inputs of a head: h(x) or random features of it, and a constant 1.

use rayon::prelude::*;

use super::features::RandomFeatures;
use crate::Embedding;
use crate::linalg::csr::CsrRef;
use crate::linalg::kernels;
use crate::linalg::matrix::{MatRef, Matrix};

/// Rows that one task maps, and multiplies.
pub(crate) const STRIP: usize = 128;

/// h(x) = Pᵀx + intercept of some examples, n×k. An embedding of divided rows
/// ([`EmbeddingFile::row_scale`](crate::EmbeddingFile::row_scale)) wants these divided likewise.
///
/// # Panics
/// If an example has a feature that the embedding does not know.
pub fn project(embedding: &Embedding, x: CsrRef<'_>) -> Matrix {
    let mut h = Matrix::zeros(x.rows(), embedding.projection.cols());
    kernels::gather(x, None, embedding.projection.view(), h.view_mut());
    add_intercept(&mut h, &embedding.intercept);
    h
}

/// Adds the same row to all rows.
pub(crate) fn add_intercept(h: &mut Matrix, intercept: &[f32]) {
    if intercept.iter().any(|v| *v != 0.0) {
        let row = |row: &mut [f32]| row.iter_mut().zip(intercept).for_each(|(h, v)| *h += v);
        h.as_mut_slice().par_chunks_mut(intercept.len()).for_each(row);
    }
}

/// The rows that a logistic head multiplies its weights with. Random features are computed when they are asked for:
/// there may be a hundred times as many as there are dimensions.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'a> {
    h: MatRef<'a>,
    features: Option<&'a RandomFeatures>,
}

impl<'a> Inputs<'a> {
    /// Rows of h, through random features or as they are.
    ///
    /// # Panics
    /// If the random features were drawn for another dimension.
    pub fn new(h: MatRef<'a>, features: Option<&'a RandomFeatures>) -> Inputs<'a> {
        assert!(features.is_none_or(|f| f.directions.rows() == h.cols()), "random features of another dimension");
        Inputs { h, features }
    }

    /// Number of examples.
    pub fn rows(&self) -> usize {
        self.h.rows()
    }

    /// Numbers that an example has, the constant among them.
    pub fn width(&self) -> usize {
        self.features.map_or(self.h.cols(), RandomFeatures::count) + 1
    }

    /// The rows of h themselves.
    pub fn h(&self) -> MatRef<'a> {
        self.h
    }

    /// The map that they go through.
    pub(crate) fn features(&self) -> Option<&'a RandomFeatures> {
        self.features
    }

    /// Writes rows from `from` on, as many as fit into `out`. One thread.
    pub(crate) fn write(&self, from: usize, out: &mut [f32]) {
        let width = self.width();
        let rows = out.len() / width;
        match self.features {
            Some(features) => {
                let h = self.h.split_rows_at(from).1.split_rows_at(rows).0;
                features.map(h, out, width);
            }
            None => out.chunks_mut(width).enumerate().for_each(|(i, row)| {
                row[..width - 1].copy_from_slice(self.h.row(from + i));
            }),
        }
        out.chunks_mut(width).for_each(|row| row[width - 1] = 1.0);
    }
}
