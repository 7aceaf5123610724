//! Watches folders, and says that something has changed once it has settled.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use dsh_plugin_host::{ComponentPlace, Manifest};
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc;

use crate::error::FolderError;

/// How long nothing must happen before a change counts: editors and linkers write a file in several goes.
const QUIET: Duration = Duration::from_millis(20);

/// Watches folders for changes of the files in them; not of those in folders below.
#[derive(Debug)]
pub struct Watch {
    watcher: RecommendedWatcher,
    events: mpsc::UnboundedReceiver<()>,
    watched: HashSet<PathBuf>,
}

impl Watch {
    /// Watches these.
    ///
    /// # Errors
    ///
    /// [`FolderError::Watch`], for the first of them, which has to be there. Others may come later.
    pub fn new(places: &[PathBuf]) -> Result<Watch, FolderError> {
        let first = places.first().cloned().unwrap_or_default();
        let failed = |err: notify::Error| FolderError::Watch {
            path: first.clone(),
            reason: err.to_string(),
        };
        let (sender, events) = mpsc::unbounded_channel();
        let told = move |event: notify::Result<notify::Event>| {
            // To read a file is no change; an error may have swallowed one.
            if !matches!(&event, Ok(event) if matches!(event.kind, EventKind::Access(_))) {
                // Nobody listens any more: then nobody is to be told.
                let _ = sender.send(());
            }
        };
        let mut watcher = notify::recommended_watcher(told).map_err(failed)?;
        watcher.watch(&first, RecursiveMode::NonRecursive).map_err(failed)?;
        let mut watch = Watch { watcher, events, watched: HashSet::from([first]) };
        watch.also(places);
        Ok(watch)
    }

    /// Watches these too. One that is not there is tried again the next time.
    pub fn also(&mut self, places: &[PathBuf]) {
        for place in places {
            // Watching again is what finds a folder that took the place of another.
            let again = self.watched.contains(place) && self.watcher.unwatch(place).is_err();
            if self.watcher.watch(place, RecursiveMode::NonRecursive).is_ok() {
                self.watched.insert(place.clone());
            } else if !again {
                self.watched.remove(place);
            }
        }
    }

    /// Waits for a change, and until nothing more happens. None once nothing can change any more.
    pub async fn changed(&mut self) -> Option<()> {
        self.events.recv().await?;
        while let Ok(more) = tokio::time::timeout(QUIET, self.events.recv()).await {
            more?;
        }
        Some(())
    }
}

/// The folders on the way from a plugin's folder to its component, where a file, or a link to one, can be swapped.
#[must_use]
pub fn places(folder: &Path) -> Vec<PathBuf> {
    let mut places = vec![folder.to_owned()];
    let text = std::fs::read_to_string(folder.join("plugin.toml")).unwrap_or_default();
    if let Ok(Manifest { component: Some(ComponentPlace::Path(path)), .. }) = Manifest::parse(&text)
    {
        let component = folder.join(path);
        let above = component.ancestors().skip(1).take_while(|above| above.starts_with(folder));
        places.extend(above.map(Path::to_owned));
        places.extend(component.parent().map(Path::to_owned));
        // Behind links, the file itself may be written.
        let real = component.canonicalize().ok();
        places.extend(real.and_then(|real| Some(real.parent()?.to_owned())));
    }
    places.sort();
    places.dedup();
    places
}
