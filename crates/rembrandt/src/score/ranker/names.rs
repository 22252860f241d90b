//! m: for each label the features that are words of its name, as a vector of length 1.
//!
//! A subject is often called what texts about it say. Where labels and features have names, and words of the first are
//! among the second, the cosine of an example with the name of a label is a view of its own, which needs no example of
//! the label. Where names are no words, no feature has one of them, and the view is silent.

use std::collections::HashMap;

use super::packed_matrix::PackedMatrix;
use crate::linalg::csr::CsrRef;

/// A word in more names than this tells little, and would cost much.
pub(crate) const MOST_NAMES: usize = 200;

/// The words of a name, each once, in lower case.
pub(crate) fn words(name: &str) -> Vec<String> {
    let lower = name.to_lowercase();
    let mut words: Vec<String> =
        lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_owned).collect();
    words.sort_unstable();
    words.dedup();
    words
}

/// The features that are words of a name, with weights of length 1 together with those of words that are no features.
/// `find` gives the feature of a word, and its weight.
pub(crate) fn name_features(
    name: &str,
    find: impl Fn(&str) -> (Option<usize>, f64),
) -> impl Iterator<Item = (usize, f32)> {
    let found: Vec<(Option<usize>, f64)> = words(name).iter().map(|word| find(word)).collect();
    let length = found.iter().map(|(_, weight)| weight * weight).sum::<f64>().sqrt();
    found.into_iter().filter_map(move |(id, weight)| Some((id?, (weight / length) as f32)))
}

/// m for labels and features with these names, and `d` features. Words weigh ln(n/df) + 1, by the examples `x` that have them.
pub(crate) fn name_matrix<'a>(
    labels: &[String],
    features: impl Iterator<Item = &'a str>,
    (x, d): (CsrRef<'_>, usize),
) -> PackedMatrix {
    let mut df = vec![0u32; d];
    (0..x.rows()).for_each(|i| x.row(i).0.iter().for_each(|id| df[*id as usize] += 1));
    let of_word: HashMap<&str, usize> = features.enumerate().map(|(id, name)| (name, id)).collect();
    let weight = |df: u32| (x.rows() as f64 / f64::from(df.max(1))).max(1.0).ln() + 1.0;
    let mut lists: Vec<Vec<(u32, f32)>> = vec![Vec::new(); d];
    for (label, name) in (0u32..).zip(labels) {
        let find = |word: &str| of_word.get(word).map_or((None, weight(1)), |id| (Some(*id), weight(df[*id])));
        name_features(name, find).for_each(|(id, weight)| lists[id].push((label, weight)));
    }
    lists.iter_mut().filter(|list| list.len() > MOST_NAMES).for_each(Vec::clear);
    PackedMatrix::new(&lists).expect("a feature has few labels")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_names_are_found_among_features() {
        let labels = ["Board games", "game::chess", "42", "chess, chess"].map(str::to_owned);
        let features = ["chess", "games", "board", "of"];
        let (ptr, ids) = ([0, 2, 3, 5], [0, 1, 0, 2, 3]);
        let found = name_matrix(&labels, features.into_iter(), (CsrRef { ptr: &ptr, ids: &ids, values: None }, 4));
        let square = |label| (0..4).map(|f| found.weight(f, label).powi(2)).sum::<f32>();
        assert!((square(0) - 1.0).abs() < 0.02 && found.weight(1, 0) > 0.5 && found.weight(2, 0) > 0.5);
        assert!(found.weight(0, 1) > 0.3 && square(1) < 0.9, "a word that is no feature counts for the length");
        assert!(square(2) == 0.0 && (square(3) - 1.0).abs() < 0.02);
        assert!(name_matrix(&[], features.into_iter(), (CsrRef { ptr: &ptr, ids: &ids, values: None }, 4)).len() == 0);
    }

    #[test]
    fn a_word_of_very_many_names_is_left_out() {
        let labels: Vec<String> = (0..300).map(|l| format!("lib {l}")).collect();
        let features = ["lib", "7"];
        let found = name_matrix(&labels, features.into_iter(), (CsrRef { ptr: &[0], ids: &[], values: None }, 2));
        assert_eq!(found.len(), 1);
    }
}
