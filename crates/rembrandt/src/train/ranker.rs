//! The default training: an embedding and words propose labels, a ranker decides.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::report::{HeldOut, Trial};
use super::shared::{
    CROSS, HELD_OUT, MOST_HELD_OUT, check_learnable, check_propensity, lifted, moments, resolved_ridge, suited_loss,
};
use super::thresholds;
use crate::data::{Dataset, Examples, Shape, Side, near_duplicates};
use crate::embed;
use crate::linalg::csr::{Csr, CsrRef};
use crate::linalg::matrix::Matrix;
use crate::linalg::table::{NumberFormat, Table};
use crate::linalg::topk::TopK;
use crate::metrics::{Propensities, Propensity, precision_at};
use crate::model::contents::Contents;
use crate::model::{Model, Preprocessing};
use crate::score::head::{Calibration, Folds, Head, Loss, add_intercept};
use crate::score::ranker::association::association_bytes;
use crate::score::ranker::data::{RankerTargets, unit_values};
use crate::score::ranker::fit::{FittedRanker, RankerFit};
use crate::score::ranker::held_out::HeldOutViews;
use crate::score::ranker::names::name_matrix;
use crate::score::ranker::packed_matrix::PackedMatrix;
use crate::score::ranker::similar_examples::SimilarExamples;
use crate::score::ranker::{Candidate, Combination, LabelViews, Proposals, Ranker};
use crate::{Embedding, Error, Rembrandt, Result, Run};

/// More dimensions where tables of so many numbers have room for them: up to four panels of columns.
const MOST_K: usize = 172;
const SMALL_TABLES: usize = 1 << 19;
/// Labels proposed by words and by the embedding, and those of them that become candidates.
const BY_WORDS: usize = 150;
const BY_EMBEDDING: usize = 100;
const SHORTLIST: usize = 160;
/// Candidates of all examples together, at most, and of one example, at least.
const PAIRS: u64 = 150_000_000;
const FEWEST: usize = 20;
/// The embedding proposes where a scan of all labels for all examples takes no more multiplications than this.
const SCAN: f64 = 4e11;
/// The projection is fitted again to all examples where one in so many or more is held out.
const MANY_HELD_OUT: usize = 40;

/// How the default training is done. Plain data; checked before any work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct RankerParams {
    /// Dimensions of the embedding; absent: 44, up to 172 where tables stay small, or as many as there are labels or features.
    pub k: Option<usize>,
    /// Relative ridge λ of the embedding; absent: what makes the real ridge four squared lengths of a mean example.
    pub ridge: Option<f64>,
    /// C of the squared hinge loss; absent: chosen on held-out examples.
    pub cost: Option<f64>,
    /// Candidates of an example; absent: as many as pay.
    pub proposals: Option<Proposals>,
    /// Look for better settings for so many seconds, by training with others. How far that gets depends on the machine;
    /// absent: no search.
    pub tune: Option<f64>,
    /// Hold near duplicates out together.
    pub group_duplicates: bool,
    /// Hold out the last so many examples and no others; absent: some, drawn at random.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validation: Option<usize>,
    /// Rank as if every label had been given as often as it applies: those that tend to be forgotten move up.
    pub propensity: Option<Propensity>,
    /// The other parameters of the embedding; `k` and `ridge` here do not count.
    pub embedding: Rembrandt,
}

setter!(RankerParams);

impl Default for RankerParams {
    fn default() -> RankerParams {
        RankerParams {
            k: None,
            ridge: None,
            cost: None,
            proposals: None,
            tune: None,
            group_duplicates: false,
            validation: None,
            propensity: None,
            embedding: Rembrandt { cg_steps: 7, ..Rembrandt::default() },
        }
    }
}

/// How a training went.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RankerReport {
    /// How good the model was on held-out examples, before these joined the training.
    pub held_out: HeldOut,
    /// Precision at 1, 3 and 5 of each view alone, on the same examples.
    pub views: Vec<(String, HeldOut)>,
    /// Share of the labels of held-out examples that are among their candidates.
    pub recall: f64,
    /// Candidates of an example, at most.
    pub proposals: Proposals,
    /// C.
    pub cost: f64,
    /// Weights of the views.
    pub combination: Combination,
    /// Pairs of a feature and a label, in all matrices together.
    pub pairs: usize,
    /// The settings that were tried, in turn; empty where there was no search.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trials: Vec<Trial>,
    /// The embedding.
    pub embedding: embed::Report,
}

