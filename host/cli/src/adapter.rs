//! Between the plugin host and our store and loop: each side's traits, implemented with the other.

mod agents;
mod gate;
mod instructions;
mod pre_step;
mod sessions;

pub(crate) use agents::Crew;
pub use gate::Gate;
pub use instructions::InstructionFiles;
pub(crate) use instructions::{Instructed, summary};
pub use pre_step::Sandbox;
pub use sessions::Reader;
