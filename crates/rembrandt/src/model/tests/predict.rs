use super::super::{EvaluationOptions, InputOptions, PredictOptions, Predictions, Threshold};
use super::*;
use crate::data::formats::Ids;
use crate::data::records::{RecordOptions, Selector};
use crate::metrics::rank;
use crate::score::head::{Inputs, Pursuit};

/// Probabilities of all labels by the definitions, in `f64` where it matters, and what labels are ranked by.
fn oracle(parts: &Contents, x: CsrRef<'_>, i: usize) -> Option<(Vec<f32>, Vec<f32>)> {
    let known: Vec<(usize, f32)> = x.entries(i).filter(|(id, _)| *id < parts.projection.rows()).collect();
    if known.is_empty() {
        return None;
    }
    let k = parts.labels.cols();
    let h = Matrix::from_fn(1, k, |_, j| {
        let sum: f64 = known.iter().map(|(id, v)| f64::from(*v) * f64::from(parts.projection.row(*id)[j])).sum();
        (sum + f64::from(parts.intercept[j])) as f32
    });
    let mut scores = head_scores(parts, &h);
    match &parts.ranker {
        Some(ranker) => rank_scores(parts, ranker, &known, &mut scores),
        None => parts.calibration.apply(&mut scores),
    }
    let probabilities = scores.iter().map(|t| parts.calibration.probability(*t)).collect();
    Some((probabilities, scores))
}

/// From least squares to log-odds, or logarithms of probabilities, of a ranker.
fn rank_scores(parts: &Contents, ranker: &Ranker, known: &[(usize, f32)], scores: &mut [f32]) {
    let unit = |power: f64| -> Vec<f64> {
        let values = known.iter().map(|(_, v)| f64::from(v.abs()).powf(power) * f64::from(v.signum()));
        let length = values.clone().map(|v| v * v).sum::<f64>().sqrt();
        values.map(|v| v / length).collect()
    };
    let (plain, damped) = (unit(1.0), unit(0.75));
    let (similar, nearest) = votes(ranker.similar.as_ref().unwrap(), known, &plain, ranker.log_counts.len());
    let vote = |votes: f64| (1.0 + votes / 0.01).ln();
    for (label, score) in scores.iter_mut().enumerate().take(ranker.log_counts.len()) {
        let sum = |weight: &dyn Fn(usize) -> f32, values: &[f64]| -> f64 {
            known.iter().zip(values).map(|((f, _), v)| v * f64::from(weight(*f))).sum()
        };
        let by_words = sum(&|f| ranker.associations.weight(f, label as u32), &plain);
        let association = (by_words.max(1e-4) / 1e-4).ln();
        let count = (1.0 + parts.stats.counts[label] as f64).ln();
        let odds = -1.0
            + 2.0 * sum(&|f| ranker.one_vs_rest.weight(f, label), &damped)
            + 0.3 * association
            + 0.5 * f64::from(*score)
            + 0.7 * sum(&|f| ranker.names.weight(f, label as u32), &plain)
            + 0.1 * count
            + 0.6 * vote(similar[label])
            + 0.2 * vote(nearest[label]);
        *score = odds as f32;
    }
    if parts.calibration.loss == Loss::Softmax {
        let partition = 1.0 + scores.iter().map(|s| f64::from(*s).exp()).sum::<f64>();
        scores.iter_mut().for_each(|s| *s -= partition.ln() as f32);
    }
}

/// Votes of the examples that are similar to one, with cosines with all of them.
fn votes(examples: &SimilarExamples, known: &[(usize, f32)], unit: &[f64], c: usize) -> (Vec<f64>, Vec<f64>) {
    let weight = |e: u32| f64::from(examples.weights[e as usize]);
    let cosine =
        |e: u32| -> f64 { known.iter().zip(unit).map(|((f, _), v)| v * f64::from(examples.index.value(*f, e))).sum() };
    let mut near: Vec<(u32, f64)> = (0..40).map(|e| (e, cosine(e))).filter(|(_, s)| *s > 0.0).collect();
    near.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let (mut similar, mut nearest) = (vec![0.0; c], vec![0.0; c]);
    let Some((_, first)) = near.first().copied() else { return (similar, nearest) };
    let distance = |s: f64| 1.01 - s.min(1.0);
    let count = |e: u32, s: f64| weight(e) * s.min(1.0).powi(6);
    let sharp = |e: u32, s: f64| weight(e) * (distance(first) / distance(s)).powi(4);
    let all = 1.0 + near.iter().map(|(e, s)| count(*e, *s)).sum::<f64>();
    let sharp_all = near.iter().take(10).map(|(e, s)| sharp(*e, *s)).sum::<f64>();
    for (at, (e, s)) in near.iter().enumerate() {
        let label = examples.labels[*e as usize] as usize;
        similar[label] += count(*e, *s) / all;
        if at < 10 {
            nearest[label] += first.min(1.0) * sharp(*e, *s) / sharp_all;
        }
    }
    (similar, nearest)
}

