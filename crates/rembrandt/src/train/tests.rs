//! Promises of training.

use serde_json::json;

use super::{HeadChoice, HeadKind, HeadReport, HeadTrainParams, RankerParams, RankerReport, Trainer, Training, Trial};
use crate::data::{Dataset, Rows, Shape, Texts};
use crate::embed::Method;
use crate::io::checkpoint::Checkpoints;
use crate::metrics::Propensity;
use crate::model::{Model, Preprocessing};
use crate::score::head::{FeatureParams, Head, SampledParams};
use crate::tree::{TreeMethod, TreeParams};
use crate::{Error, Result, Run};

pub(super) const D: usize = 60;
pub(super) const C: usize = 8;

/// A number below `below` that follows from two others.
fn mix(a: usize, b: usize, below: usize) -> usize {
    let key = (a as u64) << 32 | b as u64;
    (xxhash_rust::xxh3::xxh3_64(&key.to_le_bytes()) % below as u64) as usize
}

/// Two features tell the first label of an example, the others are noise; every other example has a second label.
pub(super) fn rows(n: usize, relabel: impl Fn(usize) -> usize) -> Rows {
    let mut rows = Rows::new();
    for i in 0..n {
        let label = mix(i, 0, C);
        let mut features = vec![2 * label, 2 * label + 1];
        features.extend((1..6).map(|j| 2 * C + mix(i, j, D - 2 * C)));
        features.sort_unstable();
        features.dedup();
        features.iter().for_each(|id| rows.x.push(*id as u32, 1.0));
        rows.x.end_row();
        let mut labels = vec![(label + relabel(i)) % C, (label + i % 2) % C];
        labels.sort_unstable();
        labels.dedup();
        labels.iter().for_each(|id| rows.y.push(*id as u32, 1.0));
        rows.y.end_row();
    }
    rows
}

pub(super) fn data(n: usize) -> Dataset {
    Dataset::from_rows(&rows(n, |_| 0), D, C).unwrap()
}

fn try_fit(params: &HeadTrainParams, data: &Dataset) -> Result<Model> {
    params.fit(data, Preprocessing::AsIs, &mut Run::default())
}

fn fit(params: &HeadTrainParams, data: &Dataset) -> Model {
    try_fit(params, data).unwrap()
}

/// The report of a training, as the model keeps it.
fn report(model: &Model) -> HeadReport {
    serde_json::from_value(model.report().clone()).unwrap()
}

/// The parameters that were chosen.
fn chosen(model: &Model) -> HeadTrainParams {
    serde_json::from_value(model.params().clone()).unwrap()
}

/// All of a model, as its file holds it.
fn bytes(model: &Model) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    model.save(dir.path().join("a")).unwrap();
    std::fs::read(dir.path().join("a")).unwrap()
}

/// Every method with the head that it has by default, and with a logistic one where that is possible.
pub(super) fn methods() -> Vec<HeadTrainParams> {
    let mut all = vec![HeadTrainParams::for_method(Method::CsOmp, HeadKind::LeastSquares)];
    for method in [Method::Rembrandt, Method::Cs, Method::Pca, Method::Plst, Method::Cplst] {
        all.push(HeadTrainParams::for_method(method, HeadKind::LeastSquares));
        all.push(HeadTrainParams::for_method(method, HeadKind::Independent));
    }
    all
}

#[test]
fn training_is_the_same_for_any_number_of_threads() {
    let data = data(400);
    for kind in [HeadKind::LeastSquares, HeadKind::Softmax, HeadKind::Independent] {
        let features = FeatureParams { count: 40, ..HeadTrainParams::FEATURES };
        let params = HeadTrainParams { features: Some(features), ..HeadTrainParams::new(kind) };
        let params = if kind == HeadKind::LeastSquares { HeadTrainParams::new(kind) } else { params };
        let [one, two, five] = [1, 2, 5].map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| fit(&params, &data))
        });
        for other in [two, five] {
            assert_eq!((one.params(), one.report()), (other.params(), other.report()));
            assert_eq!((one.thresholds(), one.calibration()), (other.thresholds(), other.calibration()));
            assert_eq!(one.projection().bytes(), other.projection().bytes());
            assert!(bytes(&one) == bytes(&other), "{kind:?}");
        }
    }
}

