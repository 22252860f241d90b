//! The shortlist of a new model, from rows that training has at hand.

use super::params::TrainParams;
use crate::data::{Dataset, Side};
use crate::linalg::csr::Csr;
use crate::linalg::matrix::{MatRef, Matrix};
use crate::linalg::table::Table;
use crate::score::head::{Calibration, Head};
use crate::score::scorer::{ScoreParts, Scorer};
use crate::score::shortlist::{DECIDING, Linear, Shortlist, ShortlistReport, Trial, choose};
use crate::{Embedding, Result};

/// Examples that the width of a search is chosen on, and their h, as new as can be had.
pub(super) struct ShortlistRows {
    rows: Vec<usize>,
    h: Matrix,
    /// Whether h comes from a projection that has not seen the examples.
    fresh: bool,
}

impl TrainParams {
    /// Whether labels are so many that lists are made.
    pub(super) fn wants_shortlist(&self, c: usize) -> bool {
        self.shortlist.is_some_and(|from| c >= from)
    }
}

impl ShortlistRows {
    /// Some of all examples.
    pub fn all(h: MatRef<'_>, fresh: bool) -> ShortlistRows {
        ShortlistRows::some(h, &(0..h.rows()).collect::<Vec<_>>(), fresh)
    }

    /// Some of the given examples, at equal distances.
    pub fn some(h: MatRef<'_>, rows: &[usize], fresh: bool) -> ShortlistRows {
        let count = rows.len().min(DECIDING);
        let rows: Vec<usize> = (0..count).map(|i| rows[i * rows.len() / count]).collect();
        let mut some = Matrix::zeros(count, h.cols());
        rows.iter().enumerate().for_each(|(to, from)| some.row_mut(to).copy_from_slice(h.row(*from)));
        ShortlistRows { rows, h: some, fresh }
    }

    /// Makes the lists, if they are good enough; nothing for a head whose scores are not linear, or for data that
    /// cannot be held together.
    #[allow(clippy::type_complexity)]
    pub fn shortlist(
        self,
        data: &Dataset,
        embedding: &Embedding,
        head: &Head,
        calibration: Calibration,
    ) -> Result<Option<(Option<Shortlist>, ShortlistReport)>> {
        if !head.is_linear() || data.nnz(Side::X) > u64::from(u32::MAX) {
            return Ok(None);
        }
        let labels = Table::from(embedding.labels.clone());
        let vectors = head.weights().unwrap_or(&labels);
        let linear = Linear {
            projection: embedding.projection.view(),
            intercept: &embedding.intercept,
            vectors: vectors.view().expect("weights are trained in single precision"),
        };
        let parts = ScoreParts { labels: &labels, trained: labels.rows(), head, ranker: None, calibration };
        let scorer = Scorer::new(parts, None);
        let (x, y) = (data.features()?, data.labels()?);
        let (mut some_x, mut some_y) = (Csr::new(x.view().values.is_none()), Csr::new(true));
        for i in &self.rows {
            some_x.extend_rows(x.view(), *i, i + 1);
            some_y.extend_rows(y.view(), *i, i + 1);
        }
        // Where the projection has seen the examples, so may the lists: a scan would else have what they lack.
        let trial = Trial { x: some_x.view(), y: some_y.view(), h: self.h.view(), own: self.fresh };
        Ok(Some(choose(&linear, &scorer, (x.view(), y.view()), trial, calibration)))
    }
}
