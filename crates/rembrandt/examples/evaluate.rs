//! How good a model is on rows that it has not seen, with intervals.

use rembrandt::{Dataset, Result, Trainer};

const TRAIN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/debtags/train.txt.gz");
const TEST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/debtags/test.txt.gz");

pub(crate) fn main() -> Result<()> {
    let (train, test) = (Dataset::read(TRAIN)?, Dataset::read(TEST)?);
    let model = Trainer::new().tfidf().normalize().k(64).fit(&train)?;
    let evaluation = model.evaluate(&test)?;
    println!("{evaluation}");
    println!("{}", serde_json::to_string(&evaluation).expect("an evaluation is JSON"));
    assert!(evaluation.scores.of("p@1") > Some(0.7), "two of three packages have their first tag");
    Ok(())
}
