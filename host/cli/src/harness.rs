//! Sessions, plugins and agents put together.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use dsh_agent::{Agent, Compaction, Composition, MessageIds, Model, PreStep, Progress, ToolGate};
use dsh_plugin_folder::Folder;
use dsh_plugin_host::{
    FaultPolicy, Generation, Grants, HostOptions, Log, Manifest, OnFault, Plugin, PluginHost, Seam,
    Services, Settings,
};
use dsh_session::{
    Clock, Draft, Encoding, Header, Live, Seed, SessionId, Sessions, Store, StoreError, WriteError,
    index_beside,
};

use crate::adapter::{Gate, Instructed, InstructionFiles, Pinned, Reader};
use crate::home;
use crate::live::Plugins;
use crate::record::Record;
use crate::roster::Roster;
use crate::surroundings::Surroundings;
use crate::system;
use crate::tooling::Tooling;
use crate::warnings::Warnings;

/// What every agent is told.
pub(crate) const SYSTEM: &str = "You are a helpful assistant. Answer briefly and plainly.";

/// How a harness is put together.
pub struct Options {
    /// How new logs are written; none writes them as those are that are there.
    pub encoding: Option<Encoding>,
    /// How logs are written where none are there.
    pub preferred: Option<Encoding>,
    /// What models may call, and what decides about it.
    pub tooling: Tooling,
    /// The instruction files that models are given; none gives them none.
    pub instructions: Option<InstructionFiles>,
    /// When sessions are compacted, and how.
    pub compaction: Compaction,
    /// Where compiled plugins are kept; none compiles them anew.
    pub compiled: Option<PathBuf>,
    /// Takes what plugins log.
    pub log: Arc<dyn Log>,
    /// The plugins, in the order of the chain.
    pub plugins: Vec<Composed>,
    /// The folder of installed plugins, which come behind these unless it says otherwise; none for none.
    pub folder: Option<Folder>,
}

/// A plugin that stands in a harness.
#[derive(Clone)]
pub struct Composed {
    /// The text of its `plugin.toml`.
    pub manifest: Cow<'static, str>,
    /// Its component.
    pub wasm: Cow<'static, [u8]>,
    /// What it is set to.
    pub settings: Settings,
    /// What its faults do.
    pub on_fault: FaultPolicy,
}

impl Options {
    /// The standard plugins with their own settings, and a cache in the user's folder.
    pub fn standard() -> Self {
        Self {
            encoding: None,
            preferred: None,
            tooling: Tooling::default(),
            instructions: None,
            compaction: Compaction::default(),
            compiled: home::compiled(),
            log: Arc::new(Warnings),
            plugins: dsh_plugins::ALL.map(Composed::from).into(),
            folder: None,
        }
    }

    /// As [`Options::standard`], with the plugins that the settings say.
    pub(crate) fn with(plugins: &dsh_config::Plugins, around: &Surroundings) -> Self {
        let standard = Self::standard();
        if plugins.safe {
            return Self { plugins: Vec::new(), ..standard };
        }
        Self { folder: folder(plugins, around), ..standard }
    }
}

impl Options {
    /// Logs context messages as `event` says, where a plugin leaves that to its settings.
    ///
    /// # Errors
    /// When a plugin's manifest is none.
    pub(crate) fn log_context_as(&mut self, event: &str) -> anyhow::Result<()> {
        for Composed { manifest, settings, .. } in &mut self.plugins {
            let Some(schema) = Manifest::parse(manifest)?.settings else { continue };
            if schema.pointer("/properties/contextEvent").is_some() {
                settings.0.entry("contextEvent").or_insert_with(|| event.into());
            }
        }
        Ok(())
    }
}

impl From<dsh_plugins::Standard> for Composed {
    fn from(standard: dsh_plugins::Standard) -> Self {
        let dsh_plugins::Standard { manifest, wasm } = standard;
        let (settings, mut on_fault) = (Settings::default(), FaultPolicy::default());
        // What sidechat made read-only stays so without it; its faults need not stop every other session's tools.
        on_fault.tool_gate = OnFault::Skip;
        Self { manifest: manifest.into(), wasm: wasm.into(), settings, on_fault }
    }
}

/// A root of sessions, the plugins that stand in their steps, and the agents on them. Clones share everything.
#[derive(Clone)]
pub struct Harness {
    sessions: Sessions,
    plugins: Arc<[Loaded]>,
    live: Arc<Plugins>,
    services: Services,
    ids: MessageIds,
    instructions: Option<InstructionFiles>,
    compaction: Compaction,
    /// The agents that live, side by side.
    agents: Roster,
    tooling: Tooling,
}

