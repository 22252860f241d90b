//! Reading with the ids of a model.

use crate::Run;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use proptest::collection::{btree_map, btree_set, vec};
use proptest::prelude::*;

use super::*;
use crate::data::formats::{batch, detect, read_rows_with_vocabulary};
use crate::data::{NameIndex, Vocabulary, VocabularyIds};

fn words(names: &[&str]) -> VocabularyIds {
    VocabularyIds::Words(NameIndex::new(names).unwrap())
}

fn by_words() -> Vocabulary {
    Vocabulary { features: words(&["goal", "vote", "2015"]), labels: words(&["news", "sports"]) }
}

fn by_numbers() -> Vocabulary {
    Vocabulary { features: VocabularyIds::Numbers(4), labels: VocabularyIds::Numbers(2) }
}

fn read_by(vocabulary: &Vocabulary, text: impl AsRef<[u8]>) -> Result<(Vec<Row>, Summary)> {
    read_with(vocabulary, text, &ReadOptions::default())
}

/// Reads in blocks of all kinds, which must not matter.
fn read_with(vocabulary: &Vocabulary, text: impl AsRef<[u8]>, options: &ReadOptions) -> Result<(Vec<Row>, Summary)> {
    let reading = Reading { vocabulary: Some(vocabulary), ..Reading::new(Path::new("data.txt"), options) };
    let sizes = Sizes { block: 64, longest_line: 1000 };
    let few = read_all(text.as_ref(), &Reading { sizes, ..reading });
    let many = read_all(text.as_ref(), &reading);
    assert_eq!(format!("{few:?}"), format!("{many:?}"));
    many
}

#[test]
fn words_are_looked_up() {
    let text = "sports goal:2 check:1 vote\nchess,news,go never\n\nfencing,chess vote:0.5 2015:3 goal:0\n";
    let expected = [row(&[1], &[(0, 2.0), (1, 1.0)]), row(&[0, 2, 3], &[]), row(&[2, 4], &[(1, 0.5), (2, 3.0)])];
    for text in [text.to_owned(), text.replace('\n', "\r\n")] {
        let (rows, summary) = read_by(&by_words(), text).unwrap();
        assert_eq!(rows, expected);
        assert_eq!((summary.shape.n, summary.shape.d, summary.shape.c), (3, 3, 5));
        assert_eq!((summary.label_names, summary.feature_names, summary.notes), (None, None, vec![]));
    }
    let (rows, _) = read_by(&by_words(), "sports 2 |goal x |  goal:2 goal:1 what:9\n").unwrap();
    assert_eq!(rows, [Row { weight: 2.0, ..row(&[1], &[(0, 3.0)]) }]);
}

#[test]
fn numbers_beyond_the_model() {
    let expected = [row(&[1, 7], &[(3, 0.5)]), row(&[], &[(0, 1.0)])];
    let text = "7,1 4:1 3:0.5 9:2\n 0:1 4294967294:1\n";
    let (rows, summary) = read_by(&by_numbers(), text).unwrap();
    assert_eq!(rows, expected);
    assert_eq!((summary.shape.d, summary.shape.c), (4, 8));
    // The header of the file is about the file.
    for header in ["2 4294967295 8", "2 4294967295 100"] {
        assert_eq!(read_by(&by_numbers(), format!("{header}\n{text}")).unwrap().0, expected);
    }
    let message = message(read_by(&by_numbers(), "1 5 3\n1 5:1\n"));
    assert_eq!(message, "data.txt:2: feature id 5 is beyond the header, which says d = 5");
    assert_eq!(read_by(&by_numbers(), "1 2 1\n0 1:1\n").unwrap().0, [row(&[0], &[(1, 1.0)])]);
}

#[test]
fn a_file_without_labels() {
    let expected = [row(&[], &[(3, 0.5)]), row(&[], &[(1, 1.0)])];
    for text in [" 3:0.5 7:1\n 1:1\n", "3:0.5 7:1\r\n1:1", "2 8 0\n 3:0.5 7:1\n 1:1\n", "| 3:0.5 7\n| 1\n"] {
        // There is nothing to tell how the labels would have been written.
        for labels in [VocabularyIds::Numbers(2), words(&["a"])] {
            let vocabulary = Vocabulary { labels, ..by_numbers() };
            assert_eq!(read_by(&vocabulary, text).unwrap().0, expected, "{text:?}");
        }
    }
    assert_eq!(read_by(&by_words(), " goal nothing\n nothing\n").unwrap().0, [row(&[], &[(0, 1.0)]), row(&[], &[])]);
}

