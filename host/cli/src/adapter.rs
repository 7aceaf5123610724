//! Between the plugin host and our store and loop: each side's traits, implemented with the other.

mod agents;
mod gate;
mod instructions;
mod pinned;
mod pre_step;
mod sessions;
mod stored;

pub(crate) use agents::Crew;
pub(crate) use gate::Gate;
pub use instructions::InstructionFiles;
pub(crate) use instructions::{Instructed, summary};
pub(crate) use pinned::Pinned;
pub use pre_step::Sandbox;
pub use sessions::Reader;
pub use stored::Stored;
