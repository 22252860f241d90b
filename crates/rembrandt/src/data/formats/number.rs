//! Numbers, fast: most values in data files have few digits and need only one division.

/// Powers of ten that a 64-bit float holds exactly.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
];

/// The digits at the start of `text`: their value, and how many they are. Beyond 19 of them the value means nothing.
#[inline(always)]
pub(super) fn digits(text: &[u8]) -> (u64, usize) {
    let mut value = 0u64;
    for (i, byte) in text.iter().enumerate() {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return (value, i);
        }
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
    }
    (value, text.len())
}

/// The number at the start of `text` and its length, or `None` when it takes more than the short way to read it.
///
/// A mantissa below 2⁵³ and a power of ten up to 10²² are exact in 64 bits, so one operation gives the nearest 64-bit
/// number. Rounding that once more to 32 bits is right unless it fell on the middle between two 32-bit numbers, which
/// is left to [`float`]. Within these bounds nothing overflows or becomes subnormal.
#[inline(always)]
pub(super) fn plain_float(text: &[u8]) -> Option<(f32, usize)> {
    let negative = text.first() == Some(&b'-');
    let mut at = usize::from(negative);
    let (mut mantissa, mut count) = digits(&text[at..]);
    at += count;
    let mut power = 0i64;
    if text.get(at) == Some(&b'.') {
        let (fraction, length) = digits(&text[at + 1..]);
        if count + length > 19 {
            return None;
        }
        mantissa = mantissa.wrapping_mul(10u64.pow(length as u32)).wrapping_add(fraction);
        at += 1 + length;
        count += length;
        power = -(length as i64);
    }
    if count == 0 || count > 19 || mantissa > 1 << 53 {
        return None;
    }
    if let Some(b'e' | b'E') = text.get(at) {
        let minus = text.get(at + 1) == Some(&b'-');
        at += 1 + usize::from(minus);
        let (exponent, length) = digits(&text[at..]);
        if length == 0 || length > 3 {
            return None;
        }
        at += length;
        power += if minus { -(exponent as i64) } else { exponent as i64 };
    }
    let scale = *POWERS.get(power.unsigned_abs() as usize)?;
    let wide = if power < 0 { mantissa as f64 / scale } else { mantissa as f64 * scale };
    if wide.to_bits() & 0x1fff_ffff == 0x1000_0000 {
        return None;
    }
    let value = wide as f32;
    Some((if negative { -value } else { value }, at))
}

/// A whole token as a number; `None` when it is not one. Overflow gives an infinity, as the standard library has it.
pub(super) fn float(token: &str) -> Option<f32> {
    match plain_float(token.as_bytes()) {
        Some((value, length)) if length == token.len() => Some(value),
        _ => token.parse().ok(),
    }
}

/// Whether a token is meant as a number of a label or feature, if perhaps a wrong one: digits, maybe negative.
pub(super) fn looks_like_id(token: &str) -> bool {
    let digits = token.strip_prefix('-').unwrap_or(token);
    !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn same(text: &str) {
        let (ours, theirs) = (float(text), text.parse::<f32>().ok());
        assert_eq!(ours.map(f32::to_bits), theirs.map(f32::to_bits), "{text}: {ours:?} is not {theirs:?}");
    }

    #[test]
    fn awkward_numbers() {
        for text in [
            "",
            ".",
            "-",
            "+",
            "e5",
            "1e",
            "1e+",
            "1e-",
            "1.",
            ".5",
            "-.5",
            "+1",
            "1e5",
            "1E+5",
            "1e-05",
            "00012.50",
            "-0",
            "0.0",
            "1e39",
            "3.4028235e38",
            "3.4028236e38",
            "1e-46",
            "1.4e-45",
            "7e-46",
            "1e-400",
            "1e400",
            "nan",
            "inf",
            "-inf",
            "infinity",
            "0x1",
            "1_0",
            "16777217",
            "16777217.0",
            "16777219",
            "9007199254740993",
            "0.12345678901234567",
            "12345678901234567890",
            "99999999999999999999.5",
            "1.00000005960464477539",
            "1.000000059604644775390625",
            "1.0000000596046448",
            "8388608.5",
            "8388609.5",
            "1e22",
            "1e23",
            "9e22",
        ] {
            same(text);
        }
    }

    #[test]
    fn plain_numbers_take_the_short_way() {
        for text in ["0.037", "1", "-2.5", "1e-05", "0.12345678"] {
            assert_eq!(plain_float(text.as_bytes()), Some((text.parse().unwrap(), text.len())), "{text}");
        }
        assert_eq!(plain_float(b"0.25 7:1"), Some((0.25, 4)));
    }

    proptest! {
        #[test]
        fn floats_are_those_of_the_standard_library(text in "[-+]?[0-9]{0,22}(\\.[0-9]{0,22})?([eE][-+]?[0-9]{0,4})?") {
            same(&text);
        }

        #[test]
        fn short_floats_are_those_of_the_standard_library(text in "-?[0-9]{1,9}(\\.[0-9]{0,9})?(e-?[0-9]{1,2})?") {
            same(&text);
        }

        #[test]
        fn shortest_forms_come_back(bits in any::<u32>()) {
            let value = f32::from_bits(bits);
            if value.is_finite() {
                prop_assert_eq!(float(&value.to_string()).map(f32::to_bits), Some(bits));
                prop_assert_eq!(float(&format!("{value:e}")).map(f32::to_bits), Some(bits));
            }
        }

        #[test]
        fn middles_between_two_floats(bits in 0x0080_0000u32..0x7f00_0000, nudge in -1i64..=1) {
            let middle = (f64::from(f32::from_bits(bits)) + f64::from(f32::from_bits(bits + 1))) / 2.0;
            let near = f64::from_bits((middle.to_bits() as i64 + nudge) as u64);
            same(&near.to_string());
            same(&format!("{near:.17e}"));
        }

        #[test]
        fn anything_else_is_refused_alike(text in ".{0,12}") {
            same(&text);
        }
    }
}
