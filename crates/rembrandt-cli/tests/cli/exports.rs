//! `--export`: files that other tools read.

use safetensors::SafeTensors;

use crate::common::{C, D, Desk};

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect()
}

/// Shape and numbers of a .npy file.
fn npy(bytes: &[u8]) -> (String, Vec<f32>) {
    assert_eq!(&bytes[..8], b"\x93NUMPY\x01\x00");
    let length = u16::from_le_bytes(bytes[8..10].try_into().unwrap()) as usize;
    assert_eq!((10 + length) % 64, 0);
    let header = std::str::from_utf8(&bytes[10..10 + length]).unwrap();
    assert!(header.contains("'descr': '<f4'") && header.contains("'fortran_order': False"), "{header}");
    let shape = header.split("'shape': ").nth(1).unwrap().split_inclusive(')').next().unwrap();
    (shape.to_owned(), floats(&bytes[10 + length..]))
}

#[test]
fn every_format_holds_the_embedding() {
    let desk = Desk::with_data();
    let names: Vec<String> = (0..C).map(|i| format!("label {i}")).collect();
    desk.write("names.txt", names.join("\n") + "\n");
    let options = "--bias --label-names names.txt --export npy,word2vec --export tsv --export npy";
    let json = desk.json(&format!("embed train.txt -k 5 -o out.safetensors --json {options}"));
    let files = [
        "out.labels.npy",
        "out.projection.npy",
        "out.intercept.npy",
        "out.word2vec.txt",
        "out.vectors.tsv",
        "out.metadata.tsv",
    ];
    assert_eq!(json["exports"], serde_json::json!(files));

    let bytes = desk.read("out.safetensors");
    let tensors = SafeTensors::deserialize(&bytes).unwrap();
    let labels = floats(tensors.tensor("labels").unwrap().data());
    assert_eq!(npy(&desk.read("out.labels.npy")), (format!("({C}, 5)"), labels.clone()));
    let projection = floats(tensors.tensor("projection").unwrap().data());
    assert_eq!(npy(&desk.read("out.projection.npy")), (format!("({D}, 5)"), projection));
    let intercept = floats(tensors.tensor("intercept").unwrap().data());
    assert!(intercept.iter().any(|v| *v != 0.0));
    assert_eq!(npy(&desk.read("out.intercept.npy")), ("(5,)".to_owned(), intercept));

    // The other formats are for looking at angles, so the directions are weighted.
    let roots: Vec<f64> = tensors
        .tensor("singular_values")
        .unwrap()
        .data()
        .chunks_exact(8)
        .map(|b| f64::from_le_bytes(b.try_into().unwrap()))
        .collect();
    let weighted: Vec<Vec<f32>> = labels
        .chunks_exact(5)
        .map(|row| row.iter().zip(&roots).map(|(v, r)| (f64::from(*v) * r) as f32).collect())
        .collect();
    let text = desk.text("out.word2vec.txt");
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("20 5"));
    for (id, line) in lines.enumerate() {
        let mut words = line.split(' ');
        assert_eq!(words.next(), Some(format!("label_{id}").as_str()));
        assert_eq!(words.map(|w| w.parse().unwrap()).collect::<Vec<f32>>(), weighted[id]);
    }
    assert_eq!(text.lines().count(), 1 + C);
    let vectors: Vec<Vec<f32>> = desk
        .text("out.vectors.tsv")
        .lines()
        .map(|line| line.split('\t').map(|w| w.parse().unwrap()).collect())
        .collect();
    assert_eq!(vectors, weighted);
    assert_eq!(desk.text("out.metadata.tsv").lines().collect::<Vec<_>>(), names);
}
