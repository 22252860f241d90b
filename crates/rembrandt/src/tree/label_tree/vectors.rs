//! Vectors of the labels, close to each other for labels that belong together.

use rayon::prelude::*;

use super::cluster::normalise;
use super::params::{Affinity, LabelTreeParams};
use crate::data::Dataset;
use crate::linalg::csr::Csr;
use crate::linalg::kernels;
use crate::linalg::matrix::Matrix;
use crate::linalg::orth;
use crate::linalg::topk::rank;
use crate::score::head::{Folds, out_of_fold};
use crate::{Embedding, Examples, Result, Run};

/// Parts that examples are held out in.
const FOLDS: usize = 3;
/// Held-out examples that confusions are counted on at most.
const COUNTED: usize = 1 << 17;
/// Labels that an example is taken for; the r-th best counts 1/r.
const TAKEN_FOR: usize = 5;
/// Examples whose scores are in memory at a time.
const BLOCK: usize = 256;
/// Dimensions of the spectral vectors at most.
const MOST_DIMENSIONS: usize = 128;
/// Multiplications by the affinity until its main directions are taken as found.
const MULTIPLICATIONS: usize = 30;

/// A row of length 1 for each label.
pub(super) fn vectors(
    params: &LabelTreeParams,
    data: &Dataset,
    classes: &[u32],
    embedding: &Embedding,
    run: &mut Run<'_>,
) -> Result<Matrix> {
    let mut vectors = match params.affinity {
        // The affinity is M = E diag(μ) Eᵀ, whose entries are the inner products of these rows.
        Affinity::Embedding => Matrix::from_fn(embedding.labels.rows(), embedding.labels.cols(), |l, j| {
            embedding.labels.row(l)[j] * embedding.spectrum[j].max(0.0).sqrt() as f32
        }),
        Affinity::Confusion => {
            let folds = Folds { count: FOLDS, seed: params.seed, groups: None };
            // Too few examples to hold any out: they must do as they are.
            let whole = data.shape().n < 10 * FOLDS;
            let h = if whole {
                data.gather_features(embedding.projection.view())?
            } else {
                out_of_fold(&params.embedding(data.shape()), data, &embedding.labels, folds, run)?
            };
            let affinity = confusions(&h, &embedding.labels, classes);
            // As many as there are groups: fewer could not keep them apart.
            let (branching, above) = (params.branching(data.shape().c), params.depth as u32 - 1);
            spectral(&affinity, branching.saturating_pow(above).clamp(2, MOST_DIMENSIONS), params.seed)
        }
    };
    normalise(&mut vectors);
    Ok(vectors)
}

/// How often each label is taken for each other one by least squares, both ways, as sparse symmetric rows.
fn confusions(h: &Matrix, labels: &Matrix, classes: &[u32]) -> Csr {
    let stride = classes.len().div_ceil(COUNTED);
    let counted: Vec<usize> = (0..classes.len()).step_by(stride).collect();
    let mut pairs: Vec<(u32, u32, u32)> = Vec::new();
    for block in counted.chunks(BLOCK * rayon::current_num_threads()) {
        let found: Vec<Vec<(u32, u32, u32)>> = block
            .par_chunks(BLOCK)
            .map(|rows| {
                let some = Matrix::from_fn(rows.len(), h.cols(), |i, j| h.row(rows[i])[j]);
                let mut scores = Matrix::zeros(rows.len(), labels.rows());
                kernels::dots::dots(some.as_slice(), labels.as_slice(), h.cols(), scores.as_mut_slice());
                let taken = |(i, row): (usize, &usize)| {
                    let class = classes[*row];
                    let best = rank(scores.row(i), TAKEN_FOR).into_iter().enumerate();
                    // In sixtieths, which are whole numbers for up to six labels: their sums know no order.
                    best.map(move |(r, label)| (class, label, 60 / (r as u32 + 1))).collect::<Vec<_>>()
                };
                rows.iter().enumerate().flat_map(taken).collect()
            })
            .collect();
        pairs.extend(found.into_iter().flatten());
    }
    let mirrored: Vec<(u32, u32, u32)> = pairs.iter().map(|(a, b, count)| (*b, *a, *count)).collect();
    pairs.extend(mirrored);
    pairs.par_sort_unstable();
    let mut affinity = Csr::new(false);
    let mut at = 0;
    for label in 0..labels.rows() as u32 {
        let of_label = pairs[at..].iter().take_while(|pair| pair.0 == label).count();
        for same in pairs[at..at + of_label].chunk_by(|a, b| a.1 == b.1) {
            affinity.push(same[0].1, same.iter().map(|pair| pair.2 as f32).sum::<f32>());
        }
        at += of_label;
        affinity.end_row();
    }
    affinity
}

/// The main directions of D^(−½) A D^(−½), where D holds the sums of the rows of A: a row for each label.
fn spectral(affinity: &Csr, dimensions: usize, seed: u64) -> Matrix {
    let c = affinity.rows();
    let scale: Vec<f32> = (0..c)
        .map(|label| {
            let sum: f32 = affinity.view().entries(label).map(|(_, v)| v).sum();
            if sum > 0.0 { sum.sqrt().recip() } else { 0.0 }
        })
        .collect();
    let mut normalised = Csr::new(false);
    for label in 0..c {
        affinity.view().entries(label).for_each(|(id, v)| normalised.push(id as u32, v * scale[label] * scale[id]));
        normalised.end_row();
    }
    let mut directions = Matrix::zeros(c, dimensions.min(c));
    crate::linalg::random::fill_normal(&mut directions, 0, seed);
    orth::orthonormalize(&mut directions);
    for _ in 0..MULTIPLICATIONS {
        let mut product = Matrix::zeros(c, directions.cols());
        kernels::gather(normalised.view(), None, directions.view(), product.view_mut());
        // Eigenvalues are between −1 and 1; with 1 added, the largest are those of groups that hold together.
        product.as_mut_slice().par_iter_mut().with_min_len(4096).zip(directions.as_slice()).for_each(|(p, d)| *p += d);
        orth::orthonormalize(&mut product);
        directions = product;
    }
    directions
}
