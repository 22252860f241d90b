//! Embeds the labels of a text file and prints the report.
//!
//! ```text
//! cargo run --release -p rembrandt --example embed -- data/debtags/train.txt.gz 100
//! ```

use std::path::Path;
use std::time::Instant;

use rembrandt::data::Dataset;
use rembrandt::{Rembrandt, Run};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let path = args.next().ok_or("usage: embed FILE [K [PASSES [STEPS]]]")?;
    let mut number = |default: usize| args.next().map_or(Ok(default), |a| a.parse());
    let params = Rembrandt { k: number(100)?, passes: number(2)?, cg_steps: number(10)?, ..Rembrandt::default() };

    let start = Instant::now();
    let (data, notes) = Dataset::read(Path::new(&path), &Default::default(), &mut Run::default())?;
    notes.iter().for_each(|note| eprintln!("{note}"));
    eprintln!("read in {:.2} s, {} bytes", start.elapsed().as_secs_f64(), data.bytes());

    let start = Instant::now();
    let embedding = params.fit(&data, &mut Run::default())?;
    eprintln!("embedded in {:.2} s", start.elapsed().as_secs_f64());
    let report = embedding.report;
    println!(
        "energy {:.6}, {:.1} % of about {:.1}",
        report.energy,
        100.0 * report.energy_fraction,
        report.trace_estimate
    );
    println!("{} half-passes, largest residual {:.3}, {}", report.half_passes, report.max_residual, report.solver);
    Ok(())
}
