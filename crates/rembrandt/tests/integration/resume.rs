//! A computation that is stopped at any moment and begun again loses little and ends in the same bytes.

use std::path::{Path, PathBuf};

use rembrandt::data::{Dataset, Rows};
use rembrandt::embed::{Embedder, Method, ProjectionParams, Solver};
use rembrandt::model::{Model, Preprocessing};
use rembrandt::score::head::SampledParams;
use rembrandt::train::{HeadKind, HeadTrainParams, RankerParams};
use rembrandt::tree::{FastXmlParams, TreeParams};
use rembrandt::{Checkpoints, EmbeddingFile, Error, Rembrandt, Result, Run};
use serde_json::json;

const N: u32 = 160;
const D: u32 = 40;
const C: u32 = 24;

/// Examples whose labels show in features of their own, among noise.
fn data(single: bool) -> Dataset {
    let mut state = 7u64;
    let mut random = |below: u32| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as u32 % below
    };
    let mut rows = Rows::new();
    for _ in 0..N {
        let mut labels: Vec<u32> = (0..if single { 1 } else { 1 + random(3) }).map(|_| random(C)).collect();
        labels.sort();
        labels.dedup();
        let mut features: Vec<u32> = labels.iter().map(|label| label + 8).chain((0..3).map(|_| random(D))).collect();
        features.sort();
        features.dedup();
        features.iter().for_each(|feature| rows.x.push(*feature, 1.0 + random(4) as f32 / 2.0));
        labels.iter().for_each(|label| rows.y.push(*label, 1.0));
        rows.x.end_row();
        rows.y.end_row();
    }
    Dataset::from_rows(&rows, D as usize, C as usize).unwrap()
}

/// A computation that comes to some bytes.
type Compute<'a> = Box<dyn Fn(&mut Run<'_>) -> Result<Vec<u8>> + 'a>;

/// A computation, and a place for its checkpoints.
struct Job<'a> {
    folder: PathBuf,
    compute: Compute<'a>,
}

impl<'a> Job<'a> {
    fn new(desk: &Path, compute: impl Fn(&mut Run<'_>) -> Result<Vec<u8>> + 'a) -> Job<'a> {
        Job { folder: desk.join("out.partial"), compute: Box::new(compute) }
    }

    fn open(&self) -> Checkpoints {
        Checkpoints::open(&self.folder, &json!({"data": 1})).unwrap()
    }

    /// Runs with the checkpoints that are there, for `most` reports of progress; returns the result, if it came to one, and
    /// the reports.
    fn run(&self, checkpoints: Option<&Checkpoints>, most: usize) -> (Option<Vec<u8>>, usize) {
        let mut calls = 0;
        let mut run = Run::watched(|_| {
            calls += 1;
            calls <= most
        })
        .with_checkpoints(checkpoints);
        let result = (self.compute)(&mut run);
        drop(run);
        match result {
            Ok(bytes) => (Some(bytes), calls),
            Err(Error::Cancelled) => (None, calls),
            Err(e) => panic!("{e}"),
        }
    }

    /// Stops at many moments, goes on, and compares. At most `lost` reports of progress may be repeated.
    fn stop_and_go_on(&self, stops: usize, lost: usize) {
        let (whole, calls) = self.run(None, usize::MAX);
        let whole = whole.unwrap();
        for stop in (0..calls).step_by(calls.div_ceil(stops).max(1)) {
            let checkpoints = self.open();
            assert_eq!(self.run(Some(&checkpoints), stop), (None, stop + 1), "stop {stop}");
            drop(checkpoints);
            let checkpoints = self.open();
            let (again, rest) = self.run(Some(&checkpoints), usize::MAX);
            assert!(again.unwrap() == whole, "other bytes after stop {stop} of {calls}");
            assert!(stop + 1 + rest <= calls + lost, "stop {stop} of {calls}: {rest} were left");
            checkpoints.remove().unwrap();
        }
    }

