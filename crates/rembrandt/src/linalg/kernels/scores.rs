//! Scores of the columns of small tables for one sparse row: what the nodes of a tree are chosen by.
//!
//! A table has a row for each input and, last, one of constants. Its rows may be padded. A score is summed in an order
//! that depends on the stride of its table alone, so it is the same whatever tables stand beside it.

use super::simd::{Level, Work};

/// Columns that are summed at a time at most: with fewer, several sums of each run side by side, so that a
/// multiply-add need not wait for the one before.
const WIDEST: usize = 64;
/// Numbers of a cache line.
const LINE: usize = 16;

/// Where a table begins among the numbers of all tables, and how far its rows are apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub start: usize,
    pub stride: usize,
}

/// How far apart rows of so many columns should be: narrow ones never lie across the end of a cache line, and wide ones
/// begin with one, if the tables do.
pub(crate) fn stride(columns: usize) -> usize {
    if columns < LINE { columns.next_power_of_two() } else { columns.next_multiple_of(LINE) }
}

/// Writes the scores of all columns of all tables into `out`, padding included, one table after the other. Tables have
/// `width` rows; `ids` and `values` are the inputs that are not 0, all of them before the last row.
///
/// # Panics
/// If a table ends beyond the numbers, or an input has no row.
pub(crate) fn write_scores(
    (ids, values): (&[u32], &[f32]),
    numbers: &[f32],
    width: usize,
    places: &[Place],
    out: &mut Vec<f32>,
) {
    assert_eq!(ids.len(), values.len(), "a value for each input");
    // Existing entries are overwritten; only new ones must be made.
    out.resize(places.iter().map(|place| place.stride).sum(), 0.0);
    Level::best().run(ScoreKernel { ids, values, numbers, width, places, out });
}

struct ScoreKernel<'a> {
    ids: &'a [u32],
    values: &'a [f32],
    numbers: &'a [f32],
    width: usize,
    places: &'a [Place],
    out: &'a mut [f32],
}

impl Work for ScoreKernel<'_> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let mut out = self.out;
        for place in self.places {
            let table = &self.numbers[place.start..place.start + self.width * place.stride];
            let (scores, rest) = std::mem::take(&mut out).split_at_mut(place.stride);
            out = rest;
            let mut from = 0;
            while place.stride - from >= WIDEST {
                columns::<WIDEST, 1, FMA>(self.ids, self.values, table, from, scores);
                from += WIDEST;
            }
            macro_rules! rest {
                ($($width:literal x $sums:literal)*) => {$(
                    if place.stride - from >= $width {
                        columns::<$width, $sums, FMA>(self.ids, self.values, table, from, scores);
                        from += $width;
                    }
                )*};
            }
            rest!(32 x 2 16 x 4 8 x 4 4 x 4 2 x 4 1 x 4);
            debug_assert_eq!(from, place.stride);
        }
    }
}

/// The scores of `W` columns from `from` on, as `N` sums each that are added up at the end.
#[inline(always)]
fn columns<const W: usize, const N: usize, const FMA: bool>(
    ids: &[u32],
    values: &[f32],
    table: &[f32],
    from: usize,
    scores: &mut [f32],
) {
    let stride = scores.len();
    let mut sums = [[0.0; W]; N];
    sums[0] = *row(table, table.len() - stride + from);
    let (ids, last_ids) = ids.as_chunks::<N>();
    let (values, last_values) = values.as_chunks::<N>();
    for (ids, values) in ids.iter().zip(values) {
        for n in 0..N {
            add::<W, FMA>(&mut sums[n], values[n], row(table, ids[n] as usize * stride + from));
        }
    }
    for (id, value) in last_ids.iter().zip(last_values) {
        add::<W, FMA>(&mut sums[0], *value, row(table, *id as usize * stride + from));
    }
    let mut total = sums[0];
    for other in &sums[1..] {
        total.iter_mut().zip(other).for_each(|(t, o)| *t += o);
    }
    scores[from..from + W].copy_from_slice(&total);
}

#[inline(always)]
fn row<const W: usize>(table: &[f32], start: usize) -> &[f32; W] {
    table[start..start + W].try_into().expect("W long")
}

#[inline(always)]
fn add<const W: usize, const FMA: bool>(sum: &mut [f32; W], value: f32, row: &[f32; W]) {
    for (s, w) in sum.iter_mut().zip(row) {
        *s = if FMA { value.mul_add(*w, *s) } else { *s + value * w };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_are_right_alone_and_among_others() {
        let (width, ids) = (12, [0u32, 2, 3, 5, 8, 9, 10]);
        let values: Vec<f32> = ids.iter().map(|id| *id as f32 * 0.25 - 1.0).collect();
        let strides: Vec<usize> = [1, 2, 3, 5, 16, 17, 70, 130].map(stride).into();
        assert_eq!(strides, [1, 2, 4, 8, 16, 32, 80, 144]);
        let mut places = Vec::new();
        let mut end = 0;
        for stride in strides {
            places.push(Place { start: end, stride });
            end += width * stride;
        }
        let numbers: Vec<f32> = (0..end).map(|i| (i * 37 % 101) as f32 / 50.0 - 1.0).collect();
        for count in 0..=ids.len() {
            let input = (&ids[..count], &values[..count]);
            let mut all = vec![7.0; 3];
            write_scores(input, &numbers, width, &places, &mut all);
            let mut from = 0;
            for place in &places {
                let mut alone = Vec::new();
                write_scores(input, &numbers, width, &[*place], &mut alone);
                assert_eq!(alone, all[from..from + place.stride]);
                for (column, score) in alone.iter().enumerate() {
                    let at = |row: usize| f64::from(numbers[place.start + row * place.stride + column]);
                    let terms = input.0.iter().zip(input.1).map(|(id, v)| at(*id as usize) * f64::from(*v));
                    let exact: f64 = at(width - 1) + terms.sum::<f64>();
                    assert!((exact - f64::from(*score)).abs() < 1e-5, "{score} for {exact}");
                }
                from += place.stride;
            }
            assert_eq!(from, all.len());
        }
    }

    #[test]
    fn wider_instructions_give_the_same_bits() {
        let (ids, values): (Vec<u32>, Vec<f32>) = (0..9).map(|i| (i, 0.3 + i as f32 * 0.17)).unzip();
        let places = [Place { start: 0, stride: 16 }, Place { start: 160, stride: 128 }];
        let numbers: Vec<f32> = (0..1440).map(|i| (i * 53 % 211) as f32 / 97.0 - 1.0).collect();
        let with = |level: Level| {
            let mut out = vec![0.0; 144];
            level.run(ScoreKernel {
                ids: &ids,
                values: &values,
                numbers: &numbers,
                width: 10,
                places: &places,
                out: &mut out,
            });
            out
        };
        let found: Vec<Vec<f32>> = Level::fused().into_iter().map(with).collect();
        assert!(found.windows(2).all(|pair| pair[0] == pair[1]));
    }
}
