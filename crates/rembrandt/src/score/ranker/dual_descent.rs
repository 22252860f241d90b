//! One-vs-rest scorers: for each label its examples against its hard negatives.
//!
//! ```text
//! min ½|w|² + Σᵢ Cᵢ max(0, 1 − sᵢ (w·xᵢ − 1))²     sᵢ = 1 for the examples of the label, −1 for its hard negatives
//! ```
//!
//! by dual coordinate descent with shrinking [1]. The hard negatives of a label are the examples that propose it as a
//! candidate without having it, as the leaves of label trees are trained on what the levels above confuse [2]. The
//! constant is fixed at −1 and not learned: labels with few negatives could not learn one, and an example that shares no
//! feature with those of a label is then no example of it.
//!
//! 1. C.-J. Hsieh, K.-W. Chang, C.-J. Lin, S. S. Keerthi, S. Sundararajan: A dual coordinate descent method for
//!    large-scale linear SVM. ICML 2008.
//! 2. Y. Prabhu, A. Kag, S. Harsola, R. Agrawal, M. Varma: Parabel: partitioned label trees for extreme classification
//!    with application to dynamic search advertising. WWW 2018.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::linalg::csr::CsrRef;
use crate::linalg::kernels::prefetch;

/// A descent ends once the gradients of the dual differ by less.
const TOLERANCE: f32 = 0.1;
/// Rows are asked for so many steps before they are needed: their order is random, and no processor guesses it.
const AHEAD: usize = 4;
/// Steps below this are not worth the memory traffic.
const LEAST_STEP: f32 = 1e-6;

/// An example of a label, and its dual variable.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dual {
    pub row: u32,
    /// 1, or −1 for a hard negative.
    pub sign: f32,
    /// 1/(2w), w being the weight of the example: with C the dual has 1/(2Cw) on its diagonal.
    pub slack: f32,
    pub alpha: f32,
}

impl Dual {
    pub fn new(row: u32, sign: f32, weight: f64) -> Dual {
        Dual { row, sign, slack: (0.5 / weight) as f32, alpha: 0.0 }
    }
}

/// A descent for one label after the other, in the same memory.
pub(super) struct DualDescent<'a> {
    /// Rows of length 1, or empty.
    x: CsrRef<'a>,
    /// w, with a place for every feature.
    w: Vec<f32>,
    /// Features whose weight may not be 0; some of them twice.
    touched: Vec<u32>,
    order: Vec<u32>,
    /// Examples of the label.
    pub duals: Vec<Dual>,
    rng: ChaCha8Rng,
}

