//! [`Combination`]: the log-odds of a label as a sum of functions of its views, fitted on held-out examples.
//!
//! ```text
//! log-odds(l) = constant + Σᵥ fᵥ(view v of l)        fᵥ piecewise linear, with bends at quantiles of held-out candidates
//! ```
//!
//! This is a generalized additive model [1]: a view may count more where it is high than where it is low, and what each
//! adds to the log-odds can be told. Labels are independent, or exclude each other. In the latter case the probability of a
//! candidate is exp(s) / (1 + Σ exp(s)): the 1 stands for all labels that are no candidates.
//!
//! 1. T. Hastie, R. Tibshirani: Generalized additive models. Statistical Science 1(3), 1986.

use std::collections::BTreeMap;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::score::head::Loss;

const VIEWS: usize = 7;
/// Views that there are where no examples vote: the first.
const WITHOUT_VOTES: usize = 5;
/// Where the functions bend: quantiles of those values of a view that are not 0.
const QUANTILES: [f64; BENDS] = [0.5, 0.8, 0.95];
const BENDS: usize = 3;
/// Terms of a view, the view itself and what is above each bend, and of a model of so many views with a constant.
const TERMS: usize = 1 + BENDS;
const ALL: usize = 1 + VIEWS * TERMS;
const ALL_WITHOUT_VOTES: usize = 1 + WITHOUT_VOTES * TERMS;
/// (x·T)ₗ below this counts as this.
const LEAST_ASSOCIATION: f32 = 1e-4;
/// Added to votes before their logarithm is taken.
const LEAST_VOTE: f32 = 0.01;
/// Newton steps at most, and the share of the objective that the last one still gained.
const STEPS: usize = 30;
const SMALL: f64 = 1e-6;
/// How much the slopes of views of mean square 1 are held back from leaving the usual ones, in units of examples. What a
/// bend that few candidates are above changes is held back as much, so that these few cannot make it steep.
const RIDGE: f64 = 1.0;
/// A candidate that is as good as certain adds nothing to the curvature that a step could feel.
const FLAT: f64 = 1e-4;
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
    fn numbers(&self) -> [f32; VIEWS] {
        [
            self.one_vs_rest,
            (self.association.max(LEAST_ASSOCIATION) / LEAST_ASSOCIATION).ln(),
            self.embedding,
            self.name,
            self.log_count,
            (1.0 + self.similar / LEAST_VOTE).ln(),
            (1.0 + self.nearest / LEAST_VOTE).ln(),
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
}

/// A piecewise linear function that is 0 at 0, or at the bends below it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Curve {
    /// Where it bends.
    bends: [f64; BENDS],
    /// The slope before the bends, and what each adds to it.
    slopes: [f64; TERMS],
}

impl Curve {
    fn at(&self, x: f64) -> f64 {
        let above = self.bends.iter().zip(&self.slopes[1..]).map(|(bend, slope)| slope * (x - bend).max(0.0));
        self.slopes[0] * x + above.sum::<f64>()
    }

    fn is_finite(&self) -> bool {
        self.bends.iter().chain(&self.slopes).all(|number| number.is_finite())
    }
}

/// The functions of the views whose sum, with a constant, is the log-odds of a label.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "Named", try_from = "Named")]
pub struct Combination {
    constant: f64,
    curves: [Curve; VIEWS],
}

/// A combination as it is written: functions by the names of their views.
#[derive(Serialize, Deserialize)]
struct Named {
    constant: f64,
    views: BTreeMap<String, Curve>,
}

impl Default for Combination {
    /// The margin of the one-vs-rest scorer, with a usual slope.
    fn default() -> Combination {
        let mut curves = [Curve::default(); VIEWS];
        curves[0].slopes[0] = 3.0;
        Combination { constant: -3.0, curves }
    }
}

impl From<Combination> for Named {
    fn from(Combination { constant, curves }: Combination) -> Named {
        Named { constant, views: LabelViews::NAMES.map(str::to_owned).into_iter().zip(curves).collect() }
    }
}

