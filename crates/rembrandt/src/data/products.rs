//! The products and sums behind [`Examples`](super::Examples), chunk by chunk, for a [`Dataset`] under any
//! [`View`](super::View).
//!
//! Every reduction over examples is a chain over the chunks in stored order, so a result depends on neither threads nor
//! storage.

use rayon::prelude::*;

use super::active_labels::ActiveLabels;
use super::chunk::Chunk;
use super::{Dataset, Examples, Moments, Shape, Side};
use crate::Result;
use crate::linalg::kernels;
use crate::linalg::matrix::{MatMut, MatRef};

impl Dataset {
    /// [`Examples::cross`] with `weights` in place of the examples' own, and with the active labels only, where given.
    pub(super) fn cross_with(
        &self,
        (a, b): (Side, Side),
        weights: Option<&[f32]>,
        labels: Option<&ActiveLabels>,
        z: MatRef<'_>,
        mut out: MatMut<'_>,
    ) -> Result<()> {
        let shape = Shape { c: labels.map_or(self.shape().c, ActiveLabels::len), ..self.shape() };
        assert_eq!(z.rows(), shape.width(b), "z needs a row for every column of {b:?}");
        assert_eq!(out.rows(), shape.width(a), "out needs a row for every column of {a:?}");
        assert_eq!(z.cols(), out.cols(), "z and out must be equally wide");
        kernels::columns::sweep([out.reborrow()], [], 0, |_, [mut out], [], _| out.fill(0.0));
        let (mut at, mut left_ids, mut right_ids) = (0, Vec::new(), Vec::new());
        self.with_scratch(|scratch| {
            self.for_each_chunk(|chunk| {
                let weights = weights_of(weights, &mut at, &chunk);
                let (mut left, mut right) = (chunk.side(a).columns, chunk.side(b).rows);
                if let Some(labels) = labels {
                    left.ids = if a == Side::Y { labels.renumber(left.ids, &mut left_ids) } else { left.ids };
                    right.ids = if b == Side::Y { labels.renumber(right.ids, &mut right_ids) } else { right.ids };
                }
                kernels::cross_chunk(left, right, weights, z, scratch, out.reborrow());
                Ok(())
            })
        })
    }

    /// [`Examples::squares`] with `weights` in place of the examples' own, when given.
    pub(super) fn squares_with(&self, weights: Option<&[f32]>, z: MatRef<'_>) -> Result<Vec<f64>> {
        assert_eq!(z.rows(), self.shape().d, "z needs a row for every feature");
        let (mut at, mut total) = (0, vec![0.0; z.cols()]);
        self.with_scratch(|scratch| {
            self.for_each_chunk(|chunk| {
                let weights = weights_of(weights, &mut at, &chunk);
                kernels::add_squares(chunk.side(Side::X).rows, weights, z, scratch, &mut total);
                Ok(())
            })
        })?;
        Ok(total)
    }

    /// [`Examples::moments`] with `weights` in place of the examples' own, when given.
    pub(super) fn moments_with(&self, side: Side, weights: Option<&[f32]>) -> Result<Moments> {
        let width = self.shape().width(side);
        let mut moments =
            Moments { entries: self.nnz(side), weight: 0.0, sum: vec![0.0; width], square: vec![0.0; width] };
        let mut at = 0;
        self.for_each_chunk(|chunk| {
            let weights = weights_of(weights, &mut at, &chunk);
            moments.weight += match weights {
                Some(w) => w.iter().map(|w| f64::from(*w)).sum(),
                None => chunk.rows() as f64,
            };
            let sums = column_sums(&chunk, side, weights);
            for (id, (sum, square)) in chunk.side(side).columns.ids.iter().zip(sums) {
                moments.sum[*id as usize] += sum;
                moments.square[*id as usize] += square;
            }
            Ok(())
        })?;
        Ok(moments)
    }
}

/// Σw·a and Σw·a² of every column that occurs in a chunk.
fn column_sums(chunk: &Chunk<'_>, side: Side, weights: Option<&[f32]>) -> Vec<(f64, f64)> {
    let columns = chunk.side(side).columns;
    let of_column = |i: usize| {
        let (rows, values) = columns.column(i);
        let (mut sum, mut square) = (0.0, 0.0);
        for (j, row) in rows.iter().enumerate() {
            let weight = weights.map_or(1.0, |w| f64::from(w[usize::from(*row)]));
            let value = values.map_or(1.0, |v| f64::from(v[j]));
            sum += weight * value;
            square += weight * value * value;
        }
        (sum, square)
    };
    (0..columns.ids.len()).into_par_iter().with_min_len(256).map(of_column).collect()
}

/// The weights of the next chunk: its part of those for all examples, if given, or else its own.
pub(super) fn weights_of<'a>(all: Option<&'a [f32]>, at: &mut usize, chunk: &Chunk<'a>) -> Option<&'a [f32]> {
    let from = *at;
    *at += chunk.rows();
    all.map_or(chunk.weights, |w| Some(&w[from..*at]))
}
