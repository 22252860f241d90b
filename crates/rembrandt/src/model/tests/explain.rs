use super::super::PredictOptions;
use super::*;

#[test]
fn shares_add_up_to_the_prediction() {
    for kind in KINDS {
        for format in [NumberFormat::F32, NumberFormat::Bf16] {
            let model = save(&weighed(kind, 300), format).open();
            let x = model.prepare(examples(9, 8).view()).unwrap();
            let predictor = model.predictor(PredictOptions::top(300)).unwrap();
            let found = predictor.predict_prepared(x.view());
            for i in 0..9 {
                let one = rows(x.view(), i, i + 1);
                let ids: Vec<usize> = x.view().entries(i).map(|(id, _)| id).collect();
                let mut logs = Vec::new();
                for (label, p) in found.row(i).take(3) {
                    let why = model.explain(one.view(), label).unwrap();
                    assert_eq!((why.label, why.probability), (label, p), "{kind}");
                    assert_eq!(why.exact, !["random-features", "pursuit"].contains(&kind));
                    assert_eq!(why.views.len(), if kind.starts_with("ranker") { 7 } else { 0 }, "{kind}");
                    let sum = why.base + why.into_iter().map(|c| c.log_odds).sum::<f64>();
                    assert!((sum - why.log_odds).abs() < 1e-9);
                    let mut named: Vec<usize> = why.contributions.iter().map(|c| c.feature as usize).collect();
                    assert!(why.contributions.is_sorted_by(|a, b| a.log_odds.abs() >= b.log_odds.abs()));
                    named.sort_unstable();
                    assert_eq!(named, ids);
                    let share = |log: f64| match model.calibration().loss {
                        Loss::Independent => 1.0 / (1.0 + (-log).exp()),
                        // Relative to the first label: the sum over all cancels.
                        Loss::Softmax => (log - logs.first().map_or(log, |first: &f64| *first)).exp(),
                    };
                    let expected = match model.calibration().loss {
                        Loss::Independent => f64::from(p),
                        Loss::Softmax => f64::from(p) / f64::from(found.probabilities(i)[0]),
                    };
                    assert!((share(why.log_odds) - expected).abs() < 1e-4 * expected + 1e-6, "{kind}");
                    logs.push(why.log_odds);
                }
            }
        }
    }
}

#[test]
fn without_a_feature_the_log_odds_lose_its_share() {
    for kind in ["ilr", "random-features"] {
        let model = save(&parts(kind, 20), NumberFormat::F32).open();
        let x = model.prepare(rows(examples(1, 8).view(), 0, 1).view()).unwrap();
        let why = model.explain(x.view(), 4).unwrap();
        let first = why.contributions[0];
        assert!(x.view().entries(0).any(|entry| entry == (first.feature as usize, first.value)));
        let mut without = Csr::new(false);
        let others = x.view().entries(0).filter(|entry| entry.0 != first.feature as usize);
        others.for_each(|(id, value)| without.push(id as u32, value));
        without.end_row();
        let less = model.explain(without.view(), 4).unwrap();
        assert!((why.log_odds - less.log_odds - first.log_odds).abs() < 1e-5, "{kind}");
    }
}

#[test]
fn bad_questions_are_refused_and_empty_ones_answered() {
    let model = save(&parts("ilr", 20), NumberFormat::F32).open();
    let x = model.prepare(examples(2, 8).view()).unwrap();
    let message = |x: CsrRef<'_>, label| model.explain(x, label).unwrap_err().to_string();
    assert_eq!(message(x.view(), 0), "x: 2 examples, where one can be explained");
    assert_eq!(message(rows(x.view(), 0, 1).view(), 20), "label: 20 is not a label: the last one is 19");
    let mut empty = Csr::new(false);
    empty.end_row();
    let why = model.explain(empty.view(), 2).unwrap();
    assert_eq!((why.probability, why.contributions.len()), (0.075, 0));
    assert!((why.base - (75.5f64 / 925.5).ln()).abs() < 1e-12);
    assert_eq!(model.feature_name(7), "w7");
}
