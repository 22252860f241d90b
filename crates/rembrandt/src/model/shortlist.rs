//! A model that gets lists of likely labels after training.
//!
//! A restriction to some labels makes no use of the lists. Labels added later are not on them, because they are scored
//! for every example anyway. Lists are made from the weights as they are, so those of labels that a propensity moved up
//! are longer.

use serde_json::{Value, json};

use super::{Model, Search};
use crate::linalg::csr::{Csr, CsrRef};
use crate::linalg::table::Precision;
use crate::score::shortlist::{DECIDING, Linear, ShortlistReport, Trial, Width, choose};
use crate::{Error, Result};

impl Model {
    /// The same model with lists of likely labels, made from its training examples as [`prepare`](Model::prepare) or
    /// [`prepare_texts`](Model::prepare_texts) make them ready; how much of them a search needs is found out on `held_out`.
    /// Without other examples some of the training examples decide. Model and lists have both seen those, so it is a
    /// little easier for both. The model has no lists if they are not good enough.
    ///
    /// # Errors
    /// If scores are not linear in the features, or there is no example with a label.
    pub fn with_shortlist(
        &self,
        (x, y): (CsrRef<'_>, CsrRef<'_>),
        held_out: Option<(CsrRef<'_>, CsrRef<'_>)>,
    ) -> Result<(Model, ShortlistReport)> {
        if !self.head().is_linear() || self.trees().is_some() {
            let reason = "a shortlist takes scores that are linear in the features, and those of the model are not";
            return Err(Error::Data(format!("{reason}: train it without random features, pursuit or trees")));
        }
        if self.contents().ranker.is_some() {
            let reason = "the model proposes labels by itself, and scores no others: it has no use for a shortlist";
            return Err(Error::Data(reason.into()));
        }
        let c = self.shape().c - self.added();
        let (some_x, some_y) = few(held_out.unwrap_or((x, y)), c);
        if some_x.rows() == 0 {
            return Err(Error::Data("no example has a label that the model knows: there is nothing to go by".into()));
        }
        let h = self.project(some_x.view());
        let wide = |table: &crate::linalg::table::Table| table.to_precision(Precision::F32);
        let (projection, vectors) = (wide(self.projection()), wide(self.head().weights().unwrap_or(self.labels())));
        let view = |table: &crate::linalg::table::Table| table.view().expect("single precision").to_matrix();
        let (projection, vectors) = (view(&projection), view(&vectors));
        let linear = Linear {
            projection: projection.view(),
            intercept: self.intercept(),
            vectors: vectors.view().split_rows_at(c).0,
        };
        let trial = Trial { x: some_x.view(), y: some_y.view(), h: h.view(), own: false };
        let scorer = self.scorer(None, Search::Exact, 1);
        let (shortlist, report) = choose(&linear, &scorer, (x, y), trial, self.calibration());
        let mut contents = self.contents().clone();
        contents.shortlist = shortlist;
        if let Value::Object(entries) = &mut contents.report {
            entries.insert("shortlist".to_owned(), json!(report));
        }
        Ok((Model::new(contents)?, report))
    }

    /// Refuses a width with which nothing would be found.
    pub(super) fn check_width(&self, width: Width) -> Result<()> {
        if width.probes == 0 || width.labels == 0 {
            return Err(Error::parameter("probes", "a search must look at one label at least"));
        }
        Ok(())
    }
}

/// Some of the examples that have features and labels that are known, at equal distances.
fn few((x, y): (CsrRef<'_>, CsrRef<'_>), c: usize) -> (Csr, Csr) {
    let useful = |i: &usize| !x.row(*i).0.is_empty() && y.row(*i).0.iter().any(|label| (*label as usize) < c);
    let rows: Vec<usize> = (0..x.rows().min(y.rows())).filter(useful).collect();
    let (mut some_x, mut some_y) = (Csr::new(x.values.is_none()), Csr::new(true));
    let count = rows.len().min(DECIDING);
    for i in (0..count).map(|i| rows[i * rows.len() / count]) {
        some_x.extend_rows(x, i, i + 1);
        some_y.extend_rows(y, i, i + 1);
    }
    (some_x, some_y)
}
