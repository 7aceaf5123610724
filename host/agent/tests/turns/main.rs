//! Whole turns over real logs in temporary roots.

mod cancelled;
mod durable;
mod failures;
mod fed;
mod inbox;
mod lifecycle;
mod recorded;
mod rig;
mod story;
mod tools;
