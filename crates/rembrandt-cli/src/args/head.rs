//! The head in `rembrandt train`: its options, and which of them mean something to which head.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use clap::Args;
use rembrandt::data::formats::read_names;
use rembrandt::embed::Method;
use rembrandt::metrics::Propensity;
use rembrandt::score::head::{FeatureParams, Kernel, SampledParams};
use rembrandt::train::{HeadChoice, HeadKind, HeadTrainParams, Training};
use rembrandt::{Dataset, Error, Examples, Result};

use super::choice;

/// From the embedding to labels.
#[derive(Args)]
#[command(next_help_heading = "Head")]
pub struct HeadArgs {
    /// Score labels by the embedding alone, as the paper does, and not by a ranker of candidates. ls: least squares; lr:
    /// softmax, one label per example; ilr: independent labels; auto: lr where every example has one label, else ilr, and
    /// ls where even sampling labels would take hours and for cs-omp, plst and cplst, which know how to decode [default:
    /// auto with a method other than rembrandt, --random-features, --preset or --solver paper]
    #[arg(long, value_parser = choice(HEADS))]
    head: Option<HeadChoice>,
    /// Labels that the pursuit of cs-omp takes at most; 0 ranks labels by inner products alone [default: as many as a
    /// mean example has]
    #[arg(long, value_name = "N")]
    atoms: Option<usize>,
    /// Ridge of the head: in examples or, with random features, relative to their mean square [default: 16; with random features 0.01]
    #[arg(long, value_name = "NUMBER", value_parser = parse_ridge)]
    head_ridge: Option<f64>,
    /// Times that the training of a head on random features, or of a label-tree, sees every example [default: 3, with lr
    /// 10; label-tree 20]
    #[arg(long, value_name = "N")]
    epochs: Option<usize>,
    /// Labels that the training of a head on h itself looks at in one step, besides those that the examples have
    /// [default: all, or 1024 where that would take ten minutes or more]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    sampled_labels: Option<u64>,
    /// Random features between the embedding and the head: gaussian, cauchy, matern3 or matern5, quasi- before it for
    /// evenly spread ones, and their number [default: none]
    #[arg(long, value_name = "KERNEL:COUNT", value_parser = parse_features)]
    random_features: Option<FeatureParams>,
    /// Squared bandwidth of the random features, in median squared distances [default: 4]
    #[arg(long, value_name = "NUMBER", requires = "random_features", value_parser = parse_bandwidth)]
    bandwidth: Option<f64>,
    /// Parts for cross-fitting; 0 trains the head on what the projection has already seen [default: 3]
    #[arg(long, value_name = "N")]
    folds: Option<usize>,
    /// When examples are held out, hold their near duplicates out with them: for data in which new examples will have
    /// none among the training examples, though these have many among themselves
    #[arg(long)]
    pub(super) group_duplicates: bool,
    /// Rank labels that tend to be forgotten higher, by the propensity model of Jain et al. (2016): wikipedia, amazon,
    /// other, or its constants
    #[arg(long, value_name = "A,B", num_args = 0..=1, require_equals = true, default_missing_value = "other",
          value_parser = parse_propensity)]
    pub propensity: Option<Propensity>,
    /// File with weights of labels, what a mistake on them counts: one number per line, for all labels in the order of their
    /// ids; or a name or id, a tab and a number per line, and 1 for all others
    #[arg(long, value_name = "FILE")]
    pub label_weights: Option<PathBuf>,
}

impl HeadArgs {
    /// Passes over the examples that were asked for.
    pub(super) fn epochs(&self) -> Option<usize> {
        self.epochs
    }

    /// How labels are to be scored.
    pub(super) fn scoring(&self, method: Method, as_published: bool) -> Scoring {
        Scoring::new(method, self.head, self.random_features.is_some(), as_published)
    }

