//! The second moments of the inputs, with which all steps are preconditioned.

use faer::Mat;
use rayon::prelude::*;

use super::inputs::{Inputs, STRIP};
use super::objective::{Targets, accumulate, assemble, tiles};
use crate::Result;

/// Neighbouring rows of a sample.
const RUN: usize = 16;

/// The weighted mean of zzᵀ, over all rows or a sample of about `most`. Calls `watch` with the number of rows after
/// every block of them.
pub(crate) fn gram(
    inputs: &Inputs<'_>,
    targets: &Targets<'_>,
    most: usize,
    watch: &mut dyn FnMut(usize) -> Result<()>,
) -> Result<Mat<f64>> {
    let (n, width) = (inputs.rows(), inputs.width());
    let runs = n.div_ceil(RUN);
    let kept = runs.min(most / RUN);
    let mut sum = tiles(width, width);
    // The other half is the same.
    sum.retain(|tile| tile.row + tile.sum.len() / tile.cols > tile.col);
    let mut weight = 0.0;
    for part in (0..kept).step_by(STRIP) {
        let starts: Vec<usize> = (part..kept.min(part + STRIP)).map(|i| i * runs / kept * RUN).collect();
        let mut z = vec![0f32; starts.len() * RUN * width];
        // Rows beyond the end stay zero, and add nothing.
        z.par_chunks_mut(RUN * width).zip(&starts).for_each(|(z, start)| {
            let rows = RUN.min(n - start);
            inputs.write(*start, &mut z[..rows * width]);
        });
        let mut left = z.clone();
        for (left, start) in left.chunks_mut(RUN * width).zip(&starts) {
            for (i, row) in left.chunks_mut(width).enumerate().take(RUN.min(n - start)) {
                let w = targets.example_weight(start + i);
                weight += f64::from(w);
                row.iter_mut().for_each(|v| *v *= w);
            }
        }
        accumulate(&mut sum, &left, width, &z, width);
        watch(starts.len() * RUN)?;
    }
    let mut gram = assemble(&sum, width, width);
    drop(sum);
    let scale = if weight > 0.0 { f64::recip(weight) } else { 0.0 };
    // The tiles hold rows i ≥ columns j, and the matrix their transpose.
    for j in 0..width {
        for i in 0..=j {
            let value = gram[(i, j)] * scale;
            gram[(i, j)] = value;
            gram[(j, i)] = value;
        }
    }
    Ok(gram)
}