#[test]
fn ids_of_the_other_kind_are_refused() {
    let refused = |vocabulary: &Vocabulary, text: &str| message(read_by(vocabulary, text));
    let advice = "give data of the kind that it was trained on, or read ids as words";
    let numbers = |kind, id| {
        format!("data.txt: {kind} ids such as `{id}` are numbers, but the model knows its {kind}s by words; {advice}")
    };
    assert_eq!(refused(&by_words(), "news 2015:1 7:1\n"), numbers("feature", 7));
    assert_eq!(refused(&by_words(), "2 9 9\n3 goal:1\n4 goal:1\n"), numbers("label", 3));
    // Numbers among the words are words.
    assert_eq!(read_by(&by_words(), "news 2015:1\n").unwrap().0, [row(&[0], &[(2, 1.0)])]);
    let mixed = read_by(&by_words(), "news 2015:1 7:1\nnews vote\n").unwrap().0;
    assert_eq!(mixed, [row(&[0], &[(2, 1.0)]), row(&[0], &[(1, 1.0)])]);
    let by_force = ReadOptions { ids: Ids::Words, ..ReadOptions::default() };
    let forced = read_with(&by_words(), "news 2015:1 7:1\n", &by_force).unwrap().0;
    assert_eq!(forced, [row(&[0], &[(2, 1.0)])]);

    let lead = "the model knows its features by number";
    let words = |line, id| format!("data.txt:{line}: feature id `{id}` is not a number; {lead}");
    assert_eq!(refused(&by_numbers(), "0 1:1\n1 goal:1\n"), words(2, "goal"));
    assert_eq!(refused(&by_numbers(), "news 1:1\n"), words(1, "news").replace("feature", "label"));
    assert_eq!(
        refused(&by_numbers(), "0 | 1\n0 |a 1\n"),
        format!("data.txt:2: namespace `a` makes features words; {lead}")
    );
    assert_eq!(
        refused(&by_numbers(), "0 -1:1\n"),
        format!("data.txt:1: feature id -1 is negative; count ids from 0: {lead}")
    );
    assert_eq!(refused(&by_numbers(), "0 9:x\n"), "data.txt:1: the value of feature `9` is `x`, which is not a number");
}

#[test]
fn choices_that_contradict_the_model() {
    let refused = |vocabulary: &Vocabulary, options: ReadOptions| {
        let path = Path::new("/nowhere/data.txt");
        read_rows_with_vocabulary(path, &options, vocabulary, &mut Run::default(), &mut |_| Ok(()))
            .unwrap_err()
            .to_string()
    };
    let named = ReadOptions { label_names: Some("labels".into()), ..ReadOptions::default() };
    assert_eq!(refused(&by_numbers(), named), "label_names: the model has names of its own; leave it out");
    let ids = |ids| ReadOptions { ids, ..ReadOptions::default() };
    let numbers = message(read_with(&by_words(), "0 1:1\n", &ids(Ids::Numbers)));
    assert_eq!(numbers, "ids: the model knows its labels by words, so they cannot be read as numbers");
    let words = message(read_with(&by_numbers(), "0 1:1\n", &ids(Ids::Words)));
    assert_eq!(words, "ids: the model knows its labels by number, so they cannot be read as words");
}

#[test]
fn files_with_names_are_not_looked_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.txt");
    fs::write(folder.path().join("labels.txt"), "a\nb\nc\n").unwrap();
    fs::write(folder.path().join("features.txt"), b"\xff").unwrap();
    fs::write(&path, zstd::encode_all(&b"1 3:1\n"[..], 1).unwrap()).unwrap();
    let vocabulary = by_numbers();
    let summary =
        read_rows_with_vocabulary(&path, &ReadOptions::default(), &vocabulary, &mut Run::default(), &mut |_| Ok(()))
            .unwrap();
    assert_eq!((summary.notes, summary.label_names, summary.feature_names), (vec![], None, None));
    assert_eq!((summary.shape.d, summary.shape.c), (4, 2));
}

