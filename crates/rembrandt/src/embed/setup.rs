//! From examples and parameters to the regressions of a fit: bias or centring, the ridge, and the choice between
//! iterating with the data and writing XᵀWX down.

use super::cost::prefers_direct;
use super::moments::check_range;
use super::operator::Operator;
use super::params::Rembrandt;
use super::regression::{Gram, Regression, RegressionSetup};
use crate::data::{BiasCenter, Examples, Side};
use crate::linalg::cg::CgLimits;
use crate::linalg::matrix::Spare;
use crate::{Result, Run, Shape};

impl Rembrandt {
    /// Sets the regressions up, with a relative ridge and a stopping rule, and hands them to `f`. `work` counts the
    /// columns that will be multiplied, given whether the solver is direct and the shape of the data.
    pub(super) fn prepared<T>(
        &self,
        original: &dyn Examples,
        (lambda, stop): (f64, CgLimits),
        work: impl FnOnce(bool, Shape) -> u64,
        run: &mut Run<'_>,
        f: impl FnOnce(&RegressionSetup<'_>, &Operator<'_>, &mut Run<'_>) -> Result<T>,
    ) -> Result<T> {
        let corrected = corrected(self, original)?;
        let data = corrected.as_ref().map_or(original, |examples| examples as &dyn Examples);
        let (shape, x) = (data.shape(), data.moments(Side::X)?);
        check_range(&x)?;
        let direct = prefers_direct(self, shape, x.entries);
        run.begin(work(direct, shape));
        let gram = if direct { Some(Gram::new(data, run)?) } else { None };
        let constant = shape.d > original.shape().d;
        let problem = RegressionSetup { params: self, data, x: &x, constant, gram: gram.as_ref() };
        let regression = Regression::new(&problem, lambda, stop)?;
        // A factorisation solves all columns at once, so that their grouping cannot show in the result.
        let panel = if direct { usize::MAX } else { self.panel };
        f(&problem, &Operator { data, regression: &regression, panel, spare: &Spare::default() }, run)
    }
}

/// The examples as the parameters want them seen, when that is not as they are.
fn corrected<'a>(params: &Rembrandt, data: &'a dyn Examples) -> Result<Option<BiasCenter<&'a dyn Examples>>> {
    Ok(match (params.center, params.bias) {
        // Centred data have no use for a constant feature: it would be 0.
        (true, _) => Some(BiasCenter::centered(data)?),
        (false, true) => Some(BiasCenter::bias(data)?),
        (false, false) => None,
    })
}
