//! The weights of text for features that are numbers already.

use serde::{Deserialize, Serialize};

use super::count::idf;
use crate::linalg::csr::{Csr, CsrRef};
use crate::{Error, Result};

/// Weighs sparse rows: tf-idf, length 1, or both.
///
/// ```
/// use rembrandt::linalg::csr::Csr;
/// use rembrandt::data::featurizer::SparseCounts;
/// let mut x = Csr::new(false);
/// x.push(0, 3.0);
/// x.push(1, 4.0);
/// x.end_row();
/// let mut counts = SparseCounts::default();
/// counts.add(x.view());
/// let transform = counts.finish(2, true, true);
/// let row: Vec<_> = transform.apply(x.view())?.view().entries(0).collect();
/// assert!((row[0].1 - 0.6).abs() < 1e-6 && (row[1].1 - 0.8).abs() < 1e-6);
/// # Ok::<(), rembrandt::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SparseTransform {
    /// The idf that the values of each feature are multiplied with; features beyond the last are dropped.
    pub tfidf: Option<Vec<f32>>,
    /// Whether every row is scaled to length 1.
    pub l2: bool,
}

impl SparseTransform {
    /// Refuses weights that are no idf, for use after reading a transform from somewhere.
    ///
    /// # Errors
    /// If a weight is not a positive number.
    pub fn check(&self) -> Result<()> {
        match self.tfidf.iter().flatten().find(|idf| !(idf.is_finite() && **idf > 0.0)) {
            Some(bad) => Err(Error::Data(format!("the idf weight {bad} is not a positive number"))),
            None => Ok(()),
        }
    }

    /// The weighed rows. Entries of value 0 are dropped, a row of nothing else becomes empty.
    ///
    /// # Errors
    /// If a value is not finite, or is too large once it is multiplied.
    pub fn apply(&self, x: CsrRef<'_>) -> Result<Csr> {
        let mut out = Csr::new(false);
        let mut row: Vec<(u32, f64)> = Vec::new();
        for i in 0..x.rows() {
            row.clear();
            for (id, value) in x.entries(i) {
                let weight = match &self.tfidf {
                    Some(idf) => idf.get(id).copied().unwrap_or(0.0),
                    None => 1.0,
                };
                let product = f64::from(value) * f64::from(weight);
                if product != 0.0 {
                    row.push((id as u32, product));
                }
            }
            let square: f64 = row.iter().map(|(_, value)| value * value).sum();
            let scale = if self.l2 { square.sqrt() } else { 1.0 };
            for (id, product) in &row {
                let value = (product / scale) as f32;
                if !value.is_finite() {
                    return Err(Error::Data(format!("feature {id} of row {i} is too large or not a number")));
                }
                if value != 0.0 {
                    out.push(*id, value);
                }
            }
            out.end_row();
        }
        Ok(out)
    }
}

/// Counts in how many rows every feature occurs, then makes a [`SparseTransform`].
#[derive(Clone, Debug, Default)]
pub struct SparseCounts {
    n: u64,
    dfs: Vec<u64>,
}

impl SparseCounts {
    /// Counts some rows.
    pub fn add(&mut self, x: CsrRef<'_>) {
        self.n += x.rows() as u64;
        if let Some(widest) = x.ids.iter().max().map(|id| *id as usize + 1).filter(|width| *width > self.dfs.len()) {
            self.dfs.resize(widest, 0);
        }
        for i in 0..x.rows() {
            x.entries(i).filter(|(_, value)| *value != 0.0).for_each(|(id, _)| self.dfs[id] += 1);
        }
    }

    /// The transform for `d` features, or as many as occurred if those are more.
    pub fn finish(self, d: usize, tfidf: bool, l2: bool) -> SparseTransform {
        let SparseCounts { n, mut dfs } = self;
        dfs.resize(d.max(dfs.len()), 0);
        SparseTransform { tfidf: tfidf.then(|| dfs.iter().map(|df| idf(n, *df)).collect()), l2 }
    }
}
