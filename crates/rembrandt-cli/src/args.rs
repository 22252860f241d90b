//! The command line as typed, and its way to parameters of the library.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use self::model::INPUT_FORMATS;
use bytesize::ByteSize;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::parser::ValueSource;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use clap_complete::Shell;
use rembrandt::Rembrandt;
use rembrandt::data::RowScale;
use rembrandt::data::formats::{Format, Ids, ReadOptions};
use rembrandt::data::records::RecordFormat;
use rembrandt::embed::{Preconditioner, Preset, RidgeConvention, Solver};
use rembrandt::model::Export;
use rembrandt_bench::reproduce::Experiment;

mod bench;
mod compare;
mod data;
mod generate;
mod head;
mod help;
mod method;
mod model;
mod train;
mod tree;

pub use bench::{AblationArgs, BenchCommand, PredictBenchArgs, ScalingArgs, SolversArgs};
pub use compare::CompareArgs;
pub use data::DataArgs;
pub use generate::GenerateArgs;
pub use model::{
    AddLabelArgs, ColumnArgs, EvalArgs, ExplainArgs, IdSource, InputArgs, InputFormat, OutputFormat, PredictArgs,
};
pub use train::TrainArgs;

/// Label embeddings for classification with very many labels.
#[derive(Parser)]
#[command(name = "rembrandt", version, arg_required_else_help = true, max_term_width = 100)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
    /// Threads to use, all cores by default
    #[arg(long, global = true, value_name = "N", env = "REMBRANDT_THREADS", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Say when each stage of the work begins, and what memory is taken by then
    #[arg(short, long, global = true)]
    pub verbose: bool,
    /// End when standard input does: for a process that must not outlive the one that started it
    #[arg(long, global = true, hide = true)]
    pub end_with_stdin: bool,
}

impl Arguments {
    /// The arguments of a command line, the name of the program first.
    pub fn of(line: Vec<OsString>) -> Result<Arguments, clap::Error> {
        let words: Vec<String> = line.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let definition = help::tailored(Arguments::command(), &words);
        let matches = definition.clone().try_get_matches_from(line)?;
        let mut arguments = Arguments::from_arg_matches(&matches)?;
        if let (Command::Train(args), Some((command, of_command))) = (&mut arguments.command, matches.subcommand()) {
            let options = definition.find_subcommand(command).into_iter().flat_map(clap::Command::get_arguments);
            let typed = |option: &&clap::Arg| {
                of_command.try_get_raw(option.get_id().as_str()).is_ok()
                    && of_command.value_source(option.get_id().as_str()) == Some(ValueSource::CommandLine)
            };
            let name = |option: &clap::Arg| Typed {
                name: option.get_id().to_string(),
                heading: option.get_help_heading().map(str::to_owned),
            };
            args.typed = options.filter(typed).map(name).collect();
        }
        Ok(arguments)
    }
}

/// An option that was typed.
#[derive(Clone, Debug, PartialEq)]
pub struct Typed {
    /// As in the library, with underscores.
    pub name: String,
    /// The heading it is listed under.
    pub heading: Option<String>,
}

impl Typed {
    /// As it is typed.
    fn flag(&self) -> String {
        if self.name == "k" { "-k".to_owned() } else { format!("--{}", self.name.replace('_', "-")) }
    }

    /// Whether it means something to some methods only.
    fn is_special(&self) -> bool {
        let headings = ["Head", "Algorithm", "Trees"];
        self.heading.as_ref().is_some_and(|heading| headings.contains(&heading.as_str()))
    }
}

#[derive(Subcommand)]
pub enum Command {
    /// Train a model that predicts labels
    Train(Box<TrainArgs>),
    /// Predict the labels of examples
    Predict(PredictArgs),
    /// Say how good a model is on labelled examples
    Eval(EvalArgs),
    /// Say which features of an example speak for a label
    Explain(ExplainArgs),
    /// Add a label to a model from a few examples, without training it again
    AddLabel(AddLabelArgs),
    /// Embed the labels of a data set
    Embed(Box<EmbedArgs>),
    /// Turn text into a cache file that opens at once and may be larger than memory
    Convert(ConvertArgs),
    /// Say what is in a data, cache, embedding or model file
    Inspect(InspectArgs),
    /// List the labels nearest to one label
    Neighbors(NeighborsArgs),
    /// Train and test many methods on the same data, in one table
    Compare(Box<CompareArgs>),
    /// Make up data of any size that behave like texts with very many labels
    Generate(GenerateArgs),
    /// Measure parts of this program against each other
    #[command(subcommand)]
    Bench(BenchCommand),
    /// Repeat an experiment of the paper's authors and print its figures beside theirs
    Reproduce(ReproduceArgs),
    /// Print what a shell needs to complete commands and options
    Completions(CompletionsArgs),
    /// Write the manual pages
    Man(ManArgs),
}