impl RankerParams {
    /// Dimensions of the embedding by default: with its oversampling one panel of columns.
    pub const K: usize = 44;

    /// Checks everything against the data, before any work.
    ///
    /// # Errors
    /// If a parameter is out of range, or there is nothing to learn.
    pub fn check(&self, data: &Dataset) -> Result<()> {
        let shape = data.shape();
        self.embedder(shape).check(shape)?;
        if self.cost.is_some_and(|cost| !(cost.is_finite() && cost > 0.0)) {
            return Err(Error::parameter("cost", "must be a finite number above 0"));
        }
        self.budget()?;
        if self.proposals.is_some_and(|p| (p.by_words == 0 && p.by_embedding == 0) || p.shortlist == 0) {
            return Err(Error::parameter("proposals", "must leave at least one candidate"));
        }
        check_learnable(data)?;
        if self.validation.is_some_and(|count| count == 0 || count >= shape.n) {
            return Err(Error::parameter("validation", "must hold out some examples and leave some to train on"));
        }
        if let Some(propensity) = self.propensity {
            check_propensity(propensity, suited_loss(data.labels()?.view()))?;
        }
        if data.nnz(Side::X) > u64::from(u32::MAX) {
            let reason = "more than 4,294,967,295 values cannot be ranked by words: train one of the heads, which read \
                          data piece by piece";
            return Err(Error::Data(reason.into()));
        }
        if shape.n as u64 * u64::from(self.proposals(shape).shortlist) > u64::from(u32::MAX) {
            let reason = "more than 4,294,967,295 candidates of all examples: train one of the heads, which read data \
                          piece by piece";
            return Err(Error::Data(reason.into()));
        }
        if data.weights()?.is_some_and(|weights| weights.iter().all(|weight| *weight == 0.0)) {
            return Err(Error::Data("every example has weight 0: there is nothing to learn from".into()));
        }
        Ok(())
    }

    fn embedder(&self, shape: Shape) -> Rembrandt {
        let most = shape.c.min(shape.d).max(1);
        let ridge = resolved_ridge(self.ridge, shape);
        let usual = (SMALL_TABLES / (shape.c + shape.d).max(1)).clamp(RankerParams::K, MOST_K);
        let k = self.k.unwrap_or(usual.min(most));
        Rembrandt { k, ridge, ..self.embedding.clone() }
    }

    /// How many candidates are proposed for an example.
    fn proposals(&self, shape: Shape) -> Proposals {
        if let Some(proposals) = self.proposals {
            return proposals;
        }
        let most = ((PAIRS / shape.n.max(1) as u64) as usize).max(FEWEST);
        let k = self.embedder(shape).k;
        let scan = shape.n as f64 * shape.c as f64 * k as f64 <= SCAN;
        let by_embedding = if scan { BY_EMBEDDING } else { 0 };
        Proposals {
            by_words: BY_WORDS as u32,
            by_embedding: by_embedding as u32,
            shortlist: SHORTLIST.min(most) as u32,
        }
    }

    /// Bytes that a training takes besides the data, at its peak: an estimate.
    pub fn memory(&self, data: &Dataset) -> u64 {
        let Shape { n, d, c } = data.shape();
        let embedding = self.embedder(data.shape());
        let k = embedding.k as u64;
        let (n, d, c, nnz) = (n as u64, d as u64, c as u64, data.nnz(Side::X));
        let shortlist = u64::from(self.proposals(data.shape()).shortlist).min(c);
        let candidates = n * shortlist;
        // The features by rows and by columns while associations are added up; candidates by rows and by labels after.
        let similar = SimilarExamples::bytes(n, nnz, data.nnz(Side::Y));
        let held_out =
            self.validation.map_or(n.div_ceil(HELD_OUT as u64).min(MOST_HELD_OUT as u64), |count| count as u64);
        let ranking = similar
            + 8 * nnz
            + 4 * (n + d + c) * k
            + (8 * nnz).max(8 * candidates)
            + RankerFit::bytes_of_candidates(n, held_out, shortlist)
            + association_bytes(d, nnz * data.nnz(Side::Y).div_ceil(n.max(1)));
        embedding.memory(data.shape()).max(ranking)
    }

