//! [`PackedMatrix`]: sparse rows, in two or three bytes an entry.
//!
//! An entry is the distance of its column from that of the entry before it, and a weight of eight bits in units of its
//! row. Distances take one byte or two, whichever makes the matrix smaller; one that is too long for that is divided among
//! fillers, which are entries of weight 0. So a row is read from its beginning, without a branch, where it lies in a file.

use rayon::prelude::*;

use crate::linalg::buffer::Buffer;

/// The largest weight, in units of its row.
const LARGEST: f32 = 127.0;
/// Rows that one task checks.
const ROWS: usize = 1 << 10;
/// Sums side by side: they hide how long an addition takes.
const LANES: usize = 4;

/// Sparse rows of small weights.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PackedMatrix {
    /// Where each row begins, and the end.
    pub starts: Buffer<u32>,
    /// Distances between columns.
    pub gaps: Gaps,
    /// Weights, in units.
    pub weights: Buffer<i8>,
    /// The unit of each row.
    pub units: Buffer<f32>,
}

/// Distances between the columns of a row; the first is that from column 0.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Gaps {
    /// Of up to 255.
    Narrow(Buffer<u8>),
    /// Of up to 65,535.
    Wide(Buffer<u16>),
}

/// A distance as stored.
trait Gap: Copy + Send + Sync {
    const MOST: u32;
    fn get(self) -> u32;
    fn new(gap: u32) -> Self;
}

impl Gap for u8 {
    const MOST: u32 = u8::MAX as u32;

    fn get(self) -> u32 {
        self.into()
    }

    fn new(gap: u32) -> u8 {
        gap as u8
    }
}

impl Gap for u16 {
    const MOST: u32 = u16::MAX as u32;

    fn get(self) -> u32 {
        self.into()
    }

    fn new(gap: u32) -> u16 {
        gap as u16
    }
}

/// Does the same with either kind of distances.
macro_rules! with_gaps {
    ($self:expr, $gaps:ident => $body:expr) => {
        match &$self.gaps {
            Gaps::Narrow($gaps) => $body,
            Gaps::Wide($gaps) => $body,
        }
    };
}

impl Gaps {
    fn len(&self) -> usize {
        match self {
            Gaps::Narrow(gaps) => gaps.len(),
            Gaps::Wide(gaps) => gaps.len(),
        }
    }
}

/// An entry as it is stored: its column, and its weight in units.
type Quantized = (u32, i8);

impl PackedMatrix {
    /// A matrix of rows of columns, ascending, with finite weights. Those that are nothing in units of their row are left
    /// out. Nothing if there are 2³² entries or more.
    pub fn new(rows: &[Vec<(u32, f32)>]) -> Option<PackedMatrix> {
        let quantized: Vec<(f32, Vec<Quantized>)> = rows.par_iter().map(|row| quantize(row)).collect();
        let (narrow, wide) = (stored::<u8>(&quantized), stored::<u16>(&quantized));
        let few = 2 * narrow <= 3 * wide;
        if u32::try_from(if few { narrow } else { wide }).is_err() {
            return None;
        }
        let units: Buffer<f32> = quantized.iter().map(|(unit, _)| *unit).collect::<Vec<f32>>().into();
        let (starts, gaps, weights) = match few {
            true => {
                let (starts, gaps, weights) = pack::<u8>(&quantized);
                (starts, Gaps::Narrow(gaps.into()), weights)
            }
            false => {
                let (starts, gaps, weights) = pack::<u16>(&quantized);
                (starts, Gaps::Wide(gaps.into()), weights)
            }
        };
        Some(PackedMatrix { starts: starts.into(), gaps, weights: weights.into(), units })
    }

    /// A matrix of so many rows without entries.
    pub fn empty(rows: usize) -> PackedMatrix {
        PackedMatrix::new(&vec![Vec::new(); rows]).expect("no entries are few enough")
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.units.len()
    }

    /// Number of entries, with fillers.
    pub fn len(&self) -> usize {
        self.weights.len()
    }

