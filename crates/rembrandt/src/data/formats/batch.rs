//! One block of text on its way to rows.

use super::column::IdColumn;
use super::row_builder::{FileSyntax, RowBuilder};
use super::sparse::{self, Comments};
use super::{Format, vw};
use crate::data::Rows;

/// One block, parsed. Ids of a side of words count within the block.
#[derive(Debug)]
pub(super) struct ParsedRows {
    pub(super) rows: Rows,
    /// Blank lines after the last row: rows only if more follows, so they are kept apart.
    pub(super) blanks: u64,
    /// Lines parsed, the bad one not counted.
    pub(super) lines: u64,
    pub(super) labels: IdColumn,
    pub(super) features: IdColumn,
    /// Why the line after those parsed is bad.
    pub(super) fault: Option<String>,
}

/// Parses a block of whole lines up to its first bad one.
pub(super) fn parse(block: &[u8], syntax: &FileSyntax) -> ParsedRows {
    let (text, junk) = text_of(block);
    let mut batch = RowBuilder::new(syntax);
    let (mut lines, mut fault) = (0, None);
    let any_words = syntax.labels.words || syntax.features.words;
    let comments = match syntax.format {
        Format::Xmc => Comments::None,
        // A number cannot contain the mark of a comment, a word such as c# can.
        _ if any_words => Comments::BetweenTokens,
        _ => Comments::Anywhere,
    };
    for line in lines_of(text) {
        let outcome = match syntax.format {
            Format::Vw => vw::parse_line(line, &mut batch),
            _ => sparse::parse_line(line, comments, &mut batch),
        };
        if let Err(reason) = outcome {
            fault = Some(reason);
            break;
        }
        lines += 1;
    }
    let RowBuilder { rows, blanks, labels, features, .. } = batch;
    ParsedRows { rows, blanks, lines, labels, features, fault: fault.or(junk) }
}

/// Lines without their ends; the last one may lack its newline and still have the carriage return.
pub(in crate::data) fn lines_of(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(|line| line.strip_suffix('\r').unwrap_or(line))
}

/// The lines of a block before the first that is not text, and what is wrong with that one.
pub(in crate::data) fn text_of(block: &[u8]) -> (&str, Option<String>) {
    let (valid, broken) = match std::str::from_utf8(block) {
        Ok(text) => (text, false),
        Err(error) => {
            let (valid, _) = block.split_at(error.valid_up_to());
            (std::str::from_utf8(valid).unwrap_or_default(), true)
        }
    };
    let (valid, reason) = match valid.find('\0') {
        Some(at) => (&valid[..at], "the line contains a zero byte; is this a text file?".into()),
        None if broken => {
            let byte = block[valid.len()];
            (valid, format!("byte 0x{byte:02x} in the line is not utf-8; is this a text file in utf-8?"))
        }
        None => return (valid, None),
    };
    (&valid[..valid.rfind('\n').map_or(0, |at| at + 1)], Some(reason))
}
