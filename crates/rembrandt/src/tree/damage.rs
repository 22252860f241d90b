//! Arrays with something wrong in them, for tests: whatever a file holds, no classifier may panic or hang.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::{Array, Arrays};

/// Tries `times` kinds of damage: an array cut short, made longer or left out, a number changed. `opens` says whether what
/// became of the arrays was accepted. Returns how many were refused.
pub(super) fn each(arrays: &Arrays<'_>, times: u64, mut opens: impl FnMut(&Arrays<'_>) -> bool) -> usize {
    assert!(opens(arrays), "what is whole is accepted");
    (0..times).filter(|seed| !opens(&damaged(arrays.clone(), *seed))).count()
}

fn damaged(mut arrays: Arrays<'_>, seed: u64) -> Arrays<'_> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut below = |end: usize| rng.next_u32() as usize % end.max(1);
    let which = below(arrays.len());
    let odd = [0, 1, 2, 3, u32::MAX, u32::MAX - 1, 1 << 31][below(7)];
    let (kind, at) = (below(5), below(usize::MAX));
    match &mut arrays[which].1 {
        Array::U32(numbers) => change(numbers.to_mut(), kind, at, odd, |v| v.wrapping_add(odd)),
        Array::F32(numbers) => change(numbers.to_mut(), kind, at, f32::from_bits(odd), |v| v * -3.0),
    }
    if kind == 4 {
        arrays.remove(which);
    }
    arrays
}

fn change<T: Copy>(numbers: &mut Vec<T>, kind: usize, at: usize, odd: T, moved: impl Fn(T) -> T) {
    let at = at % numbers.len().max(1);
    match (kind, numbers.get_mut(at)) {
        (0, _) => numbers.truncate(at),
        (1, _) => numbers.push(odd),
        (2, Some(number)) => *number = odd,
        (3, Some(number)) => *number = moved(*number),
        _ => {}
    }
}
