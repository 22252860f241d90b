//! Invariances, perfect and hopeless predictions, and the width of intervals.

use proptest::prelude::*;

use super::*;

/// Labels of the model; true labels may lie one beyond.
const C: u32 = 9;
const COUNTS: [u64; C as usize] = [70, 33, 20, 12, 6, 4, 2, 1, 0];

fn evaluator(bootstrap: Option<Bootstrap>) -> Evaluator {
    let settings = Settings { probabilities: true, bootstrap, ..Settings::default() };
    Evaluator::new(C as usize, settings).unwrap().trained_on(&COUNTS, 100).unwrap()
}

fn case() -> impl Strategy<Value = Case> {
    let truth = prop::collection::btree_set(0..=C, 0..5);
    // Few distinct probabilities make ties.
    let probabilities = prop::collection::vec((0u8..=8).prop_map(|p| f32::from(p) / 8.0), C as usize);
    (truth, probabilities, 0usize..8).prop_map(|(truth, probabilities, top)| {
        let ranked = rank(&probabilities, top);
        let scores: Vec<f32> = ranked.iter().map(|label| probabilities[*label as usize]).collect();
        let positive = predicted_positive(&ranked, &scores, &[0.5; C as usize]);
        Case { truth: truth.into_iter().collect(), ranked, scores, positive }
    })
}

fn cases() -> impl Strategy<Value = Vec<Case>> {
    prop::collection::vec(case(), 1..30)
}

/// True labels of some examples, one to five each and all below `bound`.
fn truths(bound: u32) -> impl Strategy<Value = Vec<Vec<u32>>> {
    let one = prop::collection::btree_set(0..bound, 1..=bound.min(5) as usize);
    prop::collection::vec(one.prop_map(|truth| truth.into_iter().collect()), 1..20)
}

/// The ends of all intervals.
fn ends(intervals: &Intervals) -> [Scores; 2] {
    let of = |end: fn(Interval) -> f64| intervals.entries().map(|(_, interval)| interval.map(end)).collect::<Vec<_>>();
    [of(|i| i.low), of(|i| i.high)].map(|values| Measures::new(&RANKS, values, intervals.n))
}

proptest! {
    #[test]
    fn the_order_of_examples_does_not_matter(
        (cases, shuffled) in cases().prop_flat_map(|cases| (Just(cases.clone()), Just(cases).prop_shuffle())),
    ) {
        let scores = evaluate(evaluator(None), &cases).scores();
        assert_close(&evaluate(evaluator(None), &shuffled).scores(), &scores, 1e-12);
    }

    #[test]
    fn parts_make_the_whole(cases in cases(), cut: prop::sample::Index) {
        let cut = cut.index(cases.len() + 1);
        let bootstrap = Bootstrap { macro_f1: true, replicates: 16, ..Bootstrap::default() };
        let empty = evaluator(Some(bootstrap));
        let whole = evaluate(empty.clone(), &cases);
        let mut merged = evaluate(empty.part(cut as u64), &cases[cut..]);
        merged.merge(evaluate(empty.part(0), &cases[..cut]));
        assert_close(&merged.scores(), &whole.scores(), 1e-12);
        let [found, expected] = [&merged, &whole].map(|e| ends(&e.intervals().unwrap()));
        for (found, expected) in found.iter().zip(&expected) {
            assert_close(found, expected, 1e-12);
        }
    }

    #[test]
    fn scores_and_intervals_lie_between_0_and_1(cases in cases(), seed: u64) {
        let bootstrap = Bootstrap { macro_f1: true, replicates: 16, seed, ..Bootstrap::default() };
        let evaluated = evaluate(evaluator(Some(bootstrap)), &cases);
        // A label that the model does not have can be one mistake more than it has labels.
        let most = |key: &str| if key == "hamming" { f64::from(C + 1) / f64::from(C) } else { 1.0 } + 1e-12;
        let scores = evaluated.scores();
        for (key, score) in scores.entries() {
            prop_assert!(score.is_none_or(|score| (-1e-12..=most(key)).contains(&score)), "{}: {:?}", key, score);
        }
        for (key, interval) in evaluated.intervals().unwrap().entries() {
            let fine = interval.is_none_or(|i| -1e-12 <= i.low && i.low <= i.high && i.high <= most(key));
            prop_assert!(fine, "{}: {:?}", key, interval);
            let inside = |i: Interval, score: f64| i.low - 1e-12 <= score && score <= i.high + 1e-12;
            let lies_in_it = interval.zip(scores.of(key)).is_none_or(|(i, score)| inside(i, score));
            prop_assert!(lies_in_it, "{}: {:?} is not in {:?}", key, scores.of(key), interval);
        }
    }

    #[test]
    fn perfect_predictions_are_perfect(truths in truths(C)) {
        let perfect = |truth: Vec<u32>| {
            // The rarest first: what propensities ask for. Counts fall with the id.
            let ranked: Vec<u32> = truth.iter().rev().copied().collect();
            Case { scores: vec![1.0; ranked.len()], positive: truth.clone(), truth, ranked }
        };
        let cases: Vec<Case> = truths.into_iter().map(perfect).collect();
        let s = evaluate(evaluator(Some(Bootstrap::default())), &cases);
        let several = cases.iter().any(|case| case.ranked.len() > 1);
        let later = several.then_some(1.0);
        // Precision beyond the number of true labels and recall before it are not for a ranking to choose.
        let found = s.scores();
        let ones = ["p@1", "ndcg@1", "psp@1", "micro_f1", "macro_f1"].map(|key| (key, Some(1.0)));
        let laters = ["r@5", "ndcg@3", "ndcg@5", "psp@3", "psp@5"].map(|key| (key, later));
        let zeros = [("error", (!several).then_some(0.0)), ("hamming", Some(0.0)), ("ece", Some(0.0))];
        let expected = with(&found, &[&ones[..], &laters, &zeros].concat());
        prop_assert_eq!(found.n, cases.len() as u64);
        assert_close(&s.scores(), &expected, 1e-12);
        let interval = s.intervals().unwrap();
        if let Some(p1) = interval.of("p@1") {
            prop_assert_eq!((p1.low, p1.high), (1.0, 1.0));
        }
        prop_assert_eq!(interval.of("macro_f1"), None);
    }

    #[test]
    fn hopeless_predictions_score_nothing(truths in truths(4)) {
        let hopeless = |truth: Vec<u32>| Case {
            truth,
            ranked: (4..9).collect(),
            scores: vec![1.0; 5],
            positive: vec![4],
        };
        let cases: Vec<Case> = truths.into_iter().map(hopeless).collect();
        let scores = evaluate(evaluator(None), &cases).scores();
        let zero = ["p@5", "r@5", "ndcg@5", "psp@5", "micro_f1", "macro_f1"].map(|key| scores.of(key));
        prop_assert_eq!(zero, [Some(0.0); 6]);
        prop_assert_eq!(scores.of("ece"), Some(1.0));
    }
}