#[test]
fn every_kind_of_head_learns() {
    let data = data(600);
    let base = HeadTrainParams::new(HeadKind::Independent);
    let features = Some(FeatureParams { count: 60, ..HeadTrainParams::FEATURES });
    let kinds = [
        HeadTrainParams::new(HeadKind::LeastSquares),
        HeadTrainParams::new(HeadKind::Softmax),
        base.clone(),
        HeadTrainParams { features, ..base.clone() },
        HeadTrainParams { features, ..HeadTrainParams::new(HeadKind::Softmax) },
        HeadTrainParams { folds: 0, ..base.clone() },
        HeadTrainParams { label_weights: Some(vec![2.0; C]), ..base },
    ];
    for params in kinds {
        let trained = fit(&params, &data);
        let held_out = report(&trained).held_out;
        assert!(held_out.p1 > 0.9, "{params:?}: {held_out:?}");
        assert!(trained.thresholds().iter().all(|t| (0.0..=1.0).contains(t)));
        assert_eq!(trained.training_stats().counts.iter().sum::<u64>(), data.nnz(crate::Side::Y));
        assert_eq!((trained.training_stats().examples, trained.shape().c, trained.added()), (600, C, 0));
    }
}

#[test]
fn every_method_learns_and_keeps_what_it_needs() {
    let data = data(600);
    for params in methods() {
        let trained = fit(&params, &data);
        let name = format!("{:?}, {:?}", params.method, params.head);
        // Eight random rows in eight dimensions are not orthogonal, and only a head that is trained mends that.
        let random = [Method::Cs, Method::CsOmp].contains(&params.method);
        let least = if random && params.head == HeadKind::LeastSquares { 0.8 } else { 0.9 };
        let held_out = report(&trained).held_out;
        assert!(held_out.p1 > least, "{name}: {held_out:?}");
        assert_eq!(chosen(&trained).method, params.method);
        // The head that is kept gives scores as good as those that were validated.
        let scores = trained.scores(&data.features().unwrap()).unwrap();
        let truth = data.labels().unwrap();
        let hit = |i: &usize| truth.view().row(*i).0.contains(&crate::metrics::rank(scores.row(*i), 1)[0]);
        let hits = (0..600).filter(hit).count();
        assert!(hits as f64 > least * 600.0, "{name}: {hits}");
        assert_eq!(chosen(&trained).atoms, (params.method == Method::CsOmp).then_some(2), "{name}");
    }
}

#[test]
fn labels_that_most_examples_have_are_ranked_by_the_mean() {
    // The features say nothing: what remains is how frequent labels are.
    let mut rows = Rows::new();
    for i in 0..300 {
        (0..3).for_each(|j| rows.x.push((20 * j + mix(i, j, 20)) as u32, 1.0));
        rows.x.end_row();
        (0..5u32).filter(|l| mix(i, 9 + *l as usize, 10) < 2 * (5 - *l as usize)).for_each(|l| rows.y.push(l, 1.0));
        rows.y.end_row();
    }
    let data = Dataset::from_rows(&rows, 60, 5).unwrap();
    for method in [Method::Pca, Method::Plst, Method::Cplst] {
        let params =
            HeadTrainParams { method, k: Some(2), ridge: Some(1e4), ..HeadTrainParams::new(HeadKind::LeastSquares) };
        let trained = fit(&params, &data);
        let scores = trained.scores(&data.features().unwrap()).unwrap();
        for (label, count) in trained.training_stats().counts.iter().enumerate() {
            let share = *count as f32 / 300.0;
            assert!((0..300).all(|i| (scores.row(i)[label] - share).abs() < 0.02), "{method:?}, label {label}");
        }
    }
}

#[test]
fn only_a_pursuit_has_a_constant_feature_by_default() {
    for params in methods() {
        assert_eq!(params.embedding.bias, params.method == Method::CsOmp);
    }
    let (rembrandt, new) =
        (HeadTrainParams::for_method(Method::Rembrandt, HeadKind::Softmax), HeadTrainParams::new(HeadKind::Softmax));
    assert_eq!(rembrandt, new);
}

