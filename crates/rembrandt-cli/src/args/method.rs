//! The methods that `rembrandt train` offers, and which options mean something to which.

use rembrandt::embed::Method;
use rembrandt::tree::{TreeMethod, TreeParams};
use serde_json::json;

use super::Typed;

/// The values of `--method`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MethodChoice {
    /// Labels are embedded, and predicted from where the features of an example land among them.
    Embedding(Method),
    /// Examples go down trees.
    Trees(TreeMethod),
}

pub const METHODS: &[(&str, MethodChoice)] = &[
    ("rembrandt", MethodChoice::Embedding(Method::Rembrandt)),
    ("cs", MethodChoice::Embedding(Method::Cs)),
    ("cs-omp", MethodChoice::Embedding(Method::CsOmp)),
    ("pca", MethodChoice::Embedding(Method::Pca)),
    ("plst", MethodChoice::Embedding(Method::Plst)),
    ("cplst", MethodChoice::Embedding(Method::Cplst)),
    ("lomtree", MethodChoice::Trees(TreeMethod::Lomtree)),
    ("fastxml", MethodChoice::Trees(TreeMethod::Fastxml)),
    ("lpsr", MethodChoice::Trees(TreeMethod::Lpsr)),
    ("label-tree", MethodChoice::Trees(TreeMethod::LabelTree)),
];

/// Whether an option of `train`, listed under `heading`, means something to trees.
pub fn of_trees(method: TreeMethod, option: &str, heading: Option<&str>) -> bool {
    let special = Typed { name: option.to_owned(), heading: heading.map(str::to_owned) }.is_special();
    let params = TreeParams::new(method);
    if option == "resume" {
        return params.keeps_checkpoints();
    }
    let parameters = json!(params);
    !special || parameters.get(if option == "scale_rows" { "row_scale" } else { option }).is_some()
}

/// Why an option means nothing to a method, if that is so.
pub fn without_effect(method: Method, option: &str) -> Option<&'static str> {
    use Method::{Cplst, Cs, CsOmp, Pca, Plst, Rembrandt};
    let (methods, reason): (&[Method], &str) = match option {
        "preset" => (&[Rembrandt], "has the settings of Rembrandt's authors"),
        "random_fraction" => (&[Rembrandt], "is for Rembrandt's embedding"),
        "atoms" => (&[CsOmp], "is for cs-omp"),
        "head" => (&[Rembrandt, Cs, Pca, Plst, Cplst], "is for methods whose labels a head can score"),
        "passes" | "oversample" => (&[Rembrandt, Pca, Plst, Cplst], "is for methods with a range finder"),
        "projection_ridge" | "projection_steps" | "projection_tolerance" => {
            (&[Rembrandt, Cplst], "is for methods with a regression besides the final one")
        }
        "cg_steps" | "tolerance" | "preconditioner" | "solver" | "panel" => {
            (&[Rembrandt, Cs, CsOmp, Plst, Cplst], "is for methods that regress on the features")
        }
        "bias" | "center" | "ridge_convention" => {
            (&[Rembrandt, Cs, CsOmp], "is for methods that need not shift the data to mean 0")
        }
        "folds" => (&[Rembrandt, Cs, CsOmp, Plst, Cplst], "is for methods that fit the projection to the labels"),
        _ => return None,
    };
    (!methods.contains(&method)).then_some(reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_the_library() {
        for (word, choice) in METHODS {
            match choice {
                MethodChoice::Embedding(method) => {
                    assert_eq!(*word, method.name());
                    assert_eq!(serde_json::to_value(method).unwrap(), *word);
                }
                MethodChoice::Trees(method) => assert_eq!(serde_json::to_value(method).unwrap(), *word),
            }
        }
    }
}
