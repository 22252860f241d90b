//! Models of trees: what they hold, predict and refuse.

use serde_json::json;

use super::*;
use crate::Run;
use crate::data::{Dataset, Rows};
use crate::model::PredictOptions;
use crate::tree::{TreeMethod, TreeParams, Wanted};

const METHODS: [TreeMethod; 4] = [TreeMethod::Lomtree, TreeMethod::Fastxml, TreeMethod::Lpsr, TreeMethod::LabelTree];

/// Six labels with two features each, among noise.
fn data() -> Dataset {
    let mut rows = Rows::new();
    for i in 0..300u32 {
        let label = i % 6;
        [2 * label, 2 * label + 1, 12 + i * 7 % 5].iter().for_each(|id| rows.x.push(*id, 1.0));
        rows.x.end_row();
        rows.y.push(label, 1.0);
        rows.y.end_row();
    }
    Dataset::from_rows(&rows, 17, 6).unwrap()
}

fn model(method: TreeMethod, dir: &tempfile::TempDir) -> (Model, crate::tree::Trees, std::path::PathBuf) {
    let data = data();
    let trees = TreeParams::new(method).fit(&data, &mut Run::default()).unwrap();
    let path = dir.path().join("trees.model");
    let made = Model::from_trees(trees.clone(), &data, Preprocessing::AsIs, json!({}), json!({})).unwrap();
    made.save(&path).unwrap();
    (Model::open(&path).unwrap(), trees, path)
}

#[test]
fn a_file_gives_back_the_trees_and_their_predictions() {
    for method in METHODS {
        let dir = tempfile::tempdir().unwrap();
        let (model, trees, path) = model(method, &dir);
        assert_eq!(model.trees(), Some(&trees), "{method:?}");
        assert_eq!((model.shape().d, model.shape().c, model.shape().k), (17, 6, 0));
        let features = data().features().unwrap();
        let found = model.predictor(PredictOptions::top(3)).unwrap().predict(features.view()).unwrap();
        let mut right = 0;
        for i in 0..300 {
            let (ids, values) = features.view().row(i);
            let expected = trees.rank(ids, values, Wanted { top: 3, labels: None });
            assert_eq!(found.row(i).collect::<Vec<_>>(), expected, "{method:?}");
            right += usize::from(expected.first().is_some_and(|(label, _)| *label as usize == i % 6));
        }
        assert!(right > 280, "{method:?}: {right} of 300");
        // Of some labels only those, and without features the frequencies.
        let some = PredictOptions { labels: Some(vec![1, 4]), ..PredictOptions::top(5) };
        let found = model.predictor(some).unwrap().predict(features.view()).unwrap();
        assert!((0..300).all(|i| found.labels(i).iter().all(|label| [1, 4].contains(label))), "{method:?}");
        let mut empty = Csr::new(true);
        empty.end_row();
        let prior = model.predictor(PredictOptions::top(1)).unwrap().predict(empty.view()).unwrap();
        assert_eq!(prior.row(0).collect::<Vec<_>>(), [(0, 50.0 / 300.0)]);
        // The same content is the same file.
        let again = dir.path().join("again.model");
        let made = Model::from_trees(trees, &data(), Preprocessing::AsIs, json!({}), json!({})).unwrap();
        made.save(&again).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), std::fs::read(&again).unwrap());
        // In memory it is the same model.
        let predict = |model: &Model| model.predict(features.view(), 3).unwrap();
        assert_eq!(predict(&made), predict(&model), "{method:?}");
        assert_eq!((made.trees(), made.training_stats()), (model.trees(), model.training_stats()), "{method:?}");
        assert_eq!(predict(&made.compact()), predict(&made), "{method:?}");
    }
}

#[test]
fn what_takes_an_embedding_is_refused_in_a_sentence() {
    let dir = tempfile::tempdir().unwrap();
    let (model, _, _) = model(TreeMethod::Fastxml, &dir);
    let features = data().features().unwrap();
    let mut one = Csr::new(true);
    one.extend_rows(features.view(), 0, 1);
    let refused = [
        model.explain(one.view(), 0).map(drop),
        model.add_label("new", one.view()).map(drop),
        model.neighbors(0, 3).map(drop),
        model.scores(one.view()).map(drop),
    ];
    for result in refused {
        let message = result.unwrap_err().to_string();
        assert!(message.contains("model of trees"), "{message}");
    }
}

#[test]
fn damage_anywhere_is_noticed() {
    for method in METHODS {
        let dir = tempfile::tempdir().unwrap();
        let (_, _, path) = model(method, &dir);
        let bytes = std::fs::read(&path).unwrap();
        for i in (0..bytes.len()).step_by(bytes.len() / 60 + 1) {
            let mut damaged = bytes.clone();
            damaged[i] ^= 0x10;
            std::fs::write(&path, &damaged).unwrap();
            assert!(Model::open(&path).is_err(), "{method:?}: byte {i}");
            std::fs::write(&path, &bytes[..i]).unwrap();
            assert!(Model::open(&path).is_err(), "{method:?}: cut at {i}");
        }
    }
}
