//! The plugins of a program that runs: what changes in their folder is taken up while turns go on.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, MutexGuard, PoisonError};

use dsh_plugin_folder::{Folder, FolderError, Watch};
use dsh_plugin_host::{Catalog, Generation, Level, Log, LogEntry, Plugin, PluginHost};
use dsh_session::SessionId;
use tokio::sync::Mutex;

use crate::harness::Composed;
use crate::installed::{self, Followed, Member, Outcome, Place};
use crate::record::Deed;

/// The plugins of a program, and the folder that they are taken from.
pub(crate) struct Plugins {
    catalog: Catalog,
    folder: Option<Folder>,
    standard: Vec<Composed>,
    log: Arc<dyn Log>,
    state: Mutex<State>,
    turns: std::sync::Mutex<Turns>,
}

/// The latest turn of each session that has an agent, and the plugins that were current when it began.
type Turns = HashMap<SessionId, (u64, Arc<Generation>)>;

#[derive(Default)]
struct State {
    running: Vec<(Member, Plugin)>,
    /// What was told already, and would only be told again at the next event.
    told: HashSet<String>,
}

impl Plugins {
    /// Without plugins as yet.
    pub(crate) fn new(
        host: PluginHost,
        folder: Option<Folder>,
        standard: Vec<Composed>,
        log: Arc<dyn Log>,
    ) -> Self {
        let (state, turns) = (Mutex::default(), std::sync::Mutex::default());
        Self { catalog: Catalog::new(host), folder, standard, log, state, turns }
    }

    /// The plugins that are current, for as long as the caller keeps them.
    pub(crate) fn current(&self) -> Arc<Generation> {
        self.catalog.current()
    }

    /// The plugins of a turn: those that were current when it was first asked for.
    pub(crate) fn of_turn(&self, session: &SessionId, turn: u64) -> Arc<Generation> {
        let mut turns = self.turns();
        match turns.get(session) {
            Some((of, generation)) if *of == turn => generation.clone(),
            _ => {
                let generation = self.current();
                turns.insert(session.clone(), (turn, generation.clone()));
                generation
            }
        }
    }

    /// Lets go of a session's plugins, if this is still its latest turn.
    pub(crate) fn let_go_of(&self, session: &SessionId, turn: u64) {
        let mut turns = self.turns();
        if turns.get(session).is_some_and(|(of, _)| *of == turn) {
            turns.remove(session);
        }
    }

    fn turns(&self) -> MutexGuard<'_, Turns> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What runs now, with its terms.
    pub(crate) async fn running(&self) -> Vec<(Member, Plugin)> {
        self.state.lock().await.running.clone()
    }

    /// Takes up what is there now. A plugin that does not load keeps the place of the one that runs, if one does.
    ///
    /// # Errors
    /// When a plugin does not load that does not run, or the folder cannot be read. Nothing is changed then.
    pub(crate) async fn take_up(&self) -> anyhow::Result<()> {
        let mut state = self.state.lock().await;
        if let Some(folder) = &self.folder {
            for Followed { id, outcome } in installed::follow(folder, self.catalog.host()).await? {
                let text = match outcome {
                    Outcome::Taken(_) => continue,
                    Outcome::WantsMore(more) => {
                        let more = more.iter().map(ToString::to_string).collect::<Vec<_>>();
                        let more = more.join(", ");
                        format!(
                            "the new version wants more ({more}) and is not taken up: `dsh-wasm plugin upgrade {id}`"
                        )
                    }
                    Outcome::Broken(error) => {
                        format!("what is in its folder is not taken up: {error:#}")
                    }
                };
                self.tell(&mut state, &id, text);
            }
        }
        let contents = self
            .folder
            .as_ref()
            .map(|folder| Ok::<_, FolderError>((folder.clone(), folder.read()?)));
        let contents = contents.transpose()?;
        let places = installed::places(contents.as_ref(), &self.standard)?;
        let mut running = Vec::new();
        for Place { id, member, .. } in places.into_iter().filter(|place| place.enabled) {
            let old = state.running.iter().find(|(old, _)| old.manifest.id == id).cloned();
            let ready = match (member, &old) {
                (Ok(member), Some((old, plugin))) if old.is_as(&member) => {
                    if let Some(folder) = &self.folder
                        && plugin.quarantine().is_some()
                    {
                        // Somebody may have let it out meanwhile.
                        plugin.resume(folder.standing(plugin.id(), plugin.digest())?);
                    }
                    Ok((member, plugin.clone()))
                }
                (Ok(member), _) => {
                    let loaded = member.load(self.catalog.host(), self.folder.as_ref()).await;
                    loaded.map(|plugin| {
                        self.audit(&Deed::loaded(&plugin));
                        (member, plugin)
                    })
                }
                (Err(error), _) => Err(error),
            };
            match (ready, old) {
                (Ok(ready), _) => running.push(ready),
                (Err(error), Some(old)) => {
                    let version = &old.0.manifest.version;
                    let text = format!("{error:#} (version {version} stays in place)");
                    self.tell(&mut state, &id, text);
                    running.push(old);
                }
                (Err(error), None) => {
                    return Err(error.context(format!(
                        "{id} does not load, and nothing runs without it unless you say so: `dsh-wasm plugin disable {id}` leaves it out, --safe all"
                    )));
                }
            }
        }
        self.catalog.set(running.iter().map(|(_, plugin)| plugin.clone()).collect()).await;
        state.running = running;
        Ok(())
    }

    /// Takes up changes for as long as it lives.
    ///
    /// # Errors
    /// When the folder cannot be watched.
    pub(crate) fn watch(self: &Arc<Self>) -> anyhow::Result<()> {
        let Some(folder) = self.folder.clone() else { return Ok(()) };
        if !folder.dir().is_dir() {
            return Ok(());
        }
        let mut watch = Watch::new(&installed::watched(&folder))?;
        let this = Arc::downgrade(self);
        tokio::spawn(async move {
            while watch.changed().await.is_some() {
                let Some(live) = this.upgrade() else { return };
                if let Err(error) = live.take_up().await {
                    let mut state = live.state.lock().await;
                    live.tell(&mut state, "plugins", format!("nothing is changed: {error:#}"));
                }
                watch.also(&installed::watched(&folder));
            }
        });
        Ok(())
    }

    fn tell(&self, state: &mut State, plugin: &str, text: String) {
        if state.told.insert(format!("{plugin}: {text}")) {
            let text = &text;
            self.log.write(&LogEntry { plugin, session: None, level: Level::Warn, text });
        }
    }

    fn audit(&self, deed: &Deed<'_>) {
        let Some(folder) = &self.folder else { return };
        // A folder that was never made is made by `plugin add`, not by a turn.
        if folder.dir().is_dir()
            && let Err(error) = deed.write(folder)
        {
            let (plugin, text) = ("plugins", &error.to_string());
            self.log.write(&LogEntry { plugin, session: None, level: Level::Warn, text });
        }
    }
}
