//! The basis of a range finder from pass to pass, kept after each: a run that was killed goes on with the last.

use super::operator::Tally;
use super::rembrandt::begin_with;
use crate::linalg::matrix::Matrix;
use crate::{Result, Run};

/// The name that it is kept under.
const NAME: &str = "basis";

/// Q and how it came about.
pub(super) struct Basis {
    pub q: Matrix,
    /// Passes that it has gone through.
    pub passes: usize,
    /// Columns that the last pass has found; those beyond are random.
    pub found: usize,
    pub tally: Tally,
}

impl Basis {
    /// The basis that was kept last, or else the beginning: random columns, the first of them those of `start`.
    pub fn begin(columns: usize, rows: usize, start: Option<&Matrix>, seed: u64, run: &mut Run<'_>) -> Result<Basis> {
        if let Some((q, passes, found, half_passes, guarded)) = run.find(NAME, 0)? {
            return Ok(Basis { q, passes, found, tally: Tally { half_passes, guarded } });
        }
        let mut q = Matrix::zeros(rows, columns);
        begin_with(&mut q, start, seed);
        Ok(Basis { q, passes: 0, found: 0, tally: Tally::default() })
    }

    /// Keeps it as the basis after `pass`, whose panels nobody will ask for any more.
    pub fn keep(&mut self, pass: usize, run: &mut Run<'_>) -> Result<()> {
        self.passes = pass + 1;
        let Tally { half_passes, guarded } = self.tally;
        run.keep(NAME, 0, &(&self.q, self.passes, self.found, half_passes, guarded))?;
        run.forget_within(&pass_name(pass));
        Ok(())
    }
}

/// What the panels of a pass are named by.
pub(super) fn pass_name(pass: usize) -> String {
    format!("pass-{pass}")
}
