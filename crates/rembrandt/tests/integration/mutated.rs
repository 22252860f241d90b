//! Files that are changed at random are read or refused: the seeds and readers of `fuzz/`, without a fuzzer.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

#[path = "../../../../fuzz/readers.rs"]
mod readers;

/// Changes of each seed.
const ROUNDS: u64 = 150;

/// Pieces that mean something to one reader or another.
const WORDS: [&[u8]; 16] = [
    b"\n",
    b"\r\n",
    b"\t",
    b",",
    b"\"",
    b":",
    b"|",
    b" ",
    b"[",
    b"}",
    b"-1",
    b"4294967295",
    b"1e39",
    b"nan",
    b"\xff",
    b"\0",
];

fn changed(seed: &[u8], other: &[u8], random: &mut ChaCha8Rng) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for _ in 0..random.random_range(1..5) {
        let at = random.random_range(0..=bytes.len());
        let to = bytes.len().min(at + random.random_range(0..9));
        match random.random_range(0..8) {
            0 | 1 if at < bytes.len() => bytes[at] ^= 1u8 << random.random_range(0..8),
            2 if at < bytes.len() => bytes[at] = random.random(),
            3 => drop(bytes.splice(at..to, WORDS[random.random_range(0..WORDS.len())].iter().copied())),
            4 => drop(bytes.drain(at..to)),
            5 => {
                let piece = bytes[at..to].to_vec();
                bytes.splice(at..at, piece);
            }
            6 if !other.is_empty() => {
                let from = random.random_range(0..other.len());
                let piece = &other[from..other.len().min(from + 40)];
                bytes.splice(at..to, piece.iter().copied());
            }
            7 => bytes.truncate(bytes.len() - (bytes.len() - at) / 8),
            // A digit in place of another: sizes, places and numbers of JSON.
            _ => {
                let digits: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at].is_ascii_digit()).collect();
                if !digits.is_empty() {
                    bytes[digits[random.random_range(0..digits.len())]] = b'0' + random.random_range(0..10u8);
                }
            }
        }
    }
    bytes
}

fn try_all(target: &str, read: fn(&[u8])) {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(target);
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let seeds: Vec<Vec<u8>> = paths.iter().map(|path| fs::read(path).unwrap()).collect();
    for (at, (path, seed)) in paths.iter().zip(&seeds).enumerate() {
        for round in 0..ROUNDS {
            let mut random = ChaCha8Rng::seed_from_u64(round);
            // The first is the seed itself, which is read as it is.
            let bytes =
                if round == 0 { seed.clone() } else { changed(seed, &seeds[(at + 1) % seeds.len()], &mut random) };
            let read = catch_unwind(AssertUnwindSafe(|| read(&bytes)));
            assert!(read.is_ok(), "{} changed for the {round}th time", path.display());
        }
    }
}

#[test]
fn rows_and_texts_and_names() {
    try_all("rows", readers::rows);
    try_all("records", readers::records);
    try_all("names", readers::names);
}

#[test]
fn caches_and_embeddings() {
    try_all("cache", readers::cache);
    try_all("embedding", readers::embedding);
}

#[test]
fn models() {
    try_all("model", readers::model);
}