/// How text is read.
#[derive(Args, Clone, Default)]
pub struct ReadArgs {
    /// Format of the data; found out from the first lines. xmc, svmlight and vw are sparse rows, the others texts
    #[arg(long, value_parser = choice(INPUT_FORMATS), help_heading = "Reading")]
    input_format: Option<InputFormat>,
    /// Whether features and labels are written as numbers or as words
    #[arg(long, value_parser = choice(IDS), help_heading = "Reading")]
    ids: Option<Ids>,
    /// File with the name of every label, one per line
    #[arg(long, value_name = "FILE", help_heading = "Reading")]
    label_names: Option<PathBuf>,
    /// File with the name of every feature, one per line
    #[arg(long, value_name = "FILE", help_heading = "Reading")]
    feature_names: Option<PathBuf>,
}

impl ReadArgs {
    /// The options of the library for sparse rows.
    pub fn options(&self) -> ReadOptions {
        ReadOptions::default().with(|options| {
            options.format = self.input_format.map_or(Format::Auto, InputFormat::rows);
            options.ids = self.ids.unwrap_or(Ids::Auto);
            options.label_names = self.label_names.clone();
            options.feature_names = self.feature_names.clone();
        })
    }

    /// The options for more examples of the same kind: their features and labels have names already.
    pub fn options_of_ids(&self) -> ReadOptions {
        self.options().with(|options| (options.label_names, options.feature_names) = (None, None))
    }

    /// The format of texts.
    pub fn texts(&self) -> RecordFormat {
        self.input_format.map_or(RecordFormat::Auto, InputFormat::texts)
    }

    /// The first option that only texts have a use for.
    pub fn of_texts(&self) -> Option<&'static str> {
        self.input_format.filter(|format| matches!(format, InputFormat::Texts(_))).map(|_| "input_format")
    }

    /// The first option that only sparse rows have a use for.
    pub fn of_rows(&self) -> Option<&'static str> {
        let rows = self.input_format.is_some_and(|format| matches!(format, InputFormat::Rows(_)));
        let given = [
            ("input_format", rows),
            ("ids", self.ids.is_some()),
            ("label_names", self.label_names.is_some()),
            ("feature_names", self.feature_names.is_some()),
        ];
        given.into_iter().find_map(|(name, given)| given.then_some(name))
    }

    /// The first option that was given: a cache file needs none of them.
    pub fn given(&self) -> Option<&'static str> {
        let given = [
            ("input_format", self.input_format.is_some()),
            ("ids", self.ids.is_some()),
            ("label_names", self.label_names.is_some()),
            ("feature_names", self.feature_names.is_some()),
        ];
        given.into_iter().find_map(|(name, given)| given.then_some(name))
    }

    /// The given options, as they would be typed again.
    pub fn typed(&self) -> Vec<String> {
        let word = |name: &str, word: Option<&str>| word.map(|word| format!("--{name}={word}"));
        let file = |name: &str, file: &Option<PathBuf>| file.as_ref().map(|f| format!("--{name}={}", f.display()));
        let given = [
            word("input-format", self.input_format.and_then(|format| word_of(INPUT_FORMATS, format))),
            word("ids", self.ids.and_then(|ids| word_of(IDS, ids))),
            file("label-names", &self.label_names),
            file("feature-names", &self.feature_names),
        ];
        given.into_iter().flatten().collect()
    }

    /// Files that are read, besides the data.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.label_names.iter().chain(&self.feature_names).map(PathBuf::as_path)
    }
}

#[derive(Args)]
#[command(
    after_help = "Examples:\n  rembrandt embed train.txt.gz -k 100 -o labels.safetensors --export word2vec\n  rembrandt \
                  embed train.rmb -k 500 -o labels.safetensors --resume  # again after a kill: goes on"
)]
pub struct EmbedArgs {
    /// Training data: text, plain or compressed with gzip or zstd, - for standard input, or a cache file
    pub train: PathBuf,
    /// Embedding file to write
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Also write files for other tools: npy for NumPy, word2vec for gensim, tsv for the TensorBoard projector; word2vec
    /// and tsv hold the rows of E·diag(√μ), whose angles are those of `rembrandt neighbors`
    #[arg(long, value_delimiter = ',', value_parser = choice(EXPORTS))]
    export: Vec<Export>,
    /// Keep checkpoints in FILE.partial and go on from those that are there: the same command again, after a kill,
    /// loses no more than the panel of columns in work and writes the same bytes. Other data or parameters are refused;
    /// the folder is removed in the end
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
    pub params: ParamArgs,
    #[command(flatten)]
    pub data: DataArgs,
}

