//! Scores of a stream of examples.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::bootstrap::{Weights, interval};
use super::labels::{Band, Confusion, Confusions, LabelScores, Labels, bands};
use super::tally::{Applicable, ExampleTally, RankSums, Sums, Tally};
use super::{
    Bootstrap, ECE_BINS, Intervals, Measures, Propensities, Propensity, RANKS, Scores, ndcg_at, precision_at, recall_at,
};
use crate::{Error, Result};

/// Settings of an evaluation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Settings {
    /// The ranks down to which lists are scored, ascending.
    pub ranks: Vec<usize>,
    /// Constants of the propensity model behind `psp@k`.
    pub propensity: Propensity,
    /// Whether scores are probabilities: then they must be given with every example, lie in [0, 1], and `ece` says
    /// how far they can be trusted.
    pub probabilities: bool,
    /// How to compute intervals; absent: none.
    pub bootstrap: Option<Bootstrap>,
}

setter!(Settings);

impl Default for Settings {
    fn default() -> Settings {
        Settings { ranks: RANKS.to_vec(), propensity: Propensity::default(), probabilities: false, bootstrap: None }
    }
}

/// The truth about an example, and a prediction for it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Example<'a> {
    /// The true labels, ascending and distinct. They may lie beyond the labels of the model.
    pub truth: &'a [u32],
    /// The labels ranked highest, best first, as from [`rank`](super::rank). Only those are looked at that are
    /// [scored](Settings::ranks).
    pub ranked: &'a [u32],
    /// Score or probability of each of `ranked`, in descending order.
    pub scores: Option<&'a [f32]>,
    /// The labels predicted to be true, ascending and distinct, as from
    /// [`predicted_positive`](super::predicted_positive): for `hamming`, `micro_f1` and `macro_f1`, which apply if
    /// every example has them.
    pub positive: Option<&'a [u32]>,
}

/// Takes examples one by one and keeps the sums that their scores are made of.
///
/// The memory is 12 bytes per label for macro-F1, 20 with propensities, and half a kilobyte per replicate of the
/// bootstrap. The order of examples matters to the scores no more than rounding does; the intervals are drawn for
/// examples by their number.
#[derive(Clone, Debug)]
pub struct Evaluator {
    c: usize,
    settings: Settings,
    propensities: Option<Arc<Propensities>>,
    /// Number of the first example among those of all parts.
    first: u64,
    n: u64,
    /// Examples that say which labels they predict.
    decided: u64,
    most_labels: usize,
    longest_list: usize,
    all: Tally,
    confusions: Confusions,
    replicates: Vec<Tally>,
    source: Weights,
    weights: Vec<u32>,
}

impl Evaluator {
    /// For predictions among `c` labels.
    pub fn new(c: usize, settings: Settings) -> Result<Evaluator> {
        if let Some(bootstrap) = &settings.bootstrap {
            bootstrap.check()?;
        }
        if settings.ranks.first().is_none_or(|k| *k == 0) || !settings.ranks.is_sorted_by(|a, b| a < b) {
            return Err(Error::parameter("ranks", "must be numbers above 0, ascending and each once"));
        }
        Ok(Evaluator::empty(c, settings, None, 0))
    }

    fn empty(c: usize, settings: Settings, propensities: Option<Arc<Propensities>>, first: u64) -> Evaluator {
        let (replicates, seed, labels) =
            settings.bootstrap.map_or((0, 0, None), |b| (b.replicates, b.seed, b.macro_f1.then_some(c)));
        let ranks = settings.ranks.len();
        Evaluator {
            c,
            settings,
            propensities,
            first,
            n: 0,
            decided: 0,
            most_labels: 0,
            longest_list: 0,
            all: Tally::new(ranks, Some(c)),
            confusions: Confusions::default(),
            replicates: vec![Tally::new(ranks, labels); replicates],
            source: Weights::new(seed),
            weights: vec![0; replicates],
        }
    }

    /// Adds what `psp@k` needs: how many training examples have each label, and how many there are.
    pub fn trained_on(mut self, counts: &[u64], n_train: u64) -> Result<Evaluator> {
        if counts.len() != self.c {
            let reason = format!("{} labels are counted, but there are {}", counts.len(), self.c);
            return Err(Error::parameter("counts", reason));
        }
        self.propensities = Some(Arc::new(Propensities::new(self.settings.propensity, counts, n_train)?));
        Ok(self)
    }

