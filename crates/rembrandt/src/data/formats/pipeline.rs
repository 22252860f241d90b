//! From a stream to rows in order: one thread unpacks, the pool parses blocks, the caller's thread collects.
//!
//! The collector sees blocks in the order of the file, so ids of words, line numbers and the first bad line do not
//! depend on the number of threads. Work goes in rounds: while the pool parses the blocks of one round, the caller's
//! thread hands on those of the round before. A round ends with the caller helping the pool, never waiting for it
//! idly, so reading also works from within a pool of one thread.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, Receiver, TryRecvError};

use super::batch::{self, ParsedRows};
use super::column::{IdColumn, IdSyntax};
use super::detect::{self, Detected};
use super::header::Header;
use super::row_builder::FileSyntax;
use super::source::{Blocks, Source, Stop};
use super::{Format, Reading, Sink, Summary};
use crate::data::vocabulary::{Numbering, VocabularyIds};
use crate::data::{Rows, Shape};
use crate::error::count;
use crate::linalg::csr::Csr;
use crate::{Error, Result, Run};

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Most rows in a batch of blank lines.
const MOST_BLANKS: u64 = 1 << 20;

/// Counts of a whole file.
pub(super) struct FileSummary {
    pub(super) format: Format,
    pub(super) n: u64,
    pub(super) labels: SideIds,
    pub(super) features: SideIds,
    pub(super) notes: Vec<String>,
    pub(super) bytes: u64,
}

impl FileSummary {
    /// The summary for the caller. Names, when there are any, tell how many ids there are.
    pub(super) fn summary(self, label_names: Option<Vec<String>>, feature_names: Option<Vec<String>>) -> Summary {
        let width = |ids: &SideIds, names: &Option<Vec<String>>| names.as_ref().map_or(ids.count() as usize, Vec::len);
        let FileSummary { format, n, labels, features, notes, bytes } = self;
        let (d, c) = (width(&features, &feature_names), width(&labels, &label_names));
        Summary {
            shape: Shape { n: n as usize, d, c },
            format,
            label_names,
            feature_names,
            label_words: labels.axis.words,
            feature_words: features.axis.words,
            notes,
            bytes,
            header: features.axis.promised.is_some(),
        }
    }
}

/// Reads a stream to its end. `check` sees what the first block says, before any row is read.
pub(super) fn run(
    source: Source<'_>,
    reading: &Reading<'_>,
    check: &mut dyn FnMut(&FileSyntax) -> Result<()>,
    run: &mut Run<'_>,
    sink: &mut Sink<'_>,
) -> Result<FileSummary> {
    let Reading { path, sizes, .. } = *reading;
    let live = source.is_live(run);
    let Source { reader, packing, size, consumed } = source;
    let ahead = 2 * rayon::current_num_threads().min(16);
    std::thread::scope(|scope| {
        let (send, receive) = mpsc::sync_channel(ahead);
        let unpack = move || {
            for item in Blocks::new(reader, sizes).live(live) {
                // The receiver is gone when the caller has stopped.
                if send.send(item).is_err() {
                    return;
                }
            }
        };
        std::thread::Builder::new().spawn_scoped(scope, unpack).map_err(Error::io(path))?;
        // Owned here, so that the receiver is dropped, and the thread above stops, before the scope waits for that thread.
        let mut arriving = Arriving { receive, ahead, bytes: 0, stop: None, open: true };
        let Some(mut first) = arriving.first(live) else {
            let empty = || Error::file(path, "the file is empty");
            return Err(arriving.stop.map_or_else(empty, |stop| stop.error(path, packing, 0, sizes)));
        };
        if first.starts_with(BYTE_ORDER_MARK) {
            first.drain(..BYTE_ORDER_MARK.len());
        }
        if first.is_empty() {
            return Err(Error::file(path, "the file is empty"));
        }
        let Detected { syntax, header, notes } = detect::detect(batch::text_of(&first).0, reading)?;
        check(&syntax)?;
        if header.is_some() {
            let end = first.iter().position(|b| *b == b'\n').map_or(first.len(), |at| at + 1);
            first.drain(..end);
        }
        let mut collector = Collector::new(path, &syntax, header, sink);
        let (mut blocks, mut ready) = (vec![first], Vec::new());
        loop {
            arriving.fill(&mut blocks, ready.is_empty());
            if blocks.is_empty() && ready.is_empty() {
                break;
            }
            ready = round(std::mem::take(&mut blocks), &syntax, ready, &mut collector)?;
            run.read(consumed.load(Ordering::Relaxed), size)?;
        }
        if let Some(stop) = arriving.stop {
            return Err(stop.error(path, packing, collector.lines, sizes));
        }
        collector.finish(notes, arriving.bytes)
    })
}

