//! Dense and sparse matrices, the kernels that multiply them, and solvers: nothing here knows of labels.

pub(crate) mod buffer;
pub(crate) mod cg;
pub mod csr;
pub(crate) mod direct;
pub mod kernels;
pub(crate) mod l1;
pub(crate) mod lbfgs;
pub mod matrix;
pub(crate) mod orth;
pub(crate) mod random;
pub mod table;
pub(crate) mod topk;

pub use orth::orthonormalize;