    /// An evaluator like this one, without examples, whose first example is number `first` of all: for a part of the
    /// examples on another thread, to be [merged](Evaluator::merge) later. Intervals come out as if all examples had
    /// been pushed to one evaluator in the order of their numbers.
    ///
    /// ```
    /// use rembrandt::metrics::{Evaluator, Example, Settings};
    ///
    /// let mut whole = Evaluator::new(10, Settings::default())?;
    /// let mut part = whole.part(1);
    /// whole.push(&Example { truth: &[3], ranked: &[3, 1], ..Example::default() })?;
    /// part.push(&Example { truth: &[4], ranked: &[3, 1], ..Example::default() })?;
    /// whole.merge(part);
    /// assert_eq!(whole.scores().of("p@1"), Some(0.5));
    /// # Ok::<(), rembrandt::Error>(())
    /// ```
    pub fn part(&self, first: u64) -> Evaluator {
        Evaluator::empty(self.c, self.settings.clone(), self.propensities.clone(), first)
    }

    /// Adds the examples of another part.
    ///
    /// # Panics
    /// If the two were made for different numbers of labels or with different settings.
    pub fn merge(&mut self, other: Evaluator) {
        let made_for = |e: &Evaluator| (e.c, e.settings.clone(), e.propensities.is_some());
        assert_eq!(made_for(self), made_for(&other), "parts of one evaluation are made alike");
        self.n += other.n;
        self.decided += other.decided;
        self.most_labels = self.most_labels.max(other.most_labels);
        self.longest_list = self.longest_list.max(other.longest_list);
        self.all.merge(other.all);
        self.confusions.merge(other.confusions);
        for (mine, theirs) in self.replicates.iter_mut().zip(other.replicates) {
            mine.merge(theirs);
        }
    }

    /// Adds the next example.
    ///
    /// Refused, with nothing changed, are: labels out of order or twice, predicted labels that the model does not
    /// have, scores that are not numbers or not in descending order, and probabilities missing or outside of [0, 1].
    pub fn push(&mut self, example: &Example<'_>) -> Result<()> {
        let number = self.first + self.n;
        self.check(example).map_err(|reason| Error::Data(format!("example {number} (counted from 0): {reason}")))?;
        let row = self.row(example);
        self.all.add(&row, 1);
        if let Some(positive) = example.positive {
            self.confusions.add(example.truth, example.ranked, positive);
        }
        self.source.fill(number, &mut self.weights);
        for (replicate, weight) in self.replicates.iter_mut().zip(&self.weights) {
            if *weight > 0 {
                replicate.add(&row, *weight);
            }
        }
        self.n += 1;
        self.decided += u64::from(example.positive.is_some());
        self.most_labels = self.most_labels.max(example.truth.len());
        self.longest_list = self.longest_list.max(example.ranked.len());
        Ok(())
    }

    fn check(&self, example: &Example<'_>) -> Result<(), String> {
        let ascending = |name: &str, labels: &[u32]| match labels.windows(2).find(|pair| pair[0] >= pair[1]) {
            Some(pair) => Err(format!("{name} labels are not ascending: {} comes before {}", pair[0], pair[1])),
            None => Ok(()),
        };
        let known = |labels: &[u32]| match labels.iter().find(|label| **label as usize >= self.c) {
            Some(label) => Err(format!("label {label} is predicted, but there are only {}", self.c)),
            None => Ok(()),
        };
        ascending("true", example.truth)?;
        if let Some(positive) = example.positive {
            ascending("positive", positive)?;
            known(positive)?;
        }
        let ranked = &example.ranked[..example.ranked.len().min(self.deepest())];
        known(ranked)?;
        if let Some(twice) = (1..ranked.len()).find(|i| ranked[..*i].contains(&ranked[*i])) {
            return Err(format!("label {} is ranked twice", ranked[twice]));
        }
        let Some(scores) = example.scores else {
            let missing = self.settings.probabilities.then(|| "the probabilities are missing".into());
            return missing.map_or(Ok(()), Err);
        };
        if scores.len() != example.ranked.len() {
            return Err(format!("{} labels are ranked, but {} have scores", example.ranked.len(), scores.len()));
        }
        let scores = &scores[..ranked.len()];
        if scores.iter().any(|score| score.is_nan()) {
            return Err("a score is not a number".into());
        }
        if let Some(pair) = scores.windows(2).find(|pair| pair[0] < pair[1]) {
            return Err(format!("scores are not descending: {} comes before {}", pair[0], pair[1]));
        }
        match scores.iter().find(|score| self.settings.probabilities && !(0.0..=1.0).contains(*score)) {
            Some(score) => Err(format!("{score} is not a probability")),
            None => Ok(()),
        }
    }

