//! The embedding alone: labels that features treat alike lie together.

use rembrandt::{Dataset, Rembrandt, Result, Run};

const TRAIN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/debtags/train.txt.gz");

pub(crate) fn main() -> Result<()> {
    let data = Dataset::read(TRAIN)?;
    let embedding = Rembrandt::new(50).fit(&data, &mut Run::default())?;
    println!("{} labels in {} dimensions", embedding.labels.rows(), embedding.labels.cols());
    println!("energy of the first directions: {:.1?}", &embedding.spectrum[..3]);
    assert!(embedding.spectrum[0] > embedding.spectrum[49]);
    Ok(())
}
