//! Options of the methods that make trees, and their way to parameters of the library.

use clap::Args;
use rembrandt::tree::{Affinity, Smoothing, TreeMethod, TreeParams};
use rembrandt::{Error, Result};
use serde_json::{Value, json};

use super::{TrainArgs, Typed, choice, method};

/// Parameters of trees. Whatever is not given is the default of the library.
#[derive(Args, Default)]
#[command(next_help_heading = "Trees")]
pub struct TreeArgs {
    /// fastxml: number of trees [default: 50]
    #[arg(long, value_name = "N")]
    trees: Option<usize>,
    /// fastxml, lpsr: a node with more examples is split [default: fastxml: 10; lpsr: 1000, or two for each of its
    /// labels]
    #[arg(long, value_name = "N")]
    leaf_examples: Option<usize>,
    /// fastxml, lpsr: labels that a leaf keeps at most [default: 100; lpsr: with more than 464 labels c, c^¾]
    #[arg(long, value_name = "N")]
    leaf_labels: Option<usize>,
    /// fastxml: what a mistake costs at a node; more makes hyperplanes less sparse [default: 1]
    #[arg(long, value_name = "NUMBER", value_parser = parse_number)]
    cost: Option<f64>,
    /// Levels: at most so many of fastxml and lpsr, exactly so many of label-tree [default: 60 and 3]
    #[arg(long, value_name = "N")]
    depth: Option<usize>,
    /// Nodes at most [default: lomtree: 16 for each label; others: as many as memory is sure to hold]
    #[arg(long, value_name = "N")]
    nodes: Option<usize>,
    /// lomtree, label-tree: length of the steps of the regressors [default: 1 and 2]
    #[arg(long, value_name = "NUMBER", value_parser = parse_number)]
    step: Option<f64>,
    /// lomtree: mistakes that a leaf must have made to be split [default: 5]
    #[arg(long, value_name = "NUMBER", value_parser = parse_number)]
    patience: Option<f64>,
    /// lomtree: how many times the weight of the lightest leaf the mistakes of another must have, to take its nodes
    /// [default: 4]
    #[arg(long, value_name = "NUMBER", value_parser = parse_number)]
    swap_resistance: Option<f64>,
    /// lomtree: the regressors share a table of at most 2^BITS numbers [default: 24]
    #[arg(long, value_name = "BITS")]
    bits: Option<u32>,
    /// lpsr: count a feature of an example once, whatever its value, or take values for counts [default: true]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    presence: Option<bool>,
    /// lpsr: what is added to the count of every label and feature [default: 1]
    #[arg(long, value_name = "NUMBER", value_parser = parse_number)]
    laplace: Option<f64>,
    /// lpsr: how that is spread over the features, evenly or as they occur [default: uniform]
    #[arg(long, value_parser = choice(SMOOTHINGS))]
    smoothing: Option<Smoothing>,
    /// label-tree: children of a node [default: as many as let an example meet the fewest scorers]
    #[arg(long, value_name = "N")]
    branching: Option<usize>,
    /// label-tree: nodes of a level that are followed, 1 for greedy descent [default: 6]
    #[arg(long, value_name = "N")]
    beam: Option<usize>,
    /// label-tree: of these, nodes are passed over whose score is so much lower than the best, where enough labels are
    /// below the others [default: 4]
    #[arg(long, value_name = "NUMBER", value_parser = parse_number)]
    margin: Option<f64>,
    /// label-tree: dimensions that nodes score examples in [default: the features up to 512 of them, else 100]
    #[arg(long, value_name = "N")]
    rank: Option<usize>,
    /// label-tree: labels belong together that have like embeddings, or that one-vs-rest classifiers confuse [default:
    /// embedding]
    #[arg(long, value_parser = choice(AFFINITIES))]
    affinity: Option<Affinity>,
}

const SMOOTHINGS: &[(&str, Smoothing)] = &[("uniform", Smoothing::Uniform), ("background", Smoothing::Background)];
const AFFINITIES: &[(&str, Affinity)] = &[("embedding", Affinity::Embedding), ("confusion", Affinity::Confusion)];

/// Options of the groups of labels that a label tree of several levels has.
const OF_GROUPS: [&str; 4] = ["branching", "beam", "margin", "affinity"];

/// Reads a number that is one.
fn parse_number(text: &str) -> std::result::Result<f64, String> {
    text.parse().ok().filter(|number: &f64| number.is_finite()).ok_or_else(|| "write a finite number".to_owned())
}

impl TreeArgs {
    /// The given options, by the names of the library.
    fn given(&self) -> impl Iterator<Item = (&'static str, Value)> {
        let all = [
            ("trees", json!(self.trees)),
            ("leaf_examples", json!(self.leaf_examples)),
            ("leaf_labels", json!(self.leaf_labels)),
            ("cost", json!(self.cost)),
            ("depth", json!(self.depth)),
            ("nodes", json!(self.nodes)),
            ("step", json!(self.step)),
            ("patience", json!(self.patience)),
            ("swap_resistance", json!(self.swap_resistance)),
            ("bits", json!(self.bits)),
            ("presence", json!(self.presence)),
            ("laplace", json!(self.laplace)),
            ("smoothing", json!(self.smoothing)),
            ("branching", json!(self.branching)),
            ("beam", json!(self.beam)),
            ("margin", json!(self.margin)),
            ("rank", json!(self.rank)),
            ("affinity", json!(self.affinity)),
        ];
        all.into_iter().filter(|(_, value)| !value.is_null())
    }
}

impl TrainArgs {
    /// Parameters of the library for trees: the defaults, with what was given put over them. An option that the method
    /// has no use for is refused.
    pub fn tree_params(&self, method: TreeMethod) -> Result<TreeParams> {
        let Value::Object(mut fields) = json!(TreeParams::new(method)) else { unreachable!("parameters are a struct") };
        let name = json!(method).as_str().unwrap_or_default().to_owned();
        let useless = |typed: &&Typed| !method::of_trees(method, &typed.name, typed.heading.as_deref());
        if let Some(typed) = self.typed.iter().find(useless) {
            return Err(Error::Data(format!("{} means nothing to {name}: leave it out", typed.flag())));
        }
        let flat = method == TreeMethod::LabelTree && self.trees.depth == Some(1);
        if let Some(typed) = self.typed.iter().find(|typed| flat && OF_GROUPS.contains(&&*typed.name)) {
            let reason = "means nothing to label-tree with --depth 1, where labels are in no groups: leave it out";
            return Err(Error::Data(format!("{} {reason}", typed.flag())));
        }
        self.params.check_finite()?;
        let mut given: Vec<(&str, Value)> = self.trees.given().collect();
        given.extend(self.params.for_trees());
        given.extend(self.head.epochs().map(|epochs| ("epochs", json!(epochs))));
        given.into_iter().for_each(|(name, value)| drop(fields.insert(name.to_owned(), value)));
        // Types of the options are those of the fields.
        serde_json::from_value(Value::Object(fields)).map_err(|e| Error::Data(format!("an option of {name}: {e}")))
    }
}
