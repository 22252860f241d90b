//! The dimension that explains a given share of the variance of the labels: the authors' rule for data sets with few
//! labels.
//!
//! The eigenvalues of YᵀWY say how much of the labels, whatever the features, each direction holds: its energy. The smallest k
//! whose top eigenvalues hold more than a given share of all of them is enough for the labels, and so for what the
//! features can tell about them. Here the c×c matrix is written down, so this is not for very many labels.

use faer::Mat;

use crate::data::{Examples, Side, check_not_empty};
use crate::linalg::matrix::Matrix;
use crate::linalg::orth;
use crate::{Error, Result};

/// With more labels than this, the c×c matrix and its copy take more than a gigabyte and its eigenvalues take minutes.
const MAX_LABELS: usize = 8192;
/// Columns of it asked for at a time.
const PANEL: usize = 64;

/// The smallest k such that the k largest eigenvalues of YᵀWY hold more than `share` of its trace; 1 when no example
/// has a label.
///
/// Fails when there are more than 8192 labels or `share` is not at least 0 and below 1.
///
/// ```
/// use rembrandt::data::{Dataset, Rows};
/// use rembrandt::embed::energy_dimension;
///
/// // Of ten examples six have label 0, three have label 1 and one has label 2: that is 60 %, 30 % and 10 %.
/// let mut rows = Rows::new();
/// for label in [0, 0, 0, 0, 0, 0, 1, 1, 1, 2] {
///     rows.x.push(label, 1.0);
///     rows.x.end_row();
///     rows.y.push(label, 1.0);
///     rows.y.end_row();
/// }
/// let data = Dataset::from_rows(&rows, 3, 3)?;
/// assert_eq!(energy_dimension(&data, 0.5)?, 1);
/// assert_eq!(energy_dimension(&data, 0.8)?, 2);
/// assert_eq!(energy_dimension(&data, 0.95)?, 3);
/// # Ok::<(), rembrandt::Error>(())
/// ```
pub fn energy_dimension(data: &dyn Examples, share: f64) -> Result<usize> {
    if !(0.0..1.0).contains(&share) {
        return Err(Error::parameter(
            "share",
            format!("{share} is not a share of the energy: give 0 or more, below 1"),
        ));
    }
    let shape = data.shape();
    check_not_empty(shape)?;
    if shape.c > MAX_LABELS {
        let reason = format!(
            "cannot be chosen by the energy of {} labels, as this takes a matrix of all their pairs (at most \
             {MAX_LABELS} labels): give the number of dimensions",
            shape.c
        );
        return Err(Error::parameter("k", reason));
    }
    let unreadable = || Error::Data("the weights of the examples overflow; scale them down".into());
    let values = orth::eigenvalues(&label_gram(data)?).ok_or_else(unreadable)?;
    Ok(dimension_of(&values, share))
}

/// Bytes that [`energy_dimension`] takes for `c` labels: the matrix, the copy that is reduced, and a panel.
pub fn energy_memory(c: usize) -> u64 {
    let c = c as u64;
    c.saturating_mul(c.saturating_mul(2 * 8).saturating_add(2 * 4 * PANEL as u64))
}

/// YᵀWY, asked for a panel of unit vectors at a time.
fn label_gram(data: &dyn Examples) -> Result<Mat<f64>> {
    let c = data.shape().c;
    let mut gram = Mat::zeros(c, c);
    for from in (0..c).step_by(PANEL) {
        let width = PANEL.min(c - from);
        let units = Matrix::from_fn(c, width, |i, j| f32::from(u8::from(i == from + j)));
        let mut panel = Matrix::zeros(c, width);
        data.cross(Side::Y, Side::Y, units.view(), panel.view_mut())?;
        for i in 0..c {
            panel.row(i).iter().enumerate().for_each(|(j, v)| gram[(i, from + j)] = f64::from(*v));
        }
    }
    Ok(gram)
}

