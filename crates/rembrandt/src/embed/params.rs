//! The parameters of [`Rembrandt`], their defaults, checks and presets.

use serde::{Deserialize, Serialize};

use crate::data::RowScale;
use crate::linalg::cg::CgLimits;
use crate::{Error, Result, Shape};

/// A d×d matrix is never written down for this many features or more.
const MAX_WRITTEN: usize = 1 << 15;

/// How the relative ridge λ becomes the real one, ρ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RidgeConvention {
    /// ρ = λ·trace(XᵀWX)/d over the features proper; the appended constant feature is neither counted nor penalised.
    #[default]
    Features,
    /// As in the authors' code: the constant feature counts in the trace and in d, and is penalised like any other.
    Authors,
}

/// The preconditioner of the conjugate gradients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Preconditioner {
    /// diag(XᵀWX) + ρ.
    #[default]
    Diagonal,
    /// Nothing.
    None,
}

/// How the embedding is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Solver {
    /// `Direct` where features are so few that it costs less, and else `FewPass`; without a preconditioner `Direct` or
    /// `Iterative`.
    #[default]
    Auto,
    /// Passes with the diagonal preconditioner in place of regressions, and a last one with two or three steps of
    /// conjugate gradients: nine products with X or Xᵀ for each column, or eleven where dimensions are few, where
    /// Algorithm 1 takes 42, and at least as much energy on nearly all data measured.
    FewPass,
    /// Algorithm 1 as published. Its regressions are solved by conjugate gradients or, where features are so few that it
    /// costs less, by a factorisation. [`Rembrandt::paper`] has its settings.
    Paper,
    /// Algorithm 1 by preconditioned conjugate gradients, however few the features: no d×d matrix.
    Iterative,
    /// Algorithm 1 for few features: XᵀWX is written down and factorised once (Cholesky). Where its condition number is
    /// beyond single precision, as with a tiny ridge, the same number of conjugate gradient steps is taken with the
    /// written matrix instead: there the steps are what regularises, and they cost no pass over the data.
    Direct,
}

/// The final regression from features into the embedding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct ProjectionParams {
    /// Relative ridge λₚ of the projection; absent: the same as for the embedding.
    pub ridge: Option<f64>,
    /// Conjugate gradient steps at most; absent: as many as for the embedding.
    pub cg_steps: Option<usize>,
    /// Relative residual to stop at; absent: the same as for the embedding.
    pub tolerance: Option<f64>,
}

setter!(ProjectionParams);

/// Rembrandt: response embedding via randomized techniques (Algorithm 1 of the paper).
///
/// Plain data: build it with [`Rembrandt::new`], change fields, call `fit`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Rembrandt {
    /// Dimension of the embedding. More keeps more of what the features say about the labels; cost is linear in it.
    pub k: usize,
    /// Extra random directions (p). They make the first k more accurate and are dropped at the end.
    pub oversample: usize,
    /// Share of the dimensions that are random directions instead of those with the most energy. Where labels are many
    /// and each is told by features of its own, the energy is spread thin, and the k best directions are those of a
    /// few large labels: no head can tell the others apart. Random directions keep a little of every label.
    ///
    /// In files it is still called `spread`, as in those of earlier versions; both names are read.
    #[serde(rename = "spread", alias = "random_fraction")]
    pub random_fraction: f64,
    /// Passes of the range finder (q), before the last product. The paper says 1, its authors' code ran with 2 and so do
    /// we: where the spectrum is flat, as on bibtex at k = 50, the second takes the captured energy from 0.995 of the
    /// optimum to 0.998. For [`Solver::FewPass`] they are the cheap ones.
    pub passes: usize,
    /// Relative ridge λ. The strongest knob on text: try 1 to 8.
    pub ridge: f64,
    /// How λ becomes the real ridge ρ.
    pub ridge_convention: RidgeConvention,
    /// Conjugate gradient steps at most in each regression; a factorisation takes none. [`Solver::FewPass`] has
    /// regressions only after the embedding is found: the projection, and the measuring of energy.
    pub cg_steps: usize,
    /// Relative residual at which a column of a regression is done.
    pub tolerance: f64,
    /// The preconditioner of the conjugate gradients.
    pub preconditioner: Preconditioner,
    /// How the embedding is found.
    pub solver: Solver,
    /// Append a constant feature.
    pub bias: bool,
    /// Subtract the column means of X and Y (as rank-one corrections, the data stay sparse).
    pub center: bool,
    /// The final regression.
    pub projection: ProjectionParams,
    /// Columns solved together. Any width gives the same result; 64 is the fastest in memory, more reads a mapped
    /// file fewer times. Not kept with a result, which does not depend on it.
    #[serde(skip_serializing)]
    pub panel: usize,
    /// Seed of the random start.
    pub seed: u64,
}

