//! The examples of a node by columns, as the logistic regression wants them.

use crate::linalg::csr::CsrRef;

/// Says that a feature or label has no number in the node.
pub(super) const ABSENT: u32 = u32::MAX;

/// A sparse matrix by columns.
pub(super) struct NodeColumns {
    /// Where each column begins; one more than there are columns.
    pub ptr: Vec<u32>,
    /// Row of each entry: the place of the example in the node.
    pub rows: Vec<u32>,
    /// Value of each entry.
    pub values: Vec<f32>,
}

impl NodeColumns {
    /// The columns of `examples`, the last of which is the constant 1, and which features the others are, in the order
    /// in which they are met. `value` is what an entry of an example becomes; `numbers` has a place for every feature
    /// and is [`ABSENT`] everywhere, before and after.
    pub fn of(
        examples: &[u32],
        x: CsrRef<'_>,
        value: impl Fn(u32, f32) -> f32,
        numbers: &mut [u32],
    ) -> (NodeColumns, Vec<u32>) {
        let (mut present, mut ptr) = (Vec::new(), vec![0u32]);
        for i in examples {
            for id in x.row(*i as usize).0 {
                let number = &mut numbers[*id as usize];
                if *number == ABSENT {
                    *number = present.len() as u32;
                    present.push(*id);
                    ptr.push(0);
                }
                ptr[*number as usize + 1] += 1;
            }
        }
        ptr.push(examples.len() as u32);
        for j in 1..ptr.len() {
            ptr[j] += ptr[j - 1];
        }
        let entries = ptr[ptr.len() - 1] as usize;
        let (mut rows, mut values, mut next) = (vec![0u32; entries], vec![1f32; entries], ptr.clone());
        for (row, i) in (0u32..).zip(examples) {
            let (ids, held) = x.row(*i as usize);
            for (j, id) in ids.iter().enumerate() {
                let place = &mut next[numbers[*id as usize] as usize];
                rows[*place as usize] = row;
                values[*place as usize] = value(*i, held.map_or(1.0, |v| v[j]));
                *place += 1;
            }
        }
        (0u32..).zip(&mut rows[ptr[present.len()] as usize..]).for_each(|(row, entry)| *entry = row);
        present.iter().for_each(|id| numbers[*id as usize] = ABSENT);
        (NodeColumns { ptr, rows, values }, present)
    }
}
