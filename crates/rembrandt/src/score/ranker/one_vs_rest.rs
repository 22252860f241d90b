//! One-vs-rest scorers of the labels, each trained against its hard negatives.
//!
//! ```text
//! min ½|w|² + ½b² + C Σᵢ max(0, 1 − sᵢ (w·xᵢ + b))²     sᵢ = 1 for the examples of the label, −1 for its hard negatives
//! ```
//!
//! by dual coordinate descent [1]. The hard negatives of a label are the examples that propose it as a candidate without
//! having it. An example has few candidates, so all labels together cost a few passes over the examples, whatever their
//! number. Label trees train their leaves likewise, on what the levels above confuse [2].
//!
//! 1. C.-J. Hsieh, K.-W. Chang, C.-J. Lin, S. S. Keerthi, S. Sundararajan: A dual coordinate descent method for
//!    large-scale linear SVM. ICML 2008.
//! 2. Y. Prabhu, A. Kag, S. Harsola, R. Agrawal, M. Varma: Parabel: partitioned label trees for extreme classification
//!    with application to dynamic search advertising. WWW 2018.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use rayon::prelude::*;

use super::{FeatureLabelMatrix, RankerData};
use crate::linalg::csr::{Columns, Csr};
use crate::linalg::sparse_accumulator::SparseAccumulator;
use crate::{Result, Run};

/// Hard negatives of all labels together and their features, about; and labels that an example is a hard negative of.
const PAIRS: u64 = 60_000_000;
const WORK: u64 = 3_000_000_000;
const NEGATIVES: [u64; 2] = [20, 400];
/// C, for examples of mean square 1.
const COST: f64 = 0.5;
/// Passes over the examples of a label, at most; fewer once the gradients of the dual differ by less than the tolerance.
const PASSES: usize = 4;
const TOLERANCE: f64 = 0.1;
/// Weights below this are dropped, for examples of mean square 1.
const LEAST: f64 = 0.05;
/// Examples and labels of which progress is told.
const ROWS: usize = 1 << 14;
const LABELS: usize = 4096;
/// Tasks that these labels make, at most: each has room for all features.
const TASKS: usize = 512;
/// Examples of one task, at least.
const GRAIN: usize = 256;
const STAGE: &str = "ranker";

/// Labels that each of `n` examples, with `nnz` features together, is a hard negative of.
pub(crate) fn negatives_per_example(n: u64, nnz: u64) -> usize {
    (PAIRS / n.max(1)).min(WORK / nnz.max(1)).clamp(NEGATIVES[0], NEGATIVES[1]) as usize
}

/// The scorer of a label.
#[derive(Clone, Debug, Default)]
pub(super) struct LabelWeights {
    /// Features, ascending, and w.
    pub weights: Vec<(u32, f32)>,
    /// b.
    pub constant: f32,
}

/// The scorers of all labels. An example is a hard negative of `most` labels at most.
pub(super) fn fit_one_vs_rest(
    sums: &FeatureLabelMatrix,
    most: usize,
    seen: RankerData<'_>,
    run: &mut Run<'_>,
) -> Result<Vec<LabelWeights>> {
    let n = seen.x.rows();
    run.begin(2 * n as u64);
    let negatives = hard_negatives(sums, most, seen, run)?;
    let problem = Problem {
        seen,
        of: Columns::new(seen.y, seen.c),
        against: Columns::new(negatives.view(), seen.c),
        square: mean_square(seen),
    };
    let pairs = (seen.y.nnz() + negatives.nnz()).max(1) as f64;
    drop(negatives);
    let mut fitted = Vec::with_capacity(seen.c);
    let (mut worked, mut told) = (0, 0);
    for from in (0..seen.c).step_by(LABELS) {
        let labels = from..seen.c.min(from + LABELS);
        let count = |label| problem.of.rows(label).len() + problem.against.rows(label).len();
        worked += labels.clone().map(count).sum::<usize>();
        let tasks = labels.into_par_iter().with_min_len(LABELS / TASKS);
        fitted.par_extend(tasks.map_init(Task::default, |task, label| task.run(&problem, label)));
        let done = (n as f64 * (worked as f64 / pairs)) as u64;
        run.advance(STAGE, done - told)?;
        told = done;
    }
    Ok(fitted)
}

