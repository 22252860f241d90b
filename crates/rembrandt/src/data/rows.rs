//! [`Rows`]: a batch of examples on its way from a reader to a data set.

use crate::linalg::csr::Csr;

/// Some examples in the order in which they were read.
///
/// Ids of a row are ascending and distinct, values finite, weights finite and not negative: readers see to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Rows {
    /// Features of each example.
    pub x: Csr,
    /// Labels of each example; every value is 1.
    pub y: Csr,
    /// Weight of each example; absent when all are 1.
    pub weights: Option<Vec<f32>>,
}

impl Rows {
    /// No examples yet.
    pub fn new() -> Rows {
        Rows { x: Csr::new(false), y: Csr::new(true), weights: None }
    }

    /// Number of examples.
    pub fn len(&self) -> usize {
        self.x.rows()
    }

    /// Forgets all examples and keeps the memory.
    pub fn clear(&mut self) {
        self.x.clear();
        self.y.clear();
        self.weights = None;
    }

    /// Whether there is no example.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Default for Rows {
    fn default() -> Rows {
        Rows::new()
    }
}