    /// Puts what was given over parameters of a head.
    pub(super) fn put_over(&self, params: &mut HeadTrainParams, data: &Dataset) -> Result<()> {
        params.folds = self.folds.unwrap_or(params.folds);
        params.atoms = self.atoms;
        params.logistic.ridge = self.head_ridge.unwrap_or(params.logistic.ridge);
        let sampled = |labels| SampledParams::new(params.head.loss()).with(|p| p.labels = labels);
        params.sampled = self.sampled_labels.map(|labels| sampled(usize::try_from(labels).unwrap_or(usize::MAX)));
        params.descent.ridge = self.head_ridge.unwrap_or(params.descent.ridge);
        params.descent.epochs = self.epochs.unwrap_or(params.descent.epochs);
        params.descent.seed = params.embedding.seed;
        params.features = self.random_features.map(|features| {
            features.with(|f| (f.bandwidth, f.seed) = (self.bandwidth.unwrap_or(f.bandwidth), params.embedding.seed))
        });
        params.label_weights = self.label_weights.as_deref().map(|path| read_weights(path, data)).transpose()?;
        Ok(())
    }
}

/// How labels are scored, as far as that is known before the data are.
#[derive(Clone, Copy, Debug)]
pub struct Scoring {
    /// The head that was asked for, by name or by options that only a head has a use for.
    pub head: Option<HeadChoice>,
    ranker: bool,
    kind: Option<HeadKind>,
    random_features: bool,
}

impl Scoring {
    /// From what was typed; `as_published` for whatever asks for a system of the paper.
    pub fn new(method: Method, head: Option<HeadChoice>, random_features: bool, as_published: bool) -> Scoring {
        let head = head.or((as_published || random_features).then_some(HeadChoice::Suited));
        let kind = head.unwrap_or(HeadChoice::Suited).kind(method);
        Scoring { head, ranker: Training::has_ranker(method, head), kind, random_features }
    }

    /// The same once the kind of head is known.
    pub fn of_kind(self, kind: HeadKind) -> Scoring {
        Scoring { kind: Some(kind), ..self }
    }

    /// Why an option means nothing, if that is so.
    pub fn without_effect(&self, option: &str) -> Option<&'static str> {
        let kind = self.kind.filter(|_| !self.ranker);
        let (squares, softmax) = (kind == Some(HeadKind::LeastSquares), kind == Some(HeadKind::Softmax));
        match option {
            "epochs" | "bandwidth" if !self.random_features => {
                Some("is for random features: add --random-features, or leave it out")
            }
            "sampled_labels" if self.random_features => {
                Some("is for a head on h itself: leave it out, or leave out --random-features")
            }
            "head_ridge" | "folds" | "sampled_labels" | "label_weights" | "compact" if self.ranker => {
                Some("is for a head: add one, such as --head ilr, or leave it out")
            }
            "head_ridge" | "folds" | "sampled_labels" | "label_weights" | "propensity" | "random_features"
                if squares =>
            {
                Some("is for the heads lr and ilr, which ls has not")
            }
            "label_weights" | "propensity" if softmax => {
                Some("is for independent labels, and softmax takes all together: leave it out, or add --head ilr")
            }
            "tune" | "validation" if !self.ranker => {
                Some("is for the default training: leave out what asks for a head")
            }
            _ => None,
        }
    }
}

pub(super) const HEADS: &[(&str, HeadChoice)] = &[
    ("auto", HeadChoice::Suited),
    ("ls", HeadChoice::Kind(HeadKind::LeastSquares)),
    ("lr", HeadChoice::Kind(HeadKind::Softmax)),
    ("ilr", HeadChoice::Kind(HeadKind::Independent)),
];
const KERNELS: &[(&str, Kernel)] = &[
    ("gaussian", Kernel::Gaussian),
    ("cauchy", Kernel::Cauchy),
    ("matern3", Kernel::Matern3),
    ("matern5", Kernel::Matern5),
];

