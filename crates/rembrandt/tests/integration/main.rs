//! The library as its users see it, in one binary: every binary more is a link more.

mod common;
mod documented;
mod examples;
mod format;
mod linear;
mod math;
mod modules;
mod mutated;
mod random_fraction;
mod real;
mod resume;
