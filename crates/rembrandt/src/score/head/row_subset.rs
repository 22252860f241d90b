//! [`RowSubset`]: some of the examples of a head, copied.

use super::objective::Targets;
use crate::linalg::csr::Csr;
use crate::linalg::matrix::{MatRef, Matrix};

/// Some of the examples.
pub(crate) struct RowSubset {
    pub h: Matrix,
    pub labels: Csr,
    pub weights: Option<Vec<f32>>,
}

impl RowSubset {
    pub fn new(h: MatRef<'_>, targets: &Targets<'_>, rows: &[usize]) -> RowSubset {
        let mut labels = Csr::new(targets.labels.values.is_none());
        rows.iter().for_each(|i| labels.extend_rows(targets.labels, *i, i + 1));
        let mut part = Matrix::zeros(rows.len(), h.cols());
        rows.iter().enumerate().for_each(|(to, from)| part.row_mut(to).copy_from_slice(h.row(*from)));
        let weights = targets.example_weights.map(|w| rows.iter().map(|i| w[*i]).collect());
        RowSubset { h: part, labels, weights }
    }

    /// The same without a second matrix: the rows, which ascend, move up.
    pub fn keep(mut h: Matrix, targets: &Targets<'_>, rows: &[usize]) -> RowSubset {
        let cols = h.cols();
        let all = h.as_mut_slice();
        rows.iter().enumerate().for_each(|(to, from)| all.copy_within(from * cols..(from + 1) * cols, to * cols));
        h.truncate(rows.len());
        let nothing = Matrix::zeros(targets.labels.rows(), 0);
        RowSubset { h, ..RowSubset::new(nothing.view(), targets, rows) }
    }
}
