//! Arguments of `rembrandt bench`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use rembrandt_bench::generate::Generator;
use rembrandt_bench::prediction::PredictionBench;
use rembrandt_bench::scaling::ScalingBench;
use rembrandt_bench::solvers::SolverBench;

use super::generate::parse_shape;
use super::{InputArgs, ReadArgs};

#[derive(Subcommand)]
pub enum BenchCommand {
    /// Find the same embedding with the paper's procedure and with the few-pass solver, side by side
    Solvers(SolversArgs),
    /// Double the examples, the features and labels on them, the dimensions and the labels of made-up data, one after the
    /// other, and see what becomes of the time for an embedding
    Scaling(ScalingArgs),
    /// Train with other settings than the default, one at a time, and test: what each is worth
    Ablation(AblationArgs),
    /// Predict with all labels scored and with those that the model proposes, side by side, on one thread
    Predict(PredictBenchArgs),
}

#[derive(Args)]
#[command(
    after_help = "Example:\n  rembrandt bench scaling --shape 40000,100000,10000,40,1 -k 64 --doublings 4 --plot scaling.svg"
)]
pub struct ScalingArgs {
    /// Where to begin: N,D,C,nnz,labels, as for `generate`
    #[arg(long, value_name = "SHAPE", value_parser = parse_shape, default_value = "40000,100000,10000,40,1")]
    pub shape: Generator,
    /// Dimensions to begin with
    #[arg(short, value_name = "K", default_value_t = 64)]
    pub k: usize,
    /// Sizes to double, separated by commas
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_values = ScalingBench::SIZES,
          value_parser = ScalingBench::SIZES)]
    pub only: Vec<String>,
    /// How often each is doubled
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=12))]
    pub doublings: u32,
    /// Times that each is measured; the shortest counts
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    pub repeats: u32,
    /// Also draw the curves
    #[arg(long, value_name = "FILE.svg")]
    pub plot: Option<PathBuf>,
    /// Print the result as one JSON object
    #[arg(long)]
    pub json: bool,
    /// Print no progress
    #[arg(short, long)]
    pub quiet: bool,
}

#[derive(Args)]
#[command(after_help = "Example:\n  rembrandt bench ablation train.txt.zst test.txt.zst")]
pub struct AblationArgs {
    /// Training data: text, plain or compressed with gzip or zstd, or a cache file
    pub train: PathBuf,
    /// Labelled examples to test with
    pub test: PathBuf,
    /// Print the result as one JSON object
    #[arg(long)]
    pub json: bool,
    /// Print no progress
    #[arg(short, long)]
    pub quiet: bool,
    #[command(flatten)]
    pub read: ReadArgs,
}

#[derive(Args)]
#[command(after_help = "Example:\n  rembrandt bench predict model.model test.txt.zst")]
pub struct PredictBenchArgs {
    /// Model file. One that proposes labels is measured with all of them scored as well
    pub model: PathBuf,
    /// Labelled examples; - for standard input
    pub test: PathBuf,
    /// Examples to predict: the first ones that have a label and a feature that the model knows
    #[arg(long, value_name = "N", default_value_t = 2000)]
    pub rows: usize,
    /// Of these, examples to predict one at a time
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub singles: usize,
    #[command(flatten)]
    pub input_args: InputArgs,
    /// Print the result as one JSON object
    #[arg(long)]
    pub json: bool,
    /// Print no progress
    #[arg(short, long)]
    pub quiet: bool,
}

#[derive(Args)]
#[command(
    after_help = "Example:\n  rembrandt bench solvers train.rmb -k 50,100,300\n  rembrandt bench solvers train.rmb -k 100 --plot solvers.svg"
)]
pub struct SolversArgs {
    /// Training data: text, plain or compressed with gzip or zstd, - for standard input, or a cache file
    pub train: PathBuf,
    /// Dimensions of the embedding, separated by commas
    #[arg(short, value_name = "LIST", value_delimiter = ',', default_value = "100")]
    pub k: Vec<usize>,
    /// Relative ridge
    #[arg(long, value_name = "NUMBER", default_value_t = 1.0, allow_negative_numbers = true)]
    pub ridge: f64,
    /// Seed of the random start
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Measure the paper's procedure and the few-pass solver only, without variants of the two
    #[arg(long)]
    pub brief: bool,
    /// Also draw energy against half-passes and against seconds; for one k
    #[arg(long, value_name = "FILE.svg")]
    pub plot: Option<PathBuf>,
    /// Print the result as one JSON object
    #[arg(long)]
    pub json: bool,
    /// Print no progress
    #[arg(short, long)]
    pub quiet: bool,
    #[command(flatten)]
    pub read: ReadArgs,
}

impl ScalingArgs {
    pub fn scaling(&self) -> ScalingBench {
        let ScalingArgs { shape: data, k, doublings, repeats, .. } = *self;
        ScalingBench { data, k, only: self.only.clone(), doublings, repeats }
    }
}

impl PredictBenchArgs {
    pub fn prediction(&self) -> PredictionBench {
        let PredictBenchArgs { model, test, rows, singles, .. } = self;
        PredictionBench { model: model.clone(), test: test.clone(), rows: *rows, singles: *singles }
    }
}

impl SolversArgs {
    pub fn solvers(&self) -> SolverBench {
        SolverBench { k: self.k.clone(), ridge: self.ridge, seed: self.seed, brief: self.brief }
    }
}
