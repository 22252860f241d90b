//! Arguments of `rembrandt compare`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use humantime::parse_duration;
use rembrandt_bench::compare::{Contestant, METHODS};

use super::{ColumnArgs, DataArgs, ReadArgs};

#[derive(Args)]
#[command(
    after_help = "Examples:\n  rembrandt compare train.txt.gz test.txt.gz --methods all -k 300 --report report.html\n  \
                        rembrandt compare train.txt.gz test.txt.gz --methods rembrandt:800,rembrandt:300,fastxml \
                        --budget 30m --json"
)]
pub struct CompareArgs {
    /// Training data, as for train
    pub train: PathBuf,
    /// Labelled examples to test on, as for eval
    pub test: PathBuf,
    /// Methods, separated by commas, or all; an embedding may have a k of its own, as in rembrandt:800
    #[arg(long, value_name = "LIST", default_value = "all", value_parser = parse_contestants)]
    pub methods: Contestants,
    /// Dimension of the embeddings; cut to what the data allow, unless they are texts [default: chosen by each]
    #[arg(short, value_parser = parse_k)]
    pub k: Option<usize>,
    /// Time for the training of each method; what takes more than a fifth longer is given up
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "10m")]
    pub budget: Duration,
    /// Write a page with table and plots that needs no other file
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Folder for what is under way; finished rows stay in it, and the same command goes on from there
    #[arg(long, value_name = "DIR", default_value = "rembrandt-compare")]
    pub work: PathBuf,
    /// Measure everything anew, whatever the folder holds
    #[arg(long)]
    pub fresh: bool,
    /// Keep the model files in the folder
    #[arg(long)]
    pub keep_models: bool,
    /// Replicates of the bootstrap behind the intervals; 0 for none
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub bootstrap: usize,
    /// Seed of everything that is random
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Raw texts, as in train
    #[arg(long)]
    pub text: bool,
    /// Multiply features that are numbers already with their inverse document frequency
    #[arg(long)]
    pub tfidf: bool,
    /// Scale examples whose features are numbers already to length 1
    #[arg(long)]
    pub normalize: bool,
    /// Print the result as one JSON object
    #[arg(long)]
    pub json: bool,
    /// Print neither progress nor table
    #[arg(short, long)]
    pub quiet: bool,
    #[command(flatten)]
    pub columns: ColumnArgs,
    #[command(flatten)]
    pub read: ReadArgs,
}

impl CompareArgs {
    /// The kind of the data, and how to read them.
    pub fn data(&self) -> DataArgs {
        DataArgs::new(self.text, (self.tfidf, self.normalize), self.columns.clone(), self.read.clone())
    }
}

/// All that are to be compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Contestants(pub Vec<Contestant>);

/// Reads `all` or `rembrandt:800,fastxml`.
fn parse_contestants(text: &str) -> Result<Contestants, String> {
    if text == "all" {
        return Ok(Contestants(METHODS.map(|method| Contestant { method, k: None }).to_vec()));
    }
    let mut list = Vec::new();
    for item in text.split(',').map(str::trim) {
        let (name, k) = item.split_once(':').map_or((item, None), |(name, k)| (name, Some(k)));
        let method = *METHODS.iter().find(|method| method.name == name).ok_or_else(|| {
            let names = METHODS.map(|method| method.name).join(", ");
            format!("{name:?} is not a method: write all, or some of {names}")
        })?;
        if k.is_some() && method.embedding.is_none() {
            return Err(format!("{name} has no embedding: leave out what follows it"));
        }
        let contestant = Contestant { method, k: k.map(parse_k).transpose()? };
        if list.contains(&contestant) {
            return Err(format!("{item} is there twice"));
        }
        list.push(contestant);
    }
    Ok(Contestants(list))
}

fn parse_k(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|k| *k > 0).ok_or_else(|| "write a number of dimensions, such as 300".to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::method::{METHODS as METHOD_CHOICES, MethodChoice};
    use super::*;

    #[test]
    fn methods_are_those_of_train() {
        assert!(METHODS.iter().map(|method| method.name).eq(METHOD_CHOICES.iter().map(|(name, _)| *name)));
        for (method, (_, choice)) in METHODS.iter().zip(METHOD_CHOICES) {
            let embedding = match choice {
                MethodChoice::Embedding(embedding) => Some(*embedding),
                MethodChoice::Trees(_) => None,
            };
            assert_eq!(method.embedding, embedding, "{}", method.name);
        }
    }

    #[test]
    fn lists_of_methods_are_read() {
        let names =
            |text| parse_contestants(text).map(|c| c.0.iter().map(|c| (c.method.name, c.k)).collect::<Vec<_>>());
        assert_eq!(parse_contestants("all").unwrap().0.len(), METHODS.len());
        assert_eq!(names("pca, rembrandt:800"), Ok(vec![("pca", None), ("rembrandt", Some(800))]));
        for wrong in ["", "svm", "fastxml:3", "pca:0", "pca,pca", "pca:x"] {
            assert!(parse_contestants(wrong).is_err(), "{wrong}");
        }
    }
}
