//! `docs/formats.md` against the files that are written: programs in other languages have nothing else to go by.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use rembrandt::data::featurizer::{FeaturizerParams, stop_words};
use rembrandt::data::records::{RecordOptions, Selector};
use rembrandt::data::{RowScale, Rows};
use rembrandt::embed::Method;
use rembrandt::linalg::csr::{Csr, CsrRef};
use rembrandt::metrics::Propensity;
use rembrandt::model::Preprocessing;
use rembrandt::score::head::FeatureParams;
use rembrandt::train::{HeadKind, HeadTrainParams};
use rembrandt::tree::{TreeMethod, TreeParams};
use rembrandt::{Dataset, EmbeddingFile, Model, Rembrandt, Run, Texts, Trainer};
use serde_json::Value;

/// Labels that examples have, and how far apart their ids are: too far for one byte.
const USED: usize = 12;
const APART: usize = 33;
const C: usize = 400;
/// Two blocks of features, and one that goes with the last label alone.
const D: usize = 2 * USED + 1;

/// A feature of each block decides on the label together, and each alone tells nothing: similar examples know what no linear
/// scorer can. Labels have the names of features.
fn data(n: usize, several: bool, weighted: bool) -> Dataset {
    let mut rows = Rows::new();
    for i in 0..n {
        let (a, b) = (i % USED, i / USED % USED);
        let label = (a + b) % USED;
        let mut features = vec![a as u32, (USED + b) as u32];
        features.extend((label == USED - 1).then_some(2 * USED as u32));
        let mut labels = vec![(APART * label) as u32];
        labels.extend((several && a % 3 == 0).then_some((APART * ((label + 1) % USED)) as u32));
        labels.sort_unstable();
        for (csr, ids) in [(&mut rows.x, features), (&mut rows.y, labels)] {
            ids.iter().for_each(|id| csr.push(*id, 1.0));
            csr.end_row();
        }
    }
    rows.weights = weighted.then(|| (0..n).map(|i| 0.5 + (i % 2) as f32).collect());
    let labels = (0..C).map(|l| if l % APART == 0 { format!("f{}", l / APART) } else { format!("unused {l}") });
    let features = (0..D).map(|f| format!("f{f}"));
    let data = Dataset::from_rows(&rows, D, C).unwrap();
    data.with_names(Some(labels.collect()), Some(features.collect())).unwrap()
}

/// Models with everything that a file can hold.
fn models() -> Vec<Model> {
    let run = &mut Run::default();
    let (several, single) = (data(1500, true, true), data(600, false, false));
    let voting = Trainer::new().tfidf().normalize().propensity(Propensity::default()).fit(&several).unwrap();
    let (ptr, ids) = ([0, 2], [0, USED as u32]);
    let added = voting.add_label("new", CsrRef { ptr: &ptr, ids: &ids, values: None }).unwrap();
    let texts = Texts::new((0..60).map(|i| (format!("a game of {}", ["chess", "go"][i % 2]), vec![["x", "y"][i % 2]])));
    let head = |method, kind, change: fn(&mut HeadTrainParams)| {
        let mut params = HeadTrainParams::for_method(method, kind);
        params.k = Some(5);
        change(&mut params);
        params.fit(&several, Preprocessing::AsIs, &mut Run::default()).unwrap()
    };
    let language = FeaturizerParams::default().with(|p| {
        (p.fold, p.stem, p.stop_words) = (true, Some("en".parse().unwrap()), stop_words("en").unwrap());
    });
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("table");
    let line = |i: usize| format!("{}|{};a game of {};1\n", ["x", "y"][i % 2], "z", ["chess", "go"][i % 2]);
    std::fs::write(&table, (0..60).map(line).collect::<String>()).unwrap();
    let written = RecordOptions::new(Selector::Number(2)).with(|o| {
        (o.labels, o.weight) = (Some(Selector::Number(1)), Some(Selector::Number(3)));
        (o.separator, o.delimiter) = ("|".into(), Some(';'));
    });
    let table = Texts::read_with(&table, &written, run).unwrap();
    let mut models = vec![
        Trainer::new().featurizer(language).fit(&texts).unwrap(),
        Trainer::new().fit(&table).unwrap(),
        voting,
        added,
        Trainer::new().fit(&texts).unwrap(),
        head(Method::Rembrandt, HeadKind::Independent, |_| ()).compact(),
        head(Method::Rembrandt, HeadKind::Independent, |p| {
            p.features = Some(FeatureParams::default().with(|f| f.count = 8))
        }),
        head(Method::CsOmp, HeadKind::LeastSquares, |_| ()),
    ];
    for method in [TreeMethod::Fastxml, TreeMethod::Lpsr, TreeMethod::Lomtree, TreeMethod::LabelTree] {
        let trees = TreeParams::new(method).fit(&single, run).unwrap();
        models.push(Model::from_trees(trees, &single, Preprocessing::AsIs, Value::Null, Value::Null).unwrap());
    }
    models
}