    /// The time for a search, if there is to be one.
    pub(super) fn budget(&self) -> Result<Option<Duration>> {
        let time = |seconds| Duration::try_from_secs_f64(seconds).ok().filter(|budget| !budget.is_zero());
        let wrong = || Error::parameter("tune", "must be a time above 0");
        self.tune.map(|seconds| time(seconds).ok_or_else(wrong)).transpose()
    }

    /// Trains with these settings.
    pub(super) fn train(&self, data: &Dataset, preprocessing: Preprocessing, run: &mut Run<'_>) -> Result<Ranking> {
        let shape = data.shape();
        let held_out = self.hold_out(data, run)?;
        run.end_stage("division");
        let params = self.embedder(shape);
        let (mut embedding, labels, h) = self.embed(&params, data, &held_out, run)?;
        run.end_stage("embedding");
        let y = data.labels()?;
        let weights = data.weights()?;
        let x = unit_rows(data.features()?.view());
        let names = match (data.label_names(), preprocessing.feature_names(data)) {
            (Some(labels), Some(features)) => name_matrix(labels, features.iter(), (x.view(), shape.d)),
            _ => PackedMatrix::empty(shape.d),
        };
        let loss = suited_loss(y.view());
        let examples = RankerTargets { y: y.view(), weights: weights.as_deref(), d: shape.d, c: shape.c };
        let fit = RankerFit {
            proposals: self.proposals(data.shape()),
            shortened: self.proposals.is_none(),
            cost: self.cost,
            loss,
            held_out: &held_out,
            labels: &labels,
            h: &h,
            names: &names,
        };
        let fitted = run.within("ranker", |run| fit.fit(x, examples, run))?;
        drop(h);
        run.end_stage("ranker");
        if MANY_HELD_OUT * held_out.iter().filter(|out| **out).count() >= shape.n {
            let found = run.within("projection", |run| params.fit_projection(data, &embedding.labels, run))?;
            (embedding.projection, embedding.intercept) = found;
        }
        run.end_stage("projection");
        self.ranking(data, preprocessing, (embedding, fitted), y.view(), loss)
    }

    /// Whether each example is held out. Of very few none is.
    fn hold_out(&self, data: &Dataset, run: &mut Run<'_>) -> Result<Vec<bool>> {
        let n = data.shape().n;
        if let Some(count) = self.validation {
            return Ok((0..n).map(|i| i >= n - count).collect());
        }
        let groups = match self.group_duplicates {
            true => Some(run.checkpoint("groups", |_| near_duplicates::groups(data))?),
            false => None,
        };
        let folds = Folds { count: HELD_OUT.max(n.div_ceil(MOST_HELD_OUT)), seed: CROSS, groups: groups.as_deref() };
        let held_out: Vec<bool> = (0..n).map(|i| folds.of(i) == 0).collect();
        // The others must have something to learn from.
        let kept = data.labels()?;
        let learns = (0..n).any(|i| !held_out[i] && !kept.view().row(i).0.is_empty());
        Ok(if learns { held_out } else { vec![false; n] })
    }

    /// The embedding of the examples that are not held out, E, and h of all.
    fn embed(
        &self,
        params: &Rembrandt,
        data: &Dataset,
        held_out: &[bool],
        run: &mut Run<'_>,
    ) -> Result<(Embedding, Table, Matrix)> {
        let kept = data.view().rows(|i| !held_out[i])?;
        let embedding = run.within("embedding", |run| params.fit(&kept, run))?;
        let mut h = data.gather_features(embedding.projection.view())?;
        add_intercept(&mut h, &embedding.intercept);
        let labels = embedding.labels.clone().into();
        Ok((embedding, labels, h))
    }

