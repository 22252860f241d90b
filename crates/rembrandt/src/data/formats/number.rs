//! Numbers in text: ids, and values as the standard library reads them.

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

/// The finite number at the start of `text` and its length.
#[inline]
pub(super) fn float_prefix(text: &[u8]) -> Option<(f32, usize)> {
    fast_float2::parse_partial(text).ok().filter(|(value, _): &(f32, usize)| value.is_finite())
}

/// A whole token as a number; `None` when it is not one. Overflow gives an infinity.
pub(super) fn float(token: &str) -> Option<f32> {
    fast_float2::parse(token).ok()
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
    fn numbers_end_where_something_else_begins() {
        for (text, found) in
            [("0.25 7:1", Some((0.25, 4))), ("-1e-05\t", Some((-1e-5, 6))), ("inf", None), ("nan 1", None)]
        {
            assert_eq!(float_prefix(text.as_bytes()), found, "{text}");
        }
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
