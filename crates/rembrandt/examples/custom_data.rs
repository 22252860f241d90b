//! Data from anywhere: sparse matrices in memory, progress, and a label that is added later.

use rembrandt::linalg::csr::Csr;
use rembrandt::{Dataset, Result, Trainer};

pub(crate) fn main() -> Result<()> {
    // Row i has the features i mod 5 and 5 + i mod 3, and the label i mod 5.
    let n = 200;
    let features = (0..n).flat_map(|i| [i % 5, 5 + i % 3]).collect();
    let x = Csr::from_parts((0..=n).map(|i| 2 * i).collect(), features, None, 8)?;
    let y = Csr::from_parts((0..=n).collect(), (0..n).map(|i| i % 5).collect(), None, 5)?;
    let data = Dataset::from_csr(x.view(), 8, y.view(), 5, None)?;

    let model = Trainer::new().k(4).progress(|p| {
        eprintln!("{}: {} of {:?}", p.stage, p.done, p.total);
        true // false would stop the training
    });
    let model = model.fit(&data)?;
    assert_eq!(model.predict(&x, 1)?.labels(7), [2]);

    let larger = model.add_label("seven", x.view().range(0..3))?;
    println!("{} labels, then {}", model.shape().c, larger.shape().c);
    Ok(())
}