    fn ranking(
        &self,
        data: &Dataset,
        preprocessing: Preprocessing,
        (embedding, fitted): (Embedding, FittedRanker),
        y: CsrRef<'_>,
        loss: Loss,
    ) -> Result<Ranking> {
        let (shape, mut ranker) = (data.shape(), fitted.ranker);
        let judge = Judge { views: &fitted.held_out, y, weights: data.weights()? };
        let mut thresholds = judge.thresholds(&ranker.combination, loss, shape.c)?;
        let mut contents = Contents::of(data, preprocessing, Calibration::identity(loss))?;
        if let Some(propensity) = self.propensity {
            let propensities = Propensities::new(propensity, &contents.stats.counts, shape.n as u64)?;
            let inverse = (0..shape.c as u32).map(|label| propensities.inverse(label));
            ranker.offsets = inverse.clone().map(|inverse| inverse.ln() as f32).collect();
            let lift = |(threshold, inverse): (&mut f32, f64)| *threshold = lifted(*threshold, inverse);
            thresholds.iter_mut().zip(inverse).for_each(lift);
        }
        let report = RankerReport {
            held_out: judge.precision(|place, candidate| judge.views.halves.of(place).score(&candidate.views)),
            views: judge.single_views(&ranker),
            recall: fitted.recall,
            proposals: ranker.proposals,
            cost: fitted.cost,
            combination: ranker.combination,
            pairs: ranker.pairs(),
            trials: Vec::new(),
            embedding: embedding.report.clone(),
        };
        let mut h = data.gather_features(embedding.projection.view())?;
        add_intercept(&mut h, &embedding.intercept);
        (contents.stats.mean, contents.stats.covariance) = moments(h.view());
        let params = RankerParams { k: Some(embedding.labels.cols()), cost: Some(fitted.cost), ..self.clone() };
        let held_out = fitted.held_out.rows.iter().copied().zip(fitted.held_out.ndcg(y)).collect();
        let model = Model::new(Contents {
            // One view of several needs no more than this.
            labels: Table::from(embedding.labels).to_format(NumberFormat::Bf16),
            projection: Table::from(embedding.projection).to_format(NumberFormat::Bf16),
            intercept: embedding.intercept,
            spectrum: embedding.spectrum,
            head: Head::LeastSquares,
            ranker: Some(ranker),
            thresholds,
            params: json!(params),
            report: json!(report),
            ..contents
        })?;
        Ok(Ranking { model, report, held_out, weights: data.weights()? })
    }
}

/// A model, and how well it ranks held-out examples.
pub(super) struct Ranking {
    pub model: Model,
    pub report: RankerReport,
    /// Held-out examples, ascending, with the nDCG@5 of each.
    held_out: Vec<(u32, f64)>,
    weights: Option<Vec<f32>>,
}

impl Ranking {
    fn weighted(&self, gains: impl Iterator<Item = (u32, f64)>) -> f64 {
        let weight = |i: u32| self.weights.as_ref().map_or(1.0, |weights| f64::from(weights[i as usize]));
        let (sum, total) =
            gains.fold((0.0, 0.0), |(sum, total), (i, gain)| (sum + weight(i) * gain, total + weight(i)));
        if total > 0.0 { sum / total } else { 0.0 }
    }

    pub fn mean_ndcg(&self) -> f64 {
        self.weighted(self.held_out.iter().copied())
    }

    /// By nDCG@5 on the examples that judged both.
    pub fn ranks_better_than(&self, other: &Ranking) -> bool {
        let other_of = |i: u32| other.held_out.binary_search_by_key(&i, |(row, _)| *row).map(|at| other.held_out[at].1);
        self.weighted(self.held_out.iter().filter_map(|(i, own)| Some((*i, own - other_of(*i).ok()?)))) > 0.0
    }
}

/// Rows scaled to length 1.
fn unit_rows(x: CsrRef<'_>) -> Csr {
    let (mut out, mut values) = (Csr::new(false), Vec::new());
    for i in 0..x.rows() {
        unit_values(x.row(i), |value| value, &mut values);
        x.row(i).0.iter().zip(&values).for_each(|(id, value)| out.push(*id, *value));
        out.end_row();
    }
    out
}

/// Held-out examples, by which scores are judged.
struct Judge<'a> {
    views: &'a HeldOutViews,
    y: CsrRef<'a>,
    weights: Option<Vec<f32>>,
}

