//! Opening a model file: it is mapped, its large parts stay where they are, everything is checked once.

use std::path::Path;
use std::sync::Arc;

use bytemuck::Pod;
use memmap2::Mmap;
use safetensors::Dtype;

use super::Model;
use super::container::{self, Container, damaged};
use super::contents::{Contents, Preprocessing, TrainingStats, finite};
use super::layout::{
    Description, FORMAT, HeadDescription, PackedNames, PreprocessingDescription, RANKER_MATRICES, RankerDescription,
    TextDescription,
};
use super::names::ModelNames;
use crate::data::featurizer::{Featurizer, FeaturizerParts, SparseTransform, Weighting};
use crate::io::mmap;
use crate::linalg::buffer::Buffer;
use crate::linalg::matrix::Matrix;
use crate::linalg::table::{NumberFormat, Numbers, Table};
use crate::score::head::{Head, RandomFeatures};
use crate::score::ranker::inverted_index::InvertedIndex;
use crate::score::ranker::one_vs_rest_weights::OneVsRestWeights;
use crate::score::ranker::packed_matrix::{Gaps, PackedMatrix};
use crate::score::ranker::similar_examples::SimilarExamples;
use crate::score::ranker::{self, Ranker};
use crate::tree::{self, Trees};
use crate::{Error, Result};

impl Model {
    /// Maps a model file and checks all of it.
    ///
    /// # Errors
    /// If the file cannot be read, is not a model, is damaged, or comes from a newer version.
    pub fn open(path: impl AsRef<Path>) -> Result<Model> {
        let path = path.as_ref();
        Model::mapped(path, Arc::new(mmap::map_whole(path)?))
    }

    /// A model from the bytes of its file, which are copied and checked.
    ///
    /// # Errors
    /// If they are not those of a model, are damaged, or come from a newer version.
    pub fn from_bytes(bytes: &[u8]) -> Result<Model> {
        let path = Path::new("the bytes");
        Model::mapped(path, Arc::new(mmap::copied(bytes).map_err(Error::io(path))?))
    }

    fn mapped(path: &Path, map: Arc<Mmap>) -> Result<Model> {
        let container = Container::open(path, &map, &FORMAT)?;
        let file = ModelFile { container: &container, map: &map };
        let contents = file.contents()?;
        Ok(Model::from_checked(contents))
    }

    /// Whether a file begins like a model; `false` for one that cannot be read.
    pub fn is_model(path: impl AsRef<Path>) -> bool {
        let path = path.as_ref();
        mmap::map_whole(path).is_ok_and(|bytes| container::begins(path, &bytes, &FORMAT))
    }
}

/// A model file with its parts.
struct ModelFile<'a> {
    container: &'a Container<'a>,
    map: &'a Arc<Mmap>,
}