/// The header of a file: kinds of the tensors by name, and the metadata.
fn header(path: &Path) -> (BTreeMap<String, String>, BTreeMap<String, String>) {
    let bytes = std::fs::read(path).unwrap();
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let mut header: BTreeMap<String, Value> = serde_json::from_slice(&bytes[8..8 + length]).unwrap();
    let metadata = serde_json::from_value(header.remove("__metadata__").unwrap()).unwrap();
    let kind = |tensor: Value| tensor["dtype"].as_str().unwrap().to_lowercase();
    (header.into_iter().map(|(name, tensor)| (name, kind(tensor))).collect(), metadata)
}

/// All keys inside of a value. The name of a product is that of its factors.
fn keys(value: &Value, found: &mut BTreeSet<String>) {
    if let Value::Object(fields) = value {
        for (key, value) in fields {
            found.extend(key.split(" * ").map(str::to_owned));
            keys(value, found);
        }
    }
}

/// A section of the document.
fn section(title: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/formats.md");
    let text = std::fs::read_to_string(path).unwrap();
    let (_, after) = text.split_once(&format!("\n## {title}\n")).expect("the section is there");
    after.split("\n## ").next().unwrap_or_default().to_owned()
}

/// Words between single backticks.
fn quoted(text: &str) -> BTreeSet<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// The kinds of numbers of each tensor in the tables of a section.
fn documented(section: &str) -> BTreeMap<String, String> {
    let mut tensors = BTreeMap::new();
    let mut inside = false;
    for line in section.lines() {
        inside = line.starts_with("| tensor |") || inside && line.starts_with('|');
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        if inside && cells.len() > 3 {
            quoted(cells[1]).into_iter().for_each(|name| drop(tensors.insert(name, cells[2].to_owned())));
        }
    }
    tensors
}

/// Checks that a section has what files of its kind hold, and nothing that none of them does.
fn check(section: &str, files: &[PathBuf]) {
    let (tensors, words) = (documented(section), quoted(section));
    let mut written = BTreeSet::new();
    for path in files {
        let (found, metadata) = header(path);
        for (name, kind) in found {
            let kinds = tensors.get(&name).unwrap_or_else(|| panic!("tensor {name} is not documented"));
            assert!(kinds.split([' ', ',']).any(|other| other == kind), "{name} is {kind}, not {kinds}");
            written.insert(name);
        }
        let mut all: BTreeSet<String> = metadata.keys().cloned().collect();
        metadata.get("model").into_iter().for_each(|model| keys(&serde_json::from_str(model).unwrap(), &mut all));
        let missing: Vec<&String> = all.iter().filter(|key| !words.contains(*key)).collect();
        assert!(missing.is_empty(), "keys of the metadata that are not documented: {missing:?}");
        let version = format!("version {}", metadata["format_version"]);
        assert!(section.contains(&version), "{version} is not documented");
    }
    let unwritten: Vec<&String> = tensors.keys().filter(|name| !written.contains(*name)).collect();
    assert!(unwritten.is_empty(), "tensors that no file has: {unwritten:?}");
}

