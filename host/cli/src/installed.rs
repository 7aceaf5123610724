//! The plugins of a program: those of the binary and those of the folder, as the operator's file orders them.

use std::borrow::Cow;
use std::path::PathBuf;

use anyhow::Context as _;
use dsh_plugin_folder::{Contents, Digest, Fetched, Folder, FolderError, Grant, Source};
use dsh_plugin_host::{FaultPolicy, Grants, LoadError, Manifest, Plugin, PluginHost, Settings};

use crate::harness::Composed;

/// A plugin that is there, whether it runs or not.
#[derive(Clone)]
pub(crate) struct Member {
    /// Who it is and what it asks for.
    pub manifest: Manifest,
    /// Its component.
    pub wasm: Cow<'static, [u8]>,
    /// The component's SHA-256.
    pub digest: Digest,
    /// What it is granted.
    pub grants: Grants,
    /// What it is set to.
    pub settings: Settings,
    /// Where it came from; none for one of the binary's.
    pub source: Option<Source>,
}

impl Member {
    /// Loads it, standing as it stood before.
    pub(crate) async fn load(
        &self,
        host: &PluginHost,
        folder: Option<&Folder>,
    ) -> anyhow::Result<Plugin> {
        let Self { manifest, wasm, grants, settings, .. } = self;
        let plugin = host.load(manifest.clone(), wasm, settings.clone(), grants).await;
        let plugin = plugin.map_err(|err| advised(&err))?;
        if let Some(folder) = folder {
            plugin.resume(folder.standing(plugin.id(), plugin.digest())?);
        }
        Ok(plugin)
    }

    /// Whether both run the same bytes on the same terms.
    pub(crate) fn is_as(&self, other: &Self) -> bool {
        self.digest == other.digest
            && self.manifest == other.manifest
            && self.grants == other.grants
            && self.settings == other.settings
    }

    fn standard(composed: &Composed) -> anyhow::Result<Self> {
        let Composed { manifest, wasm, settings, on_fault } = composed;
        let manifest = Manifest::parse(manifest)?;
        let mut grants = Grants::new(manifest.declares.clone());
        grants.on_fault = *on_fault;
        Ok(Self {
            grants,
            manifest,
            digest: Digest::of(wasm),
            wasm: wasm.clone(),
            settings: settings.clone(),
            source: None,
        })
    }
}

/// What a plugin that does not load says, with the command that helps where there is one.
pub(crate) fn advised(err: &LoadError) -> anyhow::Error {
    let way = match err {
        LoadError::NotGranted { plugin, interface } => {
            let interface = interface.split('@').next().unwrap_or_default();
            format!("`dsh-wasm plugin grant {plugin} {interface}`")
        }
        LoadError::Start { .. } | LoadError::Mismatch { .. } => {
            "`dsh-wasm plugin rollback` goes back to the version before".to_owned()
        }
        _ => return anyhow::anyhow!("{err}"),
    };
    anyhow::anyhow!("{err}: {way}")
}

/// One place of the chain, and who stands there, where that can be read.
pub(crate) struct Place {
    /// The plugin's id.
    pub id: String,
    /// Whether the operator lets it run.
    pub enabled: bool,
    /// The plugin.
    pub member: anyhow::Result<Member>,
}

/// Every place in the order of the chain: of the binary's plugins those that the operator's file does not name come
/// first, then follow all that it names. A plugin of the folder stands in for one of the binary's with the same id.
///
/// # Errors
/// When a plugin of the binary cannot be read.
pub(crate) fn places(
    folder: Option<&(Folder, Contents)>,
    standard: &[Composed],
) -> anyhow::Result<Vec<Place>> {
    let own = standard.iter().map(Member::standard);
    let mut own = own.collect::<anyhow::Result<Vec<_>>>()?;
    let mut named = Vec::new();
    if let Some((folder, contents)) = folder {
        for id in contents.operator.order() {
            let place = own.iter().position(|member| member.manifest.id == id);
            let standard = place.map(|place| own.remove(place));
            let member = named_member(folder, contents, id, standard);
            let enabled = contents.operator.enabled(id).unwrap_or(true);
            named.push(Place { id: id.to_owned(), enabled, member });
        }
    }
    let unnamed = own.into_iter().map(|member| Place {
        id: member.manifest.id.clone(),
        enabled: true,
        member: Ok(member),
    });
    Ok(unnamed.chain(named).collect())
}