/// Scores of the head for one example, by another way than that of prediction.
fn head_scores(parts: &Contents, h: &Matrix) -> Vec<f32> {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
    let least_squares = |label: usize| dot(&parts.labels.row(label), h.row(0));
    let of_all = |score: &dyn Fn(usize) -> f64| (0..parts.labels.rows()).map(|l| score(l) as f32).collect();
    match &parts.head {
        Head::LeastSquares => of_all(&least_squares),
        Head::Pursuit { atoms } => {
            let labels = parts.labels.view().unwrap().to_matrix();
            let found = Pursuit::new(&labels, h, *atoms);
            of_all(&|l| f64::from(found.score(0, l as u32, dot(labels.row(l), found.rest.row(0)) as f32)))
        }
        Head::Linear { weights } => {
            let constant = |row: &[f32]| f64::from(row[h.cols()]);
            of_all(&|l| dot(&weights.row(l)[..h.cols()], h.row(0)) + constant(&weights.row(l)))
        }
        Head::RandomFeatures { features, weights, least_squares: weight } => {
            let model = Logistic { loss: Loss::Independent, weights: weights.view().unwrap().to_matrix() };
            let logistic = model.scores(Inputs::new(h.view(), Some(features)));
            of_all(&|l| f64::from(logistic.row(0)[l]) + f64::from(*weight) * least_squares(l))
        }
    }
}

fn predict(model: &Model, options: PredictOptions, x: CsrRef<'_>) -> Predictions {
    model.predictor(options).unwrap().predict(x).unwrap()
}

fn close(a: f32, b: f32, tolerance: f32) -> bool {
    (a - b).abs() <= tolerance * (1e-3 + a.max(b))
}

#[test]
fn probabilities_are_those_of_the_definitions() {
    // More labels than a tile, so that tiles and groups meet.
    for (kind, c) in KINDS.into_iter().flat_map(|kind| [(kind, 3), (kind, 700)]) {
        let parts = parts(kind, c);
        let model = save(&parts, NumberFormat::F32).open();
        let x = examples(20, 1);
        let found = predict(&model, PredictOptions::top(c), x.view());
        for i in 0..20 {
            let Some((expected, _)) = oracle(&parts, x.view(), i) else { continue };
            assert_eq!(found.labels(i).len(), c);
            for (label, p) in found.row(i) {
                assert!(close(p, expected[label as usize], 1e-4), "{kind}: {p} for {}", expected[label as usize]);
            }
            assert!(found.probabilities(i).is_sorted_by(|a, b| a >= b));
            let sum: f64 = found.probabilities(i).iter().map(|p| f64::from(*p)).sum();
            // With a ranker a part is left for labels that are no candidates.
            let whole = if kind == "ranker-softmax" { sum < 1.0 } else { (sum - 1.0).abs() < 1e-5 };
            assert!(parts.calibration.loss == Loss::Independent || whole, "{kind}: {sum}");
        }
    }
}

#[test]
fn the_best_are_the_beginning_of_all() {
    for kind in KINDS {
        let parts = parts(kind, 700);
        let model = save(&parts, NumberFormat::F32).open();
        let x = examples(30, 2);
        let all = predict(&model, PredictOptions::top(700), x.view());
        let few = predict(&model, PredictOptions::top(7), x.view());
        let limit = PredictOptions { threshold: Some(Threshold::Fixed(0.3)), ..PredictOptions::top(700) };
        let likely = predict(&model, limit, x.view());
        let stored = PredictOptions { threshold: Some(Threshold::Stored), ..PredictOptions::top(700) };
        let stored = predict(&model, stored, x.view());
        for i in 0..30 {
            assert_eq!(few.row(i).collect::<Vec<_>>(), all.row(i).take(7).collect::<Vec<_>>());
            let over = |limit: &dyn Fn(u32) -> f32| all.row(i).filter(|(l, p)| *p >= limit(*l)).collect::<Vec<_>>();
            assert_eq!(likely.row(i).collect::<Vec<_>>(), over(&|_| 0.3));
            assert_eq!(stored.row(i).collect::<Vec<_>>(), over(&|label| parts.thresholds[label as usize]));
        }
    }
}

