//! [`RowBuilder`]: what every format shares once it has found the tokens of a line.

use super::Format;
use super::column::{IdColumn, IdSyntax};
use crate::data::token::show;
use crate::data::{Rows, Side};

/// The decisions about a file before its lines are parsed.
#[derive(Clone, Debug)]
pub(super) struct FileSyntax {
    pub(super) format: Format,
    pub(super) labels: IdSyntax,
    pub(super) features: IdSyntax,
}

/// Rows under construction.
pub(super) struct RowBuilder {
    pub(super) rows: Rows,
    pub(super) blanks: u64,
    pub(super) labels: IdColumn,
    pub(super) features: IdColumn,
    row_labels: Vec<u32>,
    row_features: Vec<(u32, f32)>,
    weight: f32,
    /// Add up the values of a feature that occurs more than once instead of refusing it.
    sum: bool,
}

impl RowBuilder {
    pub(super) fn new(syntax: &FileSyntax) -> RowBuilder {
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
