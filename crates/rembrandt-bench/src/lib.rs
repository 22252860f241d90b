//! Measurements that prove the claims of Rembrandt.
//!
//! | module | holds |
//! |---|---|
//! | [`generate`] | made-up data of any size, with a known best precision |
//! | [`compare`] | every method on the same data, in processes of their own: table and page |
//! | [`evaluation`] | the page and the tables of an evaluation |
//! | [`solvers`] | the paper's procedure and the few-pass solver, side by side |
//! | [`scaling`] | what doubling each size of the data does to the time |
//! | [`ablation`] | the default training with other settings, one at a time |
//! | [`prediction`] | what a prediction costs, with all labels scored and with candidates |
//! | [`reproduce`] | the paper's experiments, with the authors' settings and figures |
//! | [`text`] | tables and numbers for people |
//!
//! Each measurement is a struct of parameters and a function that measures; what came of it gives itself as JSON and as a
//! table. Nothing here prints: a [`Watcher`] is told how far it is.

pub mod ablation;
mod clock;
pub mod compare;
mod direct_io;
pub mod evaluation;
pub mod generate;
mod plot;
pub mod prediction;
pub mod reproduce;
pub mod scaling;
pub mod solvers;
pub mod text;
mod watch;

pub use watch::Watcher;
