//! Which columns hold text, labels and weight, decided once per file, and how their fields are parsed.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{RecordFormat, RecordOptions, Records};
use crate::data::formats::finite;
use crate::data::token::show;
use crate::{Error, Result};

/// Column names that are listed in a message at most.
const NAMES_SHOWN: usize = 12;

/// A column, by its name in the first line or by its number, counted from 1.
///
/// ```
/// use rembrandt::data::records::Selector;
/// assert_eq!("2".parse::<Selector>()?, Selector::Number(2));
/// assert_eq!("title".parse::<Selector>()?, Selector::Name("title".into()));
/// # Ok::<(), rembrandt::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Selector {
    /// The column that the first line calls so; in JSON, the key.
    Name(String),
    /// The column with this number, the first being 1.
    Number(usize),
}

impl FromStr for Selector {
    type Err = Error;

    fn from_str(text: &str) -> Result<Selector> {
        match text.parse() {
            Ok(0) => Err(Error::parameter("column", "columns are counted from 1")),
            Ok(number) => Ok(Selector::Number(number)),
            Err(_) if text.is_empty() => Err(Error::parameter("column", "the name of the column is empty")),
            Err(_) => Ok(Selector::Name(text.to_owned())),
        }
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Selector::Name(name) => f.write_str(name),
            Selector::Number(number) => write!(f, "{number}"),
        }
    }
}

/// The columns of a file with lines of fields, found.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub(super) text: usize,
    pub(super) labels: Option<usize>,
    pub(super) id: Option<usize>,
    pub(super) weight: Option<usize>,
    /// Fields of every line.
    pub(super) width: usize,
    pub(super) separator: String,
}

impl Layout {
    /// Finds the columns in the fields of the first line.
    pub(super) fn new(options: &RecordOptions, first: &[&str]) -> Result<Layout, String> {
        let header = options.has_header();
        let find = |what: &str, selector: &Selector| match selector {
            Selector::Number(number) if (1..=first.len()).contains(number) => Ok(number - 1),
            Selector::Number(number) => {
                Err(format!("there is no column {number} for the {what}; the line has {}", columns(first.len())))
            }
            Selector::Name(name) => first.iter().position(|field| field.trim() == name).ok_or_else(|| {
                let found = listed(first);
                let plain = if what == "text" && options.format == RecordFormat::Auto {
                    ", or the format `lines` if every line is a text"
                } else {
                    ""
                };
                format!(
                    "no column is called {}; the first line has {found}; choose the {what} by name or number{plain}",
                    show(name)
                )
            }),
        };
        let named = |name: &str| first.iter().position(|field| header && field.trim() == name);
        let labels = match &options.labels {
            Some(selector) => Some(find("labels", selector)?),
            None => named("labels"),
        };
        let text = find("text", &options.text)?;
        let id = options.id.as_ref().map(|selector| find("id", selector)).transpose()?;
        let weight = options.weight.as_ref().map(|selector| find("weight", selector)).transpose()?;
        Ok(Layout { text, labels, id, weight, width: first.len(), separator: options.separator.clone() })
    }

    /// Adds the record of a line.
    pub(super) fn push(&self, fields: &[&str], records: &mut Records) -> Result<(), String> {
        if fields.len() != self.width {
            let (have, want) = (columns(fields.len()), self.width);
            return Err(format!("the line has {have} where the first has {want}; is a field missing or not quoted?"));
        }
        let weight = self.weight.map_or(Ok(1.0), |column| weight_of(fields[column]))?;
        let labels = self.labels.map_or(Ok(Vec::new()), |column| labels_of(fields[column], &self.separator))?;
        records.push(fields[self.text], labels, weight);
        self.id.iter().for_each(|column| records.push_id(fields[*column]));
        Ok(())
    }
}

/// The labels in a field.
pub(super) fn labels_of<'f>(field: &'f str, separator: &str) -> Result<Vec<&'f str>, String> {
    let field = field.trim();
    if field.is_empty() {
        return Ok(Vec::new());
    }
    if separator.is_empty() {
        return Ok(vec![field]);
    }
    let labels: Vec<&str> = field.split(separator).map(str::trim).collect();
    if labels.contains(&"") {
        return Err(format!("empty label in {}; write labels with one {} between them", show(field), show(separator)));
    }
    Ok(labels)
}

/// The weight in a field.
pub(super) fn weight_of(field: &str) -> Result<f32, String> {
    let weight = finite(field.trim(), || "the weight".into())?;
    if weight < 0.0 {
        return Err(format!("the weight is {}; it must not be negative", show(field)));
    }
    Ok(weight)
}

fn columns(count: usize) -> String {
    if count == 1 { "1 column".into() } else { format!("{count} columns") }
}

/// Names for a message.
pub(super) fn listed(names: &[&str]) -> String {
    if names.is_empty() {
        return "none".into();
    }
    let shown: Vec<String> = names.iter().take(NAMES_SHOWN).map(|name| show(name)).collect();
    let more = if names.len() > NAMES_SHOWN { ", …" } else { "" };
    format!("{}{more}", shown.join(", "))
}

/// The format that the first line with anything in it shows.
pub(super) fn detect(first: &str) -> RecordFormat {
    match first.trim_start() {
        line if line.starts_with('{') => RecordFormat::Jsonl,
        _ if first.contains('\t') => RecordFormat::Tsv,
        _ => RecordFormat::Csv,
    }
}
