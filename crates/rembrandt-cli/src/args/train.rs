//! Arguments of `rembrandt train`.

use std::path::PathBuf;
use std::time::Duration;

use bytesize::ByteSize;
use clap::Args;
use humantime::parse_duration;
use rembrandt::data::RowScale;
use rembrandt::embed::Method;
use rembrandt::train::Training;
use rembrandt::{Dataset, Error, Examples, Result};

use super::head::{HeadArgs, Scoring};
use super::method::{self, METHODS, MethodChoice};
use super::tree::TreeArgs;
use super::{DataArgs, ParamArgs, Typed, choice};

#[derive(Args)]
#[command(after_help = "Examples:\n  rembrandt train train.txt.gz -o tags.model\n  rembrandt train articles.csv \
                        --label-separator ';' -o tags.model\n  rembrandt train train.rmb -k 300 -o tags.model\n  rembrandt \
                        train train.rmb -o tags.model --resume  # again after a kill: goes on\n  rembrandt train --method \
                        fastxml --help  # the options of another method\n  rembrandt train --head ilr \
                        --help  # those of a head")]
pub struct TrainArgs {
    /// Training data, plain or compressed with gzip or zstd, - for standard input: texts with their labels as CSV, TSV or
    /// JSON lines, or sparse rows, also in a cache file
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
    /// Store the large matrices in half the space (bfloat16), at the price of two or three digits; without a head they
    /// are stored so in any case
    #[arg(long, help_heading = "Head")]
    pub compact: bool,
    /// Look for better settings for so long, such as 10m, after a training with the default ones: by training with others as
    /// often as the time allows, and keeping what ranks held-out examples best. How far that gets depends on the machine
    #[arg(long, value_name = "TIME", value_parser = parse_duration, help_heading = "Algorithm")]
    pub tune: Option<Duration>,
    /// Labelled examples that choose the settings, the combination of views, the calibration and the thresholds, in place of
    /// some that are drawn from the training data. In the end they join the training
    #[arg(long, value_name = "FILE", help_heading = "Algorithm", conflicts_with = "group_duplicates")]
    pub validation: Option<PathBuf>,
    /// Also train without each of so many parts of the data in turn, and tell how good that is on the part: figures with
    /// intervals where there are no test data
    #[arg(long, value_name = "PARTS", conflicts_with = "validation")]
    pub cross_validate: Option<usize>,
    /// Keep checkpoints in FILE.partial and go on from those that are there: the same command again, after a kill,
    /// loses little (a panel of columns, a block of labels, a few steps of a head, a tree of fastxml) and writes the same
    /// bytes. Other data or parameters are refused; the folder is removed in the end
    #[arg(long)]
    pub resume: bool,
    /// Refuse work that needs more memory, such as 4G or 4GiB; by default what the machine has available
    #[arg(long, value_name = "SIZE", env = "REMBRANDT_MAX_MEMORY")]
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
    pub data: DataArgs,
    /// The options that were typed.
    #[arg(skip)]
    pub typed: Vec<Typed>,
}

impl TrainArgs {
    /// Refuses options that would have no effect: bad ones need no data to be found.
    pub fn check(&self) -> Result<()> {
        match self.method {
            MethodChoice::Trees(method) => self.tree_params(method).map(|_| ())?,
            MethodChoice::Embedding(method) => self.check_for_embedding(method)?,
        }
        self.data.are_texts().map(|_| ())
    }

    /// Refuses options that would have no effect with an embedding.
    fn check_for_embedding(&self, method: Method) -> Result<()> {
        for typed in &self.typed {
            if let Some(reason) = method::without_effect(method, &typed.name) {
                let (flag, method) = (typed.flag(), method.name());
                return Err(Error::Data(format!("{flag}: {reason}, and the method is {method}: leave it out")));
            }
        }
        self.check_for(self.scoring(method))?;
        if let Some(typed) = self.typed.iter().find(|typed| typed.heading.as_deref() == Some("Trees")) {
            let reason = format!("{} is for trees, and the method is {}", typed.flag(), method.name());
            return Err(Error::Data(format!("{reason}: leave it out")));
        }
        if self.params.preset_divides_rows() {
            let reason =
                "divides rows, which train does not: add --scale-rows none and, for rows of length 1, --normalize";
            return Err(Error::parameter("preset", reason));
        }
        if self.params.row_scale() != RowScale::None {
            let reason = "is for embed: train keeps how rows are scaled in the model, ask for it with --normalize";
            return Err(Error::parameter("scale_rows", reason));
        }
        Ok(())
    }

    /// Refuses options that would have no effect where labels are scored so.
    fn check_for(&self, scoring: Scoring) -> Result<()> {
        for typed in &self.typed {
            if let Some(reason) = scoring.without_effect(&typed.name) {
                return Err(Error::Data(format!("{}: {reason}", typed.flag())));
            }
        }
        Ok(())
    }

    fn scoring(&self, method: Method) -> Scoring {
        self.head.scoring(method, self.params.as_published())
    }

    /// The training: the defaults of the library for the method and the data, with what was given put over them.
    pub fn training(&self, data: &Dataset) -> Result<Training> {
        let method = match self.method {
            MethodChoice::Embedding(method) => method,
            MethodChoice::Trees(method) => return Ok(self.tree_params(method)?.into()),
        };
        let scoring = self.scoring(method);
        let mut training = Training::new(method, scoring.head, data)?;
        let (k, ridge) = (self.params.given_k(), self.params.given_ridge());
        // The authors had other data in mind.
        let k = k.map(|k| if self.params.preset_chose_k() { k.min(data.shape().c) } else { k });
        match &mut training {
            Training::Ranker(params) => {
                (params.k, params.ridge) = (k, ridge);
                params.embedding = self.params.over(params.embedding.clone());
                (params.group_duplicates, params.propensity) = (self.head.group_duplicates, self.head.propensity);
                params.tune = self.tune.map(|time| time.as_secs_f64());
            }
            Training::Head(params) => {
                self.check_for(scoring.of_kind(params.head))?;
                (params.k, params.ridge) = (k, ridge);
                params.embedding = self.params.over(params.embedding.clone());
                (params.group_duplicates, params.propensity) = (self.head.group_duplicates, self.head.propensity);
                self.head.put_over(params, data)?;
            }
            Training::Trees(_) => {}
        }
        Ok(training)
    }
}
