//! Models made of random numbers, and what must hold for them.

mod add_label;
mod evaluate;
mod explain;
mod faults;
mod file;
mod golden;
mod memory;
mod predict;
mod ranker;
mod trees;

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::json;

use super::contents::Contents;
use super::{Model, Preprocessing, TrainingStats};
use crate::Run;
use crate::data::featurizer::{Featurizer, FeaturizerParams, SparseCounts};
use crate::linalg::csr::{Csr, CsrRef};
use crate::linalg::matrix::Matrix;
use crate::linalg::table::{NumberFormat, Table};
use crate::score::head::{Calibration, Head, Logistic, Loss, RandomFeatures};
use crate::score::ranker::data::log_counts;
use crate::score::ranker::inverted_index::InvertedIndex;
use crate::score::ranker::one_vs_rest_weights::OneVsRestWeights;
use crate::score::ranker::packed_matrix::PackedMatrix;
use crate::score::ranker::similar_examples::SimilarExamples;
use crate::score::ranker::{Combination, Proposals, Ranker};
use half::bf16;

/// Numbers from −1 to 1.
pub fn random(seed: u64) -> impl FnMut() -> f32 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    }
}

pub const KINDS: [&str; 8] = [
    "least-squares",
    "least-squares-softmax",
    "pursuit",
    "ilr",
    "softmax",
    "random-features",
    "ranker",
    "ranker-softmax",
];

/// 40 examples of 30 features and `c` labels, of different weights.
fn similar_examples(c: usize) -> SimilarExamples {
    let list = |f: usize| {
        let examples = (0..40u32).filter(|e| (f * 3 + *e as usize * 7).is_multiple_of(4));
        examples.map(|e| (e, bf16::from_f32(0.2 + (f % 5) as f32 / 10.0))).collect()
    };
    SimilarExamples {
        index: InvertedIndex::new((0..30).map(list).collect()),
        starts: (0..=40u64).collect::<Vec<u64>>().into(),
        labels: (0..40u32).map(|e| e % c as u32).collect::<Vec<u32>>().into(),
        weights: (0..40).map(|e| 0.5 + (e % 3) as f32).collect::<Vec<f32>>().into(),
    }
}

/// A ranker for 30 features and `c` labels that all are candidates.
fn ranker(c: usize, counts: &[u64]) -> Ranker {
    let mut draw = random(c as u64 + 3);
    let mut matrix = |rows: usize, columns: usize, least: f32| {
        let lists = (0..rows).map(|row| {
            let columns = (0..columns as u32).filter(|column| !(row + *column as usize).is_multiple_of(3));
            columns.collect::<Vec<_>>().into_iter().map(|column| (column, draw().max(least))).collect()
        });
        PackedMatrix::new(&lists.collect::<Vec<_>>()).unwrap()
    };
    let (associations, names) = (matrix(30, c, 0.01), matrix(30, c, 0.0));
    // Both ways to store the weights.
    let one_vs_rest = match c % 2 {
        0 => OneVsRestWeights::ByLabel(matrix(c, 30, -1.0)),
        _ => OneVsRestWeights::ByFeature(matrix(30, c, -1.0)),
    };
    Ranker {
        proposals: Proposals { by_words: 7, by_embedding: 1000, shortlist: 1000 },
        first: Combination::linear([-1.0, 0.0, 0.3, 0.5, 0.7, 0.1, 0.0, 0.0]),
        combination: Combination::linear([-1.0, 2.0, 0.3, 0.5, 0.7, 0.1, 0.6, 0.2]),
        unseen: Combination::linear([-1.0, 2.0, 0.3, 0.5, 0.7, 0.1, 0.6, 0.2]),
        associations,
        one_vs_rest,
        names,
        similar: Some(similar_examples(c)),
        log_counts: log_counts(counts),
        offsets: Vec::new(),
    }
}