#[test]
fn bytes_depend_neither_on_threads_nor_on_batches() {
    let saved: Vec<Saved> = KINDS.iter().map(|kind| save(&parts(kind, 5000), NumberFormat::F32)).collect();
    let half = KINDS.iter().map(|kind| save(&weighed(kind, 700), NumberFormat::Bf16));
    for saved in saved.into_iter().chain(half) {
        let model = saved.open();
        let x = examples(300, 4);
        let run = |threads: usize, batch: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let predictor = model.predictor(PredictOptions::top(11)).unwrap();
            let parts = (0..300).step_by(batch).map(|from| rows(x.view(), from, 300.min(from + batch)));
            let found: Vec<Predictions> =
                parts.map(|part| pool.install(|| predictor.predict(part.view()).unwrap())).collect();
            let rows = found.iter().flat_map(|found| (0..found.rows()).flat_map(|i| found.row(i)));
            rows.map(|(label, p)| (label, p.to_bits())).collect::<Vec<_>>()
        };
        let expected = run(1, 300);
        assert_eq!(expected.len(), 300 * 11);
        for (threads, batch) in [(2, 300), (5, 300), (2, 1), (1, 7), (5, 129)] {
            assert!(run(threads, batch) == expected, "{threads} threads, batches of {batch}");
        }
    }
}

#[test]
fn a_subset_is_the_whole_without_the_rest() {
    let ids = vec![699, 3, 250, 3, 256, 511, 40];
    let x = examples(50, 5);
    for kind in KINDS {
        let parts = parts(kind, 700);
        for format in [NumberFormat::F32, NumberFormat::Bf16] {
            let model = save(&parts, format).open();
            let all = predict(&model, PredictOptions::top(700), x.view());
            let some = PredictOptions { labels: Some(ids.clone()), ..PredictOptions::top(700) };
            let some = predict(&model, some, x.view());
            for i in 0..50 {
                let expected: Vec<(u32, f32)> = all.row(i).filter(|(label, _)| ids.contains(label)).collect();
                let total: f32 = expected.iter().map(|(_, p)| p).sum();
                let softmax = parts.calibration.loss == Loss::Softmax;
                assert_eq!(some.labels(i), expected.iter().map(|(label, _)| *label).collect::<Vec<_>>());
                for ((_, found), (_, expected)) in some.row(i).zip(expected) {
                    // Under softmax probabilities are conditional on the subset.
                    let fits = if softmax { close(found, expected / total, 1e-3) } else { found == expected };
                    assert!(fits, "{kind}: {found} for {expected} of {total}");
                }
            }
        }
    }
}

#[test]
fn nothing_known_gives_the_frequencies_of_training() {
    for kind in KINDS {
        let parts = parts(kind, 40);
        let model = save(&parts, NumberFormat::F32).open();
        let mut x = Csr::new(false);
        x.end_row();
        x.push(30, 1.0);
        x.push(u32::MAX, 2.0);
        x.end_row();
        x.push(3, 0.0);
        x.end_row();
        let found = predict(&model, PredictOptions::top(5), x.view());
        let shares: Vec<f32> = parts.stats.counts.iter().map(|count| *count as f32 / 1000.0).collect();
        let expected = rank(&shares, 5);
        for i in 0..3 {
            assert_eq!(found.labels(i), expected, "{kind}");
            assert!(found.row(i).all(|(label, p)| p == shares[label as usize]));
        }
        let limit = PredictOptions { threshold: Some(Threshold::Fixed(0.098)), ..PredictOptions::top(5) };
        let kept = predict(&model, limit, x.view());
        assert_eq!(kept.labels(0).len(), shares.iter().filter(|p| **p >= 0.098).count());
    }
}

#[test]
fn half_precision_is_close() {
    // A pursuit that takes another label first, of two that are nearly alike, ends elsewhere.
    for kind in KINDS.into_iter().filter(|kind| *kind != "pursuit") {
        let parts = weighed(kind, 60);
        let [full, half] = [NumberFormat::F32, NumberFormat::Bf16].map(|format| save(&parts, format).open());
        let x = examples(40, 6);
        let [full, half] = [full, half].map(|model| predict(&model, PredictOptions::top(60), x.view()));
        let mut same = 0;
        for i in 0..40 {
            same += usize::from(full.labels(i)[0] == half.labels(i)[0]);
            for (label, p) in half.row(i) {
                let (_, expected) = full.row(i).find(|(other, _)| *other == label).unwrap();
                assert!((p - expected).abs() < 0.02, "{kind}: {p} for {expected}");
            }
        }
        assert!(same >= 38, "{kind}: {same}");
    }
}

