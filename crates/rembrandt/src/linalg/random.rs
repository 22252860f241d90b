//! The random start: normal numbers that depend on the seed, the row and the column alone.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use rayon::prelude::*;

use crate::Matrix;
use crate::linalg::kernels::elementwise;

/// One block of the generator is 16 words, which make normals for 16 columns of one row.
const GROUP: usize = 16;
/// Rows filled by one task.
const BLOCK: usize = 1024;
/// Rows of a group whose numbers are made together.
const BATCH: usize = 16;

/// Fills columns `from..` of `m` with independent standard normals.
///
/// The generator is counter-based: columns 16g to 16g + 15 of row i come from block i of stream g. So the numbers are
/// the same on any number of threads and machines, and for any k: a larger matrix begins with the smaller one.
pub(crate) fn fill_normal(m: &mut Matrix, from: usize, seed: u64) {
    let cols = m.cols();
    if cols <= from {
        return;
    }
    m.as_mut_slice().par_chunks_mut(BLOCK * cols).enumerate().for_each(|(block, rows)| {
        for group in from / GROUP..cols.div_ceil(GROUP) {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            rng.set_stream(group as u64);
            rng.set_word_pos((block * BLOCK * GROUP) as u128);
            let columns = (group * GROUP).max(from)..((group + 1) * GROUP).min(cols);
            let wanted = columns.start - group * GROUP..columns.end - group * GROUP;
            for batch in rows.chunks_mut(BATCH * cols) {
                let (mut words, mut normals) = ([0; BATCH * GROUP], [0.0; BATCH * GROUP]);
                let count = batch.len() / cols * GROUP;
                words[..count].iter_mut().for_each(|word| *word = rng.next_u32());
                elementwise::normals(&words[..count], &mut normals[..count]);
                for (row, normals) in batch.chunks_mut(cols).zip(normals.chunks(GROUP)) {
                    row[columns.clone()].copy_from_slice(&normals[wanted.clone()]);
                }
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normal(rows: usize, cols: usize, seed: u64) -> Matrix {
        let mut m = Matrix::zeros(rows, cols);
        fill_normal(&mut m, 0, seed);
        m
    }

    #[test]
    fn entries_depend_on_seed_row_and_column_alone() {
        let large = normal(3000, 40, 7);
        let small = normal(1500, 21, 7);
        assert!((0..1500).all(|i| small.row(i) == &large.row(i)[..21]));
        let mut part = Matrix::zeros(3000, 40);
        fill_normal(&mut part, 19, 7);
        assert!((0..3000).all(|i| part.row(i)[19..] == large.row(i)[19..] && part.row(i)[..19] == [0.0; 19]));
        assert_ne!(normal(10, 10, 8), normal(10, 10, 7));
    }

    #[test]
    fn moments_are_those_of_a_normal() {
        let m = normal(20_000, 20, 3);
        let n = m.as_slice().len() as f64;
        let moment = |p: i32| m.as_slice().iter().map(|v| f64::from(*v).powi(p)).sum::<f64>() / n;
        assert!(moment(1).abs() < 0.01, "mean {}", moment(1));
        assert!((moment(2) - 1.0).abs() < 0.02, "variance {}", moment(2));
        assert!((moment(4) - 3.0).abs() < 0.1, "fourth moment {}", moment(4));
        // Neighbouring columns and rows share nothing.
        let product = |f: &dyn Fn(usize) -> f64| (0..19_999).map(f).sum::<f64>() / 19_999.0;
        assert!(product(&|i| f64::from(m.row(i)[0] * m.row(i)[1])).abs() < 0.03);
        assert!(product(&|i| f64::from(m.row(i)[3] * m.row(i + 1)[3])).abs() < 0.03);
    }
}
