//! Rows divided by their length, so that the length of a step means the same on all data.

use crate::linalg::csr::{Csr, CsrRef};
use crate::linalg::kernels::elementwise::to_unit_length;

/// Memory for [`unit_row`], kept from row to row.
#[derive(Debug, Default)]
pub(crate) struct RowBuffer {
    ids: Vec<u32>,
    values: Vec<f32>,
}

/// A row without features from `d` on, divided by the length of what remains. One without length stays as it is.
pub(crate) fn unit_row<'a>(
    ids: &'a [u32],
    values: Option<&[f32]>,
    d: usize,
    buffer: &'a mut RowBuffer,
) -> (&'a [u32], &'a [f32]) {
    buffer.values.clear();
    let ids = if ids.iter().all(|id| (*id as usize) < d) {
        match values {
            Some(values) => buffer.values.extend_from_slice(&values[..ids.len()]),
            None => buffer.values.resize(ids.len(), 1.0),
        }
        ids
    } else {
        buffer.ids.clear();
        for (i, id) in ids.iter().enumerate().filter(|(_, id)| (**id as usize) < d) {
            buffer.ids.push(*id);
            buffer.values.push(values.map_or(1.0, |v| v[i]));
        }
        &buffer.ids
    };
    to_unit_length(&mut buffer.values);
    (ids, &buffer.values)
}

/// All rows, divided.
pub(crate) fn unit_rows(x: CsrRef<'_>, d: usize) -> Csr {
    let (mut divided, mut buffer) = (Csr::new(false), RowBuffer::default());
    for i in 0..x.rows() {
        let (ids, values) = x.row(i);
        let (ids, values) = unit_row(ids, values, d, &mut buffer);
        ids.iter().zip(values).for_each(|(id, value)| divided.push(*id, *value));
        divided.end_row();
    }
    divided
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_features_have_length_one() {
        let mut buffer = RowBuffer::default();
        assert_eq!(unit_row(&[0, 2], Some(&[3.0, -4.0]), 3, &mut buffer), (&[0, 2][..], &[0.6, -0.8][..]));
        assert_eq!(unit_row(&[0, 2, 3, 9], None, 3, &mut buffer).0, [0, 2]);
        assert_eq!(unit_row(&[1, 5], Some(&[2.0, 7.0]), 3, &mut buffer), (&[1][..], &[1.0][..]));
        assert_eq!(unit_row(&[1], Some(&[0.0]), 3, &mut buffer), (&[1][..], &[0.0][..]));
        assert_eq!(unit_row(&[1], Some(&[1e38]), 3, &mut buffer), (&[1][..], &[1.0][..]));
        assert!(unit_row(&[], None, 3, &mut buffer).0.is_empty());
    }
}
