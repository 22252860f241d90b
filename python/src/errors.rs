//! Errors of the library as exceptions.

use std::any::Any;

use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use rembrandt::Error;

/// The sentence of an error, as `OSError` where the system refused and else as `ValueError`.
pub fn exception(error: Error) -> PyErr {
    match &error {
        Error::Io { path, source } => match source.raw_os_error() {
            // With a number, Python finds the class, such as `FileNotFoundError`.
            Some(number) => PyOSError::new_err((number, source.kind().to_string(), path.clone())),
            None => PyOSError::new_err(error.to_string()),
        },
        _ => PyValueError::new_err(error.to_string()),
    }
}

/// A panic is a mistake of the library, never of the user.
pub fn mistake(panic: &(dyn Any + Send)) -> PyErr {
    let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
    let text = text.unwrap_or("unknown panic");
    PyRuntimeError::new_err(format!("internal error: {text}: this is a bug in rembrandt, please report it"))
}

/// JSON of plain data.
pub fn json(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|e| PyValueError::new_err(e.to_string()))
}