impl EmbedArgs {
    /// The formats to export to, each once.
    pub fn exports(&self) -> Vec<Export> {
        let mut exports = Vec::new();
        for export in &self.export {
            if !exports.contains(export) {
                exports.push(*export);
            }
        }
        exports
    }
}

/// Parameters of the embedding. Whatever is not given comes from the preset or is the default of the library.
#[derive(Args, Default)]
#[command(next_help_heading = "Algorithm")]
pub struct ParamArgs {
    /// Start from the settings of the paper's authors for a data set; other options override them. Without -k, mulan
    /// takes the smallest k that holds more than 90 % of the energy of YᵀY (for at most 8192 labels), the others their
    /// own k but at most the number of labels; lshtc divides each row by its sum, the word count
    #[arg(long, value_parser = choice(PRESETS))]
    preset: Option<Preset>,
    /// Dimension of the embedding [default: 100; train: 44, or up to 172 where features and labels are few, or 256 with
    /// --head or another method]
    #[arg(short)]
    k: Option<usize>,
    /// Passes of the range finder before the last [default: 2; 1 with --solver paper, and for pca and plst in train]
    #[arg(long, value_name = "N")]
    passes: Option<usize>,
    /// Extra random directions, dropped at the end [default: 20]
    #[arg(long, value_name = "N")]
    oversample: Option<usize>,
    /// Fraction of the dimensions that are random instead of those with the most energy: for very many labels, each told
    /// by features of its own [default: 0]
    #[arg(long, value_name = "FRACTION", allow_negative_numbers = true)]
    random_fraction: Option<f64>,
    /// Relative ridge; the strongest knob on text, try 1 to 8 [default: 1; train: four squared lengths of a mean example]
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    ridge: Option<f64>,
    /// How the relative ridge is scaled [default: features]
    #[arg(long, value_parser = choice(CONVENTIONS))]
    ridge_convention: Option<RidgeConvention>,
    /// Conjugate gradient steps at most in each regression; few-pass has regressions for the projection only [default:
    /// 10; train: 7, unless with --solver paper]
    #[arg(long, value_name = "N")]
    cg_steps: Option<usize>,
    /// Relative preconditioned residual at which a column of a regression is done [default: 1e-4]
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    tolerance: Option<f64>,
    /// Preconditioner of the conjugate gradients [default: diagonal]
    #[arg(long, value_parser = choice(PRECONDITIONERS))]
    preconditioner: Option<Preconditioner>,
    /// How the embedding is found: few-pass makes cheap passes without regressions; the others are the paper's
    /// algorithm, with regressions by conjugate gradients (iterative), by a factorisation for few features (direct), or
    /// by whichever costs less (paper). auto is direct where that costs less, and else few-pass [default: auto]
    #[arg(long, value_parser = choice(SOLVERS))]
    solver: Option<Solver>,
    /// Divisor of each row of features: sum is Σ|x|, length is ‖x‖₂. The embedding file says so, and its
    /// projection is for rows divided likewise [default: none]
    #[arg(long, value_name = "SIZE", value_parser = choice(ROW_SCALES))]
    scale_rows: Option<RowScale>,
    /// Append a constant feature; has no effect with --center [default: only where train has --method cs-omp]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    bias: Option<bool>,
    /// Subtract the column means of features and labels
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    center: Option<bool>,
    /// Relative ridge of the final regression [default: that of the embedding]
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    projection_ridge: Option<f64>,
    /// Steps at most of the final regression [default: those of the embedding]
    #[arg(long, value_name = "N")]
    projection_steps: Option<usize>,
    /// Relative preconditioned residual at which the final regression is done [default: that of the embedding]
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    projection_tolerance: Option<f64>,
    /// Columns solved together; the result is the same for any width, memory is not [default: 64;
    /// fewer where memory is scarce]
    #[arg(long, value_name = "COLUMNS")]
    panel: Option<usize>,
    /// Seed of the random start [default: 1]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
}

impl ParamArgs {
    /// Whether k comes from a preset, whose authors had other data in mind.
    pub fn preset_chose_k(&self) -> bool {
        self.preset.is_some() && self.k.is_none()
    }

