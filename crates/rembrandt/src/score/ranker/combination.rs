//! [`Combination`]: a few weights that make log-odds of the views of a label, fitted on held-out examples.
//!
//! Labels are independent, or exclude each other. In the latter case the probability of a candidate is
//! exp(s) / (1 + Σ exp(s)): the 1 stands for all labels that are no candidates.

use std::collections::BTreeMap;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::score::head::Loss;

const VIEWS: usize = 7;

/// A term of the polynomial: a constant, a view, or the product of two.
#[derive(Clone, Copy)]
enum Term {
    Constant,
    View(usize),
    Product(usize, usize),
}
use Term::{Constant, Product, View};

/// The terms. Those of the votes of similar examples come last, so that the others stand alone where there are none.
const TERMS: [Term; WEIGHTS] = [
    Constant,
    View(0),
    View(1),
    View(2),
    View(3),
    View(4),
    Product(0, 0),
    Product(0, 1),
    Product(0, 4),
    Product(1, 1),
    Product(1, 4),
    Product(4, 4),
    Product(0, 2),
    Product(0, 3),
    View(5),
    View(6),
    Product(0, 5),
    Product(4, 5),
    Product(5, 5),
    Product(0, 6),
    Product(5, 6),
    Product(6, 6),
];
const WEIGHTS: usize = 22;
const WITHOUT_VOTES: usize = 14;
/// (x·T)ₗ below this counts as this.
const LEAST_ASSOCIATION: f32 = 1e-4;
/// Added to votes before their logarithm is taken.
const LEAST_VOTE: f32 = 0.01;
/// Newton steps at most, and the share of the objective that the last one still gained.
const STEPS: usize = 30;
const SMALL: f64 = 1e-9;
/// How much the weights are held back from leaving the usual ones, in units of examples.
const RIDGE: f64 = 1.0;
/// Rows of one task.
const GRAIN: usize = 64;

/// The scores of a label for an example, by all views.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LabelViews {
    /// wₗ·x′.
    pub one_vs_rest: f32,
    /// (x·T)ₗ.
    pub association: f32,
    /// eₗ·h(x).
    pub embedding: f32,
    /// x·mₗ, the cosine with the words of the label's own name.
    pub name: f32,
    /// ln (1 + nₗ).
    pub log_count: f32,
    /// Votes of the hundred most similar examples.
    pub similar: f32,
    /// Votes of the ten most similar.
    pub nearest: f32,
}

impl LabelViews {
    /// Names of the views, in their order.
    pub const NAMES: [&'static str; VIEWS] =
        ["one-vs-rest", "association", "embedding", "name", "label frequency", "similar examples", "nearest examples"];

    /// Places of two of them.
    pub(crate) const NAME: usize = 3;
    pub(crate) const FREQUENCY: usize = 4;

    /// The views as numbers that are 0 where nothing speaks for the label.
    fn numbers(&self) -> [f64; VIEWS] {
        [
            self.one_vs_rest.into(),
            f64::from(self.association.max(LEAST_ASSOCIATION).ln() - LEAST_ASSOCIATION.ln()),
            self.embedding.into(),
            self.name.into(),
            self.log_count.into(),
            f64::from(1.0 + self.similar / LEAST_VOTE).ln(),
            f64::from(1.0 + self.nearest / LEAST_VOTE).ln(),
        ]
    }

    /// Whether the label has no examples: then its name is all that can speak for it.
    pub(crate) fn is_of_unseen(&self) -> bool {
        self.log_count == 0.0
    }

    /// The same with nothing but the name.
    pub(crate) fn name_alone(&self) -> LabelViews {
        LabelViews { name: self.name, ..LabelViews::default() }
    }

    fn first_terms<const W: usize>(&self) -> [f64; W] {
        *self.terms().first_chunk().expect("no more than all")
    }

    fn terms(&self) -> [f64; WEIGHTS] {
        let views = self.numbers();
        TERMS.map(|term| match term {
            Constant => 1.0,
            View(a) => views[a],
            Product(a, b) => views[a] * views[b],
        })
    }
}

/// Weights of the views and of products of two of them in the log-odds of a label.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "BTreeMap<String, f64>", try_from = "BTreeMap<String, f64>")]
pub struct Combination {
    weights: [f64; WEIGHTS],
}

impl Default for Combination {
    /// The margin of the one-vs-rest scorer, with a usual slope.
    fn default() -> Combination {
        let mut weights = [0.0; WEIGHTS];
        (weights[0], weights[1]) = (-3.0, 3.0);
        Combination { weights }
    }
}

/// The name of each term: `one-vs-rest`, or `one-vs-rest * association`.
fn term_names() -> impl Iterator<Item = String> {
    TERMS.into_iter().map(|term| match term {
        Constant => "constant".to_owned(),
        View(a) => LabelViews::NAMES[a].to_owned(),
        Product(a, b) => format!("{} * {}", LabelViews::NAMES[a], LabelViews::NAMES[b]),
    })
}

impl From<Combination> for BTreeMap<String, f64> {
    fn from(combination: Combination) -> BTreeMap<String, f64> {
        term_names().zip(combination.weights).collect()
    }
}

impl TryFrom<BTreeMap<String, f64>> for Combination {
    type Error = String;

