//! An embedding of labels.

use std::path::PathBuf;
use std::sync::Arc;

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rembrandt::data::RowScale;
use rembrandt::{Error, Matrix, Rembrandt};

use crate::arrays::{Bytes, Pickled, Rows};
use crate::dataset::Dataset;
use crate::errors::{exception, json};
use crate::settings::overridden;
use crate::work::{self, install, pool};

#[pyclass(frozen, module = "rembrandt._rembrandt")]
pub struct Embedding {
    file: Arc<rembrandt::EmbeddingFile>,
}

impl From<rembrandt::EmbeddingFile> for Embedding {
    fn from(file: rembrandt::EmbeddingFile) -> Embedding {
        Embedding { file: Arc::new(file) }
    }
}

#[pymethods]
impl Embedding {
    /// Embeds the labels of data, with parameters as JSON.
    #[staticmethod]
    fn fit(
        py: Python<'_>,
        data: &Dataset,
        params: &str,
        row_scale: &str,
        threads: Option<usize>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Embedding> {
        let params: Rembrandt = overridden(&Rembrandt::default(), params).map_err(exception)?;
        let wrong = |_| exception(Error::parameter("row_scale", "choose none, sum or length"));
        let row_scale: RowScale = serde_json::from_value(row_scale.into()).map_err(wrong)?;
        let learned = data.learned.clone();
        let file = work::run(py, threads, progress, move |watched| {
            let data = &learned.data;
            let embedding = params.fit(&data.view().scale_rows(row_scale)?, &mut watched.run())?;
            let [label_names, feature_names] =
                [data.label_names(), data.feature_names()].map(|names| names.map(<[String]>::to_vec));
            Ok(rembrandt::EmbeddingFile { embedding, params, row_scale, label_names, feature_names })
        })?;
        Ok(file.into())
    }

    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<Embedding> {
        Ok(py.detach(|| rembrandt::EmbeddingFile::open(path)).map_err(exception)?.into())
    }

    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| self.file.save(path)).map_err(exception)
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: Bytes<'_>) -> PyResult<Embedding> {
        let bytes = bytes.as_slice()?;
        Ok(py.detach(|| rembrandt::EmbeddingFile::from_bytes(bytes)).map_err(exception)?.into())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Pickled<'py>> {
        let bytes = py.detach(|| self.file.to_bytes()).map_err(exception)?;
        Ok((py.get_type::<Embedding>().getattr("from_bytes")?, (bytes.into_pyarray(py),)))
    }

    /// Where examples land, n×k.
    fn transform<'py>(
        &self,
        py: Python<'py>,
        x: Rows<'_>,
        threads: Option<usize>,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let x = x.matrix()?;
        let h = install(py, &*pool(threads)?, || self.file.transform(x.whole()?.view()?))?;
        array(py, &h)
    }

    fn labels<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f32>>> {
        array(py, &self.file.embedding.labels)
    }

    fn projection<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f32>>> {
        array(py, &self.file.embedding.projection)
    }

    fn intercept<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f32>> {
        self.file.embedding.intercept.clone().into_pyarray(py)
    }

    fn spectrum<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.file.embedding.spectrum.clone().into_pyarray(py)
    }

    #[getter]
    fn label_names(&self) -> Option<Vec<String>> {
        self.file.label_names.clone()
    }

    fn report(&self) -> PyResult<String> {
        json(&self.file.embedding.report)
    }

    fn params(&self) -> PyResult<String> {
        json(&self.file.params)
    }

    fn find_label(&self, text: &str) -> PyResult<u32> {
        self.file.find_label(text).map_err(exception)
    }

    fn label_name(&self, label: u32) -> PyResult<String> {
        self.check_label(label).map(|()| self.file.label_name(label))
    }

    /// Nearest labels and their cosines.
    fn neighbors(&self, py: Python<'_>, label: u32, top: usize) -> PyResult<Vec<(u32, f64)>> {
        self.check_label(label)?;
        let near = install(py, &*pool(None)?, || self.file.neighbors(label, top))?;
        Ok(near.into_iter().map(|near| (near.label, near.cosine)).collect())
    }
}

impl Embedding {
    fn check_label(&self, label: u32) -> PyResult<()> {
        match (label as usize) < self.file.embedding.labels.rows() {
            true => Ok(()),
            false => Err(PyValueError::new_err(format!("label: {label} is not a label of the embedding"))),
        }
    }
}

fn array<'py>(py: Python<'py>, matrix: &Matrix) -> PyResult<Bound<'py, PyArray2<f32>>> {
    matrix.as_slice().to_vec().into_pyarray(py).reshape([matrix.rows(), matrix.cols()])
}
