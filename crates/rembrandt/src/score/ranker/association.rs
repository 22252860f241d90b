//! Both matrices, from the examples.

use half::bf16;
use rayon::prelude::*;

use super::one_vs_rest::{Separated, mean_square, rivals, separate};
use super::{Evidence, Said, Seen, exponent};
use crate::linalg::csr::Columns;
use crate::linalg::kernels::dots::narrow;
use crate::{Result, Run};

/// Labels that a feature keeps at most.
const MOST: usize = 512;
/// What sums count beside weights that separate, for examples of mean square 1.
const SUMS: f64 = 1.0;
/// Features of one task.
const GRAIN: usize = 64;

/// Sums over the examples of a feature, of which few labels are touched.
struct Scratch {
    sums: Vec<f64>,
    touched: Vec<u32>,
}

impl Evidence {
    /// What single features say of labels on some examples, with a gain of 1.
    pub(crate) fn fit(seen: Seen<'_>, run: &mut Run<'_>) -> Result<Evidence> {
        let n = seen.x.rows();
        // So that all of what is mistaken can be numbered.
        let most = rivals(n as u64, seen.x.nnz() as u64).min(u32::MAX as usize / n.max(1)) as u32;
        let power = exponent::choose(seen, most as usize);
        let sums = Said::sums(seen, power);
        let mut separated = separate(sums.view(), most as usize, seen, run)?;
        let constants = separated.iter().map(|separated| separated.constant).collect();
        let separators = Said::of(&mut separated, seen.d);
        // A sum is in the unit of values to the power of 1 − p.
        let share = (SUMS * mean_square(seen).powf((power - 1.0) / 2.0)) as f32;
        Ok(Evidence { gain: 1.0, most, share, sums, separators, constants })
    }
}

impl Said {
    /// e(f, l), with the power of a regression that it is.
    pub(super) fn sums(seen: Seen<'_>, power: f64) -> Said {
        let examples = Weighed { columns: Columns::new(seen.x, seen.d), seen };
        let squares: Vec<f64> = (0..seen.d).map(|f| examples.square(f)).collect();
        let used = squares.iter().filter(|square| **square > 0.0).count();
        let rho = squares.iter().sum::<f64>() / used.max(1) as f64;
        let scratch = || Scratch { sums: vec![0.0; seen.c], touched: Vec::new() };
        let lists: Vec<Vec<(u32, bf16)>> = (0..seen.d)
            .into_par_iter()
            .with_min_len(GRAIN)
            .map_init(scratch, |scratch, f| {
                examples.add_up(f, scratch);
                scratch.list(squares[f] + rho, power)
            })
            .collect();
        let mut said = Said::with_capacity(seen.d, lists.iter().map(Vec::len).sum());
        for list in lists {
            said.labels.extend(list.iter().map(|(label, _)| *label));
            said.weights.extend(list.iter().map(|(_, weight)| *weight));
            said.starts.push(said.labels.len() as u64);
        }
        said
    }

    /// The weights of all labels, by features; takes them away.
    fn of(separated: &mut [Separated], d: usize) -> Said {
        let mut starts = vec![0; d + 1];
        let weights = separated.iter().flat_map(|separated| &separated.weights);
        weights.for_each(|(feature, _)| starts[*feature as usize + 1] += 1);
        (0..d).for_each(|f| starts[f + 1] += starts[f]);
        let pairs = starts[d] as usize;
        let (mut labels, mut weights) = (vec![0; pairs], vec![bf16::ZERO; pairs]);
        let mut next = starts.clone();
        // Labels come in their order, so those of a feature ascend.
        for (label, separated) in (0u32..).zip(separated) {
            for (feature, weight) in std::mem::take(&mut separated.weights) {
                let at = &mut next[feature as usize];
                (labels[*at as usize], weights[*at as usize]) = (label, narrow(weight));
                *at += 1;
            }
        }
        Said { starts, labels, weights }
    }
}

impl Scratch {
    /// The labels of which a feature says most, ascending; leaves the sums empty.
    fn list(&mut self, square: f64, power: f64) -> Vec<(u32, bf16)> {
        let raised = |sum: f64| (sum.abs() / square).powf(power).copysign(sum) as f32;
        let said = self.touched.iter().map(|label| (*label, raised(self.sums[*label as usize])));
        let mut list: Vec<(u32, f32)> = said.filter(|(_, weight)| *weight != 0.0 && weight.is_finite()).collect();
        self.touched.drain(..).for_each(|label| self.sums[label as usize] = 0.0);
        if list.len() > MOST {
            list.select_nth_unstable_by(MOST, |a, b| b.1.abs().total_cmp(&a.1.abs()).then(a.0.cmp(&b.0)));
            list.truncate(MOST);
            // What comes next works in place, and would keep the room of all labels.
            list.shrink_to_fit();
        }
        list.sort_unstable_by_key(|(label, _)| *label);
        list.into_iter().map(|(label, weight)| (label, narrow(weight))).collect()
    }
}

/// The examples of each feature.
struct Weighed<'a> {
    columns: Columns,
    seen: Seen<'a>,
}

impl Weighed<'_> {
    /// Examples of a feature, with wᵢ and xᵢf.
    fn of(&self, feature: usize) -> impl Iterator<Item = (usize, f64, f64)> {
        self.columns.entries(feature).map(|(i, value)| (i, self.seen.weight(i), f64::from(value)))
    }

    /// Σᵢ wᵢ xᵢf².
    fn square(&self, feature: usize) -> f64 {
        self.of(feature).map(|(_, weight, value)| weight * value * value).sum()
    }

    /// Σᵢ wᵢ xᵢf yᵢl for every label l.
    fn add_up(&self, feature: usize, scratch: &mut Scratch) {
        for (i, weight, value) in self.of(feature) {
            for (label, y) in self.seen.y.entries(i) {
                let sum = &mut scratch.sums[label];
                if *sum == 0.0 {
                    scratch.touched.push(label as u32);
                }
                *sum += weight * value * f64::from(y);
            }
        }
        // A sum that came back to 0 on the way is there twice.
        scratch.touched.sort_unstable();
        scratch.touched.dedup();
    }
}
