//! Certifies plugins and hosts: golden vectors of the published client, run against ours.
//!
//! Vectors of the plugin go through the shipped component and its exports, with
//! sessions scripted behind the host's traits; vectors of single building
//! blocks through a test program that exports them.

pub mod blocks;
pub mod family;
pub mod replayed;
pub mod report;
pub mod scripted;
pub mod subject;
pub mod vector;
pub mod wtf16;
