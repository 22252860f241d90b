//! Models with lists of likely labels.

use super::super::{PredictOptions, Predictions, Search};
use super::file::{forge, place, refusal};
use super::*;
use crate::score::shortlist::Width;

/// A model, examples with labels, and the model with lists made from them.
fn listed(kind: &str, c: usize, precision: Precision) -> (Saved, Saved) {
    let plain = save(&parts(kind, c), precision);
    let model = plain.open();
    let x = model.prepare(examples(200, 5).view()).unwrap();
    // Labels as the model sees them, so that lists are good.
    let found = model.predictor(PredictOptions::top(2)).unwrap().predict_prepared(x.view());
    let mut y = Csr::new(true);
    for i in 0..x.rows() {
        let mut labels = found.labels(i).to_vec();
        labels.sort_unstable();
        labels.iter().for_each(|label| y.push(*label, 1.0));
        y.end_row();
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("listed.model");
    let (listed, report) = model.with_shortlist((x.view(), y.view()), None).unwrap();
    assert!(report.used, "{report:?}");
    assert_eq!(listed.report()["shortlist"], json!(report));
    assert_eq!(listed.shortlist_width(), report.last().map(|last| last.width));
    assert!(model.shortlist_width().is_none() && model.report().get("shortlist").is_none());
    listed.save(&path).unwrap();
    (plain, Saved { dir, path })
}

fn predict(model: &Model, search: Search, top: usize) -> Predictions {
    let predictor = model.predictor(PredictOptions { search, ..PredictOptions::top(top) }).unwrap();
    predictor.predict(examples(300, 8).view()).unwrap()
}

const LINEAR: [&str; 4] = ["least-squares", "least-squares-softmax", "ilr", "softmax"];

#[test]
fn lists_change_nothing_where_all_labels_are_scored() {
    for kind in LINEAR {
        for precision in [Precision::F32, Precision::Bf16] {
            let (plain, listed) = listed(kind, 700, precision);
            let (plain, listed) = (plain.open(), listed.open());
            assert!(plain.shortlist_width().is_none() && listed.shortlist_width().is_some());
            let scan = predict(&plain, Search::Shortlist, 9);
            assert_eq!(predict(&listed, Search::Exact, 9), scan);
            // More than a shortlist has.
            assert_eq!(predict(&listed, Search::Shortlist, 500), predict(&plain, Search::Exact, 500));
            let whole = predict(&listed, Search::Width(Width { probes: 1 << 40, labels: 1 << 40 }), 9);
            for i in 0..scan.rows() {
                assert_eq!(whole.labels(i), scan.labels(i));
                let pairs = whole.probabilities(i).iter().zip(scan.probabilities(i));
                // Sums over all labels are made up in another order.
                pairs.for_each(|(a, b)| assert!((a - b).abs() <= 1e-6 * b));
            }
        }
    }
}

#[test]
fn shortlists_give_the_scores_of_a_scan() {
    for kind in LINEAR {
        let (_, listed) = listed(kind, 700, Precision::F32);
        let model = listed.open();
        let width = Width { probes: 64, labels: 256 };
        let (scan, found) = (predict(&model, Search::Exact, 700), predict(&model, Search::Width(width), 5));
        let (mut first, mut apart) = (0, 0.0);
        for i in 0..scan.rows() {
            let all: std::collections::HashMap<u32, f32> = scan.row(i).collect();
            assert_eq!(found.labels(i).len(), 5);
            for (label, p) in found.row(i) {
                assert!(all[&label] == p || kind.contains("softmax"), "{kind} {p} {}", all[&label]);
                apart += (all[&label] - p).abs() / 5.0;
            }
            first += usize::from(found.labels(i)[0] == scan.labels(i)[0]);
        }
        // Of a softmax the rest is an estimate, and vectors of random numbers are as hard as can be.
        assert!(apart / (scan.rows() as f32) < 0.03, "{kind}: {apart}");
        assert!(first * 10 >= scan.rows() * 9, "{kind}: {first}");
    }
}

#[test]
fn batches_and_threads_do_not_matter() {
    let (_, listed) = listed("softmax", 700, Precision::F32);
    let model = listed.open();
    let predictor = model.predictor(PredictOptions::top(5)).unwrap();
    assert!(predictor.width().is_some());
    let x = model.prepare(examples(300, 8).view()).unwrap();
    let all = predictor.predict_prepared(x.view());
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    assert_eq!(pool.install(|| predictor.predict_prepared(x.view())), all);
    for i in [0, 17, 299] {
        let one = predictor.predict_prepared(rows(x.view(), i, i + 1).view());
        assert!(one.row(0).eq(all.row(i)));
    }
}

#[test]
fn restrictions_and_added_labels_stay_right() {
    for kind in ["ilr", "softmax"] {
        let (plain, listed) = listed(kind, 700, Precision::F32);
        let (plain, listed) = (plain.open(), listed.open());
        let some = || PredictOptions { labels: Some((0..700).step_by(3).collect()), ..PredictOptions::top(5) };
        let of = |model: &Model| model.predictor(some()).unwrap().predict(examples(40, 8).view()).unwrap();
        assert_eq!(of(&listed), of(&plain));

        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("more.model");
        listed.add_label("new", examples(3, 8).view()).unwrap().save(&path).unwrap();
        let more = Model::open(&path).unwrap();
        assert_eq!(more.shortlist_width(), listed.shortlist_width());
        let (before, after) = (predict(&listed, Search::Shortlist, 5), predict(&more, Search::Shortlist, 5));
        for i in 0..before.rows() {
            let others: Vec<u32> = after.labels(i).iter().copied().filter(|label| *label != 700).collect();
            assert!(others.len() >= 4);
            assert_eq!(others, before.labels(i)[..others.len()]);
        }
        let scanned = dir.path().join("scanned.model");
        plain.add_label("new", examples(3, 8).view()).unwrap().save(&scanned).unwrap();
        let scanned = Model::open(&scanned).unwrap();
        assert_eq!(predict(&more, Search::Exact, 9), predict(&scanned, Search::Exact, 9));
        let only = || PredictOptions { labels: Some(vec![700]), ..PredictOptions::top(1) };
        let of = |model: &Model| model.predictor(only()).unwrap().predict(examples(40, 8).view()).unwrap();
        assert_eq!(of(&more), of(&scanned));
        // Lists can be made again, and lost again.
        let x = more.prepare(examples(50, 1).view()).unwrap();
        let mut y = Csr::new(true);
        (0..50).for_each(|i| {
            y.push(i % 7, 1.0);
            y.end_row();
        });
        let (again, report) = more.with_shortlist((x.view(), y.view()), None).unwrap();
        assert_eq!((again.added(), again.shortlist_width().is_some()), (1, report.used));
        again.save(&path).unwrap();
        let opened = Model::open(&path).unwrap();
        assert_eq!((opened.added(), opened.shortlist_width()), (1, again.shortlist_width()));
        assert_eq!(predict(&opened, Search::Shortlist, 5), predict(&again, Search::Shortlist, 5));
    }
}

#[test]
fn models_that_are_not_linear_have_no_lists() {
    for kind in ["pursuit", "random-features"] {
        let saved = save(&parts(kind, 12), Precision::F32);
        let (model, x) = (saved.open(), examples(5, 1));
        let error = model.with_shortlist((x.view(), x.view()), None).unwrap_err().to_string();
        assert!(error.contains("linear in the features"), "{error}");
    }
    let saved = save(&parts("ilr", 12), Precision::F32);
    let (x, mut y) = (examples(5, 1), Csr::new(true));
    (0..5).for_each(|_| y.end_row());
    assert!(saved.open().with_shortlist((x.view(), y.view()), None).is_err());
    let width = Search::Width(Width { probes: 0, labels: 5 });
    assert!(saved.open().predictor(PredictOptions { search: width, ..PredictOptions::top(1) }).is_err());
}

#[test]
fn damaged_lists_are_refused() {
    let (_, listed) = listed("softmax", 700, Precision::F32);
    let path = listed.dir.path().join("bad");
    let wrong: [(&str, usize, &[u8]); 5] = [
        ("shortlist_starts", 8, &[255; 8]),
        ("shortlist_labels", 0, &[255; 4]),
        ("shortlist_shares", 0, &[0x80, 0x7f]),
        ("shortlist_offsets", 4, &[0, 0, 0x80, 0x7f]),
        ("shortlist_direction", 0, &[0, 0, 0xc0, 0x7f]),
    ];
    for (name, from, with) in wrong {
        let at = place(&listed, name) + from;
        let bytes = forge(&listed, |bytes, _| bytes[at..at + with.len()].copy_from_slice(with));
        let message = refusal(&path, &bytes);
        assert!(message.starts_with("is damaged (") && message.contains("its lists"), "{name}: {message}");
    }
}

#[test]
fn a_damaged_ranker_is_refused() {
    let saved = save(&parts("ranker", 50), Precision::F32);
    let path = saved.dir.path().join("bad");
    let wrong: [(&str, usize, &[u8]); 6] = [
        ("association_starts", 8, &[255; 8]),
        ("association_labels", 0, &[255; 4]),
        ("association_weights", 0, &[0x80, 0x7f]),
        ("one_vs_rest_starts", 8, &[255; 8]),
        ("one_vs_rest_labels", 0, &[255; 4]),
        ("one_vs_rest_weights", 0, &[0x80, 0x7f]),
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
    let mut none = good.clone();
    none.ranker.as_mut().unwrap().proposals = Proposals { by_words: 0, by_embedding: 0 };
    assert!(Model::new(none).unwrap_err().to_string().starts_with("ranker: does not fit"));
}
