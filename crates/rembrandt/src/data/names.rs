//! The names of labels and features that a data set carries.

use super::formats::Summary;

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
    /// Those of a text that has been read.
    pub(super) fn of(found: &mut Summary) -> Names {
        let Summary { label_words, feature_words, .. } = *found;
        let (labels, features) = (found.label_names.take(), found.feature_names.take());
        Names { labels, features, label_words, feature_words }
    }
}
