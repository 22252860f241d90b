//! Partition: examples that lie near each other, so that the same few labels are likely for all of them.
//!
//! The examples are halved again and again, each time along the direction in which they vary most. All regions are of
//! about the same size. What lies where depends on the examples alone, not on threads.

use rayon::prelude::*;

use crate::linalg::matrix::MatRef;

/// Rows that tell the direction in which a part varies most.
const SAMPLE: usize = 1024;
/// Power steps towards that direction.
const STEPS: usize = 6;
/// Rows that are worth a thread of their own.
const GRAIN: usize = 1024;

/// A division of rows into regions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Partition {
    /// All rows, those of one region beside each other.
    rows: Vec<u32>,
    /// Where each region begins, and the end.
    starts: Vec<usize>,
}

impl Partition {
    /// Divides the rows of `h` into regions of at most `size` rows.
    pub fn new(h: MatRef<'_>, size: usize) -> Partition {
        let mut rows: Vec<u32> = (0..h.rows() as u32).collect();
        halve(h, &mut rows, size.max(1));
        let mut starts = vec![0];
        ends(h.rows(), size.max(1), &mut starts);
        Partition { rows, starts }
    }

    /// Number of regions.
    pub fn count(&self) -> usize {
        self.starts.len() - 1
    }

    /// The rows of a region.
    pub fn rows(&self, region: usize) -> &[u32] {
        &self.rows[self.starts[region]..self.starts[region + 1]]
    }
}

/// Where the parts end that [`halve`] makes of `n` rows.
fn ends(n: usize, size: usize, out: &mut Vec<usize>) {
    if n <= size {
        out.push(out[out.len() - 1] + n);
    } else {
        ends(n / 2, size, out);
        ends(n - n / 2, size, out);
    }
}

/// Puts near rows beside each other, in parts of at most `size`.
fn halve(h: MatRef<'_>, rows: &mut [u32], size: usize) {
    if rows.len() <= size {
        rows.sort_unstable();
        return;
    }
    let direction = direction(h, rows);
    let along = |row: &u32| {
        let dot: f32 = h.row(*row as usize).iter().zip(&direction).map(|(h, d)| h * d).sum();
        (dot, *row)
    };
    let mut keyed: Vec<(f32, u32)> = rows.par_iter().with_min_len(GRAIN).map(along).collect();
    let middle = keyed.len() / 2;
    // Rows of equal keys go by their numbers, so that the halves are the same however they were sorted before.
    keyed.select_nth_unstable_by(middle, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    rows.iter_mut().zip(&keyed).for_each(|(row, (_, from))| *row = *from);
    drop(keyed);
    let (low, high) = rows.split_at_mut(middle);
    // Which rows the next halving looks at must not depend on how the selection left them.
    low.sort_unstable();
    high.sort_unstable();
    rayon::join(|| halve(h, low, size), || halve(h, high, size));
}

/// The direction in which some rows vary most, about.
fn direction(h: MatRef<'_>, rows: &[u32]) -> Vec<f32> {
    let (k, count) = (h.cols(), rows.len().min(SAMPLE));
    let sample: Vec<&[f32]> = (0..count).map(|i| h.row(rows[i * rows.len() / count] as usize)).collect();
    let mut mean = vec![0f64; k];
    for row in &sample {
        mean.iter_mut().zip(*row).for_each(|(m, v)| *m += f64::from(*v) / count as f64);
    }
    // Begin with the row that is farthest from the mean.
    let away = |row: &[f32]| -> Vec<f64> { row.iter().zip(&mean).map(|(v, m)| f64::from(*v) - m).collect() };
    let square = |v: &[f64]| v.iter().map(|v| v * v).sum::<f64>();
    let mut found = vec![0f64; k];
    for row in &sample {
        let row = away(row);
        if square(&row) > square(&found) {
            found = row;
        }
    }
    for _ in 0..STEPS {
        let mut next = vec![0f64; k];
        for row in &sample {
            let row = away(row);
            let dot: f64 = row.iter().zip(&found).map(|(a, b)| a * b).sum();
            next.iter_mut().zip(&row).for_each(|(n, v)| *n += dot * v);
        }
        let length = square(&next).sqrt();
        if length == 0.0 {
            break;
        }
        found = next.into_iter().map(|v| v / length).collect();
    }
    found.into_iter().map(|v| v as f32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::matrix::Matrix;

    /// Rows around the corners of a square, in turn.
    fn corners(n: usize) -> Matrix {
        let mut h = Matrix::zeros(n, 2);
        crate::linalg::random::fill_normal(&mut h, 0, 3);
        for i in 0..n {
            let corner = [[0.0, 0.0], [100.0, 0.0], [0.0, 150.0], [100.0, 150.0]][i % 4];
            h.row_mut(i).iter_mut().zip(corner).for_each(|(v, c)| *v += c);
        }
        h
    }

    #[test]
    fn near_rows_share_a_region() {
        let h = corners(4000);
        let regions = Partition::new(h.view(), 1000);
        assert_eq!(regions.count(), 4);
        let mut seen = vec![false; 4000];
        for region in 0..4 {
            let rows = regions.rows(region);
            assert_eq!(rows.len(), 1000);
            assert!(rows.iter().all(|row| row % 4 == rows[0] % 4));
            rows.iter().for_each(|row| seen[*row as usize] = true);
        }
        assert!(seen.iter().all(|seen| *seen));
    }

    #[test]
    fn sizes_are_kept_and_threads_do_not_matter() {
        for (n, size) in [(0, 10), (1, 10), (10, 10), (11, 10), (5000, 33)] {
            let h = corners(n);
            let found = |threads: usize| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| Partition::new(h.view(), size))
            };
            let one = found(1);
            assert_eq!(one, found(4));
            assert!((0..one.count()).all(|r| one.rows(r).len() <= size));
            assert_eq!((0..one.count()).map(|r| one.rows(r).len()).sum::<usize>(), n);
        }
        // Rows that are all the same can be parted as well.
        assert_eq!(Partition::new(Matrix::zeros(100, 3).view(), 30).count(), 4);
    }
}
