//! Numerical building blocks: nothing here knows of labels.

pub(crate) mod cg;
pub(crate) mod direct;
pub(crate) mod l1;
pub(crate) mod lbfgs;
pub(crate) mod orth;
pub(crate) mod random;

pub use orth::orthonormalize;
