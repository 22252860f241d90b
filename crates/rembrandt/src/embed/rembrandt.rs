//! Rembrandt: response embedding via randomized techniques.
//!
//! The embedding of the labels is the space of the top k eigenvectors of the c×c operator
//!
//! ```text
//! M = YᵀWX (XᵀWX + ρI)⁻¹ XᵀWY
//! ```
//!
//! which is never written down: a product M·Q is a regression of the c-dimensional labels, squeezed into the few
//! columns of Y·Q, on the features. A randomized range finder [1] finds the space. Here is Algorithm 1 of [2] with
//! its line 9 mended: F there multiplies matrices whose shapes do not fit, where one more regression belongs. Unless
//! features are few, the default is another way to the same space, `few_pass.rs`.
//!
//! 1. N. Halko, P.-G. Martinsson, J. A. Tropp: Finding structure with randomness. SIAM Review 53(2), 2011.
//! 2. P. Mineiro, N. Karampatziakis: Fast label embeddings for extremely large output spaces. ICLR workshop, 2015.

use faer::Mat;

use super::basis::{Basis, pass_name};
use super::cost::{Procedure, prefers_direct, procedure};
use super::few_pass;
use super::method::mean;
use super::operator::{Operator, Tally};
use super::params::{Rembrandt, Solver};
use super::regression::{Gram, Problem, Regression};
use super::report::Embedding;
use crate::data::bias_center::weighted_sum;
use crate::data::{ActiveLabels, BiasCenter, Examples, Moments, Side};
use crate::linalg::cg::Stop;
use crate::linalg::matrix::{Matrix, Spare};
use crate::linalg::orth::{self, Thin};
use crate::linalg::random;
use crate::{Error, Result, Run, Shape};

/// Directions whose singular value is below this fraction of the largest carry no energy, only rounding.
const NO_ENERGY: f64 = 1e-6;
/// Sums of squares of a feature must lie between this and its inverse.
const LARGEST_SQUARE: f64 = 1e30;
/// Keeps random dimensions apart from what else is random.
const SPREAD: u64 = 0x2545_f491_4f6c_dd1d;
/// Keeps the random completion apart from the random start.
const COMPLETION: u64 = 0x9e37_79b9_7f4a_7c15;

impl Rembrandt {
    /// Finds the embedding of the labels and the projection of the features into it.
    ///
    /// The result depends on the data and the parameters alone, to the last bit: not on the number of threads, the
    /// panel width or where the data are stored. What happens in the corners:
    ///
    /// - k larger than the number of labels is an error; k + p is cut to it.
    /// - When the labels that the features can express have a rank below k, the remaining columns are an arbitrary
    ///   orthonormal completion with eigenvalue and projection 0, and [`Report::rank`](super::Report::rank) says so.
    /// - With [`spread`](Rembrandt::spread), the last dimensions are random, for labels that never occur too, and have the
    ///   energy that they happen to have; the rank is then k.
    /// - A feature that never occurs has a zero row in the projection; a label that never occurs has a zero row in
    ///   every column up to the rank.
    ///
    /// ```
    /// use rembrandt::data::{Dataset, Rows};
    /// use rembrandt::{Rembrandt, Run};
    ///
    /// // Feature i goes with label i.
    /// let mut rows = Rows::new();
    /// for i in 0..100 {
    ///     rows.x.push(i % 4, 1.0);
    ///     rows.x.end_row();
    ///     rows.y.push(i % 4, 1.0);
    ///     rows.y.end_row();
    /// }
    /// let data = Dataset::from_rows(&rows, 4, 4)?;
    /// let embedding = Rembrandt { ridge: 0.0, ..Rembrandt::new(3) }.fit(&data, &mut Run::default())?;
    /// // Each label is as well explained as the others: 25 of 100 examples.
    /// assert!(embedding.spectrum.iter().all(|mu| (mu - 25.0).abs() < 1e-3));
    /// # Ok::<(), rembrandt::Error>(())
    /// ```
    pub fn fit(&self, data: &dyn Examples, run: &mut Run<'_>) -> Result<Embedding> {
        self.fit_from(None, data, run)
    }