impl<'a> DualDescent<'a> {
    pub fn new(x: CsrRef<'a>, d: usize) -> DualDescent<'a> {
        let rng = ChaCha8Rng::seed_from_u64(0);
        DualDescent { x, w: vec![0.0; d], touched: Vec::new(), order: Vec::new(), duals: Vec::new(), rng }
    }

    /// Begins with a label, whose number seeds the order of its examples.
    pub fn begin(&mut self, label: usize) {
        self.rng = ChaCha8Rng::seed_from_u64(label as u64);
        self.duals.clear();
    }

    /// wₗ·x of an example.
    pub fn score(&self, row: u32) -> f32 {
        dot(&self.w, self.x.row(row as usize))
    }

    /// Features with |w| of at least `least`, ascending, with w.
    pub fn weights(&self, least: f32) -> Vec<(u32, f32)> {
        let all = self.touched.iter().map(|feature| (*feature, self.w[*feature as usize]));
        let mut kept: Vec<(u32, f32)> = all.filter(|(_, w)| *w != 0.0 && w.abs() >= least && w.is_finite()).collect();
        kept.sort_unstable_by_key(|(feature, _)| *feature);
        // A weight that came back to 0 on the way is there twice.
        kept.dedup_by_key(|(feature, _)| *feature);
        kept
    }

    /// Takes weights below `least` out of w, as [`weights`](DualDescent::weights) does, and returns them.
    pub fn drop_small(&mut self, least: f32) -> Vec<(u32, f32)> {
        let mut dropped = Vec::new();
        for feature in &self.touched {
            let w = &mut self.w[*feature as usize];
            if *w != 0.0 && w.abs() < least {
                dropped.push((*feature, std::mem::take(w)));
            }
        }
        dropped
    }

    /// Puts weights back that were taken out.
    pub fn take_back(&mut self, dropped: Vec<(u32, f32)>) {
        dropped.into_iter().for_each(|(feature, w)| self.w[feature as usize] = w);
    }

    /// Leaves nothing of the label behind.
    pub fn end(&mut self) {
        self.touched.drain(..).for_each(|feature| self.w[feature as usize] = 0.0);
        self.duals.clear();
    }

    /// Improves w and the dual variables of all examples of the label, for C = `cost`.
    pub fn descend(&mut self, cost: f64, passes: usize) {
        self.descend_to(cost, passes, TOLERANCE);
    }

    fn descend_to(&mut self, cost: f64, passes: usize, tolerance: f32) {
        let inverse_cost = (1.0 / cost) as f32;
        self.order.clear();
        self.order.extend(0..self.duals.len() as u32);
        // Examples that are far on their side are left alone until the others have settled.
        let (mut active, mut far) = (self.order.len(), f32::INFINITY);
        for _ in 0..passes {
            shuffle(&mut self.order[..active], &mut self.rng);
            let (mut least, mut most) = (f32::INFINITY, f32::NEG_INFINITY);
            let mut at = 0;
            while at < active {
                if let Some(later) = self.order[..active].get(at + AHEAD) {
                    let row = self.x.row(self.duals[*later as usize].row as usize);
                    prefetch(row.0);
                    row.1.into_iter().for_each(prefetch);
                }
                let dual = &mut self.duals[self.order[at] as usize];
                let row = self.x.row(dual.row as usize);
                let slack = inverse_cost * dual.slack;
                let gradient = dual.sign * (dot(&self.w, row) - 1.0) - 1.0 + slack * dual.alpha;
                if dual.alpha == 0.0 && gradient > far {
                    active -= 1;
                    self.order.swap(at, active);
                    continue;
                }
                let projected = if dual.alpha == 0.0 { gradient.min(0.0) } else { gradient };
                (least, most) = (least.min(projected), most.max(projected));
                if projected.abs() > LEAST_STEP {
                    // Rows have length 1. One without features stays as it is.
                    let square = if row.0.is_empty() { 0.0 } else { 1.0 };
                    let alpha = (dual.alpha - gradient / (square + slack)).max(0.0);
                    let step = dual.sign * (alpha - dual.alpha);
                    dual.alpha = alpha;
                    add(&mut self.w, &mut self.touched, step, row);
                }
                at += 1;
            }
            if most - least > tolerance {
                far = if most > 0.0 { most } else { f32::INFINITY };
            } else if active == self.order.len() {
                break;
            } else {
                (active, far) = (self.order.len(), f32::INFINITY);
            }
        }
    }
}

fn shuffle(order: &mut [u32], rng: &mut ChaCha8Rng) {
    for at in (1..order.len()).rev() {
        // The upper half of a product is as good as a remainder, and takes no division.
        let other = (u64::from(rng.next_u32()) * (at as u64 + 1)) >> 32;
        order.swap(at, other as usize);
    }
}

/// w·x. Four sums hide how long an addition takes.
#[inline(always)]
fn dot(w: &[f32], (ids, values): (&[u32], Option<&[f32]>)) -> f32 {
    let Some(values) = values else { return ids.iter().map(|id| w[*id as usize]).sum() };
    let mut sums = [0.0; 4];
    let (ids_of_four, values_of_four) = (ids.chunks_exact(4), values.chunks_exact(4));
    let rest = ids_of_four.remainder().iter().zip(values_of_four.remainder());
    let last: f32 = rest.map(|(id, value)| w[*id as usize] * value).sum();
    for (ids, values) in ids_of_four.zip(values_of_four) {
        for j in 0..4 {
            sums[j] += w[ids[j] as usize] * values[j];
        }
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + last
}

/// w ← w + step·x. Features whose weight was 0 are noted.
#[inline(always)]
fn add(w: &mut [f32], touched: &mut Vec<u32>, step: f32, (ids, values): (&[u32], Option<&[f32]>)) {
    for (at, id) in ids.iter().enumerate() {
        let w = &mut w[*id as usize];
        if *w == 0.0 {
            touched.push(*id);
        }
        *w += step * values.map_or(1.0, |values| values[at]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::csr::Csr;

    /// At the end of the descent the primal has no gradient: w = Σ 2C·s·max(0, 1 − s(w·x − 1))·x. Gradient descent on
    /// the primal, which shares nothing with the dual, comes to the same w.
    #[test]
    fn the_descent_ends_at_the_minimum() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let mut unit = || f64::from(rng.next_u32()) / f64::from(u32::MAX);
        let mut x = Csr::new(false);
        let mut examples = Vec::new();
        for row in 0..80 {
            let values: Vec<(u32, f64)> =
                (0..12).filter(|_| unit() < 0.4).map(|id| (id, 0.2 + f64::from(id))).collect();
            let length = values.iter().map(|(_, v)| v * v).sum::<f64>().sqrt();
            values.iter().for_each(|(id, v)| x.push(*id, (v / length) as f32));
            x.end_row();
            examples.push((row, if unit() < 0.3 { 1.0 } else { -1.0 }, 0.2 + unit()));
        }
        let mut descent = DualDescent::new(x.view(), 12);
        descent.begin(5);
        descent.duals.extend(examples.iter().map(|(row, sign, cost)| Dual::new(*row, *sign, *cost)));
        descent.descend_to(1.0, 20_000, 1e-6);
        let mut w = [0f64; 12];
        for _ in 0..20_000 {
            let mut gradient = w;
            for (row, sign, cost) in &examples {
                let all = x.view();
                let entries = || all.entries(*row as usize);
                let score: f64 = entries().map(|(id, v)| w[id] * f64::from(v)).sum();
                let sign = f64::from(*sign);
                let pull = 2.0 * cost * sign * (1.0 - sign * (score - 1.0)).max(0.0);
                entries().for_each(|(id, v)| gradient[id] -= pull * f64::from(v));
            }
            (0..12).for_each(|j| w[j] -= 0.005 * gradient[j]);
        }
        for (j, w) in w.iter().enumerate() {
            assert!((w - f64::from(descent.w[j])).abs() < 2e-4, "{j}: {w} and {}", descent.w[j]);
        }
        assert!(descent.weights(0.0).len() <= 12);
        descent.end();
        assert!(descent.w.iter().all(|w| *w == 0.0));
    }
}
