//! [`Transpose`]: the rows of a [chunk](super::chunk) sorted by columns.
//!
//! A plain counting sort is slow: with a million ids nearly every access misses the L1 and L2 caches. So there are two
//! steps. The first sends entries to ranges of ids, few enough that a cache line for each stays in the cache. The second
//! counts the ids of one range at a time, whose counters fit the cache as well.

use crate::linalg::csr::CsrRef;

/// Ranges that the ids are cut into, unless they would be longer than 16 bits tell.
const RANGES: usize = 1024;
/// Ranges are sorted by counting when they have at most this many ids per entry, by comparing otherwise.
const COUNTED_IDS_PER_ENTRY: usize = 64;

/// The transpose of some rows, of which there are at most 2¹⁶. Kept from one use to the next for its memory.
#[derive(Default)]
pub(crate) struct Transpose {
    /// The columns that occur, ascending, and where each begins.
    pub ids: Vec<u32>,
    pub ptr: Vec<u32>,
    /// Two 16-bit rows to a word.
    pub rows: Vec<u32>,
    values: Vec<f32>,
    valued: bool,
    /// Entries by ranges: from the top, 16 bits of the id within its range, 16 of the row, 32 of the value.
    entries: Vec<u64>,
    /// Where the next entry of each range, and of each id of one range, goes.
    next: Vec<u32>,
    next_id: Vec<u32>,
    /// A bit for each id of one range, set if it occurs.
    present: Vec<u64>,
}

impl Transpose {
    /// The values by columns; none when all of them are 1.
    pub fn values(&self) -> Option<&[f32]> {
        self.valued.then_some(&self.values)
    }

    pub fn fill(&mut self, a: CsrRef<'_>) {
        let nnz = a.nnz();
        let row_values = a.values.filter(|v| v.iter().any(|v| *v != 1.0));
        self.valued = row_values.is_some();
        self.rows.resize(nnz.div_ceil(2), 0);
        // The last word may hold one row only.
        self.rows.last_mut().into_iter().for_each(|word| *word = 0);
        self.values.resize(if self.valued { nnz } else { 0 }, 0.0);
        self.ids.clear();
        self.ptr.clear();
        self.ptr.push(0);
        let width = a.ids.iter().max().map_or(0, |id| *id as usize + 1);
        // Ids of a range: a power of two, so that finding the range is a shift. Never more than 2¹⁶.
        let shift = width.div_ceil(RANGES).max(1).next_power_of_two().trailing_zeros().min(16);
        self.by_ranges(a, row_values, shift, (width >> shift) + 1);
        let mut from = 0;
        for range in 0..self.next.len() {
            // After the first step the next entry of a range is the first of the one after it.
            let to = self.next[range] as usize;
            if from < to {
                self.sort_range(from, to, (range << shift) as u32, 1 << shift);
            }
            from = to;
        }
    }

    /// The first step: entries in order of their ranges, and of their rows within.
    fn by_ranges(&mut self, a: CsrRef<'_>, row_values: Option<&[f32]>, shift: u32, ranges: usize) {
        self.next.clear();
        self.next.resize(ranges, 0);
        a.ids.iter().for_each(|id| self.next[(*id >> shift) as usize] += 1);
        let mut start = 0;
        for next in &mut self.next {
            (*next, start) = (start, start + *next);
        }
        self.entries.resize(a.nnz(), 0);
        // As slices of their own they are known not to move while they are written.
        let (entries, next) = (&mut self.entries[..], &mut self.next[..]);
        let within = (1u32 << shift) - 1;
        for row in 0..a.rows() {
            let at = a.ptr[row] as usize..a.ptr[row + 1] as usize;
            let mut send = |id: u32, value: u32| {
                let next = &mut next[(id >> shift) as usize];
                entries[*next as usize] = u64::from(id & within) << 48 | (row as u64) << 32 | u64::from(value);
                *next += 1;
            };
            match row_values {
                Some(values) => a.ids[at.clone()].iter().zip(&values[at]).for_each(|(id, v)| send(*id, v.to_bits())),
                None => a.ids[at].iter().for_each(|id| send(*id, 0)),
            }
        }
    }

