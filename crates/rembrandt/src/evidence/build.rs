//! The matrix, from the examples.

use rayon::prelude::*;

use super::Evidence;
use crate::csr::CsrRef;
use crate::kernel::dots::narrow;

/// Labels that a feature keeps at most.
const MOST: usize = 512;
/// Features of one task.
const GRAIN: usize = 64;

/// Sums over the examples of a feature, of which few labels are touched.
struct Scratch {
    sums: Vec<f64>,
    touched: Vec<u32>,
}

impl Evidence {
    /// What `d` features say of `c` labels on the examples that are kept, with a gain of 1.
    pub fn fit(
        (x, y): (CsrRef<'_>, CsrRef<'_>),
        weights: Option<&[f32]>,
        (d, c): (usize, usize),
        keep: impl Fn(usize) -> bool,
    ) -> Evidence {
        let columns = Columns::new(x, d, keep);
        let squares: Vec<f64> = (0..d).map(|f| columns.square(f, weights)).collect();
        let used = squares.iter().filter(|square| **square > 0.0).count();
        let rho = squares.iter().sum::<f64>() / used.max(1) as f64;
        let scratch = || Scratch { sums: vec![0.0; c], touched: Vec::new() };
        let lists: Vec<Vec<(u32, u16)>> = (0..d)
            .into_par_iter()
            .with_min_len(GRAIN)
            .map_init(scratch, |scratch, f| {
                columns.add_up(f, y, weights, scratch);
                scratch.list(squares[f] + rho)
            })
            .collect();
        let mut starts = Vec::with_capacity(d + 1);
        let mut labels = Vec::with_capacity(lists.iter().map(Vec::len).sum());
        let mut kept = Vec::with_capacity(labels.capacity());
        starts.push(0);
        for list in lists {
            labels.extend(list.iter().map(|(label, _)| *label));
            kept.extend(list.iter().map(|(_, weight)| *weight));
            starts.push(labels.len() as u64);
        }
        Evidence { gain: 1.0, starts, labels, weights: kept }
    }
}

impl Scratch {
    /// The labels of which a feature says most, ascending; leaves the sums empty.
    fn list(&mut self, square: f64) -> Vec<(u32, u16)> {
        let root = |sum: f64| (sum.abs() / square).sqrt().copysign(sum) as f32;
        let said = self.touched.iter().map(|label| (*label, root(self.sums[*label as usize])));
        let mut list: Vec<(u32, f32)> = said.filter(|(_, weight)| *weight != 0.0 && weight.is_finite()).collect();
        self.touched.drain(..).for_each(|label| self.sums[label as usize] = 0.0);
        if list.len() > MOST {
            list.select_nth_unstable_by(MOST, |a, b| b.1.abs().total_cmp(&a.1.abs()).then(a.0.cmp(&b.0)));
            list.truncate(MOST);
        }
        list.sort_unstable_by_key(|(label, _)| *label);
        list.into_iter().map(|(label, weight)| (label, narrow(weight))).collect()
    }
}

/// The examples of each feature, and its values.
struct Columns {
    starts: Vec<usize>,
    rows: Vec<u32>,
    values: Vec<f32>,
}

impl Columns {
    fn new(x: CsrRef<'_>, d: usize, keep: impl Fn(usize) -> bool) -> Columns {
        let mut starts = vec![0; d + 1];
        let kept: Vec<usize> = (0..x.rows()).filter(|i| keep(*i)).collect();
        for i in &kept {
            x.row(*i).0.iter().for_each(|id| starts[*id as usize + 1] += 1);
        }
        (0..d).for_each(|f| starts[f + 1] += starts[f]);
        let (mut rows, mut values) = (vec![0u32; starts[d]], vec![0f32; starts[d]]);
        let mut next = starts.clone();
        for i in kept {
            for (id, value) in x.entries(i) {
                (rows[next[id]], values[next[id]]) = (i as u32, value);
                next[id] += 1;
            }
        }
        Columns { starts, rows, values }
    }

    fn of(&self, feature: usize) -> impl Iterator<Item = (usize, f64)> {
        let places = self.starts[feature]..self.starts[feature + 1];
        places.map(|at| (self.rows[at] as usize, f64::from(self.values[at])))
    }

    /// Σᵢ wᵢ xᵢf².
    fn square(&self, feature: usize, weights: Option<&[f32]>) -> f64 {
        self.of(feature).map(|(i, value)| weight(weights, i) * value * value).sum()
    }

    /// Σᵢ wᵢ xᵢf yᵢl for every label l.
    fn add_up(&self, feature: usize, y: CsrRef<'_>, weights: Option<&[f32]>, scratch: &mut Scratch) {
        for (i, value) in self.of(feature) {
            let value = value * weight(weights, i);
            for (label, y) in y.entries(i) {
                let sum = &mut scratch.sums[label];
                if *sum == 0.0 {
                    scratch.touched.push(label as u32);
                }
                *sum += value * f64::from(y);
            }
        }
        // A sum that came back to 0 on the way is there twice.
        scratch.touched.sort_unstable();
        scratch.touched.dedup();
    }
}

fn weight(weights: Option<&[f32]>, i: usize) -> f64 {
    weights.map_or(1.0, |weights| f64::from(weights[i]))
}
