//! The embedding file: a safetensors file that NumPy and PyTorch open without us.
//!
//! | tensor | numbers | shape | |
//! |---|---|---|---|
//! | `labels` | f32 | c×k | one row per label |
//! | `projection` | f32 | d×k | one row per feature |
//! | `intercept` | f32 | k | |
//! | `spectrum` | f64 | k | eigenvalues of M |
//! | `singular_values` | f64 | k | their square roots |
//!
//! The metadata hold `format`, `format_version`, `params`, `report` and, when known, `label_names` and
//! `feature_names`, all JSON. Names too many for the header are in `u8` tensors of the same names instead, one name
//! per line.
//!
//! Format version 2 adds `row_scale`: what the rows of features were divided by, `"sum"` or `"length"`. The
//! projection is for rows divided likewise, and a reader that did not know would use it wrongly, so older ones must
//! refuse such a file. Files of rows that were not divided have no such entry and remain version 1, which every
//! reader opens.

use std::collections::BTreeMap;
use std::path::Path;

use safetensors::Dtype;
use serde::de::DeserializeOwned;

use super::container::{self, Container, HEADER_LIMIT, Tensor, damaged, foreign};
use crate::data::RowScale;
use crate::{Embedding, Error, Matrix, Rembrandt, Result, mapped};

const FORMAT: &str = "rembrandt-embedding";
/// The newest version that is read. Files say the oldest that knows all that is in them.
const VERSION: u32 = 2;

/// An embedding with all that is needed to use and to reproduce it.
#[derive(Clone, Debug)]
pub struct EmbeddingFile {
    /// The embedding, its projection and its report.
    pub embedding: Embedding,
    /// How it was made.
    pub params: Rembrandt,
    /// What each row of features was divided by, and must be before the projection applies to it.
    pub row_scale: RowScale,
    /// Names of the labels, by id.
    pub label_names: Option<Vec<String>>,
    /// Names of the features, by id.
    pub feature_names: Option<Vec<String>>,
}

