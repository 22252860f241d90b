//! The association table, and the fit of both matrices.

use half::bf16;
use rayon::prelude::*;

use super::one_vs_rest::{LabelWeights, fit_one_vs_rest, mean_square, negatives_per_example};
use super::{FeatureLabelMatrix, Ranker, RankerData, exponent};
use crate::linalg::csr::Columns;
use crate::linalg::kernels::dots::narrow;
use crate::{Result, Run};

/// Labels that a feature keeps at most.
const MOST: usize = 512;
/// Weight of the associations beside the one-vs-rest scores, for examples of mean square 1.
const ASSOCIATION_WEIGHT: f64 = 1.0;
/// Features of one task.
const GRAIN: usize = 64;

/// Sums over the examples of a feature, of which few labels are touched.
struct Scratch {
    sums: Vec<f64>,
    touched: Vec<u32>,
}

impl Ranker {
    /// What single features say of labels on some examples, with a ranker_weight of 1.
    pub(crate) fn fit(seen: RankerData<'_>, run: &mut Run<'_>) -> Result<Ranker> {
        let n = seen.x.rows();
        // So that all hard negatives can be numbered.
        let most = negatives_per_example(n as u64, seen.x.nnz() as u64).min(u32::MAX as usize / n.max(1)) as u32;
        let power = exponent::choose(seen, most as usize);
        let sums = FeatureLabelMatrix::association_table(seen, power);
        let mut fitted = fit_one_vs_rest(&sums, most as usize, seen, run)?;
        let constants: Vec<f32> = fitted.iter().map(|label| label.constant).collect();
        let one_vs_rest = FeatureLabelMatrix::of(&mut fitted, seen.d);
        // An association is in the unit of values to the power of 1 − p.
        let association_weight = (ASSOCIATION_WEIGHT * mean_square(seen).powf((power - 1.0) / 2.0)) as f32;
        let constants = constants.into();
        Ok(Ranker { weight: 1.0, most, association_weight, associations: sums, one_vs_rest, constants })
    }
}

impl FeatureLabelMatrix {
    /// e(f, l), with the power of a regression that it is.
    pub(super) fn association_table(seen: RankerData<'_>, power: f64) -> FeatureLabelMatrix {
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
        let pairs = lists.iter().map(Vec::len).sum();
        let (mut labels, mut weights) = (Vec::with_capacity(pairs), Vec::with_capacity(pairs));
        let mut starts = vec![0];
        for list in lists {
            labels.extend(list.iter().map(|(label, _)| *label));
            weights.extend(list.iter().map(|(_, weight)| *weight));
            starts.push(labels.len() as u64);
        }
        FeatureLabelMatrix { starts: starts.into(), labels: labels.into(), weights: weights.into() }
    }

    /// The weights of all labels, by features; takes them away.
    fn of(labels_weights: &mut [LabelWeights], d: usize) -> FeatureLabelMatrix {
        let mut starts = vec![0; d + 1];
        let weights = labels_weights.iter().flat_map(|labels_weights| &labels_weights.weights);
        weights.for_each(|(feature, _)| starts[*feature as usize + 1] += 1);
        (0..d).for_each(|f| starts[f + 1] += starts[f]);
        let pairs = starts[d] as usize;
        let (mut labels, mut weights) = (vec![0; pairs], vec![bf16::ZERO; pairs]);
        let mut next = starts.clone();
        // Labels come in their order, so those of a feature ascend.
        for (label, labels_weights) in (0u32..).zip(labels_weights) {
            for (feature, weight) in std::mem::take(&mut labels_weights.weights) {
                let at = &mut next[feature as usize];
                (labels[*at as usize], weights[*at as usize]) = (label, narrow(weight));
                *at += 1;
            }
        }
        FeatureLabelMatrix { starts: starts.into(), labels: labels.into(), weights: weights.into() }
    }
}

impl Scratch {
    /// The labels of which a feature says most, ascending; leaves the sums empty.
    fn list(&mut self, square: f64, power: f64) -> Vec<(u32, bf16)> {
        let raised = |sum: f64| (sum.abs() / square).powf(power).copysign(sum) as f32;
        let ranked = self.touched.iter().map(|label| (*label, raised(self.sums[*label as usize])));
        let mut list: Vec<(u32, f32)> = ranked.filter(|(_, weight)| *weight != 0.0 && weight.is_finite()).collect();
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
    seen: RankerData<'a>,
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
