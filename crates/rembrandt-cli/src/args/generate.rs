//! Arguments of `rembrandt generate`.

use std::path::PathBuf;

use clap::Args;
use rembrandt::Shape;
use rembrandt_bench::generate::Generator;

#[derive(Args)]
#[command(
    after_help = "Examples:\n  rembrandt generate --shape 20000,5000,800,20,2.5 -o made-up\n  rembrandt generate --shape \
                        lshtc --cache -o lshtc"
)]
pub struct GenerateArgs {
    /// lshtc or odp for the size of a data set of the paper, or N,D,C,nnz,labels: training examples, features, labels, and
    /// features and labels of an example on average
    #[arg(long, value_name = "SHAPE", value_parser = parse_shape)]
    pub shape: Generator,
    /// Folder to write train.txt and test.txt to; made if there is none
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
    /// Write caches, train.rmb and test.rmb, instead of text
    #[arg(long)]
    pub cache: bool,
    /// Test examples [default: 100,000 for lshtc and odp, else a tenth as many as for training]
    #[arg(long, value_name = "N")]
    pub test: Option<usize>,
    /// How likely a label is replaced by another
    #[arg(long, value_name = "P", default_value_t = 0.3)]
    pub noise: f64,
    /// Seed of everything
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Print the result as one JSON object
    #[arg(long)]
    pub json: bool,
    /// Print neither progress nor summary
    #[arg(short, long)]
    pub quiet: bool,
}

impl GenerateArgs {
    /// The generator of the library.
    pub fn generator(&self) -> Generator {
        let base = self.shape;
        Generator { test: self.test.unwrap_or(base.test), noise: self.noise, seed: self.seed, ..base }
    }
}

/// Reads `lshtc`, `odp` or five numbers.
pub(super) fn parse_shape(text: &str) -> Result<Generator, String> {
    let wrong = || "write lshtc, odp, or N,D,C,nnz,labels such as 20000,5000,800,20,2.5".to_owned();
    match text {
        "lshtc" => return Ok(Generator::lshtc()),
        "odp" => return Ok(Generator::odp()),
        _ => {}
    }
    let parts: Vec<&str> = text.split(',').map(str::trim).collect();
    let [n, d, c, nnz, labels] = parts[..] else { return Err(wrong()) };
    let whole = |text: &str| text.parse::<usize>().map_err(|_| wrong());
    let number = |text: &str| text.parse::<f64>().map_err(|_| wrong());
    let shape = Shape { n: whole(n)?, d: whole(d)?, c: whole(c)? };
    Ok(Generator::new(shape, number(nnz)?, number(labels)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_read() {
        let found = parse_shape("200, 50,8,4.5,1").unwrap();
        assert_eq!((found.shape, found.nnz, found.labels), (Shape { n: 200, d: 50, c: 8 }, 4.5, 1.0));
        assert_eq!(parse_shape("odp"), Ok(Generator::odp()));
        assert!(["", "1,2,3", "1,2,3,4,x", "lshtc2"].iter().all(|text| parse_shape(text).is_err()));
    }
}
