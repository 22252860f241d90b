//! Made-up data on their way to disk: a piece at a time, made and formatted by all threads, written in order.

use std::io::Write as _;
use std::path::Path;

use rembrandt::data::{CacheChunks, CacheWriter, Names, Rows};
use rembrandt::model::write_file;
use rembrandt::{Error, Result, Run, Shape};

use super::make::Maker;
use super::{Generator, Part, pipeline, text};
use crate::direct_io::DirectIo;

/// Examples that are made and written together as text: they should stay in the caches in between.
const TEXT_ROWS: usize = 1024;

/// How data are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GeneratedAs {
    /// Text in the extreme classification format.
    Text,
    /// A cache file, which opens at once.
    Cache,
}

/// Totals of the data written.
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
        let mut found = Generated::default();
        write_file(path, |file| {
            let mut out = DirectIo::new(file.get_ref().file());
            found = match as_what {
                GeneratedAs::Text => self.write_text(&mut out, path, (part, shape), run)?,
                GeneratedAs::Cache => self.write_cache(&mut out, path, (part, shape), run)?,
            };
            out.finish().map_err(Error::io(path))
        })?;
        Ok(found)
    }

    fn write_text(
        &self,
        out: &mut DirectIo<'_>,
        path: &Path,
        (part, shape): (Part, Shape),
        run: &mut Run<'_>,
    ) -> Result<Generated> {
        writeln!(out, "{} {} {}", shape.n, shape.d, shape.c).map_err(Error::io(path))?;
        let format = |rows: &Rows, text: &mut Vec<u8>| {
            text.clear();
            text::write_lines(rows, text);
        };
        self.pieces(part, (shape.n, TEXT_ROWS), run, format, |text| out.write_all(text).map_err(Error::io(path)))
    }

    fn write_cache(
        &self,
        out: &mut DirectIo<'_>,
        path: &Path,
        (part, shape): (Part, Shape),
        run: &mut Run<'_>,
    ) -> Result<Generated> {
        let mut writer = CacheWriter::new(out, path)?;
        // A piece is a chunk; fewer examples if they are long, for the sake of memory.
        let rows = CacheChunks::ENTRIES as f64 / 2.0 / (self.nnz + self.labels);
        let rows = (rows as usize).clamp(1, CacheChunks::ROWS);
        let format = |rows: &Rows, chunks: &mut CacheChunks| chunks.fill(rows);
        let found = self.pieces(part, (shape.n, rows), run, format, |chunks| writer.push_chunks(chunks))?;
        writer.finish(shape, &Names::default())?;
        Ok(found)
    }

    /// Makes all examples, so many of all to a piece. Threads give the pieces their format; `take` gets them in order.
    fn pieces<P: Default + Send>(
        &self,
        part: Part,
        (n, piece): (usize, usize),
        run: &mut Run<'_>,
        format: impl Fn(&Rows, &mut P) + Sync,
        mut take: impl FnMut(&P) -> Result<()>,
    ) -> Result<Generated> {
        let mut found = Generated::default();
        pipeline::in_order(
            n.div_ceil(piece),
            || (Maker::new(self), Rows::new()),
            |(maker, rows), i, (out, made): &mut (P, Generated)| {
                rows.clear();
                let told = maker.rows(part, i * piece..n.min((i + 1) * piece), rows);
                let entries = [&rows.x, &rows.y].map(|side| side.nnz() as u64);
                *made = Generated { examples: rows.len() as u64, entries, told };
                format(rows, out);
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
