//! What proves the claims of Rembrandt.
//!
//! | module | holds |
//! |---|---|
//! | [`generate`] | made-up data of any size, with a known best precision |
//! | [`reproduce`] | the paper's experiments, with the authors' settings and figures |

pub mod generate;
pub mod reproduce;
