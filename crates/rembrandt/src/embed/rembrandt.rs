//! Rembrandt: response embedding via randomized techniques.
//!
//! The embedding of the labels is the space of the top k eigenvectors of the c×c operator
//!
//! ```text
//! M = YᵀWX (XᵀWX + ρI)⁻¹ XᵀWY
//! ```
//!
//! which is never written down: a product M·Q is a regression of the c-dimensional labels, squeezed into the few
//! columns of Y·Q, on the features. A randomized range finder finds the space: Algorithm 1 of the paper (`paper.rs`) where
//! features are few, and else the few-pass solver (`few_pass.rs`). Then follow the projection and the diagnostics.
//!
//! Here is what a fit consists of: which labels take part, which solver finds the embedding, and which dimensions are
//! random instead.

use super::cost::{Procedure, procedure};
use super::few_pass;
use super::operator::{Operator, ProductCost};
use super::params::{Rembrandt, Solver};
use super::range_finder::LabelRange;
use super::regression::RegressionSetup;
use super::report::Embedding;
use crate::data::{ActiveLabels, Examples};
use crate::linalg::matrix::Matrix;
use crate::linalg::orth;
use crate::{Error, Result, Run};

/// Keeps random dimensions apart from what else is random.
const RANDOM_DIMENSIONS: u64 = 0x2545_f491_4f6c_dd1d;

impl Rembrandt {
    /// Finds the embedding of the labels and the projection of the features into it.
    ///
    /// The result depends on the data and the parameters alone, to the last bit: not on the number of threads, the
    /// panel width or where the data are stored. What happens in the corners:
    ///
    /// - k larger than the number of labels is an error; k + p is cut to it.
    /// - When the labels that the features can express have a rank below k, the remaining columns are an arbitrary
    ///   orthonormal completion with eigenvalue and projection 0, and [`Report::rank`](super::Report::rank) says so.
    /// - With a [`random_fraction`](Rembrandt::random_fraction), the last dimensions are random, for labels that never occur
    ///   too, and have the energy that they happen to have; the rank is then k.
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
    /// let embedding = Rembrandt::new(3).with(|p| p.ridge = 0.0).fit(&data, &mut Run::default())?;
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

    /// The same with a row for each label of `data`, active or not.
    fn fit_all(&self, start: Option<&Matrix>, data: &dyn Examples, run: &mut Run<'_>) -> Result<Embedding> {
        let own = (self.ridge, self.stop());
        self.prepared(
            data,
            own,
            |direct, shape| self.work(shape, direct),
            run,
            |problem, operator, run| {
                let found = self.find_labels(start, problem, operator, run)?;
                self.diagnose(problem, operator, data, found, run)
            },
        )
    }

    /// The embedding of the labels alone: no projection, spectrum or report, and the time for them is saved.
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

    /// The embedding of the labels: the directions with the most energy, and random ones orthogonal to them as far as
    /// these are asked for.
    fn find_labels(
        &self,
        start: Option<&Matrix>,
        problem: &RegressionSetup<'_>,
        operator: &Operator<'_>,
        run: &mut Run<'_>,
    ) -> Result<LabelRange> {
        let (labels, rank, half_passes, guarded) = run.checkpoint("labels", |run| {
            let LabelRange { labels, rank, tally } = self.search_labels(start, problem, operator, run)?;
            Ok((labels, rank, tally.half_passes, tally.guarded))
        })?;
        Ok(LabelRange { labels, rank, tally: ProductCost { half_passes, guarded } })
    }

    fn search_labels(
        &self,
        start: Option<&Matrix>,
        problem: &RegressionSetup<'_>,
        operator: &Operator<'_>,
        run: &mut Run<'_>,
    ) -> Result<LabelRange> {
        let leading = Rembrandt { k: self.leading(), random_fraction: 0.0, ..self.clone() };
        if leading.k == self.k {
            return self.find_leading(start, problem, operator, run);
        }
        let c = operator.data.shape().c;
        let mut labels = Matrix::zeros(c, self.k);
        let (mut rank, mut tally) = (0, ProductCost::default());
        if leading.k > 0 {
            let found =
                leading.find_leading(start, &RegressionSetup { params: &leading, ..*problem }, operator, run)?;
            labels.columns_mut(0, leading.k).copy_from(found.labels.view());
            (rank, tally) = (found.rank, found.tally);
        }
        orth::complete(&mut labels, rank, self.seed ^ RANDOM_DIMENSIONS);
        Ok(LabelRange { labels, rank: self.k, tally })
    }

    /// The directions with the most energy, by the solver that was asked for.
    fn find_leading(
        &self,
        start: Option<&Matrix>,
        problem: &RegressionSetup<'_>,
        operator: &Operator<'_>,
        run: &mut Run<'_>,
    ) -> Result<LabelRange> {
        match procedure(self, problem.gram.is_some()) {
            Procedure::FewPass => few_pass::find(start, problem, operator, run),
            Procedure::Paper => self.find_as_published(start, operator, run),
        }
    }
}
