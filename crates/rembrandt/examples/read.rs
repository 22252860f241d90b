//! Reads a text file and says what is in it and how fast that went: `cargo run --release --example read -- train.txt`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use rembrandt::data::formats::{ReadOptions, read_rows};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> rembrandt::Result<()> {
    let path = PathBuf::from(std::env::args_os().nth(1).unwrap_or_else(|| "-".into()));
    let (mut labels, mut features) = (0, 0);
    let start = Instant::now();
    let summary = read_rows(&path, &ReadOptions::default(), &mut Run::default(), &mut |rows| {
        labels += rows.y.nnz();
        features += rows.x.nnz();
        Ok(())
    })?;
    let seconds = start.elapsed().as_secs_f64();
    let speed = summary.bytes as f64 / 1e6 / seconds;
    println!("{}: {:?}, {labels} labels and {features} features in all", summary.format, summary.shape);
    summary.notes.iter().for_each(|note| println!("{note}"));
    println!("{:.1} MB of text in {seconds:.2} s: {speed:.0} MB/s", summary.bytes as f64 / 1e6);
    Ok(())
}
