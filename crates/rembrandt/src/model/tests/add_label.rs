use super::super::PredictOptions;
use super::*;
use crate::data::{Dataset, Rows};
use crate::score::head::project;
use crate::{Rembrandt, Run};

const TOPICS: u32 = 5;
const WORDS: u32 = 12;
/// Each label is a pair of topics.
const PAIRS: [(u32, u32); 10] = [(0, 1), (0, 2), (0, 3), (0, 4), (1, 2), (1, 3), (1, 4), (2, 3), (2, 4), (3, 4)];

/// `each` examples of every label: six words of its topics, and noise.
fn planted(each: usize, seed: u64) -> Rows {
    let mut draw = random(seed);
    let mut below = |n: u32| (((draw() + 1.0) * 0.5 * n as f32) as u32).min(n - 1);
    let mut rows = Rows::new();
    for _ in 0..each {
        for (label, (a, b)) in (0u32..).zip(PAIRS) {
            let mut words: Vec<u32> = (0..3).flat_map(|_| [a, b].map(|topic| topic * WORDS)).collect();
            words.iter_mut().for_each(|word| *word += below(WORDS));
            words.push(below(TOPICS * WORDS));
            words.sort_unstable();
            words.dedup();
            words.iter().for_each(|word| rows.x.push(*word, 1.0));
            rows.x.end_row();
            rows.y.push(label, 1.0);
            rows.y.end_row();
        }
    }
    rows
}

/// A model trained on the examples, with labels beyond `labels` kept from it.
fn trained(rows: &Rows, labels: u32, center: bool) -> Contents {
    let mut known = Rows::new();
    let n = rows.x.rows();
    known.x.extend_rows(rows.x.view(), 0, n);
    let mut counts = vec![0; labels as usize];
    for i in 0..n {
        for label in rows.y.view().row(i).0.iter().filter(|label| **label < labels) {
            known.y.push(*label, 1.0);
            counts[*label as usize] += 1;
        }
        known.y.end_row();
    }
    let d = (TOPICS * WORDS) as usize;
    let data = Dataset::from_rows(&known, d, labels as usize).unwrap();
    let params = Rembrandt { ridge: 0.1, center, ..Rembrandt::new(6) };
    let embedding = params.fit(&data, &mut Run::default()).unwrap();
    let h = project(&embedding, known.x.view());
    let mean: Vec<f64> = (0..6).map(|j| (0..n).map(|i| f64::from(h.row(i)[j])).sum::<f64>() / n as f64).collect();
    let covariance = Matrix::from_fn(6, 6, |a, b| {
        let product = |i: usize| (f64::from(h.row(i)[a]) - mean[a]) * (f64::from(h.row(i)[b]) - mean[b]);
        ((0..n).map(product).sum::<f64>() / n as f64) as f32
    });
    Contents {
        preprocessing: Preprocessing::AsIs,
        labels: embedding.labels.into(),
        projection: embedding.projection.into(),
        intercept: embedding.intercept,
        spectrum: embedding.spectrum,
        head: Head::LeastSquares,
        ranker: None,
        trees: None,
        calibration: Calibration { loss: Loss::Independent, scale: 8.0, shift: -4.0 },
        thresholds: vec![0.5; labels as usize],
        stats: TrainingStats {
            examples: n as u64,
            counts,
            mean: mean.iter().map(|v| *v as f32).collect(),
            covariance,
            words: [false, false],
        },
        added_weights: Matrix::zeros(0, 1),
        label_names: None,
        feature_names: None,
        params: json!({}),
        report: json!({}),
    }
}

fn of_label(rows: &Rows, label: u32, most: usize) -> Csr {
    let mut some = Csr::new(false);
    let held = (0..rows.x.rows()).filter(|i| rows.y.view().row(*i).0 == [label]);
    held.take(most).for_each(|i| some.extend_rows(rows.x.view(), i, i + 1));
    some
}

