//! WASI for a plugin with the capability `wasi-empty`: a world in which there is nothing.
//!
//! Toolchains put WASI into components whose code never asks for it. Such a plugin finds no file, no variable, no
//! argument, no terminal and no network here; clocks stand still, chance is seeded for each call, and what it writes
//! to its standard streams goes to its log. Nothing of the system is linked, so there is nothing to get out to.
//!
//! The functions are made from the component's own imports, so that any 0.2 version links. What cannot be answered
//! with "there is none" ends the call by name.

use wasmtime::StoreContextMut;
use wasmtime::component::types::{ComponentFunc, ComponentItem};
use wasmtime::component::{
    Component, ComponentType, Linker, LinkerInstance, Lower, Resource, ResourceType, Val,
};

use crate::limits::{Breach, Limit};
use crate::log::Level;
use crate::state::State;

mod answers;

/// The packages of WASI 0.2 that have an empty form.
const PACKAGES: [&str; 6] =
    ["wasi:cli", "wasi:clocks", "wasi:filesystem", "wasi:io", "wasi:random", "wasi:sockets"];

/// Any handle of WASI. What it stands for is its number: a [`Stream`], or nothing of interest.
struct Handle;

/// What a stream's handle says.
#[derive(Clone, Copy, PartialEq)]
enum Stream {
    Out = 1,
    Err = 2,
}

/// `wasi:io/streams.stream-error`, of which only this can happen.
#[derive(ComponentType, Lower)]
#[component(variant)]
enum StreamError {
    #[expect(dead_code, reason = "the type has this case; no stream here fails")]
    #[component(name = "last-operation-failed")]
    Failed(Resource<Handle>),
    #[component(name = "closed")]
    Closed,
}

/// What a call has left behind in the empty world.
#[derive(Default)]
pub(crate) struct Traces {
    /// Handles that the guest holds.
    handles: u64,
    /// What was written of lines that have not ended, to standard output and standard error.
    lines: [Vec<u8>; 2],
    /// How much chance was given out.
    drawn: u64,
    seed: Option<String>,
}

/// Whether `name`, an import's, is a part of WASI that has an empty form.
pub(crate) fn has(name: &str) -> bool {
    let (interface, version) = name.split_once('@').unwrap_or((name, ""));
    let package = interface.split_once('/').map_or(interface, |(package, _)| package);
    PACKAGES.contains(&package) && version.starts_with("0.2.")
}

/// Links every part of WASI that `component` imports.
pub(crate) fn link(linker: &mut Linker<State>, component: &Component) -> wasmtime::Result<()> {
    for (name, item) in component.component_type().imports(component.engine()) {
        let ComponentItem::ComponentInstance(instance) = item.ty else { continue };
        if !has(name) {
            continue;
        }
        let mut linked = linker.instance(name)?;
        for (export, item) in instance.exports(component.engine()) {
            match item.ty {
                ComponentItem::Resource(_) => {
                    linked.resource(export, ResourceType::host::<Handle>(), |mut store, _| {
                        let handles = &mut store.data_mut().wasi.handles;
                        *handles = handles.saturating_sub(1);
                        Ok(())
                    })?;
                }
                ComponentItem::ComponentFunc(_) => function(&mut linked, name, export)?,
                _ => {}
            }
        }
    }
    Ok(())
}

fn function(
    linked: &mut LinkerInstance<'_, State>,
    interface: &str,
    name: &str,
) -> wasmtime::Result<()> {
    if let Some(method) = name.strip_prefix("[method]output-stream.")
        && matches!(method, "write" | "blocking-write-and-flush")
    {
        // A list of bytes as values would be thirty times as long.
        return linked
            .func_wrap(name, |mut store, (stream, bytes)| write(&mut store, stream, bytes));
    }
    let (interface, name) = (interface.to_owned(), name.to_owned());
    linked.func_new(&name.clone(), move |mut store, ty, given, results| {
        store.data_mut().host_call(0)?;
        let Some(result) = results.first_mut() else {
            answers::without_result(&interface, &name)?;
            return give_back(&mut store, given);
        };
        *result = answer(&mut store, &interface, &name, &ty, given)?;
        give_back(&mut store, given)
    })
}