/// A model with `c` labels, 30 features and 5 dimensions.
pub fn parts(kind: &str, c: usize) -> Contents {
    if kind.starts_with("ranker") {
        let parts = parts("least-squares", c);
        let loss = if kind == "ranker" { Loss::Independent } else { Loss::Softmax };
        let ranker = Some(ranker(c, &parts.stats.counts));
        return Contents { ranker, calibration: Calibration::identity(loss), ..parts };
    }
    let (d, k, f) = (30, 5, 12);
    let mut draw = random(c as u64 + 7);
    let mut matrix = |rows, cols, scale: f32| Matrix::from_fn(rows, cols, |_, _| scale * draw());
    let (labels, projection) = (matrix(c, k, 1.0), matrix(d, k, 1.0));
    let covariance = matrix(k, k, 0.1);
    let covariance = Matrix::from_fn(k, k, |i, j| {
        (0..k).map(|l| covariance.row(i)[l] * covariance.row(j)[l]).sum::<f32>() + f32::from(u8::from(i == j))
    });
    let independent = ["least-squares", "pursuit", "ilr"].contains(&kind);
    let loss = if independent { Loss::Independent } else { Loss::Softmax };
    let head = match kind {
        "pursuit" => Head::Pursuit { atoms: 3 },
        "ilr" | "softmax" => Head::logistic(None, Logistic { loss, weights: matrix(c, k + 1, 2.0) }, &labels, 0.7),
        "random-features" => {
            let features = RandomFeatures { directions: matrix(k, f, 0.3), phases: matrix(1, f, 1.0).row(0).to_vec() };
            Head::logistic(Some(features), Logistic { loss, weights: matrix(c, f + 1, 2.0) }, &labels, 0.4)
        }
        _ => Head::LeastSquares,
    };
    let shift = if loss == Loss::Independent { -0.5 } else { 0.0 };
    Contents {
        preprocessing: Preprocessing::AsIs,
        intercept: matrix(1, k, 0.5).row(0).to_vec(),
        spectrum: (0..k).map(|j| 9.0 / (j + 1) as f64).collect(),
        head,
        ranker: None,
        trees: None,
        calibration: Calibration { loss, scale: 1.3, shift },
        thresholds: matrix(1, c, 0.5).row(0).iter().map(|v| v + 0.5).collect(),
        stats: TrainingStats {
            examples: 1000,
            counts: (0..c as u64).map(|l| 1 + l * 37 % 100).collect(),
            mean: matrix(1, k, 0.2).row(0).to_vec(),
            covariance,
            words: [false, true],
        },
        added_weights: Matrix::zeros(0, k + 1),
        label_names: Some((0..c).map(|l| format!("label {l}")).collect()),
        feature_names: Some((0..d).map(|f| format!("w{f}")).collect()),
        params: json!({"k": k}),
        report: json!({"seconds": 1.5}),
        labels: labels.into(),
        projection: projection.into(),
    }
}

/// Rows with a few of 30 features each; every tenth is empty, and some features are unknown.
pub fn examples(rows: usize, seed: u64) -> Csr {
    let mut draw = random(seed);
    let mut x = Csr::new(false);
    for i in 0..rows {
        for id in (0..33).filter(|_| i % 10 != 9) {
            let value = draw();
            if value > 0.4 {
                x.push(id, value);
            }
        }
        x.end_row();
    }
    x
}

/// A model with the weights of tf-idf for its features.
pub fn weighed(kind: &str, c: usize) -> Contents {
    let mut counts = SparseCounts::default();
    let mut known = Csr::new(false);
    let x = examples(40, 3);
    for i in 0..40 {
        x.view().entries(i).filter(|(id, _)| *id < 30).for_each(|(id, value)| known.push(id as u32, value));
        known.end_row();
    }
    counts.add(known.view());
    Contents { preprocessing: Preprocessing::Sparse(counts.finish(30, true, true)), ..parts(kind, c) }
}

pub const TEXTS: [&str; 6] = [
    "green tea from the hills, a light tea",
    "black tea with milk",
    "coffee, dark and strong",
    "strong coffee with milk",
    "light paint for the hills",
    "dark green paint",
];

/// A model of texts.
pub fn text(kind: &str, c: usize) -> Contents {
    let params = FeaturizerParams { min_df: 1, ..FeaturizerParams::default() };
    let featurizer = Featurizer::fit(params, TEXTS).unwrap();
    let all = parts(kind, c);
    let mut draw = random(5);
    let projection = Matrix::from_fn(featurizer.features(), 5, |_, _| draw());
    Contents {
        feature_names: Some(featurizer.names().collect()),
        preprocessing: Preprocessing::Text(Arc::new(featurizer)),
        projection: projection.into(),
        ranker: None,
        ..all
    }
}

/// A model that lies in a directory of its own.
pub struct Saved {
    pub dir: tempfile::TempDir,
    pub path: PathBuf,
}

pub fn save(parts: &Contents, format: NumberFormat) -> Saved {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.model");
    model(parts, format).save(&path).unwrap();
    Saved { dir, path }
}

/// A model in memory.
pub fn model(parts: &Contents, format: NumberFormat) -> Model {
    let model = Model::new(parts.clone()).unwrap();
    if format == NumberFormat::Bf16 { model.compact() } else { model }
}

/// A matrix with some other numbers.
pub fn changed(table: &Table, change: impl FnOnce(&mut Matrix)) -> Table {
    let mut matrix = table.view().unwrap().to_matrix();
    change(&mut matrix);
    matrix.into()
}

impl Saved {
    pub fn open(&self) -> Model {
        Model::open(&self.path).unwrap()
    }
}

pub fn rows(x: CsrRef<'_>, from: usize, to: usize) -> Csr {
    let mut some = Csr::new(false);
    some.extend_rows(x, from, to);
    some
}