#[test]
fn a_label_added_again_lands_where_it_was() {
    let rows = planted(40, 1);
    for center in [false, true] {
        let saved = save(&trained(&rows, 10, center), NumberFormat::F32);
        let model = saved.open();
        let next = saved.dir.path().join("next");
        for label in 0..10 {
            let more = model.add_label("again", of_label(&rows, label, 40).view()).unwrap();
            more.save(&next).unwrap();
            let near = Model::open(&next).unwrap().neighbors(10, 2).unwrap();
            assert_eq!(more.neighbors(10, 2).unwrap(), near);
            assert_eq!(near[0].label, label, "{near:?}, centred: {center}");
            assert!(near[0].cosine > 0.95 && near[0].cosine > near[1].cosine + 0.1, "{near:?}, centred: {center}");
        }
    }
}

#[test]
fn a_label_that_training_never_saw_is_recognised() {
    let (rows, new) = (planted(40, 2), planted(40, 3));
    for center in [false, true] {
        let saved = save(&trained(&rows, 9, center), NumberFormat::F32);
        for (examples, wanted) in [(1, 0.8), (5, 0.9), (40, 0.95)] {
            let next = saved.dir.path().join("next");
            let more = saved.open().add_label("3-4", of_label(&rows, 9, examples).view()).unwrap();
            more.save(&next).unwrap();
            let model = Model::open(&next).unwrap();
            for model in [&more, &model] {
                assert_eq!(
                    (model.shape().c, model.added(), model.training_stats().counts[9]),
                    (10, 1, examples as u64)
                );
            }
            let only = PredictOptions { labels: Some(vec![9]), ..PredictOptions::top(1) };
            let found = model.predictor(only.clone()).unwrap().predict(new.x.view()).unwrap();
            assert_eq!(more.predictor(only).unwrap().predict(new.x.view()).unwrap(), found);
            let of = |held: bool| {
                let rows = (0..400).filter(move |i| (i % 10 == 9) == held);
                rows.map(|i| found.probabilities(i)[0]).collect::<Vec<_>>()
            };
            // The share of pairs, one with and one without the label, that are told apart.
            let (with, without) = (of(true), of(false));
            let won = with.iter().map(|p| without.iter().filter(|q| p > q).count()).sum::<usize>();
            let area = won as f64 / (with.len() * without.len()) as f64;
            assert!(area > wanted, "{examples} examples, centred {center}: {area}");
        }
    }
}

#[test]
fn nothing_changes_for_the_labels_that_were_there() {
    for (kind, format) in KINDS.iter().flat_map(|kind| [(kind, NumberFormat::F32), (kind, NumberFormat::Bf16)]) {
        let saved = save(&weighed(kind, 300), format);
        let path = saved.dir.path().join("next");
        let x = examples(60, 9);
        let all = |model: &Model| model.predictor(PredictOptions::top(1000)).unwrap().predict(x.view()).unwrap();
        let (model, before) = (saved.open(), all(&saved.open()));
        let first = model.add_label("first", rows(x.view(), 0, 3).view()).unwrap();
        first.save(&path).unwrap();
        // The model that it was added to is what it was.
        assert_eq!((model.shape().c, model.added()), (300, 0));
        assert_eq!(all(&model), before, "{kind}");
        // Onto the file that is open.
        let one = Model::open(&path).unwrap();
        let second = one.add_label("second", rows(x.view(), 5, 6).view()).unwrap();
        second.save(&path).unwrap();
        let two = Model::open(&path).unwrap();
        assert_eq!((all(&first), all(&second)), (all(&one), all(&two)), "{kind}");
        assert_eq!((two.shape().c, two.added(), two.number_format()), (302, 2, format));
        assert_eq!((two.label_name(300), two.find_label("second").unwrap()), ("first".to_owned(), 301));
        assert_eq!(two.training_stats().counts[300..], [3, 1]);
        assert_eq!(two.thresholds()[300..], [0.5, 0.5]);
        let (with_one, with_two) = (all(&one), all(&two));
        for i in 0..60 {
            let kept: Vec<(u32, f32)> = with_two.row(i).filter(|(label, _)| *label < 300).collect();
            assert!(before.row(i).eq(kept), "{kind}");
            assert!(with_one.row(i).eq(with_two.row(i).filter(|(label, _)| *label != 301)), "{kind}");
            assert!(with_two.probabilities(i).is_sorted_by(|a, b| a >= b), "{kind}");
            let some = PredictOptions { labels: Some(vec![301]), ..PredictOptions::top(1) };
            let alone = two.predictor(some).unwrap().predict(rows(x.view(), i, i + 1).view()).unwrap();
            assert!(alone.row(0).eq(with_two.row(i).filter(|(label, _)| *label == 301)), "{kind}");
        }
        let prepared = two.prepare(rows(x.view(), 0, 1).view()).unwrap();
        let why = two.explain(prepared.view(), 300).unwrap();
        let p = 1.0 / (1.0 + (-why.log_odds).exp());
        assert!(why.exact && (p - f64::from(why.probability)).abs() < 1e-5, "{kind}: {why:?}");
    }
}

