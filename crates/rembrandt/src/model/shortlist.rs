//! Lists of likely labels in a model file, and how a model gets them after training.
//!
//! A restriction to some labels makes no use of the lists. Labels added later are not on them, because they are scored
//! for every example anyway. Lists are made from the weights as they are, so those of lifted labels are longer where the
//! lift made them so.

use std::ops::Range;
use std::path::Path;

use safetensors::Dtype;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::container::{Container, damaged};
use super::layout::{Description, HeadKind};
use super::open::Model;
use super::precision::Table;
use crate::linalg::csr::{Csr, CsrRef};
use crate::linalg::matrix::Matrix;
use crate::score::shortlist::{DECIDING, Linear, Lists, Rest, Shortlist, ShortlistReport, Trial, Width, choose};
use crate::{Error, Result};

/// What the metadata say of the lists.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct ShortlistKind {
    #[serde(flatten)]
    width: Width,
    /// The coefficients of the rest, under softmax.
    #[serde(skip_serializing_if = "Option::is_none")]
    rest: Option<[f64; 4]>,
}

impl ShortlistKind {
    pub fn of(shortlist: &Shortlist) -> ShortlistKind {
        ShortlistKind { width: shortlist.width, rest: shortlist.rest.as_ref().map(|rest| rest.coefficients) }
    }
}

/// The direction of the rest, if there is a rest.
pub(super) fn direction(shortlist: &Shortlist) -> &[f32] {
    shortlist.rest.as_ref().map_or(&[], |rest| &rest.direction)
}

/// Where lists lie in a file.
#[derive(Debug)]
pub(super) struct StoredLists {
    width: Width,
    rest: Option<Rest>,
    starts: Range<usize>,
    labels: Range<usize>,
    shares: Range<usize>,
    offsets: Range<usize>,
}

impl StoredLists {
    /// Finds and checks the lists of a model with d features, c trained labels and k dimensions.
    pub fn find(
        file: &Container<'_>,
        map: &[u8],
        description: &Description,
        (d, c, k): (usize, usize, usize),
    ) -> Result<Option<StoredLists>> {
        let Some(kind) = &description.shortlist else { return Ok(None) };
        if !matches!(description.head, HeadKind::Linear | HeadKind::LeastSquares) {
            return Err(damaged(file.path, "it has lists of labels, but its head has no use for them"));
        }
        let place = |name: &str, dtype: Dtype| match file.locate(name, dtype) {
            Some((&[_], bytes)) => Ok(bytes),
            _ => Err(file.missing(name)),
        };
        let rest = match kind.rest {
            None => None,
            Some(coefficients) => {
                Some(Rest { direction: file.vector("shortlist_direction", Dtype::F32, k)?, coefficients })
            }
        };
        let found = StoredLists {
            width: kind.width,
            rest,
            starts: place("shortlist_starts", Dtype::U64)?,
            labels: place("shortlist_labels", Dtype::U32)?,
            shares: place("shortlist_shares", Dtype::BF16)?,
            offsets: place("shortlist_offsets", Dtype::F32)?,
        };
        let Some(lists) = found.try_look(map) else {
            return Err(damaged(file.path, "its lists of labels are not aligned"));
        };
        lists.check(d, c).map_err(|what| damaged(file.path, what))?;
        let sound = found.rest.as_ref().is_none_or(|rest| rest.is_sound(k));
        if !sound || kind.width.probes == 0 || kind.width.labels == 0 {
            return Err(damaged(file.path, "a number of its lists is out of range"));
        }
        Ok(Some(found))
    }

    pub fn width(&self) -> Width {
        self.width
    }

    pub fn rest(&self) -> Option<&Rest> {
        self.rest.as_ref()
    }

    /// The direction of the rest, as a file holds it.
    pub fn direction(&self) -> &[f32] {
        self.rest.as_ref().map_or(&[], |rest| &rest.direction)
    }

