//! Embeddings for other tools: NumPy, gensim, the TensorBoard projector.
//!
//! NumPy gets the matrices as they are. The other two compare labels by angle, so they get the rows of E·diag(√μ),
//! in which angles mean what they mean to [`neighbors`](super::EmbeddingFile::neighbors).

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::EmbeddingFile;
use crate::io::atomic_file;
use crate::{Embedding, Matrix, Result};

/// A format to export to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Export {
    /// `STEM.labels.npy` (c×k), `STEM.projection.npy` (d×k) and `STEM.intercept.npy` (k), for `numpy.load`.
    Npy,
    /// `STEM.word2vec.txt`, for `gensim.models.KeyedVectors.load_word2vec_format`; white space in names becomes `_`.
    Word2vec,
    /// `STEM.vectors.tsv` and `STEM.metadata.tsv`, for <https://projector.tensorflow.org>.
    Tsv,
}

impl Export {
    /// The files that [`write`](Export::write) makes beside `output`, named after it without its extension.
    pub fn paths(self, output: &Path) -> Vec<PathBuf> {
        let endings: &[&str] = match self {
            Export::Npy => &["labels.npy", "projection.npy", "intercept.npy"],
            Export::Word2vec => &["word2vec.txt"],
            Export::Tsv => &["vectors.tsv", "metadata.tsv"],
        };
        let stem = output.file_stem().unwrap_or_default();
        let path = |ending: &&str| {
            let mut name = stem.to_owned();
            name.push(".");
            name.push(ending);
            output.with_file_name(name)
        };
        endings.iter().map(path).collect()
    }

    /// Writes the files beside `output` and returns their paths. Each appears whole or not at all.
    pub fn write(self, file: &EmbeddingFile, output: &Path) -> Result<Vec<PathBuf>> {
        let paths = self.paths(output);
        match self {
            Export::Npy => {
                let Embedding { labels, projection, intercept, .. } = &file.embedding;
                atomic_file::write(&paths[0], |out| npy_matrix(out, labels))?;
                atomic_file::write(&paths[1], |out| npy_matrix(out, projection))?;
                atomic_file::write(&paths[2], |out| npy(out, &format!("({},)", intercept.len()), intercept))?;
            }
            Export::Word2vec => atomic_file::write(&paths[0], |out| word2vec(out, file))?,
            Export::Tsv => {
                atomic_file::write(&paths[0], |out| vectors(out, file))?;
                atomic_file::write(&paths[1], |out| names(out, file))?;
            }
        }
        Ok(paths)
    }
}

fn npy_matrix(out: &mut impl Write, matrix: &Matrix) -> io::Result<()> {
    npy(out, &format!("({}, {})", matrix.rows(), matrix.cols()), matrix.as_slice())
}

/// Version 1.0 of the format: magic, version, length of the header, header, numbers. `shape` is a tuple in Python.
fn npy(out: &mut impl Write, shape: &str, numbers: &[f32]) -> io::Result<()> {
    const BEFORE_HEADER: usize = 10;
    let mut header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}");
    let padded = (BEFORE_HEADER + header.len() + 1).next_multiple_of(64) - BEFORE_HEADER;
    header.extend(std::iter::repeat_n(' ', padded - 1 - header.len()));
    header.push('\n');
    out.write_all(b"\x93NUMPY\x01\x00")?;
    out.write_all(&(padded as u16).to_le_bytes())?;
    out.write_all(header.as_bytes())?;
    out.write_all(bytemuck::cast_slice(numbers))
}

fn word2vec(out: &mut impl Write, file: &EmbeddingFile) -> io::Result<()> {
    let labels = &file.embedding.labels;
    writeln!(out, "{} {}", labels.rows(), labels.cols())?;
    let weights = file.weights();
    for id in 0..labels.rows() {
        let name = file.label_name(id as u32).replace(char::is_whitespace, "_");
        // A line must begin with a word.
        out.write_all(if name.is_empty() { "_" } else { &name }.as_bytes())?;
        for (v, w) in labels.row(id).iter().zip(&weights) {
            // Debug prints the shortest digits that read back the same, with an exponent where zeros would be many.
            write!(out, " {:?}", (f64::from(*v) * w) as f32)?;
        }
        out.write_all(b"\n")?;
    }
    Ok(())
}

fn vectors(out: &mut impl Write, file: &EmbeddingFile) -> io::Result<()> {
    let labels = &file.embedding.labels;
    let weights = file.weights();
    for id in 0..labels.rows() {
        for (j, (v, w)) in labels.row(id).iter().zip(&weights).enumerate() {
            let separator = if j == 0 { "" } else { "\t" };
            write!(out, "{separator}{:?}", (f64::from(*v) * w) as f32)?;
        }
        out.write_all(b"\n")?;
    }
    Ok(())
}

/// One column has no heading: the projector would take it for a name.
fn names(out: &mut impl Write, file: &EmbeddingFile) -> io::Result<()> {
    (0..file.embedding.labels.rows())
        .try_for_each(|id| writeln!(out, "{}", file.label_name(id as u32).replace('\t', " ")))
}

#[cfg(test)]
mod tests {
    use super::super::embedding::tests::sample;
    use super::*;

    #[test]
    fn paths_replace_the_extension() {
        let paths = Export::Npy.paths(Path::new("some/dir.d/out.safetensors"));
        let names = ["out.labels.npy", "out.projection.npy", "out.intercept.npy"];
        assert_eq!(paths, names.map(|name| Path::new("some/dir.d").join(name)));
        assert_eq!(Export::Word2vec.paths(Path::new("out")), [PathBuf::from("out.word2vec.txt")]);
    }

    #[test]
    fn npy_is_what_numpy_writes() {
        let mut out = Vec::new();
        npy_matrix(&mut out, &Matrix::from_vec(1, 2, vec![1.0, -2.5])).unwrap();
        assert_eq!(out.len(), 128 + 8);
        assert_eq!(&out[..10], b"\x93NUMPY\x01\x00\x76\x00");
        assert!(out[10..].starts_with(b"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), } "));
        assert_eq!(out[127], b'\n');
        assert_eq!(out[128..], [1f32.to_le_bytes(), (-2.5f32).to_le_bytes()].concat());
    }

    #[test]
    fn text_formats_hold_one_label_per_line() {
        let mut file = sample();
        file.label_names = Some(vec!["a b".into(), String::new(), "ü\tv".into()]);
        let mut out = Vec::new();
        word2vec(&mut out, &file).unwrap();
        // Spectrum 4 and 1: the first column counts twice.
        assert_eq!(String::from_utf8(out).unwrap(), "3 2\na_b 2.0 0.0\n_ 0.0 1.0\nü_v 2e-7 -0.0\n");
        let mut out = Vec::new();
        vectors(&mut out, &file).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "2.0\t0.0\n0.0\t1.0\n2e-7\t-0.0\n");
        let mut out = Vec::new();
        names(&mut out, &file).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "a b\n\nü v\n");
    }
}
