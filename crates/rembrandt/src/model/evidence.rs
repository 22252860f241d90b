//! What single features say of labels, in a model file.

use std::ops::Range;

use safetensors::Dtype;
use serde::{Deserialize, Serialize};

use super::container::{Container, damaged};
use super::layout::{Description, HeadKind};
use crate::score::ranker::{EvidenceRef, SaidRef};
use crate::{Error, Result};

/// What the metadata say of the evidence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct EvidenceKind {
    /// What it is multiplied with.
    pub gain: f32,
    /// Labels that an example nominates; not there in version 3, whose evidence was of another kind.
    #[serde(default)]
    pub most: u32,
    /// What sums count beside separators.
    #[serde(default)]
    pub share: f32,
}

impl EvidenceKind {
    pub fn of(evidence: EvidenceRef<'_>) -> EvidenceKind {
        EvidenceKind { gain: evidence.gain, most: evidence.most, share: evidence.share }
    }
}

/// Where evidence lies in a file.
#[derive(Debug)]
pub(super) struct StoredEvidence {
    kind: EvidenceKind,
    sums: StoredSaid,
    separators: StoredSaid,
    constants: Range<usize>,
}

/// Where one of its matrices lies.
#[derive(Debug)]
struct StoredSaid {
    starts: Range<usize>,
    labels: Range<usize>,
    weights: Range<usize>,
}

impl StoredSaid {
    fn find(place: impl Fn(&str, Dtype) -> Result<Range<usize>>, name: &str) -> Result<StoredSaid> {
        Ok(StoredSaid {
            starts: place(&format!("{name}_starts"), Dtype::U64)?,
            labels: place(&format!("{name}_labels"), Dtype::U32)?,
            weights: place(&format!("{name}_weights"), Dtype::BF16)?,
        })
    }

    fn try_look<'a>(&self, map: &'a [u8]) -> Option<SaidRef<'a>> {
        Some(SaidRef {
            starts: bytemuck::try_cast_slice(&map[self.starts.clone()]).ok()?,
            labels: bytemuck::try_cast_slice(&map[self.labels.clone()]).ok()?,
            weights: bytemuck::try_cast_slice(&map[self.weights.clone()]).ok()?,
        })
    }
}

impl StoredEvidence {
    /// Finds and checks the evidence of a model with d features and c trained labels.
    pub fn find(
        file: &Container<'_>,
        map: &[u8],
        description: &Description,
        (d, c): (usize, usize),
    ) -> Result<Option<StoredEvidence>> {
        let Some(kind) = description.evidence else { return Ok(None) };
        if !matches!(description.head, HeadKind::Linear | HeadKind::RandomFeatures { .. }) {
            return Err(damaged(file.path, "it has evidence, but its head has no use for it"));
        }
        if kind.most == 0 {
            return Err(Error::file(
                file.path,
                "has evidence of format version 3, which is read no more: train it again",
            ));
        }
        let place = |name: &str, dtype: Dtype| match file.locate(name, dtype) {
            Some((&[_], bytes)) => Ok(bytes),
            _ => Err(file.missing(name)),
        };
        let found = StoredEvidence {
            kind,
            sums: StoredSaid::find(place, "evidence")?,
            separators: StoredSaid::find(place, "separator")?,
            constants: place("evidence_constants", Dtype::F32)?,
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
            gain: self.kind.gain,
            most: self.kind.most,
            share: self.kind.share,
            sums: self.sums.try_look(map)?,
            separators: self.separators.try_look(map)?,
            constants: bytemuck::try_cast_slice(&map[self.constants.clone()]).ok()?,
        })
    }
}
