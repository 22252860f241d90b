//! Checks of methods for exactly one label per example.

use crate::data::{Dataset, Side};
use crate::linalg::csr::Csr;
use crate::{Error, Examples, Result};

/// The label of every example. Data in which an example has none or several are refused, in the name of `method`.
pub(crate) fn single_labels(data: &Dataset, method: &str) -> Result<Vec<u32>> {
    let labels = data.labels()?;
    let label = |i: usize| match labels.view().row(i).0 {
        [label] => Ok(*label),
        held => {
            let reason =
                format!("example {} has {} labels, but {method} is for exactly one per example", i + 1, held.len());
            Err(Error::Data(reason))
        }
    };
    (0..labels.rows()).map(label).collect()
}

/// The features of every example, in memory.
pub(crate) fn all_features(data: &Dataset) -> Result<Csr> {
    let entries = data.nnz(Side::X);
    if entries > u64::from(u32::MAX) {
        let reason = format!(
            "the data have {entries} entries, but this method holds at most 2³² − 1 in memory; leave out examples or features"
        );
        return Err(Error::Data(reason));
    }
    data.features()
}

/// Weights of the examples relative to their mean; absent when all are 1.
pub(crate) fn relative_weights(data: &Dataset) -> Result<Option<Vec<f32>>> {
    let Some(weights) = data.weights()? else { return Ok(None) };
    let total: f64 = weights.iter().map(|w| f64::from(*w)).sum();
    if total <= 0.0 {
        return Err(Error::Data("all examples have weight 0".into()));
    }
    let factor = data.shape().n as f64 / total;
    Ok(Some(weights.iter().map(|w| (f64::from(*w) * factor) as f32).collect()))
}

/// Examples in an order that depends on the seed and the pass alone: files are often sorted by label.
pub(crate) fn shuffled(n: usize, seed: u64, pass: usize) -> Vec<u32> {
    let mut order: Vec<u32> = (0..n as u32).collect();
    let key = |i: &u32| (u64::from(*i) << 32 | pass as u64).to_le_bytes();
    order.sort_by_cached_key(|i| xxhash_rust::xxh3::xxh3_64_with_seed(&key(i), seed));
    order
}
