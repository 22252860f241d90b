//! The names of labels and features that a data set carries.

use super::Side;

/// Names of labels and features, and whether that is how the text identified them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Names {
    /// Names of the labels, if there are any.
    pub labels: Option<Vec<String>>,
    /// Names of the features, if there are any.
    pub features: Option<Vec<String>>,
    /// Whether the text identified labels by these names, not by numbers.
    pub label_words: bool,
    /// The same of features.
    pub feature_words: bool,
}

impl Names {
    /// Those of one side.
    pub(super) fn of(&self, side: Side) -> Option<&[String]> {
        match side {
            Side::X => self.features.as_deref(),
            Side::Y => self.labels.as_deref(),
        }
    }
}