/// A plugin, with what the operator said about it.
pub struct Loaded {
    /// Ready to be called.
    pub plugin: Plugin,
    /// What it was granted.
    pub grants: Grants,
    /// What it was set to.
    pub settings: Settings,
}

impl Harness {
    /// Opens a root of sessions and loads the plugins. What those of [`Options::plugins`] declare is granted, unless
    /// the folder of installed plugins says otherwise; what changes in it is taken up from then on.
    ///
    /// The root need not exist: the first session makes it.
    ///
    /// # Errors
    /// When a plugin does not load, the root cannot be listed, or it holds logs of another encoding.
    pub async fn open(root: &Path, options: Options) -> anyhow::Result<Self> {
        let sessions = sessions(root, encoding(root, &options)?);
        let host = host(options.compiled.as_deref())?;
        let log: Arc<dyn Log> = match &options.folder {
            // One that is not there is made by adding a plugin, not by a turn.
            Some(folder) if folder.dir().is_dir() => {
                Arc::new(Record::new(folder.clone(), options.log))
            }
            _ => options.log,
        };
        let live = Arc::new(Plugins::new(host, options.folder, options.plugins, log.clone()));
        live.take_up().await?;
        live.watch()?;
        let plugins = live.running().await.into_iter().map(|(member, plugin)| {
            let (grants, settings) = (member.grants, member.settings);
            Loaded { plugin, grants, settings }
        });
        let plugins = plugins.collect();
        let ids: MessageIds = Arc::new(|| uuid::Uuid::new_v4().to_string());
        let reader = Arc::new(Reader::new(sessions.clone()));
        let services = Services::new(reader, log, ids.clone());
        Ok(Self {
            sessions,
            plugins,
            live,
            services,
            ids,
            instructions: options.instructions,
            compaction: options.compaction,
            agents: Roster::default(),
            tooling: options.tooling,
        })
    }

    /// The sessions.
    pub fn sessions(&self) -> &Sessions {
        &self.sessions
    }

    /// The plugins that it began with, in the order of the chain.
    pub fn plugins(&self) -> &[Loaded] {
        &self.plugins
    }

    /// The plugins that are current now. A turn keeps those that it began with.
    pub fn generation(&self) -> Arc<Generation> {
        self.live.current()
    }

    /// What calls of plugins are lent.
    pub fn services(&self) -> &Services {
        &self.services
    }

    /// The plugin that completes mentions, where there is one.
    pub fn mentions(&self) -> Option<Plugin> {
        let generation = self.generation();
        generation.plugins().iter().find(|plugin| plugin.has(Seam::Mentions)).cloned()
    }

    /// Whether a mention in a prompt reaches a plugin.
    pub fn resolves_mentions(&self) -> bool {
        let generation = self.generation();
        let mut links = generation.chain().links().iter();
        links.any(|plugin| plugin.has(Seam::Mentions))
    }

    /// An agent on a new session; nothing is on disk before its first event.
    ///
    /// # Errors
    /// When another process is writing that very session.
    pub async fn create(
        &self,
        cwd: Option<String>,
        model: Arc<dyn Model>,
    ) -> anyhow::Result<Agent> {
        let id = new_id();
        let now = u64::try_from(self.sessions.store().now()).unwrap_or_default();
        let live = self.sessions.create(Header::new(id, now, cwd), None).await?;
        Ok(self.start(live, Progress::default(), self.composition(model)))
    }

    /// An agent on a stored session, with what waits in its inbox.
    ///
    /// # Errors
    /// When there is no such session, its log cannot be continued, or another process writes it.
    pub async fn resume(&self, id: &SessionId, model: Arc<dyn Model>) -> anyhow::Result<Agent> {
        let opened = self.continued(id, self.composition(model)).await;
        opened.map_err(|error| match error {
            StoreError::Write(WriteError::Held { holder }) => anyhow::anyhow!(
                "session {id} is being written by {holder}; try again when it is done, or start another session"
            ),
            error => error.into(),
        })
    }

    /// The agent that lives on this session, if one does.
    pub fn agent(&self, id: &SessionId) -> Option<Agent> {
        self.agents.get(id)
    }

    pub(crate) fn roster(&self) -> &Roster {
        &self.agents
    }

    /// An agent on a stored session, put together as `composition` says but for what is the session's own.
    pub(crate) async fn continued(
        &self,
        id: &SessionId,
        composition: Composition,
    ) -> Result<Agent, StoreError> {
        let (live, progress) = self.sessions.open(id, Progress::default()).await?;
        let system = system::of(&live).or(composition.system.clone());
        Ok(self.start(live, progress, Composition { system, ..composition }))
    }