/// How many of the eigenvalues, largest first, it takes to hold more than `share` of their sum.
fn dimension_of(values: &[f64], share: f64) -> usize {
    let goal = share * values.iter().sum::<f64>();
    let mut held = 0.0;
    let enough = values.iter().position(|value| {
        held += value;
        held > goal
    });
    enough.map_or(1, |last| last + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Dataset, Rows};

    /// Examples that each have some of the labels, with weights.
    fn dataset(examples: &[(&[u32], f32)], c: usize) -> Dataset {
        let mut rows = Rows::new();
        for (labels, _) in examples {
            rows.x.push(0, 1.0);
            rows.x.end_row();
            labels.iter().for_each(|label| rows.y.push(*label, 1.0));
            rows.y.end_row();
        }
        rows.weights = Some(examples.iter().map(|(_, weight)| *weight).collect());
        Dataset::from_rows(&rows, 1, c).unwrap()
    }

    #[test]
    fn labels_that_go_together_take_one_dimension() {
        // Labels 0, 1 and 2 always together: one eigenvalue of 3·8 = 24. Labels 3 and 4 alone: 4 and 2. Of 30 in all,
        // one dimension holds 80 %, two 93.3 %.
        let data = dataset(&[(&[0, 1, 2], 8.0), (&[3], 4.0), (&[4], 2.0)], 100);
        for (share, k) in [(0.0, 1), (0.79, 1), (0.81, 2), (0.9, 2), (0.93, 2), (0.94, 3), (0.999, 3)] {
            assert_eq!(energy_dimension(&data, share).unwrap(), k, "share {share}");
        }
    }

    #[test]
    fn a_planted_spectrum_is_found_again() {
        // Pairs of labels: weight a for both together and b for the first alone make [[a+b, a], [a, a]].
        let pairs = [(9.0, 4.0), (5.0, 1.0), (2.0, 7.0)];
        let examples: Vec<(Vec<u32>, f32)> =
            (0..).step_by(2).zip(pairs).flat_map(|(l, (both, one))| [(vec![l, l + 1], both), (vec![l], one)]).collect();
        let examples: Vec<(&[u32], f32)> = examples.iter().map(|(labels, weight)| (&labels[..], *weight)).collect();
        let data = dataset(&examples, 6);
        let mut values: Vec<f64> = pairs
            .iter()
            .flat_map(|(a, b)| {
                let (a, b) = (f64::from(*a), f64::from(*b));
                let (middle, off) = (a + 0.5 * b, (0.25 * b * b + a * a).sqrt());
                [middle + off, middle - off]
            })
            .collect();
        values.sort_by(|a, b| b.total_cmp(a));
        let total: f64 = values.iter().sum();
        for k in 1..=6 {
            let held = values[..k].iter().sum::<f64>() / total;
            assert_eq!(energy_dimension(&data, held - 1e-4).unwrap(), k);
            assert_eq!(energy_dimension(&data, (held + 1e-4).min(0.9999)).unwrap(), (k + 1).min(6));
        }
    }

    #[test]
    fn exactly_the_share_is_not_more_than_it() {
        assert_eq!(dimension_of(&[3.0, 1.0], 0.75), 2);
        assert_eq!(dimension_of(&[3.0, 1.0], 0.7499), 1);
        assert_eq!(dimension_of(&[0.0, 0.0], 0.9), 1);
    }

    #[test]
    fn corners() {
        let data = dataset(&[(&[], 1.0), (&[], 1.0)], 4);
        assert_eq!(energy_dimension(&data, 0.9).unwrap(), 1, "no example has a label");
        for share in [1.0, -0.1, f64::NAN] {
            let refused = energy_dimension(&data, share);
            assert!(matches!(refused, Err(Error::Parameter { name: "share", .. })), "{share}");
        }
        let many = dataset(&[(&[0], 1.0)], MAX_LABELS + 1);
        let message = energy_dimension(&many, 0.9).unwrap_err().to_string();
        assert!(message.starts_with("k: ") && message.contains("8193 labels"), "{message}");
        assert_eq!(energy_memory(usize::MAX), u64::MAX);
    }
}
