//! The order of the modules: each uses what stands before it, never what comes after.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// From the foundation up. `metrics` stands beside: only training and the model look at it.
const ORDER: [&str; 10] = ["error", "linalg", "io", "run", "data", "embed", "score", "tree", "model", "train"];
const USERS_OF_METRICS: [&str; 2] = ["model", "train"];
const METRICS_USES: [&str; 2] = ["error", "linalg"];

/// Where the names that the crate root re-exports come from.
const EXPORTED: [(&str, &[&str]); 8] = [
    ("error", &["Error", "Result"]),
    ("linalg", &["MatMut", "MatRef", "Matrix"]),
    ("io", &["Checkpoints"]),
    ("run", &["Progress", "Run"]),
    ("data", &["Dataset", "Examples", "Moments", "Shape", "Side", "Texts", "View"]),
    ("embed", &["Embedding", "Rembrandt"]),
    ("model", &["EmbeddingFile", "Model"]),
    ("train", &["Trainer"]),
];

#[test]
fn modules_use_only_what_stands_before_them() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut wrong, mut edges) = (Vec::new(), 0);
    for file in rust_files(&source) {
        let inside = file.strip_prefix(&source).unwrap();
        let module = inside.iter().next().unwrap().to_str().unwrap().trim_end_matches(".rs").to_owned();
        if module == "lib" || inside.iter().any(|part| part.to_str().unwrap().starts_with("tests")) {
            continue;
        }
        for used in used_modules(&fs::read_to_string(&file).unwrap()) {
            edges += usize::from(used != module);
            if !allowed(&module, &used) {
                wrong.push(format!("{} uses {used}", inside.display()));
            }
        }
    }
    assert!(edges > 100, "only {edges} uses were found: the test looks at the wrong place");
    assert!(wrong.is_empty(), "modules use what comes after them:\n{}", wrong.join("\n"));
}

fn allowed(module: &str, used: &str) -> bool {
    let place = |name: &str| ORDER.iter().position(|other| *other == name);
    match (module, used) {
        _ if module == used => true,
        (_, "metrics") => USERS_OF_METRICS.contains(&module),
        ("metrics", _) => METRICS_USES.contains(&used),
        _ => place(used).zip(place(module)).is_some_and(|(used, module)| used < module),
    }
}

/// The modules of the crate that a file names, outside of comments and unit tests.
fn used_modules(text: &str) -> BTreeSet<String> {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
    let code: String = code.lines().map(|line| line.split("//").next().unwrap()).collect::<Vec<_>>().join("\n");
    let mut used = BTreeSet::new();
    for rest in code.split("crate::").skip(1) {
        let names: Vec<&str> = match rest.strip_prefix('{') {
            Some(list) => list.split('}').next().unwrap().split(',').collect(),
            None => vec![rest],
        };
        for name in names {
            let name: String = name.trim().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            let home = EXPORTED.iter().find(|(_, exports)| exports.contains(&&*name)).map(|(home, _)| *home);
            used.insert(home.map_or(name, str::to_owned));
        }
    }
    used.remove("");
    used
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}

#[test]
fn a_wrong_use_is_seen() {
    assert!(used_modules("use crate::{Error, Model};\n").contains("model"));
    assert!(used_modules("use crate::train::Trainer;").contains("train"));
    assert!(!used_modules("// use crate::train::Trainer;").contains("train"));
    assert!(!allowed("embed", "model") && !allowed("score", "metrics") && allowed("train", "metrics"));
}
