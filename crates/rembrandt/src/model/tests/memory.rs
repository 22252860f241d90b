//! A model in memory is the model that its file holds.

use super::super::Predictions;
use super::*;
use crate::linalg::kernels::dots::narrow;
use crate::metrics::rank;

const FORMATS: [NumberFormat; 2] = [NumberFormat::F32, NumberFormat::Bf16];

/// The best labels of examples, those with few known features, and of texts.
fn predictions(model: &Model) -> Predictions {
    match model.preprocessing() {
        Preprocessing::Text(_) => model.predict_texts(&TEXTS, 9).unwrap(),
        _ => model.predict(&examples(300, 1), 9).unwrap(),
    }
}

/// All that can be asked of two models is answered alike, to the last bit.
fn assert_same(a: &Model, b: &Model, what: &str) {
    let sizes = |model: &Model| (model.shape(), model.added(), model.number_format());
    assert_eq!(sizes(a), sizes(b), "{what}");
    assert_eq!((a.params(), a.report()), (b.params(), b.report()), "{what}");
    assert_eq!((a.training_stats(), a.thresholds()), (b.training_stats(), b.thresholds()), "{what}");
    assert_eq!((a.label_names(), a.feature_names()), (b.label_names(), b.feature_names()), "{what}");
    assert_eq!((a.calibration(), a.spectrum(), a.intercept()), (b.calibration(), b.spectrum(), b.intercept()));
    let tables = |model: &Model| {
        let all = [Some(model.labels()), Some(model.projection()), model.head().weights()];
        all.map(|table| table.map(|table| (table.rows(), table.cols(), table.bytes().to_vec())))
    };
    assert_eq!(tables(a), tables(b), "{what}");
    assert_eq!(predictions(a), predictions(b), "{what}");
    assert_eq!(a.neighbors(1, 5).unwrap(), b.neighbors(1, 5).unwrap(), "{what}");
    let x = match a.preprocessing() {
        Preprocessing::Text(_) => a.prepare_texts(&TEXTS[..1]).unwrap(),
        _ => {
            assert_eq!(a.scores(&examples(20, 2)).unwrap(), b.scores(&examples(20, 2)).unwrap(), "{what}");
            a.prepare(rows(examples(1, 2).view(), 0, 1).view()).unwrap()
        }
    };
    assert_eq!(a.explain(x.view(), 1).unwrap(), b.explain(x.view(), 1).unwrap(), "{what}");
}

#[test]
fn a_model_in_memory_is_that_of_its_file() {
    for kind in KINDS {
        for (parts, format) in [parts(kind, 300), weighed(kind, 300), text(kind, 300)]
            .iter()
            .flat_map(|parts| FORMATS.map(|format| (parts, format)))
        {
            let (memory, saved) = (model(parts, format), save(parts, format));
            let opened = saved.open();
            assert_same(&memory, &opened, kind);
            // Written again it is the same file, and may take the place of the one that is mapped.
            let bytes = std::fs::read(&saved.path).unwrap();
            opened.save(&saved.path).unwrap();
            assert!(std::fs::read(&saved.path).unwrap() == bytes, "{kind}");
            assert_same(&memory, &opened, kind);
        }
    }
}

#[test]
fn labels_that_come_later_need_no_file() {
    for (kind, format) in ["ilr", "softmax"].into_iter().flat_map(|kind| FORMATS.map(|p| (kind, p))) {
        let (memory, saved) = (model(&parts(kind, 300), format), save(&parts(kind, 300), format));
        let grown = |model: &Model| model.add_label("new", &rows(examples(9, 3).view(), 0, 4)).unwrap();
        let (memory, opened) = (grown(&memory), grown(&saved.open()));
        assert_same(&memory, &opened, kind);
        memory.save(&saved.path).unwrap();
        assert_same(&memory, &saved.open(), kind);
    }
}

#[test]
fn copies_share_what_is_large_and_work_on_any_thread() {
    fn is_shared<T: Send + Sync + Clone + 'static>(_: &T) {}
    for kind in KINDS {
        let saved = save(&parts(kind, 300), NumberFormat::F32);
        for original in [model(&parts(kind, 300), NumberFormat::F32), saved.open()] {
            is_shared(&original);
            let copy = original.clone();
            let same = |a: &Table, b: &Table| a.bytes().as_ptr() == b.bytes().as_ptr();
            assert!(same(original.labels(), copy.labels()) && same(original.projection(), copy.projection()));
            let expected = predictions(&original);
            let threads: Vec<_> = (0..3)
                .map(|_| {
                    std::thread::spawn({
                        let copy = copy.clone();
                        move || predictions(&copy)
                    })
                })
                .collect();
            // Also when the first is gone.
            drop(original);
            assert!(threads.into_iter().all(|thread| thread.join().unwrap() == expected), "{kind}");
            assert_eq!(predictions(&copy), expected, "{kind}");
        }
    }
    // A changed model keeps the parts that did not change.
    let saved = save(&parts("ilr", 300), NumberFormat::F32);
    let model = saved.open();
    let more = model.add_label("new", &rows(examples(1, 3).view(), 0, 1)).unwrap();
    assert_eq!(more.projection().bytes().as_ptr(), model.projection().bytes().as_ptr());
    drop(model);
    assert_eq!(predictions(&more).rows(), 300);
}

