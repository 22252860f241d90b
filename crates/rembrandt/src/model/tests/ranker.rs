//! Models with a ranker.

use super::super::{PredictOptions, Predictions};
use super::file::{forge, place, refusal};
use super::*;

#[test]
fn all_labels_are_scored_where_that_is_asked_for() {
    let model = model(&parts("ranker", 50), NumberFormat::F32);
    let x = model.prepare(examples(40, 8).view()).unwrap();
    let predict = |exact: bool| -> (Predictions, Option<Vec<Vec<u32>>>) {
        let predictor = model.predictor(PredictOptions { exact, ..PredictOptions::top(50) }).unwrap();
        (predictor.predict_prepared(x.view()), predictor.candidates(x.view()))
    };
    let ((some, candidates), (all, none)) = (predict(false), predict(true));
    assert!(none.is_none());
    for (i, candidates) in candidates.unwrap().iter().enumerate().filter(|(i, _)| !x.view().row(*i).0.is_empty()) {
        let mut found = some.labels(i).to_vec();
        found.sort_unstable();
        assert_eq!(&found, candidates, "example {i}");
        assert_eq!(all.labels(i).len(), 50, "example {i}");
    }
}

#[test]
fn there_are_no_other_labels_where_all_are_scored() {
    let model = model(&parts("ranker-softmax", 50), NumberFormat::F32);
    let x = model.prepare(examples(40, 8).view()).unwrap();
    let sums = |exact: bool| -> Vec<f32> {
        let predictor = model.predictor(PredictOptions::top(50).with(|options| options.exact = exact)).unwrap();
        let found = predictor.predict_prepared(x.view());
        (0..40).map(|i| found.probabilities(i).iter().sum()).collect()
    };
    let (candidates, all) = (sums(false), sums(true));
    for i in (0..40).filter(|i| !x.view().row(*i).0.is_empty()) {
        assert!((all[i] - 1.0).abs() < 1e-4 && candidates[i] < 1.0 - 1e-6, "example {i}: {} {}", all[i], candidates[i]);
    }
}

#[test]
fn a_damaged_ranker_is_refused() {
    let saved = save(&parts("ranker", 50), NumberFormat::F32);
    let path = saved.dir.path().join("bad");
    let wrong: [(&str, usize, &[u8]); 10] = [
        ("association_starts", 4, &[255; 4]),
        ("association_gaps", 0, &[255; 8]),
        ("association_units", 0, &[0, 0, 0x80, 0x7f]),
        ("one_vs_rest_starts", 4, &[255; 4]),
        ("one_vs_rest_gaps", 0, &[255; 8]),
        ("index_starts", 8, &[255; 8]),
        ("index_examples", 0, &[255; 4]),
        ("index_values", 0, &[0x80, 0x7f]),
        ("example_label_starts", 8, &[255; 8]),
        ("example_weights", 0, &[0, 0, 0x80, 0xff]),
    ];
    for (name, from, with) in wrong {
        let at = place(&saved, name) + from;
        let bytes = forge(&saved, |bytes, _| bytes[at..at + with.len()].copy_from_slice(with));
        let message = refusal(&path, &bytes);
        assert!(message.starts_with("is damaged (") && message.contains("its ranker"), "{name}: {message}");
    }
    let good = parts("ranker", 50);
    for kind in ["ilr", "pursuit"] {
        let useless = Contents { ranker: good.ranker.clone(), ..parts(kind, 50) };
        assert!(Model::new(useless).unwrap_err().to_string().starts_with("ranker: does not fit"), "{kind}");
    }
    let proposals = good.ranker.as_ref().unwrap().proposals;
    for nothing in [Proposals { by_words: 0, by_embedding: 0, ..proposals }, Proposals { shortlist: 0, ..proposals }] {
        let mut useless = good.clone();
        useless.ranker.as_mut().unwrap().proposals = nothing;
        assert!(Model::new(useless).unwrap_err().to_string().starts_with("ranker: does not fit"));
    }
}