    /// The divisor of the rows of features.
    pub fn row_scale(&self) -> RowScale {
        self.scale_rows.unwrap_or_else(|| self.preset.map_or(RowScale::None, Preset::row_scale))
    }

    /// Whether the authors' settings or the procedure of the paper are asked for.
    pub fn as_published(&self) -> bool {
        self.preset.is_some() || self.solver == Some(Solver::Paper)
    }

    /// Whether it is the preset that says so.
    pub fn preset_divides_rows(&self) -> bool {
        self.scale_rows.is_none() && self.row_scale() != RowScale::None
    }

    /// The share of the energy of the labels from which k is to be chosen, if it is.
    pub fn energy_share(&self) -> Option<f64> {
        self.preset.filter(|_| self.k.is_none()).and_then(Preset::energy_share)
    }

    /// Refuses numbers that trees would not even see: in between they are JSON, which has no infinity.
    fn check_finite(&self) -> rembrandt::Result<()> {
        let numbers = [("ridge", self.ridge), ("tolerance", self.tolerance)];
        match numbers.into_iter().find(|(_, number)| number.is_some_and(|number| !number.is_finite())) {
            Some((name, _)) => Err(rembrandt::Error::parameter(name, "must be a finite number")),
            None => Ok(()),
        }
    }

    /// The given options that mean something to trees as well.
    fn for_trees(&self) -> impl Iterator<Item = (&'static str, serde_json::Value)> {
        let all = [
            ("passes", serde_json::json!(self.passes)),
            ("ridge", serde_json::json!(self.ridge)),
            ("tolerance", serde_json::json!(self.tolerance)),
            ("row_scale", serde_json::json!(self.scale_rows)),
            ("seed", serde_json::json!(self.seed)),
        ];
        all.into_iter().filter(|(_, value)| !value.is_null())
    }

    /// The dimensions that were given, or those of the preset; a preset that goes by the labels has none.
    pub fn given_k(&self) -> Option<usize> {
        let preset = self.preset.filter(|preset| preset.energy_share().is_none());
        self.k.or(preset.map(|preset| Rembrandt::preset(preset).k))
    }

    /// Whether the width of a panel is the user's, not ours to narrow.
    pub fn has_panel(&self) -> bool {
        self.panel.is_some()
    }

    /// The ridge that was given, or that of the preset.
    pub fn given_ridge(&self) -> Option<f64> {
        self.ridge.or(self.preset.map(|preset| Rembrandt::preset(preset).ridge))
    }

    /// The parameters of the library: the preset or the defaults, with what was given put over them.
    pub fn params(&self) -> Rembrandt {
        self.over(Rembrandt::default())
    }

    /// The preset or `base`, with what was given put over it.
    pub fn over(&self, base: Rembrandt) -> Rembrandt {
        let base = match (self.preset, self.solver) {
            (Some(preset), _) => Rembrandt::preset(preset),
            (None, Some(Solver::Paper)) => {
                let paper = Rembrandt::paper(base.k);
                base.with(|p| {
                    p.passes = paper.passes;
                    p.cg_steps = paper.cg_steps
                })
            }
            (None, _) => base,
        };
        let mut projection = base.projection;
        projection.ridge = self.projection_ridge.or(projection.ridge);
        projection.cg_steps = self.projection_steps.or(projection.cg_steps);
        projection.tolerance = self.projection_tolerance.or(projection.tolerance);
        base.with(|p| {
            p.k = self.k.unwrap_or(p.k);
            p.oversample = self.oversample.unwrap_or(p.oversample);
            p.random_fraction = self.random_fraction.unwrap_or(p.random_fraction);
            p.passes = self.passes.unwrap_or(p.passes);
            p.ridge = self.ridge.unwrap_or(p.ridge);
            p.ridge_convention = self.ridge_convention.unwrap_or(p.ridge_convention);
            p.cg_steps = self.cg_steps.unwrap_or(p.cg_steps);
            p.tolerance = self.tolerance.unwrap_or(p.tolerance);
            p.preconditioner = self.preconditioner.unwrap_or(p.preconditioner);
            p.solver = self.solver.unwrap_or(p.solver);
            p.bias = self.bias.unwrap_or(p.bias);
            p.center = self.center.unwrap_or(p.center);
            p.projection = projection;
            p.panel = self.panel.unwrap_or(p.panel);
            p.seed = self.seed.unwrap_or(p.seed);
        })
    }
}

