//! Numbers computed by an independent implementation in numpy (ranked scores, calibration) and by scikit-learn
//! (Hamming loss and F1, with undefined labels left out).

use super::*;

/// Training examples with each label; none has the last one.
const COUNTS: [u64; 9] = [21, 15, 10, 6, 11, 6, 2, 3, 0];
const N_TRAIN: u64 = 40;
/// Labels with at least this probability are predicted.
const THRESHOLD: f32 = 0.7;

/// True labels, ranked labels, their probabilities. Lists are of 0 to 5 labels, one example has no label, one has
/// only the label that training never saw, and there are ties.
#[rustfmt::skip]
const CASES: [(&[u32], &[u32], &[f32]); 12] = [
    (&[0, 1, 4], &[0, 3, 1, 4, 7], &[0.83, 0.57, 0.5, 0.49, 0.41]),
    (&[3], &[3, 7, 1, 4, 6], &[0.77, 0.52, 0.51, 0.46, 0.29]),
    (&[2, 5], &[2, 5, 4], &[1.0, 0.5, 0.49]),
    (&[], &[6, 7, 3, 4, 2], &[0.43, 0.43, 0.41, 0.35, 0.25]),
    (&[3, 4, 8], &[3], &[0.66]),
    (&[2, 4, 8], &[2, 5, 4, 3, 1], &[0.69, 0.56, 0.46, 0.41, 0.37]),
    (&[2, 3, 5], &[], &[]),
    (&[0, 4, 5], &[4, 0, 5, 1, 3], &[0.86, 0.54, 0.46, 0.44, 0.3]),
    (&[0, 3, 4, 8], &[3, 4, 0, 7], &[0.72, 0.65, 0.45, 0.4]),
    (&[8], &[4, 6, 0, 7, 5], &[0.49, 0.48, 0.46, 0.41, 0.34]),
    (&[3], &[3, 5], &[0.61, 0.6]),
    (&[1, 2, 7], &[1, 2, 5, 7, 3], &[0.84, 0.59, 0.56, 0.51, 0.5]),
];

fn cases() -> Vec<Case> {
    let case = |(truth, ranked, scores): (&[u32], &[u32], &[f32])| Case {
        truth: truth.into(),
        ranked: ranked.into(),
        scores: scores.into(),
        positive: predicted_positive(ranked, scores, &[THRESHOLD; 9]),
    };
    CASES.map(case).into()
}

fn expected() -> Scores {
    let values = [
        Some(0.75),
        Some(0.4722222222222222),
        Some(0.31666666666666665),
        Some(0.3680555555555555),
        Some(0.5902777777777778),
        Some(0.6458333333333334),
        Some(0.75),
        Some(0.6368729617566373),
        Some(0.6565468914841355),
        Some(0.5629005935870441),
        Some(0.5460955335419582),
        Some(0.6047100175498076),
        None,
        Some(0.19444444444444445),
        Some(0.36363636363636365),
        Some(0.30892857142857144),
        Some(0.2672727270559831),
    ];
    scores(values, 12)
}

fn settings(propensity: Propensity) -> Settings {
    Settings { propensity, probabilities: true, ..Settings::default() }
}

#[test]
fn all_scores_agree_with_the_reference() {
    let evaluator = Evaluator::new(9, settings(Propensity::OTHER)).unwrap().trained_on(&COUNTS, N_TRAIN).unwrap();
    assert_close(&evaluate(evaluator, &cases()).scores(), &expected(), 1e-9);
}

#[test]
fn other_propensities_agree_with_the_reference() {
    let evaluator = Evaluator::new(9, settings(Propensity::WIKIPEDIA)).unwrap().trained_on(&COUNTS, N_TRAIN).unwrap();
    let psp = [0.46021581745985796, 0.48901064300587355, 0.5429385866978464].map(Some);
    let expected = with(&expected(), &[("psp@1", psp[0]), ("psp@3", psp[1]), ("psp@5", psp[2])]);
    assert_close(&evaluate(evaluator, &cases()).scores(), &expected, 1e-9);
}

#[test]
fn a_label_beyond_those_of_the_model_counts_like_one_never_seen() {
    let evaluator = Evaluator::new(8, settings(Propensity::OTHER)).unwrap().trained_on(&COUNTS[..8], N_TRAIN).unwrap();
    // Only Hamming loss knows how many labels there are.
    let expected = with(&expected(), &[("hamming", expected().of("hamming").map(|loss| loss * 9.0 / 8.0))]);
    assert_close(&evaluate(evaluator, &cases()).scores(), &expected, 1e-9);
}
