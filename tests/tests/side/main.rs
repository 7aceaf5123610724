//! Side sessions through the compiled component, the real loop and logs on disk.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on fails")]

mod alongside;
mod faulty;
mod fork;
mod forms;
mod gate;
mod held;
mod interop;
mod merge;
mod shown;
mod stage;
mod strong;
mod withdraw;