#[test]
fn unknown_features_take_no_memory() {
    let text: String = (0..1000).map(|i| format!("news word{i}:1 goal:1 x{i}\n")).collect();
    let (vocabulary, options) = (by_words(), ReadOptions::default());
    let reading = Reading { vocabulary: Some(&vocabulary), ..Reading::new(Path::new("data.txt"), &options) };
    let found = detect::detect(&text, &reading).unwrap();
    let parsed = batch::parse(text.as_bytes(), &found.syntax);
    assert_eq!((parsed.features.words.new_len(), parsed.rows.x.nnz(), parsed.rows.len()), (0, 1000, 1000));
}

fn word(id: u32) -> String {
    format!("w{id}")
}

proptest! {
    #[test]
    fn any_rows_are_numbered_as_the_model_does(
        rows in vec((btree_set(0u32..30, 0..4), btree_map(0u32..30, 1u32..9, 1..5)), 1..40),
        features in btree_set(0u32..30, 1..20),
        labels in btree_set(0u32..30, 0..20),
        block in 1usize..200,
        threads in 1usize..4,
    ) {
        let index = |ids: &BTreeSet<u32>| NameIndex::new(ids.iter().map(|id| word(*id))).unwrap();
        let vocabulary = Vocabulary { features: VocabularyIds::Words(index(&features)), labels: VocabularyIds::Words(index(&labels)) };
        let mut text = String::new();
        let mut expected = Vec::new();
        let position = |ids: &BTreeSet<u32>, id: u32| ids.iter().position(|own| *own == id).map(|at| at as u32);
        let mut new: BTreeMap<u32, u32> = BTreeMap::new();
        for (row_labels, row_features) in &rows {
            let list: Vec<String> = row_labels.iter().map(|id| word(*id)).collect();
            text += &list.join(",");
            row_features.iter().for_each(|(id, value)| text += &format!(" {}:{value}", word(*id)));
            text += "\n";
            let mut ids: Vec<u32> = row_labels.iter().map(|id| {
                let next = (labels.len() + new.len()) as u32;
                position(&labels, *id).unwrap_or_else(|| *new.entry(*id).or_insert(next))
            }).collect();
            ids.sort_unstable();
            let row_features: Vec<(u32, f32)> = row_features.iter()
                .filter_map(|(id, value)| Some((position(&features, *id)?, *value as f32))).collect();
            expected.push(row(&ids, &row_features));
        }
        let options = ReadOptions::default();
        let sizes = Sizes { block, longest_line: 1_000_000 };
        let reading = Reading { vocabulary: Some(&vocabulary), sizes, ..Reading::new(Path::new("data.txt"), &options) };
        let (found, summary) = pool(threads).install(|| read_all(text.as_bytes(), &reading)).unwrap();
        prop_assert_eq!(found, expected);
        prop_assert_eq!((summary.shape.d, summary.shape.c), (features.len(), labels.len() + new.len()));
    }

    #[test]
    fn no_bytes_panic(
        bytes in prop_oneof![
            vec(any::<u8>(), 0..200),
            "[a1,: |#\n\r\t9-]{0,80}".prop_map(String::into_bytes),
            "[0-9] [0-9] [0-9]\n[a1,: \n]{0,80}".prop_map(String::into_bytes),
        ],
        numbers in any::<bool>(),
    ) {
        let vocabulary = if numbers { by_numbers() } else { by_words() };
        let options = ReadOptions::default();
        let reading = Reading { vocabulary: Some(&vocabulary), ..Reading::new(Path::new("data.txt"), &options) };
        if let Ok((rows, _)) = read_all(&bytes, &reading) {
            let d = vocabulary.features.len() as u32;
            prop_assert!(rows.iter().all(|row| row.features.iter().all(|(id, _)| *id < d)));
            prop_assert!(rows.iter().all(|row| row.labels.is_sorted_by(|a, b| a < b)));
        }
    }
}
