//! What plugins do and what is decided about them, kept in their folder.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use dsh_plugin_folder::{Folder, FolderError};
use dsh_plugin_host::{Called, Decided, Level, Log, LogEntry, Notice, Plugin, Standing};
use serde::Serialize;
use serde_json::{Value, json};

use crate::harness;

/// One line of the audit file.
#[derive(Serialize)]
pub(crate) struct Deed<'a> {
    /// Milliseconds since the Unix epoch.
    at: i64,
    /// What was done.
    what: &'a str,
    /// To which plugin; none where nobody can tell which it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    plugin: Option<&'a str>,
    /// Whatever else is to say.
    #[serde(flatten)]
    more: Value,
}

impl<'a> Deed<'a> {
    /// `what` was done to `plugin`, now.
    pub(crate) fn new(what: &'a str, plugin: Option<&'a str>, more: Value) -> Self {
        Self { at: harness::clock()(), what, plugin, more }
    }

    /// The plugin was loaded.
    pub(crate) fn loaded(plugin: &'a Plugin) -> Self {
        let more = json!({
            "version": plugin.manifest().version, "digest": plugin.digest(),
            "granted": plugin.capabilities(),
        });
        Self::new("loaded", Some(plugin.id()), more)
    }

    /// Adds it to the folder's file.
    pub(crate) fn write(&self, folder: &Folder) -> Result<(), FolderError> {
        folder.audit().add(self)
    }
}

/// Keeps what plugins log, what their calls came to and how they stand; what people should see is also shown.
pub(crate) struct Record {
    folder: Folder,
    shown: Arc<dyn Log>,
    /// How each plugin stood when it was last kept.
    kept: Mutex<HashMap<String, Standing>>,
}

impl Record {
    /// In `folder`, which is there.
    pub(crate) fn new(folder: Folder, shown: Arc<dyn Log>) -> Self {
        Self { folder, shown, kept: Mutex::default() }
    }

    /// What cannot be kept is told, and stops nobody.
    fn tell(&self, kept: Result<(), FolderError>) {
        if let Err(error) = kept {
            let (plugin, text) = ("plugins", &error.to_string());
            self.shown.write(&LogEntry { plugin, session: None, level: Level::Warn, text });
        }
    }

    fn keep(&self, plugin: &str, session: Option<&str>, level: Level, text: &str) {
        let level = match level {
            Level::Debug => "debug",
            Level::Info => "info",
            Level::Warn => "warn",
            Level::Error => "error",
        };
        let at = harness::clock()();
        let line =
            json!({ "at": at, "plugin": plugin, "session": session, "level": level, "text": text });
        self.tell(self.folder.log().add(&line));
    }
}

impl Log for Record {
    fn write(&self, entry: &LogEntry<'_>) {
        let LogEntry { plugin, session, level, text } = *entry;
        self.keep(plugin, session, level, text);
        self.shown.write(entry);
    }

    fn notice(&self, session: Option<&str>, notice: &Notice) {
        let (plugin, text) = (notice.plugin(), notice.to_string());
        self.keep(plugin, session, Level::Warn, &text);
        let what = match notice {
            Notice::Skipped(_) => "passed-over",
            Notice::Denied(_) => "denied",
            Notice::Quarantined { .. } => "quarantined",
            _ => "noticed",
        };
        let more = json!({ "session": session, "reason": text });
        self.tell(Deed::new(what, Some(plugin), more).write(&self.folder));
        self.shown.notice(session, notice);
    }

    fn called(&self, called: &Called<'_>) {
        let micros =
            |time: std::time::Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let plugin = called.plugin;
        self.tell(self.folder.calls().add(&json!({
            "at": harness::clock()(), "plugin": plugin.id(), "version": plugin.manifest().version,
            "digest": plugin.digest(), "export": called.export, "session": called.session,
            "turn": called.turn, "step": called.step, "outcome": called.outcome(),
            "error": called.error.map(ToString::to_string), "fault": called.own_error().map(|error| error.cause.is_fault()),
            "cpuUs": micros(called.cpu), "wallUs": micros(called.wall), "memoryBytes": called.memory_bytes,
            "hostCalls": called.host_calls, "outputBytes": called.output_bytes, "logBytes": called.log_bytes,
        })));
        let standing = plugin.standing();
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let before = kept.get(plugin.id()).cloned();
        // Of a plugin that was never seen here and has no faults, an earlier process may have kept some.
        if before.as_ref() != Some(&standing) {
            self.tell(self.folder.keep_standing(plugin.id(), plugin.digest(), &standing));
            kept.insert(plugin.id().to_owned(), standing);
        }
    }

    fn decided(&self, decided: &Decided<'_>) {
        let call = decided.call;
        let place = |message: &str| json!({ "session": call.session, "turn": call.turn, "step": call.step, "message": message });
        for (message, by) in decided.changed() {
            for plugin in by {
                self.tell(Deed::new("changed", Some(plugin), place(message)).write(&self.folder));
            }
        }
        for (message, plugin) in decided.dropped() {
            self.tell(Deed::new("dropped", Some(plugin), place(message)).write(&self.folder));
        }
        self.shown.decided(decided);
    }
}
