//! `plugin grant` and `plugin revoke`.

use dsh_plugin_folder::{Change, FolderError, Grant};
use dsh_plugin_host::Manifest;
use serde_json::json;

use super::Bench;
use crate::args::Granted;

/// What was said, as grants; `all` is everything that the manifest declares.
///
/// # Errors
/// For what nobody can be granted, and for what the plugin does not ask for.
pub(super) fn asked(said: &[String], manifest: &Manifest) -> anyhow::Result<Vec<Grant>> {
    let mut grants = Vec::new();
    for what in said {
        if what == "all" {
            grants.extend(Grant::all(&manifest.declares));
            continue;
        }
        let grant: Grant = what.parse()?;
        if !grant.is_in(&manifest.declares) {
            let wanted = Grant::all(&manifest.declares);
            let wanted: Vec<String> = wanted.iter().map(ToString::to_string).collect();
            let wanted = if wanted.is_empty() { "nothing".to_owned() } else { wanted.join(", ") };
            let reason = format!("{} does not declare it; it declares {wanted}", manifest.id);
            return Err(FolderError::Grant { what: what.clone(), reason }.into());
        }
        grants.push(grant);
    }
    Ok(grants)
}

impl Bench<'_> {
    /// Grants what the plugin wants.
    pub(super) async fn grant(&mut self, args: &Granted) -> anyhow::Result<()> {
        let mut change = self.folder.change()?;
        self.named(&mut change, &args.id)?;
        let manifest = self.manifest(&change, &args.id)?;
        for grant in asked(&args.what, &manifest)? {
            change.edits.grant(&args.id, &grant)?;
            writeln!(self.out, "{} may now {}", args.id, grant.meaning())?;
        }
        let disabled = self.folder.read()?.operator.enabled(&args.id) == Some(false);
        change.keep()?;
        self.did("granted", &args.id, json!({ "granted": args.what }))?;
        if disabled {
            writeln!(
                self.out,
                "it is disabled; to let it run: dsh-wasm plugin enable {}",
                args.id
            )?;
        }
        Ok(())
    }

    /// Takes back what the plugin was granted. What it cannot load without is said when it is next loaded.
    pub(super) fn revoke(&mut self, args: &Granted) -> anyhow::Result<()> {
        let mut change = self.folder.change()?;
        self.named(&mut change, &args.id)?;
        let manifest = self.manifest(&change, &args.id)?;
        for grant in asked(&args.what, &manifest)? {
            change.edits.revoke(&args.id, &grant)?;
            writeln!(self.out, "{} may no longer {}", args.id, grant.meaning())?;
            if matches!(grant, Grant::Import(_) | Grant::WasiEmpty) {
                // It would stop every turn: a plugin that cannot be linked is no reason for that.
                change.edits.enable(&args.id, false)?;
                writeln!(
                    self.out,
                    "it is disabled, as it may not load without; to try: dsh-wasm plugin enable {}",
                    args.id
                )?;
            }
        }
        change.keep()?;
        self.did("revoked", &args.id, json!({ "revoked": args.what }))?;
        Ok(())
    }

    /// The manifest of an installed plugin, or of one of the binary's.
    pub(super) fn manifest(&self, change: &Change, id: &str) -> anyhow::Result<Manifest> {
        if let Some(locked) = change.lock.get(id) {
            return Ok(self.folder.manifest(&locked.pin)?);
        }
        for composed in &self.standard {
            let manifest = Manifest::parse(&composed.manifest)?;
            if manifest.id == id {
                return Ok(manifest);
            }
        }
        let known = change.edits.ids();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        Err(FolderError::Unknown { id: id.to_owned(), known }.into())
    }
}