impl TryFrom<Named> for Combination {
    type Error = String;

    fn try_from(Named { constant, mut views }: Named) -> Result<Combination, String> {
        let mut curves = [Curve::default(); VIEWS];
        for (name, curve) in LabelViews::NAMES.into_iter().zip(&mut curves) {
            *curve = views.remove(name).ok_or_else(|| format!("there is no function of {name:?}"))?;
        }
        views.keys().next().map_or(Ok(Combination { constant, curves }), |name| Err(format!("{name:?} is no view")))
    }
}

/// The views of the candidates of an example, whether each is right, and the weight of the example.
#[derive(Clone)]
pub(crate) struct HeldOutRow {
    pub candidates: Vec<(LabelViews, bool)>,
    pub weight: f64,
}

impl Combination {
    /// One with these slopes of the views, and no bends.
    #[cfg(test)]
    pub(crate) fn linear([constant, slopes @ ..]: [f64; 1 + VIEWS]) -> Combination {
        let curve = |slope| Curve { bends: [0.0; BENDS], slopes: [slope, 0.0, 0.0, 0.0] };
        Combination { constant, curves: slopes.map(curve) }
    }

    /// One view alone, by its place among [`LabelViews::NAMES`].
    pub(crate) fn single_view(views: &LabelViews, at: usize) -> f32 {
        views.numbers()[at]
    }

    pub(crate) fn is_finite(&self) -> bool {
        self.constant.is_finite() && self.curves.iter().all(Curve::is_finite)
    }

    /// The constant, and then what each view adds to the log-odds.
    pub fn shares(&self, views: &LabelViews) -> [f64; 1 + VIEWS] {
        let (mut shares, numbers) = ([self.constant; 1 + VIEWS], views.numbers());
        for ((share, curve), number) in shares[1..].iter_mut().zip(&self.curves).zip(numbers) {
            *share = curve.at(number.into());
        }
        shares
    }

    /// The log-odds of a label.
    pub fn score(&self, views: &LabelViews) -> f32 {
        self.shares(views).iter().sum::<f64>() as f32
    }

    /// The most likely functions on some rows. Where no examples vote those of votes are 0.
    pub(crate) fn fit(rows: &[HeldOutRow], loss: Loss, votes: bool) -> Combination {
        Combination::default().refit(rows, loss, votes)
    }

    /// The same, sought from here: the objective is convex, so that where it begins matters for the time alone.
    fn refit(&self, rows: &[HeldOutRow], loss: Loss, votes: bool) -> Combination {
        match votes {
            true => self.refit_terms::<ALL>(rows, loss),
            false => self.refit_terms::<ALL_WITHOUT_VOTES>(rows, loss),
        }
    }

