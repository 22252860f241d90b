//! CSV: a quoted field may span lines, so records are found sequentially, line by line.
//!
//! Quotes are taken strictly. A field that begins with a quote ends with one, before a delimiter or the end of its line, and
//! a quote inside of it is written twice; in a field that does not begin with a quote, quotes are characters like any other.
//! A reader that forgives more would join rows in silence.

use crate::data::token::show;

/// Why a record is bad, and the line to name.
pub(super) struct BadQuote {
    pub(super) line: u64,
    pub(super) reason: String,
}

/// Splits lines into the fields of records.
pub(super) struct Splitter {
    delimiter: char,
    longest: usize,
    /// The fields of the record so far, one after the other, and where each ends.
    text: String,
    ends: Vec<usize>,
    /// Whether the last line ended inside of a quoted field.
    open: bool,
    /// The line in which the last quoted field opened, and that in which the record began.
    opened: u64,
    began: u64,
}

impl Splitter {
    /// For records of at most about `longest` bytes.
    pub(super) fn new(delimiter: char, longest: usize) -> Splitter {
        Splitter { delimiter, longest, text: String::new(), ends: Vec::new(), open: false, opened: 0, began: 0 }
    }

    /// Takes the next line, without its end, and says whether a record is complete.
    pub(super) fn take(&mut self, line: &str, number: u64) -> Result<bool, BadQuote> {
        if self.open {
            self.text.push('\n');
        } else {
            self.text.clear();
            self.ends.clear();
            self.began = number;
        }
        let mut rest = line;
        loop {
            if !self.open {
                let Some(inside) = rest.strip_prefix('"') else {
                    let (field, after) = match rest.split_once(self.delimiter) {
                        Some((field, after)) => (field, Some(after)),
                        None => (rest, None),
                    };
                    self.text.push_str(field);
                    self.ends.push(self.text.len());
                    match after {
                        Some(after) => rest = after,
                        None => return Ok(true),
                    }
                    continue;
                };
                (self.open, self.opened, rest) = (true, number, inside);
            }
            let Some((inside, after)) = rest.split_once('"') else {
                self.text.push_str(rest);
                return if self.text.len() > self.longest { Err(self.too_long()) } else { Ok(false) };
            };
            self.text.push_str(inside);
            if let Some(after) = after.strip_prefix('"') {
                self.text.push('"');
                rest = after;
                continue;
            }
            self.open = false;
            self.ends.push(self.text.len());
            match after.strip_prefix(self.delimiter) {
                Some(next) => rest = next,
                None if after.is_empty() => return Ok(true),
                None => return Err(self.followed_by(after, number)),
            }
        }
    }

    /// Whether a line now would belong to the record before.
    pub(super) fn is_open(&self) -> bool {
        self.open
    }

    /// The line in which the record began.
    pub(super) fn began(&self) -> u64 {
        self.began
    }

    /// The fields of the complete record.
    pub(super) fn fields(&self) -> Vec<&str> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.text[start..*end]).collect()
    }

    /// The fault of a file that ends inside of a quoted field.
    pub(super) fn unclosed(&self) -> BadQuote {
        let reason = "a quote is opened in this line and not closed before the end of the file";
        BadQuote { line: self.opened, reason: reason.into() }
    }

    fn too_long(&self) -> BadQuote {
        let reason = format!("a record is longer than {} bytes; is a quote not closed?", self.longest);
        BadQuote { line: self.opened, reason }
    }

    fn followed_by(&self, after: &str, number: u64) -> BadQuote {
        let place = if number == self.opened { String::new() } else { format!(" in line {number}") };
        let (after, delimiter) = (show(after), show(self.delimiter.encode_utf8(&mut [0; 4])));
        let reason = format!(
            "the quote that opens in this line is closed{place} before {after}, where {delimiter} or the end of the line \
             must follow; close the quote in its place, and write a quote inside of a field twice"
        );
        BadQuote { line: self.opened, reason }
    }
}
