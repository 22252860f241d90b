//! Formats with one record per line: blocks of whole lines are parsed in parallel.

use serde_json::{Map, Value};

use super::layout::{Layout, json_labels, kind, labels_of, listed, weight_of};
use super::{RecordOptions, Records, Selector};
use crate::data::formats::{lines_of, text_of};
use crate::data::token::show;

/// The grammar of the lines of a file.
pub(super) enum LineSyntax<'o> {
    Tsv(Layout),
    Jsonl(Keys<'o>),
    /// Each line is a text.
    Plain,
}

/// The keys of the values in a line of JSON.
pub(super) struct Keys<'o> {
    text: &'o str,
    labels: &'o str,
    id: Option<&'o str>,
    weight: Option<&'o str>,
    separator: &'o str,
}

impl<'o> Keys<'o> {
    pub(super) fn new(options: &'o RecordOptions) -> Result<Keys<'o>, String> {
        let key = |selector: &'o Selector, usual: &'static str| match selector {
            Selector::Name(name) => Ok(name.as_str()),
            Selector::Number(_) if options.remembered => Ok(usual),
            Selector::Number(number) => Err(format!("JSON has no column {number}; choose by name")),
        };
        Ok(Keys {
            text: key(&options.text, "text")?,
            labels: options.labels.as_ref().map_or(Ok("labels"), |labels| key(labels, "labels"))?,
            id: options.id.as_ref().map(|id| key(id, "id")).transpose()?,
            weight: options.weight.as_ref().map(|weight| key(weight, "weight")).transpose()?,
            separator: &options.separator,
        })
    }
}

/// One block, parsed up to its first bad line.
pub(super) struct ParsedRecords {
    pub(super) records: Records,
    /// Lines parsed, the bad one not counted.
    pub(super) lines: u64,
    /// Why the line after those parsed is bad.
    pub(super) fault: Option<String>,
}

pub(super) fn parse(block: &[u8], syntax: &LineSyntax<'_>) -> ParsedRecords {
    let (text, junk) = text_of(block);
    let mut parsed = ParsedRecords { records: Records::new(), lines: 0, fault: None };
    let mut fields = Vec::new();
    for line in lines_of(text) {
        let outcome = match syntax {
            LineSyntax::Plain => {
                parsed.records.push(line, [], 1.0);
                Ok(())
            }
            LineSyntax::Tsv(layout) if line.trim_matches(' ').is_empty() => {
                layout.push_blank(&mut parsed.records);
                Ok(())
            }
            LineSyntax::Jsonl(_) if line.trim().is_empty() => Ok(()),
            LineSyntax::Tsv(layout) => {
                fields.clear();
                fields.extend(line.split('\t'));
                layout.push(&fields, &mut parsed.records)
            }
            LineSyntax::Jsonl(keys) => parse_json(line, keys, &mut parsed.records),
        };
        if let Err(reason) = outcome {
            parsed.fault = Some(reason);
            return parsed;
        }
        parsed.lines += 1;
    }
    parsed.fault = junk;
    parsed
}

pub(super) fn parse_json(line: &str, keys: &Keys<'_>, records: &mut Records) -> Result<(), String> {
    let object = match serde_json::from_str(line) {
        Ok(Value::Object(object)) => object,
        Ok(other) => return Err(format!("the line is {}, not an object in braces", kind(&other))),
        Err(error) => {
            // Its own words end with a position in which the line is always 1.
            let message = error.to_string();
            let reason = message.split(" at line ").next().unwrap_or_default();
            return Err(format!("the line is not JSON: {reason} at column {}", error.column()));
        }
    };
    let text = match find(&object, keys.text) {
        Some(Value::String(text)) => text,
        Some(other) => return Err(format!("{} is {}, not a string", show(keys.text), kind(other))),
        None => {
            let found: Vec<&str> = object.keys().map(String::as_str).collect();
            return Err(format!("there is no key {}; the keys are {}", show(keys.text), listed(&found)));
        }
    };
    let id = match keys.id.map(|key| (key, find(&object, key))) {
        None => None,
        Some((_, Some(Value::String(id)))) => Some(id.clone()),
        Some((_, Some(Value::Number(id)))) => Some(id.to_string()),
        Some((key, Some(other))) => return Err(format!("{} is {}, not a string or number", show(key), kind(other))),
        Some((key, None)) => return Err(format!("there is no key {} for the id", show(key))),
    };
    let weight = match keys.weight.map(|key| (key, find(&object, key))) {
        None => 1.0,
        Some((_, Some(Value::Number(number)))) => weight_of(&number.to_string())?,
        Some((_, Some(Value::String(field)))) => weight_of(field)?,
        Some((key, Some(other))) => return Err(format!("{} is {}, not a number", show(key), kind(other))),
        Some((key, None)) => return Err(format!("there is no key {} for the weight", show(key))),
    };
    let labels = match find(&object, keys.labels) {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::String(field)) => labels_of(field, keys.separator)?,
        Some(Value::Number(number)) => vec![number.to_string().into()],
        Some(Value::Array(list)) => json_labels(list)?,
        Some(other) => return Err(format!("{} is {}, not a list or string", show(keys.labels), kind(other))),
    };
    records.push(text, labels.iter().map(AsRef::as_ref), weight);
    id.iter().for_each(|id| records.push_id(id));
    Ok(())
}

/// The value of a key or, where there is no such key, of a path of keys with dots between them.
fn find<'v>(object: &'v Map<String, Value>, path: &str) -> Option<&'v Value> {
    let inside = || {
        let (key, rest) = path.split_once('.')?;
        find(object.get(key)?.as_object()?, rest)
    };
    object.get(path).or_else(inside)
}
