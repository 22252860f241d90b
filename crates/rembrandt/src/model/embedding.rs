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

use super::container::{self, Container, FileKind, HEADER_LIMIT, Tensor, damaged};
use super::names;
use crate::data::RowScale;
use crate::io::mmap;
use crate::linalg::csr::CsrRef;
use crate::linalg::kernels;
use crate::score::head::add_intercept;
use crate::{Embedding, Error, Matrix, Rembrandt, Result};

/// Files say the oldest version that knows all that is in them.
const FORMAT: FileKind =
    FileKind { name: "rembrandt-embedding", version: 2, foreign: "is not an embedding file", blocks: false };

/// An embedding with all that is needed to use and to reproduce it.
#[derive(Clone, Debug)]
pub struct EmbeddingFile {
    /// The embedding, its projection and its report.
    pub embedding: Embedding,
    /// How it was made.
    pub params: Rembrandt,
    /// The divisor of each row of features, to be applied before the projection.
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
        self.written(header_limit, |version, tensors, metadata| {
            container::write(path, &FORMAT, version, tensors, metadata)
        })?
    }

    /// The bytes of the file that [`save`](EmbeddingFile::save) writes.
    ///
    /// # Errors
    /// If a name has more than one line.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        self.written(HEADER_LIMIT, |version, tensors, metadata| {
            container::to_bytes(&FORMAT, version, tensors, metadata)
        })
    }

    fn written<T>(
        &self,
        header_limit: usize,
        write: impl FnOnce(u32, &[Tensor<'_>], BTreeMap<String, String>) -> T,
    ) -> Result<T> {
        let e = &self.embedding;
        let (c, d, k) = (e.labels.rows(), e.projection.rows(), e.labels.cols());
        assert_eq!((e.projection.cols(), e.intercept.len(), e.spectrum.len()), (k, k, k), "dimensions differ");
        // A direction without energy may come out a rounding error below zero.
        let singular_values: Vec<f64> = e.spectrum.iter().map(|v| v.max(0.0).sqrt()).collect();
        let scaled = self.row_scale != RowScale::None;
        let mut metadata = BTreeMap::from([
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
            names::check(key, names.iter())?;
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
        Ok(write(if scaled { 2 } else { 1 }, &tensors, metadata))
    }

    /// Reads the file and checks all of it.
    pub fn open(path: impl AsRef<Path>) -> Result<EmbeddingFile> {
        let path = path.as_ref();
        EmbeddingFile::read(path, &mmap::map_whole(path)?)
    }

    /// The same from the bytes of a file.
    pub fn from_bytes(bytes: &[u8]) -> Result<EmbeddingFile> {
        EmbeddingFile::read(Path::new("the bytes"), bytes)
    }

    fn read(path: &Path, bytes: &[u8]) -> Result<EmbeddingFile> {
        let file = Container::open(path, bytes, &FORMAT)?;
        let labels = file.matrix("labels")?;
        let (c, k) = (labels.rows(), labels.cols());
        let projection = file.matrix("projection")?;
        // For other readers only: here they follow from the spectrum.
        file.vector::<f64>("singular_values", Dtype::F64, k)?;
        let embedding = Embedding {
            intercept: file.vector("intercept", Dtype::F32, k)?,
            spectrum: file.vector("spectrum", Dtype::F64, k)?,
            report: file.json("report")?,
            labels,
            projection,
        };
        let shape = embedding.report.shape;
        if (shape.c, shape.d, k) != (c, embedding.projection.rows(), embedding.projection.cols()) {
            return Err(damaged(path, "the sizes in it contradict each other"));
        }
        Ok(EmbeddingFile {
            params: file.json("params")?,
            row_scale: match file.text("row_scale") {
                Some(_) => file.json("row_scale")?,
                None => RowScale::None,
            },
            label_names: names(&file, "label_names", c)?,
            feature_names: names(&file, "feature_names", shape.d)?,
            embedding,
        })
    }

    /// Whether a file begins like an embedding file; `false` for one that cannot be read.
    pub fn is_embedding(path: impl AsRef<Path>) -> bool {
        let path = path.as_ref();
        mmap::map_whole(path).is_ok_and(|bytes| container::begins(path, &bytes, &FORMAT))
    }

    /// Where examples land among the labels: h of each row of features.
    ///
    /// # Errors
    /// If a row has a feature that the embedding does not know, or cannot be divided as those of training were.
    pub fn transform(&self, x: CsrRef<'_>) -> Result<Matrix> {
        let Embedding { projection, intercept, .. } = &self.embedding;
        let d = projection.rows();
        if let Some(id) = x.columns().iter().find(|id| **id as usize >= d) {
            return Err(Error::parameter("x", format!("has the feature {id}, but there are only {d}")));
        }
        let mut h = Matrix::zeros(x.rows(), projection.cols());
        kernels::gather(x, Some(&self.row_scale.factors(x)?), projection.view(), h.view_mut());
        add_intercept(&mut h, intercept);
        Ok(h)
    }

    /// The name of a label or, without names, its id.
    pub fn label_name(&self, label: u32) -> String {
        self.label_names.as_ref().map_or_else(|| label.to_string(), |names| names[label as usize].clone())
    }
}

fn names(file: &Container<'_>, key: &str, count: usize) -> Result<Option<Vec<String>>> {
    let names: Vec<String> = match (file.text(key), file.tensor(key, Dtype::U8)) {
        (None, None) => return Ok(None),
        (Some(_), _) => file.json(key)?,
        (None, Some((_, bytes))) => match std::str::from_utf8(bytes) {
            Ok(text) => text.split('\n').map(str::to_owned).collect(),
            Err(_) => return Err(damaged(file.path, &format!("its {key} are not text"))),
        },
    };
    if names.len() != count {
        return Err(damaged(file.path, &format!("it has {} {key} for {count}", names.len())));
    }
    Ok(Some(names))
}

#[cfg(test)]
pub(super) mod tests;
