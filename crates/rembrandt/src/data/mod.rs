//! From files to products: readers, chunks, the cache file, and the trait through which algorithms see examples.

pub(crate) mod adapt;
pub(crate) mod alike;
mod cache;
mod chunk;
mod dataset;
pub mod featurizer;
pub mod generate;
mod input;
mod known;
mod meetings;
mod names;
mod occurring;
pub mod records;
mod reweighted;
mod rows;
mod scaled;
pub mod text;
mod texts;
mod transpose;

use crate::matrix::{MatMut, MatRef};
use crate::{Error, Result};

pub use cache::address_space;
pub use dataset::{Dataset, Watch, convert};
pub use input::{Input, InputKind, InputSink, read_input, read_input_from};
pub use known::{Known, KnownIds, NameIndex};
pub use meetings::Meetings;
pub use occurring::Occurring;
pub use reweighted::Reweighted;
pub use rows::Rows;
pub use scaled::{RowScale, Scaled};
pub use texts::read_texts;

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
/// Both methods are additive over examples and `cross` is independent over the columns of `z`, so the same trait
/// serves data in memory, in a mapped file larger than memory, and spread over machines.
pub trait Examples {
    /// Numbers of examples, features and labels.
    fn shape(&self) -> Shape;

    /// out ← Aᵀ diag(w) B z, where A and B are X or Y and w are the weights of the examples.
    ///
    /// `z` has as many rows as B has columns, `out` as many rows as A has columns, and both are equally wide.
    fn cross(&self, a: Side, b: Side, z: MatRef<'_>, out: MatMut<'_>) -> Result<()>;

    /// Σw, Σw·a and Σw·a² of every column: preconditioner, ridge scale, mean shift. Column by column, in `f64`.
    fn moments(&self, side: Side) -> Result<Moments>;

    /// The same examples without the labels that none of them has: dense matrices need no rows for those. Nothing when all
    /// labels occur, or when it takes more than a glance to tell, which is what a type that does not know says.
    fn occurring(&self) -> Result<Option<Occurring<'_>>> {
        Ok(None)
    }

    /// The same examples with YᵀWX as a matrix, for who multiplies with it often. Nothing when it would be no gain: when
    /// some have several labels, or when there are very many; or when a type does not know.
    fn meetings(&self) -> Result<Option<Meetings<'_>>> {
        Ok(None)
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
