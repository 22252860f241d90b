//! Made-up data on their way to disk: a block of examples at a time, made by all threads, written in order.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use rayon::prelude::*;

use super::{Generator, Part};
use crate::data::cache::CacheWriter;
use crate::data::chunk::ChunkBuilder;
use crate::data::names::Names;
use crate::data::{Rows, Shape};
use crate::{Error, Result, Run, atomic};

/// Examples that one task makes.
const BLOCK: usize = 2048;
/// Tasks between two writes: what is in memory at a time.
const BLOCKS: usize = 16;

/// How data are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GeneratedAs {
    /// Text in the extreme classification format.
    Text,
    /// A cache file, which opens at once.
    Cache,
}

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Generated {
    /// Examples.
    pub examples: u64,
    /// Features and labels on all of them.
    pub entries: [u64; 2],
    /// Examples that have their subject among their labels.
    pub told: u64,
}

impl Generated {
    /// The precision at 1 of who knows what every example was made from: nobody can do better.
    pub fn best_p1(&self) -> f64 {
        self.told as f64 / self.examples.max(1) as f64
    }
}

impl Generator {
    /// Writes one part of the data, all or nothing, in memory that does not grow with them.
    pub fn write(&self, part: Part, as_what: GeneratedAs, path: &Path, run: &mut Run<'_>) -> Result<Generated> {
        self.check()?;
        let n = if part == Part::Train { self.shape.n } else { self.test };
        let shape = Shape { n, ..self.shape };
        run.begin(n as u64);
        match as_what {
            GeneratedAs::Text => {
                let mut found = Generated::default();
                atomic::write_file(path, |out| {
                    writeln!(out, "{} {} {}", shape.n, shape.d, shape.c).map_err(Error::io(path))?;
                    found = self.blocks(part, n, run, text, |text: String| {
                        out.write_all(text.as_bytes()).map_err(Error::io(path))
                    })?;
                    Ok(())
                })?;
                Ok(found)
            }
            GeneratedAs::Cache => {
                let (mut builder, mut writer) = (ChunkBuilder::new(), CacheWriter::create(path)?);
                let found = self.blocks(
                    part,
                    n,
                    run,
                    |rows| rows,
                    |rows: Rows| builder.push(&rows, |block| writer.chunk(&block)),
                )?;
                builder.finish(|block| writer.chunk(&block))?;
                writer.finish(shape, &Names::default())?;
                Ok(found)
            }
        }
    }

    /// Makes all examples; `convert` is done by all threads, `take` in order.
    fn blocks<T: Send>(
        &self,
        part: Part,
        n: usize,
        run: &mut Run<'_>,
        convert: impl Fn(Rows) -> T + Sync,
        mut take: impl FnMut(T) -> Result<()>,
    ) -> Result<Generated> {
        let mut found = Generated::default();
        for first in (0..n).step_by(BLOCK * BLOCKS) {
            let starts: Vec<usize> = (first..n.min(first + BLOCK * BLOCKS)).step_by(BLOCK).collect();
            let made: Vec<(T, Generated)> = starts
                .into_par_iter()
                .map(|from| {
                    let (rows, told) = self.rows(part, from, n.min(from + BLOCK));
                    let entries = [rows.x.nnz() as u64, rows.y.nnz() as u64];
                    let some = Generated { examples: rows.len() as u64, entries, told };
                    (convert(rows), some)
                })
                .collect();
            let before = found.examples;
            for (block, some) in made {
                take(block)?;
                found.examples += some.examples;
                found.told += some.told;
                found.entries = [0, 1].map(|side| found.entries[side] + some.entries[side]);
            }
            run.advance("generating", found.examples - before)?;
        }
        Ok(found)
    }
}

/// Examples as lines of text. Four digits are more than a value made of a few draws holds.
fn text(rows: Rows) -> String {
    let mut text = String::with_capacity(16 * rows.x.nnz());
    for i in 0..rows.len() {
        let (labels, _) = rows.y.view().row(i);
        for (j, label) in labels.iter().enumerate() {
            let comma = if j > 0 { "," } else { "" };
            // Writing to a string cannot fail.
            let _ = write!(text, "{comma}{label}");
        }
        for (id, value) in rows.x.view().entries(i) {
            let _ = write!(text, " {id}:{value:.4}");
        }
        text.push('\n');
    }
    text
}
