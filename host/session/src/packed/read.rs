//! Packed rows as they are read: by their spelling where it is the usual one, else by their members.

use super::{Delta, Packed, Run, number, string};
use crate::cursor::Cursor;
use crate::envelope::Envelope;
use crate::number::{safe_count, safe_integer};
use crate::{MAX_SAFE_INTEGER, Object, Raw};

impl<'a> Packed<'a> {
    /// Reads a line that is a packed row spelled as harnesses write it, in one pass; none where it is anything else,
    /// which may still be a packed row.
    pub(crate) fn of_line(text: &'a str) -> Option<Self> {
        let mut line = Cursor::new(text);
        line.literal("{\"type\":\"")?;
        let kind = Delta::of_row(line.until_quote()?)?;
        line.literal("\",\"seq0\":")?;
        let seq0 = u64::try_from(line.short_integer()?).ok()?;
        line.literal(",\"time0\":")?;
        let time0 = line.short_integer()?;
        line.literal(",\"data\":{\"turn\":")?;
        let turn = line.number()?.get();
        line.literal(",\"step\":")?;
        let step = line.number()?.get();
        line.literal(",\"index\":")?;
        let index = line.number()?.get();
        line.literal(",\"dt\":[")?;
        let mut times = Vec::with_capacity(32);
        times.push(time0);
        let mut time = time0;
        while !line.eat(b']') {
            if times.len() > 1 {
                line.expect(b',')?;
            }
            time += line.short_integer()?;
            if time.unsigned_abs() > MAX_SAFE_INTEGER {
                return None;
            }
            times.push(time);
        }
        let (mut id, mut name) = (None, None);
        if kind == Delta::ToolCall {
            line.literal(",\"id\":")?;
            id = Some(line.string()?.get());
            if line.literal(",\"name\":").is_some() {
                name = Some(line.string()?.get());
            }
        }
        line.literal(",\"")?;
        line.literal(kind.pieces().1)?;
        line.literal("\":[")?;
        let mut pieces = Vec::with_capacity(times.len());
        pieces.push(line.string()?.get());
        while line.eat(b',') {
            pieces.push(line.string()?.get());
        }
        line.literal("]}}")?;
        let whole = line.is_at_end() && times.len() == pieces.len();
        let run = Run { kind, turn, step, index, id, name };
        whole.then_some(Self { seq0, times, run, pieces, line: Some(text) })
    }

