//! The native part of the Python package `rembrandt`: arrays in and out, and nothing that the library or the command line has.
//! Reports and parameters go through as JSON. Names and conventions for users are those of the Python files beside it.

mod arrays;
mod command_line;
mod dataset;
mod embedding;
mod errors;
mod fit;
mod metrics;
mod model;
mod settings;
mod work;

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
fn _rembrandt(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<dataset::Dataset>()?;
    module.add_class::<model::Model>()?;
    module.add_class::<embedding::Embedding>()?;
    module.add_function(wrap_pyfunction!(fit::fit, module)?)?;
    module.add_function(wrap_pyfunction!(metrics::evaluate_rankings, module)?)?;
    module.add_function(wrap_pyfunction!(command_line::command_line, module)?)
}