#[test]
fn the_log_odds_are_those_of_the_discriminant() {
    let parts = parts("ilr", 8);
    let saved = save(&parts, NumberFormat::F32);
    let x = examples(4, 10);
    let path = saved.dir.path().join("next");
    saved.open().add_label("new", x.view()).unwrap().save(&path).unwrap();
    let model = Model::open(&path).unwrap();
    let h = model.project(model.prepare(x.view()).unwrap().view());
    let stats = &parts.stats;
    let mean = |j: usize| f64::from(stats.mean[j]);
    let shrunk: Vec<f64> =
        (0..5).map(|j| (mean(j) + (0..4).map(|i| f64::from(h.row(i)[j])).sum::<f64>()) / 5.0).collect();
    let weights: Vec<f64> = model.contents().added_weights.row(0).iter().map(|w| f64::from(*w)).collect();
    let ridge = 0.1 * (0..5).map(|j| f64::from(stats.covariance.row(j)[j])).sum::<f64>() / 5.0;
    for i in 0..5 {
        let product: f64 = (0..5).map(|j| f64::from(stats.covariance.row(i)[j]) * weights[j]).sum();
        assert!((product + ridge * weights[i] - (shrunk[i] - mean(i))).abs() < 1e-5);
    }
    let middle: f64 = (0..5).map(|j| weights[j] * 0.5 * (shrunk[j] + mean(j))).sum();
    let share = 4.5 / 1005.0;
    assert!((weights[5] + middle - f64::ln(share / (1.0 - share))).abs() < 1e-4);
}

#[test]
fn texts_make_labels_too() {
    let saved = save(&text("softmax", 6), NumberFormat::Bf16);
    let model = saved.open();
    let path = saved.dir.path().join("next");
    model.add_label_from_texts("tea", &["green tea", "unheard-of"]).unwrap().save(&path).unwrap();
    let next = Model::open(&path).unwrap();
    assert_eq!((next.find_label("tea").unwrap(), next.training_stats().counts[6]), (6, 1));
    let found = next.predictor(PredictOptions::top(7)).unwrap().predict_texts(&["green tea", ""]).unwrap();
    assert_eq!((found.labels(0).len(), found.labels(1).len()), (7, 7));
    let (_, p) = found.row(1).find(|(label, _)| *label == 6).unwrap();
    assert!((p - 1.0 / 1001.0).abs() < 1e-9);
}

#[test]
fn bad_names_and_examples_are_refused() {
    let mut parts = parts("ilr", 8);
    let model = save(&parts, NumberFormat::F32).open();
    let x = examples(10, 10);
    let message = |name: &str, x: CsrRef<'_>| model.add_label(name, x).unwrap_err().to_string();
    assert_eq!(message("label 2", x.view()), "name: \"label 2\" is a label already: choose another name");
    assert_eq!(message("", x.view()), "name: a label needs a name");
    assert_eq!(message("a\nb", x.view()), "name: \"a\\nb\" contains the end of a line: rename it");
    let nothing = "examples: no example has a feature that the model knows: give it others";
    assert_eq!(message("new", Csr::new(false).view()), nothing);
    assert_eq!(message("new", rows(x.view(), 9, 10).view()), nothing);
    let mut huge = Csr::new(false);
    huge.push(0, 3e38);
    huge.end_row();
    assert!(message("new", huge.view()).contains("too large"));
    parts.label_names = None;
    let saved = save(&parts, NumberFormat::F32);
    let model = saved.open();
    assert!(model.add_label("7", x.view()).is_err());
    let more = model.add_label("8", x.view()).unwrap();
    more.save(&saved.path).unwrap();
    for model in [more, saved.open()] {
        let found = (model.find_label("8").unwrap(), model.find_label("3").unwrap(), &*model.label_name(0));
        assert_eq!(found, (8, 3, "0"));
    }
}