impl EmbeddingFile {
    /// Writes the file. The same content gives the same bytes, and an interrupted write leaves what was there before.
    ///
    /// # Panics
    /// If the sizes of the parts contradict each other.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        self.save_with(path.as_ref(), HEADER_LIMIT)
    }

    fn save_with(&self, path: &Path, header_limit: usize) -> Result<()> {
        let e = &self.embedding;
        let (c, d, k) = (e.labels.rows(), e.projection.rows(), e.labels.cols());
        assert_eq!((e.projection.cols(), e.intercept.len(), e.spectrum.len()), (k, k, k), "dimensions differ");
        // A direction without energy may come out a rounding error below zero.
        let singular_values: Vec<f64> = e.spectrum.iter().map(|v| v.max(0.0).sqrt()).collect();
        let scaled = self.row_scale != RowScale::None;
        let mut metadata = BTreeMap::from([
            ("format".to_owned(), FORMAT.to_owned()),
            ("format_version".to_owned(), if scaled { "2" } else { "1" }.to_owned()),
            ("params".to_owned(), container::json_text(&self.params)),
            ("report".to_owned(), container::json_text(&e.report)),
        ]);
        if scaled {
            metadata.insert("row_scale".to_owned(), container::json_text(&self.row_scale));
        }
        let mut lines = Vec::new();
        for (key, names, count) in [("label_names", &self.label_names, c), ("feature_names", &self.feature_names, d)] {
            let Some(names) = names else { continue };
            assert_eq!(names.len(), count, "{key} must name each of them");
            if let Some(name) = names.iter().find(|name| name.contains('\n')) {
                let reason = format!("{name:?} contains the end of a line: rename it");
                return Err(Error::parameter(key, reason));
            }
            let json = container::json_text(names);
            let used: usize = metadata.values().map(|text| container::escaped_len(text)).sum();
            if used + container::escaped_len(&json) > header_limit {
                lines.push((key, names.join("\n")));
            } else {
                metadata.insert(key.to_owned(), json);
            }
        }
        let tensor = |name, dtype, shape, bytes| Tensor { name, dtype, shape, bytes };
        let mut tensors = vec![
            tensor("singular_values", "F64", vec![k], bytemuck::cast_slice(&singular_values)),
            tensor("spectrum", "F64", vec![k], bytemuck::cast_slice(&e.spectrum)),
            tensor("intercept", "F32", vec![k], bytemuck::cast_slice(&e.intercept)),
            tensor("labels", "F32", vec![c, k], bytemuck::cast_slice(e.labels.as_slice())),
            tensor("projection", "F32", vec![d, k], bytemuck::cast_slice(e.projection.as_slice())),
        ];
        tensors.extend(lines.iter().map(|(key, text)| tensor(key, "U8", vec![text.len()], text.as_bytes())));
        container::write(path, &tensors, metadata)
    }

    /// Reads the file and checks all of it.
    pub fn open(path: impl AsRef<Path>) -> Result<EmbeddingFile> {
        let path = path.as_ref();
        let bytes = mapped::map_whole(path)?;
        let file = Container::parse(path, &bytes)?;
        if file.text("format") != Some(FORMAT) {
            return Err(foreign(path));
        }
        match file.text("format_version").and_then(|v| v.parse::<u32>().ok()) {
            Some(1..=VERSION) => {}
            Some(newer) if newer > VERSION => {
                let reason = format!("has format version {newer}, this program knows {VERSION}: use a newer rembrandt");
                return Err(Error::file(path, reason));
            }
            _ => return Err(damaged(path, "its format version cannot be read")),
        }
        file.verify()?;
        let labels = matrix(&file, "labels", path)?;
        let (c, k) = (labels.rows(), labels.cols());
        let projection = matrix(&file, "projection", path)?;
        // For other readers only: here they follow from the spectrum.
        vector::<f64>(&file, "singular_values", Dtype::F64, k, path)?;
        let embedding = Embedding {
            intercept: vector(&file, "intercept", Dtype::F32, k, path)?,
            spectrum: vector(&file, "spectrum", Dtype::F64, k, path)?,
            report: json(file.text("report"), "report", path)?,
            labels,
            projection,
        };
        let shape = embedding.report.shape;
        if (shape.c, shape.d, k) != (c, embedding.projection.rows(), embedding.projection.cols()) {
            return Err(damaged(path, "the sizes in it contradict each other"));
        }
        Ok(EmbeddingFile {
            params: json(file.text("params"), "params", path)?,
            row_scale: match file.text("row_scale") {
                Some(text) => json(Some(text), "row_scale", path)?,
                None => RowScale::None,
            },
            label_names: names(&file, "label_names", c, path)?,
            feature_names: names(&file, "feature_names", shape.d, path)?,
            embedding,
        })
    }

    /// Whether a file begins like an embedding file; `false` for one that cannot be read.
    pub fn is_embedding(path: impl AsRef<Path>) -> bool {
        let path = path.as_ref();
        mapped::map_whole(path).is_ok_and(|bytes| {
            Container::parse(path, &bytes).is_ok_and(|file| file.text("format") == Some(FORMAT))
                // Cut short, but ours: opening it will say so.
                || bytes.get(8..).is_some_and(|rest| rest.starts_with(br#"{"__metadata__":{"checksum":"#))
        })
    }

    /// The name of a label or, without names, its id.
    pub fn label_name(&self, id: usize) -> String {
        self.label_names.as_ref().map_or_else(|| id.to_string(), |names| names[id].clone())
    }
}

fn matrix(file: &Container<'_>, name: &str, path: &Path) -> Result<Matrix> {
    match file.tensor(name, Dtype::F32) {
        Some((&[rows, cols], bytes)) => {
            let mut matrix = Matrix::zeros(rows, cols);
            bytemuck::cast_slice_mut(matrix.as_mut_slice()).copy_from_slice(bytes);
            Ok(matrix)
        }
        _ => Err(damaged(path, &format!("tensor {name} is missing or of another kind"))),
    }
}

fn vector<T: bytemuck::Pod>(file: &Container<'_>, name: &str, dtype: Dtype, k: usize, path: &Path) -> Result<Vec<T>> {
    match file.tensor(name, dtype) {
        Some((&[len], bytes)) if len == k => {
            // The map may begin anywhere in a file written by others, so the bytes are copied, not cast.
            let mut values = vec![T::zeroed(); len];
            bytemuck::cast_slice_mut(&mut values).copy_from_slice(bytes);
            Ok(values)
        }
        _ => Err(damaged(path, &format!("tensor {name} is missing or of another kind"))),
    }
}

fn json<T: DeserializeOwned>(text: Option<&str>, key: &str, path: &Path) -> Result<T> {
    text.and_then(|text| serde_json::from_str(text).ok())
        .ok_or_else(|| damaged(path, &format!("its {key} cannot be read")))
}

fn names(file: &Container<'_>, key: &str, count: usize, path: &Path) -> Result<Option<Vec<String>>> {
    let names: Vec<String> = match (file.text(key), file.tensor(key, Dtype::U8)) {
        (None, None) => return Ok(None),
        (Some(text), _) => json(Some(text), key, path)?,
        (None, Some((_, bytes))) => match std::str::from_utf8(bytes) {
            Ok(text) => text.split('\n').map(str::to_owned).collect(),
            Err(_) => return Err(damaged(path, &format!("its {key} are not text"))),
        },
    };
    if names.len() != count {
        return Err(damaged(path, &format!("it has {} {key} for {count}", names.len())));
    }
    Ok(Some(names))
}

#[cfg(test)]
pub(super) mod tests;