/// Blocks as they come from the thread that unpacks.
struct Arriving {
    receive: Receiver<std::result::Result<Vec<u8>, Stop>>,
    /// Blocks of a round at most.
    ahead: usize,
    bytes: u64,
    /// Why the blocks ended before the file did.
    stop: Option<Stop>,
    open: bool,
}

impl Arriving {
    /// The first block, unless there is none; of live ones as many as it takes to say something.
    fn first(&mut self, live: bool) -> Option<Vec<u8>> {
        let item = self.receive.recv().ok();
        let mut first = self.take(item)?;
        while live && self.open && first.trim_ascii().is_empty() {
            let item = self.receive.recv().ok();
            first.extend(self.take(item).unwrap_or_default());
        }
        Some(first)
    }

    /// Adds those that are there to `blocks`; waits for one only where there is nothing else to do.
    fn fill(&mut self, blocks: &mut Vec<Vec<u8>>, idle: bool) {
        while self.open && blocks.len() < self.ahead {
            let item = match self.receive.try_recv() {
                Ok(item) => Some(item),
                Err(TryRecvError::Disconnected) => None,
                Err(TryRecvError::Empty) if blocks.is_empty() && idle => self.receive.recv().ok(),
                Err(TryRecvError::Empty) => break,
            };
            blocks.extend(self.take(item));
        }
    }

    fn take(&mut self, item: Option<std::result::Result<Vec<u8>, Stop>>) -> Option<Vec<u8>> {
        match item {
            Some(Ok(block)) => {
                self.bytes += block.len() as u64;
                return Some(block);
            }
            Some(Err(stop)) => (self.stop, self.open) = (Some(stop), false),
            None => self.open = false,
        }
        None
    }
}

/// Parses `blocks` in the pool while `ready` ones are collected.
fn round(
    blocks: Vec<Vec<u8>>,
    syntax: &FileSyntax,
    ready: Vec<ParsedRows>,
    collector: &mut Collector<'_, '_>,
) -> Result<Vec<ParsedRows>> {
    let mut parsed: Vec<Option<ParsedRows>> = Vec::new();
    parsed.resize_with(blocks.len(), || None);
    rayon::in_place_scope(|scope| {
        for (slot, block) in parsed.iter_mut().zip(blocks) {
            scope.spawn(move |_| *slot = Some(batch::parse(&block, syntax)));
        }
        ready.into_iter().try_for_each(|batch| collector.take(batch))
    })?;
    Ok(parsed.into_iter().flatten().collect())
}

/// The ids of one side over the whole file.
pub(super) struct SideIds {
    pub(super) axis: IdSyntax,
    /// One more than the largest id, or the number of words that were not known.
    pub(super) width: u64,
    words: Numbering,
}

impl SideIds {
    fn new(axis: &IdSyntax) -> SideIds {
        SideIds { axis: axis.clone(), width: 0, words: axis.numbering() }
    }

    /// The number of ids: those that are known and what the file adds, or else what its header says or what occurs.
    pub(super) fn count(&self) -> u64 {
        match &self.axis.vocabulary {
            Some(VocabularyIds::Words(names)) => names.len() as u64 + self.width,
            Some(VocabularyIds::Numbers(count)) => self.width.max(*count as u64),
            None => self.axis.promised.map_or(self.width, u64::from),
        }
    }

    /// The words in the order of their ids, when ids are words.
    pub(super) fn names(&self) -> Option<Vec<String>> {
        self.axis.words.then(|| self.words.words().map(str::to_owned).collect())
    }

