//! A directory to work in, small data, and the program.

use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use serde_json::Value;
use tempfile::TempDir;

pub const N: usize = 300;
pub const D: usize = 60;
pub const C: usize = 20;

/// A directory that is gone after the test.
pub struct Desk(TempDir);

/// Output and exit code of a run of the program.
pub struct Outcome {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Desk {
    pub fn new() -> Desk {
        Desk(tempfile::tempdir().unwrap())
    }

    /// A directory with data in `train.txt`.
    pub fn with_data() -> Desk {
        let desk = Desk::new();
        desk.write("train.txt", xmc());
        desk
    }

    /// A directory with data in `train.txt` and a model of them in `m.model`.
    pub fn with_model() -> Desk {
        let desk = Desk::with_data();
        desk.ok("train train.txt -o m.model");
        desk
    }

    /// A directory with texts in `train.jsonl` and a model of them in `m.model`.
    pub fn with_text_model() -> Desk {
        let desk = Desk::new();
        desk.write("train.jsonl", jsonl(&texts()));
        desk.ok("train train.jsonl --text -o m.model");
        desk
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).unwrap();
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    pub fn text(&self, name: &str) -> String {
        String::from_utf8(self.read(name)).unwrap()
    }

    /// All files, hidden ones too.
    pub fn files(&self) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(self.0.path()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Runs `rembrandt` with the words of `line` in this directory.
    pub fn run(&self, line: &str) -> Outcome {
        self.run_with_input(line, Vec::new())
    }

    pub fn run_with_input(&self, line: &str, input: Vec<u8>) -> Outcome {
        self.run_words(&line.split_whitespace().collect::<Vec<_>>(), input)
    }

    /// Runs `rembrandt` with words that may have spaces in them.
    pub fn run_words(&self, words: &[&str], input: Vec<u8>) -> Outcome {
        let output = program(self.0.path()).args(words).write_stdin(input).output().expect("the program runs");
        Outcome {
            code: output.status.code().expect("no signal"),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Runs a line that must succeed.
    pub fn ok(&self, line: &str) -> Outcome {
        let outcome = self.run(line);
        assert_eq!(outcome.code, 0, "{line}: {}", outcome.stderr);
        outcome
    }

    /// Runs a line that must succeed and print one JSON object.
    pub fn json(&self, line: &str) -> Value {
        let stdout = self.ok(line).stdout;
        assert_eq!(stdout.lines().count(), 1, "{stdout}");
        serde_json::from_str(&stdout).unwrap()
    }

    /// Runs a line that must be refused after notes, leaving no new file; returns the last sentence.
    pub fn refused_at_last(&self, line: &str) -> String {
        let before = self.files();
        let outcome = self.run(line);
        let sentence = outcome.stderr.lines().last().unwrap_or_default().to_owned();
        assert!(outcome.code == 2 && sentence.starts_with("error: "), "{line}: {}", outcome.stderr);
        assert_eq!(self.files(), before, "{line} left something behind");
        sentence
    }

    /// Runs a line that must be refused in one sentence, leaving no new file; returns the sentence.
    pub fn refused(&self, line: &str) -> String {
        let before = self.files();
        let outcome = self.run(line);
        outcome.assert_refused(line);
        assert_eq!(self.files(), before, "{line} left something behind");
        outcome.stderr
    }
}

impl Outcome {
    pub fn assert_refused(&self, line: &str) {
        assert_eq!(self.code, 2, "{line}: {}", self.stderr);
        assert_eq!(self.stderr.lines().count(), 1, "{line}: {}", self.stderr);
        assert!(self.stderr.starts_with("error: "), "{line}: {}", self.stderr);
        assert_eq!(self.stdout, "", "{line}");
    }
}

pub fn program(dir: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rembrandt"));
    command.current_dir(dir);
    command
}

/// Data in which each label shows in three features of its own, among noise; label 7 never occurs.
pub fn xmc() -> String {
    let mut state = 1u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % below
    };
    let mut text = format!("{N} {D} {C}\n");
    for _ in 0..N {
        let mut labels: Vec<usize> = (0..1 + random(3)).map(|_| random(C)).filter(|l| *l != 7).collect();
        labels.sort();
        labels.dedup();
        let mut features: Vec<usize> = labels.iter().flat_map(|l| [3 * l, 3 * l + 1, 3 * l + 2]).collect();
        features.extend((0..4).map(|_| random(D)));
        features.sort();
        features.dedup();
        let labels: Vec<String> = labels.iter().map(usize::to_string).collect();
        let features: Vec<String> = features.iter().map(|f| format!("{f}:{}.{}", 1 + random(2), random(10))).collect();
        text.push_str(&format!("{} {}\n", labels.join(","), features.join(" ")));
    }
    text
}

/// A text and its labels.
pub type Record = (String, Vec<&'static str>);

/// Texts about drinks: each label has two words of its own, among words that say nothing. `tea` is the most frequent
/// label, then `coffee`, `wine`, `milk`.
pub fn texts() -> Vec<Record> {
    let words = [("tea", ["leaf", "kettle"]), ("coffee", ["bean", "roast"]), ("wine", ["grape", "cellar"])];
    let milk = ("milk", ["cow", "cream"]);
    let filler = ["morning", "Evening", "table", "kitchen", "friend"];
    let mut records = Vec::new();
    for i in 0..120 {
        let (label, own) = words[[0, 0, 0, 1, 1, 2][i % 6]];
        let mut text = format!("{} with {}, {}", own[0], own[1], filler[i % 5]);
        let mut labels = vec![label];
        if i % 10 == 0 {
            text.push_str(&format!(" and {} {}", milk.1[0], milk.1[1]));
            labels.push(milk.0);
        }
        records.push((text, labels));
    }
    records
}

pub fn tsv(records: &[Record]) -> String {
    let line = |(text, labels): &Record| format!("{}\t{text}\n", labels.join(","));
    "labels\ttext\n".to_owned() + &records.iter().map(line).collect::<String>()
}

pub fn csv(records: &[Record]) -> String {
    let line = |(text, labels): &Record| format!("\"{text}\",\"{}\"\n", labels.join(","));
    "text,labels\n".to_owned() + &records.iter().map(line).collect::<String>()
}

pub fn jsonl(records: &[Record]) -> String {
    records.iter().map(|(text, labels)| format!("{}\n", serde_json::json!({"text": text, "labels": labels}))).collect()
}

/// The JSON objects of `predict --format jsonl`.
pub fn objects(stdout: &str) -> Vec<Value> {
    stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Names and probabilities that such an object holds, best first.
pub fn predicted(object: &Value) -> Vec<(String, f64)> {
    let label = |l: &Value| (l["label"].as_str().unwrap().to_owned(), l["probability"].as_f64().unwrap());
    object["labels"].as_array().unwrap().iter().map(label).collect()
}

pub fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut encoder = flate2::read::GzEncoder::new(bytes, flate2::Compression::default());
    std::io::Read::read_to_end(&mut encoder, &mut out).unwrap();
    out
}

pub fn zst(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 3).unwrap()
}