impl ModelFile<'_> {
    fn damaged(&self, what: &str) -> Error {
        damaged(self.container.path, what)
    }

    fn contradiction(&self) -> Error {
        self.damaged("the sizes in it contradict each other")
    }

    fn contents(&self) -> Result<Contents> {
        let file = self.container;
        let description: Description = file.json("model")?;
        let format = description.number_format;
        let (labels, projection) = (self.table("labels", format)?, self.table("projection", format)?);
        let (c, k, d, added) = (labels.rows(), labels.cols(), projection.rows(), description.added);
        let trees = matches!(description.head, HeadDescription::Trees { .. });
        let too_many = c > u32::MAX as usize || d > u32::MAX as usize;
        if c == 0 || d == 0 || (k == 0) != trees || added >= c || too_many || projection.cols() != k {
            return Err(self.contradiction());
        }
        let head = self.head(&description, (c - added, k))?;
        // The first tensor with a place for every label: it proves that there are so many.
        let counts: Vec<u64> = file.vector("counts", Dtype::U64, c)?;
        self.refuse_earlier(&description)?;
        let ranker = description.ranker.map(|ranker| self.ranker(ranker, &counts[..c - added], d)).transpose()?;
        if ranker.is_some() && !matches!(description.head, HeadDescription::LeastSquares) {
            return Err(self.damaged("it has a ranker beside a head"));
        }
        let trees = self.trees(&description.head, (d, c))?;
        let added_weights = if added > 0 { file.matrix("added_weights")? } else { Matrix::zeros(0, k + 1) };
        let covariance = file.matrix("covariance")?;
        let squares = (covariance.rows(), covariance.cols(), added_weights.rows(), added_weights.cols());
        if squares != (k, k, added, k + 1) {
            return Err(self.contradiction());
        }
        let feature_names = ModelNames::read(file, "feature_names", d)?;
        let contents = Contents {
            preprocessing: self.preprocessing(&description.preprocessing, feature_names.as_ref(), d)?,
            labels,
            projection,
            intercept: self.numbers("intercept", k)?,
            spectrum: file.vector("spectrum", Dtype::F64, k)?,
            head,
            ranker,
            trees,
            calibration: description.calibration,
            thresholds: self.numbers("thresholds", c)?,
            stats: TrainingStats {
                examples: description.examples,
                counts,
                mean: self.numbers("mean", k)?,
                covariance,
                words: description.words,
            },
            added_weights,
            label_names: ModelNames::read(file, "label_names", c)?,
            feature_names,
            params: file.json("params")?,
            report: file.json("report")?,
        };
        contents.check_small().map_err(|_| self.damaged("a number in it is out of range"))?;
        Ok(contents)
    }

    /// Refuses the rankers of earlier builds.
    fn refuse_earlier(&self, description: &Description) -> Result<()> {
        let reason = if description.evidence.is_some() || description.earlier_ranker.is_some() {
            "has a ranker of a format version from 3 to 6, which is read no more: train it again"
        } else if description.shortlist.is_some() {
            "has lists of likely labels, which are read no more: train it again"
        } else {
            return Ok(());
        };
        Err(Error::file(self.container.path, reason))
    }

    fn trees(&self, head: &HeadDescription, size: (usize, usize)) -> Result<Option<Arc<Trees>>> {
        let HeadDescription::Trees { method } = *head else { return Ok(None) };
        let trees = Trees::from_arrays(method, &Stored32(self.container), size).map_err(|what| self.damaged(&what))?;
        Ok(Some(Arc::new(trees)))
    }

    fn head(&self, description: &Description, (trained, k): (usize, usize)) -> Result<Head> {
        let weights = |width: usize| {
            let weights = self.table("weights", description.number_format)?;
            match (weights.rows(), weights.cols()) == (trained, width + 1) {
                true => Ok(weights),
                false => Err(self.contradiction()),
            }
        };
        Ok(match description.head {
            HeadDescription::LeastSquares | HeadDescription::Trees { .. } => Head::LeastSquares,
            HeadDescription::Pursuit { atoms: 0 } => return Err(self.damaged("its pursuit takes no labels")),
            HeadDescription::Pursuit { atoms } => Head::Pursuit { atoms },
            HeadDescription::Linear => Head::Linear { weights: weights(k)? },
            HeadDescription::RandomFeatures { least_squares } => {
                let directions = self.container.matrix("directions")?;
                let count = directions.cols();
                if directions.rows() != k {
                    return Err(self.contradiction());
                }
                if !finite(directions.as_slice()) {
                    return Err(self.damaged("tensor directions holds numbers that are not finite"));
                }
                let features = RandomFeatures { directions, phases: self.numbers("phases", count)? };
                Head::RandomFeatures { features, weights: weights(count)?, least_squares }
            }
        })
    }

    fn ranker(&self, description: RankerDescription, counts: &[u64], d: usize) -> Result<Ranker> {
        let RankerDescription { proposals, first, combination, unseen, weights_by_feature, lifted, similar_examples } =
            description;
        let [associations, names, one_vs_rest] = RANKER_MATRICES.map(|names| self.packed_matrix(names));
        let offsets = match lifted {
            true => self.numbers("ranker_offsets", counts.len())?,
            false => Vec::new(),
        };
        let ranker = Ranker {
            proposals,
            first,
            combination,
            unseen,
            associations: associations?,
            one_vs_rest: match weights_by_feature {
                true => OneVsRestWeights::ByFeature(one_vs_rest?),
                false => OneVsRestWeights::ByLabel(one_vs_rest?),
            },
            names: names?,
            similar: if similar_examples { Some(self.similar_examples()?) } else { None },
            log_counts: ranker::data::log_counts(counts),
            offsets,
        };
        ranker.check(d, counts.len()).map_err(|what| self.damaged(what))?;
        Ok(ranker)
    }

    fn packed_matrix(&self, names: PackedNames) -> Result<PackedMatrix> {
        let gaps = match self.container.locate(names.gaps, Dtype::U8) {
            Some(_) => Gaps::Narrow(self.buffer(names.gaps, Dtype::U8)?),
            None => Gaps::Wide(self.buffer(names.gaps, Dtype::U16)?),
        };
        Ok(PackedMatrix {
            starts: self.buffer(names.starts, Dtype::U32)?,
            gaps,
            weights: self.buffer(names.weights, Dtype::I8)?,
            units: self.buffer(names.units, Dtype::F32)?,
        })
    }

    /// The training examples of a ranker.
    fn similar_examples(&self) -> Result<SimilarExamples> {
        let index = InvertedIndex {
            starts: self.buffer("index_starts", Dtype::U64)?,
            examples: self.buffer("index_examples", Dtype::U32)?,
            values: self.buffer("index_values", Dtype::BF16)?,
        };
        Ok(SimilarExamples {
            index,
            starts: self.buffer("example_label_starts", Dtype::U64)?,
            labels: self.buffer("example_labels", Dtype::U32)?,
            weights: self.buffer("example_weights", Dtype::F32)?,
        })
    }

    /// A large matrix, used in place.
    fn table(&self, name: &str, format: NumberFormat) -> Result<Table> {
        let dtype = match format {
            NumberFormat::F32 => Dtype::F32,
            NumberFormat::Bf16 => Dtype::BF16,
        };
        let Some((&[rows, cols], bytes)) = self.container.locate(name, dtype) else {
            return Err(self.container.missing(name));
        };
        let numbers = match format {
            NumberFormat::F32 => Buffer::mapped(self.map, bytes).map(Numbers::F32),
            NumberFormat::Bf16 => Buffer::mapped(self.map, bytes).map(Numbers::Bf16),
        };
        let Some(numbers) = numbers else { return Err(self.damaged(&format!("tensor {name} is not aligned"))) };
        let table = Table::new(rows, cols, numbers).ok_or_else(|| self.contradiction())?;
        match table.is_finite() {
            true => Ok(table),
            false => Err(self.damaged(&format!("tensor {name} holds numbers that are not finite"))),
        }
    }

    /// A long list, used in place.
    fn buffer<T: Pod>(&self, name: &str, dtype: Dtype) -> Result<Buffer<T>> {
        let Some((&[_], bytes)) = self.container.locate(name, dtype) else {
            return Err(self.container.missing(name));
        };
        Buffer::mapped(self.map, bytes).ok_or_else(|| self.damaged(&format!("tensor {name} is not aligned")))
    }

    /// A short list of finite numbers.
    fn numbers(&self, name: &str, len: usize) -> Result<Vec<f32>> {
        let numbers = self.container.vector(name, Dtype::F32, len)?;
        match finite(&numbers) {
            true => Ok(numbers),
            false => Err(self.damaged(&format!("tensor {name} holds numbers that are not finite"))),
        }
    }

    fn preprocessing(
        &self,
        description: &PreprocessingDescription,
        names: Option<&ModelNames>,
        d: usize,
    ) -> Result<Preprocessing> {
        let idf = || match self.container.locate("idf", Dtype::F32) {
            Some((&[len], _)) => self.container.vector::<f32>("idf", Dtype::F32, len),
            _ => Err(self.container.missing("idf")),
        };
        match description {
            PreprocessingDescription::AsIs => Ok(Preprocessing::AsIs),
            PreprocessingDescription::Sparse { tfidf, l2 } => {
                let tfidf = if *tfidf { Some(idf()?) } else { None };
                let transform = SparseTransform { tfidf, l2: *l2 };
                transform.check().map_err(|e| self.damaged(&e.to_string()))?;
                Ok(Preprocessing::Sparse(transform))
            }
            PreprocessingDescription::Text(text) => {
                let TextDescription { params, texts, records } = &**text;
                let names = names.iter().flat_map(|names| names.iter()).map(str::to_owned).collect();
                let idf = if params.weighting == Weighting::TfIdf { idf()? } else { Vec::new() };
                let (params, records) = (params.clone(), records.clone());
                let parts = FeaturizerParts { params, texts: *texts, names, idf, records };
                let featurizer = Featurizer::from_parts(parts).map_err(|e| self.damaged(&e.to_string()))?;
                if featurizer.features() != d {
                    return Err(self.damaged("its featurizer is that of another model"));
                }
                Ok(Preprocessing::Text(Arc::new(featurizer)))
            }
        }
    }
}

/// The arrays of trees, as a file holds them.
struct Stored32<'a>(&'a Container<'a>);

impl Stored32<'_> {
    fn read<T: Pod>(&self, name: &str, dtype: Dtype) -> std::result::Result<Vec<T>, String> {
        let Some((&[len], _)) = self.0.locate(name, dtype) else { return Err(tree::missing(name)) };
        self.0.vector(name, dtype, len).map_err(|_| tree::missing(name))
    }
}

impl tree::ArraySource for Stored32<'_> {
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
