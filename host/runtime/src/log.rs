//! Where plugins' log entries go.

use crate::called::{Called, Decided};
use crate::policy::Notice;

/// Takes what plugins log. It is never model-visible.
///
/// Called in the middle of a plugin's call and on its time, so it should hand the entry on and return.
pub trait Log: Send + Sync {
    /// Takes one entry.
    fn write(&self, entry: &LogEntry<'_>);

    /// Takes what a person should see: that a plugin was passed over, or is not called any more. Unless it is shown
    /// better, an entry of level warn.
    fn notice(&self, session: Option<&str>, notice: &Notice) {
        let (plugin, text) = (notice.plugin(), &notice.to_string());
        self.write(&LogEntry { plugin, session, level: Level::Warn, text });
    }

    /// Takes what a call came to, whenever one has ended. Unless somebody wants to know, nothing.
    fn called(&self, _called: &Called<'_>) {}

    /// Takes what a chain made of a batch, whenever one has decided. Unless somebody wants to know, nothing.
    fn decided(&self, _decided: &Decided<'_>) {}
}

/// One entry of a plugin's log. Its text is the plugin's own, control characters included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEntry<'a> {
    /// The plugin's id.
    pub plugin: &'a str,
    /// The session on whose behalf the call runs; none for calls that belong to none.
    pub session: Option<&'a str>,
    /// How much it matters.
    pub level: Level,
    /// What it says.
    pub text: &'a str,
}

/// How much a log entry matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// For the plugin's author.
    Debug,
    /// Worth knowing.
    Info,
    /// Something is off.
    Warn,
    /// Something failed.
    Error,
}

/// Drops every entry.
impl Log for () {
    fn write(&self, _entry: &LogEntry<'_>) {}
}
