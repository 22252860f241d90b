//! Help that one can read: few options at first, and those of a method only where it is chosen.

use clap::{Arg, Command};

use super::method::{self, METHODS, MethodChoice};

/// Options of `train` that `-h` shows; `--help` shows all.
const SHORT: [&str; 15] = [
    "train",
    "output",
    "text",
    "method",
    "k",
    "head",
    "tfidf",
    "normalize",
    "text_column",
    "labels_column",
    "label_separator",
    "input_format",
    "label_names",
    "resume",
    "json",
];

/// The definition of the command line with help for what was typed.
pub fn tailored(definition: Command, words: impl Iterator<Item = String>) -> Command {
    let method = chosen_method(words);
    definition.mut_subcommand("train", |train| {
        train.mut_args(|option| {
            let id = option.get_id().as_str().to_owned();
            let option = if means_something(method, &option) { option } else { option.hide(true) };
            let always = SHORT.contains(&id.as_str()) || ["help", "threads", "quiet"].contains(&id.as_str());
            option.hide_short_help(!always)
        })
    })
}

/// The method that was typed, or the default.
fn chosen_method(words: impl Iterator<Item = String>) -> MethodChoice {
    let words: Vec<String> = words.collect();
    let typed = words.iter().enumerate().find_map(|(at, word)| match word.strip_prefix("--method=") {
        Some(method) => Some(method.to_owned()),
        None if word == "--method" => words.get(at + 1).cloned(),
        None => None,
    });
    let named = |name: String| METHODS.iter().find(|(word, _)| *word == name).map(|(_, method)| *method);
    typed.and_then(named).unwrap_or(METHODS[0].1)
}

/// Whether an option of `train` means something to a method. No option is listed that would be refused.
fn means_something(choice: MethodChoice, option: &Arg) -> bool {
    let (id, heading) = (option.get_id().as_str(), option.get_help_heading());
    match choice {
        MethodChoice::Embedding(method) => {
            heading != Some("Trees") && id != "scale_rows" && method::without_effect(method, id).is_none()
        }
        MethodChoice::Trees(method) => method::of_trees(method, id, heading),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::super::Arguments;
    use super::*;

    fn help(words: &str, long: bool) -> String {
        let definition = tailored(Arguments::command(), words.split(' ').map(str::to_owned));
        let mut train = definition.find_subcommand("train").unwrap().clone();
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
    }
}
