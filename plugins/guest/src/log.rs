//! Diagnostics for the operator; never model-visible.
//!
//! The host keeps a bounded number of bytes for each call and drops the rest,
//! saying so.

use crate::bindings::imports::dsh::plugin::log::{Level, write};

/// What only someone who debugs this plugin wants to know.
pub fn debug(text: &str) {
    write(Level::Debug, text);
}

/// What happened, when it is worth a line.
pub fn info(text: &str) {
    write(Level::Info, text);
}

/// What went wrong without stopping the call.
pub fn warn(text: &str) {
    write(Level::Warn, text);
}

/// What stopped the call.
pub fn error(text: &str) {
    write(Level::Error, text);
}
