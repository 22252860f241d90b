//! Writing a model file.

use std::collections::BTreeMap;
use std::path::Path;

use super::Model;
use super::container::{self, Tensor};
use super::contents::Contents;
use super::layout::{Description, FORMAT, RANKER_MATRICES};
use crate::Result;
use crate::linalg::table::NumberFormat;
use crate::score::head::Head;
use crate::score::ranker::Ranker;
use crate::score::ranker::packed_matrix::Gaps;
use crate::tree::{Array, Arrays};

impl Model {
    /// Writes the model. The same content gives the same bytes, and an interrupted write leaves what was there before;
    /// the path may be that of the file that the model was opened from.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        self.written(|version, tensors, metadata| container::write(path.as_ref(), &FORMAT, version, tensors, metadata))
    }

    /// The bytes of the file that [`save`](Model::save) writes, for those who keep models elsewhere.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.written(|version, tensors, metadata| container::to_bytes(&FORMAT, version, tensors, metadata))
    }

    fn written<T>(&self, write: impl FnOnce(u32, &[Tensor<'_>], BTreeMap<String, String>) -> T) -> T {
        let contents = self.contents();
        let description = Description::of(contents);
        let metadata = BTreeMap::from([
            ("model".to_owned(), container::json_text(&description)),
            ("params".to_owned(), container::json_text(&contents.params)),
            ("report".to_owned(), container::json_text(&contents.report)),
        ]);
        let trees = contents.trees.as_ref().map_or_else(Vec::new, |trees| trees.arrays());
        write(description.version(), &tensors(contents, &trees), metadata)
    }
}

fn tensor<'a>(name: &'static str, dtype: &'static str, shape: Vec<usize>, bytes: &'a [u8]) -> Tensor<'a> {
    Tensor { name, dtype, shape, bytes }
}

/// A list of numbers.
fn list<'a, T: bytemuck::Pod>(name: &'static str, dtype: &'static str, numbers: &'a [T]) -> Tensor<'a> {
    tensor(name, dtype, vec![numbers.len()], bytemuck::cast_slice(numbers))
}

/// All numbers of a model.
fn tensors<'a>(contents: &'a Contents, trees: &'a Arrays<'_>) -> Vec<Tensor<'a>> {
    let Contents { labels, projection, head, ranker, stats, added_weights, .. } = contents;
    let k = labels.cols();
    let dtype = match labels.number_format() {
        NumberFormat::F32 => "F32",
        NumberFormat::Bf16 => "BF16",
    };
    let mut tensors = vec![
        list("counts", "U64", &stats.counts),
        list("spectrum", "F64", &contents.spectrum),
        list("intercept", "F32", &contents.intercept),
        list("mean", "F32", &stats.mean),
        tensor("covariance", "F32", vec![k, k], bytemuck::cast_slice(stats.covariance.as_slice())),
        list("thresholds", "F32", &contents.thresholds),
    ];
    tensors.extend(ranker.iter().flat_map(ranker_tensors));
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
    let names = [("label_names", &contents.label_names), ("feature_names", &contents.feature_names)];
    for (name, names) in names {
        tensors.extend(names.as_ref().map(|names| list(name, "U8", names.text().as_bytes())));
    }
    // A mapped number must lie at a multiple of its width.
    tensors.sort_by_key(|tensor| std::cmp::Reverse(width(tensor.dtype)));
    tensors
}

/// Bytes of a number.
fn width(dtype: &str) -> usize {
    match dtype {
        "U64" | "F64" => 8,
        "U32" | "F32" => 4,
        "U16" | "BF16" => 2,
        _ => 1,
    }
}

fn ranker_tensors(ranker: &Ranker) -> Vec<Tensor<'_>> {
    let mut tensors = Vec::new();
    for (names, matrix) in RANKER_MATRICES.into_iter().zip(ranker.matrices()) {
        tensors.push(list(names.starts, "U32", &matrix.starts));
        tensors.push(list(names.units, "F32", &matrix.units));
        tensors.push(match &matrix.gaps {
            Gaps::Narrow(gaps) => list(names.gaps, "U8", gaps),
            Gaps::Wide(gaps) => list(names.gaps, "U16", gaps),
        });
        tensors.push(list(names.weights, "I8", &matrix.weights));
    }
    if !ranker.offsets.is_empty() {
        tensors.push(list("ranker_offsets", "F32", &ranker.offsets));
    }
    if let Some(similar) = &ranker.similar {
        tensors.push(list("index_starts", "U64", &similar.index.starts));
        tensors.push(list("index_examples", "U32", &similar.index.examples));
        tensors.push(list("index_values", "BF16", &similar.index.values));
        tensors.push(list("example_label_starts", "U64", &similar.starts));
        tensors.push(list("example_labels", "U32", &similar.labels));
        tensors.push(list("example_weights", "F32", &similar.weights));
    }
    tensors
}
