//! JSON text read from left to right, checked on the way.
//!
//! It takes and refuses what serde_json does, which the tests and the fuzz target `row` hold it to, and tells where
//! each part stands, so that what is most of a log need not be passed over a second time.

use memchr::memchr2;

use crate::Raw;
use crate::parts::{Parts, Recorder};

/// Where in a text the next part is expected. What it gives is none where something else stands there, and then the
/// text is not worth reading on.
#[derive(Clone, Debug)]
pub(crate) struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// Whether everything has been read.
    pub(crate) fn is_at_end(&self) -> bool {
        self.at == self.text.len()
    }

    /// Takes exactly these bytes.
    pub(crate) fn literal(&mut self, literal: &str) -> Option<()> {
        let rest = self.text.as_bytes().get(self.at..)?;
        rest.starts_with(literal.as_bytes()).then(|| self.at += literal.len())
    }

    /// Takes what stands before the next quote, which is left; backslashes mean nothing here.
    pub(crate) fn until_quote(&mut self) -> Option<&'a str> {
        let rest = self.text.get(self.at..)?;
        let length = rest.bytes().position(|byte| byte == b'"')?;
        self.at += length;
        rest.get(..length)
    }

    /// An integer of at most fifteen digits, which is how every harness writes places and times.
    pub(crate) fn short_integer(&mut self) -> Option<i64> {
        let negative = self.eat(b'-');
        let digits = self.text.as_bytes().get(self.at..)?;
        let mut whole = 0_i64;
        let mut length = 0;
        for byte in digits {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                break;
            }
            whole = whole * 10 + i64::from(digit);
            length += 1;
            if length > 15 {
                return None;
            }
        }
        // Nobody writes a zero before other digits, or behind a sign.
        let odd = digits.first() == Some(&b'0') && (length > 1 || negative);
        self.at += length;
        (length > 0 && !odd).then_some(if negative { -whole } else { whole })
    }

    /// The members of an object, in order; `value` takes that of each name, which the cursor stands at.
    pub(crate) fn object(
        &mut self,
        mut value: impl FnMut(Raw<'a>, &mut Self) -> Option<()>,
    ) -> Option<()> {
        self.expect(b'{')?;
        self.space();
        if self.eat(b'}') {
            return Some(());
        }
        loop {
            let name = self.string()?;
            self.colon()?;
            value(name, self)?;
            self.space();
            match self.next()? {
                b',' => self.space(),
                b'}' => return Some(()),
                _ => return None,
            }
        }
    }

    /// A value of any kind, however deep. Where its parts stand is written down in `parts`.
    pub(crate) fn value(&mut self, parts: &mut Parts) -> Option<Raw<'a>> {
        let start = self.at;
        let mut nest = Nest::default();
        let mut recorder = Recorder::new(parts);
        loop {
            let from = self.at;
            match self.peek()? {
                b'"' => self.pass_string()?,
                opening @ (b'{' | b'[') => {
                    self.at += 1;
                    self.space();
                    let is_object = opening == b'{';
                    if !self.eat(if is_object { b'}' } else { b']' }) {
                        nest.enter(is_object);
                        recorder.enter(from);
                        if is_object {
                            self.name(&mut recorder)?;
                        }
                        continue;
                    }
                }
                b't' => self.literal("true")?,
                b'f' => self.literal("false")?,
                b'n' => self.literal("null")?,
                _ => self.pass_number()?,
            }
            recorder.leaf(from, self.at);
            // A value has ended, and maybe what it stands in.
            loop {
                let Some(in_object) = nest.innermost() else { return self.since(start) };
                self.space();
                match (self.next()?, in_object) {
                    (b',', _) => {
                        self.space();
                        if in_object {
                            self.name(&mut recorder)?;
                        }
                        break;
                    }
                    (b'}', true) | (b']', false) => {
                        nest.leave();
                        recorder.leave(self.at);
                    }
                    _ => return None,
                }
            }
        }
    }

    /// A list of places, spelled as harnesses write it; where something else stands there, it is not passed over.
    pub(crate) fn places(&mut self) -> Option<Vec<u64>> {
        let mut ahead = self.clone();
        ahead.expect(b'[')?;
        let mut places = Vec::with_capacity(64);
        while !ahead.eat(b']') {
            if !places.is_empty() {
                ahead.expect(b',')?;
            }
            places.push(u64::try_from(ahead.short_integer()?).ok()?);
        }
        *self = ahead;
        Some(places)
    }

    /// A string.
    pub(crate) fn string(&mut self) -> Option<Raw<'a>> {
        let start = self.at;
        self.pass_string()?;
        self.since(start)
    }

    fn pass_string(&mut self) -> Option<()> {
        self.expect(b'"')?;
        loop {
            self.plain()?;
            match self.next()? {
                b'"' => return Some(()),
                _ => self.escape()?,
            }
        }
    }

    /// A number.
    pub(crate) fn number(&mut self) -> Option<Raw<'a>> {
        let start = self.at;
        self.pass_number()?;
        self.since(start)
    }

    fn pass_number(&mut self) -> Option<()> {
        self.eat(b'-');
        if !self.eat(b'0') {
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'.' | b'e' | b'E')) {
            self.fraction()?;
        }
        Some(())
    }

    fn fraction(&mut self) -> Option<()> {
        if self.eat(b'.') {
            self.digits()?;
        }
        if self.eat(b'e') || self.eat(b'E') {
            let _ = self.eat(b'+') || self.eat(b'-');
            self.digits()?;
        }
        Some(())
    }

    /// Space between two parts.
    pub(crate) fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// A member's name, and what stands before its value.
    fn name(&mut self, recorder: &mut Recorder<'_>) -> Option<()> {
        let from = self.at;
        self.pass_string()?;
        recorder.leaf(from, self.at);
        self.colon()
    }

    /// What stands between a member's name and its value.
    fn colon(&mut self) -> Option<()> {
        self.space();
        self.expect(b':')?;
        self.space();
        Some(())
    }

    /// What stands in a string before its next quote or backslash. Most strings are short: the search for far ends
    /// begins late.
    fn plain(&mut self) -> Option<()> {
        let bytes = self.text.as_bytes();
        for _ in 0..NEAR {
            let Some(word) = bytes.get(self.at..)?.first_chunk::<8>() else { break };
            let word = u64::from_le_bytes(*word);
            let ends = zeros(word ^ every(b'"')) | zeros(word ^ every(b'\\'));
            // The lowest bit found is right, whatever those above it say.
            match (ends | controls(word)).trailing_zeros() / 8 {
                8 => self.at += 8,
                place => {
                    self.at += place as usize;
                    return self.peek().filter(|byte| *byte >= b' ').map(|_| ());
                }
            }
        }
        let rest = bytes.get(self.at..)?;
        let plain = rest.get(..memchr2(b'"', b'\\', rest)?)?;
        self.at += plain.len();
        (!plain.iter().fold(false, |control, byte| control | (*byte < b' '))).then_some(())
    }

    /// What stands behind a backslash.
    fn escape(&mut self) -> Option<()> {
        match self.next()? {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(()),
            b'u' => {
                let digits = self.text.as_bytes().get(self.at..self.at + 4)?;
                self.at += 4;
                digits.iter().all(u8::is_ascii_hexdigit).then_some(())
            }
            _ => None,
        }
    }

    fn digits(&mut self) -> Option<()> {
        self.next().filter(u8::is_ascii_digit)?;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        Some(())
    }

    fn since(&self, start: usize) -> Option<Raw<'a>> {
        self.text.get(start..self.at).map(Raw::trusted)
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    /// Takes exactly this byte.
    pub(crate) fn expect(&mut self, byte: u8) -> Option<()> {
        self.eat(byte).then_some(())
    }

    /// Takes this byte where it stands there.
    pub(crate) fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }
}