    fn try_from(mut named: BTreeMap<String, f64>) -> Result<Combination, String> {
        let mut weights = [0.0; WEIGHTS];
        for (name, weight) in term_names().zip(&mut weights) {
            *weight = named.remove(&name).ok_or_else(|| format!("there is no weight of {name:?}"))?;
        }
        named.keys().next().map_or(Ok(Combination { weights }), |name| Err(format!("{name:?} is no view")))
    }
}

/// The views of the candidates of an example, whether each is right, and the weight of the example.
#[derive(Clone)]
pub(crate) struct HeldOutRow {
    pub candidates: Vec<(LabelViews, bool)>,
    pub weight: f64,
}

impl Combination {
    /// One with these weights of a constant and the views, and no products.
    #[cfg(test)]
    pub(crate) fn linear([constant, views @ ..]: [f64; 1 + VIEWS]) -> Combination {
        let weights = TERMS.map(|term| match term {
            Constant => constant,
            View(a) => views[a],
            Product(..) => 0.0,
        });
        Combination { weights }
    }

    /// One view alone, by its place among [`LabelViews::NAMES`].
    pub(crate) fn single_view(views: &LabelViews, at: usize) -> f32 {
        views.numbers()[at] as f32
    }

    pub(crate) fn is_finite(&self) -> bool {
        self.weights.iter().all(|w| w.is_finite())
    }

    /// The share of the constant, and then of each view, in the log-odds. A product of two views counts half for each, which is
    /// the Shapley value of a view.
    pub fn shares(&self, views: &LabelViews) -> [f64; 1 + VIEWS] {
        let mut shares = [0.0; 1 + VIEWS];
        for ((term, weight), value) in TERMS.into_iter().zip(self.weights).zip(views.terms()) {
            match term {
                Constant => shares[0] += weight,
                View(a) => shares[1 + a] += weight * value,
                Product(a, b) => {
                    shares[1 + a] += 0.5 * weight * value;
                    shares[1 + b] += 0.5 * weight * value;
                }
            }
        }
        shares
    }

    /// The log-odds of a label.
    pub fn score(&self, views: &LabelViews) -> f32 {
        product(&self.weights, &views.terms()) as f32
    }

    /// The most likely weights on some rows, by Newton's method. Where no examples vote the weights of votes are 0.
    pub(crate) fn fit(rows: &[HeldOutRow], loss: Loss, votes: bool) -> Combination {
        match votes {
            true => Combination::fit_terms::<WEIGHTS>(rows, loss),
            false => Combination::fit_terms::<WITHOUT_VOTES>(rows, loss),
        }
    }

    /// The same with the first W terms alone.
    fn fit_terms<const W: usize>(rows: &[HeldOutRow], loss: Loss) -> Combination {
        let prior = *Combination::default().weights.first_chunk::<W>().expect("no more than all");
        let mut at = prior;
        let mut state = Derivatives::at(&at, rows, loss, &prior);
        for _ in 0..STEPS {
            let step = solve(state.hessian, state.gradient);
            // The objective is convex, so a short enough step lowers it.
            let mut length = 1.0;
            let found = loop {
                let next: [f64; W] = std::array::from_fn(|j| at[j] - length * step[j]);
                let other = Derivatives::at(&next, rows, loss, &prior);
                if other.value <= state.value {
                    break Some((next, other));
                }
                length *= 0.5;
                if length < 1e-4 {
                    break None;
                }
            };
            let Some((next, other)) = found else { break };
            let gained = state.value - other.value;
            (at, state) = (next, other);
            if gained <= SMALL * state.value {
                break;
            }
        }
        let mut weights = [0.0; WEIGHTS];
        weights[..W].copy_from_slice(&at);
        Combination { weights }
    }

    /// Mean negative log-likelihood of some rows.
    #[cfg(test)]
    fn loss(&self, rows: &[HeldOutRow], loss: Loss) -> f64 {
        let value = Derivatives::at(&self.weights, rows, loss, &self.weights).value;
        value / rows.iter().map(|row| row.weight).sum::<f64>().max(f64::MIN_POSITIVE)
    }
}

/// Two combinations, each fitted to every other row, so that each row can be judged by the one that it had no part in.
pub(crate) struct Halves([Combination; 2]);

impl Halves {
    pub fn fit(rows: &[HeldOutRow], loss: Loss, votes: bool) -> Halves {
        Halves([0, 1].map(|half| {
            let others: Vec<HeldOutRow> = rows.iter().skip(1 - half).step_by(2).cloned().collect();
            Combination::fit(&others, loss, votes)
        }))
    }

