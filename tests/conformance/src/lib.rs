//! Certifies plugins and hosts: golden vectors of the published client, run against ours.
//!
//! Vectors of the plugin go through the shipped component and its exports, with
//! sessions scripted behind the host's traits; vectors of single building
//! blocks through a test program that exports them.
//!
//! And hostile plugins, run against the host: each is stopped by name, hurts
//! nobody beside it, and has a twin that is allowed.

pub mod blocks;
pub mod family;
pub mod hostile;
pub mod replayed;
pub mod report;
pub mod scripted;
pub mod subject;
pub mod vector;
pub mod wtf16;