/// What objects and lists a place lies in: a bit for each, so that depth costs no stack and little memory.
#[derive(Default)]
struct Nest {
    /// The innermost ones, the last in the lowest bit; a bit stands above them while there are outer ones or any.
    near: u64,
    outer: Vec<u64>,
}

impl Nest {
    fn enter(&mut self, is_object: bool) {
        match self.near {
            0 => self.near = 1,
            full if full >> 63 == 1 => {
                self.outer.push(full);
                self.near = 1;
            }
            _ => {}
        }
        self.near = self.near << 1 | u64::from(is_object);
    }

    /// Whether the innermost one is an object; none where there is none.
    fn innermost(&self) -> Option<bool> {
        (self.near != 0).then_some(self.near & 1 == 1)
    }

    fn leave(&mut self) {
        self.near >>= 1;
        if self.near == 1 {
            self.near = self.outer.pop().unwrap_or_default();
        }
    }
}

/// Words of eight bytes that are looked at one by one.
const NEAR: usize = 3;

/// The byte in each place of a word.
pub(crate) const fn every(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

/// The highest bit of a word's lowest byte that is zero, and maybe of some above it.
pub(crate) const fn zeros(word: u64) -> u64 {
    word.wrapping_sub(every(0x01)) & !word & every(0x80)
}

/// The highest bit of a word's lowest byte that is less than a space, and maybe of some above it.
const fn controls(word: u64) -> u64 {
    word.wrapping_sub(every(b' ')) & !word & every(0x80)
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;

    /// Both take the text, or both refuse it; the reference is serde_json. What was written down of its parts is what
    /// a look at them finds.
    #[track_caller]
    fn check(text: &str) -> bool {
        let mut parts = Parts::default();
        let mut cursor = Cursor::new(text);
        cursor.space();
        let value = cursor.value(&mut parts);
        cursor.space();
        let taken = value.filter(|_| cursor.is_at_end());
        let expected = serde_json::from_str::<&RawValue>(text).ok().map(RawValue::get);
        assert_eq!(taken.map(Raw::get), expected, "{text:?}");
        // Looking for the parts of every depth takes time with its square.
        if let Some(taken) = taken.filter(|taken| taken.get().len() < 1000) {
            same(taken.with_parts(parts.between(0..parts.len())), taken);
        }
        taken.is_some()
    }

    fn same(written_down: Raw<'_>, looked_for: Raw<'_>) {
        let mut rest = vec![(written_down, looked_for)];
        while let Some((one, other)) = rest.pop() {
            assert_eq!(one.get(), other.get());
            if let (Some(one), Some(other)) = (one.members(), other.members()) {
                let (one, other): (Vec<_>, Vec<_>) = (one.collect(), other.collect());
                assert_eq!(one, other);
                rest.extend(one.into_iter().zip(other).map(|(one, other)| (one.1, other.1)));
            } else if let (Some(one), Some(other)) = (one.items(), other.items()) {
                let (one, other): (Vec<_>, Vec<_>) = (one.collect(), other.collect());
                assert_eq!(one, other);
                rest.extend(one.into_iter().zip(other));
            }
        }
    }

    #[test]
    fn values_are_taken() {
        for text in [
            "0",
            "-0",
            "10",
            "1.5",
            "-1.50e+3",
            "1E-9",
            "1e400",
            "true",
            "false",
            "null",
            r#""""#,
            " [ ] ",
            "{ }",
            r#"[1,[2,{"a":[]}],"b"]"#,
            "{\"a\" :\n1 ,\t\"b\":\r{}}",
            r#""\u00e9\ud83d\"""#,
            r#"{"a":1,"a":2}"#,
            "\"\u{7f}é会😀\"",
            r#"[[[[[["x"]]]]],{"a":{"b":{"c":[{}]}}}]"#,
        ] {
            assert!(check(text), "{text}");
        }
    }

    #[test]
    fn what_is_no_value_is_refused() {
        for text in [
            "",
            " ",
            "01",
            "-",
            "-a",
            "1.",
            ".5",
            "+1",
            "1e",
            "1e+",
            "0x1",
            "1 2",
            "tru",
            "trues",
            "nul",
            "NaN",
            "[",
            "]",
            "[1",
            "[1,]",
            "[,1]",
            "[1 2]",
            "[1}",
            "{",
            "}",
            "{]",
            "{1:2}",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1,}",
            "{\"a\":1 \"b\":2}",
            "{,}",
            "{\"a\":1]",
            "\"",
            "\"\\",
            "\"\\\"",
            "\"\\x\"",
            "\"\\u12\"",
            "\"\\u12g4\"",
            "\"\\u123\"",
            "\"a\nb\"",
            "\"\0\"",
            "\"\u{1f}\"",
            "'a'",
            "[\"a\tb\"]",
            "\u{feff}1",
            "\u{a0}1",
            "1\u{b}",
        ] {
            assert!(!check(text), "{text}");
        }
    }

    #[test]
    fn a_string_is_checked_at_every_place() {
        for length in 0..70 {
            for (inner, sound) in [
                ("", true),
                ("\\n", true),
                ("\\u00e9", true),
                ("é", true),
                ("\u{7f}", true),
                ("!#[]", true),
                ("\n", false),
                ("\u{1f}", false),
                ("\0", false),
                ("\\x", false),
                ("\"", false),
                ("\\u00", false),
            ] {
                let text = format!("\"{}{inner}{}\"", "a".repeat(length), "z".repeat(70 - length));
                assert_eq!(check(&text), sound, "{text:?}");
                assert_eq!(check(&format!("[{{{text}:{text}}}]")), sound, "{text:?}");
            }
        }
    }

    #[test]
    fn depth_costs_no_stack() {
        for depth in [1, 61, 62, 63, 64, 65, 126, 127, 128, 129, 100_000] {
            let lists = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
            assert!(check(&lists));
            assert!(!check(&lists[1..]));
            assert!(!check(&lists[..lists.len() - 1]));
            let mixed = format!("{}1{}", "[{\"a\":".repeat(depth), "}]".repeat(depth));
            assert!(check(&mixed));
            assert!(!check(&mixed.replacen('}', "]", 1)));
            assert!(!check(&mixed.replacen("}]", "}", 1)));
        }
    }

    #[test]
    fn integers_that_harnesses_write_are_read() {
        let read = |text| {
            let mut cursor = Cursor::new(text);
            cursor.short_integer().filter(|_| cursor.is_at_end())
        };
        for (text, whole) in [
            ("0", 0),
            ("-3", -3),
            ("1790000000000", 1_790_000_000_000),
            ("999999999999999", 999_999_999_999_999),
        ] {
            assert_eq!(read(text), Some(whole));
        }
        for text in ["", "-", "-0", "01", "-01", "1.0", "1e3", "1000000000000000", "+1", "a"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
