//! Files of an earlier version still open and mean the same. `tests/golden/README.md` says what they are; they are never
//! made again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use rembrandt::EmbeddingFile;
use safetensors::SafeTensors;
use serde_json::Value;

use crate::common::{Desk, objects};

/// How far numbers may be from the stored ones: probabilities and cosines, and others relative to their size above 1.
const TOLERANCE: f64 = 1e-6;

/// Models that predict the same examples.
struct Group {
    input: &'static str,
    /// Predictions per example.
    top: &'static str,
    models: &'static [&'static str],
}

const GROUPS: [Group; 3] = [
    Group {
        input: "multi.txt",
        top: "100",
        models: &[
            "added-compact",
            "added-ilr",
            "added-random-features",
            "added-twice",
            "bias",
            "center",
            "compact",
            "cplst",
            "cs",
            "cs-omp",
            "fastxml",
            "fastxml-scaled",
            "ilr",
            "lpsr",
            "ls",
            "normalize",
            "pca",
            "plst",
            "propensity",
            "random-features",
            "tfidf",
            "tfidf-normalize",
            "tuned",
            "unnamed",
        ],
    },
    Group {
        input: "single.txt",
        top: "100",
        models: &["label-tree", "label-tree-confusion", "label-tree-flat", "lomtree", "lr", "lr-random-features"],
    },
    Group {
        input: "texts.csv",
        top: "100",
        models: &["text", "text-added", "text-fastxml", "text-hashed", "text-ngrams"],
    },
];

/// Models that are refused, and the sentence that says why.
const REFUSED: [(&str, &str); 2] = [
    ("evidence-ilr", "has a ranker of a format version from 3 to 6, which is read no more: train it again"),
    ("shortlist-ls", "has lists of likely labels, which are read no more: train it again"),
];

const EMBEDDINGS: [&str; 8] = ["bias", "by-length", "by-sum", "center", "paper", "plain", "unnamed", "words"];

/// Caches, and what they were made of.
const CACHES: [(&str, &str); 3] =
    [("multi", "multi-train.txt"), ("single", "single-train.txt"), ("weighted", "weighted.txt")];

/// The commands, word by word: the one place that knows the options of the program.
mod words {
    pub fn predict<'a>(model: &'a str, input: &'a str, top: &'a str) -> Vec<&'a str> {
        vec!["predict", model, input, "--quiet", "--format", "jsonl", "--top", top]
    }

    /// Added to prediction, with the end of the name of the file that holds its outcome.
    pub const PLAIN: (&[&str], &str) = (&[], "jsonl");
    pub const STORED_THRESHOLDS: (&[&str], &str) = (&["--threshold", "auto"], "auto.jsonl");

    pub fn inspect(file: &str) -> Vec<&str> {
        vec!["inspect", file]
    }

    pub fn inspect_json(file: &str) -> Vec<&str> {
        vec!["inspect", file, "--json"]
    }

    /// With every checksum.
    pub fn inspect_cache(file: &str) -> Vec<&str> {
        vec!["inspect", file, "--verify", "--json"]
    }

    pub fn neighbors<'a>(file: &'a str, label: &'a str) -> Vec<&'a str> {
        vec!["neighbors", file, label, "--top", "100", "--json"]
    }

    pub fn embed<'a>(data: &'a str, output: &'a str) -> Vec<&'a str> {
        vec!["embed", data, "-k", "6", "--quiet", "-o", output]
    }

    pub fn embed_named<'a>(data: &'a str, [labels, features]: [&'a str; 2], output: &'a str) -> Vec<&'a str> {
        [&embed(data, output)[..], &["--label-names", labels, "--feature-names", features]].concat()
    }
}

/// The fields that must be the same in the JSON of an embedding, by path.
const OF_EMBEDDINGS: [&str; 12] = [
    "/kind",
    "/n",
    "/d",
    "/c",
    "/k",
    "/label_names",
    "/feature_names",
    "/scale_rows",
    "/spectrum",
    "/report/energy_fraction",
    "/report/trace_estimate",
    "/report/rho",
];

/// The fields that must be the same in the JSON of a cache.
const OF_CACHES: [&str; 14] = [
    "/kind",
    "/n",
    "/d",
    "/c",
    "/nnz",
    "/label_nnz",
    "/unused_features",
    "/unused_labels",
    "/weighted",
    "/total_weight",
    "/label_names",
    "/feature_names",
    "/frequent_labels",
    "/verified",
];