impl Default for Rembrandt {
    fn default() -> Rembrandt {
        Rembrandt {
            k: 100,
            oversample: 20,
            random_fraction: 0.0,
            passes: 2,
            ridge: 1.0,
            ridge_convention: RidgeConvention::default(),
            cg_steps: 10,
            tolerance: 1e-4,
            preconditioner: Preconditioner::default(),
            solver: Solver::default(),
            bias: false,
            center: false,
            projection: ProjectionParams::default(),
            panel: 64,
            seed: 1,
        }
    }
}

/// Settings with which the authors of the paper ran their code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// ALOI: k = 50, two passes, 100 steps, λ = 1.
    Aloi,
    /// bibtex, corel5k and yeast: two passes, 100 steps, λ = 10⁻⁴, no preconditioner. k depends on the data, see
    /// [`energy_share`](Preset::energy_share); until it is known, the parameters have the default one.
    Mulan,
    /// LSHTC: k = 800, two passes, 50 steps, λ = 128, rows divided as [`row_scale`](Preset::row_scale) says.
    Lshtc,
}

impl Preset {
    /// For settings in which k follows from the data: the share of the energy of the labels that k must hold more than,
    /// to be given to [`energy_dimension`](super::energy_dimension).
    pub fn energy_share(self) -> Option<f64> {
        match self {
            Preset::Mulan => Some(0.9),
            Preset::Aloi | Preset::Lshtc => None,
        }
    }

    /// The authors' divisor of each row of features: for LSHTC by its word count. Dividing is for the
    /// caller to do, with [`View::scale_rows`](crate::data::View::scale_rows); the parameters know nothing of it.
    pub fn row_scale(self) -> RowScale {
        match self {
            Preset::Lshtc => RowScale::Sum,
            Preset::Aloi | Preset::Mulan => RowScale::None,
        }
    }
}

setter!(Rembrandt);

impl Rembrandt {
    /// The defaults with dimension `k`.
    pub fn new(k: usize) -> Rembrandt {
        Rembrandt { k, ..Rembrandt::default() }
    }

    /// Algorithm 1 with dimension `k` and the settings of the paper's text: one pass, ten steps.
    pub fn paper(k: usize) -> Rembrandt {
        Rembrandt { solver: Solver::Paper, passes: 1, cg_steps: 10, ..Rembrandt::new(k) }
    }

    /// The authors' settings for Algorithm 1: a constant feature is appended, counted and penalised, and the projection has a ridge
    /// of 10⁻⁶ρ, so that its step count is what really regularises it.
    pub fn preset(preset: Preset) -> Rembrandt {
        let (k, cg_steps, ridge, preconditioner) = match preset {
            Preset::Aloi => (50, 100, 1.0, Preconditioner::Diagonal),
            Preset::Mulan => (Rembrandt::default().k, 100, 1e-4, Preconditioner::None),
            Preset::Lshtc => (800, 50, 128.0, Preconditioner::Diagonal),
        };
        Rembrandt {
            k,
            passes: 2,
            cg_steps,
            ridge,
            preconditioner,
            solver: Solver::Paper,
            bias: true,
            ridge_convention: RidgeConvention::Authors,
            projection: ProjectionParams { ridge: Some(1e-6 * ridge), ..ProjectionParams::default() },
            ..Rembrandt::default()
        }
    }

