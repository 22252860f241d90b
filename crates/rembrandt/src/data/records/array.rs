//! A list of JSON objects, which may span lines: its text is cut into objects.

/// Finds the objects of a list, line by line.
#[derive(Default)]
pub(super) struct ObjectCutter {
    /// The object so far.
    text: String,
    /// Brackets and braces that are open.
    depth: usize,
    in_string: bool,
    escaped: bool,
    /// The line in which the object began.
    began: u64,
    closed: bool,
}

impl ObjectCutter {
    /// Takes a line with its number, and hands on each object that is complete, with the line in which it began.
    pub(super) fn take(
        &mut self,
        line: &str,
        number: u64,
        mut object: impl FnMut(&str, u64) -> Result<(), (u64, String)>,
    ) -> Result<(), (u64, String)> {
        let mut from = 0;
        for (at, byte) in line.bytes().enumerate() {
            if self.in_string {
                match byte {
                    _ if self.escaped => self.escaped = false,
                    b'\\' => self.escaped = true,
                    b'"' => self.in_string = false,
                    _ => {}
                }
                continue;
            }
            match (byte, self.depth) {
                (b' ' | b'\t', _) => {}
                (b'[', 0) if !self.closed => self.depth = 1,
                (b']', 1) => (self.depth, self.closed) = (0, true),
                (b',', 1) => {}
                (b'{', 1) => (self.depth, self.began, from) = (2, number, at),
                (_, 0 | 1) => return Err((number, "the list holds something other than objects in braces".to_owned())),
                (b'"', _) => self.in_string = true,
                (b'{' | b'[', _) => self.depth += 1,
                (b'}' | b']', _) => {
                    self.depth -= 1;
                    if self.depth == 1 {
                        self.text.push_str(&line[from..=at]);
                        object(&self.text, self.began)?;
                        self.text.clear();
                    }
                }
                _ => {}
            }
        }
        if self.depth > 1 {
            self.text.push_str(&line[from..]);
            self.text.push('\n');
        }
        Ok(())
    }

    /// Refuses a list that goes on beyond the end of the file.
    pub(super) fn finish(&self, lines: u64) -> Result<(), (u64, String)> {
        if self.closed { Ok(()) } else { Err((lines, "the list is not closed before the end of the file".to_owned())) }
    }
}
