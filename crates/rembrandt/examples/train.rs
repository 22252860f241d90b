//! Sparse features in, a model out: the tags of Debian packages.

use rembrandt::model::PredictOptions;
use rembrandt::{Dataset, Model, Result, Trainer};

const TRAIN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/debtags/train.txt.gz");

pub(crate) fn main() -> Result<()> {
    let data = Dataset::read(TRAIN)?;
    let model = Trainer::new().tfidf().normalize().k(64).fit(&data)?;

    let path = std::env::temp_dir().join(format!("debtags-{}.model", std::process::id()));
    model.save(&path)?;
    let model = Model::open(&path)?;

    // The words chess, board and engine.
    let x = model.prepare_example("2210:1 1543:1 4593:1")?;
    let top = model.predictor(PredictOptions::top(3))?.predict_prepared(x.view());
    for (label, probability) in top.row(0) {
        println!("{probability:.3}  {}", model.label_name(label));
    }
    std::fs::remove_file(&path).map_err(rembrandt::Error::io(&path))
}