    /// The combination that the row in this place had no part in.
    pub fn of(&self, place: usize) -> &Combination {
        &self.0[place % 2]
    }
}

/// The objective of the fit with its derivatives.
#[derive(Clone)]
struct Derivatives<const W: usize> {
    value: f64,
    gradient: [f64; W],
    hessian: [[f64; W]; W],
}

impl<const W: usize> Derivatives<W> {
    fn zero() -> Derivatives<W> {
        Derivatives { value: 0.0, gradient: [0.0; W], hessian: [[0.0; W]; W] }
    }

    fn at(weights: &[f64; W], rows: &[HeldOutRow], loss: Loss, prior: &[f64; W]) -> Derivatives<W> {
        let parts: Vec<Derivatives<W>> = rows
            .par_chunks(GRAIN)
            .map(|rows| {
                let mut sum = Derivatives::zero();
                rows.iter().for_each(|row| match loss {
                    Loss::Independent => sum.add_independent(weights, row),
                    Loss::Softmax => sum.add_softmax(weights, row),
                });
                sum
            })
            .collect();
        let mut all = Derivatives::zero();
        for part in parts {
            all.value += part.value;
            for j in 0..W {
                all.gradient[j] += part.gradient[j];
                (0..W).for_each(|l| all.hessian[j][l] += part.hessian[j][l]);
            }
        }
        // Only the lower half was added up.
        (0..W).for_each(|j| (0..j).for_each(|l| all.hessian[l][j] = all.hessian[j][l]));
        for j in 0..W {
            let away = weights[j] - prior[j];
            all.value += 0.5 * RIDGE * away * away;
            all.gradient[j] += RIDGE * away;
            all.hessian[j][j] += RIDGE;
        }
        all
    }

    fn add_independent(&mut self, weights: &[f64; W], row: &HeldOutRow) {
        for (views, hit) in &row.candidates {
            let inputs = views.first_terms();
            let t = product(weights, &inputs);
            let p = 1.0 / (1.0 + (-t).exp());
            let against = if *hit { -t } else { t };
            self.value += row.weight * (against.max(0.0) + (-against.abs()).exp().ln_1p());
            let residual = row.weight * (p - f64::from(u8::from(*hit)));
            let curvature = row.weight * p * (1.0 - p);
            for j in 0..W {
                self.gradient[j] += residual * inputs[j];
                let scaled = curvature * inputs[j];
                (0..=j).for_each(|l| self.hessian[j][l] += scaled * inputs[l]);
            }
        }
    }

