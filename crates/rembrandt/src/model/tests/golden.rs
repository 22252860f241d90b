//! Model files written by earlier versions, with the predictions that they must go on giving.
//!
//! `v1-text.model`: texts, independent labels, `f32`. `v1-sparse.model`: tf-idf of sparse rows, softmax on random features,
//! bfloat16. `v2-pursuit.model`: sparse rows as they are, matching pursuit, `f32`. [`write_model_files`] made them; after a
//! change of the format, let it write files of a new version beside the old ones, and never over them.

use std::path::Path;

use super::super::Predictions;
use super::*;

const TEXTS: [&str; 4] = ["green tea from the hills", "black tea with milk", "strong coffee with milk", "green paint"];

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/integration/files").join(name)
}

/// Numbers that look random: multiples of 1/64, so that they are the same everywhere.
fn matrix(rows: usize, cols: usize, seed: usize) -> Matrix {
    Matrix::from_fn(rows, cols, |i, j| {
        ((((i * 7919 + j * 104_729 + seed * 31) * 2_654_435_761) >> 7) % 129) as f32 / 64.0 - 1.0
    })
}

fn sparse_rows() -> Csr {
    let mut x = Csr::new(false);
    for i in 0..6u32 {
        (0..8).filter(|f| (i + f) % 3 == 0).for_each(|f| x.push(f, 1.0 + f as f32 / 4.0));
        x.end_row();
    }
    x
}

fn parts(preprocessing: Preprocessing, head: Head, loss: Loss, d: usize) -> Contents {
    let (c, k) = (4, 3);
    let feature_names = match &preprocessing {
        Preprocessing::Text(featurizer) => Some(featurizer.names().collect()),
        _ => None,
    };
    Contents {
        preprocessing,
        labels: matrix(c, k, 1).into(),
        projection: matrix(d, k, 2).into(),
        intercept: vec![0.25, -0.5, 0.125],
        spectrum: vec![4.0, 2.0, 1.0],
        head,
        ranker: None,
        trees: None,
        calibration: Calibration { loss, scale: 1.5, shift: if loss == Loss::Softmax { 0.0 } else { -0.25 } },
        thresholds: vec![0.5, 0.25, 0.5, 0.75],
        stats: TrainingStats {
            examples: 100,
            counts: vec![10, 40, 20, 30],
            mean: vec![0.0; k],
            covariance: Matrix::from_fn(k, k, |i, j| if i == j { 1.0 } else { 0.25 }),
            words: [true, true],
        },
        added_weights: Matrix::zeros(0, k + 1),
        label_names: Some(["tea", "coffee", "paint", "milk"].into_iter().collect()),
        feature_names,
        params: json!({"k": k}),
        report: json!({"made": "for tests"}),
    }
}

fn text_parts() -> Contents {
    let params = FeaturizerParams { min_df: 1, ..FeaturizerParams::default() };
    let featurizer = Featurizer::fit(params, TEXTS).unwrap();
    let d = featurizer.features();
    let model = Logistic { loss: Loss::Independent, weights: matrix(4, 4, 3) };
    let head = Head::logistic(None, model, &matrix(4, 3, 1), 0.5);
    parts(Preprocessing::Text(Arc::new(featurizer)), head, Loss::Independent, d)
}

fn sparse_parts() -> Contents {
    let mut counts = SparseCounts::default();
    counts.add(sparse_rows().view());
    let features = RandomFeatures { directions: matrix(3, 6, 4), phases: matrix(1, 6, 5).row(0).to_vec() };
    let model = Logistic { loss: Loss::Softmax, weights: matrix(4, 7, 6) };
    let head = Head::logistic(Some(features), model, &matrix(4, 3, 1), 0.25);
    parts(Preprocessing::Sparse(counts.finish(8, true, true)), head, Loss::Softmax, 8)
}

fn pursuit_parts() -> Contents {
    parts(Preprocessing::AsIs, Head::Pursuit { atoms: 2 }, Loss::Independent, 8)
}

