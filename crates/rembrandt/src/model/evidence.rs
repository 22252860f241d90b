//! What single features say of labels, in a model file.

use std::ops::Range;

use safetensors::Dtype;
use serde::{Deserialize, Serialize};

use super::container::{Container, damaged};
use super::layout::{Description, HeadKind};
use crate::Result;
use crate::evidence::EvidenceRef;

/// What the metadata say of the evidence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct EvidenceKind {
    /// What it is multiplied with.
    pub gain: f32,
}

/// Where evidence lies in a file.
#[derive(Debug)]
pub(super) struct StoredEvidence {
    gain: f32,
    starts: Range<usize>,
    labels: Range<usize>,
    weights: Range<usize>,
}

impl StoredEvidence {
    /// Finds and checks the evidence of a model with d features and c trained labels.
    pub fn find(
        file: &Container<'_>,
        map: &[u8],
        description: &Description,
        (d, c): (usize, usize),
    ) -> Result<Option<StoredEvidence>> {
        let Some(EvidenceKind { gain }) = description.evidence else { return Ok(None) };
        if !matches!(description.head, HeadKind::Linear | HeadKind::RandomFeatures { .. }) {
            return Err(damaged(file.path, "it has evidence, but its head has no use for it"));
        }
        let place = |name: &str, dtype: Dtype| match file.locate(name, dtype) {
            Some((&[_], bytes)) => Ok(bytes),
            _ => Err(file.missing(name)),
        };
        let found = StoredEvidence {
            gain,
            starts: place("evidence_starts", Dtype::U64)?,
            labels: place("evidence_labels", Dtype::U32)?,
            weights: place("evidence_weights", Dtype::BF16)?,
        };
        let Some(evidence) = found.try_look(map) else {
            return Err(damaged(file.path, "its evidence is not aligned"));
        };
        evidence.check(d, c).map_err(|what| damaged(file.path, what))?;
        Ok(Some(found))
    }

    /// The evidence in the bytes of its file.
    pub fn look<'a>(&self, map: &'a [u8]) -> EvidenceRef<'a> {
        self.try_look(map).expect("alignment was checked on opening")
    }

    fn try_look<'a>(&self, map: &'a [u8]) -> Option<EvidenceRef<'a>> {
        Some(EvidenceRef {
            gain: self.gain,
            starts: bytemuck::try_cast_slice(&map[self.starts.clone()]).ok()?,
            labels: bytemuck::try_cast_slice(&map[self.labels.clone()]).ok()?,
            weights: bytemuck::try_cast_slice(&map[self.weights.clone()]).ok()?,
        })
    }
}