    /// Checks every parameter by itself and against the size of the data, before any work.
    pub fn check(&self, shape: Shape) -> Result<()> {
        crate::data::check_not_empty(shape)?;
        if self.k == 0 {
            return Err(Error::parameter("k", "the embedding needs at least one dimension"));
        }
        if self.k > shape.c {
            let reason = format!("{} dimensions are more than the {} labels of the data", self.k, shape.c);
            return Err(Error::parameter("k", reason));
        }
        let ridges = [("ridge", Some(self.ridge)), ("projection.ridge", self.projection.ridge)];
        let tolerances = [("tolerance", Some(self.tolerance)), ("projection.tolerance", self.projection.tolerance)];
        for (name, value) in ridges.into_iter().chain(tolerances) {
            if value.is_some_and(|v| !v.is_finite() || v < 0.0) {
                return Err(Error::parameter(name, "must be a finite number, zero or more"));
            }
        }
        if !(0.0..=1.0).contains(&self.random_fraction) {
            return Err(Error::parameter("random_fraction", "must be a number from 0 to 1"));
        }
        for (name, steps) in [("cg_steps", Some(self.cg_steps)), ("projection.cg_steps", self.projection.cg_steps)] {
            if steps == Some(0) {
                return Err(Error::parameter(name, "at least one step is needed"));
            }
        }
        if self.solver == Solver::Direct && shape.d >= MAX_WRITTEN {
            let reason = format!("direct needs a {0}×{0} matrix for the features; use few-pass or iterative", shape.d);
            return Err(Error::parameter("solver", reason));
        }
        if self.solver == Solver::FewPass && self.preconditioner == Preconditioner::None {
            let reason = "none leaves few-pass nothing to make its passes with; use diagonal, or the solver iterative";
            return Err(Error::parameter("preconditioner", reason));
        }
        if self.panel == 0 {
            return Err(Error::parameter("panel", "at least one column must be solved at a time"));
        }
        Ok(())
    }

    /// The embedding's own stopping rule.
    pub(super) fn stop(&self) -> CgLimits {
        CgLimits { steps: self.cg_steps, tolerance: self.tolerance }
    }

    /// Ridge and stopping rule of the projection, if they are not those of the embedding.
    pub(super) fn own_projection(&self) -> Option<(f64, CgLimits)> {
        let params = &self.projection;
        let ridge = params.ridge.unwrap_or(self.ridge);
        let steps = params.cg_steps.unwrap_or(self.cg_steps);
        let stop = CgLimits { steps, tolerance: params.tolerance.unwrap_or(self.tolerance) };
        (ridge != self.ridge || stop != self.stop()).then_some((ridge, stop))
    }

    /// Dimensions that the range finder finds; those after them are random.
    pub fn leading(&self) -> usize {
        self.k - ((self.random_fraction * self.k as f64).round() as usize).min(self.k)
    }

    /// Columns that the range finder works on: k + p, but never more than there are labels.
    pub fn columns(&self, shape: Shape) -> usize {
        match self.leading() {
            0 => 0,
            leading => leading.saturating_add(self.oversample).min(shape.c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: Shape = Shape { n: 10, d: 10, c: 10 };

    #[test]
    fn bad_parameters_are_named() {
        type Change = fn(&mut Rembrandt);
        let cases: [(&str, Change); 10] = [
            ("k", |p| p.k = 0),
            ("k", |p| p.k = 11),
            ("ridge", |p| p.ridge = f64::NAN),
            ("projection.ridge", |p| p.projection.ridge = Some(-1.0)),
            ("tolerance", |p| p.tolerance = f64::INFINITY),
            ("cg_steps", |p| p.cg_steps = 0),
            ("projection.cg_steps", |p| p.projection.cg_steps = Some(0)),
            ("panel", |p| p.panel = 0),
            ("random_fraction", |p| p.random_fraction = 1.1),
            ("random_fraction", |p| p.random_fraction = f64::NAN),
        ];
        assert!(Rembrandt::new(5).check(SHAPE).is_ok());
        for (expected, change) in cases {
            let mut params = Rembrandt::new(5);
            change(&mut params);
            match params.check(SHAPE) {
                Err(Error::Parameter { name, .. }) => assert_eq!(name, expected),
                other => panic!("{expected}: {other:?}"),
            }
        }
        let empty = Rembrandt::new(5).check(Shape { n: 0, ..SHAPE });
        assert_eq!(empty.unwrap_err().to_string(), "the data have no examples");
    }

    #[test]
    fn files_of_all_versions_tell_the_random_fraction() {
        let params = Rembrandt { random_fraction: 0.5, ..Rembrandt::new(5) };
        let written = serde_json::to_string(&params).unwrap();
        assert!(written.contains("\"spread\":0.5"), "{written}");
        for text in [&written, &written.replace("spread", "random_fraction")] {
            assert_eq!(serde_json::from_str::<Rembrandt>(text).unwrap(), params);
        }
    }

    #[test]
    fn columns_never_exceed_the_labels() {
        assert_eq!(Rembrandt::new(5).columns(SHAPE), 10);
        assert_eq!(Rembrandt { oversample: usize::MAX, ..Rembrandt::new(5) }.columns(SHAPE), 10);
        assert_eq!(Rembrandt { oversample: 2, ..Rembrandt::new(5) }.columns(SHAPE), 7);
    }
}