    /// Takes in the ids of one block; turns ids of words from those of the block into those of the file.
    fn merge(&mut self, column: &IdColumn, csr: Csr) -> Option<Csr> {
        if !self.axis.words {
            self.width = self.width.max(column.width);
            return Some(csr);
        }
        let map = column.words.new_words().map(|word| self.words.id(word)).collect::<Option<Vec<u32>>>()?;
        self.width = self.words.new_len() as u64;
        if map.is_empty() {
            return Some(csr);
        }
        let first = self.words.known().len();
        let new_id = |id: usize| id.checked_sub(first).map_or(id as u32, |new| map[new]);
        let view = csr.view();
        let mut mapped = Csr::new(view.values.is_none());
        let mut entries: Vec<(u32, f32)> = Vec::new();
        for row in 0..view.rows() {
            entries.extend(view.entries(row).map(|(id, value)| (new_id(id), value)));
            entries.sort_unstable_by_key(|entry| entry.0);
            entries.drain(..).for_each(|(id, value)| mapped.push(id, value));
            mapped.end_row();
        }
        Some(mapped)
    }
}

/// Hands on the blocks in order and keeps count.
struct Collector<'a, 's> {
    path: &'a Path,
    format: Format,
    header: Option<Header>,
    labels: SideIds,
    features: SideIds,
    n: u64,
    /// Lines read so far, the header among them.
    lines: u64,
    /// Blank lines beyond the examples that the header promises: rows only if more follows.
    blanks: u64,
    sink: &'a mut Sink<'s>,
}

impl<'a, 's> Collector<'a, 's> {
    fn new(path: &'a Path, syntax: &FileSyntax, header: Option<Header>, sink: &'a mut Sink<'s>) -> Collector<'a, 's> {
        let (labels, features) = (SideIds::new(&syntax.labels), SideIds::new(&syntax.features));
        let lines = header.is_some().into();
        Collector { path, format: syntax.format, header, labels, features, n: 0, lines, blanks: 0, sink }
    }

    fn take(&mut self, parsed: ParsedRows) -> Result<()> {
        self.lines += parsed.lines;
        if let Some(reason) = parsed.fault {
            return Err(Error::line(self.path, self.lines + 1, reason));
        }
        let Rows { x, y, weights } = parsed.rows;
        let merged = self.features.merge(&parsed.features, x).zip(self.labels.merge(&parsed.labels, y));
        let Some((x, y)) = merged else {
            return Err(Error::file(self.path, format!("there are more than {} different words", u32::MAX - 1)));
        };
        let rows = Rows { x, y, weights };
        if !rows.is_empty() {
            self.pass_blanks(self.blanks)?;
            self.n += rows.len() as u64;
            (self.sink)(rows)?;
        }
        self.blanks += parsed.blanks;
        self.pass_blanks(self.due())
    }

    /// Blank lines that are rows whatever follows.
    fn due(&self) -> u64 {
        self.header.map_or(self.blanks, |header| header.n.saturating_sub(self.n).min(self.blanks))
    }

    /// Hands on blank lines that turned out to be rows.
    fn pass_blanks(&mut self, count: u64) -> Result<()> {
        self.blanks -= count;
        self.n += count;
        let mut left = count;
        while left > 0 {
            let mut rows = Rows::new();
            for _ in 0..left.min(MOST_BLANKS) {
                rows.x.end_row();
                rows.y.end_row();
            }
            left -= rows.len() as u64;
            (self.sink)(rows)?;
        }
        Ok(())
    }

    fn finish(mut self, mut notes: Vec<String>, bytes: u64) -> Result<FileSummary> {
        let due = self.due();
        self.pass_blanks(due)?;
        let Collector { path, format, header, labels, features, n, .. } = self;
        if let Some(header) = header {
            let promise = |letter, promised: u64, what, found: u64| {
                let promised = count(promised as usize, what);
                let reason = format!("the header says {letter} = {promised}, but the file has {found}");
                Error::line(path, 1, reason)
            };
            if n > header.n {
                return Err(promise('n', header.n, "example", n));
            }
            if n == 0 && header.n > 0 {
                return Err(Error::file(path, "the file has no examples"));
            }
            if n < header.n {
                let promised = count(header.n as usize, "example");
                notes.push(format!("the header says n = {promised}, but the file has {n}: was it cut short?"));
            }
            if labels.width > header.c.into() {
                return Err(promise('c', header.c.into(), "label", labels.width));
            }
            if features.width > header.d.into() {
                return Err(promise('d', header.d.into(), "feature", features.width));
            }
        } else if n == 0 {
            return Err(Error::file(path, "the file has no examples"));
        }
        Ok(FileSummary { format, n, labels, features, notes, bytes })
    }
}
