//! The names of labels and features that a data set carries.

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
