//! One method's row of the table, and how its numbers are written.

use std::time::Duration;

use humantime::format_duration;
use serde::{Deserialize, Serialize};

use crate::text;

/// A method and its result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MethodRow {
    pub method: String,
    /// Dimensions of the embedding that were asked for.
    pub k: Option<usize>,
    #[serde(flatten)]
    pub outcome: MethodOutcome,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MethodOutcome {
    Measured(Box<Measured>),
    Failed { reason: String },
}

/// The measurements.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Examples that it was tested on.
    pub examples: u64,
    /// Share of examples whose one label is another than the first predicted; where each has one.
    pub error: Option<f64>,
    pub p1: f64,
    /// Where enough labels are ranked for it to mean something.
    pub p3: Option<f64>,
    pub p5: Option<f64>,
    /// The interval of P@1.
    pub interval: Option<[f64; 2]>,
    pub train_seconds: f64,
    /// Bytes, at the peak of training.
    pub peak_memory: Option<f64>,
    pub model_bytes: f64,
    /// Microseconds per example, all threads at work.
    pub predict_microseconds: f64,
    /// Dimensions of the embedding that it got.
    pub k: Option<usize>,
    /// Eigenvalues, for methods that have them.
    pub spectrum: Vec<f64>,
    /// How it was trained: what `train --json` says.
    pub training: serde_json::Value,
}

impl Measured {
    /// The metric of the task and its interval, in percent.
    pub fn headline(&self) -> [String; 2] {
        let value = self.error.unwrap_or(self.p1);
        let interval = self.interval.map(|[low, high]| match self.error {
            Some(_) => [1.0 - high, 1.0 - low],
            None => [low, high],
        });
        let text = interval.map_or_else(String::new, |[low, high]| format!("[{}, {}]", percent(low), percent(high)));
        [percent(value), text]
    }
}

impl MethodRow {
    pub fn measured(&self) -> Option<&Measured> {
        match &self.outcome {
            MethodOutcome::Measured(measured) => Some(measured),
            MethodOutcome::Failed { .. } => None,
        }
    }

    /// The key that rows are ordered by: more is better.
    pub fn quality(&self) -> f64 {
        self.measured().map_or(f64::NEG_INFINITY, |m| m.p1)
    }

    /// `rembrandt k=300`.
    pub fn title(&self) -> String {
        title(&self.method, self.measured().and_then(|m| m.k).or(self.k))
    }

    /// The row in a sentence, for the log.
    pub fn sentence(&self) -> String {
        match &self.outcome {
            MethodOutcome::Failed { reason } => format!("{}: {reason}", self.title()),
            MethodOutcome::Measured(m) => {
                let what = if m.error.is_some() { "error" } else { "P@1" };
                let [value, interval] = m.headline();
                let value = [value, interval].join(" ").trim_end().to_owned();
                format!("{}: {what} {value}, trained in {}", self.title(), seconds(m.train_seconds))
            }
        }
    }
}

/// A method with its dimensions, if it has any.
pub fn title(method: &str, k: Option<usize>) -> String {
    k.map_or_else(|| method.to_owned(), |k| format!("{method} k={k}"))
}

pub fn percent(value: f64) -> String {
    format!("{:.2} %", 100.0 * value)
}

/// The same, or a dash.
pub fn percent_or_none(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), percent)
}

pub fn seconds(value: f64) -> String {
    match value {
        v if v < 10.0 => format!("{v:.2} s"),
        v if v < 120.0 => format!("{v:.0} s"),
        v => format_duration(Duration::from_secs(v.round() as u64)).to_string(),
    }
}

pub fn bytes(value: f64) -> String {
    text::bytes(value as u64)
}

pub fn microseconds(value: f64) -> String {
    match value {
        v if v < 10.0 => format!("{v:.1} µs"),
        v if v < 10_000.0 => format!("{v:.0} µs"),
        v => format!("{:.0} ms", v / 1000.0),
    }
}