/// The plugin that the operator's file names; `standard` is the binary's of that id.
fn named_member(
    folder: &Folder,
    Contents { operator, lock, .. }: &Contents,
    id: &str,
    standard: Option<Member>,
) -> anyhow::Result<Member> {
    let file = folder.operator_file();
    let mut otherwise = FaultPolicy::default();
    let mut member = match (lock.get(id), standard) {
        (Some(locked), _) => {
            let (manifest, wasm) = folder.pinned(&locked.pin)?;
            Member {
                manifest,
                wasm: wasm.into(),
                digest: locked.pin.component.clone(),
                grants: Grants::default(),
                settings: Settings::default(),
                source: Some(locked.pin.source.clone()),
            }
        }
        (None, Some(standard)) => {
            otherwise = standard.grants.on_fault;
            standard
        }
        (None, None) => anyhow::bail!(
            "{}: there is no plugin {id:?}: take it out, or add it with `dsh-wasm plugin add`",
            file.display()
        ),
    };
    let terms = operator.terms(&member.manifest);
    let terms = terms.with_context(|| file.display().to_string())?;
    if let Some((grants, settings)) = terms {
        member.grants = grants;
        member.grants.on_fault = operator.on_fault(id, otherwise);
        // What the program itself set stays where the file says nothing.
        member.settings.0.extend(settings.0);
    }
    Ok(member)
}

/// A folder that is worked on, and what became of what is in it now.
pub(crate) struct Followed {
    /// The plugin's id.
    pub id: String,
    /// What became of it.
    pub outcome: Outcome,
}

/// What became of a changed plugin.
pub(crate) enum Outcome {
    /// It is taken up, in this version.
    Taken(String),
    /// It wants more than the one that stays.
    WantsMore(Vec<Grant>),
    /// It is not right; the one that is there stays.
    Broken(anyhow::Error),
}

/// Looks at every folder that is worked on, and takes up what loads there and wants no more than before.
///
/// # Errors
/// When the folder of plugins itself cannot be read or written.
pub(crate) async fn follow(folder: &Folder, host: &PluginHost) -> anyhow::Result<Vec<Followed>> {
    let mut followed = Vec::new();
    for locked in folder.read()?.lock.plugins {
        if !locked.pin.source.is_followed() {
            continue;
        }
        let outcome = match Fetched::from(locked.pin.source.clone()).await {
            Err(error) => Outcome::Broken(error.into()),
            Ok(fetched) if fetched.pin() == locked.pin => continue,
            Ok(fetched) => match trial(folder, host, &locked.id, &fetched).await {
                Err(error) => Outcome::Broken(error),
                Ok(more) if !more.is_empty() => Outcome::WantsMore(more),
                Ok(_) => {
                    let pin = folder.store(&fetched)?;
                    let mut change = folder.change()?;
                    change.lock.install(&locked.id, pin);
                    change.keep()?;
                    Outcome::Taken(fetched.manifest.version)
                }
            },
        };
        followed.push(Followed { id: locked.id, outcome });
    }
    Ok(followed)
}

/// Loads a new version on the terms of the one that is there, and says what it declares more.
pub(crate) async fn trial(
    folder: &Folder,
    host: &PluginHost,
    id: &str,
    fetched: &Fetched,
) -> anyhow::Result<Vec<Grant>> {
    if fetched.manifest.id != id {
        let place = fetched.source.to_string();
        let (found, wanted) = (fetched.manifest.id.clone(), id.to_owned());
        return Err(FolderError::OtherPlugin { place, found, wanted }.into());
    }
    let Contents { operator, lock, .. } = folder.read()?;
    let old = lock.get(id).map(|locked| folder.manifest(&locked.pin)).transpose()?;
    let old = old.map(|manifest| manifest.declares).unwrap_or_default();
    let more = Grant::beyond(&fetched.manifest.declares, &old);
    if more.is_empty() && operator.enabled(id) != Some(false) {
        let (grants, settings) = operator.terms(&fetched.manifest)?.unwrap_or_default();
        let loaded = host.load(fetched.manifest.clone(), &fetched.wasm, settings, &grants).await;
        loaded.map_err(|err| advised(&err))?;
    }
    Ok(more)
}

/// Where to look for changes: the folder of plugins, and every folder that leads to a component that is worked on.
pub(crate) fn watched(folder: &Folder) -> Vec<PathBuf> {
    let mut places = vec![folder.dir().to_owned()];
    let Ok(Contents { lock, .. }) = folder.read() else { return places };
    for locked in &lock.plugins {
        if let Source::Folder(dir) = &locked.pin.source {
            places.extend(dsh_plugin_folder::places(dir));
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use dsh_plugin_host::OnFault;

    use super::*;

    /// What a fault of sidechat's gate does where the operator's file is `text`.
    fn gate(text: &str) -> OnFault {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("plugins.toml"), text).unwrap();
        let folder = Folder::new(dir.path());
        let contents = folder.read().unwrap();
        let standard = dsh_plugins::ALL.map(Composed::from);
        let places = places(Some(&(folder, contents)), &standard).unwrap();
        let sidechat = places.into_iter().find(|place| place.id == "sidechat").unwrap();
        sidechat.member.unwrap().grants.on_fault.tool_gate
    }

    #[test]
    fn a_plugin_of_the_program_that_the_file_names_faults_as_before_unless_it_says_otherwise() {
        assert_eq!(gate(""), OnFault::Skip);
        assert_eq!(gate("[[plugin]]\nid = \"sidechat\"\n"), OnFault::Skip);
        let said = "[[plugin]]\nid = \"sidechat\"\non-fault = { tool-gate = \"fail\" }\n";
        assert_eq!(gate(said), OnFault::Fail);
    }
}
