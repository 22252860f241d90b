use super::*;
use rembrandt::data::{Dataset, Examples, Side};
use rembrandt::{Rembrandt, Run};

fn small() -> Generator {
    Generator::new(Shape { n: 20_000, d: 5000, c: 800 }, 20.0, 2.5)
}

#[test]
fn sizes_are_those_asked_for() {
    let generator = small();
    let (rows, told) = generator.rows(Part::Train, 0, 20_000);
    let mean = |nnz: usize| nnz as f64 / 20_000.0;
    assert!((mean(rows.x.nnz()) / 20.0 - 1.0).abs() < 0.1, "{} features", mean(rows.x.nnz()));
    assert!((mean(rows.y.nnz()) / 2.5 - 1.0).abs() < 0.1, "{} labels", mean(rows.y.nnz()));
    // Noise replaces three in ten; frequent labels come back as companions, or replace themselves.
    assert!((0.69..0.78).contains(&(told as f64 / 20_000.0)), "{told} told");
    Dataset::from_rows(&rows, 5000, 800).unwrap();
}

#[test]
fn labels_and_words_follow_the_law_of_zipf() {
    let (rows, _) = small().rows(Part::Train, 0, 20_000);
    let mut labels = rows.y.counts(800);
    labels.sort_unstable_by_key(|count| std::cmp::Reverse(*count));
    // The first is about ten times as frequent as the tenth, and the last are rare.
    assert!((4..20).contains(&(labels[0] / labels[9])), "{} and {}", labels[0], labels[9]);
    assert!(labels[700] < 40 && labels[799] > 0, "{} and {}", labels[700], labels[799]);
    let words = rows.x.counts(5000);
    assert!(words[0] > 3 * words[9] && words[9] > 3 * words[999].max(1));
}

#[test]
fn examples_depend_on_seed_part_and_number_alone() {
    let generator = small();
    let (whole, _) = generator.rows(Part::Train, 0, 100);
    let (some, _) = generator.rows(Part::Train, 40, 60);
    for i in 0..20 {
        assert_eq!(some.x.view().row(i), whole.x.view().row(40 + i));
        assert_eq!(some.y.view().row(i), whole.y.view().row(40 + i));
    }
    assert_ne!(generator.rows(Part::Test, 0, 100).0, whole);
    assert_ne!(Generator { seed: 2, ..generator }.rows(Part::Train, 0, 100).0, whole);
}

#[test]
fn one_label_is_one_label() {
    let generator = Generator::new(Shape { n: 500, d: 300, c: 50 }, 8.0, 1.0);
    let (rows, _) = generator.rows(Part::Train, 0, 500);
    assert!((0..500).all(|i| rows.y.view().row(i).0.len() == 1));
    let only = Generator { noise: 0.0, ..Generator::new(Shape { n: 50, d: 10, c: 1 }, 2.0, 1.0) };
    assert_eq!(only.rows(Part::Test, 0, 50).1, 50);
}

/// Features tell labels, but not more than the generator says is possible.
#[test]
fn the_data_can_be_learned() {
    let generator = small();
    let (rows, _) = generator.rows(Part::Train, 0, 20_000);
    let train = Dataset::from_rows(&rows, 5000, 800).unwrap();
    let (rows, told) = generator.rows(Part::Test, 0, 2000);
    let test = Dataset::from_rows(&rows, 5000, 800).unwrap();
    let embedding = Rembrandt::new(200).with(|p| p.ridge = 0.5).fit(&train, &mut Run::default()).unwrap();
    let h = test.gather_features(embedding.projection.view()).unwrap();
    let score =
        |i: usize, label: usize| -> f32 { h.row(i).iter().zip(embedding.labels.row(label)).map(|(h, e)| h * e).sum() };
    let hit = |i: &usize| {
        let best = (0..800).max_by(|a, b| score(*i, *a).total_cmp(&score(*i, *b))).unwrap();
        rows.y.view().row(*i).0.contains(&(best as u32))
    };
    let (found, best) = ((0..2000).filter(hit).count() as f64 / 2000.0, told as f64 / 2000.0);
    assert!(found > 0.5 * best && found < best + 0.03, "{found} of {best}");
    assert!(train.nnz(Side::X) > 0 && train.shape().n == 20_000);
}

#[test]
fn files_hold_the_same_whatever_they_are() {
    let generator = Generator { test: 3000, ..Generator::new(Shape { n: 5000, d: 400, c: 60 }, 6.0, 1.5) };
    let dir = tempfile::tempdir().unwrap();
    let (text, cache) = (dir.path().join("a.txt"), dir.path().join("a.rmb"));
    let write =
        |as_what, path: &std::path::Path| generator.write(Part::Test, as_what, path, &mut Run::default()).unwrap();
    let (one, other) = (write(GeneratedAs::Text, &text), write(GeneratedAs::Cache, &cache));
    assert_eq!(one, other);
    assert!((one.best_p1() - 0.7).abs() < 0.04);
    let read = Dataset::read(text).unwrap();
    let opened = Dataset::open(&cache).unwrap();
    assert_eq!((read.shape(), opened.shape()), (Shape { n: 3000, d: 400, c: 60 }, Shape { n: 3000, d: 400, c: 60 }));
    assert_eq!(read.labels().unwrap(), opened.labels().unwrap());
    let (a, b) = (read.features().unwrap(), opened.features().unwrap());
    assert_eq!(a.view().ids, b.view().ids);
    let (a, b) = (a.view().values.unwrap(), b.view().values.unwrap());
    assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 5.1e-5));
}

#[test]
fn files_are_the_same_on_any_number_of_threads() {
    // Several pieces of either kind.
    let generator = Generator { test: 9000, ..Generator::new(Shape { n: 1, d: 3000, c: 500 }, 700.0, 3.0) };
    let dir = tempfile::tempdir().unwrap();
    let bytes = |threads: usize, as_what| {
        let path = dir.path().join("made");
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| generator.write(Part::Test, as_what, &path, &mut Run::default())).unwrap();
        std::fs::read(path).unwrap()
    };
    for as_what in [GeneratedAs::Text, GeneratedAs::Cache] {
        let alone = bytes(1, as_what);
        assert!(!alone.is_empty() && [2, 7].iter().all(|threads| bytes(*threads, as_what) == alone), "{as_what:?}");
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let good = small();
    good.check().unwrap();
    Generator::lshtc().check().unwrap();
    Generator::odp().check().unwrap();
    for bad in [
        Generator { nnz: 0.5, ..good },
        Generator { nnz: f64::NAN, ..good },
        Generator { nnz: 4000.0, ..good },
        Generator { labels: 0.0, ..good },
        Generator { labels: 20.0, ..good },
        Generator { noise: 1.0, ..good },
        Generator { test: 0, ..good },
        Generator { shape: Shape { c: 0, ..good.shape }, ..good },
    ] {
        assert!(bad.check().is_err(), "{bad:?}");
    }
}
