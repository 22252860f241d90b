//! Models that are evaluated, and examples as files and people write them.

use super::super::{EvaluationOptions, InputOptions, Threshold};
use super::*;
use crate::data::{Dataset, Rows};
use crate::metrics::precision_at;

/// Examples with one or two of 12 labels each, and features that the model knows.
fn labelled(n: usize) -> Rows {
    let (all, mut rows) = (examples(n, 6), Rows::new());
    for i in 0..n {
        all.view().entries(i).filter(|(id, _)| *id < 30).for_each(|(id, value)| rows.x.push(id as u32, value));
        rows.x.end_row();
        let mut labels = [(i * 5 % 12) as u32, (i * i % 12) as u32];
        labels.sort_unstable();
        labels.iter().take(1 + usize::from(labels[0] != labels[1])).for_each(|label| rows.y.push(*label, 1.0));
        rows.y.end_row();
    }
    rows
}

/// A model whose data write features and labels as numbers.
fn numbered(kind: &str) -> Model {
    let mut parts = weighed(kind, 12);
    parts.stats.words = [false, false];
    model(&parts, NumberFormat::F32)
}

fn written(rows: &Rows, path: &std::path::Path) {
    let (x, y) = (rows.x.view(), rows.y.view());
    let mut text = format!("{} 30 12\n", x.rows());
    for i in 0..x.rows() {
        text += &y.row(i).0.iter().map(|label| label.to_string()).collect::<Vec<_>>().join(",");
        x.entries(i).for_each(|(id, value)| text += &format!(" {id}:{value}"));
        text += "\n";
    }
    std::fs::write(path, text).unwrap();
}

#[test]
fn a_file_is_evaluated_like_the_data_that_it_holds() {
    let (rows, dir) = (labelled(5000), tempfile::tempdir().unwrap());
    let (data, path) = (Dataset::from_rows(&rows, 30, 12).unwrap(), dir.path().join("test.txt"));
    written(&rows, &path);
    for kind in ["least-squares", "softmax", "ranker", "random-features"] {
        let model = numbered(kind);
        for options in [
            EvaluationOptions { bootstrap: 20, ..EvaluationOptions::default() },
            EvaluationOptions { bootstrap: 0, threshold: Threshold::Fixed(0.3), ..EvaluationOptions::default() },
        ] {
            let input = InputOptions::default();
            let memory = model.evaluate_with(&data, &options).unwrap();
            let file = model.evaluate_file(&path, &input, &options, &mut Run::default()).unwrap();
            assert_eq!((&memory.scores, &memory.intervals), (&file.scores, &file.intervals), "{kind}");
            assert_eq!((memory.examples, file.examples), (5000, 5000));
            assert_eq!(memory.intervals.is_some(), options.bootstrap > 0);
            let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
            let alone = alone.install(|| model.evaluate_with(&data, &options).unwrap());
            assert_eq!((&memory.scores, &memory.intervals), (&alone.scores, &alone.intervals), "{kind}");
            // All that applies is told, under the same names.
            let (json, text) = (json!(memory), memory.to_string());
            for (name, value, interval) in memory.iter() {
                assert_eq!(json[name], json!(value), "{name}");
                assert!(text.contains(&format!("{name:<9} {value:.4}")), "{text}");
                assert_eq!(interval.map_or(serde_json::Value::Null, |i| json!(i)), json["intervals"][name]);
                assert!(interval.is_none_or(|[low, high]| low <= high));
            }
        }
        let found = model.predict(&rows.x, 5).unwrap();
        for (k, score) in [(1, "p@1"), (3, "p@3"), (5, "p@5")] {
            let each = (0..5000).map(|i| precision_at(rows.y.view().row(i).0, found.labels(i), k));
            let (_, value, _) = model.evaluate(&data).unwrap().iter().find(|(name, ..)| *name == score).unwrap();
            assert!((value - each.sum::<f64>() / 5000.0).abs() < 1e-9, "{kind}, {score}");
        }
    }
}

