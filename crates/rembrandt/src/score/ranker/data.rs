//! [`RankerData`]: the examples that a ranker is fitted to, and how their rows are scaled.

use crate::linalg::csr::{Csr, CsrRef};

/// Examples that a ranker is fitted to.
#[derive(Clone, Copy)]
pub(crate) struct RankerData<'a> {
    /// Rows of length 1, or empty.
    pub x: CsrRef<'a>,
    pub y: CsrRef<'a>,
    pub weights: Option<&'a [f32]>,
    pub d: usize,
    pub c: usize,
}

/// The same but for the features.
#[derive(Clone, Copy)]
pub(crate) struct RankerTargets<'a> {
    pub y: CsrRef<'a>,
    pub weights: Option<&'a [f32]>,
    pub d: usize,
    pub c: usize,
}

impl<'a> RankerTargets<'a> {
    pub fn with<'b>(&self, x: CsrRef<'b>) -> RankerData<'b>
    where
        'a: 'b,
    {
        RankerData { x, y: self.y, weights: self.weights, d: self.d, c: self.c }
    }
}

impl RankerData<'_> {
    pub fn weight(&self, i: usize) -> f64 {
        self.weights.map_or(1.0, |weights| weights[i].into())
    }

    /// Training examples of each label.
    pub fn label_counts(&self) -> Vec<u64> {
        let mut counts = vec![0; self.c];
        (0..self.y.rows()).for_each(|i| self.y.row(i).0.iter().for_each(|label| counts[*label as usize] += 1));
        counts
    }
}

/// ln (1 + n) for each label.
pub(crate) fn log_counts(counts: &[u64]) -> Vec<f32> {
    counts.iter().map(|count| (1.0 + *count as f64).ln() as f32).collect()
}

/// |x|^¾ with the sign of x.
pub(crate) fn damp(value: f32) -> f32 {
    let root = value.abs().sqrt();
    (root * root.sqrt()).copysign(value)
}

/// The values of an example after `change`, scaled to length 1: what all scorers are trained on. Without features none.
pub(crate) fn unit_values((ids, values): (&[u32], Option<&[f32]>), change: impl Fn(f32) -> f32, out: &mut Vec<f32>) {
    out.clear();
    match values {
        Some(values) => out.extend(values.iter().map(|value| change(*value))),
        None => out.resize(ids.len(), change(1.0)),
    }
    let square: f64 = out.iter().map(|value| f64::from(*value).powi(2)).sum();
    // In f64: one over the length of a very short row is infinite in f32.
    let scale = if square > 0.0 { 1.0 / square.sqrt() } else { 0.0 };
    out.iter_mut().for_each(|value| *value = (f64::from(*value) * scale) as f32);
}

/// Rows that had length 1, damped, and of length 1 again.
pub(super) fn damp_rows(x: &mut Csr) {
    let mut damped = Vec::new();
    for i in 0..x.rows() {
        unit_values(x.view().row(i), damp, &mut damped);
        x.row_values_mut(i).copy_from_slice(&damped);
    }
}