    /// The second step: the entries of one range of ids, which begins with `first`, in order of their columns.
    fn sort_range(&mut self, from: usize, to: usize, first: u32, width: usize) {
        let entries = &mut self.entries[from..to];
        let rows: &mut [u16] = &mut bytemuck::cast_slice_mut(&mut self.rows)[from..to];
        let mut none = [];
        let values = if self.valued { &mut self.values[from..to] } else { &mut none[..] };
        if width > entries.len() * COUNTED_IDS_PER_ENTRY {
            // Counters would be larger than the entries. Ids come first in an entry, and then rows.
            entries.sort_unstable_by_key(|entry| entry >> 32);
            for (at, entry) in entries.iter().enumerate() {
                let id = first + (entry >> 48) as u32;
                if at == 0 || self.ids.last() != Some(&id) {
                    self.ids.push(id);
                    self.ptr.push(0);
                }
                *self.ptr.last_mut().expect("ptr begins with 0") = (from + at) as u32 + 1;
                rows[at] = (entry >> 32) as u16;
                values.get_mut(at).into_iter().for_each(|value| *value = f32::from_bits(*entry as u32));
            }
            return;
        }
        let (next, present) = (zeros(&mut self.next_id, width), zeros(&mut self.present, width.div_ceil(64)));
        for id in entries.iter().map(|entry| (entry >> 48) as usize) {
            next[id] += 1;
            present[id / 64] |= 1 << (id % 64);
        }
        let mut start = 0;
        for (id, present) in (0..).step_by(64).zip(&*present) {
            let mut rest = *present;
            while rest != 0 {
                let id = id + rest.trailing_zeros();
                rest &= rest - 1;
                let next = &mut next[id as usize];
                (*next, start) = (start, start + *next);
                self.ids.push(first + id);
                self.ptr.push(from as u32 + start);
            }
        }
        let mut position = |entry: u64| {
            let next = &mut next[(entry >> 48) as usize];
            let at = *next as usize;
            *next += 1;
            rows[at] = (entry >> 32) as u16;
            at
        };
        if self.valued {
            entries.iter().for_each(|entry| values[position(*entry)] = f32::from_bits(*entry as u32));
        } else {
            entries.iter().for_each(|entry| _ = position(*entry));
        }
    }
}

/// So many zeros, in memory that is kept.
fn zeros<T: Copy + Default>(memory: &mut Vec<T>, len: usize) -> &mut [T] {
    memory.clear();
    memory.resize(len, T::default());
    memory
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::csr::Csr;

    /// The columns of a matrix, found the slow way: (id, row, value) in order.
    fn slow(a: CsrRef<'_>) -> Vec<(u32, u16, f32)> {
        let mut all: Vec<(u32, u16, f32)> = Vec::new();
        for i in 0..a.rows() {
            all.extend(a.entries(i).map(|(id, v)| (id as u32, i as u16, v)));
        }
        all.sort_by_key(|(id, row, _)| (*id, *row));
        all
    }

    #[test]
    fn columns_are_those_of_the_rows_whatever_the_ids() {
        let mut transpose = Transpose::default();
        // Few ids and many, dense and rare, a last word that holds one row, and no entry at all: in one memory.
        let widths = [1u64, 3, 1000, 70_000, 5_000_000, u64::from(u32::MAX)];
        for (width, rows) in widths.into_iter().flat_map(|width| [(width, 3000), (width, 5), (width, 0)]) {
            for ones in [false, true] {
                let mut a = Csr::new(false);
                for i in 0..rows as u64 {
                    let mut ids: Vec<u32> = (0..i % 9)
                        .map(|j| (i * 31 + j).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 16)
                        .map(|bits| ((bits % width) >> (i % 3 * 5)) as u32)
                        .collect();
                    ids.sort_unstable();
                    ids.dedup();
                    let values: Vec<f32> =
                        ids.iter().map(|id| if ones { 1.0 } else { (id ^ i as u32) as f32 }).collect();
                    a.push_row(&ids, &values);
                }
                transpose.fill(a.view());
                let truth = slow(a.view());
                assert_eq!(transpose.ids.len() + 1, transpose.ptr.len());
                assert!(transpose.ids.is_sorted_by(|a, b| a < b) && transpose.ptr.is_sorted_by(|a, b| a < b));
                assert_eq!(transpose.values().is_some(), truth.iter().any(|(_, _, value)| *value != 1.0));
                let rows: &[u16] = bytemuck::cast_slice(&transpose.rows);
                assert!(rows[truth.len()..].iter().all(|row| *row == 0));
                let found: Vec<_> = (0..transpose.ids.len())
                    .flat_map(|j| (transpose.ptr[j]..transpose.ptr[j + 1]).map(move |at| (j, at as usize)))
                    .map(|(j, at)| (transpose.ids[j], rows[at], transpose.values().map_or(1.0, |v| v[at])))
                    .collect();
                assert_eq!(found, truth);
            }
        }
    }
}