#[test]
fn parameters_of_older_models_are_those_of_rembrandt() {
    let params = HeadTrainParams { method: Method::Plst, ..HeadTrainParams::new(HeadKind::LeastSquares) };
    let mut json = serde_json::to_value(&params).unwrap();
    assert_eq!((&json["method"], json.get("atoms")), (&serde_json::json!("plst"), None));
    json.as_object_mut().unwrap().remove("method");
    let old: HeadTrainParams = serde_json::from_value(json).unwrap();
    assert_eq!((old.method, old.atoms), (Method::Rembrandt, None));
}

#[test]
fn the_kind_follows_from_the_labels() {
    assert_eq!(HeadKind::suited(&data(50)).unwrap(), HeadKind::Independent);
    let mut single = Rows::new();
    for i in 0..50u32 {
        single.x.push(i % 5, 1.0);
        single.x.end_row();
        single.y.push(i % 5, 1.0);
        single.y.end_row();
    }
    assert_eq!(HeadKind::suited(&Dataset::from_rows(&single, 5, 5).unwrap()).unwrap(), HeadKind::Softmax);
}

#[test]
fn propensities_lift_rare_labels() {
    // Label 0 is on nearly all examples, label 1 on few.
    let mut skewed = Rows::new();
    for i in 0..400u32 {
        skewed.x.push(i % 40, 1.0);
        skewed.x.end_row();
        skewed.y.push(0, 1.0);
        if i % 20 == 0 {
            skewed.y.push(1, 1.0);
        }
        skewed.y.end_row();
    }
    let data = Dataset::from_rows(&skewed, 40, 2).unwrap();
    let plain = HeadTrainParams { k: Some(2), ..HeadTrainParams::new(HeadKind::Independent) };
    let lifted = HeadTrainParams { propensity: Some(Propensity::OTHER), ..plain.clone() };
    let train = |params: &HeadTrainParams| {
        let trained = fit(params, &data);
        let Head::Linear { weights } = trained.head() else { unreachable!("asked for independent labels") };
        ([0, 1].map(|label| *weights.row(label).last().unwrap()), trained.thresholds().to_vec())
    };
    let ((plain, before), (lifted, after)) = (train(&plain), train(&lifted));
    assert!(after[1] > before[1], "{before:?} {after:?}");
    assert!(lifted[1] - plain[1] > lifted[0] - plain[0] && lifted[0] > plain[0], "{plain:?} {lifted:?}");
}

#[test]
fn bad_parameters_and_tiny_data_are_refused() {
    let params = HeadTrainParams::new(HeadKind::Independent);
    let refused = |params: &HeadTrainParams, data: &Dataset| try_fit(params, data).unwrap_err().to_string();
    let one_fold = HeadTrainParams { folds: 1, ..params.clone() };
    assert!(refused(&one_fold, &data(50)).starts_with("folds: one part"));
    let weights = HeadTrainParams { label_weights: Some(vec![1.0; 3]), ..params.clone() };
    assert!(refused(&weights, &data(50)).contains("each of the 8 labels"));
    let squares =
        HeadTrainParams { propensity: Some(Propensity::OTHER), ..HeadTrainParams::new(HeadKind::LeastSquares) };
    assert!(refused(&squares, &data(50)).starts_with("head: least squares"));
    let pursuit = HeadTrainParams { method: Method::CsOmp, ..params.clone() };
    assert!(refused(&pursuit, &data(50)).starts_with("head: cs-omp finds labels by pursuit"));
    let atoms = HeadTrainParams { atoms: Some(2), ..params.clone() };
    assert!(refused(&atoms, &data(50)).starts_with("atoms: is for cs-omp"));
    let many = HeadTrainParams {
        method: Method::CsOmp,
        k: Some(4),
        atoms: Some(5),
        ..HeadTrainParams::new(HeadKind::LeastSquares)
    };
    assert_eq!(refused(&many, &data(50)), "atoms: 5 labels cannot be told apart in 4 dimensions");
    assert!(refused(&params, &data(1)).contains("1 example is too few"), "{}", refused(&params, &data(1)));
    let result = params.fit(&data(200), Preprocessing::AsIs, &mut Run::watched(|_| false));
    assert!(matches!(result, Err(Error::Cancelled)));
}

