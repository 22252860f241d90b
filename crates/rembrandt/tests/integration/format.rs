//! Files: caches give the same bytes as text, files of earlier versions open, and those that are not sound give nothing
//! but a sentence.

use std::path::{Path, PathBuf};

use rembrandt::data::formats::ReadOptions;
use rembrandt::data::{Dataset, RowScale, convert};
use rembrandt::{Examples, Matrix, Rembrandt, Run, Side};

/// Some hundred rows, more than one block of the reader's parsing but one chunk.
fn text(dir: &Path, weighted: bool) -> PathBuf {
    let problem = crate::common::sparse(300, 40, 30, 1);
    let mut text = String::new();
    for i in 0..problem.n {
        let labels: Vec<String> = (0..30).filter(|l| problem.y[(i, *l)] != 0.0).map(|l| format!("l{l}")).collect();
        text += &labels.join(",");
        text += if weighted { [" 0.5", " 2", ""][i % 3] } else { "" };
        text += " |";
        (0..40).filter(|f| problem.x[(i, *f)] != 0.0).for_each(|f| text += &format!(" f{f}:{}", problem.x[(i, f)]));
        text += "\n";
    }
    let path = dir.join(if weighted { "weighted.vw" } else { "train.vw" });
    std::fs::write(&path, text).unwrap();
    path
}

fn read(path: &Path) -> Dataset {
    Dataset::read(path).unwrap()
}

fn cache(path: &Path, out: &Path) -> Dataset {
    convert(path, &ReadOptions::default(), out, &mut Run::default()).unwrap().0
}

#[test]
fn a_cache_gives_the_same_bytes_as_its_text() {
    let dir = tempfile::tempdir().unwrap();
    for weighted in [false, true] {
        let path = text(dir.path(), weighted);
        let out = dir.path().join("train.rmb");
        let (memory, mapped) = (read(&path), cache(&path, &out));
        assert_eq!((memory.weighted(), mapped.weighted()), (weighted, weighted));
        assert_eq!((memory.shape(), memory.nnz(Side::X)), (mapped.shape(), mapped.nnz(Side::X)));
        assert_eq!((memory.label_names(), memory.feature_names()), (mapped.label_names(), mapped.feature_names()));
        assert_eq!(memory.moments(Side::Y).unwrap(), mapped.moments(Side::Y).unwrap());
        let fit = |data: &Dataset| Rembrandt::new(5).fit(data, &mut Run::default()).unwrap();
        let (a, b) = (fit(&memory), fit(&mapped));
        assert_eq!((a.labels, a.projection, a.report), (b.labels, b.projection, b.report));
        assert!(mapped.verify().is_ok() && mapped.is_mapped() && !memory.is_mapped());
        assert!(Dataset::is_cache(&out) && !Dataset::is_cache(&path));
    }
}

#[test]
fn converting_twice_gives_the_same_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = text(dir.path(), true);
    let [a, b] = ["a.rmb", "b.rmb"].map(|name| dir.path().join(name));
    cache(&path, &a);
    cache(&path, &b);
    assert_eq!(std::fs::read(a).unwrap(), std::fs::read(b).unwrap());
}

#[test]
fn every_truncation_and_every_flipped_byte_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let path = text(dir.path(), false);
    let good = dir.path().join("good.rmb");
    cache(&path, &good);
    let bytes = std::fs::read(&good).unwrap();
    let bad = dir.path().join("bad.rmb");
    // Opening or using the file fails with a message, or (in padding, which means nothing) gives the same numbers.
    let expected = read(&path).moments(Side::X).unwrap();
    let attempt = |bytes: &[u8]| -> Result<(), String> {
        std::fs::write(&bad, bytes).unwrap();
        let data = Dataset::open(&bad).map_err(|e| e.to_string())?;
        data.verify().map_err(|e| e.to_string())?;
        let z = Matrix::from_fn(data.shape().d, 3, |i, j| (i + j) as f32);
        let mut out = Matrix::zeros(data.shape().c, 3);
        data.cross(Side::Y, Side::X, z.view(), out.view_mut()).map_err(|e| e.to_string())?;
        assert_eq!(data.moments(Side::X).map_err(|e| e.to_string())?, expected);
        Ok(())
    };
    assert_eq!(attempt(&bytes), Ok(()));
    for length in (0..bytes.len()).step_by(211).chain([bytes.len() - 1]) {
        let message = attempt(&bytes[..length]).expect_err("a truncated file must be refused");
        assert!(message.contains("bad.rmb: ") && !message.contains('\n'), "{message}");
    }
    let mut found = 0;
    for at in (0..bytes.len()).step_by(37) {
        let mut changed = bytes.clone();
        changed[at] ^= 0x41;
        found += usize::from(attempt(&changed).is_err());
    }
    assert!(found * 10 > bytes.len() / 37 * 9, "{found} of {} changes found", bytes.len() / 37);
}