    /// The same from a start that is better than random, such as the embedding of a part of the examples: its columns
    /// take the places of the first random ones, so that fewer passes do.
    pub fn fit_from(&self, start: Option<&Matrix>, data: &dyn Examples, run: &mut Run<'_>) -> Result<Embedding> {
        self.check_start(start, data)?;
        let Some(active) = self.active_labels(data)? else {
            return self.fit_all(start, data, run);
        };
        let start = start.map(|start| active.select(start));
        let mut embedding = self.fit_all(start.as_ref(), &*active.restrict(data)?, run)?;
        embedding.labels = active.expand(&embedding.labels);
        embedding.report.shape = data.shape();
        Ok(embedding)
    }

    /// The same with a row for each label of `data`, whether it occurs or not.
    fn fit_all(&self, start: Option<&Matrix>, data: &dyn Examples, run: &mut Run<'_>) -> Result<Embedding> {
        let own = (self.ridge, self.stop());
        self.prepared(
            data,
            own,
            |direct, shape| self.work(shape, direct),
            run,
            |problem, operator, run| {
                let found = self.find_labels(start, problem, operator, run)?;
                self.account(problem, operator, data, found, run)
            },
        )
    }

    /// The embedding of the labels alone, without projection, spectrum and report, for whoever needs no more.
    pub fn fit_labels(&self, start: Option<&Matrix>, data: &dyn Examples, run: &mut Run<'_>) -> Result<Matrix> {
        self.check_start(start, data)?;
        let Some(active) = self.active_labels(data)? else {
            return self.fit_all_labels(start, data, run);
        };
        let start = start.map(|start| active.select(start));
        Ok(active.expand(&self.fit_all_labels(start.as_ref(), &*active.restrict(data)?, run)?))
    }

    fn fit_all_labels(&self, start: Option<&Matrix>, data: &dyn Examples, run: &mut Run<'_>) -> Result<Matrix> {
        let own = (self.ridge, self.stop());
        self.prepared(
            data,
            own,
            |direct, shape| self.work(shape, direct),
            run,
            |problem, operator, run| Ok(self.find_labels(start, problem, operator, run)?.labels),
        )
    }

    /// The labels to fit, when some are active and some are not: those that never occur have zero rows in the embedding.
    /// Where labels are many and examples few, leaving them out saves most of the dense algebra.
    ///
    /// Not for a solver that is asked for by name and has a row for each label, as the published one; not for random
    /// dimensions, which are for all labels; and not for a k above the active labels, where a basis takes the others too.
    fn active_labels(&self, data: &dyn Examples) -> Result<Option<ActiveLabels>> {
        let few_pass = matches!(self.solver, Solver::Auto | Solver::FewPass);
        if !few_pass || self.leading() < self.k {
            return Ok(None);
        }
        Ok(data.active_labels()?.filter(|active| active.len() >= self.k))
    }

    fn check_start(&self, start: Option<&Matrix>, data: &dyn Examples) -> Result<()> {
        self.check(data.shape())?;
        match start.filter(|start| start.rows() != data.shape().c) {
            Some(start) => {
                let reason = format!("{} rows for the {} labels of the data", start.rows(), data.shape().c);
                Err(Error::parameter("start", reason))
            }
            None => Ok(()),
        }
    }

