//! Trains a model, saves it, opens it and predicts: `rembrandt train` and `rembrandt predict` in the library's terms.
//!
//! ```text
//! cargo run --release -p rembrandt --example train                             # on data made up here
//! cargo run --release -p rembrandt --example train -- data/debtags/train.txt.gz target/debtags.model
//! ```

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rembrandt::data::featurizer::SparseCounts;
use rembrandt::data::{Dataset, Rows};
use rembrandt::model::{Model, Preprocessing};
use rembrandt::train::{HeadKind, TrainParams, TrainReport, Tuning};
use rembrandt::{Examples, Run};

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let data = match args.next() {
        Some(path) => Dataset::read(Path::new(&path), &Default::default(), &mut Run::default())?.0,
        None => made_up()?,
    };
    let output = args.next().map_or_else(|| std::env::temp_dir().join("example.model"), PathBuf::from);

    // Word counts profit from tf-idf and rows of length 1. The model keeps the rule and applies it to what it predicts.
    let mut counts = SparseCounts::default();
    counts.add(data.features()?.view());
    let transform = counts.finish(data.shape().d, true, true);
    let raw = data.features()?;
    let data = data.map_features(|x| transform.apply(x))?;

    let params = TrainParams::new(HeadKind::suited(&data)?);
    let tuning = Tuning::within(Duration::from_secs(20));
    let trained = params.fit(&data, Preprocessing::Sparse(transform), &tuning, &mut Run::default())?;
    let TrainReport { held_out, .. } = serde_json::from_value(trained.report().clone())?;
    println!("precision at 1 on {} held-out examples: {:.3}", held_out.examples, held_out.p1);
    trained.save(&output)?;

    // What follows needs the file alone.
    let model = Model::open(&output)?;
    let predictions = model.predict(&raw, 3)?;
    for i in 0..predictions.rows().min(5) {
        let line: Vec<String> =
            predictions.row(i).map(|(label, p)| format!("{} {p:.3}", model.label_name(label as usize))).collect();
        println!("example {i}: {}", line.join(", "));
    }
    Ok(())
}

/// 400 examples of 8 labels: word i tells label i, word 8 + i mod 5 tells nothing.
fn made_up() -> rembrandt::Result<Dataset> {
    let mut rows = Rows::new();
    for i in 0..400 {
        rows.x.push(i % 8, 1.0);
        rows.x.push(8 + i % 5, 1.0);
        rows.x.end_row();
        rows.y.push(i % 8, 1.0);
        rows.y.end_row();
    }
    Dataset::from_rows(&rows, 13, 8)
}
