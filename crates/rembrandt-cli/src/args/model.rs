//! Arguments of the commands that use a model.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use rembrandt::data::formats::{Format, Ids, ReadOptions};
use rembrandt::data::records::{RecordFormat, RecordOptions, Selector};
use rembrandt::metrics::{LEVEL, Propensity};
use rembrandt::model::Threshold;

use super::head::parse_propensity;
use super::{IDS, choice};

/// Which columns of a table hold what.
#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Texts")]
pub struct ColumnArgs {
    /// Column of the text, by name or number [default: text]
    #[arg(long, value_name = "COLUMN")]
    text_column: Option<Selector>,
    /// Column of the labels [default: labels, if there is one]
    #[arg(long, value_name = "COLUMN")]
    labels_column: Option<Selector>,
    /// Column of the weights of examples
    #[arg(long, value_name = "COLUMN")]
    weight_column: Option<Selector>,
    /// Separator of the labels of an example; empty when there is one label [default: ,]
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    label_separator: Option<String>,
    /// Character between the fields of CSV [default: ,]
    #[arg(long, value_name = "CHAR", allow_hyphen_values = true)]
    delimiter: Option<char>,
    /// Whether the first line names the columns [default: unless all columns are given by number]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    header: Option<bool>,
}

impl ColumnArgs {
    /// The options of the library for a file of records: what was given, put over `base`.
    pub fn over(&self, base: RecordOptions, format: RecordFormat) -> RecordOptions {
        let columns = [&self.text_column, &self.labels_column, &self.weight_column];
        let chosen = columns.iter().any(|column| column.is_some());
        base.clone().with(|options| {
            options.format = format;
            options.text = self.text_column.clone().unwrap_or(base.text);
            // The number of a column means little where others were chosen for this file.
            let kept = base.labels.filter(|labels| !chosen || matches!(labels, Selector::Name(_)));
            options.labels = self.labels_column.clone().or(kept);
            options.weight = self.weight_column.clone().or(base.weight);
            options.header = self.header.or(base.header.filter(|_| !chosen));
            options.separator = self.label_separator.clone().unwrap_or(base.separator);
            options.delimiter = self.delimiter.or(base.delimiter);
            options.remembered = base.remembered && self.labels_column.is_none();
        })
    }

    /// The given options, as they would be typed again.
    pub fn typed(&self) -> Vec<String> {
        let column = |name: &str, column: &Option<Selector>| column.as_ref().map(|c| format!("--{name}={c}"));
        let given = [
            column("text-column", &self.text_column),
            column("labels-column", &self.labels_column),
            column("weight-column", &self.weight_column),
            self.label_separator.as_ref().map(|separator| format!("--label-separator={separator}")),
            self.delimiter.map(|delimiter| format!("--delimiter={delimiter}")),
            self.header.map(|header| format!("--header={header}")),
        ];
        given.into_iter().flatten().collect()
    }

    /// The first option that was given: sparse rows have no columns.
    pub fn given(&self) -> Option<&'static str> {
        let given = [
            ("text_column", self.text_column.is_some()),
            ("labels_column", self.labels_column.is_some()),
            ("weight_column", self.weight_column.is_some()),
            ("label_separator", self.label_separator.is_some()),
            ("delimiter", self.delimiter.is_some()),
            ("header", self.header.is_some()),
        ];
        given.into_iter().find_map(|(name, given)| given.then_some(name))
    }
}

/// The format of what is read: of sparse rows or of texts, depending on the model.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum InputFormat {
    #[default]
    Auto,
    Rows(Format),
    Texts(RecordFormat),
}

impl InputFormat {
    /// The format of sparse rows.
    pub fn rows(self) -> Format {
        if let InputFormat::Rows(format) = self { format } else { Format::Auto }
    }

    /// The format of texts.
    pub fn texts(self) -> RecordFormat {
        if let InputFormat::Texts(format) = self { format } else { RecordFormat::Auto }
    }
}