/// Reads `cauchy:4000` or `quasi-gaussian:1000`.
fn parse_features(text: &str) -> std::result::Result<FeatureParams, String> {
    let wrong = || "write a kernel and a number, such as cauchy:4000 or quasi-gaussian:1000".to_owned();
    let (name, count) = text.split_once(':').ok_or_else(wrong)?;
    let (quasi, name) = name.strip_prefix("quasi-").map_or((false, name), |name| (true, name));
    let kernel = KERNELS.iter().find(|(word, _)| *word == name).ok_or_else(wrong)?.1;
    let count = count.parse().ok().filter(|count| *count > 0).ok_or_else(wrong)?;
    Ok(HeadTrainParams::FEATURES.with(|params| (params.kernel, params.quasi, params.count) = (kernel, quasi, count)))
}

/// One number per line, or a label and its number.
fn read_weights(path: &Path, data: &Dataset) -> Result<Vec<f32>> {
    let lines = read_names(path)?;
    let number = |at: usize, text: &str| match text.trim().parse::<f32>() {
        Ok(weight) if weight.is_finite() && weight >= 0.0 => Ok(weight),
        _ => Err(Error::line(path, at as u64 + 1, "is not a weight: write a number, zero or more")),
    };
    if !lines.iter().any(|line| line.contains('\t')) {
        return lines.iter().enumerate().map(|(at, line)| number(at, line)).collect();
    }
    let names = data.label_names().unwrap_or_default();
    let ids: HashMap<&str, usize> = names.iter().enumerate().map(|(id, name)| (name.as_str(), id)).collect();
    let mut weights = vec![1.0; data.shape().c];
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let refuse = |reason: String| Error::line(path, at as u64 + 1, reason);
        let Some((label, weight)) = line.rsplit_once('\t') else {
            return Err(refuse("has no tab: write a label, a tab and its weight".to_owned()));
        };
        let by_number = || label.parse().ok().filter(|id| *id < weights.len());
        let Some(id) = ids.get(label).copied().or_else(by_number) else {
            return Err(refuse(format!("no label of the data is called {label:?}")));
        };
        weights[id] = number(at, weight)?;
    }
    Ok(weights)
}

/// Reads a number, zero or more.
fn parse_ridge(text: &str) -> std::result::Result<f64, String> {
    let number = text.parse().ok().filter(|v: &f64| v.is_finite() && *v >= 0.0);
    number.ok_or_else(|| "write a number, zero or more".to_owned())
}

/// Reads a number above zero.
fn parse_bandwidth(text: &str) -> std::result::Result<f64, String> {
    let number = text.parse().ok().filter(|v: &f64| v.is_finite() && *v > 0.0);
    number.ok_or_else(|| "write a number above zero".to_owned())
}

/// Reads `wikipedia` or `0.55,1.5`.
pub(super) fn parse_propensity(text: &str) -> std::result::Result<Propensity, String> {
    match text {
        "wikipedia" => return Ok(Propensity::WIKIPEDIA),
        "amazon" => return Ok(Propensity::AMAZON),
        "other" => return Ok(Propensity::OTHER),
        _ => {}
    }
    let numbers = text.split_once(',').and_then(|(a, b)| Some((a.trim().parse().ok()?, b.trim().parse().ok()?)));
    match numbers {
        Some((a, b)) if [a, b].iter().all(|v: &f64| v.is_finite() && *v >= 0.0) => {
            Ok(Propensity::default().with(|p| (p.a, p.b) = (a, b)))
        }
        _ => Err("write wikipedia, amazon, other, or two numbers such as 0.55,1.5".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_features_are_read() {
        let found = parse_features("quasi-matern3:4000").unwrap();
        assert_eq!((found.kernel, found.quasi, found.count), (Kernel::Matern3, true, 4000));
        assert!(
            ["none", "cauchy", "cauchy:0", "cauchy:x", "laplace:5"].iter().all(|text| parse_features(text).is_err())
        );
    }

    #[test]
    fn propensities_are_read() {
        assert_eq!(parse_propensity("amazon"), Ok(Propensity::AMAZON));
        assert_eq!(parse_propensity("0.5, 0.4"), Ok(Propensity::WIKIPEDIA));
        assert!(parse_propensity("0.5").is_err() && parse_propensity("nan,1").is_err());
    }
}