#[test]
fn what_cannot_be_evaluated_is_refused() {
    let mut rows = Rows::new();
    rows.x.extend_rows(labelled(8).x.view(), 0, 8);
    (0..8).for_each(|_| rows.y.end_row());
    let data = Dataset::from_rows(&rows, 30, 12).unwrap();
    let nothing = "no example has a label: there is nothing to compare with";
    assert_eq!(numbered("ilr").evaluate(&data).unwrap_err().to_string(), nothing);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("test.txt");
    written(&rows, &path);
    let (input, options) = (InputOptions::default(), EvaluationOptions::default());
    let message = numbered("ilr").evaluate_file(&path, &input, &options, &mut Run::default()).unwrap_err().to_string();
    assert_eq!(message, format!("{}: {nothing}", path.display()));
    let data = Dataset::from_rows(&labelled(8), 30, 12).unwrap();
    let message = model(&text("ilr", 12), NumberFormat::F32).evaluate(&data).unwrap_err().to_string();
    assert_eq!(message, "x: the model was trained on texts and cannot read features: give it texts");
    let never = EvaluationOptions { threshold: Threshold::Fixed(1.5), ..options };
    assert!(numbered("ilr").evaluate_with(&data, &never).unwrap_err().to_string().starts_with("threshold: "));
}

#[test]
fn examples_of_a_file_come_in_batches_and_ready() {
    let (rows, dir) = (labelled(3000), tempfile::tempdir().unwrap());
    let path = dir.path().join("test.txt");
    written(&rows, &path);
    let (model, options) = (numbered("ilr"), InputOptions::default());
    let (expected, found) = (model.prepare(rows.x.view()).unwrap(), model.predict(&rows.x, 3).unwrap());
    let (x, y) = model.read_prepared(&path, &options, &mut Run::default()).unwrap();
    for i in 0..3000 {
        assert_eq!((x.view().row(i), y.view().row(i).0), (expected.view().row(i), rows.y.view().row(i).0));
    }
    let predictor = model.predictor(super::super::PredictOptions::top(3)).unwrap();
    let mut seen = 0;
    let count = model.read(&path, &options, &mut Run::default(), |batch| {
        assert_eq!((batch.first, batch.is_empty()), (seen, false));
        let predictions = batch.predict(&predictor)?;
        assert_eq!((predictions.rows(), batch.labels().rows()), (batch.len(), batch.len()));
        (0..batch.len()).for_each(|i| assert!(predictions.row(i).eq(found.row(seen as usize + i))));
        seen += batch.len() as u64;
        Ok(())
    });
    assert_eq!((count.unwrap(), seen), (3000, 3000));
    // An error of whoever takes them ends it.
    let stopped = model.read(&path, &options, &mut Run::default(), |_| Err(crate::Error::Cancelled));
    assert!(matches!(stopped, Err(crate::Error::Cancelled)));
}

#[test]
fn an_example_is_read_as_a_person_writes_it() {
    let model = numbered("ilr");
    let mut x = Csr::new(false);
    x.push(2, 1.0);
    x.push(17, 0.5);
    x.end_row();
    let expected = model.prepare(x.view()).unwrap();
    for example in ["2:1 17:0.5", "  2:1\t17:0.5 \n", "2:1 17:0.5 99:3"] {
        assert_eq!(model.prepare_example(example).unwrap().view().row(0), expected.view().row(0), "{example:?}");
    }
    for example in ["", " \n"] {
        let empty = model.prepare_example(example).unwrap();
        assert_eq!((empty.rows(), empty.view().nnz()), (1, 0));
    }
    assert!(model.prepare_example("2:x").is_err());
    // Where training had words for both, so has an example.
    let mut parts = weighed("ilr", 12);
    parts.stats.words = [true, true];
    let worded = super::model(&parts, NumberFormat::F32);
    assert_eq!(worded.prepare_example("w2:1 w17:0.5 w99:3").unwrap().view().row(0), expected.view().row(0));
    let texts = super::model(&text("ilr", 12), NumberFormat::F32);
    let (example, batch) = (texts.prepare_example(TEXTS[1]).unwrap(), texts.prepare_texts(&TEXTS[1..2]).unwrap());
    assert_eq!(example.view().row(0), batch.view().row(0));
}