/// For each example the labels of which sums say most without its having them, ascending.
fn hard_negatives(sums: &FeatureLabelMatrix, most: usize, seen: RankerData<'_>, run: &mut Run<'_>) -> Result<Csr> {
    let mut found = Csr::new(true);
    for from in (0..seen.x.rows()).step_by(ROWS) {
        let rows = from..seen.x.rows().min(from + ROWS);
        let count = rows.len() as u64;
        let each = |scratch: &mut SparseAccumulator, i: usize| match seen.weight(i) > 0.0 {
            true => sums.leading(seen.x.row(i), most, seen.y.row(i).0, scratch),
            false => Vec::new(),
        };
        let each: Vec<_> =
            rows.into_par_iter().with_min_len(GRAIN).map_init(SparseAccumulator::default, each).collect();
        for labels in each {
            labels.into_iter().for_each(|(label, _)| found.push(label, 1.0));
            found.end_row();
        }
        run.advance(STAGE, count)?;
    }
    Ok(found)
}

/// The mean of |x|² over the examples; 1 where all are empty.
pub(super) fn mean_square(seen: RankerData<'_>) -> f64 {
    let (mut sum, mut total) = (0.0, 0.0);
    for i in 0..seen.x.rows() {
        let weight = seen.weight(i);
        sum += weight * seen.x.entries(i).map(|(_, value)| f64::from(value).powi(2)).sum::<f64>();
        total += weight;
    }
    if sum > 0.0 && total > 0.0 { sum / total } else { 1.0 }
}

/// All examples, and which are for and against each label.
struct Problem<'a> {
    seen: RankerData<'a>,
    of: Columns,
    against: Columns,
    square: f64,
}

/// The examples of one label after the other, with its features numbered from 0.
#[derive(Default)]
struct Task {
    /// One more than the place of a feature among those of the label, or 0.
    places: Vec<u32>,
    features: Vec<u32>,
    starts: Vec<usize>,
    ids: Vec<u32>,
    values: Vec<f32>,
    duals: Vec<Dual>,
}

/// An example of a label, and its variable.
struct Dual {
    /// 1, or −1 for a hard negative.
    sign: f64,
    /// 1/(2C).
    slack: f64,
    /// |x|² with the constant, and the slack.
    square: f64,
    alpha: f64,
}

impl Task {
    /// Fits the scorer of a label.
    fn run(&mut self, problem: &Problem<'_>, label: usize) -> LabelWeights {
        // Without anything to tell it from, sums say all there is.
        if problem.against.rows(label).is_empty() {
            return LabelWeights::default();
        }
        self.gather(problem, label);
        let scale = problem.square.sqrt();
        let (w, b) = self.descend(scale, label as u64, (PASSES, TOLERANCE));
        let kept = self.features.iter().copied().zip(w).filter(|(_, w)| w.abs() * scale >= LEAST && w.is_finite());
        let mut weights: Vec<(u32, f32)> = kept.map(|(feature, w)| (feature, w as f32)).collect();
        weights.sort_unstable_by_key(|(feature, _)| *feature);
        weights.shrink_to_fit();
        self.features.drain(..).for_each(|feature| self.places[feature as usize] = 0);
        let constant = (b * scale) as f32;
        LabelWeights { weights, constant: if constant.is_finite() { constant } else { 0.0 } }
    }

    /// Copies the examples of a label, with places in the stead of features.
    fn gather(&mut self, problem: &Problem<'_>, label: usize) {
        let seen = problem.seen;
        self.places.resize(seen.d, 0);
        self.starts.clear();
        self.starts.push(0);
        self.ids.clear();
        self.values.clear();
        self.duals.clear();
        let with = problem.of.entries(label).map(|(i, value)| (i, 1.0, seen.weight(i) * f64::from(value)));
        let against = problem.against.entries(label).map(|(i, _)| (i, -1.0, seen.weight(i)));
        for (i, sign, weight) in with.chain(against).filter(|(_, _, weight)| *weight > 0.0) {
            let slack = problem.square / (2.0 * COST * weight);
            let mut square = problem.square + slack;
            for (feature, value) in seen.x.entries(i) {
                let place = &mut self.places[feature];
                if *place == 0 {
                    self.features.push(feature as u32);
                    *place = self.features.len() as u32;
                }
                self.ids.push(*place - 1);
                self.values.push(value);
                square += f64::from(value).powi(2);
            }
            self.starts.push(self.ids.len());
            self.duals.push(Dual { sign, slack, square, alpha: 0.0 });
        }
    }

