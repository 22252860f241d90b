//! Panels: the groups of columns that a regression is solved for at a time.

/// Columns to a cache line. Panels are padded to whole lines.
pub(super) const LINE: usize = 16;

/// The name of a checkpoint of some columns.
pub(super) fn panel_name(what: &str, from: usize, to: usize) -> String {
    format!("{what}-{from}-{to}")
}
