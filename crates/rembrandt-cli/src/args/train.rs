//! Arguments of `rembrandt train`.

use std::fs;
use std::path::{Path, PathBuf};

use bytesize::ByteSize;
use clap::Args;
use rembrandt::data::featurizer::{FeaturizerParams, Hashing, NGrams, Weighting};
use rembrandt::embed::Method;
use rembrandt::metrics::Propensity;
use rembrandt::score::head::{FeatureParams, Kernel, SampledParams};
use rembrandt::train::{FeatureOptions, HeadChoice, HeadKind, HeadTrainParams, Training};
use rembrandt::{Dataset, Error, Examples, Result};

use super::method::{self, METHODS, MethodChoice};
use super::tree::TreeArgs;
use super::{ColumnArgs, ParamArgs, ReadArgs, Typed, choice};

#[derive(Args)]
#[command(
    after_help = "Examples:\n  rembrandt train train.txt.gz -o tags.model\n  rembrandt train articles.csv --text \
                        --label-separator ';' -o tags.model\n  rembrandt train train.rmb -k 300 -o tags.model\n  rembrandt \
                        train train.rmb -o tags.model --resume  # again after a kill: goes on\n  rembrandt train --method \
                        fastxml --help  # the options of another method"
)]
pub struct TrainArgs {
    /// Training data: text, plain or compressed with gzip or zstd, - for standard input, or a cache file; with --text,
    /// TSV, CSV or JSON lines with a text and its labels
    pub train: PathBuf,
    /// Model file to write
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// rembrandt: what the features can tell of the labels; cs: random label vectors with a head; cs-omp: compressed
    /// sensing, random label vectors decoded by matching pursuit; pca: principal components of the features with a head;
    /// plst: principal components of the labels; cplst: those that the features can tell; trees: fastxml and lpsr, and,
    /// where every example has one label, lomtree and label-tree
    #[arg(long, value_parser = choice(METHODS), default_value = "rembrandt")]
    pub method: MethodChoice,
    /// Raw text in, names out: the words of the text become features, by rules that are kept in the model
    #[arg(long)]
    pub text: bool,
    /// Store the large matrices in half the space (bfloat16), at the price of two or three digits; without a head they
    /// are stored so in any case
    #[arg(long, help_heading = "Head")]
    pub compact: bool,
    /// Keep checkpoints in FILE.partial and go on from those that are there: the same command again, after a kill,
    /// loses little (a panel of columns, a block of labels, a few steps of a head, a tree of fastxml) and writes the same
    /// bytes. Other data or parameters are refused; the folder is removed in the end
    #[arg(long)]
    pub resume: bool,
    /// Refuse work that needs more memory, such as 4G or 4GiB; by default what the machine has available
    #[arg(long, value_name = "SIZE")]
    pub max_memory: Option<ByteSize>,
    /// Print the result as one JSON object
    #[arg(long)]
    pub json: bool,
    /// Print neither progress nor summary
    #[arg(short, long)]
    pub quiet: bool,
    #[command(flatten)]
    pub head: HeadArgs,
    #[command(flatten)]
    pub params: ParamArgs,
    #[command(flatten)]
    pub trees: TreeArgs,
    #[command(flatten)]
    pub features: FeatureArgs,
    #[command(flatten)]
    pub columns: ColumnArgs,
    #[command(flatten)]
    pub read: ReadArgs,
    /// The options that were typed.
    #[arg(skip)]
    pub typed: Vec<Typed>,
}

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
    group_duplicates: bool,
    /// Rank labels that tend to be forgotten higher, by the propensity model of Jain et al. (2016): wikipedia, amazon,
    /// other, or its constants
    #[arg(long, value_name = "A,B", num_args = 0..=1, require_equals = true, default_missing_value = "other",
          value_parser = parse_propensity)]
    pub propensity: Option<Propensity>,
    /// File with the weight of each label, one number per line: what a mistake on it counts
    #[arg(long, value_name = "FILE")]
    pub label_weights: Option<PathBuf>,
}

impl HeadArgs {
    /// Passes over the examples that were asked for.
    pub(super) fn epochs(&self) -> Option<usize> {
        self.epochs
    }