#[test]
fn labels_are_sampled_where_all_of_them_would_take_too_long() {
    let sampled =
        |head, n: usize, c: usize| HeadTrainParams::new(head).with_defaults(Shape { n, d: 100_000, c }).sampled;
    for head in [HeadKind::Softmax, HeadKind::Independent] {
        assert_eq!(sampled(head, 45_000, 4271), None);
        assert_eq!(sampled(head, 68_686, 24_565), None);
        assert_eq!(sampled(head, 587_537, 23_573), Some(SampledParams::new(head.loss())));
        assert_eq!(sampled(head, 1_427_680, 54_515), Some(SampledParams::new(head.loss())));
        let own = Some(SampledParams { labels: 3, ..SampledParams::default() });
        let given = HeadTrainParams { sampled: own, ..HeadTrainParams::new(head) };
        assert_eq!(given.with_defaults(Shape { n: 10, d: 10, c: 10 }).sampled, own);
    }
    assert_eq!(sampled(HeadKind::LeastSquares, 1_427_680, 54_515), None);
}

#[test]
fn heads_on_sampled_labels_are_trained_and_told_of() {
    let data = Dataset::from_rows(&rows(400, |_| 0), D, C).unwrap();
    for head in [HeadKind::Softmax, HeadKind::Independent] {
        let whole = HeadTrainParams::new(head);
        let sampled =
            HeadTrainParams { sampled: Some(SampledParams { labels: 4, ..SampledParams::default() }), ..whole.clone() };
        let (whole, sampled) = (fit(&whole, &data), fit(&sampled, &data));
        let found = chosen(&sampled).sampled.unwrap();
        assert_eq!((found.labels, found.loss, found.ridge), (4, head.loss(), chosen(&sampled).logistic.ridge));
        // A training that does not sample says nothing of it.
        assert!(whole.params().get("sampled").is_none());
        let (whole, sampled) = (report(&whole), report(&sampled));
        assert!(sampled.head.is_none() && whole.head.is_some());
        assert!(sampled.held_out.p1 > whole.held_out.p1 - 0.05, "{:?}", sampled.held_out);
    }
}

#[test]
fn the_ranker_gives_way_to_whatever_asks_for_a_head() {
    let (suited, chosen) = (HeadChoice::Suited, HeadChoice::Kind(HeadKind::Softmax));
    let training = |method, head| Training::new(method, head, &data(50)).unwrap();
    assert_eq!(training(Method::Rembrandt, None), Training::Ranker(RankerParams::default()));
    for (method, head, kind) in [
        (Method::Rembrandt, Some(suited), HeadKind::Independent),
        (Method::Rembrandt, Some(chosen), HeadKind::Softmax),
        (Method::Pca, None, HeadKind::Independent),
        (Method::CsOmp, None, HeadKind::LeastSquares),
        (Method::CsOmp, Some(suited), HeadKind::LeastSquares),
        (Method::CsOmp, Some(chosen), HeadKind::Softmax),
    ] {
        assert!(
            matches!(training(method, head), Training::Head(params) if (params.method, params.head) == (method, kind))
        );
    }
}

#[test]
fn scarce_memory_narrows_panels_where_that_helps() {
    let mut rows = Rows::new();
    for i in 0..40 {
        rows.x.push(i * 1000, 1.0);
        rows.x.end_row();
        rows.y.push(i % 30, 1.0);
        rows.y.end_row();
    }
    let data = Dataset::from_rows(&rows, 40_000, 30).unwrap();
    let trainings = [
        RankerParams::default().into(),
        HeadTrainParams::new(HeadKind::LeastSquares).into(),
        Training::Trees(TreeParams::new(TreeMethod::Lpsr)),
    ];
    for training in trainings {
        let needed = training.memory(&data);
        assert_eq!(training.clone().narrowed_to(needed, &data), training);
        assert_eq!(training.clone().narrowed_to(0, &data), training);
        let narrow = training.clone().narrowed_to(needed - 1, &data);
        assert_eq!(narrow.memory(&data) < needed, !matches!(training, Training::Trees(_)));
    }
}

/// Texts whose labels are called what the texts say, and one label that no text has.
fn named_texts() -> Texts {
    let subjects = ["chess", "opera", "bread", "rivers", "ships", "birds"];
    Texts::new((0..240).map(|i| {
        let (own, other) = (mix(i, 0, 6), mix(i, 1, 40));
        let rare = if i % 24 == 0 { "zebra" } else { "" };
        (format!("about {} and number{other} {rare}", subjects[own]), vec![subjects[own]])
    }))
}