    fn places(&self, row: usize) -> std::ops::Range<usize> {
        self.starts[row] as usize..self.starts[row + 1] as usize
    }

    /// Calls `take` with the columns of a row, ascending, and the weights; fillers are among them, with a weight of 0.
    #[inline(always)]
    pub fn for_each(&self, row: usize, mut take: impl FnMut(u32, f32)) {
        let (places, unit) = (self.places(row), self.units[row]);
        with_gaps!(self, gaps => {
            let mut column = 0;
            for (gap, weight) in gaps[places.clone()].iter().zip(&self.weights[places]) {
                column += gap.get();
                take(column, unit * f32::from(*weight));
            }
        });
    }

    /// Its rows, to make another matrix of.
    pub fn to_rows(&self) -> Vec<Vec<(u32, f32)>> {
        let list = |row| {
            let mut list = Vec::new();
            self.for_each(row, |column, weight| list.extend((weight != 0.0).then_some((column, weight))));
            list
        };
        (0..self.rows()).map(list).collect()
    }

    /// The inner product of a row and a vector with a place for every column.
    pub fn dot(&self, row: usize, x: &[f32]) -> f32 {
        let places = self.places(row);
        with_gaps!(self, gaps => self.units[row] * dot(&gaps[places.clone()], &self.weights[places], x))
    }

    /// The weight in a row and a column.
    pub fn weight(&self, row: usize, column: u32) -> f32 {
        let mut found = 0.0;
        self.for_each(row, |other, weight| found += if other == column { weight } else { 0.0 });
        found
    }

    /// Checks a matrix from a file, for so many rows and columns.
    pub fn check(&self, rows: usize, columns: usize) -> Result<(), &'static str> {
        let ends = (self.starts.first(), self.starts.last().map(|end| *end as usize));
        if self.starts.len() != rows + 1 || self.rows() != rows || ends != (Some(&0), Some(self.len())) {
            return Err("its ranker does not fit its features or labels");
        }
        if !self.starts.is_sorted() || self.gaps.len() != self.len() {
            return Err("its ranker contradicts itself");
        }
        let far = |row: usize| {
            let places = self.places(row);
            let last: u64 = with_gaps!(self, gaps => gaps[places].iter().map(|gap| u64::from(gap.get())).sum());
            last > 0 && last >= columns as u64
        };
        if (0..rows).into_par_iter().with_min_len(ROWS).any(far) || (columns == 0 && self.len() > 0) {
            return Err("its ranker names features or labels that it does not have");
        }
        if self.units.iter().any(|unit| !unit.is_finite()) {
            return Err("its ranker holds numbers that are not finite");
        }
        Ok(())
    }
}

/// Σ wⱼ xⱼ, in units.
#[inline(always)]
fn dot<G: Gap>(gaps: &[G], weights: &[i8], x: &[f32]) -> f32 {
    let (mut sums, mut column) = ([0f32; LANES], 0);
    let (whole, rest) = gaps.as_chunks::<LANES>();
    let (whole_weights, rest_weights) = weights.as_chunks::<LANES>();
    for (gaps, weights) in whole.iter().zip(whole_weights) {
        for j in 0..LANES {
            column += gaps[j].get();
            sums[j] += f32::from(weights[j]) * x[column as usize];
        }
    }
    for ((gap, weight), sum) in rest.iter().zip(rest_weights).zip(&mut sums) {
        column += gap.get();
        *sum += f32::from(*weight) * x[column as usize];
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3])
}

/// The unit of a row, and its entries in units.
fn quantize(row: &[(u32, f32)]) -> (f32, Vec<Quantized>) {
    let largest = row.iter().fold(0f32, |largest, (_, weight)| largest.max(weight.abs()));
    let unit = largest / LARGEST;
    let in_units = |weight: f32| if unit > 0.0 { (weight / unit).round().clamp(-LARGEST, LARGEST) as i8 } else { 0 };
    let entries = row.iter().map(|(column, weight)| (*column, in_units(*weight)));
    (unit, entries.filter(|(_, weight)| *weight != 0).collect())
}

