//! A trained model.

use std::path::PathBuf;

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rembrandt::linalg::table::Table;
use rembrandt::model::{EvaluationOptions, InputOptions, ModelNames, PredictOptions, Preprocessing, Threshold};

use crate::arrays::{Bytes, Examples, Pickled, Rows};
use crate::dataset::{Arrays, Dataset};
use crate::errors::{exception, json};
use crate::work::{self, Watched, install, pool};

/// Examples that are predicted between two looks for signals.
const BATCH: usize = 1024;

#[pyclass(frozen, module = "rembrandt._rembrandt")]
pub struct Model {
    pub model: rembrandt::Model,
}

#[pymethods]
impl Model {
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<Model> {
        let model = install(py, &*pool(None)?, || rembrandt::Model::open(path))?;
        Ok(Model { model })
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: Bytes<'_>) -> PyResult<Model> {
        let bytes = bytes.as_slice()?;
        let model = install(py, &*pool(None)?, || rembrandt::Model::from_bytes(bytes))?;
        Ok(Model { model })
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u8>> {
        py.detach(|| self.model.to_bytes()).into_pyarray(py)
    }

    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| self.model.save(path)).map_err(exception)
    }

    fn compact(&self) -> Model {
        Model { model: self.model.compact() }
    }

    /// Features, labels and dimensions.
    #[getter]
    fn shape(&self) -> (usize, usize, usize) {
        let shape = self.model.shape();
        (shape.d, shape.c, shape.k)
    }

    #[getter]
    fn reads_texts(&self) -> bool {
        matches!(self.model.preprocessing(), Preprocessing::Text(_))
    }

    #[getter]
    fn label_names(&self) -> Option<Vec<&str>> {
        self.model.label_names().map(names)
    }

    #[getter]
    fn feature_names(&self) -> Option<Vec<&str>> {
        self.model.feature_names().map(names)
    }

    fn feature_name(&self, feature: u32) -> PyResult<String> {
        if feature as usize >= self.model.shape().d {
            return Err(PyValueError::new_err(format!("feature: {feature} is not a feature of the model")));
        }
        Ok(self.model.feature_name(feature))
    }

    fn label_name(&self, label: u32) -> PyResult<String> {
        if label as usize >= self.model.shape().c {
            return Err(PyValueError::new_err(format!("label: {label} is not a label of the model")));
        }
        Ok(self.model.label_name(label))
    }

    fn find_label(&self, text: &str) -> PyResult<u32> {
        self.model.find_label(text).map_err(exception)
    }

    fn params(&self) -> String {
        self.model.params().to_string()
    }

    fn report(&self) -> String {
        self.model.report().to_string()
    }

    /// Training examples, and those of each label.
    fn counts<'py>(&self, py: Python<'py>) -> (u64, Bound<'py, PyArray1<u64>>) {
        let stats = self.model.training_stats();
        (stats.examples, stats.counts.clone().into_pyarray(py))
    }

    fn thresholds<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f32>> {
        self.model.thresholds().to_vec().into_pyarray(py)
    }

    fn spectrum<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.model.spectrum().to_vec().into_pyarray(py)
    }

    fn label_embedding<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f32>>> {
        matrix(py, self.model.labels())
    }

    /// The most probable labels: where the row of each example begins, labels and probabilities, best first.
    #[pyo3(signature = (x, top, threshold, stored, labels, exact, threads))]
    #[expect(clippy::too_many_arguments, reason = "Python has a function of them")]
    fn predict<'py>(
        &self,
        py: Python<'py>,
        x: Examples<'_>,
        top: usize,
        threshold: Option<f32>,
        stored: bool,
        labels: Option<Vec<u32>>,
        exact: bool,
        threads: Option<usize>,
    ) -> PyResult<Arrays<'py>> {
        let options = PredictOptions::top(top).with(|options| {
            options.threshold = if stored { Some(Threshold::Stored) } else { threshold.map(Threshold::Fixed) };
            (options.labels, options.exact) = (labels, exact);
        });
        let predictor = self.model.predictor(options).map_err(exception)?;
        let pool = pool(threads)?;
        let rows = match &x {
            Examples::Texts(texts) => texts.len(),
            Examples::Rows(x) => x.matrix()?.rows(),
        };
        let (mut ptr, mut ids, mut probabilities) = (vec![0i64], Vec::new(), Vec::new());
        for start in (0..rows).step_by(BATCH) {
            py.check_signals()?;
            let batch = start..rows.min(start + BATCH);
            let found = match &x {
                Examples::Texts(texts) => install(py, &pool, || predictor.predict_texts(&texts[batch]))?,
                Examples::Rows(x) => {
                    let x = x.matrix()?;
                    install(py, &pool, || predictor.predict(x.part(batch)?.view()?))?
                }
            };
            for i in 0..found.rows() {
                ids.extend(found.labels(i).iter().map(|id| *id as i32));
                probabilities.extend_from_slice(found.probabilities(i));
                ptr.push(ids.len() as i64);
            }
        }
        Ok((ptr.into_pyarray(py), ids.into_pyarray(py), probabilities.into_pyarray(py)))
    }

    /// Why a label has its probability for one example, as JSON.
    fn explain(&self, py: Python<'_>, x: Examples<'_>, label: Option<u32>) -> PyResult<String> {
        let prepared = match &x {
            Examples::Texts(texts) => self.model.prepare_texts(texts),
            Examples::Rows(x) => {
                let x = x.matrix()?;
                x.whole().and_then(|part| self.model.prepare(part.view()?))
            }
        };
        let found = install(py, &*pool(None)?, || {
            let prepared = prepared?;
            let best = || {
                let best = self.model.predictor(PredictOptions::top(1))?.predict_prepared(prepared.view());
                Ok(best.labels(0)[0])
            };
            let label = label.map_or_else(best, Ok)?;
            self.model.explain(prepared.view(), label)
        })?;
        json(&found)
    }

    /// Nearest labels and their cosines.
    fn neighbors(&self, py: Python<'_>, label: u32, top: usize) -> PyResult<Vec<(u32, f64)>> {
        if label as usize >= self.model.shape().c {
            return Err(PyValueError::new_err(format!("label: {label} is not a label of the model")));
        }
        let near = install(py, &*pool(None)?, || self.model.neighbors(label, top))?;
        Ok(near.into_iter().map(|near| (near.label, near.cosine)).collect())
    }

    /// The model with a label more, from examples or, without any, by its name.
    fn add_label(&self, py: Python<'_>, name: &str, x: Option<Examples<'_>>) -> PyResult<Model> {
        let model = match &x {
            None => self.model.add_label_by_name(name).map_err(exception)?,
            Some(Examples::Texts(texts)) => {
                install(py, &*pool(None)?, || self.model.add_label_from_texts(name, texts))?
            }
            Some(Examples::Rows(x)) => {
                let x = x.matrix()?;
                install(py, &*pool(None)?, || self.model.add_label(name, x.whole()?.view()?))?
            }
        };
        Ok(Model { model })
    }

    /// Scores on labelled examples, as JSON.
    fn evaluate(&self, py: Python<'_>, data: &Dataset, options: &str, threads: Option<usize>) -> PyResult<String> {
        let options = evaluation_options(options)?;
        let (model, learned) = (self.model.clone(), data.learned.clone());
        json(&work::run(py, threads, None, move |_| model.evaluate_with(&learned.data, &options))?)
    }

    fn evaluate_texts(
        &self,
        py: Python<'_>,
        x: Examples<'_>,
        y: Rows<'_>,
        options: &str,
        threads: Option<usize>,
    ) -> PyResult<String> {
        let Examples::Texts(texts) = &x else { return Err(PyValueError::new_err("x: texts are wanted here")) };
        let (options, y) = (evaluation_options(options)?, y.matrix()?);
        let found = install(py, &*pool(threads)?, || self.model.evaluate_texts(texts, y.whole()?.view()?, &options))?;
        json(&found)
    }

    fn evaluate_file(
        &self,
        py: Python<'_>,
        path: PathBuf,
        options: &str,
        threads: Option<usize>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<String> {
        let (options, model) = (evaluation_options(options)?, self.model.clone());
        let input = InputOptions::default();
        let work = move |watched: &Watched| model.evaluate_file(path, &input, &options, &mut watched.run());
        json(&work::run(py, threads, progress, work)?)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Pickled<'py>> {
        Ok((py.get_type::<Model>().getattr("from_bytes")?, (self.to_bytes(py),)))
    }

    /// Whether a file begins like a model.
    #[staticmethod]
    fn is_model(path: PathBuf) -> bool {
        rembrandt::Model::is_model(path)
    }
}

fn names(names: &ModelNames) -> Vec<&str> {
    names.iter().collect()
}

fn evaluation_options(options: &str) -> PyResult<EvaluationOptions> {
    serde_json::from_str(options).map_err(|e| PyValueError::new_err(format!("an option of the evaluation: {e}")))
}

/// A copy as an array.
fn matrix<'py>(py: Python<'py>, table: &Table) -> PyResult<Bound<'py, PyArray2<f32>>> {
    let numbers: Vec<f32> = (0..table.rows()).flat_map(|i| table.row(i).into_owned()).collect();
    numbers.into_pyarray(py).reshape([table.rows(), table.cols()])
}