/// The content of each file, and its predictions.
type Golden = (&'static str, Model, Vec<[(u32, f32); 4]>);

fn files() -> [Golden; 3] {
    [
        ("v1-text.model", model(&text_parts(), NumberFormat::F32), GOLDEN_TEXT.into()),
        ("v1-sparse.model", model(&sparse_parts(), NumberFormat::Bf16), GOLDEN_SPARSE.into()),
        ("v2-pursuit.model", model(&pursuit_parts(), NumberFormat::F32), GOLDEN_PURSUIT.into()),
    ]
}

fn predict(model: &Model) -> Predictions {
    match model.preprocessing() {
        Preprocessing::Text(_) => model.predict_texts(&TEXTS, 4).unwrap(),
        _ => model.predict(&sparse_rows(), 4).unwrap(),
    }
}

/// Writes the files and prints what they predict:
/// `cargo test -p rembrandt --lib -- --ignored --nocapture write_model_files`.
#[test]
#[ignore = "writes into tests/integration/files; for a new version of the format only"]
fn write_model_files() {
    for (name, model, _) in files() {
        model.save(path(name)).unwrap();
        let found = predict(&Model::open(path(name)).unwrap());
        (0..found.rows()).for_each(|i| println!("    {:?},", found.row(i).collect::<Vec<_>>()));
    }
}

fn assert_golden(found: &Predictions, golden: &[[(u32, f32); 4]]) {
    assert_eq!(found.rows(), golden.len());
    for (i, golden) in golden.iter().enumerate() {
        assert_eq!(found.labels(i).len(), 4);
        for ((label, p), (expected_label, expected)) in found.row(i).zip(golden) {
            assert_eq!(label, *expected_label, "row {i}");
            // Processors without fused multiply-adds round differently.
            assert!((p - expected).abs() < 1e-5, "row {i}: {p} for {expected}");
        }
    }
}

#[test]
fn models_of_every_format_version_open_and_predict_the_same() {
    let [text, sparse, pursuit] = files().map(|(name, _, golden)| {
        let model = Model::open(path(name)).unwrap();
        assert_golden(&predict(&model), &golden);
        assert_eq!((model.find_label("paint").unwrap(), model.report()["made"].as_str()), (2, Some("for tests")));
        model
    });
    assert_eq!(text.number_format(), NumberFormat::F32);
    assert!(matches!(text.head(), Head::Linear { .. }));
    assert_eq!(sparse.number_format(), NumberFormat::Bf16);
    assert!(matches!(sparse.head(), Head::RandomFeatures { least_squares: 0.25, .. }));
    assert_eq!(pursuit.number_format(), NumberFormat::F32);
    assert!(matches!(pursuit.head(), Head::Pursuit { atoms: 2 }));
}

#[test]
fn todays_models_are_those_of_the_files() {
    let dir = tempfile::tempdir().unwrap();
    let new = dir.path().join("new");
    for (name, model, golden) in files() {
        let old = std::fs::read(path(name)).unwrap();
        // Whether the model was made, or opened from the old file.
        for model in [model, Model::open(path(name)).unwrap()] {
            model.save(&new).unwrap();
            assert!(std::fs::read(&new).unwrap() == old, "{name}: the format has changed");
            assert_golden(&predict(&model), &golden);
        }
    }
}

const GOLDEN_TEXT: [[(u32, f32); 4]; 4] = [
    [(3, 0.7013581), (0, 0.69697624), (2, 0.34704688), (1, 0.23566009)],
    [(0, 0.8348059), (3, 0.8343803), (2, 0.47838706), (1, 0.1708418)],
    [(2, 0.69677323), (3, 0.6120645), (0, 0.6054153), (1, 0.11816051)],
    [(3, 0.57138586), (0, 0.5492808), (1, 0.36215127), (2, 0.23589076)],
];
const GOLDEN_SPARSE: [[(u32, f32); 4]; 6] = [
    [(1, 0.3965055), (3, 0.2938797), (0, 0.26929495), (2, 0.04031986)],
    [(3, 0.476185), (0, 0.4318852), (1, 0.065141365), (2, 0.026788417)],
    [(2, 0.66824085), (3, 0.15082234), (0, 0.14374648), (1, 0.037190344)],
    [(1, 0.3965055), (3, 0.2938797), (0, 0.26929495), (2, 0.04031986)],
    [(3, 0.476185), (0, 0.4318852), (1, 0.065141365), (2, 0.026788417)],
    [(2, 0.66824085), (3, 0.15082234), (0, 0.14374648), (1, 0.037190344)],
];
const GOLDEN_PURSUIT: [[(u32, f32); 4]; 6] = [
    [(1, 0.99957967), (3, 0.6315039), (0, 0.4272064), (2, 0.21424882)],
    [(3, 0.9966922), (0, 0.43051115), (1, 0.39303935), (2, 0.2810684)],
    [(2, 0.99940795), (3, 0.70474106), (0, 0.43648452), (1, 0.27121466)],
    [(1, 0.99957967), (3, 0.6315039), (0, 0.4272064), (2, 0.21424882)],
    [(3, 0.9966922), (0, 0.43051115), (1, 0.39303935), (2, 0.2810684)],
    [(2, 0.99940795), (3, 0.70474106), (0, 0.43648452), (1, 0.27121466)],
];
