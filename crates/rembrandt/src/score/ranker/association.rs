//! The fit of the association table.
//!
//! ```text
//! T[f, l] = Σᵢ wᵢ xᵢf yᵢl / Σᵢ wᵢ |xᵢf|        rows xᵢ of length 1
//! ```
//!
//! Dividing by the feature and not by the label makes a sum over the features of an example an average of what share of
//! each goes with the label; frequent labels are not held back, which is what candidates should do.

use rayon::prelude::*;

use super::data::RankerData;
use super::packed_matrix::PackedMatrix;
use crate::linalg::csr::Columns;

/// Labels that a feature keeps at most: those it speaks for. Longer lists of frequent words propose frequent labels, which
/// all examples have as candidates then.
const MOST: usize = 64;
/// Features of one task.
const GRAIN: usize = 64;

/// Sums over the examples of a feature, of which few labels are touched.
struct Scratch {
    sums: Vec<f64>,
    touched: Vec<u32>,
}

/// Bytes of the lists that T is made of, for `d` features that meet labels so many times.
pub(crate) fn association_bytes(d: u64, meetings: u64) -> u64 {
    8 * (MOST as u64 * d).min(meetings)
}

/// T from the examples for which `keep` says so; nothing if it is too large.
pub(crate) fn association_table(data: RankerData<'_>, keep: impl Fn(usize) -> bool + Sync) -> Option<PackedMatrix> {
    let columns = Columns::new(data.x, data.d);
    let scratch = || Scratch { sums: vec![0.0; data.c], touched: Vec::new() };
    let lists: Vec<Vec<(u32, f32)>> = (0..data.d)
        .into_par_iter()
        .with_min_len(GRAIN)
        .map_init(scratch, |scratch, feature| {
            let mut total = 0.0;
            for (i, value) in columns.entries(feature).filter(|(i, _)| keep(*i)) {
                let weight = data.weight(i) * f64::from(value);
                total += weight.abs();
                for (label, y) in data.y.entries(i) {
                    if scratch.sums[label] == 0.0 {
                        scratch.touched.push(label as u32);
                    }
                    scratch.sums[label] += weight * f64::from(y);
                }
            }
            scratch.take(total)
        })
        .collect();
    PackedMatrix::new(&lists)
}

impl Scratch {
    /// The labels with the largest shares, ascending; leaves the sums empty.
    fn take(&mut self, total: f64) -> Vec<(u32, f32)> {
        // A sum that came back to 0 on the way is there twice.
        self.touched.sort_unstable();
        self.touched.dedup();
        let share = |label: &u32| (*label, (self.sums[*label as usize] / total) as f32);
        let mut list: Vec<(u32, f32)> = self.touched.iter().map(share).filter(|(_, share)| *share > 0.0).collect();
        self.touched.drain(..).for_each(|label| self.sums[label as usize] = 0.0);

        if list.len() > MOST {
            list.select_nth_unstable_by(MOST, |a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            list.truncate(MOST);
            list.sort_unstable_by_key(|(label, _)| *label);
        }
        list
    }
}
