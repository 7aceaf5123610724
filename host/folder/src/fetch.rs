//! From a source to a manifest and the bytes of a component that belong together.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use dsh_plugin_host::{ComponentPlace, Manifest, ManifestError};

use crate::digest::Digest;
use crate::error::FolderError;
use crate::lock::Pin;
use crate::registry;
use crate::source::Source;

/// Most bytes of a component: four times what an engine for Python takes.
pub const MOST_BYTES: u64 = 128 << 20;

/// A plugin as it came from its source; nothing of it has run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Fetched {
    /// Where it came from.
    pub source: Source,
    /// Its manifest.
    pub manifest: Manifest,
    /// Its manifest, as text.
    pub text: String,
    /// Its component.
    pub wasm: Vec<u8>,
}

impl Fetched {
    /// Gets a plugin: reads the files, or asks the registry.
    ///
    /// # Errors
    ///
    /// When it is not there, carries no manifest or a wrong one, is too large, or is not what its manifest pins.
    pub async fn from(source: Source) -> Result<Fetched, FolderError> {
        match &source {
            Source::File(file) => {
                let wasm = read(file)?;
                Fetched::carried(source, wasm)
            }
            Source::Registry(reference) => {
                let wasm = registry::pull(reference).await?;
                Fetched::carried(source, wasm)
            }
            Source::Folder(folder) => {
                let folder = folder.clone();
                Fetched::named(source, &folder).await
            }
        }
    }

    /// What is to be locked of it.
    #[must_use]
    pub fn pin(&self) -> Pin {
        Pin {
            version: self.manifest.version.clone(),
            source: self.source.clone(),
            component: Digest::of(&self.wasm),
            manifest: Digest::of(self.text.as_bytes()),
        }
    }

    /// A component that carries its manifest.
    fn carried(source: Source, wasm: Vec<u8>) -> Result<Fetched, FolderError> {
        let wrong = |err: ManifestError| wrong(&source, err);
        let text = Manifest::text_of_component(&wasm).map_err(wrong)?;
        let text =
            text.ok_or_else(|| FolderError::NoManifest { place: source.to_string() })?.to_owned();
        let manifest = Manifest::parse(&text).map_err(wrong)?;
        Ok(Fetched { source, manifest, text, wasm })
    }

    /// A component that a manifest in `folder` names.
    async fn named(source: Source, folder: &Path) -> Result<Fetched, FolderError> {
        let file = folder.join("plugin.toml");
        let place = file.display().to_string();
        let bytes = read(&file)?;
        let text = String::from_utf8(bytes).map_err(|err| FolderError::Manifest {
            place: place.clone(),
            reason: ManifestError::Malformed { reason: err.to_string() },
        })?;
        let manifest = Manifest::parse(&text)
            .map_err(|reason| FolderError::Manifest { place: place.clone(), reason })?;
        let (wasm, held) = match &manifest.component {
            None => return Err(FolderError::NoComponent { place }),
            Some(ComponentPlace::Path(path)) => {
                let path = folder.join(path);
                (read(&path)?, path.display().to_string())
            }
            Some(ComponentPlace::Reference(reference)) => {
                (registry::pull(reference).await?, reference.clone())
            }
        };
        let found = Digest::of(&wasm);
        if let Some(Ok(pinned)) = manifest.sha256.as_deref().map(str::parse::<Digest>)
            && pinned != found
        {
            return Err(FolderError::Changed { place: held, pinned, found });
        }
        Ok(Fetched { source, manifest, text, wasm })
    }
}

fn wrong(place: &Source, reason: ManifestError) -> FolderError {
    FolderError::Manifest { place: place.to_string(), reason }
}

/// Reads a file that may be anything, a device or a pipe too, and of any size.
pub(crate) fn read(file: &Path) -> Result<Vec<u8>, FolderError> {
    let failed = || FolderError::io(file, "read");
    if !file.metadata().map_err(failed())?.is_file() {
        return Err(failed()(std::io::Error::other("it is no ordinary file")));
    }
    let mut bytes = Vec::new();
    let opened = File::open(file).map_err(failed())?;
    opened.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(failed())?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length <= MOST_BYTES) {
        return Ok(bytes);
    }
    Err(FolderError::TooLarge { place: file.display().to_string(), most: MOST_BYTES })
}
