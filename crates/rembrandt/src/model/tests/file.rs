use std::path::Path;

use proptest::prelude::*;

use super::super::{PredictOptions, Predictions};
use super::*;
use crate::{EmbeddingFile, Error};

fn predictions(model: &Model) -> Predictions {
    let predictor = model.predictor(PredictOptions::top(4)).unwrap();
    match model.preprocessing() {
        Preprocessing::Text(_) => predictor.predict_texts(&TEXTS).unwrap(),
        _ => predictor.predict(examples(6, 1).view()).unwrap(),
    }
}

pub fn refusal(path: &Path, bytes: &[u8]) -> String {
    std::fs::write(path, bytes).unwrap();
    match Model::open(path) {
        Err(e @ Error::File { .. }) => e.to_string().replace(&format!("{}: ", path.display()), ""),
        other => panic!("{other:?}"),
    }
}

/// Flips a byte of a tensor and mends the checksum, as a faulty writer would.
pub fn forge(saved: &Saved, change: impl FnOnce(&mut Vec<u8>, usize)) -> Vec<u8> {
    let mut bytes = std::fs::read(&saved.path).unwrap();
    let start = 8 + u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    change(&mut bytes, start);
    let hashes: Vec<u64> = bytes[start..].chunks(1 << 20).map(xxhash_rust::xxh3::xxh3_64).collect();
    let sum = format!("{:016x}", xxhash_rust::xxh3::xxh3_64(bytemuck::cast_slice(&hashes)));
    let at = 8 + br#"{"__metadata__":{"checksum":""#.len();
    bytes[at..at + 16].copy_from_slice(sum.as_bytes());
    bytes
}

/// Where a tensor lies in the file.
pub fn place(saved: &Saved, name: &str) -> usize {
    let bytes = std::fs::read(&saved.path).unwrap();
    let tensors = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    tensors.tensor(name).unwrap().data().as_ptr() as usize - bytes.as_ptr() as usize
}

#[test]
fn only_what_older_readers_would_misread_has_a_newer_version() {
    for kind in KINDS {
        let bytes = std::fs::read(save(&parts(kind, 12), NumberFormat::F32).path).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        let version = match kind {
            "pursuit" => 2,
            _ if kind.starts_with("ranker") => 7,
            _ => 1,
        };
        assert!(text.contains(&format!("\"format_version\":\"{version}\"")), "{kind}");
    }
}

#[test]
fn what_is_saved_is_opened_and_always_the_same_bytes() {
    let all = KINDS.iter().flat_map(|kind| [parts(kind, 12), weighed(kind, 12), text(kind, 12)]);
    for parts in all {
        for format in [NumberFormat::F32, NumberFormat::Bf16] {
            let (a, b) = (save(&parts, format), save(&parts, format));
            assert_eq!(std::fs::read(&a.path).unwrap(), std::fs::read(&b.path).unwrap());
            assert!(Model::is_model(&a.path) && !EmbeddingFile::is_embedding(&a.path));
            let model = a.open();
            let bytes = model.to_bytes();
            assert_eq!(bytes, std::fs::read(&a.path).unwrap());
            assert_eq!(predictions(&Model::from_bytes(&bytes).unwrap()), predictions(&model));
            assert!(Model::from_bytes(&bytes[1..]).is_err() && Model::from_bytes(&[]).is_err());
            let shape = model.shape();
            assert_eq!((shape.d, shape.c, shape.k), (parts.projection.rows(), 12, 5));
            assert_eq!((model.intercept(), model.spectrum()), (&parts.intercept[..], &parts.spectrum[..]));
            assert_eq!((model.thresholds(), model.training_stats()), (&parts.thresholds[..], &parts.stats));
            assert_eq!((model.params(), model.report()), (&parts.params, &parts.report));
            assert_eq!((model.calibration(), model.number_format()), (parts.calibration, format));
            assert_eq!(
                (model.label_names(), model.feature_names()),
                (parts.label_names.as_ref(), parts.feature_names.as_ref())
            );
            assert_eq!((model.label_name(3), model.find_label("label 3").unwrap()), ("label 3".to_owned(), 3));
            if format == NumberFormat::F32 {
                assert_eq!(model.labels().bytes(), parts.labels.bytes());
                assert_eq!(model.projection().bytes(), parts.projection.bytes());
                assert_eq!(model.head().weights().map(Table::bytes), parts.head.weights().map(Table::bytes));
            }
        }
    }
}