    /// The lists in the bytes of their file.
    pub fn look<'a>(&self, map: &'a [u8]) -> Lists<'a> {
        self.try_look(map).expect("alignment was checked on opening")
    }

    fn try_look<'a>(&self, map: &'a [u8]) -> Option<Lists<'a>> {
        Some(Lists {
            starts: bytemuck::try_cast_slice(&map[self.starts.clone()]).ok()?,
            labels: bytemuck::try_cast_slice(&map[self.labels.clone()]).ok()?,
            shares: bytemuck::try_cast_slice(&map[self.shares.clone()]).ok()?,
            offsets: bytemuck::try_cast_slice(&map[self.offsets.clone()]).ok()?,
        })
    }
}

/// A model and the lists that it is about to get.
#[derive(Debug)]
pub struct ShortlistUpdate<'m> {
    model: &'m Model,
    shortlist: Option<Shortlist>,
    report: ShortlistReport,
}

impl Model {
    /// Makes lists of likely labels from the training examples of the model, as [`prepare`](Model::prepare) or
    /// [`prepare_texts`](Model::prepare_texts) make them ready, and finds out on `held_out` how much of them a search
    /// needs. [`ShortlistUpdate::save`] then writes a model with them. Without other examples some of the training
    /// examples decide. Model and lists have both seen those, so it is a little easier for both.
    ///
    /// # Errors
    /// If scores are not linear in the features, or there is no example with a label.
    pub fn make_shortlist(
        &self,
        (x, y): (CsrRef<'_>, CsrRef<'_>),
        held_out: Option<(CsrRef<'_>, CsrRef<'_>)>,
    ) -> Result<ShortlistUpdate<'_>> {
        if !matches!(self.head(), HeadKind::Linear | HeadKind::LeastSquares) {
            let reason = "a shortlist takes scores that are linear in the features, and those of the model are not";
            return Err(Error::Data(format!("{reason}: train it without random features, pursuit or trees")));
        }
        let c = self.shape().c - self.added();
        let (some_x, some_y) = few(held_out.unwrap_or((x, y)), c);
        if some_x.rows() == 0 {
            return Err(Error::Data("no example has a label that the model knows: there is nothing to go by".into()));
        }
        let h = self.place(some_x.view());
        let projection = single(self.projection(), self.shape().d);
        let vectors = single(self.weights().unwrap_or_else(|| self.labels()), c);
        let linear = Linear {
            projection: projection.view(),
            intercept: self.intercept(),
            vectors: vectors.view(),
            evidence: self.evidence(),
        };
        let trial = Trial { x: some_x.view(), y: some_y.view(), h: h.view(), own: false };
        let (shortlist, report) = choose(&linear, (x, y), trial, self.calibration());
        Ok(ShortlistUpdate { model: self, shortlist, report })
    }

    /// Refuses a width with which nothing would be found.
    pub(super) fn check_width(&self, width: Width) -> Result<()> {
        if width.probes == 0 || width.labels == 0 {
            return Err(Error::parameter("probes", "a search must look at one label at least"));
        }
        Ok(())
    }
}

impl ShortlistUpdate<'_> {
    /// How the width of the search was chosen.
    pub fn report(&self) -> &ShortlistReport {
        &self.report
    }

    /// The lists, if a search with them is good enough.
    pub fn shortlist(&self) -> Option<&Shortlist> {
        self.shortlist.as_ref()
    }

    /// Writes the model with its new lists, or without any if they are not good enough; all else stays as it is. An
    /// interrupted write leaves what was there before, and the path may be that of the model itself.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let mut layout = self.model.layout();
        layout.description.shortlist = self.shortlist.as_ref().map(ShortlistKind::of);
        layout.shortlist = self.shortlist.as_ref().map(|shortlist| (shortlist.lists(), direction(shortlist)));
        let mut report = self.model.report().clone();
        if let Value::Object(entries) = &mut report {
            entries.insert("shortlist".to_owned(), json!(self.report));
        }
        layout.report = &report;
        layout.write(path.as_ref())
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

/// The first rows of a matrix, in single precision.
fn single(table: Table<'_>, rows: usize) -> Matrix {
    let mut copy = Matrix::zeros(rows, table.cols());
    (0..rows).for_each(|i| copy.row_mut(i).copy_from_slice(&table.row(i)));
    copy
}
