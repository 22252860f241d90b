use super::*;
use crate::embed::Report;
use crate::{Embedding, Error, Matrix, Shape};

/// Three labels, four features, two dimensions.
pub(in crate::model) fn sample() -> EmbeddingFile {
    let report = Report {
        shape: Shape { n: 7, d: 4, c: 3 },
        k: 2,
        rank: 2,
        solver: "direct".into(),
        rho: 0.1,
        projection_rho: 1e-7,
        half_passes: 6.0,
        projection_half_passes: 2.0,
        energy: 5.0,
        trace_estimate: 5.5,
        trace_error: 0.3,
        energy_fraction: 5.0 / 5.5,
        residuals: vec![1e-9, 1e-3],
        max_residual: 1e-3,
        guarded_columns: 0,
    };
    let embedding = Embedding {
        labels: Matrix::from_vec(3, 2, vec![1.0, 0.0, 0.0, 1.0, 1e-7, -0.0]),
        projection: Matrix::from_fn(4, 2, |i, j| i as f32 - 0.3 * j as f32),
        intercept: vec![0.0, 0.25],
        spectrum: vec![4.0, 1.0],
        report,
    };
    EmbeddingFile {
        embedding,
        params: Rembrandt::new(2),
        row_scale: RowScale::None,
        label_names: None,
        feature_names: None,
    }
}

fn with_names() -> EmbeddingFile {
    EmbeddingFile {
        label_names: Some(["red", "", "\"ü\"\\"].map(String::from).into()),
        feature_names: Some(["w", "x", "y", "z"].map(String::from).into()),
        ..sample()
    }
}

#[test]
fn bytes_are_those_of_the_file() {
    let (dir, file) = (tempfile::tempdir().unwrap(), with_names());
    let path = dir.path().join("a");
    file.save(&path).unwrap();
    let bytes = file.to_bytes().unwrap();
    assert_eq!(bytes, std::fs::read(&path).unwrap());
    assert_same(&EmbeddingFile::from_bytes(&bytes).unwrap(), &file);
    assert!(EmbeddingFile::from_bytes(&bytes[..bytes.len() - 1]).is_err());
}

#[test]
fn examples_land_where_the_projection_sends_them() {
    let x = CsrRef { ptr: &[0, 2, 2], ids: &[1, 3], values: Some(&[3.0, 4.0]) };
    let plain = sample();
    let h = |j: usize| 3.0 * plain.embedding.projection.row(1)[j] + 4.0 * plain.embedding.projection.row(3)[j];
    let found = plain.transform(x).unwrap();
    assert!((0..2).all(|j| (found.row(0)[j] - h(j) - plain.embedding.intercept[j]).abs() < 1e-5));
    assert_eq!(found.row(1), plain.embedding.intercept);
    let divided = EmbeddingFile { row_scale: RowScale::Length, ..sample() }.transform(x).unwrap();
    assert!((divided.row(0)[0] - h(0) / 5.0).abs() < 1e-5);
    let unknown = CsrRef { ids: &[1, 4], ..x };
    assert_eq!(plain.transform(unknown).unwrap_err().to_string(), "x: has the feature 4, but there are only 4");
}

fn assert_same(a: &EmbeddingFile, b: &EmbeddingFile) {
    assert_eq!(a.embedding.labels, b.embedding.labels);
    assert_eq!(a.embedding.projection, b.embedding.projection);
    assert_eq!(a.embedding.intercept, b.embedding.intercept);
    assert_eq!(a.embedding.spectrum, b.embedding.spectrum);
    assert_eq!(a.embedding.report, b.embedding.report);
    assert_eq!((&a.params, a.row_scale), (&b.params, b.row_scale));
    assert_eq!((&a.label_names, &a.feature_names), (&b.label_names, &b.feature_names));
}