pub const INPUT_FORMATS: &[(&str, InputFormat)] = &[
    ("auto", InputFormat::Auto),
    ("xmc", InputFormat::Rows(Format::Xmc)),
    ("svmlight", InputFormat::Rows(Format::Svmlight)),
    ("vw", InputFormat::Rows(Format::Vw)),
    ("tsv", InputFormat::Texts(RecordFormat::Tsv)),
    ("csv", InputFormat::Texts(RecordFormat::Csv)),
    ("jsonl", InputFormat::Texts(RecordFormat::Jsonl)),
    ("lines", InputFormat::Texts(RecordFormat::Lines)),
];

/// The input and how to read it.
#[derive(Args, Clone)]
pub struct InputArgs {
    /// Format of the examples; for a text model tsv, csv, jsonl, or lines with one text each
    #[arg(long, value_parser = choice(INPUT_FORMATS), default_value = "auto")]
    pub input_format: InputFormat,
    /// Whether features and labels of sparse rows are numbers or words, where that cannot be told from the model
    #[arg(long, value_parser = choice(IDS))]
    pub ids: Option<Ids>,
    #[command(flatten)]
    pub columns: ColumnArgs,
}

impl InputArgs {
    /// The options of the library for sparse rows.
    pub fn rows(&self) -> ReadOptions {
        let format = self.input_format.rows();
        ReadOptions::default().with(|options| (options.format, options.ids) = (format, self.ids.unwrap_or(Ids::Auto)))
    }

    /// The options of the library for texts, where they are not those that the model `remembered`.
    pub fn records(&self, remembered: RecordOptions) -> Option<RecordOptions> {
        let format = self.input_format.texts();
        // Plain lines have no columns: whoever names one is told so.
        let base = if format == RecordFormat::Lines && self.columns.given().is_some() {
            RecordOptions::default()
        } else {
            remembered
        };
        let given = format != RecordFormat::Auto || self.columns.given().is_some();
        given.then(|| self.columns.over(base, format))
    }
}

/// How predictions are written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OutputFormat {
    Tsv,
    Jsonl,
    Xmc,
}

const OUTPUT_FORMATS: &[(&str, OutputFormat)] =
    &[("tsv", OutputFormat::Tsv), ("jsonl", OutputFormat::Jsonl), ("xmc", OutputFormat::Xmc)];

/// Where the id of an answer comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum IdSource {
    /// A column of a table of texts.
    Column(Selector),
    /// The number of the example, from 1.
    Number,
}

impl FromStr for IdSource {
    type Err = rembrandt::Error;

    fn from_str(text: &str) -> Result<IdSource, rembrandt::Error> {
        if text == "#" { Ok(IdSource::Number) } else { text.parse().map(IdSource::Column) }
    }
}

#[derive(Args)]
#[command(
    after_help = "Examples:\n  rembrandt predict model.model new.txt --top 3\n  echo 'a chess program' | rembrandt \
                        predict model.model - --input-format lines --format jsonl\n  rembrandt predict model.model articles.csv --id-column number -o \
                        answers.tsv"
)]
pub struct PredictArgs {
    /// Model file
    pub model: PathBuf,
    /// Examples like those that the model was trained on, with or without labels; - for standard input, where each line is
    /// answered as it comes
    pub input: PathBuf,
    /// Labels per example, at most
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub top: usize,
    /// Leave out labels whose probability is lower; auto for the thresholds that are best for F1, label by label
    #[arg(long, value_name = "P", value_parser = parse_threshold)]
    pub threshold: Option<Threshold>,
    /// How predictions are written, one line per example: tsv, label and probability in turn; jsonl; xmc,
    /// label:probability with labels as in the training data
    #[arg(long, value_parser = choice(OUTPUT_FORMATS), default_value = "tsv")]
    pub format: OutputFormat,
    /// Begin each line with what the example is called: a column of texts, by name or number, or # for the number of the
    /// example, from 1
    #[arg(long, value_name = "COLUMN")]
    pub id_column: Option<IdSource>,
    /// File to write [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// File with the labels to choose from, one name or id per line; others cost nothing
    #[arg(long, value_name = "FILE")]
    pub labels: Option<PathBuf>,
    /// Score all labels, also where the model proposes some for each example
    #[arg(long)]
    pub exact: bool,
    #[command(flatten)]
    pub input_args: InputArgs,
    /// Print no progress
    #[arg(short, long)]
    pub quiet: bool,
}

