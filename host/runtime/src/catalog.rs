//! The plugins of a running host: added, replaced, ordered and removed while calls go on.

use std::sync::{Arc, PoisonError, RwLock};

use crate::chain::Chain;
use crate::gates::Gates;
use crate::grants::Grants;
use crate::host::PluginHost;
use crate::load_error::LoadError;
use crate::manifest::Manifest;
use crate::plugin::Plugin;
use crate::settings::Settings;

/// What a plugin is loaded from, and on which terms.
#[derive(Clone, Debug)]
pub struct Package {
    /// Who it is and what it asks for.
    pub manifest: Manifest,
    /// Its component.
    pub wasm: Arc<[u8]>,
    /// What the operator set.
    pub settings: Settings,
    /// What the operator allows.
    pub grants: Grants,
}

/// An immutable, ordered set of loaded plugins.
///
/// Whoever holds one calls the same plugins in the same order for as long as they like: a turn takes one at its
/// beginning and keeps it to its end. What is in it is freed with its last holder.
#[derive(Debug)]
pub struct Generation {
    number: u64,
    plugins: Vec<Plugin>,
    chain: Chain,
    gates: Gates,
}

impl Generation {
    fn new(number: u64, plugins: Vec<Plugin>) -> Arc<Generation> {
        let chain = Chain::new(plugins.iter().cloned());
        let gates = Gates::new(plugins.iter().cloned());
        Arc::new(Generation { number, plugins, chain, gates })
    }

    /// How many generations of its catalog were before it.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Its plugins in order.
    #[must_use]
    pub fn plugins(&self) -> &[Plugin] {
        &self.plugins
    }

    /// Those that stand around a step, the first outermost.
    #[must_use]
    pub fn chain(&self) -> &Chain {
        &self.chain
    }

    /// Those that every tool call passes.
    #[must_use]
    pub fn gates(&self) -> &Gates {
        &self.gates
    }

    /// The plugin with this id.
    #[must_use]
    pub fn plugin(&self, id: &str) -> Option<&Plugin> {
        self.plugins.iter().find(|plugin| plugin.id() == id)
    }
}

/// Why a catalog stays as it is.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CatalogError {
    /// A new plugin could not be loaded.
    #[error(transparent)]
    NotAdded(Box<LoadError>),
    /// A plugin could not be replaced; the one that was there goes on.
    #[error("{reason} (version {kept} stays in place)")]
    NotReplaced {
        /// What is wrong with the new one.
        reason: Box<LoadError>,
        /// The version of the one that stays.
        kept: String,
    },
    /// There is no plugin with this id.
    #[error("there is no plugin {id:?}; there is {known}")]
    Unknown {
        /// The id as given.
        id: String,
        /// The ids that there are, or `none`.
        known: String,
    },
    /// An order does not name each plugin exactly once.
    #[error("an order names each plugin once, and {id:?} is there {times} times")]
    Order {
        /// The first plugin that is not.
        id: String,
        /// How often it is named.
        times: usize,
    },
}

/// The plugins of a running host, as generations of which the latest is current.
///
/// A change is made beside the current generation and takes effect by swapping one pointer, so that a call sees all
/// of it or nothing. A change that fails, or whose future is dropped, leaves everything as it was. Changes wait for
/// each other; calls wait for none.
#[derive(Debug)]
pub struct Catalog {
    host: PluginHost,
    /// Locked for as long as it takes to copy or swap the pointer, and never over an await.
    current: RwLock<Arc<Generation>>,
    changing: tokio::sync::Mutex<()>,
}

impl Catalog {
    /// A catalog without plugins.
    #[must_use]
    pub fn new(host: PluginHost) -> Catalog {
        let current = RwLock::new(Generation::new(0, Vec::new()));
        Catalog { host, current, changing: tokio::sync::Mutex::new(()) }
    }

    /// The latest generation, for as long as the caller keeps it.
    #[must_use]
    pub fn current(&self) -> Arc<Generation> {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Loads a plugin: in the place of the one with its id, or behind all others where there is none.
    ///
    /// It is compiled, linked, checked and once instantiated beside the running one. A plugin that is replaced takes
    /// its faults and its quarantine with it.
    ///
    /// # Errors
    ///
    /// As [`PluginHost::load`]; where it was to replace one, the error says which stays.
    pub async fn load(&self, package: Package) -> Result<Arc<Generation>, CatalogError> {
        let _changing = self.changing.lock().await;
        let Package { manifest, wasm, settings, grants } = package;
        let mut plugins = self.current().plugins.clone();
        let old = plugins.iter_mut().find(|plugin| plugin.id() == manifest.id);
        let loaded = self.host.load(manifest, &wasm, settings, &grants).await;
        match (loaded, old) {
            (Ok(new), Some(old)) => *old = new,
            (Ok(new), None) => plugins.push(new),
            (Err(reason), Some(old)) => {
                let kept = old.manifest().version.clone();
                return Err(CatalogError::NotReplaced { reason: Box::new(reason), kept });
            }
            (Err(reason), None) => return Err(CatalogError::NotAdded(Box::new(reason))),
        }
        Ok(self.swap(plugins))
    }

    /// The host that its plugins are loaded by.
    #[must_use]
    pub fn host(&self) -> &PluginHost {
        &self.host
    }

    /// Makes `plugins` the catalog's, in this order and at once. For an embedder that loads them by itself, when more
    /// than one thing changes.
    pub async fn set(&self, plugins: Vec<Plugin>) -> Arc<Generation> {
        let _changing = self.changing.lock().await;
        self.swap(plugins)
    }

    /// Removes a plugin. Turns that began with it keep it to their end.
    ///
    /// # Errors
    ///
    /// [`CatalogError::Unknown`].
    pub async fn remove(&self, id: &str) -> Result<Arc<Generation>, CatalogError> {
        let _changing = self.changing.lock().await;
        let mut plugins = self.current().plugins.clone();
        let place = plugins.iter().position(|plugin| plugin.id() == id);
        plugins.remove(place.ok_or_else(|| unknown(id, &plugins))?);
        Ok(self.swap(plugins))
    }

    /// Puts the plugins in order.
    ///
    /// # Errors
    ///
    /// [`CatalogError::Unknown`] and [`CatalogError::Order`]: the order names each plugin exactly once.
    pub async fn reorder(&self, order: &[&str]) -> Result<Arc<Generation>, CatalogError> {
        let _changing = self.changing.lock().await;
        let plugins = self.current().plugins.clone();
        for plugin in &plugins {
            let times = order.iter().filter(|id| **id == plugin.id()).count();
            if times != 1 {
                return Err(CatalogError::Order { id: plugin.id().to_owned(), times });
            }
        }
        let named = |id: &&str| {
            let plugin = plugins.iter().find(|plugin| plugin.id() == *id);
            plugin.cloned().ok_or_else(|| unknown(id, &plugins))
        };
        Ok(self.swap(order.iter().map(named).collect::<Result<_, _>>()?))
    }

    /// Makes the next generation the current one. Only while the caller holds `changing`.
    fn swap(&self, plugins: Vec<Plugin>) -> Arc<Generation> {
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        let next = Generation::new(current.number.saturating_add(1), plugins);
        let old = std::mem::replace(&mut *current, next.clone());
        // What it frees is nobody's to wait for.
        drop(current);
        drop(old);
        next
    }
}

fn unknown(id: &str, plugins: &[Plugin]) -> CatalogError {
    let known = plugins.iter().map(Plugin::id).collect::<Vec<_>>().join(", ");
    let known = if known.is_empty() { "none".to_owned() } else { known };
    CatalogError::Unknown { id: id.to_owned(), known }
}
