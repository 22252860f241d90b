//! The parameters of a label tree, their defaults and bounds.

use serde::{Deserialize, Serialize};

use crate::data::{Dataset, Side, check_not_empty};
use crate::embed::Rembrandt;
use crate::{Error, Examples, Result, Shape};

/// Up to this many features are scored as they are, by default.
const FEW_FEATURES: usize = 512;
/// Dimensions that more features are projected to, by default.
const RANK: usize = 100;
/// Dimensions in which labels are compared when examples need none.
const COMPARED: usize = 50;
/// Children of a node at most.
const MOST_CHILDREN: usize = 1 << 20;
/// Tables of more numbers are refused: places in them are 32 bits wide in a file.
const MOST_NUMBERS: u64 = u32::MAX as u64;

/// The vectors by which labels belong together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Affinity {
    /// The Rembrandt embedding: labels that the features cannot tell apart have like vectors.
    #[default]
    Embedding,
    /// Which labels one-vs-rest regressions take for each other on examples that they have not seen, by spectral
    /// clustering. The way of the authors; slower.
    Confusion,
}

/// How to train a label tree. Plain data: change fields, call [`fit`](LabelTreeParams::fit).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct LabelTreeParams {
    /// Levels below the root; the last are the labels.
    pub depth: usize,
    /// Children of every node above the last level; absent: as many as let an example meet the fewest scorers.
    pub branching: Option<usize>,
    /// Nodes of a level whose children are looked at; 1 is greedy descent.
    pub beam: usize,
    /// Of these, nodes are passed over in a prediction whose score is lower than the best of their level by more than
    /// this, that is, e^`margin` times less probable, unless there are fewer labels than asked for below the others.
    /// Training looks at the whole beam.
    pub margin: f32,
    /// Dimensions that nodes score examples in; as many as there are features, or more, means the features themselves.
    /// Absent: the features themselves up to 512 of them, and else 100 dimensions.
    pub rank: Option<usize>,
    /// The vectors by which labels belong together.
    pub affinity: Affinity,
    /// Relative ridge of the embedding.
    pub ridge: f64,
    /// Times that the scorers learn from every example.
    pub epochs: usize,
    /// Length of their steps.
    pub step: f32,
    /// Seed of the embedding and of the order of the examples.
    pub seed: u64,
}

impl Default for LabelTreeParams {
    fn default() -> LabelTreeParams {
        LabelTreeParams {
            depth: 3,
            branching: None,
            beam: 6,
            margin: 4.0,
            rank: None,
            affinity: Affinity::default(),
            ridge: 1.0,
            epochs: 20,
            step: 2.0,
            seed: 1,
        }
    }
}

setter!(LabelTreeParams);

impl LabelTreeParams {
    /// Checks every parameter by itself and against the size of the data, before any work.
    pub fn check(&self, shape: Shape) -> Result<()> {
        check_not_empty(shape)?;
        let most = u32::MAX as usize - 1;
        if shape.n > most || shape.d > most || shape.c > most {
            return Err(Error::Data("a label tree is for fewer than 2³² examples, features and labels".into()));
        }
        if !(1..=16).contains(&self.depth) {
            return Err(Error::parameter("depth", "must be from 1 to 16"));
        }
        if self.branching.is_some_and(|branching| !(2..=MOST_CHILDREN).contains(&branching)) {
            return Err(Error::parameter("branching", "must be from 2 to 2²⁰"));
        }
        if !(1..=1 << 20).contains(&self.beam) {
            return Err(Error::parameter("beam", "must be from 1 to 2²⁰"));
        }
        if !(self.margin.is_finite() && self.margin >= 0.0) {
            return Err(Error::parameter("margin", "must be a finite number, zero or more"));
        }
        if self.rank == Some(0) {
            return Err(Error::parameter("rank", "nodes need at least one dimension to score examples in"));
        }
        if !(self.ridge.is_finite() && self.ridge >= 0.0) {
            return Err(Error::parameter("ridge", "must be a finite number, zero or more"));
        }
        if !(1..=1000).contains(&self.epochs) {
            return Err(Error::parameter("epochs", "must be from 1 to 1000"));
        }
        if !(self.step > 0.0 && self.step <= 100.0) {
            return Err(Error::parameter("step", "must be above 0 and at most 100"));
        }
        let numbers = self.numbers(shape);
        if numbers > MOST_NUMBERS as f64 {
            let reason = format!(
                "scorers of {} numbers for each of {} labels take {:.0} GB; choose a smaller rank",
                self.width(shape),
                shape.c,
                8e-9 * numbers
            );
            return Err(Error::parameter("rank", reason));
        }
        Ok(())
    }

    /// Dimensions that features are projected to; absent when they are scored as they are.
    pub(super) fn projected(&self, shape: Shape) -> Option<usize> {
        let rank = self.rank.unwrap_or(if shape.d <= FEW_FEATURES { shape.d } else { RANK });
        // An embedding has no more dimensions than there are labels.
        (rank < shape.d).then_some(rank.min(shape.c))
    }

    /// Numbers of a scorer, the constant among them.
    fn width(&self, shape: Shape) -> usize {
        self.projected(shape).unwrap_or(shape.d) + 1
    }

    /// Numbers of all scorers, at most.
    fn numbers(&self, shape: Shape) -> f64 {
        // Every group has a label, so there are no more groups on a level than labels.
        let groups: f64 =
            (1..self.depth).map(|level| (self.branching(shape.c) as f64).powi(level as i32).min(shape.c as f64)).sum();
        self.width(shape) as f64 * (groups + shape.c as f64)
    }