    /// Sets the regressions up, with a relative ridge and a stopping rule, and hands them to `f`. `work` counts the
    /// columns that will be multiplied, given whether the solver is direct and the shape of the data.
    pub(super) fn prepared<T>(
        &self,
        original: &dyn Examples,
        (lambda, stop): (f64, Stop),
        work: impl FnOnce(bool, Shape) -> u64,
        run: &mut Run<'_>,
        f: impl FnOnce(&Problem<'_>, &Operator<'_>, &mut Run<'_>) -> Result<T>,
    ) -> Result<T> {
        let corrected = corrected(self, original)?;
        let data = corrected.as_ref().map_or(original, |examples| examples as &dyn Examples);
        let (shape, x) = (data.shape(), data.moments(Side::X)?);
        check_range(&x)?;
        let direct = prefers_direct(self, shape, x.entries);
        run.begin(work(direct, shape));
        let gram = if direct { Some(Gram::new(data, run)?) } else { None };
        let constant = shape.d > original.shape().d;
        let problem = Problem { params: self, data, x: &x, constant, gram: gram.as_ref() };
        let regression = Regression::new(&problem, lambda, stop)?;
        // A factorisation solves all columns at once, so that their grouping cannot show in the result.
        let panel = if direct { usize::MAX } else { self.panel };
        f(&problem, &Operator { data, regression: &regression, panel, spare: &Spare::default() }, run)
    }

    /// The embedding of the labels: the directions with the most energy, and random ones orthogonal to them as far as
    /// these are asked for.
    fn find_labels(
        &self,
        start: Option<&Matrix>,
        problem: &Problem<'_>,
        operator: &Operator<'_>,
        run: &mut Run<'_>,
    ) -> Result<Found> {
        let (labels, rank, half_passes, guarded) = run.checkpoint("labels", |run| {
            let Found { labels, rank, tally } = self.search_labels(start, problem, operator, run)?;
            Ok((labels, rank, tally.half_passes, tally.guarded))
        })?;
        Ok(Found { labels, rank, tally: Tally { half_passes, guarded } })
    }

    fn search_labels(
        &self,
        start: Option<&Matrix>,
        problem: &Problem<'_>,
        operator: &Operator<'_>,
        run: &mut Run<'_>,
    ) -> Result<Found> {
        let leading = Rembrandt { k: self.leading(), spread: 0.0, ..self.clone() };
        if leading.k == self.k {
            return self.find_leading(start, problem, operator, run);
        }
        let c = operator.data.shape().c;
        let mut labels = Matrix::zeros(c, self.k);
        let (mut rank, mut tally) = (0, Tally::default());
        if leading.k > 0 {
            let found = leading.find_leading(start, &Problem { params: &leading, ..*problem }, operator, run)?;
            labels.columns_mut(0, leading.k).copy_from(found.labels.view());
            (rank, tally) = (found.rank, found.tally);
        }
        orth::complete(&mut labels, rank, self.seed ^ SPREAD);
        Ok(Found { labels, rank: self.k, tally })
    }

    /// The directions with the most energy, by the solver that was asked for.
    fn find_leading(
        &self,
        start: Option<&Matrix>,
        problem: &Problem<'_>,
        operator: &Operator<'_>,
        run: &mut Run<'_>,
    ) -> Result<Found> {
        match procedure(self, problem.gram.is_some()) {
            Procedure::FewPass => few_pass::find(start, problem, operator, run),
            Procedure::Paper => self.find_as_published(start, operator, run),
        }
    }

    /// The range finder of the paper.
    fn find_as_published(&self, start: Option<&Matrix>, operator: &Operator<'_>, run: &mut Run<'_>) -> Result<Found> {
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
        Ok(Found { labels, rank, tally })
    }

    /// The projection for an embedding with orthonormal columns that was found otherwise, and how good it is.
    pub(super) fn fit_around(
        &self,
        labels: Matrix,
        rank: usize,
        data: &dyn Examples,
        run: &mut Run<'_>,
    ) -> Result<Embedding> {
        let own = (self.ridge, self.stop());
        let found = Found { labels, rank, tally: Tally::default() };
        self.prepared(
            data,
            own,
            |direct, shape| self.projection_work(shape, direct),
            run,
            |problem, operator, run| self.account(problem, operator, data, found, run),
        )
    }

    /// The embedding's own stopping rule.
    pub(super) fn stop(&self) -> Stop {
        Stop { steps: self.cg_steps, tolerance: self.tolerance }
    }

    /// Ridge and stopping rule of the projection, if they are not those of the embedding.
    pub(super) fn own_projection(&self) -> Option<(f64, Stop)> {
        let params = &self.projection;
        let ridge = params.ridge.unwrap_or(self.ridge);
        let steps = params.cg_steps.unwrap_or(self.cg_steps);
        let stop = Stop { steps, tolerance: params.tolerance.unwrap_or(self.tolerance) };
        (ridge != self.ridge || stop != self.stop()).then_some((ridge, stop))
    }
}

/// What the range finder found.
pub(super) struct Found {
    pub labels: Matrix,
    pub rank: usize,
    pub tally: Tally,
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

/// The beginning of a range finder: random columns, the first of them replaced by those of `start`.
pub(super) fn begin_with(q: &mut Matrix, start: Option<&Matrix>, seed: u64) {
    random::fill_normal(q, 0, seed);
    if let Some(start) = start {
        let known = start.cols().min(q.cols());
        q.columns_mut(0, known).copy_from(start.columns(0, known));
        let rank = orth::orthonormalize(q);
        orth::complete(q, rank, seed ^ COMPLETION);
    }
}

/// Makes the product of a pass an orthonormal basis, where it has lost rank with random columns.
pub(super) fn next_basis(q: &mut Matrix, seed: u64, pass: usize) {
    let rank = orth::orthonormalize(q);
    completed(q, rank, seed, pass);
}

/// Fills a basis that has lost rank with random columns, which differ from pass to pass.
pub(super) fn completed(q: &mut Matrix, rank: usize, seed: u64, pass: usize) {
    orth::complete(q, rank, seed ^ COMPLETION.wrapping_mul(pass as u64 + 1));
}

/// The top k left singular vectors of T, as E = Q·U with T = Q R and R = U Σ Vᵀ. It equals T V Σ⁻¹ from the
/// eigenvectors V of TᵀT, but does not lose the small singular values to the squaring.
pub(super) fn top_left(t: Matrix, k: usize, seed: u64) -> Result<(Matrix, usize)> {
    let Thin { q, c, r } = match orth::thin(t.view()) {
        Some(factors) => factors,
        None => {
            let mut q = t.clone();
            orth::orthonormalize(&mut q);
            let r = orth::inner(q.view(), t.view());
            Thin { c: Mat::identity(q.cols(), q.cols()), q, r }
        }
    };
    drop(t);
    let rr = &r * r.transpose();
    if !(rr.norm_l2() as f32).is_finite() {
        return Err(Error::Data("the products of features and labels overflow; scale the data down".into()));
    }
    let (values, u) = orth::eigen(&rr);
    let floor = NO_ENERGY * NO_ENERGY * values[0];
    let rank = values.iter().take(k).take_while(|v| **v > floor && **v > 0.0).count();
    let u = Mat::from_fn(u.nrows(), k, |i, j| if j < rank { u[(i, j)] } else { 0.0 });
    let mut labels = orth::multiply(q.view(), &(c * u));
    orth::complete(&mut labels, rank, seed ^ COMPLETION);
    orth::fix_signs(&mut labels);
    Ok((labels, rank))
}

/// Eᵀȳ − Pᵀx̄: makes h(x) an estimate of the embedded labels themselves, not of their difference from the mean.
pub(super) fn centred_intercept(data: &dyn Examples, labels: &Matrix, projection: &Matrix) -> Result<Vec<f32>> {
    let y = weighted_sum(&mean(data, Side::Y)?, labels.view());
    let x = weighted_sum(&mean(data, Side::X)?, projection.view());
    Ok(y.iter().zip(x).map(|(y, x)| (y - x) as f32).collect())
}

/// Products are kept in `f32`: features whose squares leave its range by their sheer size are refused.
pub(super) fn check_range(x: &Moments) -> Result<()> {
    let largest = x.square.iter().fold(0.0, |max: f64, s| max.max(*s));
    let wrong = match largest {
        v if v > LARGEST_SQUARE => "too large to be squared; scale the features down",
        v if v > 0.0 && v < 1.0 / LARGEST_SQUARE => "too small to be squared; scale the features up",
        _ => return Ok(()),
    };
    Err(Error::Data(format!("the numbers in the data are {wrong}")))
}
