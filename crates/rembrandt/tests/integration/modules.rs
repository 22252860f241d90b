//! The order of the modules: each uses what stands before it, never what comes after.

use std::collections::{BTreeMap, BTreeSet};
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
    let code = code(text);
    let mut used = BTreeSet::new();
    for rest in code.split("crate::").skip(1) {
        for name in names_at(rest) {
            let home = EXPORTED.iter().find(|(_, exports)| exports.contains(&&*name)).map(|(home, _)| *home);
            used.insert(home.map_or(name, str::to_owned));
        }
    }
    used.remove("");
    used
}

/// Folders in which no two files use each other in a circle.
const WITHOUT_CIRCLES: [&str; 2] = ["embed", "train"];

#[test]
fn files_do_not_use_each_other_in_circles() {
    for module in WITHOUT_CIRCLES {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(module);
        let text = |file: &Path| code(&fs::read_to_string(file).unwrap());
        let exported = exported(&text(&folder.join("mod.rs")));
        let mut uses = BTreeMap::new();
        for file in rust_files(&folder) {
            let stem = file.file_stem().unwrap().to_str().unwrap().to_owned();
            if file.parent() == Some(&*folder) && stem != "mod" && stem != "tests" {
                uses.insert(stem, siblings(&text(&file), module, &exported));
            }
        }
        let edges: usize = uses.values().map(BTreeSet::len).sum();
        assert!(edges >= uses.len(), "only {edges} uses were found in {module}: the test looks at the wrong place");
        assert_eq!(circle(uses), BTreeSet::new(), "files of {module} use each other in a circle");
    }
}

/// Files that are in a circle, or use one that is: what is left when those that use no other are taken away again and
/// again.
fn circle(mut uses: BTreeMap<String, BTreeSet<String>>) -> BTreeSet<String> {
    loop {
        let left: BTreeSet<String> = uses.keys().cloned().collect();
        uses.retain(|file, used| used.iter().any(|other| other != file && left.contains(other)));
        if uses.len() == left.len() {
            return left;
        }
    }
}

/// The files of its own folder that a file names, by themselves or by what `mod.rs` exports of them.
fn siblings(code: &str, module: &str, exported: &BTreeMap<String, String>) -> BTreeSet<String> {
    let own = format!("crate::{module}::");
    let places = code.split("super::").skip(1).chain(code.split(&*own).skip(1));
    let names = places.flat_map(names_at);
    names.map(|name| exported.get(&name).cloned().unwrap_or(name)).filter(|name| !name.is_empty()).collect()
}

/// The file that each name of `mod.rs` comes from.
fn exported(code: &str) -> BTreeMap<String, String> {
    let lines = code.split(';').filter_map(|line| line.split_once(" use ").map(|(_, used)| used));
    let pairs = lines.filter_map(|used| used.split_once("::"));
    pairs.flat_map(|(file, rest)| names_at(rest).into_iter().map(|name| (name, file.to_owned()))).collect()
}

/// The names after a path: one, or those of a list in braces.
fn names_at(rest: &str) -> Vec<String> {
    let first = |name: &str| name.trim().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    let Some(list) = rest.strip_prefix('{') else { return vec![first(rest)] };
    let (mut depth, mut names, mut start) = (1, Vec::new(), 0);
    for (at, c) in list.char_indices() {
        depth = if c == '{' { depth + 1 } else { depth - i32::from(c == '}') };
        if depth == 0 || (depth == 1 && c == ',') {
            names.push(first(&list[start..at]));
            start = at + 1;
        }
        if depth == 0 {
            break;
        }
    }
    names
}

/// A file without comments and unit tests.
fn code(text: &str) -> String {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
    code.lines().map(|line| line.split("//").next().unwrap()).collect::<Vec<_>>().join("\n")
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

#[test]
fn a_circle_is_seen() {
    let exported = exported("mod a;\npub use a::{Apple, Ant};\npub use b::Bee;\n");
    let uses = |code: &str| siblings(code, "zoo", &exported);
    assert_eq!(uses("use super::{Ant, b::{self, Bee}};"), BTreeSet::from(["a".to_owned(), "b".to_owned()]));
    assert_eq!(uses("use crate::zoo::Bee;"), BTreeSet::from(["b".to_owned()]));
    let all = |b: &str| BTreeMap::from([("a".to_owned(), uses("use super::b;")), ("b".to_owned(), uses(b))]);
    assert_eq!(circle(all("use super::Apple;")).len(), 2);
    assert!(circle(all("use super::Bee;")).is_empty());
}