#[derive(Args)]
#[command(after_help = "Example:\n  rembrandt convert train.txt.gz -o train.rmb")]
pub struct ConvertArgs {
    /// Data as text, plain or compressed with gzip or zstd, - for standard input; of texts, the cache holds the features that
    /// they become, as sparse rows
    pub train: PathBuf,
    /// Cache file to write
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    #[command(flatten)]
    pub data: DataArgs,
    /// Print the result as one JSON object
    #[arg(long)]
    pub json: bool,
    /// Print neither progress nor summary
    #[arg(short, long)]
    pub quiet: bool,
}

#[derive(Args)]
#[command(after_help = "Example:\n  rembrandt inspect labels.safetensors --json")]
pub struct InspectArgs {
    /// Data as text, - for standard input, a cache, embedding or model file
    pub file: PathBuf,
    #[command(flatten)]
    pub data: DataArgs,
    /// Check every byte of a cache file; all others always are
    #[arg(long)]
    pub verify: bool,
    /// Print the result as one JSON object
    #[arg(long)]
    pub json: bool,
    /// Print no progress
    #[arg(short, long)]
    pub quiet: bool,
}

#[derive(Args)]
#[command(after_help = "Example:\n  rembrandt neighbors labels.safetensors cattle --top 5")]
pub struct NeighborsArgs {
    /// Embedding or model file
    pub file: PathBuf,
    /// A label, by name or id
    pub label: String,
    /// Number of neighbors
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub top: usize,
    /// Print the result as one JSON object
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
#[command(after_help = "Example:\n  rembrandt reproduce yeast --data data")]
pub struct ReproduceArgs {
    /// The data set
    #[arg(value_name = "NAME", value_parser = choice(EXPERIMENTS))]
    pub experiment: Experiment,
    /// Folder with NAME/train.txt and NAME/test.txt in the extreme classification format, plain or with .gz or .zst
    #[arg(long, value_name = "DIR")]
    pub data: PathBuf,
    /// Seed of everything that is random
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Print the figures as one JSON array
    #[arg(long)]
    pub json: bool,
    /// Print no progress
    #[arg(short, long)]
    pub quiet: bool,
}

#[derive(Args)]
#[command(
    after_help = "Examples:\n  rembrandt completions bash > ~/.local/share/bash-completion/completions/rembrandt\n  \
                        rembrandt completions fish > ~/.config/fish/completions/rembrandt.fish"
)]
pub struct CompletionsArgs {
    /// The shell
    pub shell: Shell,
}

#[derive(Args)]
#[command(after_help = "Example:\n  rembrandt man ~/.local/share/man/man1")]
pub struct ManArgs {
    /// Folder to write to, a page for each command
    pub folder: PathBuf,
}

const IDS: &[(&str, Ids)] = &[("auto", Ids::Auto), ("numbers", Ids::Numbers), ("words", Ids::Words)];
const EXPORTS: &[(&str, Export)] = &[("npy", Export::Npy), ("word2vec", Export::Word2vec), ("tsv", Export::Tsv)];
const EXPERIMENTS: &[(&str, Experiment)] = &[
    ("aloi", Experiment::Aloi),
    ("bibtex", Experiment::Bibtex),
    ("corel5k", Experiment::Corel5k),
    ("yeast", Experiment::Yeast),
];
const PRESETS: &[(&str, Preset)] = &[("aloi", Preset::Aloi), ("mulan", Preset::Mulan), ("lshtc", Preset::Lshtc)];
const ROW_SCALES: &[(&str, RowScale)] =
    &[("none", RowScale::None), ("sum", RowScale::Sum), ("length", RowScale::Length)];
const CONVENTIONS: &[(&str, RidgeConvention)] =
    &[("features", RidgeConvention::Features), ("authors", RidgeConvention::Authors)];
const PRECONDITIONERS: &[(&str, Preconditioner)] =
    &[("diagonal", Preconditioner::Diagonal), ("none", Preconditioner::None)];
const SOLVERS: &[(&str, Solver)] = &[
    ("auto", Solver::Auto),
    ("few-pass", Solver::FewPass),
    ("paper", Solver::Paper),
    ("iterative", Solver::Iterative),
    ("direct", Solver::Direct),
];

/// The word for a choice.
fn word_of<T: PartialEq>(choices: &[(&'static str, T)], chosen: T) -> Option<&'static str> {
    choices.iter().find(|(_, choice)| *choice == chosen).map(|(word, _)| *word)
}

/// Parses one of a few words into a type of the library.
fn choice<T: Copy + Send + Sync + 'static>(choices: &'static [(&'static str, T)]) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(choices.iter().map(|(word, _)| *word))
        .map(move |typed| choices.iter().find(|(word, _)| *word == typed).expect("clap let only these through").1)
}

#[cfg(test)]
mod tests;
