//! Whether two JSON texts say the same.

use std::collections::BTreeMap;

use crate::Raw;

/// Deeper values count as different: an honest rewrite repeats its original's text, and a hostile one must not cost
/// time that grows with the square of its depth.
const DEPTH: usize = 64;

/// Whether both say the same, whatever their spelling and the order of their members; repeated members count once.
pub(crate) fn same(one: Raw<'_>, other: Raw<'_>) -> bool {
    let mut pairs = vec![(one, other, 0)];
    while let Some((one, other, depth)) = pairs.pop() {
        if one.get() == other.get() {
            continue;
        }
        if depth == DEPTH || !level(one, other, |one, other| pairs.push((one, other, depth + 1))) {
            return false;
        }
    }
    true
}

/// Compares one level; what lies deeper is left to `deeper`.
fn level<'a>(one: Raw<'a>, other: Raw<'a>, mut deeper: impl FnMut(Raw<'a>, Raw<'a>)) -> bool {
    let (first, second) = (one.get(), other.get());
    match (first.as_bytes().first(), second.as_bytes().first()) {
        (Some(b'{'), Some(b'{')) => {
            let (Some(one), Some(other)) = (members(one), members(other)) else { return false };
            let same = one.keys().eq(other.keys());
            one.into_values().zip(other.into_values()).for_each(|(one, other)| deeper(one, other));
            same
        }
        (Some(b'['), Some(b'[')) => {
            let items = |list: Raw<'a>| list.items().map(Iterator::collect::<Vec<_>>);
            let (Some(one), Some(other)) = (items(one), items(other)) else { return false };
            let same = one.len() == other.len();
            one.into_iter().zip(other).for_each(|(one, other)| deeper(one, other));
            same
        }
        (Some(b'"'), Some(b'"')) => {
            // An id is a string that keeps every unit, which is just what must be compared.
            let read = |text| serde_json::from_str::<crate::SessionId>(text).ok();
            read(first).is_some() && read(first) == read(second)
        }
        _ => {
            matches!((first.parse::<f64>(), second.parse::<f64>()), (Ok(one), Ok(other)) if one == other)
        }
    }
}

fn members(object: Raw<'_>) -> Option<BTreeMap<String, Raw<'_>>> {
    let object = object.object()?;
    Some(object.iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(one: &str, other: &str, expected: bool) {
        let raw = |text| Raw::parse(text).unwrap();
        assert_eq!(same(raw(one), raw(other)), expected, "{one} {other}");
    }

    #[test]
    fn spelling_and_order_do_not_matter() {
        check(r#"{"a":[1.0,"\u0041"],"b":{}}"#, r#"{ "b":{}, "a":[1,"A"] }"#, true);
        check(r#"{"a":1,"a":2}"#, r#"{"a":2}"#, true);
        check(r#""\ud800""#, r#""\uD800""#, true);
    }

    #[test]
    fn what_differs_differs() {
        for (one, other) in [
            ("1", "2"),
            ("1", "\"1\""),
            ("true", "false"),
            ("null", "0"),
            ("[]", "{}"),
            ("[1]", "[1,1]"),
            (r#"{"a":1}"#, r#"{"b":1}"#),
            (r#"{"a":[{"b":1}]}"#, r#"{"a":[{"b":2}]}"#),
            (r#""\ud800""#, r#""\ud801""#),
        ] {
            check(one, other, false);
        }
    }

    #[test]
    fn depth_costs_neither_stack_nor_time() {
        let deep = |leaf: &str| format!("{}{leaf}{}", "[".repeat(100_000), "]".repeat(100_000));
        check(&deep("1"), &deep("1"), true);
        check(&deep("1"), &deep("2"), false);
    }
}
