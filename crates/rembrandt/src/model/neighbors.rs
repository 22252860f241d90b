//! Labels that features treat alike.
//!
//! The regression of the labels on the features predicts Π_X Y, whose columns, one per label, have inner products
//! M ≈ E diag(μ) Eᵀ. Two labels are therefore as similar as the angle between their rows of E·diag(√μ) is small:
//! that is the cosine between what the features predict for one and for the other over all training examples. Rows
//! of E by themselves would count a direction that explains next to nothing as much as the first.

use rayon::prelude::*;

use super::EmbeddingFile;
use crate::{Error, Result};

/// Names offered when a label is not found.
const SUGGESTIONS: usize = 3;

/// A label near another one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Neighbor {
    /// The label.
    pub id: usize,
    /// Cosine of the angle between the two.
    pub cosine: f64,
}

impl EmbeddingFile {
    /// The labels with the largest cosine to `label`, at most `top`, best first, equals in order of their ids. Labels
    /// without a direction (never seen in training) are left out.
    ///
    /// # Panics
    /// If there is no such label.
    pub fn neighbors(&self, label: usize, top: usize) -> Result<Vec<Neighbor>> {
        let labels = &self.embedding.labels;
        let weights = self.weights();
        let weighted = |id: usize| labels.row(id).iter().zip(&weights).map(|(v, w)| f64::from(*v) * w);
        let query: Vec<f64> = weighted(label).collect();
        let length = query.iter().map(|v| v * v).sum::<f64>().sqrt();
        if length == 0.0 {
            let reason = format!("{:?} has no direction: it was never seen in training", self.label_name(label));
            return Err(Error::parameter("label", reason));
        }
        let mut near: Vec<Neighbor> = (0..labels.rows())
            .into_par_iter()
            .filter(|&id| id != label)
            .filter_map(|id| {
                let (mut dot, mut square) = (0.0, 0.0);
                for (v, q) in weighted(id).zip(&query) {
                    dot += v * q;
                    square += v * v;
                }
                // Rounding must not make two equal labels more than equal.
                (square > 0.0).then(|| Neighbor { id, cosine: (dot / (square.sqrt() * length)).clamp(-1.0, 1.0) })
            })
            .collect();
        near.sort_by(|a, b| b.cosine.total_cmp(&a.cosine).then(a.id.cmp(&b.id)));
        near.truncate(top);
        Ok(near)
    }

    /// The id of a label given by its exact name or, if no label is named so, by its id.
    pub fn find_label(&self, text: &str) -> Result<usize> {
        let c = self.embedding.labels.rows();
        if let Some(id) = self.label_names.as_ref().and_then(|names| names.iter().position(|name| name == text)) {
            return Ok(id);
        }
        match (text.parse::<usize>(), &self.label_names) {
            (Ok(id), _) if id < c => Ok(id),
            (_, None) => {
                let reason = match c.checked_sub(1) {
                    Some(last) => format!("the file has no names, give an id from 0 to {last}"),
                    None => "the file has no labels at all".to_owned(),
                };
                Err(Error::parameter("label", format!("{text:?} is not a label: {reason}")))
            }
            (_, Some(names)) => {
                let reason = match suggestions(text, names)[..] {
                    [] => format!("{text:?} is neither the name nor the id of a label"),
                    ref near => format!("{text:?} is not a label: did you mean {}?", near.join(", ")),
                };
                Err(Error::parameter("label", reason))
            }
        }
    }

    /// √μ of every direction.
    pub(super) fn weights(&self) -> Vec<f64> {
        self.embedding.spectrum.iter().map(|v| v.max(0.0).sqrt()).collect()
    }
}