#[derive(Args)]
#[command(
    after_help = "Examples:\n  rembrandt eval model.model test.txt.gz --json\n  rembrandt eval model.model test.txt.gz --at \
                        1,10,100 --per-label labels.tsv --report report.html\n  rembrandt eval old.model test.txt.gz \
                        --against new.model\n  rembrandt eval predictions.txt test.txt.gz --train train.txt.gz"
)]
pub struct EvalArgs {
    /// Model file, or predictions of any program: a line `label:score label:score ...` for each example
    pub model: PathBuf,
    /// Labelled examples; - for standard input
    pub test: PathBuf,
    /// Other predictions for the same examples, a model or a file: is the difference more than chance?
    #[arg(long, value_name = "MODEL")]
    pub against: Option<PathBuf>,
    /// The ranks that are scored
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "1,3,5")]
    pub at: Vec<usize>,
    /// Write support, precision, recall, F1 and threshold of each label, those with most examples first: as TSV, or as JSON
    /// where the name ends with .json
    #[arg(long, value_name = "FILE")]
    pub per_label: Option<PathBuf>,
    /// Write a page with all tables and plots that needs no other file
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Training data of predictions that come from a file: how frequent labels are. A model knows
    #[arg(long, value_name = "FILE")]
    pub train: Option<PathBuf>,
    /// The probability from which a label is predicted, for Hamming loss and F1; auto for the thresholds in the model, or 0.5
    /// for probabilities from a file
    #[arg(long, value_name = "P", value_parser = parse_threshold, default_value = "auto")]
    pub threshold: Threshold,
    /// Replicates of the bootstrap behind the intervals; 0 for none
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub bootstrap: usize,
    /// The confidence of the intervals
    #[arg(long, value_name = "SHARE", default_value_t = LEVEL)]
    pub level: f64,
    /// Constants of the propensity model behind PSP: wikipedia, amazon, other, or two numbers
    #[arg(long, value_name = "A,B", value_parser = parse_propensity, default_value = "other")]
    pub propensity: Propensity,
    /// Score all labels, also where the model proposes some for each example
    #[arg(long)]
    pub exact: bool,
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
#[command(after_help = "Example:\n  rembrandt explain model.model \"a chess program\" --label game::board")]
pub struct ExplainArgs {
    /// Model file
    pub model: PathBuf,
    /// An example: a text or, for a model of sparse rows, its features as in the training data
    pub example: String,
    /// The label to explain, by name or id [default: the most probable one]
    #[arg(long)]
    pub label: Option<String>,
    /// Features to show, those that say most
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub top: usize,
    /// Print the result as one JSON object
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
#[command(after_help = "Example:\n  rembrandt add-label model.model examples.txt --name game::go -o new.model")]
pub struct AddLabelArgs {
    /// Model file
    pub model: PathBuf,
    /// A few examples of the new label; - for standard input. Without, the label is found by the words of its name
    #[arg(required_unless_present = "name")]
    pub examples: Option<PathBuf>,
    /// Model file to write
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Name of the new label [default: the one label that all examples have in the file]
    #[arg(long)]
    pub name: Option<String>,
    #[command(flatten)]
    pub input_args: InputArgs,
    /// Print the result as one JSON object
    #[arg(long)]
    pub json: bool,
    /// Print neither progress nor summary
    #[arg(short, long)]
    pub quiet: bool,
}

/// Reads `0.3` or `auto`.
fn parse_threshold(text: &str) -> Result<Threshold, String> {
    match text.parse() {
        _ if text == "auto" => Ok(Threshold::Stored),
        Ok(value) if (0.0..=1.0).contains(&value) => Ok(Threshold::Fixed(value)),
        _ => Err("write a probability such as 0.3, or auto".to_owned()),
    }
}
