//! Near duplicates: groups of examples that are nearly the same, so that they can be held out together.
//!
//! Real data repeat themselves: packages built from one source, reports of one event, revisions of one document. An
//! example whose near duplicate was trained on tests nothing, and a head that is trained on such examples trusts its
//! inputs too much.
//!
//! Two examples are near duplicates when the cosine of their features, weighted by inverse document frequency, exceeds
//! one half. Such examples share their heaviest features. So only examples with a heavy feature in common are compared,
//! each with a few of the others. This finds most near duplicates in time linear in the number of examples.

use rayon::prelude::*;

use super::{Dataset, Examples};
use crate::Result;
use crate::linalg::csr::{Csr, CsrRef};

/// Heaviest features of an example, by which candidates are found.
const HEAVIEST: usize = 4;
/// Examples that an example is compared with, of those that share a heavy feature.
const COMPARED: usize = 6;
/// The cosine above which examples are near duplicates.
const NEAR: f64 = 0.5;
/// No group holds a larger share of the examples than one in so many: chains of near duplicates must not swallow a part.
const SHARE: usize = 50;
/// Entries of the features beyond which nothing is compared: every example is then alone.
const MOST_ENTRIES: u64 = 1 << 29;

/// For each example the first one of its group; itself for an example without near duplicates.
pub(crate) fn groups(data: &Dataset) -> Result<Vec<u32>> {
    let n = data.shape().n;
    if data.nnz(super::Side::X) > MOST_ENTRIES || u32::try_from(n).is_err() {
        return Ok((0..n).map(|i| i as u32).collect());
    }
    let x = weighted(data)?;
    let pairs = candidates(x.view(), data.shape().d);
    let near: Vec<(u32, u32)> =
        pairs.into_par_iter().filter(|(a, b)| dot(x.view(), *a as usize, *b as usize) > NEAR).collect();
    let most = (n / SHARE).max(2);
    let mut groups = Groups { parent: (0..n as u32).collect(), size: vec![1; n] };
    near.into_iter().for_each(|(a, b)| groups.join(a, b, most));
    Ok((0..n as u32).map(|i| groups.root(i)).collect())
}

/// The features times ln(n/df), each row of length 1.
fn weighted(data: &Dataset) -> Result<Csr> {
    let x = data.features()?;
    let mut df = vec![0u32; data.shape().d];
    x.view().ids.iter().for_each(|id| df[*id as usize] += 1);
    let n = data.shape().n as f64;
    let mut out = Csr::new(false);
    for i in 0..x.rows() {
        let weigh = |(id, value): (usize, f32)| (id as u32, f64::from(value) * (n / f64::from(df[id])).ln());
        let row: Vec<(u32, f64)> = x.view().entries(i).map(weigh).collect();
        let length = row.iter().map(|(_, v)| v * v).sum::<f64>().sqrt();
        if length > 0.0 {
            row.iter().for_each(|(id, v)| out.push(*id, (v / length) as f32));
        }
        out.end_row();
    }
    Ok(out)
}

/// Pairs worth comparing.
fn candidates(x: CsrRef<'_>, d: usize) -> Vec<(u32, u32)> {
    let heaviest: Vec<Vec<u32>> = (0..x.rows())
        .into_par_iter()
        .map(|i| {
            let mut row: Vec<(usize, f32)> = x.entries(i).collect();
            row.sort_unstable_by(|a, b| b.1.abs().total_cmp(&a.1.abs()).then(a.0.cmp(&b.0)));
            row.iter().take(HEAVIEST).map(|(id, _)| *id as u32).collect()
        })
        .collect();
    // The examples that had the feature last, in a ring.
    let mut recent: Vec<Vec<u32>> = vec![Vec::new(); d];
    let mut pairs = Vec::new();
    for (i, features) in (0u32..).zip(&heaviest) {
        for feature in features {
            let ring = &mut recent[*feature as usize];
            pairs.extend(ring.iter().map(|j| (*j, i)));
            if ring.len() == COMPARED {
                ring.remove(0);
            }
            ring.push(i);
        }
    }
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}

/// The inner product of two rows.
fn dot(x: CsrRef<'_>, a: usize, b: usize) -> f64 {
    let (mut left, mut right) = (x.entries(a).peekable(), x.entries(b).peekable());
    let mut sum = 0.0;
    while let (Some((i, v)), Some((j, w))) = (left.peek(), right.peek()) {
        match i.cmp(j) {
            std::cmp::Ordering::Less => drop(left.next()),
            std::cmp::Ordering::Greater => drop(right.next()),
            std::cmp::Ordering::Equal => {
                sum += f64::from(*v) * f64::from(*w);
                left.next();
                right.next();
            }
        }
    }
    sum
}

/// Union-find whose groups are known by their first member.
struct Groups {
    parent: Vec<u32>,
    size: Vec<u32>,
}

impl Groups {
    fn root(&mut self, mut i: u32) -> u32 {
        while self.parent[i as usize] != i {
            let above = self.parent[self.parent[i as usize] as usize];
            self.parent[i as usize] = above;
            i = above;
        }
        i
    }

    fn join(&mut self, a: u32, b: u32, most: usize) {
        let (a, b) = (self.root(a), self.root(b));
        let size = self.size[a as usize] + self.size[b as usize];
        if a != b && size as usize <= most {
            let (first, second) = (a.min(b), a.max(b));
            self.parent[second as usize] = first;
            self.size[first as usize] = size;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Rows;

    #[test]
    fn copies_are_together_and_others_are_not() {
        let mut rows = Rows::new();
        // Example i has three features of its own group of three examples, one of its own, and one that all have.
        for i in 0..300u32 {
            let group = i % 100;
            [0, 1 + group * 3, 2 + group * 3, 3 + group * 3, 301 + i].iter().for_each(|id| rows.x.push(*id, 1.0));
            rows.x.end_row();
            rows.y.end_row();
        }
        let data = Dataset::from_rows(&rows, 601, 1).unwrap();
        let expected: Vec<u32> = (0..300).map(|i| i % 100).collect();
        assert_eq!(groups(&data).unwrap(), expected);
    }

    #[test]
    fn groups_stay_small() {
        let mut rows = Rows::new();
        for _ in 0..200 {
            rows.x.push(0, 1.0);
            rows.x.push(1, 1.0);
            rows.x.end_row();
            rows.y.end_row();
        }
        rows.x.push(2, 1.0);
        rows.x.end_row();
        rows.y.end_row();
        rows.x.end_row();
        rows.y.end_row();
        let data = Dataset::from_rows(&rows, 3, 1).unwrap();
        let groups = groups(&data).unwrap();
        let largest = (0..202).map(|g| groups.iter().filter(|v| **v == g).count()).max();
        assert!(largest <= Some(4), "{largest:?}");
        assert_eq!((groups[200], groups[201]), (200, 201));
    }
}
