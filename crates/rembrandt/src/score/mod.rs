//! From an example to scores of labels, and from scores to probabilities.
//!
//! | module | holds |
//! |---|---|
//! | [`head`] | scores from h(x): least squares, logistic regression, random features, pursuit; calibration |
//! | [`ranker`] | a sparse linear scorer for each label, asked about the candidates of an example |
//! | `scorer` | the scores of a model, added up for prediction |

pub mod head;
pub mod ranker;
pub(crate) mod scorer;