    /// Children of nodes above the last level: by default as many as let an example meet the fewest scorers.
    pub(super) fn branching(&self, labels: usize) -> usize {
        let fewest = || {
            // Two levels, which meet b + m·c/b, are at their best with b² = m·c, and deeper trees with fewer children.
            let widest = (self.beam as f64 * labels as f64).sqrt().ceil() as usize;
            let to_try = 2..=widest.min(labels).clamp(2, MOST_CHILDREN);
            to_try.min_by(|a, b| self.scorers_met(*a, labels).total_cmp(&self.scorers_met(*b, labels)))
        };
        self.branching.or_else(fewest).unwrap_or(2)
    }

    /// Scorers that an example meets which follows its whole beam, if every group has the same size.
    fn scorers_met(&self, branching: usize, labels: usize) -> f64 {
        let (mut met, mut groups) = (0.0, 1.0);
        for _ in 1..self.depth {
            met += f64::min(self.beam as f64, groups) * branching as f64;
            groups *= branching as f64;
        }
        met + f64::min(self.beam as f64, groups) * labels as f64 / groups
    }

    /// How the embedding is found.
    pub(super) fn embedding(&self, shape: Shape) -> Rembrandt {
        let k = self.projected(shape).unwrap_or(COMPARED.min(shape.d)).min(shape.c);
        Rembrandt { ridge: self.ridge, bias: true, seed: self.seed, ..Rembrandt::new(k) }
    }

    /// Bytes that a fit takes besides the data, at its peak.
    pub fn memory(&self, data: &Dataset) -> u64 {
        let shape = data.shape();
        let embedding = self.embedding(shape);
        // The divided rows, as data and by themselves, and an order of the examples with its keys.
        let copies = 2.0 * data.bytes() as f64 + 8.0 * data.nnz(Side::X) as f64 + 32.0 * shape.n as f64;
        let folds = match self.affinity {
            Affinity::Embedding => 0.0,
            Affinity::Confusion => data.bytes() as f64 + 8.0 * (shape.n * embedding.k) as f64,
        };
        // A number of a scorer comes with its squared gradients, and rows are padded to at most twice their length.
        // Training begins when the embedding is done.
        let scorers = 16.0 * self.numbers(shape);
        (copies + scorers.max(folds)) as u64 + embedding.memory(shape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: Shape = Shape { n: 10, d: 10, c: 10 };

    #[test]
    fn bad_parameters_are_named() {
        type Change = fn(&mut LabelTreeParams);
        let cases: [(&str, Change); 12] = [
            ("depth", |p| p.depth = 0),
            ("depth", |p| p.depth = 17),
            ("branching", |p| p.branching = Some(1)),
            ("beam", |p| p.beam = 0),
            ("margin", |p| p.margin = -1.0),
            ("margin", |p| p.margin = f32::INFINITY),
            ("rank", |p| p.rank = Some(0)),
            ("ridge", |p| p.ridge = f64::NAN),
            ("epochs", |p| p.epochs = 0),
            ("epochs", |p| p.epochs = 1001),
            ("step", |p| p.step = 0.0),
            ("step", |p| p.step = f32::NAN),
        ];
        assert!(LabelTreeParams::default().check(SHAPE).is_ok());
        for (expected, change) in cases {
            let mut params = LabelTreeParams::default();
            change(&mut params);
            match params.check(SHAPE) {
                Err(Error::Parameter { name, .. }) => assert_eq!(name, expected),
                other => panic!("{expected}: {other:?}"),
            }
        }
        assert!(LabelTreeParams::default().check(Shape { c: 0, ..SHAPE }).is_err());
    }

    #[test]
    fn what_does_not_fit_is_refused_with_its_size() {
        let large = Shape { n: 1000, d: 200_000, c: 50_000 };
        assert!(LabelTreeParams::default().check(large).is_ok());
        let refused = LabelTreeParams { rank: Some(200_000), ..Default::default() }.check(large);
        let message = refused.unwrap_err().to_string();
        assert!(message.starts_with("rank: scorers of 200001 numbers for each of 50000 labels take 8"), "{message}");
    }

    #[test]
    fn defaults_go_by_the_data() {
        let params = LabelTreeParams::default();
        assert_eq!((params.branching(1000), params.branching(1)), (12, 2));
        assert_eq!(LabelTreeParams { branching: Some(7), ..params.clone() }.branching(1000), 7);
        assert_eq!(params.projected(Shape { n: 1, d: 512, c: 9 }), None);
        assert_eq!(params.projected(Shape { n: 1, d: 513, c: 900 }), Some(100));
        assert_eq!(params.projected(Shape { n: 1, d: 513, c: 9 }), Some(9));
    }

    #[test]
    fn branching_meets_the_fewest_scorers() {
        let chosen = |depth, beam, labels| LabelTreeParams { depth, beam, ..Default::default() }.branching(labels);
        // Narrow beams: b + m·c/b is least at √(m·c), and b + (m·b + m·c/b²) at the third root of 2·m·c/(1 + m).
        assert_eq!([chosen(2, 1, 10_000), chosen(2, 4, 10_000)], [100, 200]);
        assert_eq!([chosen(3, 1, 1000), chosen(3, 6, 1000)], [10, 12]);
        // Beams that are wider than a level follow all of it: 2 + 4 + 10, and 2 + 50.
        assert_eq!([chosen(3, 6, 10), chosen(2, 1 << 20, 50)], [2, 2]);
        let params = LabelTreeParams { depth: 2, beam: 4, ..Default::default() };
        assert_eq!(params.scorers_met(200, 10_000), 200.0 + 4.0 * 50.0);
        assert_eq!(LabelTreeParams { depth: 2, beam: 1 << 20, ..params }.branching(usize::MAX >> 11), 2);
    }
}