    /// Stops after every few reports, again and again: with checkpoints it comes to an end all the same.
    fn stop_again_and_again(&self, every: usize) {
        let (whole, calls) = self.run(None, usize::MAX);
        for _ in 0..=calls {
            let checkpoints = self.open();
            if let (Some(again), _) = self.run(Some(&checkpoints), every) {
                assert!(Some(again) == whole, "other bytes");
                assert!(checkpoints.found() > 0);
                return checkpoints.remove().unwrap();
            }
        }
        panic!("no end after {calls} runs of {every} steps");
    }
}

fn embedding_bytes(params: &Rembrandt, data: &Dataset, run: &mut Run<'_>) -> Result<Vec<u8>> {
    let embedding = params.fit(data, run)?;
    let desk = tempfile::tempdir().unwrap();
    let path = desk.path().join("e");
    let file = EmbeddingFile {
        embedding,
        params: params.clone(),
        row_scale: Default::default(),
        label_names: None,
        feature_names: None,
    };
    file.save(&path)?;
    Ok(std::fs::read(path).unwrap())
}

fn embed(params: Rembrandt, panel_work: usize) {
    let (desk, data) = (tempfile::tempdir().unwrap(), data(false));
    let params = params.with(|p| {
        p.panel = 3;
        p.cg_steps = 4
    });
    let job = Job::new(desk.path(), |run| embedding_bytes(&params, &data, run));
    job.stop_and_go_on(usize::MAX, panel_work);
    job.stop_again_and_again(panel_work);
    assert!(!job.folder.exists());
}

#[test]
fn the_few_pass_solver_loses_a_panel_at_most() {
    // The products of a panel: XᵀY, two for each of four steps are one report, and YᵀX.
    embed(
        Rembrandt::new(7).with(|p| {
            p.oversample = 3;
            p.solver = Solver::FewPass
        }),
        6,
    );
    embed(
        Rembrandt::new(8).with(|p| {
            p.oversample = 3;
            p.solver = Solver::FewPass;
            p.random_fraction = 0.5;
            p.bias = true
        }),
        6,
    );
}

#[test]
fn the_papers_solver_loses_a_panel_at_most() {
    embed(
        Rembrandt::new(7).with(|p| {
            p.oversample = 3;
            p.solver = Solver::Iterative;
            p.center = true
        }),
        6,
    );
    let projection = ProjectionParams::default().with(|p| p.ridge = Some(1e-3));
    // A projection of its own is solved besides.
    embed(
        Rembrandt::new(7).with(|p| {
            p.oversample = 3;
            p.solver = Solver::Iterative;
            p.projection = projection
        }),
        10,
    );
}

#[test]
fn the_direct_solver_loses_a_pass_at_most() {
    embed(
        Rembrandt::new(7).with(|p| {
            p.oversample = 3;
            p.solver = Solver::Direct
        }),
        2,
    );
}

#[test]
fn the_other_embeddings_go_on() {
    let (desk, data) = (tempfile::tempdir().unwrap(), data(false));
    for method in [Method::Pca, Method::Plst, Method::Cplst, Method::Cs] {
        let embedder = Embedder::new(
            method,
            Rembrandt::new(7).with(|p| {
                p.panel = 3;
                p.cg_steps = 4
            }),
        );
        let job = Job::new(desk.path(), |run| {
            let (found, means) = embedder.fit_from(None, &data, run)?;
            let text = format!(
                "{:?} {:?} {:?} {:?} {:?} {:?}",
                found.labels.as_slice(),
                found.projection.as_slice(),
                found.intercept,
                found.spectrum,
                found.report,
                means
            );
            Ok(text.into_bytes())
        });
        job.stop_and_go_on(usize::MAX, 6);
        job.stop_again_and_again(6);
    }
}

fn model_bytes(model: &Model) -> Vec<u8> {
    let desk = tempfile::tempdir().unwrap();
    let path = desk.path().join("m");
    model.save(&path).unwrap();
    std::fs::read(path).unwrap()
}

fn train(params: HeadTrainParams, stops: usize, every: usize) {
    let (desk, data) = (tempfile::tempdir().unwrap(), data(params.head == HeadKind::Softmax));
    let job = Job::new(desk.path(), |run| Ok(model_bytes(&params.fit(&data, Preprocessing::AsIs, run)?)));
    job.stop_and_go_on(stops, usize::MAX / 2);
    job.stop_again_and_again(every);
    assert!(!job.folder.exists());
}

