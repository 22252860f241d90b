//! Examples as lines of text, digit by digit.
//!
//! The formatter of the standard library takes several times as long as making the examples: it does not know that
//! numbers are small and that four digits are wanted. Here eight digits are found at once in one 64-bit word, and the
//! zeros before a number are shifted out of it rather than asked for one by one.

use rembrandt::data::Rows;

/// The most that a number and a sign take, and the most that an entry takes: ` 4294967294:1.0000`.
const NUMBER: usize = 11;
const ENTRY: usize = 24;

/// Appends examples. Four digits are more than a value made of a few draws holds.
pub fn write_lines(rows: &Rows, text: &mut Vec<u8>) {
    let (x, y) = (rows.x.view(), rows.y.view());
    let mut at = text.len();
    // Numbers are written eight bytes at a time, so there is room for one word more than is ever kept.
    text.resize(at + NUMBER * y.nnz() + ENTRY * x.nnz() + 2 * rows.len() + 16, 0);
    for i in 0..rows.len() {
        for label in y.row(i).0 {
            at = number(text, at, *label);
            text[at] = b',';
            at += 1;
        }
        // The comma after the last label becomes the space before the first word.
        at -= usize::from(!y.row(i).0.is_empty());
        for (id, value) in x.entries(i) {
            text[at] = b' ';
            at = number(text, at + 1, id as u32);
            // A value is at most 1: rows have length 1.
            let value = (value * 1e4).round_ties_even() as u32;
            let digits = ascii(value % 10_000) >> 32;
            let point = u64::from(b':') | u64::from(b'0' + (value / 10_000) as u8) << 8 | u64::from(b'.') << 16;
            text[at..at + 8].copy_from_slice(&(point | digits << 24).to_le_bytes());
            at += 7;
        }
        text[at] = b'\n';
        at += 1;
    }
    text.truncate(at);
}

/// Writes a number at a place, and says where it ends.
#[inline]
fn number(text: &mut [u8], at: usize, number: u32) -> usize {
    let (mut at, mut rest) = (at, number);
    if number >= 100_000_000 {
        let front = number / 100_000_000;
        text[at] = b'0' + (front / 10) as u8;
        at += usize::from(front >= 10);
        text[at] = b'0' + (front % 10) as u8;
        rest = number % 100_000_000;
        text[at + 1..at + 9].copy_from_slice(&ascii(rest).to_le_bytes());
        return at + 9;
    }
    let digits = ascii(rest);
    // Zeros at the front are at the low end of the word. The last digit stays even if it is one.
    let zeros = ((digits & 0x0F0F_0F0F_0F0F_0F0F) | 1 << 56).trailing_zeros() / 8;
    text[at..at + 8].copy_from_slice(&(digits >> (8 * zeros)).to_le_bytes());
    at + 8 - zeros as usize
}

/// The eight digits of a number below 10⁸ as characters, the first in the lowest byte.
#[inline]
fn ascii(number: u32) -> u64 {
    // Halves of four digits, then pairs, then digits: each step divides all parts of the word at once.
    let number = u64::from(number);
    let halves = (number / 10_000) | (number % 10_000) << 32;
    let hundreds = ((halves * 10_486) >> 20) & 0x0000_007F_0000_007F;
    let pairs = hundreds | (halves - 100 * hundreds) << 16;
    let tens = ((pairs * 103) >> 10) & 0x000F_000F_000F_000F;
    (tens | (pairs - 10 * tens) << 8) | 0x3030_3030_3030_3030
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_the_standard_library_writes_them() {
        let powers = (0..10).flat_map(|e| [10u32.pow(e) - 1, 10u32.pow(e), 10u32.pow(e) + 1]);
        let many = (0..200_000).chain((0..100_000).map(|i| i * 42_949));
        for n in powers.chain(many).chain([u32::MAX]) {
            let mut text = [0; 32];
            let end = number(&mut text, 3, n);
            assert_eq!(std::str::from_utf8(&text[3..end]).unwrap(), n.to_string());
        }
    }

    #[test]
    fn lines_are_as_the_format_says() {
        let mut rows = Rows::new();
        rows.y.push_row(&[3, 4_294_967_294], &[1.0; 2]);
        rows.x.push_row(&[0, 17, 123_456_789], &[1.0, 0.25, 0.00014]);
        rows.y.push_row(&[], &[]);
        rows.x.push_row(&[5], &[0.99999]);
        rows.y.push_row(&[8], &[1.0]);
        rows.x.push_row(&[], &[]);
        let mut text = b"# ".to_vec();
        write_lines(&rows, &mut text);
        let lines = "# 3,4294967294 0:1.0000 17:0.2500 123456789:0.0001\n 5:1.0000\n8\n";
        assert_eq!(String::from_utf8(text).unwrap(), lines);
    }
}
