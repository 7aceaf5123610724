//! Integers as a log holds them: JSON numbers that JavaScript keeps exactly.

use crate::MAX_SAFE_INTEGER;

/// The integer that JSON `text` writes, in whatever form (`3`, `3.0`, `30e-1`, `-0`).
///
/// None where it is no number, has a fraction, or lies outside what JavaScript holds exactly.
pub(crate) fn safe_integer(text: &str) -> Option<i64> {
    let limit = MAX_SAFE_INTEGER as i64;
    let whole = match text.parse::<i64>() {
        Ok(whole) => whole,
        Err(_) => {
            let number: f64 = text.parse().ok()?;
            if number.fract() != 0.0 || number.abs() > limit as f64 {
                return None;
            }
            number as i64
        }
    };
    (-limit..=limit).contains(&whole).then_some(whole)
}

/// The same, for what cannot be negative: places, counts.
pub(crate) fn safe_count(text: &str) -> Option<u64> {
    u64::try_from(safe_integer(text)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_an_integer_reads() {
        for text in ["3", "3.0", "3e0", "0.3e1", "30E-1"] {
            assert_eq!(safe_integer(text), Some(3), "{text}");
        }
        assert_eq!(safe_integer("-0"), Some(0));
        assert_eq!(safe_integer("-0.0"), Some(0));
        assert_eq!(safe_integer("9007199254740991"), Some(9_007_199_254_740_991));
        assert_eq!(safe_count("-3"), None);
    }

    #[test]
    fn what_javascript_rounds_is_no_integer() {
        for text in
            ["3.5", "9007199254740992", "1e400", "-9007199254740992", "\"3\"", "null", "true"]
        {
            assert_eq!(safe_integer(text), None, "{text}");
        }
    }
}