/// Few dimensions, several panels.
fn small(head: HeadKind) -> HeadTrainParams {
    let params = HeadTrainParams::new(head);
    let embedding = params.embedding.clone().with(|p| p.panel = 3);
    params.with(|p| {
        p.k = Some(6);
        p.embedding = embedding
    })
}

#[test]
fn a_training_on_sampled_labels_goes_on() {
    let sampled = SampledParams::new(HeadKind::Independent.loss()).with(|p| (p.labels, p.epochs, p.steps) = (4, 2, 9));
    // No state of the head is more than a few steps old, so that so few of them lead to the end.
    train(small(HeadKind::Independent).with(|p| p.sampled = Some(sampled)), 25, 9);
}

#[test]
fn a_training_of_independent_labels_goes_on() {
    train(small(HeadKind::Independent), 25, 100);
}

#[test]
fn a_training_of_classes_goes_on() {
    train(small(HeadKind::Softmax).with(|p| p.group_duplicates = true), 25, 9);
}

#[test]
fn a_training_on_random_features_goes_on() {
    let features = HeadTrainParams::FEATURES.with(|p| p.count = 30);
    train(small(HeadKind::Independent).with(|p| p.features = Some(features)), 25, 9);
}

#[test]
fn a_training_without_a_head_goes_on() {
    train(small(HeadKind::LeastSquares), 20, 30);
}

#[test]
fn a_training_with_a_ranker_goes_on() {
    let (desk, data) = (tempfile::tempdir().unwrap(), data(false));
    let embedding = RankerParams::default().embedding.with(|p| p.panel = 3);
    let params = RankerParams::default().with(|p| (p.k, p.embedding) = (Some(6), embedding));
    let job = Job::new(desk.path(), |run| Ok(model_bytes(&params.fit(&data, Preprocessing::AsIs, run)?)));
    job.stop_and_go_on(20, usize::MAX / 2);
}

#[test]
fn a_forest_keeps_its_trees() {
    let (desk, data) = (tempfile::tempdir().unwrap(), data(false));
    let params = TreeParams::Fastxml(FastXmlParams::default().with(|p| p.trees = 6));
    let grow = |run: &mut Run<'_>| Ok(format!("{:?}", params.fit(&data, run)?.arrays()).into_bytes());
    let job = Job::new(desk.path(), grow);
    let whole = job.run(None, usize::MAX).0.unwrap();
    let checkpoints = job.open();
    assert!(job.run(Some(&checkpoints), usize::MAX).0.unwrap() == whole);
    assert_eq!((checkpoints.len(), checkpoints.computed()), (6, 6));
    drop(checkpoints);
    // As if it had been killed before the last two were there.
    for tree in [2, 5] {
        std::fs::remove_file(job.folder.join(format!("tree-{tree}.checkpoint"))).unwrap();
    }
    let checkpoints = job.open();
    assert!(job.run(Some(&checkpoints), usize::MAX).0.unwrap() == whole);
    assert_eq!((checkpoints.found(), checkpoints.computed()), (4, 2));
    checkpoints.remove().unwrap();
}

#[test]
fn the_same_data_are_known_wherever_they_are() {
    let desk = tempfile::tempdir().unwrap();
    let (text, cache) = (desk.path().join("a.txt"), desk.path().join("a.rmb"));
    let read = |content: &str| {
        std::fs::write(&text, content).unwrap();
        Dataset::read(&text).unwrap().fingerprint()
    };
    let lines = "2 3 2\n0 0:1 2:0.5\n1 1:2\n";
    let first = read(lines);
    rembrandt::data::convert(&text, &Default::default(), &cache, &mut Run::default()).unwrap();
    assert_eq!(Dataset::open(&cache).unwrap().fingerprint(), first);
    assert_eq!(read(lines), first);
    for changed in ["2 3 2\n0 0:1 2:0.6\n1 1:2\n", "2 3 3\n0 0:1 2:0.5\n1 1:2\n", "2 3 2\n1 0:1 2:0.5\n1 1:2\n"] {
        assert_ne!(read(changed), first, "{changed}");
    }
}
