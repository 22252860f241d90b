//! The methods that can be compared.

use rembrandt::Shape;
use rembrandt::embed::Method as Embedding;

/// A method as it is listed and described.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ComparedMethod {
    /// As typed.
    pub name: &'static str,
    /// Its embedding, which has a k; trees have none.
    pub embedding: Option<Embedding>,
    /// The method in a sentence.
    pub what: &'static str,
    /// Where it comes from.
    pub paper: &'static str,
}

/// All methods, in the order in which they are compared.
pub const METHODS: [ComparedMethod; 10] = [
    ComparedMethod {
        name: "rembrandt",
        embedding: Some(Embedding::Rembrandt),
        what: "the labels that features can tell, embedded by randomized regression; logistic head",
        paper: "Mineiro, Karampatziakis: Fast Label Embeddings for Extremely Large Output Spaces. ICLR workshop 2015",
    },
    ComparedMethod {
        name: "cs",
        embedding: Some(Embedding::Cs),
        what: "a random embedding of the labels; logistic head",
        paper: "the CS+LR of Mineiro, Karampatziakis 2015",
    },
    ComparedMethod {
        name: "cs-omp",
        embedding: Some(Embedding::CsOmp),
        what: "compressed sensing: random projections of the labels, regressions to them, orthogonal matching pursuit",
        paper: "Hsu, Kakade, Langford, Zhang: Multi-Label Prediction via Compressed Sensing. NIPS 2009",
    },
    ComparedMethod {
        name: "pca",
        embedding: Some(Embedding::Pca),
        what: "principal components of the features, found without looking at labels; logistic head",
        paper: "the PCA+LR of Mineiro, Karampatziakis 2015",
    },
    ComparedMethod {
        name: "plst",
        embedding: Some(Embedding::Plst),
        what: "principal label space: singular vectors of the centred labels, regression, linear decoding",
        paper: "Tai, Lin: Multilabel Classification with Principal Label Space Transformation. Neural Computation 2012",
    },
    ComparedMethod {
        name: "cplst",
        embedding: Some(Embedding::Cplst),
        what: "principal label space of what features can tell, linear decoding",
        paper: "Chen, Lin: Feature-aware Label Space Dimension Reduction for Multi-label Classification. NIPS 2012",
    },
    ComparedMethod {
        name: "lomtree",
        embedding: None,
        what: "a tree of online classifiers, logarithmic in the number of classes",
        paper: "Choromanska, Langford: Logarithmic Time Online Multiclass Prediction. NIPS 2015",
    },
    ComparedMethod {
        name: "fastxml",
        embedding: None,
        what: "an ensemble of trees whose nodes are split by what ranks labels best",
        paper: "Prabhu, Varma: FastXML: A Fast, Accurate and Stable Tree-classifier for Extreme Multi-label Learning. \
                KDD 2014",
    },
    ComparedMethod {
        name: "lpsr",
        embedding: None,
        what: "a partition of the inputs with few labels in each part, ranked by naive Bayes",
        paper: "Weston, Makadia, Yee: Label Partitioning for Sublinear Ranking. ICML 2013",
    },
    ComparedMethod {
        name: "label-tree",
        embedding: None,
        what: "a tree of label sets that are confused with each other, descended greedily",
        paper: "Bengio, Weston, Grangier: Label Embedding Trees for Large Multi-Class Tasks. NIPS 2010",
    },
];

impl ComparedMethod {
    /// Dimensions that it can have at most.
    pub(super) fn most(&self, shape: Shape) -> usize {
        self.embedding.map_or(0, |embedding| embedding.most(shape).0.min(shape.d))
    }
}

/// A method on the list, perhaps with a k of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contestant {
    /// The method.
    pub method: ComparedMethod,
    /// Its own k.
    pub k: Option<usize>,
}
