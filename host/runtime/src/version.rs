//! The versions of the contract that are linked side by side.
//!
//! A component finds the one that it was built against, whatever newer one is there too. Another version is one more
//! row of [`LINKED`], and bindings of its own beside the first; a seam whose types it changes has an arm for each in
//! [`Seams`].

use wasmtime::component::{HasSelf, InstancePre, Linker};

use crate::bindings::{agent, plugin, session};
use crate::grants::Capabilities;
use crate::seam::{Misfit, Seams};
use crate::state::State;

/// A version of the contract, and what makes it work.
pub(crate) struct Version {
    /// As it stands behind the `@` of an interface.
    pub(crate) name: &'static str,
    /// Adds its interfaces to a linker: those that are free, and those that were granted.
    add: fn(&mut Linker<State>, &Capabilities) -> wasmtime::Result<()>,
    /// Finds its seams in a component.
    seams: fn(&InstancePre<State>, &str) -> Result<Seams, Misfit>,
}

/// Every version that is linked, the oldest first.
pub(crate) const LINKED: [Version; 1] =
    [Version { name: "0.1.0", add: add_0_1, seams: Seams::find }];

/// The names of the versions that are linked.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    LINKED.iter().map(|version| version.name)
}

/// Whether an interface in version `wanted` links with one of these.
pub(crate) fn fits(mut linked: impl Iterator<Item = &'static str>, wanted: &str) -> bool {
    linked.any(|name| line(name) == line(wanted))
}

/// What all versions that link with each other share: before 1.0, all but the last figure. None for what is no
/// version.
fn line(version: &str) -> Option<&str> {
    version.rsplit_once('.').map(|(line, _)| line)
}

/// Adds the interfaces of every version to a linker.
pub(crate) fn add(linker: &mut Linker<State>, capabilities: &Capabilities) -> wasmtime::Result<()> {
    LINKED.iter().try_for_each(|version| (version.add)(linker, capabilities))
}

/// Finds the seams of a component; one that it has in several versions in the newest of them.
pub(crate) fn seams(pre: &InstancePre<State>) -> Result<Seams, Misfit> {
    let mut seams = Seams::default();
    for version in LINKED.iter().rev() {
        seams = seams.or((version.seams)(pre, version.name)?);
    }
    Ok(seams)
}

fn add_0_1(linker: &mut Linker<State>, capabilities: &Capabilities) -> wasmtime::Result<()> {
    session::types::add_to_linker::<_, HasSelf<State>>(linker, |state| state)?;
    plugin::config::add_to_linker::<_, HasSelf<State>>(linker, |state| state)?;
    plugin::log::add_to_linker::<_, HasSelf<State>>(linker, |state| state)?;
    agent::messages::add_to_linker::<_, HasSelf<State>>(linker, |state| state)?;
    agent::pre_step::add_to_linker::<_, HasSelf<State>>(linker, |state| state)?;
    agent::tools::add_to_linker::<_, HasSelf<State>>(linker, |state| state)?;
    agent::invocations::add_to_linker::<_, HasSelf<State>>(linker, |state| state)?;
    if capabilities.imports.contains("dsh:session/query") {
        session::query::add_to_linker::<_, HasSelf<State>>(linker, |state| state)?;
    }
    if capabilities.imports.contains("dsh:agent/agents") {
        agent::agents::add_to_linker::<_, HasSelf<State>>(linker, |state| state)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_component_fits_the_line_that_it_was_built_against() {
        let fits = |wanted| fits(["0.1.0", "0.2.0"].into_iter(), wanted);
        for wanted in ["0.1.0", "0.1.7", "0.2.0", "0.2.1"] {
            assert!(fits(wanted), "{wanted}");
        }
        for wanted in ["0.3.0", "1.1.0", "0.10.0", "", "0", "1"] {
            assert!(!fits(wanted), "{wanted}");
        }
    }

    #[test]
    fn each_line_is_linked_once() {
        let mut lines: Vec<_> = names().map(line).collect();
        lines.dedup();
        assert_eq!(lines.len(), LINKED.len());
        assert!(lines.iter().all(Option::is_some), "{lines:?}");
    }
}