fn refusal(path: &Path, bytes: &[u8]) -> String {
    std::fs::write(path, bytes).unwrap();
    match EmbeddingFile::open(path) {
        Err(e @ Error::File { .. }) => e.to_string().replace(&format!("{}: ", path.display()), ""),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_saved_is_opened_and_always_the_same_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (dir.path().join("a"), dir.path().join("b"));
    let scaled = EmbeddingFile { row_scale: RowScale::Length, ..with_names() };
    for file in [sample(), with_names(), scaled] {
        for limit in [HEADER_LIMIT, 0] {
            file.save_with(&a, limit).unwrap();
            let opened = EmbeddingFile::open(&a).unwrap();
            assert_same(&file, &opened);
            opened.save_with(&b, limit).unwrap();
            assert_eq!(std::fs::read(&a).unwrap(), std::fs::read(&b).unwrap());
            assert!(EmbeddingFile::is_embedding(&a));
        }
    }
}

#[test]
fn the_container_is_plain_safetensors() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a");
    with_names().save(&path).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let header = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    assert_eq!(header % 8, 0);
    assert!(bytes[8..].starts_with(b"{\"__metadata__\":{\"checksum\":\""));
    let tensors = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let roots = tensors.tensor("singular_values").unwrap();
    assert_eq!(roots.data(), [2f64.to_le_bytes(), 1f64.to_le_bytes()].concat());
    for (name, tensor) in tensors.tensors() {
        let offset = tensor.data().as_ptr() as usize - bytes.as_ptr() as usize;
        assert_eq!(offset % tensor.dtype().bitsize().div_ceil(8), 0, "{name} is not aligned");
    }
}

#[test]
fn every_shortened_or_changed_file_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a");
    with_names().save(&path).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    for len in 0..bytes.len() {
        refusal(&path, &bytes[..len]);
    }
    refusal(&path, &[&bytes[..], b"x"].concat());
    for i in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[i] ^= 1;
        refusal(&path, &changed);
    }
}

#[test]
fn refusals_are_one_sentence() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a");
    sample().save(&path).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let text = String::from_utf8_lossy(&bytes[..]).into_owned();
    let foreign = "is not an embedding file";
    assert_eq!(refusal(&path, b""), foreign);
    assert_eq!(refusal(&path, b"1 2 3\n0 0:1 1:1\n"), foreign);
    let header = br#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}"#;
    let other = [&(header.len() as u64).to_le_bytes(), &header[..], &[0; 4]].concat();
    assert_eq!(refusal(&path, &other), foreign);
    let cut = "is not as long as its header says: it was cut short, copy or make it anew";
    assert_eq!(refusal(&path, &bytes[..bytes.len() - 1]), cut);
    assert_eq!(refusal(&path, &bytes[..100]), cut);
    let at = text.find("\"format_version\":\"1\"").unwrap() + "\"format_version\":\"".len();
    let mut newer = bytes.clone();
    newer[at] = b'3';
    assert_eq!(refusal(&path, &newer), "has format version 3, this program knows 2: use a newer rembrandt");
    let mut changed = bytes.clone();
    *changed.last_mut().unwrap() ^= 0x40;
    assert_eq!(refusal(&path, &changed), "is damaged (its checksum does not match): copy or make it anew");
}

#[test]
fn names_with_line_ends_are_refused() {
    let mut file = with_names();
    file.label_names.as_mut().unwrap()[0] = "a\nb".into();
    let dir = tempfile::tempdir().unwrap();
    let message = file.save(dir.path().join("a")).unwrap_err().to_string();
    assert_eq!(message, "label_names: \"a\\nb\" contains the end of a line: rename it");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn only_files_of_divided_rows_need_a_newer_reader() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a");
    let header = |file: &EmbeddingFile| {
        file.save(&path).unwrap();
        String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned()
    };
    let plain = header(&sample());
    assert!(plain.contains(r#""format_version":"1""#) && !plain.contains("row_scale"));
    let scaled = header(&EmbeddingFile { row_scale: RowScale::Sum, ..sample() });
    assert!(scaled.contains(r#""format_version":"2""#) && scaled.contains(r#""row_scale":"\"sum\"""#), "{scaled}");
    assert_eq!(EmbeddingFile::open(&path).unwrap().row_scale, RowScale::Sum);
}
