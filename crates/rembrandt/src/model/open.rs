//! A model file, mapped: its large matrices stay where they are, everything is checked once.

use std::borrow::Cow;
use std::path::Path;

use memmap2::Mmap;
use safetensors::Dtype;
use serde_json::Value;

use super::container::{self, Container, damaged};
use super::evidence::StoredEvidence;
use super::layout::{Description, FORMAT, HeadKind, Layout, PreprocessingKind};
use super::names::{self, Names};
use super::parts::{Preprocessing, TrainingStats, finite};
use super::precision::{Place, Precision, Table};
use super::shortlist::StoredLists;
use crate::data::featurizer::{Featurizer, FeaturizerParts, SparseTransform, Weighting};
use crate::io::mmap;
use crate::linalg::matrix::Matrix;
use crate::score::head::Calibration;
use crate::score::ranker::EvidenceRef;
use crate::score::shortlist::{Lists, Width};
use crate::tree::{self, Trees};
use crate::{Error, Result};

/// The size of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelShape {
    /// Number of features.
    pub d: usize,
    /// Number of labels, those added later among them.
    pub c: usize,
    /// Dimension of the embedding.
    pub k: usize,
}

/// A trained model, opened.
#[derive(Debug)]
pub struct Model {
    map: Mmap,
    shape: ModelShape,
    description: Description,
    preprocessing: Preprocessing,
    labels: Place,
    projection: Place,
    weights: Option<Place>,
    random: Option<(Place, Vec<f32>)>,
    shortlist: Option<StoredLists>,
    evidence: Option<StoredEvidence>,
    trees: Option<Trees>,
    added_weights: Matrix,
    intercept: Vec<f32>,
    spectrum: Vec<f64>,
    thresholds: Vec<f32>,
    background: TrainingStats,
    label_names: Option<Names>,
    feature_names: Option<Names>,
    params: Value,
    report: Value,
}

impl Model {
    /// Maps a model file and checks all of it.
    pub fn open(path: impl AsRef<Path>) -> Result<Model> {
        let path = path.as_ref();
        let map = mmap::map_whole(path)?;
        let file = Container::open(path, &map, &FORMAT)?;
        let description: Description = file.json("model")?;
        let contradiction = || damaged(path, "the sizes in it contradict each other");
        let precision = description.precision;
        let labels = Place::find(&file, "labels", precision)?;
        let projection = Place::find(&file, "projection", precision)?;
        let (c, k) = labels.size();
        let (d, _) = projection.size();
        let added = description.added;
        let method = if let HeadKind::Trees { method } = description.head { Some(method) } else { None };
        if c == 0
            || d == 0
            || (k == 0) != method.is_some()
            || added >= c
            || c > u32::MAX as usize
            || d > u32::MAX as usize
        {
            return Err(contradiction());
        }
        labels.check(&file, &map, "labels", (c, k))?;
        projection.check(&file, &map, "projection", (d, k))?;
        let mut width = k + 1;
        let mut random = None;
        if let HeadKind::RandomFeatures { .. } = description.head {
            let directions = Place::find(&file, "directions", Precision::F32)?;
            let count = directions.size().1;
            directions.check(&file, &map, "directions", (k, count))?;
            random = Some((directions, numbers(&file, "phases", count)?));
            width = count + 1;
        }
        let weights = match description.head {
            HeadKind::LeastSquares | HeadKind::Pursuit { .. } | HeadKind::Trees { .. } => None,
            _ => Some(Place::find(&file, "weights", precision)?),
        };
        if let Some(weights) = &weights {
            weights.check(&file, &map, "weights", (c - added, width))?;
        }
        // The first tensor with a place for every label: it proves that there are so many.
        let counts = file.vector("counts", Dtype::U64, c)?;
        let shortlist = StoredLists::find(&file, &map, &description, (d, c - added, k))?;
        let evidence = StoredEvidence::find(&file, &map, &description, (d, c - added))?;
        let trees = method.map(|method| Trees::from_arrays(method, &Stored32(&file), (d, c))).transpose();
        let trees = trees.map_err(|what| damaged(path, &what))?;
        let added_weights = if added > 0 { file.matrix("added_weights")? } else { Matrix::zeros(0, k + 1) };
        let covariance = file.matrix("covariance")?;
        let squares = (covariance.rows(), covariance.cols(), added_weights.rows(), added_weights.cols());
        if squares != (k, k, added, k + 1) {
            return Err(contradiction());
        }
        let spectrum: Vec<f64> = file.vector("spectrum", Dtype::F64, k)?;
        let Calibration { scale, shift, .. } = description.calibration;
        let blend = if let HeadKind::RandomFeatures { blend } = description.head { blend } else { 0.0 };
        let small = [covariance.as_slice(), added_weights.as_slice(), &[scale, shift, blend]];
        if !small.into_iter().all(finite) || !spectrum.iter().all(|v| v.is_finite()) || scale <= 0.0 {
            return Err(damaged(path, "a number in it is out of range"));
        }
        let background = TrainingStats {
            examples: description.examples,
            counts,
            mean: numbers(&file, "mean", k)?,
            covariance,
            words: description.words,
        };
        let feature_names = Names::read(&file, "feature_names", d)?;
        let preprocessing = preprocessing(&file, &description.preprocessing, feature_names.as_ref(), d)?;
        let shape = ModelShape { d, c, k };
        let (intercept, thresholds) = (numbers(&file, "intercept", k)?, numbers(&file, "thresholds", c)?);
        let label_names = Names::read(&file, "label_names", c)?;
        let (params, report) = (file.json("params")?, file.json("report")?);
        Ok(Model {
            map,
            shape,
            description,
            preprocessing,
            labels,
            projection,
            weights,
            random,
            shortlist,
            evidence,
            trees,
            added_weights,
            intercept,
            spectrum,
            thresholds,
            background,
            label_names,
            feature_names,
            params,
            report,
        })
    }

