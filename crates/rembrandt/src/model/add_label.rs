//! A label more, from a few examples, without training.
//!
//! Training keeps the mean μ and the covariance Σ of h. Examples of a new label are taken for draws from a normal
//! distribution with the same covariance around another mean, whose log-odds are linear in h (Fisher's discriminant):
//!
//! ```text
//! m̄ = (κμ + Σᵢ hᵢ) / (κ + m),    w = (Σ + τ·tr(Σ)/k·I)⁻¹ (m̄ − μ)
//! log-odds(h) = wᵀ(h − (m̄ + μ)/2) + log(π/(1 − π)),    π = (m + ½)/(n + m + 1)
//! ```
//!
//! κ = 1 pseudo-example at the mean: a single example says half of what it seems to say, ten say ten elevenths. τ keeps
//! directions in which training hardly varied from deciding. π is the frequency of the label had its m examples been
//! among the n of training, with half an example either way.
//!
//! Its row of the embedding, for [`neighbors`](Model::neighbors), follows from what the rows of the others are. In
//! training, the sum of h over the examples of label l is its column of EᵀM = diag(μ)Eᵀ, so that
//!
//! ```text
//! e = diag(1/μ) Σᵢ hᵢ
//! ```
//!
//! gives the label its own row back (μ are now the eigenvalues). When training shifted the data to mean 0 this holds for
//! h less its mean, and is told by the rows of E: only then they sum to nearly nothing.
//!
//! The weights are kept apart from those of the head, so nothing changes for the labels that were there.
//!
//! A label without examples is known by its name alone. A ranker has a view for that: the label becomes one of those that
//! it proposes and ranks, with nothing to say for it but the words of its name.

use super::{Model, names};
use crate::linalg::csr::CsrRef;
use crate::linalg::direct::Cholesky;
use crate::linalg::matrix::Matrix;
use crate::metrics::DEFAULT_THRESHOLD;
use crate::score::ranker::names as label_words;
use crate::{Error, Result};

/// κ: pseudo-examples at the mean of all examples.
const PRIOR_EXAMPLES: f64 = 1.0;
/// τ: added to the covariance, relative to the mean of its diagonal.
const RIDGE: f64 = 0.1;
/// Eigenvalues below this fraction of the largest are noise, which a division would blow up.
const SMALLEST: f64 = 1e-6;