    /// Reads a packed row.
    ///
    /// # Errors
    /// A sentence, where any part of it has another shape: a packed row is read whole or not at all.
    pub(crate) fn read(row: &Envelope<'a>) -> Result<Self, &'static str> {
        let (Some(kind), Some(seq0), Some(time0), Some(data), true) =
            (row.kind(), row.seq0, row.time0, row.data, row.is_packed())
        else {
            return Err("a packed row has not exactly its four members");
        };
        let kind = Delta::of_row(&kind).ok_or("no packed row has this type")?;
        let seq0 = safe_count(seq0.get()).ok_or("the packed row's `seq0` is no place")?;
        let time0 = safe_integer(time0.get()).ok_or("the packed row's `time0` is no time")?;
        let data = data.object().ok_or("the packed row's data is no object")?;
        let (run, pieces) = Run::of_row(kind, &data)?;
        let gaps = data.get("dt").and_then(Raw::words).ok_or("the packed row's `dt` is no list")?;
        let mut times = Vec::with_capacity(pieces.len());
        times.push(time0);
        for gap in gaps {
            let gap = safe_integer(gap).ok_or("the packed row's `dt` holds no time")?;
            let time = times.last().unwrap_or(&time0) + gap;
            if time.unsigned_abs() > MAX_SAFE_INTEGER {
                return Err("the packed row's times leave the integers that JavaScript holds");
            }
            times.push(time);
        }
        if times.len() != pieces.len() || pieces.iter().any(|piece| !piece.starts_with('"')) {
            return Err("the packed row's `dt` and its pieces do not fit each other");
        }
        if seq0 + (pieces.len() as u64 - 1) > MAX_SAFE_INTEGER {
            return Err("the packed row's places leave the integers that JavaScript holds");
        }
        Ok(Self { seq0, times, run, pieces, line: None })
    }
}

impl<'a> Run<'a> {
    fn of_row(kind: Delta, data: &Object<'a>) -> Result<(Self, Vec<&'a str>), &'static str> {
        let (_, pieces) = kind.pieces();
        let (required, optional): (&[&str], &[&str]) = match kind {
            Delta::ToolCall => (&["turn", "step", "index", "id", "dt", pieces], &["name"]),
            Delta::Text | Delta::Reasoning => (&["turn", "step", "index", "dt", pieces], &[]),
        };
        if !data.has_only(required, optional) {
            return Err("the packed row's data has not exactly the members of its type");
        }
        let run = Self {
            kind,
            turn: number(data, "turn").ok_or("the packed row's turn is no number")?,
            step: number(data, "step").ok_or("the packed row's step is no number")?,
            index: number(data, "index").ok_or("the packed row's index is no number")?,
            id: string(data, "id")?,
            name: string(data, "name")?,
        };
        let pieces: Vec<_> = data.items(pieces).into_iter().flatten().map(Raw::get).collect();
        match pieces.is_empty() {
            true => Err("the packed row holds no list of pieces"),
            false => Ok((run, pieces)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packed::tests::{CALL, TEXT};
    use crate::parts::Parts;

    #[test]
    fn a_row_is_read_whole_or_not_at_all() {
        for (from, to) in [
            (r#""seq0":5"#, r#""seq0":-5"#),
            (r#""seq0":5"#, r#""seq0":5,"x":1"#),
            (r#""seq0":5"#, r#""seq0":9007199254740990"#),
            (r#""time0":100"#, r#""time0":1.5"#),
            (r#""time0":100"#, r#""time0":9007199254740991"#),
            ("[3,-2]", "[3]"),
            ("[3,-2]", r#"[3,"2"]"#),
            (r#""turn":1"#, r#""turn":"1""#),
            (r#""index":0"#, r#""index":0,"x":0"#),
            (r#"["a","\ud83d","c"]"#, r#"["a",2,"c"]"#),
            (r#"["a","\ud83d","c"]"#, "[]"),
        ] {
            let row = TEXT.replace(from, to);
            let mut parts = Parts::default();
            let row = Envelope::parse(&row, &mut parts).unwrap();
            assert!(Packed::read(&row).is_err(), "{to}");
        }
    }

    /// Both ways to read a packed row say the same, save that the short one leaves some to the other.
    #[track_caller]
    fn both_ways(row: &str) -> bool {
        let Some(short) = Packed::of_line(row) else { return false };
        let mut parts = Parts::default();
        let envelope = Envelope::parse(row, &mut parts).unwrap_or_else(|| panic!("{row}"));
        let long = Packed::read(&envelope).unwrap_or_else(|why| panic!("{why}: {row}"));
        let events = |row: &Packed<'_>| {
            let mut events = Vec::new();
            row.each(|event| events.push(event.clone()));
            events
        };
        assert_eq!(events(&short), events(&long), "{row}");
        assert_eq!((short.seq0(), short.len()), (long.seq0(), long.len()));
        assert_eq!(short.last_time(), long.last_time());
        assert_eq!(short.spelled(), long.spelled());
        true
    }

    #[test]
    fn the_short_way_to_read_a_row_takes_nothing_that_the_long_one_refuses() {
        let odd = [
            "", "-", "0", "9", ".", "e", "\"", "\\", ",", ":", "[", "]", "{", "}", " ", "x",
            "\u{1}", "é",
        ];
        let mut taken = 0;
        for row in [TEXT.to_owned(), TEXT.replace("text-", "reasoning-"), CALL.to_owned()] {
            assert!(both_ways(&row));
            for at in (0..row.len()).filter(|at| row.is_char_boundary(*at)) {
                for odd in odd {
                    let (before, after) = row.split_at(at);
                    taken += usize::from(both_ways(&[before, odd, after].concat()));
                    let after = after.get(1..).unwrap_or_default();
                    taken += usize::from(both_ways(&[before, odd, after].concat()));
                    let after = after.get(2..).unwrap_or_default();
                    taken += usize::from(both_ways(&[before, odd, after].concat()));
                }
            }
        }
        assert!(taken > 1000, "{taken}");
    }
}
