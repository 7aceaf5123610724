//! `plugin inspect` and `plugin check`: what a plugin is and wants, and whether it fits.

use dsh_plugin_folder::{Digest, Fetched, Grant, Source};
use dsh_plugin_host::{Grants, Manifest, Settings};

use super::{Bench, for_a_call};
use crate::exit::Exit;
use crate::installed;
use crate::visible::Line;

/// A plugin that was asked about.
struct Found {
    manifest: Manifest,
    wasm: Vec<u8>,
    from: String,
    terms: Option<(Grants, Settings)>,
}

impl Bench<'_> {
    async fn found(&self, said: &str) -> anyhow::Result<Found> {
        let folder = (self.folder.clone(), self.folder.read()?);
        let places = installed::places(Some(&folder), &self.standard)?;
        if let Some(place) = places.into_iter().find(|place| place.id == said) {
            let member = place.member?;
            let from =
                member.source.map_or("the program itself".to_owned(), |source| source.to_string());
            let terms = Some((member.grants, member.settings));
            return Ok(Found {
                manifest: member.manifest,
                wasm: member.wasm.into_owned(),
                from,
                terms,
            });
        }
        let fetched = Fetched::from(Source::of(said, &self.around.cwd)?).await?;
        let Fetched { source, manifest, wasm, .. } = fetched;
        Ok(Found { manifest, wasm, from: source.to_string(), terms: None })
    }

    /// Shows what a plugin is and wants; nothing of it runs.
    pub(super) async fn inspect(&mut self, said: &str) -> anyhow::Result<()> {
        let Found { manifest, wasm, from, terms } = self.found(said).await?;
        writeln!(self.out, "{} {}", Line(&manifest.id), Line(&manifest.version))?;
        writeln!(self.out, "  from        {}", Line(&from))?;
        writeln!(self.out, "  size        {} KiB", wasm.len().div_ceil(1024))?;
        writeln!(self.out, "  sha256      {}", Digest::of(&wasm))?;
        let interfaces = self.host.interfaces(&manifest, &wasm).await?;
        let built_against = interfaces.contract().into_iter().collect::<Vec<_>>().join(", ");
        let linked = self.host.versions().collect::<Vec<_>>().join(", ");
        writeln!(self.out, "  contract    {} (linked here: {linked})", Line(&built_against))?;
        for (what, names) in [("exports", &interfaces.exports), ("imports", &interfaces.imports)] {
            let names = if names.is_empty() {
                "nothing".to_owned()
            } else {
                names.join("\n              ")
            };
            writeln!(self.out, "  {what:<11} {names}")?;
        }
        let granted = terms.map(|(grants, _)| grants.capabilities);
        let wanted = Grant::all(&manifest.declares);
        for grant in &wanted {
            let given = match &granted {
                Some(granted) if grant.is_in(granted) => "  (granted)",
                Some(_) => "  (not granted)",
                None => "",
            };
            writeln!(
                self.out,
                "  wants       {:<22} {}{given}",
                Line(&grant.to_string()),
                Line(&grant.meaning())
            )?;
        }
        if wanted.is_empty() {
            writeln!(self.out, "  wants       nothing")?;
        }
        writeln!(self.out, "  for a call  {}", for_a_call(&manifest.limits))?;
        Ok(())
    }

    /// Says whether a plugin fits; one that is not installed is taken to be granted what it declares.
    pub(super) async fn check(&mut self, said: &str) -> anyhow::Result<Exit> {
        let Found { manifest, wasm, terms, .. } = self.found(said).await?;
        let id = manifest.id.clone();
        let (grants, settings) =
            terms.unwrap_or_else(|| (Grants::new(manifest.declares.clone()), Settings::default()));
        match self.host.load(manifest, &wasm, settings, &grants).await {
            Ok(_) => {
                writeln!(self.out, "{} fits", Line(&id))?;
                Ok(Exit::Done)
            }
            Err(error) => Err(installed::advised(&error)),
        }
    }
}
