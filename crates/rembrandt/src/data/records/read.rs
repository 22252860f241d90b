//! Reads a stream and hands on its records in order.

use std::path::Path;
use std::sync::atomic::Ordering;

use rayon::prelude::*;

use super::array::ObjectCutter;
use super::layout::{self, Layout};
use super::lines::{self, Keys, LineSyntax, ParsedRecords};
use super::quoted::{BadQuote, Splitter};
use super::{RecordFormat, RecordOptions, RecordSink, RecordSummary, Records};
use crate::data::formats::source::{Blocks, Packing, Sizes, Source, Stop};
use crate::data::formats::{lines_of, text_of};
use crate::{Error, Result, Run};

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Counts what is handed on.
struct RecordCounter<'a, 's> {
    summary: RecordSummary,
    sink: &'a mut RecordSink<'s>,
}

impl RecordCounter<'_, '_> {
    fn take(&mut self, records: Records) -> Result<()> {
        if records.is_empty() {
            return Ok(());
        }
        self.summary.records += records.len() as u64;
        self.summary.labelled += records.labelled() as u64;
        (self.sink)(records)
    }

    fn counted(self, path: &Path) -> Result<RecordSummary> {
        match self.summary.records {
            0 => Err(Error::file(path, "the file has no records")),
            _ => Ok(self.summary),
        }
    }
}

/// The facts about a file that messages need.
#[derive(Clone, Copy)]
struct FileContext<'a> {
    path: &'a Path,
    packing: Packing,
    sizes: Sizes,
    /// Whether records are handed on as they come.
    live: bool,
}

impl FileContext<'_> {
    fn stopped(&self, stop: Stop, lines: u64) -> Error {
        stop.error(self.path, self.packing, lines, self.sizes)
    }
}

/// Reads a stream to its end.
pub(super) fn read(
    source: Source<'_>,
    path: &Path,
    options: &RecordOptions,
    sizes: Sizes,
    run: &mut Run<'_>,
    sink: &mut RecordSink<'_>,
) -> Result<RecordSummary> {
    let live = source.is_live(run);
    let Source { reader, packing, size, consumed } = source;
    let file = FileContext { path, packing, sizes, live };
    let mut watch = || run.read(consumed.load(Ordering::Relaxed), size);
    let mut blocks = Blocks::new(reader, sizes).live(live);
    let mut first = match blocks.next() {
        Some(block) => block.map_err(|stop| file.stopped(stop, 0))?,
        None => return Err(Error::file(path, "the file is empty")),
    };
    // Blank lines tell neither format nor columns; in plain lines they are texts, and waited for.
    while live && options.format != RecordFormat::Lines && first.trim_ascii().is_empty() {
        match blocks.next() {
            Some(block) => first.extend(block.map_err(|stop| file.stopped(stop, 0))?),
            None => break,
        }
    }
    if first.starts_with(BYTE_ORDER_MARK) {
        first.drain(..BYTE_ORDER_MARK.len());
    }
    let top = Top::of(&first);
    let format = match options.format {
        RecordFormat::Auto => layout::detect(top.line, options.delimiter),
        chosen => chosen,
    };
    let summary = RecordSummary { records: 0, labelled: 0, format };
    let mut collector = RecordCounter { summary, sink };
    match format {
        RecordFormat::Jsonl => {
            let keys = Keys::new(options).map_err(|reason| Error::file(path, reason))?;
            let list = top.line.trim_start().starts_with('[');
            let blocks = std::iter::once(Ok(first)).chain(blocks);
            if list {
                read_list(blocks, &keys, file, &mut watch, &mut collector)?;
                return collector.counted(path);
            }
            let syntax = LineSyntax::Jsonl(keys);
            read_lines(blocks, &syntax, 0, file, &mut watch, &mut collector)?;
        }
        RecordFormat::Lines => {
            let blocks = std::iter::once(Ok(first)).chain(blocks);
            read_lines(blocks, &LineSyntax::Plain, 0, file, &mut watch, &mut collector)?;
        }
        RecordFormat::Tsv => {
            let (syntax, lines, bytes) =
                top.columns(options).map_err(|reason| Error::line(path, top.number, reason))?;
            first.drain(..bytes);
            let blocks = std::iter::once(Ok(first)).chain(blocks);
            read_lines(blocks, &syntax, lines, file, &mut watch, &mut collector)?;
        }
        RecordFormat::Csv | RecordFormat::Auto => {
            let blocks = std::iter::once(Ok(first)).chain(blocks);
            read_quoted(blocks, options, file, &mut watch, &mut collector)?;
        }
    }
    collector.counted(path)
}

