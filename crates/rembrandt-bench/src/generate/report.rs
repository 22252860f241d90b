//! Both parts of the data, and an account of them.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use rembrandt::{Error, Result};
use serde_json::{Value, json};

use super::{Generated, GeneratedAs, Generator, Part};
use crate::text::{bytes, count, facts};
use crate::watch::{Watcher, watched};

/// A file that was written.
struct WrittenFile {
    name: &'static str,
    path: PathBuf,
    bytes: u64,
    seconds: f64,
    made: Generated,
}

/// Totals of the data written.
pub struct GeneratedFiles {
    generator: Generator,
    /// Training and test data.
    files: [WrittenFile; 2],
}

impl Generator {
    /// Writes training and test data into a folder, which is made if there is none: `train.txt` and `test.txt`, or `.rmb`.
    pub fn write_both(&self, folder: &Path, as_what: GeneratedAs, watcher: &mut dyn Watcher) -> Result<GeneratedFiles> {
        self.check()?;
        fs::create_dir_all(folder).map_err(Error::io(folder))?;
        let ending = if as_what == GeneratedAs::Cache { "rmb" } else { "txt" };
        let mut file = |name: &'static str, part: Part| -> Result<WrittenFile> {
            let path = folder.join(format!("{name}.{ending}"));
            let began = Instant::now();
            let made = self.write(part, as_what, &path, &mut watched(watcher));
            watcher.clear();
            let (made, seconds) = (made?, began.elapsed().as_secs_f64());
            let bytes = fs::metadata(&path).map_err(Error::io(&path))?.len();
            Ok(WrittenFile { name, path, bytes, seconds, made })
        };
        Ok(GeneratedFiles { generator: *self, files: [file("train", Part::Train)?, file("test", Part::Test)?] })
    }
}

impl GeneratedFiles {
    /// For people.
    pub fn facts(&self) -> String {
        let mut rows: Vec<(&str, String)> = self.files.iter().map(|file| (file.name, file.sentence())).collect();
        let best = 100.0 * self.files[1].made.best_p1();
        rows.push((
            "best P@1",
            format!("{best:.2} % on the test examples, by knowing from which labels each was made"),
        ));
        facts(&rows)
    }

    /// All numbers.
    pub fn json(&self) -> Value {
        let mut parts = serde_json::Map::new();
        for WrittenFile { name, path, bytes, seconds, made } in &self.files {
            let [features, labels] = made.entries;
            let file = json!({
                "path": path, "examples": made.examples, "features": features, "labels": labels, "bytes": bytes,
                "seconds": seconds, "best_p@1": made.best_p1(),
            });
            parts.insert((*name).to_owned(), file);
        }
        parts.insert("params".to_owned(), json!(self.generator));
        Value::Object(parts)
    }
}

impl WrittenFile {
    fn sentence(&self) -> String {
        let rate = self.bytes as f64 / self.seconds.max(f64::MIN_POSITIVE);
        let [features, labels] = self.made.entries.map(|entries| entries as f64 / self.made.examples.max(1) as f64);
        format!(
            "{}: {}, {features:.1} features and {labels:.2} labels each; {} in {:.1} s ({}/s)",
            self.path.display(),
            count(self.made.examples, "example"),
            bytes(self.bytes),
            self.seconds,
            bytes(rate as u64)
        )
    }
}
