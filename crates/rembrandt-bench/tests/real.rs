//! The published figures on real data, where they are at hand in the directory named by REMBRANDT_DATA.

use std::path::PathBuf;

use rembrandt::Run;
use rembrandt::data::Dataset;
use rembrandt_bench::reproduce::{Experiment, Figure, Metric};

/// As good as published, or better, in every figure; the intervals are the authors'.
#[test]
fn yeast_with_the_authors_settings_gives_their_figures() {
    let folder = std::env::var_os("REMBRANDT_DATA").map(|dir| PathBuf::from(dir).join("yeast"));
    let Some(folder) = folder.filter(|folder| folder.exists()) else {
        println!("skipped: REMBRANDT_DATA does not name a directory with yeast");
        return;
    };
    let read = |name| Dataset::read(folder.join(name)).unwrap();
    let (train, test) = (read("train.txt.zst"), read("test.txt.zst"));
    let run = &mut Run::default();
    let placed = Experiment::Yeast.place(&train, &test, 1, run).unwrap();
    let figures: Vec<Figure> =
        Experiment::Yeast.trials().iter().flat_map(|trial| trial.measure(&placed, 1, run).unwrap()).collect();
    let metrics: Vec<Metric> = figures.iter().map(|figure| figure.metric).collect();
    assert_eq!(metrics, [Metric::Hamming, Metric::MicroF1, Metric::MacroF1]);
    for figure in figures {
        println!("yeast: {figure:?}");
        let good = match figure.metric {
            Metric::Error | Metric::Hamming => figure.ours <= figure.authors_high,
            Metric::MicroF1 | Metric::MacroF1 => figure.ours >= figure.authors_low,
        };
        assert!(good, "{figure:?}");
        assert!(figure.low < figure.ours && figure.ours < figure.high, "{figure:?}");
    }
}