    fn add_softmax(&mut self, weights: &[f64; W], row: &HeldOutRow) {
        let inputs: Vec<[f64; W]> = row.candidates.iter().map(|(views, _)| views.first_terms()).collect();
        let scores: Vec<f64> = inputs.iter().map(|inputs| product(weights, inputs)).collect();
        let largest = scores.iter().copied().fold(0.0, f64::max);
        let total = (-largest).exp() + scores.iter().map(|s| (s - largest).exp()).sum::<f64>();
        let log_partition = largest + total.ln();
        // An example whose label is no candidate is one of the others, with a score of 0.
        self.value += row.weight * log_partition;
        let mut mean = [0.0; W];
        for ((inputs, score), (_, hit)) in inputs.iter().zip(&scores).zip(&row.candidates) {
            let p = (score - log_partition).exp();
            self.value -= if *hit { row.weight * score } else { 0.0 };
            for j in 0..W {
                mean[j] += p * inputs[j];
                self.gradient[j] += row.weight * (p - f64::from(u8::from(*hit))) * inputs[j];
                (0..=j).for_each(|l| self.hessian[j][l] += row.weight * p * inputs[j] * inputs[l]);
            }
        }
        for j in 0..W {
            (0..=j).for_each(|l| self.hessian[j][l] -= row.weight * mean[j] * mean[l]);
        }
    }
}

fn product<const W: usize>(weights: &[f64; W], terms: &[f64; W]) -> f64 {
    weights.iter().zip(terms).map(|(a, b)| a * b).sum()
}

/// A⁻¹b for a positive definite A, by Cholesky factorisation.
fn solve<const W: usize>(mut a: [[f64; W]; W], mut b: [f64; W]) -> [f64; W] {
    for j in 0..W {
        let pivot = (a[j][j] - (0..j).map(|l| a[j][l] * a[j][l]).sum::<f64>()).max(f64::MIN_POSITIVE).sqrt();
        a[j][j] = pivot;
        for i in j + 1..W {
            a[i][j] = (a[i][j] - (0..j).map(|l| a[i][l] * a[j][l]).sum::<f64>()) / pivot;
        }
    }
    for i in 0..W {
        b[i] = (b[i] - (0..i).map(|l| a[i][l] * b[l]).sum::<f64>()) / a[i][i];
    }
    for i in (0..W).rev() {
        b[i] = (b[i] - (i + 1..W).map(|l| a[l][i] * b[l]).sum::<f64>()) / a[i][i];
    }
    b
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(single: bool) -> Vec<HeldOutRow> {
        let number = |i: usize| ((i * 7919 + 13) % 1009) as f32 / 1009.0;
        let row = |i: usize| {
            let views = |j: usize| LabelViews {
                one_vs_rest: 2.0 * number(i * 31 + j),
                association: number(i * 17 + j * 5).powi(3),
                embedding: number(i + 3 * j) - 0.3,
                name: if i % 3 == j { 0.7 } else { 0.0 },
                log_count: 5.0 * number(j),
                similar: if i % 4 == j { number(i) } else { 0.0 },
                nearest: if i % 4 == j { number(i + 5) } else { 0.0 },
            };
            let lucky = i % 6;
            let hit = |j: usize| if single { j == lucky } else { number(i * 31 + j) + 0.3 * number(i + j) > 0.8 };
            HeldOutRow { candidates: (0..5).map(|j| (views(j), hit(j))).collect(), weight: 0.5 + f64::from(number(i)) }
        };
        (0..200).map(row).collect()
    }

    #[test]
    fn derivatives_are_those_of_the_value() {
        for loss in [Loss::Independent, Loss::Softmax] {
            let at: [f64; WEIGHTS] =
                std::array::from_fn(|j| [-0.4, 0.9, 0.2, 0.7, -0.1, 0.05][j % 6] / (1 + j / 6) as f64);
            let (rows, prior) = (rows(loss == Loss::Softmax), [0.1; WEIGHTS]);
            let exact = Derivatives::at(&at, &rows, loss, &prior);
            for j in 0..WEIGHTS {
                let step = 1e-5;
                let moved = |by: f64| {
                    let mut other = at;
                    other[j] += by;
                    Derivatives::at(&other, &rows, loss, &prior)
                };
                let (up, down) = (moved(step), moved(-step));
                let slope = (up.value - down.value) / (2.0 * step);
                assert!((slope - exact.gradient[j]).abs() < 1e-4 * (1.0 + slope.abs()), "{loss:?} {j}");
                for l in 0..WEIGHTS {
                    let curvature = (up.gradient[l] - down.gradient[l]) / (2.0 * step);
                    assert!(
                        (curvature - exact.hessian[j][l]).abs() < 1e-3 * (1.0 + curvature.abs()),
                        "{loss:?} {j} {l}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_fit_ends_where_the_gradient_vanishes() {
        for loss in [Loss::Independent, Loss::Softmax] {
            let rows = rows(loss == Loss::Softmax);
            let found = Combination::fit(&rows, loss, true);
            let end = Derivatives::at(&found.weights, &rows, loss, &Combination::default().weights);
            assert!(end.gradient.iter().all(|g| g.abs() < 1e-2), "{loss:?} {:?}", end.gradient);
            assert!(found.loss(&rows, loss) < Combination::default().loss(&rows, loss));
        }
    }

    #[test]
    fn shares_add_up_and_names_come_back() {
        let found = Combination::fit(&rows(false), Loss::Independent, true);
        let views = rows(false)[7].candidates[2].0;
        let sum: f64 = found.shares(&views).iter().sum();
        assert!((sum - f64::from(found.score(&views))).abs() < 1e-4 * (1.0 + sum.abs()));
        let text = serde_json::to_string(&found).unwrap();
        assert_eq!(serde_json::from_str::<Combination>(&text).unwrap(), found);
        assert!(serde_json::from_str::<Combination>(r#"{"constant": 1.0}"#).is_err());
    }

    #[test]
    fn halves_do_not_know_the_rows_they_judge() {
        let original = rows(false);
        let before = Halves::fit(&original, Loss::Independent, true);
        let mut changed = original;
        changed.iter_mut().step_by(2).flat_map(|row| &mut row.candidates).for_each(|(_, hit)| *hit = !*hit);
        let after = Halves::fit(&changed, Loss::Independent, true);
        assert_eq!(before.of(4), after.of(4));
        assert_ne!(before.of(3), after.of(3));
    }

    #[test]
    fn without_rows_the_usual_weights_stay() {
        assert_eq!(Combination::fit(&[], Loss::Independent, true), Combination::default());
        assert_eq!(Combination::fit(&[], Loss::Softmax, false), Combination::default());
    }
}
