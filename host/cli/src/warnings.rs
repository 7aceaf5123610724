//! What plugins say that somebody should know.

use std::io::{self, Write as _};

use dsh_plugin_host::{Level, Log, LogEntry};

use crate::visible::Line;

/// Shows warnings and errors on standard error; the rest is for a plugin's author.
pub(crate) struct Warnings;

impl Log for Warnings {
    fn write(&self, entry: &LogEntry<'_>) {
        if entry.level >= Level::Warn {
            // Where standard error is closed, nobody is there to be told.
            let _ = writeln!(io::stderr(), "{}: {}", Line(entry.plugin), Line(entry.text));
        }
    }
}
