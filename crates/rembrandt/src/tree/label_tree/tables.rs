//! The numbers of all scorers, laid out so that a sweep reads whole cache lines.
//!
//! A file holds the tables one after the other without gaps. In memory their rows are padded, and begin with a cache
//! line where they are as long as one.

use super::tree::Tree;
use crate::linalg::kernels::scores::{Place, stride};

/// Numbers of a cache line.
const LINE: usize = 16;

/// A table for each node that has children: a row for each input and one of constants, a column for each child.
#[derive(Clone, Debug)]
pub(super) struct Tables {
    /// Rows of every table.
    pub width: usize,
    places: Vec<Place>,
    /// Columns of each table that are not padding.
    columns: Vec<usize>,
    /// Where the first table begins: where a cache line does, when this was made.
    first: usize,
    numbers: Vec<f32>,
}

impl Tables {
    /// Numbers that are all 0.
    pub fn new(tree: &Tree, width: usize) -> Tables {
        // Nodes without children are the last.
        let columns = (0..tree.len() as u32).map(|node| tree.children(node).len()).take_while(|count| *count > 0);
        let columns: Vec<usize> = columns.collect();
        let mut end = 0usize;
        let mut next = |columns: &usize| {
            let place = Place { start: end, stride: stride(*columns) };
            end += (width * place.stride).next_multiple_of(LINE);
            place
        };
        let places: Vec<Place> = columns.iter().map(&mut next).collect();
        let mut numbers = vec![0f32; end + LINE];
        let first = numbers.as_ptr().align_offset(4 * LINE).min(LINE);
        // A place without a child must never be followed, nor count among those that are.
        for (place, columns) in places.iter().zip(&columns) {
            let constants = first + place.start + (width - 1) * place.stride;
            numbers[constants + columns..constants + place.stride].fill(f32::NEG_INFINITY);
        }
        Tables { width, places, columns, first, numbers }
    }

    /// Tables that a file holds; absent if there is not a number for each input of each node.
    pub fn unpacked(tree: &Tree, width: usize, packed: &[f32]) -> Option<Tables> {
        if width.checked_mul(tree.len() - 1) != Some(packed.len()) {
            return None;
        }
        let mut tables = Tables::new(tree, width);
        let mut packed = packed;
        for (place, columns) in tables.places.iter().zip(&tables.columns) {
            let (table, rest) = packed.split_at(columns * width);
            packed = rest;
            let padded = tables.numbers[tables.first + place.start..].chunks_exact_mut(place.stride);
            padded.zip(table.chunks_exact(*columns)).for_each(|(to, from)| to[..*columns].copy_from_slice(from));
        }
        Some(tables)
    }

    /// As a file holds them.
    pub fn packed(&self) -> Vec<f32> {
        let mut packed = Vec::with_capacity(self.columns.iter().sum::<usize>() * self.width);
        for (place, columns) in self.places.iter().zip(&self.columns) {
            let rows = self.numbers()[place.start..].chunks_exact(place.stride).take(self.width);
            rows.for_each(|row| packed.extend_from_slice(&row[..*columns]));
        }
        packed
    }

    /// The table of a node's children.
    #[inline]
    pub fn place(&self, node: u32) -> Place {
        self.places[node as usize]
    }

    /// The table that places point into.
    #[inline]
    pub fn numbers(&self) -> &[f32] {
        &self.numbers[self.first..]
    }

    /// The same, to be changed.
    #[inline]
    pub fn numbers_mut(&mut self) -> &mut [f32] {
        &mut self.numbers[self.first..]
    }
}

/// Whatever lies between the tables.
impl PartialEq for Tables {
    fn eq(&self, other: &Tables) -> bool {
        (self.width, &self.columns) == (other.width, &other.columns) && self.packed() == other.packed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_comes_back() {
        // Groups of 1, 2, 5 and 20 labels.
        let groups: Vec<Vec<u32>> = [0, 1, 3, 8, 28].windows(2).map(|pair| (pair[0]..pair[1]).collect()).collect();
        let tree = Tree::grow((0..28).collect(), 2, |_| groups.clone());
        let packed: Vec<f32> = (0..3 * 32).map(|i| i as f32).collect();
        let tables = Tables::unpacked(&tree, 3, &packed).unwrap();
        assert_eq!(tables.packed(), packed);
        let strides: Vec<usize> = (0..5).map(|node| tables.place(node).stride).collect();
        assert_eq!(strides, [4, 1, 2, 8, 32]);
        // The second row of the last table.
        let last = tables.place(4);
        let row = &tables.numbers()[last.start + last.stride..][..20];
        assert_eq!(row, &packed[3 * 32 - 40..3 * 32 - 20]);
        assert_eq!(tables.clone(), tables);
        assert_ne!(Tables::new(&tree, 3), tables);
        assert!(Tables::unpacked(&tree, 3, &packed[1..]).is_none());
    }
}
