//! [`Examples`], the products and sums that algorithms ask for, of data sets and their views.

use std::borrow::Cow;

use super::view::View;
use super::{ActiveLabels, Dataset, Examples, LabelFeatureProduct, Moments, Shape, Side};
use crate::Result;
use crate::linalg::matrix::{MatMut, MatRef};

impl Examples for Dataset {
    fn shape(&self) -> Shape {
        self.shape
    }

    fn cross(&self, a: Side, b: Side, z: MatRef<'_>, out: MatMut<'_>) -> Result<()> {
        self.view().cross(a, b, z, out)
    }

    fn squares(&self, z: MatRef<'_>) -> Result<Vec<f64>> {
        self.view().squares(z)
    }

    fn moments(&self, side: Side) -> Result<Moments> {
        self.view().moments(side)
    }

    fn active_labels(&self) -> Result<Option<ActiveLabels>> {
        self.view().active_labels()
    }

    fn with_labels<'b>(&'b self, labels: &'b ActiveLabels) -> Result<Option<Box<dyn Examples + 'b>>> {
        let view = self.view().with_labels_of_data(Cow::Borrowed(labels))?;
        Ok(Some(Box::new(view)))
    }

    fn label_feature_product(&self) -> Result<Option<LabelFeatureProduct>> {
        self.view().label_feature_product()
    }
}

impl Examples for View<'_> {
    fn shape(&self) -> Shape {
        let Shape { n, d, c } = self.data.shape();
        let n = self.rows.as_ref().map_or(n, |selection| selection.n);
        Shape { n, d, c: self.labels.as_ref().map_or(c, |labels| labels.len()) }
    }

    fn cross(&self, a: Side, b: Side, z: MatRef<'_>, out: MatMut<'_>) -> Result<()> {
        self.data.cross_with((a, b), self.weights_in(a, b), self.labels(), z, out)
    }

    fn squares(&self, z: MatRef<'_>) -> Result<Vec<f64>> {
        self.data.squares_with(self.weights_in(Side::X, Side::X), z)
    }

    fn moments(&self, side: Side) -> Result<Moments> {
        let mut moments = match &self.scaling {
            Some(scaling) if side == Side::X => {
                let sum = self.data.moments_with(side, Some(&scaling.once))?.sum;
                let twice = self.data.moments_with(side, Some(&scaling.twice))?;
                Moments { weight: scaling.weight, sum, ..twice }
            }
            _ => self.data.moments_with(side, self.weights.as_deref())?,
        };
        moments.entries = self.nnz(side);
        if let Some(labels) = self.labels.as_ref().filter(|_| side == Side::Y) {
            labels.restrict_moments(&mut moments);
        }
        Ok(moments)
    }

    fn active_labels(&self) -> Result<Option<ActiveLabels>> {
        let mut active = vec![false; self.data.shape().c];
        self.data.for_each_chunk(|chunk| {
            chunk.side(Side::Y).columns.ids.iter().for_each(|label| active[*label as usize] = true);
            Ok(())
        })?;
        if let Some(labels) = &self.labels {
            active = labels.ids().iter().map(|label| active[*label as usize]).collect();
        }
        let ids: Vec<u32> = (0..).zip(&active).filter(|(_, active)| **active).map(|(label, _)| label).collect();
        if ids.len() == active.len() { Ok(None) } else { ActiveLabels::new(ids, active.len()).map(Some) }
    }

    fn with_labels<'b>(&'b self, labels: &'b ActiveLabels) -> Result<Option<Box<dyn Examples + 'b>>> {
        let among = match &self.labels {
            Some(own) => Cow::Owned(own.then(labels)?),
            None => Cow::Borrowed(labels),
        };
        self.borrowed().with_labels_of_data(among).map(|view| Some(Box::new(view) as Box<dyn Examples + 'b>))
    }

    fn label_feature_product(&self) -> Result<Option<LabelFeatureProduct>> {
        LabelFeatureProduct::of(self)
    }
}
