//! Algorithm 1 of the paper [1]: a range finder whose passes solve a regression each.
//!
//! Its line 9 is mended: F there multiplies matrices whose shapes do not fit, where one more regression belongs. The
//! default for all but few features is another way to the same space, `few_pass.rs`.
//!
//! 1. P. Mineiro, N. Karampatziakis: Fast label embeddings for extremely large output spaces. ICLR workshop, 2015.

use super::operator::Operator;
use super::params::Rembrandt;
use super::range_finder::{Basis, LabelRange, next_basis, pass_name, top_left};
use crate::linalg::matrix::Matrix;
use crate::{Result, Run};

impl Rembrandt {
    /// E, by Algorithm 1.
    pub(super) fn find_as_published(
        &self,
        start: Option<&Matrix>,
        operator: &Operator<'_>,
        run: &mut Run<'_>,
    ) -> Result<LabelRange> {
        let shape = operator.data.shape();
        // Q ← randn(c, k+p)
        let mut basis = Basis::begin(self.columns(shape), shape.c, start, self.seed, run)?;
        for pass in basis.passes..self.passes {
            // Q ← orthogonalize(M Q)
            run.within(&pass_name(pass), |run| operator.apply(&mut basis.q, &mut basis.tally, run))?;
            next_basis(&mut basis.q, self.seed, pass);
            basis.keep(pass, run)?;
        }
        let Basis { mut q, mut tally, .. } = basis;
        // T ← M Q, one more regression; E ← the top left singular vectors of T, half a power step better than Q's own.
        run.within(&pass_name(self.passes), |run| operator.apply(&mut q, &mut tally, run))?;
        let (labels, rank) = top_left(q, self.k, self.seed)?;
        Ok(LabelRange { labels, rank, tally })
    }
}
