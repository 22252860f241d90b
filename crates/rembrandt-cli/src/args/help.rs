//! Help that one can read: few options at first, and those of a method only where it is chosen.

use clap::{Arg, Command};
use rembrandt::embed::Solver;

use super::SOLVERS;
use super::head::{HEADS, Scoring};
use super::method::{self, METHODS, MethodChoice};

/// Options of `train` that `-h` shows; `--help` shows all.
const SHORT: [&str; 19] = [
    "train",
    "output",
    "text",
    "method",
    "k",
    "head",
    "tune",
    "group_duplicates",
    "propensity",
    "tfidf",
    "normalize",
    "text_column",
    "labels_column",
    "label_separator",
    "input_format",
    "label_names",
    "resume",
    "max_memory",
    "json",
];

/// The `--preset` of `train`, which chooses no k by the energy of the labels and divides no rows, as lshtc would.
const PRESET: &str = "Start from the settings of the paper's authors for a data set, aloi or mulan, with a head; other \
                      options override them. Without -k, aloi takes its own, but at most the number of labels";

/// The definition of the command line with help for what was typed.
pub fn tailored(definition: Command, words: &[String]) -> Command {
    let typed = Words(words);
    let method = typed.value("method", METHODS).unwrap_or(METHODS[0].1);
    let as_published = typed.has("preset") || typed.value("solver", SOLVERS) == Some(Solver::Paper);
    let (head, random_features) = (typed.value("head", HEADS), typed.has("random-features"));
    let listed = |option: &Arg| match method {
        MethodChoice::Embedding(method) => {
            let scoring = Scoring::new(method, head, random_features, as_published);
            let id = option.get_id().as_str();
            let effect = method::without_effect(method, id).or(scoring.without_effect(id)).is_none();
            effect && option.get_help_heading() != Some("Trees") && id != "scale_rows"
        }
        MethodChoice::Trees(method) => method::of_trees(method, option.get_id().as_str(), option.get_help_heading()),
    };
    definition.mut_subcommand("train", |train| {
        train.mut_args(|option| {
            let id = option.get_id().as_str().to_owned();
            let option = if listed(&option) { option } else { option.hide(true) };
            let option = if id == "preset" { option.hide_possible_values(true).help(PRESET) } else { option };
            let always = SHORT.contains(&id.as_str()) || ["help", "threads", "quiet"].contains(&id.as_str());
            option.hide_short_help(!always)
        })
    })
}

/// The words of a command line.
struct Words<'a>(&'a [String]);

impl Words<'_> {
    /// The word after an option, wherever it stands.
    fn after(&self, option: &str) -> Option<&str> {
        let flag = format!("--{option}");
        self.0.iter().enumerate().find_map(|(at, word)| match word.strip_prefix(&flag) {
            Some("") => Some(self.0.get(at + 1).map_or("", String::as_str)),
            Some(value) => value.strip_prefix('='),
            None => None,
        })
    }

    fn has(&self, option: &str) -> bool {
        self.after(option).is_some()
    }

    /// One of a few choices.
    fn value<T: Copy>(&self, option: &str, choices: &[(&str, T)]) -> Option<T> {
        let typed = self.after(option)?;
        choices.iter().find(|(word, _)| *word == typed).map(|(_, choice)| *choice)
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use std::ffi::OsString;

    use super::super::{Arguments, Command as Commands};
    use super::*;

    fn tailored_to(line: &str) -> Command {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        tailored(Arguments::command(), &words).find_subcommand("train").unwrap().clone()
    }

    fn help(line: &str, long: bool) -> String {
        let mut train = tailored_to(line);
        if long { train.render_long_help() } else { train.render_help() }.to_string()
    }

    #[test]
    fn short_help_has_at_most_twenty_options_and_an_example() {
        let short = help("train", false);
        let options = short.lines().filter(|line| line.trim_start().starts_with('-')).count();
        assert!((15..=20).contains(&options), "{options}:\n{short}");
        assert!(short.contains("rembrandt train train.txt.gz -o tags.model"));
    }

    #[test]
    fn options_of_a_method_are_listed_where_it_is_chosen() {
        let (default, forest) = (help("train", true), help("train --method fastxml", true));
        assert!(!default.contains("--leaf-labels") && forest.contains("--leaf-labels"));
        assert!(default.contains("--cg-steps") && !forest.contains("--cg-steps"));
        assert!(!default.contains("--atoms") && help("train --method=cs-omp", true).contains("--atoms"));
        assert!(!default.contains("--scale-rows"));
        let head = help("train --head ilr", true);
        assert!(!default.contains("--label-weights") && head.contains("--label-weights"));
        assert!(default.contains("--propensity") && !help("train --method plst", true).contains("--propensity"));
    }

    /// Why a command line that trains is refused before the data are read, if it is.
    fn accepted(line: &str) -> Result<(), String> {
        let line = line.split_whitespace().map(OsString::from).collect();
        let arguments = Arguments::of(line).map_err(|e| e.to_string())?;
        let Commands::Train(args) = arguments.command else { unreachable!("it trains") };
        args.check().map_err(|e| e.to_string())
    }

    /// An option as it is typed, with each value that is listed, or with one that is right.
    fn examples(option: &Arg) -> Vec<String> {
        let flag =
            option.get_long().map_or_else(|| format!("-{}", option.get_short().unwrap()), |long| format!("--{long}"));
        if !option.get_action().takes_values() {
            return vec![flag];
        }
        let values = option.get_possible_values();
        let one = match option.get_id().as_str() {
            "preset" => &["aloi", "mulan"][..],
            "random_features" => &["cauchy:9"],
            "word_ngrams" | "char_ngrams" => &["2-3"],
            "propensity" => &["wikipedia"],
            "max_memory" => &["1G"],
            "tune" => &["1m"],
            "stop_words" | "stem" => &["en"],
            _ => &["1"],
        };
        match values.is_empty() || option.is_hide_possible_values_set() {
            true => one.iter().map(|value| format!("{flag}={value}")).collect(),
            false => values.iter().map(|value| format!("{flag}={}", value.get_name())).collect(),
        }
    }

    #[test]
    fn no_option_is_listed_and_refused() {
        let mut lines: Vec<String> = METHODS.iter().map(|(method, _)| format!("--method {method}")).collect();
        let of_heads =
            ["ls", "lr", "ilr", "auto", "ilr --random-features gaussian:9 --bandwidth 2", "lr --preset mulan"];
        lines.extend(of_heads.map(|head| format!("--head {head}")));
        lines.extend(["", "--solver paper", "--preset aloi", "--random-features cauchy:9"].map(str::to_owned));
        for typed in lines {
            let line = format!("rembrandt train train.txt -o x {typed}");
            let train = tailored_to(&line);
            let options = train.get_arguments().filter(|option| !option.is_hide_set() && !option.is_positional());
            // Method and head decide which others are listed.
            let decided = ["help", "output", "method", "head"];
            let others = options.filter(|option| !decided.contains(&option.get_id().as_str()));
            for example in others.flat_map(examples) {
                let name = example.split('=').next().unwrap();
                // Typed twice, it would be refused for that.
                if typed.contains(name) {
                    continue;
                }
                let line = format!("{line} {example}");
                // Some are for texts, some for sparse features.
                let refused = accepted(&line).or_else(|_| accepted(&format!("{line} --text")));
                assert_eq!(refused, Ok(()), "{line}");
            }
        }
    }
}
