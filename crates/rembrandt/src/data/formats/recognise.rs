//! Whether a file holds sparse rows or a table of texts, from its first lines: each reads as the other without an error.

use std::path::Path;

use serde_json::Value;

use super::batch::{lines_of, text_of};
use super::header::parse_header;
use super::number;
use super::source::{self, Blocks, Sizes};
use crate::data::token::show;
use crate::{Error, Result};

/// Lines that are looked at.
const LINES: usize = 200;
/// Bytes in which they are looked for.
const BYTES: usize = 1 << 16;

/// The kind of a file of examples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recognised {
    /// Sparse rows.
    Rows,
    /// Words without values, which may be sparse rows, or nothing at all.
    Words,
    /// Records with texts, and why.
    Texts(String),
    /// Either, and why.
    Unclear(String),
}

/// Looks at the beginning of a file, whose texts would be in the column called `text_column`. Standard input is not looked at.
///
/// # Errors
/// If the file cannot be read.
pub fn recognise(path: &Path, text_column: &str) -> Result<Recognised> {
    if path.as_os_str() == "-" {
        return Ok(Recognised::Words);
    }
    let source = source::open(path)?;
    let sizes = Sizes { block: BYTES, ..Sizes::default() };
    match Blocks::new(source.reader, sizes).next() {
        Some(Ok(block)) => Ok(recognise_text(text_of(&block).0, text_column)),
        _ => Ok(Recognised::Words),
    }
}

/// The same for the beginning of a text.
pub(super) fn recognise_text(text: &str, text_column: &str) -> Recognised {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines: Vec<&str> = lines_of(text).filter(|line| !line.trim().is_empty()).take(LINES).collect();
    let Some((first, others)) = lines.split_first() else { return Recognised::Words };
    if parse_header(first).is_ok_and(|header| header.is_some()) {
        return Recognised::Rows;
    }
    if begins_json(first) {
        return Recognised::Texts("the first line is JSON".to_owned());
    }
    let with_values = |lines: &[&str]| lines.iter().filter(|line| has_values(line)).count();
    if names_column(first, text_column) {
        let named = format!("the first line names a column {}", show(text_column));
        return match others.is_empty() || 2 * with_values(others) <= others.len() {
            true => Recognised::Texts(named),
            false => Recognised::Unclear(format!(
                "{named}, as a table of texts does, but the other lines have features with values, as sparse rows do"
            )),
        };
    }
    if 2 * with_values(&lines) >= lines.len() || first.contains('|') {
        return Recognised::Rows;
    }
    match table(&lines) {
        Some(sign) => Recognised::Unclear(format!(
            "{sign}, as in a table of texts, but no line names a column {}; read as sparse rows, every word would be a \
             feature",
            show(text_column)
        )),
        None => Recognised::Words,
    }
}

impl Recognised {
    /// Refuses a file whose kind was not chosen and is not that of sparse rows.
    pub(super) fn check_rows(self, path: &Path) -> Result<()> {
        let reason = match self {
            Recognised::Rows | Recognised::Words => return Ok(()),
            Recognised::Texts(why) => format!("{why}, so these are texts and not sparse rows; read them as texts"),
            Recognised::Unclear(why) => format!("{why}; choose the format: one of sparse rows, or one of texts"),
        };
        Err(Error::line(path, 1, reason))
    }
}

/// An object of JSON, or the beginning of a list of them.
fn begins_json(line: &str) -> bool {
    let line = line.trim();
    let inside = line.strip_prefix('[').map_or(line, str::trim_start);
    matches!(serde_json::from_str::<Value>(line), Ok(Value::Object(_)))
        || line.starts_with('[') && (inside.is_empty() || inside.starts_with('{'))
        || line == "{"
}

/// Whether one of the fields of a line is this name.
fn names_column(line: &str, name: &str) -> bool {
    ['\t', ',', ';'].iter().any(|delimiter| {
        let mut fields = line.split(*delimiter).map(|field| field.trim().trim_matches('"'));
        line.contains(*delimiter) && fields.any(|field| field == name)
    }) || line.trim().trim_matches('"') == name
}

/// Whether at least half of the words of a line, besides the labels, are features with a value: a text may have a time of day.
fn has_values(line: &str) -> bool {
    let is_value = |token: &&str| {
        token.rsplit_once(':').is_some_and(|(name, value)| !name.is_empty() && number::float(value).is_some())
    };
    let words = || line.split([' ', '\t']).filter(|token| !token.is_empty());
    let values = words().filter(is_value).count();
    values > 0 && 2 * values + 1 >= words().count()
}

/// A sign that lines without values are those of a table.
fn table(lines: &[&str]) -> Option<&'static str> {
    let tabs = |line: &&str| line.matches('\t').count();
    let count = lines.first().map_or(0, tabs);
    if count > 0 && lines.len() > 1 && lines.iter().all(|line| tabs(line) == count) {
        return Some("every line has as many tabs");
    }
    let quoted = |line: &&&str| line.starts_with('"') || line.contains(",\"") || line.contains("\",");
    if 2 * lines.iter().filter(quoted).count() > lines.len() {
        return Some("lines have fields in quotes");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(text: &str) -> &'static str {
        match recognise_text(text, "text") {
            Recognised::Rows => "rows",
            Recognised::Words => "words",
            Recognised::Texts(_) => "texts",
            Recognised::Unclear(_) => "unclear",
        }
    }

    #[test]
    fn texts_and_rows_are_told_apart() {
        let rows = ["2 3 2\n0 0:1\n1 1:1\n", "0 1:0.5\n1 7:2\n", "news goal:2 vote\nsports\n", "a |w text,labels\n"];
        rows.iter().for_each(|text| assert_eq!(kind(text), "rows", "{text}"));
        ["a b\n", "", "\n"].iter().for_each(|text| assert_eq!(kind(text), "words", "{text}"));
        let texts = [
            "text,labels\n\"Chess at 10:30\",games\n\"Go, at 12:00 sharp\",games\n",
            "\u{feff}labels\ttext\na\tb c\n",
            "{\"text\": \"a\"}\n",
            "[\n{\"text\": \"a\"}]\n",
            "id;text;labels\n1;a;b\n",
            "text\n",
        ];
        texts.iter().for_each(|text| assert_eq!(kind(text), "texts", "{text}"));
        let unclear = ["text,labels\na 1:2\nb 2:1\n", "a,b\tsome words\nc\tother words\n", "\"a b, c\",x\n\"d\",y\n"];
        unclear.iter().for_each(|text| assert_eq!(kind(text), "unclear", "{text}"));
    }
}
