//! Featurizing against what is known, on any text, and on real data.

mod properties;
mod real;

use super::*;
use crate::linalg::csr::CsrRef;

fn any_params() -> FeaturizerParams {
    FeaturizerParams { min_df: 1, ..FeaturizerParams::default() }
}

fn words_of(text: &str) -> Vec<String> {
    let mut words = Words::default();
    words.split(text, &any_params());
    words.found().into_iter().map(str::to_owned).collect()
}

fn names_of(text: &str, params: &FeaturizerParams) -> Vec<String> {
    let mut names = Vec::new();
    Words::default().each(text, params, |name| names.push(name.to_owned()));
    names
}

fn length(x: CsrRef<'_>, row: usize) -> f64 {
    x.entries(row).map(|(_, value)| f64::from(value).powi(2)).sum::<f64>().sqrt()
}

#[test]
fn words_are_runs_of_letters_and_digits() {
    assert_eq!(words_of("Don't panic: mod_log_sql 3D, x y z2!"), ["don", "panic", "mod", "log", "sql", "3d", "z2"]);
    assert_eq!(words_of("École d'été, ﬁn ＡＢＣ cafe\u{301}s"), ["école", "été", "fin", "abc", "cafés"]);
    assert_eq!(words_of("plain, naïve,plain"), ["plain", "naïve", "plain"]);
    assert_eq!(words_of("ΟΔΟΣ Привет"), ["οδο\u{3c2}", "привет"]);
    assert_eq!(words_of(" \t.,_-"), Vec::<String>::new());
    assert_eq!(words_of(""), Vec::<String>::new());
}

#[test]
fn scripts_without_spaces_keep_single_characters() {
    assert_eq!(words_of("漢字 é a"), ["漢", "字"]);
}

#[test]
fn grams_of_words_and_characters() {
    let pairs = FeaturizerParams { words: Some(NGrams { from: 1, to: 2 }), ..any_params() };
    assert_eq!(names_of("red, green BLUE", &pairs), ["red", "green", "blue", "red green", "green blue"]);
    let triples = FeaturizerParams { words: Some(NGrams { from: 3, to: 9 }), ..any_params() };
    assert_eq!(names_of("red green", &triples), Vec::<String>::new());
    let characters = FeaturizerParams { words: None, characters: Some(NGrams { from: 1, to: 9 }), ..any_params() };
    let expected = ["#é", "#t", "#<é", "#ét", "#t>", "#<ét", "#ét>", "#<ét>"];
    assert_eq!(names_of("ét", &characters), expected);
}

#[test]
fn ids_follow_counts_then_names() {
    let texts = ["bb aa", "cc bb aa", "cc bb", "dd dd"];
    let featurizer = Featurizer::fit(any_params(), texts).unwrap();
    assert_eq!(featurizer.names().collect::<Vec<_>>(), ["bb", "aa", "cc", "dd"]);
    let idf = |df: f64| ((5.0 / (1.0 + df)).ln() + 1.0) as f32;
    assert_eq!(featurizer.idf(), [idf(3.0), idf(2.0), idf(2.0), idf(1.0)]);
    assert_eq!((featurizer.id("cc"), featurizer.id("ee")), (Some(2), None));
    let limits = FeaturizerParams { min_df: 2, max_df: 0.5, max_features: Some(1), ..any_params() };
    assert_eq!(Featurizer::fit(limits, texts).unwrap().names().collect::<Vec<_>>(), ["aa"]);
}

#[test]
fn values_follow_the_weighting() {
    let texts = ["aa aa aa bb", "bb"];
    let plain = FeaturizerParams { l2: false, ..any_params() };
    let row = |params: FeaturizerParams| Featurizer::fit(params, texts).unwrap().transform("aa bb aa aa zz");
    let rare = ((3.0f64 / 2.0).ln() + 1.0) as f32;
    assert_eq!(row(plain.clone()), [(0, 1.0), (1, (3.0 * f64::from(rare)) as f32)]);
    assert_eq!(row(FeaturizerParams { weighting: Weighting::Tf, ..plain.clone() }), [(0, 1.0), (1, 3.0)]);
    assert_eq!(row(FeaturizerParams { weighting: Weighting::Binary, ..plain.clone() }), [(0, 1.0), (1, 1.0)]);
    let sublinear = FeaturizerParams { weighting: Weighting::Tf, sublinear: true, ..plain };
    assert_eq!(row(sublinear), [(0, 1.0), (1, (1.0 + 3.0f64.ln()) as f32)]);
}

#[test]
fn hashing_is_the_documented_one() {
    let hashing = Some(Hashing { bits: 20, signed: false });
    let params = FeaturizerParams { hashing, weighting: Weighting::Tf, l2: false, ..any_params() };
    let featurizer = Featurizer::fit(params.clone(), ["anything"]).unwrap();
    let hash = xxhash_rust::xxh3::xxh3_64(b"wine");
    assert_eq!(featurizer.transform("Wine wine"), [((hash & 0xfffff) as u32, 2.0)]);
    assert_eq!(featurizer.features(), 1 << 20);
    let signed = FeaturizerParams { hashing: Some(Hashing { bits: 20, signed: true }), ..params };
    let featurizer = Featurizer::fit(signed, ["anything"]).unwrap();
    let sign = if hash >> 63 == 1 { -2.0 } else { 2.0 };
    assert_eq!(featurizer.transform("Wine wine"), [((hash & 0xfffff) as u32, sign)]);
    let tfidf = FeaturizerParams { hashing: Some(Hashing { bits: 8, signed: false }), ..any_params() };
    assert_eq!(Featurizer::fit(tfidf, ["aa", "aa bb"]).unwrap().idf().len(), 256);
}

