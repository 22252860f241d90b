//! Scores of rankings, whoever made them.

use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rembrandt::metrics::{Evaluator, Example, Settings};

use crate::arrays::Rows;
use crate::errors::{exception, json};

/// Scores of rankings of `y`'s columns, as JSON: for each row labels, best first, and their probabilities if they are some;
/// and, for propensities, how many training examples there were and had each label.
#[pyfunction]
#[pyo3(signature = (y, ranked, probabilities, counts))]
pub fn evaluate_rankings(
    y: Rows<'_>,
    ranked: Rows<'_>,
    probabilities: bool,
    counts: Option<(u64, PyReadonlyArray1<'_, u64>)>,
) -> PyResult<String> {
    let (y, ranked) = (y.matrix()?, ranked.matrix()?);
    if y.rows() != ranked.rows() {
        return Err(PyValueError::new_err(format!("{} rankings for {} examples", ranked.rows(), y.rows())));
    }
    let settings = Settings::default().with(|settings| settings.probabilities = probabilities);
    let mut evaluator = Evaluator::new(y.cols, settings).map_err(exception)?;
    if let Some((examples, counts)) = &counts {
        evaluator = evaluator.trained_on(counts.as_slice()?, *examples).map_err(exception)?;
    }
    for i in 0..y.rows() {
        let mut push = || {
            let (truth, ranked) = (y.part(i..i + 1)?, ranked.part(i..i + 1)?);
            let (ids, scores) = ranked.unordered();
            let scores = probabilities.then_some(scores);
            evaluator.push(&Example { truth: truth.view()?.row(0).0, ranked: ids, scores, ..Example::default() })
        };
        push().map_err(exception)?;
    }
    json(&evaluator.scores())
}
