//! [`View`]: a data set as algorithms see it, changed without a copy of the data.
//!
//! Everything that a view changes about the rows ends up in the weights of the examples. With r the factors of the rows,
//! X becomes diag(r)·X, so XᵀWX has the weights w·r², XᵀWY has w·r, and YᵀWY has w. A row that is left out has weight 0.
//! Labels that no example has are left out by numbering the others anew, chunk by chunk and at each product, which is
//! nothing beside the product.

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use super::row_scale::out_of_range;
use super::{ActiveLabels, BiasCenter, Dataset, Examples, RowScale, Side};
use crate::linalg::matrix::{MatRef, Matrix};
use crate::{Error, Result};

/// A data set with other weights, some of its rows, divided rows, or without the labels that no example has: any of
/// these together, in any order.
///
/// A constant feature and the mean shift come on top, as [`BiasCenter`]: [`View::bias`], [`View::centered`].
///
/// ```
/// use rembrandt::data::{Dataset, RowScale, Rows};
/// use rembrandt::{Examples, Side};
///
/// let mut rows = Rows::new();
/// for counts in [[3.0, 1.0], [0.5, 1.5]] {
///     counts.into_iter().zip(0..).for_each(|(count, id)| rows.x.push(id, count));
///     rows.x.end_row();
///     rows.y.push(4, 1.0);
///     rows.y.end_row();
/// }
/// let data = Dataset::from_rows(&rows, 2, 9)?;
/// let view = data.view().scale_rows(RowScale::Sum)?.weights(vec![1.0, 2.0])?.only_active_labels()?;
/// assert_eq!(view.moments(Side::X)?.sum, [0.75 + 2.0 * 0.25, 0.25 + 2.0 * 0.75]);
/// assert_eq!(view.shape().c, 1);
/// assert_eq!(data.view().rows(|i| i == 1)?.shape().n, 1);
/// # Ok::<(), rembrandt::Error>(())
/// ```
#[derive(Clone)]
pub struct View<'a> {
    pub(super) data: &'a Dataset,
    /// w, one for every row of the data and 0 for those left out; absent when the data's own are all that counts.
    pub(super) weights: Option<Cow<'a, [f32]>>,
    pub(super) rows: Option<Cow<'a, Selection>>,
    pub(super) scaling: Option<Cow<'a, Scaling>>,
    pub(super) labels: Option<Cow<'a, ActiveLabels>>,
}

/// Some of the rows.
#[derive(Clone)]
pub(super) struct Selection {
    kept: Vec<bool>,
    /// How many they are.
    pub(super) n: usize,
    /// Their entries of X and Y.
    nnz: [u64; 2],
}

/// Rows divided by their sizes.
#[derive(Clone, Default)]
pub(super) struct Scaling {
    /// r.
    factors: Vec<f32>,
    /// w·r.
    pub(super) once: Vec<f32>,
    /// w·r².
    pub(super) twice: Vec<f32>,
    /// Σw.
    pub(super) weight: f64,
}

impl Dataset {
    /// The data as algorithms see them, to be changed without a copy: other weights, some of the rows, divided rows.
    pub fn view(&self) -> View<'_> {
        View::new(self)
    }
}

impl<'a> View<'a> {
    /// The data as they are.
    pub fn new(data: &'a Dataset) -> View<'a> {
        View { data, weights: None, rows: None, scaling: None, labels: None }
    }

    /// Multiplies the weight of each example, one number for every row of the data. A weight of 0 takes an example out of
    /// all sums; it still counts as an example, and its entries as entries.
    ///
    /// # Errors
    /// Unless there is one weight for each row, finite and not negative.
    pub fn weights(mut self, mut weights: Vec<f32>) -> Result<View<'a>> {
        let n = self.data.shape().n;
        if weights.len() != n {
            return Err(Error::Data(format!("{} weights for {n} examples", weights.len())));
        }
        if weights.iter().any(|w| !w.is_finite() || *w < 0.0) {
            return Err(Error::Data("weights of examples must be finite and not negative".into()));
        }
        if let Some(before) = self.own_weights()? {
            weights.iter_mut().zip(&*before).for_each(|(w, before)| *w *= before);
        }
        self.weights = Some(weights.into());
        self.combine()
    }