#[test]
fn the_document_has_every_tensor_and_key_of_model_files() {
    let dir = tempfile::tempdir().unwrap();
    let save = |(at, model): (usize, Model)| {
        let path = dir.path().join(at.to_string());
        model.save(&path).unwrap();
        path
    };
    let files: Vec<PathBuf> = models().into_iter().enumerate().map(save).collect();
    check(&section("The model file"), &files);
}

fn embedding(data: &Dataset, row_scale: RowScale) -> EmbeddingFile {
    let params = Rembrandt::new(4);
    EmbeddingFile {
        embedding: params.fit(data, &mut Run::default()).unwrap(),
        params,
        row_scale,
        label_names: data.label_names().map(<[String]>::to_vec),
        feature_names: data.feature_names().map(<[String]>::to_vec),
    }
}

#[test]
fn the_document_has_every_tensor_and_key_of_embedding_files() {
    let dir = tempfile::tempdir().unwrap();
    let data = data(300, true, false);
    let files = [("a", RowScale::None), ("b", RowScale::Sum)].map(|(name, row_scale)| {
        let path = dir.path().join(name);
        embedding(&data, row_scale).save(&path).unwrap();
        path
    });
    check(&section("The embedding file"), &files);
}

/// Whether there is a Python with numpy; else a line says so.
fn has_numpy() -> bool {
    let found = Command::new("python3").args(["-c", "import numpy"]).output().is_ok_and(|out| out.status.success());
    if !found {
        println!("skipped: the numpy of docs/formats.md, because there is no python3 with numpy");
    }
    found
}

/// The Python of the document reads models of all kinds, and unpacks the association table as it was computed.
#[test]
fn the_numpy_of_the_document_reads_every_file() {
    if !has_numpy() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let code: String = section("Reading with numpy")
        .split("```python\n")
        .skip(1)
        .map(|block| block.split("```").next().unwrap_or_default())
        .collect();
    let several = data(1500, true, false);
    embedding(&several, RowScale::None).save(dir.path().join("labels.safetensors")).unwrap();
    Trainer::new().fit(&several).unwrap().save(dir.path().join("tags.model")).unwrap();
    let models = models();
    models.iter().enumerate().for_each(|(at, model)| model.save(dir.path().join(at.to_string())).unwrap());
    let script = format!(
        "import numpy as np\nx = np.ones((2, {D}), 'f4')\n{code}\n\
         assert scores.shape == (2, {C})\n\
         for at in range({}):\n    for name, found in read(str(at))[0].items(): assert np.isfinite(found).all(), name\n\
         print(json.dumps([[int(r), int(c), float(v)] for r, c, v in zip(*unpack(model, 'association'))]))\n",
        models.len()
    );
    let out = Command::new("python3").arg("-c").arg(script).current_dir(dir.path()).output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let found: Vec<(usize, usize, f64)> = serde_json::from_slice(&out.stdout).unwrap();

    let (x, y) = (several.features().unwrap(), several.labels().unwrap());
    let shares = shares(&x, &y);
    let whole: usize = shares.iter().map(BTreeMap::len).sum();
    assert_eq!(found.len(), whole);
    for (feature, label, value) in found {
        // Eight bits: half a unit of the largest of the row.
        let largest = shares[feature].values().copied().fold(0.0, f64::max);
        let expected = shares[feature][&label];
        assert!((value - expected).abs() <= largest / 127.0 * 0.501, "{feature}, {label}: {value} for {expected}");
    }
}

/// T from its definition: of each feature, the share of its weight in examples of each label.
fn shares(x: &Csr, y: &Csr) -> Vec<BTreeMap<usize, f64>> {
    let (mut sums, mut totals) = (vec![BTreeMap::new(); D], vec![0.0; D]);
    for i in 0..x.rows() {
        let (features, labels) = (x.view().row(i).0, y.view().row(i).0);
        let value = 1.0 / (features.len() as f64).sqrt();
        for feature in features {
            totals[*feature as usize] += value;
            let of = |label: &u32| *sums[*feature as usize].entry(*label as usize).or_insert(0.0) += value;
            labels.iter().for_each(of);
        }
    }
    sums.iter_mut().zip(totals).for_each(|(sums, total)| sums.values_mut().for_each(|sum| *sum /= total));
    sums
}
