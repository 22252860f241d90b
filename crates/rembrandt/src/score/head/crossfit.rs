//! Cross-fitting: h of training examples from projections that have not seen them.

use super::inputs::add_intercept;
use std::ops::Range;

use crate::data::{Dataset, Examples, Side};
use crate::linalg::matrix::Matrix;
use crate::{Error, Rembrandt, Result, Run};

/// Data with fewer entries are copied.
const MOST_COPIED: u64 = 1 << 27;

/// A division of the examples into parts. Where an example belongs depends on its number, or that of its group, and on
/// the seed alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Folds<'a> {
    /// Number of parts, 2 or more.
    pub count: usize,
    /// Another seed is another division.
    pub seed: u64,
    /// The group of each example: those of one group stay together. Absent: every example is by itself.
    pub groups: Option<&'a [u32]>,
}

impl Folds<'_> {
    /// The part of example `row`.
    pub fn of(&self, row: usize) -> usize {
        let key = self.groups.map_or(row as u64, |groups| u64::from(groups[row])).to_le_bytes();
        (xxhash_rust::xxh3::xxh3_64_with_seed(&key, self.seed) % self.count as u64) as usize
    }

    /// Refuses folds that hold all examples.
    fn check(&self, n: usize, mut folds: Range<usize>) -> Result<()> {
        if folds.any(|fold| (0..n).all(|i| self.of(i) == fold)) {
            return Err(Error::Data(too_few(n)));
        }
        Ok(())
    }
}

/// h of every example, each from a projection fitted to the other folds. `labels` is the embedding of the labels that
/// all of them regress on, so that they differ only as far as their examples do. Rows of features are taken as they
/// are, not divided.
pub fn out_of_fold(
    params: &Rembrandt,
    data: &Dataset,
    labels: &Matrix,
    folds: Folds<'_>,
    run: &mut Run<'_>,
) -> Result<Matrix> {
    if folds.count < 2 {
        return Err(Error::parameter("folds", "at least two are needed"));
    }
    let n = data.shape().n;
    folds.check(n, 0..folds.count)?;
    let mut h = Matrix::zeros(n, labels.cols());
    for fold in 0..folds.count {
        let own = run.checkpoint(&format!("fold-{fold}"), |run| of_fold(params, data, labels, folds, fold, run))?;
        for (at, i) in (0..n).filter(|i| folds.of(*i) == fold).enumerate() {
            h.row_mut(i).copy_from_slice(own.row(at));
        }
    }
    Ok(h)
}

/// h of the examples of one fold.
fn of_fold(
    params: &Rembrandt,
    data: &Dataset,
    labels: &Matrix,
    folds: Folds<'_>,
    fold: usize,
    run: &mut Run<'_>,
) -> Result<Matrix> {
    let n = data.shape().n;
    // Without the others it is quicker than with weight 0, as long as they fit into memory twice. What decides is
    // the size of the data, not where they are: the bytes of a result must not depend on that.
    let (projection, intercept) = if data.nnz(Side::X) < MOST_COPIED {
        let others = data.select(|i| folds.of(i) != fold)?;
        params.fit_projection(&others, labels, run)?
    } else {
        let weights = (0..n).map(|i| f32::from(u8::from(folds.of(i) != fold))).collect();
        params.fit_projection(&data.view().weights(weights)?, labels, run)?
    };
    let mut all = data.gather_features(projection.view())?;
    add_intercept(&mut all, &intercept);
    // Its rows move to the front, which takes no second matrix.
    let (k, mut kept) = (all.cols(), 0);
    for i in (0..n).filter(|i| folds.of(*i) == fold) {
        all.as_mut_slice().copy_within(i * k..(i + 1) * k, kept * k);
        kept += 1;
    }
    all.truncate(kept);
    Ok(all)
}

/// The fault of data of which none can be held out.
pub(crate) fn too_few(n: usize) -> String {
    match n {
        1 => "1 example is too few to hold some out".to_owned(),
        _ => format!("{n} examples are too few, or too much alike, to hold some of them out"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Rows;

    fn example(rows: &mut Rows, i: u32) {
        // The label is told by one feature; the others are noise that an unregularised fit would learn by heart.
        rows.x.push(i % 5, 1.0);
        rows.x.push(5 + i * 7919 % 60, 1.0);
        rows.x.end_row();
        rows.y.push(i % 5, 1.0);
        rows.y.end_row();
    }

    fn data(keep: impl Fn(usize) -> bool) -> Dataset {
        let mut rows = Rows::new();
        (0..300).filter(|i| keep(*i as usize)).for_each(|i| example(&mut rows, i));
        Dataset::from_rows(&rows, 65, 5).unwrap()
    }

    #[test]
    fn every_row_comes_from_a_projection_that_has_not_seen_it() {
        let (params, folds) =
            (Rembrandt { bias: true, ..Rembrandt::new(4) }, Folds { count: 3, seed: 9, groups: None });
        let (all, run) = (data(|_| true), &mut Run::default());
        let embedding = params.fit(&all, run).unwrap();
        let found = out_of_fold(&params, &all, &embedding.labels, folds, run).unwrap();
        for fold in 0..3 {
            let others = data(|i| folds.of(i) != fold);
            let (projection, intercept) = params.fit_projection(&others, &embedding.labels, run).unwrap();
            let mut h = all.gather_features(projection.view()).unwrap();
            add_intercept(&mut h, &intercept);
            for i in (0..300).filter(|i| folds.of(*i) == fold) {
                let pairs = found.row(i).iter().zip(h.row(i));
                pairs.for_each(|(a, b)| assert!((a - b).abs() < 1e-4, "row {i}: {a} and {b}"));
            }
        }
        assert!(out_of_fold(&params, &all, &embedding.labels, Folds { count: 1, seed: 1, groups: None }, run).is_err());
    }

    #[test]
    fn the_projection_of_all_rows_is_that_of_the_fit() {
        let all = data(|_| true);
        for params in [Rembrandt::new(4), Rembrandt { center: true, ..Rembrandt::new(4) }] {
            let embedding = params.fit(&all, &mut Run::default()).unwrap();
            let (projection, intercept) = params.fit_projection(&all, &embedding.labels, &mut Run::default()).unwrap();
            assert_eq!((projection, intercept), (embedding.projection, embedding.intercept));
        }
    }

    #[test]
    fn folds_are_about_equal() {
        let folds = Folds { count: 4, seed: 3, groups: None };
        let mut sizes = [0; 4];
        (0..10_000).for_each(|i| sizes[folds.of(i)] += 1);
        assert!(sizes.iter().all(|size| (2300..2700).contains(size)), "{sizes:?}");
    }
}