impl Model {
    /// A model with one label more, the last one, learned from examples as they come from a reader.
    ///
    /// # Errors
    /// If there is a label of this name, the name has more than one line, no example has a feature that the model
    /// knows, a value is not finite, or the model was trained on texts.
    pub fn add_label<'a>(&self, name: &str, examples: impl Into<CsrRef<'a>>) -> Result<Model> {
        self.add_label_prepared(name, self.prepare(examples.into())?.view())
    }

    /// The same from texts.
    ///
    /// # Errors
    /// Likewise, and if the model was not trained on texts.
    pub fn add_label_from_texts<T: AsRef<str> + Sync>(&self, name: &str, texts: &[T]) -> Result<Model> {
        self.add_label_prepared(name, self.prepare_texts(texts)?.view())
    }

    /// The same from rows that [`prepare`](Model::prepare) or [`prepare_texts`](Model::prepare_texts) made.
    ///
    /// # Errors
    /// Likewise.
    pub fn add_label_prepared(&self, name: &str, x: CsrRef<'_>) -> Result<Model> {
        self.check_embedding()?;
        self.check_new_name(name)?;
        let h = self.project(x);
        let known: Vec<usize> = (0..x.rows()).filter(|i| !x.row(*i).0.is_empty()).collect();
        if known.is_empty() {
            let reason = "no example has a feature that the model knows: give it others";
            return Err(Error::parameter("examples", reason));
        }
        let sum: Vec<f64> = (0..self.shape().k).map(|j| known.iter().map(|i| f64::from(h.row(*i)[j])).sum()).collect();
        let weights = self.discriminant(&sum, known.len() as f64)?;
        let embedding = self.embedding_of(&sum, known.len() as f64);
        if !weights.iter().chain(&embedding).all(|v| v.is_finite()) {
            return Err(Error::parameter("examples", "their values are too large: scale them as in training"));
        }
        let mut contents = self.contents().clone();
        contents.labels = contents.labels.with_row(&embedding);
        contents.stats.counts.push(known.len() as u64);
        contents.thresholds.push(DEFAULT_THRESHOLD);
        let rows = contents.added_weights.rows() + 1;
        contents.added_weights =
            Matrix::from_vec(rows, weights.len(), [contents.added_weights.as_slice(), &weights].concat());
        // A model without names calls its labels by their numbers.
        let c = self.shape().c;
        let names = contents.label_names.get_or_insert_with(|| (0..c).map(|id| id.to_string()).collect());
        names.push(name);
        Model::new(contents)
    }

    /// A model with one label more, the last one, which has no examples yet: it is found by the words of its name.
    ///
    /// # Errors
    /// If there is a label of this name, the model has no ranker or no names of features, no word of the name is one of its
    /// features, or labels were added from examples before.
    pub fn add_label_by_name(&self, name: &str) -> Result<Model> {
        let wrong = |reason: &str| Err(Error::parameter("name", format!("{name:?} {reason}")));
        let (Some(ranker), Some(features)) = (&self.contents().ranker, self.feature_names()) else {
            return wrong(
                "has no examples, and this model does not know labels by their names: give it a few examples",
            );
        };
        if self.added() > 0 {
            return wrong("has no examples, and labels that were added from examples come last: add it before these");
        }
        self.check_new_name(name)?;
        // As in training, a word of very many names tells nothing.
        let names_with = |word: &str| {
            let names = self.label_names().into_iter().flat_map(|names| names.iter());
            names.filter(|name| label_words::words(name).iter().any(|other| other == word)).count()
        };
        let idf = |id: usize| self.contents().preprocessing.idf(id).map_or(1.0, f64::from);
        let find = |word: &str| match features.iter().position(|feature| feature == word) {
            Some(id) if names_with(word) <= label_words::MOST_NAMES => (Some(id), idf(id)),
            _ => (None, 1.0),
        };
        let found: Vec<(usize, f32)> = label_words::name_features(name, find).collect();
        if found.is_empty() {
            return wrong("has no word that the model knows: give it a few examples");
        }
        let mut contents = self.contents().clone();
        contents.ranker = Some(ranker.with_name(&found));
        contents.labels = contents.labels.with_row(&vec![0.0; self.shape().k]);
        contents.stats.counts.push(0);
        contents.thresholds.push(DEFAULT_THRESHOLD);
        let c = self.shape().c;
        contents.label_names.get_or_insert_with(|| (0..c).map(|id| id.to_string()).collect()).push(name);
        Model::new(contents)
    }

    /// Refuses a name that a new label cannot have.
    fn check_new_name(&self, name: &str) -> Result<()> {
        let c = self.shape().c;
        let taken = match self.label_names() {
            Some(names) => names.iter().any(|existing| existing == name),
            None => name.parse::<usize>().is_ok_and(|id| id < c && id.to_string() == name),
        };
        if taken {
            return Err(Error::parameter("name", format!("{name:?} is a label already: choose another name")));
        }
        if name.is_empty() {
            return Err(Error::parameter("name", "a label needs a name"));
        }
        // Where data write labels as numbers, a new label is the next one: by another number no data would mean it.
        if name.parse::<usize>().is_ok_and(|number| !self.training_stats().words[1] && number > c) {
            let reason = format!("{name:?} is not the number of the next label: call it {c}, or by a word");
            return Err(Error::parameter("name", reason));
        }
        names::check("name", [name].into_iter())?;
        if c >= u32::MAX as usize {
            return Err(Error::Data("the model has as many labels as it can have".into()));
        }
        Ok(())
    }

    /// Weights and constant for a label with `m` examples whose h add up to `sum`.
    fn discriminant(&self, sum: &[f64], m: f64) -> Result<Vec<f32>> {
        let stats = self.training_stats();
        let (k, n) = (self.shape().k, stats.examples as f64);
        let mean: Vec<f64> = stats.mean.iter().map(|v| f64::from(*v)).collect();
        let moved: Vec<f64> = sum.iter().zip(&mean).map(|(s, mean)| (s - m * mean) / (PRIOR_EXAMPLES + m)).collect();
        let trace: f64 = (0..k).map(|j| f64::from(stats.covariance.row(j)[j])).sum();
        let spread = || Error::Data("training saw no two examples that differ: a label cannot be added".into());
        let ridge = Some(RIDGE * trace / k as f64).filter(|ridge| *ridge > 0.0).ok_or_else(spread)?;
        let factor = Cholesky::new(&stats.covariance, &vec![ridge; k]).ok_or_else(spread)?;
        let solved = factor.solve(&Matrix::from_fn(k, 1, |j, _| moved[j] as f32));
        let weight = |j: usize| f64::from(solved.row(j)[0]);
        let middle: f64 = (0..k).map(|j| weight(j) * (mean[j] + 0.5 * moved[j])).sum();
        let prior = ((m + 0.5) / (n + 0.5)).ln();
        Ok((0..k).map(|j| weight(j) as f32).chain([(prior - middle) as f32]).collect())
    }

    /// The row of the embedding for a label with `m` examples whose h add up to `sum`.
    fn embedding_of(&self, sum: &[f64], m: f64) -> Vec<f32> {
        let centred = if self.is_centred() { m } else { 0.0 };
        let largest = self.spectrum().iter().fold(0.0, |max: f64, v| max.max(*v));
        let entry = |((sum, mean), value): ((&f64, &f32), &f64)| {
            let shifted = sum - centred * f64::from(*mean);
            if *value > SMALLEST * largest { (shifted / value) as f32 } else { 0.0 }
        };
        sum.iter().zip(&self.training_stats().mean).zip(self.spectrum()).map(entry).collect()
    }

    /// Whether training shifted the data to mean 0. Then diag(μ) times the sum of the rows of E, which is the sum over
    /// all labels and their examples of h less its mean, is nearly 0; else it is nearly as many times the mean of h as
    /// there are labels on examples.
    fn is_centred(&self) -> bool {
        let trained = self.shape().c - self.added();
        let mut sum = vec![0.0; self.shape().k];
        for label in 0..trained {
            sum.iter_mut().zip(self.labels().row(label).iter()).for_each(|(sum, e)| *sum += f64::from(*e));
        }
        let pairs: f64 = self.training_stats().counts[..trained].iter().map(|count| *count as f64).sum();
        let mean = self.training_stats().mean.iter().map(|v| f64::from(*v));
        let (mut along, mut square) = (0.0, 0.0);
        for ((sum, value), mean) in sum.iter().zip(self.spectrum()).zip(mean) {
            along += sum * value * mean;
            square += mean * mean * pairs;
        }
        along < 0.5 * square
    }

    /// The log-odds of a label that was added.
    pub(super) fn added_log_odds(&self, label: usize, h: &[f32]) -> f64 {
        let weights = self.contents().added_weights.row(label + self.added() - self.shape().c);
        let (constant, weights) = weights.split_last().expect("weights have a constant");
        let dot: f64 = weights.iter().zip(h).map(|(w, h)| f64::from(*w) * f64::from(*h)).sum();
        // Numbers too large for their product must not win.
        Some(dot + f64::from(*constant)).filter(|t| t.is_finite()).unwrap_or(f64::from(f32::MIN))
    }
}