#[test]
fn bad_parameters_are_named() {
    let message = |params: FeaturizerParams| Featurizer::fit(params, ["aa"]).unwrap_err().to_string();
    let base = any_params;
    assert!(message(FeaturizerParams { words: None, ..base() }).starts_with("words: "));
    assert!(message(FeaturizerParams { words: Some(NGrams { from: 2, to: 1 }), ..base() }).starts_with("words: 2-1"));
    assert!(message(FeaturizerParams { max_df: f64::NAN, ..base() }).starts_with("max_df: "));
    assert!(message(FeaturizerParams { max_features: Some(0), ..base() }).starts_with("max_features: "));
    let hashing = Some(Hashing { bits: 31, signed: false });
    assert!(message(FeaturizerParams { hashing, ..base() }).starts_with("hashing: 31 bits"));
    assert!(message(FeaturizerParams { min_df: 2, ..base() }).contains("change min_df"));
    assert!("1-x".parse::<NGrams>().is_err());
}

#[test]
fn parts_that_do_not_fit_are_refused() {
    let parts = Featurizer::fit(any_params(), ["aa bb"]).unwrap().to_parts();
    let refusal = |change: &dyn Fn(&mut FeaturizerParts)| {
        let mut parts = parts.clone();
        change(&mut parts);
        Featurizer::from_parts(parts).unwrap_err().to_string()
    };
    assert_eq!(refusal(&|parts| parts.names[1] = "aa".into()), "the feature `aa` is named twice");
    assert!(refusal(&|parts| parts.idf.truncate(1)).contains("1 idf weights where it needs 2"));
    assert!(refusal(&|parts| parts.idf[0] = f32::NAN).contains("NaN"));
    assert!(refusal(&|parts| parts.params.hashing = Some(Hashing { bits: 1, signed: false })).contains("2 names"));
    assert!(refusal(&|parts| parts.params.max_df = 0.0).starts_with("max_df"));
}

#[test]
fn rare_names_are_dropped_when_the_table_is_full() {
    let texts: Vec<String> = (0..5000).map(|i| format!("common{} rare{i}", i % 3)).collect();
    let mut counts = FeatureCounts::new(any_params()).unwrap().limit(1000);
    counts.add(&texts);
    assert!(counts.undercount() > 0);
    let featurizer = counts.finish().unwrap();
    assert!(featurizer.features() <= 1000);
    assert!((0..3).all(|i| featurizer.id(&format!("common{i}")) < Some(3)));
    let mut exact = FeatureCounts::new(any_params()).unwrap();
    exact.add(&texts);
    assert_eq!((exact.undercount(), exact.texts()), (0, 5000));
}

#[test]
fn sparse_rows_are_weighed_the_same_way() {
    let mut x = Csr::new(true);
    for row in [&[0, 2][..], &[0], &[]] {
        row.iter().for_each(|id| x.push(*id, 1.0));
        x.end_row();
    }
    let mut counts = SparseCounts::default();
    counts.add(x.view());
    let transform = counts.finish(4, true, true);
    transform.check().unwrap();
    let idf = transform.tfidf.clone().unwrap();
    assert_eq!(idf.len(), 4);
    assert_eq!(idf[0], ((4.0f64 / 3.0).ln() + 1.0) as f32);
    let weighed = transform.apply(x.view()).unwrap();
    assert!((length(weighed.view(), 0) - 1.0).abs() < 1e-6 && weighed.view().row(2).0.is_empty());
    let mut beyond = Csr::new(false);
    beyond.push(9, 1.0);
    beyond.end_row();
    assert_eq!(transform.apply(beyond.view()).unwrap().nnz(), 0);
    let mut large = Csr::new(false);
    large.push(3, f32::MAX);
    large.end_row();
    assert_eq!(transform.apply(large.view()).unwrap().view().row(0).1, Some(&[1.0][..]));
    let loose = SparseTransform { l2: false, ..transform };
    assert!(loose.apply(large.view()).unwrap_err().to_string().contains("feature 3 of row 0"));
}

#[test]
fn words_of_a_language_are_dropped_folded_and_stemmed() {
    let params = FeaturizerParams {
        fold: true,
        stop_words: stop_words("fr").unwrap(),
        stem: Some("fr".parse().unwrap()),
        ..FeaturizerParams::default()
    };
    assert_eq!(names_of("Les chevaux étaient là, même élevés", &params), names_of("chevaux eleves", &params));
    let english = FeaturizerParams { stem: Some("en".parse().unwrap()), ..FeaturizerParams::default() };
    assert_eq!(names_of("connections connected THE", &english), ["connect", "connect", "the"]);
    assert_eq!(
        names_of("Ångström naïve", &FeaturizerParams { fold: true, ..FeaturizerParams::default() }),
        ["angstrom", "naive"]
    );
    let back: FeaturizerParams = serde_json::from_str(&serde_json::to_string(&params).unwrap()).unwrap();
    assert_eq!(back, params);
    // As before, so that older programs read models that need none of it.
    assert!(!serde_json::to_string(&FeaturizerParams::default()).unwrap().contains("stem"));
    let unsorted = FeaturizerParams { stop_words: vec!["b".into(), "a".into()], ..FeaturizerParams::default() };
    assert!(unsorted.check().unwrap_err().to_string().starts_with("stop_words: "));
    assert!("xx".parse::<Language>().unwrap_err().to_string().contains("is not one of the languages ar, da"));
}
