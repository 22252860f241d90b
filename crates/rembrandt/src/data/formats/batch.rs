//! One block of text on its way to rows: what every format shares once it has found its tokens.

use super::column::{IdColumn, IdSyntax, show};
use super::sparse::{self, Comments};
use super::{Format, vw};
use crate::data::{Rows, Side};

/// The decisions about a file before its lines are parsed.
#[derive(Clone, Debug)]
pub(super) struct FileSyntax {
    pub(super) format: Format,
    pub(super) labels: IdSyntax,
    pub(super) features: IdSyntax,
}

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

/// Rows under construction.
pub(super) struct RowBuilder {
    rows: Rows,
    blanks: u64,
    pub(super) labels: IdColumn,
    pub(super) features: IdColumn,
    row_labels: Vec<u32>,
    row_features: Vec<(u32, f32)>,
    weight: f32,
    /// Add up the values of a feature that occurs more than once instead of refusing it.
    sum: bool,
}

impl RowBuilder {
    fn new(syntax: &FileSyntax) -> RowBuilder {
        RowBuilder {
            rows: Rows::new(),
            blanks: 0,
            labels: IdColumn::new(Side::Y, &syntax.labels),
            features: IdColumn::new(Side::X, &syntax.features),
            row_labels: Vec::new(),
            row_features: Vec::new(),
            weight: 1.0,
            sum: syntax.format == Format::Vw,
        }
    }

    /// A line with neither labels nor features.
    pub(super) fn blank(&mut self) {
        self.blanks += 1;
    }

    /// Adds the labels of a list with commas.
    pub(super) fn label_list(&mut self, list: &str) -> Result<(), String> {
        for token in list.split(',') {
            if token.is_empty() {
                return Err(format!("empty label in {}; write labels with one comma between them", show(list)));
            }
            self.row_labels.extend(self.labels.id(token)?);
        }
        Ok(())
    }

    /// Adds a feature by its id, if it has one.
    #[inline(always)]
    pub(super) fn feature(&mut self, id: Option<u32>, value: f32) {
        if let Some(id) = id {
            self.row_features.push((id, value));
        }
    }

    /// Sets the weight of the example.
    pub(super) fn weight(&mut self, weight: f32) {
        self.weight = weight;
    }

    /// Closes the row: sorts it, refuses or adds up what occurs twice, drops zeros.
    pub(super) fn end_row(&mut self) -> Result<(), String> {
        for _ in 0..std::mem::take(&mut self.blanks) {
            self.rows.x.end_row();
            self.rows.y.end_row();
        }
        if !self.row_labels.is_sorted_by(|a, b| a < b) {
            self.row_labels.sort_unstable();
            if let Some(pair) = self.row_labels.windows(2).find(|pair| pair[0] == pair[1]) {
                return Err(format!("label {} occurs twice in the line", self.labels.name(pair[0])));
            }
        }
        if !self.row_features.is_sorted_by(|a, b| a.0 < b.0) {
            // Stable, so that sums are always taken in the order of the line.
            self.row_features.sort_by_key(|entry| entry.0);
            self.join_equals()?;
        }
        for id in self.row_labels.drain(..) {
            self.rows.y.push(id, 1.0);
        }
        for (id, value) in self.row_features.drain(..) {
            if value != 0.0 {
                self.rows.x.push(id, value);
            }
        }
        self.rows.x.end_row();
        self.rows.y.end_row();
        let weight = std::mem::replace(&mut self.weight, 1.0);
        if weight != 1.0 && self.rows.weights.is_none() {
            self.rows.weights = Some(vec![1.0; self.rows.len() - 1]);
        }
        if let Some(weights) = &mut self.rows.weights {
            weights.push(weight);
        }
        Ok(())
    }

    fn join_equals(&mut self) -> Result<(), String> {
        let RowBuilder { row_features, features, sum, .. } = self;
        if !*sum {
            return match row_features.windows(2).find(|pair| pair[0].0 == pair[1].0) {
                Some(pair) => Err(format!("feature {} occurs twice in the line", features.name(pair[0].0))),
                None => Ok(()),
            };
        }
        row_features.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 += next.1;
            }
            same
        });
        match row_features.iter().find(|entry| !entry.1.is_finite()) {
            Some((id, _)) => Err(format!("the values of feature {} add up to more than fits", features.name(*id))),
            None => Ok(()),
        }
    }
}
