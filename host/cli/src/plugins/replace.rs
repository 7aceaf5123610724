//! `plugin upgrade`, `rollback` and `reload`.

use dsh_plugin_folder::{Fetched, FolderError, Grant, Source};
use dsh_plugin_host::Manifest;
use serde_json::{Value, json};

use super::Bench;
use crate::args::Upgrade;
use crate::installed::{self, Followed, Outcome};
use crate::visible::Line;

impl Bench<'_> {
    /// Replaces a plugin by another version; where that wants more, a person decides.
    pub(super) async fn upgrade(&mut self, args: &Upgrade) -> anyhow::Result<()> {
        let id = &args.id;
        let contents = self.folder.read()?;
        let Some(locked) = contents.lock.get(id) else {
            let known = contents.lock.plugins.iter().map(|locked| locked.id.clone());
            let known = known.collect::<Vec<_>>().join(", ");
            let known = if known.is_empty() { "none".to_owned() } else { known };
            return Err(FolderError::Unknown { id: id.clone(), known }.into());
        };
        let source = match &args.source {
            Some(said) => Source::of(said, &self.around.cwd)?,
            None => locked.pin.source.clone(),
        };
        let fetched = Fetched::from(source).await?;
        let more = installed::trial(&self.folder, &self.host, id, &fetched).await?;
        let (old, new) = (locked.pin.version.clone(), fetched.manifest.version.clone());
        if fetched.pin() == locked.pin {
            writeln!(self.out, "{id} {new} is there already, to the byte")?;
            return Ok(());
        }
        let grants_more = !more.is_empty() && self.agrees(id, &new, &more, args)?;
        let mut change = self.folder.change()?;
        let gone =
            Grant::beyond(&self.folder.manifest(&locked.pin)?.declares, &fetched.manifest.declares);
        for grant in &gone {
            change.edits.revoke(id, grant)?;
        }
        narrowed(&mut change.edits, id, &contents, &fetched.manifest)?;
        if grants_more {
            for grant in &more {
                change.edits.grant(id, grant)?;
            }
        }
        if contents.operator.enabled(id) != Some(false) {
            self.loads(&change.edits.text(), &fetched).await?;
        }
        let pin = self.folder.store(&fetched)?;
        change.lock.install(id, pin.clone());
        change.keep()?;
        self.did("upgraded", id, json!({
            "from": old, "version": new, "digest": pin.component.as_str(), "source": pin.source.to_string(),
            "granted": if grants_more { more.iter().map(ToString::to_string).collect() } else { Vec::new() },
        }))?;
        writeln!(self.out, "{id} {} is replaced by {}", Line(&old), Line(&new))?;
        if !gone.is_empty() {
            let gone = gone.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            writeln!(self.out, "it no longer wants, and is no longer granted: {}", Line(&gone))?;
        }
        Ok(())
    }

    /// Whether what a new version wants more is granted.
    ///
    /// # Errors
    /// When nobody can be asked, or the answer is no: then nothing is changed.
    fn agrees(
        &mut self,
        id: &str,
        version: &str,
        more: &[Grant],
        args: &Upgrade,
    ) -> anyhow::Result<bool> {
        writeln!(self.out, "{id} {} wants more than the version that is there:", Line(version))?;
        for grant in more {
            writeln!(self.out, "  {:<22} {}", Line(&grant.to_string()), Line(&grant.meaning()))?;
        }
        if args.yes || args.as_granted {
            return Ok(args.yes);
        }
        let Some(person) = &self.around.person else {
            anyhow::bail!(
                "nobody can be asked here, and nothing is changed: --yes grants it, --as-granted upgrades without"
            );
        };
        if person.agrees("grant it?")? {
            return Ok(true);
        }
        anyhow::bail!("nothing is changed; --as-granted upgrades without granting it")
    }

    /// Goes back to the version before.
    pub(super) fn rollback(&mut self, id: &str) -> anyhow::Result<()> {
        let mut change = self.folder.change()?;
        let Some(locked) = change.lock.back(id) else {
            if change.lock.get(id).is_some() {
                return Err(FolderError::NothingBefore { id: id.to_owned() }.into());
            }
            let known = change.lock.plugins.iter().map(|locked| locked.id.clone());
            let known = known.collect::<Vec<_>>().join(", ");
            let known = if known.is_empty() { "none".to_owned() } else { known };
            return Err(FolderError::Unknown { id: id.to_owned(), known }.into());
        };
        let pin = locked.pin.clone();
        let manifest = self.folder.manifest(&pin)?;
        let contents = self.folder.read()?;
        narrowed(&mut change.edits, id, &contents, &manifest)?;
        change.keep()?;
        self.did(
            "rolled-back",
            id,
            json!({ "version": pin.version, "digest": pin.component.as_str() }),
        )?;
        writeln!(self.out, "{id} is {} again", Line(&pin.version))?;
        if pin.source.is_followed() {
            writeln!(self.out, "what is in {} is taken up again at the next start", pin.source)?;
        }
        Ok(())
    }

    /// Takes up what changed in folders that are worked on.
    pub(super) async fn reload(&mut self) -> anyhow::Result<()> {
        let followed = installed::follow(&self.folder, &self.host).await?;
        if followed.is_empty() {
            writeln!(self.out, "nothing changed in the folders that are worked on")?;
        }
        let mut broken = Vec::new();
        for Followed { id, outcome } in followed {
            match outcome {
                Outcome::Taken(version) => {
                    self.did("reloaded", &id, Value::Null)?;
                    writeln!(self.out, "{id} {} is taken up", Line(&version))?;
                }
                Outcome::WantsMore(more) => {
                    let more = more.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
                    broken
                        .push(format!("{id} wants more ({more}): `dsh-wasm plugin upgrade {id}`"));
                }
                Outcome::Broken(error) => broken.push(format!("{id} stays as it is: {error:#}")),
            }
        }
        if broken.is_empty() { Ok(()) } else { anyhow::bail!(broken.join("\n")) }
    }
}

/// Takes from a plugin's grants what a version does not declare: a grant for it would be an error.
fn narrowed(
    edits: &mut dsh_plugin_folder::Edits,
    id: &str,
    contents: &dsh_plugin_folder::Contents,
    manifest: &Manifest,
) -> anyhow::Result<()> {
    let granted = contents.operator.granted(id).unwrap_or_default();
    for grant in Grant::beyond(&granted, &manifest.declares) {
        edits.revoke(id, &grant)?;
    }
    Ok(())
}
