//! Whatever the texts are, featurizing neither panics nor depends on threads.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// Texts with much in common, so that something is counted, and texts with nothing in common.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "\\PC{0,40}",
        "[a-dA-D1 .,_é漢İΣ\u{301}\u{200d}\u{ad}]{0,60}",
        vec(prop::sample::select(vec!["red", "Wine", "été", "漢字", "ﬁn", "don't"]), 0..12).prop_map(|w| w.join(" ")),
    ]
}

fn range() -> impl Strategy<Value = NGrams> {
    (1usize..4, 0usize..3).prop_map(|(from, more)| NGrams { from, to: from + more })
}

fn params() -> impl Strategy<Value = FeaturizerParams> {
    let weighting = prop::sample::select(vec![Weighting::TfIdf, Weighting::Tf, Weighting::Binary]);
    let hashing = prop::option::of((1u32..12, any::<bool>()).prop_map(|(bits, signed)| Hashing { bits, signed }));
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    let stem = prop::sample::select(vec!["en", "fr", "tr", "el", "ar", "ta"]).prop_map(|code| code.parse().unwrap());
    let language = (any::<bool>(), prop::option::of(stem), any::<bool>());
    (range(), prop::option::of(range()), flags, weighting, hashing, 0usize..4, 1u64..3, language).prop_map(
        |(words, characters, flags, weighting, hashing, min_length, min_df, (fold, stem, stopped))| FeaturizerParams {
            fold,
            stem,
            stop_words: if stopped { stop_words("fr").unwrap() } else { Vec::new() },
            words: Some(words),
            characters,
            min_length,
            lowercase: flags.0,
            normalization: if flags.1 { Normalization::Nfkc } else { Normalization::None },
            weighting,
            sublinear: flags.2,
            l2: flags.3,
            hashing,
            min_df,
            ..FeaturizerParams::default()
        },
    )
}

fn fit_and_transform(params: &FeaturizerParams, texts: &[String], threads: usize) -> Option<(FeaturizerParts, Csr)> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads can be started");
    pool.install(|| {
        let mut counts = FeatureCounts::new(params.clone()).unwrap().limit(200);
        counts.add(texts);
        let featurizer = counts.finish().ok()?;
        let rows = featurizer.transform_batch(texts);
        Some((featurizer.to_parts(), rows))
    })
}

proptest! {
    #[test]
    fn rows_are_sound_and_the_same_on_any_threads(params in params(), some in vec(text(), 0..12), times in 1usize..150) {
        let texts: Vec<String> = some.iter().cycle().take(some.len() * times).cloned().collect();
        let first = fit_and_transform(&params, &texts, 1);
        prop_assert_eq!(&first, &fit_and_transform(&params, &texts, 2));
        prop_assert_eq!(&first, &fit_and_transform(&params, &texts, 5));
        let Some((parts, rows)) = first else { return Ok(()) };
        let featurizer = Featurizer::from_parts(parts.clone()).unwrap();
        let x = rows.view();
        prop_assert_eq!(x.rows(), texts.len());
        for (row, text) in texts.iter().take(some.len()).enumerate() {
            let (ids, values) = x.row(row);
            let values = values.unwrap();
            prop_assert!(ids.is_sorted_by(|a, b| a < b) && ids.iter().all(|id| (*id as usize) < featurizer.features()));
            prop_assert!(values.iter().all(|value| value.is_finite() && *value != 0.0));
            prop_assert!(!params.l2 || ids.is_empty() || (length(x, row) - 1.0).abs() < 1e-5);
            let alone = featurizer.transform(text);
            prop_assert!(alone.iter().map(|(id, _)| id).eq(ids) && alone.iter().map(|(_, v)| v).eq(values));
        }
        let json = serde_json::to_string(&featurizer).unwrap();
        let again: Featurizer = serde_json::from_str(&json).unwrap();
        prop_assert_eq!(again.to_parts(), parts);
    }

    #[test]
    fn both_ways_of_splitting_agree(text in text(), params in params()) {
        let (mut fast, mut slow) = (Words::default(), Words::default());
        fast.split(&text, &params);
        slow.split_any(&text, &params);
        prop_assert_eq!(fast.found(), slow.found());
    }

    #[test]
    fn words_hold_no_separators(text in text()) {
        prop_assert!(words_of(&text).iter().all(|word| !word.is_empty() && !word.contains([' ', '#', '_'])));
    }

    #[test]
    fn words_of_words_are_the_same(text in "[ -~\\n\\t]{0,80}") {
        let found = words_of(&text);
        prop_assert_eq!(words_of(&found.join(" ")), found);
    }
}
