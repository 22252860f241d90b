//! Made-up data on their way to disk: a piece at a time, made and formatted by all threads, written in order.

use std::convert::Infallible;
use std::io::Write as _;
use std::path::Path;

use super::make::Maker;
use super::{Generator, Part, pipeline, text};
use crate::data::cache::CacheWriter;
use crate::data::chunk::{CHUNK_ENTRIES, CHUNK_ROWS, ChunkBuilder};
use crate::data::names::Names;
use crate::data::{Rows, Shape};
use crate::io::atomic_file;
use crate::straight::Straight;
use crate::{Error, Result, Run};

/// Examples that are made before they go on: they should stay in the caches until then.
const BATCH: usize = 512;
/// Batches that are written together as text.
const BATCHES: usize = 4;

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
                let file = atomic_file::temporary(path)?;
                let mut out = Straight::new(file.as_file(), file.path()).map_err(Error::io(path))?;
                writeln!(out, "{} {} {}", shape.n, shape.d, shape.c).map_err(Error::io(path))?;
                let found = self.pieces(part, n, BATCH * BATCHES, run, |text: &Text| {
                    out.write_all(&text.0).map_err(Error::io(path))
                })?;
                out.flush().map_err(Error::io(path))?;
                atomic_file::persist(file, path)?;
                Ok(found)
            }
            GeneratedAs::Cache => {
                let mut writer = CacheWriter::create_straight(path)?;
                // A piece is a chunk; fewer examples if they are long, for the sake of memory.
                let rows = CHUNK_ENTRIES as f64 / 2.0 / (self.nnz + self.labels);
                let found = self.pieces(part, n, (rows as usize).clamp(1, CHUNK_ROWS), run, |blocks: &Blocks| {
                    blocks.full.iter().try_for_each(|block| writer.chunk(block))
                })?;
                writer.finish(shape, &Names::default())?;
                Ok(found)
            }
        }
    }

    /// Makes all examples, so many to a piece; `take` gets the pieces in order.
    fn pieces<P: Piece>(
        &self,
        part: Part,
        n: usize,
        piece: usize,
        run: &mut Run<'_>,
        mut take: impl FnMut(&P) -> Result<()>,
    ) -> Result<Generated> {
        let mut found = Generated::default();
        pipeline::in_order(
            n.div_ceil(piece),
            || (Maker::new(self), Rows::new(), P::Format::default()),
            |(maker, rows, format), i, (out, made): &mut (P, Generated)| {
                *made = Generated::default();
                out.begin(format);
                let end = n.min((i + 1) * piece);
                for from in (i * piece..end).step_by(BATCH) {
                    rows.clear();
                    made.told += maker.rows(part, from..end.min(from + BATCH), rows);
                    made.examples += rows.len() as u64;
                    made.entries = [made.entries[0] + rows.x.nnz() as u64, made.entries[1] + rows.y.nnz() as u64];
                    out.add(rows, format);
                }
                out.end(format);
            },
            |(out, made)| {
                take(out)?;
                found.examples += made.examples;
                found.told += made.told;
                found.entries = [0, 1].map(|side| found.entries[side] + made.entries[side]);
                run.advance("generating", made.examples)
            },
        )?;
        Ok(found)
    }
}

/// Examples as they go to the file.
trait Piece: Default + Send {
    /// What it takes to make one after the other.
    type Format: Default;
    fn begin(&mut self, format: &mut Self::Format);
    fn add(&mut self, rows: &Rows, format: &mut Self::Format);
    fn end(&mut self, format: &mut Self::Format);
}

#[derive(Default)]
struct Text(Vec<u8>);

impl Piece for Text {
    type Format = ();

    fn begin(&mut self, _: &mut ()) {
        self.0.clear();
    }

    fn add(&mut self, rows: &Rows, _: &mut ()) {
        text::write_lines(rows, &mut self.0);
    }

    fn end(&mut self, _: &mut ()) {}
}

/// Blocks of a cache file: one, unless rows are longer than they should be.
#[derive(Default)]
struct Blocks {
    full: Vec<Vec<u32>>,
}

impl Piece for Blocks {
    type Format = ChunkBuilder;

    fn begin(&mut self, builder: &mut ChunkBuilder) {
        if let Some(written) = self.full.pop() {
            builder.reuse(written);
        }
        self.full.clear();
    }

    fn add(&mut self, rows: &Rows, builder: &mut ChunkBuilder) {
        let Ok(()) = builder.push(rows, |block| {
            self.full.push(block);
            Ok::<(), Infallible>(())
        });
    }

    fn end(&mut self, builder: &mut ChunkBuilder) {
        let Ok(()) = builder.finish(|block| {
            self.full.push(block);
            Ok::<(), Infallible>(())
        });
    }
}