#[test]
fn unknown_features_do_not_count_in_the_length_of_a_row() {
    let parts = weighed("ilr", 10);
    let model = save(&parts, NumberFormat::F32).open();
    let mut x = Csr::new(false);
    for unknown in [false, true] {
        x.push(2, 1.5);
        x.push(9, 0.5);
        if unknown {
            x.push(77, 100.0);
        }
        x.end_row();
    }
    let found = predict(&model, PredictOptions::top(10), x.view());
    assert!(found.row(0).eq(found.row(1)));
    let prepared = model.prepare(x.view()).unwrap();
    let length: f32 = prepared.view().entries(1).map(|(_, v)| v * v).sum();
    assert!((length - 1.0).abs() < 1e-6);
}

#[test]
fn texts_are_turned_into_features() {
    let parts = text("ilr", 10);
    let model = save(&parts, NumberFormat::F32).open();
    let predictor = model.predictor(PredictOptions::top(3)).unwrap();
    let found = predictor.predict_texts(&["Strong tea", "", "unheard-of"]).unwrap();
    let Preprocessing::Text(featurizer) = &parts.preprocessing else { panic!() };
    let mut x = Csr::new(false);
    featurizer.transform("Strong tea").into_iter().for_each(|(id, value)| x.push(id, value));
    x.end_row();
    let (expected, ranked_by) = oracle(&parts, x.view(), 0).unwrap();
    assert_eq!(found.labels(0), rank(&ranked_by, 3));
    assert!(found.row(0).all(|(label, p)| close(p, expected[label as usize], 1e-4)));
    assert!(found.row(1).eq(found.row(2)));
    let tea = featurizer.id("tea").unwrap();
    assert_eq!(model.feature_name(tea), "tea");
    let message = predictor.predict(x.view()).unwrap_err().to_string();
    assert_eq!(message, "x: the model was trained on texts and cannot read features: give it texts");
}

#[test]
fn bad_options_and_values_are_refused() {
    let model = save(&parts("ilr", 10), NumberFormat::F32).open();
    let message = |options: PredictOptions| model.predictor(options).unwrap_err().to_string();
    assert_eq!(message(PredictOptions::top(0)), "top: ask for at least one label");
    for bad in [f32::NAN, -0.1, 1.5] {
        let options = PredictOptions { threshold: Some(Threshold::Fixed(bad)), ..PredictOptions::top(1) };
        assert_eq!(message(options), format!("threshold: {bad} is not a probability from 0 to 1"));
    }
    let options = PredictOptions { labels: Some(vec![1, 10]), ..PredictOptions::top(1) };
    assert_eq!(message(options), "labels: 10 is not a label: the last one is 9");
    let predictor = model.predictor(PredictOptions { labels: Some(vec![]), ..PredictOptions::top(1) }).unwrap();
    assert!(predictor.predict(examples(3, 1).view()).unwrap().labels(0).is_empty());
    let predictor = model.predictor(PredictOptions::top(usize::MAX)).unwrap();
    let mut x = Csr::new(false);
    x.push(4, f32::NAN);
    x.end_row();
    let message = predictor.predict(x.view()).unwrap_err().to_string();
    assert_eq!(message, "feature 4 of row 0 is too large or not a number");
    let message = predictor.predict_texts(&["tea"]).unwrap_err().to_string();
    assert_eq!(message, "texts: the model was trained on features and cannot read texts: give it features");
    assert_eq!(predictor.predict(Csr::new(false).view()).unwrap().rows(), 0);
}

#[test]
fn numbers_that_overflow_are_harmless() {
    for kind in KINDS {
        let mut parts = parts(kind, 300);
        let huge = [3e38, -3e38, 3e38, 3e38, -3e38];
        parts.projection = changed(&parts.projection, |p| p.row_mut(0).copy_from_slice(&huge));
        let model = save(&parts, NumberFormat::F32).open();
        let mut x = Csr::new(false);
        x.push(0, 3e38);
        x.end_row();
        let found = predict(&model, PredictOptions::top(300), x.view());
        assert_eq!(found.labels(0).len(), 300);
        assert!(found.row(0).all(|(_, p)| (0.0..=1.0).contains(&p)), "{kind}");
    }
}

#[test]
fn options_come_back_from_json() {
    fn back<T: serde::Serialize + serde::de::DeserializeOwned + PartialEq + std::fmt::Debug>(options: &T) {
        assert_eq!(&serde_json::from_str::<T>(&serde_json::to_string(options).unwrap()).unwrap(), options);
        serde_json::from_str::<T>("{}").unwrap();
    }
    back(&PredictOptions::top(3).with(|o| (o.threshold, o.labels) = (Some(Threshold::Fixed(0.5)), Some(vec![1]))));
    back(&EvaluationOptions::default().with(|o| o.bootstrap = 7));
    let records = RecordOptions::default().with(|records| records.labels = Some(Selector::Number(2)));
    back(&InputOptions::default().with(|o| (o.rows.ids, o.records) = (Ids::Words, Some(records))));
}
