//! [`Dataset::from_distinct`]: examples as a weighted set.
//!
//! Sums over examples do not care whether an example of weight 2 is written once or twice, or where it stands; what is drawn
//! from examples by their number, such as those that are held out, does, and so does rounding. Here equal examples become one,
//! whose weight is the sum of theirs, and the order of examples is that of a hash of their content. So whatever is trained
//! on them depends on the weighted set alone, to the last bit, and no copy of a held-out example is learned from.

use std::cmp::Ordering;

use rayon::prelude::*;
use xxhash_rust::xxh3::Xxh3;

use super::chunk::{CHUNK_ROWS, ChunkBuilder};
use super::names::Names;
use super::{Dataset, Rows, Shape};
use crate::linalg::csr::CsrRef;
use crate::{Error, Result};

impl Dataset {
    /// Data from sparse matrices, as by [`from_csr`](Dataset::from_csr), in which the order of the rows has no meaning and an
    /// example given twice is one of twice the weight. Examples of weight 0 and entries of value 0 are left out.
    ///
    /// ```
    /// use rembrandt::data::Dataset;
    /// use rembrandt::linalg::csr::CsrRef;
    ///
    /// let ids = |ids| CsrRef { ptr: &[0, 1, 2, 3], ids, values: None };
    /// let twice = Dataset::from_distinct(ids(&[4, 1, 4]), 5, ids(&[0, 1, 0]), 2, None)?;
    /// let weighted = Dataset::from_distinct(ids(&[1, 3, 4]), 5, ids(&[1, 1, 0]), 2, Some(&[1.0, 0.0, 2.0]))?;
    /// assert_eq!(twice.fingerprint(), weighted.fingerprint());
    /// # Ok::<(), rembrandt::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`from_csr`](Dataset::from_csr), and if no example has a weight above 0.
    pub fn from_distinct(x: CsrRef<'_>, d: usize, y: CsrRef<'_>, c: usize, weights: Option<&[f32]>) -> Result<Dataset> {
        Dataset::check_csr((x, y, weights), d, c)?;
        let weight = |i: u32| weights.map_or(1.0, |weights| weights[i as usize]);
        let n = u32::try_from(x.rows()).map_err(|_| Error::Data("2³² examples or more are too many".into()))?;
        let example = |i: u32| Example { x, y, i: i as usize };
        let counted: Vec<u32> = (0..n).filter(|i| weight(*i) > 0.0).collect();
        if counted.is_empty() && n > 0 {
            return Err(Error::Data("every example has weight zero: there is nothing to learn from".into()));
        }
        let mut order: Vec<(u64, u32)> = counted.into_par_iter().map(|i| (example(i).hash(), i)).collect();
        order.par_sort_unstable_by(|(hash, i), (other, j)| {
            hash.cmp(other).then_with(|| example(*i).compare(&example(*j))).then(i.cmp(j))
        });
        let (mut builder, mut blocks, mut rows, mut n) = (ChunkBuilder::new(), Vec::new(), Rows::new(), 0);
        let mut keep = |block| {
            blocks.push(block);
            Ok::<(), Error>(())
        };
        for equal in order.chunk_by(|(hash, i), (other, j)| hash == other && example(*i).compare(&example(*j)).is_eq())
        {
            let total: f64 = equal.iter().map(|(_, i)| f64::from(weight(*i))).sum();
            if !(total as f32).is_finite() {
                return Err(Error::Data("the weights of equal examples add up to more than a number can hold".into()));
            }
            n += 1;
            rows.weights.get_or_insert_default().push(total as f32);
            example(equal[0].1).write(&mut rows);
            if rows.len() == CHUNK_ROWS {
                builder.push(&rows, &mut keep)?;
                rows.clear();
            }
        }
        builder.push(&rows, &mut keep)?;
        builder.finish(&mut keep)?;
        Ok(Dataset::from_blocks(Shape { n, d, c }, blocks, Names::default()))
    }
}

/// A row of both matrices.
struct Example<'a> {
    x: CsrRef<'a>,
    y: CsrRef<'a>,
    i: usize,
}

impl Example<'_> {
    /// Ids and bits of the values that are not 0, features and labels.
    fn content(&self) -> [impl Iterator<Item = (u32, u32)>; 2] {
        [self.x, self.y].map(|side| {
            let entries = side.entries(self.i).filter(|(_, value)| *value != 0.0);
            entries.map(|(id, value)| (id as u32, value.to_bits()))
        })
    }

    fn hash(&self) -> u64 {
        let mut hash = Xxh3::new();
        for (side, content) in self.content().into_iter().enumerate() {
            content.for_each(|(id, bits)| hash.update(bytemuck::cast_slice(&[side as u32, id, bits])));
        }
        hash.digest()
    }

    fn compare(&self, other: &Example<'_>) -> Ordering {
        let ([x, y], [other_x, other_y]) = (self.content(), other.content());
        x.cmp(other_x).then_with(|| y.cmp(other_y))
    }

    fn write(&self, rows: &mut Rows) {
        for (side, to) in self.content().into_iter().zip([&mut rows.x, &mut rows.y]) {
            side.for_each(|(id, bits)| to.push(id, f32::from_bits(bits)));
            to.end_row();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Examples, Side};

    /// Every third example is the same as one before it.
    fn rows(order: impl Iterator<Item = u32>, weighted: bool) -> Rows {
        let mut rows = Rows::new();
        for i in order {
            let kind = if i % 3 == 0 { i / 6 } else { i };
            (0..kind % 5).for_each(|j| rows.x.push(j * 7 + kind % 7, 1.0 + kind as f32));
            rows.x.end_row();
            rows.y.push(kind % 11, 1.0);
            rows.y.end_row();
            if weighted {
                rows.weights.get_or_insert_default().push((kind % 4) as f32);
            }
        }
        rows
    }

    fn distinct(rows: &Rows) -> Dataset {
        Dataset::from_distinct(rows.x.view(), 50, rows.y.view(), 11, rows.weights.as_deref()).unwrap()
    }

    #[test]
    fn neither_order_nor_repetition_matters() {
        let n = 40_000;
        let forward = distinct(&rows(0..n, true));
        assert_eq!(forward.fingerprint(), distinct(&rows((0..n).rev(), true)).fingerprint());
        let repeated = (0..n).flat_map(|i| {
            let kind = if i % 3 == 0 { i / 6 } else { i };
            (0..kind % 4).map(move |_| i)
        });
        let repeated = distinct(&rows(repeated, false));
        assert_eq!(forward.fingerprint(), repeated.fingerprint());
        assert!(forward.chunks() > 1 && forward.shape().n < n as usize);
        let total: f32 = rows(0..n, true).weights.unwrap().iter().sum();
        assert_eq!(forward.weights().unwrap().unwrap().iter().sum::<f32>(), total);
    }

    #[test]
    fn zeros_and_examples_without_weight_are_left_out() {
        let x = CsrRef { ptr: &[0, 2, 3], ids: &[1, 3, 3], values: Some(&[0.0, 2.0, 2.0]) };
        let y = CsrRef { ptr: &[0, 1, 2], ids: &[0, 0], values: None };
        let data = Dataset::from_distinct(x, 4, y, 1, None).unwrap();
        assert_eq!((data.shape().n, data.nnz(Side::X), data.weights().unwrap()), (1, 1, Some(vec![2.0])));
        let message = Dataset::from_distinct(x, 4, y, 1, Some(&[0.0, 0.0])).err().unwrap().to_string();
        assert!(message.starts_with("every example has weight zero"), "{message}");
        assert!(Dataset::from_distinct(x, 3, y, 1, None).is_err());
    }
}