#[test]
fn foreign_and_newer_files_are_refused_with_a_sentence() {
    let dir = tempfile::tempdir().unwrap();
    let path = text(dir.path(), false);
    let refuse = |path: &Path| Dataset::open(path).err().expect("must be refused").to_string();
    assert!(refuse(&path).ends_with("train.vw: not a rembrandt data cache"));
    assert!(refuse(&dir.path().join("missing")).contains("missing: "));
    let out = dir.path().join("train.rmb");
    cache(&path, &out);
    let mut bytes = std::fs::read(&out).unwrap();
    bytes[12] = 9;
    std::fs::write(&out, bytes).unwrap();
    assert!(refuse(&out).ends_with("cache format 9 is newer than this program, which reads up to 1"));
}

#[test]
fn a_failed_conversion_leaves_the_old_file_and_no_debris() {
    let dir = tempfile::tempdir().unwrap();
    let path = text(dir.path(), false);
    let out = dir.path().join("train.rmb");
    cache(&path, &out);
    let before = std::fs::read(&out).unwrap();
    let bad = dir.path().join("bad.txt");
    std::fs::write(&bad, "0 1:2\n1 3:x\n").unwrap();
    assert!(convert(&bad, &ReadOptions::default(), &out, &mut Run::default()).is_err());
    assert_eq!(std::fs::read(&out).unwrap(), before);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 3);
}

#[test]
fn data_without_features_or_labels_survive_the_cache() {
    let dir = tempfile::tempdir().unwrap();
    let [path, out] = ["words.txt", "words.rmb"].map(|name| dir.path().join(name));
    std::fs::write(&path, "a\nb\n").unwrap();
    let data = cache(&path, &out);
    assert_eq!((data.shape().n, data.shape().d, data.shape().c), (2, 0, 2));
    assert_eq!((data.label_names().unwrap().join(","), data.feature_names()), ("a,b".to_string(), None));
}

/// Files written by earlier versions, opened by this one: never regenerate them, add new ones.
#[test]
fn files_of_every_format_version_open() {
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/integration/files");
    let data = Dataset::open(&files.join("v1.rmb")).unwrap();
    data.verify().unwrap();
    assert_eq!((data.shape().n, data.shape().d, data.shape().c), (60, 12, 5));
    assert!(data.weighted());
    assert_eq!(data.label_names().unwrap()[0], "tea");
    let file = rembrandt::EmbeddingFile::open(files.join("v1.safetensors")).unwrap();
    assert_eq!((file.embedding.labels.rows(), file.embedding.labels.cols()), (5, 3));
    assert_eq!(file.embedding.projection.rows(), 12);
    assert_eq!(file.label_names.as_ref().unwrap()[0], "tea");
    assert_eq!(file.row_scale, RowScale::None);
    let scaled = rembrandt::EmbeddingFile::open(files.join("v2.safetensors")).unwrap();
    assert_eq!((scaled.row_scale, scaled.label_names), (RowScale::Sum, file.label_names.clone()));
    assert_eq!(scaled.embedding.projection.rows(), 12);
    let energy: f64 = file.embedding.spectrum.iter().sum();
    assert!((energy / file.embedding.report.energy - 1.0).abs() < 1e-12);
}
