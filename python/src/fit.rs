//! Training.

use std::path::PathBuf;

use pyo3::prelude::*;
use rembrandt::Trainer;

use crate::dataset::Dataset;
use crate::errors::exception;
use crate::model::Model;
use crate::settings::Settings;
use crate::work;

/// Trains a model, with settings as JSON. With a folder for checkpoints, training that was ended goes on from there.
#[pyfunction]
pub fn fit(
    py: Python<'_>,
    data: &Dataset,
    settings: &str,
    checkpoint: Option<PathBuf>,
    threads: Option<usize>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Model> {
    let settings = Settings::read(settings).map_err(exception)?;
    let learned = data.learned.clone();
    let model = work::run(py, threads, progress, move |watched| {
        let mut trainer = Trainer::new().training(settings.training(&learned.data)?);
        trainer = if settings.tfidf { trainer.tfidf() } else { trainer };
        trainer = if settings.normalize { trainer.normalize() } else { trainer };
        trainer = settings.featurizer.into_iter().fold(trainer, Trainer::featurizer);
        trainer = checkpoint.into_iter().fold(trainer, Trainer::checkpoint);
        trainer.progress(|progress| watched.progress(progress)).fit(&*learned)
    })?;
    Ok(Model { model })
}