    /// Whether a file begins like a model; `false` for one that cannot be read.
    pub fn is_model(path: impl AsRef<Path>) -> bool {
        let path = path.as_ref();
        mmap::map_whole(path).is_ok_and(|bytes| container::begins(path, &bytes, &FORMAT))
    }

    /// Numbers of features, labels and dimensions.
    pub fn shape(&self) -> ModelShape {
        self.shape
    }

    /// Number of labels added after training: the last ones.
    pub fn added(&self) -> usize {
        self.description.added
    }

    /// How the large matrices are stored.
    pub fn precision(&self) -> Precision {
        self.description.precision
    }

    /// What happens to an example before the projection.
    pub fn preprocessing(&self) -> &Preprocessing {
        &self.preprocessing
    }

    /// The embedding of the labels, c×k.
    pub fn labels(&self) -> Table<'_> {
        self.labels.look(&self.map)
    }

    /// From features into the embedding, d×k.
    pub fn projection(&self) -> Table<'_> {
        self.projection.look(&self.map)
    }

    /// What kind of head it is.
    pub fn head(&self) -> HeadKind {
        self.description.head
    }

    /// The weights of a logistic head, a row for each label that was trained, the constant last.
    pub fn weights(&self) -> Option<Table<'_>> {
        self.weights.as_ref().map(|weights| weights.look(&self.map))
    }

    /// Directions and phases of the random features of the head.
    pub(super) fn random_features(&self) -> Option<(Table<'_>, &[f32])> {
        self.random.as_ref().map(|(directions, phases)| (directions.look(&self.map), &phases[..]))
    }

    /// The lists of likely labels, if there are any, and how to search them.
    pub(super) fn lists(&self) -> Option<(Lists<'_>, &StoredLists)> {
        self.shortlist.as_ref().map(|stored| (stored.look(&self.map), stored))
    }

    /// What single features say of labels, in a model that has it.
    pub(crate) fn evidence(&self) -> Option<EvidenceRef<'_>> {
        self.evidence.as_ref().map(|stored| stored.look(&self.map))
    }

    /// How wide a search for likely labels is, in a model that has lists of them.
    pub fn shortlist_width(&self) -> Option<Width> {
        self.shortlist.as_ref().map(StoredLists::width)
    }

    /// The trees, of a model that has them instead of an embedding.
    pub fn trees(&self) -> Option<&Trees> {
        self.trees.as_ref()
    }

    /// Refuses what only an embedding can answer.
    pub(super) fn check_embedding(&self) -> Result<()> {
        match self.trees {
            None => Ok(()),
            Some(_) => {
                let reason =
                    "the model is a model of trees, and this takes an embedding: train one with --method rembrandt";
                Err(Error::Data(reason.into()))
            }
        }
    }

    /// The weights of labels added after training, the constant last.
    pub(super) fn added_weights(&self) -> &Matrix {
        &self.added_weights
    }

    /// Added to Pᵀx.
    pub fn intercept(&self) -> &[f32] {
        &self.intercept
    }

    /// Eigenvalues of M.
    pub fn spectrum(&self) -> &[f64] {
        &self.spectrum
    }

    /// From scores to probabilities.
    pub fn calibration(&self) -> Calibration {
        self.description.calibration
    }

    /// Probability of each label from which it is predicted, for F1.
    pub fn thresholds(&self) -> &[f32] {
        &self.thresholds
    }

    /// What training knew of the data.
    pub fn training_stats(&self) -> &TrainingStats {
        &self.background
    }

    /// How the model was made.
    pub fn params(&self) -> &Value {
        &self.params
    }

    /// How that went.
    pub fn report(&self) -> &Value {
        &self.report
    }

    /// Names of the labels, by id.
    pub fn label_names(&self) -> Option<&Names> {
        self.label_names.as_ref()
    }

    /// Names of the features, by id; those of the featurizer for text models.
    pub fn feature_names(&self) -> Option<&Names> {
        self.feature_names.as_ref()
    }

    /// The weights of the features, if there are any.
    pub(super) fn idf(&self) -> Option<&[f32]> {
        match &self.preprocessing {
            Preprocessing::AsIs => None,
            Preprocessing::Sparse(transform) => transform.tfidf.as_deref(),
            Preprocessing::Text(featurizer) => Some(featurizer.idf()).filter(|idf| !idf.is_empty()),
        }
    }

    /// The name of a label or, without names, its id.
    ///
    /// # Panics
    /// If there is no such label.
    pub fn label_name(&self, id: usize) -> String {
        self.label_names.as_ref().map_or_else(|| id.to_string(), |names| names.name(id).to_owned())
    }

    /// The name of a feature or, without names, its id.
    ///
    /// # Panics
    /// If there is no such feature.
    pub fn feature_name(&self, id: usize) -> String {
        self.feature_names.as_ref().map_or_else(|| id.to_string(), |names| names.name(id).to_owned())
    }

    /// The id of a label given by its exact name or, if no label is named so, by its id.
    pub fn find_label(&self, text: &str) -> Result<usize> {
        names::find_label(text, self.shape.c, self.label_names.as_ref().map(|names| |id: usize| names.name(id)))
    }

    /// All that the file holds, for writing it again with changes. A model of trees has no use for that.
    pub(super) fn layout(&self) -> Layout<'_> {
        let bytes = |place: &Place| Cow::Borrowed(place.bytes(&self.map));
        Layout {
            description: self.description.clone(),
            params: &self.params,
            report: &self.report,
            size: (self.shape.c, self.shape.d, self.shape.k),
            background: &self.background,
            spectrum: &self.spectrum,
            intercept: &self.intercept,
            thresholds: &self.thresholds,
            idf: self.idf(),
            directions: self.random.as_ref().map(|(place, phases)| (bytes(place), &phases[..])),
            added_weights: self.added_weights.as_slice(),
            labels: bytes(&self.labels),
            projection: bytes(&self.projection),
            weights: self.weights.as_ref().map(bytes),
            shortlist: self.lists().map(|(lists, stored)| (lists, stored.direction())),
            evidence: self.evidence(),
            trees: Vec::new(),
            label_names: self.label_names.as_ref().map(|names| Cow::Borrowed(names.text())),
            feature_names: self.feature_names.as_ref().map(|names| Cow::Borrowed(names.text())),
        }
    }
}

