//! The tools on real files and real processes, one by one and in whole turns.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on fails")]

mod approving;
mod changing;
mod listing;
mod paths;
mod reading;
mod rig;
mod running;
