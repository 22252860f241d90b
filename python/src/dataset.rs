//! Examples to learn from.

use std::path::PathBuf;
use std::sync::Arc;

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use rembrandt::data::featurizer::{FeatureCounts, Featurizer, FeaturizerParams};
use rembrandt::data::formats::ReadOptions;
use rembrandt::data::records::RecordOptions;
use rembrandt::linalg::csr::Csr;
use rembrandt::model::Preprocessing;
use rembrandt::train::{FeatureOptions, Prepared, TrainingData};
use rembrandt::{Error, Examples as _, Side, Texts};

use crate::arrays::{Examples, Rows};
use crate::errors::{exception, json};
use crate::work::{self, install, pool};

type Names = Option<Vec<String>>;
/// `indptr`, `indices` and `data` of a sparse matrix.
pub type Arrays<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i32>>, Bound<'py, PyArray1<f32>>);

/// Examples, and the featurizer that made their features if they were texts.
#[pyclass(frozen, module = "rembrandt._rembrandt")]
pub struct Dataset {
    pub learned: Arc<Learned>,
}

/// Examples in the form that a trainer takes.
pub struct Learned {
    pub data: rembrandt::Dataset,
    featurizer: Option<Arc<Featurizer>>,
}

impl TrainingData for Learned {
    fn prepare(&self, options: &FeatureOptions) -> rembrandt::Result<(Prepared<'_>, Preprocessing)> {
        match &self.featurizer {
            None => self.data.prepare(options),
            Some(_) if options.tfidf || options.normalize => {
                let reason = "is for sparse features: the featurizer says how texts are weighted";
                Err(Error::parameter(if options.tfidf { "tfidf" } else { "normalize" }, reason))
            }
            Some(featurizer) => Ok((Prepared::Borrowed(&self.data), Preprocessing::Text(Arc::clone(featurizer)))),
        }
    }
}

impl From<(rembrandt::Dataset, Option<Featurizer>)> for Dataset {
    fn from((data, featurizer): (rembrandt::Dataset, Option<Featurizer>)) -> Dataset {
        Dataset { learned: Arc::new(Learned { data, featurizer: featurizer.map(Arc::new) }) }
    }
}

/// Parameters of a featurizer, as JSON; the defaults without.
fn featurizer_params(params: Option<&str>) -> PyResult<FeaturizerParams> {
    let Some(params) = params else { return Ok(FeaturizerParams::default()) };
    let wrong = |e: serde_json::Error| exception(Error::parameter("featurizer", e.to_string()));
    serde_json::from_str(params).map_err(wrong)
}

