//! Writing a model file.

use std::collections::BTreeMap;
use std::path::Path;

use super::Model;
use super::container::{self, Tensor};
use super::contents::Contents;
use super::layout::{Description, FORMAT};
use crate::Result;
use crate::linalg::table::Precision;
use crate::score::head::Head;
use crate::tree::{Array, Arrays};

impl Model {
    /// Writes the model. The same content gives the same bytes, and an interrupted write leaves what was there before;
    /// the path may be that of the file that the model was opened from.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let contents = self.contents();
        let description = Description::of(contents);
        let metadata = BTreeMap::from([
            ("model".to_owned(), container::json_text(&description)),
            ("params".to_owned(), container::json_text(&contents.params)),
            ("report".to_owned(), container::json_text(&contents.report)),
        ]);
        let trees = contents.trees.as_ref().map_or_else(Vec::new, |trees| trees.arrays());
        container::write(path.as_ref(), &FORMAT, description.version(), &tensors(contents, &trees), metadata)
    }
}

fn tensor<'a>(name: &'static str, dtype: &'static str, shape: Vec<usize>, bytes: &'a [u8]) -> Tensor<'a> {
    Tensor { name, dtype, shape, bytes }
}

/// A list of numbers.
fn list<'a, T: bytemuck::Pod>(name: &'static str, dtype: &'static str, numbers: &'a [T]) -> Tensor<'a> {
    tensor(name, dtype, vec![numbers.len()], bytemuck::cast_slice(numbers))
}

/// All numbers of a model, wider ones first.
fn tensors<'a>(contents: &'a Contents, trees: &'a Arrays<'_>) -> Vec<Tensor<'a>> {
    let Contents { labels, projection, head, ranker, stats, added_weights, .. } = contents;
    let k = labels.cols();
    let dtype = match labels.precision() {
        Precision::F32 => "F32",
        Precision::Bf16 => "BF16",
    };
    let mut tensors = vec![list("counts", "U64", &stats.counts)];
    if let Some(ranker) = ranker {
        tensors.push(list("association_starts", "U64", &ranker.associations.starts));
        tensors.push(list("one_vs_rest_starts", "U64", &ranker.one_vs_rest.starts));
        tensors.push(list("name_starts", "U64", &ranker.names.starts));
        if let Some(neighbors) = &ranker.neighbors {
            tensors.push(list("neighbor_starts", "U64", &neighbors.examples.starts));
            tensors.push(list("example_label_starts", "U64", &neighbors.starts));
        }
    }
    tensors.extend([
        list("spectrum", "F64", &contents.spectrum),
        list("intercept", "F32", &contents.intercept),
        list("mean", "F32", &stats.mean),
        tensor("covariance", "F32", vec![k, k], bytemuck::cast_slice(stats.covariance.as_slice())),
        list("thresholds", "F32", &contents.thresholds),
    ]);
    if let Some(ranker) = ranker {
        if !ranker.offsets.is_empty() {
            tensors.push(list("ranker_offsets", "F32", &ranker.offsets));
        }
        tensors.push(list("association_labels", "U32", &ranker.associations.columns));
        tensors.push(list("one_vs_rest_labels", "U32", &ranker.one_vs_rest.columns));
        tensors.push(list("name_labels", "U32", &ranker.names.columns));
        if let Some(neighbors) = &ranker.neighbors {
            tensors.push(list("neighbor_examples", "U32", &neighbors.examples.columns));
            tensors.push(list("example_labels", "U32", &neighbors.labels));
            tensors.push(list("example_weights", "F32", &neighbors.weights));
        }
    }
    tensors.extend(contents.idf().map(|idf| list("idf", "F32", idf)));
    if let Head::RandomFeatures { features, .. } = head {
        let directions = bytemuck::cast_slice(features.directions.as_slice());
        tensors.push(tensor("directions", "F32", vec![k, features.count()], directions));
        tensors.push(list("phases", "F32", &features.phases));
    }
    if added_weights.rows() > 0 {
        let shape = vec![added_weights.rows(), k + 1];
        tensors.push(tensor("added_weights", "F32", shape, bytemuck::cast_slice(added_weights.as_slice())));
    }
    for (name, array) in trees {
        tensors.push(match array {
            Array::U32(numbers) => list(name, "U32", numbers),
            Array::F32(numbers) => list(name, "F32", numbers),
        });
    }
    let large = [("labels", Some(labels)), ("projection", Some(projection)), ("weights", head.weights())];
    for (name, table) in large {
        tensors.extend(table.map(|t| tensor(name, dtype, vec![t.rows(), t.cols()], t.bytes())));
    }
    if let Some(ranker) = ranker {
        tensors.push(list("association_weights", "BF16", &ranker.associations.weights));
        tensors.push(list("one_vs_rest_weights", "BF16", &ranker.one_vs_rest.weights));
        tensors.push(list("name_weights", "BF16", &ranker.names.weights));
        if let Some(neighbors) = &ranker.neighbors {
            tensors.push(list("neighbor_values", "BF16", &neighbors.examples.weights));
        }
    }
    let names = [("label_names", &contents.label_names), ("feature_names", &contents.feature_names)];
    for (name, names) in names {
        tensors.extend(names.as_ref().map(|names| list(name, "U8", names.text().as_bytes())));
    }
    tensors
}
