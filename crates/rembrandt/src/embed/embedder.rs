//! [`Embedder`]: any [`Method`] with its parameters, fitted in two steps.
//!
//! The first step finds a *basis* that does not depend on the ridge, or hardly; the second is the regression around it.
//! Cross-fitting repeats the second alone.

use super::method::Method;
use super::moments::mean;
use super::params::Rembrandt;
use super::report::Embedding;
use super::{pca, plst, random_projection};
use crate::data::bias_center::weighted_sum;
use crate::data::{Examples, Side};
use crate::linalg::matrix::Matrix;
use crate::{Error, Result, Run, Shape};

/// A method with the parameters of its range finder and its regressions, as far as it has them.
#[derive(Clone, Debug, PartialEq)]
pub struct Embedder {
    /// The method.
    pub method: Method,
    /// Dimensions, ridge and so on.
    pub params: Rembrandt,
}

/// An embedding of the labels, and the projection of the features into the same space.
#[derive(Clone, Debug)]
pub struct FittedProjection {
    /// E, c×k.
    pub labels: Matrix,
    /// P, d×k.
    pub projection: Matrix,
    /// Added to Pᵀx. Length k.
    pub intercept: Vec<f32>,
    /// The point that the regression goes through, if it is not the origin.
    pub means: Option<Means>,
}

/// Means of labels and of h, where a regression of shifted data goes through them: label l then scores
/// eₗ·(h − h̄) + ȳₗ, and else eₗ·h.
#[derive(Clone, Debug, PartialEq)]
pub struct Means {
    /// ȳ, the frequencies of the labels. Length c.
    pub labels: Vec<f32>,
    /// h̄. Length k.
    pub h: Vec<f32>,
}

impl Embedder {
    /// A method with parameters, which are changed where the method leaves no choice.
    pub fn new(method: Method, params: Rembrandt) -> Embedder {
        let center = params.center || method.centres();
        Embedder { method, params: Rembrandt { center, ..params } }
    }

    /// Checks the parameters against the size of the data, before any work.
    pub fn check(&self, shape: Shape) -> Result<()> {
        let (most, what) = self.method.most(shape);
        crate::data::check_not_empty(shape)?;
        if self.params.k > most {
            let reason = format!("{} dimensions are more than the {most} {what} of the data", self.params.k);
            return Err(Error::parameter("k", reason));
        }
        if self.params.random_fraction > 0.0 && self.method != Method::Rembrandt {
            return Err(Error::parameter("random_fraction", "is for Rembrandt's embedding"));
        }
        Rembrandt { k: self.params.k.min(shape.c), ..self.params.clone() }.check(shape)
    }

    /// The part that hardly depends on the ridge, if at all: an embedding of the labels (c×k) or, for principal
    /// components of the features, their directions (d×k). It begins with `start`, where that helps.
    pub fn find(&self, start: Option<&Matrix>, data: &dyn Examples, run: &mut Run<'_>) -> Result<Matrix> {
        self.check(data.shape())?;
        match self.method {
            Method::Rembrandt | Method::Cplst => self.params.fit_labels(start, data, run),
            Method::Cs | Method::CsOmp => Ok(random_projection::draw(&self.params, data.shape())),
            Method::Pca => Ok(pca::find(&self.params, start, data, run)?.directions),
            Method::Plst => Ok(plst::find(&self.params, start, data, run)?.directions),
        }
    }

    /// The regression around what [`find`](Embedder::find) found, or the first dimensions of it.
    pub fn project(&self, data: &dyn Examples, basis: &Matrix, run: &mut Run<'_>) -> Result<FittedProjection> {
        let (labels, projection, intercept) = match self.method {
            Method::Pca => {
                let found = pca::regress(&self.params, basis, data, run)?;
                (found.labels, found.projection, found.intercept)
            }
            _ => {
                let labels = random_projection::scaled(self.method, basis);
                let (projection, intercept) = self.params.fit_projection(data, &labels, run)?;
                (labels, projection, intercept)
            }
        };
        let means = self.means(data, &projection, &intercept)?;
        Ok(FittedProjection { labels, projection, intercept, means })
    }

    /// Both steps, with a report, beginning with `start` where that helps. The means are those of [`FittedProjection`].
    pub fn fit_from(
        &self,
        start: Option<&Matrix>,
        data: &dyn Examples,
        run: &mut Run<'_>,
    ) -> Result<(Embedding, Option<Means>)> {
        self.check(data.shape())?;
        let embedding = match self.method {
            Method::Rembrandt | Method::Cplst => self.params.fit_from(start, data, run)?,
            Method::Cs | Method::CsOmp => random_projection::fit(self.method, &self.params, data, run)?,
            Method::Pca => pca::fit(&self.params, start, data, run)?,
            Method::Plst => plst::fit(&self.params, start, data, run)?,
        };
        let means = self.means(data, &embedding.projection, &embedding.intercept)?;
        Ok((embedding, means))
    }

    /// Bytes that a fit takes besides the data, at its peak.
    pub fn memory(&self, shape: Shape) -> u64 {
        match self.method {
            // Its range finder works on as many rows as there are features.
            Method::Pca => self.params.memory(Shape { c: shape.c.max(shape.d), ..shape }),
            _ => self.params.memory(shape),
        }
    }

    fn means(&self, data: &dyn Examples, projection: &Matrix, intercept: &[f32]) -> Result<Option<Means>> {
        if !self.method.centres() {
            return Ok(None);
        }
        let shifts = weighted_sum(&mean(data, Side::X)?, projection.view());
        let h = shifts.iter().zip(intercept).map(|(shift, v)| (shift + f64::from(*v)) as f32).collect();
        let labels = mean(data, Side::Y)?.into_iter().map(|v| v as f32).collect();
        Ok(Some(Means { labels, h }))
    }
}
