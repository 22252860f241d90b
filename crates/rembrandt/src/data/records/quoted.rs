//! CSV: a quoted field may span lines, so records are found sequentially.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use csv::{ByteRecord, ReaderBuilder, Terminator};

use super::layout::Layout;
use super::{RecordOptions, Records};

/// Bytes read at once: what a pipe holds.
const BUFFER: usize = 1 << 16;

/// Why reading stopped.
pub(super) enum RecordStop {
    /// A record that begins in this line is bad.
    Line(u64, String),
    /// Reading or unpacking failed after so many lines.
    Broken(u64, io::Error),
}

/// The records of a CSV file.
pub(super) struct Quoted<R> {
    reader: csv::Reader<Tidy<R>>,
    /// Bytes that may be read before the present record is too long.
    allowed: Arc<AtomicU64>,
    /// Whether the end of the file has been seen.
    ended: Arc<AtomicBool>,
    record: ByteRecord,
    layout: Option<Layout>,
    longest: usize,
    live: bool,
}

impl<R: Read> Quoted<R> {
    pub(super) fn new(inner: R, longest: usize, live: bool) -> Quoted<R> {
        let (allowed, ended) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let tidy = Tidy {
            inner,
            waiting: None,
            last: b'\n',
            given: 0,
            allowed: Arc::clone(&allowed),
            ended: Arc::clone(&ended),
        };
        let mut builder = ReaderBuilder::new();
        builder.has_headers(false).flexible(true).terminator(Terminator::Any(b'\n')).buffer_capacity(BUFFER);
        let reader = builder.from_reader(tidy);
        Quoted { reader, allowed, ended, record: ByteRecord::new(), layout: None, longest, live }
    }

    /// Whether there is nothing more to read.
    pub(super) fn at_end(&self) -> bool {
        self.reader.is_done()
    }

    /// Whether all that has come is read.
    fn is_idle(&self) -> bool {
        self.reader.position().byte() >= self.reader.get_ref().given
    }

    /// Reads about `size` bytes of records, or those that have come.
    pub(super) fn batch(&mut self, options: &RecordOptions, size: usize) -> Result<Records, RecordStop> {
        let mut records = Records::new();
        let from = self.reader.position().byte();
        while self.reader.position().byte() - from < size as u64 {
            if self.live && !records.is_empty() && self.is_idle() {
                break;
            }
            let Some(line) = self.next_record()? else { break };
            let fault = |reason| RecordStop::Line(line, reason);
            let fields = fields_of(&self.record).map_err(fault)?;
            if self.layout.is_none() {
                let layout = Layout::new(options, &fields).map_err(fault)?;
                self.layout = Some(layout);
                if options.has_header() {
                    continue;
                }
            }
            if let Some(layout) = &self.layout {
                layout.push(&fields, &mut records).map_err(fault)?;
            }
        }
        Ok(records)
    }

    /// Reads the next record and tells the line it begins in.
    fn next_record(&mut self) -> Result<Option<u64>, RecordStop> {
        let before = self.reader.position().clone();
        // Bytes in the reader's own buffer are given already, so the limit is not exact; it need not be.
        self.allowed.store(before.byte() + self.longest as u64, Ordering::Relaxed);
        match self.reader.read_byte_record(&mut self.record) {
            Ok(false) => return Ok(None),
            Ok(true) => {}
            Err(error) => {
                return Err(match error.into_kind() {
                    csv::ErrorKind::Io(error) if error.get_ref().is_some_and(|e| e.is::<TooLong>()) => {
                        let reason = format!("a record is longer than {} bytes; is a quote not closed?", self.longest);
                        RecordStop::Line(before.line(), reason)
                    }
                    csv::ErrorKind::Io(error) => RecordStop::Broken(before.line() - 1, error),
                    other => RecordStop::Line(before.line(), format!("the record cannot be read, {other:?}")),
                });
            }
        }
        let inside = self.record.as_slice().iter().filter(|b| **b == b'\n').count() as u64;
        let after = self.reader.position().line();
        // Every line ends with a newline, so only a quoted field can run into the end of the file.
        if self.ended.load(Ordering::Relaxed) {
            let reason = "a quote is opened in this record and not closed before the end of the file";
            return Err(RecordStop::Line(after - inside, reason.into()));
        }
        // Counted from the end, since the reader's count at the start does not know of blank lines that it skips.
        Ok(Some(after - 1 - inside))
    }
}

fn fields_of(record: &ByteRecord) -> Result<Vec<&str>, String> {
    let field = |bytes| match std::str::from_utf8(bytes) {
        Ok(text) if text.contains('\0') => Err("the record contains a zero byte; is this a text file?".to_owned()),
        Ok(text) => Ok(text),
        Err(error) => {
            let byte = bytes[error.valid_up_to()];
            Err(format!("byte 0x{byte:02x} in the record is not utf-8; is this a text file in utf-8?"))
        }
    };
    record.iter().map(field).collect()
}

/// Marks the error of a record beyond the limit.
#[derive(Debug, thiserror::Error)]
#[error("the record is too long")]
pub(super) struct TooLong;

/// A stream in which every line, the last one too, ends with a newline and without a carriage return.
///
/// With that the lines can be counted: the csv reader takes a carriage return for the end of a record, and finds the
/// newline in the next.
struct Tidy<R> {
    inner: R,
    /// A carriage return that the next byte decides about, as the first byte of the next text given.
    waiting: Option<u8>,
    last: u8,
    given: u64,
    allowed: Arc<AtomicU64>,
    ended: Arc<AtomicBool>,
}

impl<R: Read> Read for Tidy<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.len() < 2 {
            return Err(io::Error::other("a buffer of two bytes is needed"));
        }
        if self.given > self.allowed.load(Ordering::Relaxed) {
            return Err(io::Error::other(TooLong));
        }
        let mut given = 0;
        while given == 0 {
            // Room for the carriage return that waits, if any.
            let held = usize::from(self.waiting.is_some());
            if let Some(byte) = self.waiting.take() {
                buffer[0] = byte;
            }
            let read = self.inner.read(&mut buffer[held..])?;
            if read == 0 {
                // A carriage return at the very end ends the last line.
                if self.last == b'\n' && held == 0 {
                    self.ended.store(true, Ordering::Relaxed);
                    return Ok(0);
                }
                (buffer[0], self.last) = (b'\n', b'\n');
                given = 1;
                break;
            }
            for at in 0..held + read {
                let byte = buffer[at];
                match (byte, buffer[..held + read].get(at + 1)) {
                    (b'\r', Some(b'\n')) => continue,
                    (b'\r', None) => self.waiting = Some(byte),
                    _ => {
                        buffer[given] = byte;
                        given += 1;
                    }
                }
            }
            if let Some(end) = given.checked_sub(1) {
                self.last = buffer[end];
            }
        }
        self.given += given as u64;
        Ok(given)
    }
}
