//! `plugin add`, `enable`, `disable`, `release`, `remove` and `order`.

use std::time::{Duration, Instant};

use anyhow::Context as _;
use dsh_plugin_folder::{Change, Digest, Fetched, FolderError, Grant, Source};
use dsh_plugin_host::{OperatorFile, Quarantine};
use serde_json::{Value, json};

use super::Bench;
use crate::args::Add;
use crate::harness::Composed;
use crate::visible::Line;

/// How long a compilation can take before it is mentioned.
const LONG: Duration = Duration::from_secs(1);

impl Bench<'_> {
    /// Installs a plugin with nothing granted but what was said.
    pub(super) async fn add(&mut self, args: &Add) -> anyhow::Result<()> {
        let source = Source::of(&args.source, &self.around.cwd)?;
        let fetched = Fetched::from(source).await?;
        let id = fetched.manifest.id.clone();
        if self.standard(&id)?.is_some() {
            anyhow::bail!(
                "{} carries the id of a plugin that is part of the program, which nothing stands in for: give it another `id` in its plugin.toml",
                Line(&id)
            );
        }
        let grants = super::terms::asked(&args.grant, &fetched.manifest)?;
        let mut change = self.folder.change()?;
        if let Some(there) = change.lock.get(&id) {
            let version = there.pin.version.clone();
            return Err(FolderError::Already { id, version }.into());
        }
        let pin = self.folder.store(&fetched)?;
        // One of the binary's may have been named here; what it had is not this one's.
        change.edits.remove(&id);
        change.edits.add(&id, true);
        for grant in &grants {
            change.edits.grant(&id, grant)?;
        }
        let loads = self.loads(&change.edits.text(), &fetched).await;
        if loads.is_err() {
            change.edits.enable(&id, false)?;
        }
        change.lock.install(&id, pin.clone());
        change.keep()?;
        let granted: Vec<String> = grants.iter().map(ToString::to_string).collect();
        self.did("added", &id, json!({
            "version": pin.version, "digest": pin.component.as_str(), "source": pin.source.to_string(), "granted": granted,
        }))?;
        writeln!(self.out, "added {} {}", Line(&id), Line(&pin.version))?;
        self.wants(&fetched.manifest, &grants)?;
        match loads {
            Ok(()) => writeln!(self.out, "it runs from the next turn on")?,
            Err(error) => {
                writeln!(self.out, "it is disabled: {}", Line(&format!("{error:#}")))?;
                writeln!(self.out, "then: dsh-wasm plugin enable {id}")?;
            }
        }
        Ok(())
    }

    /// Says what of what a plugin wants it has not.
    fn wants(
        &mut self,
        manifest: &dsh_plugin_host::Manifest,
        granted: &[Grant],
    ) -> anyhow::Result<()> {
        let all = Grant::all(&manifest.declares);
        let open: Vec<&Grant> = all.iter().filter(|grant| !granted.contains(grant)).collect();
        if !open.is_empty() {
            writeln!(self.out, "it wants, and is not granted:")?;
            for grant in &open {
                writeln!(
                    self.out,
                    "  {:<22} {}",
                    Line(&grant.to_string()),
                    Line(&grant.meaning())
                )?;
            }
            writeln!(
                self.out,
                "to grant it: dsh-wasm plugin grant {} WHAT (or `all`)",
                manifest.id
            )?;
        }
        Ok(())
    }

    /// Whether a plugin loads on the terms of an operator's file.
    pub(super) async fn loads(&mut self, operator: &str, fetched: &Fetched) -> anyhow::Result<()> {
        let operator = OperatorFile::parse(operator)?;
        let (grants, settings) = operator.terms(&fetched.manifest)?.unwrap_or_default();
        let began = Instant::now();
        let loaded =
            self.host.load(fetched.manifest.clone(), &fetched.wasm, settings, &grants).await;
        if began.elapsed() >= LONG {
            let seconds = began.elapsed().as_secs_f32();
            writeln!(self.out, "compiling took {seconds:.1} s; it is kept for the next time")?;
        }
        loaded.map(|_| ()).map_err(|err| crate::installed::advised(&err))
    }

    /// Lets a plugin run, if it loads.
    pub(super) async fn enable(&mut self, id: &str) -> anyhow::Result<()> {
        let mut change = self.folder.change()?;
        self.named(&mut change, id)?;
        change.edits.enable(id, true)?;
        if let Some(locked) = change.lock.get(id) {
            let (manifest, wasm) = self.folder.pinned(&locked.pin)?;
            let text = change.edits.text();
            let operator = OperatorFile::parse(&text)?;
            let (grants, settings) = operator.terms(&manifest)?.unwrap_or_default();
            let loaded = self.host.load(manifest, &wasm, settings, &grants).await;
            loaded.map_err(|err| crate::installed::advised(&err)).context("it stays disabled")?;
        }
        let quarantine = self.quarantine(&change, id)?;
        change.keep()?;
        self.did("enabled", id, Value::Null)?;
        match quarantine {
            None => writeln!(self.out, "{id} runs from the next turn on")?,
            Some(quarantine) => {
                writeln!(self.out, "{id} is enabled, but {}", Line(&quarantine.to_string()))?;
                writeln!(self.out, "then: dsh-wasm plugin release {id}")?;
            }
        }
        Ok(())
    }

    /// Keeps a plugin from running.
    pub(super) fn disable(&mut self, id: &str) -> anyhow::Result<()> {
        let mut change = self.folder.change()?;
        self.named(&mut change, id)?;
        change.edits.enable(id, false)?;
        change.keep()?;
        self.did("disabled", id, Value::Null)?;
        writeln!(self.out, "{id} runs no more from the next turn on; what it was granted stays")?;
        Ok(())
    }

    /// Lets a plugin out of quarantine.
    pub(super) fn release(&mut self, id: &str) -> anyhow::Result<()> {
        let mut change = self.folder.change()?;
        self.named(&mut change, id)?;
        // Unknown ids are named with those that there are.
        let enabled = self.folder.read()?.operator.enabled(id).unwrap_or(true);
        change.edits.enable(id, enabled)?;
        let was = self.quarantine(&change, id)?;
        self.folder.release(id)?;
        // Programs that run look at the folder when a file of it changes.
        change.keep()?;
        match (was, enabled) {
            (None, _) => writeln!(self.out, "{id} is not in quarantine; nothing is changed")?,
            (Some(_), on) => {
                self.did("released", id, Value::Null)?;
                let how = if on { "is called again" } else { "is out of quarantine, and disabled" };
                writeln!(self.out, "{id} {how}")?;
            }
        }
        Ok(())
    }

    /// Why a plugin is not called, though it may be enabled.
    fn quarantine(&self, change: &Change, id: &str) -> anyhow::Result<Option<Quarantine>> {
        let digest = match change.lock.get(id) {
            Some(locked) => locked.pin.component.clone(),
            None => match self.standard(id)? {
                Some(composed) => Digest::of(&composed.wasm),
                None => return Ok(None),
            },
        };
        Ok(self.folder.standing(id, digest.as_str())?.quarantine)
    }

    /// Removes a plugin and all that is its own.
    pub(super) fn remove(&mut self, id: &str) -> anyhow::Result<()> {
        let mut change = self.folder.change()?;
        if !change.lock.remove(id) {
            if self.standard(id)?.is_some() {
                anyhow::bail!(
                    "{id} is part of the program: `dsh-wasm plugin disable {id}` keeps it from running"
                );
            }
            let ids = change.edits.ids();
            let known = if ids.is_empty() { "none".to_owned() } else { ids.join(", ") };
            return Err(FolderError::Unknown { id: id.to_owned(), known }.into());
        }
        change.edits.remove(id);
        change.keep()?;
        self.folder.release(id)?;
        self.did("removed", id, Value::Null)?;
        writeln!(self.out, "removed {id}, what it was granted and how it was set")?;
        Ok(())
    }

    /// Puts the plugins in order.
    pub(super) fn order(&mut self, ids: &[String]) -> anyhow::Result<()> {
        let mut change = self.folder.change()?;
        for id in ids {
            self.named(&mut change, id)?;
        }
        change.edits.order(ids)?;
        change.keep()?;
        self.did("ordered", &ids.join(" "), Value::Null)?;
        writeln!(self.out, "from the next turn on: {}", ids.join(", "))?;
        Ok(())
    }

    /// The plugin of the binary's with this id.
    fn standard(&self, id: &str) -> anyhow::Result<Option<&Composed>> {
        for composed in &self.standard {
            if dsh_plugin_host::Manifest::parse(&composed.manifest)?.id == id {
                return Ok(Some(composed));
            }
        }
        Ok(None)
    }
}