impl Judge<'_> {
    /// Precision of the candidates in the order of a score, which may depend on the place of the example.
    fn precision(&self, score: impl Fn(usize, &Candidate) -> f32) -> HeldOut {
        let (mut sums, mut total) = ([0.0; 3], 0.0);
        for (place, i) in self.views.rows.iter().enumerate() {
            let weight = self.weights.as_ref().map_or(1.0, |weights| f64::from(weights[*i as usize]));
            let ranked = self.views.ranked(place, |candidate| score(place, candidate));
            let truth = self.y.row(*i as usize).0;
            for (sum, k) in sums.iter_mut().zip([1, 3, 5]) {
                *sum += weight * precision_at(truth, &ranked, k);
            }
            total += weight;
        }
        let [p1, p3, p5] = sums.map(|sum| if total > 0.0 { sum / total } else { 0.0 });
        HeldOut { examples: self.views.rows.len() as u64, p1, p3, p5 }
    }

    /// Precision of the candidates in the order of each view that the ranker has.
    fn single_views(&self, ranker: &Ranker) -> Vec<(String, HeldOut)> {
        let view = |at: usize| move |_: usize, candidate: &Candidate| Combination::single_view(&candidate.views, at);
        let named = |at: &usize| *at != LabelViews::NAME || ranker.names.len() > 0;
        let voted = |at: &usize| *at <= LabelViews::FREQUENCY || ranker.similar.is_some();
        (0..LabelViews::NAMES.len())
            .filter(|at| *at != LabelViews::FREQUENCY && named(at) && voted(at))
            .map(|at| (LabelViews::NAMES[at].to_owned(), self.precision(view(at))))
            .collect()
    }

    /// The probability of each label from which it is predicted.
    fn thresholds(&self, combination: &Combination, loss: Loss, c: usize) -> Result<Vec<f32>> {
        let (mut probabilities, mut truth, mut last) = (Csr::new(false), Csr::new(true), Vec::new());
        for (i, candidates) in self.views.rows.iter().zip(&self.views.candidates) {
            let scores: Vec<f32> = candidates.iter().map(|c| combination.score(&c.views)).collect();
            let mut best = TopK::new(thresholds::CANDIDATES);
            let largest = scores.iter().copied().fold(0f32, f32::max);
            let exp = |score: f32| f64::from(score - largest).exp();
            let partition: f64 = exp(0.0) + scores.iter().map(|s| exp(*s)).sum::<f64>();
            for (candidate, score) in candidates.iter().zip(&scores) {
                let p = match loss {
                    Loss::Independent => 1.0 / (1.0 + f64::from(-score).exp()),
                    Loss::Softmax => exp(*score) / partition,
                };
                best.offer(candidate.label, p as f32);
            }
            let mut row: Vec<(u32, f32)> = best.into_ranked().collect();
            last.extend(row.last().filter(|_| candidates.len() > thresholds::CANDIDATES).map(|(_, p)| *p));
            row.sort_unstable_by_key(|(label, _)| *label);
            row.into_iter().for_each(|(label, p)| probabilities.push(label, p));
            probabilities.end_row();
            self.y.row(*i as usize).0.iter().for_each(|label| truth.push(*label, 1.0));
            truth.end_row();
        }
        thresholds::of_probabilities(&probabilities, last, truth.view(), c)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Rows;

    const C: usize = 30;

    /// Label l is told by the features 2l and 2l + 1; the rest is noise. Each third example has a second label.
    fn data(n: usize, several: bool) -> Dataset {
        let mut rows = Rows::new();
        for i in 0..n {
            let labels = match several && i % 3 == 0 {
                true => vec![i % C, (i % C + 7) % C],
                false => vec![i % C],
            };
            let mut features: Vec<usize> = labels.iter().map(|l| 2 * l + i % 2).collect();
            features.extend([2 * C + i * 7919 % 40, 2 * C + 40 + i * 104_729 % 50]);
            features.sort_unstable();
            features.dedup();
            features.iter().for_each(|f| rows.x.push(*f as u32, 1.0));
            rows.x.end_row();
            let mut labels: Vec<u32> = labels.iter().map(|l| *l as u32).collect();
            labels.sort_unstable();
            labels.iter().for_each(|l| rows.y.push(*l, 1.0));
            rows.y.end_row();
        }
        Dataset::from_rows(&rows, 2 * C + 90, C + 1).unwrap()
    }

    fn fit(params: &RankerParams, data: &Dataset) -> Result<Model> {
        params.fit(data, Preprocessing::AsIs, &mut Run::default())
    }

    fn report(model: &Model) -> RankerReport {
        serde_json::from_value(model.report().clone()).unwrap()
    }

    #[test]
    fn labels_are_learned_and_the_report_tells() {
        for several in [false, true] {
            let train = data(3000, several);
            let model = fit(&RankerParams::default(), &train).unwrap();
            let report = report(&model);
            assert!(report.held_out.p1 > 0.98 && report.recall > 0.99, "{report:?}");
            assert!(report.held_out.examples > 200 && report.views.len() == 3);
            let found = model.predict(&train.features().unwrap(), 3).unwrap();
            let truth = train.labels().unwrap();
            let right = (0..3000).filter(|i| truth.view().row(*i).0.contains(&found.labels(*i)[0])).count();
            assert!(right > 2950, "{right}");
            if several {
                let both = (0..3000).step_by(3).filter(|i| {
                    let mut two = found.labels(*i)[..2].to_vec();
                    two.sort_unstable();
                    two == truth.view().row(*i).0
                });
                assert!(both.count() > 950);
            } else {
                (0..9).for_each(|i| assert!(found.probabilities(i).iter().sum::<f32>() <= 1.0 + 1e-5));
            }
        }
    }

    #[test]
    fn the_bytes_do_not_depend_on_threads() {
        let (train, dir) = (data(700, true), tempfile::tempdir().unwrap());
        let bytes = [1, 2, 5].map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let model = pool.install(|| fit(&RankerParams::default(), &train)).unwrap();
            let path = dir.path().join(threads.to_string());
            model.save(&path).unwrap();
            std::fs::read(path).unwrap()
        });
        assert!(bytes[0] == bytes[1] && bytes[1] == bytes[2]);
    }

    #[test]
    fn propensities_lift_rare_labels_and_no_other_number() {
        let train = data(600, true);
        let plain = fit(&RankerParams::default(), &train).unwrap();
        let lifted =
            fit(&RankerParams::default().with(|p| p.propensity = Some(Propensity::default())), &train).unwrap();
        let x = train.features().unwrap();
        let (a, b) = (plain.scores(&x).unwrap(), lifted.scores(&x).unwrap());
        let inverse = Propensities::new(Propensity::default(), &plain.training_stats().counts, 600).unwrap();
        for label in 0..=C {
            let gained = f64::from(b.row(5)[label] - a.row(5)[label]);
            assert!((gained - inverse.inverse(label as u32).ln()).abs() < 1e-3, "{label}");
        }
        let params = RankerParams::default().with(|p| p.propensity = Some(Propensity::default()));
        let refused = |params: &RankerParams, several| params.check(&data(60, several)).unwrap_err().to_string();
        assert!(refused(&params, false).starts_with("propensity: is for independent labels"));
        let negative = params.with(|p| p.propensity = Some(Propensity { a: -1.0, b: 1.0 }));
        assert!(refused(&negative, true).starts_with("propensity.a: "));
    }

    #[test]
    fn odd_data_have_a_defined_outcome() {
        let of = |x: &[&[u32]], y: &[&[u32]]| {
            let mut rows = Rows::new();
            for (x, y) in x.iter().zip(y) {
                x.iter().for_each(|f| rows.x.push(*f, 1.0));
                rows.x.end_row();
                y.iter().for_each(|l| rows.y.push(*l, 1.0));
                rows.y.end_row();
            }
            Dataset::from_rows(&rows, 3, 3).unwrap()
        };
        // One example; all the same; examples without labels or features; a constant feature.
        let same: [&[u32]; 40] = [&[1]; 40];
        let odd: [&[u32]; 4] = [&[0], &[], &[0, 2], &[2]];
        for data in [
            of(&[&[0]], &[&[1]]),
            of(&same, &same),
            of(&odd, &[&[0], &[1], &[], &[2]]),
            of(&[&[0, 1], &[0, 2], &[0, 1], &[0, 2]], &[&[0], &[1], &[0], &[1]]),
        ] {
            let model = fit(&RankerParams::default(), &data).unwrap();
            let found = model.predict(&data.features().unwrap(), 3).unwrap();
            assert!(found.probabilities(0).iter().all(|p| p.is_finite() && (0.0..=1.0).contains(p)));
        }
        assert!(fit(&RankerParams::default(), &of(&[&[0]], &[&[]])).is_err());
        assert!(fit(&RankerParams::default(), &of(&[&[]], &[&[0]])).is_err());
        let bad = RankerParams::default().with(|p| p.cost = Some(0.0));
        assert!(fit(&bad, &of(&same, &same)).unwrap_err().to_string().starts_with("cost: "));
    }
}