/// The names closest to `text`, quoted: equal but for case, then containing it, then a few letters away.
fn suggestions(text: &str, names: &[String]) -> Vec<String> {
    let wanted = text.to_lowercase();
    let letters: Vec<char> = wanted.chars().collect();
    // Any two short words are a letter or two apart.
    let allowed = if letters.len() < 3 { 0 } else { (letters.len() / 4).max(1) };
    let mut near: Vec<(usize, usize)> = names
        .par_iter()
        .enumerate()
        .filter_map(|(id, name)| {
            let name = name.to_lowercase();
            if name.is_empty() || wanted.is_empty() {
                return None;
            }
            if name == wanted {
                return Some((0, id));
            }
            if name.contains(&wanted) {
                // The shorter the name, the more of it was typed.
                return Some((1 + name.len() - wanted.len(), id));
            }
            let distance = edit_distance(&letters, &name.chars().collect::<Vec<_>>(), allowed)?;
            Some((distance, id))
        })
        .collect();
    near.sort_unstable();
    near.iter().take(SUGGESTIONS).map(|(_, id)| format!("{:?}", names[*id])).collect()
}

/// Letters to insert, delete or replace to get from one word to the other, if not more than `allowed`.
fn edit_distance(a: &[char], b: &[char], allowed: usize) -> Option<usize> {
    if a.len().abs_diff(b.len()) > allowed {
        return None;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    Some(row[b.len()]).filter(|distance| *distance <= allowed)
}

#[cfg(test)]
mod tests {
    use super::super::embedding::tests::sample;
    use super::*;
    use crate::Matrix;

    fn named(rows: &[[f32; 2]], names: &[&str]) -> EmbeddingFile {
        let mut file = sample();
        file.embedding.labels = Matrix::from_fn(rows.len(), 2, |i, j| rows[i][j]);
        file.label_names = Some(names.iter().map(|n| n.to_string()).collect());
        file
    }

    #[test]
    fn cosines_are_those_of_the_weighted_rows() {
        // Spectrum 4 and 1, so a row (x, y) points towards (2x, y).
        let rows = [[1.0, 0.0], [0.5, 1.0], [0.0, 0.0], [-3.0, 0.0], [0.0, 1.0], [5.0, 10.0]];
        let file = named(&rows, &["a", "b", "unseen", "d", "e", "f"]);
        let near = file.neighbors(0, 10).unwrap();
        assert_eq!(near.iter().map(|n| n.id).collect::<Vec<_>>(), [1, 5, 4, 3]);
        assert!((near[0].cosine - 0.5f64.sqrt()).abs() < 1e-12);
        assert_eq!((near[2].cosine, near[3].cosine), (0.0, -1.0));
        assert_eq!(file.neighbors(0, 1).unwrap().len(), 1);
        let message = file.neighbors(2, 1).unwrap_err().to_string();
        assert_eq!(message, "label: \"unseen\" has no direction: it was never seen in training");
    }

    #[test]
    fn labels_are_found_by_name_then_id_or_guessed() {
        let file = named(&[[1.0, 0.0]; 4], &["Cattle", "cattle farming", "3", "paint"]);
        assert_eq!(file.find_label("Cattle").unwrap(), 0);
        assert_eq!(file.find_label("3").unwrap(), 2);
        assert_eq!(file.find_label("1").unwrap(), 1);
        let message = |text: &str| file.find_label(text).unwrap_err().to_string();
        assert_eq!(message("cattle"), "label: \"cattle\" is not a label: did you mean \"Cattle\", \"cattle farming\"?");
        assert_eq!(message("pint"), "label: \"pint\" is not a label: did you mean \"paint\"?");
        assert_eq!(message("zebra"), "label: \"zebra\" is neither the name nor the id of a label");
        assert_eq!(message("4"), "label: \"4\" is neither the name nor the id of a label");
        let mut nameless = EmbeddingFile { label_names: None, ..file };
        let message = nameless.find_label("9").unwrap_err().to_string();
        assert_eq!(message, "label: \"9\" is not a label: the file has no names, give an id from 0 to 3");
        nameless.embedding.labels = Matrix::zeros(0, 2);
        let message = nameless.find_label("0").unwrap_err().to_string();
        assert_eq!(message, "label: \"0\" is not a label: the file has no labels at all");
    }

    #[test]
    fn edit_distances() {
        let distance = |a: &str, b: &str| {
            edit_distance(&a.chars().collect::<Vec<_>>(), &b.chars().collect::<Vec<_>>(), 9).unwrap()
        };
        assert_eq!((distance("kitten", "sitting"), distance("", "ab"), distance("ü", "ü")), (3, 2, 0));
    }
}
