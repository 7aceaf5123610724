//! `dsh:plugin/log`: diagnostics for the operator, a bounded number of bytes for each call.

use crate::bindings::plugin::log as wit;
use crate::log::{Level, LogEntry};
use crate::state::State;

impl wit::Host for State {
    fn write(&mut self, level: wit::Level, text: String) -> wasmtime::Result<()> {
        self.host_call(text.len())?;
        let level = match level {
            wit::Level::Debug => Level::Debug,
            wit::Level::Info => Level::Info,
            wit::Level::Warn => Level::Warn,
            wit::Level::Error => Level::Error,
        };
        let kept = self.log_bounded(level, &text);
        if level == Level::Error {
            self.last_words = kept.or(self.last_words.take());
        }
        Ok(())
    }
}

impl State {
    /// Logs as much of `text` as the call's limit lets through; gives that, or none where nothing fits any more.
    pub(crate) fn log_bounded(&mut self, level: Level, text: &str) -> Option<String> {
        let allowed = self.limits.log_bytes;
        let room = allowed.saturating_sub(self.used.log_bytes);
        let was_full = room == 0 && self.used.log_bytes > 0;
        self.used.log_bytes = self.used.log_bytes.saturating_add(text.len() as u64);
        if was_full && self.used.log_bytes > allowed {
            return None;
        }
        let kept = text.floor_char_boundary(usize::try_from(room).unwrap_or(usize::MAX));
        let kept = text.get(..kept).unwrap_or_default();
        self.log(level, kept);
        if kept.len() < text.len() {
            self.log(
                Level::Warn,
                &format!("the log limit of {allowed} bytes is reached: the rest of this call's entries is dropped"),
            );
        }
        Some(kept.to_owned())
    }

    fn log(&self, level: Level, text: &str) {
        let Some(services) = &self.services else { return };
        let plugin = self.asker.plugin.as_str();
        let session = self.asker.session.as_deref();
        services.log.write(&LogEntry { plugin, session, level, text });
    }
}
