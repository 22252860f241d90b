//! Which columns hold text, labels and weight, decided once per file, and how their fields are parsed.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;

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
    /// Whether a line without anything is a record.
    blank_lines: bool,
}

/// Words that stand for the names of columns where they are all that the first line holds of them.
const TEXT_NAMES: [&str; 10] =
    ["text", "title", "body", "content", "sentence", "document", "description", "abstract", "message", "query"];
const LABEL_NAMES: [&str; 15] = [
    "label",
    "labels",
    "tag",
    "tags",
    "category",
    "categories",
    "class",
    "classes",
    "subject",
    "subjects",
    "topic",
    "topics",
    "keyword",
    "keywords",
    "target",
];

impl Layout {
    /// Finds the columns in the fields of the first line.
    pub(super) fn new(options: &RecordOptions, first: &[&str]) -> Result<Layout, String> {
        let header = options.has_header();
        let named = |name: &str| first.iter().position(|field| field.trim() == name);
        let find = |what: &str, selector: &Selector| match selector {
            Selector::Number(number) if (1..=first.len()).contains(number) => Ok(number - 1),
            Selector::Number(number) => {
                Err(format!("there is no column {number} for the {what}; the line has {}", columns(first.len())))
            }
            Selector::Name(name) if first.iter().filter(|field| field.trim() == name).count() > 1 => {
                Err(format!("several columns are called {}; choose the {what} by number", show(name)))
            }
            Selector::Name(name) => named(name).ok_or_else(|| {
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
        let labels = match &options.labels {
            Some(selector) if options.remembered => find("labels", selector).ok(),
            Some(selector) => Some(find("labels", selector)?),
            None => named("labels").filter(|_| header),
        };
        let text = find("text", &options.text)?;
        let id = options.id.as_ref().map(|selector| find("id", selector)).transpose()?;
        let weight = options.weight.as_ref().map(|selector| find("weight", selector)).transpose()?;
        if !header && options.header.is_none() {
            check_first(first[text], labels.map(|labels| first[labels]))?;
        }
        let (width, separator) = (first.len(), options.separator.clone());
        Ok(Layout { text, labels, id, weight, width, separator, blank_lines: width == 1 || !header })
    }

    /// Adds what a line without anything stands for: a record without a text, or nothing.
    pub(super) fn push_blank(&self, records: &mut Records) {
        if self.blank_lines {
            records.push("", [], 1.0);
            self.id.iter().for_each(|_| records.push_id(""));
        }
    }

    /// Adds the record of a line.
    pub(super) fn push(&self, fields: &[&str], records: &mut Records) -> Result<(), String> {
        if fields.len() != self.width {
            let (have, want) = (columns(fields.len()), self.width);
            return Err(format!("the line has {have} where the first has {want}; is a field missing or not quoted?"));
        }
        let weight = self.weight.map_or(Ok(1.0), |column| weight_of(fields[column]))?;
        let labels = self.labels.map_or(Ok(Vec::new()), |column| labels_of(fields[column], &self.separator))?;
        records.push(fields[self.text], labels.iter().map(AsRef::as_ref), weight);
        self.id.iter().for_each(|column| records.push_id(fields[*column]));
        Ok(())
    }
}

/// Refuses a first line that names the columns where it was to be an example.
fn check_first(text: &str, labels: Option<&str>) -> Result<(), String> {
    let (text, labels) = (text.trim().to_lowercase(), labels.map(|labels| labels.trim().to_lowercase()));
    let label_name = labels.as_deref().is_some_and(|labels| LABEL_NAMES.contains(&labels));
    let text_name = TEXT_NAMES.contains(&text.as_str());
    if (text_name && (label_name || labels.is_none())) || (label_name && !text.contains(char::is_whitespace)) {
        let names: Vec<String> = [Some(text.as_str()), labels.as_deref()].into_iter().flatten().map(show).collect();
        return Err(format!(
            "{} look like the names of columns, but with columns chosen by number the first line is an example; say \
             whether the file has a header",
            names.join(" and ")
        ));
    }
    Ok(())
}

/// The labels in a field: JSON if it is a list or a string in quotes, else words with separators between them.
pub(super) fn labels_of<'f>(field: &'f str, separator: &str) -> Result<Vec<Cow<'f, str>>, String> {
    let field = field.trim();
    if field.is_empty() {
        return Ok(Vec::new());
    }
    if separator.is_empty() {
        return Ok(vec![field.into()]);
    }
    match field.as_bytes() {
        [b'[', .., b']'] => {
            if let Ok(list) = serde_json::from_str::<Vec<Value>>(field) {
                let labels = json_labels(&list)?;
                return Ok(labels.into_iter().map(|label| label.into_owned().into()).collect());
            }
            if field[1..].trim_start().starts_with('\'') {
                let reason =
                    "is a list as Python prints it; write it as JSON, or as words with a separator between them";
                return Err(format!("{} {reason}", show(field)));
            }
        }
        [b'"', .., b'"'] => {
            if let Ok(inside) = serde_json::from_str::<String>(field) {
                return Ok(separated(&inside, separator)?.into_iter().map(|label| label.to_owned().into()).collect());
            }
        }
        _ => {}
    }
    Ok(separated(field, separator)?.into_iter().map(Cow::from).collect())
}

/// The words between separators.
fn separated<'f>(field: &'f str, separator: &str) -> Result<Vec<&'f str>, String> {
    let labels: Vec<&str> = field.split(separator).map(str::trim).collect();
    if labels.contains(&"") {
        return Err(format!("empty label in {}; write labels with one {} between them", show(field), show(separator)));
    }
    Ok(labels)
}

/// The labels in a list of JSON.
pub(super) fn json_labels(list: &[Value]) -> Result<Vec<Cow<'_, str>>, String> {
    fn label(label: &Value) -> Result<Cow<'_, str>, String> {
        match label {
            Value::String(label) if label.trim().is_empty() => Err("a label is empty".to_owned()),
            Value::String(label) => Ok(label.trim().into()),
            Value::Number(number) => Ok(number.to_string().into()),
            other => Err(format!("a label is {}, not a string", kind(other))),
        }
    }
    list.iter().map(label).collect()
}

/// The kind of a value, for messages.
pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
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

/// Whether a line begins a list of objects.
fn begins_list(line: &str) -> bool {
    line.strip_prefix('[').map(str::trim).is_some_and(|inside| inside.is_empty() || inside.starts_with('{'))
}

/// The format that the first line with anything in it shows.
pub(super) fn detect(first: &str, delimiter: Option<char>) -> RecordFormat {
    match first.trim_start() {
        line if line.starts_with('{') || begins_list(line) => RecordFormat::Jsonl,
        _ if delimiter.is_some() => RecordFormat::Csv,
        _ if first.contains('\t') => RecordFormat::Tsv,
        _ => RecordFormat::Csv,
    }
}