    /// Leaves out the rows of the data for which `keep` says no. [`Dataset::select`] copies the others instead, which is
    /// quicker to multiply by.
    pub fn rows(mut self, keep: impl Fn(usize) -> bool) -> Result<View<'a>> {
        let n = self.data.shape().n;
        let kept: Vec<bool> = (0..n).map(|i| self.keeps(i) && keep(i)).collect();
        let mut weights = self.own_weights()?.map_or_else(|| vec![1.0; n], Cow::into_owned);
        weights.iter_mut().zip(&kept).filter(|(_, kept)| !**kept).for_each(|(w, _)| *w = 0.0);
        let (mut at, mut nnz) = (0, [0; 2]);
        self.data.for_each_chunk(|chunk| {
            for i in (0..chunk.rows()).filter(|i| kept[at + i]) {
                nnz[0] += chunk.side(Side::X).rows.row(i).0.len() as u64;
                nnz[1] += chunk.side(Side::Y).rows.row(i).0.len() as u64;
            }
            at += chunk.rows();
            Ok(())
        })?;
        self.weights = Some(weights.into());
        self.rows = Some(Cow::Owned(Selection { n: kept.iter().filter(|kept| **kept).count(), kept, nnz }));
        self.combine()
    }

    /// Divides each row of features by its size. Of several calls the last counts, for a row has the same direction
    /// however it is divided.
    ///
    /// A projection fitted to divided rows applies to rows that are divided likewise: [`View::gather_features`] does that
    /// for data sets, [`RowScale::factors`] serves rows that come one by one.
    ///
    /// # Errors
    /// If a row is too large or too small to be divided by. Rows that were left out before are not looked at.
    pub fn scale_rows(mut self, scale: RowScale) -> Result<View<'a>> {
        if scale == RowScale::None {
            return Ok(self);
        }
        let mut factors = Vec::with_capacity(self.data.shape().n);
        self.data.for_each_chunk(|chunk| {
            for i in 0..chunk.rows() {
                factors.push(if self.keeps(factors.len()) {
                    let factor = scale.factor(chunk.side(Side::X).rows, i);
                    factor.map_err(|size| out_of_range(factors.len(), size))?
                } else {
                    1.0
                });
            }
            Ok(())
        })?;
        self.scaling = Some(Cow::Owned(Scaling { factors, ..Scaling::default() }));
        self.combine()
    }

    /// Leaves out the labels that no example has, and numbers the others from 0 in their order: [`View::labels`] has
    /// them. Labels of rows that were left out stay, with zeros in all products.
    pub fn only_active_labels(mut self) -> Result<View<'a>> {
        if let Some(active) = self.active_labels()? {
            self.labels = Some(Cow::Owned(match &self.labels {
                Some(before) => before.then(&active)?,
                None => active,
            }));
        }
        Ok(self)
    }

    /// Appends a feature that is 1 in every example.
    pub fn bias(self) -> Result<BiasCenter<View<'a>>> {
        BiasCenter::bias(self)
    }

    /// Subtracts the means of the columns, of features and labels both.
    pub fn centered(self) -> Result<BiasCenter<View<'a>>> {
        BiasCenter::centered(self)
    }

    /// The labels of the view, if they are not those of the data.
    pub fn labels(&self) -> Option<&ActiveLabels> {
        self.labels.as_deref()
    }

    /// diag(r)·X z, one row for each example of the view.
    pub fn gather_features(&self, z: MatRef<'_>) -> Result<Matrix> {
        let mut out = self.data.gather_features(z)?;
        if let Some(scaling) = &self.scaling {
            for (i, r) in scaling.factors.iter().enumerate() {
                out.row_mut(i).iter_mut().for_each(|v| *v *= r);
            }
        }
        if let Some(selection) = &self.rows {
            let width = out.cols();
            let kept = (0..out.rows()).filter(|i| selection.kept[*i]);
            for (to, from) in kept.enumerate() {
                out.as_mut_slice().copy_within(from * width..(from + 1) * width, to * width);
            }
            out.truncate(selection.n);
        }
        Ok(out)
    }

    pub(super) fn data(&self) -> &'a Dataset {
        self.data
    }

    /// Whether a row of the data is one of the view.
    pub(super) fn keeps(&self, row: usize) -> bool {
        self.rows.as_ref().is_none_or(|selection| selection.kept[row])
    }

    /// Stored entries of one side.
    pub(super) fn nnz(&self, side: Side) -> u64 {
        match &self.rows {
            Some(selection) => selection.nnz[usize::from(side == Side::Y)],
            None => self.data.nnz(side),
        }
    }

    /// The stand-in for W in AᵀWB, where it is not the data's own.
    pub(super) fn weights_in(&self, a: Side, b: Side) -> Option<&[f32]> {
        match (&self.scaling, a, b) {
            (Some(scaling), Side::X, Side::X) => Some(&scaling.twice),
            (Some(scaling), Side::X, Side::Y) | (Some(scaling), Side::Y, Side::X) => Some(&scaling.once),
            _ => self.weights.as_deref(),
        }
    }

    /// w of every row; absent when all are 1.
    fn own_weights(&self) -> Result<Option<Cow<'_, [f32]>>> {
        match &self.weights {
            Some(weights) => Ok(Some(Cow::Borrowed(weights))),
            None => Ok(self.data.weights()?.map(Cow::Owned)),
        }
    }

    /// Multiplies the weights with the factors of the rows, after a change of either.
    fn combine(mut self) -> Result<View<'a>> {
        let Some(scaling) = self.scaling.take() else {
            return Ok(self);
        };
        let weights = self.own_weights()?;
        let mut scaling = Scaling { factors: scaling.into_owned().factors, ..Scaling::default() };
        for (i, r) in scaling.factors.iter().enumerate() {
            let (w, r) = (weights.as_ref().map_or(1.0, |w| f64::from(w[i])), f64::from(*r));
            scaling.once.push((w * r) as f32);
            scaling.twice.push((w * r * r) as f32);
            scaling.weight += w;
        }
        drop(weights);
        if scaling.once.iter().chain(&scaling.twice).any(|v| !v.is_finite()) {
            return Err(Error::Data(
                "weights of examples overflow when their features are divided; scale them down".into(),
            ));
        }
        self.scaling = Some(Cow::Owned(scaling));
        Ok(self)
    }

    /// The view with these labels of the data, unless an example has others.
    pub(super) fn with_labels_of_data(self, labels: Cow<'a, ActiveLabels>) -> Result<View<'a>> {
        self.data.for_each_chunk(|chunk| {
            match chunk.side(Side::Y).columns.ids.iter().find(|label| !labels.contains(**label)) {
                Some(label) => Err(Error::Data(format!("an example has label {label}, which is not an active one"))),
                None => Ok(()),
            }
        })?;
        Ok(View { labels: Some(labels), ..self })
    }

    /// The same view, to be changed further while this one stays.
    pub(super) fn borrowed(&self) -> View<'_> {
        View {
            data: self.data,
            weights: self.weights.as_deref().map(Cow::Borrowed),
            rows: self.rows.as_deref().map(Cow::Borrowed),
            scaling: self.scaling.as_deref().map(Cow::Borrowed),
            labels: self.labels.as_deref().map(Cow::Borrowed),
        }
    }
}
