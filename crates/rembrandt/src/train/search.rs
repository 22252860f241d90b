//! The search for good settings: one thing at a time, each as far as it helps.
//!
//! Where labels are very many, random dimensions are tried first: they may be better than those with the most energy. The
//! ridge of the embedding matters most on text and is next, in a few dimensions; then the number of dimensions, doubled
//! as long as that pays, on h itself where there would be too few random features for so many; then the strength of the
//! head. How much of the least-squares score to add costs nothing to find out, and is found out for every setting.

use super::params::{HeadKind, TrainParams, Tuning};
use super::report::{HeldOut, Tried};
use super::search_clock::SearchClock;
use super::search_outcome::SearchOutcome;
use super::thresholds;
use super::validation::{Components, PARTS, Setting, Validation, together};
use crate::data::{Dataset, Examples};
use crate::embed::Method;
use crate::io::checkpoint::Json;
use crate::linalg::matrix::Matrix;
use crate::score::head::{Calibration, FeatureParams, Loss};
use crate::{Error, Result, Run};

/// Examples that should decide; with fewer in a part, several parts do in turn.
const ENOUGH_DECIDING: usize = 5000;
/// Parts that decide in turn, at most.
const MOST_TRIALS: usize = 4;
/// Parts of the least-squares score to choose from.
pub(super) const LEAST_SQUARES_WEIGHTS: [f32; 6] = [0.0, 2.0, 4.0, 8.0, 16.0, 32.0];
/// Factors between neighbouring ridges of the embedding, of the head, and bandwidths.
const RIDGE_STEP: f64 = 2.0;
const HEAD_RIDGE_STEP: f64 = 4.0;
const BANDWIDTH_STEP: f64 = 3.0;
/// Steps of a search in one direction, at most.
const MOST_STEPS: usize = 6;
/// What a change must gain to be kept: less is chance, and the settings that the search began with are good ones.
const GAIN: f64 = 0.001;
/// Dimensions are doubled while the least-squares score gains this much from the last doubling.
const GAIN_OF_DOUBLING: f64 = 0.002;
/// Dimensions that tuning goes up to.
pub(super) const MOST_DIMENSIONS: usize = 1024;
/// Labels for each dimension from which on some dimensions may be better random.
pub(super) const MANY_LABELS: usize = 4;
/// Shares of them to try.
const RANDOM_FRACTIONS: [f64; 3] = [1.0, 0.5, 0.0];
/// The name that the scores of the best setting are kept under.
const BEST: &str = "best";
/// Random features of trials, at most.
const QUICK_FEATURES: usize = 400;
/// With fewer random features for each dimension, h itself says more.
const FEATURES_PER_DIMENSION: usize = 3;

/// Tries settings on held-out examples.
pub(super) fn search(
    data: &Dataset,
    groups: &[u32],
    params: &TrainParams,
    tuning: &Tuning,
    run: &mut Run<'_>,
) -> Result<SearchOutcome> {
    let chosen = search_once(data, groups, params, tuning, run)?;
    // Scores that were kept and cannot be read, as after a power cut, are found by searching again.
    let again = || {
        run.forget_all();
        search_once(data, groups, params, tuning, run)
    };
    let chosen = chosen.map_or_else(again, |chosen| Ok(Some(chosen)))?;
    chosen.ok_or_else(|| {
        Error::Data("the checkpoints of the search cannot be read back: remove them and start again".into())
    })
}