    fn row<'a>(&self, example: &Example<'a>) -> ExampleTally<'a> {
        let &Example { truth, ranked, .. } = example;
        let positive = example.positive.unwrap_or_default();
        let at = |k: &usize| {
            let worth = |f: &dyn Fn(&Propensities) -> f64| self.propensities.as_deref().map_or(0.0, f);
            RankSums {
                precision: precision_at(truth, ranked, *k),
                recall: recall_at(truth, ranked, *k),
                ndcg: ndcg_at(truth, ranked, *k),
                gain: worth(&|propensities| propensities.gain_at(truth, ranked, *k)),
                best: worth(&|propensities| propensities.best_at(truth, *k)),
            }
        };
        let sums = Sums {
            weight: 1.0,
            first: precision_at(truth, ranked, 1),
            ranks: self.settings.ranks.iter().map(at).collect(),
            common: positive.iter().filter(|label| truth.binary_search(label).is_ok()).count() as f64,
            predicted: positive.len() as f64,
            actual: truth.len() as f64,
        };
        let probabilities = example.scores.filter(|_| self.settings.probabilities);
        let top = probabilities.and_then(|p| p.first()).zip(ranked.first());
        ExampleTally {
            sums,
            top: top.map(|(p, label)| (f64::from(*p), truth.binary_search(label).is_ok())),
            decisions: example.positive.map(|positive| (truth, positive)),
        }
    }

    /// The last rank that is scored.
    fn deepest(&self) -> usize {
        self.settings.ranks.last().copied().unwrap_or(0)
    }

    fn applicable(&self) -> Applicable<'_> {
        Applicable {
            c: self.c,
            ranks: &self.settings.ranks,
            beyond_first: self.longest_list > 1,
            multiclass: self.most_labels == 1,
            decisions: self.all_decided(),
        }
    }

    /// Whether every example says which labels it predicts.
    fn all_decided(&self) -> bool {
        self.decided == self.n
    }

    /// Number of examples so far.
    pub fn n(&self) -> u64 {
        self.n
    }

    /// How to compute intervals, if at all.
    pub fn bootstrap(&self) -> Option<Bootstrap> {
        self.settings.bootstrap
    }

    /// The scores of the examples so far.
    pub fn scores(&self) -> Scores {
        self.measures(self.all.scores(&self.applicable()))
    }

    /// The interval of each score, if [asked for](Settings::bootstrap).
    ///
    /// A score lies in its interval. Replicates in which a score has nothing to divide by are left out.
    pub fn intervals(&self) -> Option<Intervals> {
        let level = self.settings.bootstrap?.level;
        let replicates = self.replicates();
        let of = |(i, score): (usize, Option<f64>)| {
            let values = replicates.iter().filter_map(|replicate| replicate[i]).collect();
            interval(score?, values, level)
        };
        Some(self.measures(self.all.scores(&self.applicable()).into_iter().enumerate().map(of)))
    }

    /// The scores of each replicate, in the order of their names.
    pub(super) fn replicates(&self) -> Vec<Vec<Option<f64>>> {
        let applicable = self.applicable();
        self.replicates.iter().map(|tally| tally.scores(&applicable)).collect()
    }

    /// Under the names of the scores.
    fn measures<T: Copy>(&self, values: impl IntoIterator<Item = Option<T>>) -> Measures<T> {
        Measures::new(&self.settings.ranks, values, self.n)
    }

    /// How well each label is predicted that is true or predicted somewhere, in the order of ids; absent unless every
    /// example says which labels it predicts.
    pub fn labels(&self) -> Option<Vec<LabelScores>> {
        self.all.labels.as_ref().filter(|_| self.all_decided()).map(|labels: &Labels| labels.decided().collect())
    }

    /// The same for the most frequent labels, which make up a third of those given in training, those of the second third,
    /// and the others; `counts` are the training examples of each label. Labels that are equally frequent stay together.
    ///
    /// # Panics
    /// If a label has no count.
    pub fn bands(&self, counts: &[u64]) -> Option<Vec<Band>> {
        self.labels().map(|labels| bands(&labels, counts))
    }

    /// Pairs of labels of which one is missed and the other given in its place, those of most examples first. Only labels
    /// that are [ranked](Settings::ranks) count as given.
    pub fn confusions(&self) -> Vec<Confusion> {
        self.confusions.ranked()
    }

    /// How far probabilities can be trusted: the bins of `ece` that have examples.
    pub fn reliability(&self) -> Vec<ReliabilityBin> {
        let width = 1.0 / ECE_BINS as f64;
        let bin = |(i, bin): (usize, &super::tally::Bin)| ReliabilityBin {
            low: i as f64 * width,
            high: (i + 1) as f64 * width,
            examples: bin.weight as u64,
            probability: bin.probability / bin.weight,
            frequency: bin.right / bin.weight,
        };
        self.all.bins.iter().enumerate().filter(|(_, bin)| bin.weight > 0.0).map(bin).collect()
    }
}

/// Examples whose first label is about equally probable.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ReliabilityBin {
    /// Least probability of the bin.
    pub low: f64,
    /// Where the next one begins.
    pub high: f64,
    /// How many there are.
    pub examples: u64,
    /// The mean of the probabilities.
    pub probability: f64,
    /// The share of labels that are true.
    pub frequency: f64,
}
