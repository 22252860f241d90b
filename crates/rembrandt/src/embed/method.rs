//! [`Method`]: Rembrandt, and the linear methods that its paper and the literature compare it with. All of them train,
//! predict and evaluate by the same code.
//!
//! | method | E, the embedding of the labels | P, the projection of the features |
//! |---|---|---|
//! | [`Rembrandt`](Method::Rembrandt) | what the features can tell of the labels | ridge regression on Y·E |
//! | [`Cs`](Method::Cs), [`CsOmp`](Method::CsOmp) | random | the same |
//! | [`Plst`](Method::Plst) | what the labels vary in most, whatever the features | the same, on shifted data |
//! | [`Cplst`](Method::Cplst) | as Rembrandt, of data shifted to mean 0 | the same |
//! | [`Pca`](Method::Pca) | ridge regression of Y on h | what the features vary in most, whatever the labels |

use serde::{Deserialize, Serialize};

use crate::Shape;

/// A way to embed labels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// The top eigenvectors of M = YᵀWX(XᵀWX + ρI)⁻¹XᵀWY.
    #[default]
    Rembrandt,
    /// Random rows.
    Cs,
    /// Random rows of length 1, from which matching pursuit finds the labels again: compressed sensing.
    CsOmp,
    /// Principal components of the features.
    Pca,
    /// Principal label space transformation: principal components of the labels.
    Plst,
    /// Conditional principal label space transformation: Rembrandt on data shifted to mean 0.
    Cplst,
}

impl Method {
    /// Its name, as it is written on the command line and in model files.
    pub fn name(self) -> &'static str {
        match self {
            Method::Rembrandt => "rembrandt",
            Method::Cs => "cs",
            Method::CsOmp => "cs-omp",
            Method::Pca => "pca",
            Method::Plst => "plst",
            Method::Cplst => "cplst",
        }
    }

    /// Whether it comes with a way from h to labels of its own, and needs no head that is trained.
    pub fn decodes(self) -> bool {
        matches!(self, Method::CsOmp | Method::Plst | Method::Cplst)
    }

    /// Whether the projection is fitted to the labels. Then h of training examples is better than that of new ones.
    pub fn fits_labels(self) -> bool {
        self != Method::Pca
    }

    /// Whether finding the basis takes regressions, so that a good start spares much.
    pub(crate) fn regresses_to_find(self) -> bool {
        matches!(self, Method::Rembrandt | Method::Cplst)
    }

    /// Whether features and labels are shifted to mean 0.
    pub fn centres(self) -> bool {
        matches!(self, Method::Pca | Method::Plst | Method::Cplst)
    }

    /// Dimensions that there can be, and of what they are at most as many.
    pub fn most(self, shape: Shape) -> (usize, &'static str) {
        if self == Method::Pca { (shape.d, "features") } else { (shape.c, "labels") }
    }
}