/// Examples of which `share` have their first label right.
fn partly_right(n: usize, share: f64) -> Vec<Case> {
    let right = (n as f64 * share) as usize;
    let case = |i: usize| Case {
        truth: if i < right { vec![1, 3] } else { vec![2] },
        ranked: vec![1, 0],
        scores: vec![0.5, 0.25],
        positive: vec![1],
    };
    (0..n).map(case).collect()
}

#[test]
fn intervals_are_as_wide_as_theory_says() {
    let (n, share) = (900, 0.3);
    let bootstrap = Bootstrap { replicates: 1000, macro_f1: true, seed: 5, ..Bootstrap::default() };
    let evaluated = evaluate(evaluator(Some(bootstrap)), &partly_right(n, share));
    let (scores, intervals) = (evaluated.scores(), evaluated.intervals().unwrap());
    let p1 = intervals.of("p@1").unwrap();
    // The middle 90 % of a normal distribution is 2 · 1.645 standard deviations wide.
    let width = 2.0 * 1.645 * (share * (1.0 - share) / n as f64).sqrt();
    assert!(((p1.high - p1.low) / width - 1.0).abs() < 0.1, "{p1:?} against a width of {width}");
    // Ratios of sums: where the score lies, and of a width of the same order.
    let ratios = ["psp@1", "micro_f1", "macro_f1", "hamming"].map(|key| (scores.of(key), intervals.of(key)));
    for (score, interval) in ratios.map(|(score, interval)| (score.unwrap(), interval.unwrap())) {
        assert!(interval.low < score && score < interval.high, "{score} in {interval:?}");
        assert!(interval.high - interval.low < 2.0 * width, "{interval:?}");
    }
}

#[test]
fn rare_labels_and_noise_do_not_move_an_interval_away() {
    // Each label is true once: replicates lack a third of them, and have a better macro-F1 for it.
    let case = |i: u32| Case { truth: vec![i % C], ranked: vec![i % 2], scores: vec![0.5], positive: vec![i % 2] };
    let cases: Vec<Case> = (0..C).map(case).collect();
    let bootstrap = Bootstrap { macro_f1: true, ..Bootstrap::default() };
    let evaluated = evaluate(evaluator(Some(bootstrap)), &cases);
    for key in ["macro_f1", "ece"] {
        let (score, interval) = (evaluated.scores().of(key).unwrap(), evaluated.intervals().unwrap().of(key).unwrap());
        assert!(interval.low < score && score < interval.high, "{key}: {score} in {interval:?}");
    }
    let wide = Bootstrap { level: 0.5, ..Bootstrap::default() };
    let width = |bootstrap| {
        let p1 = evaluate(evaluator(Some(bootstrap)), &cases).intervals().unwrap().of("p@1").unwrap();
        p1.high - p1.low
    };
    assert!(width(wide) < width(Bootstrap::default()));
}

#[test]
fn intervals_follow_the_seed() {
    let cases = partly_right(50, 0.5);
    let of = |seed| evaluate(evaluator(Some(Bootstrap { seed, ..Bootstrap::default() })), &cases).intervals();
    assert_eq!(of(1), of(1));
    assert_ne!(of(1), of(2));
    assert_eq!(evaluate(evaluator(None), &cases).intervals(), None);
}