    /// The same with the first W terms alone, by Newton's method.
    fn refit_terms<const W: usize>(&self, rows: &[HeldOutRow], loss: Loss) -> Combination {
        let problem = Problem::<W>::new(rows, loss);
        let mut at = problem.weights(self);
        let mut state = problem.derivatives(&at);
        for _ in 0..STEPS {
            let step = solve(state.hessian, state.gradient);
            // A short enough step lowers the objective.
            let mut length = 1.0;
            let found = loop {
                let next: [f64; W] = std::array::from_fn(|j| at[j] - length * step[j]);
                let other = problem.derivatives(&next);
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
        problem.combination(&at)
    }
}

/// Two combinations, each fitted to every other row, so that each row can be judged by the one that it had no part in.
pub(crate) struct Halves([Combination; 2]);

impl Halves {
    /// The fits begin at the one to all rows.
    pub fn fit(rows: &[HeldOutRow], loss: Loss, votes: bool, all: &Combination) -> Halves {
        Halves([0, 1].map(|half| {
            let others: Vec<HeldOutRow> = rows.iter().skip(1 - half).step_by(2).cloned().collect();
            all.refit(&others, loss, votes)
        }))
    }

    /// The combination that the row in this place had no part in.
    pub fn of(&self, place: usize) -> &Combination {
        &self.0[place % 2]
    }
}

/// Views of a candidate as numbers, and whether it is right.
type Example = ([f32; VIEWS], bool);

/// The fit of the first W terms: a constant, and those of each view, which is scaled to mean square 1.
struct Problem<const W: usize> {
    rows: Vec<(Vec<Example>, f64)>,
    loss: Loss,
    bends: [[f64; BENDS]; VIEWS],
    /// The factor of each term: the same for all of a view.
    scales: [f64; W],
    /// The weights that those of scaled terms are held to.
    usual: [f64; W],
}

impl<const W: usize> Problem<W> {
    fn new(rows: &[HeldOutRow], loss: Loss) -> Problem<W> {
        let numbers = |row: &HeldOutRow| {
            (row.candidates.iter().map(|(views, hit)| (views.numbers(), *hit)).collect(), row.weight)
        };
        let rows: Vec<(Vec<Example>, f64)> = rows.par_iter().map(numbers).collect();
        let bends = std::array::from_fn(|view| bends(rows.iter().flat_map(|(row, _)| row).map(|(x, _)| x[view])));
        let mut problem = Problem { rows, loss, bends, scales: [1.0; W], usual: [0.0; W] };
        let (mut squares, mut count) = ([0f64; VIEWS], 0.0);
        for (x, _) in problem.rows.iter().flat_map(|(row, _)| row) {
            x.iter().zip(&mut squares).for_each(|(x, sum)| *sum += f64::from(*x).powi(2));
            count += 1.0;
        }
        // A view that is always 0 has no part in the fit, whatever its scale.
        let scale = |view: usize| if squares[view] > 0.0 { (count / squares[view]).sqrt() } else { 1.0 };
        problem.scales = std::array::from_fn(|j| j.checked_sub(1).map_or(1.0, |at| scale(at / TERMS)));
        problem.usual = problem.weights(&Combination::default());
        problem
    }

    /// The weights of scaled terms in a combination, wherever that bends.
    fn weights(&self, combination: &Combination) -> [f64; W] {
        let slope = |at: usize| combination.curves[at / TERMS].slopes[at % TERMS];
        std::array::from_fn(|j| j.checked_sub(1).map_or(combination.constant, slope) / self.scales[j])
    }

    fn terms(&self, x: &[f32; VIEWS]) -> [f64; W] {
        let mut terms = [1.0; W];
        for ((terms, x), bends) in terms[1..].chunks_exact_mut(TERMS).zip(x).zip(&self.bends) {
            let x = f64::from(*x);
            terms[0] = x;
            terms[1..].iter_mut().zip(bends).for_each(|(term, bend)| *term = (x - bend).max(0.0));
        }
        terms.iter_mut().zip(&self.scales).for_each(|(term, scale)| *term *= scale);
        terms
    }

    /// The functions with these weights of scaled terms.
    fn combination(&self, weights: &[f64; W]) -> Combination {
        let mut all = [0.0; ALL];
        all.iter_mut().zip(weights.iter().zip(&self.scales)).for_each(|(all, (weight, scale))| *all = weight * scale);
        let slopes = |view: usize| std::array::from_fn(|j| all[1 + view * TERMS + j]);
        let curves = std::array::from_fn(|view| Curve { bends: self.bends[view], slopes: slopes(view) });
        Combination { constant: all[0], curves }
    }

    fn derivatives(&self, weights: &[f64; W]) -> Derivatives<W> {
        let parts: Vec<Derivatives<W>> = self
            .rows
            .par_chunks(GRAIN)
            .map(|rows| {
                let mut sum = Derivatives::zero();
                rows.iter().for_each(|(row, weight)| match self.loss {
                    Loss::Independent => self.add_independent(weights, (row, *weight), &mut sum),
                    Loss::Softmax => self.add_softmax(weights, (row, *weight), &mut sum),
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
        for (j, (weight, usual)) in weights.iter().zip(&self.usual).enumerate() {
            let away = weight - usual;
            all.value += 0.5 * RIDGE * away * away;
            all.gradient[j] += RIDGE * away;
            all.hessian[j][j] += RIDGE;
        }
        all
    }

    fn add_independent(&self, weights: &[f64; W], (row, weight): (&[Example], f64), sum: &mut Derivatives<W>) {
        for (x, hit) in row {
            let terms = self.terms(x);
            let t = product(weights, &terms);
            let p = 1.0 / (1.0 + (-t).exp());
            let against = if *hit { -t } else { t };
            sum.value += weight * (against.max(0.0) + (-against.abs()).exp().ln_1p());
            sum.add_gradient(weight * (p - f64::from(u8::from(*hit))), &terms);
            sum.add_curvature(weight * p * (1.0 - p), &terms);
        }
    }

    fn add_softmax(&self, weights: &[f64; W], (row, weight): (&[Example], f64), sum: &mut Derivatives<W>) {
        let terms: Vec<[f64; W]> = row.iter().map(|(x, _)| self.terms(x)).collect();
        let scores: Vec<f64> = terms.iter().map(|terms| product(weights, terms)).collect();
        let largest = scores.iter().copied().fold(0.0, f64::max);
        let total = (-largest).exp() + scores.iter().map(|s| (s - largest).exp()).sum::<f64>();
        let log_partition = largest + total.ln();
        // An example whose label is no candidate is one of the others, with a score of 0.
        sum.value += weight * log_partition;
        let mut mean = [0.0; W];
        for ((terms, score), (_, hit)) in terms.iter().zip(&scores).zip(row) {
            let p = (score - log_partition).exp();
            sum.value -= if *hit { weight * score } else { 0.0 };
            mean.iter_mut().zip(terms).for_each(|(mean, term)| *mean += p * term);
            sum.add_gradient(weight * (p - f64::from(u8::from(*hit))), terms);
            sum.add_curvature(weight * p, terms);
        }
        sum.add_curvature(-weight, &mean);
    }
}

/// The objective of the fit with its derivatives.
#[derive(Clone)]
struct Derivatives<const W: usize> {
    value: f64,
    gradient: [f64; W],
    /// Its lower half.
    hessian: [[f64; W]; W],
}

impl<const W: usize> Derivatives<W> {
    fn zero() -> Derivatives<W> {
        Derivatives { value: 0.0, gradient: [0.0; W], hessian: [[0.0; W]; W] }
    }

    fn add_gradient(&mut self, residual: f64, terms: &[f64; W]) {
        self.gradient.iter_mut().zip(terms).for_each(|(sum, term)| *sum += residual * term);
    }

    fn add_curvature(&mut self, curvature: f64, terms: &[f64; W]) {
        if curvature.abs() < FLAT {
            return;
        }
        for (j, row) in self.hessian.iter_mut().enumerate() {
            let scaled = curvature * terms[j];
            // Above a bend or for a name there is often nothing.
            if scaled != 0.0 {
                row[..=j].iter_mut().zip(terms).for_each(|(sum, term)| *sum += scaled * term);
            }
        }
    }
}

/// The quantiles of those values that are not 0; 0 where there are none.
fn bends(values: impl Iterator<Item = f32>) -> [f64; BENDS] {
    let mut values: Vec<f32> = values.filter(|value| *value != 0.0 && value.is_finite()).collect();
    QUANTILES.map(|quantile| {
        let at = (quantile * values.len() as f64) as usize;
        if values.is_empty() { 0.0 } else { f64::from(*values.select_nth_unstable_by(at, f32::total_cmp).1) }
    })
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
            let problem = Problem::<ALL>::new(&rows(loss == Loss::Softmax), loss);
            let at: [f64; ALL] = std::array::from_fn(|j| [-0.4, 0.9, 0.2, 0.7, -0.1, 0.05][j % 6] / (1 + j / 6) as f64);
            let exact = problem.derivatives(&at);
            for j in 0..ALL {
                let step = 1e-5;
                let moved = |by: f64| {
                    let mut other = at;
                    other[j] += by;
                    problem.derivatives(&other)
                };
                let (up, down) = (moved(step), moved(-step));
                let slope = (up.value - down.value) / (2.0 * step);
                assert!((slope - exact.gradient[j]).abs() < 1e-4 * (1.0 + slope.abs()), "{loss:?} {j}");
                for l in 0..ALL {
                    let curvature = (up.gradient[l] - down.gradient[l]) / (2.0 * step);
                    let difference = (curvature - exact.hessian[j][l]).abs();
                    assert!(difference < 1e-3 * (1.0 + curvature.abs()), "{loss:?} {j} {l}");
                }
            }
        }
    }

    #[test]
    fn the_fit_ends_where_the_gradient_vanishes() {
        for loss in [Loss::Independent, Loss::Softmax] {
            let rows = rows(loss == Loss::Softmax);
            let (problem, found) = (Problem::<ALL>::new(&rows, loss), Combination::fit(&rows, loss, true));
            let end = problem.derivatives(&problem.weights(&found));
            let begin = problem.derivatives(&problem.usual);
            assert!(end.gradient.iter().all(|g| g.abs() < 0.05), "{loss:?} {:?}", end.gradient);
            assert!(end.value < 0.9 * begin.value);
        }
    }

    #[test]
    fn a_bend_is_found() {
        let number = |i: usize| ((i * 7919 + 13) % 1009) as f32 / 1009.0;
        // The truth depends on the view above its median alone.
        let row = |i: usize| {
            let x = 2.0 * number(i);
            let p = 1.0 / (1.0 + (2.0 - 6.0 * (x - 1.0).max(0.0)).exp());
            let views = LabelViews { one_vs_rest: x, ..LabelViews::default() };
            HeldOutRow { candidates: vec![(views, number(i * 31 + 7) < p)], weight: 1.0 }
        };
        let rows: Vec<HeldOutRow> = (0..4000).map(row).collect();
        let found = Combination::fit(&rows, Loss::Independent, false);
        let score = |one_vs_rest: f32| found.score(&LabelViews { one_vs_rest, ..LabelViews::default() });
        assert!((score(0.9) - score(0.1)).abs() < 1.0, "{} {}", score(0.1), score(0.9));
        assert!((score(1.9) - score(1.1) - 4.8).abs() < 1.5, "{} {}", score(1.1), score(1.9));
    }

    #[test]
    fn shares_add_up_and_names_come_back() {
        let found = Combination::fit(&rows(false), Loss::Independent, true);
        let views = rows(false)[7].candidates[2].0;
        let sum: f64 = found.shares(&views).iter().sum();
        assert!((sum - f64::from(found.score(&views))).abs() < 1e-4 * (1.0 + sum.abs()));
        let text = serde_json::to_string(&found).unwrap();
        assert_eq!(serde_json::from_str::<Combination>(&text).unwrap(), found);
        assert!(serde_json::from_str::<Combination>(r#"{"constant": 1.0, "views": {}}"#).is_err());
    }

    #[test]
    fn halves_do_not_know_the_rows_they_judge() {
        let original = rows(false);
        let all = Combination::default();
        let before = Halves::fit(&original, Loss::Independent, true, &all);
        let mut changed = original;
        changed.iter_mut().step_by(2).flat_map(|row| &mut row.candidates).for_each(|(_, hit)| *hit = !*hit);
        let after = Halves::fit(&changed, Loss::Independent, true, &all);
        assert_eq!(before.of(4), after.of(4));
        assert_ne!(before.of(3), after.of(3));
    }

    #[test]
    fn without_rows_the_usual_weights_stay() {
        assert_eq!(Combination::fit(&[], Loss::Independent, true), Combination::default());
        assert_eq!(Combination::fit(&[], Loss::Softmax, false), Combination::default());
    }
}
