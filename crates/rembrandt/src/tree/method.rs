//! The tree methods as a closed set: their names, parameters and fitted trees, for training, files and prediction.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::fastxml::{FastXml, FastXmlParams};
use super::label_tree::{LabelTree, LabelTreeParams, Memory};
use super::lomtree::{LomTree, LomTreeParams};
use super::lpsr::{Lpsr, LpsrParams};
use super::{ArraySource, Arrays, Wanted};
use crate::data::{Dataset, Shape};
use crate::{Result, Run};

/// A method that makes trees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TreeMethod {
    /// Online, one label per example: Choromanska and Langford 2015.
    Lomtree,
    /// An ensemble split by nDCG: Prabhu and Varma 2014.
    Fastxml,
    /// A partition of the inputs, ranked by naive Bayes: Weston, Makadia and Yee 2013.
    Lpsr,
    /// A tree of confused labels, one label per example: Bengio, Weston and Grangier 2010.
    LabelTree,
}

/// Parameters of one of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "method")]
pub enum TreeParams {
    /// Those of [`LomTreeParams`].
    Lomtree(LomTreeParams),
    /// Those of [`FastXmlParams`].
    Fastxml(FastXmlParams),
    /// Those of [`LpsrParams`].
    Lpsr(LpsrParams),
    /// Those of [`LabelTreeParams`].
    LabelTree(LabelTreeParams),
}

/// Fitted trees.
#[derive(Clone, Debug, PartialEq)]
pub enum Trees {
    /// By [`LomTreeParams::fit`].
    Lomtree(LomTree),
    /// By [`FastXmlParams::fit`].
    Fastxml(FastXml),
    /// By [`LpsrParams::fit`].
    Lpsr(Lpsr),
    /// By [`LabelTreeParams::fit`].
    LabelTree(LabelTree),
}

/// Memory that [`Trees::rank_into`] keeps from example to example.
#[derive(Debug, Default)]
pub(crate) struct TreeMemory(Memory);

/// The same expression for whichever it is.
macro_rules! each {
    ($kind:ident, $value:expr, $it:ident => $what:expr) => {
        match $value {
            $kind::Lomtree($it) => $what,
            $kind::Fastxml($it) => $what,
            $kind::Lpsr($it) => $what,
            $kind::LabelTree($it) => $what,
        }
    };
}

impl TreeParams {
    /// The defaults of a method.
    pub fn new(method: TreeMethod) -> TreeParams {
        match method {
            TreeMethod::Lomtree => TreeParams::Lomtree(LomTreeParams::default()),
            TreeMethod::Fastxml => TreeParams::Fastxml(FastXmlParams::default()),
            TreeMethod::Lpsr => TreeParams::Lpsr(LpsrParams::default()),
            TreeMethod::LabelTree => TreeParams::LabelTree(LabelTreeParams::default()),
        }
    }

    /// Checks everything against the size of the data, before any work.
    pub fn check(&self, shape: Shape) -> Result<()> {
        each!(TreeParams, self, params => params.check(shape))
    }

    /// Bytes that a fit takes at its peak besides the data: an estimate.
    pub fn memory(&self, data: &Dataset) -> u64 {
        each!(TreeParams, self, params => params.memory(data))
    }

    /// Whether a fit keeps checkpoints that another can go on from: a forest does, tree by tree. The others make one tree, and
    /// nothing of it is finished before all of it is.
    pub fn keeps_checkpoints(&self) -> bool {
        matches!(self, TreeParams::Fastxml(_))
    }

    /// Fits the trees. The same data and parameters give the same trees to the last bit, for any number of threads.
    pub fn fit(&self, data: &Dataset, run: &mut Run<'_>) -> Result<Trees> {
        Ok(match self {
            TreeParams::Lomtree(params) => Trees::Lomtree(params.fit(data, run)?),
            TreeParams::Fastxml(params) => Trees::Fastxml(params.fit(data, run)?),
            TreeParams::Lpsr(params) => Trees::Lpsr(params.fit(data, run)?),
            TreeParams::LabelTree(params) => Trees::LabelTree(params.fit(data, run)?),
        })
    }
}

impl Trees {
    /// Which method made them.
    pub fn method(&self) -> TreeMethod {
        match self {
            Trees::Lomtree(_) => TreeMethod::Lomtree,
            Trees::Fastxml(_) => TreeMethod::Fastxml,
            Trees::Lpsr(_) => TreeMethod::Lpsr,
            Trees::LabelTree(_) => TreeMethod::LabelTree,
        }
    }

    /// The best labels of an example, best first, with probabilities. Features must be those of training.
    pub fn rank(&self, ids: &[u32], values: Option<&[f32]>, wanted: Wanted<'_>) -> Vec<(u32, f32)> {
        each!(Trees, self, trees => trees.rank(ids, values, wanted))
    }

    /// Like [`rank`](Trees::rank), for many examples: labels and probabilities are handed to `take`, and memory is kept
    /// where asking for it would cost as much as the search does.
    pub(crate) fn rank_into(
        &self,
        (ids, values): (&[u32], Option<&[f32]>),
        wanted: Wanted<'_>,
        memory: &mut TreeMemory,
        mut take: impl FnMut(u32, f32),
    ) {
        match self {
            Trees::LabelTree(tree) => tree.rank_into((ids, values), wanted, &mut memory.0, take),
            _ => self.rank(ids, values, wanted).into_iter().for_each(|(label, p)| take(label, p)),
        }
    }

    /// All that they consist of.
    pub fn arrays(&self) -> Arrays<'_> {
        each!(Trees, self, trees => trees.arrays())
    }

    /// The trees that gave these arrays, for `size` (features, labels); or what is wrong with them.
    pub(crate) fn from_arrays(
        method: TreeMethod,
        source: &dyn ArraySource,
        size: (usize, usize),
    ) -> std::result::Result<Trees, String> {
        Ok(match method {
            TreeMethod::Lomtree => Trees::Lomtree(LomTree::from_arrays(source, size)?),
            TreeMethod::Fastxml => Trees::Fastxml(FastXml::from_arrays(source, size)?),
            TreeMethod::Lpsr => Trees::Lpsr(Lpsr::from_arrays(source, size)?),
            TreeMethod::LabelTree => Trees::LabelTree(LabelTree::from_arrays(source, size)?),
        })
    }

    /// How many nodes there are, how deep they go and the like, as JSON.
    pub fn summary(&self) -> Value {
        each!(Trees, self, trees => json!(trees.summary()))
    }
}
