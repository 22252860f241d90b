//! Data: reading, storing and multiplying by examples, and [`Examples`], the trait through which algorithms see them.
//!
//! | file | holds |
//! |---|---|
//! | `formats`, `records`, `texts` | readers: sparse features, texts with labels, and data sets made of texts |
//! | `featurizer` | texts to features |
//! | `rows`, `chunk`, `transpose`, `cache`, `dataset` | from rows to chunks, in memory or in a cache file |
//! | `distinct` | the same from a weighted set of examples, in which order and repetition mean nothing |
//! | `view`, `row_scale`, `bias_center`, `active_labels` | the same data seen otherwise, without a copy |
//! | `products`, `label_feature_product`, `examples` | AᵀWB·z and the moments of the columns |
//! | `vocabulary`, `word_table`, `token`, `names`, `input` | words and their numbers, and reading for a model that has them |
//! | `near_duplicates` | examples that are nearly the same, to be held out together |

mod active_labels;
pub(crate) mod bias_center;
mod cache;
mod chunk;
mod dataset;
mod distinct;
mod examples;
pub mod featurizer;
pub mod formats;
mod input;
mod label_feature_product;
mod names;
pub(crate) mod near_duplicates;
mod products;
pub mod records;
mod row_scale;
mod rows;
mod texts;
mod token;
mod transpose;
mod view;
mod vocabulary;
mod word_table;

use crate::linalg::kernels::columns::dot;
use crate::linalg::matrix::{MatMut, MatRef, Matrix};
use crate::{Error, Result};

pub use active_labels::ActiveLabels;
pub use bias_center::BiasCenter;
pub use cache::{CacheChunks, CacheWriter, address_space};
pub use dataset::{Dataset, convert};
pub use input::{Input, InputKind, InputSink, read_input, read_input_from};
pub use label_feature_product::{LabelFeatureProduct, WithProduct};
pub use names::Names;
pub use row_scale::RowScale;
pub use rows::Rows;
pub use texts::Texts;
pub use view::View;
pub use vocabulary::{NameIndex, Vocabulary, VocabularyIds};

/// The size of a problem: always these letters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Shape {
    /// Number of examples.
    pub n: usize,
    /// Number of features.
    pub d: usize,
    /// Number of labels.
    pub c: usize,
}

impl Shape {
    /// Number of columns of one side: `d` for X, `c` for Y.
    pub fn width(&self, side: Side) -> usize {
        match side {
            Side::X => self.d,
            Side::Y => self.c,
        }
    }
}

/// Features or labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The features, n×d.
    X,
    /// The labels, n×c.
    Y,
}

/// Weighted sums of every column of one side.
#[derive(Clone, Debug, PartialEq)]
pub struct Moments {
    /// Stored entries, of all columns together.
    pub entries: u64,
    /// Σw, the total weight of the examples.
    pub weight: f64,
    /// Σw·a of every column.
    pub sum: Vec<f64>,
    /// Σw·a² of every column.
    pub square: Vec<f64>,
}

/// Examples, seen only through products: the one thing that the algorithms ask of the data.
///
/// All of it is additive over examples and independent over the columns of `z`, so the same trait serves data in memory,
/// in a mapped file larger than memory, and in parts that several processes hold. An implementation may get any result
/// from elsewhere, and every method but [`shape`](Examples::shape) may fail. Nothing here asks for `Send` or `Sync`: an
/// algorithm calls one method at a time, from one thread, and always in the same order.
///
/// Results must not depend on threads or storage, which takes two rules:
///
/// - every reduction over examples is a chain over chunks of rows in stored order: the sum so far goes through one chunk
///   after the other, never sums of parts that are merged in another order;
/// - what is random depends on (seed, row, column) alone, never on who draws it or when.
///
/// To change what an algorithm sees, wrap the examples: [`View`] for a [`Dataset`], [`BiasCenter`],
/// [`ActiveLabels::restrict`] and [`LabelFeatureProduct::over`] for any.
pub trait Examples {
    /// Numbers of examples, features and labels, of all parts together.
    fn shape(&self) -> Shape;

    /// out ← Aᵀ diag(w) B z, where A and B are X or Y and w are the weights of the examples.
    ///
    /// `z` has as many rows as B has columns, `out` as many rows as A has columns, and both are equally wide.
    fn cross(&self, a: Side, b: Side, z: MatRef<'_>, out: MatMut<'_>) -> Result<()>;

    /// zᵀXᵀWXz of every column of `z`, which is Σw·(xᵀz)²: the curvature of a regression along z. Summed in `f64`. A type
    /// that can compute it directly takes half the time of the product.
    fn squares(&self, z: MatRef<'_>) -> Result<Vec<f64>> {
        let mut product = Matrix::zeros(z.rows(), z.cols());
        self.cross(Side::X, Side::X, z, product.view_mut())?;
        Ok(dot(z, product.view()))
    }

