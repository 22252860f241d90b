//! [`OneVsRestWeights`]: the weights of the one-vs-rest scorers, stored so that few of them are read for an example.

use super::candidates::{Candidate, RankerMemory};
use super::packed_matrix::PackedMatrix;

/// A label that is cleared costs about this share of an entry.
const CLEARED: f64 = 1.0 / 16.0;

/// The weights w of all labels.
///
/// By labels, what is read for an example are the weights of its candidates, whatever its features: good where documents are
/// long, or frequent words speak for very many labels. By features, it is their weights for all labels: good where documents
/// are short and labels few.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum OneVsRestWeights {
    ByLabel(PackedMatrix),
    ByFeature(PackedMatrix),
}

impl OneVsRestWeights {
    /// Stores the features of each label, ascending, with their weights, in the order in which `examples`, given by
    /// features and candidates, read fewer of them. Nothing if there are too many.
    pub fn new<'a>(
        labels: &[Vec<(u32, f32)>],
        d: usize,
        examples: impl Iterator<Item = (&'a [u32], &'a [Candidate])>,
    ) -> Option<OneVsRestWeights> {
        let mut counts = vec![0u32; d];
        labels.iter().flatten().for_each(|(feature, _)| counts[*feature as usize] += 1);
        let (mut by_label, mut by_feature) = (0.0, 0.0);
        for (features, candidates) in examples {
            by_label += candidates.iter().map(|c| labels[c.label as usize].len() as f64).sum::<f64>();
            by_feature += features.iter().map(|feature| f64::from(counts[*feature as usize])).sum::<f64>();
            by_feature += CLEARED * labels.len() as f64;
        }
        if by_label <= by_feature {
            return PackedMatrix::new(labels).map(OneVsRestWeights::ByLabel);
        }
        let mut features: Vec<Vec<(u32, f32)>> =
            counts.iter().map(|count| Vec::with_capacity(*count as usize)).collect();
        for (label, list) in (0..).zip(labels) {
            list.iter().for_each(|(feature, weight)| features[*feature as usize].push((label, *weight)));
        }
        PackedMatrix::new(&features).map(OneVsRestWeights::ByFeature)
    }

    /// The same with a label more, of which nothing is known.
    pub fn with_label(&self) -> OneVsRestWeights {
        match self {
            OneVsRestWeights::ByLabel(matrix) => {
                let rows = [matrix.to_rows(), vec![Vec::new()]].concat();
                OneVsRestWeights::ByLabel(PackedMatrix::new(&rows).expect("as many weights as before"))
            }
            by_feature @ OneVsRestWeights::ByFeature(_) => by_feature.clone(),
        }
    }

    pub fn matrix(&self) -> &PackedMatrix {
        match self {
            OneVsRestWeights::ByLabel(matrix) | OneVsRestWeights::ByFeature(matrix) => matrix,
        }
    }

    /// Checks weights from a file, of `d` features and `c` labels.
    pub fn check(&self, d: usize, c: usize) -> Result<(), &'static str> {
        match self {
            OneVsRestWeights::ByLabel(matrix) => matrix.check(c, d),
            OneVsRestWeights::ByFeature(matrix) => matrix.check(d, c),
        }
    }

    /// The weight of a feature for a label.
    pub fn weight(&self, feature: usize, label: usize) -> f32 {
        match self {
            OneVsRestWeights::ByLabel(matrix) => matrix.weight(label, feature as u32),
            OneVsRestWeights::ByFeature(matrix) => matrix.weight(feature, label as u32),
        }
    }

    /// Asks the scorers of the candidates of an example.
    pub fn score(&self, ids: &[u32], values: &[f32], candidates: &mut [Candidate], memory: &mut RankerMemory) {
        match self {
            OneVsRestWeights::ByLabel(matrix) => {
                let x = &mut memory.damped;
                ids.iter().zip(values).for_each(|(id, value)| x[*id as usize] = *value);
                for candidate in candidates {
                    candidate.views.one_vs_rest = matrix.dot(candidate.label as usize, x);
                }
                ids.iter().for_each(|id| x[*id as usize] = 0.0);
            }
            OneVsRestWeights::ByFeature(matrix) => {
                let sums = &mut memory.scores;
                for (feature, value) in ids.iter().zip(values) {
                    matrix.for_each(*feature as usize, |label, weight| sums[label as usize] += value * weight);
                }
                for candidate in candidates {
                    candidate.views.one_vs_rest = sums[candidate.label as usize];
                }
                sums.fill(0.0);
            }
        }
    }
}
