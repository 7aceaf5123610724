//! What the empty world answers: that there is none.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use wasmtime::component::Val;
use wasmtime::component::types::{ComponentFunc, Type};

/// What an error of WASI is called where something is not for this plugin, the best name first.
const REFUSALS: [&str; 3] = ["access-denied", "access", "not-supported"];

/// The most random bytes of one call: 64 KiB. They come as values, each a good many bytes long.
const MAX_CHANCE: u64 = 1 << 16;

/// What a stream takes at once: 64 KiB.
const ROOM: u64 = 1 << 16;

/// An answer that needs nothing of the call.
pub(super) enum Answer {
    Is(Val),
    /// A handle on nothing.
    Handle,
}

/// The answer to a function; none where there is no honest one.
pub(super) fn of(interface: &str, name: &str, ty: &ComponentFunc, given: &[Val]) -> Option<Answer> {
    let closed = || Val::Variant("closed".into(), None);
    Some(Answer::Is(match (interface, name) {
        (_, "[method]output-stream.check-write") => ok(Some(Val::U64(ROOM))),
        (_, "[method]output-stream.flush" | "[method]output-stream.blocking-flush") => ok(None),
        (_, name) if name.starts_with("[method]input-stream.") && !name.ends_with("subscribe") => {
            Val::Result(Err(Some(Box::new(closed()))))
        }
        (_, "[method]pollable.ready") => Val::Bool(true),
        // Everything is ready: nothing will ever change here.
        ("wasi:io/poll", "poll") => match given {
            [Val::List(all)] => {
                Val::List((0..u32::try_from(all.len()).ok()?).map(Val::U32).collect())
            }
            _ => return None,
        },
        ("wasi:clocks/monotonic-clock", "now") => Val::U64(0),
        ("wasi:clocks/monotonic-clock", "resolution") => Val::U64(1),
        ("wasi:clocks/wall-clock", "now") => instant(0),
        ("wasi:clocks/wall-clock", "resolution") => instant(1),
        _ => match ty.results().next()? {
            Type::Option(_) => Val::Option(None),
            Type::List(_) => Val::List(Vec::new()),
            Type::Result(result) => refused(&result.err()?)?,
            Type::Own(_) => return Some(Answer::Handle),
            _ => return None,
        },
    }))
}

/// The answer to a function that has no result: whoever may wait need not.
pub(super) fn without_result(interface: &str, name: &str) -> wasmtime::Result<()> {
    match name {
        "[method]pollable.block" => Ok(()),
        "exit" | "exit-with-code" => {
            Err(wasmtime::Error::msg("it ended itself with wasi:cli/exit"))
        }
        _ => Err(nothing(interface, name)),
    }
}

/// That a function has no answer here.
pub(super) fn nothing(interface: &str, name: &str) -> wasmtime::Error {
    wasmtime::Error::msg(format!(
        "it called `{name}` of {interface}, and `wasi-empty` has nothing to answer it with"
    ))
}

/// Chance that is the same for the same seed; `drawn` counts what was given.
pub(super) fn chance(
    seed: &str,
    drawn: &mut u64,
    name: &str,
    given: &[Val],
) -> wasmtime::Result<Val> {
    let mut next = || {
        let mut hasher = DefaultHasher::new();
        (seed, *drawn).hash(&mut hasher);
        *drawn += 1;
        hasher.finish()
    };
    Ok(match given {
        [] if name == "insecure-seed" => Val::Tuple(vec![Val::U64(next()), Val::U64(next())]),
        [] => Val::U64(next()),
        [Val::U64(length)] if *length <= MAX_CHANCE => {
            let length = usize::try_from(*length).unwrap_or_default();
            let bytes = (0..length.div_ceil(8)).flat_map(|_| next().to_le_bytes());
            Val::List(bytes.take(length).map(Val::U8).collect())
        }
        [Val::U64(length)] => {
            let said =
                format!("it asked for {length} random bytes at once; {MAX_CHANCE} can be had");
            return Err(wasmtime::Error::msg(said));
        }
        _ => return Err(nothing("wasi:random", name)),
    })
}

fn ok(value: Option<Val>) -> Val {
    Val::Result(Ok(value.map(Box::new)))
}

fn instant(nanoseconds: u32) -> Val {
    let seconds = ("seconds".into(), Val::U64(0));
    Val::Record(vec![seconds, ("nanoseconds".into(), Val::U32(nanoseconds))])
}

/// The error that says no, where the type has one.
fn refused(error: &Type) -> Option<Val> {
    let Type::Enum(cases) = error else { return None };
    let names: Vec<&str> = cases.names().collect();
    let said = REFUSALS.iter().find(|refusal| names.contains(refusal))?;
    Some(Val::Result(Err(Some(Box::new(Val::Enum((*said).into()))))))
}