/// Entries that are stored, with fillers.
fn stored<G: Gap>(rows: &[(f32, Vec<Quantized>)]) -> usize {
    let of_row = |row: &[Quantized]| {
        let mut last = 0;
        let places = |(column, _): &Quantized| {
            1 + ((column - std::mem::replace(&mut last, *column)).saturating_sub(1) / G::MOST) as usize
        };
        row.iter().map(places).sum::<usize>()
    };
    rows.iter().map(|(_, row)| of_row(row)).sum()
}

fn pack<G: Gap>(rows: &[(f32, Vec<Quantized>)]) -> (Vec<u32>, Vec<G>, Vec<i8>) {
    let all = stored::<G>(rows);
    let (mut gaps, mut weights) = (Vec::with_capacity(all), Vec::with_capacity(all));
    let mut starts = vec![0];
    for (_, row) in rows {
        let mut last = 0;
        for (column, weight) in row {
            let mut gap = column - last;
            while gap > G::MOST {
                gaps.push(G::new(G::MOST));
                weights.push(0);
                gap -= G::MOST;
            }
            gaps.push(G::new(gap));
            weights.push(*weight);
            last = *column;
        }
        starts.push(gaps.len() as u32);
    }
    (starts, gaps, weights)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(distance: u32) -> Vec<Vec<(u32, f32)>> {
        let weight = |i: u32| ((i * 7919 % 1009) as f32 / 500.0 - 1.0) * (1 + i % 3) as f32;
        let row = |r: u32| (0..r % 13).map(move |j| (j * distance + (j * r) % distance.max(1), weight(r * 31 + j)));
        (0..60).map(|r| row(r).collect()).collect()
    }

    #[test]
    fn entries_come_back_in_units_of_their_row() {
        // Distances within a byte, some a little above, most above, and far beyond two.
        for distance in [3, 150, 300, 70_000] {
            let rows = rows(distance);
            let columns = 13 * distance as usize + 13;
            let packed = PackedMatrix::new(&rows).unwrap();
            packed.check(60, columns).unwrap();
            assert_eq!(matches!(packed.gaps, Gaps::Narrow(_)), distance <= 150, "{distance}");
            let x: Vec<f32> = (0..columns).map(|j| (j % 17) as f32 / 17.0 - 0.4).collect();
            for (r, row) in rows.iter().enumerate() {
                let largest = row.iter().fold(0f32, |m, (_, w)| m.max(w.abs()));
                let mut sum = 0.0;
                for (column, weight) in row {
                    let found = packed.weight(r, *column);
                    assert!((found - weight).abs() <= largest / 250.0, "{distance} {r}: {found} for {weight}");
                    sum += found * x[*column as usize];
                }
                assert!((packed.dot(r, &x) - sum).abs() < 1e-4);
                assert_eq!(packed.weight(r, columns as u32 - 1), 0.0);
                let mut sum = 0.0;
                packed.for_each(r, |column, weight| sum += weight * x[column as usize]);
                assert!((packed.dot(r, &x) - sum).abs() < 1e-4);
            }
        }
        assert_eq!(PackedMatrix::empty(3).len(), 0);
        PackedMatrix::empty(3).check(3, 0).unwrap();
    }

    #[test]
    fn what_leads_beyond_the_columns_is_refused() {
        let packed = PackedMatrix::new(&rows(3)).unwrap();
        for (rows, columns) in [(59, 100), (61, 100), (60, 20)] {
            assert!(packed.check(rows, columns).is_err(), "{rows} {columns}");
        }
        let swapped =
            PackedMatrix { starts: packed.starts.iter().rev().copied().collect::<Vec<u32>>().into(), ..packed.clone() };
        assert!(swapped.check(60, 100).is_err());
        let units = PackedMatrix { units: vec![f32::NAN; 60].into(), ..packed };
        assert!(units.check(60, 100).is_err());
    }
}