    /// A session born whole from `seed`, with `drafts` after it, and an agent on it.
    pub(crate) async fn bear(
        &self,
        seed: Seed,
        drafts: Vec<Draft>,
        composition: Composition,
    ) -> Result<Agent, StoreError> {
        let mut progress = Progress::default();
        seed.events().each(&mut progress);
        let live = self.sessions.bear(new_id(), seed, drafts).await?;
        Ok(self.start(live, progress, composition))
    }

    /// What agents are put together from where nobody says otherwise.
    pub(crate) fn composition(&self, model: Arc<dyn Model>) -> Composition {
        let gate = Gate::new(self.live.clone(), self.services.clone(), self.sessions.clone());
        let gates = std::iter::once(Arc::new(gate) as Arc<dyn ToolGate>);
        let older = self.plugins.iter().filter(|loaded| loaded.logs_older_context());
        Composition {
            system: Some(SYSTEM.to_owned()),
            tools: self.tooling.tools.clone(),
            gates: gates.chain(self.tooling.gates.iter().cloned()).collect(),
            approver: self.tooling.approver.clone(),
            compaction: self.compaction,
            older_context: older.map(|loaded| loaded.plugin.id().to_owned()).collect(),
            ..Composition::new(model)
        }
    }

    /// Starts an agent, with the pre-step of its own session.
    pub(crate) fn start(&self, live: Live, progress: Progress, composition: Composition) -> Agent {
        let cwd = live.header().cwd.clone();
        let pinned = Pinned::new(self.live.clone(), self.services.clone(), cwd);
        let mut pre_step: Arc<dyn PreStep> = Arc::new(pinned);
        if let Some(files) = self.instructions.clone() {
            let (live, ids) = (live.clone(), self.ids.clone());
            pre_step = Arc::new(Instructed { rest: pre_step, files, live, ids });
        }
        let composition = Composition { pre_step, ..composition };
        let agent = Agent::start(live, progress, composition, self.ids.clone());
        self.agents.add(&agent);
        agent
    }
}

impl Loaded {
    /// Whether its context messages are to be logged as `context/message`.
    fn logs_older_context(&self) -> bool {
        self.settings.0.get("contextEvent").is_some_and(|event| event == "context/message")
    }
}

fn new_id() -> SessionId {
    SessionId::new(&format!("session-{}", uuid::Uuid::new_v4()))
}

/// The sessions of a root, with the index beside it that makes lists quick.
pub(crate) fn sessions(root: &Path, encoding: Encoding) -> Sessions {
    let store = store(root, encoding);
    Sessions::new(match index_beside(root) {
        Some(index) => store.with_index(index),
        None => store,
    })
}

/// The sessions of a root as they lie there.
pub(crate) fn store(root: &Path, encoding: Encoding) -> Store {
    Store::new(root.to_owned(), encoding, clock())
}

/// How new logs are written: dsh refuses a root that holds both encodings.
fn encoding(root: &Path, options: &Options) -> anyhow::Result<Encoding> {
    let wanted = options.encoding;
    let found = store(root, Encoding::Zstd).root_encoding()?;
    if let (Some(wanted), Some(found)) = (wanted, found)
        && wanted != found
    {
        let (root, found) = (root.display(), found.file_name());
        anyhow::bail!(
            "the logs in {root} are called {found}, and dsh refuses a folder that holds both encodings; leave out --encoding"
        );
    }
    Ok(wanted.or(found).or(options.preferred).unwrap_or(Encoding::Zstd))
}

/// Milliseconds since the Unix epoch, by the system's clock.
pub(crate) fn clock() -> Clock {
    Arc::new(|| {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    })
}

/// The folder of installed plugins; none where nobody says where, and no data folder is known.
pub(crate) fn folder(plugins: &dsh_config::Plugins, around: &Surroundings) -> Option<Folder> {
    let dir = plugins.dir.clone();
    let dir = dir.or_else(|| around.data.as_ref().map(|data| data.join("plugins")));
    dir.map(Folder::new)
}

/// What plugins are loaded by.
pub(crate) fn host(compiled: Option<&Path>) -> anyhow::Result<PluginHost> {
    let mut host = HostOptions::default();
    host.cache_dir = compiled.map(Path::to_owned);
    // A cache folder that cannot be made costs time, not the turn.
    Ok(PluginHost::new(host).or_else(|_| PluginHost::new(HostOptions::default()))?)
}