#[pymethods]
impl Dataset {
    /// Reads a file: sparse features, or texts with labels.
    #[staticmethod]
    #[pyo3(signature = (path, texts, featurizer, threads, progress))]
    fn read(
        py: Python<'_>,
        path: PathBuf,
        texts: bool,
        featurizer: Option<&str>,
        threads: Option<usize>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Dataset> {
        let params = featurizer_params(featurizer)?;
        let read = work::run(py, threads, progress, move |watched| {
            let run = &mut watched.run();
            if texts {
                let texts = Texts::read_with(&path, &RecordOptions::default(), run)?;
                let (data, featurizer) = texts.into_dataset(params)?;
                return Ok((data, Some(featurizer)));
            }
            if rembrandt::Dataset::is_cache(&path) {
                return Ok((rembrandt::Dataset::open(&path)?, None));
            }
            Ok((rembrandt::Dataset::read_with(&path, &ReadOptions::default(), run)?.0, None))
        })?;
        Ok(read.into())
    }

    /// Turns a file of sparse features into a cache file.
    #[staticmethod]
    #[pyo3(signature = (path, output, threads, progress))]
    fn convert(
        py: Python<'_>,
        path: PathBuf,
        output: PathBuf,
        threads: Option<usize>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Dataset> {
        let converted = work::run(py, threads, progress, move |watched| {
            let run = &mut watched.run();
            Ok(rembrandt::data::convert(&path, &ReadOptions::default(), &output, run)?.0)
        })?;
        Ok((converted, None).into())
    }

    /// Examples in memory: features or texts, labels, weights, names of labels and of features. As a weighted set, equal
    /// examples are one and their order has no meaning.
    #[staticmethod]
    #[pyo3(signature = (x, y, weights, label_names, feature_names, featurizer, as_set, threads))]
    #[expect(clippy::too_many_arguments, reason = "Python has a function of them")]
    fn make(
        py: Python<'_>,
        x: Examples<'_>,
        y: Rows<'_>,
        weights: Option<PyReadonlyArray1<'_, f32>>,
        label_names: Names,
        feature_names: Names,
        featurizer: Option<&str>,
        as_set: bool,
        threads: Option<usize>,
    ) -> PyResult<Dataset> {
        let params = featurizer_params(featurizer)?;
        let (y, weights) = (y.matrix()?, weights.as_ref().map(|w| w.as_slice()).transpose()?);
        let pool = pool(threads)?;
        let from = if as_set { rembrandt::Dataset::from_distinct } else { rembrandt::Dataset::from_csr };
        let made = match &x {
            Examples::Rows(x) => {
                let x = x.matrix()?;
                install(py, &pool, || {
                    let (x_part, y_part) = (x.whole()?, y.whole()?);
                    let data = from(x_part.view()?, x.cols, y_part.view()?, y.cols, weights)?;
                    Ok((data.with_names(label_names, feature_names)?, None))
                })?
            }
            Examples::Texts(texts) => install(py, &pool, || {
                let mut counts = FeatureCounts::new(params)?;
                counts.add(texts);
                let featurizer = counts.finish()?;
                let (x, y_part) = (featurizer.transform_batch(texts), y.whole()?);
                let data = from(x.view(), featurizer.features(), y_part.view()?, y.cols, weights)?;
                Ok((data.with_names(label_names, None)?, Some(featurizer)))
            })?,
        };
        Ok(made.into())
    }

    /// Numbers of examples, features and labels.
    #[getter]
    fn shape(&self) -> (usize, usize, usize) {
        let shape = self.learned.data.shape();
        (shape.n, shape.d, shape.c)
    }

    /// Stored entries of features and of labels.
    #[getter]
    fn nnz(&self) -> (u64, u64) {
        (self.learned.data.nnz(Side::X), self.learned.data.nnz(Side::Y))
    }

    #[getter]
    fn is_mapped(&self) -> bool {
        self.learned.data.is_mapped()
    }

    #[getter]
    fn label_names(&self) -> Option<&[String]> {
        self.learned.data.label_names()
    }

    #[getter]
    fn feature_names(&self) -> Option<&[String]> {
        self.learned.data.feature_names()
    }

    fn features<'py>(&self, py: Python<'py>) -> PyResult<Arrays<'py>> {
        let learned = &self.learned;
        Ok(arrays(py, &py.detach(|| learned.data.features()).map_err(exception)?))
    }

    fn labels<'py>(&self, py: Python<'py>) -> PyResult<Arrays<'py>> {
        let learned = &self.learned;
        Ok(arrays(py, &py.detach(|| learned.data.labels()).map_err(exception)?))
    }

    fn weights<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray1<f32>>>> {
        let weights = self.learned.data.weights().map_err(exception)?;
        Ok(weights.map(|weights| weights.into_pyarray(py)))
    }

    /// A number that tells these data from others.
    #[getter]
    fn fingerprint(&self, py: Python<'_>) -> u64 {
        let learned = &self.learned;
        py.detach(|| learned.data.fingerprint())
    }

    fn featurizer(&self) -> PyResult<Option<String>> {
        self.learned.featurizer.as_ref().map(|featurizer| json(featurizer.params())).transpose()
    }
}

fn arrays<'py>(py: Python<'py>, matrix: &Csr) -> Arrays<'py> {
    let view = matrix.view();
    let values = view.values.map_or_else(|| vec![1.0; view.ids.len()], <[f32]>::to_vec);
    let ptr: Vec<i64> = view.ptr.iter().map(|p| i64::from(*p)).collect();
    let ids: Vec<i32> = view.ids.iter().map(|id| *id as i32).collect();
    (ptr.into_pyarray(py), ids.into_pyarray(py), values.into_pyarray(py))
}