fn answer(
    store: &mut StoreContextMut<'_, State>,
    interface: &str,
    name: &str,
    ty: &ComponentFunc,
    given: &[Val],
) -> wasmtime::Result<Val> {
    let plain = interface.split_once('@').map_or(interface, |(plain, _)| plain);
    Ok(match (plain, name) {
        ("wasi:cli/stdout", "get-stdout") => handle(store, Stream::Out as u32)?,
        ("wasi:cli/stderr", "get-stderr") => handle(store, Stream::Err as u32)?,
        ("wasi:random/random" | "wasi:random/insecure", _)
        | ("wasi:random/insecure-seed", "insecure-seed") => {
            let state = store.data_mut();
            let seed = state.services.as_ref().map(|services| services.new_message_id.clone());
            let traces = &mut state.wasi;
            let seed =
                traces.seed.get_or_insert_with(|| seed.map_or_else(String::new, |new| new()));
            answers::chance(seed, &mut traces.drawn, name, given)?
        }
        _ => match answers::of(plain, name, ty, given) {
            Some(answers::Answer::Is(answer)) => answer,
            Some(answers::Answer::Handle) => handle(store, 0)?,
            None => return Err(answers::nothing(interface, name)),
        },
    })
}

/// Gives borrowed handles back, as every function has to.
fn give_back(store: &mut StoreContextMut<'_, State>, given: &[Val]) -> wasmtime::Result<()> {
    for value in given {
        match value {
            Val::Resource(handle) if !handle.owned() => {
                handle.try_into_resource::<Handle>(&mut *store)?;
            }
            Val::List(values) => give_back(store, values)?,
            _ => {}
        }
    }
    Ok(())
}

/// A new handle for the guest; their number has a limit, since the engine keeps each.
fn handle(store: &mut StoreContextMut<'_, State>, kind: u32) -> wasmtime::Result<Val> {
    let state = store.data_mut();
    let allowed = state.limits.handles;
    state.wasi.handles += 1;
    if state.wasi.handles > allowed {
        let figure = Some(state.wasi.handles);
        return Err(Breach { limit: Limit::Handles, figure, allowed }.into());
    }
    let handle = Resource::<Handle>::new_own(kind).try_into_resource_any(&mut *store)?;
    Ok(Val::Resource(handle))
}

fn write(
    store: &mut StoreContextMut<'_, State>,
    stream: Resource<Handle>,
    bytes: Vec<u8>,
) -> wasmtime::Result<(Result<(), StreamError>,)> {
    let state = store.data_mut();
    state.host_call(bytes.len())?;
    let stream = match stream.rep() {
        rep if rep == Stream::Out as u32 => Stream::Out,
        rep if rep == Stream::Err as u32 => Stream::Err,
        _ => return Ok((Err(StreamError::Closed),)),
    };
    state.write_stream(stream, &bytes);
    Ok((Ok(()),))
}

impl State {
    /// Logs each line when it ends.
    fn write_stream(&mut self, stream: Stream, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let line = self.wasi.line(stream);
            line.extend_from_slice(piece.trim_ascii_end());
            // A space at the end of a piece may be one in the middle of a line.
            if !piece.ends_with(b"\n") {
                let end = piece.trim_ascii_end().len();
                line.extend_from_slice(piece.get(end..).unwrap_or_default());
            } else {
                self.end_line(stream);
            }
        }
    }

    fn end_line(&mut self, stream: Stream) {
        let line = std::mem::take(self.wasi.line(stream));
        if line.is_empty() {
            return;
        }
        let text = String::from_utf8_lossy(&line);
        match stream {
            Stream::Out => {
                self.log_bounded(Level::Info, &text);
            }
            Stream::Err => {
                let logged = self.log_bounded(Level::Warn, &text);
                self.last_words = logged.or(self.last_words.take());
            }
        }
    }

    /// Logs what was written without an end of line, when the call is over.
    pub(crate) fn end_streams(&mut self) {
        self.end_line(Stream::Out);
        self.end_line(Stream::Err);
    }
}

impl Traces {
    fn line(&mut self, stream: Stream) -> &mut Vec<u8> {
        let [out, err] = &mut self.lines;
        if stream == Stream::Out { out } else { err }
    }
}