#[test]
fn the_container_is_plain_safetensors() {
    for format in [NumberFormat::F32, NumberFormat::Bf16] {
        let saved = save(&text("random-features", 7), format);
        let bytes = std::fs::read(&saved.path).unwrap();
        let tensors = safetensors::SafeTensors::deserialize(&bytes).unwrap();
        for (name, tensor) in tensors.tensors() {
            let offset = tensor.data().as_ptr() as usize - bytes.as_ptr() as usize;
            assert_eq!(offset % tensor.dtype().bitsize().div_ceil(8), 0, "{name} is not aligned");
        }
        assert_eq!(tensors.tensor("weights").unwrap().shape(), [7, 13]);
    }
}

#[test]
fn every_shortened_or_changed_file_is_refused() {
    let saved = save(&text("ilr", 3), NumberFormat::Bf16);
    let bytes = std::fs::read(&saved.path).unwrap();
    let path = saved.dir.path().join("bad");
    for len in 0..bytes.len() {
        refusal(&path, &bytes[..len]);
        // From where the kind of its checksum can be read.
        assert_eq!(Model::is_model(&path), len >= 70, "{len} bytes");
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
    let saved = save(&parts("ilr", 3), NumberFormat::F32);
    let bytes = std::fs::read(&saved.path).unwrap();
    let path = saved.dir.path().join("bad");
    let foreign = "is not a model";
    assert_eq!(refusal(&path, b""), foreign);
    assert_eq!(refusal(&path, b"1 2 3\n0 0:1 1:1\n"), foreign);
    let embedding = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/integration/files/v1.safetensors");
    assert_eq!(refusal(&path, &std::fs::read(&embedding).unwrap()), foreign);
    assert!(!Model::is_model(&embedding) && EmbeddingFile::is_embedding(&embedding));
    let cut = "is not as long as its header says: it was cut short, copy or make it anew";
    assert_eq!(refusal(&path, &bytes[..bytes.len() - 1]), cut);
    assert_eq!(refusal(&path, &bytes[..100]), cut);
    assert!(Model::is_model(&path) && !EmbeddingFile::is_embedding(&path));
    let find = |text: &[u8]| bytes.windows(text.len()).position(|window| window == text).unwrap();
    let mut newer = bytes.clone();
    newer[find(b"\"format_version\":\"1\"") + "\"format_version\":\"".len()] = b'8';
    assert_eq!(refusal(&path, &newer), "has format version 8, this program knows 7: use a newer rembrandt");
    let mut changed = bytes.clone();
    *changed.last_mut().unwrap() ^= 0x40;
    assert_eq!(refusal(&path, &changed), "is damaged (its checksum does not match): copy or make it anew");
    let mut changed = bytes.clone();
    changed[find(b"seconds")] = b'S';
    assert_eq!(refusal(&path, &changed), "is damaged (its metadata checksum does not match): copy or make it anew");
    let message = Model::open(saved.dir.path()).unwrap_err().to_string();
    assert!(message.ends_with("is a directory: name a regular file"));
}

#[test]
fn numbers_that_are_not_finite_are_refused_behind_a_good_checksum() {
    for format in [NumberFormat::F32, NumberFormat::Bf16] {
        let saved = save(&weighed("random-features", 4), format);
        let path = saved.dir.path().join("bad");
        let tensors = ["spectrum", "intercept", "mean", "covariance", "thresholds", "idf", "directions", "phases"];
        for name in tensors.into_iter().chain(["labels", "projection", "weights"]) {
            let wide = if name == "spectrum" { 8 } else { 4 };
            let at = place(&saved, name);
            let bytes = forge(&saved, |bytes, _| bytes[at..at + wide].fill(0xff));
            let message = refusal(&path, &bytes);
            assert!(message.starts_with("is damaged (") && !message.contains("checksum"), "{name}: {message}");
        }
        assert_eq!(predictions(&saved.open()).rows(), 6);
    }
}

#[test]
fn tensors_off_their_alignment_are_refused() {
    // A byte more in the header moves all tensors; what is said about them stays true.
    let saved = save(&parts("ilr", 4), NumberFormat::F32);
    let mut bytes = std::fs::read(&saved.path).unwrap();
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap());
    bytes[..8].copy_from_slice(&(length + 1).to_le_bytes());
    bytes.insert(8 + length as usize, b' ');
    let message = refusal(&saved.dir.path().join("bad"), &bytes);
    assert_eq!(message, "is damaged (tensor labels is not aligned): copy or make it anew");
}

