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

#[test]
fn files_do_not_use_each_other_in_circles() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut edges, mut circles) = (0, Vec::new());
    for folder in &folders(&source) {
        let uses = uses_within(folder, &source);
        edges += uses.values().map(BTreeSet::len).sum::<usize>();
        let circle = circle(uses);
        if !circle.is_empty() {
            circles.push(format!("{}: {circle:?}", folder.display()));
        }
    }
    assert!(edges > 200, "only {edges} uses were found: the test looks at the wrong place");
    assert!(circles.is_empty(), "files use each other in a circle:\n{}", circles.join("\n"));
}

/// Which of the others each file and folder of a folder uses, `mod.rs` and tests aside.
fn uses_within(folder: &Path, source: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let own = folder.strip_prefix(source).unwrap().iter().map(|part| part.to_str().unwrap());
    let path = format!("crate::{}::", own.collect::<Vec<_>>().join("::"));
    let heads = [folder.join("mod.rs"), folder.with_extension("rs")];
    let head = heads.iter().find_map(|file| fs::read_to_string(file).ok()).unwrap();
    let (exported, tests) = (exported(&code(&head)), test_modules(&head));
    let mut uses: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in rust_files(folder) {
        let inside = file.strip_prefix(folder).unwrap().with_extension("");
        let parts: Vec<&str> = inside.iter().map(|part| part.to_str().unwrap()).collect();
        if parts == ["mod"] || tests.contains(parts[0]) || parts.iter().any(|part| part.starts_with("tests")) {
            continue;
        }
        let depth = parts.len() - usize::from(parts.ends_with(&["mod"]));
        let used = siblings(&code(&fs::read_to_string(&file).unwrap()), &path, depth, &exported);
        uses.entry(parts[0].to_owned()).or_default().extend(used);
    }
    uses
}

/// The modules that only tests have.
fn test_modules(text: &str) -> BTreeSet<String> {
    text.split("#[cfg(test)]\nmod ")
        .skip(1)
        .filter_map(|rest| rest.split_once(';'))
        .map(|(name, _)| name.to_owned())
        .collect()
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

/// The files and folders of the folder `path` that a file names, by themselves or by what `mod.rs` exports of them. The
/// folder is so many steps above the file.
fn siblings(code: &str, path: &str, depth: usize, exported: &BTreeMap<String, String>) -> BTreeSet<String> {
    let (mut places, mut steps): (Vec<&str>, usize) = (code.split(path).skip(1).collect(), 0);
    for rest in code.split("super::").skip(1) {
        steps += 1;
        if !rest.is_empty() {
            places.extend((steps == depth).then_some(rest));
            steps = 0;
        }
    }
    let names = places.into_iter().flat_map(names_at);
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

/// All folders below a folder that hold modules.
fn folders(folder: &Path) -> Vec<PathBuf> {
    let inside = |path: &PathBuf| path.is_dir() && path.file_name().is_some_and(|name| name != "tests");
    let below: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(inside).collect();
    below.iter().flat_map(|path| [vec![path.clone()], folders(path)].concat()).collect()
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
    let uses = |code: &str| siblings(code, "crate::zoo::", 1, &exported);
    assert_eq!(uses("use super::{Ant, b::{self, Bee}};"), BTreeSet::from(["a".to_owned(), "b".to_owned()]));
    assert_eq!(uses("use crate::zoo::Bee;"), BTreeSet::from(["b".to_owned()]));
    let below = |code: &str| siblings(code, "crate::zoo::", 2, &exported);
    assert_eq!((below("use super::Ant;"), below("use super::super::Ant;").len()), (BTreeSet::new(), 1));
    let all = |b: &str| BTreeMap::from([("a".to_owned(), uses("use super::b;")), ("b".to_owned(), uses(b))]);
    assert_eq!(circle(all("use super::Apple;")).len(), 2);
    assert!(circle(all("use super::Bee;")).is_empty());
}
