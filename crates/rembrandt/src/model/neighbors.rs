//! Labels that features treat alike.
//!
//! The regression of the labels on the features predicts Π_X Y, whose columns, one per label, have inner products
//! M ≈ E diag(μ) Eᵀ. Two labels are therefore as similar as the angle between their rows of E·diag(√μ) is small:
//! that is the cosine between what the features predict for one and for the other over all training examples. Rows
//! of E by themselves would count a direction that explains next to nothing as much as the first.

use std::borrow::Cow;

use rayon::prelude::*;
use serde::Serialize;
use serde_json::Value;

use super::{EmbeddingFile, Model, names};
use crate::{Error, Result};

/// A label near another one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Neighbor {
    /// The label.
    pub label: u32,
    /// Cosine of the angle between the two.
    pub cosine: f64,
}

impl EmbeddingFile {
    /// The labels with the largest cosine to `label`, at most `top`, best first, equals in order of their ids. Labels
    /// without a direction (never seen in training) are left out.
    ///
    /// # Panics
    /// If there is no such label.
    pub fn neighbors(&self, label: u32, top: usize) -> Result<Vec<Neighbor>> {
        let labels = &self.embedding.labels;
        nearest(labels.rows(), |id| labels.row(id).into(), &self.weights(), label, top)
            .ok_or_else(|| no_direction(&self.label_name(label)))
    }

    /// The id of a label given by its exact name or, if no label is named so, by its id.
    pub fn find_label(&self, text: &str) -> Result<u32> {
        let name = self.label_names.as_ref().map(|names| |id: usize| &*names[id]);
        names::find_label(text, self.embedding.labels.rows(), name)
    }

    /// √μ of every direction.
    pub(super) fn weights(&self) -> Vec<f64> {
        roots(&self.embedding.spectrum)
    }
}

impl Model {
    /// The labels with the largest cosine to `label`, as for an [`EmbeddingFile`](EmbeddingFile::neighbors).
    ///
    /// # Panics
    /// If there is no such label.
    pub fn neighbors(&self, label: u32, top: usize) -> Result<Vec<Neighbor>> {
        self.check_embedding()?;
        let embedding = &self.params()["embedding"];
        let random = embedding.get("random_fraction").or(embedding.get("spread"));
        if random.and_then(Value::as_f64) == Some(1.0) {
            let reason = "the dimensions of the model are random, so that its labels have no neighbors: ask an embedding \
                          file, or train with a random fraction of 0";
            return Err(Error::Data(reason.into()));
        }
        let labels = self.labels();
        nearest(labels.rows(), |id| labels.row(id), &roots(self.spectrum()), label, top)
            .ok_or_else(|| no_direction(&self.label_name(label)))
    }
}

/// Square roots of eigenvalues. A direction without energy may come out a rounding error below zero.
fn roots(spectrum: &[f64]) -> Vec<f64> {
    spectrum.iter().map(|v| v.max(0.0).sqrt()).collect()
}

fn no_direction(name: &str) -> Error {
    Error::parameter("label", format!("{name:?} has no direction: it was never seen in training"))
}

/// The rows nearest to row `label` in angle, of `count` rows with weighted columns; nothing if it is zero.
fn nearest<'a>(
    count: usize,
    row: impl Fn(usize) -> Cow<'a, [f32]> + Sync,
    weights: &[f64],
    label: u32,
    top: usize,
) -> Option<Vec<Neighbor>> {
    let query: Vec<f64> = row(label as usize).iter().zip(weights).map(|(v, w)| f64::from(*v) * w).collect();
    let length = query.iter().map(|v| v * v).sum::<f64>().sqrt();
    if length == 0.0 {
        return None;
    }
    let mut near: Vec<Neighbor> = (0..count as u32)
        .into_par_iter()
        .filter(|&other| other != label)
        .filter_map(|label| {
            let (mut dot, mut square) = (0.0, 0.0);
            for ((v, w), q) in row(label as usize).iter().zip(weights).zip(&query) {
                let v = f64::from(*v) * w;
                dot += v * q;
                square += v * v;
            }
            // Rounding must not make two equal labels more than equal.
            (square > 0.0).then(|| Neighbor { label, cosine: (dot / (square.sqrt() * length)).clamp(-1.0, 1.0) })
        })
        .collect();
    near.sort_by(|a, b| b.cosine.total_cmp(&a.cosine).then(a.label.cmp(&b.label)));
    near.truncate(top);
    Some(near)
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
        assert_eq!(near.iter().map(|n| n.label).collect::<Vec<_>>(), [1, 5, 4, 3]);
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
}