/// Reads a list of objects of JSON.
fn read_list(
    blocks: impl Iterator<Item = Result<Vec<u8>, Stop>>,
    keys: &Keys<'_>,
    file: FileContext<'_>,
    watch: &mut dyn FnMut() -> Result<()>,
    collector: &mut RecordCounter<'_, '_>,
) -> Result<()> {
    let fault = |(line, reason)| Error::line(file.path, line, reason);
    let (mut cutter, mut number) = (ObjectCutter::default(), 0);
    for block in blocks {
        let block = block.map_err(|stop| file.stopped(stop, number))?;
        let (text, junk) = text_of(&block);
        let mut records = Records::new();
        for line in lines_of(text) {
            number += 1;
            let add =
                |object: &str, began| lines::parse_json(object, keys, &mut records).map_err(|reason| (began, reason));
            cutter.take(line, number, add).map_err(fault)?;
        }
        if let Some(reason) = junk {
            return Err(Error::line(file.path, number + 1, reason));
        }
        collector.take(records)?;
        watch()?;
    }
    cutter.finish(number).map_err(fault)
}

/// The first line with anything in it.
struct Top<'b> {
    line: &'b str,
    number: u64,
    /// Bytes of the block up to its end.
    bytes: usize,
    /// Why the line is no text.
    junk: Option<String>,
}

impl<'b> Top<'b> {
    fn of(block: &'b [u8]) -> Top<'b> {
        let (text, junk) = text_of(block);
        let (mut number, mut bytes) = (0, 0);
        for piece in text.split_inclusive('\n') {
            number += 1;
            bytes += piece.len();
            if let Some(line) = lines_of(piece).next().filter(|line| !line.trim().is_empty()) {
                return Top { line, number, bytes, junk: None };
            }
        }
        Top { line: "", number: number + 1, bytes, junk }
    }

    /// The columns of TSV by the line, and the lines and bytes to skip before the first record.
    fn columns(&self, options: &RecordOptions) -> Result<(LineSyntax<'static>, u64, usize), String> {
        if let Some(reason) = &self.junk {
            return Err(reason.clone());
        }
        let fields: Vec<&str> = self.line.split('\t').collect();
        let layout = Layout::new(options, &fields)?;
        let (lines, bytes) = if options.has_header() { (self.number, self.bytes) } else { (0, 0) };
        Ok((LineSyntax::Tsv(layout), lines, bytes))
    }
}

/// Parses blocks in rounds: the pool works on as many as keep it busy, then they are handed on in order.
fn read_lines(
    mut blocks: impl Iterator<Item = Result<Vec<u8>, Stop>>,
    syntax: &LineSyntax<'_>,
    mut lines: u64,
    file: FileContext<'_>,
    watch: &mut dyn FnMut() -> Result<()>,
    collector: &mut RecordCounter<'_, '_>,
) -> Result<()> {
    let ahead = if file.live { 1 } else { 2 * rayon::current_num_threads().min(16) };
    let mut stop = None;
    while stop.is_none() {
        let mut round = Vec::with_capacity(ahead);
        while round.len() < ahead && stop.is_none() {
            match blocks.next() {
                Some(Ok(block)) => round.push(block),
                Some(Err(reason)) => stop = Some(Some(reason)),
                None => stop = Some(None),
            }
        }
        let parsed: Vec<ParsedRecords> = round.par_iter().map(|block| lines::parse(block, syntax)).collect();
        for ParsedRecords { records, lines: good, fault } in parsed {
            lines += good;
            if let Some(reason) = fault {
                return Err(Error::line(file.path, lines + 1, reason));
            }
            collector.take(records)?;
        }
        watch()?;
    }
    match stop.flatten() {
        Some(reason) => Err(file.stopped(reason, lines)),
        None => Ok(()),
    }
}

fn read_quoted(
    blocks: impl Iterator<Item = Result<Vec<u8>, Stop>>,
    options: &RecordOptions,
    file: FileContext<'_>,
    watch: &mut dyn FnMut() -> Result<()>,
    collector: &mut RecordCounter<'_, '_>,
) -> Result<()> {
    let mut splitter = Splitter::new(options.delimiter.unwrap_or(','), file.sizes.longest_line);
    let bad_quote = |BadQuote { line, reason }| Error::line(file.path, line, reason);
    let (mut layout, mut number, mut blanks) = (None::<Layout>, 0, 0);
    for block in blocks {
        let block = block.map_err(|stop| file.stopped(stop, number))?;
        let (text, junk) = text_of(&block);
        let mut records = Records::new();
        for line in lines_of(text) {
            number += 1;
            if !splitter.is_open() && line.is_empty() {
                match &layout {
                    Some(layout) => layout.push_blank(&mut records),
                    None => blanks += 1,
                }
                continue;
            }
            if !splitter.take(line, number).map_err(bad_quote)? {
                continue;
            }
            let (fields, fault) = (splitter.fields(), |reason| Error::line(file.path, splitter.began(), reason));
            if let Some(layout) = &layout {
                layout.push(&fields, &mut records).map_err(fault)?;
                continue;
            }
            let found = Layout::new(options, &fields).map_err(fault)?;
            if !options.has_header() {
                (0..blanks).for_each(|_| found.push_blank(&mut records));
                found.push(&fields, &mut records).map_err(fault)?;
            }
            layout = Some(found);
        }
        if let Some(reason) = junk {
            return Err(Error::line(file.path, number + 1, reason));
        }
        collector.take(records)?;
        watch()?;
    }
    if splitter.is_open() { Err(bad_quote(splitter.unclosed())) } else { Ok(()) }
}
