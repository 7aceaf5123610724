//! Whole turns over real logs in temporary roots.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on fails")]

mod asking;
mod cancelled;
mod compacted;
mod durable;
mod failures;
mod fed;
mod inbox;
mod lifecycle;
mod recorded;
mod recording;
mod retries;
mod rig;
mod story;
mod tools;
