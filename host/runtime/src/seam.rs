//! The seams of the loop that a plugin can stand in, each found in a component by itself.

use wasmtime::AsContextMut;
use wasmtime::component::{Component, Instance, InstancePre};

use crate::bindings::exports::{mentions, pre_step, references};
use crate::state::State;

/// The version of the contract that this host speaks.
pub(crate) const VERSION: &str = "0.1.0";

/// Every seam's interface, without version.
pub(crate) const NAMES: [&str; 3] =
    ["dsh:agent/pre-step", "dsh:agent/mentions", "dsh:agent/references"];

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
}

/// Where a component has the seams that it has.
pub(crate) struct Seams {
    pub(crate) pre_step: Option<pre_step::GuestIndices>,
    pub(crate) mentions: Option<mentions::GuestIndices>,
    pub(crate) references: Option<references::GuestIndices>,
}

/// The functions of a seam, for errors: the engine does not say which of them does not fit.
fn functions(interface: &str) -> &'static str {
    match interface {
        "dsh:agent/pre-step" => "`handle`",
        "dsh:agent/mentions" => "`candidates`",
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

impl Seams {
    /// Finds the seams by name.
    pub(crate) fn find(pre: &InstancePre<State>) -> Result<Seams, Misfit> {
        let component = pre.component();
        let has = |name: &str| {
            component.get_export_index(None, format!("{name}@{VERSION}").as_str()).is_some()
        };
        let [at_pre_step, at_mentions, at_references] = NAMES;
        Ok(Seams {
            pre_step: has(at_pre_step)
                .then(|| pre_step::GuestIndices::new(pre).map_err(misfit(at_pre_step)))
                .transpose()?,
            mentions: has(at_mentions)
                .then(|| mentions::GuestIndices::new(pre).map_err(misfit(at_mentions)))
                .transpose()?,
            references: has(at_references)
                .then(|| references::GuestIndices::new(pre).map_err(misfit(at_references)))
                .transpose()?,
        })
    }

    /// Checks the types of every seam, which only an instance tells.
    pub(crate) fn check(
        &self,
        mut store: impl AsContextMut,
        instance: &Instance,
    ) -> Result<(), Misfit> {
        let [at_pre_step, at_mentions, at_references] = NAMES;
        if let Some(seam) = &self.pre_step {
            seam.load(&mut store, instance).map_err(misfit(at_pre_step))?;
        }
        if let Some(seam) = &self.mentions {
            seam.load(&mut store, instance).map_err(misfit(at_mentions))?;
        }
        if let Some(seam) = &self.references {
            seam.load(&mut store, instance).map_err(misfit(at_references))?;
        }
        Ok(())
    }

    /// The seams that are there.
    pub(crate) fn present(&self) -> impl Iterator<Item = Seam> {
        let pre_step = self.pre_step.is_some().then_some(Seam::PreStep);
        let mentions = self.mentions.is_some().then_some(Seam::Mentions);
        let references = self.references.is_some().then_some(Seam::References);
        [pre_step, mentions, references].into_iter().flatten()
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
