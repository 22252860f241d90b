//! Which numbers of a row are among the largest: a first look, so that few of them need a second one.

use super::simd::{Level, Work};

/// Numbers looked at side by side.
const LANES: usize = 16;

/// Writes down, ascending, the places of numbers that are at most `margin` below the largest, and returns how many there
/// are; absent where there is no such number, or the margin leaves nothing out.
///
/// The rest of `places` means nothing.
pub(crate) fn near_largest(x: &[f32], margin: f32, places: &mut Vec<u32>) -> Option<usize> {
    let mut found = None;
    make_room(x.len(), places);
    Level::best().run(NearLargest { x, margin, places, found: &mut found });
    found
}

/// Writes down, ascending, the places of the `count` largest numbers and of a few others, and returns how many places that
/// are; absent where that cannot be told, as for more than sixteen.
///
/// The rest of `places` means nothing.
pub(crate) fn among_largest(x: &[f32], count: usize, places: &mut Vec<u32>) -> Option<usize> {
    let mut found = None;
    make_room(x.len(), places);
    if (1..=LANES).contains(&count) {
        Level::best().run(AmongLargest { x, count, places, found: &mut found });
    }
    found
}

/// Room for a place that is written down before it is known to count.
fn make_room(len: usize, places: &mut Vec<u32>) {
    u32::try_from(len).expect("there are fewer than 2³² numbers");
    if places.len() <= len {
        places.resize(len + 1, 0);
    }
}

/// The largest of every sixteenth number, beginning with each of the first sixteen.
#[inline(always)]
pub(super) fn lanes(x: &[f32]) -> [f32; LANES] {
    let mut most = [f32::NEG_INFINITY; LANES];
    let (chunks, rest) = x.as_chunks::<LANES>();
    for chunk in chunks {
        for (most, x) in most.iter_mut().zip(chunk) {
            *most = if *x > *most { *x } else { *most };
        }
    }
    for (most, x) in most.iter_mut().zip(rest) {
        *most = if *x > *most { *x } else { *most };
    }
    most
}

/// The largest of the sixteen, by halving. Loops of known length, which need no memory.
#[inline(always)]
pub(super) fn largest_lane(mut most: [f32; LANES]) -> f32 {
    macro_rules! halve {
        ($($half:literal)*) => {$(
            for i in 0..$half {
                most[i] = if most[i + $half] > most[i] { most[i + $half] } else { most[i] };
            }
        )*};
    }
    halve!(8 4 2 1);
    most[0]
}

struct NearLargest<'a> {
    x: &'a [f32],
    margin: f32,
    places: &'a mut [u32],
    found: &'a mut Option<usize>,
}

impl Work for NearLargest<'_> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let bar = largest_lane(lanes(self.x)) - self.margin;
        // Without a number, or with one beyond all bounds, there is nothing to compare with.
        if bar > f32::NEG_INFINITY {
            *self.found = Some(at_least(self.x, bar, self.places)).filter(|count| *count > 0);
        }
    }
}

struct AmongLargest<'a> {
    x: &'a [f32],
    count: usize,
    places: &'a mut [u32],
    found: &'a mut Option<usize>,
}

impl Work for AmongLargest<'_> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        // Each of these is another one of the numbers, so enough of them reach the last of their own best.
        let most = lanes(self.x);
        let mut larger = [0u32; LANES];
        for other in most {
            for (larger, lane) in larger.iter_mut().zip(most) {
                *larger += u32::from(other > lane);
            }
        }
        // The least of the best is the largest of the negated ones.
        let mut negated = [f32::NEG_INFINITY; LANES];
        for i in 0..LANES {
            negated[i] = if larger[i] < self.count as u32 { -most[i] } else { f32::NEG_INFINITY };
        }
        let bar = -largest_lane(negated);
        if bar > f32::NEG_INFINITY {
            *self.found = Some(at_least(self.x, bar, self.places));
        }
    }
}

/// Writes down, ascending, which numbers are `bar` or more, and returns how many are.
#[inline(always)]
fn at_least(x: &[f32], bar: f32, places: &mut [u32]) -> usize {
    let (chunks, rest) = x.as_chunks::<LANES>();
    let mut count = 0;
    for (i, chunk) in chunks.iter().enumerate() {
        // All together first, without a branch for each: most chunks have none.
        let mut any = false;
        for x in chunk {
            any |= *x >= bar;
        }
        if any {
            count = note(chunk, bar, i * LANES, places, count);
        }
    }
    note(rest, bar, chunks.len() * LANES, places, count)
}

/// Writes down which numbers reach the bar, behind the first `count` places. No branch depends on the numbers, for none
/// could be foreseen.
#[inline(always)]
fn note(x: &[f32], bar: f32, from: usize, places: &mut [u32], mut count: usize) -> usize {
    for (i, x) in x.iter().enumerate() {
        places[count] = (from + i) as u32;
        count += usize::from(*x >= bar);
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_are_all_found_and_few_others() {
        for len in [0, 1, 5, 16, 17, 64, 100, 1000] {
            let mut x: Vec<f32> = (0..len).map(|i| (i * 37 % 1009) as f32 - 500.0).collect();
            x.extend([f32::NAN, f32::NEG_INFINITY]);
            let mut sorted: Vec<f32> = x.iter().copied().filter(|x| !x.is_nan()).collect();
            sorted.sort_by(|a, b| b.total_cmp(a));
            let expected = |bar: f32| (0..x.len() as u32).filter(|i| x[*i as usize] >= bar).collect::<Vec<_>>();
            let mut places = vec![9];
            for margin in [0.0, 1.0, 100.0] {
                match near_largest(&x, margin, &mut places) {
                    Some(count) => assert_eq!(places[..count], expected(sorted[0] - margin)),
                    None => assert_eq!(len, 0),
                }
            }
            assert_eq!(near_largest(&x, f32::INFINITY, &mut places), None);
            for count in [1, 3, 5, 16] {
                match among_largest(&x, count, &mut places) {
                    Some(found) => {
                        let least = places[..found].iter().map(|i| x[*i as usize]).fold(f32::INFINITY, f32::min);
                        assert!(found >= count && least <= sorted[count - 1]);
                        assert_eq!(places[..found], expected(least));
                        assert!(found <= 8 * count, "{found} for {count} of {len}");
                    }
                    None => assert!(len < 16),
                }
            }
            assert!(among_largest(&x, 0, &mut places).is_none() && among_largest(&x, 17, &mut places).is_none());
        }
        assert_eq!(near_largest(&[f32::INFINITY, 1.0], 2.0, &mut Vec::new()), Some(1));
    }
}