/// The same, or nothing when the scores of the best setting were kept but cannot be read.
fn search_once(
    data: &Dataset,
    groups: &[u32],
    params: &TrainParams,
    tuning: &Tuning,
    run: &mut Run<'_>,
) -> Result<Option<SearchOutcome>> {
    let shape = data.shape();
    let mut search = Search {
        params,
        tuning,
        spent: SearchClock::default(),
        attempts: 0,
        trials: Vec::new(),
        tried: Vec::new(),
        best: None,
        cut_short: false,
        single: params.head.loss() == Loss::Softmax,
    };
    let head = params.head != HeadKind::LeastSquares;
    let usual = params.default_features(shape);
    let tried = tuning.features && head && params.in_reach(shape, &usual, tuning.budget);
    let all = params.features.or(tried.then_some(usual));
    // For independent labels random features are better than h itself wherever there are several for each dimension, and
    // the search begins with them; for classes that depends, and they are tried later.
    let features = all.filter(|_| params.features.is_some() || !search.single);
    let mut setting = Setting {
        k: params.first_k(shape),
        ridge: params.first_ridge(shape),
        random_fraction: params.embedding.random_fraction,
        head_ridge: params.head_ridge(features.is_some()),
        features,
    };
    if params.skips_search(shape, tuning) {
        return Ok(Some(SearchOutcome::untried(setting, params, shape.c)));
    }
    let choice = tuning.chooses();
    let rotations = if choice { rotations(shape.n) } else { 1 };
    for rotation in 0..PARTS {
        if search.trials.len() == rotations {
            break;
        }
        let mut trial = Validation::new(data, params, groups, rotation)?;
        if !trial.is_hollow() {
            trial.find(&setting, run)?;
            search.trials.push(trial);
        }
    }
    if search.trials.is_empty() {
        let reason = format!("{} examples are too few, or too much alike, to hold some of them out", shape.n);
        return Err(Error::Data(reason));
    }
    if choice {
        setting.features = setting.features.map(quick);
    }
    search.evaluate(setting, run)?;
    if tuning.random_fraction && params.method == Method::Rembrandt && shape.c >= MANY_LABELS * setting.k {
        search.random_fraction(run)?;
    }
    if tuning.ridge {
        setting = search.climb(RIDGE_STEP, |s| Some(&mut s.ridge), run)?;
    }
    if tuning.k {
        search.widen(setting, params.most_k(shape), all, run)?;
    }
    if features.is_none()
        && let Some(all) = all
        && !search.late(run)?
    {
        let setting =
            Setting { features: Some(quick(all)), head_ridge: params.head_ridge(true), ..search.best().setting };
        search.evaluate(setting, run)?;
    }
    if tuning.bandwidth && head && (params.features.is_some() || search.single) {
        search.climb(BANDWIDTH_STEP, |s| s.features.as_mut().map(|f| &mut f.bandwidth), run)?;
    }
    if tuning.strength && head {
        search.climb(HEAD_RIDGE_STEP, |s| Some(&mut s.head_ridge), run)?;
    }
    if choice {
        search.settle(all, run)?;
    }
    search.finish(run)
}

/// Parts that decide in turn.
pub(super) fn rotations(n: usize) -> usize {
    ENOUGH_DECIDING.div_ceil((n / PARTS).max(1)).clamp(1, MOST_TRIALS)
}

/// Fewer random features tell as well which settings are better, in less time.
fn quick(features: FeatureParams) -> FeatureParams {
    FeatureParams { count: features.count.min(QUICK_FEATURES), ..features }
}

struct Search<'a> {
    params: &'a TrainParams,
    tuning: &'a Tuning,
    spent: SearchClock,
    /// Settings whose validation was begun: they number the checkpoints.
    attempts: usize,
    trials: Vec<Validation<'a>>,
    tried: Vec<Tried>,
    best: Option<BestSetting>,
    cut_short: bool,
    /// Whether examples have one label.
    single: bool,
}

/// The best settings so far, and what they made of the examples that decide.
struct BestSetting {
    setting: Setting,
    least_squares_weight: f32,
    held_out: HeldOut,
    /// Which attempt it was.
    attempt: usize,
    /// Scores of the examples that decide, in every trial; absent when they were kept by a run before.
    scores: Option<Vec<Matrix>>,
}

/// What is kept of a try: seconds of the search until its end, the best least_squares_weight, and how good that is.
type Outcome = Json<(f64, f32, HeldOut)>;