/// The arrays of trees, as a file holds them.
struct Stored32<'a>(&'a Container<'a>);

impl Stored32<'_> {
    fn read<T: bytemuck::Pod>(&self, name: &str, dtype: Dtype) -> std::result::Result<Vec<T>, String> {
        let Some((&[len], _)) = self.0.locate(name, dtype) else { return Err(tree::missing(name)) };
        self.0.vector(name, dtype, len).map_err(|_| tree::missing(name))
    }
}

impl tree::Source for Stored32<'_> {
    fn has(&self, name: &'static str) -> bool {
        [Dtype::U32, Dtype::F32].into_iter().any(|dtype| self.0.locate(name, dtype).is_some())
    }

    fn u32s(&self, name: &'static str) -> std::result::Result<Vec<u32>, String> {
        self.read(name, Dtype::U32)
    }

    fn f32s(&self, name: &'static str) -> std::result::Result<Vec<f32>, String> {
        let numbers: Vec<f32> = self.read(name, Dtype::F32)?;
        if finite(&numbers) { Ok(numbers) } else { Err(format!("tensor {name} holds numbers that are not finite")) }
    }
}

/// A short tensor of finite numbers.
fn numbers(file: &Container<'_>, name: &str, len: usize) -> Result<Vec<f32>> {
    let numbers = file.vector(name, Dtype::F32, len)?;
    if !finite(&numbers) {
        return Err(damaged(file.path, &format!("tensor {name} holds numbers that are not finite")));
    }
    Ok(numbers)
}

fn preprocessing(
    file: &Container<'_>,
    kind: &PreprocessingKind,
    names: Option<&Names>,
    d: usize,
) -> Result<Preprocessing> {
    let idf = || match file.locate("idf", Dtype::F32) {
        Some((&[len], _)) => file.vector::<f32>("idf", Dtype::F32, len),
        _ => Err(file.missing("idf")),
    };
    match kind {
        PreprocessingKind::AsIs => Ok(Preprocessing::AsIs),
        PreprocessingKind::Sparse { tfidf, l2 } => {
            let tfidf = if *tfidf { Some(idf()?) } else { None };
            let transform = SparseTransform { tfidf, l2: *l2 };
            transform.check().map_err(|e| damaged(file.path, &e.to_string()))?;
            Ok(Preprocessing::Sparse(transform))
        }
        PreprocessingKind::Text { params, texts } => {
            let names = names.iter().flat_map(|names| names.iter()).map(str::to_owned).collect();
            let idf = if params.weighting == Weighting::TfIdf { idf()? } else { Vec::new() };
            let parts = FeaturizerParts { params: params.clone(), texts: *texts, names, idf };
            let featurizer = Featurizer::from_parts(parts).map_err(|e| damaged(file.path, &e.to_string()))?;
            if featurizer.features() != d {
                return Err(damaged(file.path, "its featurizer is that of another model"));
            }
            Ok(Preprocessing::Text(Box::new(featurizer)))
        }
    }
}