#[test]
fn parts_that_contradict_each_other_are_refused() {
    let refused = |kind: &str, change: &dyn Fn(&mut Contents)| {
        let mut parts = parts(kind, 4);
        change(&mut parts);
        Model::new(parts).unwrap_err().to_string()
    };
    let wrong = |change: &dyn Fn(&mut Contents)| refused("ilr", change);
    let fit = |name: &str| format!("{name}: does not fit 4 labels, 30 features and 5 dimensions");
    assert_eq!(wrong(&|parts| parts.intercept.truncate(4)), fit("intercept"));
    assert_eq!(wrong(&|parts| parts.spectrum.truncate(4)), fit("spectrum"));
    assert_eq!(wrong(&|parts| parts.projection = Matrix::zeros(30, 4).into()), fit("projection"));
    assert_eq!(wrong(&|parts| parts.thresholds.truncate(3)), fit("thresholds"));
    assert_eq!(wrong(&|parts| parts.stats.counts.truncate(3)), fit("counts"));
    assert_eq!(wrong(&|parts| parts.stats.mean.truncate(4)), fit("mean"));
    assert_eq!(wrong(&|parts| parts.stats.covariance = Matrix::zeros(5, 4)), fit("covariance"));
    assert_eq!(wrong(&|parts| parts.label_names = Some(["a", "b", "c"].into_iter().collect())), fit("label_names"));
    assert_eq!(wrong(&|parts| parts.feature_names = Some(["a"].into_iter().collect())), fit("feature_names"));
    let narrow = Logistic { loss: Loss::Independent, weights: Matrix::zeros(4, 5) };
    let head = Head::logistic(None, narrow, &Matrix::zeros(4, 5), 0.0);
    assert_eq!(wrong(&|parts| parts.head = head.clone()), fit("head"));
    let random = |parts: &mut Contents| {
        let Head::RandomFeatures { features, .. } = &mut parts.head else { panic!() };
        features.phases.truncate(11);
    };
    assert_eq!(refused("random-features", &random), fit("head"));
    assert_eq!(wrong(&|parts| parts.preprocessing = text("ilr", 4).preprocessing), fit("preprocessing"));
    // Weights of one label that was added, but labels, counts and head without it.
    assert_eq!(wrong(&|parts| parts.added_weights = Matrix::zeros(1, 6)), fit("head"));
    assert_eq!(refused("pursuit", &|parts| parts.added_weights = Matrix::zeros(1, 5)), fit("added_weights"));
    assert_eq!(refused("pursuit", &|parts| parts.head = Head::Pursuit { atoms: 0 }), fit("head"));
    let mixed = "the large matrices of a model must all have the same format";
    assert_eq!(wrong(&|parts| parts.labels = parts.labels.to_format(NumberFormat::Bf16)), mixed);
    assert_eq!(wrong(&|parts| parts.projection = parts.projection.to_format(NumberFormat::Bf16)), mixed);
    let message = wrong(&|parts| parts.labels = Matrix::zeros(0, 5).into());
    assert_eq!(message, "0 labels, 30 features and 5 dimensions do not make a model");
    let message = wrong(&|parts| parts.projection = changed(&parts.projection, |p| p.row_mut(3)[1] = f32::NAN));
    assert_eq!(message, "projection: holds numbers that are not finite");
    let message = wrong(&|parts| parts.labels = changed(&parts.labels, |l| l.row_mut(2)[0] = f32::INFINITY));
    assert_eq!(message, "labels: holds numbers that are not finite");
    let weights = |parts: &mut Contents| {
        let Head::Linear { weights } = &mut parts.head else { panic!() };
        *weights = changed(weights, |w| w.row_mut(1)[5] = f32::NAN);
    };
    assert_eq!(wrong(&weights), "the weights of the model are not finite: train it with a stronger ridge");
    let message = wrong(&|parts| parts.calibration.scale = 0.0);
    assert_eq!(message, "calibration: needs a scale above 0 and a shift, both finite");
    let message = wrong(&|parts| parts.label_names = Some(["a\nb", "c", "d", "e"].into_iter().collect()));
    assert_eq!(message, "label_names: \"a\\nb\" contains the end of a line: rename it");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn random_damage_never_panics(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in prop::option::weighted(0.2, any::<prop::sample::Index>()),
        mended in any::<bool>(),
    ) {
        let saved = save(&text("random-features", 5), NumberFormat::Bf16);
        let expected = predictions(&saved.open());
        let change = |bytes: &mut Vec<u8>, from: usize| {
            for (at, value) in &changes {
                let at = from + at.index(bytes.len() - from);
                bytes[at] = *value;
            }
        };
        // With a mended checksum the damage reaches the numbers themselves.
        let mut bytes = if mended { forge(&saved, change) } else { std::fs::read(&saved.path).unwrap() };
        if !mended {
            change(&mut bytes, 0);
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        std::fs::write(&saved.path, bytes).unwrap();
        match Model::open(&saved.path) {
            Err(e) => prop_assert!(!e.to_string().contains('\n')),
            Ok(model) => {
                let found = predictions(&model);
                prop_assert!(mended || found == expected);
                prop_assert!((0..found.rows()).all(|i| found.row(i).all(|(_, p)| (0.0..=1.0).contains(&p))));
            }
        }
    }
}
