//! [`Training`]: which training is done, with all its parameters.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::head_params::{HeadChoice, HeadKind, HeadTrainParams};
use super::ranker::RankerParams;
use super::shared::check_learnable;
use crate::data::{Dataset, Examples};
use crate::embed::Method;
use crate::model::{Model, Preprocessing};
use crate::tree::TreeParams;
use crate::{Rembrandt, Result, Run};

/// A training with all its parameters. Plain data; checked before any work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Training {
    /// An embedding and words propose labels, a ranker decides.
    Ranker(RankerParams),
    /// A head on an embedding.
    Head(HeadTrainParams),
    /// Trees, without an embedding.
    Trees(TreeParams),
}

impl From<RankerParams> for Training {
    fn from(params: RankerParams) -> Training {
        Training::Ranker(params)
    }
}

impl From<HeadTrainParams> for Training {
    fn from(params: HeadTrainParams) -> Training {
        Training::Head(params)
    }
}

impl From<TreeParams> for Training {
    fn from(params: TreeParams) -> Training {
        Training::Trees(params)
    }
}

impl Training {
    /// The defaults for a method and the head that is asked for, if one is. Without, Rembrandt has a ranker, and the other
    /// methods a head that suits them and the data.
    ///
    /// # Errors
    /// If the labels of the data cannot be read.
    pub fn new(method: Method, head: Option<HeadChoice>, data: &Dataset) -> Result<Training> {
        if Training::has_ranker(method, head) {
            return Ok(RankerParams::default().into());
        }
        let kind = match head.unwrap_or(HeadChoice::Suited).kind(method) {
            Some(kind) => kind,
            None => HeadKind::suited(data)?,
        };
        Ok(HeadTrainParams::for_method(method, kind).into())
    }

    /// Whether a method has a ranker, given the head that is asked for.
    pub fn has_ranker(method: Method, head: Option<HeadChoice>) -> bool {
        method == Method::Rembrandt && head.is_none()
    }

    /// Checks everything against the data, before any work.
    ///
    /// # Errors
    /// If a parameter is out of range, or there is nothing to learn.
    pub fn check(&self, data: &Dataset) -> Result<()> {
        match self {
            Training::Ranker(params) => params.check(data),
            Training::Head(params) => params.check(data),
            Training::Trees(params) => params.check(data.shape()).and_then(|()| check_learnable(data)),
        }
    }

    /// Bytes that it takes besides the data, at its peak: an estimate.
    pub fn memory(&self, data: &Dataset) -> u64 {
        match self {
            Training::Ranker(params) => params.memory(data),
            Training::Head(params) => params.memory(data),
            Training::Trees(params) => params.memory(data),
        }
    }

    /// The same with panels so narrow that it takes no more than `bytes` besides the data, where that helps: the result does
    /// not depend on their width.
    #[must_use]
    pub fn narrowed_to(self, bytes: u64, data: &Dataset) -> Training {
        let with = |embedding: &Rembrandt| match self.clone() {
            Training::Ranker(params) => Training::Ranker(params.with(|p| p.embedding = embedding.clone())),
            Training::Head(params) => Training::Head(params.with(|p| p.embedding = embedding.clone())),
            trees => trees,
        };
        let embedding = match &self {
            Training::Ranker(params) => &params.embedding,
            Training::Head(params) => &params.embedding,
            Training::Trees(_) => return self,
        };
        with(&embedding.narrowed(bytes, |embedding| with(embedding).memory(data)))
    }

    /// Trains on `data`, whose features `preprocessing` made. The same data and parameters give the same model to the last
    /// bit, for any number of threads.
    ///
    /// # Errors
    /// If the parameters do not fit the data, or `run` was told to stop.
    pub fn fit(&self, data: &Dataset, preprocessing: Preprocessing, run: &mut Run<'_>) -> Result<Model> {
        match self {
            Training::Ranker(params) => params.fit(data, preprocessing, run),
            Training::Head(params) => params.fit(data, preprocessing, run),
            Training::Trees(params) => {
                self.check(data)?;
                let trees = params.fit(data, run)?;
                run.end_stage("growing");
                let report = json!({"trees": trees.summary()});
                Model::from_trees(trees, data, preprocessing, json!(params), report)
            }
        }
    }
}