    /// Σw, Σw·a and Σw·a² of every column: preconditioner, ridge scale, mean shift. Column by column, in `f64`.
    fn moments(&self, side: Side) -> Result<Moments>;

    /// The labels that some example has. Nothing when all are, or when a type cannot tell without going over the data.
    /// There may be some too many: their rows of all products are zero.
    fn active_labels(&self) -> Result<Option<ActiveLabels>> {
        Ok(None)
    }

    /// The same examples without the labels that are not active, if this type has a quicker way than
    /// [`ActiveLabels::restrict`], which is what to call.
    ///
    /// # Errors
    /// If an example has a label that is not active.
    fn with_labels<'a>(&'a self, _labels: &'a ActiveLabels) -> Result<Option<Box<dyn Examples + 'a>>> {
        Ok(None)
    }

    /// YᵀWX as an explicit matrix, for algorithms that multiply by it many times. Nothing when that is no gain, as with
    /// several labels per example, or when a type cannot tell.
    fn label_feature_product(&self) -> Result<Option<LabelFeatureProduct>> {
        Ok(None)
    }
}

impl<E: Examples + ?Sized> Examples for &E {
    fn shape(&self) -> Shape {
        (**self).shape()
    }

    fn cross(&self, a: Side, b: Side, z: MatRef<'_>, out: MatMut<'_>) -> Result<()> {
        (**self).cross(a, b, z, out)
    }

    fn squares(&self, z: MatRef<'_>) -> Result<Vec<f64>> {
        (**self).squares(z)
    }

    fn moments(&self, side: Side) -> Result<Moments> {
        (**self).moments(side)
    }

    fn active_labels(&self) -> Result<Option<ActiveLabels>> {
        (**self).active_labels()
    }

    fn with_labels<'a>(&'a self, labels: &'a ActiveLabels) -> Result<Option<Box<dyn Examples + 'a>>> {
        (**self).with_labels(labels)
    }

    fn label_feature_product(&self) -> Result<Option<LabelFeatureProduct>> {
        (**self).label_feature_product()
    }
}

/// Refuses data on which no algorithm has anything to do.
pub(crate) fn check_not_empty(shape: Shape) -> Result<()> {
    let missing = match shape {
        Shape { n: 0, .. } => "examples",
        Shape { d: 0, .. } => "features",
        Shape { c: 0, .. } => "labels",
        _ => return Ok(()),
    };
    Err(Error::Data(format!("the data have no {missing}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One label each, labels that never occur, weights, several chunks.
    fn dataset() -> Dataset {
        let mut rows = Rows::new();
        for i in 0..100u32 {
            [i % 7, 7 + i % 5].into_iter().for_each(|id| rows.x.push(id, (1 + i % 4) as f32 - 1.5));
            rows.x.end_row();
            rows.y.push(1 + 3 * (i % 8), 1.0);
            rows.y.end_row();
        }
        rows.weights = Some((0..100).map(|i| (i % 3) as f32).collect());
        Dataset::in_chunks_of(16, &rows, 12, 30).unwrap()
    }

    /// Wider than a tile.
    fn directions(d: usize) -> Matrix {
        Matrix::from_fn(d, 70, |i, j| ((i * 5 + j * 3) % 11) as f32 - 4.0)
    }

    /// Products say the same, by another way.
    fn compare(examples: &dyn Examples) {
        let z = directions(examples.shape().d);
        let mut product = Matrix::zeros(z.rows(), z.cols());
        examples.cross(Side::X, Side::X, z.view(), product.view_mut()).unwrap();
        let (found, expected) = (examples.squares(z.view()).unwrap(), dot(z.view(), product.view()));
        assert!(found.iter().any(|square| *square > 1.0));
        assert!(found.iter().zip(&expected).all(|(a, b)| (a - b).abs() <= 1e-4 * (1.0 + b.abs())), "{found:?}");
    }

    #[test]
    fn squares_are_those_of_the_products() {
        let data = dataset();
        compare(&data);
        compare(&data.label_feature_product().unwrap().unwrap().over(&data));
        compare(&data.view().only_active_labels().unwrap());
        compare(&data.view().scale_rows(RowScale::Length).unwrap());
        compare(&data.view().weights((0..100).map(|i| (i % 4) as f32).collect()).unwrap());
        compare(&data.view().bias().unwrap());
        compare(&data.view().centered().unwrap());
    }

    #[test]
    fn squares_do_not_depend_on_threads_or_panels() {
        let (data, z) = (dataset(), directions(12));
        let on = |threads: usize, z: MatRef<'_>| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| data.squares(z).unwrap())
        };
        let whole = on(1, z.view());
        assert_eq!(on(4, z.view()), whole);
        assert_eq!([on(1, z.columns(0, 16)), on(1, z.columns(16, 70))].concat(), whole);
    }
}