    /// Finds w, by places, and the weight of a feature that is `constant` in all examples.
    fn descend(&mut self, constant: f64, seed: u64, (passes, tolerance): (usize, f64)) -> (Vec<f64>, f64) {
        let (mut w, mut b) = (vec![0.0; self.features.len()], 0.0);
        let mut order: Vec<u32> = (0..self.duals.len() as u32).collect();
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        // Examples that are far on their side are left alone until the others have settled.
        let (mut active, mut far) = (order.len(), f64::INFINITY);
        for _ in 0..passes {
            shuffle(&mut order[..active], &mut rng);
            let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
            let mut at = 0;
            while at < active {
                let i = order[at] as usize;
                let places = self.starts[i]..self.starts[i + 1];
                let (ids, values) = (&self.ids[places.clone()], &self.values[places]);
                let dual = &mut self.duals[i];
                let dot: f64 = ids.iter().zip(values).map(|(id, value)| w[*id as usize] * f64::from(*value)).sum();
                let gradient = dual.sign * (dot + b * constant) - 1.0 + dual.slack * dual.alpha;
                if dual.alpha == 0.0 && gradient > far {
                    active -= 1;
                    order.swap(at, active);
                    continue;
                }
                let projected = if dual.alpha == 0.0 { gradient.min(0.0) } else { gradient };
                (least, most) = (least.min(projected), most.max(projected));
                if projected != 0.0 {
                    let alpha = (dual.alpha - gradient / dual.square).max(0.0);
                    let step = dual.sign * (alpha - dual.alpha);
                    dual.alpha = alpha;
                    ids.iter().zip(values).for_each(|(id, value)| w[*id as usize] += step * f64::from(*value));
                    b += step * constant;
                }
                at += 1;
            }
            if most - least > tolerance {
                far = if most > 0.0 { most } else { f64::INFINITY };
            } else if active == order.len() {
                break;
            } else {
                (active, far) = (order.len(), f64::INFINITY);
            }
        }
        (w, b)
    }
}

fn shuffle(order: &mut [u32], rng: &mut ChaCha8Rng) {
    for at in (1..order.len()).rev() {
        order.swap(at, rng.next_u32() as usize % (at + 1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At the end of the descent the primal has no gradient: w = Σ 2C·s·max(0, 1 − s(w·x + b))·x, and so has b.
    #[test]
    fn the_descent_ends_at_the_minimum() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let mut unit = || f64::from(rng.next_u32()) / f64::from(u32::MAX);
        let (mut x, mut y, mut against) = (Csr::new(false), Csr::new(true), Csr::new(true));
        let mut weights = Vec::new();
        for _ in 0..80 {
            (0..12)
                .filter(|_| unit() < 0.4)
                .collect::<Vec<u32>>()
                .into_iter()
                .for_each(|id| x.push(id, 1.0 + id as f32));
            x.end_row();
            (if unit() < 0.3 { &mut y } else { &mut against }).push(0, 1.0);
            y.end_row();
            against.end_row();
            weights.push(0.5 + unit() as f32);
        }
        let seen = RankerData { x: x.view(), y: y.view(), weights: Some(&weights), d: 12, c: 1 };
        let square = mean_square(seen);
        let problem = Problem { seen, of: Columns::new(y.view(), 1), against: Columns::new(against.view(), 1), square };
        let mut task = Task::default();
        task.gather(&problem, 0);
        let constant = square.sqrt();
        let (w, b) = task.descend(constant, 0, (10_000, 1e-9));
        let (mut gradient, mut of_b) = (w.clone(), b);
        for (i, weight) in weights.iter().enumerate() {
            let sign = if y.view().row(i).0.is_empty() { -1.0 } else { 1.0 };
            let place = |id: usize| task.places[id] as usize - 1;
            let score: f64 = x.view().entries(i).map(|(id, v)| w[place(id)] * f64::from(v)).sum::<f64>() + b * constant;
            let pull = 2.0 * COST / square * f64::from(*weight) * sign * (1.0 - sign * score).max(0.0);
            x.view().entries(i).for_each(|(id, v)| gradient[place(id)] -= pull * f64::from(v));
            of_b -= pull * constant;
        }
        assert!(gradient.iter().chain([&of_b]).all(|g| g.abs() < 1e-6), "{gradient:?}, {of_b}");
    }

    #[test]
    fn more_data_have_fewer_rivals() {
        assert_eq!(
            [0, 1_000_000, 10_000_000, u64::MAX].map(|nnz| negatives_per_example(1000, nnz)),
            [400, 400, 300, 20]
        );
        assert_eq!([0, 600_000, u64::MAX].map(|n| negatives_per_example(n, 1000)), [400, 100, 20]);
    }
}