#[test]
fn a_compact_model_has_the_nearest_numbers_of_half_the_size() {
    for kind in KINDS {
        for full in [model(&weighed(kind, 300), NumberFormat::F32), save(&weighed(kind, 300), NumberFormat::F32).open()]
        {
            let compact = full.compact();
            assert_eq!((full.number_format(), compact.number_format()), (NumberFormat::F32, NumberFormat::Bf16));
            assert_eq!((full.shape(), full.thresholds()), (compact.shape(), compact.thresholds()));
            let tables = |model: &Model| {
                [Some(model.labels()), Some(model.projection()), model.head().weights()].map(|table| table.cloned())
            };
            for (full, compact) in tables(&full).into_iter().flatten().zip(tables(&compact).into_iter().flatten()) {
                assert_eq!(compact.number_format(), NumberFormat::Bf16, "{kind}");
                assert_eq!(compact.bytes().len() * 2, full.bytes().len(), "{kind}");
                for i in 0..full.rows() {
                    let nearest = full.row(i).iter().map(|v| narrow(*v).to_f32()).collect::<Vec<_>>();
                    assert_eq!(compact.row(i), nearest, "{kind}");
                }
            }
            // There is nothing more to lose.
            assert_same(&compact, &compact.compact(), kind);
            let dir = tempfile::tempdir().unwrap();
            compact.save(dir.path().join("a")).unwrap();
            assert_same(&compact, &Model::open(dir.path().join("a")).unwrap(), kind);
        }
    }
    // A label may be added before or after.
    let (model, x) = (model(&parts("ilr", 300), NumberFormat::F32), rows(examples(9, 3).view(), 0, 4));
    let (before, after) =
        (model.add_label("new", &x).unwrap().compact(), model.compact().add_label("new", &x).unwrap());
    assert_eq!((before.number_format(), after.number_format()), (NumberFormat::Bf16, NumberFormat::Bf16));
    assert_eq!((before.shape(), before.added()), (after.shape(), after.added()));
    assert_eq!(before.head().weights().map(Table::bytes), after.head().weights().map(Table::bytes));
}

#[test]
fn scores_become_the_probabilities_of_predictions() {
    for (kind, format) in KINDS.into_iter().flat_map(|kind| FORMATS.map(|format| (kind, format))) {
        // Several strips of examples, several tiles of labels.
        let (model, x) = (save(&weighed(kind, 700), format).open(), examples(300, 4));
        let (calibration, scores) = (model.calibration(), model.scores(&x).unwrap());
        assert_eq!((scores.rows(), scores.cols()), (300, 700));
        let found = model.predict(&x, 700).unwrap();
        for i in (0..300).filter(|i| i % 10 != 9) {
            let mut applied = scores.row(i).to_vec();
            if kind == "ranker-softmax" {
                // All labels that are no candidates together have a score of 0.
                applied.push(0.0);
            }
            calibration.apply(&mut applied);
            for (label, p) in found.row(i) {
                let (score, expected) = (applied[label as usize], calibration.probability(applied[label as usize]));
                assert!((p - expected).abs() <= 1e-4 * expected + 1e-9, "{kind}: {p} for {expected}");
                if calibration.loss == Loss::Independent {
                    assert_eq!(p, (1.0 / (1.0 + (-f64::from(score)).exp())) as f32, "{kind}");
                }
            }
            let calibrated: Vec<f32> =
                scores.row(i).iter().map(|score| calibration.scale * score + calibration.shift).collect();
            assert_eq!(found.labels(i), rank(&calibrated, 700), "{kind}");
        }
        // A label that is added has no score, and changes none.
        let more = model.add_label("new", &rows(x.view(), 0, 3)).unwrap();
        assert_eq!(more.scores(&x).unwrap(), scores, "{kind}");
    }
    let message = model(&text("ilr", 5), NumberFormat::F32).scores(&examples(3, 1)).unwrap_err().to_string();
    assert_eq!(message, "x: the model was trained on texts and cannot read features: give it texts");
}