    /// Puts what was given over parameters of a head. An option that its kind has no use for is refused.
    fn put_over(&self, params: &mut HeadTrainParams) -> Result<()> {
        if let Some((name, reason)) = self.useless(Some(params.head)) {
            return Err(Error::parameter(name, reason));
        }
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
        params.label_weights = self.label_weights.as_deref().map(read_weights).transpose()?;
        Ok(())
    }

    /// Which options were given, of those that ls has no use for.
    fn for_heads(&self) -> [(&'static str, bool); 3] {
        [
            ("head_ridge", self.head_ridge.is_some()),
            ("folds", self.folds.is_some()),
            ("sampled_labels", self.sampled_labels.is_some()),
        ]
    }

    /// The first option that would have no effect beside the others, given the kind of head if that is known.
    fn useless(&self, kind: Option<HeadKind>) -> Option<(&'static str, &'static str)> {
        if self.epochs.is_some() && self.random_features.is_none() {
            return Some(("epochs", "is for random features: add --random-features, or leave it out"));
        }
        if self.sampled_labels.is_some() && self.random_features.is_some() {
            return Some(("sampled_labels", "is for a head on h itself: leave it out, or leave out --random-features"));
        }
        let for_heads = self.for_heads().into_iter().find(|(_, given)| kind == Some(HeadKind::LeastSquares) && *given);
        for_heads.map(|(name, _)| (name, "is for the heads lr and ilr, which ls has not"))
    }
}

impl TrainArgs {
    /// The kind of head that was asked for or comes with the method; absent: whichever suits the data.
    fn head_kind(&self, method: Method) -> Option<HeadKind> {
        self.head_choice().unwrap_or(HeadChoice::Suited).kind(method)
    }

    /// The head that was asked for, by name or by options that only a head has a use for.
    fn head_choice(&self) -> Option<HeadChoice> {
        let asks_for_one = self.params.as_published() || self.head.random_features.is_some();
        self.head.head.or(asks_for_one.then_some(HeadChoice::Suited))
    }

    /// The first option that the default training has no use for.
    fn useless_without_head(&self) -> Option<(&'static str, String)> {
        let others = [("label_weights", self.head.label_weights.is_some()), ("compact", self.compact)];
        let given = self.head.for_heads().into_iter().chain(others).find(|(_, given)| *given)?;
        Some((given.0, "is for a head: add one, such as --head ilr, or leave it out".to_owned()))
    }

    /// The first option that would have no effect beside the others, with an embedding.
    pub fn useless(&self, method: Method) -> Option<(&'static str, String)> {
        let (folds, atoms) = (self.head.folds.is_some(), self.head.atoms.is_some());
        let given = [&self.params.given()[..], &[("folds", folds), ("atoms", atoms)]].concat();
        let for_heads = || self.head.useless(self.head_kind(method)).map(|(name, reason)| (name, reason.to_owned()));
        let ranker = Training::has_ranker(method, self.head_choice());
        let without_head = || ranker.then(|| self.useless_without_head()).flatten();
        method::useless(method, &given).or_else(for_heads).or_else(without_head)
    }

    /// The first option that only trees have a use for.
    pub fn for_trees(&self) -> Option<&Typed> {
        self.typed.iter().find(|typed| typed.heading.as_deref() == Some("Trees"))
    }

