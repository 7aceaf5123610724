//! The seams of the loop that a plugin can stand in, each found in a component by itself.

use wasmtime::AsContextMut;
use wasmtime::component::{Component, Instance, InstancePre};

use crate::bindings::exports::{commands, mentions, pre_step, references, tool_gate};
use crate::state::State;

/// Every seam's interface, without version.
pub(crate) const NAMES: [&str; 5] = [PRE_STEP, MENTIONS, REFERENCES, TOOL_GATE, COMMANDS];

const PRE_STEP: &str = "dsh:agent/pre-step";
const MENTIONS: &str = "dsh:agent/mentions";
const REFERENCES: &str = "dsh:agent/references";
const TOOL_GATE: &str = "dsh:agent/tool-gate";
const COMMANDS: &str = "dsh:agent/commands";

/// A seam of the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Seam {
    /// `dsh:agent/pre-step`: decides on each step.
    PreStep,
    /// `dsh:agent/mentions`: what can be completed with `@`.
    Mentions,
    /// `dsh:agent/references`: references as values.
    References,
    /// `dsh:agent/tool-gate`: allows or denies each tool call.
    ToolGate,
    /// `dsh:agent/commands`: what a person can run.
    Commands,
}

/// Where a component has the seams that it has.
#[derive(Default)]
pub(crate) struct Seams {
    pub(crate) pre_step: Option<pre_step::GuestIndices>,
    pub(crate) mentions: Option<mentions::GuestIndices>,
    pub(crate) references: Option<references::GuestIndices>,
    pub(crate) tool_gate: Option<tool_gate::GuestIndices>,
    pub(crate) commands: Option<commands::GuestIndices>,
}

/// The functions of a seam, for errors: the engine does not say which of them does not fit.
fn functions(interface: &str) -> &'static str {
    match interface {
        PRE_STEP => "`handle`",
        MENTIONS => "`candidates`",
        TOOL_GATE => "`check`",
        COMMANDS => "`available` or `run`",
        _ => "`parse`, `format` or `prepare`",
    }
}

/// An export that has a seam's name and not its functions or types.
pub(crate) struct Misfit {
    pub(crate) interface: &'static str,
    pub(crate) reason: String,
}

/// Makes a misfit of what the engine says about an interface.
fn misfit(interface: &'static str) -> impl Fn(wasmtime::Error) -> Misfit {
    move |err| Misfit { interface, reason: format!("{}: {err:#}", functions(interface)) }
}

/// Where `interface` is in a component; none where it is not in `version`.
fn find<T>(
    pre: &InstancePre<State>,
    version: &str,
    interface: &'static str,
    indices: fn(&InstancePre<State>) -> wasmtime::Result<T>,
) -> Result<Option<T>, Misfit> {
    let name = format!("{interface}@{version}");
    match pre.component().get_export_index(None, name.as_str()) {
        Some(_) => indices(pre).map(Some).map_err(misfit(interface)),
        None => Ok(None),
    }
}

impl Seams {
    /// Finds the seams by name, as they are in `version`.
    pub(crate) fn find(pre: &InstancePre<State>, version: &str) -> Result<Seams, Misfit> {
        Ok(Seams {
            pre_step: find(pre, version, PRE_STEP, pre_step::GuestIndices::new)?,
            mentions: find(pre, version, MENTIONS, mentions::GuestIndices::new)?,
            references: find(pre, version, REFERENCES, references::GuestIndices::new)?,
            tool_gate: find(pre, version, TOOL_GATE, tool_gate::GuestIndices::new)?,
            commands: find(pre, version, COMMANDS, commands::GuestIndices::new)?,
        })
    }

    /// These, and of those in `older` what is not among them.
    pub(crate) fn or(self, older: Seams) -> Seams {
        Seams {
            pre_step: self.pre_step.or(older.pre_step),
            mentions: self.mentions.or(older.mentions),
            references: self.references.or(older.references),
            tool_gate: self.tool_gate.or(older.tool_gate),
            commands: self.commands.or(older.commands),
        }
    }

    /// Checks the types of every seam, which only an instance tells.
    pub(crate) fn check(
        &self,
        mut store: impl AsContextMut,
        instance: &Instance,
    ) -> Result<(), Misfit> {
        if let Some(seam) = &self.pre_step {
            seam.load(&mut store, instance).map_err(misfit(PRE_STEP))?;
        }
        if let Some(seam) = &self.mentions {
            seam.load(&mut store, instance).map_err(misfit(MENTIONS))?;
        }
        if let Some(seam) = &self.references {
            seam.load(&mut store, instance).map_err(misfit(REFERENCES))?;
        }
        if let Some(seam) = &self.tool_gate {
            seam.load(&mut store, instance).map_err(misfit(TOOL_GATE))?;
        }
        if let Some(seam) = &self.commands {
            seam.load(&mut store, instance).map_err(misfit(COMMANDS))?;
        }
        Ok(())
    }

    /// The seams that are there.
    pub(crate) fn present(&self) -> impl Iterator<Item = Seam> {
        let seams = [
            self.pre_step.is_some().then_some(Seam::PreStep),
            self.mentions.is_some().then_some(Seam::Mentions),
            self.references.is_some().then_some(Seam::References),
            self.tool_gate.is_some().then_some(Seam::ToolGate),
            self.commands.is_some().then_some(Seam::Commands),
        ];
        seams.into_iter().flatten()
    }
}

/// The names of everything that a component exports.
pub(crate) fn exports(component: &Component) -> Vec<String> {
    component
        .component_type()
        .exports(component.engine())
        .map(|(name, _)| name.to_owned())
        .collect()
}
