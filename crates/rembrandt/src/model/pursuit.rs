//! The rows of a model that a pursuit chooses from.

use std::borrow::Cow;
use std::ops::Range;

use super::layout::HeadKind;
use super::open::Model;
use super::precision::Table;
use crate::score::head::Dictionary;

/// The embedding of the labels that were trained. Those added later are ranked by themselves, and change nothing for
/// the others.
pub(super) struct Trained<'m> {
    labels: Table<'m>,
    count: usize,
}

impl<'m> Trained<'m> {
    /// The rows and how many of them to take, where the head of a model is a pursuit.
    pub fn of(model: &'m Model) -> Option<(Trained<'m>, usize)> {
        let HeadKind::Pursuit { atoms } = model.head() else { return None };
        Some((Trained { labels: model.labels(), count: model.shape().c - model.added() }, atoms))
    }
}

impl Dictionary for Trained<'_> {
    fn count(&self) -> usize {
        self.count
    }

    fn row(&self, label: usize) -> Cow<'_, [f32]> {
        self.labels.row(label)
    }

    fn multiply(&self, a: &[f32], labels: Range<usize>, out: &mut [f32]) {
        self.labels.dots(a, labels, out);
    }
}