    /// The training: the defaults of the library for the method and the data, with what was given put over them.
    pub fn training(&self, data: &Dataset) -> Result<Training> {
        let method = match self.method {
            MethodChoice::Embedding(method) => method,
            MethodChoice::Trees(method) => return Ok(self.tree_params(method)?.into()),
        };
        let mut training = Training::new(method, self.head_choice(), data)?;
        let (k, ridge) = (self.params.given_k(), self.params.given_ridge());
        // The authors had other data in mind.
        let k = k.map(|k| if self.params.preset_chose_k() { k.min(data.shape().c) } else { k });
        match &mut training {
            Training::Ranker(params) => {
                (params.k, params.ridge) = (k, ridge);
                params.embedding = self.params.over(params.embedding.clone());
                (params.group_duplicates, params.propensity) = (self.head.group_duplicates, self.head.propensity);
            }
            Training::Head(params) => {
                (params.k, params.ridge) = (k, ridge);
                params.embedding = self.params.over(params.embedding.clone());
                (params.group_duplicates, params.propensity) = (self.head.group_duplicates, self.head.propensity);
                self.head.put_over(params)?;
            }
            Training::Trees(_) => {}
        }
        Ok(training)
    }
}

/// How features are made or weighed.
#[derive(Args)]
#[command(next_help_heading = "Features")]
pub struct FeatureArgs {
    /// Sequences of so many words, such as 1 or 1-2
    #[arg(long, value_name = "RANGE", default_value = "1", requires = "text")]
    word_ngrams: NGrams,
    /// Sequences of so many characters within words, such as 3-5
    #[arg(long, value_name = "RANGE", requires = "text")]
    char_ngrams: Option<NGrams>,
    /// Words of fewer characters are dropped
    #[arg(long, value_name = "N", default_value_t = 2, requires = "text")]
    min_length: usize,
    /// Features that fewer texts have are dropped
    #[arg(long, value_name = "N", default_value_t = 2, requires = "text")]
    min_df: u64,
    /// Features that a larger fraction of the texts have are dropped
    #[arg(long, value_name = "FRACTION", default_value_t = 1.0, requires = "text")]
    max_df: f64,
    /// Keep only so many features, those that most texts have
    #[arg(long, value_name = "N", requires = "text")]
    max_features: Option<usize>,
    /// Number features by a hash of so many bits instead of keeping their names
    #[arg(long, value_name = "BITS", requires = "text")]
    hash_bits: Option<u32>,
    /// The value of a feature of a text
    #[arg(long, value_parser = choice(WEIGHTINGS), default_value = "tfidf", requires = "text")]
    weighting: Weighting,
    /// Count a feature that occurs often in a text with the logarithm of how often
    #[arg(long, requires = "text")]
    sublinear: bool,
    /// Keep capital letters apart from small ones
    #[arg(long, requires = "text")]
    keep_case: bool,
    /// Multiply sparse features by their inverse document frequency (tf-idf)
    #[arg(long, conflicts_with = "text")]
    pub tfidf: bool,
    /// Scale rows of sparse features to length 1
    #[arg(long, conflicts_with = "text")]
    pub normalize: bool,
}

impl FeatureArgs {
    /// How features are made of texts, or weighted.
    pub fn options(&self) -> FeatureOptions {
        let featurizer = FeaturizerParams::default().with(|params| {
            params.words = Some(self.word_ngrams);
            params.characters = self.char_ngrams;
            params.min_length = self.min_length;
            params.lowercase = !self.keep_case;
            params.weighting = self.weighting;
            params.sublinear = self.sublinear;
            params.hashing = self.hash_bits.map(|bits| Hashing { bits, signed: true });
            params.min_df = self.min_df;
            params.max_df = self.max_df;
            params.max_features = self.max_features;
        });
        FeatureOptions::default().with(|options| {
            (options.tfidf, options.normalize) = (self.tfidf, self.normalize);
            options.featurizer = featurizer;
        })
    }
}

const HEADS: &[(&str, HeadChoice)] = &[
    ("auto", HeadChoice::Suited),
    ("ls", HeadChoice::Kind(HeadKind::LeastSquares)),
    ("lr", HeadChoice::Kind(HeadKind::Softmax)),
    ("ilr", HeadChoice::Kind(HeadKind::Independent)),
];
const WEIGHTINGS: &[(&str, Weighting)] =
    &[("tfidf", Weighting::TfIdf), ("tf", Weighting::Tf), ("binary", Weighting::Binary)];
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

/// One number per line.
fn read_weights(path: &Path) -> Result<Vec<f32>> {
    let text = fs::read_to_string(path).map_err(Error::io(path))?;
    let number = |(i, line): (usize, &str)| match line.trim().parse::<f32>() {
        Ok(weight) if weight.is_finite() && weight >= 0.0 => Ok(weight),
        _ => Err(Error::line(path, i as u64 + 1, "is not a weight: write a number, zero or more")),
    };
    text.lines().enumerate().map(number).collect()
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
        Some((a, b)) if [a, b].iter().all(|v: &f64| v.is_finite() && *v >= 0.0) => Ok(Propensity { a, b }),
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