#[test]
fn models_predict_as_they_did() {
    let desk = Desk::new();
    let mut failures = Vec::new();
    for group in &GROUPS {
        for name in group.models {
            let (model, input) = (path(&format!("models/{name}.model")), path(&format!("data/{}", group.input)));
            for (options, stored) in [words::PLAIN, words::STORED_THRESHOLDS] {
                let line = [&words::predict(&model, &input, group.top)[..], options].concat();
                let same = succeeded(&desk, &line).and_then(|new| {
                    same_predictions(&objects(&read(&format!("models/{name}.{stored}"))), &objects(&new))
                });
                failures.extend(same.err().map(|e| format!("{name}.{stored}: {e}")));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn models_that_are_read_no_more_are_refused_in_a_sentence() {
    let input = path("data/multi.txt");
    for (name, expected) in REFUSED {
        let model = path(&format!("models/{name}.model"));
        let reason = succeeded(&Desk::new(), &words::predict(&model, &input, "5")).unwrap_err();
        assert!(reason.contains(&format!("{name}.model: {expected}")), "{reason}");
    }
}

/// `inspect` leaves out what it does not understand of a model's parameters and report.
#[test]
fn models_tell_as_much_as_they_did() {
    let desk = Desk::new();
    let rows = |text: &str| -> Vec<String> {
        text.lines().filter_map(|line| line.split("  ").next()).map(str::to_owned).collect()
    };
    for name in GROUPS.iter().flat_map(|group| group.models) {
        let new = succeeded(&desk, &words::inspect(&path(&format!("models/{name}.model")))).unwrap();
        let mut old = rows(&read(&format!("models/{name}.inspect.txt")));
        // The trials of a search for settings are told no more.
        old.retain(|row| row != "tried");
        assert_eq!(rows(&new), old, "{name}");
    }
}

#[test]
fn embeddings_are_as_they_were() {
    let desk = Desk::new();
    for name in EMBEDDINGS {
        let file = path(&format!("embeddings/{name}.safetensors"));
        let new = object(&succeeded(&desk, &words::inspect_json(&file)).unwrap());
        let old = object(&read(&format!("embeddings/{name}.inspect.json")));
        same_facts(&old, &new, &OF_EMBEDDINGS).unwrap_or_else(|e| panic!("{name}: {e}"));
        for old in objects(&read(&format!("embeddings/{name}.neighbors.jsonl"))) {
            let label = old["id"].to_string();
            let new = object(&succeeded(&desk, &words::neighbors(&file, &label)).unwrap());
            assert_eq!(new["name"], old["name"], "{name}");
            let listed = |near: &Value| ranking(&near["neighbors"], "cosine");
            same_ranking(&listed(&old), &listed(&new)).unwrap_or_else(|e| panic!("{name}, label {label}: {e}"));
        }
    }
}

/// As another reader of the format finds them in the file, to the last bit.
#[test]
fn the_numbers_of_embeddings_are_those_in_the_file() {
    for name in EMBEDDINGS {
        let file = path(&format!("embeddings/{name}.safetensors"));
        let bytes = fs::read(&file).unwrap();
        let tensors = SafeTensors::deserialize(&bytes).unwrap();
        let stored = |tensor: &str| {
            let tensor = tensors.tensor(tensor).unwrap();
            (tensor.shape().to_vec(), tensor.data().to_vec())
        };
        let EmbeddingFile { embedding, .. } = EmbeddingFile::open(&file).unwrap();
        for (tensor, matrix) in [("labels", &embedding.labels), ("projection", &embedding.projection)] {
            let numbers = (0..matrix.rows()).flat_map(|i| matrix.row(i)).flat_map(|v| v.to_le_bytes()).collect();
            assert_eq!((vec![matrix.rows(), matrix.cols()], numbers), stored(tensor), "{tensor} of {name}");
        }
        let intercept: Vec<u8> = embedding.intercept.iter().flat_map(|v| v.to_le_bytes()).collect();
        assert_eq!((vec![embedding.intercept.len()], intercept), stored("intercept"), "intercept of {name}");
        let spectrum: Vec<u8> = embedding.spectrum.iter().flat_map(|v| v.to_le_bytes()).collect();
        assert_eq!((vec![embedding.spectrum.len()], spectrum), stored("spectrum"), "spectrum of {name}");
    }
}

#[test]
fn caches_hold_what_they_held() {
    let desk = Desk::new();
    for (name, source) in CACHES {
        let (file, text) = (path(&format!("caches/{name}.rmb")), path(&format!("data/{source}")));
        let new = object(&succeeded(&desk, &words::inspect_cache(&file)).unwrap());
        let old = object(&read(&format!("caches/{name}.inspect.json")));
        same_facts(&old, &new, &OF_CACHES).unwrap_or_else(|e| panic!("{name}: {e}"));

        let names = ["labels", "features"].map(|what| path(&format!("data/{name}-{what}.txt")));
        let of_text = match name {
            "multi" => words::embed_named(&text, names.each_ref().map(String::as_str), "of-text"),
            _ => words::embed(&text, "of-text"),
        };
        succeeded(&desk, &of_text).unwrap();
        succeeded(&desk, &words::embed(&file, "of-cache")).unwrap();
        assert!(desk.read("of-text") == desk.read("of-cache"), "{name} gives another embedding than its text");
    }
}

#[test]
fn every_file_is_checked_and_every_version_is_there() {
    let names = |folder: &str, ending: &str| -> BTreeSet<String> {
        let files = fs::read_dir(path(folder)).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
        files.filter_map(|name| name.strip_suffix(ending).map(str::to_owned)).collect()
    };
    let listed = |names: &mut dyn Iterator<Item = &str>| -> BTreeSet<String> { names.map(str::to_owned).collect() };
    let models = names("models", ".model");
    assert_eq!(
        models,
        listed(&mut GROUPS.iter().flat_map(|group| group.models.iter().copied()).chain(REFUSED.map(|(name, _)| name)))
    );
    let embeddings = names("embeddings", ".safetensors");
    assert_eq!(embeddings, listed(&mut EMBEDDINGS.into_iter()));
    assert_eq!(names("caches", ".rmb"), listed(&mut CACHES.into_iter().map(|(name, _)| name)));

    let version = |file: String| {
        let bytes = fs::read(path(&file)).unwrap();
        let (_, header) = SafeTensors::read_metadata(&bytes).unwrap();
        header.metadata().as_ref().unwrap()["format_version"].clone()
    };
    let of_models: BTreeSet<String> = models.iter().map(|name| version(format!("models/{name}.model"))).collect();
    assert_eq!(of_models, listed(&mut ["1", "2", "4"].into_iter()));
    let of_embeddings: BTreeSet<String> =
        embeddings.iter().map(|name| version(format!("embeddings/{name}.safetensors"))).collect();
    assert_eq!(of_embeddings, listed(&mut ["1", "2"].into_iter()));
}

fn path(name: &str) -> String {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "tests", "golden", name].iter().collect();
    path.into_os_string().into_string().unwrap()
}

fn read(name: &str) -> String {
    fs::read_to_string(path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
}

fn object(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// The output of a run, or why it failed.
fn succeeded(desk: &Desk, line: &[&str]) -> Result<String, String> {
    let outcome = desk.run_words(line, Vec::new());
    if outcome.code == 0 { Ok(outcome.stdout) } else { Err(format!("{}: {}", line.join(" "), outcome.stderr)) }
}

/// Labels with their names and scores, best first.
type Ranking = Vec<((u64, Option<String>), f64)>;

/// The ranking in a JSON list, whose scores go by a name; predictions have a `label` where neighbors have a `name`.
fn ranking(list: &Value, score: &str) -> Ranking {
    let entry = |l: &Value| {
        let name = l.get("label").or(l.get("name")).and_then(Value::as_str).map(str::to_owned);
        ((l["id"].as_u64().unwrap(), name), l[score].as_f64().unwrap())
    };
    list.as_array().unwrap().iter().map(entry).collect()
}

fn same_predictions(old: &[Value], new: &[Value]) -> Result<(), String> {
    if old.len() != new.len() {
        return Err(format!("{} examples, which were {}", new.len(), old.len()));
    }
    for (i, (old, new)) in old.iter().zip(new).enumerate() {
        let listed = |labels: &Value| ranking(&labels["labels"], "probability");
        same_ranking(&listed(old), &listed(new)).map_err(|e| format!("example {i}: {e}"))?;
    }
    Ok(())
}

/// The same labels with the same scores; only labels of equal scores may have changed places.
fn same_ranking(old: &Ranking, new: &Ranking) -> Result<(), String> {
    let scores: BTreeMap<_, _> = old.iter().cloned().collect();
    let labels: BTreeSet<_> = new.iter().map(|(label, _)| label).collect();
    if old.len() != new.len() || !labels.iter().copied().eq(scores.keys()) {
        return Err(format!("other labels:\n  old {old:?}\n  new {new:?}"));
    }
    for (label, score) in new {
        let stored = scores[label];
        if !close(stored, *score) {
            return Err(format!("{label:?} has {score}, and had {stored}"));
        }
    }
    match new.windows(2).find(|pair| scores[&pair[0].0] < scores[&pair[1].0] - TOLERANCE) {
        Some(pair) => Err(format!("{:?} stands before {:?}", pair[0], pair[1])),
        None => Ok(()),
    }
}

fn same_facts(old: &Value, new: &Value, paths: &[&str]) -> Result<(), String> {
    for path in paths {
        let stored = old.pointer(path).ok_or_else(|| format!("{path} was never told"))?;
        let told = new.pointer(path).ok_or_else(|| format!("{path} is no longer told"))?;
        if !same(stored, told) {
            return Err(format!("{path} is {told}, and was {stored}"));
        }
    }
    Ok(())
}

fn same(old: &Value, new: &Value) -> bool {
    match (old, new) {
        (Value::Number(old), Value::Number(new)) => close(old.as_f64().unwrap(), new.as_f64().unwrap()),
        (Value::Array(old), Value::Array(new)) => {
            old.len() == new.len() && old.iter().zip(new).all(|(old, new)| same(old, new))
        }
        (Value::Object(old), Value::Object(new)) => {
            old.iter().all(|(key, old)| new.get(key).is_some_and(|new| same(old, new)))
        }
        (old, new) => old == new,
    }
}

fn close(old: f64, new: f64) -> bool {
    (old - new).abs() <= TOLERANCE * old.abs().max(1.0)
}
