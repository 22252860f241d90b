//! Absent scores, and refusals.

use super::*;

fn example<'a>(truth: &'a [u32], ranked: &'a [u32]) -> Example<'a> {
    Example { truth, ranked, ..Example::default() }
}

fn scores_of(examples: &[Example<'_>]) -> Scores {
    let mut evaluator = Evaluator::new(6, Settings::default()).unwrap().trained_on(&[9; 6], 30).unwrap();
    examples.iter().for_each(|example| evaluator.push(example).unwrap());
    evaluator.scores()
}

#[test]
fn keys_are_stable() {
    let keys = "p@1 p@3 p@5 r@1 r@3 r@5 ndcg@1 ndcg@3 ndcg@5 psp@1 psp@3 psp@5 error hamming micro_f1 macro_f1 ece n";
    let none = scores_of(&[]);
    let body = keys.split(' ').map(|key| format!("\"{key}\":{}", if key == "n" { "0" } else { "null" }));
    assert_eq!(serde_json::to_string(&none).unwrap(), format!("{{{}}}", body.collect::<Vec<_>>().join(",")));
    let names: Vec<_> = none.entries().map(|(name, _)| name).collect();
    assert_eq!(names.join(" ") + " n", keys);
}

#[test]
fn any_rank_is_scored() {
    let settings = Settings::default().with(|s| s.ranks = vec![2, 7]);
    let mut evaluator = Evaluator::new(20, settings).unwrap();
    evaluator.push(&example(&[3, 9, 11], &[3, 1, 4, 5, 6, 7, 9, 11])).unwrap();
    let scores = evaluator.scores();
    let names: Vec<_> = scores.entries().map(|(name, _)| name.to_owned()).collect();
    assert_eq!(names[..8], ["p@2", "p@7", "r@2", "r@7", "ndcg@2", "ndcg@7", "psp@2", "psp@7"]);
    assert_eq!((scores.of("p@2"), scores.of("p@7"), scores.of("r@7")), (Some(0.5), Some(2.0 / 7.0), Some(2.0 / 3.0)));
    for ranks in [vec![], vec![0], vec![5, 3], vec![3, 3]] {
        let settings = Settings::default().with(|s| s.ranks = ranks);
        assert!(Evaluator::new(3, settings).unwrap_err().to_string().starts_with("ranks: "));
    }
}

#[test]
fn labels_are_told_one_by_one() {
    let decided = Example { positive: Some(&[2, 4]), ..example(&[2, 5], &[4, 2]) };
    let mut evaluator = Evaluator::new(5, Settings::default()).unwrap();
    evaluator.push(&decided).unwrap();
    evaluator.push(&Example { positive: Some(&[2]), ..example(&[1], &[2]) }).unwrap();
    let labels = evaluator.labels().unwrap();
    let told: Vec<_> = labels.iter().map(|l| (l.label, l.support, l.predicted, l.common)).collect();
    assert_eq!(told, [(1, 1, 0, 0), (2, 1, 2, 1), (4, 0, 1, 0)]);
    assert_eq!((labels[0].precision(), labels[0].recall(), labels[0].f1()), (None, Some(0.0), 0.0));
    assert_eq!((labels[1].precision(), labels[1].recall(), labels[1].f1()), (Some(0.5), Some(1.0), 2.0 / 3.0));
    // Label 5 is beyond those of the model.
    let pairs: Vec<_> = evaluator.confusions().iter().map(|c| (c.missed, c.given, c.examples)).collect();
    assert_eq!(pairs, [(1, 2, 1), (5, 4, 1)]);
    evaluator.push(&example(&[2], &[2])).unwrap();
    assert_eq!(evaluator.labels(), None, "an example does not say what it predicts");
}

#[test]
fn probabilities_are_told_bin_by_bin() {
    let mut evaluator = Evaluator::new(6, Settings::default().with(|s| s.probabilities = true)).unwrap();
    for (label, p) in [(1, 0.5), (2, 0.52), (2, 1.0)] {
        evaluator.push(&Example { scores: Some(&[p]), ..example(&[2], &[label]) }).unwrap();
    }
    let bins = evaluator.reliability();
    assert_eq!(bins.iter().map(|bin| (bin.examples, bin.frequency)).collect::<Vec<_>>(), [(2, 0.5), (1, 1.0)]);
    assert!((bins[0].probability - 0.51).abs() < 1e-6 && bins[0].low < 0.5 && bins[0].high > 0.52, "{bins:?}");
}

#[test]
fn without_examples_nothing_applies() {
    assert!(scores_of(&[]).entries().all(|(_, score)| score.is_none()));
}

#[test]
fn examples_without_labels_count() {
    let scores = scores_of(&[example(&[2], &[2, 3]), example(&[], &[2, 3])]);
    assert_eq!((scores.of("p@1"), scores.of("r@1"), scores.of("ndcg@3")), (Some(0.5), Some(0.5), Some(0.5)));
    // They have nothing that could be found, so they do not lower what was found of it.
    assert_eq!(scores.of("psp@1"), Some(1.0));
    assert_eq!(scores.of("error"), Some(0.5));
    let none = scores_of(&[example(&[], &[2, 3])]);
    assert_eq!((none.of("p@1"), none.of("psp@1"), none.of("error")), (Some(0.0), None, None));
}

#[test]
fn error_is_for_one_label_per_example() {
    assert_eq!(scores_of(&[example(&[2], &[2]), example(&[1], &[0])]).of("error"), Some(0.5));
    assert_eq!(scores_of(&[example(&[2], &[2]), example(&[1, 3], &[1])]).of("error"), None);
}

#[test]
fn single_predictions_are_scored_at_one_only() {
    let scores = scores_of(&[example(&[2], &[2]), example(&[1], &[])]);
    assert_eq!(
        (scores.of("p@1"), scores.of("p@3"), scores.of("ndcg@5"), scores.of("psp@3")),
        (Some(0.5), None, None, None)
    );
    assert!(scores_of(&[example(&[2], &[2]), example(&[1], &[0, 1])]).of("p@5").is_some());
}

#[test]
fn decisions_count_if_all_examples_have_them() {
    let decided = Example { positive: Some(&[2, 4]), ..example(&[2, 5], &[2]) };
    let scores = scores_of(&[decided, Example { positive: Some(&[]), ..example(&[], &[]) }]);
    assert_eq!((scores.of("hamming"), scores.of("micro_f1")), (Some(2.0 / 12.0), Some(0.5)));
    // Labels 2, 4 and 5; the other three are neither true nor predicted.
    assert_eq!(scores.of("macro_f1"), Some(1.0 / 3.0));
    let mixed = scores_of(&[decided, example(&[2], &[2])]);
    assert_eq!((mixed.of("hamming"), mixed.of("micro_f1"), mixed.of("macro_f1")), (None, None, None));
    let nothing = scores_of(&[Example { positive: Some(&[]), ..example(&[], &[1]) }]);
    assert_eq!((nothing.of("hamming"), nothing.of("micro_f1"), nothing.of("macro_f1")), (Some(0.0), None, None));
}

#[test]
fn calibration_error_is_of_probabilities() {
    let case = |probability| Case { truth: vec![1], ranked: vec![1], scores: vec![probability], positive: vec![] };
    let ece = |probabilities, cases: &[Case]| {
        let settings = Settings { probabilities, ..Settings::default() };
        evaluate(Evaluator::new(6, settings).unwrap(), cases).scores().of("ece")
    };
    assert_eq!(ece(false, &[case(0.75)]), None);
    assert_eq!(ece(true, &[case(0.75)]), Some(0.25));
    assert_eq!(ece(true, &[case(1.0), case(0.0)]), Some(0.5));
    // In one bin what is too high and what is too low cancel.
    let wrong = Case { truth: vec![2], ..case(0.5) };
    assert_eq!(ece(true, &[case(0.5), wrong]), Some(0.0));
}

#[test]
fn bad_examples_are_refused_and_change_nothing() {
    let mut evaluator = Evaluator::new(6, Settings { probabilities: true, ..Settings::default() }).unwrap();
    let good = Example { scores: Some(&[0.9, 0.1]), ..example(&[1], &[1, 2]) };
    evaluator.push(&good).unwrap();
    let before = evaluator.scores();
    let mut refuse = |bad: Example<'_>, reason: &str| {
        let message = evaluator.push(&bad).unwrap_err().to_string();
        assert_eq!(message, format!("example 1 (counted from 0): {reason}"));
    };
    refuse(Example { truth: &[3, 1], ..good }, "true labels are not ascending: 3 comes before 1");
    refuse(Example { truth: &[3, 3], ..good }, "true labels are not ascending: 3 comes before 3");
    refuse(Example { positive: Some(&[2, 2]), ..good }, "positive labels are not ascending: 2 comes before 2");
    refuse(Example { positive: Some(&[6]), ..good }, "label 6 is predicted, but there are only 6");
    refuse(Example { ranked: &[7, 2], ..good }, "label 7 is predicted, but there are only 6");
    refuse(Example { ranked: &[2, 2], ..good }, "label 2 is ranked twice");
    refuse(Example { scores: Some(&[0.9]), ..good }, "2 labels are ranked, but 1 have scores");
    refuse(Example { scores: Some(&[0.1, 0.9]), ..good }, "scores are not descending: 0.1 comes before 0.9");
    refuse(Example { scores: Some(&[0.9, f32::NAN]), ..good }, "a score is not a number");
    refuse(Example { scores: Some(&[1.5, 0.9]), ..good }, "1.5 is not a probability");
    refuse(Example { scores: None, ..good }, "the probabilities are missing");
    assert_eq!(evaluator.scores(), before);
}

#[test]
fn bad_settings_are_refused() {
    let few = Bootstrap { replicates: 15, ..Bootstrap::default() };
    let message = Evaluator::new(3, with_bootstrap(few)).unwrap_err().to_string();
    assert_eq!(message, "replicates: 15 are too few for an interval of 90 %, ask for 16 or more");
    let counts = Evaluator::new(3, Settings::default()).unwrap().trained_on(&[1, 2], 5);
    assert_eq!(counts.unwrap_err().to_string(), "counts: 2 labels are counted, but there are 3");
}

#[test]
#[should_panic(expected = "parts of one evaluation are made alike")]
fn parts_of_different_evaluations_do_not_merge() {
    let mut one = Evaluator::new(3, Settings::default()).unwrap();
    one.merge(Evaluator::new(4, Settings::default()).unwrap());
}