#[test]
fn a_label_without_examples_is_found_by_its_name() {
    let model = Trainer::new().fit(&named_texts()).unwrap();
    let added = model.add_label_by_name("Zebra").unwrap();
    let id = model.shape().c as u32;
    let first = |model: &Model, text: &str| {
        let found = model.predict_texts(&[text], model.shape().c).unwrap();
        (found.labels(0)[0], found.labels(0).contains(&id))
    };
    eprintln!(
        "{:?} {:?}",
        added.predict_texts(&["zebra"], 7).unwrap(),
        added.contents().ranker.as_ref().map(|r| (r.unseen, r.names.to_rows()))
    );
    assert_eq!(first(&added, "zebra"), (id, true));
    assert_ne!(first(&added, "about chess").0, id);
    assert_eq!(added.label_name(id), "Zebra");
    let explained = added.explain(added.prepare_texts(&["zebra"]).unwrap().view(), id).unwrap();
    assert!(explained.contributions[0].log_odds > 0.0);
    let saved = bytes(&added);
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("a"), saved).unwrap();
    assert_eq!(first(&Model::open(dir.path().join("a")).unwrap(), "zebra"), (id, true));
    let from_examples = added.add_label_from_texts("yak", &["number7 zebra"]).unwrap();
    for (model, name, reason) in [
        (&added, "zebra cake", None),
        (&added, "unheard", Some("no word that the model knows")),
        (&added, "chess", Some("is a label already")),
        (&from_examples, "zebra cake", Some("labels that were added from examples come last")),
    ] {
        let found = model.add_label_by_name(name).err().map(|e| e.to_string());
        assert_eq!(found.is_some(), reason.is_some(), "{name}: {found:?}");
        assert!(found.unwrap_or_default().contains(reason.unwrap_or_default()), "{name}");
    }
}

#[test]
fn a_search_is_no_worse_than_the_default() {
    let data = data(400);
    let train = |params: RankerParams| params.fit(&data, Preprocessing::AsIs, &mut Run::default()).unwrap();
    let (plain, tuned) = (train(RankerParams::default()), train(RankerParams::default().with(|p| p.tune = Some(3.0))));
    let of = |model: &Model| -> RankerReport { serde_json::from_value(model.report().clone()).unwrap() };
    let trials = of(&tuned).trials;
    assert!(of(&plain).trials.is_empty() && trials.len() > 3, "{} trials", trials.len());
    assert_eq!((trials[0].k, trials[0].cost), (plain.shape().k, of(&plain).cost));
    let best = trials.iter().map(|trial| trial.ndcg).fold(0.0, f64::max);
    let chosen = trials.iter().find(|t| (t.k, t.cost) == (tuned.shape().k, of(&tuned).cost)).unwrap();
    assert!(best >= trials[0].ndcg && chosen.ndcg == best);
    // The same settings give the same model without a search.
    let params: RankerParams = serde_json::from_value(tuned.params().clone()).unwrap();
    assert_eq!(params.tune, None);
    let again = train(params);
    assert_eq!(of(&again).held_out, of(&tuned).held_out);
    let refused = RankerParams::default().with(|p| p.tune = Some(0.0)).check(&data).unwrap_err().to_string();
    assert!(refused.starts_with("tune:"), "{refused}");
}

#[test]
fn a_search_that_takes_other_turns_finds_no_wrong_checkpoints() {
    // Labels with noise, so that settings differ in how well they rank.
    let data = Dataset::from_rows(&rows(400, |i| mix(i, 9, 4)), D, C).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let checkpoints = Checkpoints::open(&dir.path().join("a"), &json!("any")).unwrap();
    let train = |params: &RankerParams, checkpoints: Option<&Checkpoints>| {
        params.fit(&data, Preprocessing::AsIs, &mut Run::default().with_checkpoints(checkpoints)).unwrap()
    };
    // Given the C that would be chosen, a search tries no other, and its second turn is another change.
    let params = RankerParams::default().with(|p| (p.k, p.tune) = (Some(4), Some(3.0)));
    let cost = trials(&train(&params, None))[0].cost;
    train(&params.clone().with(|p| p.cost = Some(cost)), Some(&checkpoints));
    assert_eq!(trials(&train(&params, Some(&checkpoints))), trials(&train(&params, None)));
}

fn trials(model: &Model) -> Vec<Trial> {
    serde_json::from_value::<RankerReport>(model.report().clone()).unwrap().trials
}
