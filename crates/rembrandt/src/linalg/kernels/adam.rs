//! A step of Adam, for weights that are too many to stay in the caches: everything is read and written once.
//!
//! ```text
//! G = scale·sum + penalty·U,   M ← β M + (1−β) G,   V ← β′V + (1−β′) G²,   U ← U − length · eM/√(e′V)
//! ```
//!
//! entry by entry. Nothing is fused, so the bits are the same on any processor.

use super::simd::{Level, Work};

/// Keeps entries that never had a gradient where they are.
const TINY: f32 = 1e-20;

/// The constants of a step, the same for all weights.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Adam {
    /// β and β′.
    pub keep: [f32; 2],
    /// e and e′: averages that began at 0 are too small at first.
    pub even: [f32; 2],
    /// Of the step, for an entry whose gradients all had one sign.
    pub length: f32,
    /// The factor from sums to gradients.
    pub scale: f64,
}

/// The weights of a label, their averages M and V, and the sums that are their gradient.
pub(crate) struct LabelState<'a> {
    pub weights: &'a mut [f32],
    pub first: &'a mut [f32],
    pub second: &'a mut [f32],
    pub sums: &'a [f64],
}

impl Adam {
    /// Moves a row.
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn step(&self, row: LabelState<'_>, penalty: &[f32]) {
        let lengths = [row.first.len(), row.second.len(), row.sums.len(), penalty.len()];
        assert_eq!(lengths, [row.weights.len(); 4], "lengths differ");
        Level::best().run(Step { adam: *self, row, penalty });
    }
}

struct Step<'a> {
    adam: Adam,
    row: LabelState<'a>,
    penalty: &'a [f32],
}

impl Work for Step<'_> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let Adam { keep: [momentum, memory], even, length, scale } = self.adam;
        let LabelState { weights, first, second, sums } = self.row;
        for ((((w, m), v), sum), penalty) in weights.iter_mut().zip(first).zip(second).zip(sums).zip(self.penalty) {
            let g = (sum * scale) as f32 + penalty * *w;
            *m = momentum * *m + (1.0 - momentum) * g;
            *v = memory * *v + (1.0 - memory) * g * g;
            *w -= length * (*m * even[0]) / ((*v * even[1]).sqrt() + TINY);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_those_of_the_formula() {
        let count = 37;
        let sums: Vec<f64> = (0..count).map(|i| f64::from(i % 7) - 3.0).collect();
        let penalty: Vec<f32> = (0..count).map(|i| (i % 3) as f32 / 8.0).collect();
        let [mut w, mut m, mut v] = [0.5f32, 0.25, 2.0].map(|at| vec![at; sums.len()]);
        let adam = Adam { keep: [0.9, 0.95], even: [1.5, 4.0], length: 0.125, scale: 0.5 };
        let row = LabelState { weights: &mut w, first: &mut m, second: &mut v, sums: &sums };
        adam.step(row, &penalty);
        for (i, (sum, penalty)) in sums.iter().zip(&penalty).enumerate() {
            let g = sum * 0.5 + f64::from(*penalty) * 0.5;
            let (first, second) = (0.9 * 0.25 + 0.1 * g, 0.95 * 2.0 + 0.05 * g * g);
            let moved = 0.5 - 0.125 * (1.5 * first) / (4.0 * second).sqrt();
            for (exact, found) in [(first, m[i]), (second, v[i]), (moved, w[i])] {
                assert!((exact - f64::from(found)).abs() < 1e-6, "{i}: {found} for {exact}");
            }
        }
    }

    #[test]
    fn bits_are_the_same_on_any_processor() {
        let sums: Vec<f64> = (0..101).map(|i| f64::from(i * i % 17) / 3.0 - 2.0).collect();
        let penalty: Vec<f32> = (0..101).map(|i| (i % 5) as f32 / 7.0).collect();
        let adam = Adam { keep: [0.9, 0.95], even: [1.3, 2.1], length: 0.01, scale: 1.7 };
        let at = |level: Level| {
            let [mut w, mut m, mut v] = [0.3f32, -0.2, 0.7].map(|at| vec![at; sums.len()]);
            for _ in 0..3 {
                let row = LabelState { weights: &mut w, first: &mut m, second: &mut v, sums: &sums };
                level.run(Step { adam, row, penalty: &penalty });
            }
            [w, m, v]
        };
        let portable = at(Level::PORTABLE);
        assert!(Level::fused().into_iter().all(|level| at(level) == portable));
    }

    #[test]
    fn what_has_no_gradient_stays_where_it_is() {
        let (mut w, mut m, mut v) = ([1.0, -2.0], [0.0; 2], [0.0; 2]);
        let adam = Adam { keep: [0.9, 0.95], even: [10.0, 20.0], length: 0.1, scale: 1.0 };
        adam.step(LabelState { weights: &mut w, first: &mut m, second: &mut v, sums: &[0.0; 2] }, &[0.0; 2]);
        assert_eq!((w, m, v), ([1.0, -2.0], [0.0; 2], [0.0; 2]));
    }
}