impl Search<'_> {
    /// Whether the time is over. The answers are kept, so that a search that goes on decides as the one before has; the
    /// time that this took counts.
    fn late(&mut self, run: &mut Run<'_>) -> Result<bool> {
        if !self.cut_short {
            let name = format!("clock-{}-{}", self.attempts, self.spent.asked);
            let spent = run.checkpoint(&name, |_| Ok(self.spent.seconds()))?;
            self.spent.asked += 1;
            self.spent.set(spent);
            self.cut_short = spent >= self.tuning.budget.as_secs_f64();
        }
        Ok(self.cut_short)
    }

    /// Tries a setting on every trial and remembers it if it is the best; returns its quality.
    fn evaluate(&mut self, setting: Setting, run: &mut Run<'_>) -> Result<f64> {
        let attempt = self.attempts;
        self.attempts += 1;
        let name = format!("tried-{attempt}");
        let mut scored = None;
        let outcome: Option<Outcome> = run.find(&name, 0)?;
        let (least_squares_weight, held_out) = match outcome {
            Some(Json((spent, least_squares_weight, held_out))) => {
                self.spent.set(spent);
                (least_squares_weight, held_out)
            }
            None => {
                let each = self.trials.iter_mut().map(|trial| trial.scores(&name, &setting, run));
                let each = each.collect::<Result<Vec<_>>>()?;
                let found = self.best_least_squares_weight(&each);
                scored = Some(each);
                found
            }
        };
        let least_squares = self.params.head == HeadKind::LeastSquares;
        self.tried.push(Tried {
            k: setting.k,
            ridge: setting.ridge,
            random_fraction: setting.random_fraction,
            head_ridge: (!least_squares).then_some(setting.head_ridge),
            least_squares_weight,
            random_features: setting.features,
            held_out,
        });
        let quality = held_out.quality(self.single);
        let is_best = self.best.as_ref().is_none_or(|best| quality > best.held_out.quality(self.single) + GAIN);
        let combined = |scored: &Vec<Components>| {
            scored.iter().map(|scored| scored.combined(least_squares_weight)).collect::<Vec<_>>()
        };
        let scores = scored.as_ref().filter(|_| is_best).map(combined);
        if let Some(scores) = &scores {
            run.keep(BEST, attempt as u64 + 1, scores)?;
        }
        if scored.is_some() {
            run.keep(&name, 0, &Json((self.spent.seconds(), least_squares_weight, held_out)))?;
            run.forget_within(&name);
        }
        if is_best {
            self.best = Some(BestSetting { setting, least_squares_weight, held_out, attempt, scores });
        }
        Ok(quality)
    }

    /// The least_squares_weight that is best over all trials, and how good it is.
    fn best_least_squares_weight(&self, scored: &[Components]) -> (f32, HeldOut) {
        let least_squares = self.params.head == HeadKind::LeastSquares;
        let weights_of_least_squares = match self.tuning.least_squares_weight && !least_squares {
            true => &LEAST_SQUARES_WEIGHTS[..],
            false => std::slice::from_ref(&self.params.least_squares_weight),
        };
        let parts: Vec<Vec<HeldOut>> = self
            .trials
            .iter()
            .zip(scored)
            .map(|(trial, scored)| trial.precision(scored, weights_of_least_squares))
            .collect();
        let mean_of = |b: usize| HeldOut::mean(&parts.iter().map(|part| part[b]).collect::<Vec<_>>());
        let (mut least_squares_weight, mut held_out) = (weights_of_least_squares[0], mean_of(0));
        for (b, other) in weights_of_least_squares.iter().enumerate().skip(1) {
            let found = mean_of(b);
            if found.quality(self.single) > held_out.quality(self.single) {
                (least_squares_weight, held_out) = (*other, found);
            }
        }
        (least_squares_weight, held_out)
    }

    fn best(&self) -> &BestSetting {
        self.best.as_ref().expect("a setting was tried before the search began")
    }

    /// Puts random directions in place of all dimensions, and then of some, and keeps what is best.
    fn random_fraction(&mut self, run: &mut Run<'_>) -> Result<()> {
        let before = self.best().setting;
        let plain: Vec<Matrix> = self.trials.iter().map(|trial| trial.basis.clone()).collect();
        for random_fraction in
            RANDOM_FRACTIONS.into_iter().filter(|random_fraction| *random_fraction != before.random_fraction)
        {
            if self.late(run)? {
                break;
            }
            let setting = Setting { random_fraction, ..before };
            for (trial, plain) in self.trials.iter_mut().zip(&plain) {
                trial.restore(plain);
                trial.find(&setting, run)?;
            }
            self.evaluate(setting, run)?;
        }
        let best = self.best().setting;
        for (trial, plain) in self.trials.iter_mut().zip(&plain) {
            trial.restore(plain);
            if best.random_fraction != before.random_fraction {
                trial.find(&best, run)?;
            }
        }
        Ok(())
    }

    /// Goes up or down from the best setting, in the direction that helps, until it does not.
    fn climb(&mut self, step: f64, field: fn(&mut Setting) -> Option<&mut f64>, run: &mut Run<'_>) -> Result<Setting> {
        let start = self.best().setting;
        for factor in [step, step.recip()] {
            let mut quality = self.best().held_out.quality(self.single);
            let mut setting = start;
            for _ in 0..MOST_STEPS {
                let Some(value) = field(&mut setting) else { return Ok(setting) };
                if self.late(run)? {
                    return Ok(self.best().setting);
                }
                *value *= factor;
                let found = match self.evaluate(setting, run) {
                    // A setting that cannot be trained with is not a good one, but no reason to give up.
                    Err(Error::Parameter { .. }) => break,
                    other => other?,
                };
                if found <= quality + GAIN {
                    break;
                }
                quality = found;
            }
            // What one direction gained, the other one would lose.
            if self.best().setting != start {
                break;
            }
        }
        Ok(self.best().setting)
    }

    /// Doubles the dimensions while that helps.
    fn widen(
        &mut self,
        mut setting: Setting,
        most: usize,
        all: Option<FeatureParams>,
        run: &mut Run<'_>,
    ) -> Result<()> {
        let (most, single) = (most.min(MOST_DIMENSIONS), self.single);
        while setting.k < most && !self.late(run)? {
            // The last doubling tells whether the next is worth its price.
            let half = Setting { k: (setting.k / 2).max(1), ..setting };
            // But not when some dimensions are random: the first half would be those with the most energy.
            let mixed = setting.random_fraction > 0.0 && setting.random_fraction < 1.0;
            let trials = &mut self.trials;
            let gain = run.checkpoint(&format!("gain-{}", setting.k), |run| {
                trials.iter_mut().try_fold(0.0, |gain, trial| {
                    let whole = trial.precision_of_squares(&setting, run)?.quality(single);
                    Ok(gain + (whole - trial.precision_of_squares(&half, run)?.quality(single)))
                })
            })?;
            if !mixed && gain / (self.trials.len() as f64) < GAIN_OF_DOUBLING {
                break;
            }
            let mut wider = Setting { k: (2 * setting.k).min(most), ..setting };
            let chosen =
                |f: &FeatureParams| self.params.features.is_none() && f.count < FEATURES_PER_DIMENSION * wider.k;
            if wider.features.as_ref().is_some_and(chosen) {
                // h itself must be better than all the random features, not than a few of them.
                self.settle(all, run)?;
                (wider.features, wider.head_ridge) = (None, self.params.head_ridge(false));
            }
            let before = self.best().held_out.quality(self.single);
            let mut narrow = Vec::new();
            for trial in &mut self.trials {
                narrow.push(trial.basis.clone());
                trial.find(&wider, run)?;
            }
            if self.evaluate(wider, run)? <= before + GAIN {
                // The first columns are those of fewer dimensions only if none are random.
                if setting.random_fraction > 0.0 {
                    self.trials.iter_mut().zip(&narrow).for_each(|(trial, basis)| trial.restore(basis));
                }
                break;
            }
            setting = wider;
        }
        Ok(())
    }

    /// Tries the best setting again as it will be, when it was tried with fewer random features.
    fn settle(&mut self, features: Option<FeatureParams>, run: &mut Run<'_>) -> Result<()> {
        let mut setting = self.best().setting;
        let (Some(quick), Some(all)) = (&mut setting.features, features) else { return Ok(()) };
        if quick.count < all.count {
            quick.count = all.count;
            self.best = None;
            self.evaluate(setting, run)?;
        }
        Ok(())
    }

    /// Probabilities and thresholds from what the best settings made of the examples that decide.
    fn finish(self, run: &mut Run<'_>) -> Result<Option<SearchOutcome>> {
        let Search { mut trials, tried, best, cut_short, params, .. } = self;
        let BestSetting { setting, least_squares_weight, held_out, attempt, scores } =
            best.expect("a setting was tried");
        let scores = match scores {
            Some(scores) => Some(scores),
            None => run.find::<Vec<Matrix>>(BEST, attempt as u64 + 1)?,
        };
        let Some(scores) = scores else { return Ok(None) };
        let (all, truth) = together(&scores, &trials);
        let calibration = Calibration::fit(params.head.loss(), &all, truth.view());
        let thresholds = thresholds::of_scores(&calibration, all, truth.view())?;
        let faithful = trials[0].is_crossed();
        let start = Some(std::mem::replace(&mut trials[0].basis, Matrix::zeros(0, 0)));
        Ok(Some(SearchOutcome {
            setting,
            least_squares_weight,
            held_out,
            calibration,
            thresholds,
            start,
            tried,
            cut_short,
            faithful,
        }))
    }
}
