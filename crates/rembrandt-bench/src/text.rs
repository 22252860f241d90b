//! Results as text: tables, numbers and sizes as people read them, files of text.

use std::io::Write;
use std::path::Path;

use bytesize::ByteSize;
use indicatif::HumanCount;
use rembrandt::model::write_file;
use rembrandt::{Error, Result, Shape};

/// Rows of a table: the first column is for names, the others are aligned below each other.
pub fn facts(rows: &[(&str, String)]) -> String {
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    rows.iter().map(|(name, value)| format!("{name:<width$}  {value}\n")).collect()
}

/// Rows of equally many columns, each as wide as its widest entry.
pub fn table<const COLUMNS: usize>(rows: &[[String; COLUMNS]]) -> String {
    let width: [usize; COLUMNS] =
        std::array::from_fn(|i| rows.iter().map(|row| row[i].chars().count()).max().unwrap_or(0));
    let line = |row: &[String; COLUMNS]| {
        let cells: Vec<String> = row.iter().zip(width).map(|(cell, width)| format!("{cell:<width$}")).collect();
        format!("{}\n", cells.join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}

/// `7 examples, 4 features, 3 labels`.
pub fn size(shape: Shape) -> String {
    let [n, d, c] = [shape.n, shape.d, shape.c].map(|v| v as u64);
    format!("{}, {}, {}", count(n, "example"), count(d, "feature"), count(c, "label"))
}

/// A few significant digits, for people.
pub fn short(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        v if (1e-3..1e5).contains(&v) => {
            let decimals = (3 - v.log10().floor() as i32).max(0) as usize;
            let text = format!("{value:.decimals$}");
            if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
        }
        _ => format!("{value:.2e}"),
    }
}

/// `1 label`, `2 labels`.
pub fn count(n: u64, what: &str) -> String {
    format!("{} {what}{}", HumanCount(n), if n == 1 { "" } else { "s" })
}

/// `12,345`.
pub fn thousands(n: u64) -> String {
    HumanCount(n).to_string()
}

/// `1.5 GiB`.
pub fn bytes(n: u64) -> String {
    ByteSize(n).to_string()
}

/// Writes a file, all or nothing.
pub fn write(path: &Path, text: &str) -> Result<()> {
    write_file(path, |out| out.write_all(text.as_bytes()).map_err(Error::io(path)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let cases =
            [(0.0, "0"), (1.0, "1"), (0.97312, "0.9731"), (12345.6, "12346"), (3e-7, "3.00e-7"), (-2.5, "-2.5")];
        for (value, text) in cases {
            assert_eq!(short(value), text);
        }
        assert_eq!((count(1, "label"), count(1234, "label")), ("1 label".into(), "1,234 labels".into()));
    }

    #[test]
    fn sizes_are_spelled_out() {
        assert_eq!(size(Shape { n: 1, d: 2, c: 3000 }), "1 example, 2 features, 3,000 labels");
    }

    #[test]
    fn facts_are_aligned() {
        let rows = [["a", "b"], ["long", "c"]].map(|row| row.map(str::to_owned));
        assert_eq!(table(&rows), "a     b\nlong  c\n");
        assert_eq!(facts(&[("a", "1".into()), ("long", "2".into())]), "a     1\nlong  2\n");
    }
}
